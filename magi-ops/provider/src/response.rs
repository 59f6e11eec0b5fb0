//! A streamed response: its pieces, and the stream that is pulled for them.
//! What makes the pieces is a provider's.

use std::pin::Pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use serde_json::Value;

use crate::error::ProviderError;
use crate::message::ToolCall;

/// One piece of a streamed response.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// A piece of the answer's text; pieces concatenate.
    Text(String),
    /// A piece of raw thinking, which must not be shown; or, with `provider_summary`, one summary that
    /// the provider itself made for display. A summary comes whole and only once the provider has
    /// completed it, so two of them never run together and half of one is never told.
    Reasoning {
        text: String,
        provider_summary: bool,
    },
    /// A complete item of what the provider wants back; see [`crate::ProviderState::items`].
    State(Value),
    /// A complete tool call. It may run once the response has ended without an error, not before.
    ToolCall(ToolCall),
    /// The model reached the limit of its output or its context: what came is all there is. Follows
    /// what was cut off, whose last tool call may lack a part of its input. At most once.
    Cut,
    /// Nothing has arrived yet, and the request is about to be sent once more.
    Retry(Retry),
    /// What a person should know though the request goes on. Nothing has arrived yet.
    Notice(ProviderError),
    /// Token counts; a later report replaces an earlier one of the same response.
    Usage(Usage),
}

/// One attempt that failed before the response began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Number of the attempt that failed, from 1.
    pub attempt: u32,
    /// What is waited before the next one.
    pub wait: Duration,
    pub why: ProviderError,
}

/// Token counts of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    /// The part of `input` that came from the provider's cache; `None` if the provider does not say.
    pub cache_read: Option<u64>,
    /// The part of `output` that was thinking; `None` if the provider does not say.
    pub reasoning: Option<u64>,
}

/// A response as it arrives. Dropping it stops the work behind it.
pub struct Response {
    /// `None` once the stream has ended or failed: nothing follows a failure.
    stream: Option<Pin<Box<Chunks>>>,
}

type Chunks = dyn Stream<Item = Result<Chunk, ProviderError>> + Send;

impl Response {
    /// Wraps what a provider yields. The stream is pulled in place, without a task or a queue
    /// between, so a slow reader holds the provider back and a dropped response stops it.
    pub fn from_stream(
        stream: impl Stream<Item = Result<Chunk, ProviderError>> + Send + 'static,
    ) -> Self {
        Self {
            stream: Some(Box::pin(stream)),
        }
    }

    /// The next piece; `None` is the end. After an error there is only the end.
    ///
    /// Cancel safe: a piece is never lost when the returned future is dropped.
    pub async fn next(&mut self) -> Option<Result<Chunk, ProviderError>> {
        let item = self.stream.as_mut()?.next().await;
        if !matches!(item, Some(Ok(_))) {
            self.stream = None;
        }
        item
    }
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response")
            .field("ended", &self.stream.is_none())
            .finish()
    }
}
