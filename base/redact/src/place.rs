//! What stands before a name on its line: whether a quote opens or closes there, whether data or code is written.
//! A bounded look back, so that a stream's context holds all of it.

use super::steps;

/// How far a look back goes, in bytes.
const BEHIND_BYTES: usize = 96;

/// The line before `at`, and whether it is known from its beginning.
fn line_before(text: &str, at: usize) -> (&[u8], bool) {
    let from = at.saturating_sub(BEHIND_BYTES);
    let before = &text.as_bytes()[from..at];
    steps(before.len());
    match memchr::memrchr(b'\n', before) {
        Some(end) => (&before[end + 1..], true),
        None => (before, from == 0),
    }
}

/// Whether the quote just before `from` ends a string that holds the name at `name`, as in "set `token=` first".
pub(super) fn closes_quote(text: &str, name: usize, from: usize, mark: char, level: usize) -> bool {
    let next = text[from..].chars().next();
    // A value may follow even where quotes are not in pairs.
    if next.is_some_and(|c| c.is_ascii_alphanumeric()) {
        return false;
    }
    let Ok(mark) = u8::try_from(mark) else {
        return false;
    };
    let (line, whole) = line_before(text, name);
    if !whole {
        return next.is_none_or(|c| matches!(c, ')' | ']' | '}' | ' ' | '\n'));
    }
    let mut inside = false;
    let mut slashes = 0;
    for (at, &byte) in line.iter().enumerate() {
        if byte == b'\\' {
            slashes += 1;
            continue;
        }
        let letter = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        // The one in `don't`.
        let apostrophe = at > 0 && letter(line.get(at - 1)) && letter(line.get(at + 1));
        if byte == mark && slashes == level && !(mark == b'\'' && apostrophe) {
            inside = !inside;
        }
        slashes = 0;
    }
    inside
}

/// Whether the name at `name` is followed by data: an option of a command, a pair of a query or of a
/// connection string.
pub(super) fn is_literal(text: &str, name: usize) -> bool {
    let bytes = text.as_bytes();
    let before = name.checked_sub(1).and_then(|at| bytes.get(at));
    bytes[name..].starts_with(b"--") || matches!(before, Some(b'?' | b'&' | b';'))
}

/// Whether the name at `name` begins a line, and the value that ends at `end` ends it.
pub(super) fn is_line_of_env(text: &str, name: usize, end: usize) -> bool {
    let (line, whole) = line_before(text, name);
    let begins = line.is_empty() || matches!(line, b"export " | b"set " | b"ENV ");
    whole && begins && matches!(text.as_bytes().get(end), None | Some(b'\n' | b'\r'))
}
