//! What is learned of a server while several requests are on their way, and how often one is tried beside that.
//! What a refusal's words mean is tested where they are read.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use provider::{
    Api, Chunk, Credential, CredentialError, CredentialSource, ErrorKind, Image, Message, Patience,
    ProviderState, Request, Secret, ToolCall, build_with,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Server, Step, config, plain, prompt, quick, read, request, streamed, text};

fn healthy() -> Vec<Step> {
    streamed(&[
        json!({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}).to_string(),
        "[DONE]".to_owned(),
    ])
}

fn refusal(words: &str) -> Vec<Step> {
    let body = json!({ "error": { "message": words } }).to_string();
    plain(400, "", &body)
}

fn with_image() -> Request {
    let call = ToolCall {
        id: "c".into(),
        name: "read".into(),
        input: json!({}),
    };
    request(vec![
        Message::User { text: "hi".into() },
        Message::Assistant {
            state: ProviderState::default(),
            text: String::new(),
            tool_calls: vec![call],
        },
        Message::ToolResult {
            call_id: "c".into(),
            name: "read".into(),
            content: "seen".into(),
            images: vec![Image::new(&b"GIF89a"[..]).unwrap()],
            is_error: false,
        },
    ])
}

/// Both requests are written before either is refused; the second refusal tells what is known by then.
#[tokio::test]
async fn requests_that_meet_the_same_refusal_at_once_are_all_sent_as_the_server_wants_them() {
    for (request, words, what) in [
        (
            prompt(),
            "Unknown member 'stream_options'",
            "stream_options",
        ),
        (with_image(), "The image is too large", "image_url"),
    ] {
        let has = |body: &Value| body.to_string().contains(what);
        let answers = vec![refusal(words), healthy(), refusal(words), healthy()];
        let mut server = Server::start(answers).await;
        let provider = server.provider(Api::OpenaiChat, quick());
        let both = [(); 2].map(|()| provider.respond(request.clone(), CancellationToken::new()));
        for response in both {
            assert_eq!(read(response).await, (vec![text("ok")], None), "{words}");
            assert!(has(&server.asked().await.body), "{words}");
            assert!(!has(&server.asked().await.body), "{words}");
        }
        server.saw_nothing_more();
    }
}

#[tokio::test]
async fn what_is_learned_from_a_refusal_costs_no_attempt() {
    let server = Server::start(vec![
        refusal("Unknown member 'stream_options'"),
        plain(503, "", ""),
        healthy(),
    ])
    .await;
    let patience = Patience {
        attempts: 2,
        ..quick()
    };
    let provider = server.provider(Api::OpenaiChat, patience);
    let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
    assert_eq!(error, None);
    // The number is that of the exchange, as recordings have it.
    assert!(
        matches!(&chunks[0], Chunk::Retry(retry) if retry.attempt == 2),
        "{chunks:?}"
    );
    assert_eq!(chunks[1..], [text("ok")]);
}

/// Finds no other credential, however long one waits.
struct Stuck;

impl CredentialSource for Stuck {
    fn get(&self) -> BoxFuture<'_, Result<Option<Credential>, CredentialError>> {
        let credential = Secret::new("sk-old").into();
        Box::pin(std::future::ready(Ok(Some(credential))))
    }

    fn rejected<'a>(&'a self, _: &'a Secret) -> BoxFuture<'a, Result<bool, CredentialError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn another_credential_is_waited_for_as_long_as_a_first_event() {
    let server = Server::start(vec![plain(401, "", "")]).await;
    let patience = Patience {
        first: Some(Duration::from_secs(2)),
        ..quick()
    };
    let config = config(Api::OpenaiChat, &server.base);
    let provider = build_with(&config, Arc::new(Stuck), None, patience).unwrap();
    let read = read(provider.respond(prompt(), CancellationToken::new())).await;
    assert_eq!(read, (vec![], Some(ErrorKind::Unauthorized)));
}
