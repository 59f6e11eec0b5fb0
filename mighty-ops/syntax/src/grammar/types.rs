//! Types, and what may follow a return type (language.md §3.2).

use super::{close, comma, comma_group, items, sigs};
use crate::SyntaxKind::*;
use crate::parser::Parser;

/// `Type`.
pub(super) fn ty(p: &mut Parser<'_>) {
    let m = p.marker();
    atom(p);
    if p.at(Bang) && !p.line_ends() && p.last_kind().is_type() {
        p.bump();
        error_side(p);
        p.done(m, ResultType);
    }
}

/// A type after `->`, where `!` may begin an effect clause instead.
pub(super) fn returned(p: &mut Parser<'_>) {
    let m = p.marker();
    let before = p.pos();
    atom(p);
    if !p.at(Bang) || p.line_ends() || p.pos() == before {
        return;
    }
    let sugar = match p.nth(1) {
        LBrace => is_error_union(p),
        Ident => after_path(p),
        k => begins_type(k),
    };
    if sugar {
        p.bump();
        error_side(p);
        p.done(m, ResultType);
    }
}

/// Whether the type just parsed is a path, perhaps behind references.
fn after_path(p: &Parser<'_>) -> bool {
    let mut i = p.nodes.len();
    while let Some(n) = i.checked_sub(1).map(|j| p.nodes[j]) {
        match n.kind {
            PathType | DynType => return true,
            RefType | PtrType => i -= 1,
            _ => return false,
        }
    }
    false
}

/// `!{` whose first token is an upper-case identifier, with no `|` at depth 0.
fn is_error_union(p: &Parser<'_>) -> bool {
    if p.nth(2) != Ident || !p.text_at(2).starts_with(char::is_uppercase) {
        return false;
    }
    let mut depth = 0usize;
    for n in 2.. {
        match p.nth(n) {
            Pipe | PipePipe if depth == 0 => return false,
            Eof => return true,
            k if k.is_opener() => depth += 1,
            k if k.is_closer() => {
                if depth == 0 {
                    return true;
                }
                depth -= 1;
            }
            _ => {}
        }
    }
    true
}

fn error_side(p: &mut Parser<'_>) {
    if !p.at(LBrace) {
        atom(p);
        return;
    }
    let m = p.marker();
    p.bump();
    p.inside(false, |p| comma(p, "an error type", items::path));
    close(p);
    p.done(m, ErrorUnion);
}

pub(super) fn begins_type(k: crate::SyntaxKind) -> bool {
    matches!(
        k,
        Ident | Amp | Star | LParen | LBracket | FnKw | DynKw | TooDeep
    )
}

/// `TypeAtom`; reports and takes nothing if none begins here.
pub(super) fn atom(p: &mut Parser<'_>) {
    p.deeper(|p| {
        let m = p.marker();
        match p.cur() {
            Ident => {
                items::path_tokens(p);
                if p.at(LBracket) && !p.line_ends() {
                    comma_group(p, LBracket, TypeArgs, "a type", ty);
                }
                p.done(m, PathType);
            }
            Amp => {
                p.bump();
                p.eat(MutKw);
                atom(p);
                p.done(m, RefType);
            }
            Star => {
                p.bump();
                if !p.eat(ConstKw) {
                    p.eat(MutKw);
                }
                atom(p);
                p.done(m, PtrType);
            }
            LParen => {
                p.bump();
                let mut kind = TupleType;
                p.inside(false, |p| {
                    if p.at_end() {
                        return;
                    }
                    ty(p);
                    if p.at_end() {
                        kind = ParenType;
                    } else if p.eat(Comma) {
                        comma(p, "a type", ty);
                    }
                });
                close(p);
                p.done(m, kind);
            }
            LBracket => {
                p.bump();
                let mut kind = SliceType;
                p.inside(false, |p| {
                    ty(p);
                    if p.eat(Semi) {
                        kind = ArrayType;
                        super::exprs::expr(p);
                    }
                });
                close(p);
                p.done(m, kind);
            }
            FnKw => {
                p.bump();
                comma_group(p, LParen, FnTypeParams, "a type", ty);
                sigs::ret(p);
                if !p.line_ends() {
                    sigs::effects(p);
                }
                p.done(m, FnType);
            }
            DynKw => {
                p.bump();
                items::path(p);
                p.done(m, DynType);
            }
            TooDeep => {
                p.skip();
                p.done(m, ErrorNode);
            }
            _ => p.unexpected("a type"),
        }
    });
}
