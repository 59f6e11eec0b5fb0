//! Turns of real models: the wires over HTTP, with a model server on the loopback, and whether a login is ready.
//! What each wire sends and reads is tested in `magi-ops/provider`, whole requests in `tests/providers`.

use serde_json::{Value, json};

use crate::client::{Service, launch};
use crate::server::{Answer, Model};
use crate::support::Place;

fn spoken(events: &[Value]) -> Answer {
    Answer::events(events)
}

#[test]
fn turns_of_the_responses_api_and_of_gemini() {
    let responses = spoken(&[
        json!({"type": "response.reasoning_summary_text.done", "output_index": 0, "text": "Thought about it."}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Hello, "}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "world."}),
        json!({"type": "response.completed", "response": {"status": "completed",
            "usage": {"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}}}),
    ]);
    let gemini = spoken(&[
        json!({"candidates": [{"content": {"parts": [{"text": "Thought about it.", "thought": true}]}}]}),
        json!({"candidates": [{"content": {"parts": [{"text": "Hello, world."}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5, "cachedContentTokenCount": 4}}),
    ]);
    for (api, name, answer) in [
        ("openai-responses", "gpt-5", responses),
        ("gemini", "gemini-2.5-flash", gemini),
    ] {
        let model = Model::answering(vec![answer]);
        let place = Place::with_settings(&json!({"provider": "mine", "model": name, "providers": {
            "mine": {"api": api, "base_url": model.base(), "api_key_env": "GATEWAY_KEY"}}}));
        let key = "canary-key-0123456789";
        let mut service = Service::spawn(launch().place(&place).env("GATEWAY_KEY", key));
        service.initialize();
        let turn = service.hold(None, "Say hello.");
        assert_eq!(
            (turn.status(), turn.text()),
            ("completed", "Hello, world."),
            "{api}"
        );
        let shown = format!("{:?}", turn.events);
        assert!(!shown.contains("canary"), "{api}");
        // A summary that the provider made for display is one.
        assert!(shown.contains("Thought about it."), "{api} {shown}");
        let usage = turn
            .events
            .iter()
            .find(|event| event["payload"]["kind"] == "usage");
        assert!(usage.is_some() || shown.contains("usage"), "{api} {shown}");
        assert_eq!(service.finish().code, Some(0));
        model.asked();
    }
}

#[test]
fn a_login_is_ready_while_it_can_be_refreshed() {
    let place = Place::with_settings(&json!({"provider": "openai-codex", "model": "gpt-5"}));
    let mut service = Service::ready_in(&place);
    let stored = |oauth: Value| json!({"version": 1, "providers": {"openai-codex": {"generation": 1, "oauth": oauth}}});
    let ended = "2020-01-01T00:00:00Z";
    for (oauth, ready) in [
        (
            json!({"access_token": "a", "expires_at": "2100-01-01T00:00:00Z"}),
            true,
        ),
        (json!({"access_token": "a", "expires_at": ended}), false),
        (
            json!({"access_token": "a", "refresh_token": "r", "expires_at": ended}),
            true,
        ),
        (
            json!({"access_token": "a", "refresh_token": "r", "expires_at": ended, "needs_login": true}),
            false,
        ),
    ] {
        std::fs::write(
            place.mc_home().join("auth.json"),
            stored(oauth.clone()).to_string(),
        )
        .unwrap();
        let status = service.ok("status", &json!({}));
        assert_eq!(status["provider_auth_ready"], json!(ready), "{oauth}");
    }
    std::fs::write(place.mc_home().join("auth.json"), "{\"providers\":[]}").unwrap();
    assert_eq!(service.code("status", &json!({})), "internal_error");
    std::fs::remove_file(place.mc_home().join("auth.json")).unwrap();
    let status = service.ok("status", &json!({}));
    assert_eq!(status["provider_auth_ready"], json!(false));
    assert_eq!(service.finish().code, Some(0));
}
