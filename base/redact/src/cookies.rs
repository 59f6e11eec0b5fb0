//! The pairs of a cookie header. That a word says so is found elsewhere.

use super::placeholder::is_filled_in;
use super::random::is_random;
use super::tail::Tail;
use super::words::in_name;
use super::{Found, steps};

/// Longest name before a `=`, and longest value that is judged.
const NAME_BYTES: usize = 64;
/// Shortest value that code sets as a cookie and that is one.
const VALUE_BYTES: usize = 8;

/// Masks the values of the cookie header whose pairs begin at `at`: from the first one to the end of the
/// line, whatever they look like. Returns where they end. `code` sets a cookie rather than sending it
/// (`document.cookie = "theme=dark"`), and only what looks drawn by lot is one.
pub(super) fn cookies(text: &str, at: usize, code: bool, found: &mut Found) -> Option<usize> {
    let bytes = text.as_bytes();
    let name = length(&bytes[at..], |b| in_name(b) || b == b'%');
    let sign = at + name;
    if name == NAME_BYTES || bytes.get(sign).is_some_and(|&b| b != b'=') || sign == at {
        return None;
    }
    match bytes.get(sign + 1) {
        None => {
            found.wait(at);
            None
        }
        // A comparison, or nothing at all.
        Some(b'=' | b';' | b'"' | b'\'' | b'`' | b'<') => None,
        Some(byte) if byte.is_ascii_whitespace() => None,
        Some(_) => {
            let rest = &text[sign + 1..];
            let window = &rest[..rest.floor_char_boundary(NAME_BYTES)];
            let (len, _) = Tail::unquoted(false).walk(window);
            let value = &window[..len];
            let none = is_filled_in(value) || code && !is_random(value, VALUE_BYTES);
            (!none).then(|| found.hit(text, sign + 1, sign + 1, Tail::Line))
        }
    }
}

/// How many bytes at the beginning are of a kind, at most [`NAME_BYTES`].
fn length(bytes: &[u8], kind: impl Fn(u8) -> bool) -> usize {
    let most = &bytes[..bytes.len().min(NAME_BYTES)];
    let len = most.iter().position(|&b| !kind(b)).unwrap_or(most.len());
    steps(len + 1);
    len
}
