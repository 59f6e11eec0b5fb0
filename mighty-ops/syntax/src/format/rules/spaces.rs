//! Spaces between tokens that stay on one line (formatting.md §4).
//! Must not make groups or line breaks, the one behind an attribute excepted.

use super::super::plan::{Break, Copied, El, Plan};
use crate::SyntaxKind::{self, *};

/// Sets every gap of a node that is no list.
pub(super) fn between_all(p: &mut Plan<'_>, kind: SyntaxKind, els: &[El<'_>]) {
    for pair in els.windows(2) {
        let mut brk = between(kind, pair[0], pair[1]);
        if pair[0].kind == Amp && apart(p, pair[0].first, pair[1].first) {
            brk = Break::Space;
        }
        p.set(pair[1].first, brk);
    }
}

/// Whether two equal tokens stand apart that would be one if they touched: at the begin of a line
/// `& &` begins a statement and `&&` continues one.
fn apart(p: &Plan<'_>, one: usize, two: usize) -> bool {
    two > one + 1 && p.kind(one) == p.kind(two)
}

/// Spaced unless the table says otherwise.
fn between(kind: SyntaxKind, prev: El<'_>, next: El<'_>) -> Break {
    use Break::{Hard, None, Space};
    if prev.kind == Attr {
        return Hard;
    }
    let tight = match kind {
        Path | HostPath | PathExpr | FieldExpr | ScopeExpr | TurbofishExpr | QualPath
        | LiteralPat | RangePat | PathPat | EntryKey | IndexExpr | PropagateExpr | CallExpr
        | AskExpr | SendExpr | MethodCallExpr | AwaitExpr | Vis | VariadicParam | PathType
        | SliceType | ParenType | ParenPat | ResultType | PrefixExpr | MacroCall | RangeExpr
        | Literal => true,
        RefExpr | RefType | RefPat | SelfParam if prev.kind == Amp => true,
        PtrType => prev.kind == Star,
        DeadlineExpr | TaskExpr => prev.kind == At,
        BackoffAction => DotDot == prev.kind || DotDot == next.kind,
        EffectClause => {
            prev.kind == Bang || prev.kind == LBrace || matches!(next.kind, RBrace | Comma)
        }
        Strategy | OnFail => {
            matches!(prev.kind, LParen)
                || matches!(next.kind, LParen | RParen | Colon | Comma | Semi)
        }
        ArrayType => prev.kind == LBracket || matches!(next.kind, RBracket | Semi),
        SupervisorDef => next.kind == Strategy && first_is_paren(next),
        SpawnExpr => next.kind == ArgList,
        WhereClause | DeriveClause => next.kind == Comma,
        ProtocolRefs => matches!(next.kind, Comma),
        _ => false,
    };
    let tight = tight
        || matches!(
            next.kind,
            Semi | Colon | GenericParamList | MacroParamList | FnTypeParams | ProtocolRefs
        )
        || (next.kind == ParamList && kind != LambdaExpr)
        || (next.kind == ParamList && prev.kind == FnKw);
    if tight { None } else { Space }
}

fn first_is_paren(el: El<'_>) -> bool {
    el.node
        .and_then(|n| n.first_token())
        .is_some_and(|t| t.kind() == LParen)
}

/// `|x, y|`, always on one line.
pub(super) fn pipe_params(p: &mut Plan<'_>, els: &[El<'_>]) {
    let end = els.len() - 1;
    if end == 1 && apart(p, els[0].first, els[1].first) {
        p.set(els[1].first, Break::Space);
    }
    for i in 1..=end {
        let (prev, el) = (els[i - 1], els[i]);
        if el.kind == Comma && i + 1 == end {
            p.gap(el.first).dropped = true;
        } else if prev.kind == Comma && i < end {
            p.set(el.first, Break::Space);
        }
    }
}

/// Attributes hold raw tokens: blanks are made regular, unless what they hold looks like a body.
pub(super) fn attribute(p: &mut Plan<'_>, els: &[El<'_>]) {
    let (first, last) = (els[0].first, els[els.len() - 1].last);
    let raw = (first..=last).any(|t| {
        let k = p.kind(t);
        k.is_comment() || matches!(k, LBrace | Error)
    });
    if raw {
        p.copied.push(Copied {
            first,
            last,
            trim: false,
        });
        return;
    }
    for pair in els.windows(2) {
        let (prev, next) = (pair[0], pair[1]);
        let spaced_in_source = next.first > prev.last + 1;
        let word = |k: SyntaxKind| k == Ident || k.is_keyword();
        let spaced = match (prev.kind, next.kind) {
            (LParen | LBracket, _) | (_, RParen | RBracket | Comma) => false,
            (Hash, LBracket) | (At, Ident) => false,
            (k, LParen | LBracket) if word(k) => false,
            (Comma, _) | (Eq, _) | (_, Eq) | (Colon, _) => true,
            (_, Colon) => false,
            (Dot | ColonColon, k) | (k, Dot | ColonColon) if word(k) => false,
            _ => spaced_in_source,
        };
        if spaced {
            p.set(next.first, Break::Space);
        }
    }
}
