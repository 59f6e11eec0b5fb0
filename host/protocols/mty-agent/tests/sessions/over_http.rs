//! The HTTP transport against the parent's operations.
//! Recordings and Unix sockets are the parent's.

use super::*;

/// A running HTTP server on a loopback port.
struct Http {
    port: u16,
    stop: oneshot::Sender<()>,
    server: tokio::task::JoinHandle<io::Result<()>>,
}

impl Http {
    async fn start(world: &Arc<World>, token: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, stopped) = oneshot::channel::<()>();
        let options = http::Options {
            token: token.map(str::to_owned),
            recorder: None,
            version: "1.2.3",
        };
        let world = Arc::clone(world);
        let stopped = async { drop(stopped.await) };
        let server = tokio::spawn(http::serve(
            listener,
            options,
            Box::new(move || world.connection()),
            stopped,
        ));
        Self { port, stop, server }
    }

    async fn open(&self, request: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        within(stream.write_all(request)).await.unwrap();
        stream
    }

    async fn ask(&self, request: &str) -> String {
        let mut stream = self.open(request.as_bytes()).await;
        let mut text = String::new();
        within(stream.read_to_string(&mut text)).await.unwrap();
        text
    }

    fn post(&self, path: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {length}\r\n\r\n{body}",
            self.port
        )
    }
}

#[tokio::test]
async fn a_batch_shares_a_session_and_others_do_not() {
    let world = World::new();
    let http = Http::start(&world, None).await;
    let batch = http
        .ask(&http.post(
            "/v1/agent/batch",
            &format!("{COUNT}\n\n{COUNT}\r\n{{\"op\":\"halt\"}}\n{COUNT}"),
        ))
        .await;
    assert!(
        batch.contains("\"count\":1")
            && batch.contains("\"count\":2")
            && !batch.contains("\"count\":3"),
        "{batch}"
    );
    assert!(
        http.ask(&http.post("/v1/agent", COUNT))
            .await
            .contains("\"count\":1")
    );
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_op() {
    let world = World::new();
    let http = Http::start(&world, None).await;
    let mut stream = http
        .open(http.post("/v1/agent", "{\"op\":\"wait\"}").as_bytes())
        .await;
    read_until(&mut stream, "waiting").await;
    drop(stream);
    world.one_cancelled().await;
}

#[tokio::test]
async fn an_answer_reaches_a_client_that_is_still_sending() {
    let world = World::new();
    let http = Http::start(&world, None).await;
    let body = "x".repeat(9 * 1024 * 1024);
    let answer = http.ask(&http.post("/v1/agent", &body)).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let http = Http::start(&world, Some("secret")).await;
    let answer = http.ask(&http.post("/v1/agent", &body)).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert!(
        answer.ends_with("\r\n\r\n{\"kind\":\"error\",\"message\":\"unauthorized\"}"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_target_in_absolute_form_is_a_host_too() {
    let http = Http::start(&World::new(), None).await;
    let port = http.port;
    for (target, status) in [
        ("http://example.org", 403),
        ("http://127.0.0.1", 200),
        ("", 200),
    ] {
        let request =
            format!("GET {target}/v1/agent/version HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        let answer = http.ask(&request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{target}: {answer}"
        );
    }
}

#[tokio::test]
async fn an_http_server_stops_in_time() {
    let world = World::new();
    let http = Http::start(&world, None).await;
    let mut idle = http.open(b"").await;
    let mut busy = http
        .open(http.post("/v1/agent", "{\"op\":\"wait\"}").as_bytes())
        .await;
    read_until(&mut busy, "waiting").await;
    let begun = std::time::Instant::now();
    http.stop.send(()).unwrap();
    within(http.server).await.unwrap().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "the grace is two seconds"
    );
    world.one_cancelled().await;
    assert_eq!(within(idle.read(&mut [0; 8])).await.unwrap_or(0), 0);
}
