//! Values of literal tokens (language.md §1.5, §1.6).
//! Must not check types or ranges beyond what the lexer already refused.

use crate::SyntaxKind::{self, *};
use crate::tree::Token;

/// A literal token by form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LitToken<'t> {
    /// An integer.
    Int(IntLit<'t>),
    /// A float.
    Float(FloatLit<'t>),
    /// `64MiB`, `1k`.
    Size(Token<'t>),
    /// `200ms`.
    Duration(Token<'t>),
    /// `"…"`, `r"…"`.
    Str(StrLit<'t>),
    /// `b"…"`.
    Bytes(Token<'t>),
    /// `'x'`.
    Char(Token<'t>),
    /// `html"…"`.
    Html(Token<'t>),
    /// `true`, `false`.
    Bool(bool),
}

impl<'t> LitToken<'t> {
    /// The form of a literal token; anything else, and nothing, reads as `false`.
    pub(crate) fn new(token: Option<Token<'t>>) -> Self {
        let Some(t) = token else {
            return LitToken::Bool(false);
        };
        match t.kind() {
            IntNumber => LitToken::Int(IntLit(t)),
            FloatNumber => LitToken::Float(FloatLit(t)),
            SizeLit => LitToken::Size(t),
            DurationLit => LitToken::Duration(t),
            SyntaxKind::Str | RawStr => LitToken::Str(StrLit(t)),
            ByteStr => LitToken::Bytes(t),
            SyntaxKind::Char => LitToken::Char(t),
            HtmlStr => LitToken::Html(t),
            k => LitToken::Bool(k == TrueKw),
        }
    }

    /// The form and value of a literal token; `None` for other tokens.
    #[must_use]
    pub fn of(token: Token<'t>) -> Option<Self> {
        token.kind().is_literal().then(|| Self::new(Some(token)))
    }
}

/// An integer literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntLit<'t>(Token<'t>);

impl<'t> IntLit<'t> {
    /// The token.
    #[must_use]
    pub fn token(self) -> Token<'t> {
        self.0
    }

    fn parts(self) -> (u32, &'t str, &'t str) {
        let text = self.0.text();
        let (radix, rest) = match text.as_bytes() {
            [b'0', b'x', ..] => (16, &text[2..]),
            [b'0', b'o', ..] => (8, &text[2..]),
            [b'0', b'b', ..] => (2, &text[2..]),
            _ => (10, text),
        };
        let end = rest
            .bytes()
            .position(|c| c != b'_' && !(c as char).is_digit(radix))
            .unwrap_or(rest.len());
        (radix, rest[..end].trim_end_matches('_'), &rest[end..])
    }

    /// Its value; `None` only for a malformed literal.
    #[must_use]
    pub fn value(self) -> Option<u128> {
        let (radix, digits, _) = self.parts();
        u128::from_str_radix(&digits.replace('_', ""), radix).ok()
    }

    /// `u8` … `isize`, without the underscore.
    #[must_use]
    pub fn suffix(self) -> Option<&'t str> {
        let (_, _, suffix) = self.parts();
        (!suffix.is_empty()).then_some(suffix)
    }
}

/// A float literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatLit<'t>(Token<'t>);

impl<'t> FloatLit<'t> {
    /// The token.
    #[must_use]
    pub fn token(self) -> Token<'t> {
        self.0
    }

    /// Its value; `None` only for a malformed literal.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        let text = self.0.text();
        let digits = self
            .suffix()
            .map_or(text, |s| &text[..text.len() - s.len()]);
        digits.replace('_', "").parse().ok()
    }

    /// `f32` or `f64`.
    #[must_use]
    pub fn suffix(self) -> Option<&'static str> {
        ["f32", "f64"]
            .into_iter()
            .find(|s| self.0.text().ends_with(s))
    }
}

/// A text literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StrLit<'t>(Token<'t>);

impl<'t> StrLit<'t> {
    pub(crate) fn new(token: Token<'t>) -> Self {
        Self(token)
    }

    /// The token.
    #[must_use]
    pub fn token(self) -> Token<'t> {
        self.0
    }

    /// What is between the quotes, as written.
    #[must_use]
    pub fn raw(self) -> &'t str {
        let text = self.0.text();
        let head = text.find('"').map_or(text.len(), |i| i + 1);
        let tail = if self.0.kind() == RawStr { head - 1 } else { 1 };
        text.get(head..text.len().saturating_sub(tail))
            .unwrap_or_default()
    }

    /// Its text, escapes decoded.
    #[must_use]
    pub fn value(self) -> String {
        if self.0.kind() == RawStr {
            return self.raw().to_owned();
        }
        let mut out = String::with_capacity(self.raw().len());
        unescape(self.raw(), |_, c| out.extend(c.and_then(char::from_u32)));
        out
    }
}

/// The scalar of a `'x'` token; `None` if it is malformed.
#[must_use]
pub fn char_value(token: Token<'_>) -> Option<char> {
    let body = token.text().strip_prefix('\'')?.strip_suffix('\'')?;
    let mut found = Vec::new();
    unescape(body, |_, c| found.push(c.and_then(char::from_u32)));
    match found[..] {
        [Some(c)] => Some(c),
        _ => None,
    }
}

/// The bytes of a `b"…"` token.
#[must_use]
pub fn bytes_value(token: Token<'_>) -> Vec<u8> {
    let body = token
        .text()
        .strip_prefix("b\"")
        .and_then(|t| t.strip_suffix('"'))
        .unwrap_or_default();
    let mut out = Vec::with_capacity(body.len());
    unescape(body, |escape, c| match (escape, c) {
        (Some(b'x'), Some(v)) => out.push(v as u8),
        (_, Some(v)) => {
            if let Some(c) = char::from_u32(v) {
                out.extend(c.encode_utf8(&mut [0; 4]).bytes());
            }
        }
        (_, None) => {}
    });
    out
}

/// The raw text between the quotes of an `html"…"` token.
#[must_use]
pub fn html_raw(token: Token<'_>) -> &str {
    token
        .text()
        .strip_prefix("html\"")
        .and_then(|t| t.strip_suffix('"'))
        .unwrap_or_default()
}

/// Nanoseconds of a duration token; `None` if they do not fit.
#[must_use]
pub fn duration_ns(token: Token<'_>) -> Option<u128> {
    scaled(token, |unit| {
        Some(match unit {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        })
    })
}

/// Bytes (or the plain count) of a size token; `None` if they do not fit.
#[must_use]
pub fn size_value(token: Token<'_>) -> Option<u128> {
    scaled(token, |unit| {
        Some(match unit {
            "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "k" => 1_000,
            "M" => 1_000_000,
            _ => return None,
        })
    })
}

fn scaled(token: Token<'_>, unit: impl Fn(&str) -> Option<u128>) -> Option<u128> {
    let text = token.text();
    let end = text
        .bytes()
        .position(|c| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end]
        .parse::<u128>()
        .ok()?
        .checked_mul(unit(&text[end..])?)
}

/// Gives each character of a literal's body: the escape letter if it is one, and its value unless bad.
fn unescape(body: &str, mut give: impl FnMut(Option<u8>, Option<u32>)) {
    let mut rest = body.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            give(None, Some(c as u32));
            continue;
        }
        let Some(e) = rest.next() else {
            return give(Some(0), None);
        };
        let value = match e {
            'n' => Some(10),
            'r' => Some(13),
            't' => Some(9),
            '0' => Some(0),
            '\\' | '"' | '\'' => Some(e as u32),
            'x' | 'u' => {
                let text = rest.as_str();
                let (hex, len) = match text.strip_prefix('{').and_then(|t| t.split_once('}')) {
                    Some((hex, _)) => (hex, hex.len() + 2),
                    None => (text.get(..2).unwrap_or_default(), 2),
                };
                rest = text.get(len..).unwrap_or_default().chars();
                u32::from_str_radix(hex, 16).ok()
            }
            _ => None,
        };
        give(Some(e as u8), value);
    }
}
