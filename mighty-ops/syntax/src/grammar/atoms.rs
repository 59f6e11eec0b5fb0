//! Primary expressions: literals, brackets, control flow and the block forms (language.md §3.4).

use super::exprs::{self, expr};
use super::{agents, braced_list, close, comma, patterns, sigs, stmts};
use crate::SyntaxKind::{self, *};
use crate::error::code;
use crate::parser::{Marker, Parser};

/// A primary; the caller has checked that an expression begins. Says whether it is one of the block-like
/// forms of S4.
pub(super) fn primary(p: &mut Parser<'_>) -> bool {
    let m = p.marker();
    match p.cur() {
        Ident => {
            let called = p.nth(1) == Bang && p.glued(1) && p.glued(2);
            if called && p.nth(2) == LParen {
                macro_call(p, m, LParen);
            } else if called && p.nth(2) == LBracket && p.at_word("vec") {
                // The one macro that is written with the brackets of what it makes (stdlib.md §1).
                macro_call(p, m, LBracket);
            } else {
                p.bump();
                p.done(m, PathExpr);
            }
        }
        k if k.is_literal() => {
            p.bump();
            p.done(m, Literal);
        }
        LParen => paren(p, m),
        LBracket => array(p, m),
        LBrace => {
            stmts::block(p);
            return true;
        }
        SelfKw => {
            p.bump();
            p.done(m, SelfExpr);
        }
        IfKw => {
            if_expr(p);
            return true;
        }
        MatchKw => {
            p.bump();
            exprs::no_struct(p);
            braced_list(p, ArmList, "a pattern", arm);
            p.done(m, MatchExpr);
            return true;
        }
        LoopKw => {
            p.bump();
            loop_body(p);
            p.done(m, LoopExpr);
            return true;
        }
        WhileKw => {
            p.bump();
            condition(p);
            loop_body(p);
            p.done(m, WhileExpr);
            return true;
        }
        ForKw => {
            p.bump();
            let errors = p.errors.len();
            patterns::pattern(p);
            // Behind a bad pattern a missing `in` is an echo.
            let bad = p.errors.len() > errors;
            if (p.at(InKw) || !bad) && p.expect(InKw, "`in`") {
                exprs::no_struct(p);
            }
            loop_body(p);
            p.done(m, ForExpr);
            return true;
        }
        ReturnKw => {
            p.bump();
            jump_value(p);
            p.done(m, ReturnExpr);
        }
        BreakKw => {
            outside_loop(p);
            p.bump();
            jump_value(p);
            p.done(m, BreakExpr);
        }
        ContinueKw => {
            outside_loop(p);
            p.bump();
            p.done(m, ContinueExpr);
        }
        FnKw => {
            p.bump();
            patterns::param_list(p);
            sigs::ret(p);
            frame(p, stmts::block);
            p.done(m, LambdaExpr);
        }
        Pipe => {
            pipe_params(p);
            frame(p, expr);
            p.done(m, LambdaExpr);
        }
        SpawnKw => {
            exprs::spawn(p);
            p.done(m, SpawnExpr);
        }
        DetachKw => {
            p.bump();
            frame(p, stmts::block);
            p.done(m, DetachExpr);
            return true;
        }
        RunKw => {
            p.bump();
            expr(p);
            p.done(m, RunExpr);
        }
        ArenaKw => return arena(p, m),
        TaskKw => {
            p.bump();
            p.expect(ScopeKw, "`scope`");
            if p.eat(At) {
                p.expect(DurationLit, "a duration");
            }
            stmts::block(p);
            p.done(m, TaskExpr);
            return true;
        }
        BudgetKw => return budget(p, m),
        SandboxKw => {
            agents::sandbox(p);
            p.done(m, SandboxExpr);
            return true;
        }
        UnsafeKw => {
            p.bump();
            stmts::block(p);
            p.done(m, UnsafeExpr);
            return true;
        }
        TooDeep => {
            p.skip();
            p.done(m, ErrorNode);
        }
        _ => p.unexpected("an operand"),
    }
    false
}

fn macro_call(p: &mut Parser<'_>, m: Marker, open: SyntaxKind) {
    p.bump();
    p.bump();
    let args = p.marker();
    super::token_tree(p, open);
    let range = p.range_since(args);
    p.macro_args.push(range);
    p.done(m, MacroCall);
}

fn paren(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    let mut kind = TupleExpr;
    p.inside(false, |p| {
        if p.at_end() {
            return;
        }
        expr(p);
        if p.eat(Comma) {
            comma(p, "an expression", expr);
        } else {
            kind = ParenExpr;
        }
    });
    close(p);
    p.done(m, kind);
}

fn array(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    let mut kind = ArrayExpr;
    p.inside(false, |p| {
        if p.at_end() {
            return;
        }
        expr(p);
        if p.eat(Semi) {
            kind = RepeatExpr;
            expr(p);
        } else if p.eat(Comma) {
            comma(p, "an expression", expr);
        } else if exprs::begins(p) {
            p.unexpected("`,`");
            comma(p, "an expression", expr);
        }
    });
    close(p);
    p.done(m, kind);
}

/// `if … else if …` without recursion, so that long chains cost no stack.
fn if_expr(p: &mut Parser<'_>) {
    let first = p.marker();
    let mut more: Vec<Marker> = Vec::new();
    loop {
        p.bump();
        condition(p);
        branch(p);
        if !p.eat(ElseKw) {
            break;
        }
        if !p.at(IfKw) {
            branch(p);
            break;
        }
        more.push(p.marker());
    }
    while let Some(m) = more.pop() {
        p.done(m, IfExpr);
    }
    p.done(first, IfExpr);
}

/// A block; what stands in its place on the line is skipped up to an `else`.
fn branch(p: &mut Parser<'_>) {
    if !p.at(LBrace) && !p.at(TooDeep) {
        p.unexpected("`{`");
        let m = p.marker();
        while !p.at_end() && !p.nl() && !matches!(p.cur(), LBrace | ElseKw | Semi | Comma) {
            p.skip();
        }
        p.done(m, ErrorNode);
        if !p.at(LBrace) || p.nl() {
            return;
        }
    }
    stmts::block(p);
}

/// `NoStructExpr | "let" Pattern "=" NoStructExpr`.
fn condition(p: &mut Parser<'_>) {
    if !p.at(LetKw) {
        exprs::no_struct(p);
        return;
    }
    let m = p.marker();
    p.bump();
    patterns::pattern(p);
    if p.expect(Eq, "`=`") {
        exprs::no_struct(p);
    }
    p.done(m, LetCond);
}

fn arm(p: &mut Parser<'_>) {
    if !patterns::begins(p) {
        return;
    }
    let m = p.marker();
    patterns::pattern(p);
    if p.at(IfKw) {
        let g = p.marker();
        p.bump();
        expr(p);
        p.done(g, Guard);
    }
    if p.expect(FatArrow, "`=>`") {
        if p.at(LBrace) {
            exprs::statement(p);
        } else {
            expr(p);
        }
    } else {
        super::items::rest_of_entry(p);
    }
    p.done(m, MatchArm);
}

fn loop_body(p: &mut Parser<'_>) {
    let old = std::mem::replace(&mut p.in_loop, true);
    stmts::block(p);
    p.in_loop = old;
}

/// A body that no loop around it reaches into.
fn frame(p: &mut Parser<'_>, f: impl FnOnce(&mut Parser<'_>)) {
    let old = std::mem::replace(&mut p.in_loop, false);
    f(p);
    p.in_loop = old;
}

fn outside_loop(p: &mut Parser<'_>) {
    if !p.in_loop {
        let title = format!("{} outside a loop", p.describe());
        let range = p.range_at(0);
        p.error_at(code::UNEXPECTED_TOKEN, range, title);
    }
}

/// S5: an operand only on the same line.
fn jump_value(p: &mut Parser<'_>) {
    if !p.nl() && exprs::begins(p) && !(p.no_struct && p.at(LBrace)) {
        expr(p);
    }
}

fn pipe_params(p: &mut Parser<'_>) {
    let m = p.marker();
    p.bump();
    while !p.at(Pipe) && !p.at_end() {
        let before = p.pos();
        patterns::param(p);
        if p.pos() == before || !(p.at(Pipe) || p.eat(Comma)) {
            break;
        }
    }
    p.expect(Pipe, "`|`");
    p.done(m, ParamList);
}

fn arena(p: &mut Parser<'_>, m: Marker) -> bool {
    p.bump();
    p.eat(Ident);
    let inline = p.eat(Colon);
    if inline {
        expr(p);
    } else {
        stmts::block(p);
    }
    p.done(m, ArenaExpr);
    !inline
}

fn budget(p: &mut Parser<'_>, m: Marker) -> bool {
    // Anywhere but before `{` it is a plain name ([R:G05]).
    if p.nth(1) != LBrace {
        p.bump();
        p.done(m, PathExpr);
        return false;
    }
    p.bump();
    agents::entries(p);
    let braced = !p.at(RunKw);
    if braced {
        stmts::block(p);
    } else {
        let r = p.marker();
        p.bump();
        expr(p);
        p.done(r, RunExpr);
    }
    p.done(m, BudgetExpr);
    braced
}

/// `{ fields }` of a struct literal.
pub(super) fn struct_fields(p: &mut Parser<'_>) {
    // Arms, as behind a lost `match`, are one fault and not one for each line.
    let arms = (p.nth(1).is_literal() || p.nth(1) == Ident)
        && matches!(p.nth(2), FatArrow | Dot | LParen | Pipe | IfKw);
    if arms {
        let m = p.marker();
        p.bump();
        if p.name_at(0) {
            p.bump();
        }
        p.inside(true, |p| {
            p.unexpected("a field");
            let rest = p.marker();
            while !p.at_end() {
                p.skip();
            }
            p.done(rest, ErrorNode);
        });
        p.eat(RBrace);
        p.done(m, StructLitFields);
        return;
    }
    braced_list(p, StructLitFields, "a field", |p| {
        if !p.name_at(0) {
            return;
        }
        let m = p.marker();
        p.bump();
        if p.eat(Colon) {
            expr(p);
        }
        p.done(m, StructLitField);
    });
}

/// `{ key: value, … }` of a map literal.
pub(super) fn map_entries(p: &mut Parser<'_>) {
    braced_list(p, MapEntries, "a key", |p| {
        if !exprs::begins(p) {
            return;
        }
        let m = p.marker();
        expr(p);
        if p.expect(Colon, "`:`") {
            expr(p);
        }
        p.done(m, MapEntry);
    });
}
