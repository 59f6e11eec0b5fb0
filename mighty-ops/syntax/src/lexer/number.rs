//! Numbers, their suffixes and malformed forms (language.md §1.5).
//! Must not report glued words: only the parser knows whether a word has a use there.

use crate::SyntaxKind::{self, *};

/// A number at the start of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) kind: SyntaxKind,
    /// Bytes.
    pub(super) len: usize,
    /// Why it is reported, if it is.
    pub(super) malformed: Option<String>,
}

const INT: [&str; 12] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
];
const SIZE: [&str; 6] = ["B", "KiB", "MiB", "GiB", "k", "M"];
const DURATION: [&str; 6] = ["ns", "us", "ms", "s", "m", "h"];

/// `text` begins with an ASCII digit.
pub(super) fn scan(text: &str) -> Number {
    let b = text.as_bytes();
    if b[0] == b'0'
        && let Some(radix) = match b.get(1) {
            Some(b'x') => Some(16),
            Some(b'o') => Some(8),
            Some(b'b') => Some(2),
            _ => None,
        }
    {
        return radix_int(text, radix);
    }
    let (digits, mut bad) = digits(b, 0);
    if bad.is_none()
        && b.get(digits) == Some(&b'.')
        && b.get(digits + 1).is_some_and(u8::is_ascii_digit)
    {
        return float(text, digits + 1);
    }
    let plain = !b[..digits].contains(&b'_');
    let run = xid_run(&text[digits..]);
    let mut kind = IntNumber;
    let mut len = digits;
    let word = &text[digits..digits + run];
    if is_int_suffix(word) {
        len += run;
    } else if plain && SIZE.contains(&word) {
        kind = SizeLit;
        len += run;
    } else if plain && DURATION.contains(&word) {
        kind = DurationLit;
        len += run;
    }
    if bad.is_none() && kind == IntNumber && digits >= 39 && overflows(&b[..digits], 10) {
        bad = Some("this number does not fit in 128 bits".into());
    }
    Number {
        kind,
        len,
        malformed: bad,
    }
}

fn is_int_suffix(word: &str) -> bool {
    INT.contains(&word.strip_prefix('_').unwrap_or(word))
}

/// Decimal digits with single underscores from `at`; a misplaced underscore is taken along.
fn digits(b: &[u8], mut at: usize) -> (usize, Option<String>) {
    let mut bad = None;
    loop {
        while b.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        let bars = b[at..].iter().take_while(|c| **c == b'_').count();
        if bars == 0 {
            return (at, bad);
        }
        let next = b.get(at + bars).copied();
        if next.is_some_and(|c| c.is_ascii_digit()) {
            if bars > 1 {
                bad = Some("only single underscores may stand between digits".into());
            }
        } else if next.is_some_and(|c| c.is_ascii_alphabetic() || c >= 0x80) && bars == 1 {
            return (at, bad);
        } else {
            bad = Some("a number may not end in an underscore".into());
            return (at + bars, bad);
        }
        at += bars;
    }
}

fn radix_int(text: &str, radix: u32) -> Number {
    let b = text.as_bytes();
    let run = 1 + xid_run(&text[1..]);
    let mut at = 2;
    while at < run && ((b[at] as char).is_digit(radix) || b[at] == b'_') {
        if b[at] == b'_' && is_int_suffix(&text[at..run]) {
            break;
        }
        at += 1;
    }
    let body = &text[2..at];
    let rest = &text[at..run];
    let suffix = is_int_suffix(rest);
    let mut len = at;
    let malformed = if !body.bytes().any(|c| c != b'_') {
        len = run;
        Some(format!("`{}` needs a digit after it", &text[..2]))
    } else if body.ends_with('_') || body.contains("__") || body.starts_with('_') {
        Some("only single underscores may stand between digits".into())
    } else if rest.bytes().next().is_some_and(|c| c.is_ascii_digit()) {
        len = run;
        Some(format!("`{}` is no digit of radix {radix}", &rest[..1]))
    } else if overflows(body.as_bytes(), radix) {
        Some("this number does not fit in 128 bits".into())
    } else {
        None
    };
    if suffix && len == at {
        len = run;
    }
    Number {
        kind: IntNumber,
        len,
        malformed,
    }
}

fn float(text: &str, fraction: usize) -> Number {
    let b = text.as_bytes();
    let (mut at, mut bad) = digits(b, fraction);
    if bad.is_none() && matches!(b.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(b.get(at + 1), Some(b'+' | b'-')));
        if b.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
            (at, bad) = digits(b, at + 1 + sign);
        }
    }
    let run = xid_run(&text[at..]);
    let word = &text[at..at + run];
    if matches!(word.strip_prefix('_').unwrap_or(word), "f32" | "f64") {
        at += run;
    }
    Number {
        kind: FloatNumber,
        len: at,
        malformed: bad,
    }
}

fn overflows(digits: &[u8], radix: u32) -> bool {
    let mut v: u128 = 0;
    for d in digits.iter().filter_map(|c| (*c as char).to_digit(radix)) {
        match v
            .checked_mul(u128::from(radix))
            .and_then(|x| x.checked_add(u128::from(d)))
        {
            Some(x) => v = x,
            None => return true,
        }
    }
    false
}

/// Bytes of the run of word characters at the start of a text.
pub(super) fn xid_run(text: &str) -> usize {
    text.char_indices()
        .find(|(_, c)| {
            if c.is_ascii() {
                !(c.is_ascii_alphanumeric() || *c == '_')
            } else {
                !unicode_ident::is_xid_continue(*c)
            }
        })
        .map_or(text.len(), |(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(text: &str) -> (SyntaxKind, &str, bool) {
        let n = scan(text);
        (n.kind, &text[..n.len], n.malformed.is_some())
    }

    #[test]
    fn forms() {
        assert_eq!(lex("7_u8"), (IntNumber, "7_u8", false));
        assert_eq!(lex("7u8 "), (IntNumber, "7u8", false));
        assert_eq!(lex("64MiB"), (SizeLit, "64MiB", false));
        assert_eq!(lex("5K"), (IntNumber, "5", false));
        assert_eq!(lex("5min"), (IntNumber, "5", false));
        assert_eq!(lex("5ms3"), (IntNumber, "5", false));
        assert_eq!(lex("5ms)"), (DurationLit, "5ms", false));
        assert_eq!(lex("1_0ms"), (IntNumber, "1_0", false));
        assert_eq!(lex("1..4"), (IntNumber, "1", false));
        assert_eq!(lex("1."), (IntNumber, "1", false));
        assert_eq!(lex("1e9"), (IntNumber, "1", false));
        assert_eq!(lex("1.5e-3_f32"), (FloatNumber, "1.5e-3_f32", false));
        assert_eq!(lex("0x7F_u8"), (IntNumber, "0x7F_u8", false));
        assert_eq!(lex("0b102"), (IntNumber, "0b102", true));
        assert_eq!(lex("0x"), (IntNumber, "0x", true));
        assert_eq!(lex("9_"), (IntNumber, "9_", true));
        assert_eq!(lex("1__0"), (IntNumber, "1__0", true));
        assert_eq!(lex("9_x"), (IntNumber, "9", false));
        assert_eq!(
            lex("340282366920938463463374607431768211455"),
            (IntNumber, "340282366920938463463374607431768211455", false)
        );
        assert!(lex("340282366920938463463374607431768211456").2);
        assert!(lex("0x100000000000000000000000000000000").2);
        assert!(!lex("0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF").2);
    }
}
