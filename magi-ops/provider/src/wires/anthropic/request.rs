//! A conversation as a request of the Messages API, and where its signed thoughts belong.
//! Nothing is read from a response here.

use serde_json::{Map, Value, json};

use super::models;
use crate::wires::turns::{
    Answered, Turn, input_object, says_something, turns, wire_id, wire_name,
};
use crate::{Request, Thought};

/// Where a thought stood in its response, and what it was.
///
/// A [`Thought`]'s signature is opaque to everybody else, so the place stands in it: the API refuses
/// thoughts that come back in another place than they were given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// Whether the API keeps the thought's text to itself.
    pub(super) redacted: bool,
    /// Bytes of the response's text before it.
    pub(super) text: usize,
    /// Tool calls before it.
    pub(super) calls: usize,
    /// The API's own signature or, of a redacted thought, its data.
    pub(super) signature: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn write(&self) -> String {
        let kind = if self.redacted { 'r' } else { 's' };
        format!("{kind}{}/{}:{}", self.text, self.calls, self.signature)
    }

    fn read(opaque: &'a str) -> Self {
        let parse = || {
            // The API's signatures are base64: no colon is in them.
            let (place, signature) = opaque.split_once(':')?;
            let (kind, numbers) = place.split_at_checked(1)?;
            let (text, calls) = numbers.split_once('/')?;
            Some(Self {
                redacted: match kind {
                    "r" => true,
                    "s" => false,
                    _ => return None,
                },
                text: text.parse().ok()?,
                calls: calls.parse().ok()?,
                signature,
            })
        };
        parse().unwrap_or(Self {
            redacted: false,
            text: 0,
            calls: 0,
            signature: opaque,
        })
    }
}

pub(super) fn body(request: &Request) -> Vec<u8> {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model));
    body.insert(
        "max_tokens".into(),
        json!(models::max_tokens(&request.model)),
    );
    body.insert("stream".into(), json!(true));
    if says_something(&request.system) {
        body.insert(
            "system".into(),
            json!([{ "type": "text", "text": &*request.system, "cache_control": { "type": "ephemeral" } }]),
        );
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            })
        });
        body.insert("tools".into(), tools.collect());
    }
    if let Some(thinking) = models::thinking(&request.model, request.thinking) {
        body.insert("thinking".into(), thinking.thinking);
        if let Some(effort) = thinking.effort {
            body.insert("output_config".into(), json!({ "effort": effort }));
        }
    }
    body.insert("messages".into(), messages(request));
    // Keys are strings and values are JSON already: writing to memory cannot fail.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn messages(request: &Request) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut push = |role, blocks: Vec<Value>| {
        // Blocks of one side that follow each other are one message: results and the next prompt.
        match messages.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    };
    for turn in turns(&request.messages) {
        match turn {
            Turn::User(text) => push("user", text_block(text).into_iter().collect()),
            Turn::Assistant {
                thoughts,
                text,
                calls,
            } => {
                push("assistant", said(thoughts, text, &calls));
                push("user", calls.iter().map(result_block).collect());
            }
        }
    }
    // The conversation up to here is asked for again with the next response.
    if let Some(("user", blocks)) = messages.last_mut()
        && let Some(Value::Object(last)) = blocks.last_mut()
    {
        last.insert("cache_control".into(), json!({ "type": "ephemeral" }));
    }
    messages
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect()
}

/// One response's blocks in the order they came.
fn said(thoughts: &[Thought], text: &str, calls: &[Answered<'_>]) -> Vec<Value> {
    let mut blocks = Vec::new();
    let (mut text_at, mut calls_at) = (0, 0);
    for thought in thoughts {
        let place = Place::read(&thought.signature);
        let until = text.floor_char_boundary(place.text).max(text_at);
        blocks.extend(text_block(&text[text_at..until]));
        text_at = until;
        let until = place.calls.min(calls.len()).max(calls_at);
        blocks.extend(calls[calls_at..until].iter().map(call_block));
        calls_at = until;
        blocks.push(if place.redacted {
            json!({ "type": "redacted_thinking", "data": place.signature })
        } else {
            json!({ "type": "thinking", "thinking": thought.text, "signature": place.signature })
        });
    }
    blocks.extend(text_block(&text[text_at..]));
    blocks.extend(calls[calls_at..].iter().map(call_block));
    blocks
}

/// The API refuses a text block without a word.
fn text_block(text: &str) -> Option<Value> {
    says_something(text).then(|| json!({ "type": "text", "text": text }))
}

fn call_block(answered: &Answered<'_>) -> Value {
    let call = answered.call;
    json!({
        "type": "tool_use",
        "id": wire_id(&call.id),
        "name": wire_name(&call.name),
        "input": input_object(&call.input),
    })
}

fn result_block(answered: &Answered<'_>) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": wire_id(&answered.call.id) });
    if answered.is_error {
        block["is_error"] = json!(true);
    }
    // Without content is fine, and an error must have some.
    if says_something(answered.content) {
        block["content"] = json!(answered.content);
    } else if answered.is_error {
        block["content"] = json!("(no message)");
    }
    block
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{Message, ThinkingLevel, ToolCall, ToolSpec};

    fn request(messages: Vec<Message>) -> Request {
        Request {
            session: "s".into(),
            model: "claude-haiku-4-5".into(),
            system: "".into(),
            thinking: ThinkingLevel::Default,
            fast: false,
            messages: Arc::new(messages),
            tools: Vec::new(),
            workspace: "/".into(),
        }
    }

    fn json_of(request: &Request) -> Value {
        serde_json::from_slice(&body(request)).unwrap()
    }

    fn call(id: &str, input: Value) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: "read".into(),
            input,
        }
    }

    fn result(id: &str, content: &str, is_error: bool) -> Message {
        Message::ToolResult {
            call_id: id.into(),
            name: "read".into(),
            content: content.into(),
            is_error,
        }
    }

    fn thought(text: &str, redacted: bool, at: (usize, usize), signature: &str) -> Thought {
        let place = Place {
            redacted,
            text: at.0,
            calls: at.1,
            signature,
        };
        Thought {
            text: text.into(),
            signature: place.write(),
        }
    }

    #[test]
    fn system_tools_and_thinking_stand_where_the_api_wants_them() {
        let mut request = request(vec![Message::User { text: "hi".into() }]);
        request.system = "Be brief.".into();
        request.thinking = ThinkingLevel::Low;
        request.tools = vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            input_schema: json!({ "type": "object" }),
        }];
        assert_eq!(
            json_of(&request),
            json!({
                "model": "claude-haiku-4-5",
                "max_tokens": 64_000,
                "stream": true,
                "system": [{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral" } }],
                "tools": [{ "name": "read", "description": "Reads.", "input_schema": { "type": "object" } }],
                "thinking": { "type": "enabled", "budget_tokens": 4_096 },
                "messages": [{ "role": "user", "content": [
                    { "type": "text", "text": "hi", "cache_control": { "type": "ephemeral" } },
                ] }],
            })
        );
        request.model = "claude-opus-4-7".into();
        assert_eq!(
            json_of(&request)["output_config"],
            json!({ "effort": "low" })
        );
    }

    #[test]
    fn results_and_the_next_prompt_are_one_message() {
        let request = request(vec![
            Message::User { text: "go".into() },
            Message::Assistant {
                thoughts: Vec::new(),
                text: "\n".into(),
                tool_calls: vec![call("a", json!({"path": "x"})), call("b", json!("{\"pa"))],
            },
            result("a", "", false),
            result("b", "", true),
            Message::User { text: "".into() },
            Message::User { text: "on".into() },
        ]);
        assert_eq!(
            json_of(&request)["messages"],
            json!([
                { "role": "user", "content": [{ "type": "text", "text": "go" }] },
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "a", "name": "read", "input": { "path": "x" } },
                    { "type": "tool_use", "id": "b", "name": "read", "input": { "invalid_input": "{\"pa" } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "a" },
                    { "type": "tool_result", "tool_use_id": "b", "is_error": true, "content": "(no message)" },
                    { "type": "text", "text": "on", "cache_control": { "type": "ephemeral" } },
                ] },
            ])
        );
    }

    #[test]
    fn thoughts_go_back_to_where_they_stood() {
        let request = request(vec![
            Message::User { text: "go".into() },
            Message::Assistant {
                thoughts: vec![
                    thought("first", false, (0, 0), "AA=="),
                    thought("", true, (5, 0), "BB"),
                    thought("third", false, (10, 1), "CC"),
                ],
                text: "Well, größer".into(),
                tool_calls: vec![call("a", json!({})), call("b", json!({}))],
            },
            result("a", "1", false),
            result("b", "2", false),
        ]);
        let content = json_of(&request)["messages"][1]["content"].clone();
        assert_eq!(
            content,
            json!([
                { "type": "thinking", "thinking": "first", "signature": "AA==" },
                { "type": "text", "text": "Well," },
                { "type": "redacted_thinking", "data": "BB" },
                { "type": "text", "text": " gr" .to_owned() + "ö" },
                { "type": "tool_use", "id": "a", "name": "read", "input": {} },
                { "type": "thinking", "thinking": "third", "signature": "CC" },
                { "type": "text", "text": "ßer" },
                { "type": "tool_use", "id": "b", "name": "read", "input": {} },
            ])
        );
    }

    proptest! {
        #[test]
        fn a_place_is_read_as_it_was_written(
            redacted: bool, text: usize, calls: usize, signature in "[A-Za-z0-9+/=]{0,40}",
        ) {
            let place = Place { redacted, text, calls, signature: &signature };
            let written = place.write();
            prop_assert_eq!(Place::read(&written), place);
        }

        /// Whatever a stored thought says, the text and the calls go back whole.
        #[test]
        fn no_signature_spoils_a_request(
            signatures in prop::collection::vec("[rs]?[0-9]{0,25}/?[0-9]{0,3}:?.{0,5}", 0..4),
            text in "[ -~äß😀]{0,20}",
            count in 0..4_usize,
        ) {
            let thoughts: Vec<_> = signatures
                .into_iter()
                .map(|signature| Thought { text: "t".into(), signature })
                .collect();
            let calls: Vec<_> = (0..count).map(|at| call(&at.to_string(), json!({}))).collect();
            let answered: Vec<_> = calls
                .iter()
                .map(|call| Answered { call, content: "", is_error: false })
                .collect();
            let blocks = said(&thoughts, &text, &answered);
            let of = |kind: &str, field: &str| -> Vec<String> {
                let blocks = blocks.iter().filter(|block| block["type"] == kind);
                blocks.map(|block| block[field].as_str().unwrap().to_owned()).collect()
            };
            let ids: Vec<_> = calls.iter().map(|call| call.id.clone()).collect();
            prop_assert_eq!(of("tool_use", "id"), ids);
            let said = of("text", "text").concat();
            prop_assert_eq!(said.replace(' ', ""), text.replace(' ', ""));
        }
    }
}
