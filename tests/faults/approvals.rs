//! Approvals under contention: many answers at once, answers against cancellation, answers that come too
//! late. One wins, and only what it allowed is done. Expiry is the engine's own test, in virtual time.

use std::sync::Arc;
use std::time::Duration;

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

/// Prompts that an answer and a cancellation race for.
const ROUNDS: usize = 60;

#[test]
fn answer_that_races_a_cancellation_is_recorded_or_stale_and_never_both() {
    let call = |n| json!({"tool": "bash", "input": {"command": format!("echo {n} >> ran")}});
    let place = Place::with_script(&rounds(call));
    race(&place, "bash", || lines(&place));
}

#[cfg(feature = "code-mode")]
#[test]
fn answer_about_a_snippet_s_call_that_races_a_cancellation_is_recorded_or_stale() {
    // Others of its calls need no answer and go on meanwhile.
    let source = |n| {
        format!(
            "await Promise.all([tools.bash({{command: 'echo {n} >> ran'}}), tools.list({{}}), tools.glob({{pattern: '*'}})])"
        )
    };
    let call = |n| json!({"tool": "code", "input": {"source": source(n)}});
    let place = Place::with_script(&rounds(call));
    race(&place, "bash", || lines(&place));
}

#[cfg(feature = "mcp")]
#[test]
fn answer_about_a_server_s_call_that_races_a_cancellation_is_recorded_or_stale() {
    use crate::setting::{heard, misbehaving, place, settings};
    let place = place(&json!({"s": misbehaving(&[])}), &json!([]));
    let call = |n| json!({"tool": "mcp__s__echo", "input": {"n": n, "text": "x"}});
    std::fs::write(place.root().join("script.json"), rounds(call).to_string()).unwrap();
    let mut asks = settings(&place);
    asks["mcp_servers"]["s"]["trust"] = json!(false);
    place.write_settings(&asks);
    let round = |message: &Value| message["params"]["arguments"]["n"].as_u64();
    race(&place, "mcp__s__echo", || {
        let rounds = heard(&place);
        rounds
            .iter()
            .filter_map(round)
            .map(|n| n as usize)
            .collect()
    });
}

/// A script whose n-th turn makes the n-th call.
fn rounds(call: impl Fn(usize) -> Value) -> Value {
    let turns = (0..ROUNDS).map(|n| json!({"steps": [call(n), {"text": "Done."}]}));
    json!({"turns": turns.collect::<Vec<_>>()})
}

/// The numbers in the file that commands write.
fn lines(place: &Place) -> Vec<usize> {
    let text = std::fs::read_to_string(place.work().join("ran")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Each prompt asks for a call of `tool`, which an answer and a cancellation then race for; `ran` tells of which rounds
/// calls had an effect.
fn race(place: &Arc<Place>, tool: &str, ran: impl Fn() -> Vec<usize>) {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut agent = Agent::ready(place);
    let session = agent.create();
    let (mut allowed, mut completed) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
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
            let [one, other] = both;
            agent.server.send(one);
            // Long enough for a call to begin, or to end.
            std::thread::sleep(Duration::from_micros(random.below(80_000)));
            agent.server.send(other);
        }
        let won = recorded(&agent.answer(answer_id));
        let cancelled = agent.answer(cancel_id);
        let run = agent.finish(run);
        let at = format!("MC_FAULT_SEED={seed}, round {round}: {:?}", run.events);
        assert_eq!(won, answers_first, "requests are read in order; {at}");
        let fate = fate_of(&run, tool);
        match won && allow {
            true => allowed.push(round),
            false => assert_eq!(fate, "failed", "{at}"),
        }
        if fate == "completed" {
            completed.push(round);
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
    // A call that nobody allowed was not made, and none twice; one that ended well was.
    let mut ran = ran();
    ran.sort_unstable();
    let at = format!("MC_FAULT_SEED={seed}: {allowed:?}, {completed:?}, {ran:?}");
    assert!(ran.windows(2).all(|two| two[0] < two[1]), "{at}");
    assert!(ran.iter().all(|round| allowed.contains(round)), "{at}");
    assert!(completed.iter().all(|round| ran.contains(round)), "{at}");
    assert!(!completed.is_empty() && allowed.len() < ROUNDS, "{at}");
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
