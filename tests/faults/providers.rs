//! Providers that fail in each way, at each place of a turn: the turn ends truthfully, what was said is
//! kept, the session goes on. What a provider's own wire does wrong is tested beside the provider.

use serde_json::{Value, json};

use crate::client::Agent;
use crate::driver::Kind;
use crate::local_agent::LocalAgent;
use crate::support::Place;

/// Each failure of the script's format, and what a person is told.
const ERRORS: [(&str, &str); 5] = [
    ("rate_limited", "the provider's rate limit is reached"),
    ("overloaded", "the provider is overloaded"),
    ("unauthorized", "the provider refused the credential"),
    ("network", "the provider cannot be reached"),
    ("malformed", "the provider's response is malformed"),
];

#[test]
fn every_failure_at_every_place_ends_the_run_and_keeps_what_was_said() {
    // What comes before the failure, and the messages that it leaves.
    let places: [(&str, Value, &[&str]); 5] = [
        ("first of all", json!([]), &[]),
        ("after text", json!([{"text": "Half of "}]), &["Half of "]),
        (
            "after thoughts",
            json!([{"reasoning": "A summary.", "provider_summary": true}]),
            &[],
        ),
        (
            "after a tool",
            json!([{"text": "Look: "}, {"tool": "list", "input": {}}]),
            &["Look: "],
        ),
        (
            "after a tool and text",
            json!([{"tool": "list", "input": {}}, {"text": "There is "}]),
            &["There is "],
        ),
    ];
    for (error, words) in ERRORS {
        let mut turns: Vec<Value> = places
            .iter()
            .map(|(_, before, _)| {
                let mut steps = before.as_array().unwrap().clone();
                steps.push(json!({ "error": error }));
                json!({ "steps": steps })
            })
            .collect();
        turns.push(json!({"steps": [{"text": "Whole."}]}));
        let place = Place::with_script(&json!({ "turns": turns }));
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        for (at, _, said) in &places {
            let run = agent.turn(&session, at);
            let end = run.end();
            assert_eq!(
                (run.outcome(), &end["error_code"], &end["persistence"]),
                ("failed", &json!("provider_unavailable"), &json!("durable")),
                "{error} {at}"
            );
            assert_eq!(run.reconciled(), *said, "{error} {at}");
            // The reason is told, before the end and in fixed words.
            let told = run.named("diagnostic");
            let told = told.last().expect("a diagnostic");
            assert_eq!(told["code"], "provider_unavailable");
            assert_eq!(told["summary"], words);
            let started = run.named("activity");
            assert_eq!(started.len() % 2, 0, "an activity without its end");
            assert_eq!(agent.ok("status", json!({}))["state"], "idle");
        }
        // After all that the session is whole, here and for the next child.
        let run = agent.turn(&session, "at last");
        assert_eq!(
            (run.outcome(), run.reconciled()),
            ("completed", vec!["Whole.".to_owned()])
        );
        let mut driver = LocalAgent(agent);
        let here = driver.history(&session, run.revision());
        driver.0.end();
        let mut driver = LocalAgent(Agent::ready(&place));
        let there = crate::driver::Driver::open(&mut driver, &session).unwrap();
        for history in [&here, &there] {
            assert!(history.complete, "failures that were recorded are complete");
            let prompts: Vec<_> = places.iter().map(|(at, _, _)| *at).collect();
            assert_eq!(
                history.texts(Kind::User),
                [prompts, vec!["at last"]].concat()
            );
            let said: Vec<_> = places.iter().flat_map(|(_, _, said)| *said).collect();
            let texts = history.texts(Kind::Assistant);
            assert_eq!(
                texts[..texts.len() - 1],
                said.iter().map(|s| **s).collect::<Vec<_>>()
            );
            assert!(history.texts(Kind::Diagnostic).len() >= places.len());
        }
        driver.0.end();
    }
}

#[test]
fn provider_that_says_nothing_is_cancelled_at_once() {
    let place = Place::with_script(&json!({"turns": [
        {"steps": [{"wait_ms": 60000}, {"text": "never"}]},
        {"steps": [{"text": "Half of "}, {"wait_ms": 60000}, {"text": "never"}]},
        {"steps": [{"text": "slow", "chunks": 4, "delay_ms": 60000}]},
        {"steps": [{"tool": "list", "input": {}}, {"wait_ms": 60000}]},
        {"steps": [{"text": "Whole."}]}
    ]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let waits: [(&str, &str); 4] = [
        ("input.persisted", ""),
        ("message.delta", "Half of "),
        ("input.persisted", ""),
        ("activity", ""),
    ];
    for (n, (waits_at, said)) in waits.into_iter().enumerate() {
        let run_id = agent.begin(&session, "go");
        agent.until(waits_at);
        let cancel = json!({"session_id": session, "run_id": run_id});
        let result = agent.ok("turn.cancel", cancel);
        assert_eq!(result, json!({"cancellation_requested": true}));
        // That it comes at all within the client's patience: the script would wait for longer.
        let run = agent.finish(run_id);
        assert_eq!(run.outcome(), "cancelled", "{n}");
        assert_eq!(run.end()["persistence"], "durable", "{n}");
        assert_eq!(run.reconciled().concat(), said, "{n}");
    }
    let run = agent.turn(&session, "go");
    assert_eq!(run.reconciled(), ["Whole."]);
    let mut driver = LocalAgent(agent);
    assert!(driver.history(&session, run.revision()).complete);
    driver.0.end();
}
