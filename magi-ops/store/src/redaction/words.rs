//! Secrets known by the word beside them: assignments, authorization headers, random strings near `token` and its like.
//! Hand-made rather than regular expressions: it runs for each delta of a stream, and at process start.

use std::ops::Range;

/// How far after its word a random string is looked for, in bytes.
const NEAR_BYTES: usize = 40;
/// How far before the end of a stream a word still counts.
pub(super) const REACH_BYTES: usize = 96;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// What follows is secret whatever it looks like.
    Password,
    /// What follows is secret if it looks like a value.
    Token,
    /// Says little by itself: `key`.
    Weak,
    /// `Authorization`, with a scheme before the secret.
    Header,
    /// `Bearer`, with the secret right behind.
    Scheme,
}

const WORDS: &[(&str, Class)] = &[
    ("authorization", Class::Header),
    ("bearer", Class::Scheme),
    ("credential", Class::Token),
    ("key", Class::Weak),
    ("passphrase", Class::Password),
    ("password", Class::Password),
    ("passwd", Class::Password),
    ("pwd", Class::Password),
    ("secret", Class::Password),
    ("token", Class::Token),
];

/// Words that make a `key` a secret one.
const QUALIFIERS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "account",
    "signing",
    "encryption",
    "license",
    "service",
    "subscription",
    "master",
];

fn starts_with_ignoring_case(bytes: &[u8], word: &str) -> bool {
    bytes
        .get(..word.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
}

/// The word at the beginning of `bytes`.
fn word_at(bytes: &[u8]) -> Option<(usize, Class)> {
    // One comparison dismisses nearly every position.
    if !matches!(
        bytes[0] | 0x20,
        b'a' | b'b' | b'c' | b'k' | b'p' | b's' | b't'
    ) {
        return None;
    }
    WORDS
        .iter()
        .find(|(word, _)| starts_with_ignoring_case(bytes, word))
        .map(|(word, class)| (word.len(), *class))
}

/// Whether any of the words stands in `text`.
pub(super) fn any(text: &[u8]) -> bool {
    (0..text.len()).any(|at| word_at(&text[at..]).is_some())
}

pub(super) fn find(text: &str, ranges: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let Some((len, class)) = word_at(&bytes[at..]) else {
            at += 1;
            continue;
        };
        let word = Word::new(text, at, len, class);
        word.assigned(ranges);
        word.near(ranges);
        at += len;
    }
}

/// One of the words, with the name it is a part of.
struct Word<'a> {
    text: &'a str,
    /// The whole name, as `DB_PASSWORD_2`.
    name: Range<usize>,
    /// Where the word itself ends.
    end: usize,
    class: Class,
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

impl<'a> Word<'a> {
    fn new(text: &'a str, at: usize, len: usize, class: Class) -> Self {
        let bytes = text.as_bytes();
        // Names are short: a bound keeps a long run of letters from being walked again and
        // again.
        let start = (at.saturating_sub(64)..at)
            .rev()
            .take_while(|&i| in_name(bytes[i]))
            .last()
            .unwrap_or(at);
        let end = (at + len..bytes.len().min(at + len + 64))
            .find(|&i| !in_name(bytes[i]))
            .unwrap_or(bytes.len().min(at + len + 64));
        let qualified = class == Class::Weak && {
            let before = &bytes[at.saturating_sub(16)..at];
            let before = before.strip_suffix(b"_").unwrap_or(before);
            let before = before.strip_suffix(b"-").unwrap_or(before);
            let before = before.strip_suffix(b" ").unwrap_or(before);
            QUALIFIERS.iter().any(|q| {
                before.len() >= q.len()
                    && before[before.len() - q.len()..].eq_ignore_ascii_case(q.as_bytes())
            })
        };
        Self {
            text,
            name: start..end,
            end: at + len,
            class: if qualified { Class::Token } else { class },
        }
    }

    fn name(&self) -> &str {
        &self.text[self.name.clone()]
    }

    /// As in `.env` files and shells.
    fn is_variable(&self) -> bool {
        let name = self.name();
        name.len() >= 3
            && name
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    }

    /// `name = value` in its many notations.
    fn assigned(&self, ranges: &mut Vec<Range<usize>>) {
        let bytes = self.text.as_bytes();
        let skip = |mut at: usize, allowed: fn(u8) -> bool, most: usize| {
            let stop = bytes.len().min(at + most);
            while at < stop && allowed(bytes[at]) {
                at += 1;
            }
            at
        };
        let blank = |byte| matches!(byte, b' ' | b'\t');
        let quote = |byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`' | b']' | b'*');
        let mut at = self.name.end;
        let spaced;
        let colon;
        if self.class == Class::Scheme {
            spaced = true;
            colon = false;
            let value = skip(at, blank, 8);
            if value == at {
                return;
            }
            at = value;
        } else {
            let named = skip(skip(at, quote, 4), blank, 8);
            let operator = skip(named, |byte| matches!(byte, b':' | b'=' | b'>'), 2);
            if operator == named {
                return;
            }
            at = skip(operator, blank, 8);
            spaced = at > operator || named > self.name.end;
            colon = bytes[operator - 1] == b':';
        }
        if self.class == Class::Header {
            // `Authorization: Bearer x`: the scheme itself is no secret.
            let opened = skip(at, quote, 4);
            for scheme in ["bearer", "basic", "token", "digest", "apikey", "negotiate"] {
                if starts_with_ignoring_case(&bytes[opened..], scheme) {
                    let value = skip(opened + scheme.len(), blank, 8);
                    if value > opened + scheme.len() {
                        self.mask(value, false, ranges, |value| value.len() >= 4);
                        return;
                    }
                }
            }
        }
        let opened = skip(at, |byte| byte == b'\\', 4);
        if let Some(&mark @ (b'"' | b'\'' | b'`')) = bytes.get(opened) {
            self.quoted(opened + 1, mark, ranges);
            return;
        }
        let variable = self.is_variable() && !spaced && !colon;
        let class = self.class;
        let name_ends = bytes.get(self.end).is_none_or(|b| !b.is_ascii_alphabetic())
            || self.text[self.end..self.name.end] == *"s";
        self.mask(at, variable, ranges, |value| match class {
            _ if is_placeholder(value) => false,
            // A counter (`MAX_TOKENS=4096`) or a directory (`PWD=/home`).
            _ if variable => {
                let counter = class != Class::Password && value.bytes().all(|b| b.is_ascii_digit());
                !counter && !value.starts_with('/')
            }
            _ if !name_ends || value.contains('(') || value.contains("::") => false,
            Class::Password => {
                value.len() >= 4
                    && (!spaced && !colon
                        || value.bytes().any(|b| b.is_ascii_digit())
                        || value[..value.len() - 1]
                            .bytes()
                            .any(|b| b.is_ascii_punctuation()))
            }
            Class::Token | Class::Header => is_mixed(value) && value.len() >= 8,
            Class::Scheme => is_mixed(value) && value.len() >= 16,
            Class::Weak => is_random(value, 12),
        });
    }

    fn quoted(&self, from: usize, mark: u8, ranges: &mut Vec<Range<usize>>) {
        let bytes = self.text.as_bytes();
        let len = bytes[from..]
            .iter()
            .position(|&byte| byte == mark || byte == b'\n')
            .unwrap_or(bytes.len() - from);
        let mut value = &self.text[from..from + len];
        // The backslash belongs to the closing quote of a string within a string.
        value = value.trim_end_matches('\\');
        let secret = match self.class {
            Class::Password | Class::Token => value.len() >= 4 && !value.bytes().all(|b| b == b' '),
            Class::Header | Class::Scheme => value.len() >= 8,
            Class::Weak => is_random(value, 12),
        };
        if secret && !is_placeholder(value) {
            ranges.push(from..from + value.len());
        }
    }

    fn mask(
        &self,
        from: usize,
        to_blank: bool,
        ranges: &mut Vec<Range<usize>>,
        secret: impl Fn(&str) -> bool,
    ) {
        let rest = &self.text[from..];
        let len = rest
            .find(|c: char| {
                c.is_whitespace()
                    || matches!(c, '"' | '\'' | '`')
                    || (!to_blank
                        && matches!(c, ',' | ';' | '}' | ')' | ']' | '<' | '>' | '&' | '\\'))
            })
            .unwrap_or(rest.len());
        let value = &rest[..len];
        if !value.is_empty() && secret(value) {
            ranges.push(from..from + len);
        }
    }

    /// A random string on the same line, a few words further.
    fn near(&self, ranges: &mut Vec<Range<usize>>) {
        let bytes = self.text.as_bytes();
        let mut at = self.end;
        let stop = bytes.len().min(self.end + NEAR_BYTES);
        while at < stop && bytes[at] != b'\n' {
            if !in_random(bytes[at]) {
                at += 1;
                continue;
            }
            let end = (at..bytes.len())
                .find(|&i| !in_random(bytes[i]))
                .unwrap_or(bytes.len());
            let run = &self.text[at..end];
            if run.len() >= 16 && is_random(run, 12) {
                ranges.push(at..end);
                return;
            }
            at = end;
        }
    }
}

fn is_placeholder(value: &str) -> bool {
    value.starts_with(['$', '<', '{', '*', '%'])
        || value.starts_with("[redacted")
        || ["null", "none", "true", "false", "undefined", "nil"]
            .iter()
            .any(|word| {
                value
                    .trim_end_matches(['.', ','])
                    .eq_ignore_ascii_case(word)
            })
}

fn is_mixed(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// What random strings are made of: the alphabets of base64 and its URL variant.
fn in_random(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.')
}

/// Whether `run` looks drawn by lot: an unbroken piece of at least `least` characters with
/// letters and digits in disorder, or a long base64 string. Names, paths, versions and dates
/// fall into pieces that are shorter or of one kind.
pub(super) fn is_random(run: &str, least: usize) -> bool {
    let piece = run
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|piece| piece.len() >= least)
        .any(|piece| is_mixed(piece) && entropy(piece) >= 3.0);
    let has = |test: fn(&u8) -> bool| run.as_bytes().iter().any(test);
    piece
        || (run.len() >= 32
            && !run.contains('.')
            && run.bytes().all(in_random)
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
            && entropy(run) >= 4.0)
}

/// Shannon entropy in bits a character.
fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        counts[byte as usize] += 1;
    }
    let total = text.len() as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}
