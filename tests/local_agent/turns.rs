//! `turn.start`, `turn.cancel`, run events and their order (spec: "Turns, approvals and events").
//! Large content and slow readers are in pressure.rs, deaths in faults.rs.

use serde_json::{Value, json};

use crate::client::{Agent, assert_clean, is_opaque_id, is_uuid, keys};
use crate::run::Run;
use crate::support::Place;

#[path = "turns_cancel.rs"]
mod cancel;

fn start(session: &str, prompt: &str) -> Value {
    json!({"session_id": session, "prompt": prompt})
}

fn cancel(session: &str, run: &str) -> Value {
    json!({"session_id": session, "run_id": run})
}

/// Says half a sentence, then waits for a minute unless it is cancelled.
fn waiting() -> Value {
    json!([{"text": "Half of "}, {"wait_ms": 60000}, {"text": "it."}])
}

/// Checks what holds for every run: shapes, order, one terminal event.
pub(crate) fn assert_well_formed(run: &Run, session: &str) {
    for event in &run.events {
        let data = &event["data"];
        assert_eq!(data["session_id"], session);
        let extra: &[&str] = match event["event"].as_str().unwrap() {
            "input.persisted" => &["durable", "message_id", "revision"],
            "message.delta" => &["message_id", "part", "text"],
            "message.reconcile" => &["last_part", "message_id", "part", "partial", "text"],
            "activity" => &["activity_id", "kind", "name", "state", "summary"],
            "approval.requested" => &["approval_id", "expires_in_ms", "summary"],
            "diagnostic" => &["code", "summary"],
            "run.finished" => &["error_code", "outcome", "persistence", "revision"],
            other => panic!("{other}"),
        };
        let mut expected: Vec<_> = extra
            .iter()
            .chain(&["run_id", "session_id"])
            .copied()
            .collect();
        expected.sort_unstable();
        assert_eq!(keys(data), expected, "{event}");
        if let Some(id) = data.get("message_id") {
            assert!(id.as_str().is_some_and(is_opaque_id), "{event}");
        }
        if let Some(summary) = data.get("summary") {
            assert!(
                summary.as_str().is_some_and(|text| text.len() <= 1024),
                "{event}"
            );
        }
    }
    assert_eq!(run.named("run.finished").len(), 1);
    let end = run.end();
    assert!(["completed", "cancelled", "failed"].contains(&run.outcome()));
    assert!(["durable", "degraded", "not_started"].contains(&end["persistence"].as_str().unwrap()));
    if run.outcome() == "completed" {
        assert_eq!(end["error_code"], Value::Null);
    }
    run.reconciled();
    run.deltas();
}

#[test]
fn turn_start_answers_before_the_run_s_events() {
    let mut agent = Agent::scripted(&json!([{"text": "Hello."}]));
    let session = agent.create();
    let id = agent.send("turn.start", start(&session, "go"));
    // The first frame of all is the admission.
    let frame = agent.frame();
    assert_eq!(frame["id"], id.as_str());
    assert_eq!(keys(&frame["result"]), ["accepted", "run_id"]);
    assert!(is_uuid(frame["result"]["run_id"].as_str().unwrap()));
    let run = agent.finish(frame["result"]["run_id"].as_str().unwrap().to_owned());
    assert_well_formed(&run, &session);
    agent.end();
}

#[test]
fn run_events_come_in_order() {
    let mut agent = Agent::scripted(&json!([{"text": "Hello, world.", "chunks": 4}]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_well_formed(&run, &session);
    assert_eq!(run.position("input.persisted"), Some(0));
    let (delta, reconcile) = (
        run.position("message.delta").unwrap(),
        run.position("message.reconcile").unwrap(),
    );
    assert!(delta < reconcile);
    assert_eq!(run.position("run.finished"), Some(run.events.len() - 1));
    assert_eq!(run.deltas(), "Hello, world.");
    assert_eq!(run.reconciled(), ["Hello, world."]);
    assert!(
        run.named("message.reconcile")
            .iter()
            .all(|data| data["partial"] == false)
    );
    let end = run.end();
    assert_eq!(
        (&end["outcome"], &end["persistence"]),
        (&json!("completed"), &json!("durable"))
    );
    assert!(is_opaque_id(run.revision()));
    agent.end();
}

#[test]
fn delta_parts_of_a_quiet_run_count_from_0_without_gaps() {
    let mut agent = Agent::scripted(&json!([{"text": "abcdefgh", "chunks": 8, "delay_ms": 2}]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    let parts: Vec<_> = run
        .named("message.delta")
        .iter()
        .map(|data| data["part"].as_u64().unwrap())
        .collect();
    assert_eq!(parts, (0..parts.len() as u64).collect::<Vec<_>>());
    assert_eq!(run.deltas(), "abcdefgh");
    agent.end();
}

#[test]
fn no_frame_follows_the_terminal_event() {
    let mut agent = Agent::scripted(&json!([{"text": "Hello, world.", "chunks": 4}]));
    let session = agent.create();
    agent.turn(&session, "go");
    agent.server.close_stdin();
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn input_is_on_disk_when_it_is_acknowledged() {
    let mut agent = Agent::scripted(&waiting());
    let session = agent.create();
    let run_id = agent.begin(&session, "prompt-5f1d");
    let acknowledged = agent.until("input.persisted");
    let data = &acknowledged[0]["data"];
    assert_eq!(data["durable"], true);
    assert!(data["revision"].as_str().is_some_and(is_opaque_id));
    let stored = std::fs::read_to_string(agent.server.place.session_file(&session)).unwrap();
    assert!(stored.contains("prompt-5f1d"));
    agent.ok("turn.cancel", cancel(&session, &run_id));
    agent.finish(run_id);
    agent.end();
}

#[test]
fn status_shows_the_run_until_it_ended() {
    let mut agent = Agent::scripted(&waiting());
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let status = agent.ok("status", json!({}));
    assert_eq!(
        (&status["state"], &status["readiness"]),
        (&json!("running"), &json!("ready"))
    );
    assert_eq!(
        (&status["run_id"], &status["session_id"]),
        (&json!(run_id), &json!(session))
    );
    agent.ok("turn.cancel", cancel(&session, &run_id));
    agent.finish(run_id);
    let status = agent.ok("status", json!({}));
    assert_eq!(
        (&status["state"], &status["run_id"]),
        (&json!("idle"), &Value::Null)
    );
    agent.end();
}

#[test]
fn requests_are_answered_while_a_run_waits() {
    let mut agent = Agent::scripted(&waiting());
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    agent.until("message.delta");
    for _ in 0..100 {
        assert_eq!(agent.ok("status", json!({}))["run_id"], run_id.as_str());
    }
    agent.ok("turn.cancel", cancel(&session, &run_id));
    agent.finish(run_id);
    agent.end();
}

#[test]
fn overlapping_work_is_busy() {
    let mut agent = Agent::scripted(&waiting());
    let created = agent.ok("session.create", json!({}));
    let session = created["session_id"].as_str().unwrap().to_owned();
    let run_id = agent.begin(&session, "go");
    assert_eq!(agent.err("turn.start", start(&session, "more")), "busy");
    assert_eq!(agent.err("session.create", json!({})), "busy");
    assert_eq!(
        agent.err("session.open", json!({"session_id": session})),
        "busy"
    );
    let page = json!({"session_id": session, "revision": created["revision"], "cursor": null});
    assert_eq!(agent.err("history.page", page), "busy");
    // Nothing was cancelled by that.
    assert_eq!(agent.ok("status", json!({}))["run_id"], run_id.as_str());
    agent.ok("turn.cancel", cancel(&session, &run_id));
    let run = agent.finish(run_id);
    assert_eq!(run.named("input.persisted").len(), 1);
    let (entries, _) = agent.history(&session, run.revision());
    assert_eq!(
        entries
            .iter()
            .filter(|entry| entry["kind"] == "user")
            .count(),
        1
    );
    agent.end();
}

#[test]
fn a_run_may_start_right_after_the_terminal_event() {
    let mut agent = Agent::scripted(&json!([{"text": "ok"}]));
    let session = agent.create();
    let mut seen = std::collections::HashSet::new();
    for n in 0..20 {
        let run = agent.turn(&session, &format!("prompt {n}"));
        assert_eq!(run.outcome(), "completed");
        assert!(seen.insert(run.run_id));
    }
    agent.end();
}

#[test]
fn turn_without_attachment_is_session_missing() {
    let mut agent = Agent::ready(&Place::new());
    assert_eq!(agent.err("turn.start", start("x", "go")), "session_missing");
    agent.end();
}

#[test]
fn turn_on_another_session_is_stale_session() {
    let mut agent = Agent::ready(&Place::new());
    agent.create();
    assert_eq!(
        agent.err("turn.start", start("other", "go")),
        "stale_session"
    );
    agent.end();
}

#[test]
fn turn_params_are_exact() {
    let mut agent = Agent::ready(&Place::new());
    let session = agent.create();
    for params in [
        json!({}),
        json!({"session_id": session}),
        json!({"prompt": "go"}),
        json!({"session_id": session, "prompt": 1}),
        json!({"session_id": session, "prompt": "go", "model": "x"}),
        json!({"session_id": session, "prompt": ["go"]}),
        start(&session, ""),
        start(&session, " \t\r\n "),
        start(&session, "\u{2003}\u{3000}"),
    ] {
        assert_eq!(
            agent.err("turn.start", params.clone()),
            "invalid_params",
            "{params}"
        );
    }
    for params in [
        json!({}),
        json!({"session_id": session}),
        json!({"session_id": session, "run_id": 1}),
        json!({"session_id": session, "run_id": "r", "x": 1}),
    ] {
        assert_eq!(
            agent.err("turn.cancel", params.clone()),
            "invalid_params",
            "{params}"
        );
    }
    assert!(!agent.server.place.session_file(&session).exists());
    agent.end();
}

#[test]
fn prompt_of_16384_bytes_is_accepted_and_one_more_is_not() {
    let mut agent = Agent::scripted(&json!([{"text": "ok"}]));
    let session = agent.create();
    for unit in ["x", "\u{e9}", "\u{1f600}"] {
        let most = unit.repeat(16_384 / unit.len());
        assert_eq!(most.len(), 16_384);
        assert_eq!(
            agent.err("turn.start", start(&session, &(most.clone() + "x"))),
            "invalid_params"
        );
        assert_eq!(agent.turn(&session, &most).outcome(), "completed");
    }
    agent.end();
}

#[test]
fn provider_errors_fail_the_run_and_keep_the_partial_reply() {
    for error in [
        "rate_limited",
        "overloaded",
        "unauthorized",
        "network",
        "malformed",
    ] {
        let mut agent = Agent::scripted(&json!([{"text": "Half of "}, {"error": error}]));
        let session = agent.create();
        let run = agent.turn(&session, "go");
        assert_well_formed(&run, &session);
        assert_eq!(run.outcome(), "failed", "{error}");
        assert_eq!(run.end()["persistence"], "durable");
        assert_eq!(run.end()["error_code"], "provider_unavailable", "{error}");
        assert_eq!(run.reconciled(), ["Half of "]);
        // The next run works on the same session.
        assert_eq!(agent.turn(&session, "again").outcome(), "failed");
        agent.end();
    }
}

#[test]
fn reply_without_text_completes() {
    let mut agent =
        Agent::scripted(&json!([{"usage": {"input": 120, "output": 8, "cache_read": 0}}]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_well_formed(&run, &session);
    assert_eq!(run.outcome(), "completed");
    agent.end();
}

#[test]
fn approval_answers_without_a_request_are_stale() {
    if !cfg!(feature = "approval") {
        return;
    }
    let mut agent = Agent::scripted(&waiting());
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let answer = |run: &str, allow: bool| {
        json!({
            "session_id": session, "run_id": run, "allow": allow,
            "approval_id": "00000000-0000-4000-8000-000000000000"
        })
    };
    assert_eq!(
        agent.err("approval.answer", answer(&run_id, true)),
        "stale_approval"
    );
    assert_eq!(
        agent.err(
            "approval.answer",
            answer("00000000-0000-4000-8000-000000000000", false)
        ),
        "stale_approval"
    );
    let mut wrong = answer(&run_id, true);
    wrong["allow"] = json!("yes");
    assert_eq!(agent.err("approval.answer", wrong), "invalid_params");
    agent.ok("turn.cancel", cancel(&session, &run_id));
    agent.finish(run_id.clone());
    assert_eq!(
        agent.err("approval.answer", answer(&run_id, true)),
        "stale_approval"
    );
    agent.end();
}

#[test]
fn input_that_cannot_be_stored_is_never_acknowledged() {
    let mut agent = Agent::scripted(&json!([{"text": "never said"}]));
    let session = agent.create();
    // The folder's place is taken by a file: nothing can be appended below it, not even by root.
    let sessions = agent.server.place.mc_home().join("sessions");
    let _ = std::fs::remove_dir_all(&sessions);
    std::fs::write(&sessions, "in the way").unwrap();
    let frame = agent.call("turn.start", start(&session, "go"));
    if let Some(code) = frame["error"]["code"].as_str() {
        assert!(
            ["persistence_failed", "session_invalid"].contains(&code),
            "{code}"
        );
    } else {
        let run = agent.finish(frame["result"]["run_id"].as_str().unwrap().to_owned());
        assert_eq!(run.outcome(), "failed");
        let end = run.end();
        assert_eq!(
            (&end["persistence"], &end["error_code"]),
            (&json!("not_started"), &json!("persistence_failed"))
        );
        assert!(run.named("input.persisted").is_empty());
        assert!(run.reconciled().is_empty() && run.deltas().is_empty());
    }
    assert_eq!(agent.ok("status", json!({}))["state"], "idle");
    agent.end();
}

#[test]
fn shutdown_ends_an_active_run() {
    let mut agent = Agent::scripted(&waiting());
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    agent.until("message.delta");
    assert_eq!(
        agent.ok("shutdown", json!({})),
        json!({"state": "stopping"})
    );
    let rest = agent.rest();
    if let Some(end) = rest.iter().find(|frame| frame["event"] == "run.finished") {
        assert_eq!(
            (&end["data"]["outcome"], &end["data"]["run_id"]),
            (&json!("cancelled"), &json!(run_id))
        );
        assert_eq!(rest.last(), Some(end), "an event after the terminal one");
    }
    assert_clean(&agent.server.wait_exit());
}
