//! Fixes of `?` where the function cannot take it: MT2010 and MT2011.

use syntax::ast::{self, AstNode};
use syntax::{SyntaxKind, TextRange};

use super::cx::{Cx, default_value, receiver};
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;

/// MT2010
pub(super) fn outside_result(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let question: ast::PropagateExpr<'_> = cx.enclosing()?;
    let operand = question.operand()?;
    let mut drafts = Vec::new();
    if let FixHint::ExpectedFound { found, .. } = cx.hint() {
        return Some(no_result(cx, question, operand, found));
    }
    if let FixHint::Question { error, .. } = cx.hint()
        && let Some(edits) = returning_result(cx, error)
    {
        drafts.push(Draft::new(
            Kind::UnpackQuestion,
            80,
            "return a `Result`",
            "`?` hands an error to the caller, so the function must be able to return one; callers see the new type.",
            edits,
        ));
    }
    drafts.push(Draft::new(
        Kind::UnpackQuestion,
        70,
        "match on the result",
        "The error is dealt with here; put what should happen in place of the panic.",
        vec![Edit::replace(
            question.range(),
            format!(
                "match {} {{ Ok(v) => v, Err(_) => panic(\"todo\") }}",
                scrutinee(operand)
            ),
        )],
    ));
    Some(drafts)
}

/// `?` after something that is no `Result`.
fn no_result(
    cx: &Cx<'_>,
    question: ast::PropagateExpr<'_>,
    operand: ast::Expr<'_>,
    found: &str,
) -> Vec<Draft> {
    let draft = |label: &str, why: &str, edit: Edit| {
        Draft::new(Kind::UnpackQuestion, 70, label, why, vec![edit])
    };
    if !found.starts_with("Option") {
        let mark = TextRange::new(operand.range().end, question.range().end);
        let why = "The value is there in any case, so there is nothing to hand on.";
        return vec![draft("remove the `?`", why, Edit::delete(mark))];
    }
    let mut drafts = Vec::new();
    if matches!(declared_error(cx).as_deref(), Some("Str" | "String")) {
        let edit = Edit::insert(operand.range().end, ".ok_or(\"no value\")");
        let why = "The absence becomes an error of the function; say what is missing.";
        drafts.push(draft("make the absence an error", why, edit));
    }
    let text = format!(
        "match {} {{ Some(v) => v, None => panic(\"todo\") }}",
        scrutinee(operand)
    );
    drafts.push(draft(
        "match on the option",
        "The absence is dealt with here; put what should happen in place of the panic.",
        Edit::replace(question.range(), text),
    ));
    drafts
}

/// A struct literal or a block at the head of `match` needs parentheses.
fn scrutinee(operand: ast::Expr<'_>) -> String {
    match operand {
        ast::Expr::StructLit(_) | ast::Expr::MapLit(_) => format!("({})", operand.text()),
        _ => receiver(operand),
    }
}

/// Changes the return type to a `Result` and wraps what the function returns in `Ok`.
fn returning_result(cx: &Cx<'_>, error: &str) -> Option<Vec<Edit>> {
    let function = cx.function()?;
    let error = if error.is_empty() || error.contains(['_', '?']) {
        "Str"
    } else {
        error
    };
    let mut edits = vec![match function.ret_type() {
        Some(ret) => {
            let ty = ret.ty()?;
            let text = match ty {
                ast::Type::FnType(_) | ast::Type::ResultType(_) => {
                    format!("({})!{error}", ty.text())
                }
                _ => format!("{}!{error}", ty.text()),
            };
            Edit::replace(ty.range(), text)
        }
        None => Edit::insert(function.params()?.range().end, format!(" -> Unit!{error}")),
    }];
    let wrap = |range: TextRange| Edit::replace(range, format!("Ok({})", cx.slice(range)));
    if let Some(body) = function.expr_body() {
        edits.push(wrap(body.expr()?.range()));
        return Some(edits);
    }
    let block = function.block()?;
    let tail = block.tail();
    for node in block.syntax().descendants() {
        let Some(ret) = ast::ReturnExpr::cast(node) else {
            continue;
        };
        let own = !node
            .ancestors()
            .take_while(|n| *n != function.syntax())
            .any(|n| matches!(n.kind(), SyntaxKind::LambdaExpr | SyntaxKind::FnDef));
        // Inside the tail its text is replaced as a whole; two edits must not overlap.
        if own && tail.is_some_and(|t| t.range().covers(node.range())) {
            return None;
        }
        if own {
            edits.push(match ret.value() {
                Some(value) => wrap(value.range()),
                None => Edit::insert(ret.range().end, " Ok(())"),
            });
        }
    }
    match tail {
        Some(tail) if unit_statement(function, tail) => {
            let indent = cx.indent(tail.range().start);
            let glue = if cx.starts_line(tail.range().start) {
                format!("\n{indent}")
            } else {
                "; ".to_owned()
            };
            edits.push(Edit::insert(tail.range().end, format!("{glue}Ok(())")));
        }
        Some(tail) => edits.push(wrap(tail.range())),
        None => {
            let close = block.close_token()?.range().start;
            if cx.starts_line(close) {
                let indent = cx.indent(close);
                let line = super::diff::line_start(cx.text, close as usize) as u32;
                edits.push(Edit::insert(line, format!("{indent}  Ok(())\n")));
            } else {
                let before = block.close_token()?.prev_significant()?;
                let glue = if matches!(before.kind(), SyntaxKind::Semi | SyntaxKind::LBrace) {
                    " "
                } else {
                    "; "
                };
                edits.push(Edit::replace(
                    TextRange::new(before.range().end, close),
                    format!("{glue}Ok(()) "),
                ));
            }
        }
    }
    Some(edits)
}

/// Whether the tail of a function that returns nothing is better left a statement.
fn unit_statement(function: ast::FnDef<'_>, tail: ast::Expr<'_>) -> bool {
    function.ret_type().is_none()
        && matches!(
            tail,
            ast::Expr::CallExpr(_)
                | ast::Expr::MethodCallExpr(_)
                | ast::Expr::PropagateExpr(_)
                | ast::Expr::AssignExpr(_)
                | ast::Expr::ForExpr(_)
                | ast::Expr::WhileExpr(_)
                | ast::Expr::LoopExpr(_)
                | ast::Expr::IfExpr(_)
                | ast::Expr::MatchExpr(_)
        )
}

/// MT2011
pub(super) fn error_mismatch(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let question: ast::PropagateExpr<'_> = cx.enclosing()?;
    let operand = question.operand()?;
    let expected = match cx.hint() {
        FixHint::ExpectedFound { expected, .. } => expected.clone(),
        FixHint::Question { error, .. } => error.clone(),
        _ => declared_error(cx)?,
    };
    let (param, value) = match expected.as_str() {
        "Str" | "String" => ("e", "e.to_str()".to_owned()),
        other => ("_e", default_value(other)),
    };
    Some(vec![Draft::new(
        Kind::UnpackQuestion,
        60,
        "convert the error",
        format!("The function's errors are of type `{expected}`; say how one becomes the other."),
        vec![Edit::insert(
            operand.range().end,
            format!(".map_err(fn({param}) {{ {value} }})"),
        )],
    )])
}

fn declared_error(cx: &Cx<'_>) -> Option<String> {
    match cx.function()?.ret_type()?.ty()? {
        ast::Type::ResultType(r) => Some(r.err()?.text().to_owned()),
        _ => None,
    }
}
