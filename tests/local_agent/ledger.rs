//! Identities over a child's lifetime: reuse, the 4096-id limit, one answer for each request
//! (spec: "Frames, correlation and compatibility"). Grammar is tested in envelope.rs.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::client::{Agent, assert_clean, request_line};

const LEDGER: usize = 4096;
/// Requests in flight at once; the caller must bound them.
const WINDOW: usize = 16;

fn refused(id: impl Into<Value>, code: &str) -> (Value, String) {
    (id.into(), code.to_owned())
}

/// Sends the lines a window at a time and checks that answer after answer is the expected one.
fn exchange(agent: &mut Agent, lines: &[String], expected: impl Fn(usize) -> (Value, String)) {
    for (block, chunk) in lines.chunks(WINDOW).enumerate() {
        agent.server.send(chunk.concat());
        for n in 0..chunk.len() {
            assert_eq!(agent.next_refusal(), expected(block * WINDOW + n));
        }
    }
}

fn statuses(range: std::ops::Range<usize>) -> Vec<String> {
    range
        .map(|n| request_line(&format!("n{n}"), "status", &json!({})))
        .collect()
}

#[test]
fn duplicate_id_of_an_answered_request() {
    let mut agent = Agent::start();
    let line = request_line("same", "status", &json!({}));
    assert_eq!(
        agent.refusal(line.clone()),
        refused("same", "not_initialized")
    );
    assert_eq!(agent.refusal(line.clone()), refused("same", "duplicate_id"));
    assert_eq!(agent.refusal(line), refused("same", "duplicate_id"));
    agent.end();
}

#[test]
fn rejected_well_formed_requests_use_up_their_id() {
    let mut agent = Agent::start();
    assert_eq!(
        agent.refusal(request_line("a", "nope", &json!({}))),
        refused("a", "unsupported_method")
    );
    assert_eq!(
        agent.refusal(request_line("b", "status", &json!({"x": 1}))),
        refused("b", "invalid_params")
    );
    assert_eq!(
        agent.refusal(request_line("c", "status", &json!({}))),
        refused("c", "not_initialized")
    );
    let capability = json!({"required_capabilities": ["time.travel"]});
    assert_eq!(
        agent.refusal(request_line("d", "initialize", &capability)),
        refused("d", "unsupported_capability")
    );
    for id in ["a", "b", "c", "d"] {
        assert_eq!(
            agent.refusal(request_line(id, "status", &json!({}))),
            refused(id, "duplicate_id")
        );
    }
    agent.end();
}

#[test]
fn duplicate_id_never_executes() {
    let mut agent = Agent::start();
    assert_eq!(
        agent.refusal(request_line("x", "status", &json!({}))),
        refused("x", "not_initialized")
    );
    let params = json!({"required_capabilities": []});
    assert_eq!(
        agent.refusal(request_line("x", "initialize", &params)),
        refused("x", "duplicate_id")
    );
    assert_eq!(
        agent.refusal(request_line("x", "shutdown", &json!({}))),
        refused("x", "duplicate_id")
    );
    assert_eq!(agent.err("status", json!({})), "not_initialized");
    assert!(!agent.server.place.mc_home().exists());
    agent.end();
}

#[test]
fn duplicate_of_a_live_request_is_refused() {
    let mut agent = Agent::start();
    let params = json!({"required_capabilities": []});
    let line = request_line("live", "initialize", &params);
    agent.server.send(line.clone() + &line);
    let (first, second) = (agent.frame(), agent.frame());
    let answers = [&first, &second];
    assert!(answers.iter().all(|frame| frame["id"] == "live"));
    assert_eq!(
        answers
            .iter()
            .filter(|frame| frame["error"]["code"] == "duplicate_id")
            .count(),
        1
    );
    assert_eq!(
        answers
            .iter()
            .filter(|frame| frame["result"]["status"]["readiness"] == "ready")
            .count(),
        1
    );
    agent.end();
}

#[test]
fn ids_are_compared_exactly() {
    let mut agent = Agent::start();
    for id in ["a", "A", "a.", "aa", "0", "00"] {
        assert_eq!(
            agent.refusal(request_line(id, "status", &json!({}))),
            refused(id, "not_initialized")
        );
    }
    agent.end();
}

#[test]
fn a_new_child_starts_with_an_empty_ledger() {
    for _ in 0..2 {
        let mut agent = Agent::start();
        assert_eq!(
            agent.refusal(request_line("r1", "status", &json!({}))),
            refused("r1", "not_initialized")
        );
        agent.end();
    }
}

#[test]
fn request_4097_is_request_limit_and_closes() {
    let mut agent = Agent::start();
    exchange(&mut agent, &statuses(0..LEDGER), |n| {
        refused(format!("n{n}"), "not_initialized")
    });
    // A known id is still a duplicate when the ledger is full, and closes nothing.
    assert_eq!(
        agent.refusal(request_line("n0", "status", &json!({}))),
        refused("n0", "duplicate_id")
    );
    let text =
        request_line("one-more", "status", &json!({})) + &request_line("n1", "status", &json!({}));
    assert_eq!(agent.refusal(text), refused("one-more", "request_limit"));
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn rejected_well_formed_requests_count_toward_the_limit() {
    let mut agent = Agent::start();
    let kinds = ["unsupported_method", "invalid_params", "not_initialized"];
    let lines: Vec<String> = (0..LEDGER)
        .map(|n| match n % 3 {
            0 => request_line(&format!("n{n}"), "nope", &json!({})),
            1 => request_line(&format!("n{n}"), "shutdown", &json!({"x": 1})),
            _ => request_line(&format!("n{n}"), "status", &json!({})),
        })
        .collect();
    exchange(&mut agent, &lines, |n| {
        refused(format!("n{n}"), kinds[n % 3])
    });
    assert_eq!(
        agent.refusal(request_line("last", "shutdown", &json!({}))),
        refused("last", "request_limit")
    );
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn malformed_requests_and_duplicates_do_not_count_toward_the_limit() {
    let mut agent = Agent::start();
    let malformed = vec!["{\"id\":\"m\"}\n".to_owned(); LEDGER + 100];
    exchange(&mut agent, &malformed, |_| refused("m", "invalid_request"));
    assert_eq!(
        agent.refusal(request_line("m", "status", &json!({}))),
        refused("m", "not_initialized")
    );
    let duplicates = vec![request_line("m", "status", &json!({})); LEDGER + 100];
    exchange(&mut agent, &duplicates, |_| refused("m", "duplicate_id"));
    assert_eq!(agent.err("status", json!({})), "not_initialized");
    agent.end();
}

#[test]
fn all_3000_pipelined_requests_are_answered_once() {
    let mut agent = Agent::start();
    agent.initialize();
    // One write, no waiting: the reader thread takes the answers meanwhile.
    agent.server.send(statuses(0..3000).concat());
    let mut answers = HashMap::<String, usize>::new();
    for _ in 0..3000 {
        let frame = agent.frame();
        assert_eq!(frame["result"]["readiness"], "ready", "{frame}");
        *answers
            .entry(frame["id"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    assert_eq!(answers.len(), 3000);
    assert!(answers.values().all(|count| *count == 1));
    agent.server.close_stdin();
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn memory_stays_flat_over_4096_requests() {
    let mut agent = Agent::start();
    agent.initialize();
    let ask = |agent: &mut Agent, range| {
        for chunk in statuses(range).chunks(WINDOW) {
            agent.server.send(chunk.concat());
            for _ in chunk {
                assert_eq!(agent.frame()["result"]["state"], "idle");
            }
        }
    };
    ask(&mut agent, 0..512);
    let before = agent.server.rss_kib();
    ask(&mut agent, 512..LEDGER - 1);
    let after = agent.server.rss_kib();
    // 3,583 retained ids of at most 64 bytes each, and the ledger's own table.
    if let (Some(before), Some(after)) = (before, after) {
        assert!(
            after <= before + 2048,
            "{before} KiB before, {after} KiB after"
        );
    }
    agent.end();
}
