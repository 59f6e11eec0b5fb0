//! Runs the client that was written from the reference page of local-agent and nothing else.

use std::process::Command;

use serde_json::{Value, json};

use crate::MAGI_CODE;
use crate::support::Place;

#[test]
fn a_client_written_from_the_page_alone_works() {
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "python3 is part of this check"
        );
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: there is no python3");
        }
        return;
    }
    let place = Place::new();
    place.write_file("README.md", "# Hello\n");
    let script = place.root().join("script.json");
    let turns = json!({"turns": [
        {"steps": [
            {"text": "Let me look. ", "chunks": 3}, {"tool": "read", "input": {"path": "README.md"}},
            {"tool": "write", "input": {"path": "yes.txt", "content": "1"}},
            {"tool": "write", "input": {"path": "no.txt", "content": "2"}},
            {"repeat": 5000, "text": "Grüße. "},
        ]},
        {"steps": [{"text": "Half of "}, {"wait_ms": 600_000}, {"text": "it"}]},
    ]});
    std::fs::write(&script, turns.to_string()).unwrap();
    place.write_settings(&json!({
        "providers": {"fixture": {"script": script}},
        "permissions": {"write": "ask"},
    }));
    let out = Command::new("python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/clients/from_the_page.py"
        ))
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
    let seen: Value = serde_json::from_slice(&out.stdout).unwrap();
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
