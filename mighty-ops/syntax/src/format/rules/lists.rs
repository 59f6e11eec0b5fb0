//! Lists that are flat if they fit and have one element per line if not (formatting.md §5, §6).
//! Must not decide about lists that are never flat; those are in `bodies`.

use super::super::plan::{Break, El, Plan, Sep};
use crate::SyntaxKind::*;

/// `open Comma(X) close`: commas are put anew, the last one only in the broken form. `edge` stands next to
/// the brackets of the flat form.
pub(super) fn comma(p: &mut Plan<'_>, els: &[El<'_>], edge: Break) {
    lay_out(p, els, edge, Sep::CommaIfBroken);
}

/// A list of types; it holds nothing that could keep a line break of the source.
pub(super) fn types(p: &mut Plan<'_>, els: &[El<'_>]) {
    p.gap(els[0].first).rigid = true;
    comma(p, els, Break::Soft);
}

/// A tuple: the comma of a single element is part of its meaning.
pub(super) fn tuple(p: &mut Plan<'_>, els: &[El<'_>]) {
    let elements = els.iter().filter(|e| e.node.is_some()).count();
    let last = if elements == 1 {
        Sep::Comma
    } else {
        Sep::CommaIfBroken
    };
    lay_out(p, els, Break::Soft, last);
}

/// `Name(X, Y)` whose list is no node of its own.
pub(super) fn after_name(p: &mut Plan<'_>, els: &[El<'_>]) {
    if els.len() > 2 {
        p.set(els[1].first, Break::None);
        lay_out(p, &els[1..], Break::Soft, Sep::CommaIfBroken);
    }
}

fn lay_out(p: &mut Plan<'_>, els: &[El<'_>], edge: Break, last_sep: Sep) {
    let end = els.len() - 1;
    let (open, close) = (els[0].first, els[end].first);
    let mut before = Sep::None;
    let mut brk = edge;
    for el in &els[1..end] {
        let gap = p.gap(el.first);
        if el.kind == Comma {
            gap.dropped = true;
            continue;
        }
        gap.enter = before == Sep::None;
        gap.sep = before;
        gap.brk = brk;
        before = Sep::Comma;
        brk = Break::Line;
    }
    if before == Sep::None {
        // Nothing but comments, at most.
        p.set(close, Break::None);
        return;
    }
    let gap = p.gap(close);
    gap.sep = last_sep;
    gap.brk = edge;
    gap.leave = true;
    p.group(open, close);
}

/// `( X )` and `[ X; N ]`.
pub(super) fn bracketed(p: &mut Plan<'_>, els: &[El<'_>]) {
    let end = els.len() - 1;
    for i in 1..=end {
        let brk = match (els[i - 1].kind, els[i].kind) {
            (_, Semi) => Break::None,
            (Semi, _) => Break::Line,
            _ if i == 1 || i == end => Break::Soft,
            _ => Break::None,
        };
        p.set(els[i].first, brk);
    }
    p.gap(els[1].first).enter = true;
    p.gap(els[end].first).leave = true;
    p.group(els[0].first, els[end].last);
}

/// `where A: X, B: Y` behind a signature.
pub(super) fn where_clause(p: &mut Plan<'_>, els: &[El<'_>]) {
    let end = els.len() - 1;
    let mut nested = false;
    for i in 1..=end {
        if els[i].kind == Comma {
            if i == end {
                p.gap(els[i].first).dropped = true;
            }
        } else if els[i - 1].kind == Comma {
            p.set(els[i].first, Break::Line);
            if !nested {
                nested = true;
                p.nest(els[i].first, els[end].last);
            }
        }
    }
}
