//! Fixes of ownership and initialisation that stay where the report is; moving statements is `reorder`'s.

use syntax::ast::{self, AstNode, Expr};
use syntax::{Node, SyntaxKind, TextRange, Token};

use super::cx::{Cx, default_value, receiver, statement};
use super::draft::{Draft, Edit, Kind};
use super::effects::FAMILIES;
use crate::diagnostic::FixHint;

/// MT3001, MT3002, MT3003, MT3008, MT3009, MT3010
pub(super) fn clone_or_borrow(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let range = match cx.hint() {
        FixHint::CloneOrBorrow { range } => *range,
        // The report of these stands at the move itself.
        _ if matches!(cx.code(), 3002 | 3008 | 3009 | 3010) => cx.range,
        _ => earlier_move(cx)?,
    };
    let target = cx.expr_at(range)?;
    let hundredths = match cx.code() {
        3002 | 3008 => 80,
        3010 => 60,
        _ => 85,
    };
    let mut drafts = Vec::new();
    // A capability is given, never copied (MT4064).
    let capability = is_capability(target, 4);
    if !capability {
        drafts.push(Draft::new(
            Kind::AddClone,
            hundredths,
            "clone the value",
            "A copy of its own goes away, and the original stays where it is.",
            vec![Edit::replace(
                target.range(),
                format!("{}.clone()", receiver(target)),
            )],
        ));
    }
    if !capability && matches!(cx.code(), 3001 | 3008) && takes_reference(cx, target) {
        drafts.push(Draft::new(
            Kind::TakeReference,
            70,
            "pass a reference",
            "A reference leaves the owner in place; whoever takes the value must accept one.",
            vec![Edit::insert(target.range().start, "&")],
        ));
    }
    Some(drafts)
}

/// Whether a name holds a capability, followed through up to `hops` bindings.
fn is_capability(expr: Expr<'_>, hops: u8) -> bool {
    let Expr::PathExpr(path) = expr.unparen().unwrap_or(expr) else {
        return false;
    };
    let Some(name) = path.name().and_then(declaration) else {
        return false;
    };
    let of = |ty: &str| {
        let ty = ty.trim_start_matches(['&', ' ']).trim_start_matches("mut ");
        FAMILIES.contains(
            &ty.split(['[', '.', ' ', '{', '('])
                .next()
                .unwrap_or_default(),
        )
    };
    if let Some(param) = super::cx::enclosing::<ast::Param<'_>>(name.parent())
        && param.name().is_some_and(|n| n.range() == name.range())
    {
        // Untyped parameters of these names are capabilities.
        return param.ty().map_or_else(
            || matches!(name.text(), "net" | "fs" | "clock" | "dom" | "model"),
            |ty| of(ty.text()),
        );
    }
    let Some(binding) = super::cx::enclosing::<ast::LetStmt<'_>>(name.parent()) else {
        return false;
    };
    match (binding.ty(), binding.value()) {
        (Some(ty), _) => of(ty.text()),
        (None, Some(value)) => hops > 0 && is_capability(value, hops - 1),
        _ => false,
    }
}

/// Whether the place where a value goes takes a reference to it as well: a binding without a type, or a
/// parameter that is declared as one.
fn takes_reference(cx: &Cx<'_>, target: Expr<'_>) -> bool {
    let Some(parent) = target.syntax().parent() else {
        return false;
    };
    if let Some(binding) = ast::LetStmt::cast(parent) {
        return binding.ty().is_none();
    }
    let Some(call) = parent.parent().and_then(ast::CallExpr::cast) else {
        return false;
    };
    let function = call
        .callee()
        .and_then(Expr::path_segments)
        .and_then(|path| cx.item::<ast::FnDef<'_>>(path.last()?.text()));
    let at = parent
        .children()
        .position(|n| n.range().covers(target.range()));
    let (Some(function), Some(at)) = (function, at) else {
        return false;
    };
    let param = function.params().and_then(|p| p.params().nth(at));
    param
        .and_then(ast::Param::ty)
        .is_some_and(|ty| matches!(ty, ast::Type::RefType(_)))
}

/// Where the named value was given away before the report: the last use of its bare name as a value of its
/// own (an argument, the value of a `let`, an assignment or a field).
fn earlier_move(cx: &Cx<'_>) -> Option<TextRange> {
    let name = cx.first_name()?.text();
    let function = cx.function()?;
    function
        .syntax()
        .descendants()
        .take_while(|n| n.range().start < cx.range.start)
        .filter(|n| n.kind() == SyntaxKind::PathExpr && n.text() == name)
        .filter(|n| n.parent().is_some_and(takes_value))
        .last()
        .map(|n| n.range())
}

/// Whether what stands in a node as its child is given away there.
fn takes_value(parent: Node<'_>) -> bool {
    matches!(
        parent.kind(),
        SyntaxKind::ArgList
            | SyntaxKind::LetStmt
            | SyntaxKind::StructLitField
            | SyntaxKind::AssignExpr
            | SyntaxKind::TupleExpr
            | SyntaxKind::ArrayExpr
            | SyntaxKind::MoveExpr
    )
}

/// MT3011
pub(super) fn message_argument(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let range = match cx.hint() {
        FixHint::CloneOrBorrow { range } => *range,
        _ => cx.range,
    };
    let Expr::RefExpr(reference) = cx.expr_at(range)? else {
        return None;
    };
    let operand = reference.operand()?;
    Some(vec![Draft::new(
        Kind::AddClone,
        75,
        "send the value itself",
        "A message carries values of its own; a reference would point into another agent.",
        vec![Edit::replace(reference.range(), operand.text())],
    )])
}

/// MT3013 and MT3014
pub(super) fn make_mut(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let binding = match cx.hint() {
        FixHint::MakeMut { binding } => *binding,
        _ => declaration(cx.first_name()?)?.range(),
    };
    let before = cx.parse.tree.token_at(binding.start)?.prev_significant()?;
    if before.kind() == SyntaxKind::MutKw {
        return None;
    }
    Some(vec![Draft::new(
        Kind::AddMutability,
        100,
        format!("make `{}` mutable", cx.slice(binding)),
        "A binding declared with `mut` can be written and lent out for writing.",
        vec![Edit::insert(binding.start, "mut ")],
    )])
}

/// The name token of the binding that a use refers to: the nearest `let` or parameter of that name before it.
fn declaration<'a>(name: Token<'a>) -> Option<Token<'a>> {
    let mut at = name.parent();
    loop {
        let parent = at.parent()?;
        if let Some(block) = ast::Block::cast(parent) {
            let found = block
                .stmts()
                .filter(|s| s.range().end <= at.range().start)
                .filter_map(|s| match s {
                    ast::Stmt::LetStmt(l) => bound(l.pattern()?, name.text()),
                    _ => None,
                })
                .last();
            if found.is_some() {
                return found;
            }
        }
        let params = match parent.kind() {
            SyntaxKind::FnDef
            | SyntaxKind::LambdaExpr
            | SyntaxKind::Handler
            | SyntaxKind::InitDef => parent
                .child(SyntaxKind::ParamList)
                .and_then(ast::ParamList::cast),
            _ => None,
        };
        if let Some(found) = params
            .into_iter()
            .flat_map(ast::ParamList::params)
            .find_map(|p| p.name().filter(|n| n.text() == name.text()))
        {
            return Some(found);
        }
        at = parent;
    }
}

fn bound<'a>(pattern: ast::Pattern<'a>, name: &str) -> Option<Token<'a>> {
    pattern
        .syntax()
        .descendants()
        .filter(|n| n.kind() == SyntaxKind::IdentPat)
        .filter_map(|n| n.own_tokens().find(|t| t.kind() == SyntaxKind::Ident))
        .find(|t| t.text() == name)
}

/// MT3015
pub(super) fn initialise(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let name = declaration(cx.first_name()?)?;
    let binding: ast::LetStmt<'_> = super::cx::enclosing(name.parent())?;
    if binding.value().is_some() {
        return None;
    }
    let ty = binding.ty()?;
    let value = default_value(ty.text());
    let mut edits = vec![Edit::insert(ty.range().end, format!(" = {value}"))];
    // What is given a value later is given its second one then.
    let (_, block) = statement(binding.syntax())?;
    let assigned = block
        .syntax()
        .descendants()
        .filter(|n| n.kind() == SyntaxKind::AssignExpr)
        .any(|n| n.first_token().is_some_and(|t| t.text() == name.text()));
    if assigned
        && binding.mut_token().is_none()
        && name.prev_significant()?.kind() == SyntaxKind::LetKw
    {
        edits.push(Edit::insert(name.range().start, "mut "));
    }
    Some(vec![Draft::new(
        Kind::InitializeBinding,
        75,
        format!("begin with `{value}`"),
        "The name has a value from its declaration on; put in the one you want.",
        edits,
    )])
}

/// MT2025
pub(super) fn hoist_temporary(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let reference: ast::RefExpr<'_> = cx.enclosing()?;
    let operand = reference.operand()?;
    let (stmt, _) = statement(reference.syntax())?;
    let mutable = reference
        .syntax()
        .own_tokens()
        .any(|t| t.kind() == SyntaxKind::MutKw);
    let name = cx.fresh("tmp");
    let value = operand.unparen().unwrap_or(operand).text();
    let start = stmt.range().start;
    let glue = if cx.starts_line(start) {
        format!("\n{}", cx.indent(start))
    } else {
        "; ".to_owned()
    };
    let word = if mutable { "let mut" } else { "let" };
    Some(vec![Draft::new(
        Kind::Other,
        85,
        format!("keep the value in `{name}`"),
        "A reference points at a place; a variable is one, a computed value is not.",
        vec![
            Edit::insert(start, format!("{word} {name} = {value}{glue}")),
            Edit::replace(operand.range(), name),
        ],
    )])
}

/// MT4090
pub(super) fn wrap_unsafe(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    // Reported at the callee: the call is what needs the block.
    let reported = cx.expr()?;
    let call = reported.syntax().parent().and_then(ast::CallExpr::cast);
    let target = call.map_or(reported, Expr::CallExpr);
    Some(vec![Draft::new(
        Kind::Other,
        70,
        "wrap in `unsafe`",
        "The block says that you have checked what the language cannot.",
        vec![Edit::replace(
            target.range(),
            format!("unsafe {{ {} }}", target.text()),
        )],
    )])
}
