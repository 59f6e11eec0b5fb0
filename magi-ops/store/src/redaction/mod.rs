//! The one redaction seam: whatever a provider, a tool or a file said passes here on its way out.
//! It finds and masks secrets; what is secret stands in `shapes` and `words`, streaming in `stream`.

use std::ops::Range;
use std::sync::Arc;

mod shapes;
mod stream;
mod words;

pub use stream::{MAX_HELD_BYTES, StreamRedactor};

/// What stands in a secret's place.
pub const MASK: &str = "[redacted]";

/// Shortest value of a credential variable that is looked for; shorter ones would mask
/// ordinary words.
const MIN_VALUE_BYTES: usize = 8;
const MAX_VALUE_BYTES: usize = 8 * 1024;
const MAX_VALUES: usize = 256;

/// Text without secrets. Only the redactor makes it, so that raw text can't take its place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redacted(String);

impl Redacted {
    /// Text that stands in the program itself and can hold no secret.
    pub fn fixed(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends text that was redacted too.
    pub fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }

    /// A copy of a part, which must begin and end at characters' ends.
    ///
    /// # Panics
    /// If it does not.
    pub fn part(&self, range: Range<usize>) -> Self {
        Self(self.0[range].to_owned())
    }

    /// On one line and within `bytes` UTF-8 bytes: control characters become spaces, and an
    /// ellipsis marks what was cut.
    pub fn summary(self, bytes: usize) -> Self {
        const ELLIPSIS: &str = "…";
        let mut text: String = self
            .0
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if text.len() > bytes {
            let room = bytes.saturating_sub(ELLIPSIS.len());
            text.truncate(text.floor_char_boundary(room));
            if bytes >= ELLIPSIS.len() {
                text.push_str(ELLIPSIS);
            }
        }
        Self(text)
    }
}

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Finds and masks secrets. Cheap to clone; keeps no text that it has seen.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Values of this process's own credential variables.
    values: Arc<[Box<str>]>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor")
            .field("values", &self.values.len())
            .finish()
    }
}

/// What a search came to.
#[derive(Default)]
struct Found {
    /// Sorted, not touching each other.
    ranges: Vec<Range<usize>>,
    /// Where a private key begins that has no end yet.
    open_key: Option<usize>,
}

impl Redactor {
    /// Knows the secrets of the environment `vars` too: values of 8 bytes and more whose names
    /// contain KEY, TOKEN, SECRET or PASSWORD, in any case.
    pub fn new<'a>(vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut values: Vec<Box<str>> = vars
            .into_iter()
            .filter(|(name, _)| names_credential(name))
            .map(|(_, value)| value.trim())
            .filter(|value| (MIN_VALUE_BYTES..=MAX_VALUE_BYTES).contains(&value.len()))
            .map(Into::into)
            .take(MAX_VALUES)
            .collect();
        values.sort();
        values.dedup();
        Self {
            values: values.into(),
        }
    }

    /// Masks every secret in a whole text. Linear in its length.
    pub fn redact(&self, text: &str) -> Redacted {
        let found = self.find(text);
        if found.ranges.is_empty() {
            return Redacted(text.to_owned());
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for range in found.ranges {
            out.push_str(&text[from..range.start]);
            out.push_str(MASK);
            from = range.end;
        }
        out.push_str(&text[from..]);
        Redacted(out)
    }

    /// A redactor for text that arrives in pieces.
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(self.clone())
    }

    /// Whether a name (of a provider, a model) looks like a secret put in the wrong place.
    pub fn is_secret_like(&self, name: &str) -> bool {
        !self.find(name).ranges.is_empty() || words::is_random(name, 20)
    }

    fn find(&self, text: &str) -> Found {
        let mut found = Found::default();
        shapes::find(text, &mut found);
        words::find(text, &mut found.ranges);
        for value in self.values.iter() {
            let hits = memchr::memmem::find_iter(text.as_bytes(), value.as_bytes());
            found.ranges.extend(hits.map(|at| at..at + value.len()));
        }
        merge(&mut found.ranges);
        found
    }

    /// Where the end of `text` may be the beginning of one of the known values.
    fn value_begins(&self, text: &str) -> Option<usize> {
        let bytes = text.as_bytes();
        self.values
            .iter()
            .filter_map(|value| {
                let value = value.as_bytes();
                let from = bytes.len().saturating_sub(value.len() - 1);
                memchr::memchr_iter(value[0], &bytes[from..])
                    .map(|at| from + at)
                    .find(|&at| value.starts_with(&bytes[at..]))
            })
            .min()
    }
}

fn names_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"]
        .iter()
        .any(|word| name.contains(word))
}

fn merge(ranges: &mut Vec<Range<usize>>) {
    if ranges.len() < 2 {
        return;
    }
    ranges.sort_by_key(|range| range.start);
    let mut kept: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges.drain(..) {
        match kept.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => kept.push(range),
        }
    }
    *ranges = kept;
}

#[cfg(test)]
mod tests;
