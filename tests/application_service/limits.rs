//! The sixteen limits: advertised as they are, and each input bound exactly at and one over.
//! Negotiation lists stand in `initialize`, the record bound in `framing`.

use serde_json::{Map, Value, json};

use crate::client::{RECORD, Service, code, record, request};

/// The table "Advertised limits".
const LIMITS: [(&str, u64); 16] = [
    ("max_record_bytes", 65_536),
    ("max_payload_bytes", 32_768),
    ("max_error_message_bytes", 512),
    ("max_id_bytes", 128),
    ("max_name_bytes", 64),
    ("max_string_bytes", 16_384),
    ("max_json_depth", 32),
    ("max_array_items", 64),
    ("max_object_fields", 64),
    ("max_negotiation_items", 8),
    ("max_session_attachments", 16),
    ("max_session_page_items", 32),
    ("max_session_replay_page_bytes", 16_384),
    ("max_session_replay_window_bytes", 2_097_152),
    ("max_session_list_scan_entries", 20_000),
    ("max_catalog_page_items", 32),
];

/// `status` takes `{}` only, so a payload within every limit is `invalid_payload`: the limit
/// checks let it through, the operation did not.
const WITHIN: &str = "invalid_payload";

fn boundary(at: &Value, over: &Value, expected: &str) {
    let mut service = Service::ready();
    assert_eq!(service.code("status", at), WITHIN, "at the limit");
    assert_eq!(service.code("status", over), expected, "one over");
    assert_eq!(service.ok("status", &json!({}))["service"], "ready");
}

/// `depth` containers inside one another, as text.
fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

#[test]
fn sixteen_limits_are_advertised_alike_in_three_places() {
    let mut service = Service::start();
    let expected: Map<String, Value> = LIMITS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect();
    let expected = Value::Object(expected);
    let initialized = service.initialize();
    assert_eq!(initialized["limits"], expected);
    assert_eq!(initialized["capabilities"]["limits"], expected);
    assert_eq!(service.ok("capabilities", &json!({}))["limits"], expected);
    // Fixed for the running process, whatever happened in between.
    assert_eq!(service.initialize()["limits"], expected);
}

#[test]
fn payload_of_32768_compact_bytes_is_within_the_limit() {
    let payload = |total: usize| {
        let frame = r#"{"a":"","b":"","c":""}"#.len();
        let text = total - frame;
        let value = json!({
            "a": "x".repeat(16_000), "b": "x".repeat(16_000), "c": "x".repeat(text - 32_000),
        });
        assert_eq!(serde_json::to_vec(&value).unwrap().len(), total);
        value
    };
    boundary(&payload(32_768), &payload(32_769), "payload_too_large");
}

#[test]
fn payload_is_measured_compact() {
    let mut service = Service::ready();
    // Whitespace and needless escapes are not part of the compact form.
    let spaced = format!(r#"{{"a":{}"x"}}"#, " ".repeat(40_000));
    let escaped = format!(r#"{{"a":"{}","b":"{0}"}}"#, r"\u0041".repeat(5_000));
    for payload in [spaced, escaped] {
        let line = format!(
            r#"{{"protocol_version":1,"kind":"request","request_id":"c","method":"status","payload":{payload}}}"#
        );
        assert!(payload.len() > 32_768 && line.len() < RECORD);
        assert_eq!(code(&service.raw(format!("{line}\n"))), WITHIN);
    }
    // Escapes that the compact form needs do count: a quote takes two bytes.
    let quotes = json!({"a": "\"".repeat(8_192), "b": "\"".repeat(8_192), "c": ""});
    assert!(serde_json::to_vec(&quotes).unwrap().len() > 32_768);
    assert_eq!(service.code("status", &quotes), "payload_too_large");
}

#[test]
fn string_of_16384_bytes_is_within_the_limit() {
    boundary(
        &json!({"a": "x".repeat(16_384)}),
        &json!({"a": "x".repeat(16_385)}),
        "limit_exceeded",
    );
}

#[test]
fn key_of_16384_bytes_is_within_the_limit() {
    boundary(
        &json!({"x".repeat(16_384): 1}),
        &json!({"x".repeat(16_385): 1}),
        "limit_exceeded",
    );
}

#[test]
fn strings_are_measured_in_decoded_utf8_bytes() {
    boundary(
        &json!({"a": "é".repeat(8_192)}),
        &json!({"a": "é".repeat(8_192) + "x"}),
        "limit_exceeded",
    );
    // Six bytes of escape are one byte of string.
    let mut service = Service::ready();
    for (count, expected) in [(8_192, WITHIN), (8_193, "limit_exceeded")] {
        let text = r"\u00e9".repeat(count);
        let line = format!(
            r#"{{"protocol_version":1,"kind":"request","request_id":"e","method":"status","payload":{{"a":"{text}"}}}}"#
        );
        assert_eq!(code(&service.raw(format!("{line}\n"))), expected);
    }
}

#[test]
fn array_of_64_items_is_within_the_limit() {
    boundary(
        &json!({"a": vec![0; 64]}),
        &json!({"a": vec![0; 65]}),
        "limit_exceeded",
    );
    boundary(
        &json!({"a": [vec![vec![0; 2]; 64]]}),
        &json!({"a": [vec![vec![0; 2]; 65]]}),
        "limit_exceeded",
    );
}

#[test]
fn object_of_64_fields_is_within_the_limit() {
    let object = |fields: usize| -> Value {
        (0..fields)
            .map(|i| (format!("f{i}"), json!(i)))
            .collect::<Map<_, _>>()
            .into()
    };
    boundary(&object(64), &object(65), "limit_exceeded");
    boundary(
        &json!({"a": object(64)}),
        &json!({"a": object(65)}),
        "limit_exceeded",
    );
}

#[test]
fn depth_of_32_containers_is_within_the_limit() {
    // The envelope and the payload are two of them.
    let payload = |depth: usize| -> Value {
        serde_json::from_str(&format!(r#"{{"a":{}}}"#, nested(depth - 2))).unwrap()
    };
    boundary(&payload(32), &payload(33), "limit_exceeded");
}

#[test]
fn absurd_depth_is_refused_without_harm() {
    let mut service = Service::ready();
    for depth in [200, 1_000, 32_000] {
        let line = format!(
            r#"{{"protocol_version":1,"kind":"request","request_id":"d","method":"status","payload":{{"a":{}}}}}"#,
            nested(depth)
        );
        let response = service.raw(format!("{line}\n"));
        assert!(
            ["limit_exceeded", "payload_too_large"].contains(&code(&response).as_str()),
            "{depth}: {response}"
        );
    }
    service.assert_alive();
}

#[test]
fn ids_of_128_bytes_are_within_the_limit() {
    let mut service = Service::ready();
    for id in ["i".repeat(128), "é".repeat(64), "i".to_owned()] {
        let response = service.exchange(&request(&id, "status", &json!({})));
        assert_eq!(
            (&response["request_id"], &response["error"]),
            (&json!(id), &Value::Null)
        );
    }
    for id in [
        "i".repeat(129),
        "é".repeat(64) + "i",
        "i".repeat(20_000),
        String::new(),
    ] {
        let response = service.exchange(&request(&id, "status", &json!({})));
        assert_eq!(code(&response), "invalid_request");
        assert_eq!(response["request_id"], Value::Null);
        assert_eq!(response["method"], "status", "the method is safe by itself");
    }
    let mut long_session = request("s", "status", &json!({}));
    long_session["session_id"] = json!("s".repeat(129));
    let response = service.exchange(&long_session);
    assert_eq!(code(&response), "invalid_request");
    assert_eq!(
        (&response["request_id"], &response["session_id"]),
        (&json!("s"), &Value::Null)
    );
}

#[test]
fn names_of_64_bytes_are_within_the_limit() {
    let mut service = Service::ready();
    let response = service.exchange(&request("m", &"m".repeat(64), &json!({})));
    assert_eq!(code(&response), "unsupported_operation");
    assert_eq!(response["method"], json!("m".repeat(64)));
    for name in ["m".repeat(65), "m".repeat(20_000), String::new()] {
        let response = service.exchange(&request("m", &name, &json!({})));
        assert_eq!(code(&response), "invalid_request");
        assert_eq!(
            (&response["request_id"], &response["method"]),
            (&json!("m"), &Value::Null)
        );
    }
}

#[test]
fn limits_are_checked_before_dispatch() {
    let mut service = Service::start();
    let over =
        json!({"supported_protocol_versions": [1], "requested_capabilities": ["x".repeat(16_385)]});
    assert_eq!(service.code("initialize", &over), "limit_exceeded");
    assert_eq!(service.code("status", &json!({})), "not_initialized");
    // Nothing is cut to fit: the same payload one byte shorter reaches the method's own check.
    let long = json!({"supported_protocol_versions": [1], "unknown": "x".repeat(16_384)});
    assert_eq!(service.code("initialize", &long), "invalid_payload");
}

#[test]
fn error_messages_are_short_and_fixed() {
    let mut service = Service::ready();
    let pairs = [
        (b"x\n".to_vec(), b"{\"request_id\":\n".to_vec()),
        (vec![b'x'; RECORD + 1], vec![b'y'; RECORD * 2]),
        (
            record("a", "none.one", &json!({})),
            record("b", "none.two", &json!({})),
        ),
        (
            record("a", "status", &json!({"x": 1})),
            record("b", "status", &json!({"yy": "z"})),
        ),
        (
            record("a", "status", &json!({"x": vec![0; 65]})),
            record("b", "status", &json!({"x": "s".repeat(16_385)})),
        ),
    ];
    for (mut one, mut other) in pairs {
        for bytes in [&mut one, &mut other] {
            if bytes.last() != Some(&b'\n') {
                bytes.push(b'\n');
            }
        }
        let (one, other) = (service.raw(one), service.raw(other));
        assert_eq!(
            one["error"], other["error"],
            "the message depends on the request"
        );
    }
}
