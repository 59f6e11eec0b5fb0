//! Steps and their playback: how a scripted or demonstrated response streams its pieces.
//! No script syntax and no choice of what to say.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::error::{ErrorKind, ProviderError};
use crate::message::ToolCall;
use crate::response::{Chunk, Response, Usage};

/// One step of a response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Text {
        text: String,
        pieces: Pieces,
        /// Waited before each piece.
        delay: Duration,
    },
    Reasoning {
        text: String,
        provider_summary: bool,
    },
    Tool {
        name: String,
        input: Value,
    },
    Usage(Usage),
    Error(ErrorKind),
    Wait(Duration),
}

impl Step {
    /// Whether it refuses a conversation for its length: one that was shortened is not.
    pub(crate) fn is_of_length(&self) -> bool {
        *self == Self::Error(ErrorKind::ContextLength)
    }
}

/// How a text becomes pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// This many pieces of nearly equal length in characters (fewer if the text is shorter).
    Even(usize),
    /// One piece a word, each with the white space after it.
    Words,
    /// The whole text, this many times.
    Repeat(usize),
}

/// Plays one response's steps. `call_id` becomes the id of its tool call; further ones have a number behind it.
pub(crate) fn play(steps: Arc<[Step]>, call_id: String, cancel: CancellationToken) -> Response {
    let player = Player {
        steps,
        call_id,
        calls: 0,
        cancel,
        step: 0,
        cursor: Cursor::default(),
    };
    Response::from_stream(futures_util::stream::unfold(
        player,
        |mut player| async move { player.next().await.map(|item| (item, player)) },
    ))
}

struct Player {
    steps: Arc<[Step]>,
    call_id: String,
    /// Calls played so far.
    calls: usize,
    cancel: CancellationToken,
    /// Index of the step being played.
    step: usize,
    cursor: Cursor,
}

impl Player {
    async fn next(&mut self) -> Option<Result<Chunk, ProviderError>> {
        let steps = Arc::clone(&self.steps);
        while let Some(step) = steps.get(self.step) {
            if self.cancel.is_cancelled() {
                return Some(Err(ErrorKind::Cancelled.into()));
            }
            let chunk = match step {
                Step::Text {
                    text,
                    pieces,
                    delay,
                } => match self.cursor.piece(text, *pieces) {
                    Some(piece) => {
                        let chunk = Chunk::Text(piece.to_owned());
                        return Some(self.pause(*delay).await.map(|()| chunk));
                    }
                    None => None,
                },
                Step::Reasoning {
                    text,
                    provider_summary,
                } => Some(Ok(Chunk::Reasoning {
                    text: text.clone(),
                    provider_summary: *provider_summary,
                })),
                Step::Tool { name, input } => {
                    self.calls += 1;
                    let id = match self.calls {
                        1 => self.call_id.clone(),
                        more => format!("{}_{more}", self.call_id),
                    };
                    Some(Ok(Chunk::ToolCall(ToolCall {
                        id,
                        name: name.clone(),
                        input: input.clone(),
                    })))
                }
                Step::Usage(usage) => Some(Ok(Chunk::Usage(*usage))),
                Step::Error(error) => Some(Err((*error).into())),
                Step::Wait(time) => self.pause(*time).await.err().map(Err),
            };
            self.step += 1;
            self.cursor = Cursor::default();
            if chunk.is_some() {
                return chunk;
            }
        }
        None
    }

    async fn pause(&self, time: Duration) -> Result<(), ProviderError> {
        if time.is_zero() {
            // Each piece comes by itself, as in a packet of its own.
            tokio::task::yield_now().await;
            return Ok(());
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(ErrorKind::Cancelled.into()),
            () = tokio::time::sleep(time) => Ok(()),
        }
    }
}

/// Where the playback stands inside one text.
#[derive(Debug, Default, Clone, Copy)]
struct Cursor {
    /// Pieces played so far.
    played: usize,
    /// Bytes played so far.
    bytes: usize,
    /// Characters of the whole text, counted with the first piece.
    chars: usize,
}

impl Cursor {
    /// The next piece, or `None` when the text is spent. Never an empty piece.
    fn piece<'a>(&mut self, text: &'a str, pieces: Pieces) -> Option<&'a str> {
        let rest = &text[self.bytes..];
        if rest.is_empty() {
            return None;
        }
        match pieces {
            Pieces::Repeat(times) => {
                if self.played == times {
                    return None;
                }
                self.played += 1;
                Some(text)
            }
            Pieces::Words => {
                let piece = rest.split_inclusive(char::is_whitespace).next()?;
                self.advance(piece.len());
                Some(piece)
            }
            Pieces::Even(count) => {
                if self.played == 0 {
                    self.chars = text.chars().count();
                }
                let count = count.clamp(1, self.chars);
                // The i-th border lies at floor(i * chars / count): the lengths differ by one
                // at most, and since count <= chars none is empty.
                let border =
                    |index: usize| (index as u128 * self.chars as u128 / count as u128) as usize;
                let length = border(self.played + 1) - border(self.played);
                let bytes = rest
                    .char_indices()
                    .nth(length)
                    .map_or(rest.len(), |(at, _)| at);
                self.advance(bytes);
                Some(&rest[..bytes])
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.played += 1;
        self.bytes += bytes;
    }
}
