//! Fixes that take something out: items, handlers, attributes, fields, derived names.

use syntax::ast::{self, AstNode};
use syntax::{Node, SyntaxKind, TextRange, Token};

use super::cx::{Cx, doc_start};
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;
use crate::resolve::suggest::nearest;

fn removal(cx: &Cx<'_>, range: TextRange, hundredths: u8, label: &str, why: &str) -> Vec<Draft> {
    let edits = vec![cx.take_out(range)];
    vec![Draft::new(Kind::Other, hundredths, label, why, edits)]
}

/// An item with the attributes and doc comments before it.
fn with_docs(node: Node<'_>) -> TextRange {
    let start = node.first_token().map_or(node.range().start, doc_start);
    TextRange::new(start, node.range().end)
}

/// MT0020
pub(super) fn later_handler(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let handler: ast::Handler<'_> = cx.enclosing()?;
    Some(removal(
        cx,
        with_docs(handler.syntax()),
        60,
        "remove the later handler",
        "An agent answers a message with one handler; the first one stays.",
    ))
}

/// MT4033
pub(super) fn handler(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let handler: ast::Handler<'_> = cx.enclosing()?;
    Some(removal(
        cx,
        with_docs(handler.syntax()),
        60,
        "remove the handler",
        "No protocol of the agent declares the message, so nobody can send it.",
    ))
}

/// MT1004
pub(super) fn attribute(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let attr: ast::Attr<'_> = cx.enclosing()?;
    let mut edit = cx.take_out(attr.range());
    if !cx.ends_line(attr.range().end) {
        // On the line of its item: the blanks between them go too.
        let rest = &cx.text[attr.range().end as usize..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let end = attr.range().end + blanks as u32;
        edit = Edit::delete(TextRange::new(attr.range().start, end));
    }
    Some(vec![Draft::new(
        Kind::Other,
        60,
        "remove the attribute",
        "The attribute means something before functions, agents and protocols only.",
        vec![edit],
    )])
}

/// MT1090
pub(super) fn earlier_item(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let range = match cx.hint() {
        FixHint::Delete { range } => *range,
        _ => {
            let later: ast::Item<'_> = cx.enclosing()?;
            let name = item_name(later.syntax())?;
            let earlier = later
                .syntax()
                .parent()?
                .children()
                .take_while(|n| *n != later.syntax())
                .filter(|n| ast::Item::cast(*n).is_some())
                .find(|n| item_name(*n) == Some(name))?;
            with_docs(earlier)
        }
    };
    Some(removal(
        cx,
        range,
        50,
        "remove the earlier item",
        "The later of two items with one name counts, so the earlier one is dead.",
    ))
}

/// The name of an item: its first identifier after the keyword, attributes aside.
fn item_name(node: Node<'_>) -> Option<&str> {
    node.own_tokens()
        .find(|t| t.kind() == SyntaxKind::Ident && t.text() != "supervisor" && t.text() != "proc")
        .map(Token::text)
}

/// MT2014
pub(super) fn second_field(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let field: ast::StructLitField<'_> = cx.enclosing()?;
    Some(removal(
        cx,
        field.range(),
        70,
        "remove the second value",
        "A field takes one value; check that the first is the one you want.",
    ))
}

/// MT4022
pub(super) fn second_impl(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let second: ast::ImplDef<'_> = cx.enclosing()?;
    Some(removal(
        cx,
        with_docs(second.syntax()),
        60,
        "remove the second implementation",
        "A trait is implemented once for each type.",
    ))
}

/// MT4040 and MT4041
pub(super) fn derive(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let name = if cx.code() == 4040 {
        derived(cx, "Copy")?
    } else {
        cx.name()?
    };
    let mut drafts = Vec::new();
    if cx.code() == 4041 {
        let near = match cx.hint() {
            FixHint::Rename { to, .. } => Some(to.as_str()),
            _ => nearest(name.text(), ["Copy", "Hash", "Eq", "Sendable"]).map(|(n, _)| n),
        };
        if let Some(near) = near {
            drafts.push(Draft::new(
                Kind::CorrectMacroAttr,
                75,
                format!("derive `{near}`"),
                "`Copy`, `Hash`, `Eq` and `Sendable` can be derived.",
                vec![Edit::replace(name.range(), near)],
            ));
            return Some(drafts);
        }
    }
    let (kind, hundredths, why) = if cx.code() == 4040 {
        (
            Kind::Other,
            85,
            "A field is not `Copy`, so values of the type move.",
        )
    } else {
        (
            Kind::CorrectMacroAttr,
            75,
            "Only `Copy`, `Hash`, `Eq` and `Sendable` can be derived.",
        )
    };
    drafts.push(Draft::new(
        kind,
        hundredths,
        format!("do not derive `{}`", name.text()),
        why,
        vec![without_derived(cx, name)],
    ));
    Some(drafts)
}

/// A derived name of the struct or enum at the report.
fn derived<'a>(cx: &Cx<'a>, wanted: &str) -> Option<Token<'a>> {
    let at = cx.node();
    let names: Vec<Token<'_>> = if let Some(s) = super::cx::enclosing::<ast::StructDef<'_>>(at) {
        s.derives().collect()
    } else {
        super::cx::enclosing::<ast::EnumDef<'_>>(at)?
            .derives()
            .collect()
    };
    names.into_iter().find(|t| t.text() == wanted)
}

/// Takes a name out of a derive list, and the list with its last name.
fn without_derived(cx: &Cx<'_>, name: Token<'_>) -> Edit {
    let is_comma = |t: &Token<'_>| t.kind() == SyntaxKind::Comma;
    if let Some(next) = name.next_significant().filter(is_comma) {
        let end = next
            .next_significant()
            .map_or(next.range().end, |t| t.range().start);
        return Edit::delete(TextRange::new(name.range().start, end));
    }
    if let Some(prev) = name.prev_significant().filter(is_comma) {
        return Edit::delete(TextRange::new(prev.range().start, name.range().end));
    }
    let list = name.parent();
    let whole = super::cx::enclosing::<ast::Attr<'_>>(list)
        .map(AstNode::range)
        .or_else(|| super::cx::enclosing::<ast::DeriveClause<'_>>(list).map(AstNode::range))
        .unwrap_or(name.range());
    if cx.ends_line(whole.end) {
        cx.take_out(whole)
    } else {
        let rest = &cx.text[whole.end as usize..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        Edit::delete(TextRange::new(whole.start, whole.end + blanks as u32))
    }
}
