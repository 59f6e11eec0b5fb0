//! Session files that others touch: edited, cut, removed or replaced while a child has them attached, in
//! a run and between runs. What local-agent says of it; what holds for each dialect is in either.rs.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::driver::{Driver, Kind, NotOpened, holds};
use crate::local_agent::LocalAgent;
use crate::run::Run;
use crate::seeded::{Random, seed};
use crate::support::{Place, wait_for};

/// The first prompt is answered; at the second the model says half of it and waits; then it answers.
fn place() -> Arc<Place> {
    Place::with_script(&json!({"turns": [
        {"steps": [{"text": "Whole."}]},
        {"steps": [{"text": "Half of "}, {"wait_ms": 60000}]},
        {"steps": [{"text": "Whole again."}]}
    ]}))
}

/// What somebody does to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    Removed,
    /// Cut to the records of the first lines.
    CutAtRecord,
    CutWithinRecord,
    Emptied,
    /// Another file of the same content under the name.
    Replaced,
    /// The same, with another content.
    ReplacedByOther,
    /// More lines at the end.
    Continued,
    /// Moved to another name.
    Moved,
    /// A link in its place.
    Linked,
    /// A folder in its place.
    Folder,
}

pub(crate) const HARMS: [Harm; 10] = [
    Harm::Removed,
    Harm::CutAtRecord,
    Harm::CutWithinRecord,
    Harm::Emptied,
    Harm::Replaced,
    Harm::ReplacedByOther,
    Harm::Continued,
    Harm::Moved,
    Harm::Linked,
    Harm::Folder,
];

impl Harm {
    pub(crate) fn inflict(self, file: &Path) {
        let content = std::fs::read(file).unwrap();
        let set_len = |len: usize| {
            let file = std::fs::File::options().write(true).open(file).unwrap();
            file.set_len(len as u64).unwrap();
        };
        let first = content.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let beside = file.with_extension("other");
        match self {
            Self::Removed => std::fs::remove_file(file).unwrap(),
            Self::CutAtRecord => set_len(first),
            Self::CutWithinRecord => set_len(content.len() - 3),
            Self::Emptied => set_len(0),
            Self::Replaced => {
                std::fs::write(&beside, content).unwrap();
                std::fs::rename(&beside, file).unwrap();
            }
            Self::ReplacedByOther => {
                std::fs::write(&beside, "not a session\n").unwrap();
                std::fs::rename(&beside, file).unwrap();
            }
            Self::Continued => {
                let mut file = std::fs::File::options().append(true).open(file).unwrap();
                file.write_all(b"{\"somebody\": \"else\"}\n").unwrap();
            }
            Self::Moved => std::fs::rename(file, &beside).unwrap(),
            Self::Linked => {
                std::fs::rename(file, &beside).unwrap();
                std::os::unix::fs::symlink(&beside, file).unwrap();
            }
            Self::Folder => {
                std::fs::remove_file(file).unwrap();
                std::fs::create_dir(file).unwrap();
            }
        }
    }

    /// What opening the session says afterwards: the prompts that are left, or why not.
    fn leaves(self) -> Result<&'static [&'static str], NotOpened> {
        let invalid = || Err(NotOpened::Other("session_invalid".to_owned()));
        match self {
            Self::Removed | Self::Moved => Err(NotOpened::Missing),
            // The first record only says where the session began.
            Self::CutAtRecord | Self::Emptied => Ok(&[]),
            Self::CutWithinRecord | Self::Replaced => Ok(&["first"]),
            Self::ReplacedByOther | Self::Continued | Self::Linked | Self::Folder => invalid(),
        }
    }
}

/// The session files and what was put beside them, with their content; no locks.
pub(crate) fn folder(place: &Place) -> Vec<(std::path::PathBuf, Option<Vec<u8>>)> {
    let mut all: Vec<_> = std::fs::read_dir(place.mc_home().join("sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let ending = path.extension().unwrap_or_default();
            ending == "jsonl" || ending == "other"
        })
        .map(|path| (path.clone(), std::fs::read(&path).ok()))
        .collect();
    all.sort();
    all
}

#[test]
fn file_harmed_between_runs_is_not_written_and_nothing_is_acknowledged() {
    for harm in HARMS {
        let place = place();
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        let run = agent.turn(&session, "first");
        harm.inflict(&place.session_file(&session));
        let before = folder(&place);
        // Neither the history as it was nor another one.
        let page = json!({"session_id": session, "revision": run.revision()});
        assert_eq!(
            agent.err("history.page", page),
            "stale_revision",
            "{harm:?}"
        );
        let run = agent.turn(&session, "second");
        let end = run.end();
        assert_eq!(
            (run.outcome(), &end["persistence"], &end["error_code"]),
            (
                "failed",
                &json!("not_started"),
                &json!("persistence_failed")
            ),
            "{harm:?}"
        );
        assert!(run.named("input.persisted").is_empty(), "{harm:?}");
        assert!(run.deltas().is_empty(), "{harm:?}");
        assert_eq!(
            folder(&place),
            before,
            "{harm:?}: somebody's file was touched"
        );
        // The same child can go on with what is left, if anything is.
        let mut driver = LocalAgent(agent);
        check_rest(&mut driver, &session, harm);
        driver.0.create();
        driver.end();
    }
}

/// Opens the session after `harm` and, if that works, holds a turn on it.
fn check_rest(driver: &mut LocalAgent, session: &str, harm: Harm) {
    if matches!(harm, Harm::CutAtRecord | Harm::Emptied) {
        // An empty session has no directory to verify; that is said, which the driver expects.
        assert!(driver.open(session).unwrap().messages.is_empty());
        return;
    }
    match (driver.open(session), harm.leaves()) {
        (Ok(history), Ok(left)) => {
            assert_eq!(history.texts(Kind::User), left, "{harm:?}");
        }
        (opened, leaves) => assert_eq!(opened.map(|_| ()), leaves.map(|_| ()), "{harm:?}"),
    }
}

#[test]
fn file_harmed_in_a_run_is_degraded_and_never_written_over() {
    for harm in HARMS {
        let place = place();
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        agent.turn(&session, "first");
        let file = place.session_file(&session);
        let run_id = agent.begin(&session, "second");
        let mut events = agent.until("message.delta");
        wait_for("the partial reply on disk", || holds(&file, "Half of "));
        harm.inflict(&file);
        let before = folder(&place);
        agent.ok(
            "turn.cancel",
            json!({"session_id": session, "run_id": run_id}),
        );
        events.extend(agent.finish(run_id.clone()).events);
        let run = Run { run_id, events };
        let end = run.end();
        // The text that was accepted is shown whatever happened to the file.
        assert_eq!(run.reconciled(), ["Half of "], "{harm:?}");
        assert_eq!(run.outcome(), "cancelled", "{harm:?}");
        assert_eq!(
            (&end["persistence"], &end["revision"]),
            (&json!("degraded"), &Value::Null),
            "{harm:?}"
        );
        assert_eq!(
            folder(&place),
            before,
            "{harm:?}: somebody's file was touched"
        );
        agent.server.signal(Signal::KILL);
        agent.server.wait_exit();
        let mut driver = LocalAgent::ready(&place);
        match (driver.open(&session), harm.leaves()) {
            (Ok(history), Ok(left)) => {
                let users = history.texts(Kind::User);
                assert!(users.starts_with(left), "{harm:?}: {users:?}");
            }
            (opened, leaves) => {
                assert_eq!(opened.map(|_| ()), leaves.map(|_| ()), "{harm:?}");
            }
        }
        driver.end();
    }
}

#[test]
fn edit_of_the_same_length_in_a_run_never_shows_as_the_history_of_that_run() {
    let place = Place::with_script(&json!({"turns": [
        {"steps": [{"text": "Whole."}]},
        {"steps": [{"text": "Half of "}, {"wait_ms": 60000}]}
    ]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "first");
    let file = place.session_file(&session);
    let run_id = agent.begin(&session, "second");
    agent.until("message.delta");
    wait_for("the partial reply on disk", || holds(&file, "Half of "));
    let text = std::fs::read_to_string(&file).unwrap();
    // In place: the same file, the same length.
    let mut handle = std::fs::File::options().write(true).open(&file).unwrap();
    handle
        .write_all(text.replace("first", "FIRST").as_bytes())
        .unwrap();
    drop(handle);
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    let run = agent.finish(run_id);
    // Either it was noticed in the run, or as soon as somebody asks for the history.
    if let Some(revision) = run.end()["revision"].as_str() {
        let page = json!({"session_id": session, "revision": revision});
        assert_eq!(agent.err("history.page", page), "stale_revision");
    } else {
        assert_eq!(run.end()["persistence"], "degraded");
    }
    let mut driver = LocalAgent(agent);
    let history = driver.open(&session).unwrap();
    assert_eq!(history.texts(Kind::User), ["FIRST", "second"]);
    driver.end();
}

#[test]
fn noise_in_any_place_of_a_file_is_refused_or_read_and_never_a_panic() {
    let place = place();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "first");
    agent.end();
    let file = place.session_file(&session);
    let good = std::fs::read(&file).unwrap();
    let seed = seed();
    let mut random = Random::new(seed);
    let mut agent = Agent::ready(&place);
    for round in 0..200 {
        let mut bytes = good.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes.insert(at, random.below(256) as u8),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        std::fs::write(&file, &bytes).unwrap();
        let frame = agent.call("session.open", json!({"session_id": session}));
        match frame["error"]["code"].as_str() {
            None => {
                let revision = frame["result"]["revision"].as_str().unwrap().to_owned();
                agent.history(&session, &revision);
                // Elsewhere, so that the next round opens anew.
                agent.create();
            }
            Some(code) => assert!(
                ["session_invalid", "cwd_mismatch"].contains(&code),
                "{code}; MC_FAULT_SEED={seed}, round {round}"
            ),
        }
        assert_eq!(
            std::fs::read(&file).unwrap(),
            bytes,
            "opening changed the file; MC_FAULT_SEED={seed}, round {round}"
        );
    }
    agent.end();
}

#[test]
fn attached_child_that_lags_behind_a_deletion_does_not_bring_the_file_back() {
    let place = place();
    let mut agent = Agent::spawn(launch().place(&place));
    agent.initialize();
    let session = agent.create();
    agent.turn(&session, "first");
    std::fs::remove_file(place.session_file(&session)).unwrap();
    assert_eq!(agent.turn(&session, "second").outcome(), "failed");
    agent.end();
    assert!(!place.session_file(&session).exists());
    let mut driver = LocalAgent::ready(&place);
    assert_eq!(driver.open(&session).unwrap_err(), NotOpened::Missing);
    driver.end();
}
