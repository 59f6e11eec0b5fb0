//! Fixes of names that resolve to nothing: renames, imports, qualified calls.

use syntax::ast::{self, AstNode, HasName};
use syntax::{Node, SyntaxKind, TextRange, Token};

use super::cx::{Cx, doc_start};
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;
use crate::resolve::suggest::nearest;

fn rename(token: Token<'_>, to: &str, hundredths: u8) -> Draft {
    Draft::new(
        Kind::RenameToMatchDecl,
        hundredths,
        format!("rename to `{to}`"),
        format!("`{to}` is the nearest name that can stand here."),
        vec![Edit::replace(token.range(), to)],
    )
}

/// A `use` line after the others, or before the first item.
fn use_line(cx: &Cx<'_>, path: &str, hundredths: u8) -> Draft {
    let file = cx.parse.file();
    let line = format!("use {path}\n");
    let (at, text) = if let Some(last) = file
        .items()
        .take_while(|i| matches!(i, ast::Item::UseItem(_)))
        .last()
    {
        let end = super::diff::line_end(cx.text, last.range().end as usize);
        let glue = if cx.text[..end].ends_with('\n') {
            ""
        } else {
            "\n"
        };
        (end as u32, format!("{glue}{line}"))
    } else if let Some(package) = file.package() {
        let end = super::diff::line_end(cx.text, package.range().end as usize);
        let glue = if cx.text[..end].ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        (end as u32, format!("{glue}{line}"))
    } else {
        let first = file.syntax().children().next();
        let at = first.map_or(0, |n| n.range().start);
        // Comments that belong to the first item stay with it.
        let docs = file
            .items()
            .next()
            .map_or(at, |_| cx.parse.tree.token_at(at).map_or(at, doc_start));
        (docs, line)
    };
    Draft::new(
        Kind::MissingImport,
        hundredths,
        format!("add `use {path}`"),
        format!("`{path}` holds the name."),
        vec![Edit::insert(at, text)],
    )
}

fn by_distance(distance: u8) -> u8 {
    if distance <= 1 { 85 } else { 75 }
}

/// MT1001 and MT2021
pub(super) fn value(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    match cx.hint() {
        FixHint::Rename { to, distance } => {
            let Some(name) = cx.first_name() else {
                return Some(vec![rename_hole(cx, to, by_distance(*distance))?]);
            };
            let mut draft = rename(name, to, by_distance(*distance));
            if cx.code() == 2021 {
                draft.edits.extend(other_uses(cx, name, to));
            }
            Some(vec![draft])
        }
        FixHint::Import { path } => Some(vec![use_line(cx, path, 80)]),
        _ => None,
    }
}

/// A rename of the name that a hole of a template reads: the report covers the hole or its name.
fn rename_hole(cx: &Cx<'_>, to: &str, hundredths: u8) -> Option<Draft> {
    let text = cx.reported();
    let inside = text.strip_prefix('{').unwrap_or(text);
    let name = inside.split([':', '}']).next()?;
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let start = cx.range.start + (text.len() - inside.len()) as u32;
    let range = TextRange::new(start, start + name.len() as u32);
    is_name.then(|| {
        Draft::new(
            Kind::RenameToMatchDecl,
            hundredths,
            format!("rename to `{to}`"),
            format!("`{to}` is the nearest name that can stand here."),
            vec![Edit::replace(range, to)],
        )
    })
}

/// The other uses of a name that its body leaves unbound: one report stands for all of them. None if
/// something in the body binds the name, since a use may mean that then.
fn other_uses(cx: &Cx<'_>, name: Token<'_>, to: &str) -> Vec<Edit> {
    let is_body = |k| {
        matches!(
            k,
            SyntaxKind::FnDef | SyntaxKind::Handler | SyntaxKind::InitDef
        )
    };
    let body_of = |node: Node<'_>| {
        std::iter::once(node)
            .chain(node.ancestors())
            .find(|n| is_body(n.kind()))
            .map(Node::range)
    };
    let at = name.parent();
    let Some(body) = std::iter::once(at)
        .chain(at.ancestors())
        .find(|n| is_body(n.kind()))
    else {
        return Vec::new();
    };
    // Every report walks its body; a file full of them must not cost their product.
    if !cx.index.spend_proof(body.text().len(), 0) {
        return Vec::new();
    }
    let is_named = |n: Node<'_>| {
        n.own_tokens()
            .any(|t| t.kind() == SyntaxKind::Ident && t.text() == name.text())
    };
    let mut edits = Vec::new();
    for node in body.descendants() {
        match node.kind() {
            SyntaxKind::IdentPat | SyntaxKind::Param if is_named(node) => return Vec::new(),
            SyntaxKind::PathExpr
                if node.text() == name.text() && body_of(node) == Some(body.range()) =>
            {
                // `P { x }` names the field with the same word.
                let short = node.parent().is_some_and(|p| {
                    p.kind() == SyntaxKind::StructLitField && p.range() == node.range()
                });
                if !short && node.range() != name.range() {
                    edits.push(Edit::replace(node.range(), to));
                }
            }
            SyntaxKind::TokenTree => {
                let is_use = |t: &Token<'_>| {
                    t.kind() == SyntaxKind::Ident
                        && t.text() == name.text()
                        && t.range() != name.range()
                        && t.prev_significant()
                            .is_none_or(|p| p.kind() != SyntaxKind::Dot)
                        && t.next_significant()
                            .is_none_or(|n| n.kind() != SyntaxKind::Colon)
                };
                // A hole of a template reads the name too.
                let template = node
                    .parent()
                    .and_then(ast::MacroCall::cast)
                    .filter(|m| m.name().is_some_and(|n| n.text() == "format"))
                    .and_then(|_| node.tokens().find(|t| t.kind() == SyntaxKind::Str));
                if let Some(token) = template {
                    let text = token.text();
                    for hole in super::macros::holes(text) {
                        let inside = &text[hole.start + 1..hole.end - 1];
                        if inside.split(':').next() == Some(name.text()) {
                            let start = token.range().start + hole.start as u32 + 1;
                            let end = start + name.text().len() as u32;
                            edits.push(Edit::replace(TextRange::new(start, end), to));
                        }
                    }
                }
                edits.extend(
                    node.own_tokens()
                        .filter(is_use)
                        .map(|t| Edit::replace(t.range(), to)),
                );
            }
            _ => {}
        }
    }
    edits
}

/// MT1002 and MT2029
pub(super) fn import(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let item: ast::UseItem<'_> = cx.enclosing()?;
    let name = cx.name()?;
    let mut drafts = Vec::new();
    match cx.hint() {
        FixHint::Import { path } => drafts.push(Draft::new(
            Kind::MissingImport,
            80,
            format!("import `{path}`"),
            format!("`{path}` is the nearest module there is."),
            vec![Edit::replace(item.path()?.range(), path.as_str())],
        )),
        FixHint::Rename { to, .. } => drafts.push(Draft::new(
            Kind::MissingImport,
            80,
            format!("import `{to}`"),
            format!("`{to}` is the nearest module there is."),
            vec![Edit::replace(name.range(), to.as_str())],
        )),
        _ => {}
    }
    if cx.code() == 1002 {
        drafts.push(Draft::new(
            Kind::Other,
            50,
            "remove the line",
            "No such module exists; what needs it must be written in another way.",
            vec![cx.take_out(item.range())],
        ));
    }
    Some(drafts)
}

/// MT1003
pub(super) fn attribute(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let attr: ast::Attr<'_> = cx.enclosing()?;
    let name = attr.name()?;
    let to = match cx.hint() {
        FixHint::Rename { to, .. } => to.as_str(),
        _ => nearest(name.text(), ["tool", "computer_use"])?.0,
    };
    Some(vec![Draft::new(
        Kind::CorrectMacroAttr,
        75,
        format!("write `@{to}`"),
        "`@tool` and `@computer_use` are the attributes there are.",
        vec![Edit::replace(name.range(), to)],
    )])
}

/// MT2002
pub(super) fn ty(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    if let Some(name) = cx.name()
        && let Some(module) = qualifier(name)
    {
        if !cx.index.spend_proof(cx.text.len(), cx.parse.errors.len()) {
            return None;
        }
        // What is near in the scope of the report is not there where the path leads.
        let names = cx
            .items::<ast::StructDef<'_>>()
            .map(|d| (d.syntax(), d.name()))
            .chain(
                cx.items::<ast::EnumDef<'_>>()
                    .map(|d| (d.syntax(), d.name())),
            )
            .filter_map(|(node, n)| Some((node, n?.text())))
            .filter(|(node, _)| cx.index.module_of(*node) == Some(module.text()))
            .map(|(_, n)| n);
        let (to, _) = nearest(name.text(), names)?;
        return Some(vec![rename(name, to, 85)]);
    }
    match cx.hint() {
        FixHint::Rename { to, .. } => Some(vec![rename(cx.name()?, to, 85)]),
        FixHint::Import { path } => Some(vec![use_line(cx, path, 70)]),
        _ => None,
    }
}

/// The name before the dot or `::` before a name.
fn qualifier(name: Token<'_>) -> Option<Token<'_>> {
    let dot = name.prev_significant()?;
    matches!(dot.text(), "." | "::").then(|| dot.prev_significant())?
}

/// MT2006, MT2007, MT2009, MT2030, MT4021, MT4064
pub(super) fn member(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let hundredths = match cx.code() {
        4021 => 75,
        4064 => 80,
        _ => 85,
    };
    let FixHint::Rename { to, .. } = cx.hint() else {
        return None;
    };
    Some(vec![rename(member_name(cx)?, to, hundredths)])
}

/// The name of the member that the report is about, whether it covers the name only or the expression.
fn member_name<'a>(cx: &Cx<'a>) -> Option<Token<'a>> {
    match cx.expr() {
        Some(ast::Expr::MethodCallExpr(call)) if call.range() == cx.range => call.name(),
        Some(ast::Expr::FieldExpr(field)) if field.range() == cx.range => field.name(),
        _ => cx.name(),
    }
}

/// MT2023
pub(super) fn type_argument(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let name = cx.name()?;
    let types: Vec<&str> = cx
        .items::<ast::StructDef<'_>>()
        .filter_map(HasName::name)
        .chain(cx.items::<ast::EnumDef<'_>>().filter_map(HasName::name))
        .map(Token::text)
        .chain([
            "Bool", "Bytes", "Char", "Duration", "F32", "F64", "I8", "I16", "I32", "I64", "Str",
            "String", "U8", "U16", "U32", "U64", "USize", "Unit",
        ])
        .collect();
    let to = match cx.hint() {
        FixHint::Rename { to, .. } => to.clone(),
        // The variant of an enum usually stands for the enum itself.
        _ => match nearest(name.text(), types) {
            Some((near, _)) => near.to_owned(),
            None => enum_of_variant(cx, name.text())?,
        },
    };
    Some(vec![rename_path(cx, name, &to)])
}

fn enum_of_variant(cx: &Cx<'_>, variant: &str) -> Option<String> {
    let found = cx.items::<ast::EnumDef<'_>>().find(|e| {
        e.variants()
            .any(|v| v.name().is_some_and(|n| n.text() == variant))
    })?;
    Some(found.name()?.text().to_owned())
}

/// A rename that replaces the whole dotted path the name ends.
fn rename_path(cx: &Cx<'_>, name: Token<'_>, to: &str) -> Draft {
    let start = if cx.range.covers(name.range()) {
        cx.range.start
    } else {
        name.range().start
    };
    Draft::new(
        Kind::RenameToMatchDecl,
        50,
        format!("write the type `{to}`"),
        "A type stands between the brackets, not a function or a variant.",
        vec![Edit::replace(TextRange::new(start, name.range().end), to)],
    )
}

/// MT4020
pub(super) fn qualified_call(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let call: ast::MethodCallExpr<'_> = cx.enclosing()?;
    let method = call.name()?.text();
    let args = call.args()?;
    let receiver = call.receiver()?;
    let rest = cx.slice(TextRange::new(args.range().start + 1, args.range().end));
    let glue = if rest.trim_start().starts_with(')') {
        ""
    } else {
        ", "
    };
    let mut drafts = Vec::new();
    for found in cx.items::<ast::TraitDef<'_>>() {
        let Some(name) = found.name() else { continue };
        let Some(f) = found
            .functions()
            .find(|f| f.name().is_some_and(|n| n.text() == method))
        else {
            continue;
        };
        let by_ref = f
            .params()
            .and_then(ast::ParamList::self_param)
            .map(|p| p.text().replace(' ', ""))
            .map(|p| {
                if p.contains("&mut") {
                    "&mut "
                } else if p.contains('&') {
                    "&"
                } else {
                    ""
                }
            })
            .unwrap_or_default();
        drafts.push(Draft::new(
            Kind::Other,
            60,
            format!("call `{}::{method}`", name.text()),
            format!(
                "The path says that the method of `{}` is meant.",
                name.text()
            ),
            vec![Edit::replace(
                call.range(),
                format!(
                    "{}::{method}({by_ref}{}{glue}{rest}",
                    name.text(),
                    receiver.text()
                ),
            )],
        ));
    }
    drafts.truncate(4);
    Some(drafts)
}

/// MT6001
pub(super) fn macro_name(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let call: ast::MacroCall<'_> = cx.enclosing()?;
    let name = call.name()?;
    let own: Vec<&str> = cx
        .items::<ast::MacroDef<'_>>()
        .filter_map(HasName::name)
        .map(Token::text)
        .chain([
            "assert",
            "assert_eq",
            "assert_ne",
            "debug",
            "unreachable",
            "format",
            "vec",
        ])
        .collect();
    let to = match cx.hint() {
        FixHint::Rename { to, .. } => to.as_str(),
        _ => nearest(name.text(), own)?.0,
    };
    Some(vec![Draft::new(
        Kind::CorrectMacroAttr,
        85,
        format!("call `{to}!`"),
        format!("`{to}!` is the nearest macro there is."),
        vec![Edit::replace(name.range(), to)],
    )])
}
