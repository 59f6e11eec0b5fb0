//! Approvals under contention: many answers at once, answers against cancellation, answers that come too
//! late. One wins, and only what it allowed is done. Expiry is the engine's own test, in virtual time.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Agent, request_line};
use crate::run::Run;
use crate::seeded::{Random, seed};
use crate::support::Place;

/// Each prompt asks for one call.
fn asking() -> Arc<Place> {
    let steps = json!([{"tool": "read", "input": {"path": "a.txt"}}, {"text": "Done."}]);
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    place.write_file("a.txt", "content\n");
    let project = json!({"permissions": {"read": "ask"}}).to_string();
    place.write_file(".magi-code/settings.json", &project);
    place
}

/// Starts a run and returns the identity that an answer needs.
fn asked(agent: &mut Agent, session: &str) -> (String, Value) {
    let run = agent.begin(session, "go");
    let asked = agent.until("approval.requested").pop().unwrap();
    let identity = json!({
        "session_id": session, "run_id": run, "approval_id": asked["data"]["approval_id"]
    });
    (run, identity)
}

fn answer(identity: &Value, allow: bool) -> Value {
    let mut answer = identity.clone();
    answer["allow"] = json!(allow);
    answer
}

/// What became of the call: `completed` or `failed`.
fn fate(run: &Run) -> String {
    fate_of(run, "read")
}

fn fate_of(run: &Run, tool: &str) -> String {
    let ended = run
        .named("activity")
        .iter()
        .filter(|data| data["name"] == tool)
        .map(|data| data["state"].as_str().unwrap().to_owned())
        .filter(|state| state != "started")
        .collect::<Vec<_>>();
    assert_eq!(ended.len(), 1, "{:?}", run.events);
    ended.concat()
}

/// `Ok(true)` for a recorded answer, `Ok(false)` for a stale one.
fn recorded(frame: &Value) -> bool {
    match frame["error"]["code"].as_str() {
        None => {
            assert_eq!(frame["result"], json!({"recorded": true}), "{frame}");
            true
        }
        Some(code) => {
            assert_eq!(code, "stale_approval", "{frame}");
            false
        }
    }
}

#[test]
fn of_a_hundred_answers_at_once_one_wins() {
    let mut agent = Agent::ready(&asking());
    let session = agent.create();
    for round in 0..6 {
        let (run, identity) = asked(&mut agent, &session);
        // Alternating, so that the first and the last of them differ.
        let allows = |n: usize| (n + round).is_multiple_of(2);
        let ids: Vec<String> = (0..100).map(|_| agent.fresh_id()).collect();
        let all: String = ids
            .iter()
            .enumerate()
            .map(|(n, id)| request_line(id, "approval.answer", &answer(&identity, allows(n))))
            .collect();
        // In one write: the child has them all before it answers the first.
        agent.server.send(all);
        let won: Vec<usize> = ids
            .iter()
            .enumerate()
            .filter(|(_, id)| recorded(&agent.answer(id)))
            .map(|(n, _)| n)
            .collect();
        assert_eq!(won.len(), 1, "round {round}: {won:?} were recorded");
        let run = agent.finish(run);
        let expected = if allows(won[0]) {
            "completed"
        } else {
            "failed"
        };
        assert_eq!(fate(&run), expected, "round {round}");
        assert_eq!(run.outcome(), "completed");
    }
    agent.end();
}

#[test]
fn answer_that_races_a_cancellation_is_recorded_or_stale_and_never_both() {
    let place = scripted(&[json!({"tool": "bash", "input": {"command": "echo >> ran"}})]);
    race(&place, "bash", || lines(&place, "ran"));
}

#[cfg(feature = "code-mode")]
#[test]
fn answer_about_a_snippet_s_call_that_races_a_cancellation_is_recorded_or_stale() {
    // Others of its calls need no answer and go on meanwhile.
    let source = "await Promise.all([tools.bash({command: 'echo >> ran'}), tools.list({}), tools.glob({pattern: '*'})])";
    let place = scripted(&[json!({"tool": "code", "input": {"source": source}})]);
    race(&place, "bash", || lines(&place, "ran"));
}

#[cfg(feature = "mcp")]
#[test]
fn answer_about_a_server_s_call_that_races_a_cancellation_is_recorded_or_stale() {
    use crate::setting::{heard, misbehaving, place, settings, steps};
    let server = json!({"s": misbehaving(&[])});
    let place = place(&server, &steps(&[("mcp__s__echo", json!({"text": "x"}))]));
    let mut asks = settings(&place);
    asks["mcp_servers"]["s"]["trust"] = json!(false);
    place.write_settings(&asks);
    let is_call = |message: &&Value| message["method"] == "tools/call";
    race(&place, "mcp__s__echo", || {
        heard(&place).iter().filter(is_call).count()
    });
}

fn scripted(calls: &[Value]) -> Arc<Place> {
    let steps = [calls, &[json!({"text": "Done."})]].concat();
    Place::with_script(&json!({"turns": [{"steps": steps}]}))
}

fn lines(place: &Place, file: &str) -> usize {
    let text = std::fs::read_to_string(place.work().join(file));
    text.map_or(0, |text| text.lines().count())
}

/// Each prompt asks for a call of `tool`, which an answer and a cancellation then race for; `ran` counts its effects.
fn race(place: &Arc<Place>, tool: &str, ran: impl Fn() -> usize) {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut agent = Agent::ready(place);
    let session = agent.create();
    for round in 0..60 {
        let before = ran();
        let (run, identity) = asked(&mut agent, &session);
        let allow = random.below(3) > 0;
        let (first, second) = (agent.fresh_id(), agent.fresh_id());
        let answers_first = random.below(2) == 0;
        let cancel = json!({"session_id": session, "run_id": run});
        let (answer_id, cancel_id) = match answers_first {
            true => (&first, &second),
            false => (&second, &first),
        };
        let answer = request_line(answer_id, "approval.answer", &answer(&identity, allow));
        let cancel = request_line(cancel_id, "turn.cancel", &cancel);
        let both = match answers_first {
            true => [answer, cancel],
            false => [cancel, answer],
        };
        if random.below(2) == 0 {
            agent.server.send(both.concat());
        } else {
            for one in both {
                agent.server.send(one);
            }
        }
        let won = recorded(&agent.answer(answer_id));
        let cancelled = agent.answer(cancel_id);
        let run = agent.finish(run);
        let at = format!("MC_FAULT_SEED={seed}, round {round}: {:?}", run.events);
        assert_eq!(won, answers_first, "requests are read in order; {at}");
        // A call that nobody allowed was not made; one that ended well was, once.
        let (fate, ran) = (fate_of(&run, tool), ran() - before);
        if !(won && allow) {
            assert_eq!((fate.as_str(), ran), ("failed", 0), "{at}");
        } else if fate == "completed" {
            assert_eq!(ran, 1, "{at}");
        }
        match cancelled["error"]["code"].as_str() {
            // The run can have ended in between, if its answer came first.
            Some(code) => assert_eq!((code, answers_first), ("stale_run", true), "{at}"),
            None => assert!(
                run.outcome() == "cancelled" || answers_first && run.outcome() == "completed",
                "{at}"
            ),
        }
        assert_eq!(agent.ok("status", json!({}))["state"], "idle", "{at}");
    }
    agent.end();
}

#[test]
fn answers_after_the_end_and_of_other_runs_authorize_nothing() {
    let mut agent = Agent::ready(&asking());
    let session = agent.create();
    let (run, old) = asked(&mut agent, &session);
    assert!(recorded(&agent.call("approval.answer", answer(&old, true))));
    let run = agent.finish(run);
    assert_eq!(fate(&run), "completed");
    assert!(!recorded(
        &agent.call("approval.answer", answer(&old, true))
    ));
    // The same call in the next run asks again, and takes only its own identity.
    let (run, new) = asked(&mut agent, &session);
    assert_ne!(old["approval_id"], new["approval_id"]);
    let mixed = |approval: &Value, run: &Value| {
        json!({"session_id": session, "run_id": run["run_id"],
            "approval_id": approval["approval_id"], "allow": true})
    };
    for wrong in [mixed(&old, &new), mixed(&new, &old), mixed(&old, &old)] {
        assert!(!recorded(&agent.call("approval.answer", wrong)));
    }
    assert!(recorded(
        &agent.call("approval.answer", answer(&new, false))
    ));
    assert_eq!(fate(&agent.finish(run)), "failed");
    agent.end();
}

#[test]
fn child_killed_while_it_asks_did_not_do_what_it_asked_for() {
    let place = asking();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let (_, identity) = asked(&mut agent, &session);
    agent.server.signal(rustix::process::Signal::KILL);
    agent.server.wait_exit();
    let mut agent = Agent::ready(&place);
    let opened = agent.ok("session.open", json!({"session_id": session}));
    let (entries, complete) = agent.history(&session, opened["revision"].as_str().unwrap());
    assert!(!complete);
    let activity: Vec<_> = entries.iter().filter(|e| e["kind"] == "activity").collect();
    assert!(activity.iter().all(|e| e["partial"] == true), "{entries:?}");
    // The question died with its child.
    assert!(!recorded(
        &agent.call("approval.answer", answer(&identity, true))
    ));
    let (run, identity) = asked(&mut agent, &session);
    assert!(recorded(
        &agent.call("approval.answer", answer(&identity, true))
    ));
    assert_eq!(fate(&agent.finish(run)), "completed");
    agent.end();
}
