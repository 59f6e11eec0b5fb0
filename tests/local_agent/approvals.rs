//! Tools that the settings say to ask for: answered over the wire where answers are linked, denied at once
//! where they are not (spec: "Turns, approvals and events"; design: what is not linked is not advertised).

use std::process::Command;
use std::sync::Arc;

use serde_json::json;

use crate::client::{Agent, BIN};
use crate::support::Place;

/// A script that reads a file, which the settings say to ask for.
fn asking() -> Arc<Place> {
    let steps = json!([{"tool": "read", "input": {"path": "a.txt"}}, {"text": "Done."}]);
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    place.write_file("a.txt", "content\n");
    let project = json!({"permissions": {"read": "ask"}}).to_string();
    place.write_file(".magi-code/settings.json", &project);
    place
}

fn linked_events() -> Vec<String> {
    let out = Command::new(BIN)
        .args(["schema", "local-agent"])
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    document["events"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

#[test]
#[cfg(feature = "approval")]
fn one_recorded_answer_decides_a_call() {
    for (allow, state) in [(true, "completed"), (false, "failed")] {
        let mut agent = Agent::ready(&asking());
        let session = agent.create();
        let started = agent.ok("turn.start", json!({"session_id": session, "prompt": "go"}));
        let asked = agent.until("approval.requested");
        let asked = &asked.last().unwrap()["data"];
        assert_eq!(asked["run_id"], started["run_id"]);
        assert_eq!(asked["expires_in_ms"], 60_000);
        assert!(
            asked["summary"].as_str().unwrap().contains("a.txt"),
            "{asked}"
        );
        let answer = json!({"session_id": session, "run_id": started["run_id"],
            "approval_id": asked["approval_id"], "allow": allow});
        assert_eq!(
            agent.ok("approval.answer", answer.clone()),
            json!({"recorded": true})
        );
        assert_eq!(agent.err("approval.answer", answer), "stale_approval");
        let rest = agent.until("run.finished");
        let ended: Vec<_> = rest
            .iter()
            .filter(|event| event["event"] == "activity" && event["data"]["state"] != "started")
            .map(|event| event["data"]["state"].as_str().unwrap())
            .collect();
        assert_eq!(ended, [state]);
        assert_eq!(rest.last().unwrap()["data"]["outcome"], "completed");
        agent.end();
    }
    assert!(linked_events().contains(&"approval.requested".to_owned()));
}

/// A run that waits for an answer: the child, the session, the run and the data of its question.
#[cfg(feature = "approval")]
fn waiting() -> (Agent, String, serde_json::Value) {
    let mut agent = Agent::ready(&asking());
    let session = agent.create();
    agent.begin(&session, "go");
    let asked = agent.until("approval.requested").pop().unwrap();
    (agent, session, asked["data"].clone())
}

#[test]
#[cfg(feature = "approval")]
fn cancelling_denies_what_waits_and_later_answers_are_stale() {
    let (mut agent, session, asked) = waiting();
    let run = json!({"session_id": session, "run_id": asked["run_id"]});
    // Requests are read and answered while the approval waits.
    assert_eq!(agent.ok("status", json!({}))["run_id"], asked["run_id"]);
    agent.ok("turn.cancel", run);
    let answer = json!({"session_id": session, "run_id": asked["run_id"],
        "approval_id": asked["approval_id"], "allow": true});
    assert_eq!(
        agent.err("approval.answer", answer.clone()),
        "stale_approval"
    );
    let end = agent.until("run.finished").pop().unwrap();
    assert_eq!(end["data"]["outcome"], "cancelled");
    assert_eq!(agent.err("approval.answer", answer), "stale_approval");
    agent.end();
}

#[test]
#[cfg(feature = "approval")]
fn end_of_input_denies_what_waits() {
    let (mut agent, _, asked) = waiting();
    agent.server.close_stdin();
    let end = agent.until("run.finished").pop().unwrap();
    assert_eq!(
        (&end["data"]["run_id"], &end["data"]["outcome"]),
        (&asked["run_id"], &json!("cancelled"))
    );
    agent.end();
}

#[test]
#[cfg(not(feature = "approval"))]
fn without_answers_what_would_ask_is_denied_at_once() {
    let mut agent = Agent::ready(&asking());
    let session = agent.create();
    let run = agent.turn(&session, "go");
    let states: Vec<_> = run
        .named("activity")
        .iter()
        .map(|data| data["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["started", "failed"]);
    assert_eq!(run.outcome(), "completed");
    assert!(run.named("approval.requested").is_empty());
    assert!(!linked_events().contains(&"approval.requested".to_owned()));
    agent.end();
}
