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

/// A client that neither reads nor leaves its requests unsent, and then is gone.
#[cfg(target_os = "linux")]
#[test]
fn hang_up_behind_unread_requests_ends_the_turn_and_the_service() {
    let steps = json!([{"tool": "bash", "input": {"command": "echo $$ > pid; exec sleep 1000"}}]);
    let place = playing(&steps);
    place.write_settings(&json!({
        "providers": {"fixture": {"script": place.root().join("script.json")}},
        "permissions": {"bash": "allow"},
    }));
    let launch = launch().place(&place).stalled().stdout_capacity(4096);
    let mut service = Service::spawn(launch);
    service.server.send(record("i", "initialize", &version_1()));
    service
        .server
        .send(record("t", "turn.start", &json!({"prompt": "x"})));
    let pid = || {
        std::fs::read_to_string(place.work().join("pid"))
            .ok()?
            .trim()
            .parse::<u32>()
            .ok()
    };
    wait_for("the command", || pid().is_some());
    let command = format!("/proc/{}", pid().unwrap());
    assert!(std::path::Path::new(&command).exists());
    // More answers than the pipe holds, so that requests are left unread.
    let requests: Vec<u8> = (0..400)
        .flat_map(|i| record(&format!("c{i}"), "capabilities", &json!({})))
        .collect();
    let _ = service.server.try_send(requests);
    service.server.close_stdin();
    let exit = service.server.wait_exit();
    assert_eq!(exit.code, Some(1), "{}", exit.stderr);
    assert!(
        !std::path::Path::new(&command).exists(),
        "the command lives on"
    );
}

/// A client that leaves while it still reads gets every answer: nothing of what it asked is dropped.
#[test]
fn hang_up_of_a_slow_reader_loses_no_answer() {
    let place = Place::new();
    let launch = launch().place(&place).stalled().stdout_capacity(4096);
    let mut service = Service::spawn(launch);
    service.server.send(record("i", "initialize", &version_1()));
    let requests: Vec<u8> = (0..60)
        .flat_map(|i| record(&format!("c{i}"), "capabilities", &json!({})))
        .collect();
    service.server.send(requests);
    service.server.close_stdin();
    wait_for("the pipe to fill", || service.server.unread() > 2_000);
    service.server.start_reading();
    assert_eq!(service.server.rest().len(), 61);
    assert_eq!(service.server.wait_exit().code, Some(0));
}
