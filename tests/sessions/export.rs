//! What is shown and exported of a session, in every form.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::support::Place;
use crate::written::{self, ID, Written};
use crate::{command, out, refused, sessions};

#[test]
fn a_session_that_the_engine_wrote_has_times_and_costs() {
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"text": "I read it."},
        {"usage": {"input": 1000, "output": 20, "cache_read": 800}},
        {"tool": "read", "input": {"path": "a.txt"}},
        {"text": "It says hello."},
        {"usage": {"input": 1100, "output": 30}},
    ]}]}));
    fs::write(place.work().join("a.txt"), "hello from the file\n").unwrap();
    let mut agent = Agent::spawn(launch().place(&place));
    agent.initialize();
    let session = agent.create();
    agent.turn(&session, "What does a.txt say?");
    // Also while somebody is attached.
    let export: Value =
        serde_json::from_str(&out(&place, &["export", &session, "--json"])).unwrap();
    agent.end();
    let about = &export["session"];
    assert_eq!(
        (&about["turns"], &about["activities"]),
        (&json!(1), &json!(1))
    );
    let usage = &about["usage"][0];
    assert_eq!(usage["provider"], "fixture");
    assert_eq!(
        (
            &usage["requests"],
            &usage["input_tokens"],
            &usage["output_tokens"],
            &usage["cache_read_tokens"],
            &usage["usd"]
        ),
        (
            &json!(2),
            &json!(2100),
            &json!(50),
            &json!(800),
            &Value::Null
        )
    );
    let turn = &export["turns"][0];
    assert_eq!(turn["outcome"], "completed");
    let entries = turn["entries"].as_array().unwrap();
    let types: Vec<_> = entries
        .iter()
        .map(|entry| entry["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["user", "assistant", "activity", "assistant"]);
    let call = &entries[2];
    assert_eq!(
        (&call["tool"], &call["outcome"]),
        (&json!("read"), &json!("completed"))
    );
    assert!(call["took_ms"].is_u64() && call["after_ms"].is_u64());
    assert_eq!(call["input"], "path: a.txt");
    assert!(
        call["output"]
            .as_str()
            .unwrap()
            .contains("hello from the file")
    );
    assert_eq!(turn["responses"].as_array().unwrap().len(), 2);
}

#[test]
fn show_tells_a_person_what_happened() {
    let place = Place::new();
    written::rich(&place);
    // A beginning that no other id has will do.
    let text = out(&place, &["show", "2b6f"]);
    for part in [
        "The login test is flaky. Find out why.\n",
        "3 turns, 13 activities",
        "── 1 ── 14:02:11 · ",
        "> Then fix it.",
        "• read read-it: over (12 ms)",
        "✗ bash run-it: over (failed, 44.8 s)",
        "↳ subagent",
        "Two places, says the subagent.",
        "failed: provider_failed",
        "shortened from 182k to 24.1k tokens",
        "○ bash commit (without an end)",
        "interrupted",
        "≈ $",
        "👨‍👩‍👧",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for odd in ['\u{1b}', '\u{202e}', '\u{202c}', '\r'] {
        assert!(!text.contains(odd), "{odd:?}");
    }
}

#[test]
fn markdown_is_the_default_and_holds_the_conversation() {
    let place = Place::new();
    written::rich(&place);
    let text = out(&place, &["export", ID]);
    assert_eq!(text, out(&place, &["export", ID, "--markdown"]));
    for part in [
        "# The login test is flaky. Find out why.\n",
        "\n## Turn 1\n",
        "\n> The login test",
        "\n- `read read-it: over` (12 ms)\n",
        "\n- **✗** `bash run-it: over` (failed, 44.8 s)\n",
        "\n## What happens\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn html_has_everything_and_nothing_that_acts() {
    let place = Place::new();
    written::rich(&place);
    let page = out(&place, &["export", ID, "--html"]);
    for part in [
        "default-src 'none'",
        "<strong>binds to port 0</strong>",
        "id=\"t3\"",
        "Two places, says the subagent.",
        "Conversation shortened: 182k → 24.1k tokens",
        "<dt>Cost</dt><dd>≈ $0.09</dd>",
        "list prices of 2026-10-10",
        "42.3k tokens in (34.5k cached)",
        "fn login() {}",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // The words stand there, but as words.
    for bad in [
        "<script",
        "<img",
        "href=\"javascript",
        "\u{202e}",
        "\u{1b}",
        "<link",
    ] {
        assert!(!page.contains(bad), "{bad}");
    }
    assert_eq!(page.matches("</main>").count(), 1);
}

#[test]
fn secrets_are_masked_in_every_form() {
    let place = Place::new();
    let known = "kX9-very-own-value-7731";
    let like = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT".repeat(2));
    let stored = "sk-stored-4242424242424242abcd";
    let all = format!("{known} {like} {stored}");
    let mut session = Written::new("secrets", written::now());
    session
        .begin("/w", &like)
        .input(0, &all)
        .then(0, json!({"type": "reasoning", "text": all, "provider_summary": true}))
        .answer(1, &all)
        .started(1, "a", "bash", &json!({"command": all}))
        .finished(1, "a", "bash", true, &all)
        .then(1, json!({"type": "diagnostic", "code": "c", "summary": all}))
        .then(1, json!({"type": "checkpoint", "activity_id": "k", "cutoff": 1, "inputs": 1, "responses": 1, "summary": all, "tokens_before": 2, "tokens_after": 1}))
        .then(1, json!({"type": "turn_finished", "outcome": "failed", "error_code": like}));
    session.put(&place);
    place.write_settings(&json!({}));
    let auth = place.mc_home().join("auth.json");
    fs::write(
        &auth,
        json!({"version": 1, "providers": {"anthropic": {"generation": 1, "api_key": stored}}})
            .to_string(),
    )
    .unwrap();
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["show", "secrets"],
        &["export", "secrets"],
        &["export", "secrets", "--json"],
        &["export", "secrets", "--html"],
    ] {
        let ran = command(&place, args)
            .env("SHOP_API_KEY", known)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{args:?}");
        let text = String::from_utf8(ran.stdout).unwrap();
        for secret in [known, &*like, stored] {
            assert!(!text.contains(secret), "{secret} by {args:?}: {text}");
        }
    }
}

#[test]
fn what_can_not_be_read_is_told_and_the_rest_is_whole() {
    let place = Place::new();
    let mut session = Written::new("bad", 1000);
    session
        .begin("/w", "m")
        .input(0, "one")
        .answer(0, "fine")
        .ended(0, "completed");
    let text = session.text() + "nonsense\n" + &session.text();
    fs::write(written::dir(&place).join("bad.jsonl"), text).unwrap();
    let ran = sessions(&place, &["export", "bad", "--json"]);
    assert_eq!(ran.status.code(), Some(1));
    let object: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(object["whole"], false);
    assert_eq!(object["turns"][0]["entries"][1]["text"], "fine");
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(err.contains("not all of the session can be read"), "{err}");
    let ran = sessions(&place, &["export", "bad", "--html"]);
    let page = String::from_utf8(ran.stdout).unwrap();
    assert!(
        page.ends_with("</html>\n") && page.contains("can't be read"),
        "{page}"
    );
    let why = refused(&place, &["show", "none"]);
    assert!(why.contains("there is no session `none`"), "{why}");
    let why = refused(&place, &["show", "../../etc/passwd"]);
    assert!(why.contains("there is no session"), "{why}");
    written::short(&place, "bat", "/w", "x", 1);
    let why = refused(&place, &["show", "ba"]);
    assert!(
        why.contains("more sessions than one: bad, bat")
            || why.contains("more sessions than one: bat, bad"),
        "{why}"
    );
}

#[test]
fn a_long_session_is_written_as_it_is_read() {
    let place = Place::new();
    let mut session = Written::new("long", 1000);
    session.begin("/w", "m");
    let text = "word ".repeat(2000);
    for _ in 0..600 {
        session
            .input(1, "go on")
            .answer(1, &text)
            .ended(1, "completed");
    }
    session.put(&place);
    // A reader that goes away after the first bytes ends it.
    let mut child = command(&place, &["export", "long", "--html"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 15];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"<!doctype html>");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(
        ended.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let page = out(&place, &["export", "long", "--html"]);
    assert!(page.contains("id=\"t600\"") && page.len() > 6_000_000);
    // The list of turns has an end.
    assert!(page.contains("href=\"#t500\"><span>") && !page.contains("href=\"#t501\"><span>"));
}
