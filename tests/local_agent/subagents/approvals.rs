//! Questions of subagents: they are their parents', and each has one answer.

use super::*;

fn write(path: &str) -> Value {
    json!([{"tool": "write", "input": {"path": path, "content": "x"}}, {"text": "tried"}])
}

/// Two subagents that ask at the same time.
fn asking() -> Arc<Place> {
    let steps = json!([together(task_of("review", "One")), task("Two"), {"text": "Done."}]);
    let place = place(
        &steps,
        &[("One", write("one.txt")), ("Two", write("two.txt"))],
    );
    settings(&place, &json!({"permissions": {"write": "ask"}}));
    profile(&place, "review", "---\ndescription: Reads.\n---\n");
    place
}

#[test]
fn questions_of_subagents_are_their_parents_and_say_whose_they_are() {
    let place = asking();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let mut asked: Vec<Value> = (0..2)
        .map(|_| agent.until("approval.requested").pop().unwrap()["data"].clone())
        .collect();
    asked.sort_by_key(|data| data["summary"].as_str().unwrap().contains("two.txt"));
    for (data, name, path) in [
        (&asked[0], "review", "one.txt"),
        (&asked[1], "default", "two.txt"),
    ] {
        assert_eq!(data["run_id"], json!(run_id));
        let summary = data["summary"].as_str().unwrap();
        assert!(
            summary.starts_with(&format!("subagent {name}: ")),
            "{summary}"
        );
        assert!(summary.contains(path) && summary.len() <= 1024, "{summary}");
    }
    let answer = |data: &Value, allow: bool| json!({"session_id": session, "run_id": run_id, "approval_id": data["approval_id"], "allow": allow});
    assert_eq!(
        agent.ok("approval.answer", answer(&asked[0], true)),
        json!({"recorded": true})
    );
    assert_eq!(
        agent.err("approval.answer", answer(&asked[0], false)),
        "stale_approval"
    );
    assert_eq!(
        agent.ok("approval.answer", answer(&asked[1], false)),
        json!({"recorded": true})
    );
    let run = agent.finish(run_id);
    assert_eq!(run.outcome(), "completed");
    assert!(place.work().join("one.txt").exists() && !place.work().join("two.txt").exists());
    agent.end();
}

#[test]
fn many_answers_to_questions_of_parent_and_subagents_have_one_winner_each() {
    let steps = json!([
        together(task("One")), together(task("Two")), {"tool": "list"},
        {"tool": "write", "input": {"path": "own.txt", "content": "x"}}, {"text": "Done."}
    ]);
    let place = place(
        &steps,
        &[("One", write("one.txt")), ("Two", write("two.txt"))],
    );
    settings(
        &place,
        &json!({"permissions": {"write": "ask", "list": "ask"}}),
    );
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let mut recorded = 0;
    for _ in 0..4 {
        let data = agent.until("approval.requested").pop().unwrap()["data"].clone();
        let answer = json!({"session_id": session, "run_id": run_id, "approval_id": data["approval_id"], "allow": true});
        let ids: Vec<_> = (0..8)
            .map(|_| agent.send("approval.answer", answer.clone()))
            .collect();
        let answers: Vec<_> = ids.iter().map(|id| agent.answer(id)).collect();
        let won = answers
            .iter()
            .filter(|frame| frame["result"]["recorded"] == true)
            .count();
        let stale = answers
            .iter()
            .filter(|frame| frame["error"]["code"] == "stale_approval")
            .count();
        assert_eq!((won, stale), (1, 7), "{answers:?}");
        recorded += won;
    }
    assert_eq!(recorded, 4);
    assert_eq!(agent.finish(run_id).outcome(), "completed");
    for path in ["one.txt", "two.txt", "own.txt"] {
        assert!(place.work().join(path).exists(), "{path}");
    }
    agent.end();
}

#[test]
fn a_cancelled_run_denies_what_its_subagents_ask() {
    let place = asking();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let data = agent.until("approval.requested").pop().unwrap()["data"].clone();
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    let answer = json!({"session_id": session, "run_id": run_id, "approval_id": data["approval_id"], "allow": true});
    assert_eq!(agent.err("approval.answer", answer), "stale_approval");
    let run = agent.finish(run_id);
    assert_eq!(run.outcome(), "cancelled");
    assert!(!place.work().join("one.txt").exists() && !place.work().join("two.txt").exists());
    agent.end();
}
