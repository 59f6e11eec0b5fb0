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
        (with_image(), "The image cannot be processed", "image_url"),
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

/// Renews what is refused, and cannot store it.
#[derive(Default)]
struct Renewing(std::sync::atomic::AtomicU32);

impl CredentialSource for Renewing {
    fn get(&self) -> BoxFuture<'_, Result<Option<Credential>, CredentialError>> {
        let credential = Secret::new("sk-own").into();
        Box::pin(std::future::ready(Ok(Some(credential))))
    }

    fn rejected<'a>(&'a self, _: &'a Secret) -> BoxFuture<'a, Result<bool, CredentialError>> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(true)))
    }

    fn trouble(&self) -> Option<CredentialError> {
        let renewed = self.0.swap(0, std::sync::atomic::Ordering::Relaxed);
        let why = std::io::Error::other("zz-reason");
        (renewed > 0).then(|| CredentialError::Unavailable(Box::new(why)))
    }
}

#[tokio::test]
async fn a_credential_is_replaced_where_it_is_what_the_server_refuses() {
    for (status, body, renews) in [
        (401, "", true),
        (
            403,
            r#"{"error":{"message":"Country, region, or territory not supported"}}"#,
            false,
        ),
        (400, r#"{"error":{"status":"API_KEY_INVALID"}}"#, false),
    ] {
        let mut answers = vec![plain(status, "", body)];
        answers.extend(renews.then(healthy));
        let server = Server::start(answers).await;
        let config = config(Api::OpenaiChat, &server.base);
        let source = Arc::new(Renewing::default());
        let provider = build_with(&config, source, None, quick()).unwrap();
        let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
        if !renews {
            assert_eq!(
                (chunks, error),
                (vec![], Some(ErrorKind::Unauthorized)),
                "{status}"
            );
            continue;
        }
        assert_eq!(error, None);
        let [Chunk::Notice(told), rest] = &chunks[..] else {
            panic!("{chunks:?}");
        };
        assert_eq!((told.kind(), rest), (ErrorKind::NotStored, &text("ok")));
        assert_eq!(told.cause().as_deref(), Some("zz-reason"));
    }
}

/// Of a body that is too long, or an image that is called too long without being it, other images don't suffer.
#[tokio::test]
async fn a_short_image_ends_no_others() {
    let other = || {
        let mut request = with_image();
        let Some(Message::ToolResult { images, .. }) =
            Arc::make_mut(&mut request.messages).last_mut()
        else {
            panic!("no result");
        };
        images[0] = Image::new(&b"GIF87a"[..]).unwrap();
        request
    };
    for (first, tries) in [
        (
            plain(413, "", r#"{"error":{"message":"Payload too large"}}"#),
            1,
        ),
        (refusal("image exceeds 5 MB maximum"), 2),
    ] {
        let mut answers = vec![first];
        answers.extend((0..tries).map(|_| healthy()));
        let mut server = Server::start(answers).await;
        let provider = server.provider(Api::OpenaiChat, quick());
        let respond = |request| read(provider.respond(request, CancellationToken::new()));
        let (_, error) = respond(with_image()).await;
        assert_eq!(error, (tries == 1).then_some(ErrorKind::ContextLength));
        server.asked().await;
        if tries == 2 {
            let body = server.asked().await.body.to_string();
            assert!(
                body.contains("the server refused a request with it"),
                "{body}"
            );
        }
        assert_eq!(respond(other()).await.1, None);
        let body = server.asked().await.body.to_string();
        assert!(
            body.contains("data:image/gif") && !body.contains("takes none"),
            "{body}"
        );
    }
}
