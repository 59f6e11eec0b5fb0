//! Conversations that are made shorter: what a client sees of it while it happens, in the history and after a restart, and
//! sessions that go on though they have no room left (spec: "Owned sessions and chat history", "Turns, approvals and events").

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::Agent;
use crate::run::Run;
use crate::support::Place;

/// The states of the compactions of a run, which are those of one.
fn compaction(run: &Run) -> (Vec<&str>, Option<&str>) {
    let activities = run.named("activity");
    let all: Vec<_> = activities
        .into_iter()
        .filter(|data| data["kind"] == "compaction")
        .collect();
    for activity in &all {
        assert_eq!(activity["name"], "compaction");
        assert_eq!(activity["activity_id"], all[0]["activity_id"]);
    }
    let states = all.iter().map(|data| data["state"].as_str().unwrap());
    let id = all.first().and_then(|data| data["activity_id"].as_str());
    (states.collect(), id)
}

/// Kinds and texts of a history, and whether it is complete.
fn history(agent: &mut Agent, session: &str, revision: &str) -> (Vec<(String, String)>, bool) {
    let (entries, complete) = agent.history(session, revision);
    let shown = |entry: &Value| {
        let text = |name: &str| entry[name].as_str().unwrap().to_owned();
        (text("kind"), text("text"))
    };
    (entries.iter().map(shown).collect(), complete)
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(kind, text): &(&str, &str)| ((*kind).to_owned(), (*text).to_owned());
    expected.iter().map(own).collect()
}

#[test]
fn conversation_is_summarized_before_it_fills_its_window_and_its_history_stays() {
    let place = Place::with_compaction(
        900,
        &json!([{"text": "In "}, {"text": "short."}, {"usage": {"input": 7, "output": 2}}]),
    );
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "one");
    assert_eq!(compaction(&run).0, [""; 0]);
    let run = agent.turn(&session, "two");
    assert_eq!(run.outcome(), "completed");
    let (states, id) = compaction(&run);
    assert_eq!(states, ["started", "completed"]);
    // The input is acknowledged before anything is asked of the model.
    assert_eq!(run.position("input.persisted"), Some(0));
    assert_eq!(run.reconciled(), ["Answer 2."]);
    let (entries, complete) = agent.history(&session, run.revision());
    let summary = entries
        .iter()
        .find(|entry| entry["kind"] == "compaction")
        .unwrap();
    assert_eq!(summary["message_id"].as_str(), id);
    assert!(complete);
    let expected = pairs(&[
        ("user", "one"),
        ("assistant", "Answer 1."),
        ("user", "two"),
        ("compaction", "In short."),
        ("assistant", "Answer 2."),
    ]);
    assert_eq!(history(&mut agent, &session, run.revision()).0, expected);
    agent.end();

    // A later child goes on behind the summary: the offline model counts prompts, those that it stands for too.
    let mut agent = Agent::ready(&place);
    let opened = agent.ok("session.open", json!({"session_id": session}));
    let revision = opened["revision"].as_str().unwrap();
    assert_eq!(history(&mut agent, &session, revision).0, expected);
    let run = agent.turn(&session, "three");
    assert_eq!(run.reconciled(), ["Answer 3."]);
    agent.end();
}

#[test]
fn compaction_that_fails_is_said_and_the_conversation_goes_on() {
    for steps in [
        json!([{"error": "overloaded"}]),
        json!([{"text": " "}]),
        json!([]),
    ] {
        let place = Place::with_compaction(900, &steps);
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        agent.turn(&session, "one");
        let run = agent.turn(&session, "two");
        assert_eq!(run.outcome(), "completed");
        assert_eq!(compaction(&run).0, ["started", "failed"]);
        let told = run.named("diagnostic");
        assert_eq!(told.len(), 1, "{run:?}");
        assert_eq!(told[0]["code"], "provider_unavailable");
        let summary = told[0]["summary"].as_str().unwrap();
        assert!(summary.contains("could not be made shorter"), "{summary}");
        let (entries, complete) = history(&mut agent, &session, run.revision());
        assert!(complete && !entries.iter().any(|(kind, _)| kind == "compaction"));
        let kept: Vec<_> = entries
            .iter()
            .filter(|(kind, _)| kind == "diagnostic")
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!(kept, [format!("provider_unavailable: {summary}")]);
        assert_eq!(entries.last().unwrap().1, "Answer 2.");
        agent.end();
    }
}

#[test]
fn turn_that_cannot_go_on_without_compaction_fails() {
    let place = Place::with_compaction(1001, &json!([{"error": "overloaded"}]));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "one");
    let run = agent.turn(&session, "two");
    let end = run.end();
    assert_eq!(
        (run.outcome(), &end["persistence"], &end["error_code"]),
        ("failed", &json!("durable"), &json!("provider_unavailable"))
    );
    assert_eq!(compaction(&run).0, ["started", "failed"]);
    assert!(run.reconciled().is_empty());
    agent.end();
    // Why is kept with the session.
    let mut agent = Agent::ready(&place);
    let opened = agent.ok("session.open", json!({"session_id": session}));
    let revision = opened["revision"].as_str().unwrap();
    let (entries, _) = history(&mut agent, &session, revision);
    let told = entries.last().unwrap();
    assert_eq!(told.0, "diagnostic");
    assert!(told.1.contains("could not be made shorter"), "{told:?}");
    agent.end();
}

#[test]
fn refusal_for_length_is_answered_by_a_compaction_and_the_request_again() {
    let script = json!({"turns": [
        {"steps": [{"text": "Answer 1."}]},
        {"steps": [{"error": "context_length"}, {"text": "Answer 2."}]},
    ]});
    let place = Place::with_script(&script);
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, &"one ".repeat(100));
    let run = agent.turn(&session, "two");
    assert_eq!(run.outcome(), "completed", "{run:?}");
    assert_eq!(compaction(&run).0, ["started", "completed"]);
    assert_eq!(run.reconciled(), ["Answer 2."]);
    assert!(run.named("diagnostic").is_empty());
    agent.end();
    // A first prompt leaves nothing to be made shorter.
    let script = json!({"turns": [{"steps": [{"error": "context_length"}]}]});
    let place = Place::with_script(&script);
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "one");
    assert_eq!(run.outcome(), "failed");
    assert_eq!(run.end()["error_code"], "provider_unavailable");
    agent.end();
}

#[test]
fn cancelled_compaction_is_a_failed_activity() {
    let place = Place::with_compaction(900, &json!([{"wait_ms": 60_000}]));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "one");
    let run_id = agent.begin(&session, "two");
    let mut events = agent.until("activity");
    let identity = json!({"session_id": session, "run_id": run_id});
    agent.ok("turn.cancel", identity);
    events.extend(agent.finish(run_id.clone()).events);
    let run = Run { run_id, events };
    assert_eq!(run.outcome(), "cancelled");
    assert_eq!(compaction(&run).0, ["started", "failed"]);
    agent.end();
}

#[test]
fn secret_in_a_summary_is_shown_nowhere() {
    let secret = "ghp_aB3dE6gH9jK2mN5pQ8sTaB3dE6gH9jK2mN5p";
    let place = Place::with_compaction(
        900,
        &json!([{"text": format!("The token is {secret}, keep it.")}]),
    );
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, &"one ".repeat(100));
    let run = agent.turn(&session, "two");
    let (entries, _) = history(&mut agent, &session, run.revision());
    let summary = entries
        .iter()
        .find(|(kind, _)| kind == "compaction")
        .unwrap();
    assert!(summary.1.starts_with("The token is ") && summary.1.ends_with(", keep it."));
    assert!(!format!("{entries:?}{run:?}").contains(secret));
    agent.end();
}

/// Lengthens a session file to so many records, the last ones being notes that no model is told.
fn lengthen(place: &Place, session: &str, records: usize) {
    let path = place.session_file(session);
    let mut text = std::fs::read_to_string(&path).unwrap();
    for n in text.lines().count() + 1..=records {
        let body = json!({"type": "diagnostic", "code": "note", "summary": ""});
        let record = json!({"v": 1, "n": n, "session": session, "at": 1, "body": body});
        text += &format!("{record}\n");
    }
    std::fs::write(path, text).unwrap();
}

fn part(place: &Place, session: &str, n: u32) -> PathBuf {
    place
        .session_file(session)
        .with_extension(format!("{n}.jsonl"))
}

#[test]
fn session_of_100_000_records_goes_on_under_the_same_id() {
    // At its very bound the input itself has no place; below it, the input is stored before.
    for records in [100_000, 90_000] {
        let script = json!({"turns": [
            {"steps": [{"text": "Answer 1."}]},
            {"steps": [{"text": "Answer 2."}]},
            {"steps": [{"text": "Answer 3."}]},
        ], "compaction": {"steps": [{"text": "In short."}]}});
        let place = Place::with_script(&script);
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        agent.turn(&session, "one");
        agent.end();
        lengthen(&place, &session, records);
        let mut agent = Agent::ready(&place);
        agent.ok("session.open", json!({"session_id": session}));
        let before = std::fs::read(place.session_file(&session)).unwrap();
        let run = agent.turn(&session, "two");
        assert_eq!(
            (run.outcome(), &run.end()["persistence"]),
            ("completed", &json!("durable")),
            "{run:?}"
        );
        assert_eq!(run.position("input.persisted"), Some(0));
        assert_eq!(compaction(&run).0, ["started", "completed"]);
        assert_eq!(run.reconciled(), ["Answer 2."]);
        let expected = |rest: &[(&str, &str)]| {
            let head = [
                ("compaction", "In short."),
                ("user", "two"),
                ("assistant", "Answer 2."),
            ];
            pairs(&[&head, rest].concat())
        };
        let (entries, complete) = history(&mut agent, &session, run.revision());
        // What is in the first file is not at hand: that is said.
        assert_eq!(entries[0].0, "diagnostic");
        assert_eq!(entries[1..], expected(&[]));
        assert!(!complete);
        agent.end();
        let stored = std::fs::read(place.session_file(&session)).unwrap();
        assert!(stored.starts_with(&before) && part(&place, &session, 2).exists());

        let mut agent = Agent::ready(&place);
        agent.ok("session.open", json!({"session_id": session}));
        let run = agent.turn(&session, "three");
        assert_eq!(run.reconciled(), ["Answer 3."]);
        let (entries, _) = history(&mut agent, &session, run.revision());
        assert_eq!(
            entries[1..],
            expected(&[("user", "three"), ("assistant", "Answer 3.")])
        );
        agent.end();
    }
}

#[test]
fn full_session_whose_model_is_down_says_so_and_can_be_tried_again() {
    let script = |compaction: Value| {
        json!({"turns": [
            {"steps": [{"text": "Answer 1."}]},
            {"steps": [{"text": "Answer 2."}]},
        ], "compaction": {"steps": compaction}})
    };
    let place = Place::with_script(&script(json!([{"error": "network"}])));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "one");
    agent.end();
    lengthen(&place, &session, 100_000);
    let mut agent = Agent::ready(&place);
    agent.ok("session.open", json!({"session_id": session}));
    for _ in 0..2 {
        let run = agent.turn(&session, "two");
        let end = run.end();
        assert_eq!(
            (run.outcome(), &end["persistence"], &end["error_code"]),
            (
                "failed",
                &json!("not_started"),
                &json!("persistence_failed")
            ),
        );
        let told = run.named("diagnostic");
        let summary = told[0]["summary"].as_str().unwrap();
        assert!(summary.contains("cannot be reached"), "{summary}");
        assert!(run.named("input.persisted").is_empty());
    }
    agent.end();
    place.write_script(&script(json!([{"text": "In short."}])));
    let mut agent = Agent::ready(&place);
    agent.ok("session.open", json!({"session_id": session}));
    let run = agent.turn(&session, "two");
    assert_eq!(run.outcome(), "completed");
    assert_eq!(run.reconciled(), ["Answer 2."]);
    agent.end();
}
