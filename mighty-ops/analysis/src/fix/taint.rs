//! The fix of MT4099: three ways to make an untrusted value safe before it reaches a sink, always in the same
//! order. Built from the sink's call in the tree; the pass only says where the argument is.

use syntax::ast::{self, AstNode, Expr};
use syntax::{Node, SyntaxKind, TextRange};

use super::cx::{Cx, receiver};
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;

/// MT4099
pub(super) fn untaint(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let argument_range = match cx.hint() {
        FixHint::Taint { argument, .. } => *argument,
        _ => cx.range,
    };
    let argument = cx.expr_at(argument_range)?;
    let argument = match argument {
        Expr::ParenExpr(p) => p.inner()?,
        other => other,
    };
    let place = place(argument.syntax())?;
    let value = receiver(argument);
    let sanitizer = sanitizer(cx, argument);
    let guarded =
        |condition: String, name: &str| guard(cx, &place, argument.range(), &condition, name);
    let safe = cx.fresh("safe");
    let allowed = cx.fresh("v");
    let by_pattern = format!("if let Some({safe}) = {value}.matches_regex(\"^[A-Za-z0-9 ]+$\")");
    let by_list = format!("if let Some({allowed}) = {value}.in_allowlist()");
    Some(vec![
        Draft::new(
            Kind::Untaint,
            92,
            "check against a pattern",
            "A text that matches the whole pattern is trusted; narrow the pattern to what you expect.",
            guarded(by_pattern, &safe)?,
        ),
        Draft::new(
            Kind::Untaint,
            90,
            format!("sanitize with `{sanitizer}`"),
            format!(
                "`{sanitizer}` makes what this sink treats specially harmless, and keeps the rest."
            ),
            vec![Edit::replace(
                argument.range(),
                format!("{value}.sanitize_with({sanitizer})"),
            )],
        ),
        Draft::new(
            Kind::Untaint,
            85,
            "accept listed values only",
            "Only the names of an enum's variants pass; name the enum as `in_allowlist[Name]()`.",
            guarded(by_list, &allowed)?,
        ),
    ])
}

/// What a condition is put around.
struct Place {
    range: TextRange,
    /// Whether somebody takes its value, so that it must be there in any case.
    wanted: bool,
}

/// The smallest construct around the argument that can stand in a branch: a statement, or the body of an arm,
/// a lambda or a function that is one expression. Names bound by arms and lambdas stay in scope there.
fn place(argument: Node<'_>) -> Option<Place> {
    let mut at = argument;
    loop {
        let parent = at.parent()?;
        if let Some(block) = ast::Block::cast(parent) {
            return Some(match ast::LetStmt::cast(at) {
                Some(binding) => Place {
                    range: binding.value()?.range(),
                    wanted: true,
                },
                None => {
                    let range = without_semicolon(at);
                    Place {
                        range,
                        wanted: is_wanted_tail(block, range),
                    }
                }
            });
        }
        let is_body = match parent.kind() {
            SyntaxKind::MatchArm => {
                ast::MatchArm::cast(parent)?.body().map(AstNode::syntax) == Some(at)
            }
            SyntaxKind::LambdaExpr | SyntaxKind::ExprBody => Expr::cast(at).is_some(),
            _ => false,
        };
        if is_body {
            return Some(Place {
                range: at.range(),
                wanted: true,
            });
        }
        at = parent;
    }
}

/// The place inside a condition, with the argument replaced by the name the condition binds.
fn guard(
    cx: &Cx<'_>,
    place: &Place,
    argument: TextRange,
    condition: &str,
    name: &str,
) -> Option<Vec<Edit>> {
    let range = place.range;
    let head = cx.slice(TextRange::new(range.start, argument.start));
    let tail = cx.slice(TextRange::new(argument.end, range.end));
    let inner = format!("{head}{name}{tail}");
    let other = if place.wanted {
        " else { panic(\"untrusted value\") }"
    } else {
        ""
    };
    let text = if place.wanted || !cx.starts_line(range.start) || inner.contains('\n') {
        format!("{condition} {{ {inner} }}{other}")
    } else {
        let indent = cx.indent(range.start);
        format!("{condition} {{\n{indent}  {inner}\n{indent}}}{other}")
    };
    Some(vec![Edit::replace(range, text)])
}

fn without_semicolon(stmt: Node<'_>) -> TextRange {
    let range = stmt.range();
    let text = stmt.text();
    let text = text.strip_suffix(';').unwrap_or(text).trim_end();
    TextRange::new(range.start, range.start + text.len() as u32)
}

/// Whether the statement is the value of its block and somebody takes that value.
fn is_wanted_tail(block: ast::Block<'_>, range: TextRange) -> bool {
    if block.tail().is_none_or(|t| t.range() != range) {
        return false;
    }
    match block.syntax().parent().and_then(ast::FnDef::cast) {
        Some(f) => f
            .ret_type()
            .and_then(ast::RetType::ty)
            .is_some_and(|t| t.text() != "Unit" && t.text() != "()"),
        None => !matches!(
            block.syntax().parent().and_then(Expr::cast),
            Some(Expr::ForExpr(_) | Expr::WhileExpr(_) | Expr::LoopExpr(_))
        ),
    }
}

/// The sanitizer that suits the sink: by the sink's own name.
fn sanitizer(cx: &Cx<'_>, argument: Expr<'_>) -> &'static str {
    let sink = match cx.hint() {
        FixHint::Taint { sink, .. } => sink.clone(),
        _ => argument
            .syntax()
            .ancestors()
            .find_map(|n| match Expr::cast(n)? {
                Expr::CallExpr(c) => Some(c.callee()?.text().to_owned()),
                Expr::MethodCallExpr(m) => {
                    Some(format!("{}.{}", m.receiver()?.text(), m.name()?.text()))
                }
                _ => None,
            })
            .unwrap_or_default(),
    };
    let last = sink.rsplit('.').next().unwrap_or_default();
    if sink.contains("Command") || sink.contains("process") || last == "arg" {
        "ShellEscape"
    } else if sink.contains("sql") || last == "execute" {
        "SqlEscape"
    } else if sink.contains("path") {
        "PathBoundary"
    } else {
        "HtmlEscape"
    }
}
