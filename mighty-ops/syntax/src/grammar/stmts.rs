//! Blocks and statements, and what separates them (language.md §2(c), §3.4).

use super::{exprs, items, patterns, types};
use crate::SyntaxKind::*;
use crate::error::code;
use crate::parser::Parser;

/// `Block`.
pub(super) fn block(p: &mut Parser<'_>) {
    if p.at(TooDeep) {
        let m = p.marker();
        p.skip();
        p.done(m, ErrorNode);
        return;
    }
    let m = p.marker();
    if !p.expect(LBrace, "`{`") {
        return;
    }
    p.inside(true, statements);
    p.eat(RBrace);
    p.done(m, Block);
}

fn statements(p: &mut Parser<'_>) {
    while !p.at_end() {
        let before = p.pos();
        let ended = statement(p);
        if p.pos() == before {
            misfit(p);
        }
        if p.at_end() || ended || p.nl() || p.after_block == p.pos() || p.at(Semi) {
            continue;
        }
        super::missing_separator(p, "a line break or `;`");
    }
}

/// One statement with its `;`. Says whether nothing need separate it from the next.
fn statement(p: &mut Parser<'_>) -> bool {
    let m = p.marker();
    match p.cur() {
        Semi => {
            p.bump();
            p.done(m, EmptyStmt);
            return true;
        }
        LetKw => {
            p.bump();
            if p.at(MutKw) && !matches!(p.nth(1), Ident | BudgetKw) {
                p.bump();
            }
            patterns::pattern(p);
            if p.eat(Colon) {
                types::ty(p);
            }
            if p.eat(Eq) {
                exprs::expr(p);
            }
            let ended = p.eat(Semi);
            p.done(m, LetStmt);
            return ended;
        }
        Hash | PubKw | UseKw | StructKw | EnumKw | TypeKw | ConstKw | TraitKw | ImplKw
        | AgentKw | ProtocolKw | SupKw | CapKw | ModKw | ExternKw | ExportKw | MacroKw
        | DeriveKw | FnKw | UnsafeKw | AsyncKw
            if items::begins(p) =>
        {
            return nested_item(p);
        }
        _ if exprs::begins(p) => {
            exprs::statement(p);
            let ended = p.eat(Semi);
            p.done(m, ExprStmt);
            return ended;
        }
        _ => {}
    }
    false
}

fn nested_item(p: &mut Parser<'_>) -> bool {
    let range = p.range_at(0);
    let title = format!(
        "unexpected {}, this item stands only in a module",
        p.describe()
    );
    let errors = p.errors.len();
    items::item(p);
    if !items::nests(p.last_kind()) && p.errors.len() == errors {
        p.error_at(code::UNEXPECTED_TOKEN, range, title);
    }
    matches!(p.prev(), RBrace | Semi)
}

/// A token that begins no statement: reported once, skipped up to the next line or `;`.
fn misfit(p: &mut Parser<'_>) {
    if matches!(p.cur(), YieldKw | AwaitKw | AsyncKw | ImportKw) {
        let title = format!("{} begins no expression", p.describe());
        p.report(code::EXPECTED_EXPR, title);
    } else {
        p.unexpected("a statement");
    }
    let m = p.marker();
    let start = p.pos();
    while !p.at_end() && (p.pos() == start || !(p.at(Semi) || p.nl())) {
        p.skip();
    }
    p.done(m, ErrorNode);
}
