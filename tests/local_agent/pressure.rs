//! Runs with much content and readers that lag: chunking, dropped deltas, deadlines, memory (spec:
//! "Bounds and failure policy", "Turns, approvals and events").

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Agent, assert_failed_silently, launch, request_line};
#[cfg(target_os = "linux")]
use crate::run::Run;
use crate::support::{Place, wait_for};
#[cfg(target_os = "linux")]
use crate::support::{read_some, try_read};
use std::sync::Arc;

const LATEST: Duration = Duration::from_secs(20);

fn place(steps: &Value) -> Arc<Place> {
    Place::with_script(&json!({"turns": [{"steps": steps}]}))
}

/// A stored session with about 60 KB of history and its id.
fn long_session() -> (Arc<Place>, String) {
    let place = place(&json!([{"repeat": 1000, "text": "0123456789abcdef"}]));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    for _ in 0..2 {
        assert_eq!(
            agent.turn(&session, &"p".repeat(16_000)).outcome(),
            "completed"
        );
    }
    agent.end();
    (place, session)
}

#[test]
fn turn_of_2000_deltas_is_reconciled_whole_and_linear() {
    let mut agent = Agent::scripted(&json!([{"repeat": 2000, "text": "x123456 "}]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let text = "x123456 ".repeat(2000);
    assert!(run.deltas().len() <= text.len());
    assert_eq!(run.reconciled(), [text]);
    let bytes: usize = run
        .events
        .iter()
        .map(|event| event.to_string().len() + 1)
        .sum();
    assert!(bytes <= 2000 * 450, "{bytes} bytes for 2000 deltas");
    agent.end();
}

#[test]
fn long_reply_is_reconciled_in_chunks_of_at_most_4000_bytes() {
    for unit in ["x", "\u{e9}", "\u{1f600}", "\"", "\n"] {
        let text = unit.repeat(100_000 / unit.len());
        let mut agent = Agent::scripted(&json!([{"text": text, "chunks": 7}]));
        let session = agent.create();
        let run = agent.turn(&session, "go");
        // `reconciled` and `deltas` check the chunk bound, the parts and the last-part flag.
        assert_eq!(run.reconciled(), [text], "{unit:?}");
        run.deltas();
        assert!(run.named("message.reconcile").len() >= 25);
        agent.end();
    }
}

#[test]
fn reply_above_8_mib_fails_with_content_limit() {
    let mut agent = Agent::scripted(&json!([{"repeat": 2200, "text": "y".repeat(4096)}]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "failed");
    assert_eq!(run.end()["error_code"], "content_limit");
    let kept: usize = run.reconciled().iter().map(String::len).sum();
    assert!(kept <= 8 << 20, "{kept} bytes");
    assert!(
        run.named("message.reconcile")
            .iter()
            .all(|data| data["partial"] == true)
    );
    assert_eq!(agent.ok("status", json!({}))["state"], "idle");
    agent.end();
}

#[test]
fn more_than_512_segments_fail_with_content_limit() {
    let steps: Vec<_> = (0..520)
        .flat_map(|n| {
            [
                json!({"text": format!("segment {n} ")}),
                json!({"tool": "list", "input": {}}),
            ]
        })
        .chain([json!({"text": "end"})])
        .collect();
    let mut agent = Agent::scripted(&json!(steps));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "failed");
    assert_eq!(run.end()["error_code"], "content_limit");
    assert!(run.reconciled().len() <= 512);
    agent.end();
}

#[cfg(target_os = "linux")]
#[test]
fn slow_reader_may_lose_deltas_but_gets_the_whole_text() {
    let place = place(&json!([{"repeat": 5000, "text": "0123456789"}]));
    let mut agent = Agent::spawn(launch().place(&place).stdout_capacity(4096).stalled());
    let mut stdout = agent.server.take_stdout();
    let session = create_by_hand(&agent, &mut stdout);
    let start = json!({"session_id": session, "prompt": "go"});
    agent.server.send(request_line("t", "turn.start", &start));
    // 4 KiB each 5 ms: fast enough for the deadline, far too slow for 5000 deltas.
    let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
    while !seen.windows(12).any(|window| window == b"run.finished") || seen.last() != Some(&b'\n') {
        std::thread::sleep(Duration::from_millis(5));
        let n = read_some(&mut stdout, &mut chunk);
        assert!(n > 0, "the child left a reader that was reading");
        seen.extend_from_slice(&chunk[..n]);
    }
    let events: Vec<Value> = seen
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice::<Value>(line).unwrap())
        .filter(|frame| frame["type"] == "event")
        .collect();
    let run = Run {
        run_id: events[0]["data"]["run_id"].as_str().unwrap().to_owned(),
        events,
    };
    assert_eq!(run.outcome(), "completed");
    assert_eq!(run.reconciled(), ["0123456789".repeat(5000)]);
    assert!(run.deltas().len() <= 50_000);
}

#[cfg(target_os = "linux")]
#[test]
fn stalled_reader_ends_a_streaming_child_within_the_deadline_and_3_mib() {
    for capacity in [None, Some(4096)] {
        // The first run warms the child up, so that what grows later is the stall's.
        let place = Place::with_script(&json!({"turns": [
            {"steps": [{"repeat": 100, "text": "0123456789"}]},
            {"steps": [{"repeat": 20_000, "text": "0123456789"}]}
        ]}));
        let mut launch = launch().place(&place).stalled();
        launch.stdout_capacity = capacity;
        let mut agent = Agent::spawn(launch);
        let mut stdout = agent.server.take_stdout();
        let session = create_by_hand(&agent, &mut stdout);
        let start = json!({"session_id": session, "prompt": "go"});
        ask_by_hand(&agent, &mut stdout, "turn.start", &start);
        while read_frame(&mut stdout)["event"] != "run.finished" {}
        let before = agent.server.rss_kib().unwrap();
        let started = Instant::now();
        agent
            .server
            .send(request_line("again", "turn.start", &start));
        // From here on nobody reads.
        let mut most = before;
        let exit = agent
            .server
            .wait_exit_while(|server| most = most.max(server.rss_kib().unwrap_or(0)));
        assert_failed_silently(&exit);
        let took = exit.at.duration_since(started);
        assert!(took <= LATEST, "{capacity:?}: exit after {took:?}");
        assert!(
            most <= before + 3 * 1024,
            "{capacity:?}: {before} KiB before, {most} KiB while stalled"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn partial_progress_does_not_extend_the_deadline() {
    let (place, session) = long_session();
    let mut agent = Agent::spawn(launch().place(&place).stdout_capacity(4096).stalled());
    let mut stdout = agent.server.take_stdout();
    let mut buffer = vec![0; 65_536];
    let revision = open_by_hand(&agent, &mut stdout, &session);
    let page = json!({"session_id": session, "revision": revision, "cursor": null});
    let asked = Instant::now();
    agent
        .server
        .send(request_line("page", "history.page", &page));
    // 4 KiB each 900 ms: the frame moves, and a page of 16 KB or more needs far longer than 2 s.
    let (mut last, mut read) = (Instant::now(), 0);
    let exit = agent.server.wait_exit_while(|_| {
        if last.elapsed() >= Duration::from_millis(900) {
            last = Instant::now();
            read += try_read(&mut stdout, &mut buffer[..4096]).unwrap_or(0);
        }
    });
    assert_failed_silently(&exit);
    let took = exit.at.duration_since(asked);
    assert!(read > 0, "no progress was made");
    assert!(
        took >= Duration::from_millis(1900) && took <= LATEST,
        "exit after {took:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn pipe_closed_inside_a_frame_ends_the_child() {
    let (place, session) = long_session();
    let mut agent = Agent::spawn(launch().place(&place).stdout_capacity(4096).stalled());
    let mut stdout = agent.server.take_stdout();
    let revision = open_by_hand(&agent, &mut stdout, &session);
    let page = json!({"session_id": session, "revision": revision, "cursor": null});
    agent
        .server
        .send(request_line("page", "history.page", &page));
    let mut some = [0; 1000];
    let n = read_some(&mut stdout, &mut some);
    assert!(n > 0 && !some[..n].contains(&b'\n'));
    drop(stdout);
    assert_failed_silently(&agent.server.wait_exit());
}

/// One frame from a stdout that the test reads itself.
#[cfg(target_os = "linux")]
fn read_frame(stdout: &mut std::io::PipeReader) -> Value {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while byte != *b"\n" {
        assert_eq!(read_some(stdout, &mut byte), 1, "stdout ended");
        line.push(byte[0]);
    }
    serde_json::from_slice(&line).unwrap()
}

#[cfg(target_os = "linux")]
fn ask_by_hand(
    agent: &Agent,
    stdout: &mut std::io::PipeReader,
    method: &str,
    params: &Value,
) -> Value {
    agent.server.send(request_line(method, method, params));
    let frame = read_frame(stdout);
    assert!(frame["result"].is_object(), "{frame}");
    frame["result"].clone()
}

/// Initializes and opens a session; returns the revision.
#[cfg(target_os = "linux")]
fn open_by_hand(agent: &Agent, stdout: &mut std::io::PipeReader, session: &str) -> String {
    ask_by_hand(
        agent,
        stdout,
        "initialize",
        &json!({"required_capabilities": []}),
    );
    let opened = ask_by_hand(
        agent,
        stdout,
        "session.open",
        &json!({"session_id": session}),
    );
    opened["revision"].as_str().unwrap().to_owned()
}

/// Initializes and creates a session; returns its id.
#[cfg(target_os = "linux")]
fn create_by_hand(agent: &Agent, stdout: &mut std::io::PipeReader) -> String {
    ask_by_hand(
        agent,
        stdout,
        "initialize",
        &json!({"required_capabilities": []}),
    );
    let created = ask_by_hand(agent, stdout, "session.create", &json!({}));
    created["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn closed_stdout_ends_a_child_in_a_run() {
    let place = place(&json!([{"text": "Half of "}, {"wait_ms": 60000}, {"text": "it."}]));
    let mut server = crate::support::Server::spawn(launch().place(&place).stalled());
    std::fs::create_dir_all(place.session_file("x").parent().unwrap()).unwrap();
    std::fs::write(place.session_file("closing"), "").unwrap();
    server.send(request_line(
        "1",
        "initialize",
        &json!({"required_capabilities": []}),
    ));
    wait_for("the initialization", || server.unread() > 0);
    let mut seen = server.unread();
    server.send(request_line(
        "2",
        "session.open",
        &json!({"session_id": "closing"}),
    ));
    wait_for("the session", || server.unread() > seen);
    seen = server.unread();
    server.send(request_line(
        "3",
        "turn.start",
        &json!({"session_id": "closing", "prompt": "go"}),
    ));
    wait_for("the run", || server.unread() > seen);
    let closed = Instant::now();
    drop(server.take_stdout());
    let exit = server.wait_exit();
    assert_failed_silently(&exit);
    assert!(exit.at.duration_since(closed) <= LATEST);
}

#[test]
fn requests_keep_being_answered_while_a_run_streams() {
    let mut agent = Agent::scripted(&json!([{"repeat": 2000, "text": "word ", "delay_ms": 1}]));
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    for _ in 0..200 {
        assert_eq!(
            agent.ok("status", json!({}))["session_id"],
            session.as_str()
        );
    }
    let run = agent.finish(run_id);
    assert_eq!(run.outcome(), "completed");
    assert_eq!(run.reconciled(), ["word ".repeat(2000)]);
    agent.end();
}
