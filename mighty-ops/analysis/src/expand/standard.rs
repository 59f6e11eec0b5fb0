//! Calls of the standard macros: number and shape of arguments, templates of `format!` (language.md §22).
//! Must not resolve or type the arguments; the HIR lowers them.

use syntax::{SyntaxKind, TextRange};

use super::calls::StandardCall;
use super::format::{self, Fault};
use super::names::STANDARD;
use crate::diagnostic::FixHint;

/// A finding in terms of the expanded text.
pub(super) struct Finding {
    pub(super) code: u16,
    pub(super) range: TextRange,
    pub(super) title: String,
    pub(super) notes: Vec<String>,
    pub(super) hint: FixHint,
    /// The written range, where it is known better than by mapping `range`.
    pub(super) written: Option<TextRange>,
}

impl Finding {
    pub(super) fn new(code: u16, range: TextRange, title: String) -> Self {
        Self {
            code,
            range,
            title,
            notes: Vec::new(),
            hint: FixHint::None,
            written: None,
        }
    }
}

/// The finding about a wrong number of arguments. `expected` holds types, `_` where any fits.
pub(super) fn arity(
    name: &str,
    range: TextRange,
    expected: Vec<String>,
    found: usize,
    args: TextRange,
) -> Finding {
    let want = match expected.len() {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        n => format!("{n} arguments"),
    };
    let mut f = Finding::new(
        6002,
        range,
        format!("`{name}!` takes {want}, found {found}"),
    );
    f.hint = FixHint::Arguments {
        expected,
        found,
        args,
    };
    f
}

/// Checks all calls of a file's expanded text. Also gives the levels of nesting in their arguments.
pub(super) fn check(text: &str, calls: &[StandardCall<'_>]) -> (Vec<Finding>, u32) {
    let mut found = Vec::new();
    for call in calls {
        let (name, fixed) = STANDARD[call.which];
        if let Some(n) = fixed.filter(|n| *n != call.args.len()) {
            let ty = if name == "assert" { "Bool" } else { "_" };
            found.push(arity(
                name,
                call.name,
                vec![ty.to_owned(); n],
                call.args.len(),
                call.inside,
            ));
        } else if name == "format" {
            template(text, call, &mut found);
        }
    }
    let levels = arguments(text, calls, &mut found);
    (found, levels * nesting(calls))
}

/// How many calls stand in each other's arguments at most.
fn nesting(calls: &[StandardCall<'_>]) -> u32 {
    let mut ends: Vec<u32> = Vec::new();
    let mut most = 0;
    for call in calls {
        while ends.last().is_some_and(|end| *end <= call.inside.start) {
            ends.pop();
        }
        ends.push(call.inside.end);
        most = most.max(ends.len());
    }
    most as u32
}

fn template(text: &str, call: &StandardCall<'_>, found: &mut Vec<Finding>) {
    let literal = call.first.filter(|t| {
        matches!(t.kind(), SyntaxKind::Str | SyntaxKind::RawStr)
            && call.args.first() == Some(&t.range())
    });
    let Some(literal) = literal else {
        let at = call
            .args
            .first()
            .copied()
            .filter(|a| !a.is_empty())
            .unwrap_or(call.name);
        let mut f = Finding::new(
            6009,
            at,
            "the template of `format!` has to be a string literal".to_owned(),
        );
        f.notes.push(
            "a text that is known only at run time goes into a hole: `format!(\"{}\", text)`"
                .into(),
        );
        found.push(f);
        return;
    };
    let open = literal.text().find('"').map_or(0, |i| i + 1);
    let scanned = format::scan(&literal.text()[open..], literal.kind() == SyntaxKind::Str);
    let base = literal.range().start + open as u32;
    for (fault, range) in &scanned.faults {
        let range = TextRange::new(base + range.start as u32, base + range.end as u32);
        found.push(fault_report(
            *fault,
            range,
            &text[std::ops::Range::from(range)],
        ));
    }
    let (holes, given) = (scanned.positional(), call.args.len() - 1);
    if scanned.faults.is_empty() && holes != given {
        let title = format!(
            "the template has {holes} {} without a name, but {given} {} follow",
            if holes == 1 { "hole" } else { "holes" },
            if given == 1 { "argument" } else { "arguments" },
        );
        let mut f = Finding::new(6002, call.name, title);
        let mut expected = vec!["Str".to_owned()];
        expected.resize(holes + 1, "_".to_owned());
        f.hint = FixHint::Arguments {
            expected,
            found: call.args.len(),
            args: call.inside,
        };
        found.push(f);
    }
}

fn fault_report(fault: Fault, range: TextRange, text: &str) -> Finding {
    let new = |code, title| Finding::new(code, range, title);
    match fault {
        Fault::Template => match text {
            "{" | "}" => {
                let mut f = new(
                    6009,
                    format!("this `{text}` has no partner in the template"),
                );
                f.notes.push(format!(
                    "a brace that is meant as text is doubled: `{text}{text}`"
                ));
                f.hint = FixHint::Replace {
                    range,
                    text: text.repeat(2),
                };
                f
            }
            _ => {
                let mut f = new(
                    6009,
                    format!("`{text}` is no hole: it may hold a name and a layout only"),
                );
                f.notes
                    .push("pass an expression as an argument to `{}`".into());
                f
            }
        },
        Fault::Unsupported => {
            let mut f = new(
                6010,
                format!("`format!` does not support the hole `{text}`"),
            );
            let inner = text.trim_start_matches('{');
            let rest = inner.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            if rest.len() < inner.len() && (rest == "}" || rest.starts_with(':')) {
                let without = format!("{{{rest}");
                f.notes
                    .push("holes take the arguments in their order".into());
                f.hint = FixHint::Replace {
                    range,
                    text: without,
                };
            }
            f
        }
        Fault::Width => new(
            6011,
            format!("the width in `{text}` is no number below 2^32"),
        ),
        Fault::Precision => new(
            6012,
            format!("the precision in `{text}` is no number below 2^32"),
        ),
    }
}

/// MT6003 for arguments that are no expressions. All of them are read in one go; gives the depth of the tree.
fn arguments(text: &str, calls: &[StandardCall<'_>], found: &mut Vec<Finding>) -> u32 {
    // `break` is fine as long as the call stands in a loop; that is the parser's business.
    let mut all = String::from("fn t() { loop {\n");
    let mut at: Vec<(u32, TextRange)> = Vec::new();
    for call in calls {
        if let Some(range) = call.unknown {
            found.push(Finding::new(
                6003,
                range,
                "these bytes are no part of the language".to_owned(),
            ));
            continue;
        }
        if call.repeats && STANDARD[call.which].0 == "vec" {
            continue;
        }
        for arg in &call.args {
            if arg.is_empty() {
                found.push(Finding::new(
                    6003,
                    call.name,
                    "an argument is missing before a comma".to_owned(),
                ));
                continue;
            }
            all.push_str("\n;(");
            at.push((all.len() as u32, *arg));
            all.push_str(&text[std::ops::Range::from(*arg)]);
            all.push(')');
        }
    }
    if at.is_empty() {
        return 0;
    }
    all.push_str("\n} }");
    let parse = syntax::parse(all);
    let mut last = None;
    for e in parse.errors.iter().filter(|e| e.is_hard()) {
        let i = at.partition_point(|(start, _)| *start <= e.range.start);
        let Some((start, arg)) = i.checked_sub(1).map(|i| at[i]) else {
            continue;
        };
        if last == Some(arg) {
            continue;
        }
        last = Some(arg);
        let shift = |o: u32| (o.saturating_sub(start) + arg.start).clamp(arg.start, arg.end);
        let range = TextRange::new(shift(e.range.start), shift(e.range.end));
        // An error behind the last token concerns the whole argument.
        let range = if range.is_empty() { arg } else { range };
        let mut f = Finding::new(6003, range, "this argument is no expression".to_owned());
        f.notes.push(e.title.clone());
        found.push(f);
    }
    parse.tree.max_depth()
}
