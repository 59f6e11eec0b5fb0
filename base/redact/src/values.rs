//! Secrets that are known by their value: each is looked for in linear time, whole or by a long beginning.
//! Where the values come from is the redactor's matter.

use std::ops::Range;

use memchr::memmem::Finder;

use super::steps;

/// A beginning of this many bytes is enough to know a value, so that a stream need not hold more.
pub(super) const PREFIX_BYTES: usize = 256;
/// No environment variable is longer on Linux.
const MAX_VALUE_BYTES: usize = 128 * 1024;

/// One value, with the table of its borders (Knuth, Morris, Pratt).
#[derive(Debug)]
pub(super) struct Value {
    bytes: Box<[u8]>,
    /// For each length of a matching beginning: the longest shorter one that matches too.
    borders: Box<[u32]>,
    finder: Finder<'static>,
}

impl Value {
    /// `text` must not be empty.
    pub(super) fn new(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MAX_VALUE_BYTES)];
        let bytes: Box<[u8]> = text.as_bytes().into();
        let mut borders = vec![0u32; bytes.len() + 1];
        let mut border = 0;
        for end in 1..bytes.len() {
            while border > 0 && bytes[end] != bytes[border] {
                border = borders[border] as usize;
            }
            border += usize::from(bytes[end] == bytes[border]);
            borders[end + 1] = border as u32;
        }
        let least = bytes.len().min(PREFIX_BYTES);
        Self {
            finder: Finder::new(&bytes[..least]).into_owned(),
            borders: borders.into(),
            bytes,
        }
    }

    /// Whether `text` is this value.
    pub(super) fn is(&self, text: &str) -> bool {
        *self.bytes == text.as_bytes()[..text.floor_char_boundary(MAX_VALUE_BYTES)]
    }

    /// How many bytes must match.
    pub(super) fn least(&self) -> usize {
        self.bytes.len().min(PREFIX_BYTES)
    }

    /// The number of bytes that match after `byte` too.
    pub(super) fn advance(&self, mut state: usize, byte: u8) -> usize {
        while state > 0 && self.bytes.get(state) != Some(&byte) {
            state = self.borders[state] as usize;
            steps(1);
        }
        state + usize::from(self.bytes[state] == byte)
    }

    /// The same for many bytes.
    pub(super) fn feed(&self, mut state: usize, mut bytes: &[u8]) -> usize {
        loop {
            if state == 0 {
                let Some(at) = memchr::memchr(self.bytes[0], bytes) else {
                    return 0;
                };
                bytes = &bytes[at..];
            }
            let Some((&byte, rest)) = bytes.split_first() else {
                return state;
            };
            steps(1);
            state = self.advance(state, byte);
            bytes = rest;
        }
    }

    /// Every place in `text` where the value stands, overlapping ones too, each from its beginning as far
    /// as it matches; and how many bytes match at the end if that may go on.
    pub(super) fn find(&self, text: &[u8], ranges: &mut Vec<Range<usize>>) -> Option<usize> {
        let mut from = 0;
        while let Some(at) = self.finder.find(&text[from..]) {
            from += at;
            let mut state = 0;
            let mut last: Option<Range<usize>> = None;
            while from < text.len() {
                state = self.advance(state, text[from]);
                from += 1;
                steps(1);
                if state >= self.least() {
                    match &mut last {
                        Some(last) if from - state <= last.end => last.end = from,
                        _ => ranges.extend(last.replace(from - state..from)),
                    }
                } else if state == 0 && last.is_some() {
                    break;
                }
            }
            ranges.extend(last);
            if from == text.len() && state >= self.least() {
                return Some(state);
            }
        }
        None
    }
}
