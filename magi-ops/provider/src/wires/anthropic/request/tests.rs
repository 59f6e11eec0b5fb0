//! Tests of the requests: what stands where, what goes back, what is left out.
//! No connection.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::config::ModelLimits;
use crate::message::{Message, ProviderState, ThinkingLevel, ToolCall, ToolSpec};
use crate::wires::anthropic::Anthropic;
use crate::wires::fixtures::{call, result};
use crate::wires::openai_chat::OpenaiChat;
use crate::wires::wire::Wire;

fn request(messages: Vec<Message>) -> Request {
    Request {
        model: "claude-haiku-4-5".into(),
        messages: Arc::new(messages),
        ..Request::default()
    }
}

fn sent(wire: &dyn Wire, provider: &str, limits: &ModelLimits, request: &Request) -> Value {
    let parameters = Parameters::new(wire, provider, limits, request, Quirks::default());
    serde_json::from_slice(&wire.body(request, &parameters)).unwrap()
}

fn json_of(request: &Request) -> Value {
    sent(&Anthropic, "anthropic", &ModelLimits::default(), request)
}

fn any_message() -> impl Strategy<Value = Message> {
    let text = || prop_oneof![Just(String::new()), Just(" ".to_owned()), "[a-c\"]{1,4}"];
    let id = || prop_oneof![Just("a".to_owned()), Just("b".to_owned())];
    let call = id().prop_map(|id| ToolCall {
        id,
        name: "read".into(),
        input: json!({"path": "x"}),
    });
    prop_oneof![
        text().prop_map(|text| Message::User { text }),
        (text(), prop::collection::vec(call, 0..3)).prop_map(|(text, tool_calls)| {
            Message::Assistant {
                state: ProviderState::default(),
                text,
                tool_calls,
            }
        }),
        (id(), text(), 0..3_usize, any::<bool>()).prop_map(
            |(call_id, content, images, is_error)| {
                Message::ToolResult {
                    call_id,
                    name: "read".into(),
                    content,
                    images: vec![media::Image::new(&b"GIF89a"[..]).unwrap(); images],
                    is_error,
                }
            }
        ),
    ]
}

proptest! {
    #[test]
    fn what_was_written_before_is_what_would_be_written_now(messages in prop::collection::vec(any_message(), 1..24)) {
        let wires: [&dyn Wire; 2] = [&OpenaiChat, &Anthropic];
        for wire in wires {
            let mut growing = request(Vec::new());
            growing.system = "Be brief.".into();
            for count in 1..=messages.len() {
                growing.messages = Arc::new(messages[..count].to_vec());
                let fresh = Request { written: Default::default(), ..growing.clone() };
                let [now, anew] = [&growing, &fresh].map(|request| {
                    sent(wire, "anthropic", &ModelLimits::default(), request)
                });
                prop_assert_eq!(now, anew, "{} messages", count);
            }
        }
    }
}

fn thought(text: &str, redacted: bool, at: (usize, usize), signature: &str) -> Value {
    let place = Place {
        redacted,
        text: at.0,
        calls: at.1,
        signature,
    };
    place.state(text)
}

fn state(items: Vec<Value>) -> ProviderState {
    ProviderState {
        provider: "anthropic".into(),
        items,
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
            "tools": [{ "name": "read", "description": "Reads.", "input_schema": { "type": "object" },
                "cache_control": { "type": "ephemeral" } }],
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
            state: ProviderState::default(),
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
            { "role": "user", "content": [
                { "type": "text", "text": "go", "cache_control": { "type": "ephemeral" } },
            ] },
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
            state: state(vec![
                thought("first", false, (0, 0), "AA=="),
                thought("", true, (5, 0), "BB"),
                json!({ "of": "another kind" }),
                thought("nobody's", false, (5, 0), ""),
                thought("third", false, (10, 1), "CC"),
            ]),
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

#[test]
fn what_the_server_refused_or_the_settings_forbid_is_left_out() {
    let said = Message::Assistant {
        state: state(vec![
            thought("hm", false, (0, 0), "AA"),
            thought("raw", false, (0, 0), ""),
        ]),
        text: "x".into(),
        tool_calls: Vec::new(),
    };
    let mut request = request(vec![said, Message::User { text: "on".into() }]);
    request.thinking = ThinkingLevel::Low;
    request.model = "claude-opus-4-7".into();
    let blocks = |provider: &str, reasoning| {
        let limits = ModelLimits {
            reasoning,
            ..ModelLimits::default()
        };
        let body = sent(&Anthropic, provider, &limits, &request);
        body["messages"][0]["content"].as_array().unwrap().len()
    };
    for (provider, reasoning, expected) in [
        ("anthropic", None, 2),
        ("anthropic", Some(Reasoning::Signed), 2),
        ("anthropic", Some(Reasoning::Echo), 3),
        ("anthropic", Some(Reasoning::None), 1),
        ("other", None, 1),
    ] {
        assert_eq!(
            blocks(provider, reasoning),
            expected,
            "{provider} {reasoning:?}"
        );
    }
}

#[test]
fn the_output_is_bounded_by_settings_then_by_what_is_known() {
    let limits = || ModelLimits {
        max_output_tokens: Some(1_000),
        ..ModelLimits::default()
    };
    for (provider, model, limits, expected) in [
        (
            "anthropic",
            "claude-haiku-4-5",
            ModelLimits::default(),
            64_000,
        ),
        ("anthropic", "unheard-of", ModelLimits::default(), 32_000),
        ("local", "claude-haiku-4-5", ModelLimits::default(), 64_000),
        ("local", "qwen3", ModelLimits::default(), 8_192),
        ("local", "qwen3", limits(), 1_000),
        ("anthropic", "claude-haiku-4-5", limits(), 1_000),
    ] {
        let mut request = request(Vec::new());
        request.model = model.into();
        let body = sent(&Anthropic, provider, &limits, &request);
        assert_eq!(body["max_tokens"], expected, "{provider} {model}");
    }
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
            .map(|signature| json!({ "thinking": "t", "signature": signature }))
            .collect();
        let calls: Vec<_> = (0..count).map(|at| call(&at.to_string(), json!({}))).collect();
        let answered: Vec<_> = calls
            .iter()
            .map(|call| Answered {
                call,
                id: call.id.as_str().into(),
                content: "".into(),
                images: Vec::new(),
                is_error: false,
            })
            .collect();
        let request = Request::default();
        let limits = ModelLimits::default();
        let parameters =
            Parameters::new(&Anthropic, "anthropic", &limits, &request, Quirks::default());
        let blocks = said(&thoughts, &text, &answered, &parameters);
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

/// The bytes of what a request consists of, block by block and without marks, and which of them are marked.
fn blocks(body: &Value) -> (Vec<String>, Vec<usize>) {
    let list = |value: &Value| value.as_array().unwrap().clone();
    let mut blocks: Vec<_> = [&body["tools"], &body["system"]].map(list).concat();
    for (at, message) in list(&body["messages"]).iter().enumerate() {
        for mut block in list(&message["content"]) {
            block["of"] = json!([at, message["role"]]);
            blocks.push(block);
        }
    }
    let take_mark = |block: &mut Value| block.as_object_mut().unwrap().remove("cache_control");
    let marked = blocks.iter_mut().map(|block| take_mark(block).is_some());
    let marks = marked
        .enumerate()
        .filter_map(|(at, marked)| marked.then_some(at));
    let marks = marks.collect();
    (blocks.iter().map(Value::to_string).collect(), marks)
}

#[test]
fn each_of_ten_turns_begins_with_what_the_turn_before_had_cached() {
    let mut growing = request(Vec::new());
    growing.system = "Be brief.".into();
    growing.tools = ["list", "read"]
        .map(|name| ToolSpec {
            name: name.into(),
            description: "Does it.".into(),
            input_schema: json!({ "type": "object" }),
        })
        .into();
    let mut messages = Vec::new();
    let mut before: Option<(Vec<String>, Vec<usize>)> = None;
    let mut asked = 0;
    let mut ask = |messages: &[Message]| {
        growing.messages = Arc::new(messages.to_vec());
        let body = json_of(&growing);
        let fresh = Request {
            written: Default::default(),
            ..growing.clone()
        };
        assert_eq!(body, json_of(&fresh));
        let now = blocks(&body);
        assert!((3..=4).contains(&now.1.len()), "{now:?}");
        if let Some((cached, marks)) = before.replace(now.clone()) {
            // The server has everything up to the last mark, and finds it, since one stands there again.
            let last = *marks.last().unwrap();
            assert_eq!(now.0[..=last], cached[..=last]);
            assert!(now.1.contains(&last), "{marks:?} {:?}", now.1);
        }
        asked += 1;
    };
    for turn in 0..10 {
        messages.push(Message::User {
            text: format!("turn {turn}"),
        });
        ask(&messages);
        for step in 0..turn % 3 {
            let id = format!("c{turn}_{step}");
            messages.push(Message::Assistant {
                state: state(vec![thought("hm", false, (0, 0), "U0lH")]),
                text: String::new(),
                tool_calls: vec![call(&id, json!({ "path": "x" })), call("d", json!({}))],
            });
            messages.push(result(&id, "found", false));
            messages.push(result("d", "lost", true));
            ask(&messages);
        }
        messages.push(Message::Assistant {
            state: state(Vec::new()),
            text: format!("done {turn}"),
            tool_calls: Vec::new(),
        });
    }
    assert_eq!(asked, 19);
}

#[test]
fn speed_and_failure_are_said_as_the_server_takes_them() {
    let mut request = request(vec![
        Message::User { text: "go".into() },
        Message::Assistant {
            state: ProviderState::default(),
            text: String::new(),
            tool_calls: vec![call("a", json!({}))],
        },
        result("a", "no", true),
    ]);
    assert_eq!(json_of(&request).get("service_tier"), None);
    request.fast = true;
    let body = json_of(&request);
    assert_eq!(body["service_tier"], "auto");
    assert_eq!(body["messages"][2]["content"][0]["is_error"], true);
    let mut quirks = Quirks::default();
    quirks
        .left_out
        .extend(["service_tier", "is_error", "cache_control"]);
    let limits = ModelLimits::default();
    let parameters = Parameters::new(&Anthropic, "anthropic", &limits, &request, quirks);
    let body: Value = serde_json::from_slice(&Anthropic.body(&request, &parameters)).unwrap();
    assert_eq!(body.get("service_tier"), None);
    let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": "Error: no" });
    assert_eq!(body["messages"][2]["content"][0], result);
    assert!(!body.to_string().contains("cache_control"));
}
