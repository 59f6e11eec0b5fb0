//! Black-box tests of real models: `magi-code serve --stdio` with a model server on the loopback.
//! Each wire's own faults are tested in `magi-ops/provider`.
#![cfg(all(
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

use std::sync::Arc;

use client::{Agent, assert_clean, launch};
use serde_json::{Value, json};
use server::{Answer, Model};
use support::Place;

const KEY: &str = "canary-key-0123456789";

/// An initialized child in `place` that has every key of these tests.
fn ready(place: &Arc<Place>) -> Agent {
    let mut launch = launch().place(place);
    for name in ["ANTHROPIC_API_KEY", "GATEWAY_KEY"] {
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
    let prompt = json!({"type": "text", "text": "What do the notes say?"});
    let mut cached_prompt = prompt.clone();
    cached_prompt["cache_control"] = cached.clone();
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
        expected(json!([{"role": "user", "content": [cached_prompt]}]))
    );
    assert_eq!(
        second,
        expected(json!([
            {"role": "user", "content": [prompt]},
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
        let messages = id == "anthropic";
        let model = Model::start(if messages {
            anthropic("Done.").into()
        } else {
            openai_chat("Done.").into()
        });
        let base = &mut settings["providers"][&id]["base_url"];
        // The path stays as it is written.
        let path = base.as_str().and_then(|base| base.splitn(4, '/').nth(3));
        *base = json!(format!("{}/{}", model.base(), path.unwrap_or_default()));
        let [first, _] = turn(&settings, &model, "Done.");
        assert_eq!(first.body["model"], settings["model"]);
        let key = if messages {
            "x-api-key"
        } else {
            "authorization"
        };
        let keyed = messages || id == "gateway";
        assert_eq!(first.header(key).is_some(), keyed, "{id}");
        lines.push(format!("{id} {}", first.line));
    }
    assert_eq!(
        lines,
        [
            "anthropic POST /v1/messages",
            "gateway POST /v1/chat/completions",
            "anthropic POST /anthropic/v1/messages",
            "ollama POST /v1/chat/completions",
            "llama POST /v1/chat/completions",
            "local POST /v1/chat/completions",
        ]
    );
}

#[test]
fn selections_that_cannot_be_served_fail_startup() {
    let custom = |own: Value| json!({"provider": "mine", "model": "m", "providers": {"mine": own}});
    let local = "http://127.0.0.1:9";
    for (settings, code) in [
        // The keys of these are not set.
        (
            json!({"provider": "anthropic", "model": "m"}),
            "provider_unavailable",
        ),
        (
            custom(json!({"api": "openai-chat", "base_url": local, "api_key_env": "NO_SUCH_KEY"})),
            "provider_unavailable",
        ),
        (
            custom(json!({"api": "openai-chat", "base_url": local, "models": ["other"]})),
            "provider_unavailable",
        ),
        (
            custom(json!({"api": "openai-responses", "base_url": local})),
            "provider_unavailable",
        ),
        (custom(json!({"base_url": local})), "provider_unavailable"),
        (
            json!({"provider": "ollama", "providers": {"ollama": {"api": "ollama"}}}),
            "provider_unavailable",
        ),
        (
            custom(json!({"api": "openai-chat"})),
            "configuration_invalid",
        ),
        (
            custom(json!({"api": "ollama", "base_url": "ftp://127.0.0.1"})),
            "configuration_invalid",
        ),
        (
            custom(json!({"api": "ollama", "base_url": "http://me:canary@127.0.0.1"})),
            "configuration_invalid",
        ),
    ] {
        let place = Place::with_settings(&settings);
        let mut agent = Agent::spawn(launch().place(&place));
        let refused = agent.err("initialize", json!({"required_capabilities": []}));
        assert_eq!(refused, code, "{settings}");
        agent.ok("shutdown", json!({}));
        assert_clean(&agent.server.wait_exit());
    }
}

fn chat(base: &str, more: &Value) -> Value {
    let mut own = json!({"api": "openai-chat", "base_url": base, "api_key_env": "GATEWAY_KEY"});
    own.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"provider": "mine", "model": "m", "providers": {"mine": own}})
}

/// A response of chat completions: its deltas, then the reason to finish.
fn completion(deltas: &[Value], reason: &str) -> Answer {
    let delta = |delta: &Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut events: Vec<_> = deltas.iter().map(delta).collect();
    events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    Answer::events(&events)
}

fn list_call(id: &str) -> Value {
    json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "list", "arguments": "{}"}}]})
}

#[test]
fn why_a_model_refuses_is_told_redacted_and_kept() {
    let secret = format!("sk-proj-{}", "aB3dE6gH9jK2mN5pQ8sT".repeat(2));
    let leak = format!(r#"{{"error":{{"message":"Incorrect API key provided: {secret}"}}}}"#);
    let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "no ".repeat(2000));
    for (status, body, told) in [
        (
            404,
            r#"{"error":{"message":"The model `m` does not exist"}}"#,
            "The model `m` does not exist",
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance"}}"#,
            "Insufficient Balance",
        ),
        (
            422,
            r#"{"detail":[{"loc":["body","messages"],"msg":"too odd"}]}"#,
            "too odd",
        ),
        (401, leak.as_str(), "Incorrect API key provided"),
        (400, long.as_str(), "no no no"),
        (
            400,
            r#"{"error":{"message":"\u001b]0;title\u0007no \u001b[31mred\u001b[0m\u001b]8;;http://x"}}"#,
            "(HTTP 400): no red",
        ),
        (302, "", "(HTTP 302)"),
    ] {
        let model = Model::answering(vec![Answer::refusal(status, body)]);
        let place = Place::with_settings(&chat(&model.base(), &json!({})));
        let mut agent = ready(&place);
        let session = agent.create();
        let run = agent.turn(&session, "Hello?");
        assert_eq!(run.outcome(), "failed");
        assert_eq!(run.end()["error_code"], "provider_unavailable", "{status}");
        let diagnostics = run.named("diagnostic");
        let summary = diagnostics.last().unwrap()["summary"].as_str().unwrap();
        assert!(summary.contains(told), "{status}: {summary}");
        assert!(summary.contains(&format!("(HTTP {status})")), "{summary}");
        assert!(
            summary.len() <= 400 && !summary.contains(&secret),
            "{summary}"
        );
        assert!(!format!("{run:?}").contains("127.0.0.1"));
        agent.end();
        let stored = std::fs::read_to_string(place.session_file(&session)).unwrap();
        assert!(
            stored.contains(told) && !stored.contains(&secret),
            "{stored}"
        );
    }
}

#[test]
fn a_model_that_cannot_be_reached_is_told_with_the_system_s_reason() {
    // Nobody listens there any more.
    let model = Model::start(Vec::new());
    let settings = json!({
        "provider": "mine",
        "model": "m",
        "providers": {"mine": {"api": "ollama", "base_url": model.base()}},
    });
    drop(model);
    let place = Place::with_settings(&settings);
    let mut agent = ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "Hello?");
    assert_eq!(run.outcome(), "failed");
    assert_eq!(run.end()["error_code"], "provider_unavailable");
    let told = format!("{run:?}");
    assert!(
        told.contains("Connection refused") || told.contains("onnection"),
        "{told}"
    );
    assert!(!told.contains("127.0.0.1"));
    agent.end();
}

#[test]
fn a_member_that_the_server_refuses_is_left_out_from_then_on() {
    let refusal = r#"{"error":{"message":"Unrecognized request argument: stream_options"}}"#;
    let done = || completion(&[json!({"content": "ok"})], "stop");
    let model = Model::answering(vec![Answer::refusal(400, refusal), done(), done()]);
    let place = Place::with_settings(&chat(&model.base(), &json!({"max_output_tokens": 77})));
    let mut agent = ready(&place);
    let session = agent.create();
    for _ in 0..2 {
        assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    }
    agent.end();
    let asked = [model.asked(), model.asked(), model.asked()];
    let has: Vec<_> = asked
        .iter()
        .map(|asked| asked.body.get("stream_options").is_some())
        .collect();
    assert_eq!(has, [true, false, false]);
    assert!(asked.iter().all(|asked| asked.body["max_tokens"] == 77));
}

#[test]
fn what_a_server_wants_back_goes_back_after_a_restart_too() {
    let signed = json!({"google": {"thought_signature": "canary-signature"}});
    let mut call = list_call("call_1");
    call["tool_calls"][0]["extra_content"] = signed.clone();
    let first = completion(
        &[json!({"reasoning_content": "canary thinking"}), call],
        "tool_calls",
    );
    let done = || completion(&[json!({"content": "ok"})], "stop");
    let model = Model::answering(vec![first, done(), done(), done()]);
    let place = Place::with_settings(&chat(&model.base(), &json!({})));
    let mut agent = ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert!(!format!("{run:?}").contains("canary"), "{run:?}");
    agent.end();
    for _ in 0..2 {
        let mut agent = ready(&place);
        agent.ok("session.open", json!({ "session_id": session }));
        agent.turn(&session, "on");
        agent.end();
    }
    let asked: Vec<_> = (0..4).map(|_| model.asked().body).collect();
    for body in &asked[1..] {
        let said = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .find(|message| message["role"] == "assistant")
            .unwrap();
        assert_eq!(said["reasoning_content"], "canary thinking");
        assert_eq!(said["tool_calls"][0]["extra_content"], signed);
    }
}

#[test]
fn ids_of_calls_are_as_a_server_takes_them() {
    let refusal =
        r#"{"message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}"#;
    let model = Model::answering(vec![
        completion(&[list_call("call_1")], "tool_calls"),
        Answer::refusal(400, refusal),
        completion(&[json!({"content": "ok"})], "stop"),
        completion(&[json!({"content": "ok"})], "stop"),
    ]);
    let place = Place::with_settings(&chat(&model.base(), &json!({})));
    let mut agent = ready(&place);
    let session = agent.create();
    for _ in 0..2 {
        assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    }
    agent.end();
    let ids: Vec<_> = (0..4)
        .map(|_| {
            let body = model.asked().body;
            let messages = body["messages"].as_array().unwrap().clone();
            let called = messages
                .iter()
                .find_map(|m| m["tool_calls"][0]["id"].as_str().map(str::to_owned));
            let answered = messages
                .iter()
                .find_map(|m| m["tool_call_id"].as_str().map(str::to_owned));
            assert_eq!(called, answered);
            called
        })
        .collect();
    assert_eq!((&ids[0], ids[1].as_deref()), (&None, Some("call_1")));
    assert_eq!(ids[2].as_ref().unwrap().len(), 9);
    assert_eq!(ids[2], ids[3]);
}

#[test]
fn a_model_that_repeats_one_call_is_told_and_then_stopped() {
    let answers = (0..20).map(|at| completion(&[list_call(&format!("call_{at}"))], "tool_calls"));
    let model = Model::answering(answers.collect());
    let place = Place::with_settings(&chat(&model.base(), &json!({})));
    let mut agent = ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "failed");
    assert_eq!(run.end()["error_code"], "execution_failed");
    let diagnostics = run.named("diagnostic");
    let summary = diagnostics.last().unwrap()["summary"].as_str().unwrap();
    assert!(summary.contains("eight times"), "{summary}");
    agent.end();
    let results: Vec<_> = (0..8)
        .map(|_| {
            let body = model.asked().body;
            let last = body["messages"].as_array().unwrap().last().unwrap().clone();
            last["content"]
                .as_str()
                .unwrap()
                .contains("times with the same result")
        })
        .collect();
    // Behind the third call and the later ones.
    assert_eq!(results, [false, false, false, true, true, true, true, true]);
}
