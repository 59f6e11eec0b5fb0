//! What a response depends on: the conversation, the tools that are offered, the choice of a model.
//! Values only; how a wire writes them is the wire's.

use std::path::PathBuf;
use std::sync::Arc;

use crate::message::{Message, ThinkingLevel, ToolSpec};
use crate::written::Written;

/// Everything one response depends on.
#[derive(Debug, Clone, Default)]
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
    /// Stays with the conversation as long as it only grows.
    pub written: Written,
    /// The tools that the model may ask for.
    pub tools: Vec<ToolSpec>,
    /// The directory the session works in.
    pub workspace: PathBuf,
    /// Most tokens of the response, where it has a bound beside the settings'.
    pub max_output: Option<u64>,
    pub purpose: Purpose,
}

/// What a response is for. No server is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    #[default]
    Answer,
    /// To stand in the place of a part of the conversation, which the request tells of in its only message.
    Summary,
}
