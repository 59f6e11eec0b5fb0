//! Gemini's own API: what is sent, what each event becomes, and what says that it failed.
//! Faults of the connection are tested elsewhere, requests beside the wire.

use provider::{Api, Chunk, ErrorKind, ThinkingLevel, ToolCall, Usage};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    KEY, Server, answer, plain, prompt, provider, quick, read, read_whole, streamed, text,
};

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}]})
}

fn say(text: &str) -> Value {
    parts(json!([{"text": text}]))
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model"}, "finishReason": reason}]})
}

fn list(id: &str, input: Value) -> Chunk {
    Chunk::ToolCall(ToolCall {
        id: id.into(),
        name: "list".into(),
        input,
    })
}

fn thought(text: &str, provider_summary: bool) -> Chunk {
    Chunk::Reasoning {
        text: text.into(),
        provider_summary,
    }
}

fn texts(events: &[Value]) -> Vec<String> {
    events.iter().map(Value::to_string).collect()
}

async fn read_of(model: &str, events: &[Value]) -> (Vec<Chunk>, Option<ErrorKind>) {
    let mut asked = prompt();
    asked.model = model.into();
    answer(Api::Gemini, asked, streamed(&texts(events))).await
}

const THINKS: &str = "gemini-2.5-flash";

#[tokio::test]
async fn an_answer_streams_with_summaries_signatures_calls_and_counts() {
    let events = [
        parts(json!([{"text": "**Plan", "thought": true}])),
        parts(json!([{"text": "ning**", "thought": true}])),
        json!({"candidates": [{"content": {"parts": [{"text": "I lo"}]}}],
            "usageMetadata": {"promptTokenCount": 12}, "modelVersion": "x", "responseId": "r"}),
        parts(json!([{"text": "ok.", "thoughtSignature": "st"}])),
        parts(json!([
            {"functionCall": {"id": "f1", "name": "list", "args": {"error": "x"}}, "thoughtSignature": "sc"},
            {"functionCall": {"name": "list", "args": {}}},
            {"executableCode": {"code": "1"}},
        ])),
        json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 4, "thoughtsTokenCount": 5,
                "cachedContentTokenCount": 8, "toolUsePromptTokenCount": 1, "totalTokenCount": 22}}),
    ];
    let mut server = Server::start(vec![streamed(&texts(&events))]).await;
    let base = format!("{}/v1beta", server.base);
    let provider = provider(Api::Gemini, &base, quick());
    let mut asked = prompt();
    asked.model = THINKS.into();
    asked.thinking = ThinkingLevel::Low;
    let (mut chunks, error) = read(provider.respond(asked, CancellationToken::new())).await;
    assert_eq!(error, None);
    let Some(Chunk::ToolCall(last)) = chunks.pop() else {
        panic!("{chunks:?}");
    };
    assert!(last.id.starts_with("call_") && last.input == json!({}));
    let counts = |input, output, cache_read, reasoning| {
        Chunk::Usage(Usage {
            input,
            output,
            cache_read,
            reasoning,
        })
    };
    assert_eq!(
        chunks,
        [
            counts(12, 0, None, None),
            thought("**Planning**", true),
            text("I lo"),
            text("ok."),
            Chunk::State(json!({"text": [4, 7], "calls": 0, "thoughtSignature": "st"})),
            counts(13, 9, Some(8), Some(5)),
            Chunk::State(json!({"call": 0, "id": "f1", "thoughtSignature": "sc"})),
            list("f1", json!({"error": "x"})),
        ]
    );
    let asked = server.asked().await;
    assert_eq!(
        asked.line(),
        "POST /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse HTTP/1.1"
    );
    assert_eq!(asked.header("x-goog-api-key"), Some(KEY));
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(
        asked.body,
        json!({
            "generationConfig": {"thinkingConfig": {"includeThoughts": true, "thinkingBudget": 4096}},
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        })
    );
}

#[tokio::test]
async fn addresses_lead_to_the_model_once() {
    let answer = streamed(&texts(&[say("hi"), finish("STOP")]));
    let mut server = Server::start(vec![answer; 5]).await;
    for (path, model, line) in [
        ("", "m", "/models/m:streamGenerateContent?alt=sse"),
        (
            "/v1beta/",
            "models/m",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
        ),
        (
            "/v1/models",
            "a/b c",
            "/v1/models/a%2Fb%20c:streamGenerateContent?alt=sse",
        ),
        (
            "/v1/models/x:generateContent?tenant=y",
            "m",
            "/v1/models/m:streamGenerateContent?tenant=y&alt=sse",
        ),
        (
            "/x/models/y:streamGenerateContent?alt=sse",
            "m",
            "/x/models/m:streamGenerateContent?alt=sse",
        ),
    ] {
        let base = format!("{}{path}", server.base);
        let provider = provider(Api::Gemini, &base, quick());
        let mut request = prompt();
        request.model = model.into();
        let read = read(provider.respond(request, CancellationToken::new())).await;
        assert_eq!(read, (vec![text("hi")], None));
        assert_eq!(server.asked().await.line(), format!("POST {line} HTTP/1.1"));
    }
}

#[tokio::test]
async fn thoughts_are_summaries_only_where_they_were_asked_for_and_told_whole() {
    let think = |text: &str| parts(json!([{"text": text, "thought": true}]));
    let begun = [think("one"), say("a"), think("tw")];
    for (end, last, error) in [
        (Some("STOP"), Some(thought("tw", true)), None),
        (Some("MAX_TOKENS"), Some(Chunk::Cut), None),
        (None, None, Some(ErrorKind::Interrupted)),
    ] {
        let events: Vec<_> = begun.iter().cloned().chain(end.map(finish)).collect();
        let mut expected = vec![thought("one", true), text("a")];
        expected.extend(last);
        assert_eq!(read_of(THINKS, &events).await, (expected, error));
    }
    let events = [&begun[..], &[finish("STOP")]].concat();
    let raw = vec![thought("one", false), text("a"), thought("tw", false)];
    assert_eq!(read_of("unknown", &events).await, (raw, None));
}

#[tokio::test]
async fn every_reason_to_finish_has_its_meaning() {
    let call = parts(json!([{"functionCall": {"name": "list", "id": "a", "args": {}}}]));
    let said = |last| {
        vec![
            text("a"),
            Chunk::State(json!({"call": 0, "id": "a"})),
            list("a", json!({})),
            last,
        ]
    };
    for (reason, expected) in [
        ("STOP", Ok(None)),
        ("MAX_TOKENS", Ok(Some(Chunk::Cut))),
        ("SAFETY", Err(ErrorKind::Filtered)),
        ("RECITATION", Err(ErrorKind::Filtered)),
        ("LANGUAGE", Err(ErrorKind::Filtered)),
        ("BLOCKLIST", Err(ErrorKind::Filtered)),
        ("PROHIBITED_CONTENT", Err(ErrorKind::Filtered)),
        ("SPII", Err(ErrorKind::Filtered)),
        ("IMAGE_SAFETY", Err(ErrorKind::Filtered)),
        ("MALFORMED_FUNCTION_CALL", Err(ErrorKind::Failed)),
        ("UNEXPECTED_TOOL_CALL", Err(ErrorKind::Failed)),
        ("TOO_MANY_TOOL_CALLS", Err(ErrorKind::Failed)),
        ("MISSING_THOUGHT_SIGNATURE", Err(ErrorKind::Failed)),
        ("MALFORMED_RESPONSE", Err(ErrorKind::Failed)),
        ("OTHER", Err(ErrorKind::Failed)),
        ("FINISH_REASON_UNSPECIFIED", Err(ErrorKind::Malformed)),
        ("SOMETHING_NEW", Err(ErrorKind::Malformed)),
    ] {
        let events = [say("a"), call.clone(), finish(reason)];
        let (chunks, error) = read_of("m", &events).await;
        match expected {
            Ok(last) => {
                let mut all = said(Chunk::Cut);
                all.pop();
                all.extend(last);
                assert_eq!((chunks, error), (all, None), "{reason}");
            }
            Err(kind) => assert_eq!((chunks, error), (vec![text("a")], Some(kind)), "{reason}"),
        }
    }
}

#[tokio::test]
async fn why_an_answer_is_withheld_is_told() {
    let blocked =
        json!({"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "Not this."}});
    let mut stopped = finish("SAFETY");
    stopped["candidates"][0]["finishMessage"] = json!("Nor that.");
    let free =
        json!({"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED", "safetyRatings": []}});
    for (event, words) in [
        (blocked, "SAFETY: Not this."),
        (stopped, "SAFETY: Nor that."),
        (json!({"promptFeedback": {"blockReason": "OTHER"}}), "OTHER"),
    ] {
        let steps = streamed(&texts(&[free.clone(), event]));
        let server = Server::start(vec![steps]).await;
        let provider = server.provider(Api::Gemini, quick());
        let (_, error) = read_whole(provider.respond(prompt(), CancellationToken::new())).await;
        let error = error.unwrap();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Filtered, Some(words))
        );
    }
    let failure = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    let (chunks, error) = read_of("m", &[say("a"), failure]).await;
    assert_eq!(
        (chunks, error),
        (vec![text("a")], Some(ErrorKind::Overloaded))
    );
}

#[tokio::test]
async fn odd_answers_are_read_for_what_they_mean() {
    let whole = json!({"candidates": [
        {"index": 1, "content": {"parts": [{"text": "no"}]}, "finishReason": "SAFETY"},
        {"content": {"parts": [{"text": "Hel"}, null, {"text": "lo"}]}, "finishReason": "STOP", "safetyRatings": null},
    ], "usageMetadata": ""});
    let pieces = vec![text("Hel"), text("lo")];
    for body in [
        whole.to_string(),
        json!([whole]).to_string(),
        json!({"response": whole, "traceId": "x"}).to_string(),
        format!("data: {whole}\n\ndata: [DONE]\n\n"),
    ] {
        let steps = plain(200, "content-type: application/json\r\n", &body);
        let (chunks, error) = answer(Api::Gemini, prompt(), steps).await;
        assert_eq!((&chunks, error), (&pieces, None), "{body}");
    }
    // Arguments as text, as nothing, alone in a list; names in the other spelling.
    let events = [
        parts(json!([{"functionCall": {"name": "list", "id": 1, "args": "{\"a\":1}"}}])),
        parts(json!([{"functionCall": {"name": "functions.list", "id": 2, "args": null}}])),
        parts(
            json!([{"function_call": {"name": "list", "id": 3, "args": [{"a": 1}]}, "thought_signature": "s"}]),
        ),
        finish("STOP"),
    ];
    let (chunks, error) = read_of("m", &events).await;
    let own = |id: &str| json!({"call": id.parse::<u64>().unwrap() - 1, "id": id});
    let mut signed = own("3");
    signed["thoughtSignature"] = json!("s");
    assert_eq!(
        (chunks, error),
        (
            vec![
                Chunk::State(own("1")),
                list("1", json!({"a": 1})),
                Chunk::State(own("2")),
                list("2", json!({})),
                Chunk::State(signed),
                list("3", json!({"a": 1})),
            ],
            None
        )
    );
}

#[tokio::test]
async fn signatures_that_a_server_demands_are_filled_in() {
    let hello = streamed(&texts(&[say("Hello"), finish("STOP")]));
    let demand = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
        "message": "Function call is missing a thought_signature in functionCall parts."}});
    let mut server = Server::start(vec![plain(400, "", &demand.to_string()), hello]).await;
    let provider = server.provider(Api::Gemini, quick());
    let call = ToolCall {
        id: "a".into(),
        name: "list".into(),
        input: json!({}),
    };
    let asked = crate::support::request(vec![
        provider::Message::User { text: "go".into() },
        provider::Message::Assistant {
            state: provider::ProviderState::default(),
            text: String::new(),
            tool_calls: vec![call],
        },
    ]);
    let read = read(provider.respond(asked, CancellationToken::new())).await;
    assert_eq!(read, (vec![text("Hello")], None));
    server.asked().await;
    let second = server.asked().await.body;
    assert!(second["contents"][1]["parts"][0]["thoughtSignature"].is_string());
}

#[tokio::test]
async fn other_spellings_and_numbers_are_read_for_what_they_mean() {
    let plain_names = json!({
        "candidates": [{"content": {"parts": [{"function_call": {"name": "list", "args": {}}, "thought_signature": "s"}]}, "finish_reason": "STOP"}],
        "usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 2},
    });
    let (chunks, error) = read_of(THINKS, &[plain_names]).await;
    assert_eq!(error, None);
    assert!(
        matches!(
            chunks[0],
            Chunk::Usage(Usage {
                input: 7,
                output: 2,
                ..
            })
        ),
        "{chunks:?}"
    );
    assert!(matches!(chunks.last(), Some(Chunk::ToolCall(call)) if call.name == "list"));
    let numbered = |reason: Value| {
        let mut event = say("Hi");
        event["candidates"][0]["finishReason"] = reason;
        [event]
    };
    for (reason, error) in [
        (json!(1), None),
        (json!(3), Some(ErrorKind::Filtered)),
        (json!(0), Some(ErrorKind::Malformed)),
        (json!(77), Some(ErrorKind::Malformed)),
        (
            json!("FINISH_REASON_UNSPECIFIED"),
            Some(ErrorKind::Malformed),
        ),
    ] {
        let (chunks, ended) = read_of(THINKS, &numbered(reason.clone())).await;
        assert_eq!((&chunks[..], ended), (&[text("Hi")][..], error), "{reason}");
    }
    let (_, ended) = read_of(THINKS, &[json!({"prompt_feedback": {"block_reason": 1}})]).await;
    assert_eq!(ended, Some(ErrorKind::Filtered));
    // One that is told later counts.
    let later = [numbered(json!(0)), [finish("STOP")]].concat();
    assert_eq!(read_of(THINKS, &later).await.1, None);
}
