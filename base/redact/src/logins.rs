//! Secrets known by what a line does with them: pairs of a cookie header, `name:password` of a command, the
//! token of a bot. The words and the forms that secrets are known by otherwise stand elsewhere.

use super::placeholder::{is_filled_in, is_placeholder};
use super::random::{is_mixed, is_random};
use super::shapes::Rest;
use super::tail::Tail;
use super::words::in_name;
use super::{Found, steps};

/// Longest name before a `=` or a `:`.
const NAME_BYTES: usize = 64;
/// Shortest password of a command; shorter ones look like a group, a port or a branch.
const PASSWORD_BYTES: usize = 8;
/// Options whose value is `name:password`.
const OPTIONS: [&str; 4] = ["-u ", "--user ", "--user=", "--proxy-user "];
/// Characters of a bot's token behind its number: 35 in all.
const BOT_BYTES: usize = 30;
const BOT_BEGIN: &[u8] = b"AA";
/// Digits of a bot's number.
const BOT_DIGITS: std::ops::RangeInclusive<usize> = 8..=12;

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
            let (len, _) = Tail::Unquoted { to_blank: false }.walk(window);
            let value = &window[..len];
            let none = is_filled_in(value) || code && !is_random(value, PASSWORD_BYTES);
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

pub(super) fn find(text: &str, found: &mut Found) {
    let bytes = text.as_bytes();
    steps(bytes.len());
    for at in memchr::memchr2_iter(b':', b'-', bytes) {
        if bytes[at] == b':' {
            if is_bot(bytes, at) {
                found.hit(text, at + 1, at + 1, Tail::Shape(Rest::Plain));
            }
        } else if let Some(option) = option_at(text, at) {
            command_login(text, at + option.len(), found);
        }
    }
}

/// The option that stands at `at`, as a word of its own.
fn option_at(text: &str, at: usize) -> Option<&'static str> {
    let own = at == 0 || text.as_bytes()[at - 1].is_ascii_whitespace();
    let here = OPTIONS
        .iter()
        .find(|option| text[at..].starts_with(**option));
    here.copied().filter(|_| own)
}

fn command_login(text: &str, at: usize, found: &mut Found) {
    let bytes = text.as_bytes();
    let quote = usize::from(matches!(bytes.get(at), Some(b'"' | b'\'')));
    let name = length(&bytes[at + quote..], |b| in_name(b) || b == b'@');
    let from = at + quote + name + 1;
    if name == NAME_BYTES || bytes.get(from - 1) != Some(&b':') {
        return;
    }
    let rest = &text[from..];
    let window = &rest[..rest.floor_char_boundary(NAME_BYTES)];
    let tail = Tail::Unquoted { to_blank: true };
    let (len, _) = tail.clone().walk(window);
    let value = &window[..len];
    if len >= PASSWORD_BYTES && is_mixed(value) && !is_placeholder(value) {
        found.hit(text, from, from, tail);
    }
}

/// Whether the colon at `at` stands between the two parts of a bot's token.
fn is_bot(bytes: &[u8], at: usize) -> bool {
    bytes[at + 1..].starts_with(BOT_BEGIN)
        && has_number(bytes, at)
        && length(&bytes[at + 1..], |b| Rest::Plain.allows(b)) >= BOT_BYTES
}

/// Whether a bot's number ends before the colon at `at`.
fn has_number(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev();
    let digits = before.take(BOT_DIGITS.end() + 1);
    BOT_DIGITS.contains(&digits.take_while(|b| b.is_ascii_digit()).count())
}

/// Where, at or after `from`, the end of `text` may be the beginning of such a secret; `word` is where the
/// last word begins. Cookies are told by their word.
pub(super) fn may_begin(text: &str, from: usize, word: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let last = &bytes[word..];
    steps(last.len());
    let command = OPTIONS.iter().any(|option| {
        // With a blank at its end the option is a word before.
        text[..word].ends_with(option) || last.starts_with(option.as_bytes())
    });
    let begin = match memchr::memrchr(b':', last) {
        _ if command => word,
        Some(colon) => {
            let at = word + colon;
            let rest = &bytes[at + 1..];
            let begun = rest.iter().zip(BOT_BEGIN).all(|(a, b)| a == b);
            if !begun || !has_number(bytes, at) || !rest.iter().all(|&b| Rest::Plain.allows(b)) {
                return None;
            }
            at + 1
        }
        None => return None,
    };
    let begin = begin.max(from);
    (begin < bytes.len()).then_some(begin)
}
