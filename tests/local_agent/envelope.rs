//! Request envelopes: the exact field set, identity, names, precedence of refusals (spec: "Frames,
//! correlation and compatibility"). Framing is tested in frames.rs, reuse of ids in ledger.rs.

use serde_json::{Value, json};

use crate::client::{Agent, PROTOCOL, assert_clean, request, request_line};

/// A line made of the given members, in that order, exactly as written.
fn line(members: &[(&str, &str)]) -> String {
    let body: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    format!("{{{}}}\n", body.join(","))
}

/// The five members of a well-formed `status` request.
fn members(id: &'static str) -> Vec<(&'static str, &'static str)> {
    vec![
        ("protocol", "\"magi-code.local-agent\""),
        ("version", "1"),
        ("id", id),
        ("method", "\"status\""),
        ("params", "{}"),
    ]
}

/// The same with one member's value replaced.
fn with(id: &'static str, key: &str, value: &'static str) -> String {
    let mut all = members(id);
    all.iter_mut().find(|(name, _)| *name == key).unwrap().1 = value;
    line(&all)
}

fn refused(id: impl Into<Value>, code: &str) -> (Value, String) {
    (id.into(), code.to_owned())
}

#[test]
fn request_has_exactly_these_fields() {
    let mut agent = Agent::start();
    assert_eq!(
        agent.refusal(line(&members("\"ok\""))),
        refused("ok", "not_initialized")
    );
    agent.end();
}

#[test]
fn missing_top_level_field_is_invalid_request() {
    let mut agent = Agent::start();
    for missing in ["protocol", "version", "method", "params"] {
        let mut all = members("\"m\"");
        all.retain(|(key, _)| *key != missing);
        assert_eq!(
            agent.refusal(line(&all)),
            refused("m", "invalid_request"),
            "without {missing}"
        );
    }
    let mut all = members("\"m\"");
    all.retain(|(key, _)| *key != "id");
    assert_eq!(
        agent.refusal(line(&all)),
        refused(Value::Null, "invalid_request")
    );
    assert_eq!(
        agent.refusal("{}\n"),
        refused(Value::Null, "invalid_request")
    );
    agent.end();
}

#[test]
fn unknown_top_level_field_is_invalid_request() {
    let mut agent = Agent::start();
    for key in ["extra", "Protocol", "params ", "jsonrpc", "", "type"] {
        let mut all = members("\"u\"");
        all.push((key, "1"));
        assert_eq!(
            agent.refusal(line(&all)),
            refused("u", "invalid_request"),
            "{key:?}"
        );
    }
    agent.end();
}

#[test]
fn duplicate_top_level_field_is_invalid_request() {
    let mut agent = Agent::start();
    for (key, value) in members("\"d\"") {
        let mut all = members("\"d\"");
        all.push((key, value));
        // Two ids leave no identity, even when they are equal.
        let id = if key == "id" { Value::Null } else { json!("d") };
        assert_eq!(
            agent.refusal(line(&all)),
            refused(id, "invalid_request"),
            "{key} twice"
        );
    }
    agent.end();
}

#[test]
fn duplicate_key_written_with_escapes_is_invalid_request() {
    let mut agent = Agent::start();
    let escaped = [
        ("\\u0069d", "\"other\"", Value::Null),
        ("i\\u0064", "\"e\"", Value::Null),
        ("\\u006dethod", "\"shutdown\"", json!("e")),
        ("par\\u0061ms", "{}", json!("e")),
        (
            "\\u0076\\u0065\\u0072\\u0073\\u0069\\u006F\\u006e",
            "1",
            json!("e"),
        ),
        ("protoco\\u006C", "\"x\"", json!("e")),
    ];
    for (key, value, id) in escaped {
        for front in [false, true] {
            let mut all = members("\"e\"");
            all.insert(if front { 0 } else { all.len() }, (key, value));
            assert_eq!(
                agent.refusal(line(&all)),
                refused(id.clone(), "invalid_request"),
                "{key}"
            );
        }
    }
    agent.end();
}

#[test]
fn escaped_spellings_are_the_same_text() {
    let mut agent = Agent::start();
    let text = r#"{"\u0070rotocol":"magi\u002dcode.local-agent","version":1,"\u0069d":"\u0065sc","method":"st\u0061tus","params":{}}"#;
    assert_eq!(
        agent.refusal(format!("{text}\n")),
        refused("esc", "not_initialized")
    );
    // The id is retained as the text that it spells.
    assert_eq!(
        agent.refusal(line(&members("\"esc\""))),
        refused("esc", "duplicate_id")
    );
    agent.end();
}

#[test]
fn field_order_and_whitespace_do_not_matter() {
    let mut agent = Agent::start();
    let mut all = members("\"o\"");
    all.reverse();
    assert_eq!(agent.refusal(line(&all)), refused("o", "not_initialized"));
    let text = " \t{ \"params\" :{ } ,\r\"method\": \"status\", \"id\":\"w\" ,\"version\" : 1, \"protocol\":\"magi-code.local-agent\" } \n";
    assert_eq!(agent.refusal(text), refused("w", "not_initialized"));
    agent.end();
}

#[test]
fn wrong_types_are_invalid_request() {
    let mut agent = Agent::start();
    for value in ["1", "null", "[]", "{}", "true"] {
        assert_eq!(
            agent.refusal(with("\"t\"", "protocol", value)),
            refused("t", "invalid_request"),
            "{value}"
        );
        assert_eq!(
            agent.refusal(with("\"t\"", "method", value)),
            refused("t", "invalid_request"),
            "{value}"
        );
        assert_eq!(
            agent.refusal(with(value, "id", value)),
            refused(Value::Null, "invalid_request"),
            "{value}"
        );
    }
    for value in [
        "\"1\"", "null", "[1]", "{}", "true", "1.0", "1.5", "1e0", "1E0", "10e-1",
    ] {
        assert_eq!(
            agent.refusal(with("\"t\"", "version", value)),
            refused("t", "invalid_request"),
            "{value}"
        );
    }
    agent.end();
}

#[test]
fn params_that_are_not_an_object_are_invalid_params() {
    let mut agent = Agent::start();
    for (n, value) in ["[]", "null", "\"{}\"", "1", "false"].iter().enumerate() {
        let id = format!("p{n}");
        let text = format!(
            "{{\"protocol\":\"{PROTOCOL}\",\"version\":1,\"id\":\"{id}\",\"method\":\"status\",\"params\":{value}}}\n"
        );
        assert_eq!(
            agent.refusal(text),
            refused(id, "invalid_params"),
            "{value}"
        );
    }
    agent.end();
}

#[test]
fn params_reject_unknown_and_duplicate_fields() {
    let mut agent = Agent::start();
    let cases = [
        ("status", "{\"x\":1}"),
        ("shutdown", "{\"x\":1}"),
        ("shutdown", "{\"\":null}"),
        ("initialize", "{\"required_capabilities\":[],\"x\":1}"),
        (
            "initialize",
            "{\"required_capabilities\":[],\"required_capabilities\":[]}",
        ),
        (
            "initialize",
            "{\"required_capabilities\":[],\"required_capabilitie\\u0073\":[]}",
        ),
    ];
    for (n, (method, params)) in cases.iter().enumerate() {
        let id = format!("x{n}");
        let text = format!(
            "{{\"protocol\":\"{PROTOCOL}\",\"version\":1,\"id\":\"{id}\",\"method\":\"{method}\",\"params\":{params}}}\n"
        );
        assert_eq!(
            agent.refusal(text),
            refused(id, "invalid_params"),
            "{method} {params}"
        );
    }
    agent.end();
}

#[test]
fn id_of_1_to_64_grammar_bytes_is_accepted() {
    let mut agent = Agent::start();
    let long = "A".repeat(64);
    for id in [
        "a",
        "Z",
        "0",
        ".",
        "_",
        "-",
        "...",
        "A.b_c-9",
        long.as_str(),
    ] {
        assert_eq!(
            agent.refusal(request_line(id, "status", &json!({}))),
            refused(id, "not_initialized")
        );
    }
    agent.end();
}

#[test]
fn id_outside_the_grammar_is_invalid_request_with_null_id() {
    let mut agent = Agent::start();
    let long = "A".repeat(65);
    for id in [
        "",
        " ",
        "a b",
        "a/b",
        "a:b",
        "ä",
        "\u{1f600}",
        "a\n",
        "a\0",
        "~",
        "a,b",
        long.as_str(),
    ] {
        assert_eq!(
            agent.refusal(request_line(id, "status", &json!({}))),
            refused(Value::Null, "invalid_request"),
            "{id:?}"
        );
    }
    agent.end();
}

#[test]
fn method_outside_the_grammar_is_invalid_request() {
    let mut agent = Agent::start();
    let long = "m".repeat(65);
    for method in ["", "a b", "a/b", "stätus", "status\n", long.as_str()] {
        assert_eq!(
            agent.refusal(request_line("g", method, &json!({}))),
            refused("g", "invalid_request"),
            "{method:?}"
        );
    }
    agent.end();
}

#[test]
fn unknown_method_within_the_grammar_is_unsupported_method() {
    let mut agent = Agent::start();
    let long = "m".repeat(64);
    for method in [
        "Status",
        "status.",
        "session.delete",
        "turn.steer",
        "-",
        long.as_str(),
    ] {
        assert_eq!(
            agent.err(method, json!({})),
            "unsupported_method",
            "{method:?}"
        );
    }
    agent.end();
}

#[test]
fn refused_envelopes_do_not_use_up_their_id() {
    let mut agent = Agent::start();
    let mut unknown = members("\"keep\"");
    unknown.push(("extra", "1"));
    assert_eq!(
        agent.refusal(line(&unknown)),
        refused("keep", "invalid_request")
    );
    assert_eq!(
        agent.refusal(with("\"keep\"", "version", "1.0")),
        refused("keep", "invalid_request")
    );
    assert_eq!(
        agent.refusal(with("\"keep\"", "method", "\"a b\"")),
        refused("keep", "invalid_request")
    );
    assert_eq!(
        agent.refusal(line(&members("\"keep\""))),
        refused("keep", "not_initialized")
    );
    assert_eq!(
        agent.refusal(line(&members("\"keep\""))),
        refused("keep", "duplicate_id")
    );
    agent.end();
}

/// The refusal is the last frame, the child leaves with 0 though stdin stays open.
fn assert_mismatch_closes(text: String, id: impl Into<Value>) {
    let mut agent = Agent::start();
    // A later request in the same write must not be answered.
    let later = request_line("later", "status", &json!({}));
    assert_eq!(
        agent.refusal(text.clone() + &later),
        refused(id, "protocol_mismatch"),
        "{text}"
    );
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn other_protocol_is_protocol_mismatch_and_closes() {
    for value in [
        "\"magi-code.application-service\"",
        "\"Magi-code.local-agent\"",
        "\"\"",
        "\"magi-code.local-agent \"",
    ] {
        assert_mismatch_closes(with("\"p\"", "protocol", value), "p");
    }
}

#[test]
fn other_version_is_protocol_mismatch_and_closes() {
    for value in [
        "2",
        "0",
        "-1",
        "65537",
        "4294967297",
        "18446744073709551617",
    ] {
        assert_mismatch_closes(with("\"v\"", "version", value), "v");
    }
}

#[test]
fn mismatch_comes_before_grammar_and_fields() {
    // Bad method and bad id, but the version decides first.
    let mut all = members("\"a b\"");
    all[1].1 = "2";
    all[3].1 = "\"a b\"";
    assert_mismatch_closes(line(&all), Value::Null);
    // Another version may have other fields: its client must learn why it is not understood.
    all[2].1 = "\"s\"";
    all.push(("extra", "1"));
    assert_mismatch_closes(line(&all), "s");
    all.truncate(3);
    assert_mismatch_closes(line(&all), "s");
    // What names no version, or none that could be one, is a wrong request of this one.
    for version in ["\"2\"", "null", "1.5", "{}"] {
        let mut agent = Agent::start();
        let text = with("\"s\"", "version", version);
        assert_eq!(agent.refusal(text), refused("s", "invalid_request"));
        agent.end();
    }
}

#[test]
fn mismatch_is_answered_after_what_came_before() {
    let mut agent = Agent::start();
    let text = request_line("first", "status", &json!({})) + &with("\"v\"", "version", "2");
    assert_eq!(agent.refusal(text), refused("first", "not_initialized"));
    assert_eq!(agent.next_refusal(), refused("v", "protocol_mismatch"));
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn refusals_come_in_the_stated_order() {
    let mut agent = Agent::start();
    // Unknown method, bad params, before initialization: the method decides.
    assert_eq!(
        agent.refusal(request_line("1", "nope", &json!({"x": 1}))),
        refused("1", "unsupported_method")
    );
    // A used id decides before the method.
    assert_eq!(
        agent.refusal(request_line("1", "nope", &json!({}))),
        refused("1", "duplicate_id")
    );
    // Bad params decide before the state.
    assert_eq!(
        agent.refusal(request_line("2", "status", &json!({"x": 1}))),
        refused("2", "invalid_params")
    );
    assert_eq!(
        agent.refusal(request_line("3", "status", &json!({}))),
        refused("3", "not_initialized")
    );
    agent.end();
}

#[test]
fn errors_leave_the_connection_usable() {
    let mut agent = Agent::start();
    for text in ["\n", "{}\n", "[]\n", "\u{feff}\n", "{\"id\":\"x\"}\n"] {
        let _ = agent.refusal(text);
    }
    assert_eq!(agent.err("nope", json!({})), "unsupported_method");
    let ready = agent.initialize();
    assert_eq!(ready["status"]["readiness"], "ready");
    agent.end();
}

#[test]
fn errors_carry_a_code_and_never_the_input() {
    const CANARY: &str = "canary-8f2e77";
    let mut agent = Agent::start();
    let lines = [
        format!("{CANARY}\n"),
        format!("{{\"{CANARY}\":1}}\n"),
        format!("\"{CANARY}\n"),
        request_line("1", CANARY, &json!({})),
        request_line("2", "status", &json!({CANARY: CANARY})),
        request_line(
            "3",
            "initialize",
            &json!({"required_capabilities": [CANARY]}),
        ),
        request_line(&format!("{CANARY} "), "status", &json!({})),
        format!(
            "{{\"protocol\":\"{PROTOCOL}\",\"version\":\"{CANARY}\",\"id\":\"4\",\"method\":\"status\",\"params\":{{}}}}\n"
        ),
        request("5", "status", &json!({}))
            .to_string()
            .replace(PROTOCOL, CANARY)
            + "\n",
    ];
    for text in lines {
        agent.server.send(text);
        // The client checks that `error` holds nothing but a known code.
        let frame = agent.frame();
        assert!(!frame.to_string().contains(CANARY), "{frame}");
    }
    assert_clean(&agent.server.wait_exit());
}
