//! Fixes of `match`: arms that are missing and arms that nothing reaches.

use syntax::ast::{self, AstNode};
use syntax::{SyntaxKind, TextRange};

use super::cx::Cx;
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;

/// MT2015
pub(super) fn missing_arms(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let found: ast::MatchExpr<'_> = cx.enclosing()?;
    let list = found.arm_list()?;
    let mut drafts = Vec::new();
    let mut add = |patterns: &[String], hundredths, label: String, why: &str| {
        let arms: Vec<String> = patterns
            .iter()
            .map(|p| format!("{p} => panic(\"todo\")"))
            .collect();
        if let Some(edit) = append_arms(cx, list, &arms) {
            drafts.push(Draft::new(
                Kind::AddMatchArm,
                hundredths,
                label,
                why,
                vec![edit],
            ));
        }
    };
    if let FixHint::MissingArms { patterns, .. } = cx.hint()
        && let Some(patterns) = whole(patterns)
    {
        let names: Vec<String> = patterns.iter().take(4).map(|p| format!("`{p}`")).collect();
        let more = if patterns.len() > 4 { " and more" } else { "" };
        add(
            &patterns,
            90,
            format!("add {}{more}", names.join(", ")),
            "Each missing variant gets an arm of its own, which stops the program until you write it.",
        );
    }
    add(
        &["_".to_owned()],
        80,
        "add a `_` arm".into(),
        "One arm takes every value that no other does; variants added later fall into it too.",
    );
    Some(drafts)
}

/// The checker gives one example of what each constructor leaves open. What an example says of the parts is
/// widened to all they can be, since there may be more; `None` if the arms would not cover everything.
fn whole(patterns: &[String]) -> Option<Vec<String>> {
    if patterns.is_empty() || patterns.len() >= crate::exhaust::MAX_MISSING {
        return None;
    }
    patterns.iter().map(|p| widened(p)).collect()
}

fn widened(pattern: &str) -> Option<String> {
    let Some((head, parts)) = pattern.split_once('(') else {
        return (!pattern.contains('{')).then(|| pattern.to_owned());
    };
    let parts = parts.strip_suffix(')')?;
    if parts.chars().all(|c| matches!(c, '_' | ',' | ' ')) {
        return Some(pattern.to_owned());
    }
    // A tuple's or a struct's example says nothing of the others.
    if head.is_empty() || head.contains('{') {
        return None;
    }
    let mut depth = 0usize;
    let mut count = 1;
    for c in parts.chars() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => count += 1,
            '"' | '\'' => return None,
            _ => {}
        }
    }
    Some(format!("{head}({})", vec!["_"; count].join(", ")))
}

fn append_arms(cx: &Cx<'_>, list: ast::ArmList<'_>, arms: &[String]) -> Option<Edit> {
    let close = list
        .syntax()
        .last_token()
        .filter(|t| t.kind() == SyntaxKind::RBrace)?;
    let before = close.prev_significant()?;
    let end = before.range().end;
    let empty = before.kind() == SyntaxKind::LBrace;
    if list.syntax().spans_lines() {
        // A line break separates arms.
        let indent = cx.indent(list.range().end - 1);
        let arms: String = arms.iter().map(|a| format!("\n{indent}  {a}")).collect();
        let tail = if cx.starts_line(close.range().start) {
            String::new()
        } else {
            format!("\n{indent}")
        };
        return Some(Edit::insert(end, format!("{arms}{tail}")));
    }
    let glue = match (empty, before.kind() == SyntaxKind::Comma) {
        (true, _) | (_, true) => " ",
        _ => ", ",
    };
    let range = TextRange::new(end, close.range().start);
    Some(Edit::replace(range, format!("{glue}{} ", arms.join(", "))))
}

/// MT2016
pub(super) fn unreachable(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let arm: ast::MatchArm<'_> = cx.enclosing()?;
    Some(vec![Draft::new(
        Kind::RemoveUnreachable,
        90,
        "remove the arm",
        "An earlier arm takes every value, so this one never runs.",
        vec![cx.take_out(arm.range())],
    )])
}
