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
    // Out of budget: only the first line is looked at.
    let one_line = kind == Char || budget.0 == 0;
    let mut fault = None;
    let end = match kind {
        RawStr => raw_end(b, head, one_line),
        HtmlStr => html_end(b, head, one_line, &mut fault),
        Char => plain_end(b, head, b'\'', one_line),
        _ => plain_end(b, head, b'"', one_line),
    };
    if let Some(end) = end {
        let multi_line = memchr::memchr(b'\n', &b[head..end]).is_some();
        let suspicious = mode == Mode::Suspicious
            && kind == Str
            && multi_line
            && text[end..]
                .chars()
                .next()
                .is_some_and(|c| c == '_' || c.is_alphanumeric());
        if !suspicious {
            if kind == Char {
                fault = char_fault(text, head, end);
            }
            let escapes = has_escapes(kind, &b[head..end]);
            return Quoted {
                len: end,
                closed: true,
                multi_line,
                escapes,
                fault,
            };
        }
    }
    // The literal takes its first line with it, so finding the end of that line is paid for.
    let len = memchr::memchr(b'\n', b).unwrap_or(b.len());
    if !one_line {
        budget.0 = budget.0.saturating_sub(b.len() - len);
    }
    let escapes = has_escapes(kind, &b[head.min(len)..len]);
    Quoted {
        len,
        closed: false,
        multi_line: false,
        escapes,
        fault: None,
    }
}

fn has_escapes(kind: SyntaxKind, body: &[u8]) -> bool {
    !matches!(kind, RawStr | HtmlStr) && memchr::memchr(b'\\', body).is_some()
}

/// End of a literal with escapes that begins at `at`.
fn plain_end(b: &[u8], mut at: usize, quote: u8, one_line: bool) -> Option<usize> {
    let stop = if one_line { b'\n' } else { quote };
    loop {
        at += memchr::memchr3(quote, b'\\', stop, b.get(at..)?)?;
        match b[at] {
            b'\\' if one_line && b.get(at + 1) == Some(&b'\n') => return None,
            b'\\' => at += 2,
            c if c == quote => return Some(at + 1),
            _ => return None,
        }
    }
}

/// `head` covers `r`, the hashes and the quote.
fn raw_end(b: &[u8], head: usize, one_line: bool) -> Option<usize> {
    let hashes = head - 2;
    let mut at = head;
    loop {
        let stop = if one_line { b'\n' } else { b'"' };
        at += memchr::memchr2(b'"', stop, b.get(at..)?)? + 1;
        if b[at - 1] == b'\n' {
            return None;
        }
        let tail = b.get(at..at + hashes);
        if tail.is_some_and(|t| t.iter().all(|c| *c == b'#')) {
            return Some(at + hashes);
        }
    }
}

fn html_end(b: &[u8], head: usize, one_line: bool, fault: &mut Option<Fault>) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in b.iter().enumerate().skip(head) {
        match c {
            b'\n' if one_line => return None,
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
            b'"' if depth == 0 => return Some(at + 1),
            _ => {}
        }
    }
    None
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
