//! Messages for the tests of wires.

use serde_json::Value;

use crate::message::{Message, ToolCall};

/// A call of the tool `read`.
pub(super) fn call(id: &str, input: Value) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: "read".into(),
        input,
    }
}

/// Its result, without images.
pub(super) fn result(id: &str, content: &str, is_error: bool) -> Message {
    Message::ToolResult {
        call_id: id.into(),
        name: "read".into(),
        content: content.into(),
        images: Vec::new(),
        is_error,
    }
}
