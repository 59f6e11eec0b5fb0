//! The request and response envelope: strictness, echoes, order of checks (spec: "Envelope", "Errors").
//! What a method does with its payload belongs to the other modules.

use serde_json::{Value, json};

use crate::client::{Service, code, keys, record, request, version_1};

/// A `status` request whose envelope `change` alters.
fn altered(change: impl FnOnce(&mut Value)) -> Value {
    let mut value = request("req-a", "status", &json!({}));
    change(&mut value);
    value
}

fn without(field: &str) -> Value {
    altered(|v| {
        v.as_object_mut().unwrap().remove(field);
    })
}

#[test]
fn response_has_exactly_the_documented_keys() {
    let mut service = Service::start();
    // `recv` checks the shape of every response; here the raw line, keys in the documented order.
    service.server.send(record("order", "no.such", &json!({})));
    let line = service.server.recv_line().unwrap();
    let text = String::from_utf8(line.bytes).unwrap();
    let places: Vec<_> = [
        "protocol_version",
        "kind",
        "request_id",
        "session_id",
        "method",
        "payload",
        "error",
    ]
    .map(|key| text.find(&format!("\"{key}\":")).unwrap())
    .into();
    assert!(places.is_sorted(), "{text}");
    assert!(
        text.starts_with(
            r#"{"protocol_version":1,"kind":"response","request_id":"order","session_id":null,"#
        ),
        "{text}"
    );
    let success = service.call("initialize", &version_1());
    assert_eq!(success["error"], Value::Null);
    assert_eq!(success.as_object().unwrap().len(), 7);
}

#[test]
fn error_object_has_code_and_message() {
    let mut service = Service::start();
    let response = service.call("no.such", &json!({}));
    assert_eq!(response["payload"], Value::Null);
    assert_eq!(keys(&response["error"]), ["code", "message"]);
    assert_eq!(response["error"]["code"], "unsupported_operation");
}

#[test]
fn missing_fields_are_invalid_request() {
    let mut service = Service::ready();
    for field in [
        "protocol_version",
        "kind",
        "request_id",
        "method",
        "payload",
    ] {
        let response = service.exchange(&without(field));
        assert_eq!(code(&response), "invalid_request", "without {field}");
        if field != "request_id" {
            assert_eq!(response["request_id"], "req-a", "without {field}");
        }
    }
    assert_eq!(code(&service.exchange(&json!({}))), "invalid_request");
}

#[test]
fn unknown_field_is_invalid_request() {
    let mut service = Service::ready();
    for (field, value) in [
        ("future_hint", json!(true)),
        ("id", json!("x")),
        ("jsonrpc", json!("2.0")),
        ("", json!(null)),
        ("Kind", json!("request")),
    ] {
        let response = service.exchange(&altered(|v| v[field] = value));
        assert_eq!(code(&response), "invalid_request", "{field}");
        assert_eq!(response["request_id"], "req-a");
    }
}

#[test]
fn repeated_envelope_field_is_refused() {
    let mut service = Service::ready();
    for (field, again) in [
        ("method", r#""status""#),
        ("payload", "{}"),
        ("request_id", r#""req-b""#),
        ("protocol_version", "1"),
    ] {
        let line = serde_json::to_string(&altered(|_| ())).unwrap();
        for key in [
            field.to_owned(),
            format!("\\u{:04x}{}", u32::from(field.as_bytes()[0]), &field[1..]),
        ] {
            let line = format!("{},\"{key}\":{again}}}\n", line.strip_suffix('}').unwrap());
            let response = service.raw(line);
            assert_eq!(code(&response), "invalid_request", "{key}");
        }
    }
    service.assert_alive();
}

#[test]
fn wrong_types_are_invalid_request() {
    let mut service = Service::ready();
    let wrong = [
        json!(null),
        json!(true),
        json!(7),
        json!(1.5),
        json!([]),
        json!({}),
        json!("\u{7}"),
    ];
    for field in ["kind", "request_id", "method"] {
        for value in &wrong {
            let response = service.exchange(&altered(|v| v[field] = value.clone()));
            assert_eq!(code(&response), "invalid_request", "{field}: {value}");
        }
    }
    for value in [
        json!(null),
        json!("1"),
        json!(true),
        json!(-1),
        json!(1.5),
        json!([1]),
        json!({}),
    ] {
        let response = service.exchange(&altered(|v| v["protocol_version"] = value.clone()));
        assert_eq!(
            code(&response),
            "invalid_request",
            "protocol_version: {value}"
        );
    }
    for value in [
        json!(false),
        json!(7),
        json!([]),
        json!({}),
        json!(""),
        json!("\n"),
    ] {
        let response = service.exchange(&altered(|v| v["session_id"] = value.clone()));
        assert_eq!(code(&response), "invalid_request", "session_id: {value}");
        assert_eq!(response["session_id"], Value::Null);
    }
    for value in [json!([]), json!("x"), json!([{}])] {
        let response = service.exchange(&value);
        assert_eq!(code(&response), "invalid_request", "{value}");
    }
}

#[test]
fn wrong_kind_is_invalid_request() {
    let mut service = Service::ready();
    for kind in ["response", "event", "Request", "notification", "request "] {
        let response = service.exchange(&altered(|v| v["kind"] = json!(kind)));
        assert_eq!(code(&response), "invalid_request", "{kind}");
        assert_eq!(response["kind"], "response");
    }
}

#[test]
fn payload_that_is_no_object_is_invalid_payload() {
    let mut service = Service::ready();
    for payload in [json!(null), json!([]), json!("{}"), json!(0), json!(true)] {
        assert_eq!(
            service.code("status", &payload),
            "invalid_payload",
            "{payload}"
        );
        assert_eq!(
            service.code("initialize", &payload),
            "invalid_payload",
            "{payload}"
        );
    }
}

#[test]
fn unsupported_version_is_answered_with_the_server_s() {
    let mut service = Service::ready();
    for version in [0, 2, 3, 65_535] {
        let response = service.exchange(&altered(|v| v["protocol_version"] = json!(version)));
        assert_eq!(code(&response), "unsupported_version", "{version}");
        assert_eq!(response["protocol_version"], 1);
        assert_eq!(
            (&response["request_id"], &response["method"]),
            (&json!("req-a"), &json!("status"))
        );
    }
    // Another version may have other fields.
    let response = service.exchange(&altered(|v| {
        v["protocol_version"] = json!(2);
        v["steering"] = json!(true);
    }));
    assert_eq!(code(&response), "unsupported_version");
    // Beyond u16 it is no version of any kind: either refusal is right, success is not.
    for version in ["65536", "18446744073709551616", "1e400"] {
        let line = format!(
            "{{\"protocol_version\":{version},\"kind\":\"request\",\"request_id\":\"v\",\"method\":\"status\",\"payload\":{{}}}}\n"
        );
        let refusal = code(&service.raw(line));
        assert!(
            ["invalid_request", "unsupported_version", "invalid_json"].contains(&refusal.as_str()),
            "{version}: {refusal}"
        );
    }
    service.ok("status", &json!({}));
}

#[test]
fn null_session_id_equals_an_omitted_one() {
    let mut service = Service::start();
    let mut init = request("init", "initialize", &version_1());
    init["session_id"] = Value::Null;
    let response = service.exchange(&init);
    assert_eq!(
        (&response["error"], &response["session_id"]),
        (&Value::Null, &Value::Null)
    );
    let response = service.exchange(&altered(|v| v["session_id"] = Value::Null));
    assert_eq!(
        (&response["error"], &response["session_id"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn session_id_where_it_must_be_omitted_is_invalid_request() {
    let mut service = Service::ready();
    for method in ["initialize", "status", "capabilities"] {
        let payload = if method == "initialize" {
            version_1()
        } else {
            json!({})
        };
        let mut value = request("s", method, &payload);
        value["session_id"] = json!("opaque-session-1");
        let response = service.exchange(&value);
        assert_eq!(code(&response), "invalid_request", "{method}");
        assert_eq!(
            response["session_id"], "opaque-session-1",
            "a safe identity is echoed"
        );
    }
}

#[test]
fn safe_identities_of_a_refused_request_are_echoed() {
    let mut service = Service::ready();
    let refused = altered(|v| {
        v["session_id"] = json!("session-x");
        v["surplus"] = json!(1);
    });
    let response = service.exchange(&refused);
    assert_eq!(code(&response), "invalid_request");
    assert_eq!(
        [
            &response["request_id"],
            &response["session_id"],
            &response["method"]
        ],
        [&json!("req-a"), &json!("session-x"), &json!("status")]
    );
    let over = json!({"a": vec![0; 65]});
    let response = service.exchange(&request("limit", "status", &over));
    assert_eq!(code(&response), "limit_exceeded");
    assert_eq!(
        (&response["request_id"], &response["method"]),
        (&json!("limit"), &json!("status"))
    );
}

#[test]
fn unsafe_identities_are_not_echoed() {
    let mut service = Service::ready();
    for bad in [
        json!(5),
        json!(null),
        json!({"a": 1}),
        json!("a\nb"),
        json!("\u{1b}[31m"),
        json!("\u{85}"),
        json!("i".repeat(129)),
        json!(""),
    ] {
        let response = service.exchange(&altered(|v| v["request_id"] = bad.clone()));
        assert_eq!(code(&response), "invalid_request", "{bad}");
        assert_eq!(
            (&response["request_id"], &response["method"]),
            (&Value::Null, &json!("status"))
        );
        let response = service.exchange(&altered(|v| v["method"] = bad.clone()));
        assert_eq!(code(&response), "invalid_request", "{bad}");
        assert_eq!(
            (&response["request_id"], &response["method"]),
            (&json!("req-a"), &Value::Null)
        );
    }
}

#[test]
fn synchronous_ids_are_released_after_their_response() {
    let mut service = Service::ready();
    // One after the other, and pipelined: the first answer is written before the next is read.
    for _ in 0..3 {
        let response = service.exchange(&request("same", "status", &json!({})));
        assert_eq!(
            (&response["request_id"], &response["error"]),
            (&json!("same"), &Value::Null)
        );
    }
    service
        .server
        .send(record("same", "status", &json!({})).repeat(50));
    for _ in 0..50 {
        let response = service.recv();
        assert_eq!(
            (&response["request_id"], &response["error"]),
            (&json!("same"), &Value::Null)
        );
    }
}

#[test]
fn refused_ids_are_released_after_their_response() {
    let mut service = Service::ready();
    for _ in 0..3 {
        let response = service.exchange(&request("refused", "no.such", &json!({})));
        assert_eq!(code(&response), "unsupported_operation");
        let response = service.exchange(&{
            let mut value = request("refused", "status", &json!({}));
            value["surplus"] = json!(1);
            value
        });
        assert_eq!(
            code(&response),
            "invalid_request",
            "a fresh id keeps the decoder's error"
        );
    }
    let response = service.exchange(&request("refused", "status", &json!({})));
    assert_eq!(response["error"], Value::Null);
}

#[test]
fn checks_come_in_the_documented_order() {
    let mut service = Service::start();
    let over = json!({"a": vec![0; 65]});
    let steps = [
        // version before envelope, limits and operation: another one may have other fields
        (
            altered(|v| {
                v["surplus"] = json!(1);
                v["protocol_version"] = json!(2);
                v["method"] = json!("no.such");
                v["payload"] = over.clone();
            }),
            "unsupported_version",
        ),
        // envelope before limits and operation
        (
            altered(|v| {
                v["surplus"] = json!(1);
                v["method"] = json!("no.such");
                v["payload"] = over.clone();
            }),
            "invalid_request",
        ),
        // limits before the operation
        (request("l", "no.such", &over), "limit_exceeded"),
        (
            request(
                "p",
                "no.such",
                &json!({"a": "x".repeat(16_384), "b": "x".repeat(16_384)}),
            ),
            "payload_too_large",
        ),
        // the operation before the payload's shape and the state
        (
            request("o", "no.such", &json!({"x": 1})),
            "unsupported_operation",
        ),
        // the payload's shape before the state
        (request("s", "status", &json!({"x": 1})), "invalid_payload"),
        // the state last
        (request("n", "status", &json!({})), "not_initialized"),
    ];
    for (value, expected) in steps {
        assert_eq!(code(&service.exchange(&value)), expected);
    }
}

#[test]
fn errors_never_echo_input() {
    const CANARY: &str = "canary-5f1e";
    let mut service = Service::ready();
    let quoted = json!(CANARY);
    let values = [
        altered(|v| v[CANARY] = json!(1)),
        altered(|v| v["kind"] = quoted.clone()),
        altered(|v| v["protocol_version"] = quoted.clone()),
        altered(|v| v["payload"] = quoted.clone()),
        altered(|v| v["payload"] = json!({CANARY: CANARY})),
        altered(|v| v["payload"] = json!({"a": vec![CANARY; 65]})),
        altered(|v| v["request_id"] = json!(format!("{CANARY}\n"))),
        altered(|v| v["method"] = json!(CANARY)),
        request(
            "i",
            "initialize",
            &json!({"supported_protocol_versions": [CANARY]}),
        ),
        request(
            "i",
            "initialize",
            &json!({"supported_protocol_versions": [1], "requested_capabilities": [CANARY]}),
        ),
    ];
    for value in values {
        let response = service.exchange(&value);
        assert!(
            !response["error"].to_string().contains(CANARY),
            "{response}"
        );
    }
    let response = service.raw(format!("{{\"{CANARY}\": {CANARY}\n"));
    assert!(!response.to_string().contains(CANARY), "{response}");
    assert_eq!(service.finish().stderr, "");
}
