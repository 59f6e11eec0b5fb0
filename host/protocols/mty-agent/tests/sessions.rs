//! mty-agent's transports and its recorder against operations of this test's own.
//! What the real ops answer is tested where they live.
#![cfg(all(feature = "http", feature = "unix"))]
#![allow(clippy::unwrap_used)]

use std::future::Future;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use host::serve::sequential::{serve_lines, serve_once};
use host::transport::Input;
use host::transport::unix::Socket;
use host::{Connection, Cx, Engines, Registry, Server};
use mty_agent::http;
use mty_agent::record::Recorder;
use mty_agent::replay::{ReplayError, Sessions, replay};
use mty_agent::{MtyAgent, OpFailure, RULES, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Semaphore, oneshot};

#[path = "sessions/over_http.rs"]
mod over_http;

const PATIENCE: Duration = Duration::from_secs(20);

/// One session: how often it counted.
#[derive(Default)]
struct Counter(AtomicUsize);

/// Shared by all sessions: how many waiting ops were cancelled.
struct Cancelled(Semaphore);

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
struct Count {
    count: usize,
}

#[derive(Serialize, JsonSchema)]
struct Log {
    text: String,
}

host::event! {
    /// A line of output.
    dialect: mty_agent::MtyAgent, name: "log", position: 1, delivery: MustArrive, data: Log
}

async fn count(cx: Cx<Counter>, _: Nothing) -> Result<Reply<Count>, OpFailure> {
    let _ = cx
        .events()
        .send(&Log {
            text: "counting\u{1b}".to_owned(),
        })
        .await;
    Ok(Count {
        count: cx.engine().0.fetch_add(1, Ordering::SeqCst) + 1,
    }
    .into())
}

async fn wait(cx: Cx<Cancelled>, _: Nothing) -> Result<Reply<Count>, OpFailure> {
    let _ = cx
        .events()
        .send(&Log {
            text: "waiting".to_owned(),
        })
        .await;
    let (cancelled, engine) = (cx.cancellation(), Arc::clone(cx.engine()));
    // A worker beside the op, as the real ones have, outlives its future.
    tokio::spawn(async move {
        cancelled.cancelled().await;
        engine.0.add_permits(1);
    });
    std::future::pending().await
}

fn fail(_: Cx<()>, _: Nothing) -> Result<Reply<Count>, OpFailure> {
    Err(OpFailure::failed("it failed").result(&Count { count: 0 }))
}

fn halt(
    _: Cx<()>,
    _: Nothing,
) -> Result<Reply<serde_json::Map<String, serde_json::Value>>, OpFailure> {
    Ok(Reply::new(serde_json::Map::new()).closing())
}

host::operation! {
    dialect: mty_agent::MtyAgent, method: "count", position: 1, class: Background, needs: Nothing,
    params: Nothing, answer: Count, errors: [], handler: count,
}
host::operation! {
    dialect: mty_agent::MtyAgent, method: "wait", position: 2, class: Background, needs: Nothing,
    params: Nothing, answer: Count, errors: [], handler: wait,
}
host::operation! {
    dialect: mty_agent::MtyAgent, method: "fail", position: 3, class: Inline, needs: Nothing,
    params: Nothing, answer: Count, errors: [Failed], handler: fail,
}
host::operation! {
    dialect: mty_agent::MtyAgent, method: "halt", position: 4, class: Inline, needs: Nothing,
    params: Nothing, answer: serde_json::Map<String, serde_json::Value>, errors: [], handler: halt,
}

struct World {
    registry: Arc<Registry>,
    cancelled: Arc<Cancelled>,
}

impl World {
    fn new() -> Arc<Self> {
        let registry = Arc::new(Registry::collect().unwrap());
        Arc::new(Self {
            registry,
            cancelled: Arc::new(Cancelled(Semaphore::new(0))),
        })
    }

    fn connection(&self) -> Arc<Connection> {
        let server = Server {
            name: "test",
            version: "1.2.3",
            transports: &[],
        };
        let engines = Engines::default()
            .with(Arc::<Counter>::default())
            .with(Arc::clone(&self.cancelled));
        let workers = host::Workers::new(&RULES);
        Connection::new::<MtyAgent>(Arc::clone(&self.registry), server, engines, workers).unwrap()
    }

    async fn one_cancelled(&self) {
        within(self.cancelled.0.acquire()).await.unwrap().forget();
    }
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("in time")
}

/// What a session answers to `input`, and its exit code.
async fn session(
    world: &World,
    single: bool,
    input: &[u8],
    recorder: Option<&Recorder>,
) -> (Vec<u8>, i32) {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut reading = Input::new(theirs.into_std().unwrap().into()).unwrap();
    let connection = world.connection();
    let mut out = Vec::new();
    let feed = async {
        ours.write_all(input).await.unwrap();
        ours.shutdown().await.unwrap();
    };
    let serve = async {
        if single {
            serve_once::<MtyAgent, _, _>(&connection, &mut reading, &mut out, recorder).await
        } else {
            serve_lines::<MtyAgent, _, _>(&connection, &mut reading, &mut out, recorder).await
        }
    };
    let ((), code) = within(async { tokio::join!(feed, serve) }).await;
    (out, code.unwrap())
}

fn recorder(path: &Path) -> (Recorder, Arc<Mutex<Vec<String>>>) {
    let reports = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&reports);
    let recorder = Recorder::open(path, move |report| {
        kept.lock().unwrap().push(report.to_owned())
    })
    .unwrap();
    (recorder, reports)
}

const COUNT: &str = r#"{"op":"count"}"#;

#[tokio::test]
async fn whatever_was_recorded_replays_without_drift() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let world = World::new();
    let (recorder, reports) = recorder(&path);
    let lines = [
        COUNT.as_bytes(),
        b"  \t{\"op\" \"count\"}  ",
        b"{\"op\":\"count\"}{\"op\":\"count\"}",
        b"{\"op\":\"count\"} x",
        b"\"\xef\xbf\xbd \xff {",
        b"\xff",
        b"",
        b"{\"op\":\"none\"}",
        b"{\"op\":\"fail\"}",
        COUNT.as_bytes(),
        b"{\"op\":\"halt\"}",
        COUNT.as_bytes(),
    ]
    .join(&b'\n');
    let (mut written, code) = session(&world, false, &lines, Some(&recorder)).await;
    assert_eq!(code, 2);
    for body in [
        &b"\n \n{\"op\":\"fail\"}\n{\"op\":\"count\"} x"[..],
        b"\n\n {\n \"op\" 5",
        b"",
        b"\n\xf0",
    ] {
        written.extend(session(&world, true, body, Some(&recorder)).await.0);
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let pairs: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(pairs.len(), 14, "ten lines up to the halt and four bodies");
    let responses: String = pairs
        .iter()
        .map(|pair| pair["response"].as_str().unwrap())
        .collect();
    assert_eq!(responses.as_bytes(), written);
    assert_eq!(pairs[1]["request"], "{\"op\" \"count\"}");
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(reports.lock().unwrap().is_empty());

    let replayed = within(replay(&path, Sessions::One(&world.connection())))
        .await
        .unwrap();
    assert_eq!((replayed.pairs, replayed.drifted), (14, vec![]));
    // The session's state took part: a session that has counted before drifts in both counts.
    let used = world.connection();
    within(replay(&path, Sessions::One(&used))).await.unwrap();
    let replayed = within(replay(&path, Sessions::One(&used))).await.unwrap();
    assert_eq!(
        replayed
            .drifted
            .iter()
            .map(|drift| drift.line)
            .collect::<Vec<_>>(),
        [1, 9]
    );
    let summary = &replayed.drifted[0].summary;
    assert!(
        summary.starts_with("response line 2: ") && summary.contains(r#"\"count\":3"#),
        "{summary}"
    );
}

#[tokio::test]
async fn refusals_of_a_record_are_not_taken_on_trust() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let world = World::new();
    let refusal = "{\"kind\":\"error\",\"message\":\"malformed JSON: expected end of line at column 15\"}\n{\"kind\":\"done\",\"exit_code\":2}\n";
    let not_utf8 = "{\"kind\":\"error\",\"message\":\"malformed JSON: invalid UTF-8 at byte 1\"}\n{\"kind\":\"done\",\"exit_code\":2}\n";
    for (request, response) in [(COUNT, refusal), (COUNT, not_utf8), ("x\u{fffd}", not_utf8)] {
        let pair = serde_json::json!({ "request": request, "response": response });
        std::fs::write(&path, format!("{pair}\n")).unwrap();
        assert_eq!(
            replay(&path, Sessions::One(&world.connection()))
                .await
                .unwrap()
                .drifted
                .len(),
            1,
            "{request}"
        );
    }
}

#[tokio::test]
async fn unreadable_records_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let connection = World::new().connection();
    assert!(matches!(
        replay(&path, Sessions::One(&connection)).await,
        Err(ReplayError::Io(_))
    ));
    assert!(matches!(
        replay(folder.path(), Sessions::One(&connection)).await,
        Err(ReplayError::Io(_))
    ));
    for bad in [
        "\n",
        "x\n",
        "[\"{}\",\"\"]\n",
        "{\"request\":\"\"}\n",
        "{\"request\":\"\",\"response\":\"\"} x\n",
    ] {
        let good = serde_json::json!({ "request": COUNT, "response": "" });
        std::fs::write(&path, format!("{good}\n{bad}")).unwrap();
        assert!(
            matches!(
                replay(&path, Sessions::One(&connection)).await,
                Err(ReplayError::Line { line: 2, .. })
            ),
            "{bad:?}"
        );
    }
}

#[tokio::test]
async fn a_record_that_cannot_be_kept_is_reported_and_nothing_else() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let world = World::new();
    let (recorder, reports) = recorder(Path::new("/dev/full"));
    let (recorded, code) = session(
        &world,
        false,
        format!("{COUNT}\n{COUNT}\n").as_bytes(),
        Some(&recorder),
    )
    .await;
    assert_eq!(code, 0);
    let (plain, _) = session(
        &world,
        false,
        format!("{COUNT}\n{COUNT}\n").as_bytes(),
        None,
    )
    .await;
    assert_eq!(recorded, plain);
    assert_eq!(reports.lock().unwrap().len(), 2, "one for each pair");
}

#[tokio::test]
async fn only_a_stale_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    std::fs::write(&path, "kept").unwrap();
    assert_eq!(
        Socket::bind(&path).err().unwrap().kind(),
        io::ErrorKind::AlreadyExists
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
    std::fs::remove_file(&path).unwrap();

    let live = Socket::bind(&path).unwrap();
    let found = std::fs::symlink_metadata(&path).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    assert_eq!(
        Socket::bind(&path).err().unwrap().kind(),
        io::ErrorKind::AddrInUse
    );
    drop(live);
    assert!(!path.exists());

    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "std leaves the file");
    let ours = Socket::bind(&path).unwrap();
    // Made before ours goes, so that it cannot be given the same inode.
    let next = folder.path().join("next");
    let successor = std::os::unix::net::UnixListener::bind(&next).unwrap();
    std::fs::rename(&next, &path).unwrap();
    drop(ours);
    assert!(path.exists(), "a successor's file is not ours to unlink");
    drop(successor);
}

#[tokio::test]
async fn a_unix_server_lets_idle_clients_go_and_cancels_running_ops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let world = World::new();
    let socket = Socket::bind(&path).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            mty_agent::unix::serve(&socket, &move || world.connection(), None, stopped).await;
        })
    };
    let mut idle = UnixStream::connect(&path).await.unwrap();
    idle.write_all(format!("{COUNT}\n").as_bytes())
        .await
        .unwrap();
    read_until(&mut idle, "\"done\",\"exit_code\":0}\n").await;
    let mut busy = UnixStream::connect(&path).await.unwrap();
    busy.write_all(b"{\"op\":\"wait\"}\n").await.unwrap();
    read_until(&mut busy, "waiting").await;
    let mut gone = UnixStream::connect(&path).await.unwrap();
    gone.write_all(b"{\"op\":\"wait\"}\n").await.unwrap();
    read_until(&mut gone, "waiting").await;
    drop(gone);
    world.one_cancelled().await;
    stop.send(()).unwrap();
    // The idle client is let go at once, the busy one when the grace is over.
    assert_eq!(within(idle.read(&mut [0; 8])).await.unwrap(), 0);
    within(server).await.unwrap();
    world.one_cancelled().await;
    assert!(!path.exists());
}

async fn read_until(stream: &mut (impl AsyncReadExt + Unpin), end: &str) -> String {
    let mut text = Vec::new();
    within(async {
        let mut chunk = [0; 4096];
        while !String::from_utf8_lossy(&text).contains(end) {
            let n = stream.read(&mut chunk).await.unwrap();
            assert!(n > 0, "ended after {}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&chunk[..n]);
        }
    })
    .await;
    String::from_utf8(text).unwrap()
}
