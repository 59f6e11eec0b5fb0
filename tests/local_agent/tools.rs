//! Tools in a run and the offline provider's demonstration (spec: "Turns, approvals and events", decisions on
//! the offline provider). What a tool does inside is the tools' own tests' business.

use serde_json::json;

use crate::client::{Agent, is_opaque_id};
use crate::support::Place;
use crate::turns::assert_well_formed;

#[test]
fn tools_show_as_activities_and_separate_the_segments() {
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"text": "Before. "},
        {"tool": "read", "input": {"path": "data.txt"}},
        {"text": "After."}
    ]}]}));
    place.write_file("data.txt", "result-canary-77aa\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_well_formed(&run, &session);
    let activities = run.named("activity");
    let states: Vec<_> = activities
        .iter()
        .map(|data| data["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["started", "completed"]);
    assert_eq!(activities[0]["activity_id"], activities[1]["activity_id"]);
    for data in activities {
        assert_eq!(
            (&data["kind"], &data["name"]),
            (&json!("tool"), &json!("read"))
        );
    }
    assert_eq!(run.reconciled(), ["Before. ", "After."]);
    assert!(
        !json!(run.events).to_string().contains("result-canary"),
        "a raw result on the wire"
    );
    agent.end();
}

/// A person sees what a call is about while it runs: derived, and never the raw input.
#[test]
fn an_activity_says_its_subject_from_the_start() {
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"tool": "read", "input": {"path": "./docs/../README.md"}},
        {"tool": "grep", "input": {"pattern": "canary-1", "path": "docs"}},
        {"tool": "bash", "input": {"command": "TOKEN=canary-2 cargo --version canary-3 | head -1"}},
        {"text": "Done."}
    ]}]}));
    let script = place.root().join("script.json");
    place.write_settings(
        &json!({"providers": {"fixture": {"script": script}}, "permissions": {"bash": "allow"}}),
    );
    place.write_file("README.md", "words\n");
    place.write_file("docs/a.md", "words\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    let started: Vec<_> = run
        .named("activity")
        .into_iter()
        .filter(|data| data["state"] == "started")
        .map(|data| data["summary"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(started, ["read README.md", "grep docs", "bash cargo, head"]);
    assert!(!json!(run.events).to_string().contains("canary"));
    agent.end();
}

#[test]
fn an_activity_has_one_id_live_in_history_and_after_a_restart() {
    let long = "n".repeat(1500) + "\n" + &"m".repeat(1500);
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"tool": "read", "input": {"path": "absent.txt"}},
        {"tool": "read", "input": {"path": "data.txt"}},
        {"tool": "read", "input": {"path": "data.txt"}},
        {"tool": long, "input": {}},
        {"text": "Done."}
    ]}]}));
    place.write_file("data.txt", "words\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let mut live = Vec::new();
    let mut revision = String::new();
    for _ in 0..2 {
        let run = agent.turn(&session, "go");
        let ends = run.named("activity").into_iter();
        let ends = ends.filter(|data| data["state"] != "started");
        live.extend(ends.map(|data| data["activity_id"].as_str().unwrap().to_owned()));
        run.revision().clone_into(&mut revision);
    }
    assert_eq!(live.len(), 8);
    let (now, _) = agent.history(&session, &revision);
    agent.end();
    let mut agent = Agent::ready(&place);
    let opened = agent.ok("session.open", json!({"session_id": session}));
    let (later, _) = agent.history(&session, opened["revision"].as_str().unwrap());
    agent.end();
    for entries in [now, later] {
        let all: std::collections::HashSet<_> = entries
            .iter()
            .map(|entry| entry["message_id"].as_str())
            .collect();
        assert_eq!(all.len(), entries.len(), "an id twice");
        let stored: Vec<_> = entries
            .iter()
            .filter(|entry| entry["kind"] == "activity")
            .collect();
        let ids: Vec<_> = stored
            .iter()
            .map(|entry| entry["message_id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, live);
        assert!(ids.iter().all(|id| is_opaque_id(id)));
        let texts: Vec<_> = stored
            .iter()
            .map(|entry| entry["text"].as_str().unwrap())
            .collect();
        assert_eq!(texts[0], "read failed: absent.txt: not found");
        assert!(
            texts[1].starts_with("read completed: data.txt"),
            "{}",
            texts[1]
        );
        // A name that a model made up is cut as it was live, on one line, and the state stays to be seen.
        assert!(texts[3].len() <= 1024 && !texts[3].contains('\n'));
        assert!(texts[3].ends_with(" failed: unknown tool"), "{}", texts[3]);
    }
}

#[test]
fn read_only_tools_work_on_the_workspace_without_approval() {
    let tools = json!([
        {"tool": "list", "input": {"path": "."}},
        {"tool": "glob", "input": {"pattern": "**/*.txt"}},
        {"tool": "grep", "input": {"pattern": "needle"}},
        {"tool": "read", "input": {"path": "docs/a.txt"}},
        {"text": "Done."}
    ]);
    let place = Place::with_script(&json!({"turns": [{"steps": tools}]}));
    place.write_file("docs/a.txt", "a needle here\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_well_formed(&run, &session);
    assert_eq!(run.outcome(), "completed");
    let done: Vec<_> = run
        .named("activity")
        .into_iter()
        .filter(|data| data["state"] == "completed")
        .map(|data| data["name"].as_str().unwrap())
        .collect();
    assert_eq!(done, ["list", "glob", "grep", "read"]);
    assert!(run.named("approval.requested").is_empty());
    agent.end();
}

#[test]
fn failing_tool_shows_as_failed_and_the_run_goes_on() {
    let mut agent = Agent::scripted(&json!([
        {"tool": "read", "input": {"path": "absent.txt"}},
        {"tool": "no-such-tool", "input": {}},
        {"tool": "read", "input": {"nonsense": 1}},
        {"text": "Done."}
    ]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_well_formed(&run, &session);
    assert_eq!(run.outcome(), "completed");
    let failed = run
        .named("activity")
        .iter()
        .filter(|data| data["state"] == "failed")
        .count();
    assert_eq!(failed, 3);
    assert_eq!(run.reconciled(), ["Done."]);
    agent.end();
}

#[test]
fn activity_is_paired_and_ends_before_the_terminal_event() {
    let steps: Vec<_> = (0..20)
        .map(|_| json!({"tool": "list", "input": {}}))
        .chain([json!({"text": "ok"})])
        .collect();
    let mut agent = Agent::scripted(&json!(steps));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_well_formed(&run, &session);
    let mut open = std::collections::BTreeSet::new();
    let mut ids = std::collections::BTreeSet::new();
    for data in run.named("activity") {
        let id = data["activity_id"].as_str().unwrap();
        match data["state"].as_str().unwrap() {
            "started" => assert!(open.insert(id) && ids.insert(id)),
            _ => assert!(open.remove(id)),
        }
    }
    assert!(open.is_empty());
    assert_eq!(ids.len(), 20);
    agent.end();
}

#[test]
fn demonstration_plays_on_the_real_workspace() {
    let place = Place::new();
    place.write_file("README.md", "# Title\n\nSome words.\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "What is here?");
    assert_well_formed(&run, &session);
    assert_eq!(run.outcome(), "completed");
    assert!(
        run.named("activity")
            .iter()
            .any(|data| data["state"] == "completed")
    );
    let said = run.reconciled().concat();
    assert!(said.to_lowercase().contains("offline"), "{said}");
    assert!(said.contains("README.md"), "{said}");
    agent.end();
}

#[test]
fn script_entries_follow_the_prompts_and_the_last_repeats() {
    let place = Place::with_script(&json!({"turns": [
        {"steps": [{"text": "one"}]}, {"steps": [{"text": "two"}]}
    ]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let said: Vec<_> = (0..3)
        .map(|_| agent.turn(&session, "go").reconciled().concat())
        .collect();
    assert_eq!(said, ["one", "two", "two"]);
    agent.end();
}
