//! Tests of what an engine holds: several workspaces over one set of services, and the order in which all of it ends.
//! What happens in a run is tested beside runs.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use provider::{Provider, Request, Response};
use store::sessions::SessionId;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::RunEvent;
use crate::memory::MemorySessions;
use crate::run::tests::policy::reconciled_run;

const CAPACITY: Capacity = Capacity {
    sessions: 4,
    runs: 4,
};

fn engine(dir: &Path) -> Arc<Engine> {
    let environment = Environment {
        cwd: dir.join("one"),
        mc_home: Some(dir.join("home")),
        ..Environment::default()
    };
    for (name, words) in [("one", "Speak French."), ("two", "Speak Dutch.")] {
        std::fs::create_dir_all(dir.join(name).join(".git")).unwrap();
        std::fs::write(dir.join(name).join("AGENTS.md"), words).unwrap();
    }
    Engine::new(environment, CAPACITY)
}

async fn admitted(engine: &Arc<Engine>, directory: &Path) -> Arc<Workspace> {
    let (_, workspace) = engine.admit(directory, CancellationToken::new()).await;
    workspace.unwrap()
}

async fn opened(engine: &Arc<Engine>, workspace: &Arc<Workspace>) -> SessionId {
    let never = CancellationToken::new();
    let attached = engine.open(workspace, None, None, &never).await.unwrap();
    attached.session_id.parse().unwrap()
}

/// Asks for nothing, and tells when it was asked and who ends when.
struct Endless {
    asked: Arc<tokio::sync::Notify>,
    ends: Arc<Mutex<Vec<&'static str>>>,
}

struct TellsItsEnd(Arc<Mutex<Vec<&'static str>>>);

impl Drop for TellsItsEnd {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("response");
    }
}

impl Provider for Endless {
    fn id(&self) -> &str {
        "fixture"
    }

    fn respond(&self, _: Request, _: CancellationToken) -> Response {
        self.asked.notify_one();
        let end = TellsItsEnd(Arc::clone(&self.ends));
        let never = futures_util::stream::poll_fn(move |_| {
            let _held = &end;
            std::task::Poll::Pending
        });
        Response::from_stream(never)
    }
}

#[tokio::test]
async fn one_engine_holds_workspaces_of_several_directories() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path());
    let one = admitted(&engine, engine.directory()).await;
    let two = admitted(&engine, &dir.path().join("two")).await;
    assert!(one.equipment.system.contains("French") && !one.equipment.system.contains("Dutch"));
    assert!(two.equipment.system.contains("Dutch") && !two.equipment.system.contains("French"));
    assert!(Arc::ptr_eq(&one.services, &two.services));
    // A snapshot: what changes later is another workspace's.
    std::fs::write(dir.path().join("one/AGENTS.md"), "Speak Greek.").unwrap();
    let again = admitted(&engine, engine.directory()).await;
    assert!(one.equipment.system.contains("French") && again.equipment.system.contains("Greek"));

    let mut sessions = Vec::new();
    for workspace in [&one, &two] {
        let session = opened(&engine, workspace).await;
        let mut run = engine
            .start(workspace, &session, reconciled_run("go"))
            .unwrap();
        while run.events.recv().await.is_some() {}
        sessions.push(session);
    }
    // Each session belongs to the directory of its workspace.
    assert!(engine.detach(&sessions[0]).await.is_ok());
    let foreign = engine.start_in(&two, Some(sessions[0].clone()), reconciled_run("go"));
    assert_eq!(foreign.await.unwrap_err().kind(), ErrorKind::CwdMismatch);
    let own = engine.start_in(&one, Some(sessions[0].clone()), reconciled_run("go"));
    let mut run = own.await.unwrap();
    while run.events.recv().await.is_some() {}
}

/// Says a word, and counts the messages that it is given.
struct Counting(Arc<Mutex<Vec<usize>>>);

impl Provider for Counting {
    fn id(&self) -> &str {
        "fixture"
    }

    fn respond(&self, request: Request, _: CancellationToken) -> Response {
        self.0.lock().unwrap().push(request.messages.len());
        let word = provider::Chunk::Text("Yes.".to_owned());
        Response::from_stream(futures_util::stream::iter([Ok(word)]))
    }
}

#[tokio::test]
async fn a_run_of_a_session_that_nobody_attached_reads_it_only_after_a_change() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = MemorySessions::default();
    let engine = engine(dir.path()).with_sessions(Arc::new(sessions.clone()));
    let workspace = admitted(&engine, engine.directory()).await;
    let seen = Arc::default();
    let workspace = workspace.with_provider(Arc::new(Counting(Arc::clone(&seen))));
    let mut session = None;
    for turn in 0..6 {
        if turn == 5 {
            // By another process: the last two answers are gone, and there is nothing to go on from.
            sessions.edit(session.as_ref().unwrap(), |records| records.truncate(9));
        }
        let run = engine.start_in(&workspace, session.clone(), reconciled_run("go"));
        let mut run = run.await.unwrap();
        while run.events.recv().await.is_some() {}
        session = run.session_id.parse().ok();
        let loads = sessions.loads.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(loads, u32::from(turn == 5), "turn {turn}");
    }
    // Who lets go of a session wants nothing of it kept.
    let session = session.unwrap();
    assert!(engine.detach(&session).await.is_ok());
    assert!(engine.recent().take(&session).is_none());
    let seen = seen.lock().unwrap();
    assert_eq!(seen[..5], [1, 3, 5, 7, 9]);
    assert!(seen[5] < 9, "{seen:?}");
}

#[tokio::test]
async fn everything_ends_in_one_order_and_nothing_begins_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = MemorySessions::default();
    let order = Arc::clone(&sessions.ends);
    let engine = engine(dir.path()).with_sessions(Arc::new(sessions));
    let workspace = admitted(&engine, engine.directory()).await;
    let asked = Arc::<tokio::sync::Notify>::default();
    let workspace = workspace.with_provider(Arc::new(Endless {
        asked: Arc::clone(&asked),
        ends: Arc::clone(&order),
    }));
    let session = opened(&engine, &workspace).await;
    let mut run = engine
        .start(&workspace, &session, reconciled_run("go"))
        .unwrap();
    let persisted = run.events.recv().await;
    assert!(matches!(persisted, Some(RunEvent::MustArrive(_))));
    asked.notified().await;
    engine.close().await;
    assert_eq!(*order.lock().unwrap(), ["response", "session"]);
    assert!(engine.cancellation().is_cancelled());
    let (_, late) = engine
        .admit(engine.directory(), CancellationToken::new())
        .await;
    let cancelled = ErrorKind::Startup(StartupErrorKind::Cancelled);
    assert_eq!(late.unwrap_err().kind(), cancelled);
}
