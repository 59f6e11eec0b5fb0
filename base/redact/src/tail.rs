//! Where a secret ends once it is known to be one: little machines that take a character at a time.
//! Whole texts and streams use the same ones, so that a secret's length costs neither memory nor a second look.

use std::sync::Arc;

use super::alphabet::Alphabet;
use super::steps;
use super::values::Value;

/// What a private key ends with: PEM, and PuTTY's format.
const PEM_END: &[u8] = b"-----END";
const PUTTY_END: &[u8] = b"Private-MAC:";

/// Longest name behind a separator that is waited for, in bytes.
const NAME_BYTES: usize = 48;

/// The rest of a secret that began.
#[derive(Debug, Clone)]
pub(super) enum Tail {
    /// A run of one alphabet; how many full stops it ends with.
    Run(Alphabet, usize),
    Unquoted(Unquoted),
    Quoted(Quoted),
    /// Up to the end of the line, or a quote.
    Line,
    /// The user's part of a URL.
    Url,
    Key(KeyEnd),
    /// A known value, of which the last bytes have matched.
    Value(Arc<Value>, usize),
}

/// A value without quotes. Separators belong to it when more of it follows, and not when it ends there or another
/// assignment begins: `a&b` is one value, `a&user=b`, `a; ls` and `a, b` are not.
#[derive(Debug, Clone, Default)]
pub(super) struct Unquoted {
    /// As in `.env` files and shells, where only white space and quotes end a word.
    to_blank: bool,
    /// Bytes since the separator of which it is not known yet whether they belong to the secret.
    open: usize,
    /// The first of them are followed by what may be a name.
    named: bool,
    /// It was a name, of another assignment.
    assigned: bool,
    /// The last character was a backslash, which may write a line end.
    escape: bool,
    /// It did.
    escaped: bool,
}

impl Unquoted {
    fn step(&mut self, c: char) -> bool {
        self.escaped = self.escape && matches!(c, 'n' | 'r' | 't' | '"');
        self.escape = c == '\\' && !self.to_blank && !self.escape;
        let ends = match c {
            '"' | '\'' | '`' => true,
            '<' | '>' | '，' | '；' | '。' => !self.to_blank,
            _ => c.is_whitespace(),
        };
        if ends || self.escaped {
            return false;
        }
        let separates = match c {
            '[' | ']' if self.named => false,
            ';' | '&' | ',' | ')' | '|' => true,
            ']' | '}' => !self.to_blank,
            _ => false,
        };
        if separates {
            self.open = if self.named { 1 } else { self.open + 1 };
            self.named = false;
        } else if self.open > 0 {
            self.assigned = self.named && !self.to_blank && matches!(c, '=' | ':');
            if self.assigned {
                return false;
            }
            let letter = c.is_ascii_alphanumeric() || !c.is_ascii();
            match self.named {
                // More of the secret, and no name.
                true if !letter && !matches!(c, '_' | '-' | '.' | '[' | ']')
                    || self.open > NAME_BYTES =>
                {
                    *self = Self {
                        to_blank: self.to_blank,
                        ..Self::default()
                    };
                }
                _ => {
                    self.named |= letter;
                    self.open += c.len_utf8();
                }
            }
        }
        true
    }

    fn give_back(&self) -> usize {
        match self.named && !self.assigned {
            true => usize::from(self.escaped),
            false => self.open.max(usize::from(self.escaped)),
        }
    }
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

/// Whether the part of a URL that names user, host and port ends before `c`.
pub(super) fn ends_authority(c: char) -> bool {
    c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '`' | '\\')
}

/// The last line of a private key block.
#[derive(Debug, Clone)]
pub(super) struct KeyEnd {
    sign: &'static [u8],
    /// Bytes of `sign` that match.
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
        if self.begun == self.sign.len() {
            self.dashes = if byte == b'-' { self.dashes + 1 } else { 0 };
            self.done = self.dashes == 5;
        } else if self.sign[self.begun] == byte {
            self.begun += 1;
            self.done = self.begun == PUTTY_END.len();
        } else if !(byte == b'-' && self.begun == 5) {
            self.begun = usize::from(byte == self.sign[0]);
        }
        true
    }
}

impl Tail {
    pub(super) fn run(alphabet: Alphabet) -> Self {
        Self::Run(alphabet, 0)
    }

    pub(super) fn key(putty: bool) -> Self {
        Self::Key(KeyEnd {
            sign: if putty { PUTTY_END } else { PEM_END },
            begun: 0,
            dashes: 0,
            done: false,
        })
    }

    pub(super) fn unquoted(to_blank: bool) -> Self {
        Self::Unquoted(Unquoted {
            to_blank,
            ..Unquoted::default()
        })
    }

    /// `mark` is the closing quote, with `level` backslashes before it.
    pub(super) fn quoted(mark: char, level: usize) -> Self {
        Self::Quoted(Quoted {
            mark,
            level,
            run: 0,
            closed: false,
        })
    }

    /// Whether `c` still belongs to the secret. Not asked again once it did not.
    fn step(&mut self, c: char) -> bool {
        match self {
            Self::Run(alphabet, dots) => {
                let own = u8::try_from(c).is_ok_and(|byte| alphabet.allows(byte));
                if own {
                    *dots = if c == '.' { *dots + 1 } else { 0 };
                }
                own
            }
            Self::Unquoted(unquoted) => unquoted.step(c),
            Self::Quoted(quoted) => quoted.step(c),
            Self::Line => !matches!(c, '\n' | '\r' | '"' | '\'' | '`'),
            Self::Url => c != '@' && !ends_authority(c),
            Self::Key(end) => end.step(c),
            Self::Value(value, state) => {
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

    /// Bytes at the end of what was walked that do not belong to the secret if it ended there: the backslashes of a
    /// closing quote, separators, a sentence's full stop.
    pub(super) fn give_back(&self) -> usize {
        match self {
            Self::Quoted(quoted) if quoted.closed => quoted.run.min(quoted.level),
            Self::Unquoted(unquoted) => unquoted.give_back(),
            Self::Run(alphabet, dots) if alphabet.has_dots() => *dots,
            _ => 0,
        }
    }
}
