//! What a conversation consists of, and the tools that are offered in it.
//! Values only; how a wire writes them is the wire's.

use media::Image;
use serde_json::Value;
pub use store::settings::ThinkingLevel;

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What stands in the place of the conversation's beginning; first, or not at all.
    Summary {
        /// As the model is told it.
        text: String,
        /// How many [`Message::User`] it stands for.
        users: u64,
        /// How many responses to the first [`Message::User`] behind it.
        responses: u64,
    },
    /// What the person asked.
    User { text: String },
    /// One provider response: its text and the tools it asked for.
    Assistant {
        /// What the provider wants back with it.
        state: ProviderState,
        text: String,
        tool_calls: Vec<ToolCall>,
    },
    /// The outcome of one tool call.
    ToolResult {
        /// The [`ToolCall::id`] it answers.
        call_id: String,
        name: String,
        content: String,
        /// What the tool showed besides, for models that take images.
        images: Vec<Image>,
        is_error: bool,
    },
}

/// What a provider needs back to go on behind one of its responses, such as signed thinking: never
/// shown, and sent to that provider only.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProviderState {
    /// Id of the provider that gave the response; empty if that is not known.
    pub provider: String,
    /// Opaque to everybody but the provider's wire, in the order in which it gave them.
    pub items: Vec<Value>,
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
