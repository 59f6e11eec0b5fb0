//! Fixes that move statements: a last use up before the borrow that ends it, an owner out of its block.

use syntax::ast::{self, AstNode};
use syntax::{Node, SyntaxKind, TextRange};

use super::cx::{Cx, statement};
use super::draft::{Draft, Edit, Kind};

/// MT3004, MT3005, MT3006: `let r = &m; let w = &mut m; look(r)`.
pub(super) fn last_use_up(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let place = cx.first_name()?.text();
    let (conflict, block) = statement(cx.node())?;
    let stmts: Vec<Node<'_>> = block.stmts().map(AstNode::syntax).collect();
    let at = stmts.iter().position(|s| *s == conflict)?;
    // The nearest earlier `let` that borrows the place and is used after the conflict.
    let (borrow, uses) = stmts[..at].iter().rev().find_map(|s| {
        let name = borrower(*s, place)?;
        let uses: Vec<usize> = (at + 1..stmts.len())
            .filter(|i| mentions(stmts[*i], name))
            .collect();
        (!uses.is_empty()).then_some((name, uses))
    })?;
    // What moves up must not need what is made in between, the conflict itself included.
    let between = |last: usize| stmts[at..last].iter().filter_map(|s| bound_name(*s));
    for i in &uses {
        if between(*i).any(|name| mentions(stmts[*i], name)) || bound_name(stmts[*i]).is_some() {
            return None;
        }
    }
    // The value of a block must not move away.
    if let Some(tail) = block.tail()
        && uses.iter().any(|i| stmts[*i].range() == tail.range())
        && !gives_unit(block)
    {
        return None;
    }
    let mut edits = Vec::new();
    let mut text = String::new();
    let start = conflict.range().start;
    let lines = cx.starts_line(start);
    for i in &uses {
        let range = bare(cx, stmts[*i].range());
        text.push_str(cx.slice(range));
        if lines {
            text.push('\n');
            text.push_str(cx.indent(start));
        } else {
            text.push_str("; ");
        }
        edits.push(cx.take_out(range));
    }
    edits.push(Edit::insert(start, text));
    Some(vec![Draft::new(
        Kind::Other,
        70,
        format!("use `{borrow}` before"),
        format!("A borrow ends with its last use; with that moved up, `{place}` is free here."),
        edits,
    )])
}

/// Whether nobody wants the value of a block: it is the body of a function without a result.
fn gives_unit(block: ast::Block<'_>) -> bool {
    block
        .syntax()
        .parent()
        .and_then(ast::FnDef::cast)
        .is_some_and(|f| {
            f.ret_type()
                .and_then(ast::RetType::ty)
                .is_none_or(|t| t.text() == "Unit")
        })
}

/// The name of `let name = &place`, `&mut place` or a field of it.
fn borrower<'a>(stmt: Node<'a>, place: &str) -> Option<&'a str> {
    let binding = ast::LetStmt::cast(stmt)?;
    let ast::Expr::RefExpr(r) = binding.value()? else {
        return None;
    };
    let first = r.operand()?.syntax().first_token()?;
    (first.text() == place).then(|| bound_name(stmt))?
}

fn bound_name(stmt: Node<'_>) -> Option<&str> {
    let pattern = ast::LetStmt::cast(stmt)?.pattern()?;
    let token = pattern
        .syntax()
        .tokens()
        .find(|t| t.kind() == SyntaxKind::Ident)?;
    Some(token.text())
}

fn mentions(stmt: Node<'_>, name: &str) -> bool {
    stmt.tokens()
        .any(|t| t.kind() == SyntaxKind::Ident && t.text() == name)
}

/// A statement without its own semicolon.
fn bare(cx: &Cx<'_>, range: TextRange) -> TextRange {
    let text = cx.slice(range).trim_end();
    let text = text.strip_suffix(';').unwrap_or(text).trim_end();
    TextRange::new(range.start, range.start + text.len() as u32)
}

/// MT3007: `{ let t = String("t"); r = &t }` while `r` lives on.
pub(super) fn hoist_owner(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let owner = cx.first_name()?.text();
    // The block whose `let` declares the owner, around the report or inside it.
    let inner = cx
        .node()
        .descendants()
        .chain(std::iter::once(cx.node()).chain(cx.node().ancestors()))
        .filter_map(ast::Block::cast)
        .find_map(|block| {
            let stmt = block
                .stmts()
                .map(AstNode::syntax)
                .find(|s| bound_name(*s) == Some(owner))?;
            Some((block, stmt))
        });
    let (block, declared) = inner?;
    let (outer, _) = statement(block.syntax())?;
    let range = bare(cx, declared.range());
    let start = outer.range().start;
    let glue = if cx.starts_line(start) {
        format!("\n{}", cx.indent(start))
    } else {
        "; ".to_owned()
    };
    Some(vec![Draft::new(
        Kind::Other,
        60,
        format!("declare `{owner}` outside the block"),
        "An owner that lives as long as the reference keeps it valid.",
        vec![
            Edit::insert(start, format!("{}{glue}", cx.slice(range))),
            cx.take_out(range),
        ],
    )])
}
