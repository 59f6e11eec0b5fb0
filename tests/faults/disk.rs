//! Disks that are full and homes that are read-only: what could not be stored is never called stored, and
//! the session is whole afterwards. Bounds of the process stand in for the disk: they bind root too.

use std::sync::Arc;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::driver::{Driver, Kind, NotOpened};
use crate::local_agent::LocalAgent;
use crate::run::Run;
use crate::support::{Launch, Place, wait_for};

fn limit_files(agent: &Agent, bytes: Option<u64>) {
    limit_files_of(agent.server.pid(), bytes);
}

/// From now on no file of the child grows beyond `bytes`; `None` lifts the bound.
pub(crate) fn limit_files_of(child: u32, bytes: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(child).unwrap());
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    prlimit(pid, Resource::Fsize, limit).unwrap();
}

fn hello() -> Arc<Place> {
    Place::with_script(&json!({"turns": [{"steps": [{"text": "Hello, world."}]}]}))
}

#[track_caller]
fn assert_not_started(run: &Run) {
    let end = run.end();
    assert_eq!(
        (&end["outcome"], &end["persistence"], &end["error_code"]),
        (
            &json!("failed"),
            &json!("not_started"),
            &json!("persistence_failed")
        ),
        "{:?}",
        run.events
    );
    // Nothing was acknowledged, and the provider was never asked.
    assert!(run.named("input.persisted").is_empty());
    assert!(run.deltas().is_empty() && run.reconciled().is_empty());
}

#[track_caller]
fn assert_degraded(run: &Run) {
    let end = run.end();
    assert_eq!(
        (&end["persistence"], &end["revision"]),
        (&json!("degraded"), &Value::Null),
        "{:?}",
        run.events
    );
    // Said as soon as it is known, and once.
    let told = run.named("diagnostic");
    let told: Vec<_> = told
        .iter()
        .filter(|data| data["code"] == "persistence_failed")
        .collect();
    assert_eq!(told.len(), 1, "{:?}", run.events);
}

/// What is stored of the attached session after it was opened again.
fn reopened(agent: Agent, session: &str) -> (Agent, crate::driver::History) {
    let mut driver = LocalAgent(agent);
    let history = driver.open(session).expect("the session opens");
    (driver.0, history)
}

#[test]
fn full_disk_before_the_input_is_not_started() {
    let place = hello();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    limit_files(&agent, Some(0));
    let run = agent.turn(&session, "into the void");
    assert_not_started(&run);
    assert!(
        !place.session_file(&session).exists(),
        "a session without its first record"
    );
    assert_eq!(agent.ok("status", json!({}))["state"], "idle");
    // There is room again: the same handle works, and nothing of the lost input is there.
    limit_files(&agent, None);
    let run = agent.turn(&session, "second");
    assert_eq!(run.end()["persistence"], "durable");
    let (agent, history) = reopened(agent, &session);
    assert_eq!(history.texts(Kind::User), ["second"]);
    agent.end();
}

#[test]
fn full_disk_between_turns_is_not_started_and_leaves_the_session_as_it_was() {
    let place = hello();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "first");
    let file = place.session_file(&session);
    let before = std::fs::read(&file).unwrap();
    // None at all, and room for a part of the record only.
    for room in [0, 1, 40] {
        limit_files(&agent, Some(before.len() as u64 + room));
        assert_not_started(&agent.turn(&session, "lost"));
        assert_eq!(std::fs::read(&file).unwrap(), before, "{room} bytes");
    }
    limit_files(&agent, None);
    assert_eq!(
        agent.turn(&session, "second").end()["persistence"],
        "durable"
    );
    let (agent, history) = reopened(agent, &session);
    assert_eq!(history.texts(Kind::User), ["first", "second"]);
    assert!(history.complete);
    agent.end();
}

#[test]
fn disk_that_fills_in_a_run_is_degraded_and_the_answer_still_shown() {
    let text = "word ".repeat(100);
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"text": "Before. "}, {"tool": "list", "input": {}}, {"text": text, "chunks": 50, "delay_ms": 2}
    ]}]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "the prompt");
    let mut events = agent.until("message.delta");
    limit_files(&agent, Some(1));
    events.extend(agent.finish(run_id.clone()).events);
    let run = Run { run_id, events };
    assert_eq!(run.outcome(), "completed");
    assert_degraded(&run);
    assert_eq!(run.reconciled().concat(), format!("Before. {text}"));
    // Without a new attachment there is no history that could be taken for the whole.
    let page =
        json!({"session_id": session, "revision": run.named("input.persisted")[0]["revision"]});
    assert_eq!(agent.err("history.page", page), "stale_revision");
    limit_files(&agent, None);
    let (mut agent, history) = reopened(agent, &session);
    assert_eq!(history.texts(Kind::User), ["the prompt"]);
    assert!(
        format!("Before. {text}").starts_with(&history.texts(Kind::Assistant).concat()),
        "{history:?}"
    );
    assert!(!history.complete, "{history:?}");
    let run = agent.turn(&session, "next");
    assert_eq!(run.end()["persistence"], "durable");
    agent.end();
}

#[test]
fn disk_that_fills_at_any_byte_of_a_turn_is_told_truthfully() {
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"text": "One. "}, {"tool": "read", "input": {"path": "a.txt"}}, {"text": "Two."}
    ]}]}));
    place.write_file("a.txt", "content\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    assert_eq!(
        agent.turn(&session, "first").end()["persistence"],
        "durable"
    );
    let file = place.session_file(&session);
    let start = std::fs::metadata(&file).unwrap().len();
    agent.turn(&session, "again");
    let whole = std::fs::metadata(&file).unwrap().len() - start;
    agent.end();
    let (mut lost, mut degraded, mut kept) = (0, 0, 0);
    for room in (0..whole + 120).step_by(61) {
        let before = std::fs::read(&file).unwrap();
        let mut agent = Agent::ready(&place);
        let mut driver = LocalAgent(agent);
        let known = driver.open(&session).expect("the session opens");
        agent = driver.0;
        limit_files(&agent, Some(before.len() as u64 + room));
        let run = agent.turn(&session, "again");
        match run.end()["persistence"].as_str().unwrap() {
            "not_started" => {
                assert_not_started(&run);
                assert_eq!(std::fs::read(&file).unwrap(), before, "room {room}");
                lost += 1;
            }
            "degraded" => {
                assert_degraded(&run);
                degraded += 1;
            }
            _ => kept += 1,
        }
        agent.end();
        // What the process was told is what the next one finds.
        let mut driver = LocalAgent::ready(&place);
        let history = driver.open(&session).expect("the session opens");
        let new = &history.messages[known.messages.len()..];
        let has = |kind| new.iter().filter(|message| message.kind == kind).count();
        match run.end()["persistence"].as_str().unwrap() {
            "not_started" => assert!(new.is_empty(), "room {room}: {new:?}"),
            "degraded" => assert!(
                has(Kind::User) == 1 && new.last().unwrap().partial && !history.complete,
                "room {room}: {new:?}"
            ),
            _ => assert!(
                has(Kind::User) == 1
                    && has(Kind::Diagnostic) == 0
                    && new.iter().all(|message| !message.partial),
                "room {room}: {new:?}"
            ),
        }
        driver.end();
    }
    assert!(
        lost > 1 && degraded > 5 && kept > 0,
        "not every kind was met: {lost} lost, {degraded} degraded, {kept} kept"
    );
}

/// A child in namespaces of its own where root may mount, after `mount` (a shell command that knows
/// `$MC_HOME`). `None` where the system grants no such namespaces; the tests above need none.
fn in_namespaces(place: &Arc<Place>, mount: &str) -> Option<Agent> {
    let granted = std::process::Command::new("unshare")
        .args(["-Urm", "sh", "-c", "mount -t tmpfs none /mnt"])
        .stderr(std::process::Stdio::null())
        .status();
    if !granted.is_ok_and(|status| status.success()) {
        return None;
    }
    let Launch { program, args, .. } = launch();
    let mut wrapped = Launch::new("unshare", &["-Urm", "sh", "-c"]).place(place);
    wrapped
        .args
        .push(format!("{mount} && exec \"$0\" \"$@\"").into());
    wrapped.args.push(program.into_os_string());
    wrapped.args.extend(args);
    let mut agent = Agent::spawn(wrapped);
    agent.initialize();
    Some(agent)
}

#[test]
fn full_file_system_is_told_truthfully() {
    let text = "word ".repeat(40_000);
    let place = Place::with_script(&json!({"turns": [
        {"steps": [{"text": "Small."}]},
        {"steps": [{"text": text, "chunks": 100}]},
        {"steps": [{"text": "Small."}]}
    ]}));
    std::fs::create_dir(place.mc_home().join("sessions")).unwrap();
    let mount = "mount -t tmpfs -o size=64k none \"$MC_HOME/sessions\"";
    let Some(mut agent) = in_namespaces(&place, mount) else {
        return;
    };
    let session = agent.create();
    assert_eq!(
        agent.turn(&session, "first").end()["persistence"],
        "durable"
    );
    let run = agent.turn(&session, "too much");
    assert_degraded(&run);
    assert_eq!(run.reconciled(), [text]);
    let (mut agent, history) = reopened(agent, &session);
    assert_eq!(history.texts(Kind::User), ["first", "too much"]);
    assert!(!history.complete);
    // Prompts until one does not fit any more.
    let prompt = "p".repeat(16_000);
    let mut stored = 2;
    loop {
        let run = agent.turn(&session, &prompt);
        if run.end()["persistence"] == "not_started" {
            assert_not_started(&run);
            break;
        }
        stored += 1;
        assert!(stored < 10, "a file system without an end");
        if run.end()["persistence"] == "degraded" {
            assert_degraded(&run);
            agent = reopened(agent, &session).0;
        }
    }
    let (agent, history) = reopened(agent, &session);
    assert_eq!(history.texts(Kind::User).len(), stored);
    agent.end();
}

#[test]
fn home_that_turned_read_only_neither_creates_nor_opens() {
    let place = hello();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "first");
    agent.end();
    let before = std::fs::read(place.session_file(&session)).unwrap();
    let mount = "mount --bind \"$MC_HOME\" \"$MC_HOME\" && mount -o remount,ro,bind \"$MC_HOME\"";
    let Some(agent) = in_namespaces(&place, mount) else {
        return;
    };
    let mut driver = LocalAgent(agent);
    // A session that nobody could write is not attached, and said to be unusable.
    let opened = driver.open(&session).unwrap_err();
    assert_eq!(opened, NotOpened::Other("session_invalid".to_owned()));
    let mut agent = driver.0;
    assert_eq!(agent.err("session.create", json!({})), "session_invalid");
    assert_eq!(agent.ok("status", json!({}))["session_id"], Value::Null);
    agent.end();
    assert_eq!(std::fs::read(place.session_file(&session)).unwrap(), before);
    // With its disk back the session is as it was.
    let mut driver = LocalAgent::ready(&place);
    assert_eq!(driver.open(&session).unwrap().texts(Kind::User), ["first"]);
    driver.end();
}

#[test]
fn sessions_folder_that_takes_no_files_creates_no_session() {
    let place = hello();
    // Not even root creates files there.
    std::os::unix::fs::symlink("/proc/sys", place.mc_home().join("sessions")).unwrap();
    let mut agent = Agent::ready(&place);
    assert_eq!(agent.err("session.create", json!({})), "session_invalid");
    let turn = json!({"session_id": "none", "prompt": "go"});
    assert_eq!(agent.err("turn.start", turn), "session_missing");
    agent.end();
}

#[test]
fn home_that_cannot_be_made_fails_the_startup() {
    for home in ["/proc/magi-code", "/dev/null/home"] {
        let mut agent = Agent::spawn(launch().env("MC_HOME", home));
        let initialize = json!({"required_capabilities": []});
        assert_eq!(agent.err("initialize", initialize), "startup_failed");
        let status = agent.ok("status", json!({}));
        assert_eq!(
            (&status["state"], &status["readiness"]),
            (&json!("failed"), &json!("startup_failed"))
        );
        assert_eq!(agent.err("session.create", json!({})), "startup_failed");
        agent.end();
    }
}

#[test]
fn run_survives_a_bound_that_falls_while_it_waits() {
    let place = Place::with_script(&json!({"turns": [
        {"steps": [{"text": "Half of "}, {"wait_ms": 60000}]}, {"steps": [{"text": "Whole."}]}
    ]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    agent.until("message.delta");
    let file = place.session_file(&session);
    wait_for("the partial reply on disk", || {
        crate::driver::holds(&file, "Half of ")
    });
    limit_files(&agent, Some(0));
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    let run = agent.finish(run_id);
    assert_eq!(run.outcome(), "cancelled");
    assert_degraded(&run);
    limit_files(&agent, None);
    let (agent, history) = reopened(agent, &session);
    assert_eq!(history.texts(Kind::Assistant), ["Half of "]);
    assert!(!history.complete);
    agent.end();
}
