//! Subagents in `turn.activity`: a batch, its tasks, their tools, and what all of them cost (spec: "Structured
//! activity"). What subagents may and do is tested with the other dialect.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::Service;
use crate::support::Place;
use crate::turn::Turn;

fn place(steps: &Value, tasks: &[(&str, Value)]) -> Arc<Place> {
    let place = Place::with_tasks(steps, tasks);
    place.write_file("canary.txt", "canary\n");
    place
}

fn task(prompt: &str, together: bool) -> Value {
    json!({"tool": "task", "input": {"prompt": prompt}, "together": together})
}

/// Activities of one kind or category, as they came.
fn of<'t>(turn: &'t Turn, member: &str, word: &str) -> Vec<&'t Value> {
    let mut activities = turn.activities();
    activities.retain(|activity| activity[member] == word);
    activities
}

/// The statuses of one activity, as they came.
fn statuses<'t>(turn: &'t Turn, id: &Value) -> Vec<&'t str> {
    let activities = turn.activities().into_iter();
    let own = activities.filter(|activity| activity["activity_id"] == *id);
    own.map(|activity| activity["status"].as_str().unwrap())
        .collect()
}

#[test]
fn a_batch_holds_its_tasks_and_each_task_its_tools() {
    let child = |text: &str| {
        json!([
            {"usage": {"input": 100, "output": 7, "cache_read": 40}},
            {"reasoning": "A canary summary.", "provider_summary": true},
            {"tool": "read", "input": {"path": "canary.txt"}},
            {"usage": {"input": 150, "output": 9, "cache_read": 0}}, {"text": text}
        ])
    };
    let place = place(
        &json!([
            {"usage": {"input": 10, "output": 1}}, task("One", true), task("Two", false),
            {"usage": {"input": 20, "output": 2}}, task("Fail", false), {"text": "Done."}
        ]),
        &[
            ("One", child("canary one")),
            ("Two", child("canary two")),
            ("Fail", json!([{"error": "malformed"}])),
        ],
    );
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    assert_eq!(turn.status(), "completed");
    for event in &turn.events {
        assert!(!event.to_string().contains("canary"), "{event}");
    }
    let batches = of(&turn, "category", "subagent_batch");
    assert_eq!(batches.len(), 2, "one for each response with tasks");
    let tasks = of(&turn, "category", "subagent_task");
    assert_eq!(tasks.len(), 3);
    for (task, batch) in tasks.iter().zip([batches[0], batches[0], batches[1]]) {
        assert_eq!(
            **task,
            json!({
                "activity_id": task["activity_id"], "parent_activity_id": batch["activity_id"], "kind": "lifecycle",
                "category": "subagent_task", "status": "running", "details_omitted": true,
            })
        );
    }
    let ended = |activity: &Value| statuses(&turn, &activity["activity_id"]).join(" ");
    assert_eq!(
        batches.iter().map(|batch| ended(batch)).collect::<Vec<_>>(),
        ["running completed", "running failed"]
    );
    let words: Vec<_> = tasks.iter().map(|task| ended(task)).collect();
    assert_eq!(
        words,
        ["running completed", "running completed", "running failed"]
    );

    let tools = of(&turn, "kind", "tool");
    let (own, children): (Vec<_>, Vec<_>) = tools
        .into_iter()
        .partition(|tool| tool["tool_name"] == "task");
    assert_eq!(own.len(), 6);
    assert!(
        own.iter()
            .all(|tool| tool.get("parent_activity_id").is_none())
    );
    assert_eq!(children.len(), 4);
    let mut parents: Vec<_> = children
        .iter()
        .filter_map(|tool| tool.get("parent_activity_id"))
        .collect();
    parents.sort_by_key(|parent| **parent != tasks[0]["activity_id"]);
    assert_eq!(
        parents,
        [&tasks[0]["activity_id"], &tasks[1]["activity_id"]],
        "on starts alone"
    );
    for tool in &children {
        assert_eq!(
            (&tool["tool_name"], &tool["timed_out"]),
            (&json!("read"), &Value::Null)
        );
        let is_start = tool["status"] == "running";
        assert_eq!(is_start, tool.get("parent_activity_id").is_some());
    }

    let usage = of(&turn, "kind", "usage");
    let (own, all): (Vec<_>, Vec<_>) = usage
        .into_iter()
        .partition(|usage| usage["source"] == "provider_request");
    assert_eq!(own.len(), 2);
    assert_eq!(all.len(), 1, "of the whole run");
    assert_eq!(
        *all[0],
        json!({
            "activity_id": own[0]["activity_id"], "kind": "usage", "effective_input": 2 * (60 + 150), "output": 32,
            "cache_read": 80, "cache_known": true, "request_sequence": 3, "final_usage": true,
            "source": "subagent_aggregate",
        })
    );
    assert!(
        of(&turn, "kind", "reasoning_summary").is_empty()
            && of(&turn, "kind", "context").len() == 2
    );
}

#[test]
fn four_work_at_once_and_the_others_wait() {
    let prompts = ["T1", "T2", "T3", "T4", "T5", "T6"];
    let mut steps: Vec<_> = prompts
        .iter()
        .map(|prompt| task(prompt, *prompt != "T6"))
        .collect();
    steps.push(json!({"text": "Done."}));
    let wait = json!([{"wait_ms": 700}, {"text": "t"}]);
    let tasks = prompts.map(|prompt| (prompt, wait.clone()));
    let place = place(&Value::Array(steps), &tasks);
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    let mut working = 0;
    let mut most = 0;
    for activity in turn.activities() {
        let is_task = activity["category"] == "subagent_task";
        let was_one = || {
            of(&turn, "category", "subagent_task")
                .iter()
                .any(|task| task["activity_id"] == activity["activity_id"])
        };
        match activity["status"].as_str() {
            Some("running") if is_task => working += 1,
            Some("completed") if activity["category"] == "activity" && was_one() => working -= 1,
            _ => {}
        }
        most = most.max(working);
    }
    assert_eq!((most, working), (4, 0));
    let mut ids: Vec<_> = of(&turn, "category", "subagent_task")
        .iter()
        .map(|task| task["activity_id"].clone())
        .collect();
    ids.dedup();
    let waited = |id: &Value| statuses(&turn, id) == ["queued", "running", "completed"];
    let mut queued: Vec<_> = ids.iter().filter(|id| waited(id)).collect();
    queued.sort_by_key(|id| id.to_string());
    queued.dedup();
    assert_eq!(queued.len(), 2);
}

#[test]
fn a_subagent_of_a_subagent_stands_beneath_it() {
    let place = place(
        &json!([task("One", false), {"text": "Done."}]),
        &[
            (
                "One",
                json!([{"usage": {"input": 5, "output": 1}}, task("Two", false), {"text": "1"}]),
            ),
            (
                "Two",
                json!([{"usage": {"input": 7, "output": 1}}, {"tool": "list"}, {"text": "2"}]),
            ),
        ],
    );
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    let batches = of(&turn, "category", "subagent_batch");
    let tasks = of(&turn, "category", "subagent_task");
    assert_eq!((batches.len(), tasks.len()), (2, 2));
    assert_eq!(batches[1]["parent_activity_id"], tasks[0]["activity_id"]);
    assert_eq!(tasks[1]["parent_activity_id"], batches[1]["activity_id"]);
    let tools = of(&turn, "tool_name", "list");
    assert_eq!(tools[0]["parent_activity_id"], tasks[1]["activity_id"]);
    let all = of(&turn, "source", "subagent_aggregate");
    assert_eq!(all.len(), 1);
    assert_eq!(
        (&all[0]["effective_input"], &all[0]["cache_known"]),
        (&json!(12), &json!(false))
    );
}

#[test]
fn what_asks_is_denied_and_no_subagent_is_a_session() {
    let place = place(
        &json!([task("One", false), {"text": "Done."}]),
        &[(
            "One",
            json!([{"tool": "bash", "input": {"command": "touch made"}}, {"text": "1"}]),
        )],
    );
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    assert_eq!(turn.status(), "completed");
    let bash = of(&turn, "tool_name", "bash");
    assert_eq!(bash.last().unwrap()["status"], "failed");
    assert!(!place.work().join("made").exists());
    let list = service.ok("session.list", &json!({}));
    let sessions: Vec<_> = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["session_id"].clone())
        .collect();
    assert_eq!(sessions, [json!(turn.session_id)]);
    assert_eq!(
        (&list["incomplete"], &list["truncated"]),
        (&json!(false), &json!(false))
    );
    let folder = place
        .mc_home()
        .join(format!("sessions/{}.tasks", turn.session_id));
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let replay = service.code_on(&id, "session.replay", &json!({}));
        assert_eq!(replay, "session_unavailable");
    }
}

#[test]
fn a_cancelled_turn_ends_its_subagents_and_those_that_wait() {
    let prompts = ["T1", "T2", "T3", "T4", "T5", "T6"];
    let mut steps: Vec<_> = prompts
        .iter()
        .map(|prompt| task(prompt, *prompt != "T6"))
        .collect();
    steps.push(json!({"text": "never"}));
    let tasks = prompts.map(|prompt| (prompt, json!([{"wait_ms": 600_000}])));
    let place = place(&Value::Array(steps), &tasks);
    let mut service = Service::ready_in(&place);
    let mut turn = service.begin(None, "x");
    while of(&turn, "category", "subagent_task").len() < 6 {
        let event = service.event();
        turn.take(event);
    }
    service.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut service);
    assert_eq!(turn.status(), "cancelled");
    let tasks = of(&turn, "category", "subagent_task");
    let mut ended: Vec<_> = tasks
        .iter()
        .map(|task| statuses(&turn, &task["activity_id"]).join(" "))
        .collect();
    ended.sort();
    let (waited, worked) = ended.split_at(2);
    assert!(
        waited.iter().all(|told| told == "queued cancelled"),
        "{ended:?}"
    );
    assert!(
        worked.iter().all(|told| told == "running cancelled"),
        "{ended:?}"
    );
    let batch = of(&turn, "category", "subagent_batch");
    assert_eq!(
        statuses(&turn, &batch[0]["activity_id"]),
        ["running", "cancelled"]
    );
    // The next turn's events are its own: the client checks each.
    let session = turn.session_id.clone();
    let next = service.begin(Some(&session), "again");
    assert_ne!(next.turn_id, turn.turn_id);
}

#[test]
#[cfg(feature = "code-mode")]
fn what_a_snippet_of_a_subagent_calls_stands_beneath_the_snippet() {
    let snippet = json!([{"tool": "code", "input": {"source": "return await tools.list({})"}}, {"text": "1"}]);
    let place = place(
        &json!([task("One", false), {"text": "Done."}]),
        &[("One", snippet)],
    );
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    let task = of(&turn, "category", "subagent_task")[0];
    let code = of(&turn, "tool_name", "code");
    assert_eq!(code[0]["parent_activity_id"], task["activity_id"]);
    let list = of(&turn, "tool_name", "list");
    assert_eq!(list[0]["parent_activity_id"], code[0]["activity_id"]);
    assert_eq!(list.last().unwrap()["status"], "completed");
}
