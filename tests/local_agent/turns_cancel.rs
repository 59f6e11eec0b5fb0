//! `turn.cancel`: whom it ends and how often it may be asked (spec: "Turns, approvals and events").
//! Runs that nobody cancels are the parent's.

use super::*;

#[test]
fn cancel_ends_the_run_as_cancelled() {
    let mut agent = Agent::scripted(&waiting());
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    agent.until("message.delta");
    let acknowledged = agent.ok("turn.cancel", cancel(&session, &run_id));
    assert_eq!(acknowledged, json!({"cancellation_requested": true}));
    let run = agent.finish(run_id);
    assert_well_formed(&run, &session);
    assert_eq!(run.outcome(), "cancelled");
    assert_eq!(run.end()["persistence"], "durable");
    assert_eq!(run.reconciled(), ["Half of "]);
    assert!(
        run.named("message.reconcile")
            .iter()
            .all(|data| data["partial"] == true)
    );
    agent.end();
}

#[test]
fn cancel_is_idempotent_while_the_run_is_active() {
    let mut agent = Agent::scripted(&waiting());
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let ids: Vec<_> = (0..5)
        .map(|_| agent.send("turn.cancel", cancel(&session, &run_id)))
        .collect();
    let mut recorded = 0;
    for id in &ids {
        let frame = agent.answer(id);
        match frame["error"]["code"].as_str() {
            None => {
                assert_eq!(frame["result"], json!({"cancellation_requested": true}));
                recorded += 1;
            }
            Some(code) => assert_eq!(code, "stale_run", "after the end"),
        }
    }
    assert!(recorded >= 1);
    let run = agent.finish(run_id);
    assert_eq!(run.outcome(), "cancelled");
    assert_eq!(run.named("run.finished").len(), 1);
    agent.end();
}

#[test]
fn cancel_of_a_wrong_or_finished_run_is_stale_run() {
    let mut agent = Agent::scripted(&json!([{"text": "ok"}]));
    let session = agent.create();
    let other = "00000000-0000-4000-8000-000000000000";
    assert_eq!(
        agent.err("turn.cancel", cancel(&session, other)),
        "stale_run"
    );
    let run = agent.turn(&session, "go");
    assert_eq!(
        agent.err("turn.cancel", cancel(&session, &run.run_id)),
        "stale_run"
    );
    assert_eq!(agent.err("turn.cancel", cancel(&session, "")), "stale_run");
    agent.end();
}

#[test]
fn cancel_of_a_wrong_run_leaves_the_active_one_alone() {
    let mut agent = Agent::scripted(&waiting());
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    assert_eq!(
        agent.err(
            "turn.cancel",
            cancel(&session, "00000000-0000-4000-8000-000000000000")
        ),
        "stale_run"
    );
    let code = agent.err("turn.cancel", cancel("other", &run_id));
    assert!(code == "stale_run" || code == "stale_session", "{code}");
    assert_eq!(agent.ok("status", json!({}))["state"], "running");
    agent.ok("turn.cancel", cancel(&session, &run_id));
    agent.finish(run_id);
    agent.end();
}
