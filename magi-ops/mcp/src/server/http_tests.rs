//! A server over HTTP that answers as it is asked to: what one answer costs the others, and how often it is listened to.

#![allow(clippy::unwrap_used)]

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::*;

/// A server that is started, and what it was asked: the method of HTTP, or that of the message.
struct Fake {
    server: Server,
    asked: Arc<Mutex<Vec<String>>>,
    _home: tempfile::TempDir,
}

impl Fake {
    /// One whose stream that is listened to is this, whole.
    async fn start(listened: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&asked);
        tokio::spawn(async move {
            loop {
                let (browser, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(browser, Arc::clone(&heard), listened));
            }
        });
        let home = tempfile::tempdir().unwrap();
        let headers = Default::default();
        let launch = Launch::Http { url, headers };
        let server = tests::server(Some(launch), home.path());
        server.start().await.unwrap();
        Self {
            server,
            asked,
            _home: home,
        }
    }

    async fn call(&self, tool: &str) -> Result<Value, CallError> {
        let never = CancellationToken::new();
        self.server.call(tool, Map::new(), &never).await
    }

    fn count(&self, asked: &str) -> usize {
        let all = self.asked.lock().unwrap();
        all.iter().filter(|one| *one == asked).count()
    }
}

/// Answers one request, and closes.
async fn answer(browser: TcpStream, asked: Arc<Mutex<Vec<String>>>, listened: &str) {
    let mut browser = BufReader::new(browser);
    let (mut method, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if browser.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        let line = line.trim_end().to_lowercase();
        if method.is_empty() {
            method = line.split(' ').next().unwrap().to_owned();
        } else if let Some(bytes) = line.strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap();
        } else if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    browser.read_exact(&mut body).await.unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let said = message["method"].as_str().unwrap_or(&method).to_owned();
    asked.lock().unwrap().push(said.clone());
    let of = |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let content = |words: &str| of(json!({"content": [{"type": "text", "text": words}]}));
    let event = |message: Value| format!("event: message\ndata: {message}\n\n");
    const JSON: &str = "application/json";
    const EVENTS: &str = "text/event-stream";
    let long = "x".repeat(5_000_000);
    let fine = "200 OK";
    let (status, kind, body) = match (&*said, message["params"]["name"].as_str()) {
        ("get", _) => (fine, EVENTS, listened.to_owned()),
        ("initialize", _) => {
            let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}});
            (fine, JSON, of(result).to_string())
        }
        ("tools/list", _) => (fine, JSON, of(json!({"tools": []})).to_string()),
        ("tools/call", Some("slow")) => {
            sleep(Duration::from_millis(700)).await;
            (fine, JSON, content("slow").to_string())
        }
        ("tools/call", Some("long")) => (fine, EVENTS, event(content(&long))),
        ("tools/call", Some("long json")) => (fine, JSON, content(&long).to_string()),
        ("tools/call", Some("cut")) => (fine, EVENTS, String::new()),
        ("tools/call", Some("half")) => (fine, EVENTS, "data: {\"jsonrpc\":".to_owned()),
        ("tools/call", Some("broken")) => (fine, JSON, "{\"jsonrpc\":".to_owned()),
        ("tools/call", Some("away")) => ("500 Away", "text/html", "away".to_owned()),
        _ => ("202 Accepted", JSON, String::new()),
    };
    // One that promises more than it says breaks off.
    let more = usize::from(body.contains("BREAK"));
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nMcp-Session-Id: 1\r\nConnection: close\r\n\r\n",
        body.len() + more
    );
    let _ = browser.write_all(head.as_bytes()).await;
    let _ = browser.write_all(body.as_bytes()).await;
}

#[tokio::test]
async fn an_answer_that_does_not_come_costs_its_own_call() {
    for (kind, why) in [
        ("long", "longer than 4194304 bytes"),
        ("long json", "4194304 bytes"),
        ("cut", "the server's answer broke off"),
        ("half", "the server's answer broke off"),
        ("broken", "the call has no answer"),
        ("away", "500"),
    ] {
        let fake = Fake::start("").await;
        let (one, two, bad) = tokio::join!(fake.call("slow"), fake.call("slow"), async {
            sleep(Duration::from_millis(200)).await;
            fake.call(kind).await
        });
        for fine in [one, two] {
            assert_eq!(fine.unwrap()["content"][0]["text"], "slow", "{kind}");
        }
        let bad = bad.unwrap_err().to_string();
        assert!(bad.contains(why), "{kind}: {bad}");
        assert!(fake.call("slow").await.is_ok());
        // No other session, and the one that there is was not ended.
        assert_eq!(
            (fake.count("initialize"), fake.count("delete")),
            (1, 0),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_ends_is_not_opened_again_at_once_whatever_the_server_asks_for() {
    for listened in [
        "retry: 0\n\n",
        "retry: 0\n\ndata: BREAK",
        ": BREAK",
        "retry: 1\nretry: 2\n\n",
    ] {
        let fake = Fake::start(listened).await;
        sleep(Duration::from_millis(1_500)).await;
        let times = fake.count("get");
        assert!((1..=3).contains(&times), "{listened:?}: {times}");
    }
}
