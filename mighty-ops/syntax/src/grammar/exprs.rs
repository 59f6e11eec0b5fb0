//! Expressions: operators by an explicit stack, prefixes and postfixes by loops (language.md §3.4, §3.5).
//! Recursion happens only through brackets and the constructs of `atoms`.

use super::{atoms, comma_group, types};
use crate::SyntaxKind::{self, *};
use crate::error::code;
use crate::parser::{Marker, Parser, Pending};

/// Prefix operators that may stand in a row.
const MAX_PREFIXES: usize = 256;

/// `Expr`; a missing operand is reported.
pub(super) fn expr(p: &mut Parser<'_>) {
    p.deeper(|p| operators(p, false));
}

/// An expression statement: its block-like first operand ends at its `}` (S4).
pub(super) fn statement(p: &mut Parser<'_>) {
    p.deeper(|p| operators(p, true));
}

/// `NoStructExpr`.
pub(super) fn no_struct(p: &mut Parser<'_>) {
    let old = std::mem::replace(&mut p.no_struct, true);
    expr(p);
    p.no_struct = old;
}

/// Node kind and binding powers of an infix operator.
fn infix(k: SyntaxKind) -> Option<(SyntaxKind, u8, u8)> {
    Some(match k {
        DotDot | DotDotEq => (RangeExpr, 1, 2),
        _ if k.is_assign_op() => (AssignExpr, 4, 3),
        PipePipe => (BinaryExpr, 5, 6),
        AmpAmp => (BinaryExpr, 7, 8),
        EqEq | NotEq | Lt | LtEq | Gt | GtEq => (BinaryExpr, 9, 10),
        Pipe => (BinaryExpr, 11, 12),
        Caret => (BinaryExpr, 13, 14),
        Amp => (BinaryExpr, 15, 16),
        Shl | Shr => (BinaryExpr, 17, 18),
        Plus | Minus => (BinaryExpr, 19, 20),
        Star | Slash | Percent => (BinaryExpr, 21, 22),
        AsKw => (CastExpr, 23, 24),
        _ => return None,
    })
}

/// CONT of S2, the infix part: operators that cannot begin a statement.
fn continues(k: SyntaxKind) -> bool {
    !matches!(k, Minus | Star | Amp | Pipe)
}

fn operators(p: &mut Parser<'_>, stmt: bool) {
    let base = p.pending.len();
    let mut lhs = p.marker();
    if operand(p, stmt) {
        while let Some((kind, lbp, rbp)) = infix(p.cur()) {
            if p.line_ends() && !continues(p.cur()) {
                break;
            }
            while let Some(top) = p.pending[base..].last().copied()
                && top.rbp > lbp
            {
                p.pending.pop();
                p.done(top.marker, top.kind);
                lhs = top.marker;
            }
            if kind == CastExpr {
                p.bump();
                types::atom(p);
                p.done(lhs, CastExpr);
                continue;
            }
            if kind == AssignExpr {
                check_target(p, lhs);
            }
            p.bump();
            p.pending.push(Pending {
                marker: lhs,
                kind,
                rbp,
            });
            lhs = p.marker();
            if !operand(p, false) {
                break;
            }
        }
    }
    while p.pending.len() > base {
        if let Some(top) = p.pending.pop() {
            p.done(top.marker, top.kind);
        }
    }
}

/// Only places take an assignment; anything else is a bad target (§27, MT0001).
fn check_target(p: &mut Parser<'_>, lhs: Marker) {
    let mut i = p.nodes.len();
    let place = loop {
        let Some(n) = i.checked_sub(1).map(|j| p.nodes[j]) else {
            break true;
        };
        match n.kind {
            ParenExpr => i -= 1,
            PathExpr | FieldExpr | ScopeExpr | IndexExpr | SelfExpr | ErrorNode => break true,
            PrefixExpr => break p.starts_with_star(n),
            _ => break false,
        }
    };
    if !place {
        let range = p.range_since(lhs);
        p.error_at(
            code::UNEXPECTED_TOKEN,
            range,
            "this is no place that could be assigned to".into(),
        );
    }
}

/// Whether an expression can begin with the current token.
pub(super) fn begins(p: &Parser<'_>) -> bool {
    let k = p.cur();
    k == Ident
        || k.is_literal()
        || matches!(
            k,
            SelfKw
                | LParen
                | LBracket
                | LBrace
                | Minus
                | Bang
                | Star
                | Amp
                | Pipe
                | IfKw
                | MatchKw
                | LoopKw
                | WhileKw
                | ForKw
                | ReturnKw
                | BreakKw
                | ContinueKw
                | FnKw
                | SpawnKw
                | DetachKw
                | JoinKw
                | RunKw
                | ArenaKw
                | TaskKw
                | BudgetKw
                | SandboxKw
                | UnsafeKw
                | MoveKw
                | TooDeep
        )
}

/// An operand with its prefixes and postfixes. Says whether there was one; if not, it is reported.
fn operand(p: &mut Parser<'_>, stmt: bool) -> bool {
    if !begins(p) && !recover(p) {
        return false;
    }
    let base = p.prefixes.len();
    let mut deep = None;
    loop {
        let kind = match p.cur() {
            Minus | Bang | Star => PrefixExpr,
            Amp => RefExpr,
            MoveKw => MoveExpr,
            JoinKw => JoinExpr,
            _ => break,
        };
        let m = p.marker();
        if p.prefixes.len() - base == MAX_PREFIXES && deep.is_none() {
            deep = Some(m);
            let title = format!("more than {MAX_PREFIXES} prefix operators stand in a row");
            p.report(code::DEPTH_LIMIT_EXCEEDED, title);
        }
        p.bump();
        if kind == RefExpr {
            p.eat(MutKw);
        }
        if deep.is_none() {
            p.prefixes.push((m, kind));
        }
    }
    let found = if p.prefixes.len() == base {
        postfix(p, stmt)
    } else {
        (begins(p) || recover(p)) && postfix(p, false)
    };
    if let Some(m) = deep {
        p.done(m, ErrorNode);
    }
    while p.prefixes.len() > base {
        if let Some((m, kind)) = p.prefixes.pop() {
            p.done(m, kind);
        }
    }
    found
}

/// No operand begins here. Reports it; operators in its place are skipped, and if an operand follows
/// them on, parsing goes on with it.
fn recover(p: &mut Parser<'_>) -> bool {
    let k = p.cur();
    if !k.is_punct() || k.is_closer() || matches!(k, Comma | Semi) {
        let title = format!("an operand is missing before {}", p.describe());
        p.report(code::EXPECTED_EXPR, title);
        return false;
    }
    p.unexpected("an operand");
    if matches!(k, FatArrow | Colon | Arrow | Hash | At) {
        return false;
    }
    let m = p.marker();
    while p.cur().is_punct()
        && !begins(p)
        && !p.at_end()
        && !matches!(p.cur(), Comma | Semi | FatArrow | Colon | Arrow | Hash | At)
    {
        p.bump();
    }
    p.done(m, ErrorNode);
    begins(p)
}

/// A primary and what is applied to it.
fn postfix(p: &mut Parser<'_>, stmt: bool) -> bool {
    let m = p.marker();
    // What a struct literal may begin with: a bare path; a map literal: a path with a turbofish.
    let mut path = p.at(Ident);
    let mut turbofish = false;
    let block_like = atoms::primary(p);
    if stmt && block_like {
        p.after_block = p.pos();
    }
    path &= p.last_kind() == PathExpr;
    loop {
        match p.cur() {
            Dot => {
                path &= field(p, m);
                turbofish = false;
                continue;
            }
            Question => {
                question(p, m);
                path = false;
                continue;
            }
            _ if p.line_ends() => break,
            ColonColon if path => {
                p.bump();
                if p.at(LBracket) {
                    comma_group(p, LBracket, TypeArgs, "a type", types::ty);
                    p.done(m, TurbofishExpr);
                    turbofish = true;
                    continue;
                }
                if p.name_at(0) {
                    p.bump();
                } else {
                    p.unexpected("a name");
                }
                p.done(m, ScopeExpr);
                turbofish = false;
                continue;
            }
            LParen => {
                args(p);
                p.done(m, CallExpr);
            }
            LBracket => {
                p.bump();
                p.inside(false, expr);
                super::close(p);
                p.done(m, IndexExpr);
            }
            LBrace if path && !p.nl() && !p.no_struct => {
                if turbofish {
                    atoms::map_entries(p);
                    p.done(m, MapLit);
                } else {
                    atoms::struct_fields(p);
                    p.done(m, StructLit);
                }
            }
            Bang if is_message(p) => {
                p.bump();
                p.bump();
                args(p);
                p.done(m, SendExpr);
            }
            At => {
                deadline(p);
                p.done(m, DeadlineExpr);
            }
            _ => break,
        }
        path = false;
    }
    true
}

/// `Msg(` on the line of the operator before it (§2(b)).
fn is_message(p: &Parser<'_>) -> bool {
    p.nth(1) == Ident && !p.nl_at(1) && p.nth(2) == LParen && !p.nl_at(2)
}

fn question(p: &mut Parser<'_>, m: Marker) {
    let ask = is_message(p);
    p.bump();
    if ask {
        p.bump();
        args(p);
        p.done(m, AskExpr);
    } else {
        p.done(m, PropagateExpr);
    }
}

/// `.name`, `.0`, `.name(…)`, `.await`. Says whether the result still is a path.
fn field(p: &mut Parser<'_>, m: Marker) -> bool {
    p.bump();
    if p.at(IntNumber) {
        p.bump();
        p.done(m, FieldExpr);
        return false;
    }
    if !p.name_at(0) {
        p.unexpected("a field or method name");
        p.done(m, FieldExpr);
        return false;
    }
    let name = p.cur();
    // The only generic call without `::` ([R:G86]).
    let typed = p.nth(1) == LBracket && p.text_at(0) == "in_allowlist" && calls_after_bracket(p);
    p.bump();
    if typed {
        comma_group(p, LBracket, TypeArgs, "a type", types::ty);
    }
    if p.at(LParen) && !p.line_ends() {
        args(p);
        p.done(m, MethodCallExpr);
        return false;
    }
    p.done(
        m,
        if name == AwaitKw {
            AwaitExpr
        } else {
            FieldExpr
        },
    );
    name != AwaitKw
}

/// Whether `[…]` one token ahead is followed by `(`.
fn calls_after_bracket(p: &Parser<'_>) -> bool {
    let mut depth = 0usize;
    for n in 1.. {
        match p.nth(n) {
            Eof => return false,
            k if k.is_opener() => depth += 1,
            k if k.is_closer() => {
                depth -= 1;
                if depth == 0 {
                    return p.nth(n + 1) == LParen;
                }
            }
            _ => {}
        }
    }
    false
}

/// `@dur`; the duration stands on the line of the `@`.
fn deadline(p: &mut Parser<'_>) {
    if p.nth(1) == DurationLit && !p.nl_at(1) {
        p.bump();
        p.bump();
        return;
    }
    if p.nth(1) == IntNumber && !p.nl_at(1) && p.nth(2) == Ident && p.glued(2) {
        p.bump();
        p.bump();
        p.unexpected("a duration");
        p.bump();
        return;
    }
    p.unexpected("a duration directly after it");
    p.bump();
    if p.eat(DurationLit) {
        return;
    }
    if !p.nl() && begins(p) {
        let m = p.marker();
        atoms::primary(p);
        p.done(m, ErrorNode);
    }
}

/// `( Comma(Expr) )`, an argument perhaps named ([R:G78]).
pub(super) fn args(p: &mut Parser<'_>) {
    comma_group(p, LParen, ArgList, "an argument", |p| {
        if p.name_at(0) && p.nth(1) == Colon {
            let m = p.marker();
            p.bump();
            p.bump();
            expr(p);
            p.done(m, NamedArg);
        } else {
            expr(p);
        }
    });
}

/// `spawn PathExpr ( … )`.
pub(super) fn spawn(p: &mut Parser<'_>) {
    p.bump();
    let m = p.marker();
    if !p.eat(Ident) {
        p.unexpected("the name of an agent");
        return;
    }
    p.done(m, PathExpr);
    while matches!(p.cur(), Dot | ColonColon) {
        let dot = p.at(Dot);
        p.bump();
        if !dot && p.at(LBracket) {
            comma_group(p, LBracket, TypeArgs, "a type", types::ty);
            p.done(m, TurbofishExpr);
            continue;
        }
        if p.name_at(0) {
            p.bump();
        } else {
            p.unexpected("a name");
        }
        p.done(m, if dot { FieldExpr } else { ScopeExpr });
    }
    args(p);
}
