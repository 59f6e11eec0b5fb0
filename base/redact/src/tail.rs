//! Where a secret ends once it is known to be one: little machines that take a character at a time.
//! Whole texts and streams use the same ones, so that a secret's length costs neither memory nor a second look.

use std::sync::Arc;

use super::random::in_random;
use super::shapes::{KEY_END, Rest, ends_authority};
use super::steps;
use super::values::Value;

/// The rest of a secret that began.
#[derive(Debug, Clone)]
pub(super) enum Tail {
    /// Known by its form.
    Shape(Rest),
    /// A value without quotes; `to_blank` as in `.env` files, where only white space and quotes end it.
    Unquoted {
        to_blank: bool,
    },
    Quoted(Quoted),
    /// Up to the end of the line, or a quote.
    Line,
    /// A random string.
    Random,
    /// The user's part of a URL.
    Url,
    Key(KeyEnd),
    /// A known value, of which the last `state` bytes have matched.
    Value {
        value: Arc<Value>,
        state: usize,
    },
}

/// A value between quotes. Within a string within a string the quotes have backslashes before them.
#[derive(Debug, Clone)]
pub(super) struct Quoted {
    mark: char,
    /// Backslashes before the opening quote: 0, 1, 3 for each level deeper.
    level: usize,
    /// Backslashes just before the next character.
    run: usize,
    closed: bool,
}

impl Quoted {
    /// `mark` is the closing quote.
    pub(super) fn new(mark: char, level: usize) -> Self {
        Self {
            mark,
            level,
            run: 0,
            closed: false,
        }
    }

    fn step(&mut self, c: char) -> bool {
        if c == '\\' {
            self.run += 1;
            return true;
        }
        if c == '\n' {
            return false;
        }
        // Fewer backslashes than the opening quote has end the string around it.
        let closes = self.run < self.level || self.run % (2 * (self.level + 1)) == self.level;
        if c == self.mark && closes {
            self.closed = true;
            return false;
        }
        self.run = 0;
        true
    }
}

/// The last line of a private key block.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyEnd {
    /// Bytes of [`KEY_END`] that match.
    begun: usize,
    dashes: usize,
    done: bool,
}

impl KeyEnd {
    fn step(&mut self, c: char) -> bool {
        if self.done {
            return false;
        }
        let byte = u8::try_from(c).unwrap_or(0);
        if self.begun == KEY_END.len() {
            self.dashes = if byte == b'-' { self.dashes + 1 } else { 0 };
            self.done = self.dashes == 5;
        } else if KEY_END[self.begun] == byte {
            self.begun += 1;
        } else if !(byte == b'-' && self.begun == 5) {
            self.begun = usize::from(byte == b'-');
        }
        true
    }
}

impl Tail {
    /// Whether `c` still belongs to the secret. Not asked again once it did not.
    pub(super) fn step(&mut self, c: char) -> bool {
        match self {
            Self::Shape(rest) => u8::try_from(c).is_ok_and(|byte| rest.allows(byte)),
            Self::Unquoted { to_blank } => {
                !(c.is_whitespace()
                    || matches!(c, '"' | '\'' | '`')
                    || !*to_blank
                        && matches!(
                            c,
                            ',' | ';'
                                | '}'
                                | ')'
                                | ']'
                                | '<'
                                | '>'
                                | '&'
                                | '\\'
                                | '，'
                                | '；'
                                | '。'
                        ))
            }
            Self::Quoted(quoted) => quoted.step(c),
            Self::Line => !matches!(c, '\n' | '\r' | '"' | '\'' | '`'),
            Self::Random => u8::try_from(c).is_ok_and(in_random),
            Self::Url => c != '@' && !ends_authority(c),
            Self::Key(end) => end.step(c),
            Self::Value { value, state } => {
                let mut bytes = [0; 4];
                for &byte in c.encode_utf8(&mut bytes).as_bytes() {
                    *state = value.advance(*state, byte);
                }
                *state >= value.least()
            }
        }
    }

    /// Walks on from the beginning of `text`; the length of what belongs to the secret, and
    /// whether it ended there.
    pub(super) fn walk(&mut self, text: &str) -> (usize, bool) {
        let end = text
            .char_indices()
            .find(|&(_, c)| !self.step(c))
            .map(|(at, _)| at);
        let len = end.unwrap_or(text.len());
        steps(len + 1);
        (len, end.is_some())
    }

    /// Bytes at the end of what was walked that do not belong to the secret after all: the
    /// backslashes of a closing quote.
    pub(super) fn give_back(&self) -> usize {
        match self {
            Self::Quoted(quoted) if quoted.closed => quoted.run.min(quoted.level),
            _ => 0,
        }
    }
}
