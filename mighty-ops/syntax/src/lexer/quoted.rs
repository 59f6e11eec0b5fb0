//! Quoted literals and block comments: where they end, and which escapes they hold.
//! Must stay linear: scans that find no end draw on one budget per text.

use super::Mode;
use crate::SyntaxKind::{self, *};
use crate::error::code;

/// Bytes that failed scans may still read, so that many open quotes cannot make lexing quadratic.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new(len: usize) -> Self {
        Self(len.saturating_mul(8).saturating_add(1 << 16))
    }
}

/// A quoted literal at the start of a text.
pub(super) struct Quoted {
    pub(super) len: usize,
    pub(super) closed: bool,
    pub(super) multi_line: bool,
    pub(super) escapes: bool,
    pub(super) fault: Option<Fault>,
}

/// A closed literal that still breaks a rule of its form.
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) title: String,
}

/// `text` begins with the `head` bytes that open a literal of `kind`.
pub(super) fn scan(
    text: &str,
    kind: SyntaxKind,
    head: usize,
    mode: Mode,
    budget: &mut Budget,
) -> Quoted {
    let b = text.as_bytes();
    let line =
        memchr::memchr(b'\n', b.get(head..).unwrap_or_default()).map_or(b.len(), |n| head + n);
    // Out of budget: only the first line is looked at.
    let limit = if budget.0 == 0 { line } else { b.len() };
    let mut fault = None;
    let end = match kind {
        Char => char_end(&b[..line], head),
        RawStr => raw_end(&b[..limit], head),
        HtmlStr => html_end(&b[..limit], head, &mut fault),
        _ => str_end(&b[..limit], head),
    };
    let suspicious = |end: usize| {
        mode == Mode::Suspicious
            && kind == Str
            && end > line
            && text[end..]
                .chars()
                .next()
                .is_some_and(|c| c == '_' || c.is_alphanumeric())
    };
    match end {
        Some(end) if !suspicious(end) => {
            if kind == Char {
                fault = char_fault(text, head, end);
            }
            let escapes =
                !matches!(kind, RawStr | HtmlStr) && memchr::memchr(b'\\', &b[head..end]).is_some();
            Quoted {
                len: end,
                closed: true,
                multi_line: end > line,
                escapes,
                fault,
            }
        }
        _ => {
            budget.0 = budget.0.saturating_sub(limit - line);
            let escapes = !matches!(kind, RawStr | HtmlStr)
                && memchr::memchr(b'\\', &b[head..line]).is_some();
            Quoted {
                len: line,
                closed: false,
                multi_line: false,
                escapes,
                fault: None,
            }
        }
    }
}

fn str_end(b: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', b.get(at..)?)?;
        if b[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn char_end(b: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'\'', b'\\', b.get(at..)?)?;
        if b[at] == b'\'' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// `head` covers `r`, the hashes and the quote.
fn raw_end(b: &[u8], head: usize) -> Option<usize> {
    let hashes = head - 2;
    let mut at = head;
    loop {
        at += memchr::memchr(b'"', b.get(at..)?)? + 1;
        let tail = b.get(at..at + hashes);
        if tail.is_some_and(|t| t.iter().all(|c| *c == b'#')) {
            return Some(at + hashes);
        }
    }
}

fn html_end(b: &[u8], head: usize, fault: &mut Option<Fault>) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = head;
    loop {
        at += memchr::memchr3(b'"', b'{', b'}', b.get(at..)?)?;
        match b[at] {
            b'{' => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b'}' => {
                fault.get_or_insert_with(|| Fault {
                    code: code::UNEXPECTED_TOKEN,
                    at,
                    end: at + 1,
                    title: "this `}` closes no `{` of the fragment".into(),
                });
            }
            _ if depth == 0 => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
}

/// A character literal holds one scalar or one escape.
fn char_fault(text: &str, head: usize, end: usize) -> Option<Fault> {
    let body = &text[head..end - 1];
    let mut chars = body.chars();
    let one = match chars.next() {
        None => false,
        Some('\\') => {
            let len = escape_len(body.as_bytes()).0;
            len >= body.len()
        }
        Some(_) => chars.next().is_none(),
    };
    (!one).then(|| Fault {
        code: code::UNTERMINATED_STRING,
        at: 0,
        end,
        title: "a character literal holds exactly one character".into(),
    })
}

/// Length of a block comment and whether it is closed; comments nest.
pub(super) fn block_comment(text: &str) -> (usize, bool) {
    let b = text.as_bytes();
    let mut depth = 1usize;
    let mut at = 2;
    while let Some(n) = b
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'*', b'/', rest))
    {
        at += n;
        match (b[at], b.get(at + 1)) {
            (b'/', Some(b'*')) => {
                depth += 1;
                at += 2;
            }
            (b'*', Some(b'/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return (at, true);
                }
            }
            _ => at += 1,
        }
    }
    (text.len(), false)
}

/// Length of the escape at the start of `b`, and whether it is a known one by shape.
fn escape_len(b: &[u8]) -> (usize, bool) {
    let braced = |max: usize| {
        let digits = b
            .iter()
            .skip(3)
            .take_while(|c| c.is_ascii_hexdigit())
            .count();
        let ok = (1..=max).contains(&digits) && b.get(3 + digits) == Some(&b'}');
        let len = 3 + digits + usize::from(b.get(3 + digits) == Some(&b'}'));
        (len, ok)
    };
    match b.get(1) {
        Some(b'n' | b'r' | b't' | b'0' | b'\\' | b'"' | b'\'') => (2, true),
        Some(b'x') if b.get(2) == Some(&b'{') => braced(2),
        Some(b'x') => {
            let digits = b
                .iter()
                .skip(2)
                .take(2)
                .take_while(|c| c.is_ascii_hexdigit())
                .count();
            (2 + digits, digits == 2)
        }
        Some(b'u') if b.get(2) == Some(&b'{') => braced(6),
        Some(_) => (2, false),
        None => (1, false),
    }
}

/// Reports each bad escape of a literal as (start, end, title), offsets relative to it.
pub(super) fn check_escapes(
    lit: &str,
    head: usize,
    kind: SyntaxKind,
    mut report: impl FnMut(usize, usize, String),
) {
    let b = lit.as_bytes();
    let mut at = head;
    while let Some(n) = b.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += n;
        let (mut len, known) = escape_len(&b[at..]);
        while !lit.is_char_boundary(at + len) {
            len += 1;
        }
        let end = (at + len).min(lit.len());
        let esc = &lit[at..end];
        if !known {
            report(
                at,
                end,
                format!("`{}` is not a known escape", esc.escape_debug()),
            );
        } else if let Some(why) = bad_value(esc, kind) {
            report(at, end, why);
        }
        at = end;
    }
}

fn bad_value(esc: &str, kind: SyntaxKind) -> Option<String> {
    let hex: String = esc
        .chars()
        .skip(2)
        .filter(char::is_ascii_hexdigit)
        .collect();
    let value = u32::from_str_radix(&hex, 16).unwrap_or(0);
    match esc.as_bytes()[1] {
        b'x' if value > 0x7F && kind != ByteStr => Some(format!(
            "`{esc}` is above `\\x7F`, which only byte text may hold"
        )),
        b'u' if char::from_u32(value).is_none() => Some(format!("`{esc}` is no Unicode scalar")),
        _ => None,
    }
}
