//! What model servers send, whole and broken, on every wire; and scripts of the offline provider.
//! One seed for each kind of event, step and refusal.

use serde_json::{Value, json};

use super::{Seeds, padded};

mod responses;
use responses::responses;

/// An event stream of `events`, with the line end `end`.
fn stream(end: &str, events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}{end}{end}"))
        .collect()
}

pub fn wires() -> Seeds {
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 3, "output_tokens": 1}}});
    let open = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let close = |index: u64| json!({"type": "content_block_stop", "index": index});
    let stop = |reason: &str| {
        json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}})
    };
    let end = json!({"type": "message_stop"});
    let text = open(0, json!({"type": "text", "text": ""}));
    let say = |text: &str| delta(0, json!({"type": "text_delta", "text": text}));
    let tool = |index: u64, id: &str| {
        open(
            index,
            json!({"type": "tool_use", "id": id, "name": "read", "input": {}}),
        )
    };
    let fragment = |index: u64, json: &str| {
        delta(
            index,
            json!({"type": "input_json_delta", "partial_json": json}),
        )
    };
    let thinking = open(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
    );
    let think = delta(0, json!({"type": "thinking_delta", "thinking": "so"}));
    let sign = delta(0, json!({"type": "signature_delta", "signature": "c2ln"}));
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "m"}});
    let message = |rest: &[Value]| [std::slice::from_ref(&start), rest].concat();

    let choice = |delta: Value| json!({"choices": [{"delta": delta}]});
    let finish = |reason: &str| json!({"choices": [{"delta": {}, "finish_reason": reason}]});
    let call = |call: Value| choice(json!({"tool_calls": [call]}));
    let counts = json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 1}}});
    let done = "data: [DONE]\n\n";
    let chat = |events: &[Value]| stream("\n", events) + done;

    let spoken = [
        (
            "text",
            message(&[
                text.clone(),
                say("Grüße, "),
                say("😀"),
                close(0),
                stop("end_turn"),
                end.clone(),
            ]),
        ),
        (
            "calls",
            message(&[
                tool(0, "a"),
                fragment(0, "{\"path\":"),
                fragment(0, "\"x\"}"),
                close(0),
                tool(1, "a"),
                close(1),
                tool(2, "call_known"),
                fragment(2, "{1"),
                stop("tool_use"),
                end.clone(),
            ]),
        ),
        (
            "call-whole",
            message(&[
                open(
                    0,
                    json!({"type": "tool_use", "id": "", "name": "wr ite", "input": {"a": [1]}}),
                ),
                close(0),
                end.clone(),
            ]),
        ),
        (
            "thinking",
            message(&[
                thinking.clone(),
                think.clone(),
                sign.clone(),
                close(0),
                open(1, json!({"type": "redacted_thinking", "data": "ZGF0YQ=="})),
                close(1),
                tool(2, "b"),
                close(2),
                end.clone(),
            ]),
        ),
        ("unsigned", message(&[thinking, think, end.clone()])),
        (
            "limit",
            message(&[
                tool(0, "c"),
                fragment(0, "{\"a"),
                stop("max_tokens"),
                end.clone(),
            ]),
        ),
        (
            "refusal",
            message(&[text.clone(), say("I"), stop("refusal"), end.clone()]),
        ),
        (
            "unknown",
            vec![
                json!({"type": "ping"}),
                open(0, json!({"type": "server_tool_use"})),
                delta(0, json!({"type": "citations_delta"})),
                close(0),
                close(9),
                end.clone(),
            ],
        ),
        (
            "error",
            message(&[text.clone(), say("x"), error("overloaded_error")]),
        ),
        ("limited", vec![error("rate_limit_error")]),
        ("denied", vec![error("authentication_error")]),
        ("taken", message(&[text.clone(), text.clone()])),
        ("unopened", vec![say("x")]),
        ("cut", message(&[text.clone(), say("x")])),
    ];
    let mut seeds: Seeds = spoken
        .iter()
        .map(|(name, events)| {
            (
                format!("anthropic-{name}"),
                stream("\n", events).into_bytes(),
            )
        })
        .collect();
    // Named events, comments, every line end, a byte order mark, data over several lines.
    let named = spoken[0]
        .1
        .iter()
        .zip(["\n", "\r", "\r\n"].into_iter().cycle());
    let named: String = named
        .map(|(event, end)| {
            let event = event.to_string().replacen(',', &format!(",{end}data:"), 1);
            format!(": note{end}event: e{end}id: 1{end}data: {event}{end}{end}")
        })
        .collect();
    seeds.push((
        "anthropic-named".to_owned(),
        format!("\u{feff}{named}").into_bytes(),
    ));
    let chats = [
        (
            "text",
            chat(&[
                choice(json!({"role": "assistant", "content": ""})),
                choice(json!({"content": "Hi"})),
                finish("stop"),
                counts,
            ]),
        ),
        ("no-reason", chat(&[choice(json!({"content": "Hi"}))])),
        (
            "no-marker",
            stream("\r\n", &[choice(json!({"content": "Hi"})), finish("stop")]),
        ),
        (
            "reasoning",
            chat(&[
                choice(json!({"reasoning_content": "so"})),
                choice(json!({"reasoning": "so"})),
                finish("stop"),
            ]),
        ),
        (
            "calls",
            chat(&[
                call(
                    json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"a\""}}),
                ),
                call(json!({"index": 0, "function": {"arguments": ":1}"}})),
                call(
                    json!({"index": 1, "id": "call_known", "function": {"name": "li st", "arguments": {"b": []}}}),
                ),
                finish("tool_calls"),
            ]),
        ),
        (
            "calls-unnumbered",
            chat(&[
                call(json!({"id": "a", "function": {"name": "read", "arguments": "{}"}})),
                call(json!({"id": "b", "function": {"name": "read", "arguments": "[1"}})),
                call(json!({"function": {"name": "read"}})),
                call(json!({"function": {"name": "read", "arguments": "{}"}})),
                finish("length"),
            ]),
        ),
        (
            "filtered",
            chat(&[choice(json!({"content": "x"})), finish("content_filter")]),
        ),
        (
            "error",
            stream("\n", &[json!({"error": {"code": 429, "message": "slow"}})]),
        ),
        (
            "context",
            stream(
                "\n",
                &[json!({"error": "This model's maximum context length is 8 tokens"})],
            ),
        ),
        ("cut", stream("\n", &[choice(json!({"content": "x"}))])),
        ("after-the-end", chat(&[finish("stop")]) + "data: {\n\n"),
    ];
    seeds.extend(chats.map(|(name, text)| (format!("chat-{name}"), text.into_bytes())));
    seeds.extend(responses());
    seeds.extend(gemini());
    // Both sides of the bound of a line and of an event's data, and of runs of blank data.
    const BOUND: usize = 1024 * 1024;
    for (name, total) in [("at", BOUND), ("beyond", BOUND + 1)] {
        seeds.push((
            format!("line-{name}-bound"),
            [padded(":@", total), b"\n\ndata: [DONE]\n\n".to_vec()].concat(),
        ));
        let text = "data: @";
        let half = padded(text, BOUND / 2 + 6);
        let rest = padded(text, total - BOUND / 2 - 1 + 6);
        seeds.push((
            format!("event-{name}-bound"),
            [half, b"\n".to_vec(), rest, b"\n\n".to_vec()].concat(),
        ));
    }
    seeds.push((
        "invalid-utf8".to_owned(),
        b"data: \xc3\n\ndata: \xc3\ndata: \xa4\n\n".to_vec(),
    ));
    seeds.push((
        "utf8-over-lines".to_owned(),
        b"data: {}\n\ndata: \xc3\ndata: \xa4\n\n".to_vec(),
    ));
    seeds
}

/// Events of Gemini's own API.
fn gemini() -> Seeds {
    let parts =
        |parts: Value| json!({"candidates": [{"content": {"parts": parts, "role": "model"}}]});
    let finish = |reason: &str| {
        json!({"candidates": [{"finishReason": reason}], "usageMetadata": {"promptTokenCount": 5,
            "candidatesTokenCount": 2, "thoughtsTokenCount": 1, "cachedContentTokenCount": 3}})
    };
    let seeds = [
        (
            "text",
            vec![
                parts(json!([{"text": "Grü"}])),
                parts(json!([{"text": "ße", "thoughtSignature": "c2ln"}])),
                finish("STOP"),
            ],
        ),
        (
            "calls",
            vec![
                parts(json!([{"text": "so", "thought": true}])),
                parts(
                    json!([{"text": "I read."}, {"functionCall": {"id": "f", "name": "read", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "li st", "args": null}}, {"text": "", "thoughtSignature": "c2ln"}]),
                ),
                finish("STOP"),
            ],
        ),
        (
            "limit",
            vec![
                parts(json!([{"functionCall": {"name": "read"}}])),
                finish("MAX_TOKENS"),
            ],
        ),
        (
            "filtered",
            vec![parts(json!([{"text": "x"}])), finish("SAFETY")],
        ),
        (
            "failed",
            vec![
                parts(json!([{"text": "x"}])),
                finish("MALFORMED_FUNCTION_CALL"),
            ],
        ),
        (
            "blocked",
            vec![json!({"promptFeedback": {"blockReason": "OTHER"}})],
        ),
        ("cut", vec![parts(json!([{"text": "x", "thought": true}]))]),
        (
            "whole",
            vec![
                json!({"response": {"candidates": [{"content": {"parts": {"text": "Hi"}}, "finishReason": "STOP"}]}}),
            ],
        ),
    ];
    seeds
        .map(|(name, events)| (format!("gemini-{name}"), stream("\n", &events).into_bytes()))
        .into()
}

pub fn script() -> Seeds {
    let script = |steps: Value| json!({"turns": [{"steps": steps}]}).to_string();
    let refused = [
        ("no-turns", json!({"turns": []}).to_string()),
        ("no-json", "{\"turns\":".to_owned()),
        ("two", script(json!([])) + "{}"),
        ("unknown-field", script(json!([{"text": "x", "color": 1}]))),
        ("no-kind", script(json!([{}]))),
        ("two-kinds", script(json!([{"text": "x", "tool": "read"}]))),
        (
            "foreign-option",
            script(json!([{"wait_ms": 1, "chunks": 2}])),
        ),
        (
            "both-options",
            script(json!([{"text": "x", "chunks": 2, "repeat": 2}])),
        ),
        ("no-chunks", script(json!([{"text": "x", "chunks": 0}]))),
        ("long-wait", script(json!([{"wait_ms": 3_600_001}]))),
        (
            "long-text",
            script(json!([{"text": "x".repeat(68), "repeat": 1_000_000}])),
        ),
        ("no-name", script(json!([{"tool": ""}]))),
        ("unknown-error", script(json!([{"error": "tired"}]))),
        (
            "error-object",
            script(json!([{"error": {"network": null}}])),
        ),
        (
            "usage-kinds",
            script(json!([{"usage": {"input": -1, "output": 1.5}}])),
        ),
        ("by-position", json!([[[[["x"]]]]]).to_string()),
        ("turn-by-position", json!({"turns": [[[]]]}).to_string()),
        ("steps-by-position", script(json!([["x", true]]))),
        ("usage-by-position", script(json!([{"usage": [1, 2]}]))),
        (
            "twice-and-wrong",
            r#"{"turns":[{"steps":[{"text":0,"text":"b"}]}]}"#.to_owned(),
        ),
        (
            "twice",
            r#"{"turns":[{"steps":[{"text":"a","text":"b"}]}]}"#.to_owned(),
        ),
        (
            "deep",
            script(json!([{"tool": "read", "input": 0}]))
                .replace(":0", &format!(":{}", "[".repeat(200))),
        ),
    ];
    let played = [
        ("text", script(json!([{"text": "Hello, wörld.", "chunks": 4, "delay_ms": 3_600_000}, {"text": "x", "repeat": 400}]))),
        ("more-chunks", script(json!([{"text": "äb", "chunks": 1_000_000}, {"text": "", "repeat": 3}, {"text": "", "chunks": 3}]))),
        ("reasoning", script(json!([{"reasoning": "raw"}, {"reasoning": "told", "provider_summary": true}, {"reasoning": null, "text": "x"}]))),
        ("tools", script(json!([{"text": "a"}, {"tool": "read", "input": {"path": "x", "n": [1.5, null]}}, {"tool": "list"},
            {"usage": {"input": 1, "output": 2, "cache_read": 0, "reasoning": null}}]))),
        ("wait", script(json!([{"wait_ms": 3_600_000}, {"text": "x"}]))),
        ("errors", json!({"turns": [{"steps": [{"error": "rate_limited"}, {"text": "x"}]}, {"steps": [{"error": "overloaded"}]},
            {"steps": [{"text": "x"}, {"error": "network"}]}]}).to_string()),
        ("empty", script(json!([]))),
        ("cut", script(json!([{"text": "0123456789", "repeat": 1_000_000}, {"tool": "read"}]))),
    ];
    let seeds = refused.map(|(name, text)| (format!("refused-{name}"), text.into_bytes()));
    let played = played.map(|(name, text)| (name.to_owned(), text.into_bytes()));
    seeds.into_iter().chain(played).collect()
}
