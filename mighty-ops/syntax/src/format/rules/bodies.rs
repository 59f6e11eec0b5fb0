//! Bodies with one entry per line, blocks, and the constructs that end in them (formatting.md §3, §5, §6).
//! Must not lay out lists in round or square brackets.

use super::super::plan::{Blanks, BlockForm, Break, El, Plan, Sep};
use crate::SyntaxKind::{self, *};
use crate::tree::Node;

/// The whole file; its node's elements are the package line and the items.
pub(super) fn file(p: &mut Plan<'_>, els: &[El<'_>]) {
    item_lines(p, els);
}

/// `{ items }` of a module.
pub(super) fn items(p: &mut Plan<'_>, els: &[El<'_>]) {
    let end = els.len() - 1;
    braces(p, els);
    item_lines(p, &els[1..end]);
}

fn item_lines(p: &mut Plan<'_>, els: &[El<'_>]) {
    for (i, el) in els.iter().enumerate() {
        drop_semi(p, *el);
        let gap = p.gap(el.first);
        gap.item_start = true;
        if i > 0 {
            gap.brk = Break::Hard;
            gap.blanks = match (els[i - 1].kind, el.kind) {
                (PackageDecl, _) => Blanks::One,
                (UseItem, k) if k != UseItem => Blanks::One,
                _ => Blanks::Item,
            };
        }
        p.gap(el.last).item_end = Some(matches!(el.kind, MacroDef | ProcMacroDef));
    }
}

/// The `;` of an item, or of a statement in the middle of a block, says nothing; only `mod x;` keeps it.
fn drop_semi(p: &mut Plan<'_>, el: El<'_>) {
    if el.kind != ModItem && p.kind(el.last) == Semi {
        p.gap(el.last).dropped = true;
    }
}

/// The breaks next to the braces of a body that is never flat.
fn braces(p: &mut Plan<'_>, els: &[El<'_>]) {
    let end = els.len() - 1;
    if end == 1 {
        return;
    }
    let first = p.gap(els[1].first);
    first.enter = true;
    first.brk = Break::Hard;
    let close = p.gap(els[end].first);
    close.leave = true;
    close.brk = Break::Hard;
    close.blanks = Blanks::Drop;
}

/// `{ List(X) }` of language.md §2(a), one entry per line, without separators.
pub(super) fn list(p: &mut Plan<'_>, els: &[El<'_>]) {
    let end = els.len() - 1;
    let members = els[0].node.is_none() && end > 1;
    let mut seen = false;
    for i in 1..end {
        let el = els[i];
        match el.kind {
            // A name may be any keyword; these two would continue the value on the line before.
            Comma | Semi if !matches!(p.kind(els[i + 1].first), AsKw | ElseKw) => {
                p.gap(el.first).dropped = true;
            }
            Comma | Semi => p.set(el.first, Break::None),
            _ => {
                if matches!(el.kind, FnDef | ConstDef) {
                    drop_semi(p, el);
                }
                if seen {
                    let gap = p.gap(el.first);
                    gap.brk = Break::Hard;
                    gap.blanks = Blanks::Keep;
                }
                seen = true;
            }
        }
    }
    if members {
        braces(p, els);
    }
}

/// Headers that end in a body: where the clauses break, and what the body is.
pub(super) fn signature<'t>(p: &mut Plan<'t>, kind: SyntaxKind, els: &[El<'t>]) {
    let mut contract = false;
    for el in els {
        match el.kind {
            WhereClause => p.choice(el.first, el.last, false),
            RequiresClause => {
                contract = true;
                p.set(el.first, Break::Hard);
                p.nest(el.first, el.last);
            }
            Block => {
                if contract {
                    p.set(el.first, Break::Hard);
                }
                if let Some(node) = el.node
                    && matches!(kind, Handler | LambdaExpr)
                {
                    p.told(node).body = true;
                }
            }
            _ => {}
        }
    }
}

/// Whether an expression may stand in a flat block.
fn simple(expr: Node<'_>) -> bool {
    !matches!(
        expr.kind(),
        Block
            | IfExpr
            | MatchExpr
            | LoopExpr
            | WhileExpr
            | ForExpr
            | DetachExpr
            | TaskExpr
            | BudgetExpr
            | SandboxExpr
            | ArenaExpr
            | UnsafeExpr
    )
}

/// Whether the contents of a block allow the flat form: one simple expression, or for the body of a
/// handler or lambda any number of simple statements.
fn may_be_flat(block: Node<'_>, body: bool) -> bool {
    let mut count = 0;
    for stmt in block.children() {
        match stmt.kind() {
            EmptyStmt => {}
            ExprStmt if stmt.children().next().is_some_and(simple) => count += 1,
            LetStmt if body && stmt.children().all(simple) => count += 1,
            _ => return false,
        }
    }
    body || count <= 1
}

pub(super) fn block<'t>(p: &mut Plan<'t>, node: Node<'t>, els: &[El<'t>]) {
    let end = els.len() - 1;
    let told = *p.told(node);
    let (open, close) = (els[0].first, els[end].first);
    let stmts: Vec<El<'t>> = els[1..end].to_vec();
    let Some(last) = stmts.iter().rposition(|e| e.kind != EmptyStmt) else {
        for e in &stmts {
            p.gap(e.first).dropped = true;
        }
        return;
    };
    let edge = match told.form {
        BlockForm::Shared => Break::Line,
        BlockForm::Own if !p.lines_in(open, close) && may_be_flat(node, told.body) => {
            p.group(open, close);
            Break::Line
        }
        _ => Break::Hard,
    };
    let mut prev: Option<El<'t>> = None;
    // The separator of the statement before was dropped or never there.
    let mut open_end = false;
    for (i, el) in stmts.iter().enumerate() {
        if el.kind == EmptyStmt {
            p.gap(el.first).dropped = true;
            continue;
        }
        let gap = p.gap(el.first);
        gap.brk = edge;
        if prev.is_none() {
            gap.enter = true;
        } else {
            gap.blanks = Blanks::Keep;
            if open_end && edge == Break::Line {
                gap.sep = Sep::SemiIfFlat;
            }
        }
        open_end = true;
        if p.kind(el.last) == Semi {
            let keep = if i == last {
                el.kind == ExprStmt
            } else {
                let next = stmts[i + 1..=last].iter().find(|e| e.kind != EmptyStmt);
                next.is_some_and(|n| continued_by(p, *el, n.first))
            };
            p.gap(el.last).dropped = !keep;
            open_end = !keep;
        }
        prev = Some(*el);
    }
    let gap = p.gap(close);
    gap.leave = true;
    gap.brk = edge;
}

/// Whether a statement that has lost its `;` would go on with the token `next` on the next line.
fn continued_by(p: &Plan<'_>, stmt: El<'_>, next: usize) -> bool {
    let Some(node) = stmt.node else { return false };
    match p.kind(next) {
        // Behind an operand, `||` and `&&` are one token and continue the line.
        k @ (Pipe | Amp) if p.kind(next + 1) == k => true,
        // Patterns and effect clauses take `|` across lines.
        Pipe | PipePipe => {
            matches!(stmt.kind, LetStmt | TypeAlias) && !node.children().any(|c| c.kind().is_expr())
        }
        // `budget {` is one construct across lines.
        LBrace => node
            .tokens()
            .rev()
            .filter(|t| !t.kind().is_trivia())
            .nth(1)
            .is_some_and(|t| p.kind(t.id().index()) == BudgetKw),
        _ => false,
    }
}

/// `on_fail(x) { actions }`: flat if written on one line.
pub(super) fn on_fail(p: &mut Plan<'_>, els: &[El<'_>]) {
    let end = els.len() - 1;
    let Some(brace) = els.iter().position(|e| e.kind == LBrace) else {
        return;
    };
    let (open, close) = (els[brace].first, els[end].first);
    let mut actions = 0;
    let edge = if p.lines_in(open, close) {
        Break::Hard
    } else {
        Break::Line
    };
    for el in &els[brace + 1..end] {
        let gap = p.gap(el.first);
        if el.node.is_none() {
            gap.dropped = true;
            continue;
        }
        gap.brk = edge;
        if actions == 0 {
            gap.enter = true;
        } else {
            gap.blanks = Blanks::Keep;
            gap.sep = Sep::SemiIfFlat;
        }
        actions += 1;
    }
    let gap = p.gap(close);
    if actions == 0 {
        gap.brk = Break::None;
        return;
    }
    gap.leave = true;
    gap.brk = edge;
    if edge == Break::Line {
        p.group(open, close);
    }
}

/// A whole `if … else if … else …`; its members have been told by the first.
pub(super) fn if_expr<'t>(p: &mut Plan<'t>, node: Node<'t>) {
    if p.told(node).link {
        return;
    }
    let mut blocks = Vec::new();
    let mut at = node;
    let ends_in_else = loop {
        let mut next = None;
        let before = blocks.len();
        // The first child is the condition.
        for child in at.children().skip(1) {
            match child.kind() {
                Block => blocks.push(child),
                IfExpr if blocks.len() > before => next = Some(child),
                _ => {}
            }
        }
        match next {
            Some(n) => {
                p.told(n).link = true;
                at = n;
            }
            None => break blocks.len() > before + 1,
        }
    };
    if blocks.len() < 2 {
        return;
    }
    let Some(el) = El::of(node) else { return };
    let flat = ends_in_else
        && !p.lines_in(el.first, el.last)
        && blocks.iter().all(|b| may_be_flat(*b, false));
    for b in blocks {
        p.told(b).form = if flat {
            BlockForm::Shared
        } else {
            BlockForm::Broken
        };
    }
    if flat {
        p.group(el.first, el.last);
    }
}
