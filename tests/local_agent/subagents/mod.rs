//! Subagents over the wire: a task is one activity and one result, its questions are its parent's, and what it may is
//! never more than what its parent may (spec: "Shared startup and effects", "Owned sessions and chat history").

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::support::Place;

#[cfg(feature = "approval")]
mod approvals;
mod ends;

/// A place with tasks, and a file to read.
fn place(steps: &Value, tasks: &[(&str, Value)]) -> Arc<Place> {
    let place = Place::with_tasks(steps, tasks);
    place.write_file("a.txt", "file-canary\n");
    place
}

/// The global settings of such a place with these members besides.
fn settings(place: &Place, more: &Value) {
    let mut all = more.clone();
    all["providers"] = json!({"fixture": {"script": place.root().join("script.json")}});
    place.write_settings(&all);
}

fn profile(place: &Place, name: &str, text: &str) {
    let folder = place.mc_home().join("agents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.md")), text).unwrap();
}

fn task(prompt: &str) -> Value {
    json!({"tool": "task", "input": {"prompt": prompt}})
}

fn task_of(profile: &str, prompt: &str) -> Value {
    json!({"tool": "task", "input": {"profile": profile, "prompt": prompt}})
}

fn together(mut step: Value) -> Value {
    step["together"] = true.into();
    step
}

/// The records of each task of a session.
fn conversations(place: &Place, session: &str) -> Vec<Vec<Value>> {
    let folder = place.mc_home().join(format!("sessions/{session}.tasks"));
    let Ok(files) = fs::read_dir(folder) else {
        return Vec::new();
    };
    files
        .map(|file| Place::bodies(&file.unwrap().path()))
        .collect()
}

fn of_type<'r>(records: &'r [Value], kind: &str) -> Vec<&'r Value> {
    records
        .iter()
        .filter(|record| record["type"] == kind)
        .collect()
}

/// Results of tools, as the models were told.
fn results(records: &[Value]) -> Vec<(&str, bool)> {
    of_type(records, "tool_finished")
        .iter()
        .map(|record| {
            (
                record["content"].as_str().unwrap(),
                record["is_error"] == true,
            )
        })
        .collect()
}

#[test]
fn a_task_is_one_activity_and_its_last_text_is_the_result() {
    let steps = json!([{"text": "Asking. "}, task_of("review", "Review a.txt"), {"text": "Done."}]);
    let child = json!([{"text": "Looking."}, {"tool": "read", "input": {"path": "a.txt"}}, {"text": "It is fine."}]);
    let place = place(&steps, &[("Review", child)]);
    profile(
        &place,
        "review",
        "---\ndescription: Reads.\ntools: [read]\n---\nYou review.\n",
    );
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(
        (run.outcome(), &run.end()["persistence"]),
        ("completed", &json!("durable"))
    );
    let shown: Vec<_> = run
        .named("activity")
        .iter()
        .map(|data| {
            (
                data["kind"].as_str().unwrap(),
                data["name"].as_str().unwrap(),
                data["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("subagent", "task", "started"),
            ("subagent", "task", "completed")
        ]
    );
    assert_eq!(run.named("activity")[0]["summary"], "task review");
    // Of the subagent's words and files the person is shown nothing.
    assert_eq!(run.reconciled(), ["Asking. ", "Done."]);
    for event in &run.events {
        let text = event.to_string();
        assert!(
            !text.contains("canary") && !text.contains("It is fine"),
            "{text}"
        );
    }
    let (entries, complete) = agent.history(&session, run.revision());
    let kinds: Vec<_> = entries
        .iter()
        .map(|entry| entry["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["user", "assistant", "activity", "assistant"]);
    assert!(complete);
    let live = &run.named("activity")[0]["activity_id"];
    assert_eq!(&entries[2]["message_id"], live);

    let own = place.records(&session);
    assert_eq!(results(&own), [("It is fine.", false)]);
    let tasks = of_type(&own, "task");
    assert_eq!(tasks.len(), 1);
    assert_eq!(
        (&tasks[0]["outcome"], &tasks[0]["profile"]),
        (&json!("completed"), &json!("review"))
    );
    assert_eq!(&tasks[0]["activity_id"], live);
    let children = conversations(&place, &session);
    assert_eq!(children.len(), 1);
    let types: Vec<_> = children[0]
        .iter()
        .map(|record| record["type"].as_str().unwrap())
        .collect();
    assert_eq!(types.first(), Some(&"session"));
    assert_eq!(types.last(), Some(&"turn_finished"));
    assert_eq!(
        of_type(&children[0], "user_input")[0]["text"],
        "Review a.txt"
    );
    assert!(results(&children[0])[0].0.contains("file-canary"));
    // The name of its file is the one that is recorded.
    let id = tasks[0]["task"].as_str().unwrap();
    assert!(
        place
            .mc_home()
            .join(format!("sessions/{session}.tasks/{id}.jsonl"))
            .exists()
    );
    agent.end();
}

#[test]
fn what_nobody_can_do_is_a_tool_error_without_a_subagent() {
    let steps = json!([
        together(task_of("missing", "Do it")),
        together(task_of("off", "Do it")),
        together(task_of("primary", "Do it")),
        together(task(" \n")),
        {"tool": "task", "input": {}},
        {"text": "None."}
    ]);
    let place = place(&steps, &[]);
    profile(
        &place,
        "review",
        "---\ndescription: Reads.\n---\nYou review.\n",
    );
    profile(&place, "off", "---\ndisabled: true\n---\nNever.\n");
    profile(
        &place,
        "primary",
        "---\ndescription: Terse.\n---\nBe terse.\n",
    );
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let own = place.records(&session);
    let results = results(&own);
    assert_eq!(results.len(), 5);
    assert!(results.iter().all(|(_, is_error)| *is_error), "{results:?}");
    let of_profiles = results
        .iter()
        .filter(|(content, _)| content.contains("the profiles are review"));
    assert_eq!(of_profiles.count(), 3, "{results:?}");
    assert!(conversations(&place, &session).is_empty());
    assert!(of_type(&own, "task").is_empty() && of_type(&own, "delegation").is_empty());
    agent.end();
}

#[test]
fn a_subagent_that_fails_says_why_and_what_it_had() {
    let steps = json!([task("Fail"), {"text": "I see."}]);
    let child = json!([{"text": "Half a finding."}, {"tool": "list"}, {"error": "unauthorized"}]);
    let place = place(&steps, &[("Fail", child)]);
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed", "the run goes on");
    let told = run.named("diagnostic");
    assert!(
        told[0]["summary"]
            .as_str()
            .unwrap()
            .starts_with("subagent default: "),
        "{told:?}"
    );
    assert_eq!(run.named("activity").last().unwrap()["state"], "failed");
    let own = place.records(&session);
    let (content, is_error) = results(&own)[0];
    assert!(
        is_error && content.contains("provider_unavailable"),
        "{content}"
    );
    assert!(content.contains("Half a finding."), "{content}");
    let tasks = of_type(&own, "task");
    assert_eq!(
        (&tasks[0]["outcome"], &tasks[0]["error_code"]),
        (&json!("failed"), &json!("provider_unavailable"))
    );
    agent.end();
}

#[test]
fn the_text_that_returns_is_bounded() {
    let steps = json!([task("Write"), {"text": "Enough."}]);
    let line = "x".repeat(1023) + "\n";
    let place = place(&steps, &[("Write", json!([{"repeat": 300, "text": line}]))]);
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    let own = place.records(&session);
    let (content, is_error) = results(&own)[0];
    assert!(!is_error && content.len() <= 256 * 1024 && content.len() > 255 * 1024);
    assert!(content.ends_with("[cut here: the text is too long]"));
    agent.end();
}

#[test]
fn no_subagent_has_more_tools_than_its_profile_or_its_parent() {
    let write = |path: &str| json!({"tool": "write", "input": {"path": path, "content": "x"}});
    let steps = json!([
        together(task_of("reader", "One")), together(task("Two")), task_of("writer", "Three"), {"text": "Done."}
    ]);
    let place = place(
        &steps,
        &[
            ("One", json!([write("one.txt"), {"text": "1"}])),
            (
                "Two",
                json!([{"tool": "edit", "input": {"path": "a.txt", "old": "file", "new": "x"}}, write("two.txt"), {"text": "2"}]),
            ),
            (
                "Three",
                json!([{"tool": "edit", "input": {"path": "a.txt", "old": "file", "new": "x"}}, write("three.txt"), {"text": "3"}]),
            ),
        ],
    );
    settings(&place, &json!({"permissions": {"edit": "deny"}}));
    profile(&place, "reader", "---\ntools: [read]\n---\n");
    profile(&place, "writer", "---\ntools: [write, edit]\n---\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    for (path, written) in [("one.txt", false), ("two.txt", true), ("three.txt", true)] {
        assert_eq!(place.work().join(path).exists(), written, "{path}");
    }
    let text = fs::read_to_string(place.work().join("a.txt")).unwrap();
    assert_eq!(text, "file-canary\n", "nobody may edit");
    agent.end();
}

#[test]
#[cfg(feature = "code-mode")]
fn snippets_of_a_subagent_have_no_more_tools_than_it_has() {
    let source = "const names = Object.keys(tools); \
        try { await tools.write({path: 'w.txt', content: 'x'}) } catch (error) { names.push(error.name) } return names";
    let steps = json!([task_of("reader", "One"), {"text": "Done."}]);
    let snippet = json!([{"tool": "code", "input": {"source": source}}, {"text": "1"}]);
    let place = place(&steps, &[("One", snippet)]);
    settings(
        &place,
        &json!({"permissions": {"code": {"write": "allow", "grep": "deny"}}}),
    );
    profile(&place, "reader", "---\ntools: [code, read, grep]\n---\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    assert!(!place.work().join("w.txt").exists());
    let child = &conversations(&place, &session)[0];
    let (content, is_error) = results(child).pop().unwrap();
    assert!(
        !is_error && content.contains(r#"["read","TypeError"]"#),
        "{content}"
    );
    agent.end();
}

#[test]
fn subagents_of_subagents_give_no_tasks() {
    let deeper = |prompt: &str| json!([task(prompt), {"text": "Back."}]);
    let place = place(
        &json!([task("One"), {"text": "Done."}]),
        &[
            ("One", deeper("Two")),
            ("Two", deeper("Three")),
            ("Three", json!([{"text": "never"}])),
        ],
    );
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    assert_eq!(run.named("activity").len(), 2, "the task alone");
    let children = conversations(&place, &session);
    let prompts = |children: &[Vec<Value>]| {
        let prompts = children.iter().map(|records| {
            of_type(records, "user_input")[0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        });
        let mut prompts: Vec<_> = prompts.collect();
        prompts.sort();
        prompts
    };
    assert_eq!(prompts(&children), ["One", "Two"]);
    let two = children
        .iter()
        .find(|records| of_type(records, "user_input")[0]["text"] == "Two")
        .unwrap();
    assert!(results(two)[0].1, "refused");
    agent.end();
}

#[test]
fn what_was_delegated_is_the_most_that_a_session_delegates_after_a_restart() {
    let write =
        json!([{"tool": "write", "input": {"path": "w.txt", "content": "x"}}, {"text": "1"}]);
    let steps = json!([task_of("worker", "Work"), {"text": "Done."}]);
    let place = place(&steps, &[("Work", write)]);
    profile(&place, "worker", "---\ntools: [read]\n---\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    agent.end();
    let ceilings: Vec<_> = of_type(&place.records(&session), "delegation")
        .into_iter()
        .cloned()
        .collect();
    assert_eq!(ceilings.len(), 2);
    assert_eq!(
        ceilings[1],
        json!({"type": "delegation", "profile": "worker", "tools": ["read"]})
    );

    profile(&place, "worker", "---\ntools: [read, write]\n---\n");
    let mut agent = Agent::ready(&place);
    agent.ok("session.open", json!({"session_id": session}));
    assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    let file = place.work().join("w.txt");
    assert!(!file.exists(), "the stored ceiling holds");
    assert_eq!(of_type(&place.records(&session), "delegation").len(), 2);
    let other = agent.create();
    assert_eq!(agent.turn(&other, "go").outcome(), "completed");
    assert!(file.exists(), "and is this session's alone");
    agent.end();
}

#[test]
fn hooks_are_told_of_a_subagent_and_may_refuse_its_calls() {
    let steps = json!([task_of("review", "Read"), {"text": "Done."}]);
    let place = place(
        &steps,
        &[(
            "Read",
            json!([{"tool": "read", "input": {"path": "a.txt"}}, {"text": "r"}]),
        )],
    );
    profile(&place, "review", "---\ndescription: Reads.\n---\n");
    let refuse =
        "cat > t.$$; cat t.$$ >> told.ndjson; ! grep -q '\"tool\":\"read\"' t.$$ || exit 2";
    settings(&place, &json!({"hooks": {"pre_tool": [refuse]}}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    let told = fs::read_to_string(place.work().join("told.ndjson")).unwrap();
    let told: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let own = told.iter().find(|told| told["tool"] == "task").unwrap();
    assert_eq!(own["invocation"], "local_agent");
    let child = told.iter().find(|told| told["tool"] == "read").unwrap();
    assert_eq!(
        (
            &child["invocation"],
            &child["subagent"],
            &child["session_id"],
            &child["parent_run_id"]
        ),
        (
            &json!("subagent"),
            &json!("review"),
            &json!(session),
            &json!(run.run_id)
        )
    );
    assert_ne!(child["run_id"], json!(run.run_id));
    assert!(results(&conversations(&place, &session)[0])[0].1);
    agent.end();
}

#[test]
fn the_model_of_a_profile_answers_its_subagents_if_it_is_offered() {
    let steps = json!([
        together(task_of("other", "One")), together(task_of("missing", "Two")), task_of("stranger", "Three"),
        {"text": "Done."}
    ]);
    let said = || json!([{"text": "said"}]);
    let place = place(
        &steps,
        &[("One", said()), ("Two", said()), ("Three", said())],
    );
    let script = place.root().join("script.json");
    let fixture = json!({"script": script, "models": ["other-model"]});
    place.write_settings(&json!({"providers": {"fixture": fixture}}));
    profile(&place, "other", "---\nmodel: other-model\n---\n");
    profile(&place, "missing", "---\nmodel: no-such-model\n---\n");
    place.write_file(
        ".magi-code/agents/stranger.md",
        "---\nmodel: no-such-model\n---\n",
    );
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let children = conversations(&place, &session);
    assert_eq!(children.len(), 1);
    let selection = of_type(&children[0], "selection");
    assert_eq!(
        (&selection[0]["provider"], &selection[0]["model"]),
        (&json!("fixture"), &json!("other-model"))
    );
    let own = place.records(&session);
    let mut results = results(&own);
    results.sort();
    assert_eq!(results[0], ("said", false));
    for (content, is_error) in &results[1..] {
        assert!(
            *is_error && content.contains("`no-such-model`"),
            "{content}"
        );
    }
    agent.end();
}
