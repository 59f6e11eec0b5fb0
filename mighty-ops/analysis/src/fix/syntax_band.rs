//! Fixes of the lexer's and parser's band, MT0001 to MT0012. Which of several places is right is decided by
//! parsing the candidate: the one that leaves the fewest errors wins.

use syntax::ast::{self, HasName};
use syntax::{SyntaxKind, TextRange};

use super::cx::Cx;
use super::diff::{edited, line_end};
use super::draft::{Draft, Edit, Kind};

/// The candidate that leaves the fewest syntax errors; the first of equals.
fn best(cx: &Cx<'_>, candidates: Vec<Vec<Edit>>) -> Option<Vec<Edit>> {
    if !cx.index.spend_proof(
        cx.text.len() * candidates.len(),
        cx.parse.errors.len() * candidates.len(),
    ) {
        return None;
    }
    candidates
        .into_iter()
        .filter_map(|edits| {
            let text = edited(cx.text, &edits)?;
            Some((syntax::parse(text).errors.len(), edits))
        })
        .min_by_key(|(errors, _)| *errors)
        .map(|(_, edits)| edits)
}

/// MT0001
pub(super) fn duplicated_token(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let token = cx.parse.tree.token_at(cx.range.start)?;
    let before = token.prev_significant()?;
    if before.kind() != token.kind() || before.text() != token.text() {
        return None;
    }
    let edit = Edit::delete(TextRange::new(before.range().end, token.range().end));
    Some(vec![Draft::new(
        Kind::Other,
        60,
        format!("remove the second `{}`", token.text()),
        format!(
            "`{}` stands twice in a row, and the file parses with one of them.",
            token.text()
        ),
        vec![edit],
    )])
}

/// MT0002
pub(super) fn unterminated_string(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let body = cx.reported();
    let quote = match cx.parse.tree.token_at(cx.range.start)?.kind() {
        SyntaxKind::Char => "'".to_owned(),
        SyntaxKind::RawStr => format!("\"{}", "#".repeat(body.matches('#').count())),
        _ => "\"".to_owned(),
    };
    let start = cx.range.start as usize;
    let end = line_end(cx.text, start);
    let line = cx.text[start..end].trim_end();
    // Before the closers that end the line, the outermost first; the line's own end last.
    let core = line.trim_end_matches([')', ']', '}', ',', ';', ' ']);
    let mut places: Vec<usize> = (core.len()..line.len())
        .filter(|at| line.as_bytes()[*at] != b' ')
        .collect();
    places.push(line.len());
    let candidates = places
        .into_iter()
        .take(16)
        .map(|at| vec![Edit::insert((start + at) as u32, quote.as_str())])
        .collect();
    Some(vec![Draft::new(
        Kind::Other,
        70,
        format!("insert the closing `{quote}`"),
        "The literal is closed where the rest of its line reads as code.",
        best(cx, candidates)?,
    )])
}

/// MT0003
pub(super) fn escape(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    if !cx.reported().starts_with('\\') {
        return None;
    }
    Some(vec![Draft::new(
        Kind::Other,
        75,
        "double the backslash",
        "Two backslashes stand for one, so the text holds the backslash itself.",
        vec![Edit::insert(cx.range.start, "\\")],
    )])
}

/// MT0004, in both of its meanings.
pub(super) fn unit_or_comment(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    if cx.reported().starts_with("/*") {
        let end = line_end(cx.text, cx.range.start as usize);
        let at = cx.text[..end]
            .trim_end()
            .len()
            .max(cx.range.start as usize + 2);
        return Some(vec![Draft::new(
            Kind::Other,
            50,
            "close the comment at the end of its line",
            "What follows the first line of the comment is code again.",
            vec![Edit::insert(at as u32, " */")],
        )]);
    }
    let (unit, factor) = match cx.reported() {
        "sec" | "secs" | "second" | "seconds" => ("s", 1),
        "min" | "mins" | "minute" | "minutes" => ("m", 1),
        "hr" | "hrs" | "hour" | "hours" => ("h", 1),
        "day" | "days" => ("h", 24),
        "week" | "weeks" => ("h", 168),
        "msec" | "millis" => ("ms", 1),
        "usec" | "micros" => ("us", 1),
        "nsec" | "nanos" => ("ns", 1),
        _ => return None,
    };
    let number = cx.parse.tree.token_at(cx.range.start.checked_sub(1)?)?;
    let amount: u64 = number.text().parse().ok()?;
    let amount = amount.checked_mul(factor)?;
    let range = TextRange::new(number.range().start, cx.range.end);
    Some(vec![Draft::new(
        Kind::Other,
        80,
        format!("write `{amount}{unit}`"),
        "Durations are written with `ns`, `us`, `ms`, `s`, `m` or `h`.",
        vec![Edit::replace(range, format!("{amount}{unit}"))],
    )])
}

/// MT0006
pub(super) fn underscore(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let written = cx.reported();
    let mut kept = written.to_owned();
    while kept.contains("__") {
        kept = kept.replace("__", "_");
    }
    let kept = kept.trim_end_matches('_');
    if kept == written {
        return None;
    }
    Some(vec![Draft::new(
        Kind::Other,
        90,
        format!("write `{kept}`"),
        "Underscores stand singly and between digits; the value stays the same.",
        vec![Edit::replace(cx.range, kept)],
    )])
}

/// MT0010
pub(super) fn wrap_in_fn(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let node = cx.node();
    let run = std::iter::once(node)
        .chain(node.ancestors())
        .find(|n| n.kind() == SyntaxKind::ErrorNode)?;
    let in_file = run.parent()?.kind() == SyntaxKind::SourceFile;
    let has_main = || {
        cx.item::<ast::FnDef<'_>>("main")
            .is_some_and(|f| f.name().is_some())
    };
    let name = if in_file && !has_main() {
        "main".to_owned()
    } else {
        cx.fresh("added")
    };
    let body = run.text();
    let wrapped = if body.contains('\n') {
        let indent = cx.indent(run.range().start);
        let inner = body.replace('\n', "\n  ");
        format!("fn {name}() {{\n{indent}  {inner}\n{indent}}}")
    } else {
        format!("fn {name}() {{ {body} }}")
    };
    Some(vec![Draft::new(
        Kind::Other,
        50,
        format!("put it into `fn {name}`"),
        "Statements stand in function bodies; at this place only items may.",
        vec![Edit::replace(run.range(), wrapped)],
    )])
}

/// MT0012
pub(super) fn delimiter(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let token = cx.parse.tree.token_at(cx.range.start)?;
    let (label, candidates) = if token.kind().is_opener() {
        let closer = closer(token.text())?;
        (
            format!("insert the missing `{closer}`"),
            closers(cx, closer),
        )
    } else {
        let wanted = innermost_open(cx, token.range().start)?;
        let closer = closer(wanted)?;
        let swap = vec![Edit::replace(token.range(), closer)];
        let at = token
            .prev_significant()
            .map_or(cx.range.start, |t| t.range().end);
        (
            format!("insert or swap `{closer}`"),
            vec![vec![Edit::insert(at, closer)], swap],
        )
    };
    Some(vec![Draft::new(
        Kind::BalanceDelimiters,
        80,
        label,
        "Every bracket is closed by its own kind, the innermost first.",
        best(cx, candidates)?,
    )])
}

fn closer(opener: &str) -> Option<&'static str> {
    match opener {
        "(" => Some(")"),
        "[" => Some("]"),
        "{" => Some("}"),
        _ => None,
    }
}

/// Places for a closer of the bracket at the report: before each closer and at the end of its own line, and
/// at the end of the file.
fn closers(cx: &Cx<'_>, closer: &'static str) -> Vec<Vec<Edit>> {
    let start = cx.range.start as usize + 1;
    let end = line_end(cx.text, start);
    let line = cx.text[start..end].trim_end();
    let mut places: Vec<usize> = line
        .char_indices()
        .filter(|(_, c)| matches!(c, ')' | ']' | '}' | ';' | ','))
        .map(|(i, _)| start + line[..i].trim_end().len())
        .collect();
    // The last ones first: a bracket more often holds too much than too little.
    places.reverse();
    places.truncate(8);
    places.insert(0, start + line.len());
    let mut found: Vec<Vec<Edit>> = places
        .into_iter()
        .map(|at| vec![Edit::insert(at as u32, closer)])
        .collect();
    let body = cx.text.trim_end().len() as u32;
    let at_end = if closer == "}" {
        let indent = cx.indent(cx.range.start);
        vec![Edit::insert(body, format!("\n{indent}{closer}"))]
    } else {
        vec![Edit::insert(body, closer)]
    };
    if closer == "}" {
        found.insert(0, at_end);
    } else {
        found.push(at_end);
    }
    found
}

/// The opener that is open just before an offset.
fn innermost_open<'a>(cx: &Cx<'a>, at: u32) -> Option<&'a str> {
    cx.index.spend_proof(cx.text.len() / 4, 0).then_some(())?;
    let mut open = Vec::new();
    for token in cx.parse.tree.tokens() {
        if token.range().start >= at {
            break;
        }
        if token.kind().is_opener() {
            open.push(token.text());
        } else if token.kind().is_closer()
            && open.last().and_then(|o| closer(o)) == Some(token.text())
        {
            open.pop();
        }
    }
    open.pop()
}
