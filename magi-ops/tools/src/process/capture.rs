//! The output of a command: read to its end whatever its length, kept in part, told what is missing.
//! Knows no process; bytes come from any reader.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes read at a time: what a pipe holds by default on Linux.
const CHUNK_BYTES: usize = 64 * 1024;

/// The beginning and the end of an output, at most `keep` bytes of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    keep: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    line_ends: u64,
    last: Option<u8>,
}

impl Captured {
    pub(super) fn keeping(keep: usize) -> Self {
        Self {
            keep,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            line_ends: 0,
            last: None,
        }
    }

    /// Reads to the end or to the first error. Never stops before: a writer must not block because
    /// nothing more is kept. What was read stays when the future is dropped.
    pub(super) async fn fill(&mut self, mut from: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(read @ 1..) = from.read(&mut chunk).await {
            self.push(&chunk[..read]);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.line_ends += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.last = bytes.last().copied().or(self.last);
        let room = self.keep - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.keep)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.keep);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// Bytes that were written, kept or not.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Lines that were written; what stands behind the last line end counts as one.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.line_ends + u64::from(self.last.is_some_and(|last| last != b'\n'))
    }

    /// Whether something was left out.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.total > (self.head.len() + self.tail.len()) as u64
    }

    /// The kept bytes: all of them, or a beginning and an end without a character that the cut went through.
    fn kept(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let (mut head, mut tail) = (self.head.clone(), Vec::from(self.tail.clone()));
        if !self.is_cut() {
            head.append(&mut tail);
            return (head, None);
        }
        head.truncate(whole_characters(&head));
        let continued = tail.iter().take(3).take_while(|b| *b & 0xc0 == 0x80);
        tail.drain(..continued.count());
        (head, Some(tail))
    }

    /// Whether [`Self::text`] shows U+FFFD in the place of bytes that are not UTF-8.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        let (head, tail) = self.kept();
        let mut parts = [head].into_iter().chain(tail);
        parts.any(|part| std::str::from_utf8(&part).is_err())
    }

    /// The kept bytes as text, with a line in between that tells how many bytes are missing. What is not
    /// UTF-8 is replaced by U+FFFD, so the text may be three times as long as the kept bytes.
    #[must_use]
    pub fn text(&self) -> String {
        let (head, tail) = self.kept();
        let mut text = String::from_utf8_lossy(&head).into_owned();
        if let Some(tail) = tail {
            let left_out = self.total - (head.len() + tail.len()) as u64;
            let line_end = if head.ends_with(b"\n") { "" } else { "\n" };
            text += &format!("{line_end}[... {left_out} bytes left out ...]\n");
            text += &String::from_utf8_lossy(&tail);
        }
        text
    }
}

/// How many bytes there are before a character that is incomplete at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last();
    let cut = last.map_or(&[][..], |chunk| chunk.invalid());
    match std::str::from_utf8(cut) {
        Err(error) if error.error_len().is_none() => bytes.len() - cut.len(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn captured(keep: usize, chunks: &[Vec<u8>]) -> Captured {
        let mut captured = Captured::keeping(keep);
        chunks.iter().for_each(|chunk| captured.push(chunk));
        captured
    }

    proptest! {
        #[test]
        fn beginning_and_end_are_kept_whatever_the_chunks(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..12),
            keep in 1_usize..60,
        ) {
            let all = chunks.concat();
            let captured = captured(keep, &chunks);
            prop_assert_eq!(captured.total(), all.len() as u64);
            prop_assert_eq!(captured.lines(), all.split_inclusive(|b| *b == b'\n').count() as u64);
            prop_assert_eq!(captured.is_cut(), all.len() > 2 * keep);
            prop_assert_eq!(&captured.head[..], &all[..keep.min(all.len())]);
            prop_assert!(captured.tail.len() <= keep);
            if captured.is_cut() {
                let tail: Vec<u8> = captured.tail.iter().copied().collect();
                prop_assert_eq!(&tail[..], &all[all.len() - keep..]);
            } else {
                prop_assert_eq!(captured.text(), String::from_utf8_lossy(&all));
            }
        }

        #[test]
        fn cuts_go_between_characters(text in "[aä€𝄞\n]{0,80}", keep in 8_usize..40) {
            let captured = captured(keep, &[text.clone().into_bytes()]);
            let shown = captured.text();
            prop_assert!(!shown.contains('\u{fffd}'), "{}", shown);
            if captured.is_cut() {
                let (head, rest) = shown.split_once("[... ").unwrap();
                let (left_out, tail) = rest.split_once(" bytes left out ...]\n").unwrap();
                let left_out: usize = left_out.parse().unwrap();
                prop_assert!(text.ends_with(tail));
                let (kept, _) = text.split_at(text.len() - left_out - tail.len());
                let line_end = if kept.ends_with('\n') { "" } else { "\n" };
                prop_assert_eq!(head, format!("{kept}{line_end}"));
            }
        }
    }

    #[test]
    fn what_is_no_text_is_shown_in_part() {
        let captured = captured(100, &[b"a\xff\xfeb\0\xe2\x82".to_vec()]);
        assert_eq!(captured.text(), "a\u{fffd}\u{fffd}b\0\u{fffd}");
    }
}
