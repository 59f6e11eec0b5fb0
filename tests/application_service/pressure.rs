//! A client that does not read: activities are left out and counted, text is not (spec: "Bounds and privacy").
//! The numbers are checked where a turn's events are taken.

use serde_json::{Value, json};

use crate::client::{Service, launch, record, version_1};
use crate::support::{Place, wait_for};
use crate::turn::{Turn, playing};

/// How often the session's file says this.
fn recorded(place: &Place, word: &str) -> usize {
    let folder = place.session_file("x").parent().unwrap().to_owned();
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts.map(|text| text.matches(word).count()).sum()
}

#[test]
fn a_stalled_reader_loses_activities_and_no_text() {
    const CALLS: usize = 200;
    let mut steps = vec![json!({"text": "Before. "})];
    steps.extend(
        (0..CALLS).map(|i| json!({"tool": "read", "input": {"path": format!("canary-{i}")}})),
    );
    steps.push(json!({"text": "After.", "chunks": 3}));
    let place = playing(&Value::from(steps));
    let launch = launch().place(&place).stalled().stdout_capacity(4096);
    let mut service = Service::spawn(launch);
    service.server.send(record("i", "initialize", &version_1()));
    service
        .server
        .send(record("t", "turn.start", &json!({"prompt": "x"})));
    wait_for("the last call", || recorded(&place, "canary-199") > 0);

    service.server.start_reading();
    service.recv();
    let response = service.recv();
    let mut turn = Turn::accepted(None, &response);
    turn.finish(&mut service);
    assert_eq!(
        (turn.status(), turn.text()),
        ("completed", "Before. After.")
    );
    let dropped = turn.settled()["activity_dropped"].as_u64().unwrap() as usize;
    assert!(dropped > 0, "two for each of {CALLS} calls do not fit");
    assert_eq!(turn.settled()["replay_required"], json!(true));
    let tools = turn
        .activities()
        .iter()
        .filter(|activity| activity["kind"] == "tool")
        .count();
    assert!(
        tools < 2 * CALLS && tools + dropped >= 2 * CALLS,
        "{tools} and {dropped}"
    );
    service.assert_alive();
}

#[test]
fn a_slow_reader_gets_every_delta_of_a_long_turn() {
    let place = playing(&json!([{"text": "0123456789abcdef".repeat(1_000), "chunks": 2_000}]));
    let launch = launch().place(&place).stalled().stdout_capacity(4096);
    let mut service = Service::spawn(launch);
    service.server.send(record("i", "initialize", &version_1()));
    service
        .server
        .send(record("t", "turn.start", &json!({"prompt": "x"})));
    // The pipe is full, and so is what stands before it: the turn waits.
    let mut last = 0;
    let mut quiet = 0;
    wait_for("the pipe to fill", || {
        let now = service.server.unread();
        quiet = if now > 0 && now == last { quiet + 1 } else { 0 };
        last = now;
        quiet > 100
    });
    service.server.start_reading();
    service.recv();
    let response = service.recv();
    let mut turn = Turn::accepted(None, &response);
    turn.finish(&mut service);
    assert_eq!((turn.status(), turn.text().len()), ("completed", 16_000));
    assert_eq!(service.finish().code, Some(0));
}
