//! From text edits to a unified diff (toolchain digest, section 5). The comparison itself is `similar`'s;
//! only the headers are written here, because the schema wants both numbers in each of them.

use std::fmt::Write as _;

use similar::{ChangeTag, DiffOp, TextDiff};

use super::draft::Edit;

/// Lines of context, as ordinary patch tools expect them.
const CONTEXT: usize = 3;
/// Text that is compared at most: a diff is for people and small models.
const WINDOW_BYTES: usize = 256 << 10;
/// Longest line that a diff repeats, in bytes: each report of a line costs as much as the line.
const LINE_BYTES: usize = 2000;

/// The text after the edits; `None` if one is out of range, splits a character or overlaps another.
pub(super) fn edited(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|e| (e.range.start, e.range.end));
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0usize;
    for edit in sorted {
        let (start, end) = (edit.range.start as usize, edit.range.end as usize);
        out.push_str(text.get(at..start)?);
        text.get(start..end)?;
        out.push_str(&edit.text);
        at = end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// The diff of the edits, or `None` if they change nothing or do not fit the text.
pub(super) fn unified(path: &str, text: &str, edits: &[Edit]) -> Option<String> {
    let first = edits.iter().map(|e| e.range.start as usize).min()?;
    let last = edits.iter().map(|e| e.range.end as usize).max()?;
    text.get(first..last)?;
    // Only the lines around the edits are compared, so that a report costs the same in every file.
    let start = back(text, line_start(text, first), CONTEXT);
    let end = forward(text, line_end(text, last), CONTEXT);
    if end - start > WINDOW_BYTES {
        return None;
    }
    let shift = |e: &Edit| Edit {
        range: syntax::TextRange::new(e.range.start - start as u32, e.range.end - start as u32),
        text: e.text.clone(),
    };
    let old = text.get(start..end)?;
    if old.split('\n').any(|line| line.len() > LINE_BYTES) {
        return None;
    }
    let shifted: Vec<Edit> = edits.iter().map(shift).collect();
    let new = edited(old, &shifted)?;
    let skipped = memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count();
    let hunks = hunks(old, &new, skipped);
    if hunks.is_empty() {
        return None;
    }
    let path = header_path(path);
    Some(format!("--- a/{path}\n+++ b/{path}\n{hunks}"))
}

/// The diff between two texts of a file, LF only; `None` if they are the same.
#[must_use]
pub fn unified_diff(path: &str, old: &str, new: &str) -> Option<String> {
    let lf = |text: &str| text.replace("\r\n", "\n");
    let hunks = hunks(&lf(old), &lf(new), 0);
    let path = header_path(path);
    (!hunks.is_empty()).then(|| format!("--- a/{path}\n+++ b/{path}\n{hunks}"))
}

fn hunks(old: &str, new: &str, skipped: usize) -> String {
    // A line ends at its line feed, as everywhere here; `from_lines` takes a lone carriage return for an end too.
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let diff = TextDiff::from_slices(&lines(old), &lines(new));
    let mut out = String::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(head), Some(tail)) = (group.first(), group.last()) else {
            continue;
        };
        let side = |from: std::ops::Range<usize>, to: std::ops::Range<usize>| {
            let len = to.end - from.start;
            // A side without lines names the line before it.
            (skipped + from.start + usize::from(len > 0), len)
        };
        let (a, n) = side(head.old_range(), tail.old_range());
        let (b, m) = side(head.new_range(), tail.new_range());
        // Writing into a String cannot fail.
        let _ = writeln!(out, "@@ -{a},{n} +{b},{m} @@");
        for op in &group {
            push_changes(&diff, op, &mut out);
        }
    }
    out
}

fn push_changes(diff: &TextDiff<'_, '_, str>, op: &DiffOp, out: &mut String) {
    for change in diff.iter_changes(op) {
        out.push(match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        });
        out.push_str(change.value());
        if !change.value().ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// A path for a header line; one with control characters is quoted as git does, to stay on its line. After one
/// with a blank stands a tab, as git writes it: readers take the name to end at a blank otherwise.
fn header_path(path: &str) -> String {
    if path.chars().any(char::is_control) {
        path.escape_default().to_string()
    } else if path.contains(char::is_whitespace) {
        format!("{path}\t")
    } else {
        path.to_owned()
    }
}

/// Start of the line that holds `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |i| i + 1)
}

/// One past the line feed of the line that holds `at`, or the end of the text.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |i| at + i + 1)
}

fn back(text: &str, mut at: usize, lines: usize) -> usize {
    for _ in 0..lines {
        if at == 0 {
            break;
        }
        at = line_start(text, at - 1);
    }
    at
}

fn forward(text: &str, mut at: usize, lines: usize) -> usize {
    for _ in 0..lines {
        if at == text.len() {
            break;
        }
        at = line_end(text, at);
    }
    at
}
