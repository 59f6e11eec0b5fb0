//! Deaths and damage: EOF, SIGTERM and SIGKILL in a run, torn records, competing processes (spec:
//! "Bounds and failure policy", "Owned sessions and chat history").

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{Agent, assert_clean, request_line};
use crate::support::{Place, wait_for};

fn waiting() -> Arc<Place> {
    Place::with_script(&json!({"turns": [
        {"steps": [{"text": "Half of "}, {"wait_ms": 60000}, {"text": "it."}]},
        {"steps": [{"text": "Whole."}]}
    ]}))
}

/// A run that has said "Half of " and waits; its child and session.
fn interrupted(place: &Arc<Place>) -> (Agent, String) {
    let mut agent = Agent::ready(place);
    let session = agent.create();
    agent.begin(&session, "the prompt");
    agent.until("message.delta");
    (agent, session)
}

/// Opens the session in a new child and returns its entries and completeness.
fn reopened(place: &Arc<Place>, session: &str) -> (Agent, Vec<Value>, bool) {
    let mut agent = Agent::ready(place);
    let opened = agent.ok("session.open", json!({"session_id": session}));
    assert_eq!(opened["durable"], true);
    let (entries, complete) = agent.history(session, opened["revision"].as_str().unwrap());
    (agent, entries, complete)
}

fn text_of(entries: &[Value], kind: &str) -> String {
    entries
        .iter()
        .filter(|entry| entry["kind"] == kind)
        .map(|entry| entry["text"].as_str().unwrap())
        .collect()
}

#[test]
fn sigkill_in_a_run_keeps_input_and_partial_reply() {
    let place = waiting();
    let (mut agent, session) = interrupted(&place);
    // The partial text is in the file before the child dies: best effort, but not never.
    let file = place.session_file(&session);
    wait_for("the partial reply on disk", || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains("Half of "))
    });
    agent.server.signal(Signal::KILL);
    assert_eq!(agent.server.wait_exit().code, None);
    let (mut agent, entries, complete) = reopened(&place, &session);
    assert!(
        !complete,
        "an interrupted turn is not a complete projection"
    );
    assert_eq!(text_of(&entries, "user"), "the prompt");
    let assistant: Vec<_> = entries
        .iter()
        .filter(|entry| entry["kind"] == "assistant")
        .collect();
    assert_eq!(assistant.len(), 1);
    assert_eq!(
        (&assistant[0]["text"], &assistant[0]["partial"]),
        (&json!("Half of "), &json!(true))
    );
    assert!(
        entries.iter().any(|entry| entry["kind"] == "diagnostic"),
        "no partial diagnostic: {entries:?}"
    );
    // The session goes on.
    let run = agent.turn(&session, "next");
    assert_eq!(
        (run.outcome(), run.reconciled().concat().as_str()),
        ("completed", "Whole.")
    );
    let (entries, _) = agent.history(&session, run.revision());
    assert!(text_of(&entries, "user").ends_with("next"));
    agent.end();
}

#[test]
fn sigkill_right_after_the_acknowledgement_keeps_the_input() {
    for round in 0..10 {
        let place = waiting();
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        agent.begin(&session, "acknowledged");
        agent.until("input.persisted");
        agent.server.signal(Signal::KILL);
        agent.server.wait_exit();
        let (agent, entries, complete) = reopened(&place, &session);
        assert_eq!(text_of(&entries, "user"), "acknowledged", "round {round}");
        assert!(!complete);
        agent.end();
    }
}

#[test]
fn eof_in_a_run_ends_with_0_and_keeps_the_partial_reply() {
    let place = waiting();
    let (mut agent, session) = interrupted(&place);
    let closed = Instant::now();
    agent.server.close_stdin();
    let rest = agent.rest();
    if let Some(end) = rest.iter().find(|frame| frame["event"] == "run.finished") {
        assert_eq!(end["data"]["outcome"], "cancelled");
        assert_eq!(rest.last(), Some(end));
    }
    let exit = agent.server.wait_exit();
    assert_clean(&exit);
    assert!(exit.at.duration_since(closed) <= Duration::from_millis(2500));
    let (agent, entries, complete) = reopened(&place, &session);
    assert_eq!(text_of(&entries, "user"), "the prompt");
    assert_eq!(text_of(&entries, "assistant"), "Half of ");
    assert!(complete, "the cancellation was recorded");
    agent.end();
}

#[test]
fn sigterm_in_a_run_ends_like_eof() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let place = waiting();
        let (mut agent, session) = interrupted(&place);
        agent.server.signal(signal);
        agent.rest();
        assert_clean(&agent.server.wait_exit());
        let (agent, entries, complete) = reopened(&place, &session);
        assert_eq!(text_of(&entries, "assistant"), "Half of ");
        assert!(complete);
        agent.end();
    }
}

#[test]
fn terminal_event_reaches_a_living_reader_at_eof() {
    let place = waiting();
    let (mut agent, _) = interrupted(&place);
    agent.server.close_stdin();
    let rest = agent.rest();
    let end = rest.last().expect("a terminal event");
    assert_eq!(
        (&end["event"], &end["data"]["outcome"]),
        (&json!("run.finished"), &json!("cancelled"))
    );
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn torn_last_record_is_tolerated_and_repaired_by_the_next_turn() {
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Whole."}]}]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "first");
    agent.end();
    let file = place.session_file(&session);
    let good = std::fs::read(&file).unwrap();
    assert_eq!(good.last(), Some(&b'\n'));
    let last = good[..good.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    // Every way in which the last record can be cut, in steps.
    for cut in (last + 1..good.len()).step_by(7) {
        std::fs::write(&file, &good[..cut]).unwrap();
        let (mut agent, entries, _) = reopened(&place, &session);
        assert_eq!(text_of(&entries, "user"), "first", "cut at {cut}");
        assert_eq!(
            std::fs::read(&file).unwrap(),
            &good[..cut],
            "opening changed the file"
        );
        let run = agent.turn(&session, "second");
        assert_eq!(run.outcome(), "completed");
        let (entries, _) = agent.history(&session, run.revision());
        assert_eq!(text_of(&entries, "user"), "firstsecond");
        agent.end();
        // All lines are whole again.
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.ends_with('\n'));
        for line in text.lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
    }
}

#[test]
fn garbage_after_the_last_record_without_lf_is_a_torn_tail() {
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Whole."}]}]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "first");
    agent.end();
    let mut file = std::fs::File::options()
        .append(true)
        .open(place.session_file(&session))
        .unwrap();
    file.write_all(b"{\"type\":\"assist").unwrap();
    let (agent, entries, _) = reopened(&place, &session);
    assert_eq!(text_of(&entries, "user"), "first");
    agent.end();
}

#[test]
fn file_changed_behind_the_attachment_is_noticed() {
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Whole."}]}]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "first");
    agent.history(&session, run.revision());
    let file = place.session_file(&session);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("first", "FIRST")).unwrap();
    let page = json!({"session_id": session, "revision": run.revision(), "cursor": null});
    assert_eq!(agent.err("history.page", page.clone()), "stale_revision");
    // The invalidation is sticky, also when the old bytes come back.
    std::fs::write(&file, text).unwrap();
    assert_eq!(agent.err("history.page", page), "stale_revision");
    let opened = agent.ok("session.open", json!({"session_id": session}));
    agent.history(&session, opened["revision"].as_str().unwrap());
    agent.end();
}

#[test]
fn two_children_never_write_one_session() {
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Whole."}]}]}));
    let mut first = Agent::ready(&place);
    let session = first.create();
    first.turn(&session, "one");
    let mut second = Agent::ready(&place);
    for n in 0..5 {
        if n == 2 {
            // Somebody tidies up: the session file itself is locked too.
            std::fs::remove_file(place.session_file(&session).with_extension("lock")).unwrap();
        }
        assert_eq!(
            second.err("session.open", json!({"session_id": session})),
            "session_busy"
        );
        assert_eq!(
            first.turn(&session, &format!("more {n}")).outcome(),
            "completed"
        );
    }
    first.server.signal(Signal::KILL);
    first.server.wait_exit();
    let opened = second.ok("session.open", json!({"session_id": session}));
    let (entries, complete) = second.history(&session, opened["revision"].as_str().unwrap());
    assert!(complete);
    assert_eq!(
        entries
            .iter()
            .filter(|entry| entry["kind"] == "user")
            .count(),
        6
    );
    second.end();
}

#[test]
fn whole_conversation_written_byte_by_byte() {
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Whole."}]}]}));
    let mut agent = Agent::spawn(crate::client::launch().place(&place));
    let slowly = |agent: &Agent, text: String| {
        for byte in text.into_bytes() {
            agent.server.send([byte]);
        }
    };
    slowly(
        &agent,
        request_line(
            "1",
            "initialize",
            &json!({"required_capabilities": ["turn.start"]}),
        ),
    );
    assert_eq!(agent.answer("1")["result"]["status"]["state"], "idle");
    slowly(&agent, request_line("2", "session.create", &json!({})));
    let session = agent.answer("2")["result"]["session_id"]
        .as_str()
        .unwrap()
        .to_owned();
    slowly(
        &agent,
        request_line(
            "3",
            "turn.start",
            &json!({"session_id": session, "prompt": "go"}),
        ),
    );
    let run_id = agent.answer("3")["result"]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(agent.finish(run_id).outcome(), "completed");
    slowly(&agent, request_line("4", "shutdown", &json!({})));
    assert_eq!(agent.answer("4")["result"]["state"], "stopping");
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn partial_frame_at_eof_in_a_run_is_reported_and_not_executed() {
    let place = waiting();
    let (mut agent, session) = interrupted(&place);
    let status = agent.ok("status", json!({}));
    let cancel = request_line(
        "late",
        "turn.cancel",
        &json!({"session_id": session, "run_id": status["run_id"]}),
    );
    agent.server.send(cancel.trim_end().to_owned());
    agent.server.close_stdin();
    let rest = agent.rest();
    assert!(
        rest.iter()
            .any(|frame| frame["error"]["code"] == "incomplete_frame" && frame["id"].is_null())
    );
    assert!(rest.iter().all(|frame| frame["id"] != "late"));
    assert_clean(&agent.server.wait_exit());
}
