//! Chat completions: what is sent, what each event becomes, and where servers differ.
//! Faults of the connection are tested elsewhere.

use provider::{Api, Chunk, ErrorKind, ToolCall, Usage};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    KEY, Server, answer, body_end, events, packet, prompt, quick, read, stream_head, streamed, text,
};

fn delta(delta: Value) -> String {
    json!({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]})
        .to_string()
}

fn finish(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

fn call(call: Value) -> String {
    delta(json!({"tool_calls": [call]}))
}

const DONE: &str = "[DONE]";

async fn read_of(events: &[String]) -> (Vec<Chunk>, Option<ErrorKind>) {
    answer(Api::OpenaiChat, prompt(), streamed(events)).await
}

fn calls(chunks: &[Chunk]) -> Vec<&ToolCall> {
    let calls = chunks.iter().filter_map(|chunk| match chunk {
        Chunk::ToolCall(call) => Some(call),
        _ => None,
    });
    calls.collect()
}

#[tokio::test]
async fn a_completion_streams_with_reasoning_and_counts() {
    let counts = json!({"choices": [], "usage": {
        "prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }});
    let answer = streamed(&[
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"reasoning": "so", "content": null})),
        delta(json!({"content": "Hello, "})),
        delta(json!({"content": "world.", "reasoning_content": ""})),
        finish("stop"),
        counts.to_string(),
        DONE.to_owned(),
    ]);
    let mut server = Server::start(vec![answer]).await;
    let provider = server.provider(Api::OpenaiChat, quick());
    let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
    assert_eq!(error, None);
    let raw = |text: &str| Chunk::Reasoning {
        text: text.to_owned(),
        provider_summary: false,
    };
    let counts = Chunk::Usage(Usage {
        input: 12,
        output: 5,
        cache_read: Some(8),
        reasoning: Some(3),
    });
    assert_eq!(
        chunks,
        [
            raw("hm"),
            raw("so"),
            text("Hello, "),
            text("world."),
            counts
        ]
    );
    let asked = server.asked().await;
    assert_eq!(asked.line(), "POST /chat/completions HTTP/1.1");
    assert_eq!(
        asked.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(asked.header("x-api-key"), None);
    assert_eq!(
        asked.body,
        json!({
            "model": "claude-haiku-4-5",
            "stream": true,
            "stream_options": {"include_usage": true},
            "messages": [{"role": "user", "content": "hi"}],
        })
    );
}

#[tokio::test]
async fn ollama_has_the_same_wire_below_v1() {
    let answer = streamed(&[delta(json!({"content": "hi"})), finish("stop"), DONE.into()]);
    let mut server = Server::start(vec![answer; 2]).await;
    for base in [server.base.clone(), format!("{}/v1/", server.base)] {
        let provider = crate::support::provider(Api::Ollama, &base, quick());
        let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
        assert_eq!((chunks, error), (vec![text("hi")], None));
        let asked = server.asked().await;
        assert_eq!(asked.line(), "POST /v1/chat/completions HTTP/1.1");
    }
}

#[tokio::test]
async fn tool_calls_come_whole_from_their_fragments() {
    let (chunks, error) = read_of(&[
        delta(json!({"content": "Reading."})),
        call(json!({"index": 0, "id": "a", "type": "function",
            "function": {"name": "read", "arguments": ""}})),
        call(json!({"index": 0, "function": {"arguments": "{\"pa"}})),
        call(json!({"index": 1, "id": "b", "function": {"name": "list", "arguments": "{}"}})),
        call(json!({"index": 0, "function": {"arguments": "th\": \"ü\"}"}})),
        call(json!({"index": 2, "id": "a", "function": {"name": "glob", "arguments": "{\"x"}})),
        finish("tool_calls"),
        DONE.to_owned(),
    ])
    .await;
    assert_eq!(error, None);
    assert_eq!(chunks[0], text("Reading."));
    let calls = calls(&chunks);
    assert_eq!(calls.len(), 3);
    assert_eq!(
        calls[0],
        &ToolCall {
            id: "a".into(),
            name: "read".into(),
            input: json!({"path": "ü"})
        }
    );
    assert_eq!(
        (calls[1].name.as_str(), &calls[1].input),
        ("list", &json!({}))
    );
    // An id that was given twice is made unique; what is no JSON is left for the tool to refuse.
    assert!(calls[2].id.starts_with("call_"));
    assert_eq!(calls[2].input, json!("{\"x"));
}

/// Whole calls in one event, the same index for all, no index, no id, the object itself as input.
#[tokio::test]
async fn servers_that_index_calls_their_own_way_are_understood() {
    let whole = |index: Value, id: Value, arguments: Value| json!({"index": index, "id": id, "function": {"name": "read", "arguments": arguments}});
    let one = json!("{\"path\":\"1\"}");
    let two = json!("{\"path\":\"2\"}");
    for (first, second) in [
        (
            whole(json!(0), json!("a"), one.clone()),
            whole(json!(0), json!("b"), two.clone()),
        ),
        (
            whole(json!(0), json!(null), one.clone()),
            whole(json!(1), json!(null), two.clone()),
        ),
        (
            whole(json!(0), json!(""), one.clone()),
            whole(json!(0), json!(""), two.clone()),
        ),
        (
            whole(json!(null), json!(null), one.clone()),
            whole(json!(null), json!(null), two.clone()),
        ),
        (
            whole(json!(null), json!("a"), one.clone()),
            whole(json!(null), json!("b"), two.clone()),
        ),
        (
            whole(json!(0), json!("a"), json!({"path": "1"})),
            whole(json!(1), json!("a"), json!({"path": "2"})),
        ),
    ] {
        for together in [true, false] {
            let mut events = if together {
                vec![delta(json!({"tool_calls": [first, second]}))]
            } else {
                vec![call(first.clone()), call(second.clone())]
            };
            events.extend([finish("tool_calls"), DONE.to_owned()]);
            let (chunks, error) = read_of(&events).await;
            assert_eq!(error, None);
            let calls = calls(&chunks);
            let inputs: Vec<_> = calls.iter().map(|call| call.input.clone()).collect();
            assert_eq!(
                inputs,
                [json!({"path": "1"}), json!({"path": "2"})],
                "{events:?}"
            );
            assert_ne!(calls[0].id, calls[1].id);
            assert!(calls.iter().all(|call| !call.id.is_empty()));
        }
    }
    // The id and the name in every fragment.
    let piece = |part: &str| whole(json!(0), json!("a"), json!(part));
    let (chunks, _) = read_of(&[
        call(piece("{\"path\"")),
        call(piece(":\"1\"}")),
        finish("tool_calls"),
    ])
    .await;
    assert_eq!(calls(&chunks)[0].input, json!({"path": "1"}));
    assert_eq!(calls(&chunks).len(), 1);
}

#[tokio::test]
async fn the_output_limit_ends_with_what_came() {
    let (chunks, error) = read_of(&[
        delta(json!({"content": "Half a sen"})),
        call(json!({"index": 0, "id": "a", "function": {"name": "list", "arguments": "{}"}})),
        call(json!({"index": 1, "id": "b", "function": {"name": "list"}})),
        finish("length"),
        // Some servers say it again with the counts.
        finish("length"),
        DONE.to_owned(),
    ])
    .await;
    assert_eq!(error, None);
    assert_eq!(chunks[0], text("Half a sen"));
    let inputs: Vec<_> = calls(&chunks).iter().map(|call| &call.input).collect();
    assert_eq!(inputs, [&json!({}), &json!("")]);
    assert_eq!(chunks[3..], [Chunk::Cut]);
}

#[tokio::test]
async fn only_a_limit_is_a_cut() {
    for (end, cut) in [
        (vec![finish("length"), DONE.to_owned()], true),
        (vec![finish("length")], true),
        (vec![finish("model_length"), DONE.to_owned()], true),
        (vec![finish("stop"), DONE.to_owned()], false),
        (vec![finish("something_new"), DONE.to_owned()], false),
        (vec![DONE.to_owned()], false),
    ] {
        let events = [vec![delta(json!({"content": "Hello"}))], end].concat();
        let mut expected = vec![text("Hello")];
        expected.extend(cut.then_some(Chunk::Cut));
        assert_eq!(read_of(&events).await, (expected, None), "{events:?}");
    }
    // What did not come to its end has failed and is no cut.
    let lost = [delta(json!({"content": "Hello"}))];
    let lost = read_of(&lost).await;
    assert_eq!(lost, (vec![text("Hello")], Some(ErrorKind::Interrupted)));
    // Nor did what ends for a reason that nobody knows, without a marker; and it was not lost on the way.
    let ends = [delta(json!({"content": "Hello"})), finish("something_new")];
    let ends = read_of(&ends).await;
    assert_eq!(ends, (vec![text("Hello")], Some(ErrorKind::Malformed)));
}

#[tokio::test]
async fn an_error_says_so_in_whatever_shape_and_no_call_is_made() {
    let native = |reason| {
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "native_finish_reason": reason}]})
            .to_string()
    };
    let call =
        call(json!({"index": 0, "id": "a", "function": {"name": "list", "arguments": "{}"}}));
    for (event, expected) in [
        (native("error"), Some(ErrorKind::Failed)),
        (native("refusal"), Some(ErrorKind::Filtered)),
        (json!({"error": {}}).to_string(), Some(ErrorKind::Failed)),
        (native("completed"), None),
        (native("something_new"), None),
    ] {
        let events = [call.clone(), event, finish("stop"), DONE.to_owned()];
        let (chunks, error) = read_of(&events).await;
        assert_eq!(
            (calls(&chunks).is_empty(), error),
            (expected.is_some(), expected)
        );
    }
}

#[tokio::test]
async fn the_end_needs_a_marker_or_a_reason() {
    let hello = delta(json!({"content": "Hello"}));
    for end in [vec![finish("stop")], vec![DONE.to_owned()]] {
        let events = [vec![hello.clone()], end].concat();
        assert_eq!(read_of(&events).await, (vec![text("Hello")], None));
    }
    let cut = read_of(std::slice::from_ref(&hello)).await;
    assert_eq!(cut, (vec![text("Hello")], Some(ErrorKind::Interrupted)));
    let filtered = read_of(&[hello, finish("content_filter"), DONE.to_owned()]).await;
    assert_eq!(filtered, (vec![text("Hello")], Some(ErrorKind::Filtered)));
}

#[tokio::test]
async fn errors_inside_the_stream_have_their_error() {
    for (error, expected) in [
        (
            json!({"message": "m", "type": "server_error"}),
            ErrorKind::Overloaded,
        ),
        (json!({"message": "m", "code": 429}), ErrorKind::RateLimited),
        (
            json!({"message": "exceeds the context window", "code": 400}),
            ErrorKind::ContextLength,
        ),
        (json!("no"), ErrorKind::Failed),
    ] {
        let events = [
            delta(json!({"content": "I"})),
            json!({"error": error}).to_string(),
        ];
        assert_eq!(read_of(&events).await, (vec![text("I")], Some(expected)));
    }
}

#[tokio::test]
async fn events_that_make_no_sense_are_malformed() {
    let many: Vec<_> = (0..4097)
        .map(|at| call(json!({"index": at, "id": at.to_string(), "function": {"name": "x"}})))
        .collect();
    let far = call(json!({"index": u64::MAX, "id": "a", "function": {"name": "x"}}));
    for events in [
        vec!["{".to_owned()],
        vec![format!("{}1{}", "[".repeat(200), "]".repeat(200))],
        many,
    ] {
        let (chunks, error) = read_of(&events).await;
        assert_eq!(error, Some(ErrorKind::Malformed), "{:?}", events[0]);
        assert_eq!(chunks, []);
    }
    // A far index is only a number.
    let (chunks, error) = read_of(&[far, finish("tool_calls")]).await;
    assert_eq!((calls(&chunks).len(), error), (1, None));
}

/// 10 MiB of text in many events, and of one call's input in many fragments.
#[tokio::test]
async fn long_responses_arrive_whole() {
    let piece = "0123456789abcdef".repeat(1024);
    let mut steps = vec![stream_head()];
    for _ in 0..640 {
        steps.push(events(&[delta(json!({"content": piece}))]));
    }
    let first = call(
        json!({"index": 0, "id": "a", "function": {"name": "write", "arguments": "{\"content\":\""}}),
    );
    steps.push(events(&[first]));
    for _ in 0..640 {
        steps.push(events(&[call(
            json!({"index": 0, "function": {"arguments": piece}}),
        )]));
    }
    steps.push(events(&[
        call(json!({"index": 0, "function": {"arguments": "\"}"}})),
        finish("tool_calls"),
        DONE.to_owned(),
    ]));
    steps.push(body_end());
    let (chunks, error) = answer(Api::OpenaiChat, prompt(), steps).await;
    assert_eq!(error, None);
    let mut length = 0;
    for chunk in &chunks {
        if let Chunk::Text(text) = chunk {
            length += text.len();
        }
    }
    assert_eq!(length, 10 * 1024 * 1024);
    let content = calls(&chunks)[0].input["content"].as_str().unwrap().len();
    assert_eq!(content, 10 * 1024 * 1024);
}

#[tokio::test]
async fn packets_cut_anywhere_say_the_same() {
    let stream: String = [
        delta(json!({"content": "grö"})),
        delta(json!({"content": "ßer 😀"})),
        finish("stop"),
        DONE.to_owned(),
    ]
    .iter()
    .map(|data| format!("data:{data}\r\n\r\n"))
    .collect();
    for size in [1, 2, 3, 7] {
        let mut steps = vec![stream_head()];
        steps.extend(stream.as_bytes().chunks(size).map(packet));
        steps.push(body_end());
        let (chunks, error) = answer(Api::OpenaiChat, prompt(), steps).await;
        assert_eq!((chunks, error), (vec![text("grö"), text("ßer 😀")], None));
    }
}

#[tokio::test]
async fn a_call_s_input_is_its_own_whatever_comes_first() {
    let input = r#"{"path":"a"}"#;
    let (begin, rest) = input.split_at(5);
    let piece = |call: Value| self::call(call);
    let own = |function: Value| piece(json!({"index": 0, "id": "a", "function": function}));
    let later = |function: Value| piece(json!({"index": 0, "function": function}));
    let custom =
        |custom: Value| piece(json!({"index": 0, "id": "a", "type": "custom", "custom": custom}));
    for events in [
        // The name behind the input, whole or not, with the id or without.
        vec![
            own(json!({"arguments": input})),
            later(json!({"name": "list", "arguments": ""})),
        ],
        vec![
            own(json!({"arguments": input})),
            own(json!({"name": "list"})),
        ],
        vec![
            own(json!({"arguments": begin})),
            later(json!({"name": "list", "arguments": rest})),
        ],
        vec![
            later(json!({"arguments": input})),
            own(json!({"name": "list"})),
        ],
        // Nothing, in words.
        vec![
            own(json!({"name": "list", "arguments": "null"})),
            later(json!({"arguments": input})),
        ],
        vec![
            own(json!({"name": "list", "arguments": "null"})),
            later(json!({"arguments": begin})),
            later(json!({"arguments": rest})),
        ],
        // As a tool whose input is text, which was not asked for.
        vec![custom(json!({"name": "list", "input": input}))],
        vec![
            custom(json!({"name": "list", "input": begin})),
            piece(json!({"index": 0, "custom": {"input": rest}})),
        ],
    ] {
        let all = [events.clone(), vec![finish("tool_calls"), DONE.to_owned()]].concat();
        let (chunks, error) = read_of(&all).await;
        let expected = ToolCall {
            id: "a".into(),
            name: "list".into(),
            input: json!({"path": "a"}),
        };
        assert_eq!(
            (calls(&chunks), error),
            (vec![&expected], None),
            "{events:?}"
        );
    }
}
