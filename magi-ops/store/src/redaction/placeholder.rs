//! What stands where a secret would: names of variables, words for types, rows of stars.
//! Only a look at one value; where it stands and what follows from it is decided elsewhere.

use super::starts_with_ignoring_case;

/// Stands for a value that is elsewhere, or for none.
pub(super) fn is_placeholder(value: &str) -> bool {
    const WORDS: [&str; 21] = [
        "null",
        "none",
        "true",
        "false",
        "undefined",
        "nil",
        "string",
        "str",
        "text",
        "password",
        "token",
        "secret",
        "required",
        "optional",
        "number",
        "boolean",
        "hidden",
        "redacted",
        "include",
        "omit",
        "same-origin",
    ];
    let value = value
        .trim_end_matches(['.', ',', ';', ':', '!', '?'])
        .trim();
    let name = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    let mut chars = value.chars();
    match chars.next() {
        None => return true,
        Some('$') => {
            let rest = chars.as_str();
            let digit = rest.starts_with(|c: char| c.is_ascii_digit());
            return rest.starts_with(['{', '(']) || !digit && name(rest);
        }
        Some('<') if value.ends_with('>') => return true,
        // The brace that closes may already be cut off.
        Some('{') if value.starts_with("{{") || name(chars.as_str().trim_end_matches('}')) => {
            return true;
        }
        Some('%')
            if value.len() <= 3
                || name(chars.as_str().trim_end_matches('%')) && value.ends_with('%') =>
        {
            return true;
        }
        Some(first @ ('*' | 'x' | 'X' | '•' | '-' | '_' | '#' | '.' | '…'))
            if chars.clone().all(|c| c == first) =>
        {
            return true;
        }
        _ => {}
    }
    let mine = value.as_bytes();
    value.starts_with("[redacted")
        || starts_with_ignoring_case(mine, "your")
            && mine.get(4).is_some_and(|b| matches!(b, b'-' | b'_' | b' '))
        || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}
