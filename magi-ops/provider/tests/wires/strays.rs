//! What stands in a body without being an event of it: lines, pages, nothing at all; and odd events.
//! Statuses and lost connections are tested elsewhere.

use provider::{Api, Chunk, ErrorKind, ProviderError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    Server, Step, body_end, packet, plain, prompt, quick, read_whole, stream_head, text,
};

/// The events of an answer that calls a tool, up to its end marker.
fn call(api: Api) -> String {
    let events = match api {
        Api::Anthropic => vec![
            json!({"type": "content_block_start", "index": 0, "content_block":
                {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        ],
        Api::OpenaiResponses => vec![
            json!({"type": "response.output_item.done", "output_index": 0, "item":
                {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{\"path\":\"x\"}"}}),
        ],
        Api::Gemini => vec![
            json!({"candidates": [{"content": {"parts": [{"functionCall":
                {"id": "a", "name": "read", "args": {"path": "x"}}}]}}]}),
            json!({"candidates": [{"finishReason": "STOP"}]}),
        ],
        _ => vec![
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a",
                "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        ],
    };
    events.iter().map(data).collect()
}

fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}

fn end(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "data: {\"type\":\"message_stop\"}\n\n",
        Api::OpenaiResponses => {
            "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
        }
        _ => "data: [DONE]\n\n",
    }
}

async fn read_steps(api: Api, steps: Vec<Step>) -> (Vec<Chunk>, Option<ProviderError>) {
    let mut server = Server::start(vec![steps]).await;
    let patience = provider::Patience {
        attempts: 1,
        ..quick()
    };
    let provider = server.provider(api, patience);
    let read = read_whole(provider.respond(prompt(), CancellationToken::new())).await;
    server.asked().await;
    server.saw_nothing_more();
    read
}

async fn read_body(api: Api, body: &str) -> (Vec<Chunk>, Option<ProviderError>) {
    read_steps(api, vec![stream_head(), packet(body), body_end()]).await
}

fn has_call(chunks: &[Chunk]) -> bool {
    chunks
        .iter()
        .any(|chunk| matches!(chunk, Chunk::ToolCall(_)))
}

const APIS: [Api; 4] = [
    Api::OpenaiChat,
    Api::Anthropic,
    Api::OpenaiResponses,
    Api::Gemini,
];

#[tokio::test]
async fn an_end_marker_counts_without_its_field_and_its_line_end() {
    for api in APIS {
        let body = format!("{}[DONE]", call(api));
        let (chunks, error) = read_steps(api, vec![stream_head(), packet(body), Step::Close]).await;
        assert!(has_call(&chunks) && error.is_none(), "{api:?} {error:?}");
    }
}

#[tokio::test]
async fn what_tells_of_a_failure_between_events_fails_the_response() {
    for (line, reason) in [
        ("error: {\"code\":500,\"message\":\"boom\"}", "boom"),
        ("error: boom", "boom"),
        ("{\"error\":{\"message\":\"boom\"}}", "boom"),
        (
            "{\n  \"error\": {\n    \"message\": \"boom\"\n  }\n}",
            "boom",
        ),
        ("{\"detail\":\"boom\"}", "boom"),
        ("Internal Server Error", "Internal Server Error"),
        ("upstream is gone", "upstream is gone"),
        ("{\"odd\":1}", "no part of an event stream"),
        ("<html><body>502</body></html>", "web page"),
        (
            "event: response.failed\ndata: {\"message\":\"boom\"}",
            "boom",
        ),
        ("event: response.failed\ndata: boom", "boom"),
        ("event: error\nevent: ping\ndata: boom", "boom"),
        ("data: {\"Error\":{\"Message\":\"boom\"}}", "boom"),
        ("data: {\"errorMessage\":\"boom\"}", "boom"),
        ("{\"Error\":{\"Message\":\"boom\"}}", "boom"),
        (
            "data: {\n  \"error\": {\n    \"message\": \"boom\"\n  }\n}",
            "boom",
        ),
        ("data: {\"status\":500,\"title\":\"boom\"}", "boom"),
        ("data: {\"exception\":\"boom\"}", "boom"),
        ("data: {\"is_error\":true,\"result\":\"boom\"}", "boom"),
    ] {
        for api in APIS {
            let (call, end) = (call(api), end(api));
            for body in [
                format!("{call}{line}\n\n{end}"),
                format!("{call}{line}\n{end}"),
                format!("{call}{line}\n"),
                format!("{call}{line}"),
            ] {
                let (chunks, error) = read_body(api, &body).await;
                let error = error.unwrap_or_else(|| panic!("{api:?} {body}"));
                assert!(!has_call(&chunks), "{api:?} {body}");
                let told = format!("{error} {}", error.message().unwrap_or_default());
                assert!(told.contains(reason), "{api:?} {body}: {told}");
            }
            // The same where the connection breaks behind it.
            let broken = vec![stream_head(), packet(format!("{call}{line}")), Step::Close];
            let (chunks, error) = read_steps(api, broken).await;
            assert!(error.is_some() && !has_call(&chunks), "{api:?} {line}");
        }
    }
}

#[tokio::test]
async fn fields_comments_and_blank_lines_are_harmless() {
    for line in [
        "id: error",
        "retry: 500",
        "event: ping\n",
        ": error",
        "",
        "id",
        "x-trace: 7",
        "data: ping\n",
    ] {
        for api in APIS {
            let (call, end) = (call(api), end(api));
            let (chunks, error) = read_body(api, &format!("{call}{line}\n{end}")).await;
            assert_eq!(error, None, "{api:?} {line}");
            assert!(has_call(&chunks), "{api:?} {line}");
        }
    }
    let (chunks, error) = read_body(Api::OpenaiChat, &(call(Api::OpenaiChat) + "[DONE]\n")).await;
    assert!(error.is_none() && has_call(&chunks));
}

#[tokio::test]
async fn an_answer_without_events_is_told_as_what_it_is() {
    let none = "content-type: text/event-stream\r\n";
    let words = "content-type: text/plain\r\n";
    for (status, header, body, told) in [
        (200, none, "", "no body"),
        (204, none, "", "HTTP 204"),
        (200, words, "hello there", "hello there"),
        (200, words, "no route to model", "no route to model"),
    ] {
        for api in APIS {
            let mut server = Server::start(vec![plain(status, header, body)]).await;
            let provider = server.provider(api, quick());
            let response = provider.respond(prompt(), CancellationToken::new());
            let (chunks, error) = read_whole(response).await;
            let error = error.unwrap();
            assert_eq!((chunks, error.kind()), (vec![], ErrorKind::Malformed));
            let said = format!("{error} {}", error.message().unwrap_or_default());
            assert!(said.contains(told), "{said}");
            server.asked().await;
            server.saw_nothing_more();
        }
    }
}

#[tokio::test]
async fn words_behind_values_without_an_event_stream_count_too() {
    let said = json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]});
    for (last, fails) in [
        ("Internal Server Error", true),
        ("error: {\"message\":\"boom\"}", true),
        ("error: {\"code\":7}", true),
        ("gone away", true),
        ("[DONE]", false),
        ("data: [DONE]", false),
        (": comment", false),
        ("", false),
    ] {
        for body in [format!("{said}\n{last}\n"), format!("{said}\n{last}")] {
            let (_, error) = read_body(Api::OpenaiChat, &body).await;
            assert_eq!(error.is_some(), fails, "{body} {error:?}");
        }
    }
}

#[tokio::test]
async fn a_long_refusal_says_its_message_and_never_raw_json() {
    let filler = "x".repeat(70_000);
    for (body, expected) in [
        (
            json!({"error": {"message": "boom", "trace": filler}}).to_string(),
            Some("boom"),
        ),
        (json!({"a": filler, "error": "late"}).to_string(), None),
    ] {
        let (_, error) = read_steps(Api::OpenaiChat, plain(400, "", &body)).await;
        assert_eq!(error.unwrap().message(), expected);
    }
}

#[tokio::test]
async fn odd_events_are_read_for_what_they_mean() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let body = format!(
        "data: {{\"extra\":{deep},\"choices\":[{{\"index\":1,\"delta\":{{\"content\":\"no\"}}}},\
         {{\"index\":0,\"delta\":{{\"content\":4}}}}]}}\n\n\
         data: {{\"choices\":[{{\"index\":2,\"delta\":{{\"content\":\"no\"}},\
         \"finish_reason\":\"length\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let (chunks, error) = read_body(Api::OpenaiChat, &body).await;
    assert_eq!((chunks, error), (vec![text("4")], None));

    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"😀\"}}]}\n\ndata: [DONE]\n\n";
    let at = body.find('😀').unwrap() + 2;
    let (head, tail) = body.as_bytes().split_at(at);
    let steps = vec![stream_head(), packet(head), packet(tail), body_end()];
    let (chunks, error) = read_steps(Api::OpenaiChat, steps).await;
    assert_eq!((chunks, error), (vec![text("😀")], None));
}

#[tokio::test]
async fn a_character_may_come_in_two_events_byte_by_byte() {
    let [head, tail] = [&"😀".as_bytes()[..2], &"😀".as_bytes()[2..]];
    let around = |api, bytes: &[u8]| {
        let event = match api {
            Api::Anthropic => json!({"type": "content_block_delta", "index": 0, "delta":
                {"type": "text_delta", "text": "<>"}}),
            Api::OpenaiResponses => json!({"type": "response.output_text.delta", "delta": "<>"}),
            Api::Gemini => json!({"candidates": [{"content": {"parts": [{"text": "<>"}]}}]}),
            _ => json!({"choices": [{"delta": {"content": "<>"}}]}),
        };
        let event = data(&event);
        let (before, after) = event.split_once("<>").unwrap();
        [before.as_bytes(), bytes, after.as_bytes()].concat()
    };
    for api in APIS {
        let whole = match api {
            Api::Anthropic => data(&json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "text", "text": ""}})),
            _ => String::new(),
        };
        let finish = match api {
            Api::Anthropic => {
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
            }
            Api::OpenaiResponses => json!({"type": "response.in_progress"}),
            Api::Gemini => json!({"candidates": [{"finishReason": "STOP"}]}),
            _ => json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        };
        for (pieces, expected) in [
            ([&b"a"[..], head, tail, b"b"], "a😀b"),
            ([b"a", head, b"b", tail], "a\u{fffd}b\u{fffd}\u{fffd}"),
        ] {
            let mut steps = vec![stream_head()];
            steps.extend((!whole.is_empty()).then(|| packet(&whole)));
            steps.extend(pieces.iter().map(|piece| packet(around(api, piece))));
            steps.push(packet(data(&finish) + end(api)));
            steps.push(body_end());
            let (chunks, error) = read_steps(api, steps).await;
            let said: String = chunks
                .iter()
                .map(|chunk| match chunk {
                    Chunk::Text(text) => text.as_str(),
                    _ => "",
                })
                .collect();
            assert_eq!((said.as_str(), error), (expected, None), "{api:?}");
        }
    }
}

#[tokio::test]
async fn printed_json_behind_one_field_is_one_event() {
    for api in APIS {
        let body: String = (call(api) + end(api))
            .split("\n\n")
            .map(|event| match event.strip_prefix("data: ") {
                Some(data) if data.starts_with('{') => {
                    let value: Value = serde_json::from_str(data).unwrap();
                    format!("data: {value:#}\n\n")
                }
                _ => format!("{event}\n\n"),
            })
            .collect();
        let (chunks, error) = read_body(api, &body).await;
        assert_eq!((has_call(&chunks), error), (true, None), "{body}");
    }
}

#[tokio::test]
async fn arguments_in_a_list_or_a_fence_are_the_object() {
    let own = json!({"path": "x"});
    for sent in [
        json!([own.clone()]),
        json!(format!("[{own}]")),
        json!(format!("```json\n{own}\n```")),
        json!(format!("```\n{own:#}\n```\n")),
    ] {
        let body = data(
            &json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a",
            "function": {"name": "read", "arguments": sent}}]}, "finish_reason": "tool_calls"}]}),
        );
        let (chunks, error) = read_body(Api::OpenaiChat, &(body + "data: [DONE]\n\n")).await;
        assert_eq!(error, None);
        let [Chunk::ToolCall(call)] = chunks.as_slice() else {
            panic!("{chunks:?}");
        };
        assert_eq!(call.input, own, "{sent}");
    }
}

#[tokio::test]
async fn a_promised_call_must_come() {
    for (api, body) in [
        (
            Api::OpenaiChat,
            json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "tool_calls"}]}),
        ),
        (
            Api::Anthropic,
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        ),
    ] {
        let (_, error) = read_body(api, &(data(&body) + end(api))).await;
        assert_eq!(error.unwrap().kind(), ErrorKind::Malformed, "{api:?}");
    }
}

#[tokio::test]
async fn names_of_tools_are_trimmed_and_joined() {
    for (pieces, expected) in [
        (vec![" read "], "read"),
        (vec!["functions.read"], "read"),
        (vec!["read", "_file"], "read_file"),
        (vec!["read", "read"], "read"),
        (vec!["re", "read"], "read"),
    ] {
        let mut body = String::new();
        for piece in &pieces {
            body += &data(&json!({"choices": [{"delta": {"tool_calls": [
                {"index": 0, "id": "a", "function": {"name": piece}}]}}]}));
        }
        body += &data(&json!({"choices": [{"finish_reason": "tool_calls"}]}));
        let (chunks, error) = read_body(Api::OpenaiChat, &(body + "data: [DONE]\n\n")).await;
        assert_eq!(error, None);
        let [Chunk::ToolCall(call)] = chunks.as_slice() else {
            panic!("{pieces:?} {chunks:?}");
        };
        assert_eq!(call.name, expected);
    }
}
