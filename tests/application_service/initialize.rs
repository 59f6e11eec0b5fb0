//! `initialize`: its payload rules, its answer, its state (spec: "Initialization and negotiation").
//! Consumer-side preflight belongs to the consumer crate.

use serde_json::{Value, json};

use crate::client::{Service, keys, version_1};

#[path = "initialize_state.rs"]
mod state;

/// Names of this issue's operations; later ones add to them.
const BUILT: [&str; 3] = ["initialize", "status", "capabilities"];

fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .expect("an array")
        .iter()
        .map(|v| v.as_str().expect("a string"))
        .collect()
}

#[cfg(all(
    feature = "session",
    feature = "turn",
    feature = "auth",
    feature = "catalog",
    feature = "config"
))]
#[test]
fn every_operation_and_event_of_the_specification_is_advertised() {
    let told = Service::start().initialize();
    let operations = [
        "initialize",
        "status",
        "capabilities",
        "session.list",
        "session.create",
        "session.open",
        "session.replay",
        "session.close",
        "turn.start",
        "turn.cancel",
        "auth.status",
        "auth.login.start",
        "auth.login.callback",
        "auth.login.cancel",
        "auth.logout",
        "catalog.providers",
        "catalog.models",
        "catalog.refresh",
        "config.get",
        "config.set",
    ];
    let events = [
        "turn.started",
        "turn.assistant_delta",
        "turn.activity",
        "turn.terminal",
        "auth.login.progress",
        "auth.login.terminal",
    ];
    let sorted = |names: &[&str]| {
        let mut names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        names.sort();
        names
    };
    let advertised = &told["capabilities"];
    assert_eq!(
        sorted(&strings(&advertised["operations"])),
        sorted(&operations)
    );
    assert_eq!(sorted(&strings(&advertised["events"])), sorted(&events));
}

#[test]
fn success_has_the_documented_shape() {
    let mut service = Service::start();
    let payload = service.initialize();
    assert_eq!(
        keys(&payload),
        [
            "capabilities",
            "limits",
            "protocol_version",
            "server_name",
            "server_version"
        ]
    );
    assert_eq!(payload["protocol_version"], 1);
    assert!(!payload["server_name"].as_str().unwrap().is_empty());
    assert_eq!(payload["server_version"], env!("CARGO_PKG_VERSION"));
    let capabilities = &payload["capabilities"];
    assert_eq!(
        keys(capabilities),
        [
            "activity",
            "events",
            "limits",
            "operations",
            "protocol_versions",
            "transports"
        ]
    );
    assert_eq!(capabilities["protocol_versions"], json!([1]));
    assert_eq!(capabilities["transports"], json!(["stdio"]));
    for name in BUILT {
        assert!(
            strings(&capabilities["operations"]).contains(&name),
            "{name}"
        );
    }
}

#[test]
fn activity_object_is_exact() {
    let expected = json!({
        "events": true,
        "approvals": false,
        "steering": false,
        "mcp_server_lifecycle": false,
        "mcp_tool_activity": true,
        "subagents": true,
        "raw_tool_output": false,
        "activity_replay": false,
        "max_summary_bytes": 2048
    });
    let mut service = Service::start();
    let payload = service.initialize();
    assert_eq!(keys(&payload["capabilities"]["activity"]), keys(&expected));
    let activity = payload["capabilities"]["activity"].clone();
    // `events` tells whether `turn.activity` is linked; a build without turns says so.
    let linked = strings(&payload["capabilities"]["events"]).contains(&"turn.activity");
    for (key, value) in expected.as_object().unwrap() {
        match key.as_str() {
            "events" => assert_eq!(activity[key], json!(linked), "{activity}"),
            "mcp_tool_activity" | "subagents" if !linked => assert!(activity[key].is_boolean()),
            _ => assert_eq!(&activity[key], value, "{key}"),
        }
    }
    assert_eq!(service.ok("capabilities", &json!({}))["activity"], activity);
}

#[test]
fn advertised_sets_obey_the_general_bounds() {
    let mut service = Service::start();
    let payload = service.initialize();
    for set in ["operations", "events", "transports"] {
        let names = strings(&payload["capabilities"][set]);
        assert!(names.len() <= 64);
        assert!(
            names.iter().all(|name| (1..=64).contains(&name.len())),
            "{names:?}"
        );
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len(), "a name twice in {set}");
    }
}

#[test]
fn advertised_sets_do_not_depend_on_the_request() {
    let mut service = Service::start();
    let all = service.initialize();
    let one = service.ok(
        "initialize",
        &json!({"supported_protocol_versions": [1], "requested_capabilities": ["status"]}),
    );
    assert_eq!(all, one);
}

#[test]
fn empty_list_discovers_everything() {
    let mut service = Service::start();
    let payload = service.initialize();
    assert!(strings(&payload["capabilities"]["operations"]).len() >= BUILT.len());
}

#[test]
fn versions_are_required_u16_and_contain_1() {
    let mut service = Service::start();
    let of = |versions: Value| json!({"supported_protocol_versions": versions});
    for (versions, expected) in [
        (json!([2]), "unsupported_version"),
        (json!([0, 2, 65_535]), "unsupported_version"),
        (json!([65_536]), "invalid_payload"),
        (json!([1, 65_536]), "invalid_payload"),
        (json!([-1, 1]), "invalid_payload"),
        (json!([1.5, 1]), "invalid_payload"),
        (json!(["1"]), "invalid_payload"),
        (json!([true, 1]), "invalid_payload"),
        (json!([null, 1]), "invalid_payload"),
    ] {
        assert_eq!(
            service.code("initialize", &of(versions.clone())),
            expected,
            "{versions}"
        );
    }
    assert_eq!(service.code("initialize", &json!({})), "invalid_payload");
    assert_eq!(
        service.code("initialize", &json!({"requested_capabilities": []})),
        "invalid_payload"
    );
    assert_eq!(service.code("status", &json!({})), "not_initialized");
    for versions in [json!([2, 1]), json!([1, 1]), json!([0, 1, 65_535])] {
        assert_eq!(
            service.ok("initialize", &of(versions))["protocol_version"],
            1
        );
    }
}

#[test]
fn malformed_lists_are_invalid_payload() {
    let mut service = Service::start();
    for bad in [
        json!(null),
        json!(1),
        json!("1"),
        json!({}),
        json!(true),
        json!([[1]]),
    ] {
        assert_eq!(
            service.code("initialize", &json!({"supported_protocol_versions": bad})),
            "invalid_payload",
            "versions {bad}"
        );
        assert_eq!(
            service.code(
                "initialize",
                &json!({"supported_protocol_versions": [1], "requested_capabilities": bad})
            ),
            "invalid_payload",
            "capabilities {bad}"
        );
    }
    for bad in [json!([1]), json!([null]), json!(["status", 2])] {
        assert_eq!(
            service.code(
                "initialize",
                &json!({"supported_protocol_versions": [1], "requested_capabilities": bad})
            ),
            "invalid_payload"
        );
    }
}

#[test]
fn requested_capabilities_may_be_omitted_but_not_null() {
    let mut service = Service::start();
    assert_eq!(
        service.code(
            "initialize",
            &json!({"supported_protocol_versions": [1], "requested_capabilities": null})
        ),
        "invalid_payload"
    );
    let omitted = service.ok("initialize", &json!({"supported_protocol_versions": [1]}));
    assert_eq!(omitted, service.initialize());
}

#[test]
fn unknown_payload_field_is_invalid_payload() {
    let mut service = Service::start();
    for field in ["client_name", "limits", "", "Supported_protocol_versions"] {
        let mut payload = version_1();
        payload[field] = json!(1);
        assert_eq!(
            service.code("initialize", &payload),
            "invalid_payload",
            "{field}"
        );
    }
    assert_eq!(service.code("status", &json!({})), "not_initialized");
}

#[test]
fn repeated_payload_field_is_invalid_payload() {
    let mut service = Service::start();
    let line = r#"{"protocol_version":1,"kind":"request","request_id":"t","method":"initialize","payload":{"supported_protocol_versions":[1],"supported_protocol_versions":[1]}}"#;
    let response = service.raw(format!("{line}\n"));
    assert_eq!(response["error"]["code"], "invalid_payload");
}

#[test]
fn empty_version_list_is_limit_exceeded() {
    let mut service = Service::start();
    assert_eq!(
        service.code("initialize", &json!({"supported_protocol_versions": []})),
        "limit_exceeded"
    );
}

#[test]
fn lists_hold_at_most_eight_items() {
    let mut service = Service::start();
    let versions = |n: u16| (1..=n).collect::<Vec<_>>();
    service.ok(
        "initialize",
        &json!({"supported_protocol_versions": versions(8)}),
    );
    for over in [9, 64] {
        assert_eq!(
            service.code(
                "initialize",
                &json!({"supported_protocol_versions": versions(over)})
            ),
            "limit_exceeded"
        );
    }
    let names = |n: usize| vec!["status"; n];
    service.ok(
        "initialize",
        &json!({"supported_protocol_versions": [1], "requested_capabilities": names(8)}),
    );
    assert_eq!(
        service.code(
            "initialize",
            &json!({"supported_protocol_versions": [1], "requested_capabilities": names(9)})
        ),
        "limit_exceeded"
    );
}

#[test]
fn unknown_capability_is_unsupported_capability() {
    let mut service = Service::start();
    for unknown in ["no.such", "", "Status", "status "] {
        let payload = json!({"supported_protocol_versions": [1], "requested_capabilities": ["status", unknown]});
        assert_eq!(
            service.code("initialize", &payload),
            "unsupported_capability",
            "{unknown:?}"
        );
    }
    let longest =
        json!({"supported_protocol_versions": [1], "requested_capabilities": ["c".repeat(64)]});
    assert_eq!(
        service.code("initialize", &longest),
        "unsupported_capability"
    );
}

#[test]
fn overlong_capability_name_is_limit_exceeded() {
    let mut service = Service::start();
    let over =
        json!({"supported_protocol_versions": [1], "requested_capabilities": ["c".repeat(65)]});
    assert_eq!(service.code("initialize", &over), "limit_exceeded");
}

#[test]
fn event_names_and_flags_are_not_capabilities() {
    let mut service = Service::start();
    for name in [
        "turn.activity",
        "turn.terminal",
        "auth.login.progress",
        "subagents",
        "events",
        "stdio",
    ] {
        let payload = json!({"supported_protocol_versions": [1], "requested_capabilities": [name]});
        assert_eq!(
            service.code("initialize", &payload),
            "unsupported_capability",
            "{name}"
        );
    }
}

#[test]
fn requested_operations_are_no_allowlist() {
    let mut service = Service::start();
    service.ok(
        "initialize",
        &json!({"supported_protocol_versions": [1], "requested_capabilities": ["status"]}),
    );
    service.ok("capabilities", &json!({}));
}

#[test]
fn every_advertised_operation_may_be_required() {
    let mut service = Service::start();
    let payload = service.initialize();
    for chunk in strings(&payload["capabilities"]["operations"]).chunks(8) {
        service.ok(
            "initialize",
            &json!({"supported_protocol_versions": [1], "requested_capabilities": chunk}),
        );
    }
}
