//! Secrets never reach stdout, in whatever pieces they come (spec: "Implemented operations", "Owned
//! sessions and chat history", "Turns, approvals and events": redaction before the wire).

use serde_json::{Value, json};

use crate::client::{Agent, launch, request};
use crate::support::Place;

/// Made up, but shaped like the real ones. Assembled so that no scanner finds them in this file.
fn secrets() -> Vec<String> {
    vec![
        [
            "sk-ant-",
            "api03-",
            "Zx81Qm4LkP0vT7wYb2NcR5dHj9SgUeAf3XiOoKpMnVqWtErYuI",
        ]
        .concat(),
        ["ghp", "_", "a8Kd93LmQpR7sT2vXy5ZbC1nE4fG6hJ0wU9i"].concat(),
        [
            "sk-",
            "proj-",
            "T3BlbkFJq8Zx81Qm4LkP0vT7wYb2NcR5dHj9SgUeAf3XiOoK",
        ]
        .concat(),
        ["AKIA", "IOSFODNN7", "QWERTYU"].concat(),
    ]
}

/// Everything on stdout of one turn and the history after it.
fn conversation(steps: &Value, prompt: &str) -> String {
    let mut agent = Agent::scripted(steps);
    let session = agent.create();
    let run = agent.turn(&session, prompt);
    let (entries, _) = agent.history(&session, run.revision());
    agent.end();
    // Deltas and parts are concatenated too: a split secret is still a secret.
    let joined: String = entries
        .iter()
        .map(|entry| entry["text"].as_str().unwrap())
        .collect();
    format!(
        "{}\n{}\n{}\n{}\n{joined}",
        json!(run.events),
        run.deltas(),
        run.reconciled().concat(),
        json!(entries)
    )
}

#[test]
fn secret_in_a_reply_is_redacted() {
    for secret in secrets() {
        let seen = conversation(
            &json!([{"text": format!("The key is {secret} and that was it.")}]),
            "go",
        );
        assert!(!seen.contains(&secret), "{seen}");
        assert!(
            seen.contains("The key is ") && seen.contains(" and that was it."),
            "{seen}"
        );
    }
}

#[test]
fn secret_split_over_deltas_is_redacted() {
    for secret in secrets() {
        let text = format!("The key is {secret} and that was it.");
        for chunks in [2, 3, 7, text.len()] {
            let seen = conversation(&json!([{"text": text, "chunks": chunks}]), "go");
            assert!(!seen.contains(&secret), "{chunks} chunks: {seen}");
        }
    }
}

#[test]
fn secret_across_a_chunk_border_is_redacted() {
    for secret in secrets() {
        // Live chunks end at 4000 bytes, stored ones at 16384.
        for border in [4000, 16_384] {
            let text = format!("{} {secret} end", "word ".repeat((border - 20) / 5));
            let seen = conversation(&json!([{"text": text}]), "go");
            assert!(!seen.contains(&secret), "border {border}");
        }
    }
}

#[test]
fn secret_in_a_prompt_is_redacted() {
    for secret in secrets() {
        let seen = conversation(&json!([{"text": "ok"}]), &format!("Use {secret} please"));
        assert!(!seen.contains(&secret), "{seen}");
        assert!(seen.contains("Use ") && seen.contains(" please"), "{seen}");
    }
}

#[test]
fn secret_in_tool_input_or_result_is_redacted() {
    for secret in secrets() {
        let place = Place::with_script(&json!({"turns": [{"steps": [
            {"tool": "read", "input": {"path": "data.txt"}},
            {"tool": "read", "input": {"path": format!("absent-{secret}")}},
            {"tool": "grep", "input": {"pattern": secret}},
            {"tool": secret, "input": {}},
            {"text": "Done."}
        ]}]}));
        place.write_file("data.txt", &secret);
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        let run = agent.turn(&session, "go");
        let (entries, _) = agent.history(&session, run.revision());
        assert!(
            !json!([run.events, entries]).to_string().contains(&secret),
            "{:?}",
            run.events
        );
        agent.end();
    }
}

#[test]
fn secret_in_a_partial_reply_is_redacted() {
    for secret in secrets() {
        let half = &secret[..secret.len() - 2];
        let mut agent =
            Agent::scripted(&json!([{"text": format!("Key {half}")}, {"error": "network"}]));
        let session = agent.create();
        let run = agent.turn(&session, "go");
        let (entries, _) = agent.history(&session, run.revision());
        assert!(!json!([run.events, entries]).to_string().contains(half));
        agent.end();
    }
}

#[test]
fn secret_like_or_control_bearing_selection_is_omitted() {
    let mut names = secrets();
    names.extend([
        "model\u{7}bell".to_owned(),
        "m\u{1b}[31m".to_owned(),
        "m".repeat(257),
    ]);
    for name in names {
        let place = Place::with_settings(&json!({"provider": "fixture", "model": name}));
        let mut agent = Agent::spawn(launch().place(&place));
        let frame = agent.call("initialize", json!({"required_capabilities": []}));
        if let Some(ready) = frame.get("result") {
            assert_eq!(ready["status"]["model"], Value::Null, "{name:?}");
        }
        assert!(!frame.to_string().contains(&name));
        let status = agent.ok("status", json!({}));
        assert!(
            status["model"].is_null() || status["model"] == "fixture-model",
            "{status}"
        );
        agent.end();
    }
}

#[test]
fn environment_and_settings_secrets_are_never_returned() {
    let secret = secrets().remove(0);
    let place = Place::with_settings(&json!({
        "providers": {"custom": {"api": "openai-chat", "base_url": format!("http://127.0.0.1:9/{secret}"), "api_key_env": "CUSTOM_KEY"}}
    }));
    let mut agent = Agent::spawn(
        launch()
            .place(&place)
            .env("CUSTOM_KEY", secret.clone())
            .env("ANTHROPIC_API_KEY", secret.clone()),
    );
    let mut seen = agent.initialize().to_string();
    seen += &agent.ok("status", json!({})).to_string();
    seen += &agent.call("nope", json!({})).to_string();
    agent
        .server
        .send_json(&request("bad id", "status", &json!({"x": secret})));
    seen += &agent.frame().to_string();
    assert!(!seen.contains(&secret));
    agent.end();
}
