//! The ends of runs with subagents: nothing that they run outlives them, and what is stored is whole or torn at its end.

use std::time::{Duration, Instant};

use super::*;
use crate::support::{lives, wait_for};

/// The number that a subagent's command told, once it did.
fn told_pid(place: &Place) -> u32 {
    let path = place.work().join("pid");
    let told = || fs::read_to_string(&path).ok()?.trim().parse().ok();
    wait_for("the command", || told().is_some());
    told().unwrap()
}

#[test]
fn a_cancelled_run_ends_its_subagents_and_what_they_run() {
    let command = "echo $$ > pid; sleep 600";
    let steps = json!([together(task("Sleep")), task("Wait"), {"text": "never"}]);
    let place = place(
        &steps,
        &[
            (
                "Sleep",
                json!([{"tool": "bash", "input": {"command": command}}, {"text": "never"}]),
            ),
            ("Wait", json!([{"text": "Half"}, {"wait_ms": 600_000}])),
        ],
    );
    settings(&place, &json!({"permissions": {"bash": "allow"}}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let pid = told_pid(&place);
    let asked = Instant::now();
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    let run = agent.finish(run_id);
    assert!(asked.elapsed() < Duration::from_secs(5));
    assert_eq!(run.outcome(), "cancelled");
    assert!(!lives(pid));
    let own = place.records(&session);
    let tasks = of_type(&own, "task");
    assert_eq!(tasks.len(), 2, "one record each");
    assert!(
        tasks.iter().all(|task| task["outcome"] == "cancelled"),
        "{tasks:?}"
    );
    agent.end();
}

/// A run whose subagent runs a command, and the command's process.
fn commanding() -> (Agent, u32) {
    let command = "echo $$ > pid; sleep 600";
    let steps = json!([task("Sleep"), {"text": "never"}]);
    let child = json!([{"tool": "bash", "input": {"command": command}}, {"text": "never"}]);
    let place = place(&steps, &[("Sleep", child)]);
    settings(&place, &json!({"permissions": {"bash": "allow"}}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.begin(&session, "go");
    let pid = told_pid(&place);
    (agent, pid)
}

#[test]
fn the_end_of_input_ends_what_subagents_run() {
    let (mut agent, pid) = commanding();
    let ended = Instant::now();
    agent.server.close_stdin();
    let rest = agent.rest();
    assert_eq!(rest.last().unwrap()["data"]["outcome"], "cancelled");
    let exit = agent.server.wait_exit();
    assert_eq!(exit.code, Some(0));
    assert!(ended.elapsed() < Duration::from_secs(5) && !lives(pid));
}

#[test]
fn a_killed_process_leaves_nothing_that_subagents_run() {
    let (mut agent, pid) = commanding();
    agent.server.signal(rustix::process::Signal::KILL);
    agent.server.wait_exit();
    wait_for("the end of the command", || !lives(pid));
}

#[test]
fn killed_at_any_point_the_session_opens_and_its_tasks_are_whole_or_torn() {
    let child = json!([
        {"text": "words of a subagent ", "chunks": 20, "delay_ms": 1}, {"tool": "read", "input": {"path": "a.txt"}},
        {"text": "more ", "chunks": 5, "delay_ms": 1}
    ]);
    let steps = json!([together(task("A")), together(task("B")), together(task("C")), task("D"), {"text": "Done."}]);
    let tasks: Vec<_> = ["A", "B", "C", "D"]
        .map(|prompt| (prompt, child.clone()))
        .into();
    let place = place(&steps, &tasks);
    for round in 0..12_u64 {
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        agent.begin(&session, "go");
        agent.until("input.persisted");
        std::thread::sleep(Duration::from_millis(round * 7));
        agent.server.signal(rustix::process::Signal::KILL);
        agent.server.wait_exit();
        let folder = place.mc_home().join(format!("sessions/{session}.tasks"));
        for file in fs::read_dir(folder).into_iter().flatten() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            for (at, line) in whole.lines().enumerate() {
                let record: Value = serde_json::from_str(line).unwrap();
                assert_eq!(record["n"], json!(at + 1));
            }
        }
        let mut agent = Agent::spawn(launch().place(&place));
        agent.initialize();
        let opened = agent.ok("session.open", json!({"session_id": session}));
        let (entries, _) = agent.history(&session, opened["revision"].as_str().unwrap());
        assert_eq!(entries[0]["kind"], "user");
        assert_eq!(agent.turn(&session, "again").outcome(), "completed");
        agent.end();
    }
}
