//! `session.create`, `session.open`, ownership and refusals (spec: "Owned sessions and chat history").
//! What is inside a history is tested in history.rs.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::client::{Agent, assert_clean, is_opaque_id, keys, launch};
use crate::support::Place;
use std::sync::Arc;

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
fn empty_existing_file_is_a_durable_session() {
    let place = hello();
    let mut agent = Agent::ready(&place);
    std::fs::create_dir_all(place.session_file("x").parent().unwrap()).unwrap();
    std::fs::write(place.session_file("empty-1"), "").unwrap();
    let opened = agent.ok("session.open", open("empty-1"));
    assert_eq!(opened["durable"], true);
    let (entries, complete) = agent.history("empty-1", opened["revision"].as_str().unwrap());
    assert!(entries.is_empty() && complete);
    assert_eq!(agent.turn("empty-1", "go").outcome(), "completed");
    agent.end();
}

#[test]
fn unsafe_session_ids_are_session_invalid() {
    let mut agent = Agent::ready(&Place::new());
    let long = "a".repeat(65);
    for id in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a.b",
        "a b",
        "ä",
        "a\0b",
        "~",
        long.as_str(),
    ] {
        assert_eq!(
            agent.err("session.open", open(id)),
            "session_invalid",
            "{id:?}"
        );
    }
    agent.end();
}

#[test]
fn files_that_are_not_safe_regular_files_are_session_invalid() {
    let place = hello();
    let session = stored(&place);
    let outside = place.root().join("outside.jsonl");
    std::fs::copy(place.session_file(&session), &outside).unwrap();
    symlink(&outside, place.session_file("linked")).unwrap();
    std::fs::create_dir(place.session_file("folder")).unwrap();
    let mut agent = Agent::ready(&place);
    for id in ["linked", "folder"] {
        assert_eq!(
            agent.err("session.open", open(id)),
            "session_invalid",
            "{id}"
        );
    }
    agent.end();
}

#[test]
fn malformed_line_in_the_middle_is_session_invalid() {
    let place = hello();
    let session = stored(&place);
    let good = std::fs::read_to_string(place.session_file(&session)).unwrap();
    let first = good.lines().next().unwrap();
    let rest = &good[first.len() + 1..];
    for bad in ["{", "[]", "not json", "{}", "{\"type\":\"no-such-record\"}"] {
        std::fs::write(
            place.session_file(&session),
            format!("{first}\n{bad}\n{rest}"),
        )
        .unwrap();
        let mut agent = Agent::ready(&place);
        assert_eq!(
            agent.err("session.open", open(&session)),
            "session_invalid",
            "{bad}"
        );
        agent.end();
    }
    std::fs::write(
        place.session_file(&session),
        [first.as_bytes(), b"\n\xff\xfe\n", rest.as_bytes()].concat(),
    )
    .unwrap();
    let mut agent = Agent::ready(&place);
    assert_eq!(agent.err("session.open", open(&session)), "session_invalid");
    agent.end();
}

#[test]
fn records_of_another_session_are_session_invalid() {
    let place = hello();
    let session = stored(&place);
    std::fs::copy(place.session_file(&session), place.session_file("renamed")).unwrap();
    let text = std::fs::read_to_string(place.session_file("renamed")).unwrap();
    assert!(text.contains(&session), "the records name their session");
    let mut agent = Agent::ready(&place);
    assert_eq!(
        agent.err("session.open", open("renamed")),
        "session_invalid"
    );
    agent.end();
}

#[test]
fn session_that_others_can_reach_is_session_invalid_and_kept() {
    use std::os::unix::fs::PermissionsExt;
    type Unsafe = fn(&std::path::Path);
    let ways: [(&str, Unsafe); 3] = [
        ("jsonl", |file| {
            std::fs::hard_link(file, file.with_extension("other")).unwrap();
        }),
        ("jsonl", |file| {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666)).unwrap();
        }),
        ("lock", |lock| {
            let other = lock.with_extension("other");
            std::fs::write(&other, "theirs").unwrap();
            std::fs::hard_link(other, lock).unwrap();
        }),
    ];
    for (extension, make) in ways {
        let place = hello();
        let session = stored(&place);
        let file = place.session_file(&session);
        let before = std::fs::read(&file).unwrap();
        make(&file.with_extension(extension));
        let mut agent = Agent::ready(&place);
        assert_eq!(agent.err("session.open", open(&session)), "session_invalid");
        assert_eq!(std::fs::read(&file).unwrap(), before);
        agent.end();
    }
}

#[test]
fn file_without_one_whole_record_is_session_invalid_and_kept() {
    let place = hello();
    let session = stored(&place);
    let file = place.session_file(&session);
    let whole = std::fs::read(&file).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap();
    let binary: Vec<u8> = (0..4096u32).map(|n| (n * 7 % 256) as u8).collect();
    for junk in [
        binary.as_slice(),
        b"\x7fELF\x02\x01\x01\0\0",
        b"\0\0\0\0",
        b"no line end",
        &whole[..first / 2],
        &whole[..first],
    ] {
        std::fs::write(&file, junk).unwrap();
        let mut agent = Agent::ready(&place);
        assert_eq!(agent.err("session.open", open(&session)), "session_invalid");
        assert_eq!(std::fs::read(&file).unwrap(), junk, "taken over");
        agent.end();
    }
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
