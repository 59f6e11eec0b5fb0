//! Fixes of effect clauses, effect rows and capability names.

use syntax::ast::{self, AstNode, HasName};
use syntax::{SyntaxKind, TextRange, Token};

use super::cx::Cx;
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;

const EFFECTS: [&str; 11] = [
    "alloc", "net", "fs", "time", "dom", "model", "spawn", "unsafe", "io", "rand", "block",
];

/// MT4001, MT4050, MT4059
pub(super) fn add(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let missing: Vec<String> = match cx.hint() {
        FixHint::AddEffects { effects, .. } => effects.clone(),
        _ => named_in_title(cx),
    };
    if missing.is_empty() {
        return None;
    }
    let function: ast::FnDef<'_> = match cx.hint() {
        FixHint::AddEffects { at, .. } => {
            let point = TextRange::new(at.saturating_sub(1), *at);
            super::cx::enclosing(cx.node_at(point))?
        }
        _ => cx.enclosing()?,
    };
    let edit = match function.effects() {
        Some(clause) => {
            let mut all: Vec<String> = clause.effects().map(|t| t.text().to_owned()).collect();
            all.extend(
                missing
                    .iter()
                    .filter(|m| !all.contains(m))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
            let rows: Vec<&str> = clause.row_vars().map(Token::text).collect();
            Edit::replace(
                clause.range(),
                clause_text(clause.is_word_form(), &all, &rows),
            )
        }
        None => {
            let end = match function.ret_type() {
                Some(ret) => ret.range().end,
                None => function.params()?.range().end,
            };
            Edit::insert(end, format!(" effect {}", missing.join(", ")))
        }
    };
    let list = missing.join("`, `");
    Some(vec![Draft::new(
        Kind::AddEffect,
        if cx.code() == 4001 { 100 } else { 90 },
        format!("declare `{list}`"),
        "A public function tells its callers what it touches; they inherit the effect.",
        vec![edit],
    )])
}

/// Effect names in backticks in the report's own words.
fn named_in_title(cx: &Cx<'_>) -> Vec<String> {
    let words = cx.diagnostic.title.split('`').skip(1).step_by(2);
    words
        .flat_map(|w| w.split([',', ' ']))
        .filter(|w| EFFECTS.contains(w))
        .map(str::to_owned)
        .collect()
}

fn clause_text(words: bool, effects: &[String], rows: &[&str]) -> String {
    let mut body = effects.join(", ");
    if !rows.is_empty() {
        if !body.is_empty() {
            body.push(' ');
        }
        body.push_str("| ");
        body.push_str(&rows.join(", "));
    }
    if words {
        format!("effect {body}")
    } else {
        format!("!{{{body}}}")
    }
}

/// MT4010
pub(super) fn narrow(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let FixHint::Replace { range, text } = cx.hint() else {
        return None;
    };
    Some(vec![Draft::new(
        Kind::AddCapability,
        85,
        "narrow the capability",
        "The callee takes a capability for less than this one allows.",
        vec![Edit::replace(*range, text.as_str())],
    )])
}

/// MT4055, MT4056, MT4057
pub(super) fn row_variable(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let function: ast::FnDef<'_> = cx.enclosing()?;
    let clause = function.effects()?;
    let rows: Vec<&str> = clause.row_vars().map(Token::text).collect();
    let effects: Vec<String> = clause.effects().map(|t| t.text().to_owned()).collect();
    // All of them: what binds none binds none of its neighbours either.
    let mut edits = vec![if effects.is_empty() {
        let start = cx.text[..clause.range().start as usize].trim_end().len() as u32;
        Edit::delete(TextRange::new(start, clause.range().end))
    } else {
        let text = clause_text(clause.is_word_form(), &effects, &[]);
        Edit::replace(clause.range(), text)
    }];
    let uses = |name: &str| {
        let words = function.syntax().tokens();
        words
            .filter(|t| t.kind() == SyntaxKind::Ident && t.text() == name)
            .count()
    };
    if let Some(generics) = function.generics() {
        let kept: Vec<&str> = generics
            .params()
            .filter(|p| {
                let name = p.name().map_or("", Token::text);
                !(rows.contains(&name) && uses(name) == 2)
            })
            .map(AstNode::text)
            .collect();
        edits.push(if kept.is_empty() {
            Edit::delete(generics.range())
        } else {
            Edit::replace(generics.range(), format!("[{}]", kept.join(", ")))
        });
    }
    let dropped = rows.join("`, `");
    let (hundredths, label) = if cx.code() == 4056 {
        (85, "close the row".to_owned())
    } else {
        (80, format!("drop the row variable `{dropped}`"))
    };
    let mut drafts = vec![Draft::new(
        Kind::AddEffect,
        hundredths,
        label,
        "No argument brings effects of its own, so the variable stands for nothing.",
        edits,
    )];
    if cx.code() == 4057 {
        let name = cx.fresh("step");
        drafts.push(Draft::new(
            Kind::AddEffect,
            60,
            "take a closure",
            "The effects of a closure are what the variable stands for; call it in the body.",
            vec![add_parameter(function, &format!("{name}: fn() -> Unit"))?],
        ));
    }
    Some(drafts)
}

fn add_parameter(function: ast::FnDef<'_>, text: &str) -> Option<Edit> {
    let list = function.params()?;
    let close = list.syntax().last_token()?;
    let before = close.prev_significant()?;
    let glue = match before.kind() {
        SyntaxKind::LParen => "",
        SyntaxKind::Comma => " ",
        _ => ", ",
    };
    Some(Edit::insert(before.range().end, format!("{glue}{text}")))
}

/// MT4060 and MT4062
pub(super) fn capability_parameter(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let function = cx.function()?;
    let name = cx.first_name()?.text();
    if cx.code() == 4062 {
        let family = family_of(cx, name)?;
        return Some(vec![Draft::new(
            Kind::AddCapability,
            60,
            format!("take `{name}: {family}`"),
            "A capability comes in as a parameter; callers must hand theirs over.",
            vec![add_parameter(function, &format!("{name}: {family}"))?],
        )]);
    }
    let held = function
        .params()?
        .params()
        .find(|p| {
            p.ty()
                .is_some_and(|t| t.text().trim_start_matches('&') == name)
        })
        .and_then(ast::Param::name);
    let mut edits = Vec::new();
    let param = match held {
        Some(held) => held.text().to_owned(),
        None => {
            let taken: Vec<&str> = function
                .syntax()
                .descendants()
                .filter(|n| matches!(n.kind(), SyntaxKind::IdentPat | SyntaxKind::Param))
                .filter_map(|n| n.first_token().map(Token::text))
                .collect();
            let wanted = name.to_lowercase();
            let param = if taken.contains(&wanted.as_str()) {
                cx.fresh(&wanted)
            } else {
                wanted
            };
            edits.push(add_parameter(function, &format!("{param}: {name}"))?);
            param
        }
    };
    let body = function.body()?;
    for node in body.syntax().descendants() {
        if node.kind() == SyntaxKind::PathExpr && node.text() == name {
            edits.push(Edit::replace(node.range(), param.as_str()));
        }
    }
    Some(vec![Draft::new(
        Kind::AddCapability,
        80,
        format!("use a capability `{param}: {name}`"),
        format!("`{name}` is a type; a value of it comes in as a parameter."),
        edits,
    )])
}

pub(super) const FAMILIES: [&str; 7] = ["Fs", "Net", "Clock", "Dom", "Model", "Canvas", "Input"];

/// The family that a capability parameter of this name has elsewhere in the file.
fn family_of<'a>(cx: &Cx<'a>, name: &str) -> Option<&'a str> {
    cx.index
        .named(name)
        .into_iter()
        .filter(|n| cx.is_own(*n))
        .filter_map(ast::Param::cast)
        .filter_map(ast::Param::ty)
        .map(|t| t.text().trim_start_matches('&').trim())
        .find(|t| FAMILIES.contains(t))
}

/// MT4061 and MT4063
pub(super) fn rename_capability(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let param: ast::Param<'_> = cx.enclosing()?;
    let name = param.name()?;
    let family = param.ty()?.text().trim_start_matches('&').trim();
    let wanted = family.to_lowercase();
    let function: ast::FnDef<'_> = cx.enclosing()?;
    let taken = function
        .syntax()
        .tokens()
        .any(|t| t.kind() == SyntaxKind::Ident && t.text() == wanted);
    let to = if taken || wanted == name.text() {
        cx.fresh(&wanted)
    } else {
        wanted
    };
    let mut edits = vec![Edit::replace(name.range(), to.as_str())];
    let (hundredths, why) = if cx.code() == 4061 {
        if let Some(body) = function.body() {
            for node in body.syntax().descendants() {
                if node.kind() == SyntaxKind::PathExpr && node.text() == name.text() {
                    edits.push(Edit::replace(node.range(), to.as_str()));
                }
            }
        }
        (60, "One name stands for one family throughout a file.")
    } else {
        (
            80,
            "Two parameters of one name hide each other; see which one the body means.",
        )
    };
    Some(vec![Draft::new(
        Kind::Other,
        hundredths,
        format!("rename to `{to}`"),
        why,
        edits,
    )])
}
