//! How long a call may take, in virtual time: what a server says meanwhile, and what it does not.

#![allow(clippy::unwrap_used)]

use serde_json::json;
use store::settings::ServerState;
use store::{LocalHome, Reason};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, sleep};

use super::*;

/// The other side of a connection.
struct Other {
    lines: tokio::io::Lines<BufReader<OwnedReadHalf>>,
    to: OwnedWriteHalf,
}

impl Other {
    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn say(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.to
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }

    /// Answers whether it answers.
    async fn pong(&mut self) {
        let asked = self.next().await;
        assert_eq!(asked["method"], "ping");
        self.say(json!({"id": asked["id"], "result": {}})).await;
    }

    /// A step of progress of a call, so many seconds from now.
    async fn progress(&mut self, call: &Value, after: u64, step: u64) {
        sleep(Duration::from_secs(after)).await;
        let token = &call["params"]["_meta"]["progressToken"];
        let params = json!({"progressToken": token, "progress": step});
        self.say(json!({"method": "notifications/progress", "params": params}))
            .await;
    }
}

/// A connection of this server, and its other side.
async fn connection(told: Arc<AtomicU64>, number: u64) -> (Connection, Other) {
    let (near, far) = UnixStream::pair().unwrap();
    let (from, to) = far.into_split();
    let mut other = Other {
        lines: BufReader::new(from).lines(),
        to,
    };
    let client = Client {
        root: "file:///".to_owned(),
        told,
    };
    let connecting = client.greet(
        "s",
        Transport::Program(Stdio::new(near.into_std().unwrap()).unwrap()),
        CancellationToken::new(),
    );
    let greeted = async {
        let hello = other.next().await;
        let version = &hello["params"]["protocolVersion"];
        let result = json!({"protocolVersion": version, "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"}});
        other
            .say(json!({"id": hello["id"], "result": result}))
            .await;
        assert_eq!(other.next().await["method"], "notifications/initialized");
    };
    let (running, ()) = tokio::join!(connecting, greeted);
    let connection = Connection::begun(number, running.unwrap(), None);
    (connection.unwrap(), other)
}

/// A server that is not started, of a person whose accounts lie in `home`.
pub(super) fn server(launch: Option<Launch>, home: &std::path::Path) -> Server {
    let definition = McpServer {
        name: "s".to_owned(),
        launch,
        state: ServerState::Approved,
        is_other_approved: false,
        is_trust_said: true,
        trust: true,
        digest: String::new(),
        named: Reason::new("a test"),
    };
    let setting = Setting {
        cwd: "/".into(),
        guard: tools::guard::Guard::program("none"),
        trusted: true,
        home: Arc::new(LocalHome::at(home)),
        redactor: redact::Redactor::default(),
    };
    Server::new(
        definition,
        setting,
        Arc::default(),
        CancellationToken::new(),
    )
}

/// A server that is connected, and its other side.
async fn connected() -> (Server, Other) {
    let server = server(None, std::path::Path::new("/none"));
    let (connection, other) = connection(Arc::clone(&server.told), 0).await;
    *server.connection.lock().await = Some(connection);
    (server, other)
}

/// Calls it, with the other side doing this meanwhile; what came of it after how many seconds.
async fn called<F: Future>(meanwhile: impl FnOnce(Other) -> F) -> (Result<Value, CallError>, u64) {
    let (server, other) = connected().await;
    let never = CancellationToken::new();
    let began = Instant::now();
    let call = server.call("slow", Map::new(), &never);
    tokio::select! {
        answer = call => (answer, began.elapsed().as_secs()),
        _ = async { meanwhile(other).await; std::future::pending::<()>().await } => unreachable!(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_silent_server_ends_after_a_minute() {
    let silent = |mut other: Other| async move {
        other.next().await;
        // The server is told, and heard of no more.
        let told = other.next().await;
        assert_eq!(told["method"], "notifications/cancelled");
        other
    };
    let (answer, took) = called(silent).await;
    assert!(matches!(answer, Err(CallError::Late)), "{answer:?}");
    assert_eq!(took, 60);
}

#[tokio::test(start_paused = true)]
async fn progress_begins_the_minute_anew() {
    let slow = |mut other: Other| async move {
        let call = other.next().await;
        for step in 1..=4 {
            other.progress(&call, 50, step).await;
        }
        sleep(Duration::from_secs(50)).await;
        other
            .say(json!({"id": call["id"], "result": {"content": []}}))
            .await;
        other
    };
    let (answer, took) = called(slow).await;
    assert_eq!(answer.unwrap()["content"], json!([]));
    assert_eq!(took, 250);
}

#[tokio::test(start_paused = true)]
async fn no_progress_lasts_longer_than_ten_minutes() {
    let endless = |mut other: Other| async move {
        let call = other.next().await;
        for step in 1..100 {
            other.progress(&call, 30, step).await;
        }
        other
    };
    let (answer, took) = called(endless).await;
    assert!(matches!(answer, Err(CallError::Late)), "{answer:?}");
    assert_eq!(took, 600);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_nobody_s_and_the_next_call_gets_its_own() {
    let (server, mut other) = connected().await;
    let answering = async {
        let late = other.next().await;
        other.next().await;
        other.pong().await;
        let next = other.next().await;
        for (call, words) in [(&late, "late"), (&next, "own")] {
            let content = json!([{"type": "text", "text": words}]);
            other
                .say(json!({"id": call["id"], "result": {"content": content}}))
                .await;
        }
    };
    let calling = async {
        let never = CancellationToken::new();
        let late = server.call("slow", Map::new(), &never).await;
        assert!(matches!(late, Err(CallError::Late)), "{late:?}");
        server.call("slow", Map::new(), &never).await.unwrap()
    };
    let ((), answer) = tokio::join!(answering, calling);
    assert_eq!(answer["content"][0]["text"], "own");
}

#[tokio::test(start_paused = true)]
async fn one_that_answers_nothing_any_more_is_given_up_before_the_next_call() {
    let (server, mut other) = connected().await;
    let began = Instant::now();
    let heard = async {
        let mut heard = Vec::new();
        while let Ok(Some(line)) = other.lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            heard.push(message["method"].as_str().unwrap().to_owned());
        }
        heard
    };
    let calling = async {
        let never = CancellationToken::new();
        let late = server.call("slow", Map::new(), &never).await;
        assert!(matches!(late, Err(CallError::Late)), "{late:?}");
        // Here there is nothing that could be started again.
        let next = server.call("slow", Map::new(), &never).await;
        assert!(matches!(next, Err(CallError::Start(_))), "{next:?}");
        began.elapsed().as_secs()
    };
    let (heard, took) = tokio::join!(heard, calling);
    // The ping is taken back, too.
    assert_eq!(
        heard[..3],
        ["tools/call", "notifications/cancelled", "ping"]
    );
    assert!(!heard[3..].contains(&"tools/call".to_owned()), "{heard:?}");
    assert_eq!(took, 65);
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_in_a_cancelled_call_is_given_up_before_the_next_call() {
    let (server, mut other) = connected().await;
    let cancel = CancellationToken::new();
    let began = Instant::now();
    let heard = async {
        assert_eq!(other.next().await["method"], "tools/call");
        sleep(Duration::from_secs(1)).await;
        cancel.cancel();
        let told = other.next().await;
        assert_eq!(told["method"], "notifications/cancelled");
        assert_eq!(other.next().await["method"], "ping");
        other
    };
    let calling = async {
        let cancelled = server.call("slow", Map::new(), &cancel).await;
        assert!(
            matches!(cancelled, Err(CallError::Cancelled)),
            "{cancelled:?}"
        );
        // Here there is nothing that could be started again.
        let never = CancellationToken::new();
        let next = server.call("slow", Map::new(), &never).await;
        assert!(matches!(next, Err(CallError::Start(_))), "{next:?}");
        began.elapsed().as_secs()
    };
    let (_other, took) = tokio::join!(heard, calling);
    assert_eq!(took, 6);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_busy_with_a_call_that_somebody_waits_for_is_left_alone() {
    let (server, mut other) = connected().await;
    let (cancel, never) = (CancellationToken::new(), CancellationToken::new());
    let answering = async {
        let (_given_up, awaited) = (other.next().await, other.next().await);
        cancel.cancel();
        let told = other.next().await;
        assert_eq!(told["method"], "notifications/cancelled");
        // No ping: the call that comes next takes its place behind the one that goes on.
        let next = other.next().await;
        sleep(Duration::from_secs(50)).await;
        for (call, words) in [(&awaited, "awaited"), (&next, "next")] {
            assert_eq!(call["method"], "tools/call");
            let content = json!([{"type": "text", "text": words}]);
            let answer = json!({"id": call["id"], "result": {"content": content}});
            other.say(answer).await;
        }
        // Now there may be a doubt, and nobody who would lose something.
        other.pong().await;
        let last = other.next().await;
        let answer = json!({"id": last["id"], "result": {"content": []}});
        other.say(answer).await;
    };
    let calling = async {
        let given_up = async {
            let given_up = server.call("slow", Map::new(), &cancel).await;
            assert!(
                matches!(given_up, Err(CallError::Cancelled)),
                "{given_up:?}"
            );
            server.call("slow", Map::new(), &never).await.unwrap()
        };
        let awaited = server.call("slow", Map::new(), &never);
        let (next, awaited) = tokio::join!(given_up, awaited);
        assert_eq!(next["content"][0]["text"], "next");
        assert_eq!(awaited.unwrap()["content"][0]["text"], "awaited");
        server.call("slow", Map::new(), &never).await.unwrap();
    };
    tokio::join!(answering, calling);
}

#[tokio::test(start_paused = true)]
async fn while_tools_are_listed_again_calls_go_on_and_a_list_that_nobody_waited_for_is_asked_for_again()
 {
    let (server, mut other) = connected().await;
    let changed = json!({"method": "notifications/tools/list_changed"});
    other.say(changed).await;
    sleep(Duration::from_millis(1)).await;
    assert!(server.has_changed());
    let answering = async {
        let unanswered = other.next().await;
        assert_eq!(unanswered["method"], "tools/list");
        let call = other.next().await;
        assert_eq!(call["method"], "tools/call");
        let answer = json!({"id": call["id"], "result": {"content": []}});
        other.say(answer).await;
        other
    };
    let calling = async {
        sleep(Duration::from_secs(1)).await;
        let never = CancellationToken::new();
        server.call("slow", Map::new(), &never).await.unwrap();
    };
    let listing = timeout(Duration::from_secs(2), server.refresh());
    let (given_up, mut other, ()) = tokio::join!(listing, answering, calling);
    assert!(given_up.is_err());
    let generation = || server.generation.load(Ordering::Acquire);
    assert_eq!((server.has_changed(), generation()), (true, 0));
    let answering = async {
        loop {
            let asked = other.next().await;
            if asked["method"] == "tools/list" {
                let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
                let answer = json!({"id": asked["id"], "result": {"tools": [tool]}});
                return other.say(answer).await;
            }
        }
    };
    // Two that look at once ask once.
    tokio::join!(answering, server.refresh(), server.refresh());
    assert_eq!((server.has_changed(), generation()), (false, 1));
    assert_eq!(server.offers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_call_ends_no_other_connection_than_its_own() {
    let (server, other) = connected().await;
    let calls = [server.used().await.unwrap(), server.used().await.unwrap()];
    drop(other);
    sleep(Duration::from_millis(1)).await;
    let mut calls = calls.into_iter().map(|(used, waiting)| {
        waiting.answered();
        used
    });
    server
        .lost(ServiceError::TransportClosed, calls.next().unwrap())
        .await;
    assert!(server.connection.lock().await.is_none());
    // Another call starts it again meanwhile.
    let (anew, _other) = connection(Arc::default(), 1).await;
    *server.connection.lock().await = Some(anew);
    server
        .lost(ServiceError::TransportClosed, calls.next().unwrap())
        .await;
    assert!(server.connection.lock().await.is_some());
}
