//! Tests of the requests: what stands where, what goes back, how thinking is asked for.
//! No connection.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::config::ModelLimits;
use crate::message::{ProviderState, ThinkingLevel, ToolSpec};
use crate::wires::fixtures::{call, result};
use crate::wires::gemini::Gemini;
use crate::wires::quirks::Quirks;

fn sent(request: &Request, limits: ModelLimits, quirks: &Quirks) -> Value {
    let parameters = Parameters::new(&Gemini, "p", &limits, request, quirks.clone());
    serde_json::from_slice(&body(request, &parameters)).unwrap()
}

fn usual(request: &Request) -> Value {
    sent(request, ModelLimits::default(), &Quirks::default())
}

fn conversation(provider: &str) -> Request {
    Request {
        model: "gemini-2.5-pro".into(),
        system: "Be brief.".into(),
        messages: Arc::new(vec![
            Message::User { text: "go".into() },
            Message::Assistant {
                state: ProviderState {
                    provider: provider.into(),
                    items: vec![
                        json!({"text": [3, 6], "calls": 0, SIGNATURE: "st"}),
                        json!({"call": 0, "id": "f-1", SIGNATURE: "sc"}),
                        json!({"text": [6, 6], "calls": 2, SIGNATURE: "se"}),
                    ],
                },
                text: "I reßd".into(),
                tool_calls: vec![
                    call("f-1", json!({"path": "x"})),
                    call("own", json!("{\"pa")),
                ],
            },
            result("own", "no", true),
            result("f-1", "text", false),
            Message::User { text: "on".into() },
        ]),
        tools: vec![
            ToolSpec {
                name: "read".into(),
                description: "Reads.".into(),
                input_schema: json!({"type": "object", "additionalProperties": false,
                    "properties": {"path": {"type": "string"}}}),
            },
            ToolSpec {
                name: "now".into(),
                description: "Tells.".into(),
                input_schema: json!({"type": "object", "properties": {}}),
            },
        ],
        ..Request::default()
    }
}

#[test]
fn a_conversation_becomes_contents_with_signatures_at_their_parts() {
    let results = json!({"role": "user", "parts": [
        {"functionResponse": {"name": "read", "id": "f-1", "response": {"output": "text"}}},
        {"functionResponse": {"name": "read", "response": {"error": "no"}}},
        {"text": "on"},
    ]});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [
            {"name": "read", "description": "Reads.", "parameters": {"type": "object",
                "properties": {"path": {"type": "string"}}}},
            {"name": "now", "description": "Tells."},
        ]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": true}},
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [
                {"text": "I r"},
                {"text": "eß", SIGNATURE: "st"},
                {"functionCall": {"name": "read", "id": "f-1", "args": {"path": "x"}}, SIGNATURE: "sc"},
                {"functionCall": {"name": "read", "args": {"invalid_input": "{\"pa"}}},
                {"text": "", SIGNATURE: "se"},
                {"text": "d"},
            ]},
            results,
        ],
    });
    assert_eq!(usual(&conversation("p")), expected);
}

#[test]
fn another_provider_s_calls_go_without_its_ids_and_signatures() {
    let model = |quirks: &Quirks| {
        let sent = sent(&conversation("q"), ModelLimits::default(), quirks);
        assert!(!sent.to_string().contains("f-1"));
        sent["contents"][1]["parts"].clone()
    };
    let call = |args: Value| json!({"functionCall": {"name": "read", "args": args}});
    let (first, second) = (
        call(json!({"path": "x"})),
        call(json!({"invalid_input": "{\"pa"})),
    );
    assert_eq!(
        model(&Quirks::default()),
        json!([{"text": "I reßd"}, first, second])
    );
    let quirks = Quirks {
        fill_signatures: true,
        ..Quirks::default()
    };
    let mut signed = first.clone();
    signed[SIGNATURE] = json!(NO_SIGNATURE);
    assert_eq!(model(&quirks), json!([{"text": "I reßd"}, signed, second]));
}

#[test]
fn thinking_is_asked_for_as_each_model_takes_it() {
    use ThinkingLevel::{Default, High, Low, Max, Medium};
    let summaries = json!({"includeThoughts": true});
    let with = |name: &str, value: Value| {
        let mut thinking = summaries.clone();
        thinking[name] = value;
        Some(thinking)
    };
    for (model, level, expected) in [
        ("gemini-2.5-pro", Default, Some(summaries.clone())),
        ("gemini-2.5-pro", Low, with("thinkingBudget", json!(4096))),
        ("gemini-2.5-pro", Max, with("thinkingBudget", json!(32_768))),
        (
            "gemini-2.5-flash",
            Max,
            with("thinkingBudget", json!(20_480)),
        ),
        (
            "models/gemini-3-pro-preview",
            Max,
            with("thinkingLevel", json!("high")),
        ),
        (
            "gemini-3-pro-preview",
            Medium,
            with("thinkingLevel", json!("low")),
        ),
        ("gemini-2.0-flash", High, None),
        ("another", Default, None),
        ("another", Max, with("thinkingLevel", json!("high"))),
    ] {
        let request = Request {
            model: model.into(),
            thinking: level,
            ..Request::default()
        };
        let limits = ModelLimits {
            max_output_tokens: Some(65_536),
            ..ModelLimits::default()
        };
        let sent = sent(&request, limits, &Quirks::default());
        let generation = &sent["generationConfig"];
        assert_eq!(generation["maxOutputTokens"], 65_536);
        assert_eq!(
            generation.get("thinkingConfig").cloned(),
            expected,
            "{model} {level:?}"
        );
    }
}

#[test]
fn thinking_leaves_room_for_the_answer() {
    for (most, expected) in [
        (100, json!({"includeThoughts": true})),
        (
            4_000,
            json!({"includeThoughts": true, "thinkingBudget": 2_000}),
        ),
        (
            20_000,
            json!({"includeThoughts": true, "thinkingBudget": 11_808}),
        ),
        (
            65_536,
            json!({"includeThoughts": true, "thinkingBudget": 20_480}),
        ),
    ] {
        let request = Request {
            model: "gemini-2.5-pro".into(),
            thinking: ThinkingLevel::High,
            max_output: Some(most),
            ..Request::default()
        };
        let sent = usual(&request);
        assert_eq!(
            sent["generationConfig"]["thinkingConfig"], expected,
            "{most}"
        );
    }
}

#[test]
fn what_a_server_refuses_is_left_out() {
    let request = Request {
        model: "gemini-3-flash".into(),
        thinking: ThinkingLevel::High,
        ..Request::default()
    };
    for (left_out, expected) in [
        (
            "thinkingConfig.thinkingLevel",
            json!({"thinkingConfig": {"includeThoughts": true}}),
        ),
        (
            "thinkingConfig.includeThoughts",
            json!({"thinkingConfig": {"thinkingLevel": "high"}}),
        ),
        ("thinkingConfig", json!({})),
    ] {
        let mut quirks = Quirks::default();
        quirks.left_out.insert(left_out);
        let sent = sent(&request, ModelLimits::default(), &quirks);
        assert_eq!(sent["generationConfig"], expected, "{left_out}");
    }
}

#[test]
fn images_of_a_result_follow_all_results() {
    let mut request = conversation("p");
    for message in Arc::make_mut(&mut request.messages) {
        if let Message::ToolResult { images, .. } = message {
            *images = vec![media::Image::new(&b"GIF89a"[..]).unwrap()];
        }
    }
    let sent = usual(&request);
    let parts = sent["contents"][2]["parts"].as_array().unwrap();
    let image = json!({"inlineData": {"mimeType": "image/gif", "data": "R0lGODlh"}});
    // And the next prompt follows those.
    assert_eq!((parts.len(), &parts[2]), (4, &image));
    assert!(parts[3]["text"].is_string());
    let error = parts[1]["functionResponse"]["response"]["error"].as_str();
    assert!(error.unwrap().contains("[image: "));
}
