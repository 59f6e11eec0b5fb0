//! `initialize` and the state of the service: what needs it, what a failure leaves (spec: "Initialization and negotiation").
//! Its payload and its answer are the parent's.

use super::*;

#[test]
fn every_other_operation_needs_it() {
    let mut service = Service::start();
    for method in ["status", "capabilities"] {
        assert_eq!(
            service.code(method, &json!({})),
            "not_initialized",
            "{method}"
        );
    }
    #[cfg(feature = "session")]
    for (session, method) in [
        (None, "session.list"),
        (None, "session.create"),
        (Some("s-1"), "session.open"),
        (Some("s-1"), "session.replay"),
        (Some("s-1"), "session.close"),
    ] {
        let refused = service.call_on(session, method, &json!({}));
        assert_eq!(crate::client::code(&refused), "not_initialized", "{method}");
    }
    #[cfg(feature = "turn")]
    for (method, payload) in [
        ("turn.start", json!({"prompt": "x"})),
        ("turn.cancel", json!({"turn_id": "t-1"})),
    ] {
        assert_eq!(
            service.code(method, &payload),
            "not_initialized",
            "{method}"
        );
    }
    service.initialize();
    for method in ["status", "capabilities"] {
        service.ok(method, &json!({}));
    }
}

/// Bounds and grammars are validation: they are judged before anybody asks for the state.
#[test]
fn bounds_are_judged_before_the_state() {
    let mut service = Service::start();
    let long = "x".repeat(129);
    let mut refused = |session: Option<&str>, method: &str, payload: Value, expected: &str| {
        let answer = service.call_on(session, method, &payload);
        let at = format!("{method} {session:?} {payload}");
        assert_eq!(crate::client::code(&answer), expected, "{at}");
    };
    #[cfg(feature = "session")]
    {
        for (limit, expected) in [
            (0, "invalid_payload"),
            (33, "limit_exceeded"),
            (32, "not_initialized"),
        ] {
            refused(None, "session.list", json!({"limit": limit}), expected);
            refused(
                Some("s-1"),
                "session.replay",
                json!({"limit": limit}),
                expected,
            );
        }
        for (after, listed, replayed) in [
            (long.as_str(), "limit_exceeded", "limit_exceeded"),
            ("../x", "invalid_session_id", "not_initialized"),
            ("s-1", "not_initialized", "not_initialized"),
        ] {
            refused(None, "session.list", json!({"after": after}), listed);
            refused(
                Some("s-1"),
                "session.replay",
                json!({"after": after}),
                replayed,
            );
        }
        for session in ["../x", "a.b", "a/b", "é", &"x".repeat(65)] {
            for method in ["session.open", "session.replay", "session.close"] {
                refused(Some(session), method, json!({}), "invalid_session_id");
            }
        }
        refused(None, "session.open", json!({}), "invalid_request");
        refused(Some("s-1"), "session.list", json!({}), "invalid_request");
    }
    #[cfg(feature = "turn")]
    {
        for prompt in ["", " ", "\n\t\u{3000}"] {
            refused(
                None,
                "turn.start",
                json!({"prompt": prompt}),
                "invalid_payload",
            );
        }
        let options = json!({"prompt": "x", "options": {"model": "m"}});
        refused(None, "turn.start", options, "invalid_payload");
        refused(
            Some("../x"),
            "turn.start",
            json!({"prompt": "x"}),
            "invalid_session_id",
        );
        refused(
            None,
            "turn.cancel",
            json!({"turn_id": long}),
            "limit_exceeded",
        );
        refused(
            Some("../x"),
            "turn.cancel",
            json!({"turn_id": "t-1"}),
            "invalid_session_id",
        );
    }
    refused(None, "status", json!({}), "not_initialized");
}

#[test]
fn is_repeatable() {
    let mut service = Service::start();
    let first = service.initialize();
    for _ in 0..3 {
        assert_eq!(service.initialize(), first);
    }
    service.ok("status", &json!({}));
}

#[test]
fn failure_before_success_leaves_the_process_uninitialized() {
    let mut service = Service::start();
    for payload in [
        json!({"supported_protocol_versions": [2]}),
        json!({"supported_protocol_versions": []}),
        json!({"supported_protocol_versions": [1], "requested_capabilities": ["no.such"]}),
        json!({"supported_protocol_versions": [1], "x": 1}),
        json!({}),
    ] {
        service.code("initialize", &payload);
        assert_eq!(
            service.code("status", &json!({})),
            "not_initialized",
            "after {payload}"
        );
    }
    service.initialize();
    service.ok("status", &json!({}));
}

#[test]
fn failure_after_success_does_not_revoke_it() {
    let mut service = Service::ready();
    for payload in [
        json!({"supported_protocol_versions": [2]}),
        json!({"supported_protocol_versions": [1], "requested_capabilities": ["no.such"]}),
        json!({"supported_protocol_versions": null}),
    ] {
        service.code("initialize", &payload);
        service.ok("status", &json!({}));
    }
}
