//! Tests of the requests: what stands where, what goes back, what is left out.
//! No connection.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::config::ModelLimits;
use crate::message::{ProviderState, ThinkingLevel, ToolSpec};
use crate::wires::fixtures::{call, result};
use crate::wires::openai_codex::OpenaiCodex;
use crate::wires::openai_responses::OpenaiResponses;
use crate::wires::quirks::Quirks;
use crate::wires::wire::Wire;

fn sent(wire: &dyn Wire, request: &Request, limits: &ModelLimits, quirks: &Quirks) -> Value {
    let parameters = Parameters::new(wire, "p", limits, request, quirks.clone());
    serde_json::from_slice(&wire.body(request, &parameters)).unwrap()
}

fn usual(request: &Request) -> Value {
    let limits = ModelLimits::default();
    sent(&OpenaiResponses, request, &limits, &Quirks::default())
}

fn reasoning(id: &str, encrypted: Option<&str>) -> Value {
    let mut item = json!({"type": "reasoning", "id": id, "summary": []});
    match encrypted {
        Some(encrypted) => item["encrypted_content"] = json!(encrypted),
        None => item["content"] = json!([{"type": "reasoning_text", "text": "hm"}]),
    }
    item
}

fn conversation(provider: &str, items: Vec<Value>) -> Request {
    Request {
        session: "s-1".into(),
        model: "gpt-5".into(),
        system: "Be brief.".into(),
        thinking: ThinkingLevel::Max,
        messages: Arc::new(vec![
            Message::User { text: "go".into() },
            Message::Assistant {
                state: ProviderState {
                    provider: provider.into(),
                    items,
                },
                text: "Reading.".into(),
                tool_calls: vec![
                    call("functions.read:0", json!({"path": "x"})),
                    call("b", json!("{\"pa")),
                ],
            },
            result("b", "no", true),
            result("functions.read:0", "text", false),
            Message::User { text: "on".into() },
        ]),
        tools: vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            input_schema: json!({"type": "object", "additionalProperties": false}),
        }],
        ..Request::default()
    }
}

#[test]
fn a_conversation_becomes_items_and_nothing_is_stored() {
    let state = vec![
        state((0, 0), &reasoning("rs_1", Some("gAAA"))),
        state((8, 1), &reasoning("rs_2", Some("gBBB"))),
        // Nothing follows it.
        state((8, 2), &reasoning("rs_3", Some("gCCC"))),
    ];
    let text = |kind: &str, role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let input = |first: &Value, second: &Value, id: &str| {
        let output = |id: &str, output: &str| json!({"type": "function_call_output", "call_id": id, "output": output});
        let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": arguments});
        json!([
            text("input_text", "user", "go"),
            first,
            text("output_text", "assistant", "Reading."),
            call(id, "{\"path\":\"x\"}"),
            second,
            call("b", "{\"invalid_input\":\"{\\\"pa\"}"),
            output(id, "text"),
            output("b", "Error: no"),
            text("input_text", "user", "on"),
        ])
    };
    let (first, second) = (
        reasoning("rs_1", Some("gAAA")),
        reasoning("rs_2", Some("gBBB")),
    );
    let mut expected = json!({
        "model": "gpt-5",
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "s-1",
        "reasoning": {"effort": "high", "summary": "auto"},
        "parallel_tool_calls": true,
        "tools": [{"type": "function", "name": "read", "description": "Reads.", "strict": false,
            "parameters": {"type": "object", "additionalProperties": false}}],
        "instructions": "Be brief.",
        "input": input(&first, &second, "functions.read:0"),
    });
    let mut request = conversation("p", state);
    assert_eq!(usual(&request), expected);
    // The subscription's servers want no ids of reasoning.
    let without_id = |item: &Value| {
        let mut item = item.clone();
        item.as_object_mut().unwrap().remove("id");
        item
    };
    let limits = ModelLimits {
        max_output_tokens: Some(9),
        ..ModelLimits::default()
    };
    request.fast = true;
    expected["service_tier"] = json!("priority");
    expected["input"] = input(
        &without_id(&first),
        &without_id(&second),
        "functions.read:0",
    );
    assert_eq!(
        sent(&OpenaiCodex, &request, &limits, &Quirks::default()),
        expected
    );
    let other = sent(&OpenaiResponses, &request, &limits, &Quirks::default());
    assert_eq!(other["max_output_tokens"], 9);
}

#[test]
fn another_provider_s_reasoning_stays_away() {
    let state = vec![state((0, 0), &reasoning("rs_1", Some("gAAA")))];
    let sent = usual(&conversation("q", state));
    assert!(!sent["input"].to_string().contains("rs_1"));
    assert_eq!(sent["input"][2]["call_id"], "functions_read_0");
}

#[test]
fn settings_say_what_reasoning_goes_back() {
    let items = vec![
        state((0, 0), &reasoning("signed", Some("gAAA"))),
        state((0, 0), &reasoning("raw", None)),
    ];
    let request = conversation("p", items);
    let ids = |wanted, quirks: &Quirks| {
        let limits = ModelLimits {
            reasoning: wanted,
            ..ModelLimits::default()
        };
        let sent = sent(&OpenaiResponses, &request, &limits, quirks);
        let asks = sent.get("include").is_some();
        assert_eq!(asks, matches!(wanted, None | Some(Reasoning::Signed)));
        let items = sent["input"].as_array().unwrap();
        let ids = items.iter().filter_map(|item| item["id"].as_str());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    let usual = Quirks::default();
    assert_eq!(ids(None, &usual), ["signed"]);
    assert_eq!(ids(Some(Reasoning::Signed), &usual), ["signed"]);
    assert_eq!(ids(Some(Reasoning::Echo), &usual), ["signed", "raw"]);
    assert!(ids(Some(Reasoning::None), &usual).is_empty());
    let mut refused = Quirks::default();
    refused.left_out.insert("encrypted_content");
    assert!(ids(None, &refused).is_empty());
}

#[test]
fn thinking_is_asked_for_where_the_model_is_known_to_think() {
    use ThinkingLevel::{Default, Low, Max};
    for (model, level, left_out, expected) in [
        ("gpt-5", Default, "", Some(json!({"summary": "auto"}))),
        (
            "gpt-5.2",
            Max,
            "",
            Some(json!({"summary": "auto", "effort": "xhigh"})),
        ),
        (
            "gpt-5",
            Low,
            "reasoning.summary",
            Some(json!({"effort": "low"})),
        ),
        (
            "gpt-5",
            Low,
            "reasoning.effort",
            Some(json!({"summary": "auto"})),
        ),
        ("gpt-5", Low, "reasoning", None),
        ("gpt-5", Default, "reasoning.summary", None),
        ("gpt-4o", Max, "", None),
        ("local", Default, "", None),
        (
            "local",
            Low,
            "",
            Some(json!({"summary": "auto", "effort": "low"})),
        ),
    ] {
        let request = Request {
            model: model.into(),
            thinking: level,
            ..Request::default()
        };
        let mut quirks = Quirks::default();
        quirks.left_out.insert(left_out);
        let sent = sent(&OpenaiResponses, &request, &ModelLimits::default(), &quirks);
        assert_eq!(
            sent.get("reasoning").cloned(),
            expected,
            "{model} {level:?}"
        );
    }
}

#[test]
fn a_refusal_of_what_is_inside_a_member_leaves_the_rest() {
    use crate::error::{ErrorKind, ProviderError};
    use crate::wires::quirks::{Learned, Sent};
    for (param, words, expected) in [
        (
            "reasoning.summary",
            "Your organization must be verified",
            "reasoning.summary",
        ),
        (
            "",
            "Unsupported parameter: 'reasoning.effort' is not supported",
            "reasoning.effort",
        ),
        ("reasoning", "Unknown parameter", "reasoning"),
        (
            "include",
            "Encrypted content is not supported with this model",
            "include",
        ),
        (
            "",
            "The encrypted content gAAA could not be verified",
            "encrypted_content",
        ),
        ("", "unknown field `service_tier`", "service_tier"),
        (
            "tools[0].strict",
            "Extra inputs are not permitted",
            "strict",
        ),
    ] {
        let mut request = conversation("p", vec![state((0, 0), &reasoning("r", Some("g")))]);
        request.fast = true;
        let learned = Learned::default();
        let mut refusal = ProviderError::new(ErrorKind::Refused)
            .with_status(400)
            .with_message(words);
        refusal.param = (!param.is_empty()).then(|| param.to_owned());
        let wire = &OpenaiResponses;
        let limits = ModelLimits::default();
        let learn = || {
            let quirks = &learned.of("gpt-5");
            let body = sent(wire, &request, &limits, quirks).to_string();
            let sent = Sent {
                body: body.as_bytes(),
                quirks,
                optional: wire.optional(),
                messages: &[],
                images: crate::wires::images::Taken::NONE,
            };
            learned.learn("gpt-5", &refusal, &sent)
        };
        assert!(learn(), "{words}");
        let left_out: Vec<_> = learned.of("gpt-5").left_out.into_iter().collect();
        assert_eq!(left_out, [expected], "{words}");
        assert!(param == "include" || !learn(), "{words}");
    }
}

#[test]
fn images_of_a_result_stand_in_its_output() {
    let mut request = conversation("p", Vec::new());
    let messages = Arc::make_mut(&mut request.messages);
    for message in messages {
        if let Message::ToolResult { images, .. } = message {
            *images = vec![media::Image::new(&b"GIF89a"[..]).unwrap()];
        }
    }
    let outputs = |request: &Request| {
        let sent = usual(request);
        let items = sent["input"].as_array().unwrap().clone();
        let outputs = items
            .into_iter()
            .filter(|item| item["type"] == "function_call_output");
        outputs
            .map(|mut item| item["output"].take())
            .collect::<Vec<_>>()
    };
    let image = json!({"type": "input_image", "image_url": "data:image/gif;base64,R0lGODlh"});
    let shown = outputs(&request);
    assert_eq!(
        shown[0],
        json!([{"type": "input_text", "text": "text"}, image])
    );
    // Beside a failure, and for a model that takes none, words stand for it.
    assert!(shown[1].as_str().unwrap().contains("[image: "));
    request.model = "o3-mini".into();
    assert!(
        outputs(&request)[0]
            .as_str()
            .unwrap()
            .contains("the model takes none")
    );
}
