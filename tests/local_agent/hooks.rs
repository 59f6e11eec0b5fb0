//! Hooks of turns over the wire: when they run, what they are told, what a refusal comes to (spec: "Shared
//! startup and effects"). How their commands end is tested in the tools.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::Agent;
use crate::support::Place;

/// A place whose offline provider reads a file in each turn, with these hooks.
fn hooked(hooks: &Value) -> Arc<Place> {
    let steps = json!([{"tool": "read", "input": {"path": "a.txt"}}, {"text": "Done."}]);
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    place.write_file("a.txt", "file-canary\n");
    place.write_settings(&json!({
        "providers": {"fixture": {"script": place.root().join("script.json")}},
        "hooks": hooks,
    }));
    place
}

#[test]
fn hooks_run_at_their_moments_and_are_told_who_asks() {
    let notes = json!(["cat >> told.ndjson"]);
    let place = hooked(&json!({
        "session_start": notes, "turn_start": notes, "pre_tool": notes, "post_tool": notes,
        "turn_end": notes,
    }));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let runs = [agent.turn(&session, "one"), agent.turn(&session, "two")];
    assert!(runs.iter().all(|run| run.outcome() == "completed"));
    agent.end();
    let told = std::fs::read_to_string(place.work().join("told.ndjson")).unwrap();
    let told: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let moments: Vec<_> = told.iter().map(|told| &told["event"]).collect();
    let turn = ["turn_start", "pre_tool", "post_tool", "turn_end"];
    let both: Vec<_> = ["session_start"].iter().chain(&turn).chain(&turn).collect();
    assert_eq!(moments, both);
    for (at, told) in told.iter().enumerate() {
        assert_eq!(told["invocation"], "local_agent", "{told}");
        assert_eq!(told["session_id"], json!(session), "{told}");
        assert_eq!(told["run_id"], json!(runs[at / 5].run_id), "{told}");
    }
    let (before, after) = (&told[2], &told[3]);
    assert_eq!(
        (&before["tool"], &before["input"]),
        (&json!("read"), &json!({"path": "a.txt"}))
    );
    assert!(after["result"].as_str().unwrap().contains("file-canary"));
    assert_eq!(told[4]["outcome"], "completed");
}

#[test]
fn hooks_of_a_session_run_once_a_process() {
    let place = hooked(&json!({"session_start": ["cat >> started.ndjson"]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "one");
    for _ in 0..2 {
        agent.ok("session.open", json!({"session_id": session}));
        agent.turn(&session, "again");
    }
    agent.end();
    let told = std::fs::read_to_string(place.work().join("started.ndjson")).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn a_hook_refuses_a_call_and_the_turn_goes_on() {
    let place = hooked(&json!({"pre_tool": ["echo reason-canary >&2; exit 2"]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let states: Vec<_> = run
        .named("activity")
        .into_iter()
        .map(|data| (&data["state"], &data["summary"]))
        .collect();
    assert_eq!(states.len(), 2);
    assert_eq!(*states[1].0, "failed");
    assert!(
        states[1]
            .1
            .as_str()
            .unwrap()
            .ends_with(": refused by a hook")
    );
    // The reason is for the model.
    assert!(!json!(run.events).to_string().contains("reason-canary"));
    let stored = std::fs::read_to_string(place.session_file(&session)).unwrap();
    assert!(stored.contains("reason-canary") && !stored.contains("file-canary"));
    agent.end();
}

/// The place of [`hooked`], whose settings ask before a file is read.
#[cfg(feature = "approval")]
fn asking(hook: &str) -> Arc<Place> {
    let place = hooked(&json!({}));
    place.write_settings(&json!({
        "providers": {"fixture": {"script": place.root().join("script.json")}},
        "hooks": {"pre_tool": [hook]},
        "permissions": {"read": "ask"},
    }));
    place
}

#[test]
#[cfg(feature = "approval")]
fn what_a_hook_refuses_is_no_question() {
    let mut agent = Agent::ready(&asking("exit 2"));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    assert!(run.named("approval.requested").is_empty());
    let last = run.named("activity").last().copied().unwrap();
    let summary = last["summary"].as_str().unwrap();
    assert!(summary.ends_with(": refused by a hook"), "{summary}");
    agent.end();
}

#[test]
#[cfg(feature = "approval")]
fn a_hook_has_run_when_a_person_is_asked() {
    let place = asking("touch ran");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.begin(&session, "go");
    agent.until("approval.requested");
    assert!(place.work().join("ran").exists());
    agent.server.close_stdin();
    assert_eq!(agent.server.wait_exit().code, Some(0));
}
