//! Text to tokens: logos finds token starts, the two submodules finish numbers and quoted forms.
//! Must not know grammar beyond the two look-behinds of language.md (`t.0.1`, a `&&`/`||` that is a prefix).

mod number;
mod quoted;

use logos::Logos;

use crate::SyntaxKind::{self, *};
use crate::error::{SyntaxError, TextRange, code};

/// How the lexer treats a `"` string that does not end on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It may span lines.
    Plain,
    /// It may span lines unless its closing quote looks like another literal's opening quote.
    /// Only used after a parse with errors, so a good program never depends on the guess.
    Suspicious,
}

/// The tokens of a text, and the significant ones among them.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    pub(crate) kinds: Vec<SyntaxKind>,
    pub(crate) starts: Vec<u32>,
    pub(crate) sig: Sig,
    pub(crate) errors: Vec<SyntaxError>,
    /// Indices into `sig` of literals without their closing quote.
    pub(crate) open_literals: Vec<u32>,
    /// A comment runs to the end of the file.
    pub(crate) open_comment: bool,
    /// Some closed `"` string spans lines.
    pub(crate) multi_line_str: bool,
}

/// The tokens that the grammar sees.
#[derive(Debug, Default)]
pub(crate) struct Sig {
    pub(crate) kinds: Vec<SyntaxKind>,
    /// Token index, with `NL` and `VIRTUAL` in the two highest bits.
    pub(crate) toks: Vec<u32>,
}

/// A line feed lies between this token and the one before it.
pub(crate) const NL: u32 = 1 << 31;
/// A closer that the text lacks.
pub(crate) const VIRTUAL: u32 = 1 << 30;
/// The token index proper.
pub(crate) const INDEX: u32 = VIRTUAL - 1;

impl Sig {
    pub(crate) fn tok(&self, i: usize) -> u32 {
        self.toks[i] & INDEX
    }

    pub(crate) fn nl(&self, i: usize) -> bool {
        self.toks[i] & NL != 0
    }
}

/// Most errors one stage keeps; beyond it a file is noise.
pub(crate) const MAX_ERRORS: usize = 10_000;

struct Lexer<'a> {
    text: &'a str,
    out: Lexed,
    nl: bool,
    prev: SyntaxKind,
    before: SyntaxKind,
    mode: Mode,
    scan: quoted::Budget,
}

pub(crate) fn lex(text: &str, mode: Mode) -> Lexed {
    let cap = text.len() / 3 + 8;
    let mut lx = Lexer {
        text,
        out: Lexed {
            kinds: Vec::with_capacity(cap),
            starts: Vec::with_capacity(cap),
            sig: Sig {
                kinds: Vec::with_capacity(cap / 2),
                toks: Vec::with_capacity(cap / 2),
            },
            ..Lexed::default()
        },
        nl: false,
        prev: Eof,
        before: Eof,
        mode,
        scan: quoted::Budget::new(text.len()),
    };
    lx.run();
    let end = lx.out.kinds.len() as u32;
    lx.out.starts.push(text.len() as u32);
    let last = end | if lx.nl { NL } else { 0 };
    for _ in 0..4 {
        lx.out.sig.kinds.push(Eof);
        lx.out.sig.toks.push(last);
    }
    lx.out
}

impl Lexer<'_> {
    fn run(&mut self) {
        let mut lex = SyntaxKind::lexer(self.text);
        while let Some(res) = lex.next() {
            let start = lex.span().start;
            // logos knows ASCII words only: its states for longer characters would recurse per character
            // in debug builds. Words that go on beyond ASCII are finished here.
            let word = match res {
                Ok(kind) if kind == Ident || kind.is_keyword() => {
                    let end = lex.span().end;
                    !self.text.as_bytes().get(end).is_none_or(u8::is_ascii)
                }
                Ok(_) => false,
                Err(()) => self.text[start..]
                    .chars()
                    .next()
                    .is_some_and(unicode_ident::is_xid_start),
            };
            if word {
                let len = number::xid_run(&self.text[start..]);
                let known = lex.span().len();
                if len > known || (res.is_err() && len == known) {
                    lex.bump(len - known);
                    self.push(Ident, start);
                    continue;
                }
            }
            let Ok(kind) = res else {
                self.unknown(start, lex.span().end);
                continue;
            };
            match kind {
                Whitespace => self.trivia(kind, start),
                Newline => {
                    self.nl = true;
                    self.trivia(kind, start);
                }
                Ident => self.push(kind, start),
                IntNumber => {
                    let rest = &self.text[start..];
                    if self.prev == Dot {
                        let len = self.tuple_indices(start);
                        lex.bump(len - 1);
                        continue;
                    }
                    let n = number::scan(rest);
                    if let Some(why) = n.malformed {
                        self.error(code::MALFORMED_NUMERIC_LITERAL, start, start + n.len, why);
                    }
                    lex.bump(n.len - 1);
                    self.push(n.kind, start);
                }
                Str | RawStr | ByteStr | Char | HtmlStr => {
                    let head = lex.span().end - start;
                    let len = self.quoted(kind, start, head);
                    lex.bump(len - head);
                }
                LineComment => {
                    let b = &self.text.as_bytes()[start..];
                    let doc = b.get(2) == Some(&b'/') && b.get(3) != Some(&b'/');
                    lex.bump(memchr::memchr(b'\n', b).unwrap_or(b.len()) - 2);
                    self.trivia(if doc { DocComment } else { LineComment }, start);
                }
                BlockComment => {
                    let (len, closed) = quoted::block_comment(&self.text[start..]);
                    if !closed {
                        self.out.open_comment = true;
                        self.error(
                            code::UNTERMINATED_COMMENT,
                            start,
                            start + 2,
                            "this block comment is never closed".into(),
                        );
                    }
                    let body = &self.text.as_bytes()[start..start + len];
                    self.nl |= memchr::memchr(b'\n', body).is_some();
                    lex.bump(len - 2);
                    self.trivia(BlockComment, start);
                }
                AmpAmp | PipePipe if !self.operand_ended() => {
                    let half = if kind == AmpAmp { Amp } else { Pipe };
                    self.push(half, start);
                    self.push(half, start + 1);
                }
                _ => self.push(kind, start),
            }
        }
    }

    #[inline]
    fn trivia(&mut self, kind: SyntaxKind, start: usize) {
        self.out.kinds.push(kind);
        self.out.starts.push(start as u32);
    }

    #[inline]
    fn push(&mut self, kind: SyntaxKind, start: usize) {
        let index = self.out.kinds.len() as u32;
        self.out.sig.kinds.push(kind);
        self.out.sig.toks.push(index | if self.nl { NL } else { 0 });
        self.nl = false;
        self.before = self.prev;
        self.prev = kind;
        self.trivia(kind, start);
    }

    /// Whether `&&`/`||` here stands behind an operand. The operand-ending tokens are disjoint from
    /// those before a prefix, so no parser state is needed (language.md §1.7, [R:G09]).
    fn operand_ended(&self) -> bool {
        let p = self.prev;
        p == Ident
            || p.is_literal()
            || matches!(p, RParen | RBracket | RBrace | Question | SelfKw | BudgetKw)
            || (p.is_keyword() && matches!(self.before, Dot | ColonColon))
    }

    /// After `.`: `0.1` is two tuple indices and a dot ([R:G07]).
    fn tuple_indices(&mut self, start: usize) -> usize {
        let rest = &self.text.as_bytes()[start..];
        let digits = |from: usize| {
            rest[from..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count()
        };
        let first = digits(0);
        self.push(IntNumber, start);
        let mut at = first;
        while rest.get(at) == Some(&b'.') && digits(at + 1) > 0 {
            let n = digits(at + 1);
            self.push(Dot, start + at);
            self.push(IntNumber, start + at + 1);
            at += 1 + n;
        }
        at
    }

    fn unknown(&mut self, start: usize, end: usize) {
        let joins = self.out.kinds.last() == Some(&Error)
            && !(start == '\u{FEFF}'.len_utf8() && self.text.starts_with('\u{FEFF}'));
        if joins {
            if let Some(e) = self.out.errors.last_mut() {
                e.range.end = end as u32;
            }
            return;
        }
        let what = if start == 0 && self.text.starts_with('\u{FEFF}') {
            "a byte order mark may not begin the file".to_owned()
        } else {
            format!("`{}` begins no token", self.text[start..end].escape_debug())
        };
        self.trivia(Error, start);
        self.error(code::UNEXPECTED_TOKEN, start, end, what);
    }

    fn quoted(&mut self, kind: SyntaxKind, start: usize, head: usize) -> usize {
        let q = quoted::scan(&self.text[start..], kind, head, self.mode, &mut self.scan);
        if q.closed {
            self.out.multi_line_str |= q.multi_line && kind == Str;
            if let Some(why) = q.fault {
                self.error(why.code, start + why.at, start + why.end, why.title);
            }
        } else {
            let title = if kind == Char {
                "this character has no closing `'`"
            } else {
                "this text has no closing `\"`"
            };
            self.error(
                code::UNTERMINATED_STRING,
                start,
                start + q.len,
                title.into(),
            );
            self.out.open_literals.push(self.out.sig.kinds.len() as u32);
        }
        if q.escapes {
            let text = self.text;
            quoted::check_escapes(&text[start..start + q.len], head, kind, |a, b, why| {
                self.error(code::INVALID_ESCAPE, start + a, start + b, why);
            });
        }
        self.push(kind, start);
        q.len
    }

    fn error(&mut self, code: &'static str, start: usize, end: usize, title: String) {
        if self.out.errors.len() < MAX_ERRORS {
            let range = TextRange::new(start as u32, end as u32);
            self.out.errors.push(SyntaxError::new(code, range, title));
        }
    }
}
