//! Runs the clients that were written from the reference pages of the two magi dialects and nothing else.

use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::MAGI_CODE;
use crate::support::Place;

/// A place where `turns` are played and `write` asks.
fn place(turns: &Value) -> Arc<Place> {
    let place = Place::new();
    place.write_file("README.md", "# Hello\n");
    let script = place.root().join("script.json");
    std::fs::write(&script, json!({"turns": turns}).to_string()).unwrap();
    place.write_settings(&json!({
        "providers": {"fixture": {"script": script}},
        "permissions": {"write": "ask"},
    }));
    place
}

/// What the client of a dialect saw; nothing where no Python is and none has to be.
fn seen(dialect: &str, place: &Place) -> Option<Value> {
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "python3 is part of this check"
        );
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: there is no python3");
        }
        return None;
    }
    let root = env!("CARGO_MANIFEST_DIR");
    let out = Command::new("python3")
        .arg(format!("{root}/tests/clients/{dialect}_from_the_page.py"))
        .arg(MAGI_CODE)
        .current_dir(place.work())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HOME", place.home())
        .env("MC_HOME", place.mc_home())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
    Some(serde_json::from_slice(&out.stdout).unwrap())
}

#[test]
fn a_local_agent_client_from_the_page_alone_works() {
    let place = place(&json!([
        {"steps": [
            {"text": "Let me look. ", "chunks": 3}, {"tool": "read", "input": {"path": "README.md"}},
            {"tool": "write", "input": {"path": "yes.txt", "content": "1"}},
            {"tool": "write", "input": {"path": "no.txt", "content": "2"}},
            {"repeat": 5000, "text": "Grüße. "},
        ]},
        {"steps": [{"text": "Half of "}, {"wait_ms": 600_000}, {"text": "it"}]},
    ]));
    let Some(seen) = seen("local_agent", &place) else {
        return;
    };
    let said = format!("Let me look. |{}", "Grüße. ".repeat(5000));
    assert_eq!(seen["first"]["text"], said);
    assert_eq!(seen["first"]["outcome"], "completed");
    assert_eq!(seen["first"]["persistence"], "durable");
    assert_eq!(
        seen["first"]["tools"],
        json!([
            ["read", "completed"],
            ["write", "completed"],
            ["write", "failed"]
        ])
    );
    assert_eq!(seen["second"]["outcome"], "cancelled");
    assert_eq!(seen["second"]["text"], "Half of ");
    assert_eq!(
        seen["refusals"],
        json!(["invalid_request", "duplicate_id", "session_missing"])
    );
    // What a later child shows of the session is what the first one said.
    assert_eq!(seen["history"]["assistant"], format!("{said}|Half of "));
    assert_eq!(seen["history"]["user"], json!(["Look.", "Again."]));
    assert_eq!(seen["statuses"], json!([0, 0]));
    assert!(place.work().join("yes.txt").exists());
    assert!(!place.work().join("no.txt").exists());
}

#[test]
fn an_application_service_client_from_the_page_alone_works() {
    let place = place(&json!([
        {"steps": [
            {"text": "Let me look. ", "chunks": 3}, {"tool": "read", "input": {"path": "README.md"}},
            {"repeat": 1000, "text": "Grüße. "}, {"usage": {"input": 1, "output": 1}},
        ]},
        {"steps": [{"text": "Half of "}, {"wait_ms": 600_000}, {"text": "it"}]},
    ]));
    let Some(seen) = seen("application_service", &place) else {
        return;
    };
    let greetings = "Grüße. ".repeat(1000);
    assert_eq!(seen["refused"], "not_initialized");
    let text = format!("Let me look. {greetings}");
    assert_eq!(
        seen["first"],
        json!({"status": "completed", "text": text, "cancelled": null})
    );
    assert_eq!(
        seen["second"],
        json!({"status": "cancelled", "text": "Half of ", "cancelled": "cancellation_requested"})
    );
    assert_eq!(seen["closed"], "closed");
    assert_eq!(seen["status"], 0);
    assert_eq!(
        seen["replay"],
        json!([
            ["user", "Look."],
            ["assistant", "Let me look. "],
            ["assistant", greetings],
            ["user", "Again."],
            ["assistant", "Half of "],
        ])
    );
}
