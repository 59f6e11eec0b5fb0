//! Patterns (language.md §3.3). They ignore newlines (S8).

use super::{braced_list, close, comma, comma_group};
use crate::SyntaxKind::*;
use crate::parser::Parser;

/// `Pattern`, alternatives included.
pub(super) fn pattern(p: &mut Parser<'_>) {
    let m = p.marker();
    atom(p);
    if p.at(Pipe) {
        while p.eat(Pipe) {
            atom(p);
        }
        p.done(m, OrPat);
    }
}

/// Whether a token can begin a pattern.
pub(super) fn begins(p: &Parser<'_>) -> bool {
    let k = p.cur();
    k == Ident
        || k.is_literal()
        || matches!(k, Minus | RefKw | MutKw | Amp | LParen | BudgetKw | TooDeep)
}

fn number(p: &mut Parser<'_>) {
    p.eat(Minus);
    if p.cur().is_number() || p.at(Char) {
        p.bump();
    } else {
        p.unexpected("a number");
    }
}

/// `PatAtom`.
pub(super) fn atom(p: &mut Parser<'_>) {
    p.deeper(|p| {
        let m = p.marker();
        match p.cur() {
            Ident if p.text_at(0) == "_" && !matches!(p.nth(1), At | Dot | ColonColon | LParen) => {
                p.bump();
                p.done(m, WildcardPat);
            }
            Ident | BudgetKw => path_or_binding(p),
            RefKw | MutKw => {
                p.eat(RefKw);
                p.eat(MutKw);
                if p.at(Ident) || p.at(BudgetKw) {
                    p.bump();
                } else {
                    p.unexpected("a name");
                }
                at_pattern(p);
                p.done(m, IdentPat);
            }
            Amp => {
                p.bump();
                p.eat(MutKw);
                atom(p);
                p.done(m, RefPat);
            }
            LParen => {
                p.bump();
                let mut kind = TuplePat;
                p.inside(false, |p| {
                    if p.at_end() {
                        return;
                    }
                    pattern(p);
                    if p.at_end() {
                        kind = ParenPat;
                    } else if p.eat(Comma) {
                        comma(p, "a pattern", pattern);
                    }
                });
                close(p);
                p.done(m, kind);
            }
            Minus => {
                number(p);
                range_tail(p, m);
            }
            k if k.is_literal() => {
                p.bump();
                range_tail(p, m);
            }
            TooDeep => {
                p.skip();
                p.done(m, ErrorNode);
            }
            k => {
                p.unexpected("a pattern");
                // A reserved word used as a name: taken along, so that the rest of the line still fits.
                let named = matches!(
                    p.nth(1),
                    Eq | Colon | Comma | RParen | InKw | FatArrow | Pipe | At
                );
                if k.is_keyword() && named && !p.nl() {
                    p.bump();
                    p.done(m, ErrorNode);
                } else if k == LBracket && !p.nl() {
                    // Arrays cannot be taken apart: what tries to goes with the report.
                    p.skip();
                    p.done(m, ErrorNode);
                }
            }
        }
    });
}

fn range_tail(p: &mut Parser<'_>, m: crate::parser::Marker) {
    if p.at(DotDot) || p.at(DotDotEq) {
        p.bump();
        number(p);
        p.done(m, RangePat);
    } else {
        p.done(m, LiteralPat);
    }
}

fn at_pattern(p: &mut Parser<'_>) {
    if p.eat(At) {
        atom(p);
    }
}

fn path_or_binding(p: &mut Parser<'_>) {
    let m = p.marker();
    p.bump();
    if p.at(At) {
        at_pattern(p);
        p.done(m, IdentPat);
        return;
    }
    let mut single = true;
    while matches!(p.cur(), Dot | ColonColon) {
        single = false;
        p.bump();
        if p.name_at(0) {
            p.bump();
        } else {
            p.unexpected("a name");
            break;
        }
    }
    match p.cur() {
        LParen => {
            p.done(m, QualPath);
            p.bump();
            p.inside(false, |p| comma(p, "a pattern", pattern));
            close(p);
            p.done(m, VariantPat);
        }
        LBrace => {
            p.done(m, QualPath);
            braced_list(p, FieldPatList, "a field", field);
            p.done(m, StructPat);
        }
        _ if single => p.done(m, IdentPat),
        _ => {
            p.done(m, QualPath);
            p.done(m, PathPat);
        }
    }
}

fn field(p: &mut Parser<'_>) {
    let m = p.marker();
    if p.at(DotDot) {
        p.bump();
        p.done(m, RestPat);
    } else if p.name_at(0) {
        p.bump();
        if p.eat(Colon) {
            pattern(p);
        }
        p.done(m, FieldPat);
    }
}

/// A parameter: a pattern without alternatives, perhaps a type.
pub(super) fn param(p: &mut Parser<'_>) {
    if !begins(p) {
        return;
    }
    let m = p.marker();
    atom(p);
    if p.eat(Colon) {
        super::types::ty(p);
    }
    p.done(m, Param);
}

/// Parameters of an agent, handler or lambda: `( Comma( IDENT [":" Type] ) )`.
pub(super) fn param_list(p: &mut Parser<'_>) {
    comma_group(p, LParen, ParamList, "a parameter", param);
}
