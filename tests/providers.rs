//! Black-box tests of real models: `magi-code serve --stdio` with a model server on the loopback.
//! Each wire's own faults are tested in `magi-ops/provider`.
#![cfg(all(
    feature = "application-service",
    feature = "local-agent",
    feature = "lifecycle",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    feature = "providers",
    unix
))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "local_agent/client.rs"]
#[allow(dead_code)] // the other tests of this client use the rest
mod client;
#[path = "local_agent/run.rs"]
#[allow(dead_code)]
mod run;
#[path = "providers/server.rs"]
mod server;
#[path = "application_service/client.rs"]
#[allow(dead_code)]
mod service;

use std::sync::Arc;

use client::{Agent, assert_clean, launch};
use serde_json::{Value, json};
use server::{Answer, Model};
use support::Place;

#[path = "providers/codex.rs"]
mod codex;
#[path = "providers/compaction.rs"]
mod compaction;
#[path = "providers/differences.rs"]
mod differences;
#[path = "providers/images.rs"]
mod images;
#[path = "providers/recordings.rs"]
mod recordings;
#[path = "providers/requests.rs"]
mod requests;

const KEY: &str = "canary-key-0123456789";

/// An initialized child in `place` that has every key of these tests.
fn ready(place: &Arc<Place>) -> Agent {
    let mut launch = launch().place(place);
    for name in [
        "ANTHROPIC_API_KEY",
        "GATEWAY_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
    ] {
        launch = launch.env(name, KEY);
    }
    let mut agent = Agent::spawn(launch);
    agent.initialize();
    agent
}

fn texts(data: &[Value]) -> Vec<String> {
    data.iter().map(Value::to_string).collect()
}

/// A message that asks for `read`, then one that says `text`.
fn anthropic(text: &str) -> [Vec<String>; 2] {
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 9}}});
    let stop = |reason| {
        let usage = json!({"output_tokens": 5});
        [
            json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}),
            json!({"type": "message_stop"}),
        ]
    };
    let begin = |index, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let end = |index| json!({"type": "content_block_stop", "index": index});
    let [tool_delta, tool_stop] = stop("tool_use");
    let [text_delta, text_stop] = stop("end_turn");
    [
        texts(&[
            start.clone(),
            begin(
                0,
                json!({"type": "thinking", "thinking": "", "signature": ""}),
            ),
            delta(
                0,
                json!({"type": "thinking_delta", "thinking": "canary thinking"}),
            ),
            delta(0, json!({"type": "signature_delta", "signature": "U0lH"})),
            end(0),
            begin(1, json!({"type": "text", "text": ""})),
            delta(1, json!({"type": "text_delta", "text": "I read it."})),
            end(1),
            begin(
                2,
                json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}),
            ),
            delta(
                2,
                json!({"type": "input_json_delta", "partial_json": "{\"path\": \"no"}),
            ),
            delta(
                2,
                json!({"type": "input_json_delta", "partial_json": "tes.txt\"}"}),
            ),
            end(2),
            tool_delta,
            tool_stop,
        ]),
        texts(&[
            start,
            begin(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": text})),
            end(0),
            text_delta,
            text_stop,
        ]),
    ]
}

/// The same as chat completions.
fn openai_chat(text: &str) -> [Vec<String>; 2] {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let call = |call: Value| delta(json!({"tool_calls": [call]}));
    let finish = |reason| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let mut first = texts(&[
        delta(json!({"role": "assistant", "reasoning_content": "canary thinking"})),
        delta(json!({"content": "I read it."})),
        call(json!({"index": 0, "id": "call_1", "function": {"name": "read", "arguments": ""}})),
        call(json!({"index": 0, "function": {"arguments": "{\"path\": \"no"}})),
        call(json!({"index": 0, "function": {"arguments": "tes.txt\"}"}})),
        finish("tool_calls"),
    ]);
    let mut second = texts(&[delta(json!({"content": text})), finish("stop")]);
    for events in [&mut first, &mut second] {
        events.push(r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}"#.into());
        events.push("[DONE]".into());
    }
    [first, second]
}

/// The same as events of the Responses API.
fn openai_responses(text: &str) -> [Vec<String>; 2] {
    let item = |index: u64, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let say = |text: &str| json!({"type": "response.output_text.delta", "output_index": 1, "delta": text});
    let end = json!({"type": "response.completed", "response": {"status": "completed", "error": null,
        "usage": {"input_tokens": 9, "output_tokens": 5}}});
    let first = [
        json!({"type": "response.created", "response": {"status": "in_progress", "error": null}}),
        json!({"type": "response.reasoning_text.delta", "output_index": 0, "delta": "canary thinking"}),
        item(
            0,
            json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA", "summary": []}),
        ),
        say("I read it."),
        json!({"type": "response.output_item.added", "output_index": 2, "item":
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"path\": \"no"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "tes.txt\"}"}),
        end.clone(),
    ];
    [texts(&first), texts(&[say(text), end])]
}

/// The same as answers of Gemini.
fn gemini(text: &str) -> [Vec<String>; 2] {
    let parts =
        |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let end = json!({"candidates": [{"finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5}});
    let first = [
        parts(json!([{"text": "canary thinking", "thought": true}])),
        parts(json!([{"text": "I read it."}])),
        parts(
            json!([{"functionCall": {"name": "read", "args": {"path": "notes.txt"}}, "thoughtSignature": "c2ln"}]),
        ),
        end.clone(),
    ];
    [texts(&first), texts(&[parts(json!([{"text": text}])), end])]
}

/// A turn with a tool call, then text; returns what the model was asked both times.
fn turn(settings: &Value, model: &Model, text: &str) -> [server::Asked; 2] {
    let place = Place::with_settings(settings);
    place.write_file("notes.txt", "first line\nsecond line\n");
    let mut agent = ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "What do the notes say?");
    assert_eq!(run.outcome(), "completed", "{run:?}");
    assert_eq!(run.reconciled(), ["I read it.", text]);
    let shown = format!("{run:?}");
    for hidden in ["canary", "second line"] {
        assert!(!shown.contains(hidden), "{shown}");
    }
    agent.end();
    // The key is nowhere on the disk.
    let stored = std::fs::read_to_string(place.session_file(&session)).unwrap();
    assert!(!stored.contains(KEY));
    [model.asked(), model.asked()]
}

/// A request's body without the prompt of the system and the tools, which are the engine's; both must
/// be there.
fn body(mut asked: server::Asked, read: impl Fn(&Value) -> bool) -> Value {
    let body = asked.body.as_object_mut().unwrap();
    let tools = body.remove("tools").unwrap();
    assert!(tools.as_array().unwrap().iter().any(read), "{tools}");
    asked.body
}

#[test]
fn a_turn_over_the_messages_api() {
    let model = Model::start(anthropic("Two lines.").into());
    let settings = json!({
        "provider": "anthropic",
        "model": "claude-haiku-4-5",
        "thinking_level": "low",
        "providers": {"anthropic": {"base_url": model.base()}},
    });
    let asked = turn(&settings, &model, "Two lines.");
    for asked in &asked {
        assert_eq!(asked.line, "POST /v1/messages");
        assert_eq!(asked.header("x-api-key"), Some(KEY));
        assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    }
    let read = |tool: &Value| tool["name"] == "read" && tool["input_schema"]["type"] == "object";
    let cached = json!({"type": "ephemeral"});
    let [first, second] = asked.map(|asked| {
        let mut body = body(asked, read);
        let system = body.as_object_mut().unwrap().remove("system").unwrap();
        assert_eq!(system[0]["cache_control"], cached);
        assert!(system[0]["text"].as_str().unwrap().contains("Directory: "));
        body
    });
    let cached_prompt =
        json!({"type": "text", "text": "What do the notes say?", "cache_control": cached});
    let expected = |messages: Value| {
        json!({
            "model": "claude-haiku-4-5",
            "max_tokens": 64_000,
            "stream": true,
            "thinking": {"type": "enabled", "budget_tokens": 4_096},
            "messages": messages,
        })
    };
    assert_eq!(
        first,
        expected(json!([{"role": "user", "content": [cached_prompt.clone()]}]))
    );
    assert_eq!(
        second,
        expected(json!([
            {"role": "user", "content": [cached_prompt]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "canary thinking", "signature": "U0lH"},
                {"type": "text", "text": "I read it."},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "notes.txt"}},
            ]},
            {"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": "toolu_1",
                "content": RESULT, "cache_control": cached,
            }]},
        ]))
    );
}

/// What `read` says of the notes.
const RESULT: &str = "     1\tfirst line\n     2\tsecond line\n";

#[test]
fn a_turn_over_chat_completions() {
    let model = Model::start(openai_chat("Two lines.").into());
    let settings = json!({
        "provider": "mine",
        "model": "m",
        "providers": {"mine": {
            "api": "openai-chat", "base_url": format!("{}/v1/", model.base()),
            "api_key_env": "GATEWAY_KEY", "models": ["m"],
        }},
    });
    let asked = turn(&settings, &model, "Two lines.");
    for asked in &asked {
        assert_eq!(asked.line, "POST /v1/chat/completions");
        let bearer = format!("Bearer {KEY}");
        assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    }
    let read = |tool: &Value| tool["type"] == "function" && tool["function"]["name"] == "read";
    let [first, second] = asked.map(|asked| {
        let mut body = body(asked, read);
        let system = body["messages"].as_array_mut().unwrap().remove(0);
        assert_eq!(system["role"], "system");
        assert!(system["content"].as_str().unwrap().contains("Directory: "));
        body
    });
    let prompt = json!({"role": "user", "content": "What do the notes say?"});
    let expected = |messages: Value| {
        json!({
            "model": "m",
            "stream": true,
            "stream_options": {"include_usage": true},
            "messages": messages,
        })
    };
    assert_eq!(first, expected(json!([prompt])));
    assert_eq!(
        second,
        expected(json!([
            prompt,
            {"role": "assistant", "content": "I read it.", "reasoning_content": "canary thinking", "tool_calls": [
                {"id": "call_1", "type": "function",
                 "function": {"name": "read", "arguments": "{\"path\":\"notes.txt\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_1", "content": RESULT},
        ]))
    );
}

#[test]
fn a_turn_over_the_responses_api() {
    let model = Model::start(openai_responses("Two lines.").into());
    let settings = json!({
        "provider": "mine",
        "model": "gpt-5",
        "thinking_level": "low",
        "providers": {"mine": {
            "api": "openai-responses", "base_url": format!("{}/v1", model.base()), "api_key_env": "GATEWAY_KEY",
        }},
    });
    let asked = turn(&settings, &model, "Two lines.");
    for asked in &asked {
        assert_eq!(asked.line, "POST /v1/responses");
        let bearer = format!("Bearer {KEY}");
        assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    }
    let read = |tool: &Value| tool["type"] == "function" && tool["name"] == "read";
    let [first, second] = asked.map(|asked| {
        let mut body = body(asked, read);
        let system = body
            .as_object_mut()
            .unwrap()
            .remove("instructions")
            .unwrap();
        assert!(system.as_str().unwrap().contains("Directory: "));
        body
    });
    let session = first["prompt_cache_key"].as_str().unwrap();
    assert!(!session.is_empty());
    let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let prompt = message("user", "input_text", "What do the notes say?");
    let expected = |input: Value| {
        json!({
            "model": "gpt-5",
            "stream": true,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": session,
            "reasoning": {"effort": "low", "summary": "auto"},
            "parallel_tool_calls": true,
            "input": input,
        })
    };
    assert_eq!(first, expected(json!([prompt])));
    assert_eq!(
        second,
        expected(json!([
            prompt,
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA", "summary": [],
                "content": [{"type": "reasoning_text", "text": "canary thinking"}]},
            message("assistant", "output_text", "I read it."),
            {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{\"path\":\"notes.txt\"}"},
            {"type": "function_call_output", "call_id": "call_1", "output": RESULT},
        ]))
    );
}

#[test]
fn a_turn_over_gemini() {
    let model = Model::start(gemini("Two lines.").into());
    let settings = json!({
        "provider": "mine",
        "model": "m",
        "providers": {"mine": {
            "api": "gemini", "base_url": format!("{}/v1beta", model.base()), "api_key_env": "GATEWAY_KEY",
        }},
    });
    let asked = turn(&settings, &model, "Two lines.");
    for asked in &asked {
        assert_eq!(
            asked.line,
            "POST /v1beta/models/m:streamGenerateContent?alt=sse"
        );
        assert_eq!(asked.header("x-goog-api-key"), Some(KEY));
    }
    let read = |tools: &Value| {
        let declared = tools["functionDeclarations"].as_array().unwrap();
        let text = tools.to_string();
        assert!(!text.contains("additionalProperties") && !text.contains("$schema"));
        declared.iter().any(|tool| tool["name"] == "read")
    };
    let [first, second] = asked.map(|asked| {
        let mut body = body(asked, read);
        let system = body
            .as_object_mut()
            .unwrap()
            .remove("systemInstruction")
            .unwrap();
        assert!(
            system["parts"][0]["text"]
                .as_str()
                .unwrap()
                .contains("Directory: ")
        );
        body
    });
    let prompt = json!({"role": "user", "parts": [{"text": "What do the notes say?"}]});
    let expected = |contents: Value| json!({"generationConfig": {}, "contents": contents});
    assert_eq!(first, expected(json!([prompt])));
    assert_eq!(
        second,
        expected(json!([
            prompt,
            {"role": "model", "parts": [
                {"text": "I read it."},
                {"functionCall": {"name": "read", "args": {"path": "notes.txt"}}, "thoughtSignature": "c2ln"},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "read", "response": {"output": RESULT}}},
            ]},
        ]))
    );
}

/// The blocks of docs/configuration.md as they stand there; only the endpoint is the test's.
#[test]
fn the_documented_settings_work_as_they_are_written() {
    let page = include_str!("../docs/configuration.md");
    let section = page.split_once("\n## Models\n").unwrap().1;
    let section = section.split_once("\n## ").unwrap().0;
    let blocks = section.split("```json\n").skip(1);
    let mut lines = Vec::new();
    for block in blocks {
        let mut settings: Value = serde_json::from_str(block.split_once("```").unwrap().0).unwrap();
        let id = settings["provider"].as_str().unwrap().to_owned();
        let api = settings["providers"][&id]["api"].as_str();
        let api = api.unwrap_or("anthropic").to_owned();
        let answers = match api.as_str() {
            "anthropic" => anthropic("Done."),
            "openai-responses" => openai_responses("Done."),
            "gemini" => gemini("Done."),
            _ => openai_chat("Done."),
        };
        let model = Model::start(answers.into());
        let base = &mut settings["providers"][&id]["base_url"];
        // The path stays as it is written.
        let path = base.as_str().and_then(|base| base.splitn(4, '/').nth(3));
        *base = json!(format!("{}/{}", model.base(), path.unwrap_or_default()));
        let [first, _] = turn(&settings, &model, "Done.");
        let named = first.line.contains(settings["model"].as_str().unwrap());
        assert!(named || first.body["model"] == settings["model"]);
        let key = match api.as_str() {
            "anthropic" => "x-api-key",
            "gemini" => "x-goog-api-key",
            _ => "authorization",
        };
        let own = &settings["providers"][&id]["api_key_env"];
        let keyed = api == "anthropic" || own.is_string();
        assert_eq!(first.header(key).is_some(), keyed, "{id}");
        lines.push(format!("{id} {}", first.line));
    }
    assert_eq!(
        lines,
        [
            "anthropic POST /v1/messages",
            "gateway POST /v1/chat/completions",
            "openai POST /v1/responses",
            "google POST /models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            "anthropic POST /anthropic/v1/messages",
            "ollama POST /v1/chat/completions",
            "llama POST /v1/chat/completions",
            "local POST /v1/chat/completions",
        ]
    );
}
