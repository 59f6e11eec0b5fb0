//! Redaction of text that arrives in pieces: holds back only what may yet turn out to be a secret.
//! What is secret is decided by the same rules as for whole texts.

use std::sync::Arc;

use super::code::is_wordy;
use super::display::Display;
use super::message::half_at_end;
use super::tail::Tail;
use super::values::{PREFIX_BYTES, Value};
use super::{MASK, Redacted, Redactor, merge, steps, words};

/// Most text that is held back, in bytes.
pub const MAX_HELD_BYTES: usize = 512;
/// Text already released that the rules still look at, in bytes.
const CONTEXT_BYTES: usize = 256;
/// So many bytes are looked at with each piece.
const LOOKED_BYTES: usize = 64;
/// So many bytes that may begin a secret are masked in a text that breaks off, unless they are a word.
const MIN_HALF_BYTES: usize = 8;
/// So many bytes of a known value are no accident.
const MIN_STATE: usize = 5;
/// What stays held when a word is longer than [`MAX_HELD_BYTES`]: enough to know every secret
/// by its beginning.
const TAIL_BYTES: usize = 128;

// A known value is held whole until it is long enough to be known.
const _: () =
    assert!(PREFIX_BYTES <= MAX_HELD_BYTES - TAIL_BYTES && words::REACH_BYTES <= CONTEXT_BYTES);

/// How a text goes on behind what has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Whole,
    /// A message ends; what is said may go on in another.
    Message,
    Cut,
}

/// Redacts one text that arrives in pieces. The cost of a piece depends on its own length
/// alone, not on what came before.
///
/// A secret of any length is masked to its end: what is known to be one is swallowed, not held.
/// The released pieces together equal what [`Redactor::redact`] makes of the whole text, but where that
/// takes more than [`MAX_HELD_BYTES`] to tell: whoever keeps the whole text redacts it again.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    display: Display,
    /// The end of what was released, raw, and behind it what is held.
    buffer: String,
    /// Where the held text begins in `buffer`.
    held: usize,
    /// How many bytes were held when they were last looked at.
    looked: usize,
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
            display: Display::default(),
            buffer: String::new(),
            held: 0,
            looked: 0,
            masking: false,
            swallowing: Vec::new(),
        }
    }

    /// Takes the next piece and returns what can be shown now.
    pub fn push(&mut self, piece: &str) -> Option<Redacted> {
        let piece = &*self.display.push(piece);
        self.take(piece)
    }

    /// The same with a piece that can be shown as far as its characters go.
    fn take(&mut self, piece: &str) -> Option<Redacted> {
        self.catch_up();
        for (value, state) in &mut self.states {
            *state = value.feed(*state, piece.as_bytes());
        }
        let rest = self.swallow(piece);
        if rest.is_empty() && self.buffer.len() == self.held {
            return None;
        }
        self.buffer.push_str(rest);
        // A few bytes more seldom tell what many did not: looking each time would cost what is held, not what came.
        let held = self.buffer.len() - self.held;
        if self.looked > LOOKED_BYTES
            && held < self.looked + self.looked / 2
            && held < MAX_HELD_BYTES
        {
            return None;
        }
        let out = self.release(End::Open);
        self.looked = self.buffer.len() - self.held;
        (!out.is_empty()).then_some(out)
    }

    /// The text is complete: returns what was held back, and begins anew.
    pub fn finish(&mut self) -> Redacted {
        let mut out = Redacted::default();
        let last = self.display.finish();
        if !last.is_empty() {
            out.0.extend(self.take(&last).map(Redacted::into_string));
        }
        // What ends a sentence or a command is no part of a secret that ends there.
        let give_back = self.swallowing.iter().map(Tail::give_back).min();
        self.held = self.held.saturating_sub(give_back.unwrap_or(0));
        out.push(&self.release(End::Whole));
        *self = Self::new(self.redactor.clone());
        out
    }

    /// A message is complete behind which more may be told of the same text: returns what was held back, but not the half of
    /// a known secret. A secret that goes on behind it is masked there too.
    pub fn pause(&mut self) -> Redacted {
        // Nothing is held while a secret's rest arrives.
        let out = match self.swallowing.is_empty() {
            true => self.release(End::Message),
            false => Redacted::default(),
        };
        self.looked = 0;
        out
    }

    /// The text breaks off where nobody meant it to end: the first half of a secret is masked too. Begins anew.
    pub fn cut(&mut self) -> Redacted {
        let out = self.release(End::Cut);
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
        // Nothing is held meanwhile: each secret reached the end of what had come. It may have ended before that.
        let mut end = isize::MIN;
        self.swallowing.retain_mut(|tail| {
            let (len, ended) = tail.walk(piece);
            end = end.max(len as isize - tail.give_back() as isize);
            !ended
        });
        let end = if self.swallowing.is_empty() {
            end
        } else {
            piece.len() as isize
        };
        let (own, rest) = piece.split_at(end.max(0) as usize);
        self.held = self.buffer.len().saturating_add_signed(end);
        self.buffer.push_str(own);
        self.forget();
        rest
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

    fn release(&mut self, ends: End) -> Redacted {
        let whole = matches!(ends, End::Whole | End::Message);
        let mut found = self.redactor.find(&self.buffer, whole);
        steps(self.buffer.len());
        let mut end = self.buffer.len();
        for (value, state) in &self.states {
            let begin = self.buffer.len().saturating_sub(*state);
            if (MIN_STATE..value.least()).contains(state) {
                found.expect(begin);
            } else if *state < value.least() {
                found.wait(begin);
            }
        }
        match (ends, found.pending) {
            (End::Open, Some(at)) => {
                end = self
                    .buffer
                    .floor_char_boundary(at.max(self.held))
                    .max(self.held);
            }
            (End::Message, _) => {
                let states = self.states.iter().map(|(value, state)| (&**value, *state));
                found.ranges.extend(half_at_end(&self.buffer, states));
                merge(&mut found.ranges);
            }
            (End::Cut, Some(at)) => {
                let held = self.buffer.get(at..).unwrap_or_default();
                let half = held.len() >= MIN_HALF_BYTES && !is_wordy(held.trim_end());
                if let Some(from) = found.likely.or(half.then_some(at)) {
                    found.ranges.push(from.max(self.held)..end);
                    merge(&mut found.ranges);
                }
            }
            _ => {}
        }
        let overlong = ends == End::Open && self.buffer.len() - end > MAX_HELD_BYTES;
        if end == self.held && !overlong {
            return Redacted::default();
        }
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
}
