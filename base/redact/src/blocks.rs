//! Secrets that stand between two signs: private key blocks between their dashes, passwords within addresses.
//! What is secret for its own characters or the word beside it is not decided here.

use std::ops::Range;

use super::placeholder::is_filled_in;
use super::random::is_random;
use super::tail::{Tail, ends_authority};
use super::vocabulary::list;
use super::{Found, steps};

const KEY_BEGIN: &[u8] = b"-----BEGIN ";
/// Behind it, in PuTTY's format: a number, and so many lines.
const PUTTY_BEGIN: &[u8] = b"Private-Lines: ";
const DASHES: &[u8] = b"-----";
const LINE_END_SIGN: &[u8] = "⏎".as_bytes();
/// No header's name is longer.
const HEADER_BYTES: usize = 10;
/// Longest label between the dashes of a key block.
const MAX_LABEL_BYTES: usize = 64;
/// How far behind the label its first line may begin: line ends, indents, numbers of lines.
const MAX_GAP_BYTES: usize = 64;
/// Letters that make the first line of a key; the last is shorter, but never the first.
const MIN_BODY_BYTES: usize = 16;
/// No host is longer: what is, holds a password whose `@` is yet to come.
const MAX_HOST_BYTES: usize = 256;
/// Longest password in quotes of its own that is looked for.
const QUOTED_BYTES: usize = 64;

pub(super) fn find(text: &str, found: &mut Found) {
    let bytes = text.as_bytes();
    let mut from = 0;
    steps(bytes.len());
    for at in memchr::memchr2_iter(b'-', b':', bytes) {
        if at < from {
            continue;
        }
        let rest = &bytes[at..];
        if rest.starts_with(KEY_BEGIN) {
            from = private_key(text, at, found);
        } else if bytes[..at].ends_with(b"Private") && rest.starts_with(&PUTTY_BEGIN[7..]) {
            let start = at + PUTTY_BEGIN.len() - 7;
            let digits = bytes[start..].iter().take_while(|b| b.is_ascii_digit());
            let start = start + digits.count();
            match bytes.get(start) {
                None => found.wait(at),
                Some(b'\n' | b'\r' | b'\\') => _ = found.hit(text, start, start, Tail::key(true)),
                Some(_) => {}
            }
        } else if let Some(after) = rest.strip_prefix(b":") {
            // The second is how some write JSON, the third what is left of it in a path.
            let slashes = [&b"//"[..], b"\\/\\/", b"/"];
            if let Some(slashes) = slashes.iter().find(|s| after.starts_with(s)) {
                url_password(text, at + 1 + slashes.len(), found);
            }
        }
    }
}

/// A private key block that may begin at `at`; where to look on. The text may only speak of such blocks:
/// it is one if a line of a key follows.
fn private_key(text: &str, at: usize, found: &mut Found) -> usize {
    let bytes = &text.as_bytes()[at..];
    let Some(header) = key_header(bytes) else {
        return at + 1;
    };
    let start = at + header;
    match key_body(&bytes[header..]) {
        Some(true) => found.hit(text, start, start, Tail::key(false)),
        Some(false) => start,
        None => {
            found.expect(start);
            start
        }
    }
}

/// The length of the line that opens a private key block at the beginning of `bytes`.
fn key_header(bytes: &[u8]) -> Option<usize> {
    let label = &bytes[KEY_BEGIN.len()..];
    let label = &label[..label.len().min(MAX_LABEL_BYTES)];
    steps(label.len());
    let end = memchr::memmem::find(label, DASHES)?;
    memchr::memmem::find(&label[..end], b"PRIVATE KEY")?;
    Some(KEY_BEGIN.len() + end + DASHES.len())
}

/// Whether `bytes`, behind a block's opening line, begin with a line of a key, or one of the
/// headers before it; `None` if more must come to tell.
fn key_body(bytes: &[u8]) -> Option<bool> {
    let mut rest = bytes;
    loop {
        let gap = bytes.len() - rest.len();
        steps(MIN_BODY_BYTES);
        let in_body = |b: &&u8| b.is_ascii_alphanumeric() || matches!(**b, b'+' | b'/' | b'=');
        let word = rest.iter().take(MIN_BODY_BYTES).take_while(in_body).count();
        if word == MIN_BODY_BYTES
            || list("key headers")
                .iter()
                .any(|name| rest.starts_with(name.as_bytes()))
        {
            return Some(true);
        }
        if gap > MAX_GAP_BYTES {
            return Some(false);
        }
        let next = match rest {
            [] => return None,
            [b'\\', b'n' | b'r' | b't', ..] => 2,
            // A line number, or what marks a quotation.
            [
                b'0'..=b'9' | b'|' | b'>' | b'"' | b'\'' | b',' | b'+' | b'\\',
                ..,
            ] => 1,
            [byte, ..] if byte.is_ascii_whitespace() => 1,
            // A line end that is shown within one line.
            _ if rest.starts_with(LINE_END_SIGN) => LINE_END_SIGN.len(),
            // The end of the text may cut a line short.
            _ if rest.len() <= HEADER_BYTES.max(word) => return None,
            _ => return Some(false),
        };
        rest = &rest[next..];
    }
}

fn url_password(text: &str, from: usize, found: &mut Found) {
    let rest = &text[from..];
    // It ends at a slash, so that no part of a text is looked at twice.
    let end = rest.find(ends_authority);
    let authority = &rest[..end.unwrap_or(rest.len())];
    steps(2 * authority.len());
    let (user, open) = match authority.rfind('@') {
        Some(at) => (&authority[..at], false),
        None if authority.len() > MAX_HOST_BYTES => (authority, true),
        None => {
            match end {
                None => found.wait(from),
                Some(end) => quoted_password(text, from..from + end, found),
            }
            return;
        }
    };
    let secret = match user.find(':') {
        Some(colon) => colon + 1,
        None if is_random(user, 12) => 0,
        None => return,
    };
    // A template of an address.
    let filled_in = !open && secret > 0 && is_filled_in(&user[secret..]);
    if secret < user.len() && !filled_in {
        found.ranges.push(from + secret..from + user.len());
        if open && end.is_none() {
            found.open.push(Tail::Url);
        }
    }
    if !open && end.is_none() {
        // Another `@` may follow.
        found.wait(from + secret.min(user.len()));
    }
}

/// The password of `https://name:"password"@host` and `"https://name:password"@host`, as for a shell: what stands at
/// `user` ends before a quote, perhaps.
fn quoted_password(text: &str, user: Range<usize>, found: &mut Found) {
    let rest = &text[user.end..];
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (Some(quote), Some(colon)) = (quote, text[user.clone()].find(':')) else {
        return;
    };
    let mut value = user.start + colon + 1..user.end;
    let mut behind = &rest[1..];
    if value.is_empty() {
        let window = &behind[..behind.floor_char_boundary(QUOTED_BYTES)];
        steps(window.len());
        let Some(len) = window.find(quote) else {
            if window.len() == behind.len() {
                found.wait(user.start);
            }
            return;
        };
        value = user.end + 1..user.end + 1 + len;
        behind = &behind[len + 1..];
    }
    if behind.is_empty() {
        found.wait(value.start);
    } else if behind.starts_with('@') && !is_filled_in(&text[value.clone()]) {
        found.ranges.push(value);
    }
}
