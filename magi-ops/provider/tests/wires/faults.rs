//! Faults of servers and connections: statuses, retries, silence, bounds, lost connections.
//! What a healthy response says is tested elsewhere.

use std::time::{Duration, Instant, SystemTime};

use provider::{Api, Chunk, ErrorKind, Patience, Response, Retry};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{
    Server, Step, answer, events, packet, plain, prompt, provider, quick, read, stream_head,
    streamed, text,
};

fn healthy() -> Vec<Step> {
    streamed(&[
        json!({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}).to_string(),
        "[DONE]".to_owned(),
    ])
}

fn retries(chunks: &[Chunk]) -> Vec<Retry> {
    let retries = chunks.iter().filter_map(|chunk| match chunk {
        Chunk::Retry(retry) => Some(retry.clone()),
        _ => None,
    });
    retries.collect()
}

fn respond(server: &Server, patience: Patience) -> Response {
    let provider = server.provider(Api::OpenaiChat, patience);
    provider.respond(prompt(), CancellationToken::new())
}

#[tokio::test]
async fn what_passes_is_tried_four_times() {
    for (status, why) in [
        (429, ErrorKind::RateLimited),
        (500, ErrorKind::Overloaded),
        (502, ErrorKind::Overloaded),
        (503, ErrorKind::Overloaded),
        (529, ErrorKind::Overloaded),
    ] {
        let refusal = plain(status, "", "{}");
        let mut server = Server::start(vec![
            refusal.clone(),
            refusal.clone(),
            refusal.clone(),
            healthy(),
        ])
        .await;
        let (chunks, error) = read(respond(&server, quick())).await;
        assert_eq!(error, None, "{status}");
        let attempts: Vec<_> = retries(&chunks)
            .iter()
            .map(|retry| (retry.attempt, retry.why.kind()))
            .collect();
        assert_eq!(attempts, [(1, why), (2, why), (3, why)]);
        assert_eq!(chunks[3..], [text("ok")]);
        // The same request each time.
        let first = server.asked().await;
        for _ in 0..3 {
            assert_eq!(server.asked().await.body, first.body);
        }

        let server = Server::start(vec![refusal; 4]).await;
        let (chunks, error) = read(respond(&server, quick())).await;
        assert_eq!((chunks.len(), error), (3, Some(why)), "{status}");
    }
}

#[tokio::test]
async fn what_does_not_pass_is_tried_once() {
    let long = r#"{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
    let poor = r#"{"error":{"code":"insufficient_quota"}}"#;
    for (status, body, expected) in [
        (400, "", ErrorKind::Refused),
        (404, "", ErrorKind::NotFound),
        (
            501,
            r#"{"error":{"type":"server_error"}}"#,
            ErrorKind::Refused,
        ),
        (505, "", ErrorKind::Refused),
        (413, "", ErrorKind::ContextLength),
        (422, "", ErrorKind::Refused),
        (401, "", ErrorKind::Unauthorized),
        (403, "", ErrorKind::Unauthorized),
        (400, long, ErrorKind::ContextLength),
        (413, long, ErrorKind::ContextLength),
        (429, poor, ErrorKind::Quota),
    ] {
        let mut server = Server::start(vec![plain(status, "retry-after: 1\r\n", body)]).await;
        let (chunks, error) = read(respond(&server, quick())).await;
        assert_eq!((chunks, error), (vec![], Some(expected)), "{status}");
        server.asked().await;
        server.saw_nothing_more();
    }
}

#[tokio::test]
async fn the_server_may_ask_for_a_wait() {
    let date = |seconds| httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(seconds));
    let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    for (value, least, most) in [
        ("2".to_owned(), 2_000, 2_000),
        ("600".to_owned(), 60_000, 60_000),
        ("1.5".to_owned(), 1_500, 1_500),
        ("9\r\nretry-after-ms: 1500".to_owned(), 1_500, 1_500),
        (date(20), 18_000, 20_000),
        (date(3_600), 60_000, 60_000),
        // Nothing that can be followed: our own wait.
        (httpdate::fmt_http_date(past), 500, 750),
        ("0".to_owned(), 500, 750),
        ("soon".to_owned(), 500, 750),
    ] {
        for status in [429, 503] {
            let header = format!("Retry-After: {value}\r\n");
            let server = Server::start(vec![plain(status, &header, "")]).await;
            // The wait is told before it begins, and not waited for here.
            let mut response = respond(&server, Patience::default());
            let Some(Ok(Chunk::Retry(retry))) = response.next().await else {
                panic!("no retry");
            };
            let wait = retry.wait.as_millis();
            assert!((least..=most).contains(&wait), "{value}: {wait}");
        }
    }
}

#[tokio::test]
async fn a_compressed_answer_is_called_that_and_its_bytes_are_no_words() {
    for (status, kind) in [
        (200, ErrorKind::Malformed),
        (400, ErrorKind::Refused),
        (401, ErrorKind::Unauthorized),
    ] {
        let header = "content-encoding: GZIP\r\n";
        let mut server = Server::start(vec![plain(status, header, "\u{1f}garbage")]).await;
        let mut response = respond(&server, quick());
        let error = loop {
            match response.next().await {
                Some(Err(error)) => break error,
                Some(Ok(_)) => {}
                None => panic!("no failure"),
            }
        };
        assert_eq!((error.kind(), error.message()), (kind, Some("gzip")));
        assert!(error.to_string().contains("compressed"), "{error}");
        let asked = server.asked().await;
        assert!(
            asked.head.contains("accept-encoding: identity"),
            "{}",
            asked.head
        );
    }
    // What names no compression is none.
    for word in ["utf-8", "identity", "none"] {
        let done = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;
        let header = format!("content-encoding: {word}\r\n");
        let server = Server::start(vec![plain(200, &header, done)]).await;
        let read = read(respond(&server, quick())).await;
        assert_eq!(read, (vec![text("ok")], None), "{word}");
    }
}

#[tokio::test]
async fn waits_are_really_waited() {
    let server = Server::start(vec![plain(503, "retry-after: 1\r\n", ""), healthy()]).await;
    let begun = Instant::now();
    let (chunks, error) = read(respond(&server, quick())).await;
    assert_eq!((chunks.len(), error), (2, None));
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let mut other = Server::start(vec![]).await;
    for status in [301, 302, 307, 308] {
        let header = format!("location: {}/v1/messages\r\n", other.base);
        let server = Server::start(vec![plain(status, &header, "")]).await;
        let (chunks, error) = read(respond(&server, quick())).await;
        assert_eq!((chunks, error), (vec![], Some(ErrorKind::Redirected)));
    }
    other.saw_nothing_more();
}

#[tokio::test]
async fn a_connection_lost_before_output_is_tried_again() {
    let cut_head = vec![
        Step::Write(b"HTTP/1.1 200 OK\r\ncontent-".to_vec()),
        Step::Close,
    ];
    let cut_body = vec![stream_head(), packet(": hello\n\n"), Step::Close];
    for broken in [vec![Step::Close], cut_head, cut_body] {
        let server = Server::start(vec![broken, healthy()]).await;
        let (chunks, error) = read(respond(&server, quick())).await;
        assert_eq!(error, None);
        assert_eq!(retries(&chunks)[0].why, ErrorKind::Interrupted);
        assert_eq!(chunks[1..], [text("ok")]);
    }
}

#[tokio::test]
async fn a_connection_lost_after_output_is_not() {
    let said = json!({"choices": [{"delta": {"content": "Half"}}]}).to_string();
    let mut server = Server::start(vec![vec![stream_head(), events(&[said]), Step::Close]]).await;
    let (chunks, error) = read(respond(&server, quick())).await;
    assert_eq!(
        (chunks, error),
        (vec![text("Half")], Some(ErrorKind::Interrupted))
    );
    server.asked().await;
    server.saw_nothing_more();
}

/// Some servers leave out the end marker, and of those some the end of the body as well.
#[tokio::test]
async fn what_follows_a_whole_response_does_not_matter() {
    let said =
        json!({"choices": [{"delta": {"content": "All"}, "finish_reason": "stop"}]}).to_string();
    for end in [Step::Close, Step::Hang] {
        let steps = vec![stream_head(), events(std::slice::from_ref(&said)), end];
        let server = Server::start(vec![steps]).await;
        let patience = Patience {
            stall: Duration::from_secs(2),
            ..quick()
        };
        let read = read(respond(&server, patience)).await;
        assert_eq!(read, (vec![text("All")], None));
    }
}

#[tokio::test]
async fn nobody_there_is_a_network_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let provider = provider(Api::Anthropic, &base, quick());
    let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
    assert_eq!(retries(&chunks).len(), 3);
    assert_eq!(error, Some(ErrorKind::Network));
}

/// A server whose queue is full answers no attempt to connect.
#[tokio::test]
async fn a_connection_that_does_not_come_about_is_given_up() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    loop {
        let connecting = tokio::net::TcpStream::connect(address);
        match tokio::time::timeout(Duration::from_millis(300), connecting).await {
            Ok(Ok(stream)) => waiting.push(stream),
            _ => break,
        }
        assert!(waiting.len() < 64, "the queue has no end here");
    }
    let patience = Patience {
        connect: Duration::from_millis(100),
        attempts: 1,
        ..quick()
    };
    let provider = provider(Api::Anthropic, &format!("http://{address}"), patience);
    let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
    assert_eq!((chunks, error), (vec![], Some(ErrorKind::Network)));
}

#[tokio::test]
async fn silence_is_a_stall_wherever_it_begins() {
    let said = json!({"choices": [{"delta": {"content": "Half"}}]}).to_string();
    // Long enough for a busy machine to get as far as the silence.
    let short = Duration::from_secs(2);
    let late_first = Patience {
        first: Some(short),
        ..quick()
    };
    let late_next = Patience {
        stall: short,
        ..quick()
    };
    let late_whole = Patience {
        whole: short,
        ..quick()
    };
    let head_only = vec![stream_head(), Step::Hang];
    let comments = vec![stream_head(), packet(": still here\n\n"), Step::Hang];
    let begun = vec![stream_head(), events(&[said]), Step::Hang];
    let cases = [
        (late_first.clone(), vec![Step::Hang], 0),
        (late_first.clone(), head_only, 0),
        (late_first, comments, 0),
        (late_next, begun.clone(), 1),
        (late_whole, begun, 1),
    ];
    let cases = cases.map(|(patience, steps, output)| async move {
        let mut server = Server::start(vec![steps]).await;
        let (chunks, error) = read(respond(&server, patience)).await;
        assert_eq!((chunks.len(), error), (output, Some(ErrorKind::Stalled)));
        server.asked().await;
        // The connection is closed with it.
        assert!(matches!(server.seen().await, crate::support::Seen::Closed));
    });
    futures_util::future::join_all(cases).await;
}

/// Packets that arrive in time keep a response alive far beyond one wait.
#[tokio::test]
async fn a_slow_response_is_no_stall() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await.unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            .await
            .unwrap();
        let mut ticks = tokio::time::interval(Duration::from_millis(800));
        for _ in 0..6 {
            ticks.tick().await;
            let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
            stream.write_all(event).await.unwrap();
        }
        stream.write_all(b"data: [DONE]\n\n").await.unwrap();
    });
    let patience = Patience {
        stall: Duration::from_millis(3_500),
        ..quick()
    };
    let provider = provider(Api::OpenaiChat, &base, patience);
    let (chunks, error) = read(provider.respond(prompt(), CancellationToken::new())).await;
    assert_eq!((chunks.len(), error), (6, None));
    served.await.unwrap();
}

#[tokio::test]
async fn bodies_beyond_the_bounds_are_malformed() {
    let endless_line = vec![b'x'; 64 * 1024];
    let mut steps = vec![stream_head()];
    steps.extend((0..17).map(|_| packet(&endless_line)));
    steps.push(Step::Hang);
    let (chunks, error) = answer(Api::OpenaiChat, prompt(), steps).await;
    assert_eq!((chunks, error), (vec![], Some(ErrorKind::Malformed)));

    // Events of allowed size, but more than 64 MiB of them.
    let comment = format!(": {}\n", "x".repeat(512 * 1024));
    let mut steps = vec![stream_head()];
    steps.extend((0..129).map(|_| packet(&comment)));
    steps.push(Step::Hang);
    let (chunks, error) = answer(Api::OpenaiChat, prompt(), steps).await;
    assert_eq!((chunks, error), (vec![], Some(ErrorKind::Malformed)));
}

#[tokio::test]
async fn an_endless_refusal_is_read_in_part() {
    let head = b"HTTP/1.1 400 X\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let phrase = r#"{"error":"maximum context length"}"#;
    for (first, expected) in [
        (phrase.to_owned(), ErrorKind::ContextLength),
        // Beyond the first 64 KiB nobody looks.
        (" ".repeat(70_000), ErrorKind::Refused),
    ] {
        let mut steps = vec![Step::Write(head.clone()), packet(first)];
        steps.push(packet(" ".repeat(70_000)));
        steps.push(packet(phrase));
        steps.push(Step::Hang);
        let (chunks, error) = answer(Api::OpenaiChat, prompt(), steps).await;
        assert_eq!((chunks, error), (vec![], Some(expected)));
    }
}

#[tokio::test]
async fn what_is_no_stream_is_malformed_or_the_error_it_tells() {
    let json = "content-type: application/json\r\n";
    let html = "content-type: text/html; charset=utf-8\r\n";
    for (header, body, expected) in [
        (json, r#"{"choices":[]}"#, ErrorKind::Malformed),
        (json, r#"{"error":{"code":401}}"#, ErrorKind::Unauthorized),
        (html, "<html>sign in</html>", ErrorKind::Malformed),
    ] {
        let (chunks, error) = answer(Api::OpenaiChat, prompt(), plain(200, header, body)).await;
        assert_eq!((chunks, error), (vec![], Some(expected)), "{body}");
    }
    let garbage = vec![Step::Write(b"SSH-2.0-OpenSSH_9\r\n".to_vec()), Step::Close];
    let (_, error) = answer(Api::OpenaiChat, prompt(), garbage).await;
    assert_eq!(error, Some(ErrorKind::Interrupted));
}

#[tokio::test]
async fn output_before_a_malformed_event_is_kept() {
    let said = json!({"choices": [{"delta": {"content": "Half"}}]}).to_string();
    let steps = vec![stream_head(), events(&[said, "{".to_owned()]), Step::Hang];
    let (chunks, error) = answer(Api::OpenaiChat, prompt(), steps).await;
    assert_eq!(
        (chunks, error),
        (vec![text("Half")], Some(ErrorKind::Malformed))
    );
}

#[tokio::test]
async fn raw_thinking_alone_is_nothing_that_was_said() {
    let thinking = json!({"choices": [{"delta": {"reasoning_content": "hm"}}]}).to_string();
    let lost = vec![stream_head(), events(&[thinking]), Step::Close];
    let server = Server::start(vec![lost, healthy()]).await;
    let (chunks, error) = read(respond(&server, quick())).await;
    assert_eq!(error, None);
    let tries: Vec<_> = retries(&chunks)
        .iter()
        .map(|retry| retry.why.kind())
        .collect();
    assert_eq!(tries, [ErrorKind::Interrupted]);
    assert_eq!(chunks.last(), Some(&text("ok")));
}
