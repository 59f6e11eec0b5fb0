//! What stands where a secret would: names of variables, templates, words for types, rows of stars, messages.
//! Only a look at one value; where it stands and what follows from it is decided elsewhere.

use super::random::is_random;
use super::vocabulary::{list, lists};
use super::{starts_with_ignoring_case, steps};

/// Stands for a value that is elsewhere, or for none.
pub(super) fn is_placeholder(whole: &str) -> bool {
    steps(whole.len());
    let value = whole
        .trim_end_matches(['.', ',', ';', ':', '!', '?', '…', '/'])
        .trim();
    let bytes = value.as_bytes();
    // The beginning of one, as documents show it: `sk-...`.
    let cut_off = bytes.len() <= 6 && (whole.ends_with("...") || whole.ends_with('…'));
    bytes.is_empty()
        || cut_off
        || is_filled_in(value)
        || value.starts_with("[redacted")
        || list("beginnings")
            .iter()
            .any(|word| begins_phrase(bytes, word))
        || is_here(bytes)
        || lists("placeholders", value)
}

/// A template or a row of signs, in which no letter of a secret stands.
pub(super) fn is_filled_in(value: &str) -> bool {
    is_template(value) || is_row(value.as_bytes())
}

/// `your-api-key`, `REPLACE_WITH_TOKEN`: a word, and others behind it; none with digits.
fn begins_phrase(value: &[u8], word: &str) -> bool {
    starts_with_ignoring_case(value, word)
        && matches!(value.get(word.len()), Some(b'-' | b'_' | b' '))
        && !is_random(std::str::from_utf8(value).unwrap_or_default(), 8)
}

/// `API_KEY_HERE`.
fn is_here(value: &[u8]) -> bool {
    value.len() > 5
        && value[value.len() - 4..].eq_ignore_ascii_case(b"here")
        && matches!(value[value.len() - 5], b'-' | b'_' | b' ')
}

/// Rows of one sign, and such rows with hyphens between.
fn is_row(value: &[u8]) -> bool {
    let text = std::str::from_utf8(value).unwrap_or_default();
    let mut chars = text.chars().filter(|c| !matches!(c, '-' | '_' | '.'));
    match chars.next() {
        None => true,
        Some(first @ ('*' | 'x' | 'X' | '•' | '#' | '…')) => chars.all(|c| c == first),
        Some(_) => false,
    }
}

/// What a shell, a formatter or a template language fills in.
fn is_template(value: &str) -> bool {
    let mut chars = value.chars();
    let first = chars.next();
    let rest = chars.as_str();
    match first {
        Some('$') => is_variable(rest),
        // What the reader fills in; the sign that closes may be cut off, or end the value.
        Some('<') => value.ends_with('>') || rest.bytes().all(in_word),
        // A tag of YAML; what a shell says if a variable is not set.
        Some('!' | '?') => !rest.is_empty() && rest.bytes().all(in_word),
        Some('#' | '@') if rest.starts_with('{') => true,
        Some('\\') if rest.starts_with('(') => true,
        Some('{') => {
            let name = rest.bytes().take_while(|&b| in_path(b)).count();
            let behind = &rest[name..];
            // What closes it, how it is converted, or a step further.
            let goes_on = ["}", ":", "[", "(", "!r", "!s", "!a"];
            rest.starts_with('{')
                || behind.is_empty()
                || goes_on.iter().any(|sign| behind.starts_with(sign)) && !is_random(rest, 8)
        }
        Some('%') => is_format(rest),
        // Bound by name, as in SQL.
        Some(':' | '@') => {
            !rest.is_empty()
                && rest
                    .bytes()
                    .all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.'))
        }
        // What follows a name in a search for it.
        Some('.' | '[' | '(' | '\\') => [".*", ".+", ".?", "[^", "(.", "(?", "([", "\\S", "\\w"]
            .iter()
            .any(|pattern| value.starts_with(pattern)),
        _ => false,
    }
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-')
}

fn in_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Behind a dollar: a name, a position, something between brackets.
fn is_variable(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    match bytes.first() {
        None => true,
        Some(b'{' | b'(') => true,
        Some(b'0'..=b'9') => bytes.len() <= 2 && bytes.iter().all(u8::is_ascii_digit),
        Some(b'A'..=b'Z' | b'a'..=b'z' | b'_') => {
            let name = bytes.iter().take_while(|&&b| in_path(b)).count();
            let behind = &rest[name..];
            // `$row[`, `$this->token`, `$env:TOKEN`, `$HOME/x`, `$A:$B`.
            let goes_on = ["[", "->", ">", "{", "(", "/", ":", "@", "%", "$", ")", "}"];
            behind.is_empty()
                || goes_on.iter().any(|sign| behind.starts_with(sign)) && !is_random(rest, 8)
        }
        _ => bytes.len() == 1,
    }
}

/// Behind a percent sign: a directive of a formatter, or a name and another such sign.
fn is_format(rest: &str) -> bool {
    let name = rest.trim_end_matches('%');
    let bytes = rest.as_bytes();
    let flags = bytes
        .iter()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'#' | b'*'))
        .count();
    let directive = bytes.get(flags).is_some_and(u8::is_ascii_alphabetic)
        && bytes
            .get(flags + 1)
            .is_none_or(|b| !b.is_ascii_alphanumeric());
    bytes.len() <= 2
        || directive
        || rest.starts_with(['(', '{'])
        || name.len() < rest.len() && name.bytes().all(in_path)
}

/// Text between quotes that is not a value: a message about one, or code that the quotes interrupt.
pub(super) fn is_message(value: &str) -> bool {
    steps(2 * value.len());
    let mut words = value.split(|c: char| !c.is_alphanumeric());
    let spoken = value.contains(' ') && words.any(|word| lists("messages", word));
    let named = !value.bytes().any(|b| b.is_ascii_digit())
        && list("names").iter().any(|name| value.contains(name));
    spoken || named || is_interrupted(value)
}

/// `'" + token + "'`: the string around this value ends, and another begins.
fn is_interrupted(value: &str) -> bool {
    let behind = value.trim_start_matches('\\');
    behind.strip_prefix(['"', '\'', '`']).is_some_and(|rest| {
        rest.trim_start_matches(' ')
            .starts_with(['+', '.', ',', '&', '%', ')', '$', '|'])
    })
}
