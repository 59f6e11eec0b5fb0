//! Redaction of text that arrives in pieces: holds back only what may yet turn out to be a secret.
//! What is secret is decided by the same rules as for whole texts.

use std::sync::Arc;

use super::tail::Tail;
use super::values::{PREFIX_BYTES, Value};
use super::{MASK, Redacted, Redactor, logins, shapes, steps, words};

/// Most text that is held back, in bytes.
pub const MAX_HELD_BYTES: usize = 512;
/// Text already released that the rules still look at, in bytes.
const CONTEXT_BYTES: usize = 256;
/// What stays held when a word is longer than [`MAX_HELD_BYTES`]: enough to know every secret
/// by its beginning.
const TAIL_BYTES: usize = 128;

// A known value is held whole until it is long enough to be known.
const _: () =
    assert!(PREFIX_BYTES <= MAX_HELD_BYTES - TAIL_BYTES && words::REACH_BYTES <= CONTEXT_BYTES);

/// Redacts one text that arrives in pieces. The cost of a piece depends on its own length
/// alone, not on what came before.
///
/// A secret of any length is masked to its end: what is known to be one is swallowed, not held.
/// The released pieces together equal what [`Redactor::redact`] makes of the whole text, but where that
/// takes more than [`MAX_HELD_BYTES`] to tell: whoever keeps the whole text redacts it again.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    /// The end of what was released, raw, and behind it what is held.
    buffer: String,
    /// Where the held text begins in `buffer`.
    held: usize,
    /// The last release ended within a secret whose mask is out.
    masking: bool,
    /// The secrets whose rest is still arriving.
    swallowing: Vec<Tail>,
    /// For each known value, how many bytes of it the text ends with.
    states: Vec<(Arc<Value>, usize)>,
    /// The redactor's when `states` were made.
    generation: u64,
}

impl StreamRedactor {
    pub(super) fn new(redactor: Redactor) -> Self {
        // Read first: what is learned meanwhile is taken over with the first piece.
        let generation = redactor.generation();
        let values = redactor.values();
        Self {
            states: values.iter().map(|v| (Arc::clone(v), 0)).collect(),
            generation,
            redactor,
            buffer: String::new(),
            held: 0,
            masking: false,
            swallowing: Vec::new(),
        }
    }

    /// Takes the next piece and returns what can be shown now.
    pub fn push(&mut self, piece: &str) -> Option<Redacted> {
        let piece = &*super::displayable(piece);
        self.catch_up();
        for (value, state) in &mut self.states {
            *state = value.feed(*state, piece.as_bytes());
        }
        let rest = self.swallow(piece);
        if rest.is_empty() && self.buffer.len() == self.held {
            return None;
        }
        self.buffer.push_str(rest);
        let out = self.release(false);
        (!out.is_empty()).then_some(out)
    }

    /// The text is complete: returns what was held back, and begins anew.
    pub fn finish(&mut self) -> Redacted {
        let out = self.release(true);
        *self = Self::new(self.redactor.clone());
        out
    }

    /// Takes over what was learned since the last piece.
    fn catch_up(&mut self) {
        // Read first: what is learned meanwhile is taken over the next time.
        let generation = self.redactor.generation();
        if generation == self.generation {
            return;
        }
        self.generation = generation;
        let known = std::mem::take(&mut self.states);
        for value in self.redactor.values().iter() {
            let state = known.iter().find(|(old, _)| Arc::ptr_eq(old, value));
            let state = state.map_or_else(|| value.feed(0, self.buffer.as_bytes()), |(_, s)| *s);
            self.states.push((Arc::clone(value), state));
        }
    }

    /// Bytes of context and bytes held.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.held, self.buffer.len() - self.held)
    }

    /// Takes what belongs to secrets whose mask is out, and returns the rest.
    fn swallow<'a>(&mut self, piece: &'a str) -> &'a str {
        if self.swallowing.is_empty() {
            return piece;
        }
        let mut len = 0;
        let mut give_back = 0;
        // Nothing is held meanwhile: each secret reached the end of what had come.
        self.swallowing.retain_mut(|tail| {
            let (own, ended) = tail.walk(piece);
            if own >= len {
                len = own;
                give_back = tail.give_back();
            }
            !ended
        });
        self.buffer.push_str(&piece[..len]);
        self.held = self.buffer.len();
        if self.swallowing.is_empty() {
            // The backslashes of a closing quote; none of them came before this secret.
            self.held = self.held.saturating_sub(give_back);
        }
        self.forget();
        &piece[len..]
    }

    /// Drops context that no rule looks at any more.
    fn forget(&mut self) {
        // Moving the buffer down only now and then keeps the cost of a piece constant.
        if self.held > CONTEXT_BYTES + CONTEXT_BYTES / 4 {
            let from = self.buffer.ceil_char_boundary(self.held - CONTEXT_BYTES);
            self.buffer.drain(..from);
            self.held -= from;
        }
    }

    fn release(&mut self, all: bool) -> Redacted {
        let mut end = if all {
            self.buffer.len()
        } else {
            self.may_begin()
        };
        let overlong = !all && self.buffer.len() - end > MAX_HELD_BYTES;
        if end == self.held && !overlong {
            return Redacted::default();
        }
        let mut found = self.redactor.find(&self.buffer);
        steps(self.buffer.len());
        if overlong {
            let cut = self.buffer.len() - TAIL_BYTES;
            end = self.buffer.floor_char_boundary(cut).max(end);
        }
        // A cut within a secret moves to its end: what is known to be one need not be held.
        let cut = found.ranges.iter().find(|r| r.start < end && end < r.end);
        end = cut.map_or(end, |range| range.end);

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

        if end == self.buffer.len() {
            self.swallowing = std::mem::take(&mut found.open);
        }
        self.held = end;
        self.masking = masking;
        self.forget();
        Redacted(out)
    }

    /// Where held text begins that may yet be part of a secret; the buffer's end if nowhere.
    fn may_begin(&self) -> usize {
        let text = &self.buffer;
        let word = text
            .rfind(char::is_whitespace)
            .map_or(0, |at| text.ceil_char_boundary(at + 1));
        steps(text.len() - word);
        let mut begin = text.len();
        let reach = text.ceil_char_boundary(text.len().saturating_sub(words::REACH_BYTES));
        if words::any(&text.as_bytes()[reach..]) {
            begin = word.max(self.held);
            let near = text.ceil_char_boundary(text.len().saturating_sub(CONTEXT_BYTES));
            if begin > self.held
                && let Some(at) = self.redactor.find(&text[near..]).pending
            {
                begin = begin.min((near + at).max(self.held));
            }
        }
        let by_form = shapes::may_begin(text, self.held, word);
        let logins = logins::may_begin(text, self.held, word);
        for at in by_form.into_iter().chain(logins) {
            begin = begin.min(at);
        }
        for (value, state) in &self.states {
            if *state < value.least() {
                begin = begin.min(text.len().saturating_sub(*state).max(self.held));
            }
        }
        begin
    }
}
