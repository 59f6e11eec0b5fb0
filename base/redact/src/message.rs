//! What a model says in several messages, and may end anywhere: a secret that goes on in the next message, or does not go
//! on at all. What is a secret, other files know.

use std::borrow::Cow;
use std::ops::Range;

use super::code::is_wordy;
use super::display::displayable;
use super::values::Value;
use super::{Redacted, Redactor, masked, merge};

/// So much of what was said before is looked at, in bytes: room for a private key.
pub const REACH_BYTES: usize = 4096;
/// So much of a known value at the end of a message, in bytes, is no accident.
const HALF_BYTES: usize = 8;
/// The same of one that may be words.
const WORDY_BYTES: usize = 12;

/// The end of `said` as far as it can matter to what is said next.
pub fn reach(said: &str) -> &str {
    &said[said.ceil_char_boundary(said.len().saturating_sub(REACH_BYTES))..]
}

impl Redactor {
    /// Masks every secret in a message that is told behind `before`, which was said in the same breath: the rest of a
    /// secret that began there is masked here, and so is the half or more of a known one with which the message ends.
    pub fn redact_message(&self, before: &str, text: &str) -> Redacted {
        let text = displayable(text);
        let before = displayable(reach(before));
        let joined = match before.is_empty() {
            true => Cow::Borrowed(&*text),
            false => Cow::Owned(format!("{before}{text}")),
        };
        let mut ranges = self.find(&joined, true).ranges;
        ranges.extend(self.half_at_end(&joined));
        merge(&mut ranges);
        let own = |range: Range<usize>| {
            let own = range.start.max(before.len())..range.end;
            (!own.is_empty()).then(|| own.start - before.len()..own.end - before.len())
        };
        Redacted(masked(&text, ranges.into_iter().filter_map(own).collect()))
    }

    /// The same of a message that breaks off where nobody meant it to end: whatever may be the first half of a secret is
    /// masked too.
    pub fn redact_cut(&self, before: &str, text: &str) -> Redacted {
        let mut stream = self.stream();
        let _ = stream.push(reach(before));
        let _ = stream.pause();
        let mut shown = stream.push(text).unwrap_or_default();
        shown.push(&stream.cut());
        shown
    }

    fn half_at_end(&self, text: &str) -> Option<Range<usize>> {
        let values = self.values();
        let states = values.iter().map(|value| {
            let tail = text.len().saturating_sub(value.least());
            (&**value, value.feed(0, &text.as_bytes()[tail..]))
        });
        half_at_end(text, states)
    }
}

/// The longest half of a known value with which `text` ends, if so many bytes of each match there.
pub(super) fn half_at_end<'v>(
    text: &str,
    states: impl Iterator<Item = (&'v Value, usize)>,
) -> Option<Range<usize>> {
    let halves = states.filter(|(value, state)| {
        let half = &text[text.ceil_char_boundary(text.len().saturating_sub(*state))..];
        let least = if is_wordy(half) {
            WORDY_BYTES
        } else {
            HALF_BYTES
        };
        *state >= least && 2 * state >= value.least() && *state < value.least()
    });
    let longest = halves.map(|(_, state)| state).max()?;
    let begin = text.len().saturating_sub(longest);
    Some(text.floor_char_boundary(begin)..text.len())
}
