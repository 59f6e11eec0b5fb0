//! Servers in application-service: started with the first turn that needs them, kept, and never named (spec:
//! application-service, "Structured activity").

use serde_json::{Value, json};

use crate::setting::{finished, heard, misbehaving, place, steps};

#[path = "../application_service/client.rs"]
#[allow(dead_code)]
mod client;

use client::{Service, launch};

/// The events of one turn.
fn turn(service: &mut Service) -> Vec<Value> {
    service.ok("turn.start", &json!({"prompt": "go", "options": {}}));
    let mut events = Vec::new();
    while events
        .last()
        .is_none_or(|event: &Value| event["event"] != "turn.terminal")
    {
        events.push(service.event());
    }
    events
}

fn started(place: &crate::support::Place) -> usize {
    let heard = heard(place);
    heard
        .iter()
        .filter(|message| message["method"] == "initialize")
        .count()
}

#[test]
fn they_start_with_the_first_turn_and_are_kept() {
    let calls = steps(&[("mcp__secretname__echo", json!({"text": "argument-canary"}))]);
    let place = place(&json!({"secretname": misbehaving(&[])}), &calls);
    let mut service = Service::spawn(launch().place(&place));
    service.initialize();
    service.ok("status", &json!({}));
    assert_eq!(started(&place), 0);
    for _ in 0..2 {
        let turn = turn(&mut service);
        assert_eq!(
            turn.last().unwrap()["payload"]["status"],
            "completed",
            "{turn:?}"
        );
        assert_eq!(started(&place), 1);
        let tools: Vec<&Value> = turn
            .iter()
            .map(|event| &event["payload"]["activity"])
            .filter(|activity| activity["kind"] == "tool")
            .collect();
        assert_eq!(tools.len(), 2, "{turn:?}");
        for activity in tools {
            assert_eq!(
                (&activity["transport"], &activity["tool_name"]),
                (&json!("mcp"), &Value::Null)
            );
            for (member, prefix) in [("server_id", "server-"), ("tool_id", "tool-")] {
                let id = activity[member].as_str().unwrap();
                let digits = id.strip_prefix(prefix).unwrap();
                assert!(
                    digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()),
                    "{id}"
                );
            }
        }
        let shown = json!(turn).to_string();
        for canary in ["secretname", "argument-canary", "echo:"] {
            assert!(!shown.contains(canary), "{canary}: {shown}");
        }
    }
    service.finish();
}

#[test]
fn other_tools_are_offered_to_all_runs_that_go_on() {
    let calls = steps(&[
        ("mcp__s__wait", json!({"n": 700})),
        ("mcp__s__grow", json!({})),
        ("mcp__s__grown", json!({"text": "now"})),
    ]);
    let place = place(&json!({"s": misbehaving(&[])}), &calls);
    let mut service = Service::spawn(launch().place(&place));
    service.initialize();
    for _ in 0..3 {
        service.ok("turn.start", &json!({"prompt": "go", "options": {}}));
    }
    let mut sessions = Vec::new();
    while sessions.len() < 3 {
        let event = service.event();
        if event["event"] == "turn.terminal" {
            sessions.push(event["session_id"].as_str().unwrap().to_owned());
        }
    }
    service.finish();
    for session in sessions {
        let results = finished(&place, &session);
        assert_eq!(results[2]["content"], "echo: now", "{results:?}");
    }
}

#[test]
fn a_server_that_does_not_start_fails_the_turn_and_the_next_one_tries_again() {
    let place = place(&json!({"s": misbehaving(&["--exit"])}), &steps(&[]));
    let mut service = Service::spawn(launch().place(&place));
    service.initialize();
    for _ in 0..2 {
        let turn = turn(&mut service);
        assert_eq!(
            turn.last().unwrap()["payload"]["status"],
            "failed",
            "{turn:?}"
        );
    }
    service.assert_alive();
    service.finish();
}
