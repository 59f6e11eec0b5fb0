//! Where operators, method chains and values behind `=` and `=>` break (formatting.md §5).
//! Must not put a line break where language.md §2 would end the statement.

use super::super::plan::{Break, El, Plan};
use crate::SyntaxKind::{self, *};
use crate::tree::Node;

/// The level of an operator (language.md §3.5), as far as chains of one level need it.
fn level(op: SyntaxKind) -> u8 {
    match op {
        DotDot | DotDotEq => 1,
        PipePipe => 3,
        AmpAmp => 4,
        EqEq | NotEq | Lt | LtEq | Gt | GtEq => 5,
        Pipe => 6,
        Caret => 7,
        Amp => 8,
        Shl | Shr => 9,
        Plus | Minus => 10,
        Star | Slash | Percent => 11,
        _ => 12,
    }
}

/// Operators that would begin a new statement at the begin of a line (S2).
fn begins_statement(op: SyntaxKind) -> bool {
    matches!(op, Minus | Star | Amp | Pipe)
}

fn operator(node: Node<'_>) -> Option<SyntaxKind> {
    node.own_tokens().next().map(|t| t.kind())
}

/// Whether a chain breaks behind an operator: also where only there a line comment ends the line
/// (formatting.md §7).
fn breaks_behind(p: &Plan<'_>, left: El<'_>, op: El<'_>, right: El<'_>) -> bool {
    let comment = |from: usize, to: usize| {
        (from + 1..to).any(|t| matches!(p.kind(t), LineComment | DocComment))
    };
    begins_statement(op.kind) || (comment(op.last, right.first) && !comment(left.last, op.first))
}

/// The token before which a chain breaks at an operator.
fn break_at(p: &Plan<'_>, left: El<'_>, op: El<'_>, right: El<'_>) -> usize {
    if breaks_behind(p, left, op, right) {
        right.first
    } else {
        op.first
    }
}

/// Whether the author broke the line next to the operator. Such breaks are kept: in the sample of
/// formatting.md §9 a chain that would fit stands on the lines on which it was written.
fn written_broken(p: &Plan<'_>, left: El<'_>, op: El<'_>, right: El<'_>) -> bool {
    p.line_between(left.last, op.first) || p.line_between(op.last, right.first)
}

/// `a op b`: operands of one level share a group, which the outermost of their nodes makes.
pub(super) fn operators<'t>(p: &mut Plan<'t>, node: Node<'t>, els: &[El<'t>]) {
    let [left, op, right] = *els else { return };
    let keeps = node.kind() == BinaryExpr;
    let brk = match node.kind() {
        RangeExpr => Break::Soft,
        _ if keeps && written_broken(p, left, op, right) => Break::Hard,
        _ => Break::Line,
    };
    let at = break_at(p, left, op, right);
    if at == right.first && node.kind() == RangeExpr {
        p.set(op.first, Break::None);
    } else if at == right.first {
        p.set(op.first, Break::Space);
    }
    p.set(at, brk);
    if p.told(node).link {
        return;
    }
    // From the last operator to the first; each run between two kept breaks is a group.
    let end = right.last;
    let mut run_end = end;
    let (mut left, mut op, mut right) = (left, op, right);
    let mut inner_els = Vec::with_capacity(3);
    loop {
        if keeps && written_broken(p, left, op, right) {
            let (first, last) = if breaks_behind(p, left, op, right) {
                (right.first, op.last)
            } else {
                (op.first, left.last)
            };
            p.group(first, run_end);
            run_end = last;
        }
        let Some(inner) = left.node.filter(|n| {
            n.kind() == node.kind() && operator(*n).is_some_and(|k| level(k) == level(op.kind))
        }) else {
            break;
        };
        p.told(inner).link = true;
        Plan::elements(inner, &mut inner_els);
        let [l, o, r] = inner_els[..] else { break };
        (left, op, right) = (l, o, r);
    }
    p.group(left.first, run_end);
    p.nest(break_at(p, left, op, right), end);
}

/// `place = value`: the line may break before the operator.
pub(super) fn assignment(p: &mut Plan<'_>, els: &[El<'_>]) {
    let [_, op, value] = els else { return };
    p.choice(op.first, value.last, hugs(value.kind));
}

/// A value behind `=`, `=>`, `->` or `arena name:`.
pub(super) fn value(p: &mut Plan<'_>, kind: SyntaxKind, els: &[El<'_>]) {
    for pair in els.windows(2) {
        let (sign, value) = (pair[0], pair[1]);
        let leads = match kind {
            MatchArm => sign.kind == FatArrow,
            ArenaExpr => sign.kind == Colon,
            ExprBody => matches!(sign.kind, Eq | Arrow),
            _ => sign.kind == Eq,
        };
        if leads && value.kind != Block {
            p.choice(value.first, value.last, hugs(value.kind));
            return;
        }
    }
}

/// Whether a value that fits on no line begins on this one: all that can break inside. Had it depended on
/// the author's breaks in there, the canonical text would not be its own canonical form.
fn hugs(kind: SyntaxKind) -> bool {
    !matches!(kind, Literal | PathExpr | ScopeExpr) && !kind.is_type()
}

/// `A | B` in a pattern.
pub(super) fn alternatives(p: &mut Plan<'_>, els: &[El<'_>]) {
    let (first, last) = (els[0].first, els[els.len() - 1].last);
    let mut nested = false;
    for pair in els.windows(2) {
        if pair[0].kind == Pipe {
            p.set(pair[1].first, Break::Line);
            if !nested {
                nested = true;
                p.nest(pair[1].first, last);
            }
        }
    }
    p.group(first, last);
}

fn is_postfix(kind: SyntaxKind) -> bool {
    matches!(
        kind,
        CallExpr
            | MethodCallExpr
            | FieldExpr
            | IndexExpr
            | PropagateExpr
            | AskExpr
            | SendExpr
            | DeadlineExpr
            | AwaitExpr
            | ScopeExpr
            | TurbofishExpr
    )
}

/// `a.b(…).c(…)`: behind the first call, every `.name(…)` may stand on its own line. Decided at the
/// outermost link, before the rules of the inner ones.
pub(super) fn chain<'t>(p: &mut Plan<'t>, node: Node<'t>, els: &[El<'t>]) {
    let last = els[els.len() - 1].last;
    // The dots of method calls, outermost first.
    let mut dots: Vec<usize> = Vec::new();
    let mut first_call = false;
    let mut all_dots = 0;
    let mut broken = false;
    let mut at = Some(node);
    while let Some(link) = at.filter(|n| is_postfix(n.kind())) {
        p.told(link).link = true;
        if matches!(link.kind(), MethodCallExpr | FieldExpr | AwaitExpr)
            && let Some(dot) = link.own_tokens().next()
        {
            let dot = dot.id().index();
            all_dots += 1;
            broken |= p.line_between(before(p, dot), dot);
            if link.kind() == MethodCallExpr {
                dots.push(dot);
            }
        }
        first_call = match link.kind() {
            MethodCallExpr => true,
            CallExpr | AskExpr | SendExpr => false,
            _ => first_call,
        };
        at = link.children().next();
    }
    // The innermost call belongs to the head: a method call that comes first does not break.
    if first_call {
        dots.pop();
    }
    let Some(first) = dots.last().copied().filter(|_| all_dots >= 2) else {
        return;
    };
    for dot in dots {
        p.set(dot, if broken { Break::Hard } else { Break::Soft });
    }
    p.group(els[0].first, last);
    p.nest(first, last);
}

/// The significant token before a token.
fn before(p: &Plan<'_>, token: usize) -> usize {
    (0..token)
        .rev()
        .find(|t| !p.kind(*t).is_trivia())
        .unwrap_or(token)
}
