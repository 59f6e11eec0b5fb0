//! The Messages API: what is sent, and what each of its events becomes.
//! Faults of the connection are tested elsewhere.

use provider::{
    Api, Chunk, ErrorKind, Message, Patience, ProviderState, ThinkingLevel, ToolSpec, Usage,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    KEY, Server, Step, answer, body_end, events, packet, plain, prompt, quick, read, request,
    stream_head, streamed, text,
};

pub(crate) const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":1}}}"#;
pub(crate) const STOP: &str = r#"{"type":"message_stop"}"#;

pub(crate) fn begin(index: u64, block: Value) -> String {
    json!({"type": "content_block_start", "index": index, "content_block": block}).to_string()
}

pub(crate) fn delta(index: u64, delta: Value) -> String {
    json!({"type": "content_block_delta", "index": index, "delta": delta}).to_string()
}

pub(crate) fn end(index: u64) -> String {
    json!({"type": "content_block_stop", "index": index}).to_string()
}

pub(crate) fn stop(reason: &str, output: u64) -> String {
    json!({
        "type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": output},
    })
    .to_string()
}

pub(crate) fn say(index: u64, said: &str) -> Vec<String> {
    vec![
        begin(index, json!({"type": "text", "text": ""})),
        delta(index, json!({"type": "text_delta", "text": said})),
        end(index),
    ]
}

pub(crate) fn message(blocks: Vec<Vec<String>>, reason: &str) -> Vec<String> {
    let mut events = vec![START.to_owned(), r#"{"type":"ping"}"#.to_owned()];
    events.extend(blocks.into_iter().flatten());
    events.push(stop(reason, 7));
    events.push(STOP.to_owned());
    events
}

/// The response without its counts.
fn content(chunks: Vec<Chunk>) -> Vec<Chunk> {
    let counts = |chunk: &Chunk| matches!(chunk, Chunk::Usage(_));
    chunks.into_iter().filter(|chunk| !counts(chunk)).collect()
}

pub(crate) async fn content_of(events: &[String]) -> (Vec<Chunk>, Option<ErrorKind>) {
    let (chunks, error) = answer(Api::Anthropic, prompt(), streamed(events)).await;
    (content(chunks), error)
}

#[tokio::test]
async fn a_message_streams_with_its_counts() {
    let mut server = Server::start(vec![streamed(&message(
        vec![say(0, "Hello, "), say(1, "world.")],
        "end_turn",
    ))])
    .await;
    let provider = server.provider(Api::Anthropic, quick());
    let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
    assert_eq!(error, None);
    let counts = |output| {
        Chunk::Usage(Usage {
            input: 115,
            output,
            cache_read: Some(100),
            reasoning: None,
        })
    };
    assert_eq!(
        chunks,
        [counts(1), text("Hello, "), text("world."), counts(7)]
    );
    let asked = server.asked().await;
    assert_eq!(asked.line(), "POST /v1/messages HTTP/1.1");
    assert_eq!(asked.header("x-api-key"), Some(KEY));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("accept"), Some("text/event-stream"));
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(
        asked.body,
        json!({
            "model": "claude-haiku-4-5",
            "max_tokens": 64_000,
            "stream": true,
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}},
            ]}],
        })
    );
}

#[tokio::test]
async fn tool_calls_come_whole_from_their_fragments() {
    let call = |index, id: &str, fragments: &[&str]| {
        let mut events = vec![begin(
            index,
            json!({"type": "tool_use", "id": id, "name": "read", "input": {}}),
        )];
        events.extend(fragments.iter().map(|part| {
            delta(
                index,
                json!({"type": "input_json_delta", "partial_json": part}),
            )
        }));
        events.push(end(index));
        events
    };
    let whole = vec![
        begin(
            4,
            json!({"type": "tool_use", "id": "d", "name": "read", "input": {"path": "w"}}),
        ),
        end(4),
    ];
    let (chunks, error) = content_of(&message(
        vec![
            say(0, "Reading."),
            call(1, "a", &["", "{\"pa", "th\": \"sr", "c/ü", "\"}"]),
            call(2, "b", &[]),
            call(3, "b", &["{\"path\": tru"]),
            whole,
        ],
        "tool_use",
    ))
    .await;
    assert_eq!(error, None);
    let inputs: Vec<_> = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            Chunk::ToolCall(call) => Some((call.id.as_str(), call.name.as_str(), &call.input)),
            _ => None,
        })
        .collect();
    assert_eq!(chunks[0], text("Reading."));
    assert_eq!(inputs[0], ("a", "read", &json!({"path": "src/ü"})));
    assert_eq!(inputs[1], ("b", "read", &json!({})));
    // An id that was given twice is made unique; what is no JSON is left for the tool to refuse.
    assert!(inputs[2].0.starts_with("call_"));
    assert_eq!(inputs[2].2, &json!("{\"path\": tru"));
    assert_eq!(inputs[3], ("d", "read", &json!({"path": "w"})));
}

#[tokio::test]
async fn signed_thoughts_make_the_round_trip() {
    let thinking = |index, thought: &str, signature: &str| {
        vec![
            begin(
                index,
                json!({"type": "thinking", "thinking": "", "signature": ""}),
            ),
            delta(
                index,
                json!({"type": "thinking_delta", "thinking": thought}),
            ),
            delta(
                index,
                json!({"type": "signature_delta", "signature": signature}),
            ),
            delta(index, json!({"type": "signature_delta", "signature": "=="})),
            end(index),
        ]
    };
    let redacted = vec![
        begin(2, json!({"type": "redacted_thinking", "data": "ENC"})),
        end(2),
    ];
    let call = vec![
        begin(
            4,
            json!({"type": "tool_use", "id": "a", "name": "list", "input": {}}),
        ),
        end(4),
    ];
    let first = message(
        vec![
            thinking(0, "Let me see", "SIG1"),
            say(1, "I look."),
            redacted,
            thinking(3, "", "SIG2"),
            call,
        ],
        "tool_use",
    );
    let second = message(vec![say(0, "Done.")], "end_turn");
    let mut server = Server::start(vec![streamed(&first), streamed(&second)]).await;
    let provider = server.provider(Api::Anthropic, quick());
    let mut asked = prompt();
    asked.thinking = ThinkingLevel::Medium;
    let (chunks, error) = read(provider.respond(asked.clone(), CancellationToken::new())).await;
    assert_eq!(error, None);
    let chunks = content(chunks);
    assert_eq!(
        chunks[0],
        Chunk::Reasoning {
            text: "Let me see".into(),
            provider_summary: false
        }
    );
    let mut items = Vec::new();
    let mut tool_calls = Vec::new();
    for chunk in chunks {
        match chunk {
            Chunk::State(item) => items.push(item),
            Chunk::ToolCall(call) => tool_calls.push(call),
            _ => {}
        }
    }
    assert_eq!(items.len(), 3);
    let mut messages = asked.messages.to_vec();
    messages.push(Message::Assistant {
        state: ProviderState {
            provider: "local".into(),
            items,
        },
        text: "I look.".into(),
        tool_calls,
    });
    messages.push(Message::ToolResult {
        call_id: "a".into(),
        name: "list".into(),
        content: "x".into(),
        images: Vec::new(),
        is_error: false,
    });
    asked.messages = messages.into();
    let (_, error) = read(provider.respond(asked, CancellationToken::new())).await;
    assert_eq!(error, None);
    server.asked().await;
    let body = server.asked().await.body;
    assert_eq!(
        body["thinking"],
        json!({"type": "enabled", "budget_tokens": 10_240})
    );
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "Let me see", "signature": "SIG1=="},
            {"type": "text", "text": "I look."},
            {"type": "redacted_thinking", "data": "ENC"},
            {"type": "thinking", "thinking": "", "signature": "SIG2=="},
            {"type": "tool_use", "id": "a", "name": "list", "input": {}},
        ])
    );
}

#[tokio::test]
async fn a_summary_is_one_only_where_it_was_asked_for_and_signed() {
    let thinking = |index, signature: &str| {
        vec![
            begin(index, json!({"type": "thinking", "thinking": "In short: "})),
            delta(index, json!({"type": "thinking_delta", "thinking": "yes"})),
            delta(
                index,
                json!({"type": "signature_delta", "signature": signature}),
            ),
            end(index),
        ]
    };
    let mut asked = prompt();
    asked.model = "claude-opus-4-7".into();
    asked.thinking = ThinkingLevel::High;
    let steps = streamed(&message(
        vec![thinking(0, "SIG"), thinking(1, ""), say(2, "Yes.")],
        "end_turn",
    ));
    let (chunks, error) = answer(Api::Anthropic, asked, steps).await;
    assert_eq!(error, None);
    let chunks = content(chunks);
    assert_eq!(
        chunks[0],
        Chunk::Reasoning {
            text: "In short: yes".into(),
            provider_summary: true
        }
    );
    assert!(matches!(chunks[1], Chunk::State(_)));
    assert_eq!(chunks[2..], [text("Yes.")]);
}

#[tokio::test]
async fn tools_and_system_are_offered() {
    let mut server = Server::start(vec![streamed(&message(vec![], "end_turn"))]).await;
    let provider = server.provider(Api::Anthropic, quick());
    let mut asked = prompt();
    asked.system = "Be brief.".into();
    asked.tools = vec![ToolSpec {
        name: "read".into(),
        description: "Reads.".into(),
        input_schema: json!({"type": "object"}),
    }];
    let (_, error) = read(provider.respond(asked, CancellationToken::new())).await;
    assert_eq!(error, None);
    let body = server.asked().await.body;
    assert_eq!(
        body["system"],
        json!([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
    );
    assert_eq!(
        body["tools"],
        json!([{"name": "read", "description": "Reads.", "input_schema": {"type": "object"},
                "cache_control": {"type": "ephemeral"}}])
    );
}

#[tokio::test]
async fn refusals_and_error_events_have_their_error() {
    let refused = content_of(&message(vec![say(0, "I")], "refusal")).await;
    assert_eq!(refused, (vec![text("I")], Some(ErrorKind::Filtered)));
    for (kind, expected) in [
        ("overloaded_error", ErrorKind::Overloaded),
        ("rate_limit_error", ErrorKind::RateLimited),
        ("invalid_request_error", ErrorKind::Refused),
    ] {
        let error = json!({"type": "error", "error": {"type": kind, "message": "m"}}).to_string();
        let events = [vec![START.to_owned()], say(0, "I"), vec![error]].concat();
        let failed = content_of(&events).await;
        assert_eq!(failed, (vec![text("I")], Some(expected)), "{kind}");
    }
}

#[tokio::test]
async fn an_error_event_before_output_is_tried_again() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    let mut server = Server::start(vec![
        streamed(&[START, overloaded]),
        streamed(&message(vec![say(0, "Yes.")], "end_turn")),
    ])
    .await;
    let provider = server.provider(Api::Anthropic, quick());
    let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
    assert_eq!(error, None);
    let retries = chunks
        .iter()
        .filter(|chunk| matches!(chunk, Chunk::Retry(retry) if retry.why == ErrorKind::Overloaded));
    assert_eq!(retries.count(), 1);
    let said: Vec<_> = chunks
        .iter()
        .filter(|c| matches!(c, Chunk::Text(_)))
        .collect();
    assert_eq!(said, [&text("Yes.")]);
    server.asked().await;
    server.asked().await;
}

#[tokio::test]
async fn unknown_events_and_blocks_are_passed_over() {
    let (chunks, error) = content_of(&[
        START.to_owned(),
        r#"{"type":"something_new","x":[1]}"#.to_owned(),
        begin(
            0,
            json!({"type": "server_tool_use", "id": "s", "name": "search", "input": {}}),
        ),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{}"})),
        end(0),
        begin(1, json!({"type": "text", "text": "", "citations": null})),
        delta(1, json!({"type": "citations_delta", "citation": {}})),
        delta(1, json!({"type": "text_delta", "text": "ok"})),
        end(1),
        end(9),
        stop("end_turn", 1),
        STOP.to_owned(),
    ])
    .await;
    assert_eq!((chunks, error), (vec![text("ok")], None));
}

#[tokio::test]
async fn events_that_make_no_sense_are_malformed() {
    let many: Vec<_> = (0..65)
        .map(|at| begin(at, json!({"type": "text"})))
        .collect();
    for events in [
        vec!["{".to_owned()],
        vec![delta(
            0,
            json!({"type": "input_json_delta", "partial_json": "of no call"}),
        )],
        vec![format!("{}1{}", "[".repeat(200), "]".repeat(200))],
        many,
    ] {
        let (chunks, error) = content_of(&events).await;
        assert_eq!(error, Some(ErrorKind::Malformed), "{:?}", events[0]);
        assert_eq!(chunks, []);
    }
}

/// Every byte in a packet of its own, with each kind of line end.
#[tokio::test]
async fn any_packets_and_line_ends_say_the_same() {
    for line_end in ["\n", "\r\n", "\r"] {
        let mut steps = vec![stream_head()];
        for data in message(vec![say(0, "größer 😀")], "end_turn") {
            let event = format!("event: x{line_end}data: {data}{line_end}{line_end}");
            steps.extend(event.as_bytes().chunks(1).map(packet));
        }
        steps.push(body_end());
        let (chunks, error) = answer(Api::Anthropic, prompt(), steps).await;
        assert_eq!((content(chunks), error), (vec![text("größer 😀")], None));
    }
}

#[tokio::test]
async fn a_message_needs_a_reason_to_stop_or_its_end() {
    let half = [vec![START.to_owned()], say(0, "Half")].concat();
    let stopped = [half.clone(), vec![stop("end_turn", 1)]].concat();
    // The last event lacks its blank line.
    let marked = packet(format!("data: {STOP}\n"));
    for (steps, expected) in [
        (
            vec![stream_head(), events(&half), body_end()],
            Some(ErrorKind::Interrupted),
        ),
        (
            vec![stream_head(), events(&half), Step::Close],
            Some(ErrorKind::Interrupted),
        ),
        (vec![stream_head(), events(&half), marked, body_end()], None),
        (vec![stream_head(), events(&stopped), body_end()], None),
        (vec![stream_head(), events(&stopped), Step::Close], None),
        (vec![stream_head(), events(&stopped), Step::Hang], None),
    ] {
        let (chunks, error) = answer(Api::Anthropic, prompt(), steps).await;
        assert_eq!(content(chunks), [text("Half")]);
        assert_eq!(error, expected);
    }
}

#[tokio::test]
async fn a_connection_serves_the_next_request_too() {
    let message = message(vec![say(0, "Yes.")], "end_turn");
    // In one packet, so that the end of the body is there with the last event.
    let whole = streamed(&message).into_iter().flat_map(|step| match step {
        Step::Write(bytes) => bytes,
        Step::Hang | Step::Close => Vec::new(),
    });
    let whole = vec![Step::Write(whole.collect())];
    let mut server = Server::start(vec![whole; 3]).await;
    let provider = server.provider(Api::Anthropic, Patience::default());
    let mut connections = Vec::new();
    for _ in 0..3 {
        let asked = request(vec![Message::User { text: "hi".into() }]);
        let (_, error) = read(provider.respond(asked, CancellationToken::new())).await;
        assert_eq!(error, None);
        connections.push(server.asked().await.connection);
    }
    assert_eq!(connections, [0, 0, 0]);
}

#[tokio::test]
async fn an_event_s_name_says_what_its_data_leave_out() {
    let stream = "event: content_block_start\ndata: {\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n\
        event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {}\n\n";
    let steps = plain(200, "content-type: text/event-stream\r\n", stream);
    let read = answer(Api::Anthropic, prompt(), steps).await;
    assert_eq!(read, (vec![text("Hi")], None));
}

#[tokio::test]
async fn a_nought_takes_no_count_back() {
    let events = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 0, "output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let events = events.map(|event| event.to_string());
    let (chunks, error) = answer(Api::Anthropic, prompt(), streamed(&events)).await;
    assert_eq!(error, None);
    let Some(Chunk::Usage(usage)) = chunks.last() else {
        panic!("{chunks:?}");
    };
    assert_eq!((usage.input, usage.output), (10, 5));
}
