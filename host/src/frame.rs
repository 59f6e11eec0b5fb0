//! Bytes to frames: one bounded buffer, LF-terminated, with the dialect's oversize rule.
//! Knows nothing of JSON; never reads, never writes, never grows past `max_bytes` and one read batch.

use std::ops::Range;

/// What to do with a frame that passes its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversize {
    /// Report it at the first byte over the bound; the connection closes and reads no more.
    Close,
    /// Discard up to and including its LF, report it once, go on with the next frame.
    Discard,
}

/// What to do with bytes that lack their LF when the input ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unterminated {
    /// They are refused and never executed.
    Refuse,
    /// They are a frame like any other.
    Deliver,
}

/// A dialect's framing rules.
#[derive(Clone, Copy, Debug)]
pub struct FrameRules {
    /// Largest frame in bytes, excluding its LF.
    pub max_bytes: usize,
    pub oversize: Oversize,
    pub unterminated: Unterminated,
    /// Largest number of bytes taken from the input at once.
    pub read_batch: usize,
}

/// What the buffer yields. A frame is a range of [`FrameBuffer::bytes`], excluding its LF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Framed {
    Frame(Range<usize>),
    Oversize,
    /// The input ended inside a frame that the rules refuse.
    Incomplete,
}

/// Splits a byte stream into frames.
#[derive(Debug)]
pub struct FrameBuffer {
    rules: FrameRules,
    buf: Vec<u8>,
    /// Start of the bytes not yet yielded.
    start: usize,
    /// End of the bytes read so far.
    end: usize,
    /// Bytes before this one hold no LF.
    scanned: usize,
    discarding: bool,
    closed: bool,
}

impl FrameBuffer {
    #[must_use]
    pub fn new(rules: FrameRules) -> Self {
        Self {
            rules,
            buf: Vec::new(),
            start: 0,
            end: 0,
            scanned: 0,
            discarding: false,
            closed: false,
        }
    }

    /// Room for the next read: at most `read_batch` bytes, never empty.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            self.scanned = 0;
            // A rare large frame must not pin its buffer for the life of the connection.
            if self.buf.capacity() > 16 * self.rules.read_batch && self.buf.capacity() > 256 * 1024
            {
                self.buf = Vec::new();
            }
        }
        let batch = self.rules.read_batch;
        if self.buf.len() - self.end < batch && self.start > 0 {
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.buf.len() - self.end < batch {
            let wanted = self.end + batch;
            // Grow geometrically, but never past what the bound can ever need.
            let ceiling = self.rules.max_bytes + 2 * batch;
            let target = wanted.max((self.buf.len() * 2).min(ceiling));
            self.buf.resize(target, 0);
        }
        let end = self.end;
        &mut self.buf[end..end + batch]
    }

    /// Says that `n` bytes were read into [`FrameBuffer::space`].
    pub fn filled(&mut self, n: usize) {
        self.end = (self.end + n).min(self.buf.len());
    }

    /// The next frame in what has been read, or `None` when more input is needed.
    pub fn next_frame(&mut self) -> Option<Framed> {
        loop {
            if self.closed {
                return None;
            }
            let found =
                memchr::memchr(b'\n', &self.buf[self.scanned..self.end]).map(|i| self.scanned + i);
            if self.discarding {
                match found {
                    Some(lf) => {
                        self.consume_through(lf);
                        self.discarding = false;
                        return Some(Framed::Oversize);
                    }
                    None => {
                        self.drop_pending();
                        return None;
                    }
                }
            }
            match found {
                Some(lf) if lf - self.start <= self.rules.max_bytes => {
                    let frame = self.start..lf;
                    self.consume_through(lf);
                    return Some(Framed::Frame(frame));
                }
                None if self.end - self.start <= self.rules.max_bytes => {
                    self.scanned = self.end;
                    return None;
                }
                _ => match self.rules.oversize {
                    Oversize::Close => {
                        self.closed = true;
                        self.drop_pending();
                        return Some(Framed::Oversize);
                    }
                    Oversize::Discard => {
                        self.discarding = true;
                        self.scanned = found.unwrap_or(self.end);
                    }
                },
            }
        }
    }

    /// The end of the input. Call after [`FrameBuffer::next_frame`] gave `None`.
    pub fn finish(&mut self) -> Option<Framed> {
        if self.closed {
            return None;
        }
        self.closed = true;
        if self.discarding {
            return Some(Framed::Oversize);
        }
        if self.start == self.end {
            return None;
        }
        match self.rules.unterminated {
            Unterminated::Refuse => Some(Framed::Incomplete),
            Unterminated::Deliver => Some(Framed::Frame(self.start..self.end)),
        }
    }

    /// The bytes of a frame that was just yielded; valid until the next call of `space`.
    #[must_use]
    pub fn bytes(&self, frame: Range<usize>) -> &[u8] {
        self.buf.get(frame).unwrap_or_default()
    }

    fn consume_through(&mut self, lf: usize) {
        self.start = lf + 1;
        self.scanned = lf + 1;
    }

    fn drop_pending(&mut self) {
        self.start = self.end;
        self.scanned = self.end;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const RULES: FrameRules = FrameRules {
        max_bytes: 8,
        oversize: Oversize::Discard,
        unterminated: Unterminated::Refuse,
        read_batch: 4,
    };

    fn run(rules: FrameRules, input: &[u8], step: usize) -> Vec<Result<Vec<u8>, Framed>> {
        let mut buffer = FrameBuffer::new(rules);
        let mut out = Vec::new();
        let mut rest = input;
        loop {
            while let Some(framed) = buffer.next_frame() {
                out.push(match framed {
                    Framed::Frame(range) => Ok(buffer.bytes(range).to_vec()),
                    other => Err(other),
                });
            }
            if rest.is_empty() {
                break;
            }
            let space = buffer.space();
            let n = rest.len().min(step).min(space.len());
            space[..n].copy_from_slice(&rest[..n]);
            buffer.filled(n);
            rest = &rest[n..];
        }
        if let Some(framed) = buffer.finish() {
            out.push(match framed {
                Framed::Frame(range) => Ok(buffer.bytes(range).to_vec()),
                other => Err(other),
            });
        }
        out
    }

    #[test]
    fn the_bound_is_exact() {
        assert_eq!(run(RULES, b"12345678\n", 3), vec![Ok(b"12345678".to_vec())]);
        assert_eq!(
            run(RULES, b"123456789\nab\n", 3),
            vec![Err(Framed::Oversize), Ok(b"ab".to_vec())]
        );
    }

    #[test]
    fn closing_rule_reports_at_the_first_byte_over() {
        let rules = FrameRules {
            oversize: Oversize::Close,
            ..RULES
        };
        assert_eq!(run(rules, b"123456789", 1), vec![Err(Framed::Oversize)]);
        assert_eq!(run(rules, b"12345678", 1), vec![Err(Framed::Incomplete)]);
        assert_eq!(
            run(rules, b"123456789\nab\n", 4),
            vec![Err(Framed::Oversize)]
        );
    }

    #[test]
    fn an_oversize_frame_without_its_end_is_reported_once() {
        assert_eq!(run(RULES, &[b'x'; 100], 4), vec![Err(Framed::Oversize)]);
    }

    #[test]
    fn unterminated_bytes_follow_the_rule() {
        let rules = FrameRules {
            unterminated: Unterminated::Deliver,
            ..RULES
        };
        assert_eq!(
            run(rules, b"a\nbc", 2),
            vec![Ok(b"a".to_vec()), Ok(b"bc".to_vec())]
        );
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_how_bytes_arrive(
            input in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            step in 1usize..5,
        ) {
            let expected: Vec<_> = {
                let mut out = Vec::new();
                let mut lines: Vec<&[u8]> = input.split(|b| *b == b'\n').collect();
                let last = lines.pop().unwrap();
                for line in lines {
                    out.push(if line.len() <= 8 { Ok(line.to_vec()) } else { Err(Framed::Oversize) });
                }
                if last.len() > 8 { out.push(Err(Framed::Oversize)) }
                else if !last.is_empty() { out.push(Err(Framed::Incomplete)) }
                out
            };
            prop_assert_eq!(run(RULES, &input, step), expected);
        }
    }
}
