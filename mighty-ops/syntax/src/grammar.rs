//! The productions of language.md §2 and §3, one submodule per area, and the list forms they share.
//! Must not build views or check names.

mod agents;
mod atoms;
mod exprs;
mod items;
mod patterns;
mod sigs;
mod stmts;
mod types;

use crate::SyntaxKind::{self, *};
use crate::parser::Parser;

/// A whole file.
pub(crate) fn source_file(p: &mut Parser<'_>) {
    if p.at(PackageKw) {
        let m = p.marker();
        p.bump();
        items::path(p);
        p.eat(Semi);
        p.done(m, PackageDecl);
    }
    items::items(p);
    p.finish_root();
}

/// Skips to the next `,`, line break or end of the bracket; takes at least one token.
fn skip_entry(p: &mut Parser<'_>) {
    let m = p.marker();
    let start = p.pos();
    while !p.at_end() && (p.pos() == start || !(p.at(Comma) || p.nl())) {
        p.skip();
    }
    p.done(m, ErrorNode);
}

/// `{ List(X) }` of §2(a), as a node of `kind`.
fn braced_list(
    p: &mut Parser<'_>,
    kind: SyntaxKind,
    what: &str,
    mut entry: impl FnMut(&mut Parser<'_>),
) {
    let m = p.marker();
    if !p.expect(LBrace, "`{`") {
        return;
    }
    p.inside(true, |p| {
        while !p.at_end() {
            let before = p.pos();
            entry(p);
            if p.pos() == before {
                p.unexpected(what);
                skip_entry(p);
            }
            if p.at_end() || p.eat(Comma) || p.nl() || p.prev() == RBrace {
                continue;
            }
            missing_separator(p, "`,` or a line break");
        }
    });
    p.eat(RBrace);
    p.done(m, kind);
}

/// `Comma(X)` up to the closer, which is left standing.
fn comma(p: &mut Parser<'_>, what: &str, mut entry: impl FnMut(&mut Parser<'_>)) {
    // A bracket that is not closed where it should be holds things that were never meant for it.
    let mut open: Option<bool> = None;
    while !p.at_end() {
        let before = p.pos();
        let errors = p.errors.len();
        entry(p);
        if p.errors.len() > errors && *open.get_or_insert_with(|| p.closes_virtually()) {
            let m = p.marker();
            while !p.at_end() {
                p.skip();
            }
            p.done(m, ErrorNode);
            return;
        }
        if p.pos() == before {
            p.unexpected(what);
            let m = p.marker();
            if *open.get_or_insert_with(|| p.closes_virtually()) {
                while !p.at_end() {
                    p.skip();
                }
            }
            while !p.at_end() && !p.at(Comma) {
                p.skip();
            }
            p.done(m, ErrorNode);
        }
        if p.at_end() || p.eat(Comma) {
            continue;
        }
        missing_separator(p, "`,`");
    }
}

/// Reports a missing separator; parsing goes on as if it stood here. A word glued to a number goes with
/// the report, since it was meant as a suffix and not as the next entry.
fn missing_separator(p: &mut Parser<'_>, what: &str) {
    p.unexpected(what);
    if p.at_glued_word() {
        let m = p.marker();
        p.bump();
        p.done(m, ErrorNode);
    }
}

/// `open Comma(X) close`, newlines dead, as a node of `kind`.
fn comma_group(
    p: &mut Parser<'_>,
    open: SyntaxKind,
    kind: SyntaxKind,
    what: &str,
    entry: impl FnMut(&mut Parser<'_>),
) {
    let m = p.marker();
    if !p.expect(open, if open == LParen { "`(`" } else { "`[`" }) {
        return;
    }
    p.inside(false, |p| comma(p, what, entry));
    close(p);
    p.done(m, kind);
}

/// Reports and skips what is left of a bracket, then takes its closer.
fn close(p: &mut Parser<'_>) {
    if !p.at_end() {
        p.unexpected("the end of the bracket");
        let m = p.marker();
        while !p.at_end() {
            p.skip();
        }
        p.done(m, ErrorNode);
    }
    if p.cur().is_closer() {
        p.bump();
    }
}

/// Balanced raw tokens with their brackets.
fn token_tree(p: &mut Parser<'_>, open: SyntaxKind) {
    if !p.at(open) {
        p.unexpected(match open {
            LParen => "`(`",
            LBracket => "`[`",
            _ => "`{`",
        });
        return;
    }
    let m = p.marker();
    p.skip();
    p.done(m, TokenTree);
}
