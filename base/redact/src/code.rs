//! What a value is where it is code: a path to where it is kept, a call, an element, a type.
//! Only a look at one value and the character behind it, in one pass over a bounded window.

use super::random::is_random;
use super::steps;
use super::vocabulary::{list, lists};

/// Most digits in a row within a name.
const DIGITS: usize = 3;

/// Whether `value` names, makes or types what it stands for. `next` is the character that ends it.
pub(super) fn is_expression(value: &str, next: Option<char>) -> bool {
    steps(3 * value.len());
    let value = value.trim_start_matches(['&', '*', '!']);
    let value = value.trim_end_matches([';', ',']);
    if let Some(at) = value.find(['(', '[']) {
        let (head, rest) = (&value[..at], &value[at + 1..]);
        let quote = matches!(next, Some('"' | '\'' | '`'));
        let whole = if value.as_bytes()[at] == b'(' {
            rest.contains(')')
                || matches!(next, Some(')' | ','))
                || rest.is_empty() && next.is_some()
        } else {
            let index = rest.split(']').next().unwrap_or_default();
            quote && rest.is_empty()
                || matches!(next, Some(']' | ' ')) && is_index(index)
                || rest.len() > index.len() && is_index(index)
        };
        // `[0u8; 32]`, `[u8; 32]`.
        let array = head.is_empty() && rest.len() <= 6 && next == Some(';');
        return array || (whole || quote && rest.is_empty()) && head.len() >= 2 && is_path(head);
    }
    lists("terms", value)
        || value.contains("::") && is_path(value)
        || value.contains("->") && is_path(value)
        || value.contains('.') && is_path(value) && leads_elsewhere(value)
}

/// A number or a name, perhaps of a range.
fn is_index(index: &str) -> bool {
    let number = |part: &str| {
        part.bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b':'))
    };
    // `stack[-1`, of `tokens[stack[-1]]`.
    let mut parts = index.split('[');
    !index.is_empty() && parts.all(|part| number(part) || is_path(part.trim_matches(['"', '\''])))
}

/// Names with dots, colons or arrows between.
pub(super) fn is_path(value: &str) -> bool {
    let mut names = value
        .split(['.', ':', '>', '?', '!'])
        .map(|name| name.trim_end_matches('-'))
        .filter(|name| !name.is_empty())
        .peekable();
    names.peek().is_some() && names.all(is_name) && !is_random(value, 12)
}

/// As programs name things: letters, and few digits that end a part of it.
fn is_name(name: &str) -> bool {
    let mut digits = 0;
    let mut groups = 0;
    let mut parts = 1;
    for byte in name.bytes() {
        match byte {
            b'0'..=b'9' => {
                groups += usize::from(digits == 0);
                digits += 1;
            }
            b'_' | b'-' => {
                parts += 1;
                digits = 0;
            }
            b'A'..=b'Z' | b'a'..=b'z' => digits = 0,
            _ => return false,
        }
        if digits > DIGITS {
            return false;
        }
    }
    groups <= parts && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn leads_elsewhere(path: &str) -> bool {
    let root = path.split('.').next().unwrap_or_default();
    lists("roots", root) || list("paths").iter().any(|word| contains(path, word))
}

/// Whether `word` stands in `text`, in any case.
pub(super) fn contains(text: &str, word: &str) -> bool {
    steps(text.len());
    text.as_bytes()
        .windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// A name of several words, one of them `word`: `db_password`, `my-secret-v2`, `MY_API_KEY`.
pub(super) fn is_name_with(value: &str, word: &str) -> bool {
    let value = value.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    value.contains(['_', '-', '.', '/'])
        && is_path(&value.replace('/', "."))
        && value.split(['_', '-', '.', '/']).any(|part| {
            part.eq_ignore_ascii_case(word)
                || part
                    .strip_suffix('s')
                    .is_some_and(|part| part.eq_ignore_ascii_case(word))
        })
}

/// `TLS13_TEST_SUITE`.
pub(super) fn is_constant(value: &str) -> bool {
    let shout = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    value.contains('_') && value.bytes().all(shout) && is_path(value)
}

/// Letters in lower case, or with an upper one at the words' beginnings, or all upper: what a person writes.
pub(super) fn is_wordy(value: &str) -> bool {
    steps(value.len());
    let mut lower = 0;
    let mut upper = 0;
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' => lower += 1,
            b'A'..=b'Z' => upper += 1,
            b'_' | b'-' | b'.' | b',' | b':' => {}
            _ => return false,
        }
    }
    let longest = value
        .split(|c: char| !c.is_ascii_alphabetic())
        .map(str::len)
        .max();
    let mixed = lower > 0 && upper > 0;
    longest.unwrap_or(0) < 24 && (!mixed || upper * 4 <= lower + 2)
}
