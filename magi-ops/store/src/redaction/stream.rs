//! Redaction of text that arrives in pieces: holds back only what may yet turn out to be a secret.
//! What is secret is decided by the same rules as for whole texts.

use super::{MASK, Redacted, Redactor, shapes, words};

/// Most text that is held back, in bytes.
pub const MAX_HELD_BYTES: usize = 512;
/// Text already released that the rules still look at, in bytes.
const CONTEXT_BYTES: usize = 256;
/// What stays held when a word is longer than [`MAX_HELD_BYTES`]: enough to know every secret
/// by its beginning.
const TAIL_BYTES: usize = 128;
/// Enough of a private key's last line to know it.
const KEY_TAIL_BYTES: usize = 96;

/// Redacts one text that arrives in pieces. The cost of a piece depends on its own length
/// alone, not on what came before.
///
/// The released pieces together equal what [`Redactor::redact`] makes of the whole text, but for
/// words longer than [`MAX_HELD_BYTES`] and for quoted values that grow secret only by their
/// length: whoever keeps the whole text redacts it again.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    /// The end of what was released, raw, and behind it what is held.
    buffer: String,
    /// Where the held text begins in `buffer`.
    held: usize,
    /// The last release ended within a secret whose mask is out.
    masking: bool,
    /// The rest of an overlong secret is still arriving.
    swallowing: bool,
    /// A private key's lines are arriving.
    in_key: bool,
}

impl StreamRedactor {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            buffer: String::new(),
            held: 0,
            masking: false,
            swallowing: false,
            in_key: false,
        }
    }

    /// Takes the next piece and returns what can be shown now.
    pub fn push(&mut self, piece: &str) -> Option<Redacted> {
        let piece = if self.swallowing {
            let rest = piece.trim_start_matches(is_token_char);
            if rest.is_empty() {
                return None;
            }
            self.swallowing = false;
            rest
        } else {
            piece
        };
        self.buffer.push_str(piece);
        if self.in_key && !self.leave_key() {
            return None;
        }
        let out = self.release(false);
        (!out.is_empty()).then_some(out)
    }

    /// The text is complete: returns what was held back, and begins anew.
    pub fn finish(&mut self) -> Redacted {
        let out = if self.in_key {
            Redacted::default()
        } else {
            self.release(true)
        };
        *self = Self::new(self.redactor.clone());
        out
    }

    /// Bytes of context and bytes held.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.held, self.buffer.len() - self.held)
    }

    fn leave_key(&mut self) -> bool {
        match shapes::key_end(self.buffer.as_bytes()) {
            Some(end) => {
                self.buffer.drain(..end);
                self.held = 0;
                self.in_key = false;
                true
            }
            None => {
                self.keep_last(KEY_TAIL_BYTES);
                self.held = 0;
                false
            }
        }
    }

    fn keep_last(&mut self, bytes: usize) {
        let from = self.buffer.len().saturating_sub(bytes);
        let from = self.buffer.ceil_char_boundary(from);
        self.buffer.drain(..from);
        self.held = self.held.saturating_sub(from);
    }

    fn release(&mut self, all: bool) -> Redacted {
        let mut end = if all {
            self.buffer.len()
        } else {
            self.may_begin()
        };
        let overlong = self.buffer.len() - end > MAX_HELD_BYTES;
        if end == self.held && !overlong {
            return Redacted::default();
        }
        let found = self.redactor.find(&self.buffer);
        if overlong {
            let cut = self.buffer.len() - TAIL_BYTES;
            end = self.buffer.floor_char_boundary(cut);
            // A cut within a secret moves to its end.
            if let Some(range) = found
                .ranges
                .iter()
                .find(|range| range.start < end && end < range.end)
            {
                end = range.end;
                self.swallowing = end == self.buffer.len();
            }
        }
        if let Some(start) = found.open_key {
            end = self.buffer.len();
            self.in_key = true;
            debug_assert!(
                found
                    .ranges
                    .iter()
                    .any(|range| range.end == end && range.start <= start)
            );
        }

        let mut out = String::with_capacity(end - self.held);
        let mut from = self.held;
        let mut masking = false;
        for range in &found.ranges {
            if range.end <= from && range.end < end {
                continue;
            }
            if range.start >= end {
                break;
            }
            let start = range.start.max(from);
            out.push_str(&self.buffer[from..start]);
            // A secret that an earlier release ended in has its mask already.
            if !(self.masking && range.start < self.held) && range.end > self.held {
                out.push_str(MASK);
            }
            from = range.end.min(end).max(from);
            masking = range.end >= end;
        }
        out.push_str(&self.buffer[from..end]);
        if found.open_key == Some(end) {
            // Only the opening line is here yet: the mask stands for what follows.
            out.push_str(MASK);
        }

        self.held = end;
        self.masking = masking;
        if self.in_key {
            self.keep_last(KEY_TAIL_BYTES);
            self.held = 0;
            self.masking = false;
        } else if self.held > 2 * CONTEXT_BYTES {
            // Moving the buffer down only now and then keeps the cost of a piece constant.
            let from = self.buffer.ceil_char_boundary(self.held - CONTEXT_BYTES);
            self.buffer.drain(..from);
            self.held -= from;
        }
        Redacted(out)
    }

    /// Where held text begins that may yet be part of a secret; the buffer's end if nowhere.
    fn may_begin(&self) -> usize {
        let text = &self.buffer;
        let word = text
            .rfind(char::is_whitespace)
            .map_or(0, |at| text.ceil_char_boundary(at + 1));
        let mut begin = text.len();
        let reach = text.ceil_char_boundary(text.len().saturating_sub(words::REACH_BYTES));
        if begin > word.max(self.held) && words::any(&text.as_bytes()[reach..]) {
            begin = word.max(self.held);
        }
        if let Some(at) = shapes::may_begin(text, self.held, word) {
            begin = begin.min(at);
        }
        if let Some(at) = self.redactor.value_begins(&text[self.held..]) {
            begin = begin.min(self.held + at);
        }
        begin
    }
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '/' | '=' | '.' | '~' | '%')
}
