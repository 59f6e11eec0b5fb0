//! A conversation as a request for chat completions.
//! Nothing is read from a response here.

use serde_json::{Map, Value, json};

use crate::wires::turns::{
    Answered, Turn, input_object, says_something, turns, wire_id, wire_name,
};
use crate::{Request, ThinkingLevel};

/// The levels that every server with such a choice has.
pub(super) fn nearest_level(level: ThinkingLevel) -> ThinkingLevel {
    match level {
        ThinkingLevel::XHigh | ThinkingLevel::Max => ThinkingLevel::High,
        level => level,
    }
}

pub(super) fn body(request: &Request) -> Vec<u8> {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert("stream".into(), json!(true));
    // Servers that don't know it send no counts.
    body.insert("stream_options".into(), json!({ "include_usage": true }));
    // The field is left out for servers without such a choice.
    let effort = match nearest_level(request.thinking) {
        ThinkingLevel::Default => None,
        ThinkingLevel::Low => Some("low"),
        ThinkingLevel::Medium => Some("medium"),
        ThinkingLevel::High | ThinkingLevel::XHigh | ThinkingLevel::Max => Some("high"),
    };
    if let Some(effort) = effort {
        body.insert("reasoning_effort".into(), json!(effort));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.input_schema,
                },
            })
        });
        body.insert("tools".into(), tools.collect());
    }
    body.insert("messages".into(), messages(request).into());
    // Keys are strings and values are JSON already: writing to memory cannot fail.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn messages(request: &Request) -> Vec<Value> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if says_something(&request.system) {
        messages.push(json!({ "role": "system", "content": &*request.system }));
    }
    for turn in turns(&request.messages) {
        match turn {
            Turn::User(text) => messages.push(json!({ "role": "user", "content": text })),
            // Thoughts are signed by another wire's provider: here nobody wants them.
            Turn::Assistant { text, calls, .. } => {
                let content = says_something(text).then_some(text);
                let mut message = json!({ "role": "assistant", "content": content });
                if !calls.is_empty() {
                    message["tool_calls"] = calls.iter().map(call).collect();
                }
                messages.push(message);
                messages.extend(calls.iter().map(result));
            }
        }
    }
    messages
}

fn call(answered: &Answered<'_>) -> Value {
    json!({
        "id": wire_id(&answered.call.id),
        "type": "function",
        "function": {
            "name": wire_name(&answered.call.name),
            "arguments": input_object(&answered.call.input).to_string(),
        },
    })
}

fn result(answered: &Answered<'_>) -> Value {
    // The wire has no field for failure: the model must read it.
    let content = if answered.is_error {
        format!("Error: {}", answered.content)
    } else {
        answered.content.to_owned()
    };
    json!({ "role": "tool", "tool_call_id": wire_id(&answered.call.id), "content": content })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::{Message, Thought, ToolCall, ToolSpec};

    #[test]
    fn a_conversation_becomes_messages_with_calls_and_results() {
        let call = |id: &str, name: &str, input| ToolCall {
            id: id.into(),
            name: name.into(),
            input,
        };
        let result = |id: &str, content: &str, is_error| Message::ToolResult {
            call_id: id.into(),
            name: "read".into(),
            content: content.into(),
            is_error,
        };
        let mut request = Request {
            session: "s".into(),
            model: "m".into(),
            system: "Be brief.".into(),
            thinking: ThinkingLevel::Max,
            fast: false,
            messages: Arc::new(vec![
                Message::User { text: "go".into() },
                Message::Assistant {
                    thoughts: vec![Thought {
                        text: "hm".into(),
                        signature: "s0/0:AA".into(),
                    }],
                    text: String::new(),
                    tool_calls: vec![
                        call("functions.read:0", "read", json!({"path": "x"})),
                        call("b", "", json!("{\"pa")),
                    ],
                },
                result("b", "no", true),
                result("functions.read:0", "text", false),
                Message::Assistant {
                    thoughts: Vec::new(),
                    text: "done".into(),
                    tool_calls: Vec::new(),
                },
                Message::User { text: "on".into() },
            ]),
            tools: vec![ToolSpec {
                name: "read".into(),
                description: "Reads.".into(),
                input_schema: json!({ "type": "object" }),
            }],
            workspace: "/".into(),
        };
        let sent: Value = serde_json::from_slice(&body(&request)).unwrap();
        assert_eq!(
            sent,
            json!({
                "model": "m",
                "stream": true,
                "stream_options": { "include_usage": true },
                "reasoning_effort": "high",
                "tools": [{ "type": "function", "function": {
                    "name": "read", "description": "Reads.", "parameters": { "type": "object" },
                } }],
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": "go" },
                    { "role": "assistant", "content": null, "tool_calls": [
                        { "id": "functions_read_0", "type": "function",
                          "function": { "name": "read", "arguments": "{\"path\":\"x\"}" } },
                        { "id": "b", "type": "function",
                          "function": { "name": "_", "arguments": "{\"invalid_input\":\"{\\\"pa\"}" } },
                    ] },
                    { "role": "tool", "tool_call_id": "functions_read_0", "content": "text" },
                    { "role": "tool", "tool_call_id": "b", "content": "Error: no" },
                    { "role": "assistant", "content": "done" },
                    { "role": "user", "content": "on" },
                ],
            })
        );
        request.thinking = ThinkingLevel::Default;
        request.tools.clear();
        let sent: Value = serde_json::from_slice(&body(&request)).unwrap();
        for absent in ["reasoning_effort", "tools"] {
            assert!(sent.get(absent).is_none(), "{absent}");
        }
    }
}
