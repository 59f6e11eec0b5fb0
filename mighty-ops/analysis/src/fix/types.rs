//! Fixes of types that are not written, values that are missing, and calls of what is no function.

use syntax::ast::{self, AstNode, HasName};
use syntax::{SyntaxKind, TextRange};

use super::cx::{Cx, default_value};
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;

/// MT2003
pub(super) fn annotate_vec(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let binding: ast::LetStmt<'_> = cx.enclosing()?;
    let (at, ty) = match cx.hint() {
        FixHint::Annotate { at, ty } => (*at, ty.clone()),
        _ => (binding.pattern()?.range().end, "Vec[I32]".to_owned()),
    };
    if binding.ty().is_some() {
        return None;
    }
    Some(vec![Draft::new(
        Kind::AddTypeAnnotation,
        60,
        format!("annotate `{ty}`"),
        "Nothing here says what the elements are; check the element type.",
        vec![Edit::insert(at, format!(": {ty}"))],
    )])
}

/// MT2020
pub(super) fn parameter(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let param: ast::Param<'_> = cx.enclosing()?;
    let end = param.range().end;
    // A parameter that nothing touches has a type by default only.
    let used = param.name().is_some_and(|name| {
        cx.enclosing::<ast::FnDef<'_>>()
            .and_then(ast::FnDef::body)
            .is_some_and(|body| body.syntax().tokens().any(|t| t.text() == name.text()))
    });
    let (ty, hundredths, why) = match cx.hint() {
        FixHint::Annotate { ty, .. } if used => (
            ty.as_str(),
            90,
            "The body uses the parameter as a value of this type.",
        ),
        _ => (
            "I32",
            50,
            "A public function names the types of its parameters; check that this is the one.",
        ),
    };
    Some(vec![Draft::new(
        Kind::AddTypeAnnotation,
        hundredths,
        format!("annotate `{ty}`"),
        why,
        vec![Edit::insert(end, format!(": {ty}"))],
    )])
}

/// MT6016
pub(super) fn tool_parameter(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let param: ast::Param<'_> = match cx.enclosing() {
        Some(param) => param,
        None => cx
            .enclosing::<ast::FnDef<'_>>()?
            .params()?
            .params()
            .find(|p| p.ty().is_none())?,
    };
    if param.ty().is_some() {
        return None;
    }
    Some(vec![Draft::new(
        Kind::AddTypeAnnotation,
        50,
        "annotate `Str`",
        "A tool's schema is made from the types of its parameters.",
        vec![Edit::insert(param.range().end, ": Str")],
    )])
}

/// MT2008
pub(super) fn not_callable(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let call: ast::CallExpr<'_> = cx.enclosing()?;
    Some(vec![Draft::new(
        Kind::Other,
        50,
        "remove the argument list",
        "What stands before the parentheses is a value, not a function.",
        vec![Edit::delete(call.args()?.range())],
    )])
}

/// MT2013, of a struct literal and of an agent's state field.
pub(super) fn missing_fields(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    if let Some(field) = cx.enclosing::<ast::StateField<'_>>()
        && cx.enclosing::<ast::StructLit<'_>>().is_none()
    {
        let ty = field.ty()?.text();
        return Some(vec![Draft::new(
            Kind::AddStructField,
            80,
            "give the field a value",
            format!(
                "A field of type `{ty}` has no zero, so an agent cannot begin without a value."
            ),
            vec![Edit::insert(
                field.range().end,
                format!(" = {}", default_value(ty)),
            )],
        )]);
    }
    let literal: ast::StructLit<'_> = cx.enclosing()?;
    let fields: Vec<(String, String)> = match cx.hint() {
        FixHint::MissingFields { fields, .. } => fields.clone(),
        _ => declared_but_absent(cx, literal)?,
    };
    if fields.is_empty() {
        return None;
    }
    let list = literal.field_list()?;
    let options = fields
        .iter()
        .all(|(_, ty)| ty.trim_start().starts_with("Option"));
    let values: Vec<String> = fields
        .iter()
        .map(|(name, ty)| format!("{name}: {}", default_value(ty)))
        .collect();
    let names: Vec<String> = fields.iter().map(|(name, _)| format!("`{name}`")).collect();
    Some(vec![Draft::new(
        Kind::AddStructField,
        if options { 85 } else { 80 },
        format!("add {}", names.join(", ")),
        "Every field gets a value; put in the one you want.",
        vec![append(cx, list.syntax(), &values)?],
    )])
}

fn declared_but_absent(cx: &Cx<'_>, literal: ast::StructLit<'_>) -> Option<Vec<(String, String)>> {
    let path = literal.path()?.path_segments()?;
    let declared: ast::StructDef<'_> = cx.item(path.last()?.text())?;
    let given: Vec<&str> = literal
        .fields()
        .filter_map(|f| Some(f.name()?.text()))
        .collect();
    let missing = declared.fields().filter_map(|f| {
        let name = f.name()?.text();
        (!given.contains(&name)).then(|| Some((name.to_owned(), f.ty()?.text().to_owned())))?
    });
    Some(missing.collect())
}

/// Appends entries to a braced list, in the manner it is written in: on its line, or one a line.
pub(super) fn append(cx: &Cx<'_>, list: syntax::Node<'_>, entries: &[String]) -> Option<Edit> {
    let close = list
        .last_token()
        .filter(|t| t.kind() == SyntaxKind::RBrace)?;
    let before = close.prev_significant()?;
    let end = before.range().end;
    let empty = before.kind() == SyntaxKind::LBrace;
    let lines = cx.starts_line(close.range().start);
    let separated = before.kind() == SyntaxKind::Comma;
    if lines {
        let indent = cx.indent(close.range().start);
        let comma = if !empty && uses_commas(list) && !separated {
            ","
        } else {
            ""
        };
        let glue = if uses_commas(list) { "," } else { "" };
        let body: Vec<String> = entries
            .iter()
            .map(|e| format!("\n{indent}  {e}{glue}"))
            .collect();
        return Some(Edit::insert(end, format!("{comma}{}", body.concat())));
    }
    let glue = match (empty, separated) {
        (true, _) => " ",
        (_, true) => " ",
        _ => ", ",
    };
    let range = TextRange::new(end, close.range().start);
    Some(Edit::replace(
        range,
        format!("{glue}{} ", entries.join(", ")),
    ))
}

/// Whether the entries of a list are separated by commas.
fn uses_commas(list: syntax::Node<'_>) -> bool {
    list.own_tokens().any(|t| t.kind() == SyntaxKind::Comma)
}

/// MT2022: only an enum with one variant leaves no doubt.
pub(super) fn not_a_struct(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let literal: ast::StructLit<'_> = cx.enclosing()?;
    let path = literal.path()?;
    let name = path.path_segments()?.last()?.text();
    let found: ast::EnumDef<'_> = cx.item(name)?;
    let mut variants = found.variants();
    let (only, None) = (variants.next()?, variants.next()) else {
        return None;
    };
    let wanted = only.payload().count();
    let values: Vec<&str> = literal
        .fields()
        .filter_map(|f| Some(f.value()?.text()))
        .collect();
    let variant = only.name()?.text();
    let call = if wanted == 0 {
        format!("{name}.{variant}")
    } else if values.len() == wanted {
        format!("{name}.{variant}({})", values.join(", "))
    } else {
        return None;
    };
    Some(vec![Draft::new(
        Kind::Other,
        50,
        format!("write `{name}.{variant}`"),
        format!("`{name}` is an enum, and `{variant}` is its only variant."),
        vec![Edit::replace(literal.range(), call)],
    )])
}

/// MT2028
pub(super) fn code_point(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let cast: ast::CastExpr<'_> = cx.enclosing()?;
    Some(vec![Draft::new(
        Kind::Other,
        50,
        "use the replacement character",
        "The number is no character; U+FFFD is what stands for such.",
        vec![Edit::replace(cast.range(), "'\\u{FFFD}'")],
    )])
}
