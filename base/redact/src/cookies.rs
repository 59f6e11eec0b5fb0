//! The pairs of a cookie header. That a word says so is found elsewhere.

use super::code::{contains, is_wordy};
use super::placeholder::is_filled_in;
use super::random::is_random;
use super::tail::Tail;
use super::vocabulary::list;
use super::words::in_name;
use super::{Found, steps};

/// Longest name before a `=`, and longest value that is judged.
const NAME_BYTES: usize = 64;
/// Shortest value that tells by itself, and shortest that code sets as a cookie and that is one.
const VALUE_BYTES: usize = 8;

/// Most pairs that are looked at.
const PAIRS: usize = 8;

/// Masks the values of the cookie header whose pairs begin at `at`, from the first one that may tell who somebody is to the
/// end of the line. Returns where they end. `code` sets a cookie rather than sending it (`document.cookie = "theme=dark"`),
/// and only what looks drawn by lot is one.
pub(super) fn cookies(text: &str, mut at: usize, code: bool, found: &mut Found) -> Option<usize> {
    let bytes = text.as_bytes();
    for _ in 0..PAIRS {
        let name = length(&bytes[at..], |b| in_name(b) || b == b'%');
        let sign = at + name;
        if name == NAME_BYTES || bytes.get(sign).is_some_and(|&b| b != b'=') || sign == at {
            return None;
        }
        let rest = text.get(sign + 1..).unwrap_or_default();
        let window = &rest[..rest.floor_char_boundary(NAME_BYTES)];
        let ends = |c: char| c.is_whitespace() || matches!(c, ';' | '"' | '\'' | '`' | '<');
        let value = &window[..window.find(ends).unwrap_or(window.len())];
        steps(value.len());
        if value.len() == rest.len() {
            found.wait(at);
        }
        // A comparison.
        if value.starts_with('=') || value.is_empty() {
            return None;
        }
        let telling = list("logins")
            .iter()
            .any(|word| contains(&text[at..sign], word));
        let plain = !telling && (value.len() < VALUE_BYTES || is_wordy(value));
        if !(plain || is_filled_in(value) || code && !is_random(value, VALUE_BYTES)) {
            return Some(found.hit(text, sign + 1, sign + 1, Tail::Line));
        }
        let behind = rest[value.len()..].strip_prefix(';')?;
        at = text.len() - behind.trim_start_matches(' ').len();
    }
    None
}

/// How many bytes at the beginning are of a kind, at most [`NAME_BYTES`].
fn length(bytes: &[u8], kind: impl Fn(u8) -> bool) -> usize {
    let most = &bytes[..bytes.len().min(NAME_BYTES)];
    let len = most.iter().position(|&b| !kind(b)).unwrap_or(most.len());
    steps(len + 1);
    len
}
