//! `status`, `capabilities`, and methods that do not exist (spec: "Operations").
//! Sessions, turns, authentication, catalogs and configuration come with their own modules.

use serde_json::{Value, json};

use crate::client::{Service, code, keys, launch, request, version_1};
use crate::support::Place;

fn ready(service: &mut Service) -> bool {
    let payload = service.ok("status", &json!({}));
    assert_eq!(keys(&payload), ["provider_auth_ready", "service"]);
    assert_eq!(payload["service"], "ready");
    payload["provider_auth_ready"].as_bool().expect("a boolean")
}

/// Settings of a custom provider whose key stands in an environment variable.
fn keyed_provider(variable: &str) -> Value {
    json!({
        "provider": "gateway", "model": "m-1",
        "providers": {"gateway": {
            "api": "openai-chat", "base_url": "http://127.0.0.1:9", "api_key_env": variable, "models": ["m-1"],
        }},
    })
}

#[test]
fn status_has_the_documented_shape() {
    let mut service = Service::ready();
    let response = service.call("status", &json!({}));
    assert_eq!(
        keys(&response["payload"]),
        ["provider_auth_ready", "service"]
    );
    assert_eq!(response["payload"]["service"], "ready");
    assert!(response["payload"]["provider_auth_ready"].is_boolean());
}

#[test]
fn offline_provider_is_ready() {
    // Nothing is configured: the offline provider needs no credential.
    assert!(ready(&mut Service::ready()));
}

#[test]
fn missing_credentials_are_not_ready() {
    let place = Place::with_settings(&keyed_provider("GATEWAY_TEST_KEY"));
    assert!(!ready(&mut Service::ready_in(&place)));
    let mut service = Service::spawn(launch().place(&place).env("GATEWAY_TEST_KEY", ""));
    service.initialize();
    assert!(!ready(&mut service), "an empty key is no key");
}

#[test]
fn present_credentials_of_a_real_provider_are_ready() {
    let anthropic = json!({"provider": "anthropic", "model": "claude-sonnet-4-5"});
    for (settings, variable) in [
        (keyed_provider("GATEWAY_TEST_KEY"), "GATEWAY_TEST_KEY"),
        (anthropic, "ANTHROPIC_API_KEY"),
    ] {
        let place = Place::with_settings(&settings);
        // Nobody is asked whether the key is good.
        let mut service = Service::spawn(launch().place(&place).env(variable, "any-key"));
        service.initialize();
        assert!(ready(&mut service), "{variable}");
    }
}

#[test]
fn unknown_provider_is_not_ready() {
    let place = Place::with_settings(&json!({"provider": "no-such-provider", "model": "m"}));
    assert!(!ready(&mut Service::ready_in(&place)));
}

#[test]
fn status_follows_settings_without_restart() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    assert!(ready(&mut service));
    place.write_settings(&keyed_provider("GATEWAY_TEST_KEY"));
    assert!(
        !ready(&mut service),
        "the selection at startup does not count"
    );
    place.write_settings(&json!({"provider": "fixture", "model": "fixture-model"}));
    assert!(ready(&mut service));
}

#[test]
fn unreadable_credentials_are_internal_error() {
    const CANARY: &str = "canary-88bb";
    let place = Place::with_settings(&json!({"provider": "anthropic"}));
    let mut service = Service::ready_in(&place);
    assert!(!ready(&mut service), "no credentials are no error");
    let auth = place.mc_home().join("auth.json");
    for broken in [
        format!("{{{CANARY}"),
        format!("[\"{CANARY}\"]"),
        String::new(),
    ] {
        std::fs::write(&auth, broken).unwrap();
        let refused = service.call("status", &json!({}));
        assert_eq!(code(&refused), "internal_error");
        assert!(!refused.to_string().contains(CANARY));
    }
    std::fs::remove_file(&auth).unwrap();
    std::fs::create_dir(&auth).unwrap();
    assert_eq!(code(&service.call("status", &json!({}))), "internal_error");
    std::fs::remove_dir(&auth).unwrap();
    std::fs::write(&auth, "{}").unwrap();
    assert!(!ready(&mut service));
}

#[test]
fn unreadable_settings_are_internal_error() {
    const CANARY: &str = "canary-77aa";
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    ready(&mut service);
    std::fs::create_dir_all(place.mc_home()).unwrap();
    let settings = place.mc_home().join("settings.json");
    std::fs::write(&settings, format!("{{\"provider\": {CANARY}")).unwrap();
    let first = service.call("status", &json!({}));
    assert_eq!(code(&first), "internal_error");
    let text = first.to_string();
    for secret in [CANARY, "settings", place.home().to_str().unwrap()] {
        assert!(!text.contains(secret), "{text}");
    }
    // Another cause, the same fixed message.
    std::fs::remove_file(&settings).unwrap();
    std::fs::create_dir(&settings).unwrap();
    let second = service.call("status", &json!({}));
    assert_eq!(second["error"], first["error"]);
    std::fs::remove_dir(&settings).unwrap();
    ready(&mut service);
}

#[test]
fn status_discloses_nothing() {
    let place = Place::with_settings(&keyed_provider("GATEWAY_TEST_KEY"));
    let mut service = Service::spawn(
        launch()
            .place(&place)
            .env("GATEWAY_TEST_KEY", "secret-k-12345"),
    );
    service.initialize();
    let text = service.call("status", &json!({})).to_string();
    for secret in [
        "gateway",
        "secret-k",
        "GATEWAY_TEST_KEY",
        "127.0.0.1",
        "m-1",
        place.home().to_str().unwrap(),
    ] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn status_writes_nothing() {
    let place = Place::with_settings(
        &json!({"provider": "fixture", "model": "fixture-model", "mine": {"kept": 1}}),
    );
    let settings = place.mc_home().join("settings.json");
    let before = std::fs::read(&settings).unwrap();
    let mut service = Service::ready_in(&place);
    for _ in 0..3 {
        ready(&mut service);
    }
    assert_eq!(std::fs::read(&settings).unwrap(), before);
    assert!(!place.mc_home().join("auth.json").exists());
}

#[test]
fn status_and_capabilities_take_only_an_empty_object() {
    let mut service = Service::ready();
    for method in ["status", "capabilities"] {
        for payload in [
            json!({"x": 1}),
            json!({"": null}),
            json!([]),
            json!(null),
            json!(""),
        ] {
            assert_eq!(
                service.code(method, &payload),
                "invalid_payload",
                "{method} {payload}"
            );
        }
        service.ok(method, &json!({}));
    }
}

#[test]
fn capabilities_equals_what_initialize_told() {
    let mut service = Service::start();
    let initialized = service.initialize();
    let capabilities = service.ok("capabilities", &json!({}));
    assert_eq!(
        keys(&capabilities),
        [
            "activity",
            "events",
            "limits",
            "operations",
            "protocol_versions",
            "transports"
        ]
    );
    assert_eq!(capabilities, initialized["capabilities"]);
}

#[test]
fn every_advertised_operation_is_known() {
    let mut service = Service::ready();
    let capabilities = service.ok("capabilities", &json!({}));
    for name in capabilities["operations"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        // An unknown payload field is refused by the method itself: the name was found.
        let unknown = json!({"no such field": 1});
        let mut refused = service.code(name, &unknown);
        if refused == "invalid_request" {
            // It demands the envelope's session first.
            refused = service.code_on("opaque-session-1", name, &unknown);
        }
        assert_eq!(refused, "invalid_payload", "{name}");
    }
}

#[test]
fn unknown_method_is_unsupported_operation() {
    let mut service = Service::start();
    for initialized in [false, true] {
        if initialized {
            service.ok("initialize", &version_1());
        }
        for method in [
            "no.such",
            "Status",
            "status.",
            "session.delete",
            "approval.respond",
            "turn.steer",
            "shutdown",
            "turn.activity",
        ] {
            let response = service.exchange(&request("u", method, &json!({})));
            assert_eq!(code(&response), "unsupported_operation", "{method}");
            assert_eq!(
                (&response["request_id"], &response["method"]),
                (&json!("u"), &json!(method))
            );
        }
    }
}
