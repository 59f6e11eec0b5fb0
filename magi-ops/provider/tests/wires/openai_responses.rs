//! The Responses API: what is sent, what each event becomes, and where servers differ.
//! Faults of the connection are tested elsewhere, requests beside the wire.

use provider::{Api, Chunk, ErrorKind, ThinkingLevel, ToolCall, Usage};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{KEY, Server, answer, plain, prompt, quick, read, streamed, text};

mod said;
mod servers;

fn event(kind: &str, members: Value) -> String {
    let mut event = members;
    event["type"] = json!(format!("response.{kind}"));
    event.to_string()
}

fn added(index: u64, item: Value) -> String {
    event(
        "output_item.added",
        json!({"output_index": index, "item": item}),
    )
}

fn done(index: u64, item: Value) -> String {
    event(
        "output_item.done",
        json!({"output_index": index, "item": item}),
    )
}

fn delta(index: u64, piece: &str) -> String {
    let members = json!({"output_index": index, "content_index": 0, "item_id": format!("msg_{index}"), "delta": piece});
    event("output_text.delta", members)
}

fn completed(more: Value) -> String {
    let mut response = json!({"object": "response", "status": "completed", "error": null, "incomplete_details": null});
    response
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    event("completed", json!({"response": response}))
}

fn incomplete(reason: &str) -> String {
    let response = json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
    event("incomplete", json!({"response": response}))
}

fn call(id: &str, arguments: &str, status: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "list",
        "arguments": arguments, "status": status})
}

fn list(id: &str, input: Value) -> Chunk {
    Chunk::ToolCall(ToolCall {
        id: id.into(),
        name: "list".into(),
        input,
    })
}

fn summary(text: &str) -> Chunk {
    Chunk::Reasoning {
        text: text.into(),
        provider_summary: true,
    }
}

async fn read_of(events: &[String]) -> (Vec<Chunk>, Option<ErrorKind>) {
    answer(Api::OpenaiResponses, prompt(), streamed(events)).await
}

#[tokio::test]
async fn a_response_streams_with_summaries_calls_state_and_counts() {
    let part = |kind: &str, members: Value| {
        let mut members = members;
        members["item_id"] = json!("rs_1");
        members["output_index"] = json!(0);
        members["summary_index"] = json!(0);
        event(kind, members)
    };
    let events = [
        event(
            "created",
            json!({"response": {"status": "in_progress", "error": null, "usage": null,
            "tools": [{"parameters": {"properties": {"error": {"type": "string"}}}}]}}),
        ),
        event(
            "in_progress",
            json!({"response": {"status": "in_progress"}}),
        ),
        added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        part(
            "reasoning_summary_part.added",
            json!({"part": {"type": "summary_text", "text": ""}}),
        ),
        part("reasoning_summary_text.delta", json!({"delta": "**Look"})),
        part("reasoning_summary_text.delta", json!({"delta": "ing**"})),
        part(
            "reasoning_summary_text.done",
            json!({"text": "**Looking**"}),
        ),
        part(
            "reasoning_summary_part.done",
            json!({"part": {"type": "summary_text", "text": "**Looking**"}}),
        ),
        done(
            0,
            json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA",
            "summary": [{"type": "summary_text", "text": "**Looking**"}], "status": "completed"}),
        ),
        added(
            1,
            json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []}),
        ),
        event(
            "content_part.added",
            json!({"output_index": 1, "item_id": "msg_1", "content_index": 0,
            "part": {"type": "output_text", "text": "", "annotations": []}}),
        ),
        delta(1, "Let me "),
        delta(1, "look."),
        event(
            "output_text.done",
            json!({"output_index": 1, "item_id": "msg_1", "content_index": 0, "text": "Let me look."}),
        ),
        event(
            "content_part.done",
            json!({"output_index": 1, "item_id": "msg_1", "content_index": 0,
            "part": {"type": "output_text", "text": "Let me look."}}),
        ),
        done(
            1,
            json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Let me look."}]}),
        ),
        added(2, call("c1", "", "in_progress")),
        event(
            "function_call_arguments.delta",
            json!({"output_index": 2, "item_id": "fc_c1", "delta": "{\"pa"}),
        ),
        added(3, call("c2", "", "in_progress")),
        event(
            "function_call_arguments.delta",
            json!({"output_index": 3, "item_id": "fc_c2", "delta": "{}"}),
        ),
        event(
            "function_call_arguments.delta",
            json!({"output_index": 2, "item_id": "fc_c1", "delta": "th\":\"ü\"}"}),
        ),
        event(
            "function_call_arguments.done",
            json!({"output_index": 2, "item_id": "fc_c1", "arguments": "{\"path\":\"ü\"}"}),
        ),
        done(2, call("c1", "{\"path\":\"ü\"}", "completed")),
        done(3, call("c2", "{}", "completed")),
        completed(
            json!({"output": [], "usage": {"input_tokens": 12, "output_tokens": 9,
            "input_tokens_details": {"cached_tokens": 8}, "output_tokens_details": {"reasoning_tokens": 5}}}),
        ),
    ];
    let mut server = Server::start(vec![streamed(&events)]).await;
    let provider = server.provider(Api::OpenaiResponses, quick());
    let mut asked = prompt();
    asked.model = "gpt-5".into();
    asked.session = "s-1".into();
    asked.thinking = ThinkingLevel::Low;
    let (chunks, error) = read(provider.respond(asked, CancellationToken::new())).await;
    assert_eq!(error, None);
    let state = json!({"calls": 0, "text": 0, "reasoning": {"type": "reasoning", "id": "rs_1",
        "encrypted_content": "gAAA", "summary": [{"type": "summary_text", "text": "**Looking**"}]}});
    let counts = Chunk::Usage(Usage {
        input: 12,
        output: 9,
        cache_read: Some(8),
        reasoning: Some(5),
    });
    assert_eq!(
        chunks,
        [
            summary("**Looking**"),
            Chunk::State(state),
            text("Let me "),
            text("look."),
            counts,
            list("c1", json!({"path": "ü"})),
            list("c2", json!({})),
        ]
    );
    let asked = server.asked().await;
    assert_eq!(asked.line(), "POST /responses HTTP/1.1");
    let bearer = format!("Bearer {KEY}");
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    assert_eq!(
        asked.body,
        json!({
            "model": "gpt-5",
            "stream": true,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "s-1",
            "reasoning": {"effort": "low", "summary": "auto"},
            "input": [{"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": "hi"}]}],
        })
    );
}

#[tokio::test]
async fn raw_reasoning_is_no_summary_and_summaries_come_whole_or_not_at_all() {
    let summary_delta = |index: u64, piece: &str| {
        event(
            "reasoning_summary_text.delta",
            json!({"item_id": "r", "summary_index": index, "delta": piece}),
        )
    };
    let begun = [
        event(
            "reasoning_text.delta",
            json!({"item_id": "r", "content_index": 0, "delta": "hm"}),
        ),
        summary_delta(0, "one"),
        event(
            "reasoning_summary_text.done",
            json!({"item_id": "r", "summary_index": 0, "text": "one"}),
        ),
        summary_delta(1, "tw"),
        delta(1, "Hello"),
    ];
    let raw = Chunk::Reasoning {
        text: "hm".into(),
        provider_summary: false,
    };
    let said = vec![raw, summary("one"), text("Hello")];
    // The second one is complete only where the response is.
    let whole = [&said[..], &[summary("tw")]].concat();
    let cut = [&said[..], &[Chunk::Cut]].concat();
    for (end, expected, error) in [
        (vec![completed(json!({}))], whole, None),
        (vec![incomplete("max_output_tokens")], cut, None),
        (vec![], said, Some(ErrorKind::Interrupted)),
    ] {
        let events = [begun.to_vec(), end].concat();
        assert_eq!(read_of(&events).await, (expected, error));
    }
}

#[tokio::test]
async fn the_output_limit_ends_with_what_came() {
    for (arguments, status, expected) in [
        ("", "incomplete", json!("")),
        ("{\"pa", "incomplete", json!("{\"pa")),
        ("{\"path\":\"x\"}", "incomplete", json!("{\"path\":\"x\"}")),
        ("{\"path\":\"x\"}", "", json!({"path": "x"})),
        ("", "", json!("")),
        ("", "completed", json!({})),
    ] {
        let events = [
            delta(0, "Half"),
            done(1, call("a", "", "completed")),
            added(2, call("b", "", "in_progress")),
            done(2, call("b", arguments, status)),
            incomplete("max_output_tokens"),
        ];
        let calls = vec![
            text("Half"),
            list("a", json!({})),
            list("b", expected),
            Chunk::Cut,
        ];
        assert_eq!(
            read_of(&events).await,
            (calls, None),
            "{arguments} {status}"
        );
    }
}

#[tokio::test]
async fn what_says_failure_fails_and_no_call_is_made() {
    let error = json!({"code": "server_error", "message": "boom"});
    let refusal = || {
        event(
            "refusal.delta",
            json!({"output_index": 1, "delta": "I can't."}),
        )
    };
    for (events, expected) in [
        (
            vec![event(
                "failed",
                json!({"response": {"status": "failed", "error": error}}),
            )],
            ErrorKind::Overloaded,
        ),
        (
            vec![event(
                "failed",
                json!({"response": {"status": "failed", "error": null}}),
            )],
            ErrorKind::Failed,
        ),
        (
            vec![event(
                "failed",
                json!({"response": {"error":
            {"code": "rate_limit_exceeded", "message": "Try again in 1s"}}}),
            )],
            ErrorKind::RateLimited,
        ),
        (
            vec![event(
                "failed",
                json!({"response": {"error":
            {"code": "context_length_exceeded", "message": "Your input exceeds the context window"}}}),
            )],
            ErrorKind::ContextLength,
        ),
        (
            vec![event(
                "completed",
                json!({"response": {"status": "failed"}}),
            )],
            ErrorKind::Failed,
        ),
        (
            vec![event(
                "cancelled",
                json!({"response": {"status": "cancelled"}}),
            )],
            ErrorKind::Failed,
        ),
        (
            vec![event(
                "failed",
                json!({"response": {"status": "completed"}}),
            )],
            ErrorKind::Failed,
        ),
        (
            vec![completed(
                json!({"incomplete_details": {"reason": "content_filter"}}),
            )],
            ErrorKind::Filtered,
        ),
        (
            vec![json!({"type": "error", "code": "x", "message": "boom"}).to_string()],
            ErrorKind::Failed,
        ),
        (
            vec![json!({"type": "error", "error": {"message": "boom"}}).to_string()],
            ErrorKind::Failed,
        ),
        (
            vec![json!({"detail": "boom"}).to_string()],
            ErrorKind::Failed,
        ),
        (vec![incomplete("content_filter")], ErrorKind::Filtered),
        (vec![refusal(), completed(json!({}))], ErrorKind::Filtered),
        (
            vec![event("incomplete", json!({"response": {}}))],
            ErrorKind::Failed,
        ),
        // The end marker of another wire makes no whole response of what its server calls incomplete.
        (
            vec![
                event("incomplete", json!({"response": {}})),
                "[DONE]".to_owned(),
            ],
            ErrorKind::Failed,
        ),
        (
            vec![incomplete("a new reason"), "[DONE]".to_owned()],
            ErrorKind::Failed,
        ),
        (
            vec![
                completed(json!({"status": "a new word"})),
                "[DONE]".to_owned(),
            ],
            ErrorKind::Malformed,
        ),
        (
            vec![event("queued", json!({"response": {"status": "queued"}}))],
            ErrorKind::Interrupted,
        ),
        (vec![], ErrorKind::Interrupted),
    ] {
        let all = [vec![done(0, call("a", "{}", "completed"))], events].concat();
        let (chunks, error) = read_of(&all).await;
        assert_eq!(error, Some(expected), "{all:?}");
        let has_call = chunks
            .iter()
            .any(|chunk| matches!(chunk, Chunk::ToolCall(_)));
        assert!(!has_call, "{all:?}");
    }
    let (chunks, _) = read_of(&[refusal(), completed(json!({}))]).await;
    assert_eq!(chunks, [text("I can't.")]);
    let (_, error) = read_of(&["[DONE]".to_owned()]).await;
    assert_eq!(error, Some(ErrorKind::Malformed));
}
