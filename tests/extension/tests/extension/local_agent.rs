//! thirdparty.echo over local-agent: negotiated, dispatched, its events in order, bounded by the frame.
//! Every exchange goes over real pipes; other dialects have their own modules.

use super::*;

fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({"protocol": "magi-code.local-agent", "version": 1, "id": id, "method": method, "params": params})
}

fn call(server: &mut Server, id: &str, method: &str, params: &Value) -> Value {
    server.send_json(&request(id, method, params));
    let frame = server.recv();
    assert_eq!(
        (&frame["type"], &frame["id"]),
        (&json!("response"), &json!(id)),
        "{frame}"
    );
    frame
}

fn code(server: &mut Server, id: &str, params: &Value) -> Value {
    call(server, id, METHOD, params)["error"]["code"].clone()
}

fn ready() -> Server {
    let mut server = extended(LOCAL_AGENT);
    let frame = call(
        &mut server,
        "init",
        "initialize",
        &json!({"required_capabilities": [METHOD]}),
    );
    assert!(frame["result"].is_object(), "{frame}");
    server
}

fn finish(mut server: Server) {
    server.close_stdin();
    assert!(server.rest().is_empty());
    assert_eq!(server.wait_exit().code, Some(0));
}

#[test]
fn the_operation_is_advertised_and_negotiated() {
    let mut server = extended(LOCAL_AGENT);
    let refused = call(
        &mut server,
        "a",
        "initialize",
        &json!({"required_capabilities": [METHOD, "thirdparty.other"]}),
    );
    assert_eq!(refused["error"]["code"], "unsupported_capability");
    let early = code(&mut server, "b", &json!({"text": "x"}));
    assert_eq!(early, "not_initialized");

    let accepted = call(
        &mut server,
        "c",
        "initialize",
        &json!({"required_capabilities": [METHOD]}),
    );
    let capabilities = list(&accepted["result"]["capabilities"]);
    // Ours come first: the position says where a method stands.
    assert_eq!(capabilities.last(), Some(&METHOD));
    assert_eq!(
        capabilities.iter().filter(|name| **name == METHOD).count(),
        1
    );
    assert_eq!(capabilities, registry().methods(LOCAL_AGENT));
    finish(server);
}

#[test]
fn the_answer_precedes_the_events_in_order() {
    let mut server = ready();
    let (params, answer) = example(LOCAL_AGENT, METHOD);
    assert_eq!(call(&mut server, "echo", METHOD, &params)["result"], answer);
    for part in 1..=2 {
        let frame = server.recv();
        assert_eq!(
            (&frame["type"], &frame["event"]),
            (&json!("event"), &json!(EVENT))
        );
        assert_eq!(frame["data"], json!({"part": part, "bytes": 2}));
    }
    assert_eq!(code(&mut server, "echo", &params), "duplicate_id");
    finish(server);
}

#[test]
fn an_answer_over_the_frame_is_content_limit_without_events() {
    let mut server = ready();
    let longest = "x".repeat(TEXT_BYTES);
    let fits = call(
        &mut server,
        "fits",
        METHOD,
        &json!({"text": longest, "repeat": 7}),
    );
    assert_eq!(
        fits["result"]["text"].as_str().map(str::len),
        Some(7 * TEXT_BYTES)
    );
    for part in 1..=7 {
        assert_eq!(server.recv()["data"]["part"], part);
    }
    // 8 · 8192 bytes are the frame's 65536 without its envelope.
    for (id, repeat) in [("over", 8), ("far", REPEATS)] {
        let over = code(&mut server, id, &json!({"text": longest, "repeat": repeat}));
        assert_eq!(over, "content_limit");
    }
    // No event of theirs is in between, and the connection lives.
    let (params, answer) = example(LOCAL_AGENT, METHOD);
    assert_eq!(
        call(&mut server, "after", METHOD, &params)["result"],
        answer
    );
    assert_eq!(
        [
            &server.recv()["data"]["part"],
            &server.recv()["data"]["part"]
        ],
        [1, 2]
    );
    finish(server);
}

#[test]
fn params_out_of_type_or_range_are_refused() {
    let mut server = ready();
    let long = "x".repeat(TEXT_BYTES + 1);
    for (id, params, expected) in [
        ("1", json!({}), "invalid_params"),
        ("2", json!({"text": 5}), "invalid_params"),
        ("3", json!({"text": "x", "more": 1}), "invalid_params"),
        ("4", json!({"text": "x", "repeat": 0}), "invalid_params"),
        ("5", json!({"text": "x", "repeat": 256}), "invalid_params"),
        ("6", json!({"text": long}), "content_limit"),
    ] {
        assert_eq!(code(&mut server, id, &params), expected, "{id}");
    }
    let oversize = request("7", METHOD, &json!({"text": "x".repeat(65_536)}));
    server.send(format!("{oversize}\n"));
    let frame = server.recv();
    assert_eq!(
        (&frame["id"], &frame["error"]["code"]),
        (&Value::Null, &json!("frame_too_large"))
    );
    // That one closes the connection by itself.
    assert!(server.rest().is_empty());
    assert_eq!(server.wait_exit().code, Some(0));
}
