//! `session.create`, `session.open`, ownership and refusals (spec: "Owned sessions and chat history").
//! What is inside a history is tested in history.rs.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::client::{Agent, assert_clean, is_opaque_id, keys, launch};
use crate::support::Place;
use std::sync::Arc;

#[path = "sessions_files.rs"]
mod files;

fn hello() -> Arc<Place> {
    Place::with_script(&json!({"turns": [{"steps": [{"text": "Hello, world."}]}]}))
}

/// A durable session with one finished turn, its child gone.
fn stored(place: &Arc<Place>) -> String {
    let mut agent = Agent::ready(place);
    let session = agent.create();
    assert_eq!(agent.turn(&session, "Say hello").outcome(), "completed");
    agent.end();
    session
}

fn open(session: &str) -> serde_json::Value {
    json!({"session_id": session})
}

fn is_session_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[test]
fn create_returns_a_lazy_handle() {
    let mut agent = Agent::ready(&Place::new());
    let created = agent.ok("session.create", json!({}));
    assert_eq!(
        keys(&created),
        ["durable", "notices", "revision", "session_id"]
    );
    assert_eq!(created["durable"], false);
    assert_eq!(created["notices"], json!([]));
    assert!(created["revision"].as_str().is_some_and(is_opaque_id));
    let session = created["session_id"].as_str().unwrap();
    assert!(is_session_id(session), "{session}");
    assert!(
        !agent.server.place.session_file(session).exists(),
        "placeholder history"
    );
    assert_eq!(agent.ok("status", json!({}))["session_id"], session);
    agent.end();
}

#[test]
fn session_methods_need_initialization() {
    let mut agent = Agent::start();
    assert_eq!(agent.err("session.create", json!({})), "not_initialized");
    assert_eq!(agent.err("session.open", open("x")), "not_initialized");
    assert_eq!(
        agent.err("history.page", json!({"session_id": "x", "revision": "r"})),
        "not_initialized"
    );
    assert_eq!(
        agent.err("turn.start", json!({"session_id": "x", "prompt": "p"})),
        "not_initialized"
    );
    assert!(!agent.server.place.mc_home().exists());
    agent.end();
}

#[test]
fn session_params_are_exact() {
    let mut agent = Agent::ready(&Place::new());
    for (method, params) in [
        ("session.create", json!({"x": 1})),
        ("session.open", json!({})),
        ("session.open", json!({"session_id": 1})),
        ("session.open", json!({"session_id": null})),
        ("session.open", json!({"session_id": "x", "create": true})),
        ("history.page", json!({})),
        ("history.page", json!({"session_id": "x"})),
        (
            "history.page",
            json!({"session_id": "x", "revision": "r", "cursor": 1}),
        ),
        (
            "history.page",
            json!({"session_id": "x", "revision": "r", "limit": 5}),
        ),
        ("history.page", json!({"session_id": "x", "revision": null})),
    ] {
        assert_eq!(
            agent.err(method, params.clone()),
            "invalid_params",
            "{method} {params}"
        );
    }
    agent.end();
}

#[test]
fn create_again_replaces_the_attachment() {
    let mut agent = Agent::ready(&Place::new());
    let first = agent.create();
    let second = agent.create();
    assert_ne!(first, second);
    assert_eq!(agent.ok("status", json!({}))["session_id"], second.as_str());
    assert_eq!(
        agent.err("turn.start", json!({"session_id": first, "prompt": "p"})),
        "stale_session"
    );
    agent.end();
}

#[test]
fn open_reopens_the_lazy_handle_of_the_same_child() {
    let mut agent = Agent::ready(&hello());
    let session = agent.create();
    let opened = agent.ok("session.open", open(&session));
    assert_eq!(
        keys(&opened),
        ["durable", "notices", "revision", "session_id"]
    );
    assert_eq!(
        (&opened["session_id"], &opened["durable"]),
        (&json!(session), &json!(false))
    );
    assert!(!agent.server.place.session_file(&session).exists());
    assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    agent.end();
}

#[test]
fn turn_makes_the_session_durable() {
    let mut agent = Agent::ready(&hello());
    let session = agent.create();
    agent.turn(&session, "go");
    assert!(agent.server.place.session_file(&session).is_file());
    let opened = agent.ok("session.open", open(&session));
    assert_eq!(opened["durable"], true);
    agent.end();
}

#[test]
fn open_after_a_restart_finds_the_durable_session() {
    let place = hello();
    let session = stored(&place);
    let before = std::fs::read(place.session_file(&session)).unwrap();
    let mut agent = Agent::ready(&place);
    let opened = agent.ok("session.open", open(&session));
    assert_eq!(
        (&opened["session_id"], &opened["durable"]),
        (&json!(session), &json!(true))
    );
    assert_eq!(
        agent.ok("status", json!({}))["session_id"],
        session.as_str()
    );
    let (entries, complete) = agent.history(&session, opened["revision"].as_str().unwrap());
    assert!(complete);
    assert_eq!(entries[0]["text"], "Say hello");
    assert_eq!(
        std::fs::read(place.session_file(&session)).unwrap(),
        before,
        "opening wrote history"
    );
    agent.end();
}

#[test]
fn session_that_never_became_durable_is_missing_after_a_restart() {
    let place = Place::new();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.end();
    let mut agent = Agent::ready(&place);
    assert_eq!(agent.err("session.open", open(&session)), "session_missing");
    agent.end();
}

#[test]
fn missing_session_is_never_replaced_by_another() {
    let place = hello();
    stored(&place);
    let mut agent = Agent::ready(&place);
    assert_eq!(
        agent.err("session.open", open("no-such-session")),
        "session_missing"
    );
    assert!(agent.ok("status", json!({}))["session_id"].is_null());
    agent.end();
}

#[test]
fn deleted_session_is_missing() {
    let place = hello();
    let session = stored(&place);
    std::fs::remove_file(place.session_file(&session)).unwrap();
    let mut agent = Agent::ready(&place);
    assert_eq!(agent.err("session.open", open(&session)), "session_missing");
    agent.end();
}

#[test]
fn prefix_of_a_session_id_does_not_open_it() {
    let place = hello();
    let session = stored(&place);
    let mut agent = Agent::ready(&place);
    for id in [
        &session[..session.len() - 1],
        &format!("{session}0"),
        &session.to_uppercase(),
    ] {
        if id != session {
            assert_eq!(
                agent.err("session.open", open(id)),
                "session_missing",
                "{id}"
            );
        }
    }
    agent.end();
}

#[test]
fn failed_open_keeps_the_attachment() {
    let place = hello();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    let revision = run.revision().to_owned();
    for id in ["no-such-session", "a/b"] {
        agent.err("session.open", open(id));
    }
    assert_eq!(
        agent.ok("status", json!({}))["session_id"],
        session.as_str()
    );
    assert_eq!(agent.history(&session, &revision).0[0]["text"], "go");
    assert_eq!(agent.turn(&session, "again").outcome(), "completed");
    agent.end();
}

#[test]
fn session_of_another_workspace_is_cwd_mismatch() {
    let place = hello();
    let session = stored(&place);
    let other = place.root().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut agent = Agent::spawn(launch().place(&place).cwd(other));
    agent.initialize();
    assert_eq!(agent.err("session.open", open(&session)), "cwd_mismatch");
    agent.end();
}

#[test]
fn session_of_a_vanished_workspace_is_cwd_mismatch() {
    let place = hello();
    let gone = place.root().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let mut agent = Agent::spawn(launch().place(&place).cwd(&gone));
    agent.initialize();
    let session = agent.create();
    agent.turn(&session, "go");
    agent.end();
    std::fs::remove_dir_all(gone).unwrap();
    let mut agent = Agent::ready(&place);
    assert_eq!(agent.err("session.open", open(&session)), "cwd_mismatch");
    agent.end();
}

#[test]
fn same_workspace_through_a_symlink_opens() {
    let place = hello();
    let session = stored(&place);
    let alias = place.root().join("alias");
    symlink(place.work(), &alias).unwrap();
    let mut agent = Agent::spawn(launch().place(&place).cwd(alias));
    agent.initialize();
    agent.ok("session.open", open(&session));
    agent.end();
}

#[test]
fn session_of_a_living_process_is_session_busy() {
    let place = hello();
    let session = stored(&place);
    let mut first = Agent::ready(&place);
    first.ok("session.open", open(&session));
    let mut second = Agent::ready(&place);
    assert_eq!(second.err("session.open", open(&session)), "session_busy");
    assert_eq!(first.turn(&session, "mine").outcome(), "completed");
    first.end();
    // The lease died with its process.
    let opened = second.ok("session.open", open(&session));
    let (entries, _) = second.history(&session, opened["revision"].as_str().unwrap());
    let prompts: Vec<_> = entries
        .iter()
        .filter(|entry| entry["kind"] == "user")
        .collect();
    assert_eq!(prompts.len(), 2);
    second.end();
}

#[test]
fn attached_session_cannot_be_locked_for_removal() {
    use rustix::fs::{FlockOperation, flock};
    let place = hello();
    let (one, other) = (stored(&place), stored(&place));
    // Who removes a session takes its file exclusively first.
    let removable = |session: &str| {
        let file = std::fs::File::open(place.session_file(session)).unwrap();
        flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
    };
    assert!(removable(&one));
    let mut agent = Agent::ready(&place);
    agent.ok("session.open", open(&one));
    assert!(!removable(&one) && removable(&other));
    agent.ok("session.open", open(&other));
    assert!(removable(&one) && !removable(&other));
    // From its first record on, a new one is held too.
    let new = agent.create();
    agent.turn(&new, "go");
    assert!(removable(&other) && !removable(&new));
    agent.end();
    assert!(removable(&new));
}

#[test]
fn replaced_attachment_releases_its_session() {
    let place = hello();
    let session = stored(&place);
    let mut first = Agent::ready(&place);
    first.ok("session.open", open(&session));
    first.create();
    let mut second = Agent::ready(&place);
    second.ok("session.open", open(&session));
    second.end();
    first.end();
}

#[test]
fn killed_process_leaves_no_lease_behind() {
    let place = hello();
    let session = stored(&place);
    let mut first = Agent::ready(&place);
    first.ok("session.open", open(&session));
    first.server.signal(rustix::process::Signal::KILL);
    first.server.wait_exit();
    let mut second = Agent::ready(&place);
    second.ok("session.open", open(&session));
    second.end();
}

#[test]
fn pipelined_session_work_is_busy_or_in_order() {
    let mut agent = Agent::ready(&hello());
    let ids: Vec<_> = (0..4)
        .map(|_| agent.send("session.create", json!({})))
        .collect();
    let mut created = 0;
    for id in &ids {
        let frame = agent.answer(id);
        match frame["error"]["code"].as_str() {
            None => created += 1,
            Some(code) => assert_eq!(code, "busy"),
        }
    }
    assert!(created >= 1);
    agent.end();
}

#[test]
fn shutdown_resolves_pending_session_work() {
    let mut agent = Agent::ready(&hello());
    let create = agent.send("session.create", json!({}));
    let stop = agent.send("shutdown", json!({}));
    let frame = agent.answer(&create);
    let code = frame["error"]["code"].as_str();
    assert!(
        code.is_none() || code == Some("operation_cancelled"),
        "{frame}"
    );
    assert_eq!(agent.answer(&stop)["result"]["state"], "stopping");
    assert!(agent.rest().is_empty());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn session_errors_disclose_no_paths() {
    let place = hello();
    let session = stored(&place);
    let mut agent = Agent::spawn(launch().place(&place).cwd(place.home()));
    agent.initialize();
    let root = place.root().to_str().unwrap().to_owned();
    for id in [session.as_str(), "missing", "../../etc/passwd"] {
        // The client checks that an error holds nothing but a code from the closed list.
        let frame = agent.call("session.open", open(id));
        assert!(frame["error"].is_object());
        assert!(!frame.to_string().contains(&root) && !frame.to_string().contains("passwd"));
    }
    agent.end();
}
