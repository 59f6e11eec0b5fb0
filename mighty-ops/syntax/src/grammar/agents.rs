//! Protocols, agents, supervisors, sandboxes and their entries (language.md §3.1, §18, §19, §21).

use super::sigs::{self, Body};
use super::{braced_list, comma_group, exprs, items, patterns, stmts, types};
use crate::SyntaxKind::*;
use crate::parser::{Marker, Parser};

pub(super) fn protocol(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    items::name(p);
    if p.at(Ident) && is_version(p.text_at(0)) {
        p.bump();
    }
    braced_list(p, MessageList, "a message", |p| {
        let e = p.marker();
        if p.at_word("msg") && p.nth(1) == Ident {
            p.bump();
        }
        if p.eat(Ident) {
            comma_group(p, LParen, ParamList, "a parameter", |p| {
                let a = p.marker();
                if p.at(Ident) || p.at(BudgetKw) {
                    let n = p.marker();
                    p.bump();
                    p.done(n, IdentPat);
                    if p.expect(Colon, "`:`") {
                        types::ty(p);
                    }
                    p.done(a, Param);
                }
            });
            if p.at(Arrow) {
                let r = p.marker();
                p.bump();
                types::ty(p);
                p.done(r, RetType);
            }
            p.done(e, Message);
        }
    });
    p.done(m, ProtocolDef);
}

fn is_version(word: &str) -> bool {
    word.strip_prefix('v')
        .is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}

pub(super) fn agent(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    items::name(p);
    if p.at(LParen) {
        patterns::param_list(p);
    }
    if p.at(Colon) {
        let r = p.marker();
        p.bump();
        items::path(p);
        while p.eat(Comma) {
            items::path(p);
        }
        p.done(r, ProtocolRefs);
    }
    if !p.at(LBrace) {
        p.unexpected("`{`");
        // `with …` and the like (§28): the header is lost, the body need not be.
        while !p.at_end() && !p.at(LBrace) && !items::begins(p) {
            p.skip();
        }
    }
    if p.at(LBrace) {
        braced_list(p, AgentBody, "a state field, handler or function", member);
    }
    p.done(m, AgentDef);
}

fn member(p: &mut Parser<'_>) {
    let m = p.marker();
    let next = p.nth(1);
    match p.cur() {
        _ if p.name_at(0) && matches!(next, Colon | Eq) => state_field(p),
        StateKw if next == LBrace => {
            p.bump();
            braced_list(p, StateFieldList, "a state field", |p| {
                if p.name_at(0) {
                    state_field(p);
                }
            });
            p.done(m, StateBlock);
        }
        StateKw => state_field(p),
        OnKw => handler(p),
        Ident if next == LParen && p.text_at(0) == "init" => {
            p.bump();
            comma_group(p, LParen, ParamList, "a parameter", patterns::param);
            sigs::ret(p);
            body_block(p);
            p.done(m, InitDef);
        }
        FnKw | ConstKw | AsyncKw | UnsafeKw => sigs::fn_def(p, m, Body::Required),
        Ident => state_field(p),
        _ => {}
    }
}

fn body_block(p: &mut Parser<'_>) {
    let in_loop = std::mem::replace(&mut p.in_loop, false);
    stmts::block(p);
    p.in_loop = in_loop;
}

fn state_field(p: &mut Parser<'_>) {
    let m = p.marker();
    if p.at(StateKw) && !matches!(p.nth(1), Colon | Eq) {
        p.bump();
    }
    if !p.name_at(0) {
        p.unexpected("a name");
        p.done(m, StateField);
        return;
    }
    p.bump();
    let mut whole = false;
    if p.eat(Colon) {
        types::ty(p);
        whole = true;
    }
    if p.at(Eq) {
        p.bump();
        exprs::expr(p);
        whole = true;
    }
    if !whole {
        p.unexpected("`:` or `=`");
        items::rest_of_entry(p);
    }
    p.done(m, StateField);
}

fn handler(p: &mut Parser<'_>) {
    let m = p.marker();
    p.bump();
    items::name(p);
    patterns::param_list(p);
    if !p.at(Arrow) {
        if p.at(LBrace) {
            body_block(p);
        } else {
            p.unexpected("`{` or `->`");
            items::rest_of_entry(p);
        }
        p.done(m, Handler);
        return;
    }
    if p.nth(1) == LBrace {
        p.bump();
        body_block(p);
    } else if !typed_body(p) {
        let b = p.marker();
        p.bump();
        let in_loop = std::mem::replace(&mut p.in_loop, false);
        exprs::expr(p);
        p.in_loop = in_loop;
        p.done(b, ExprBody);
    }
    p.done(m, Handler);
}

/// `-> Type {` on one line, the brace not opening a field list ([R:G12]).
fn typed_body(p: &mut Parser<'_>) -> bool {
    if !types::begins_type(p.nth(1)) {
        return false;
    }
    let back = p.snapshot();
    let m = p.marker();
    p.bump();
    types::ty(p);
    let fits = !p.failed_since(&back) && p.at(LBrace) && !p.nl() && !opens_fields(p);
    if !fits {
        p.restore(&back);
        return false;
    }
    p.done(m, RetType);
    body_block(p);
    true
}

fn opens_fields(p: &Parser<'_>) -> bool {
    p.name_at(1) && matches!(p.nth(2), Colon | Comma)
}

pub(super) fn supervisor(p: &mut Parser<'_>, m: Marker) {
    p.bump();
    items::name(p);
    let s = p.marker();
    if p.at(LParen) {
        p.bump();
        p.inside(false, |p| {
            if p.at_word("strategy") {
                p.bump();
                if p.expect(Colon, "`:`") {
                    p.expect(Ident, "a strategy");
                }
            } else if !p.at_end() {
                p.unexpected("`strategy`");
            }
        });
        super::close(p);
        p.done(s, Strategy);
    } else if p.at_word("strategy") {
        p.bump();
        p.expect(Ident, "a strategy");
        p.done(s, Strategy);
    }
    braced_list(p, SupBody, "`child`, `on_fail` or an action", |p| {
        let c = p.marker();
        match p.cur() {
            ChildKw => {
                p.bump();
                items::name(p);
                if p.expect(Eq, "`=`") {
                    exprs::expr(p);
                }
                p.done(c, ChildDef);
            }
            OnFailKw => {
                p.bump();
                if p.at(LParen) {
                    p.bump();
                    p.inside(false, |p| {
                        p.expect(Ident, "a child's name");
                    });
                    super::close(p);
                } else {
                    p.unexpected("`(`");
                }
                actions(p);
                p.done(c, OnFail);
            }
            _ => {
                action(p);
                // `{ SupAction [";"|","] }` reads better with `;` than a list rule would allow.
                p.eat(Semi);
            }
        }
    });
    p.done(m, SupervisorDef);
}

/// `{ { SupAction [";"|","] } }`.
fn actions(p: &mut Parser<'_>) {
    if !p.expect(LBrace, "`{`") {
        return;
    }
    p.inside(true, |p| {
        while !p.at_end() {
            if !action(p) {
                p.unexpected("`restart`, `backoff` or `escalate`");
                super::skip_entry(p);
            }
            if !p.eat(Semi) {
                p.eat(Comma);
            }
        }
    });
    p.eat(RBrace);
}

fn action(p: &mut Parser<'_>) -> bool {
    let m = p.marker();
    match p.cur() {
        RestartKw => {
            p.bump();
            if p.eat(UpToKw) && p.expect(IntNumber, "a count") && p.expect(InKw, "`in`") {
                p.expect(DurationLit, "a duration");
            }
            p.done(m, RestartAction);
        }
        BackoffKw => {
            p.bump();
            if p.expect(DurationLit, "a duration") && p.expect(DotDot, "`..`") {
                p.expect(DurationLit, "a duration");
            }
            p.done(m, BackoffAction);
        }
        Ident if p.text_at(0) == "escalate" => {
            p.bump();
            p.done(m, EscalateAction);
        }
        _ => return false,
    }
    true
}

/// `sandbox IDENT with Entries Block`, without making the node.
pub(super) fn sandbox(p: &mut Parser<'_>) {
    p.bump();
    items::name(p);
    let with = p.expect(WithKw, "`with`");
    entries(p);
    // Without `with` the braces may well have been meant as the body.
    if with || p.at(LBrace) {
        stmts::block(p);
    }
}

/// `Entries` of a sandbox or budget.
pub(super) fn entries(p: &mut Parser<'_>) {
    braced_list(p, EntryList, "a key", |p| {
        let m = p.marker();
        if !p.name_at(0) {
            return;
        }
        p.bump();
        while p.at(Dot) && p.name_at(1) {
            p.bump();
            p.bump();
        }
        p.done(m, EntryKey);
        p.eat(Eq);
        exprs::expr(p);
        p.done(m, Entry);
    });
}
