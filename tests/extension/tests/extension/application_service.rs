//! thirdparty.echo over application-service: negotiated, dispatched, its events in order, strict bounds.
//! Every exchange goes over real pipes; other dialects have their own modules.

use super::*;

fn request(id: &str, method: &str, payload: &Value) -> Value {
    json!({"protocol_version": 1, "kind": "request", "request_id": id, "method": method, "payload": payload})
}

fn call(server: &mut Server, id: &str, method: &str, payload: &Value) -> Value {
    server.send_json(&request(id, method, payload));
    let record = server.recv();
    assert_eq!(
        (&record["kind"], &record["request_id"]),
        (&json!("response"), &json!(id)),
        "{record}"
    );
    record
}

fn code(server: &mut Server, id: &str, payload: &Value) -> Value {
    call(server, id, METHOD, payload)["error"]["code"].clone()
}

fn versions(requested: &[&str]) -> Value {
    json!({"supported_protocol_versions": [1], "requested_capabilities": requested})
}

fn ready() -> Server {
    let mut server = extended(APPLICATION_SERVICE);
    let record = call(&mut server, "init", "initialize", &versions(&[METHOD]));
    assert_eq!(record["error"], Value::Null, "{record}");
    server
}

fn finish(mut server: Server) {
    server.close_stdin();
    assert!(server.rest().is_empty());
    assert_eq!(server.wait_exit().code, Some(0));
}

#[test]
fn the_operation_is_advertised_and_negotiated() {
    let mut server = extended(APPLICATION_SERVICE);
    let refused = call(
        &mut server,
        "a",
        "initialize",
        &versions(&[METHOD, "thirdparty.other"]),
    );
    assert_eq!(refused["error"]["code"], "unsupported_capability");
    let early = code(&mut server, "b", &json!({"text": "x"}));
    assert_eq!(early, "not_initialized");

    let accepted = call(&mut server, "c", "initialize", &versions(&[METHOD]));
    let initialized = &accepted["payload"]["capabilities"];
    let discovered = call(&mut server, "d", "capabilities", &json!({}));
    for capabilities in [initialized, &discovered["payload"]] {
        let operations = list(&capabilities["operations"]);
        // Its position is before all of ours, but nothing precedes what opens a connection.
        assert!(operations.starts_with(&["initialize", METHOD]));
        assert!(operations.ends_with(&["thirdparty.hold", "thirdparty.chore"]));
        assert_eq!(operations, registry().methods(APPLICATION_SERVICE));
        assert_eq!(
            list(&capabilities["events"]),
            registry().event_names(APPLICATION_SERVICE)
        );
        assert!(list(&capabilities["events"]).contains(&EVENT));
    }
    finish(server);
}

#[test]
fn an_id_in_flight_is_refused_before_anything_else_and_stays_reserved() {
    let mut server = ready();
    let held = request("h", "thirdparty.hold", &json!({}));
    server.send_json(&held);
    let mut surplus = request("h", "status", &json!({}));
    surplus["surplus"] = json!(1);
    let mut other_version = request("h", "status", &json!({}));
    other_version["protocol_version"] = json!(2);
    let mut bad_method = request("h", "no such method", &json!({}));
    bad_method["session_id"] = json!("s-1");
    let over = request("h", "status", &json!({"a": vec![0; 65]}));
    for record in [
        &held,
        &request("h", "status", &json!({})),
        &request("h", "no.such", &json!({})),
        &surplus,
        &other_version,
        &over,
    ] {
        server.send_json(record);
        let refused = server.recv();
        assert_eq!(refused["error"]["code"], "duplicate_request_id", "{record}");
        assert_eq!(
            (&refused["request_id"], &refused["payload"]),
            (&json!("h"), &Value::Null)
        );
        assert_eq!(refused["method"], record["method"]);
    }
    // Identity fields that are safe by themselves are kept, others are null.
    server.send_json(&bad_method);
    let refused = server.recv();
    assert_eq!(refused["error"]["code"], "duplicate_request_id");
    assert_eq!(
        (&refused["method"], &refused["session_id"]),
        (&Value::Null, &json!("s-1"))
    );
    // The reservation was left alone, others are free, and the one answer comes at the end.
    assert_eq!(
        call(&mut server, "free", "status", &json!({}))["error"],
        Value::Null
    );
    server.close_stdin();
    let answer = server.recv();
    assert_eq!(
        (&answer["request_id"], &answer["payload"]),
        (&json!("h"), &json!({"released": true}))
    );
    assert!(server.rest().is_empty());
    assert_eq!(server.wait_exit().code, Some(0));
}

#[test]
fn the_answer_precedes_the_events_in_order() {
    let mut server = ready();
    let (payload, answer) = example(APPLICATION_SERVICE, METHOD);
    let record = call(&mut server, "echo", METHOD, &payload);
    assert_eq!(
        (&record["payload"], &record["method"]),
        (&answer, &json!(METHOD))
    );
    for part in 1..=2 {
        let record = server.recv();
        assert_eq!(
            (&record["kind"], &record["event"]),
            (&json!("event"), &json!(EVENT))
        );
        assert_eq!(record["request_id"], "echo");
        assert_eq!(record["payload"], json!({"part": part, "bytes": 2}));
    }
    finish(server);
}

#[test]
fn an_answer_over_a_bound_stops_the_service_and_nothing_replaces_it() {
    let mut server = ready();
    let longest = "x".repeat(TEXT_BYTES);
    // Two are the string bound of 16384 bytes exactly.
    let fits = call(
        &mut server,
        "fits",
        METHOD,
        &json!({"text": longest, "repeat": 2}),
    );
    assert_eq!(
        fits["payload"]["text"].as_str().map(str::len),
        Some(2 * TEXT_BYTES)
    );
    assert_eq!(
        [
            &server.recv()["payload"]["part"],
            &server.recv()["payload"]["part"]
        ],
        [1, 2]
    );

    server.send_json(&request(
        "over",
        METHOD,
        &json!({"text": longest, "repeat": 3}),
    ));
    assert!(server.rest().is_empty(), "nothing is written for it");
    let exit = server.wait_exit();
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.contains("protocol limit"), "{}", exit.stderr);
    assert!(!exit.stderr.contains("xxxx"), "diagnostics echo nothing");
}

#[test]
fn params_out_of_type_or_range_are_refused() {
    let mut server = ready();
    let strings =
        |bytes: usize, count: usize| json!({"text": "x", "more": vec!["x".repeat(bytes); count]});
    for (id, payload, expected) in [
        ("1", json!({}), "invalid_payload"),
        ("2", json!({"text": 5}), "invalid_payload"),
        ("3", json!({"text": "x", "more": 1}), "invalid_payload"),
        ("4", json!({"text": "x", "repeat": 17}), "invalid_payload"),
        (
            "5",
            json!({"text": "x".repeat(TEXT_BYTES + 1)}),
            "limit_exceeded",
        ),
        ("6", json!({"text": "x".repeat(16_385)}), "limit_exceeded"),
        ("7", strings(16_000, 3), "payload_too_large"),
    ] {
        assert_eq!(code(&mut server, id, &payload), expected, "{id}");
    }
    let record = request("8", METHOD, &strings(16_000, 5));
    server.send_json(&record);
    let refused = server.recv();
    assert_eq!(
        (&refused["request_id"], &refused["error"]["code"]),
        (&Value::Null, &json!("record_too_large"))
    );
    // The loop goes on behind it.
    assert_eq!(code(&mut server, "9", &json!({})), "invalid_payload");
    finish(server);
}

#[test]
fn an_exclusive_operation_holds_back_the_next_record_and_the_end_of_input_but_no_event() {
    let mut server = ready();
    let records = [
        request("first", "thirdparty.chore", &json!({"steps": 16})),
        request("between", "status", &json!({})),
        request("first", "thirdparty.chore", &json!({"steps": 2})),
    ];
    let lines: Vec<String> = records.iter().map(|record| format!("{record}\n")).collect();
    server.send(lines.concat());
    server.close_stdin();
    let all: Vec<Value> = server.rest().iter().map(|line| line.json()).collect();
    let (events, answers): (Vec<_>, Vec<_>) =
        all.iter().partition(|record| record["kind"] == "event");
    // One after another, whatever came meanwhile; the identity is free again, and nothing was busy.
    let answered: Vec<_> = answers
        .iter()
        .map(|record| (&record["request_id"], &record["error"]))
        .collect();
    let ok = |id| (id, &Value::Null);
    let (first, between) = (json!("first"), json!("between"));
    assert_eq!(answered, [ok(&first), ok(&between), ok(&first)]);
    assert_eq!(
        (&answers[0]["payload"], &answers[2]["payload"]),
        (&json!({"steps": 16}), &json!({"steps": 2}))
    );
    let parts: Vec<_> = events
        .iter()
        .filter_map(|record| record["payload"]["part"].as_u64())
        .collect();
    assert_eq!(parts, (1..=16).chain(1..=2).collect::<Vec<_>>());
    // All but the last had to be taken before the operation could end.
    let before = all.iter().position(|record| record["kind"] == "response");
    assert!(before >= Some(15), "{before:?}");
    assert_eq!(server.wait_exit().code, Some(0));
}
