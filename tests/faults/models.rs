//! Model servers that answer oddly: what says error fails the turn and runs nothing, what is merely odd is read.
//! In either dialect. Each wire's own oddities are tested beside it, in `magi-ops/provider`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::driver::{Driver, Seen};
use crate::server::{Answer, Model};
use crate::support::Place;

/// The test of each dialect that is linked.
macro_rules! for_each_dialect {
    ($($name:ident: $test:ident;)*) => {
        mod local_agent_dialect {
            $(#[test] fn $name() { super::$test::<crate::local_agent::LocalAgent>(); })*
        }
        #[cfg(feature = "application-service")]
        mod application_service_dialect {
            $(#[test] fn $name() { super::$test::<crate::service::Service>(); })*
        }
    };
}

for_each_dialect! {
    what_says_error_fails_the_turn_and_runs_nothing: errors;
    what_is_merely_odd_is_read: oddities;
    calls_of_every_shape_run: calls;
}

fn place(api: &str, base: &str) -> Arc<Place> {
    Place::with_settings(&json!({
        "provider": "mine", "model": "m",
        "providers": {"mine": {"api": api, "base_url": base}},
    }))
}

/// One turn that is answered with `answers`: how it ended, what it said, whether it wrote the file.
fn turn<D: Driver>(api: &str, answers: Vec<Answer>) -> (String, String, bool) {
    let model = Model::answering(answers);
    let place = place(api, &model.base());
    let mut driver = D::ready(&place);
    let session = driver.create();
    driver.begin(&session, "go");
    let (mut said, mut outcome) = (String::new(), String::new());
    for seen in driver.rest() {
        match seen {
            Seen::Text { text, .. } => said.push_str(&text),
            Seen::Ended { outcome: end, .. } => outcome = end,
            _ => {}
        }
    }
    driver.end();
    (outcome, said, place.work().join("made.txt").exists())
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn fin(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

const WRITE: &str = r#"{"path":"made.txt","content":"x"}"#;

fn call() -> Value {
    let function = json!({"name": "write", "arguments": WRITE});
    delta(json!({"tool_calls": [{"index": 0, "id": "c1", "function": function}]}))
}

/// A text and a whole call, and behind them `last` as it stands.
fn behind_a_call(last: &str) -> Answer {
    let mut body = Answer::events(&[delta(json!({"content": "Half."})), call()]).body;
    body.extend_from_slice(last.as_bytes());
    Answer::raw("text/event-stream", body)
}

fn errors<D: Driver>() {
    let data = |value: Value| format!("data: {value}\n\ndata: [DONE]\n\n");
    for last in [
        data(json!({"object": "error", "message": "no"})),
        data(json!({"error": "no"})),
        data(json!({"error": {"message": "no"}, "choices": []})),
        data(json!({"detail": [{"msg": "no"}]})),
        data(json!({"message": "no", "code": 500})),
        data(json!({"choices": [{"delta": {}, "error": {"message": "no"}}]})),
        data(fin("error")),
        data(fin("abort")),
        data(fin("content_filter")),
        data(delta(json!({"refusal": "I will not."}))),
        "event: error\ndata: {\"code\":1}\n\n".to_owned(),
        "event: error\n\n".to_owned(),
        "data: Internal Server Error\n\n".to_owned(),
        // Behind a reason to finish.
        format!(
            "data: {}\n\n{}",
            fin("tool_calls"),
            data(json!({"error": "no"}))
        ),
        // Nothing at all.
        String::new(),
    ] {
        let (outcome, said, made) = turn::<D>("openai-chat", vec![behind_a_call(&last)]);
        assert_eq!((outcome.as_str(), made), ("failed", false), "{last}");
        assert!(said.starts_with("Half."), "{last}: {said}");
    }
    for (api, answer) in [
        (
            "openai-chat",
            Answer::raw("text/event-stream", "data: [DONE]\n\n"),
        ),
        (
            "openai-chat",
            Answer::raw("text/html", "<html>Sign in</html>"),
        ),
        (
            "openai-chat",
            Answer::raw("application/json", r#"{"error":{"message":"no"}}"#),
        ),
        (
            "openai-chat",
            Answer::raw("application/json", r#"{"choices":[]}"#),
        ),
        ("openai-chat", Answer::refusal(302, "")),
        (
            "ollama",
            Answer::refusal(404, r#"{"error":"model 'm' not found"}"#),
        ),
        (
            "anthropic",
            Answer::raw(
                "application/json",
                r#"{"type":"error","error":{"message":"no"}}"#,
            ),
        ),
        (
            "anthropic",
            Answer::raw("text/event-stream", "event: error\ndata: {}\n\n"),
        ),
        (
            "anthropic",
            Answer::events(&[
                json!({"type": "message_delta", "delta": {"stop_reason": "refusal"}}),
                json!({"type": "message_stop"}),
            ]),
        ),
        (
            "anthropic",
            Answer::events(&[json!({"type": "message_stop"})]),
        ),
    ] {
        let words = format!("{api} {answer:?}");
        let (outcome, said, made) = turn::<D>(api, vec![answer]);
        assert_eq!(
            (outcome.as_str(), said.as_str(), made),
            ("failed", "", false),
            "{words}"
        );
    }
}

fn oddities<D: Driver>() {
    let sse = |body: &str| Answer::raw("application/json", body);
    let whole = json!({"object": "chat.completion", "usage": "", "choices": [{
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi 😀"}]},
        "finish_reason": "stop",
    }]});
    let halves = r#"data: {"choices":[{"delta":{"content":"Hi \ud83d"}}],"usage":[]}

: keep-alive

data: : PROCESSING

data: {"choices":[{"delta":{"content":"\ude00"}}],"usage":{"prompt_tokens":"7"}}

data: {"choices":[{"delta":null,"finish_reason":"stop"}]}

"#;
    let block = json!({"type": "content_block_delta", "index": "0", "delta": {"type": "text_delta", "text": "Hi 😀"}});
    let mut stays = Answer::events(&[delta(json!({"content": "Hi 😀"})), fin("stop")]);
    stays.stays = true;
    for (api, answer) in [
        ("openai-chat", sse(&whole.to_string())),
        ("openai-chat", sse(halves)),
        ("openai-chat", sse(&halves.replace('\n', "\r\n"))),
        ("openai-chat", stays),
        (
            "anthropic",
            Answer::events(&[
                json!({"type": "message_start", "message": null}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}),
                block,
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": null}),
            ]),
        ),
        (
            "anthropic",
            sse(
                r#"{"type":"message","content":[{"type":"text","text":"Hi 😀"}],"stop_reason":"end_turn"}"#,
            ),
        ),
    ] {
        let words = format!("{api} {answer:?}");
        let (outcome, said, _) = turn::<D>(api, vec![answer]);
        assert_eq!(
            (outcome.as_str(), said.as_str()),
            ("completed", "Hi 😀"),
            "{words}"
        );
    }
    // A byte that is no UTF-8 costs its own place.
    let mut body = Answer::events(&[delta(json!({"content": "a?b"})), fin("stop")]).body;
    let at = body.iter().position(|byte| *byte == b'?').unwrap();
    body[at] = 0xff;
    let answer = Answer::raw("text/event-stream", body);
    let (outcome, said, _) = turn::<D>("openai-chat", vec![answer]);
    assert_eq!(
        (outcome.as_str(), said.as_str()),
        ("completed", "a\u{fffd}b")
    );
}

fn calls<D: Driver>() {
    let done = || Answer::events(&[delta(json!({"content": "Done."})), fin("stop")]);
    let tool = |tool: Value| delta(json!({"tool_calls": [tool]}));
    let input: Value = serde_json::from_str(WRITE).unwrap();
    let piece = |arguments: Value| json!({"index": 0, "function": {"arguments": arguments}});
    let named = json!({"index": "0", "id": 7, "function": {"name": "write", "arguments": ""}});
    for (events, reason) in [
        (
            vec![delta(
                json!({"function_call": {"name": "write", "arguments": WRITE}}),
            )],
            "function_call",
        ),
        (
            vec![
                tool(named.clone()),
                tool(piece(json!("{}"))),
                tool(piece(json!(WRITE))),
            ],
            "tool_calls",
        ),
        (
            vec![
                tool(named.clone()),
                tool(piece(json!(WRITE))),
                tool(piece(json!(WRITE))),
            ],
            "tool_calls",
        ),
        (
            vec![
                tool(named.clone()),
                tool(piece(json!(json!(WRITE).to_string()))),
            ],
            "stop",
        ),
        (
            vec![tool(json!({"name": "write", "arguments": input}))],
            "tool_calls",
        ),
    ] {
        let events = [events, vec![fin(reason)]].concat();
        let words = format!("{events:?}");
        let (outcome, said, made) = turn::<D>("openai-chat", vec![Answer::events(&events), done()]);
        assert_eq!(
            (outcome.as_str(), said.as_str(), made),
            ("completed", "Done.", true),
            "{words}"
        );
    }
}
