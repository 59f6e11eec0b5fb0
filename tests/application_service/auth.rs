//! Who is logged in, and logouts (spec: "`auth.status`", "`auth.logout`"). Logins are `login`'s matter.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Service, code, keys, launch};
use crate::support::Place;

pub(crate) const CODEX: &str = "openai-codex";

pub(crate) fn store(place: &Place, stored: &Value) {
    fs::create_dir_all(place.mc_home()).unwrap();
    fs::write(place.mc_home().join("auth.json"), stored.to_string()).unwrap();
}

pub(crate) fn stored(place: &Place) -> Value {
    let bytes = fs::read(place.mc_home().join("auth.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// Tokens that end at a moment.
pub(crate) fn tokens(ends: &str, refresh: Value) -> Value {
    json!({"generation": 3, "oauth": {"access_token": "canary-access-0", "refresh_token": refresh,
        "account_id": "canary-account-0", "expires_at": ends}})
}

const PAST: &str = "2020-01-01T00:00:00Z";
const FUTURE: &str = "2100-01-01T00:00:00Z";

/// What is told of one provider: method, source, readiness.
fn standing(service: &mut Service, provider: &str) -> [String; 3] {
    let told = service.ok("auth.status", &json!({}));
    assert_eq!(keys(&told), ["providers"]);
    assert!(!told.to_string().contains("canary"), "{told}");
    let all = told["providers"].as_array().unwrap();
    let of: Vec<_> = all
        .iter()
        .filter(|entry| entry["provider_id"] == provider)
        .collect();
    assert_eq!(of.len(), 1, "{told}");
    let names = ["auth_method", "provider_id", "readiness", "ready", "source"];
    assert_eq!(keys(of[0]), names);
    assert_eq!(of[0]["ready"], of[0]["readiness"] == "ready");
    ["auth_method", "source", "readiness"].map(|name| of[0][name].as_str().unwrap().to_owned())
}

fn in_place(place: &Arc<Place>, environment: &[(&str, &str)]) -> Service {
    let mut launch = launch().place(place);
    for (name, value) in environment {
        launch = launch.env(name, *value);
    }
    let mut service = Service::spawn(launch);
    service.initialize();
    service
}

#[test]
fn every_provider_has_its_entry() {
    let place = Place::with_settings(&json!({"providers": {
        "mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9", "api_key_env": "MINE_KEY"},
        "free": {"api": "ollama", "base_url": "http://127.0.0.1:9"},
    }}));
    let mut service = in_place(&place, &[]);
    let told = service.ok("auth.status", &json!({}));
    let ids: Vec<_> = told["providers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["provider_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [CODEX, "anthropic", "fixture", "free", "mine"]);
    let mut told = |provider| standing(&mut service, provider);
    assert_eq!(told(CODEX), ["oauth", "shared_store", "missing"]);
    assert_eq!(told("anthropic"), ["api_key", "shared_store", "missing"]);
    assert_eq!(told("fixture"), ["none", "none", "ready"]);
    assert_eq!(told("free"), ["none", "none", "ready"]);
    assert_eq!(told("mine"), ["api_key", "environment", "missing"]);
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn readiness_follows_what_is_stored_and_the_environment() {
    let place = Place::with_settings(&json!({"providers": {
        "mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9", "api_key_env": "MINE_KEY"},
    }}));
    let mut service = in_place(&place, &[]);
    for (record, readiness) in [
        (tokens(FUTURE, json!(null)), "ready"),
        (tokens(PAST, json!("canary-refresh-0")), "ready"),
        (tokens(PAST, json!(null)), "needs_login"),
        (tokens(PAST, json!("")), "needs_login"),
        (json!({"generation": 1}), "missing"),
        (json!({"generation": 1, "api_key": "canary-key"}), "missing"),
    ] {
        store(&place, &json!({"providers": {CODEX: record}}));
        let told = standing(&mut service, CODEX);
        assert_eq!(told, ["oauth", "shared_store", readiness], "{record}");
    }
    let mut ended = tokens(FUTURE, json!("canary-refresh-0"));
    ended["oauth"]["needs_login"] = json!(true);
    store(&place, &json!({"providers": {CODEX: ended}}));
    assert_eq!(standing(&mut service, CODEX)[2], "needs_login");
    for (key, readiness) in [
        ("canary-key", "ready"),
        ("  ", "missing"),
        ("a\nb", "missing"),
    ] {
        store(
            &place,
            &json!({"providers": {"anthropic": {"api_key": key}}}),
        );
        let told = standing(&mut service, "anthropic");
        assert_eq!(told, ["api_key", "shared_store", readiness], "{key:?}");
    }
    assert_eq!(service.finish().code, Some(0));
    // The environment comes before the store where it holds something.
    store(
        &place,
        &json!({"providers": {"anthropic": {"api_key": "canary-key"}}}),
    );
    for (value, source) in [
        ("canary-env", "environment"),
        ("", "shared_store"),
        (" ", "shared_store"),
    ] {
        let mut service = in_place(&place, &[("ANTHROPIC_API_KEY", value), ("MINE_KEY", value)]);
        assert_eq!(
            standing(&mut service, "anthropic"),
            ["api_key", source, "ready"]
        );
        let readiness = if source == "environment" {
            "ready"
        } else {
            "missing"
        };
        assert_eq!(
            standing(&mut service, "mine"),
            ["api_key", "environment", readiness]
        );
        assert_eq!(service.finish().code, Some(0));
    }
}

#[test]
fn status_reads_only_and_answers_in_fixed_words_when_it_cannot() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    store(
        &place,
        &json!({"providers": {CODEX: tokens(PAST, json!("canary-refresh-0"))}}),
    );
    let before = fs::metadata(place.mc_home().join("auth.json")).unwrap();
    assert_eq!(standing(&mut service, CODEX)[2], "ready");
    let after = fs::metadata(place.mc_home().join("auth.json")).unwrap();
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec())
    );
    let mut messages = Vec::new();
    for broken in [
        "canary",
        "[]",
        "{\"providers\":[]}",
        "{\"version\":2}",
        "{\"providers\":{\"openai-codex\":{\"oauth\":{\"access_token\":7}}}}",
        "{\"providers\":{\"else\":\"canary\"}}",
    ] {
        fs::write(place.mc_home().join("auth.json"), broken).unwrap();
        let refused = service.call("auth.status", &json!({}));
        assert_eq!(code(&refused), "internal_error", "{broken}");
        messages.push(refused["error"]["message"].to_string());
        let logout = json!({"provider_id": CODEX, "confirmed": true});
        let start = json!({"provider_id": CODEX});
        // What stands under one provider alone keeps no logout from removing it.
        let is_whole = broken.contains("else") || broken.contains("access_token");
        if !is_whole {
            assert_eq!(
                service.code("auth.logout", &logout),
                "internal_error",
                "{broken}"
            );
            assert_eq!(
                service.code("auth.login.start", &start),
                "internal_error",
                "{broken}"
            );
        }
        // What nobody can read is not written over.
        let left = fs::read_to_string(place.mc_home().join("auth.json")).unwrap();
        assert_eq!(left, broken);
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(!messages[0].contains("auth.json") && !messages[0].contains("canary"));
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn providers_are_those_of_the_start() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    let custom =
        json!({"providers": {"late": {"api": "ollama", "base_url": "http://127.0.0.1:9"}}});
    place.write_settings(&custom);
    let told = service.ok("auth.status", &json!({}));
    assert_eq!(told["providers"].as_array().unwrap().len(), 3, "{told}");
    let logout = json!({"provider_id": "late", "confirmed": true});
    assert_eq!(service.code("auth.logout", &logout), "provider_unavailable");
    assert_eq!(service.finish().code, Some(0));
    let mut service = Service::ready_in(&place);
    assert_eq!(standing(&mut service, "late"), ["none", "none", "ready"]);
    assert_eq!(service.finish().code, Some(0));
    // Settings that can't be read leave the built-in ones.
    fs::write(place.mc_home().join("settings.json"), "{").unwrap();
    let mut service = Service::ready_in(&place);
    let told = service.ok("auth.status", &json!({}));
    assert_eq!(told["providers"].as_array().unwrap().len(), 3, "{told}");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn nobody_is_sent_to_another_issuer_than_the_settings_mean() {
    let start = json!({"provider_id": CODEX});
    for hidden in [
        r#"{"providers":{"openai-codex":{"issuer_url":"http://127.0.0.1:9"}}"#,
        r#"{"providers":{"openai-codex":{"issuer_url":5}}}"#,
        r#"{"providers":{"openai-codex":5}}"#,
        r#"{"providers":5}"#,
        r#"{"providers":{"openai-codex":{"issuer_url":"ftp://x"}}}"#,
        r#"{"providers":{"openai-codex":{"issuer_url":"http://h/?a=b"}}}"#,
    ] {
        let place = Place::new();
        fs::create_dir_all(place.mc_home()).unwrap();
        fs::write(place.mc_home().join("settings.json"), hidden).unwrap();
        let mut service = Service::ready_in(&place);
        assert_eq!(
            service.code("auth.login.start", &start),
            "internal_error",
            "{hidden}"
        );
        assert_eq!(service.finish().code, Some(0));
    }
    // A mistake elsewhere leaves the issuer what it is.
    let place = Place::with_settings(&json!({"fast": 5, "providers": {
        CODEX: {"issuer_url": "http://127.0.0.1:9", "models": 5}}}));
    let mut service = Service::ready_in(&place);
    let started = service.ok("auth.login.start", &start);
    let page = service.event();
    let url = page["payload"]["url"].as_str().unwrap();
    assert!(
        url.starts_with("http://127.0.0.1:9/oauth/authorize?"),
        "{url}"
    );
    service.ok(
        "auth.login.cancel",
        &json!({"login_id": started["login_id"]}),
    );
    while service.event()["event"] != "auth.login.terminal" {}
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn what_is_ready_is_the_same_wherever_it_is_asked() {
    let ready = |service: &mut Service| {
        let told = service.ok("status", &json!({}));
        told["provider_auth_ready"].as_bool().unwrap()
    };
    for (value, is_ready) in [("canary-key", true), ("a\nb", false), ("cl\u{e9}", false)] {
        let place = Place::with_settings(&json!({"provider": "anthropic", "model": "m"}));
        let mut service = in_place(&place, &[("ANTHROPIC_API_KEY", value)]);
        let told = standing(&mut service, "anthropic");
        let readiness = if is_ready { "ready" } else { "missing" };
        assert_eq!(told, ["api_key", "environment", readiness], "{value:?}");
        assert_eq!(ready(&mut service), is_ready, "{value:?}");
        assert_eq!(service.finish().code, Some(0));
    }
    for (access, is_ready) in [
        ("canary", true),
        ("can\nary", false),
        ("t\u{f6}k", false),
        (" ", false),
    ] {
        let place = Place::with_settings(&json!({"provider": CODEX, "model": "m"}));
        let mut record = tokens(FUTURE, json!("canary-refresh-0"));
        record["oauth"]["access_token"] = json!(access);
        store(&place, &json!({"providers": {CODEX: record}}));
        let mut service = in_place(&place, &[]);
        let readiness = if is_ready { "ready" } else { "needs_login" };
        assert_eq!(standing(&mut service, CODEX)[2], readiness, "{access:?}");
        assert_eq!(ready(&mut service), is_ready, "{access:?}");
        assert_eq!(service.finish().code, Some(0));
    }
    // No login goes where a project says.
    let place = Place::new();
    let work = place.work().canonicalize().unwrap();
    place.write_settings(&json!({"provider": CODEX, "model": "m",
        "projects": {work.to_str().unwrap(): {"trusted": true}}}));
    fs::create_dir_all(work.join(".magi-code")).unwrap();
    let own = json!({"providers": {CODEX: {"base_url": "http://127.0.0.1:9"}}});
    fs::write(work.join(".magi-code/settings.json"), own.to_string()).unwrap();
    store(
        &place,
        &json!({"providers": {CODEX: tokens(FUTURE, json!("canary-refresh-0"))}}),
    );
    let mut service = in_place(&place, &[]);
    assert_eq!(
        standing(&mut service, CODEX),
        ["oauth", "shared_store", "missing"]
    );
    assert!(!ready(&mut service));
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn no_provider_is_named_whose_id_looks_like_a_secret() {
    let id = format!("sk{}abcdefghijklmnopqrstuvwxyz0123", "-");
    let place = Place::with_settings(&json!({"providers": {
        id: {"api": "ollama", "base_url": "http://127.0.0.1:9"},
        "mine": {"api": "ollama", "base_url": "http://127.0.0.1:9"}}}));
    let mut service = Service::ready_in(&place);
    let told = service.ok("auth.status", &json!({}));
    assert_eq!(told["providers"].as_array().unwrap().len(), 4, "{told}");
    assert!(!told.to_string().contains("sk-"), "{told}");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn an_answer_names_no_more_than_a_record_may() {
    let entry = json!({"api": "ollama", "base_url": "http://127.0.0.1:9"});
    let many: serde_json::Map<_, _> = (0..100)
        .map(|n| (format!("mine-{n:03}"), entry.clone()))
        .collect();
    let settings = |selected| json!({"providers": many, "provider": selected, "model": "m"});
    let place = Place::with_settings(&settings("mine-000"));
    let mut service = Service::ready_in(&place);
    for (selected, last) in [
        ("mine-000", "mine-060"),
        ("mine-060", "mine-060"),
        ("mine-061", "mine-061"),
        ("mine-099", "mine-099"),
        // One that can't be told changes nothing.
        ("gone", "mine-060"),
    ] {
        place.write_settings(&settings(selected));
        let told = service.ok("auth.status", &json!({}));
        let ids: Vec<_> = (told["providers"].as_array().unwrap().iter())
            .map(|provider| provider["provider_id"].as_str().unwrap())
            .collect();
        assert_eq!((ids.len(), ids[0]), (64, CODEX), "{selected}");
        assert_eq!((ids[3], ids[63]), ("mine-000", last), "{selected}");
    }
    let logout = json!({"provider_id": "mine-099", "confirmed": true});
    assert_eq!(service.ok("auth.logout", &logout)["removed"], false);
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn auth_requests_are_strict() {
    let calls = [
        ("auth.status", json!({})),
        ("auth.login.start", json!({"provider_id": CODEX})),
        (
            "auth.login.callback",
            json!({"login_id": "l", "input": "x"}),
        ),
        ("auth.login.cancel", json!({"login_id": "l"})),
        (
            "auth.logout",
            json!({"provider_id": CODEX, "confirmed": true}),
        ),
    ];
    let mut service = Service::start();
    for (method, payload) in &calls {
        assert_eq!(service.code(method, payload), "not_initialized", "{method}");
    }
    service.initialize();
    for (method, payload) in &calls {
        let on_session = service.call_on(Some("s-1"), method, payload);
        assert_eq!(code(&on_session), "invalid_request", "{method}");
        let mut more = payload.clone();
        more["more"] = json!(1);
        assert_eq!(service.code(method, &more), "invalid_payload", "{method}");
        if method != &"auth.status" {
            assert_eq!(
                service.code(method, &json!({})),
                "invalid_payload",
                "{method}"
            );
        }
    }
    for (method, payload, expected) in [
        (
            "auth.login.start",
            json!({"provider_id": "anthropic"}),
            "provider_unavailable",
        ),
        (
            "auth.login.start",
            json!({"provider_id": "fixture"}),
            "provider_unavailable",
        ),
        (
            "auth.login.start",
            json!({"provider_id": "nobody"}),
            "provider_unavailable",
        ),
        (
            "auth.login.start",
            json!({"provider_id": null}),
            "invalid_payload",
        ),
        (
            "auth.login.callback",
            json!({"login_id": "l", "input": "x"}),
            "unknown_login",
        ),
        (
            "auth.login.callback",
            json!({"login_id": "l", "input": ""}),
            "invalid_payload",
        ),
        (
            "auth.login.callback",
            json!({"login_id": "l", "input": "x".repeat(4096)}),
            "unknown_login",
        ),
        (
            "auth.login.callback",
            json!({"login_id": "l", "input": "x".repeat(4097)}),
            "invalid_payload",
        ),
        (
            "auth.login.callback",
            json!({"login_id": "l".repeat(129), "input": "x"}),
            "limit_exceeded",
        ),
        (
            "auth.login.cancel",
            json!({"login_id": "l"}),
            "unknown_login",
        ),
        (
            "auth.login.cancel",
            json!({"login_id": "l".repeat(129)}),
            "limit_exceeded",
        ),
        (
            "auth.logout",
            json!({"provider_id": CODEX}),
            "confirmation_required",
        ),
        (
            "auth.logout",
            json!({"provider_id": CODEX, "confirmed": false}),
            "confirmation_required",
        ),
        (
            "auth.logout",
            json!({"provider_id": CODEX, "confirmed": null}),
            "invalid_payload",
        ),
        (
            "auth.logout",
            json!({"provider_id": CODEX, "confirmed": "yes"}),
            "invalid_payload",
        ),
        (
            "auth.logout",
            json!({"provider_id": "nobody", "confirmed": true}),
            "provider_unavailable",
        ),
    ] {
        assert_eq!(
            service.code(method, &payload),
            expected,
            "{method} {payload}"
        );
    }
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn logout_removes_one_record_and_nothing_else() {
    let place = Place::new();
    let other = json!({"generation": 9, "api_key": "canary-key", "own": {"of": "somebody"}});
    let unknown = json!({"anything": [1, 2]});
    store(
        &place,
        &json!({"version": 1, "mine": "kept", "mcp_servers": {"m": {"t": "canary-mcp"}}, "providers": {
        CODEX: tokens(FUTURE, json!("canary-refresh-0")), "anthropic": other, "unknown": unknown}}),
    );
    let mut service = in_place(&place, &[("ANTHROPIC_API_KEY", "canary-env")]);
    let logout = |service: &mut Service, provider: &str| {
        let payload = json!({"provider_id": provider, "confirmed": true});
        let told = service.ok("auth.logout", &payload);
        assert_eq!(
            keys(&told),
            ["environment_unchanged", "provider_id", "removed", "status"]
        );
        assert_eq!(told["provider_id"], provider);
        assert_eq!(
            (&told["status"], &told["environment_unchanged"]),
            (&json!("logged_out"), &json!(true))
        );
        told["removed"].as_bool().unwrap()
    };
    assert!(logout(&mut service, CODEX));
    let after = stored(&place);
    assert_eq!(after["providers"][CODEX], json!({"generation": 4}));
    assert_eq!(after["providers"]["anthropic"], other);
    assert_eq!(after["providers"]["unknown"], unknown);
    assert_eq!(
        (&after["mine"], &after["mcp_servers"]["m"]["t"]),
        (&json!("kept"), &json!("canary-mcp"))
    );
    let mode = fs::metadata(place.mc_home().join("auth.json")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    assert_eq!(standing(&mut service, CODEX)[2], "missing");
    // The generation advances though nothing is there.
    assert!(!logout(&mut service, CODEX));
    assert_eq!(stored(&place)["providers"][CODEX], json!({"generation": 5}));
    // What the environment holds is ready all the same.
    assert!(logout(&mut service, "anthropic"));
    assert_eq!(
        standing(&mut service, "anthropic"),
        ["api_key", "environment", "ready"]
    );
    assert!(!logout(&mut service, "fixture"));
    assert_eq!(service.finish().code, Some(0));
}
