//! Function definitions and the clauses of their headers (language.md §3.1).

use super::{comma_group, exprs, items, patterns, stmts, types};
use crate::SyntaxKind::*;
use crate::parser::{Marker, Parser};

/// Whether a function needs a body here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Required,
    Optional,
}

/// `Fn`, at its first word; `m` may begin before it.
pub(super) fn fn_def(p: &mut Parser<'_>, m: Marker, body: Body) {
    let mut is_unsafe = false;
    while matches!(p.cur(), ConstKw | AsyncKw | UnsafeKw) {
        is_unsafe |= p.at(UnsafeKw);
        p.bump();
    }
    p.expect(FnKw, "`fn`");
    let live = std::mem::replace(&mut p.live, false);
    items::name(p);
    generics(p);
    comma_group(p, LParen, ParamList, "a parameter", param);
    ret(p);
    loop {
        if p.at(WhereKw) {
            where_clause(p);
        } else if !effects(p) {
            break;
        }
    }
    let mut contract = false;
    p.live = true;
    while p.at(RequiresKw) {
        contract = true;
        let r = p.marker();
        p.bump();
        exprs::no_struct(p);
        p.done(r, RequiresClause);
    }
    p.live = live;
    match p.cur() {
        LBrace => {
            let in_loop = std::mem::replace(&mut p.in_loop, false);
            stmts::block(p);
            p.in_loop = in_loop;
        }
        Eq => {
            let b = p.marker();
            p.bump();
            let in_loop = std::mem::replace(&mut p.in_loop, false);
            exprs::expr(p);
            p.in_loop = in_loop;
            p.done(b, ExprBody);
            p.eat(Semi);
        }
        _ => {
            if body == Body::Required && !p.interface && !(is_unsafe && contract) {
                p.unexpected("a function body");
            }
            p.eat(Semi);
        }
    }
    p.done(m, FnDef);
}

fn param(p: &mut Parser<'_>) {
    let m = p.marker();
    match p.cur() {
        SelfKw => {
            p.bump();
            if p.eat(Colon) {
                types::ty(p);
            }
            p.done(m, SelfParam);
        }
        Amp if p.nth(1) == SelfKw || (p.nth(1) == MutKw && p.nth(2) == SelfKw) => {
            p.bump();
            p.eat(MutKw);
            p.bump();
            p.done(m, SelfParam);
        }
        DotDot if p.nth(1) == Dot && p.glued(1) => {
            p.bump();
            p.bump();
            p.done(m, VariadicParam);
        }
        MutKw if !matches!(p.nth(1), Ident | BudgetKw) => {
            p.bump();
            patterns::pattern(p);
            if p.eat(Colon) {
                types::ty(p);
            }
            p.done(m, Param);
        }
        _ => patterns::param(p),
    }
}

/// `[Generics]`.
pub(super) fn generics(p: &mut Parser<'_>) {
    if !p.at(LBracket) {
        return;
    }
    comma_group(p, LBracket, GenericParamList, "a type parameter", |p| {
        let m = p.marker();
        if p.eat(Ident) {
            if p.eat(Colon) {
                bounds(p);
            }
            p.done(m, GenericParam);
        }
    });
}

fn bounds(p: &mut Parser<'_>) {
    let m = p.marker();
    items::path(p);
    while p.eat(Plus) {
        items::path(p);
    }
    p.done(m, Bounds);
}

/// `[-> Type]`.
pub(super) fn ret(p: &mut Parser<'_>) {
    if p.at(Arrow) {
        let m = p.marker();
        p.bump();
        types::returned(p);
        p.done(m, RetType);
    }
}

pub(super) fn where_clause(p: &mut Parser<'_>) {
    let m = p.marker();
    p.bump();
    loop {
        let w = p.marker();
        types::ty(p);
        if p.expect(Colon, "`:`") {
            bounds(p);
        }
        p.done(w, WherePred);
        if !p.eat(Comma) || p.at(LBrace) {
            break;
        }
    }
    p.done(m, WhereClause);
}

/// `EffectClause`, if one begins here.
pub(super) fn effects(p: &mut Parser<'_>) -> bool {
    let m = p.marker();
    match (p.cur(), p.nth(1)) {
        (EffectKw, _) => {
            p.bump();
            names(p);
        }
        (Bang, LBrace) => {
            p.bump();
            p.bump();
            p.inside(false, |p| {
                if !p.at_end() {
                    names(p);
                }
            });
            super::close(p);
        }
        (Bang, Ident) => {
            p.bump();
            p.bump();
        }
        _ => return false,
    }
    p.done(m, EffectClause);
    true
}

/// Effect names, then perhaps `|` and row variables. A comma before `name:` belongs to the parameter list
/// around a function type.
fn names(p: &mut Parser<'_>) {
    if !p.at(Pipe) {
        name_list(p, "an effect name");
    }
    if p.eat(Pipe) {
        name_list(p, "a row variable");
    }
}

fn name_list(p: &mut Parser<'_>, what: &str) {
    loop {
        if !p.name_at(0) {
            p.unexpected(what);
            return;
        }
        p.bump();
        if !p.at(Comma) || (p.name_at(1) && p.nth(2) == Colon) {
            return;
        }
        p.bump();
    }
}
