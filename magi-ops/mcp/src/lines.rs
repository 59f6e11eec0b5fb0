//! Messages as a server writes them: one a line. A line that is too long is skipped while it is read, and only what it
//! answers is taken from it. What a message means is no matter of this file.

use memchr::{memchr, memchr2};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::coop::consume_budget;

/// Longest message, in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 * 1024;
/// Room that is kept between messages: what is longer is rare enough to be made room for anew.
const KEPT_BYTES: usize = 4 * CHUNK_BYTES;
/// Longest member of an over-long message that is looked at: an id and its name are shorter.
const MAX_TOKEN_BYTES: usize = 64;

/// One line.
#[derive(Debug, PartialEq)]
pub(crate) enum Line<'b> {
    /// Without the line end.
    Whole(&'b [u8]),
    /// It was longer than [`MAX_MESSAGE_BYTES`]; with its `id`, if it had one.
    TooLong(Option<Value>),
}

/// The lines of a stream. Holds one message and one chunk at most.
pub(crate) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    /// Where the line begins.
    start: usize,
    /// How far a line end was looked for.
    searched: usize,
    /// Reads a line that is too long.
    skipped: Option<IdScan>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            from,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            skipped: None,
        }
    }

    /// The next line that is not blank; `None` at the end or after an error. What stands behind the last line end counts.
    /// Nothing is lost when the future is dropped. However many lines are there, others have their turn.
    pub(crate) async fn next(&mut self) -> Option<Line<'_>> {
        let (end, next) = loop {
            consume_budget().await;
            if self.start == self.searched && self.skipped.is_none() {
                let blank = |byte: &u8| matches!(byte, b'\n' | b'\r' | b' ' | b'\t');
                let blanks = self.buffer[self.start..]
                    .iter()
                    .take_while(|byte| blank(byte));
                self.start += blanks.count();
                self.searched = self.start;
            }
            if let Some(at) = memchr(b'\n', &self.buffer[self.searched..]) {
                let end = self.searched + at;
                break (end, end + 1);
            }
            self.searched = self.buffer.len();
            if self.skipped.is_some() || self.searched - self.start > MAX_MESSAGE_BYTES {
                let scan = self.skipped.get_or_insert_default();
                scan.read(&self.buffer[self.start..]);
                self.start = self.searched;
            }
            self.make_room();
            match self.from.read_buf(&mut self.buffer).await {
                Ok(1..) => {}
                _ if self.skipped.is_some() || self.start < self.buffer.len() => {
                    break (self.buffer.len(), self.buffer.len());
                }
                _ => return None,
            }
        };
        let bytes = &self.buffer[self.start..end];
        (self.start, self.searched) = (next, next);
        Some(match self.skipped.take() {
            None if bytes.len() <= MAX_MESSAGE_BYTES => {
                Line::Whole(bytes.strip_suffix(b"\r").unwrap_or(bytes))
            }
            scan => {
                let mut scan = scan.unwrap_or_default();
                scan.read(bytes);
                Line::TooLong(scan.id)
            }
        })
    }

    /// Forgets what was read before the line, and what a long one took.
    fn make_room(&mut self) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.is_empty() {
            self.buffer.shrink_to(KEPT_BYTES);
        }
        self.buffer.reserve(CHUNK_BYTES);
    }
}

/// Finds the member `id` of an object that is too long, or too broken, to be read as a whole.
#[derive(Default)]
pub(crate) struct IdScan {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The name or value that is being read, of the outermost object.
    token: Vec<u8>,
    /// The name of the member that is being read.
    name: Option<Vec<u8>>,
    id: Option<Value>,
}

impl IdScan {
    /// The `id` of an object.
    pub(crate) fn id_of(bytes: &[u8]) -> Option<Value> {
        let mut scan = Self::default();
        scan.read(bytes);
        scan.id
    }

    fn read(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.in_text && self.depth > 1 && !self.escaped {
                // A long text is passed over at the speed of memory.
                let Some(at) = memchr2(b'"', b'\\', bytes) else {
                    return;
                };
                self.escaped = bytes[at] == b'\\';
                self.in_text = self.escaped;
                bytes = &bytes[at + 1..];
                continue;
            }
            self.step(byte);
            bytes = rest;
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            self.keep(byte);
            (self.in_text, self.escaped) = match (self.escaped, byte) {
                (true, _) => (true, false),
                (false, b'\\') => (true, true),
                (false, other) => (other != b'"', false),
            };
            return;
        }
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.end_member();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_member(),
            b':' if self.depth == 1 => self.name = Some(std::mem::take(&mut self.token)),
            b' ' | b'\t' | b'\r' => {}
            other => {
                self.in_text = other == b'"';
                self.keep(other);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < MAX_TOKEN_BYTES {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        if self.depth != 1 {
            return;
        }
        let value = std::mem::take(&mut self.token);
        if self.name.take().is_some_and(|name| name == b"\"id\"") {
            self.id = serde_json::from_slice(&value).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Each line; of one that is too long its id.
    async fn lines(bytes: &[u8]) -> Vec<Result<Vec<u8>, Option<Value>>> {
        let mut lines = Lines::new(bytes);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            all.push(match line {
                Line::Whole(line) => Ok(line.to_vec()),
                Line::TooLong(id) => Err(id),
            });
            assert!(lines.buffer.capacity() <= 2 * MAX_MESSAGE_BYTES + 2 * CHUNK_BYTES);
        }
        all
    }

    #[tokio::test]
    async fn what_is_too_long_is_skipped_and_its_id_is_known() {
        let long = "\\\"x{".repeat(2 * MAX_MESSAGE_BYTES / 4);
        for (message, id) in [
            (
                format!(r#"{{"id":7,"result":{{"id":8,"a":"{long}"}}}}"#),
                Some(json!(7)),
            ),
            (
                format!(r#"{{"result":[{{"id":8,"a":"{long}"}}],"id": "q" }}"#),
                Some(json!("q")),
            ),
            (format!(r#"{{"a":"\"id\":3,{long}"}}"#), None),
            (long.clone(), None),
        ] {
            let text = format!("first\r\n{message}\n\nlast");
            let expected = [Ok(b"first".to_vec()), Err(id), Ok(b"last".to_vec())];
            assert_eq!(lines(text.as_bytes()).await, expected);
        }
    }

    #[tokio::test]
    async fn an_endless_flood_leaves_others_their_turn() {
        let limit = std::time::Duration::from_millis(50);
        let mut blank = Lines::new(tokio::io::repeat(b'\n'));
        assert!(tokio::time::timeout(limit, blank.next()).await.is_err());
        let chunk = "x\n".repeat(CHUNK_BYTES);
        let mut lines = Lines::new(chunk.as_bytes());
        let all = async { while lines.next().await.is_some() {} };
        let mut turns = 0;
        let others = async {
            loop {
                turns += 1;
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = all => {}
            () = others => {}
        }
        assert!(turns > 100, "{turns}");
    }

    #[tokio::test]
    async fn a_message_of_the_greatest_length_is_whole() {
        let longest = vec![b'x'; MAX_MESSAGE_BYTES];
        for (more, expected) in [(0, true), (1, false)] {
            let mut text = longest.clone();
            text.resize(longest.len() + more, b'x');
            text.push(b'\n');
            let found = lines(&text).await;
            assert_eq!(matches!(&found[..], [Ok(_)]), expected);
        }
    }

    proptest! {
        #[test]
        fn an_id_is_found_wherever_it_stands_and_however_it_is_cut(
            before in "[a-z\"\\\\{}\\[\\],:é]{0,20}", after in "[a-z\"\\\\{}\\[\\],:é]{0,20}", id: u32, at in 0.0..1.0,
        ) {
            let message = json!({"a": before, "n": {"id": 1, "x": [after, {"id": 2}]}, "id": id, "z": after}).to_string();
            let (head, tail) = message.as_bytes().split_at((message.len() as f64 * at) as usize);
            let mut scan = IdScan::default();
            scan.read(head);
            scan.read(tail);
            prop_assert_eq!(scan.id, Some(json!(id)));
        }

        #[test]
        fn no_bytes_are_more_than_lines(bytes: Vec<u8>) {
            let _ = IdScan::id_of(&bytes);
        }
    }
}
