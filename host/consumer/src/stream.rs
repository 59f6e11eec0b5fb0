//! Lines in and lines out over any byte stream, bounded, and safe to drop at every await.
//! No JSON and no dialect live here.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::violation::ensure;
use crate::{Error, Violation};

/// Which way a line went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From this client to the server.
    Sent,
    /// From the server to this client.
    Received,
}

/// Someone who watches the lines (without their LF), for instance to show them to a person.
pub type Tap = Box<dyn FnMut(Direction, &[u8]) + Send>;

/// A line stream over a reader and a writer. Memory: one partial line of at most the line bound plus
/// one read of 8 KiB, and whatever is queued to be written (the callers bound their requests).
pub struct Lines<R, W> {
    reader: R,
    writer: Option<W>,
    line_bytes: usize,
    input: Vec<u8>,
    /// Bytes of `input` already given out as lines.
    taken: usize,
    /// Bytes of `input` known to hold no further line feed.
    scanned: usize,
    output: Vec<u8>,
    written: usize,
    tap: Option<Tap>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Lines<R, W> {
    /// `line_bytes` bounds one received line with its LF.
    pub fn new(reader: R, writer: W, line_bytes: usize) -> Self {
        Self {
            reader,
            writer: Some(writer),
            line_bytes,
            input: Vec::new(),
            taken: 0,
            scanned: 0,
            output: Vec::new(),
            written: 0,
            tap: None,
        }
    }

    /// Shows every line to `tap` from now on.
    pub fn set_tap(&mut self, tap: Tap) {
        self.tap = Some(tap);
    }

    /// Queues one line; [`Lines::next`] and [`Lines::flush`] write it.
    pub fn queue(&mut self, line: &[u8]) {
        if let Some(tap) = &mut self.tap {
            tap(Direction::Sent, line);
        }
        self.output.extend_from_slice(line);
        self.output.push(b'\n');
    }

    /// Writes what is queued. Dropping the future loses nothing: a later call goes on where it stopped.
    ///
    /// # Errors
    /// [`Error::Closed`] after [`Lines::close_input`] or when the server no longer reads.
    pub async fn flush(&mut self) -> Result<(), Error> {
        flush(&mut self.writer, &mut self.output, &mut self.written).await
    }

    /// Closes the server's input: it sees the end of the stream.
    pub fn close_input(&mut self) {
        self.writer = None;
        self.output.clear();
        self.written = 0;
    }

    /// The next line without its LF, or `None` at the end of the stream. Queued lines are written at
    /// the same time, so that neither side can wait for the other. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Violation::FrameTooLarge`], [`Violation::IncompleteFrame`], or the stream's own error.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            if let Some(end) = self.input[self.scanned..]
                .iter()
                .position(|byte| *byte == b'\n')
            {
                let end = self.scanned + end;
                // The bound counts the LF.
                ensure(end - self.taken < self.line_bytes, Violation::FrameTooLarge)?;
                let line = self.input[self.taken..end].to_vec();
                self.taken = end + 1;
                self.scanned = self.taken;
                if let Some(tap) = &mut self.tap {
                    tap(Direction::Received, &line);
                }
                return Ok(Some(line));
            }
            self.input.drain(..self.taken);
            self.taken = 0;
            self.scanned = self.input.len();
            ensure(self.scanned < self.line_bytes, Violation::FrameTooLarge)?;
            let Self {
                reader,
                writer,
                input,
                output,
                written,
                ..
            } = self;
            input.reserve(8192);
            let read = loop {
                if output.is_empty() {
                    break reader.read_buf(input).await?;
                }
                tokio::select! {
                    read = reader.read_buf(input) => break read?,
                    // A server that stopped reading may still have said why: what it wrote comes first.
                    sent = flush(writer, output, written) => if sent.is_err() {
                        output.clear();
                        *written = 0;
                    },
                }
            };
            if read == 0 {
                return if self.input.is_empty() {
                    Ok(None)
                } else {
                    Err(Violation::IncompleteFrame.into())
                };
            }
        }
    }
}

async fn flush<W: AsyncWrite + Unpin>(
    writer: &mut Option<W>,
    output: &mut Vec<u8>,
    written: &mut usize,
) -> Result<(), Error> {
    while *written < output.len() {
        let Some(writer) = writer else {
            return Err(Error::Closed);
        };
        match writer.write(&output[*written..]).await {
            Ok(0) => return Err(Error::Closed),
            Ok(count) => *written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(Error::Closed),
            Err(error) => return Err(error.into()),
        }
    }
    output.clear();
    *written = 0;
    if let Some(writer) = writer {
        writer.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::duplex;

    fn block<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn the_bound_counts_the_line_feed() {
        block(async {
            let mut lines = Lines::new(&b"1234567\n12345678\n"[..], tokio::io::sink(), 8);
            assert_eq!(lines.next().await.unwrap().unwrap(), b"1234567");
            assert!(matches!(
                lines.next().await,
                Err(Error::Violation(Violation::FrameTooLarge))
            ));
            let mut endless = Lines::new(tokio::io::repeat(b'x'), tokio::io::sink(), 65_536);
            assert!(matches!(
                endless.next().await,
                Err(Error::Violation(Violation::FrameTooLarge))
            ));
            assert!(endless.input.len() < 65_536 + 32_768);
        });
    }

    #[test]
    fn a_line_without_its_end_is_not_a_line() {
        block(async {
            let mut lines = Lines::new(&b"{}\n{}"[..], tokio::io::sink(), 64);
            assert_eq!(lines.next().await.unwrap().unwrap(), b"{}");
            assert!(matches!(
                lines.next().await,
                Err(Error::Violation(Violation::IncompleteFrame))
            ));
        });
    }

    #[test]
    fn both_directions_move_at_once_over_a_narrow_stream() {
        block(async {
            let (near, far) = duplex(16);
            let (reader, writer) = tokio::io::split(near);
            let mut lines = Lines::new(reader, writer, 4096);
            let sent = vec![b'q'; 1000];
            lines.queue(&sent);
            let server = async move {
                let (mut reader, mut writer) = tokio::io::split(far);
                // The server answers before it has read the request: a client that only wrote would hang.
                writer
                    .write_all(&[vec![b'a'; 1000], vec![b'\n']].concat())
                    .await
                    .unwrap();
                let mut got = vec![0; 1001];
                reader.read_exact(&mut got).await.unwrap();
                got
            };
            let client = async {
                let line = lines.next().await.unwrap().unwrap();
                lines.flush().await.unwrap();
                line
            };
            let (line, got) = tokio::join!(client, server);
            assert_eq!(line, vec![b'a'; 1000]);
            assert_eq!(&got[..1000], &sent[..]);
        });
    }

    proptest! {
        #[test]
        fn any_chopping_gives_the_same_lines(
            texts in proptest::collection::vec("[a-z]{0,30}", 1..12),
            sizes in proptest::collection::vec(1usize..40, 1..20),
        ) {
            let bytes = texts.iter().map(|text| format!("{text}\n")).collect::<String>().into_bytes();
            let got = block(async move {
                let (near, mut far) = duplex(8192);
                let (reader, writer) = tokio::io::split(near);
                let mut lines = Lines::new(reader, writer, 64);
                let feed = async move {
                    let mut at = 0;
                    for size in sizes.iter().cycle() {
                        let end = (at + size).min(bytes.len());
                        far.write_all(&bytes[at..end]).await.unwrap();
                        tokio::task::yield_now().await;
                        at = end;
                        if at == bytes.len() { break; }
                    }
                    drop(far);
                };
                let read = async {
                    let mut got = Vec::new();
                    while let Some(line) = lines.next().await.unwrap() {
                        got.push(String::from_utf8(line).unwrap());
                    }
                    got
                };
                tokio::join!(read, feed).0
            });
            prop_assert_eq!(got, texts);
        }
    }
}
