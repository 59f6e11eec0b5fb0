//! How long a closed connection waits for a request that nothing cancels, and for whom. In virtual time.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::io::{PipeReader, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use application_service::{ApplicationService, RULES, Word};
use host::serve::duplex::{Ended, serve};
use host::transport::{Input, Output};
use host::{Connection, Cx, Engines, Registry, Reply, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

const SERVER: Server = Server {
    name: "tests",
    version: "0",
    transports: &["stdio"],
};

#[derive(Debug, Deserialize, JsonSchema)]
struct Long {
    seconds: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Done {
    done: bool,
}

host::operation! {
    dialect: application_service::ApplicationService, method: "work", position: 1, class: Background, needs: Nothing,
    params: Long, answer: Done, errors: [], handler: work,
}
host::operation! {
    dialect: application_service::ApplicationService, method: "follow", position: 2, class: Inline, needs: Nothing,
    params: Long, answer: Done, errors: [], handler: follow,
}

async fn work(_: Cx<()>, long: Long) -> Result<Reply<Done>, Word> {
    sleep(Duration::from_secs(long.seconds)).await;
    Ok(Done { done: true }.into())
}

fn follow(_: Cx<()>, long: Long) -> Result<Reply<Done>, Word> {
    let working = sleep(Duration::from_secs(long.seconds));
    Ok(Reply::new(Done { done: true }).then(working))
}

/// Serves a client that asks and is gone at once, and that reads or does not. Says how the connection ended, when, and what was
/// answered.
async fn served(method: &str, seconds: u64, reads: bool) -> (Ended, u64, String) {
    let (input, mut client) = std::io::pipe().unwrap();
    let (mut answers, output) = std::io::pipe().unwrap();
    let asked = format!(
        r#"{{"protocol_version":1,"kind":"request","request_id":"r","method":"{method}","payload":{{"seconds":{seconds}}}}}"#
    );
    client.write_all(asked.as_bytes()).unwrap();
    client.write_all(b"\n").unwrap();
    drop(client);
    if !reads {
        fill(&output);
    }
    let registry = Arc::new(Registry::collect().unwrap());
    let workers = host::Workers::new(&RULES);
    let connection =
        Connection::new::<ApplicationService>(registry, SERVER, Engines::default(), workers);
    let (input, output) = (Input::new(input.into()), Output::new(output.into()));
    let began = Instant::now();
    let ended = serve(
        ApplicationService::default(),
        connection.unwrap(),
        input.unwrap(),
        output.unwrap(),
        std::future::ready(()),
    );
    let ended = ended.await.unwrap();
    let took = began.elapsed().as_secs();
    let answered = match reads {
        true => text(&mut answers),
        false => String::new(),
    };
    (ended, took, answered)
}

fn text(answers: &mut PipeReader) -> String {
    let mut text = String::new();
    answers.read_to_string(&mut text).unwrap();
    text
}

/// Leaves no room for an answer.
fn fill(mut output: &std::io::PipeWriter) {
    let flags = rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(output, flags).unwrap();
    while output.write(&[b'\n'; 4096]).is_ok() {}
}

#[tokio::test(start_paused = true)]
async fn a_request_that_nothing_cancels_is_answered_within_its_time() {
    for seconds in [1, 9, 25, 39] {
        let (ended, took, answered) = served("work", seconds, true).await;
        assert_eq!((ended, took), (Ended::Drained, seconds));
        assert!(answered.contains(r#""done":true"#), "{answered}");
    }
    let (ended, took, answered) = served("work", 50, true).await;
    assert_eq!((ended, took, answered.as_str()), (Ended::Failed, 40, ""));
}

#[tokio::test(start_paused = true)]
async fn nothing_else_makes_an_end_longer() {
    // The answer of 25 s has 10 s to be read.
    for (method, seconds, ends) in [("follow", 25, 10), ("work", 0, 10), ("work", 25, 35)] {
        let (ended, took, _) = served(method, seconds, false).await;
        assert_eq!((ended, took), (Ended::Failed, ends), "{method} {seconds}");
    }
    let (ended, took, _) = served("follow", 25, true).await;
    assert_eq!((ended, took), (Ended::Failed, 10));
}
