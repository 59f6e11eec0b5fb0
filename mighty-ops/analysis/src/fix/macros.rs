//! Fixes of macro calls, `format!` templates and the attributes that act like macros.

use syntax::ast::{self, AstNode, HasName};
use syntax::{SyntaxKind, TextRange, Token};

use super::cx::Cx;
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;

/// Ranges of the arguments between the parentheses of a token list.
fn arguments(tokens: &[Token<'_>]) -> Vec<TextRange> {
    let mut depth = 0usize;
    let mut found: Vec<TextRange> = Vec::new();
    let mut open: Option<TextRange> = None;
    for token in tokens.iter().filter(|t| !t.kind().is_trivia()) {
        let kind = token.kind();
        if kind.is_opener() {
            depth += 1;
        } else if kind.is_closer() {
            depth = depth.saturating_sub(1);
        } else if kind == SyntaxKind::Comma && depth == 0 {
            found.extend(open.take());
            continue;
        }
        let end = token.range().end;
        open = Some(TextRange::new(
            open.map_or(token.range().start, |r| r.start),
            end,
        ));
    }
    found.extend(open);
    found
}

/// Holes of a template: the ranges between and with their braces, relative to the text.
pub(super) fn holes(template: &str) -> Vec<std::ops::Range<usize>> {
    let b = template.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < b.len() {
        match (b[at], b.get(at + 1)) {
            (b'{', Some(b'{')) | (b'}', Some(b'}')) => at += 2,
            (b'{', _) => match template[at..].find('}') {
                Some(len) => {
                    found.push(at..at + len + 1);
                    at += len + 1;
                }
                None => return found,
            },
            _ => at += 1,
        }
    }
    found
}

/// MT6002
pub(super) fn arity(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let call: ast::MacroCall<'_> = cx.enclosing()?;
    let inner: Vec<Token<'_>> = call.args()?.inner().collect();
    let given = arguments(&inner);
    let wanted = match call.name()?.text() {
        "assert" | "debug" => 1,
        "assert_eq" | "assert_ne" => 2,
        "unreachable" => 0,
        "format" => {
            let template = cx.slice(*given.first()?);
            1 + holes(template)
                .into_iter()
                .filter(|h| takes_argument(&template[h.start + 1..h.end - 1]))
                .count()
        }
        name => match cx.hint() {
            FixHint::Facts(facts) if facts.iter().any(|(k, _)| *k == "expected") => facts
                .iter()
                .find(|(k, _)| *k == "expected")
                .and_then(|(_, v)| v.parse().ok())?,
            _ => cx.item::<ast::MacroDef<'_>>(name)?.params().count(),
        },
    };
    if wanted == given.len() || wanted > 64 {
        return None;
    }
    let mut all: Vec<&str> = given.iter().take(wanted).map(|r| cx.slice(*r)).collect();
    let pad = if call.name()?.text() == "assert" {
        "true"
    } else {
        "0"
    };
    all.resize(wanted, pad);
    let range = call.args()?.range();
    Some(vec![Draft::new(
        Kind::Other,
        60,
        format!(
            "give {wanted} argument{}",
            if wanted == 1 { "" } else { "s" }
        ),
        format!(
            "The macro takes {wanted} and the call gives {}.",
            given.len()
        ),
        vec![Edit::replace(range, format!("({})", all.join(", ")))],
    )])
}

/// Whether a hole is filled from the argument list: it names nothing.
fn takes_argument(hole: &str) -> bool {
    hole.split(':')
        .next()
        .is_none_or(|name| name.trim().is_empty())
}

/// The template literal of a report: the reported token, or the first argument of the reported call.
fn template<'a>(cx: &Cx<'a>) -> Option<Token<'a>> {
    let is_text = |t: &Token<'_>| matches!(t.kind(), SyntaxKind::Str | SyntaxKind::RawStr);
    let at = cx.parse.tree.token_at(cx.range.start).filter(is_text);
    at.or_else(|| {
        let call: ast::MacroCall<'_> = cx.enclosing()?;
        call.args()?
            .inner()
            .find(|t| !t.kind().is_trivia())
            .filter(is_text)
    })
}

/// MT6009
pub(super) fn double_brace(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    // What is no literal has no braces of its own, even where it begins with one.
    let token = template(cx).filter(|t| t.range().covers(cx.range))?;
    let text = token.text();
    let b = text.as_bytes();
    let mut edits = Vec::new();
    let mut at = 0;
    let double =
        |at: usize, brace: &str| Edit::insert(token.range().start + at as u32, brace.to_owned());
    while at < b.len() {
        match (b[at], b.get(at + 1)) {
            (b'{', Some(b'{')) | (b'}', Some(b'}')) => at += 2,
            (b'{', _) => {
                let rest = &text[at + 1..];
                let end = rest
                    .find(['{', '}'])
                    .filter(|i| rest.as_bytes()[*i] == b'}');
                match end {
                    Some(len) if is_hole(&rest[..len]) => at += len + 2,
                    Some(len) => {
                        edits.push(double(at, "{"));
                        edits.push(double(at + 1 + len, "}"));
                        at += len + 2;
                    }
                    None => {
                        edits.push(double(at, "{"));
                        at += 1;
                    }
                }
            }
            (b'}', _) => {
                edits.push(double(at, "}"));
                at += 1;
            }
            _ => at += 1,
        }
    }
    (!edits.is_empty()).then(|| {
        vec![Draft::new(
            Kind::Other,
            60,
            "double the brace",
            "`{{` and `}}` stand for the braces themselves.",
            edits,
        )]
    })
}

/// Empty, a name, or either with a specification after `:`.
fn is_hole(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or_default();
    name.is_empty() || name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// MT6010
pub(super) fn plain_hole(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let token = template(cx)?;
    let start = token.range().start;
    // The report is about one hole; others may be as they should.
    let whole = !token.range().covers(cx.range) || token.range() == cx.range;
    let edits: Vec<Edit> = holes(token.text())
        .into_iter()
        .map(|h| {
            let range = TextRange::new(start + h.start as u32, start + h.end as u32);
            (
                range,
                hinted(cx, range).unwrap_or_else(|| plain(&token.text()[h.start + 1..h.end - 1])),
            )
        })
        .filter(|(range, to)| {
            if whole {
                to == "{}" && cx.slice(*range) != "{}"
            } else {
                range.covers(cx.range)
            }
        })
        .map(|(range, to)| Edit::replace(range, to))
        .collect();
    let label = match edits.as_slice() {
        [] => return None,
        [only] => format!("write `{}`", only.text),
        _ => "write `{}`".to_owned(),
    };
    Some(vec![Draft::new(
        Kind::Other,
        70,
        label,
        "Holes take their arguments in order; check that the order is right.",
        edits,
    )])
}

/// The hole that the checker proposes, layout and all, if it is one that `format!` supports.
fn hinted(cx: &Cx<'_>, hole: TextRange) -> Option<String> {
    let FixHint::Replace { range, text } = cx.hint() else {
        return None;
    };
    let sound = || crate::expand::format::scan(text, false).faults.is_empty();
    (*range == hole && sound()).then(|| text.clone())
}

/// The hole without its layout: it keeps a name, and a number goes.
fn plain(hole: &str) -> String {
    let name = hole.split(':').next().unwrap_or_default().trim();
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    format!("{{{}}}", if is_name { name } else { "" })
}

/// MT6013
pub(super) fn tool_description(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let attr: ast::Attr<'_> = cx.enclosing()?;
    let edit = match attribute_args(attr) {
        None => Edit::insert(attr.range().end, "(\"TODO\")"),
        Some((open, args)) => match args.first() {
            None => Edit::insert(open, "\"TODO\""),
            Some(first) if cx.slice(*first).contains(':') => {
                Edit::insert(first.start, "\"TODO\", ")
            }
            Some(first) => Edit::replace(*first, "\"TODO\""),
        },
    };
    Some(vec![Draft::new(
        Kind::CorrectMacroAttr,
        60,
        "describe the tool",
        "The first argument is the text by which a model chooses the tool; write what it does.",
        vec![edit],
    )])
}

/// MT6017
pub(super) fn computer_use_cap(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    const CAP: &str = "cap: computer.screen + computer.input";
    let attr: ast::Attr<'_> = match cx.enclosing() {
        Some(attr) => attr,
        None => {
            let agent: ast::AgentDef<'_> = cx.enclosing()?;
            ast::HasAttrs::attrs(agent)
                .find(|a| a.name().is_some_and(|n| n.text() == "computer_use"))?
        }
    };
    let edit = match attribute_args(attr) {
        None => Edit::insert(attr.range().end, format!("({CAP})")),
        Some((open, args)) => match args.last() {
            None => Edit::insert(open, CAP),
            Some(last) => Edit::insert(last.end, format!(", {CAP}")),
        },
    };
    Some(vec![Draft::new(
        Kind::CorrectMacroAttr,
        80,
        "name the capabilities",
        "An agent that uses the computer says which of its parts; keep the ones it needs.",
        vec![edit],
    )])
}

/// The offset after the opening parenthesis of an attribute and its arguments.
fn attribute_args(attr: ast::Attr<'_>) -> Option<(u32, Vec<TextRange>)> {
    let tokens: Vec<Token<'_>> = attr.syntax().tokens().collect();
    let open = tokens.iter().position(|t| t.kind() == SyntaxKind::LParen)?;
    let close = tokens
        .iter()
        .rposition(|t| t.kind() == SyntaxKind::RParen)?;
    let inner = tokens.get(open + 1..close)?;
    Some((tokens[open].range().end, arguments(inner)))
}
