//! What servers of the Responses API send: items, their pieces, and their ends.
//! The other wires stand above.

use super::*;

/// Events of the Responses API.
pub(super) fn responses() -> Seeds {
    let event = |kind: &str, members: Value| {
        let mut event = members;
        event["type"] = json!(format!("response.{kind}"));
        event
    };
    let item = |kind: &str, index: u64, item: Value| {
        event(kind, json!({"output_index": index, "item": item}))
    };
    let end = |kind: &str, response: Value| event(kind, json!({"response": response}));
    let say = |index: u64, text: &str| {
        event(
            "output_text.delta",
            json!({"output_index": index, "item_id": "m", "delta": text}),
        )
    };
    let call = |id: &str, input: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": input});
    let completed = end(
        "completed",
        json!({"status": "completed", "usage": {"input_tokens": 5, "output_tokens": 2,
            "input_tokens_details": {"cached_tokens": 3}, "output_tokens_details": {"reasoning_tokens": 1}}}),
    );
    let thought = json!({"type": "reasoning", "id": "rs", "encrypted_content": "Z0FB",
        "summary": [{"type": "summary_text", "text": "so"}]});
    let seeds = [
        (
            "text",
            vec![
                say(0, "Grü"),
                say(0, "ße"),
                event("output_text.done", json!({"text": "Grüße!"})),
                completed.clone(),
            ],
        ),
        (
            "calls",
            vec![
                item(
                    "output_item.added",
                    0,
                    json!({"type": "reasoning", "id": "rs"}),
                ),
                event(
                    "reasoning_summary_text.delta",
                    json!({"item_id": "rs", "summary_index": 0, "delta": "so"}),
                ),
                item("output_item.done", 0, thought.clone()),
                say(1, "I read."),
                item("output_item.added", 2, call("a", "")),
                event(
                    "function_call_arguments.delta",
                    json!({"output_index": 2, "delta": "{\"path\""}),
                ),
                event(
                    "function_call_arguments.done",
                    json!({"output_index": 2, "arguments": "{\"path\":1}"}),
                ),
                item("output_item.done", 3, call("call_known", "{}")),
                completed.clone(),
            ],
        ),
        (
            "state-last",
            vec![
                item("output_item.done", 0, call("a", "{}")),
                item("output_item.done", 1, thought),
                completed.clone(),
            ],
        ),
        (
            "raw",
            vec![
                event("reasoning_text.delta", json!({"delta": "hm"})),
                say(1, "x"),
                completed,
            ],
        ),
        (
            "limit",
            vec![
                item("output_item.added", 0, call("a", "{\"pa")),
                end(
                    "incomplete",
                    json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
                ),
            ],
        ),
        (
            "filtered",
            vec![
                say(0, "x"),
                end(
                    "incomplete",
                    json!({"incomplete_details": {"reason": "content_filter"}}),
                ),
            ],
        ),
        (
            "refusal",
            vec![
                event("refusal.delta", json!({"delta": "no"})),
                end("completed", json!({})),
            ],
        ),
        (
            "failed",
            vec![
                say(0, "x"),
                end(
                    "failed",
                    json!({"error": {"code": "server_error", "message": "m"}}),
                ),
            ],
        ),
        ("cut", vec![say(0, "x")]),
        (
            "whole",
            vec![
                json!({"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]}),
            ],
        ),
    ];
    seeds
        .map(|(name, events)| {
            (
                format!("responses-{name}"),
                stream("\n", &events).into_bytes(),
            )
        })
        .into()
}
