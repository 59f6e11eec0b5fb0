//! `turn.start`, `turn.cancel` and how turns end (spec: "`turn.start`", "`turn.cancel`", "Turn completion and ordering").
//! Order and counts of every turn are checked where its events are taken.

use serde_json::{Value, json};

use crate::client::{Service, code, launch, record, request, version_1};
use crate::support::Place;
use crate::turn::{Turn, playing};

/// Says something, then waits until it is cancelled.
fn waiting() -> Value {
    json!([{"text": "So far."}, {"wait_ms": 600_000}, {"text": "Never said."}])
}

#[test]
fn a_turn_without_a_session_makes_a_durable_one() {
    let place = playing(&json!([{"text": "Hello, world.", "chunks": 4}]));
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "Say hello.");
    assert_eq!((turn.status(), turn.text()), ("completed", "Hello, world."));
    assert_eq!(turn.settled()["activity_dropped"], json!(0));
    assert_eq!(turn.settled()["replay_required"], json!(false));
    let deltas = turn
        .events
        .iter()
        .filter(|event| event["event"] == "turn.assistant_delta");
    assert!(deltas.count() >= 2, "it was streamed");
    let listed = service.ok("session.list", &json!({}));
    assert_eq!(listed["sessions"][0]["session_id"], json!(turn.session_id));
    assert_eq!(service.finish().code, Some(0));

    // Later processes may open it again.
    let mut later = Service::ready_in(&place);
    later.ok_on(&turn.session_id, "session.open", &json!({}));
    assert_eq!(
        later.hold(Some(&turn.session_id), "Again.").status(),
        "completed"
    );
}

#[test]
fn turns_of_one_session_go_on_from_each_other() {
    let script = json!({"turns": [
        {"steps": [{"text": "First."}]}, {"steps": [{"text": "Second."}]}, {"steps": [{"text": "Third."}]}
    ]});
    let place = Place::with_script(&script);
    let mut service = Service::ready_in(&place);
    let session = service.ok("session.create", &json!({}))["session_id"].clone();
    let session = session.as_str().unwrap();
    let mut ids = Vec::new();
    for expected in ["First.", "Second.", "Third."] {
        let turn = service.hold(Some(session), "Go on.");
        assert_eq!(turn.text(), expected);
        assert!(!ids.contains(&turn.turn_id), "a turn's own id");
        ids.push(turn.turn_id);
    }
}

#[test]
fn hooks_of_a_session_run_once_a_process() {
    let place = playing(&json!([{"text": "Done."}]));
    place.write_settings(&json!({
        "providers": {"fixture": {"script": place.root().join("script.json")}},
        "hooks": {"session_start": ["cat >> started"], "turn_start": ["cat >> turned"]},
    }));
    let lines = |name: &str| {
        let told = std::fs::read_to_string(place.work().join(name)).unwrap();
        told.lines().count()
    };
    let mut service = Service::ready_in(&place);
    // Each turn attaches the session anew; then it is attached for good, and let go between.
    let session = service.hold(None, "One.").session_id;
    for _ in 0..2 {
        service.hold(Some(&session), "Again.");
    }
    for _ in 0..2 {
        service.ok_on(&session, "session.open", &json!({}));
        service.hold(Some(&session), "Attached.");
        service.ok_on(&session, "session.close", &json!({}));
    }
    assert_eq!((lines("started"), lines("turned")), (1, 5));
    service.hold(None, "Another session.");
    assert_eq!((lines("started"), lines("turned")), (2, 6));
    service.finish();
    let mut later = Service::ready_in(&place);
    later.hold(Some(&session), "Another process.");
    assert_eq!((lines("started"), lines("turned")), (3, 7));
}

#[test]
fn prompts_and_options_are_strict() {
    let place = playing(&json!([{"text": "Yes."}]));
    let mut service = Service::ready_in(&place);
    for payload in [
        json!({}),
        json!({"prompt": null}),
        json!({"prompt": 5}),
        json!({"prompt": ""}),
        json!({"prompt": " \t\r\n\u{3000}"}),
        json!({"prompt": "x", "options": null}),
        json!({"prompt": "x", "options": []}),
        json!({"prompt": "x", "options": {"model": "m"}}),
        json!({"prompt": "x", "model": "m"}),
    ] {
        assert_eq!(
            service.code("turn.start", &payload),
            "invalid_payload",
            "{payload}"
        );
    }
    let over = json!({"prompt": "x".repeat(16_385)});
    assert_eq!(service.code("turn.start", &over), "limit_exceeded");
    service.assert_alive();
    let sessions = service.ok("session.list", &json!({}));
    assert_eq!(
        sessions["sessions"],
        json!([]),
        "a refused start makes no session"
    );

    assert_eq!(service.hold(None, &"é".repeat(8_192)).status(), "completed");
    // Left out, the options are empty.
    let response = service.call("turn.start", &json!({"prompt": "x"}));
    Turn::accepted(None, &response).finish(&mut service);
}

#[test]
fn a_turn_needs_a_session_that_can_be_had() {
    let mut service = Service::ready();
    let prompt = json!({"prompt": "x"});
    for unsafe_id in [
        "a.b",
        "a b",
        "../x",
        "a/b",
        "é",
        &"x".repeat(65),
        &"x".repeat(128),
    ] {
        assert_eq!(
            service.code_on(unsafe_id, "turn.start", &prompt),
            "invalid_session_id",
            "{unsafe_id}"
        );
    }
    assert_eq!(
        service.code_on("no-such-session", "turn.start", &prompt),
        "session_unavailable"
    );
    let over = service.call_unsafe_session("turn.start", &prompt);
    assert_eq!(
        code(&over),
        "invalid_request",
        "over 128 bytes the envelope refuses it"
    );
    service.assert_alive();
}

#[test]
fn only_one_turn_runs_in_a_session() {
    let place = playing(&waiting());
    let mut service = Service::ready_in(&place);
    let mut turn = service.begin(None, "x");
    turn.until(&mut service, "turn.assistant_delta");
    let prompt = json!({"prompt": "y"});
    assert_eq!(
        service.code_on(&turn.session_id, "turn.start", &prompt),
        "session_busy"
    );
    // Another session is another matter, and its events are its own.
    let mut other = service.begin(None, "z");
    other.until(&mut service, "turn.assistant_delta");
    assert_ne!(other.session_id, turn.session_id);
    for turn in [&mut turn, &mut other] {
        service.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
        turn.finish(&mut service);
        assert_eq!(turn.status(), "cancelled");
    }
    service.assert_alive();
}

#[test]
fn other_requests_are_answered_between_a_turn_s_events() {
    let place = playing(&waiting());
    let mut service = Service::ready_in(&place);
    let mut turn = service.begin(None, "x");
    turn.until(&mut service, "turn.assistant_delta");
    service.ok("status", &json!({}));
    // Repeating the initialization, or failing at it, resets nothing.
    service.initialize();
    let none = json!({"supported_protocol_versions": [2]});
    assert_eq!(service.code("initialize", &none), "unsupported_version");
    assert_eq!(
        service.code_on(&turn.session_id, "turn.start", &json!({"prompt": "y"})),
        "session_busy"
    );
    service.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut service);
    assert_eq!(turn.status(), "cancelled");
}

#[test]
fn cancelling_keeps_what_was_said() {
    let place = playing(&waiting());
    let mut service = Service::ready_in(&place);
    let mut turn = service.begin(None, "x");
    turn.until(&mut service, "turn.assistant_delta");
    let cancel = json!({"turn_id": turn.turn_id});
    let requested = service.ok("turn.cancel", &cancel);
    assert_eq!(requested, json!({"status": "cancellation_requested"}));
    turn.finish(&mut service);
    assert_eq!((turn.status(), turn.text()), ("cancelled", "So far."));
    // Already terminal, and nothing follows.
    assert_eq!(service.code("turn.cancel", &cancel), "unknown_turn");
    service.assert_alive();
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn cancelling_twice_is_one_cancellation() {
    let place = playing(&waiting());
    let mut service = Service::ready_in(&place);
    let mut turn = service.begin(None, "x");
    turn.until(&mut service, "turn.assistant_delta");
    let cancel = |id: &str| record(id, "turn.cancel", &json!({"turn_id": turn.turn_id}));
    service.server.send([cancel("c1"), cancel("c2")].concat());
    let first = service.recv();
    assert_eq!(first["payload"]["status"], "cancellation_requested");
    let second = service.recv();
    assert!(
        second["error"].is_null() || code(&second) == "unknown_turn",
        "{second}"
    );
    turn.finish(&mut service);
    assert_eq!(turn.status(), "cancelled");
    service.assert_alive();
}

#[test]
fn only_an_active_turn_can_be_cancelled() {
    let mut service = Service::ready();
    for payload in [
        json!({}),
        json!({"turn_id": null}),
        json!({"turn_id": 1}),
        json!({"turn_id": "t", "x": 1}),
    ] {
        assert_eq!(
            service.code("turn.cancel", &payload),
            "invalid_payload",
            "{payload}"
        );
    }
    for unknown in ["", "no-such-turn", &"x".repeat(128)] {
        assert_eq!(
            service.code("turn.cancel", &json!({"turn_id": unknown})),
            "unknown_turn"
        );
    }
    let over = json!({"turn_id": "x".repeat(129)});
    assert_eq!(service.code("turn.cancel", &over), "limit_exceeded");
}

#[test]
fn the_request_id_is_reserved_until_the_terminal_and_free_after_it() {
    let place = playing(&waiting());
    let mut service = Service::ready_in(&place);
    let mut turn = service.begin(None, "x");
    turn.until(&mut service, "turn.assistant_delta");
    for method in ["turn.start", "status", "no.such"] {
        let refused = service.exchange(&request(&turn.request_id, method, &json!({})));
        assert_eq!(code(&refused), "duplicate_request_id", "{method}");
    }
    service.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut service);
    let answer = service.exchange(&request(&turn.request_id, "status", &json!({})));
    assert_eq!(answer["error"], Value::Null);

    // Whoever has the terminal may use both, the id and the session, at once.
    place.write_script(&json!({"turns": [{"steps": [{"text": "Quick."}]}]}));
    let mut service = Service::ready_in(&place);
    for _ in 0..30 {
        let mut value = request("same", "turn.start", &json!({"prompt": "x"}));
        value["session_id"] = json!(turn.session_id);
        let response = service.exchange(&value);
        let mut next = Turn::accepted(Some(&turn.session_id), &response);
        next.finish(&mut service);
        assert_eq!(next.status(), "completed");
    }
}

#[test]
fn eof_cancels_a_turn_and_tells_its_end() {
    let place = playing(&waiting());
    let mut service = Service::ready_in(&place);
    let mut turn = service.begin(None, "x");
    turn.until(&mut service, "turn.assistant_delta");
    service.server.close_stdin();
    turn.finish(&mut service);
    assert_eq!((turn.status(), turn.text()), ("cancelled", "So far."));
    assert!(service.server.rest().is_empty());
    assert_eq!(service.server.wait_exit().code, Some(0));

    // It is recorded so, and the session is free.
    let mut later = Service::ready_in(&place);
    let page = later.ok_on(&turn.session_id, "session.replay", &json!({}));
    let shown: Vec<_> = page["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (&event["text"], &event["status"]))
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("x"), &Value::Null),
            (&json!("So far."), &Value::Null),
            (&Value::Null, &json!("cancelled"))
        ]
    );
    later.ok_on(&turn.session_id, "session.open", &json!({}));
}

#[test]
fn eof_right_behind_a_start_still_answers_and_ends_it() {
    let place = playing(&waiting());
    let mut service = Service::spawn(launch().place(&place));
    let mut bytes = record("i", "initialize", &version_1());
    bytes.extend(record("t", "turn.start", &json!({"prompt": "x"})));
    service.server.send(bytes);
    service.server.close_stdin();
    service.recv();
    let response = service.recv();
    let mut turn = Turn::accepted(None, &response);
    turn.finish(&mut service);
    assert_eq!(turn.status(), "cancelled");
    assert!(service.server.rest().is_empty());
    assert_eq!(service.server.wait_exit().code, Some(0));
}

#[test]
fn a_reply_that_is_too_long_fails_and_keeps_what_fits() {
    let place = playing(
        &json!([{"repeat": 300, "text": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n"}]),
    );
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    assert_eq!(turn.status(), "failed");
    let text = turn.text();
    assert!(
        text.len() <= 16_384 && text.len() > 8_192,
        "{} bytes",
        text.len()
    );
    assert!(text.starts_with("0123456789abcdef"));
    // What the client has is what is recorded.
    let page = service.ok_on(&turn.session_id, "session.replay", &json!({}));
    let said: String = page["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["role"] == "assistant")
        .filter_map(|event| event["text"].as_str())
        .collect();
    assert!(
        said.starts_with(text) || text.starts_with(&said),
        "one is the other's beginning"
    );
}

#[test]
fn a_reply_of_escapes_fits_its_record() {
    // Each of these takes two bytes of JSON, and six as a control character would.
    for (text, count) in [("\"", 16_000_u32), ("\u{1}", 16_000), ("\n", 16_000)] {
        let place = playing(&json!([{"repeat": count, "text": text}]));
        let mut service = Service::ready_in(&place);
        let turn = service.hold(None, "x");
        assert!(["completed", "failed"].contains(&turn.status()));
        service.assert_alive();
    }
}

#[test]
fn a_failing_provider_fails_the_turn_and_keeps_what_was_said() {
    for error in ["unauthorized", "malformed"] {
        let place = playing(&json!([{"text": "Begun, "}, {"error": error}]));
        let mut service = Service::ready_in(&place);
        let turn = service.hold(None, "x");
        assert_eq!(
            (turn.status(), turn.text()),
            ("failed", "Begun, "),
            "{error}"
        );
        // Another turn of it is possible.
        service.ok_on(&turn.session_id, "session.open", &json!({}));
        assert_eq!(service.hold(Some(&turn.session_id), "x").status(), "failed");
    }
}

#[test]
fn each_turn_reads_the_settings_anew_and_a_running_one_keeps_its_own() {
    let place = playing(&json!([{"text": "Said."}, {"wait_ms": 600_000}]));
    let mut service = Service::ready_in(&place);
    let mut running = service.begin(None, "x");
    running.until(&mut service, "turn.assistant_delta");
    let mut settings: Value =
        serde_json::from_slice(&std::fs::read(place.mc_home().join("settings.json")).unwrap())
            .unwrap();
    settings["provider"] = json!("nowhere");
    place.write_settings(&settings);
    // Admission is one thing, a provider another.
    let refused = service.hold(None, "y");
    assert_eq!((refused.status(), refused.text()), ("failed", ""));
    assert_eq!(
        service.ok("status", &json!({}))["provider_auth_ready"],
        json!(false)
    );
    settings["provider"] = json!("fixture");
    place.write_settings(&settings);
    let mut next = service.begin(None, "z");
    next.until(&mut service, "turn.assistant_delta");
    for turn in [&mut running, &mut next] {
        service.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
        turn.finish(&mut service);
        assert_eq!((turn.status(), turn.text()), ("cancelled", "Said."));
    }
}

#[test]
fn sixteen_turns_may_be_active() {
    let place = playing(&waiting());
    let mut service = Service::ready_in(&place);
    let mut turns: Vec<Turn> = (0..16).map(|_| service.begin(None, "x")).collect();
    let prompt = json!({"prompt": "x"});
    assert_eq!(service.code("turn.start", &prompt), "too_many_active_turns");
    let cancels: Vec<u8> = turns
        .iter()
        .enumerate()
        .flat_map(|(i, turn)| {
            record(
                &format!("c{i}"),
                "turn.cancel",
                &json!({"turn_id": turn.turn_id}),
            )
        })
        .collect();
    service.server.send(cancels);
    for _ in 0..16 {
        assert_eq!(service.recv()["error"], Value::Null);
    }
    // Events of several turns interleave; each keeps its own order.
    while turns.iter().any(|turn| turn.terminal.is_none()) {
        let event = service.event();
        let turn = turns
            .iter_mut()
            .find(|turn| event["request_id"] == turn.request_id);
        turn.expect("a turn of ours").take(event);
    }
    assert!(turns.iter().all(|turn| turn.status() == "cancelled"));
    assert_eq!(service.hold_and_cancel("x").status(), "cancelled");
}

impl Service {
    /// A request whose session identity is over the envelope's bound.
    fn call_unsafe_session(&mut self, method: &str, payload: &Value) -> Value {
        let mut value = request("over", method, payload);
        value["session_id"] = json!("x".repeat(129));
        self.exchange(&value)
    }

    fn hold_and_cancel(&mut self, prompt: &str) -> Turn {
        let mut turn = self.begin(None, prompt);
        self.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
        turn.finish(self);
        turn
    }
}

#[test]
fn a_prompt_is_on_the_disk_when_its_turn_is_said_to_have_started() {
    let place = playing(&json!([{"text": "Yes."}]));
    for round in 0..40 {
        let mut service = Service::ready_in(&place);
        let id = service.ok("session.create", &json!({}))["session_id"].clone();
        let id = id.as_str().unwrap();
        let prompt = format!("the prompt of round {round}");
        let mut turn = service.begin(Some(id), &prompt);
        turn.until(&mut service, "turn.started");
        service.server.signal(rustix::process::Signal::KILL);
        service.server.wait_exit();
        let text = std::fs::read_to_string(place.session_file(id)).unwrap();
        assert!(text.contains(&prompt), "round {round}: {text}");
    }
}
