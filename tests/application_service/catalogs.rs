//! `catalog.providers`, `catalog.models` and `catalog.refresh` (spec: "Provider and model catalogs"), with a model server on
//! the loopback. How each kind of server is asked is tested in `magi-ops/provider`.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Service, code, keys, launch, record, request, version_1};
use crate::server::{Answer, Model};
use crate::support::Place;

const KEY: &str = "canary-key-0123456789";

fn listing(models: &Value) -> Answer {
    Answer::raw("application/json", json!({ "data": models }).to_string())
}

/// Two models, so that nobody looks for the properties of a single one.
fn two() -> Answer {
    listing(&json!([{"id": "b", "name": "Model B", "context_length": 7}, {"id": "a"}]))
}

fn settings(base: &str) -> Value {
    json!({"providers": {"mine": {"api": "openai-chat", "base_url": base, "api_key_env": "GATEWAY_KEY"}}})
}

fn service(place: &Arc<Place>) -> Service {
    let mut service = Service::spawn(launch().place(place).env("GATEWAY_KEY", KEY));
    service.initialize();
    service
}

fn kept(place: &Arc<Place>) -> PathBuf {
    place.mc_home().join("catalog/mine.json")
}

fn models(service: &mut Service, provider: &str) -> Value {
    service.ok("catalog.models", &json!({"provider_id": provider}))
}

fn refresh(service: &mut Service) -> Value {
    service.call("catalog.refresh", &json!({"provider_id": "mine"}))
}

fn ids(page: &Value) -> Vec<&str> {
    let entries = page["entries"].as_array().unwrap();
    let ids = entries.iter().map(|entry| entry["model_id"].as_str());
    ids.map(Option::unwrap).collect()
}

#[test]
fn providers_are_the_built_in_ones_and_those_that_are_configured() {
    let place = Place::with_settings(&json!({"providers": {
        "zeta": {"api": "ollama"},
        "anthropic": {"base_url": "http://127.0.0.1:9"},
        "alpha": {"api": "openai-chat", "base_url": "http://127.0.0.1:9"},
        "not shown": {"api": "ollama"},
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789": {"api": "ollama"},
    }}));
    let mut service = Service::ready_in(&place);
    let page = service.ok("catalog.providers", &json!({}));
    assert_eq!(keys(&page), ["entries", "next_offset", "refresh"]);
    assert_eq!(
        (&page["next_offset"], &page["refresh"]),
        (&Value::Null, &json!("cache_only"))
    );
    let all = ["alpha", "anthropic", "fixture", "openai-codex", "zeta"];
    let entries = all.map(|id| json!({"provider_id": id, "label": id}));
    assert_eq!(page["entries"], json!(entries));
    // Page by page the same.
    let mut paged = Vec::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let page = service.ok("catalog.providers", &json!({"offset": offset, "limit": 2}));
        paged.extend(page["entries"].as_array().unwrap().clone());
        offset = page["next_offset"].clone();
    }
    assert_eq!(json!(paged), page["entries"]);
    // What is configured later is there later.
    place.write_settings(&json!({"providers": {}}));
    let page = service.ok("catalog.providers", &json!({"offset": 0, "limit": 32}));
    assert_eq!(page["entries"].as_array().unwrap().len(), 3);
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn payloads_and_pages_are_bounded() {
    let mut service = Service::ready();
    for (method, provider) in [
        ("catalog.providers", None),
        ("catalog.models", Some("fixture")),
    ] {
        let payload = |more: Value| {
            let mut payload = more;
            if let Some(provider) = provider {
                payload["provider_id"] = json!(provider);
            }
            payload
        };
        for (more, expected) in [
            (json!({"limit": 0}), "invalid_payload"),
            (json!({"limit": -1}), "invalid_payload"),
            (json!({"limit": null}), "invalid_payload"),
            (json!({"limit": "1"}), "invalid_payload"),
            (json!({"limit": 1.5}), "invalid_payload"),
            (json!({"limit": 33}), "limit_exceeded"),
            (json!({"offset": -1}), "invalid_payload"),
            (json!({"offset": null}), "invalid_payload"),
            (json!({"offset": 100_001}), "limit_exceeded"),
            (json!({"force": true}), "invalid_payload"),
        ] {
            assert_eq!(
                service.code(method, &payload(more.clone())),
                expected,
                "{method} {more}"
            );
        }
        let page = service.ok(method, &payload(json!({"offset": 100_000, "limit": 1})));
        assert_eq!(
            (&page["entries"], &page["next_offset"]),
            (&json!([]), &Value::Null)
        );
        let mut on_session = request("on-session", method, &payload(json!({})));
        on_session["session_id"] = json!("s-1");
        assert_eq!(code(&service.exchange(&on_session)), "invalid_request");
    }
    let long = "x".repeat(257);
    for method in ["catalog.models", "catalog.refresh"] {
        assert_eq!(service.code(method, &json!({})), "invalid_payload");
        assert_eq!(
            service.code(method, &json!({"provider_id": 7})),
            "invalid_payload"
        );
        for id in [
            "",
            "a b",
            "../x y",
            "unknown",
            &*long,
            "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
        ] {
            assert_eq!(
                service.code(method, &json!({"provider_id": id})),
                "invalid_selection",
                "{id}"
            );
        }
    }
    for more in ["offset", "force"] {
        let payload = json!({"provider_id": "fixture", more: 1});
        assert_eq!(service.code("catalog.refresh", &payload), "invalid_payload");
    }
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn the_offline_provider_has_its_one_model_and_needs_no_refresh() {
    let mut service = Service::ready();
    let page = models(&mut service, "fixture");
    assert_eq!(keys(&page), ["entries", "next_offset", "refresh", "state"]);
    assert_eq!(page["state"], "fresh_cache");
    let all = ["default", "low", "medium", "high", "x_high", "max"];
    assert_eq!(
        page["entries"],
        json!([{"provider_id": "fixture", "model_id": "fixture-model", "label": "fixture-model", "available": true,
            "context_window": null, "max_output_tokens": null, "available_thinking_levels": all}])
    );
    let refreshed = service.ok("catalog.refresh", &json!({"provider_id": "fixture"}));
    assert_eq!(
        refreshed,
        json!({"provider_id": "fixture", "state": "fresh_cache"})
    );
    // Nobody was ever asked for others.
    for provider in ["anthropic", "openai-codex"] {
        let page = models(&mut service, provider);
        assert_eq!(
            (&page["state"], &page["entries"]),
            (&json!("unavailable"), &json!([]))
        );
    }
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn a_refresh_makes_a_catalog_that_later_processes_read_without_asking() {
    let model = Model::answering(vec![listing(&json!([
        {"id": "claude-sonnet-4-5", "name": "Sonnet\u{1b}[31m\n 4.5", "context_window": 1_000_000},
        {"id": "plain"},
        {"id": "plain", "name": "again"},
        {"id": "not shown"},
        {"id": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"},
        {"id": "off", "disabled": true, "supported_reasoning_levels": ["high"]},
    ]))]);
    let place = Place::with_settings(&settings(&format!("{}/v1", model.base())));
    let mut first = service(&place);
    assert_eq!(models(&mut first, "mine")["state"], "unavailable");
    let refreshed = first.ok("catalog.refresh", &json!({"provider_id": "mine"}));
    assert_eq!(
        refreshed,
        json!({"provider_id": "mine", "state": "fresh_cache"})
    );
    let asked = model.asked();
    assert_eq!(asked.line, "GET /v1/models");
    assert_eq!(
        asked.header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );
    assert_eq!(first.finish().code, Some(0));

    let mut second = service(&place);
    let page = models(&mut second, "mine");
    assert_eq!(ids(&page), ["claude-sonnet-4-5", "plain", "off"]);
    assert_eq!(
        page["entries"][0],
        json!({"provider_id": "mine", "model_id": "claude-sonnet-4-5", "label": "Sonnet 4.5", "available": true,
            "context_window": 1_000_000, "max_output_tokens": 64_000,
            "available_thinking_levels": ["default", "low", "medium", "high"]})
    );
    assert_eq!(page["entries"][1]["label"], "plain");
    let off = &page["entries"][2];
    assert_eq!(
        (&off["available"], &off["context_window"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(off["available_thinking_levels"], json!(["default", "high"]));
    model.saw_nothing_more();
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(kept(&place)).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // Another server is another catalog.
    place.write_settings(&settings("http://127.0.0.1:9/v1"));
    let page = models(&mut second, "mine");
    assert_eq!(
        (&page["state"], &page["entries"]),
        (&json!("unavailable"), &json!([]))
    );
    assert_eq!(second.finish().code, Some(0));
}

/// Makes what is kept a day older.
fn age(place: &Arc<Place>) {
    let text = fs::read_to_string(kept(place)).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    document["expires_at"] = json!("2020-01-01T00:00:00Z");
    fs::write(kept(place), document.to_string()).unwrap();
}

#[test]
fn a_refused_or_broken_answer_leaves_what_was_known() {
    let tagged = Answer {
        content_type: "application/json\r\netag: \"7\"".into(),
        ..two()
    };
    let model = Model::answering(vec![
        Answer::refusal(500, "{}"),
        tagged,
        Answer::refusal(401, r#"{"error":{"message":"no"}}"#),
        Answer::raw("text/html", "<html>"),
        listing(&json!([])),
        Answer::refusal(302, ""),
        Answer::refusal(304, ""),
    ]);
    let place = Place::with_settings(&settings(&model.base()));
    let mut service = service(&place);
    // Nothing was known.
    assert_eq!(code(&refresh(&mut service)), "catalog_refresh_failed");
    assert_eq!(models(&mut service, "mine")["state"], "unavailable");
    assert_eq!(refresh(&mut service)["payload"]["state"], "fresh_cache");
    let before = models(&mut service, "mine");
    assert_eq!(
        (ids(&before), &before["state"]),
        (vec!["b", "a"], &json!("fresh_cache"))
    );
    // It still holds, so only the error tells.
    assert_eq!(code(&refresh(&mut service)), "catalog_refresh_failed");
    assert_eq!(models(&mut service, "mine"), before);
    // It does not hold any more, and the state tells.
    age(&place);
    for _ in 0..3 {
        assert_eq!(refresh(&mut service)["payload"]["state"], "stale");
        let stale = models(&mut service, "mine");
        assert_eq!(
            (ids(&stale), &stale["state"]),
            (vec!["b", "a"], &json!("stale"))
        );
        let entries = stale["entries"].as_array().unwrap();
        assert!(entries.iter().all(|entry| entry["available"] == false));
    }
    for _ in 0..6 {
        model.asked();
    }
    // Unchanged: it holds again.
    assert_eq!(refresh(&mut service)["payload"]["state"], "fresh_cache");
    assert_eq!(models(&mut service, "mine"), before);
    assert_eq!(model.asked().header("if-none-match"), Some("\"7\""));
    // Nobody answers at all.
    drop(model);
    assert_eq!(code(&refresh(&mut service)), "catalog_refresh_failed");
    // What cannot be read is nothing.
    for broken in ["", "{", "[]", "{\"version\":1}", "null"] {
        fs::write(kept(&place), broken).unwrap();
        let page = models(&mut service, "mine");
        assert_eq!(
            (&page["state"], &page["entries"]),
            (&json!("unavailable"), &json!([])),
            "{broken}"
        );
    }
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn listed_models_are_offered_without_a_server() {
    let place = Place::with_settings(&json!({"providers": {"mine": {
        "api": "openai-chat", "base_url": "http://127.0.0.1:9/v1",
        "models": ["x", {"id": "y", "context_window": 9, "max_output_tokens": 5, "thinking_levels": ["max"]}, "x"],
    }}}));
    let mut service = Service::ready_in(&place);
    let page = models(&mut service, "mine");
    assert_eq!(
        (ids(&page), &page["state"]),
        (vec!["x", "y"], &json!("fresh_cache"))
    );
    let y = &page["entries"][1];
    assert_eq!(
        (&y["context_window"], &y["max_output_tokens"]),
        (&json!(9), &json!(5))
    );
    assert_eq!(y["available_thinking_levels"], json!(["default", "max"]));
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn pages_of_the_longest_entries_fit_a_payload() {
    let provider = "p".repeat(256);
    let id = |n: usize| format!("{}{n:02}", "m".repeat(254));
    let all: Vec<_> = (0..70)
        .map(|n| json!({"id": id(n), "name": "\"".repeat(63) + "q", "context_length": 9_007_199_254_740_991_u64,
            "max_output_tokens": 9_007_199_254_740_991_u64}))
        .collect();
    let model = Model::answering(vec![listing(&json!(all))]);
    let place = Place::with_settings(
        &json!({"providers": {&provider: {"api": "openai-responses", "base_url": model.base()}}}),
    );
    let mut service = Service::ready_in(&place);
    service.ok("catalog.refresh", &json!({"provider_id": provider}));
    let (mut seen, mut offset, mut pages) = (Vec::new(), json!(0), 0);
    while !offset.is_null() {
        let page = service.ok(
            "catalog.models",
            &json!({"provider_id": provider, "offset": offset}),
        );
        assert!(page.to_string().len() <= 32_768);
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        offset = page["next_offset"].clone();
        pages += 1;
    }
    assert_eq!(seen, (0..70).map(id).collect::<Vec<_>>());
    assert!(pages < 10, "{pages}");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn one_worker_serves_while_turns_go_on_and_the_end_waits_for_it() {
    let late = |seconds| Answer {
        late: Duration::from_secs(seconds),
        ..two()
    };
    let model = Model::answering(vec![late(3), late(2)]);
    let place = Place::with_settings(&settings(&model.base()));
    let mut service = service(&place);
    let ask = request("slow", "catalog.refresh", &json!({"provider_id": "mine"}));
    service.server.send_json(&ask);
    model.asked();
    for (method, payload) in [
        ("catalog.models", json!({"provider_id": "fixture"})),
        ("catalog.providers", json!({})),
        ("catalog.refresh", json!({"provider_id": "fixture"})),
    ] {
        assert_eq!(service.code(method, &payload), "configuration_busy");
    }
    // The id stays reserved, and everything else is served.
    assert_eq!(code(&service.exchange(&ask)), "duplicate_request_id");
    service.ok("status", &json!({}));
    let turn = service.hold(None, "Say hello.");
    assert_eq!(turn.status(), "completed");
    let response = service.recv();
    assert_eq!(
        (&response["request_id"], &response["payload"]["state"]),
        (&json!("slow"), &json!("fresh_cache"))
    );
    assert_eq!(models(&mut service, "mine")["state"], "fresh_cache");

    // The end lets the work come to its own.
    fs::remove_file(kept(&place)).unwrap();
    service.server.send_json(&ask);
    model.asked();
    service.server.close_stdin();
    let response = service.recv();
    assert_eq!(
        (&response["request_id"], &response["payload"]["state"]),
        (&json!("slow"), &json!("fresh_cache"))
    );
    assert!(service.server.rest().is_empty());
    assert_eq!(service.server.wait_exit().code, Some(0));
    assert!(kept(&place).exists());
}

#[test]
fn the_end_waits_for_a_refresh_longer_than_for_anything_else() {
    let late = |seconds| Answer {
        late: Duration::from_secs(seconds),
        ..two()
    };
    let ask = request("slow", "catalog.refresh", &json!({"provider_id": "mine"}));
    // Longer than what is pending is drained otherwise.
    let model = Model::answering(vec![late(12)]);
    let place = Place::with_settings(&settings(&model.base()));
    let mut asked = service(&place);
    asked.server.send_json(&ask);
    model.asked();
    asked.server.close_stdin();
    let response = asked.recv();
    assert_eq!(response["payload"]["state"], "fresh_cache", "{response}");
    assert_eq!(asked.server.wait_exit().code, Some(0));
    assert!(kept(&place).exists());

    // Nobody is there to be answered, and what was asked for is kept all the same.
    let model = Model::answering(vec![late(5)]);
    let place = Place::with_settings(&settings(&model.base()));
    let launch = launch().place(&place).env("GATEWAY_KEY", KEY).stalled();
    let mut asked = Service::spawn(launch);
    let mut bytes = record("i", "initialize", &version_1());
    bytes.extend(record(
        "slow",
        "catalog.refresh",
        &json!({"provider_id": "mine"}),
    ));
    asked.server.send(bytes);
    model.asked();
    drop(asked.server.take_stdout());
    assert_eq!(asked.server.wait_exit().code, Some(1));
    assert!(kept(&place).exists());
}

#[test]
fn nothing_private_gets_out_whatever_a_server_says() {
    let path = "tenant-canary-path";
    let secret = "sk-ant-api03-canarycanarycanarycanary0123456789AbCd";
    let everywhere = json!([
        {"id": format!("m-{KEY}"), "name": KEY},
        {"id": "m", "name": format!("called {KEY}"), "description": KEY, "pricing": {"prompt": "0.1234567"}},
        {"id": secret, "name": "x"},
        {"id": "n", "name": format!("n {secret}"), "owned_by": KEY},
    ]);
    let tagged = Answer {
        content_type: format!("application/json\r\nx-key: {KEY}").into(),
        ..listing(&everywhere)
    };
    let refusal =
        json!({"error": {"message": format!("the key {KEY} at {path} is refused, use {secret}")}});
    let model = Model::answering(vec![
        Answer::refusal(401, &refusal.to_string()),
        tagged,
        Answer::refusal(400, &refusal.to_string()),
        Answer::raw("text/plain", format!("{KEY} {secret}")),
    ]);
    let place = Place::with_settings(&settings(&format!(
        "{}/{path}?tenant=canary-query",
        model.base()
    )));
    let launched = launch()
        .place(&place)
        .env("GATEWAY_KEY", KEY)
        .env("MC_LOG", "trace");
    let mut service = Service::spawn(launched);
    service.initialize();
    let mut shown = String::new();
    for state in [None, Some("fresh_cache"), None, None] {
        let response = refresh(&mut service);
        assert_eq!(response["payload"]["state"].as_str(), state, "{response}");
        shown += &response.to_string();
        shown += &models(&mut service, "mine").to_string();
        shown += &service.ok("catalog.providers", &json!({})).to_string();
    }
    assert_eq!(ids(&models(&mut service, "mine")), ["m", "n"]);
    let exit = service.finish();
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
    for private in [
        "canary",
        "GATEWAY_KEY",
        "127.0.0.1",
        "0.1234567",
        "pricing",
        "description",
    ] {
        assert!(!shown.contains(private), "{private}: {shown}");
    }
    // Neither what is kept nor the log has a secret.
    let mut files = vec![kept(&place)];
    for log in fs::read_dir(place.mc_home().join("logs")).unwrap() {
        files.push(log.unwrap().path());
    }
    assert!(files.len() > 1);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for secret in [KEY, secret] {
            assert!(!text.contains(secret), "{}", file.display());
        }
    }
}

#[test]
fn unreadable_settings_are_configuration_unavailable() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    fs::write(place.mc_home().join("settings.json"), "{").unwrap();
    for (method, payload) in [
        ("catalog.providers", json!({})),
        ("catalog.models", json!({"provider_id": "fixture"})),
        ("catalog.refresh", json!({"provider_id": "fixture"})),
    ] {
        assert_eq!(service.code(method, &payload), "configuration_unavailable");
    }
    fs::remove_file(place.mc_home().join("settings.json")).unwrap();
    service.ok("catalog.providers", &json!({}));
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn a_turn_takes_its_bounds_and_its_level_from_a_fresh_catalog() {
    let spoken = || {
        Answer::events(&[
            json!({"choices": [{"delta": {"content": "Hello."}, "finish_reason": "stop"}]}),
        ])
    };
    let told = listing(&json!([{"id": "m", "supported_reasoning_levels": ["high"]}, {"id": "n"}]));
    let model = Model::answering(vec![spoken(), told, spoken()]);
    let mut settings = settings(&model.base());
    settings["provider"] = json!("mine");
    settings["model"] = json!("m");
    settings["thinking_level"] = json!("low");
    let place = Place::with_settings(&settings);
    let mut service = service(&place);
    assert_eq!(service.hold(None, "Say hello.").status(), "completed");
    assert_eq!(model.asked().body["reasoning_effort"], "low");
    assert_eq!(refresh(&mut service)["payload"]["state"], "fresh_cache");
    model.asked();
    assert_eq!(service.hold(None, "Say hello.").status(), "completed");
    assert_eq!(model.asked().body["reasoning_effort"], "high");
    assert_eq!(service.finish().code, Some(0));
}
