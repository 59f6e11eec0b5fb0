//! Model providers: one trait, a streamed response, cancellation, a closed set of failures.
//! No session file is opened and no tool runs here; what goes over a network stands in `wires`.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

mod demonstration;
mod fixture;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod play;
mod registry;
mod script;
#[cfg(feature = "wires")]
mod wires;

pub use fixture::{FIXTURE_ID, FIXTURE_MODEL, Fixture};
pub use registry::{Api, BuildError, Patience, ProviderConfig, Secret, build, build_with};
pub use script::{MAX_SCRIPT_BYTES, ScriptError};
/// How much a model thinks before it answers.
pub use store::settings::ThinkingLevel;

/// A source of model responses.
///
/// Implementations keep no state of the conversation: everything a response depends on is in
/// the [`Request`], so that a reopened session continues where it stood.
pub trait Provider: Send + Sync {
    /// The provider's id, as `settings.json` names it.
    fn id(&self) -> &str;

    /// Starts one response. Returns at once; failures arrive through the [`Response`].
    ///
    /// When `cancel` fires, the response ends promptly with [`ProviderError::Cancelled`].
    fn respond(&self, request: Request, cancel: CancellationToken) -> Response;

    /// Tokens that a conversation with `model` may have, if that is known.
    fn context_window(&self, model: &str) -> Option<u64> {
        let _ = model;
        None
    }

    /// What `model` is asked for when `level` is chosen: the level itself, or the nearest one that
    /// the model has.
    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel {
        let _ = model;
        level
    }
}

/// Everything one response depends on.
#[derive(Debug, Clone)]
pub struct Request {
    /// Id of the session, for providers that cache by conversation.
    pub session: String,
    /// The selected model's id.
    pub model: String,
    /// What the model is told before the conversation; empty for nothing.
    pub system: Arc<str>,
    /// How much the model is to think.
    pub thinking: ThinkingLevel,
    /// Whether speed matters more than cost.
    pub fast: bool,
    /// The conversation so far, oldest first; the last [`Message::User`] opens the current turn.
    /// Shared: a request costs the same however long the conversation is.
    pub messages: Arc<Vec<Message>>,
    /// The tools that the model may ask for.
    pub tools: Vec<ToolSpec>,
    /// The directory the session works in.
    pub workspace: PathBuf,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the person asked.
    User { text: String },
    /// One provider response: its text and the tools it asked for.
    Assistant {
        /// What it thought, as far as the provider wants it back.
        thoughts: Vec<Thought>,
        text: String,
        tool_calls: Vec<ToolCall>,
    },
    /// The outcome of one tool call.
    ToolResult {
        /// The [`ToolCall::id`] it answers.
        call_id: String,
        name: String,
        content: String,
        is_error: bool,
    },
}

/// Thinking that the provider signed: never shown, and given back unchanged with the next request,
/// which the provider refuses without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought {
    pub text: String,
    /// Opaque.
    pub signature: String,
}

/// A model's wish to run a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Unique within the conversation.
    pub id: String,
    pub name: String,
    /// As the model wrote it: not yet checked against the tool's schema.
    pub input: Value,
}

/// A tool as it is offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the input object.
    pub input_schema: Value,
}

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
    /// A complete signed thought.
    Thought(Thought),
    /// A complete tool call.
    ToolCall(ToolCall),
    /// The model reached the limit of its output or its context: what came is all there is. Follows
    /// what was cut off, whose last tool call may lack a part of its input. At most once.
    Cut,
    /// Nothing has arrived yet, and the request is about to be sent once more.
    Retry(Retry),
    /// Token counts; a later report replaces an earlier one of the same response.
    Usage(Usage),
}

/// One attempt that failed before the response began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Number of the attempt that failed, from 1.
    pub attempt: u32,
    /// What is waited before the next one.
    pub wait: Duration,
    pub why: ProviderError,
}

/// Token counts of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    /// The part of `input` that came from the provider's cache; `None` if the provider does not say.
    pub cache_read: Option<u64>,
    /// The part of `output` that was thinking; `None` if the provider does not say.
    pub reasoning: Option<u64>,
}

/// Why a response failed. The words are fixed: no content, address or credential is in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ProviderError {
    #[error("the provider's rate limit is reached")]
    RateLimited,
    #[error("the provider is overloaded")]
    Overloaded,
    #[error("the provider refused the credential")]
    Unauthorized,
    #[error("the provider refused the request")]
    Refused,
    #[error("the conversation is longer than the model takes")]
    ContextLength,
    #[error("the provider cannot be reached")]
    Network,
    #[error("the provider stopped sending")]
    Stalled,
    #[error("the provider's response is malformed")]
    Malformed,
    #[error("the response was cancelled")]
    Cancelled,
    #[error("the offline provider's script is invalid")]
    ScriptInvalid,
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
