//! Cancellation and dropping: at every stage the response ends at once and the connection closes.
//! Nothing here looks at what a response says.

use std::time::{Duration, Instant};

use provider::{Api, Chunk, ErrorKind, Patience, ProviderError, Response};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{PATIENT, Seen, Server, Step, events, plain, prompt, quick, stream_head};

/// Much less than any wait it interrupts, and much more than it needs.
const PROMPT: Duration = Duration::from_secs(5);

fn said() -> Vec<Step> {
    let said = json!({"choices": [{"delta": {"content": "Half"}}]}).to_string();
    vec![stream_head(), events(&[said]), Step::Hang]
}

async fn next(response: &mut Response) -> Option<Result<Chunk, ProviderError>> {
    tokio::time::timeout(PATIENT, response.next())
        .await
        .expect("the response hangs")
}

async fn closed(server: &mut Server) {
    assert!(matches!(server.seen().await, Seen::Closed));
}

/// Cancels while the next piece is awaited.
async fn cancel_during(response: &mut Response, server: &mut Server, cancel: &CancellationToken) {
    let (next, ()) = tokio::join!(next(response), async {
        server.asked().await;
        cancel.cancel();
    });
    assert_eq!(next, Some(Err(ErrorKind::Cancelled.into())));
    assert!(response.next().await.is_none());
}

#[tokio::test]
async fn cancelled_before_it_begins_it_asks_nobody() {
    let mut server = Server::start(vec![]).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let provider = server.provider(Api::Anthropic, quick());
    let mut response = provider.respond(prompt(), cancel);
    assert_eq!(
        next(&mut response).await,
        Some(Err(ErrorKind::Cancelled.into()))
    );
    server.saw_nothing_more();
}

#[tokio::test]
async fn while_the_answer_is_awaited() {
    let mut server = Server::start(vec![vec![Step::Hang]]).await;
    let cancel = CancellationToken::new();
    let provider = server.provider(Api::Anthropic, quick());
    let mut response = provider.respond(prompt(), cancel.clone());
    cancel_during(&mut response, &mut server, &cancel).await;
    closed(&mut server).await;
}

#[tokio::test]
async fn while_a_body_is_awaited() {
    let mut server = Server::start(vec![vec![stream_head(), Step::Hang]]).await;
    let cancel = CancellationToken::new();
    let provider = server.provider(Api::OpenaiChat, quick());
    let mut response = provider.respond(prompt(), cancel.clone());
    cancel_during(&mut response, &mut server, &cancel).await;
    closed(&mut server).await;
}

#[tokio::test]
async fn in_the_middle_of_a_stream() {
    let mut server = Server::start(vec![said()]).await;
    let cancel = CancellationToken::new();
    let provider = server.provider(Api::OpenaiChat, quick());
    let mut response = provider.respond(prompt(), cancel.clone());
    assert!(matches!(
        next(&mut response).await,
        Some(Ok(Chunk::Text(_)))
    ));
    cancel_during(&mut response, &mut server, &cancel).await;
    closed(&mut server).await;
}

#[tokio::test]
async fn while_waiting_to_try_again() {
    let refusal = plain(529, "retry-after: 60\r\n", "");
    let mut server = Server::start(vec![refusal]).await;
    let cancel = CancellationToken::new();
    let provider = server.provider(Api::Anthropic, Patience::default());
    let mut response = provider.respond(prompt(), cancel.clone());
    assert!(matches!(
        next(&mut response).await,
        Some(Ok(Chunk::Retry(_)))
    ));
    let begun = Instant::now();
    cancel_during(&mut response, &mut server, &cancel).await;
    assert!(begun.elapsed() < PROMPT);
    server.saw_nothing_more();
}

#[tokio::test]
async fn while_a_refusal_is_read() {
    let head = b"HTTP/1.1 400 X\r\ncontent-length: 9\r\n\r\n".to_vec();
    let mut server = Server::start(vec![vec![Step::Write(head), Step::Hang]]).await;
    let cancel = CancellationToken::new();
    let provider = server.provider(Api::Anthropic, quick());
    let mut response = provider.respond(prompt(), cancel.clone());
    let begun = Instant::now();
    cancel_during(&mut response, &mut server, &cancel).await;
    assert!(begun.elapsed() < PROMPT);
    closed(&mut server).await;
}

#[tokio::test]
async fn a_dropped_response_closes_its_connection() {
    let mut server = Server::start(vec![said(), vec![Step::Hang]]).await;
    let provider = server.provider(Api::OpenaiChat, quick());
    let mut response = provider.respond(prompt(), CancellationToken::new());
    assert!(matches!(
        next(&mut response).await,
        Some(Ok(Chunk::Text(_)))
    ));
    server.asked().await;
    drop(response);
    closed(&mut server).await;

    let mut response = provider.respond(prompt(), CancellationToken::new());
    tokio::select! {
        _ = response.next() => panic!("nothing was sent"),
        _ = server.asked() => {}
    }
    drop(response);
    closed(&mut server).await;
}

/// The engine looks at a response while it waits for other things too.
#[tokio::test]
async fn a_dropped_wait_loses_nothing() {
    let mut server = Server::start(vec![said()]).await;
    let provider = server.provider(Api::OpenaiChat, quick());
    let mut response = provider.respond(prompt(), CancellationToken::new());
    let mut asked = false;
    let chunk = loop {
        tokio::select! {
            biased;
            chunk = response.next() => break chunk,
            () = tokio::task::yield_now() => {}
        }
        if !asked {
            tokio::select! {
                biased;
                _ = server.asked() => asked = true,
                () = tokio::task::yield_now() => {}
            }
        }
    };
    assert_eq!(chunk, Some(Ok(Chunk::Text("Half".into()))));
}

#[tokio::test]
async fn cancelled_with_pieces_at_hand_it_gives_none_of_them() {
    let piece = json!({"choices": [{"delta": {"content": "x"}}]}).to_string();
    let many = vec![piece; 100];
    let server = Server::start(vec![vec![stream_head(), events(&many), Step::Hang]]).await;
    let cancel = CancellationToken::new();
    let provider = server.provider(Api::OpenaiChat, quick());
    let mut response = provider.respond(prompt(), cancel.clone());
    assert!(matches!(
        next(&mut response).await,
        Some(Ok(Chunk::Text(_)))
    ));
    cancel.cancel();
    assert_eq!(
        next(&mut response).await,
        Some(Err(ErrorKind::Cancelled.into()))
    );
}
