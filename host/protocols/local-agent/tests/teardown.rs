//! How long a closed connection waits for its engines. In virtual time; what engines do then is theirs.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use host::serve::duplex::{Ended, serve};
use host::transport::{Input, Output};
use host::{Connection, Engines, Registry, Server};
use local_agent::{LocalAgent, RULES};
use tokio::time::{Instant, sleep};

const SERVER: Server = Server {
    name: "tests",
    version: "0",
    transports: &["stdio"],
};

/// Serves a client that is gone at once; says how the connection ended and when.
async fn served(cleanup: impl Future<Output = ()>) -> (Ended, Duration) {
    let (input, client) = std::io::pipe().unwrap();
    let (_unread, output) = std::io::pipe().unwrap();
    drop(client);
    let registry = Arc::new(Registry::collect().unwrap());
    let workers = host::Workers::new(&RULES);
    let connection = Connection::new::<LocalAgent>(registry, SERVER, Engines::default(), workers);
    let connection = connection.unwrap();
    let (input, output) = (Input::new(input.into()), Output::new(output.into()));
    let began = Instant::now();
    let ended = serve(
        LocalAgent::new(),
        connection,
        input.unwrap(),
        output.unwrap(),
        cleanup,
    );
    (ended.await.unwrap(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn teardown_that_takes_too_long_is_left_to_itself_after_2000_ms() {
    let limit = Duration::from_millis(2000);
    // What the client got is not changed by it.
    let (ended, took) = served(std::future::pending()).await;
    assert_eq!(ended, Ended::Drained);
    assert!(
        (limit..limit + Duration::from_millis(50)).contains(&took),
        "{took:?}"
    );
    let (ended, took) = served(sleep(Duration::from_millis(700))).await;
    assert_eq!(ended, Ended::Drained);
    assert!(took < limit, "{took:?}");
}
