//! Scripts of the offline provider: what every kind of step yields, and what is refused.
//! Only the public API; time is virtual.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::time::Duration;

use proptest::prelude::*;
use provider::{
    Chunk, ErrorKind, Fixture, MAX_SCRIPT_BYTES, Message, Provider, ProviderError, ProviderState,
    Purpose, Request, Response, ScriptError, ToolCall, Usage,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[path = "script/refusals.rs"]
mod refusals;

fn load(text: &[u8]) -> Result<Fixture, ScriptError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    Fixture::from_script(file.path())
}

fn fixture(script: &Value) -> Fixture {
    load(script.to_string().as_bytes()).unwrap()
}

fn steps(steps: Value) -> Fixture {
    fixture(&json!({ "turns": [{ "steps": steps }] }))
}

fn user() -> Message {
    Message::User {
        text: "hello".into(),
    }
}

fn assistant() -> Message {
    Message::Assistant {
        state: ProviderState::default(),
        text: String::new(),
        tool_calls: Vec::new(),
    }
}

fn respond(fixture: &Fixture, messages: Vec<Message>, cancel: &CancellationToken) -> Response {
    let request = Request {
        model: provider::FIXTURE_MODEL.into(),
        messages: messages.into(),
        ..Request::default()
    };
    fixture.respond(request, cancel.clone())
}

async fn all(mut response: Response) -> Vec<Result<Chunk, ProviderError>> {
    let mut out = Vec::new();
    while let Some(item) = response.next().await {
        out.push(item);
    }
    out
}

async fn first(fixture: &Fixture) -> Vec<Result<Chunk, ProviderError>> {
    all(respond(fixture, vec![user()], &CancellationToken::new())).await
}

fn text(text: &str) -> Result<Chunk, ProviderError> {
    Ok(Chunk::Text(text.into()))
}

#[tokio::test]
async fn text_is_one_piece_or_as_many_as_asked() {
    let one = steps(json!([{ "text": "Hello, world." }]));
    assert_eq!(first(&one).await, [text("Hello, world.")]);
    let four = steps(json!([{ "text": "Hello, wörld", "chunks": 4, "delay_ms": 0 }]));
    assert_eq!(
        first(&four).await,
        [text("Hel"), text("lo,"), text(" wö"), text("rld")]
    );
    let more_than_there_are = steps(json!([{ "text": "äb", "chunks": 9 }]));
    assert_eq!(first(&more_than_there_are).await, [text("ä"), text("b")]);
    assert_eq!(
        first(&steps(json!([{ "text": "", "chunks": 3 }]))).await,
        []
    );
}

#[tokio::test]
async fn repeat_gives_that_many_pieces() {
    let chunks = first(&steps(json!([{ "repeat": 2000, "text": "x" }]))).await;
    assert_eq!(chunks.len(), 2000);
    assert!(chunks.iter().all(|chunk| *chunk == text("x")));
}

#[tokio::test]
async fn a_text_can_pass_the_content_limit_of_a_run() {
    let block = "y".repeat(1024 * 1024);
    let fixture = steps(json!([{ "repeat": 9, "text": block }]));
    let total: usize = first(&fixture)
        .await
        .into_iter()
        .map(|chunk| match chunk {
            Ok(Chunk::Text(text)) => text.len(),
            other => panic!("{other:?}"),
        })
        .sum();
    assert_eq!(total, 9 * 1024 * 1024);
}

#[tokio::test]
async fn reasoning_and_usage() {
    let fixture = steps(json!([
        { "reasoning": "raw" },
        { "reasoning": "verified", "provider_summary": true },
        { "usage": { "input": 120, "output": 8, "cache_read": 3 } },
        { "usage": { "input": 1, "output": 2 } },
    ]));
    let reasoning = |text: &str, provider_summary| {
        Ok(Chunk::Reasoning {
            text: text.into(),
            provider_summary,
        })
    };
    let usage = |input, output, cache_read| {
        Ok(Chunk::Usage(Usage {
            input,
            output,
            cache_read,
            reasoning: None,
        }))
    };
    assert_eq!(
        first(&fixture).await,
        [
            reasoning("raw", false),
            reasoning("verified", true),
            usage(120, 8, Some(3)),
            usage(1, 2, None)
        ]
    );
}

#[tokio::test]
async fn an_error_ends_the_response() {
    for (word, error) in [
        ("rate_limited", ErrorKind::RateLimited),
        ("overloaded", ErrorKind::Overloaded),
        ("unauthorized", ErrorKind::Unauthorized),
        ("network", ErrorKind::Network),
        ("malformed", ErrorKind::Malformed),
    ] {
        let fixture = steps(json!([{ "text": "a" }, { "error": word }, { "text": "b" }]));
        assert_eq!(first(&fixture).await, [text("a"), Err(error.into())]);
    }
}

#[tokio::test]
async fn every_tool_step_ends_one_response() {
    let fixture = steps(json!([
        { "text": "look" },
        { "tool": "read", "input": { "path": "README.md" } },
        { "tool": "list" },
        { "text": "done" },
    ]));
    let call = |id: &str, name: &str, input: Value| {
        Ok(Chunk::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            input,
        }))
    };
    let cancel = CancellationToken::new();
    let mut messages = vec![user()];
    let expected = [
        vec![
            text("look"),
            call("call_0_0", "read", json!({ "path": "README.md" })),
        ],
        vec![call("call_0_1", "list", json!({}))],
        vec![text("done")],
        vec![],
    ];
    for expected in expected {
        assert_eq!(
            all(respond(&fixture, messages.clone(), &cancel)).await,
            expected
        );
        messages.push(assistant());
    }
}

#[tokio::test]
async fn each_prompt_has_its_turn_and_the_last_one_repeats() {
    let fixture = fixture(&json!({ "turns": [
        { "steps": [{ "text": "one" }] },
        { "steps": [{ "tool": "list", "input": {} }, { "text": "two" }] },
    ] }));
    let cancel = CancellationToken::new();
    let play = |messages: Vec<Message>| all(respond(&fixture, messages, &cancel));
    assert_eq!(play(vec![user()]).await, [text("one")]);
    let mut messages = vec![user(), assistant(), user(), assistant()];
    assert_eq!(play(messages.clone()).await, [text("two")]);
    messages.extend([assistant(), user()]);
    let chunks = play(messages).await;
    let [Ok(Chunk::ToolCall(call))] = chunks.as_slice() else {
        panic!("{chunks:?}")
    };
    assert_eq!((call.name.as_str(), call.id.as_str()), ("list", "call_2_0"));
}

#[tokio::test]
async fn several_calls_stand_in_one_response() {
    let fixture = steps(json!([
        { "tool": "list", "together": true },
        { "tool": "read", "together": true },
        { "tool": "glob" },
        { "text": "two" },
    ]));
    let cancel = CancellationToken::new();
    let chunks = all(respond(&fixture, vec![user()], &cancel)).await;
    let ids: Vec<_> = chunks
        .iter()
        .map(|chunk| match chunk {
            Ok(Chunk::ToolCall(call)) => (call.name.as_str(), call.id.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        ("list", "call_0_0"),
        ("read", "call_0_0_2"),
        ("glob", "call_0_0_3"),
    ];
    assert_eq!(ids, expected);
    let behind = respond(&fixture, vec![user(), assistant()], &cancel);
    assert_eq!(all(behind).await, [text("two")]);
}

#[tokio::test]
async fn a_task_plays_its_own_turns_by_the_beginning_of_its_prompt() {
    let fixture = fixture(&json!({
        "turns": [{ "steps": [{ "text": "main" }] }],
        "tasks": [
            { "prompt": "hell", "turns": [{ "steps": [{ "text": "task" }] }, { "steps": [{ "text": "again" }] }] },
            { "prompt": "hello", "turns": [{ "steps": [{ "text": "never" }] }] },
        ],
    }));
    let cancel = CancellationToken::new();
    let play = |messages: Vec<Message>| all(respond(&fixture, messages, &cancel));
    let prompt = |text: &str| Message::User { text: text.into() };
    assert_eq!(play(vec![user()]).await, [text("task")]);
    let second = vec![user(), assistant(), prompt("other")];
    assert_eq!(play(second).await, [text("again")]);
    assert_eq!(
        play(vec![prompt("help"), assistant(), user()]).await,
        [text("main")]
    );
}

#[tokio::test(start_paused = true)]
async fn delays_come_before_each_piece() {
    let fixture = steps(json!([
        { "text": "abc", "chunks": 3, "delay_ms": 100 },
        { "wait_ms": 1000 },
        { "text": "d" },
    ]));
    let start = Instant::now();
    let mut response = respond(&fixture, vec![user()], &CancellationToken::new());
    let mut times = Vec::new();
    while let Some(item) = response.next().await {
        item.unwrap();
        times.push(start.elapsed().as_millis());
    }
    assert_eq!(times, [100, 200, 300, 1300]);
}

#[tokio::test(start_paused = true)]
async fn cancellation_ends_a_wait_and_a_delay_at_once() {
    for script in [
        json!([{ "wait_ms": 60_000 }, { "text": "late" }]),
        json!([{ "text": "late", "delay_ms": 60_000 }]),
    ] {
        let fixture = steps(script);
        let cancel = CancellationToken::new();
        let response = respond(&fixture, vec![user()], &cancel);
        let start = Instant::now();
        let canceller = async {
            tokio::time::sleep(Duration::from_millis(250)).await;
            cancel.cancel();
        };
        let (items, ()) = tokio::join!(all(response), canceller);
        assert_eq!(items, [Err(ErrorKind::Cancelled.into())]);
        // The virtual clock stands at the cancellation: nothing slept on.
        assert_eq!(start.elapsed().as_millis(), 250);
    }
}

#[tokio::test]
async fn cancellation_ends_a_run_of_ready_pieces() {
    let fixture = steps(json!([{ "repeat": 1_000_000, "text": "x" }]));
    let cancel = CancellationToken::new();
    let mut response = respond(&fixture, vec![user()], &cancel);
    let canceller = async {
        // Comes to its turn only because the playback yields to the runtime.
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let reader = async {
        let mut pieces = 0;
        loop {
            match response.next().await {
                Some(Ok(_)) => pieces += 1,
                end => return (pieces, end),
            }
        }
    };
    let ((pieces, end), ()) = tokio::join!(biased; reader, canceller);
    assert_eq!(end, Some(Err(ErrorKind::Cancelled.into())));
    assert!(pieces < 10_000, "{pieces}");
    assert_eq!(response.next().await, None);
}

#[tokio::test]
async fn a_dropped_wait_for_a_piece_loses_nothing() {
    tokio::time::pause();
    let fixture = steps(json!([{ "text": "ab", "chunks": 2, "delay_ms": 100 }]));
    let mut response = respond(&fixture, vec![user()], &CancellationToken::new());
    let early = tokio::time::timeout(Duration::from_millis(60), response.next()).await;
    assert!(early.is_err());
    assert_eq!(response.next().await, Some(text("a")));
    assert_eq!(response.next().await, Some(text("b")));
    assert_eq!(response.next().await, None);
}

#[test]
fn the_script_of_the_product_decisions_is_accepted() {
    let script = json!({ "turns": [{ "steps": [
        { "reasoning": "raw thinking text", "provider_summary": false },
        { "reasoning": "a verified summary", "provider_summary": true },
        { "text": "Hello, world.", "chunks": 4, "delay_ms": 0 },
        { "tool": "read", "input": { "path": "README.md" } },
        { "usage": { "input": 120, "output": 8, "cache_read": 0 } },
        { "error": "rate_limited" },
        { "wait_ms": 60000 },
        { "repeat": 2000, "text": "x" },
    ] }] });
    fixture(&script);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Pieces concatenate to the text, none is empty, and their lengths differ by one at most.
    #[test]
    fn pieces_are_the_text(whole: String, count in 1_u64..200) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let fixture = steps(json!([{ "text": whole, "chunks": count }]));
        let pieces: Vec<String> = runtime
            .block_on(first(&fixture))
            .into_iter()
            .map(|chunk| match chunk { Ok(Chunk::Text(text)) => text, other => panic!("{other:?}") })
            .collect();
        let chars = whole.chars().count();
        prop_assert_eq!(pieces.len(), chars.min(count as usize));
        prop_assert_eq!(pieces.concat(), whole);
        let lengths: Vec<_> = pieces.iter().map(|piece| piece.chars().count()).collect();
        if let (Some(least), Some(most)) = (lengths.iter().min(), lengths.iter().max()) {
            prop_assert!(*least >= 1 && most - least <= 1);
        }
    }

    /// Whatever a script file holds, loading it answers.
    #[test]
    fn any_bytes_are_answered(bytes: Vec<u8>) {
        prop_assert!(load(&bytes).is_err());
    }
}

fn summarized(users: u64, responses: u64) -> Vec<Message> {
    let summary = Message::Summary {
        text: "so far".into(),
        users,
        responses,
    };
    vec![summary, Message::User { text: "go".into() }]
}

#[tokio::test]
async fn a_summary_stands_for_the_prompts_and_responses_that_it_replaced() {
    let fixture = fixture(&json!({"turns": [
        {"steps": [{"text": "first"}]},
        {"steps": [{"tool": "read", "input": {}}, {"error": "context_length"}, {"text": "second"}]},
    ]}));
    let cancel = CancellationToken::new();
    let said = |messages| {
        let mut response = respond(&fixture, messages, &cancel);
        async move { response.next().await }
    };
    assert_eq!(
        said(summarized(0, 0)).await,
        Some(Ok(Chunk::Text("first".into())))
    );
    let called = said(summarized(1, 0)).await;
    assert!(matches!(called, Some(Ok(Chunk::ToolCall(_)))));
    // What was shortened is refused for its length no more.
    assert_eq!(
        said(summarized(1, 1)).await,
        Some(Ok(Chunk::Text("second".into())))
    );
}

#[tokio::test]
async fn a_request_for_a_summary_has_steps_of_its_own() {
    let of = |script: Value| {
        let fixture = fixture(&script);
        let request = Request {
            purpose: Purpose::Summary,
            ..Request::default()
        };
        fixture.respond(request, CancellationToken::new())
    };
    let turns = json!([{"steps": [{"text": "an answer"}]}]);
    let own = json!({"steps": [{"text": "in short"}, {"error": "overloaded"}]});
    let mut response = of(json!({"turns": turns, "compaction": own}));
    assert_eq!(
        response.next().await,
        Some(Ok(Chunk::Text("in short".into())))
    );
    assert!(response.next().await.is_some_and(|end| end.is_err()));
    // Without them there is a summary all the same.
    let mut response = of(json!({ "turns": turns }));
    let Some(Ok(Chunk::Text(word))) = response.next().await else {
        panic!("no text");
    };
    assert!(word.starts_with("The"));
    let invalid = load(br#"{"turns":[{"steps":[]}],"compaction":{"steps":[{}]}}"#);
    let reason = invalid.unwrap_err().to_string();
    assert!(reason.contains("compaction.steps[0]"), "{reason}");
}
