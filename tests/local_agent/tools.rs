//! Tools in a run and the offline provider's demonstration (spec: "Turns, approvals and events", decisions on
//! the offline provider). What a tool does inside is the tools' own tests' business.

use serde_json::json;

use crate::client::Agent;
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
