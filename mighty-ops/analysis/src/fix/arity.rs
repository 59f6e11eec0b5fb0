//! Fixes of counts: type arguments, call arguments, payloads of patterns, parameters of lambdas.

use syntax::ast::{self, AstNode, HasName};
use syntax::{Node, SyntaxKind, TextRange};

use super::cx::{Cx, default_value};
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;

/// A list in brackets as it should be: its first entries kept, others appended or dropped.
fn resized(list: Node<'_>, entries: &[&str], wanted: usize, pad: impl Fn(usize) -> String) -> Edit {
    let mut all: Vec<String> = entries
        .iter()
        .take(wanted)
        .map(|e| (*e).to_owned())
        .collect();
    while all.len() < wanted {
        all.push(pad(all.len()));
    }
    // Between the brackets.
    let range = list.range();
    Edit::replace(
        TextRange::new(
            range.start + 1,
            range.end.saturating_sub(1).max(range.start + 1),
        ),
        all.join(", "),
    )
}

fn words(found: usize, wanted: usize, what: &str) -> (String, String) {
    let label = if found > wanted {
        format!("drop {} {what}{}", found - wanted, plural(found - wanted))
    } else {
        format!("add {} {what}{}", wanted - found, plural(wanted - found))
    };
    (
        label,
        format!(
            "{wanted} {what}{} wanted and {found} given.",
            if wanted == 1 { " is" } else { "s are" }
        ),
    )
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

fn fact(cx: &Cx<'_>, key: &str) -> Option<usize> {
    let FixHint::Facts(facts) = cx.hint() else {
        return None;
    };
    facts.iter().find(|(k, _)| *k == key)?.1.parse().ok()
}

/// MT2004
pub(super) fn type_arguments(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let ty: ast::PathType<'_> = cx.enclosing()?;
    let wanted = match fact(cx, "expected") {
        Some(wanted) => wanted,
        None => declared_arity(cx, ty.segments().last()?.text())?,
    };
    if wanted > 16 {
        return None;
    }
    let given: Vec<&str> = ty
        .args()
        .into_iter()
        .flat_map(ast::TypeArgs::types)
        .map(AstNode::text)
        .collect();
    let edit = match ty.args() {
        Some(args) if wanted == 0 => Edit::delete(args.range()),
        Some(args) => resized(args.syntax(), &given, wanted, |_| "I32".into()),
        None => Edit::insert(
            ty.range().end,
            format!("[{}]", vec!["I32"; wanted].join(", ")),
        ),
    };
    let (label, why) = words(given.len(), wanted, "type argument");
    Some(vec![Draft::new(Kind::Other, 60, label, why, vec![edit])])
}

fn declared_arity(cx: &Cx<'_>, name: &str) -> Option<usize> {
    let generics = |g: Option<ast::GenericParamList<'_>>| g.map_or(0, |g| g.params().count());
    if let Some(s) = cx.item::<ast::StructDef<'_>>(name) {
        return Some(generics(s.generics()));
    }
    if let Some(e) = cx.item::<ast::EnumDef<'_>>(name) {
        return Some(generics(e.generics()));
    }
    match name {
        "Option" | "Vec" | "Set" | "List" | "Task" | "AgentRef" | "Tainted" => Some(1),
        "Map" | "Result" => Some(2),
        _ => None,
    }
}

/// MT2005
pub(super) fn call(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let list: ast::ArgList<'_> = match cx.hint() {
        FixHint::Arguments { args, .. } => super::cx::enclosing(cx.node_at(*args))?,
        _ => call_args(cx)?,
    };
    let given: Vec<&str> = list.args().map(AstNode::text).collect();
    let expected: Vec<String> = match cx.hint() {
        FixHint::Arguments { expected, .. } => expected.clone(),
        _ => declared_parameters(cx, list)?,
    };
    if expected.len() == given.len() || expected.len() > 64 {
        return None;
    }
    if list.args().any(|a| a.name().is_some()) {
        return None;
    }
    let edit = resized(list.syntax(), &given, expected.len(), |i| {
        default_value(&expected[i])
    });
    let (label, why) = words(given.len(), expected.len(), "argument");
    Some(vec![Draft::new(Kind::Other, 60, label, why, vec![edit])])
}

fn call_args<'a>(cx: &Cx<'a>) -> Option<ast::ArgList<'a>> {
    std::iter::once(cx.node())
        .chain(cx.node().ancestors())
        .take_while(|n| ast::Stmt::cast(*n).is_none() || ast::Expr::cast(*n).is_some())
        .find_map(|n| n.child(SyntaxKind::ArgList).and_then(ast::ArgList::cast))
}

fn declared_parameters(cx: &Cx<'_>, list: ast::ArgList<'_>) -> Option<Vec<String>> {
    let call = ast::CallExpr::cast(list.syntax().parent()?)?;
    let path = call.callee()?.path_segments()?;
    let function: ast::FnDef<'_> = cx.item(path.last()?.text())?;
    let params = function.params()?;
    if params.variadic().is_some() || params.self_param().is_some() {
        return None;
    }
    let ty = |p: ast::Param<'_>| p.ty().map_or_else(String::new, |t| t.text().to_owned());
    Some(params.params().map(ty).collect())
}

/// MT2012
pub(super) fn variant_pattern(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    // A bare `Two` without parentheses is a path.
    if let Some(path) = cx.enclosing::<ast::PathPat<'_>>() {
        let wanted = payload(cx, path.path()?)?;
        let (label, why) = words(0, wanted, "payload");
        let text = format!("({})", vec!["_"; wanted].join(", "));
        let edits = vec![Edit::insert(path.range().end, text)];
        return Some(vec![Draft::new(Kind::Other, 85, label, why, edits)]);
    }
    let pattern: ast::VariantPat<'_> = cx.enclosing()?;
    let wanted = match cx.hint() {
        FixHint::Arguments { expected, .. } => expected.len(),
        _ => match fact(cx, "expected") {
            Some(wanted) => wanted,
            None => payload(cx, pattern.path()?)?,
        },
    };
    if wanted > 64 {
        return None;
    }
    let given: Vec<&str> = pattern.patterns().map(AstNode::text).collect();
    let path_end = pattern.path()?.range().end;
    let edit = if wanted == 0 {
        Edit::delete(TextRange::new(path_end, pattern.range().end))
    } else {
        let mut all = given.clone();
        all.resize(wanted, "_");
        Edit::replace(
            TextRange::new(path_end, pattern.range().end),
            format!("({})", all.join(", ")),
        )
    };
    let (label, why) = words(given.len(), wanted, "payload");
    Some(vec![Draft::new(Kind::Other, 85, label, why, vec![edit])])
}

/// The number of payloads of a variant, by its name and, where given, its enum's.
fn payload(cx: &Cx<'_>, path: ast::QualPath<'_>) -> Option<usize> {
    let segments: Vec<&str> = path.segments().map(|t| t.text()).collect();
    let variant = *segments.last()?;
    let of = segments.len().checked_sub(2).map(|i| segments[i]);
    let declared = cx
        .items::<ast::EnumDef<'_>>()
        .filter(|e| of.is_none_or(|of| e.name().is_some_and(|n| n.text() == of)))
        .flat_map(ast::EnumDef::variants)
        .find(|v| v.name().is_some_and(|n| n.text() == variant))
        .map(|v| v.payload().count());
    declared.or(match variant {
        "Some" | "Ok" | "Err" => Some(1),
        "None" => Some(0),
        _ => None,
    })
}

/// MT2024
pub(super) fn lambda(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let lambda: ast::LambdaExpr<'_> = cx.enclosing()?;
    let list = lambda.params()?;
    let given: Vec<&str> = list.params().map(AstNode::text).collect();
    let wanted = match cx.hint() {
        FixHint::Arguments { expected, .. } => expected.len(),
        _ => match fact(cx, "expected") {
            Some(wanted) => wanted,
            None => wanted_by_call(cx, lambda)?,
        },
    };
    if wanted == given.len() || wanted > 16 {
        return None;
    }
    let edit = resized(list.syntax(), &given, wanted, |i| format!("_{i}"));
    let (label, why) = words(given.len(), wanted, "parameter");
    Some(vec![Draft::new(Kind::Other, 75, label, why, vec![edit])])
}

/// The parameters that the called function wants of a function value at this argument.
fn wanted_by_call(cx: &Cx<'_>, lambda: ast::LambdaExpr<'_>) -> Option<usize> {
    let list = ast::ArgList::cast(lambda.syntax().parent()?)?;
    let index = list.args().position(|a| a.syntax() == lambda.syntax())?;
    let call = ast::CallExpr::cast(list.syntax().parent()?)?;
    let path = call.callee()?.path_segments()?;
    let function: ast::FnDef<'_> = cx.item(path.last()?.text())?;
    match function.params()?.params().nth(index)?.ty()? {
        ast::Type::FnType(f) => Some(f.params().count()),
        _ => None,
    }
}
