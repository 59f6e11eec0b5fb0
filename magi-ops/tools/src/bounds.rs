//! The limits of the tools, the watch that stops their loops, and the clipping of text.
//! No file is touched here.

use std::borrow::Cow;
use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use work::{Deadline, Expired};

/// Lines of one `read` when the call names no limit.
pub(crate) const READ_LINES: u64 = 2_000;
/// Bytes of one call's listing, matches or lines.
pub(crate) const OUTPUT_BYTES: usize = 256 * 1024;
/// Characters of one line that `read` shows.
pub(crate) const LINE_CHARS: usize = 2_000;
/// Characters of one matching line that `grep` shows.
pub(crate) const MATCH_CHARS: usize = 500;
/// Entries of one `list`.
pub(crate) const LIST_ENTRIES: usize = 1_000;
/// Paths of one `glob`.
pub(crate) const GLOB_PATHS: usize = 1_000;
/// Matches of one `grep`.
pub(crate) const GREP_MATCHES: usize = 500;
/// Bytes of the longest file that `grep` looks into.
pub(crate) const GREP_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of a path in an input.
pub(crate) const PATH_BYTES: usize = 4_096;
/// Bytes of a pattern in an input.
pub(crate) const PATTERN_BYTES: usize = 4_096;
/// Bytes of the content of one `write`.
pub(crate) const WRITE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of the longest file that `edit` reads or makes.
pub(crate) const EDIT_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of what `edit` shows of a file, in a result or a hint.
pub(crate) const EXCERPT_BYTES: usize = 8 * 1024;
/// Bytes of the skills' names and descriptions in the description of `skill`.
pub(crate) const SKILL_LIST_BYTES: usize = 8 * 1024;
/// Characters of one skill's description there.
pub(crate) const SKILL_DESCRIPTION_CHARS: usize = 400;
/// Bytes of a summary.
pub(crate) const SUMMARY_BYTES: usize = 200;

/// Says to a loop when it has to end.
pub struct Watch {
    deadline: Deadline,
    /// How often it was asked.
    ticks: AtomicU32,
}

/// Checks between two looks at the clock: reading it for every entry of a walk would cost more
/// than the entry.
const CLOCK_TICKS: u32 = 64;
/// Checks between two looks at the token, whose lock the threads of a walk share.
const TOKEN_TICKS: u32 = 8;

impl Watch {
    pub(crate) fn new(deadline: Deadline) -> Self {
        Self {
            deadline,
            ticks: AtomicU32::new(0),
        }
    }

    /// For another thread of the same call.
    pub(crate) fn another(&self) -> Self {
        Self::new(self.deadline.clone())
    }

    /// To be called once for every entry, buffer or line: each is far below a millisecond.
    ///
    /// # Errors
    ///
    /// [`Expired`] when the work has to end.
    pub fn check(&self) -> Result<(), Expired> {
        let ticks = self.ticks.load(Relaxed);
        self.ticks.store(ticks.wrapping_add(1), Relaxed);
        if ticks.is_multiple_of(CLOCK_TICKS) {
            return self.check_now();
        }
        if ticks.is_multiple_of(TOKEN_TICKS) && self.deadline.is_cancelled() {
            return Err(Expired::Cancelled);
        }
        Ok(())
    }

    /// The same, whenever it was asked last: before something happens that can't be undone, and for a reason.
    pub(crate) fn check_now(&self) -> Result<(), Expired> {
        self.deadline.check()
    }
}

/// Keeps the `limit` smallest of any number of items: the result does not depend on the order
/// in which a file system gives its entries, and memory does not grow with their number.
pub(crate) struct Smallest<T> {
    kept: BinaryHeap<T>,
    limit: usize,
    seen: u64,
}

impl<T: Ord> Smallest<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            kept: BinaryHeap::new(),
            limit,
            seen: 0,
        }
    }

    pub(crate) fn push(&mut self, item: T) {
        self.seen += 1;
        if self.kept.len() < self.limit {
            self.kept.push(item);
        } else if let Some(mut largest) = self.kept.peek_mut()
            && item < *largest
        {
            *largest = item;
        }
    }

    /// How many items there were in all.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Takes what another one kept and saw.
    pub(crate) fn absorb(&mut self, other: Self) {
        let unkept = other.seen - other.kept.len() as u64;
        other.kept.into_iter().for_each(|item| self.push(item));
        self.seen += unkept;
    }

    pub(crate) fn into_sorted(self) -> Vec<T> {
        self.kept.into_sorted_vec()
    }
}

/// The longest prefix of at most `bytes` bytes that ends at a character.
pub(crate) fn clip_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The longest prefix of at most `chars` characters.
pub(crate) fn clip_chars(text: &str, chars: usize) -> &str {
    text.char_indices()
        .nth(chars)
        .map_or(text, |(at, _)| &text[..at])
}

/// One safe line for a person.
pub(crate) fn summary(text: &str) -> String {
    let text = printable(text);
    if text.len() <= SUMMARY_BYTES {
        return text;
    }
    let mark = "…";
    let mut clipped = clip_bytes(&text, SUMMARY_BYTES - mark.len()).to_owned();
    clipped.push_str(mark);
    clipped
}

/// What a call is about, on one safe line: whole, so that it can be redacted whole, unless it is longer than any path.
pub(crate) fn subject(text: &str) -> String {
    const MAX_BYTES: usize = 4096;
    let text = printable(text);
    match text.len() <= MAX_BYTES {
        true => text,
        false => summary(&text),
    }
}

/// Whether a character could forge a line of output or rearrange one.
pub(crate) fn is_layout(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with every control and direction-changing character escaped: a file's name must
/// not be able to forge a line of output or to rearrange one.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_layout(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// The lines of a listing of names, as many as fit.
pub(crate) struct Listing {
    out: String,
    shown: u64,
    /// Names that can't be given back as they are shown.
    strange: u64,
}

impl Listing {
    /// Behind the line `head`, if it is one.
    pub(crate) fn new(head: String) -> Self {
        Self {
            out: head,
            shown: 0,
            strange: 0,
        }
    }

    /// Adds the line that shows `name`; false where there is no room for it.
    pub(crate) fn add(&mut self, line: &str, name: &OsStr) -> bool {
        if self.out.len() + line.len() + 1 > OUTPUT_BYTES {
            return false;
        }
        self.out += line;
        self.out.push('\n');
        self.shown += 1;
        let is_plain = name.to_str().is_some_and(|name| !name.contains(is_layout));
        self.strange += u64::from(!is_plain);
        true
    }

    /// The listing, and the notes for the model: on names that are not plain, and on the rest of `total` if not all is
    /// shown; `how` says of what these are the first, and how to see the others.
    pub(crate) fn finish(mut self, total: u64, how: &str) -> String {
        if self.strange > 0 {
            self.out += &format!(
                "[{} not valid UTF-8 or not printable: shown with U+FFFD or escapes, and no input can name it]\n",
                counted(self.strange, "name is", "names are")
            );
        }
        if self.shown < total {
            self.out += &format!("[truncated: the first {} of {total} {how}]\n", self.shown);
        }
        self.out
    }
}

/// One line of a file as a model is shown it.
pub(crate) struct ShownLine {
    pub(crate) text: String,
    /// Wrong bytes are shown as U+FFFD.
    pub(crate) lossy: bool,
    pub(crate) clipped: bool,
}

impl ShownLine {
    /// At most `chars` characters of `bytes`, a line without its end. `cut`: of which this is only the beginning.
    pub(crate) fn new(bytes: &[u8], cut: bool, chars: usize) -> Self {
        let kept = &bytes[..bytes.len().min(chars * 4 + 1)];
        let cut = cut || kept.len() < bytes.len();
        let (text, lossy) = match std::str::from_utf8(kept) {
            Ok(text) => (Cow::Borrowed(text), false),
            // A character that our own cut went through is not the file's fault.
            Err(error) if cut && error.error_len().is_none() => {
                let whole = &kept[..error.valid_up_to()];
                (String::from_utf8_lossy(whole), false)
            }
            Err(_) => (String::from_utf8_lossy(kept), true),
        };
        let mut shown = clip_chars(&text, chars).to_owned();
        let clipped = cut || shown.len() < text.len();
        if clipped {
            shown.push('…');
        }
        Self {
            text: shown,
            lossy,
            clipped,
        }
    }
}

/// `1 line`, `2 lines`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn smallest_is_the_sorted_prefix(items: Vec<u16>, limit in 1_usize..40) {
            let mut smallest = Smallest::new(limit);
            for item in &items {
                smallest.push(*item);
            }
            let mut sorted = items.clone();
            sorted.sort_unstable();
            sorted.truncate(limit);
            prop_assert_eq!(smallest.seen(), items.len() as u64);
            prop_assert_eq!(smallest.into_sorted(), sorted);
        }

        #[test]
        fn summaries_are_one_bounded_line(text: String) {
            let line = summary(&text);
            prop_assert!(line.len() <= SUMMARY_BYTES);
            prop_assert!(!line.chars().any(char::is_control));
        }

        #[test]
        fn clips_are_prefixes(text: String, bound in 0_usize..40) {
            let bytes = clip_bytes(&text, bound);
            prop_assert!(text.starts_with(bytes) && bytes.len() <= bound);
            let chars = clip_chars(&text, bound);
            prop_assert!(text.starts_with(chars));
            prop_assert_eq!(chars.chars().count(), text.chars().count().min(bound));
        }
    }

    #[test]
    fn directions_cannot_be_forged() {
        assert_eq!(printable("a\u{202e}b\nc"), "a\\u{202e}b\\nc");
    }
}
