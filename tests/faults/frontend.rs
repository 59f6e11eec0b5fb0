//! Frontends that stop reading in a turn of 2,000 deltas, or read slowly: deadlines, memory, and what the
//! session holds afterwards. Deadlines without a turn are in local_agent/output.rs.

use std::io::PipeReader;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Agent, assert_failed_silently, launch, request_line};
use crate::driver::{Driver, Kind};
use crate::local_agent::LocalAgent;
use crate::run::Run;
use crate::support::{Place, read_some};

const PIECE: &str = "0123456789abcdef ";
const DELTAS: usize = 2000;
/// Two seconds of output deadline, two of cleanup, and a busy machine.
const LATEST: Duration = Duration::from_secs(20);
/// Memory that a stall may cost, in KiB: 32 frames of 64 KiB, as many events, and slack.
const MOST_KIB: u64 = 4 * 1024;

fn place() -> Arc<Place> {
    Place::with_script(&json!({"turns": [
        {"steps": [{"repeat": 100, "text": PIECE}]},
        {"steps": [{"repeat": DELTAS, "text": PIECE}]},
        {"steps": [{"text": "Whole."}]}
    ]}))
}

/// Reads one frame of a stdout that has no reading thread.
fn frame(stdout: &mut PipeReader) -> Value {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while byte != *b"\n" {
        assert_eq!(read_some(stdout, &mut byte), 1, "stdout ended");
        line.push(byte[0]);
    }
    serde_json::from_slice(&line).unwrap()
}

fn ask(agent: &mut Agent, stdout: &mut PipeReader, method: &str, params: &Value) -> Value {
    let id = agent.fresh_id();
    agent.server.send(request_line(&id, method, params));
    let answer = frame(stdout);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// A child of whose stdout nobody reads but this test, after one short turn that warmed it up.
fn unread(place: &Arc<Place>, capacity: Option<usize>) -> (Agent, PipeReader, String) {
    let mut launch = launch().place(place).stalled();
    launch.stdout_capacity = capacity;
    let mut agent = Agent::spawn(launch);
    let mut stdout = agent.server.take_stdout();
    let none = json!({"required_capabilities": []});
    ask(&mut agent, &mut stdout, "initialize", &none);
    let created = ask(&mut agent, &mut stdout, "session.create", &json!({}));
    let session = created["session_id"].as_str().unwrap().to_owned();
    let start = json!({"session_id": session, "prompt": "warm up"});
    ask(&mut agent, &mut stdout, "turn.start", &start);
    while frame(&mut stdout)["event"] != "run.finished" {}
    (agent, stdout, session)
}

/// The session in a new child: its history holds what the stalled frontend never saw.
fn assert_goes_on(place: &Arc<Place>, session: &str, prompts: &[&str]) {
    let mut driver = LocalAgent::ready(place);
    let history = driver.open(session).expect("the session opens");
    assert_eq!(history.texts(Kind::User), prompts);
    let said = history.texts(Kind::Assistant);
    let [first, second] = said[..] else {
        panic!("what was accepted before the stall is lost: {}", said.len());
    };
    assert_eq!(first, PIECE.repeat(100));
    assert!(!second.is_empty() && PIECE.repeat(DELTAS).starts_with(second));
    let run = driver.0.turn(session, "and on");
    assert_eq!(
        (run.outcome(), &run.end()["persistence"]),
        ("completed", &json!("durable"))
    );
    driver.end();
}

#[test]
fn frontend_that_stops_reading_ends_the_child_within_deadline_and_memory() {
    for capacity in [None, Some(4096)] {
        let place = place();
        let (mut agent, _stdout, session) = unread(&place, capacity);
        let before = agent.server.rss_kib();
        let started = Instant::now();
        let start = json!({"session_id": session, "prompt": "go"});
        agent.server.send(request_line("t", "turn.start", &start));
        let mut most = before;
        let exit = agent
            .server
            .wait_exit_while(|server| most = most.max(server.rss_kib()));
        assert_failed_silently(&exit);
        let took = exit.at.duration_since(started);
        assert!(took <= LATEST, "{capacity:?}: exit after {took:?}");
        if let (Some(before), Some(most)) = (before, most) {
            assert!(
                most <= before + MOST_KIB,
                "{capacity:?}: {before} KiB before, {most} KiB while nobody read"
            );
        }
        assert_goes_on(&place, &session, &["warm up", "go"]);
    }
}

#[test]
fn frontend_that_reads_half_and_stops_ends_the_child_too() {
    let place = place();
    let (mut agent, mut stdout, session) = unread(&place, Some(4096));
    let start = json!({"session_id": session, "prompt": "go"});
    ask(&mut agent, &mut stdout, "turn.start", &start);
    while frame(&mut stdout)["event"] != "message.delta" {}
    let stopped = Instant::now();
    let exit = agent.server.wait_exit();
    assert_failed_silently(&exit);
    assert!(exit.at.duration_since(stopped) <= LATEST);
    assert_goes_on(&place, &session, &["warm up", "go"]);
}

#[test]
fn frontend_that_goes_away_in_a_turn_leaves_a_session_that_opens() {
    let place = place();
    let (mut agent, mut stdout, session) = unread(&place, Some(4096));
    let start = json!({"session_id": session, "prompt": "go"});
    ask(&mut agent, &mut stdout, "turn.start", &start);
    while frame(&mut stdout)["event"] != "message.delta" {}
    drop(stdout);
    assert_failed_silently(&agent.server.wait_exit());
    assert_goes_on(&place, &session, &["warm up", "go"]);
}

#[test]
fn slow_frontend_gets_everything_authoritative() {
    let place = place();
    let (agent, mut stdout, session) = unread(&place, Some(4096));
    let start = json!({"session_id": session, "prompt": "go"});
    agent.server.send(request_line("t", "turn.start", &start));
    // A page each few milliseconds: enough for the deadline, too slow for each delta.
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let n = read_some(&mut stdout, &mut chunk);
        assert!(n > 0, "the child left a frontend that was reading");
        bytes.extend_from_slice(&chunk[..n]);
        let tail = bytes.len().saturating_sub(4096 + 64);
        let ended = bytes[tail..]
            .windows(12)
            .any(|window| window == b"run.finished");
        if ended && bytes.last() == Some(&b'\n') {
            break;
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    let events: Vec<Value> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice::<Value>(line).unwrap())
        .filter(|frame| frame["type"] == "event")
        .collect();
    let run = Run {
        run_id: events[0]["data"]["run_id"].as_str().unwrap().to_owned(),
        events,
    };
    let whole = PIECE.repeat(DELTAS);
    assert_eq!(run.outcome(), "completed");
    assert_eq!(run.end()["persistence"], "durable");
    assert_eq!(run.reconciled(), [whole.as_str()]);
    // What got through of the deltas is of the text, in order; parts tell where it is not whole.
    assert!(run.deltas().len() <= whole.len());
    assert_eq!(run.named("input.persisted").len(), 1);
}
