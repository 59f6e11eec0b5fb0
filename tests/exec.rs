//! `magi-code exec` as a script sees it: its two outputs and its exit status. Only the built binary is used.
#![cfg(all(
    feature = "exec",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    unix
))]
#![allow(clippy::unwrap_used)]

mod person;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use person::{Person, turn};
use serde_json::{Value, json};

/// Each line of what was put out as JSON.
fn lines(out: &str) -> Vec<Value> {
    let lines = out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_text_of_the_last_response_and_nothing_else_is_put_out() {
    let person = Person::with(&turn(&json!([
        {"text": "Let me look."},
        {"tool": "read", "input": {"path": "README.md"}},
        {"text": "It is\nall \u{1b}[31mfine.", "chunks": 3},
    ])));
    let ran = person.run(&["exec", "hi"], "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "It is\nall fine.\n");
    // A response without a word is the last one all the same.
    let person = Person::with(&turn(&json!([
        {"text": "Let me look."},
        {"tool": "read", "input": {"path": "README.md"}},
        {"usage": {"input": 1, "output": 0}},
    ])));
    let ran = person.run(&["exec", "hi"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
}

#[test]
fn a_turn_that_fails_puts_out_nothing_and_says_why() {
    let person = Person::with(&turn(&json!([{"text": "Begun"}, {"error": "overloaded"}])));
    let ran = person.run(&["exec", "hi"], "");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.contains("magi-code exec: turn failed ("),
        "{}",
        ran.err
    );
    let ran = person.run(&["exec", "--json", "hi"], "");
    let last = lines(&ran.out).pop().unwrap();
    assert_eq!(ran.code, 1);
    assert_eq!(
        (&last["outcome"], &last["exit_status"]),
        (&json!("failed"), &json!(1))
    );
    assert_eq!(last["text"], "");
}

#[test]
fn a_start_that_fails_is_a_failure_with_its_reasons() {
    let person = Person::told("x");
    std::fs::write(person.at("mc/settings.json"), "{").unwrap();
    for args in [&["exec", "hi"][..], &["exec", "--json", "hi"]] {
        let ran = person.run(args, "");
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains("configuration_invalid"), "{}", ran.err);
        assert!(ran.err.contains("settings.json"), "{}", ran.err);
        match args.len() {
            2 => assert_eq!(ran.out, ""),
            _ => assert_eq!(lines(&ran.out).pop().unwrap()["outcome"], "failed"),
        }
    }
    assert!(person.sessions().is_empty());
}

#[test]
fn every_event_is_a_line_and_the_last_has_the_outcome() {
    let person = Person::with(&turn(&json!([
        {"text": "One"},
        {"usage": {"input": 100, "output": 7}},
        {"tool": "read", "input": {"path": "README.md"}},
        {"text": "two"},
        {"usage": {"input": 120, "output": 8}},
    ])));
    let ran = person.run(&["exec", "--json", "hi"], "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines = lines(&ran.out);
    let names: Vec<_> = lines
        .iter()
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    assert_eq!(names[..2], ["session", "input.persisted"]);
    assert!(
        names.contains(&"activity") && names.contains(&"message.reconcile"),
        "{names:?}"
    );
    let last = lines.last().unwrap();
    assert_eq!(last["event"], "run.finished");
    assert_eq!(last["outcome"], "completed");
    assert_eq!(last["text"], "two");
    assert_eq!(last["exit_status"], 0);
    assert_eq!(last["tokens"], json!({"input": 220, "output": 15}));
    assert_eq!(json!(person.sessions()), json!([lines[0]["session_id"]]));
    assert!(
        lines[..lines.len() - 1]
            .iter()
            .all(|line| line.get("outcome").is_none())
    );
}

#[test]
fn a_session_goes_on_under_its_id() {
    let person = Person::with(&json!({"turns": [
        {"steps": [{"text": "first"}]},
        {"steps": [{"text": "second"}]},
    ]}));
    assert_eq!(person.run(&["exec", "a"], "").out, "first\n");
    let sessions = person.sessions();
    let ran = person.run(&["exec", "--session", &sessions[0], "b"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "second\n"), "{}", ran.err);
    assert_eq!(person.sessions(), sessions);
    for (id, why) in [("nothing", "session_missing"), ("../x", "session")] {
        let ran = person.run(&["exec", "--session", id, "b"], "");
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    assert_eq!(person.sessions(), sessions);
}

#[test]
fn a_turn_ends_where_it_would_need_more_responses_than_it_may_have() {
    let steps = json!([
        {"text": "One"}, {"tool": "read", "input": {"path": "README.md"}},
        {"text": "Two"}, {"tool": "glob", "input": {"pattern": "*"}},
        {"text": "Three"},
    ]);
    let person = Person::with(&turn(&steps));
    for (most, code, out) in [
        ("1", 3, ""),
        ("2", 3, ""),
        ("3", 0, "Three\n"),
        ("9", 0, "Three\n"),
    ] {
        let ran = person.run(&["exec", "--max-turns", most, "hi"], "");
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (code, out),
            "{most}: {}",
            ran.err
        );
    }
    let ran = person.run(&["exec", "--json", "--max-turns", "2", "hi"], "");
    let lines = lines(&ran.out);
    assert_eq!(
        (ran.code, &lines.last().unwrap()["exit_status"]),
        (3, &json!(3))
    );
    let texts = lines
        .iter()
        .filter(|line| line["event"] == "message.reconcile");
    let texts: Vec<_> = texts.map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["One", "Two"]);
}

#[test]
fn what_would_ask_is_denied() {
    let person = Person::with(&turn(&json!([
        {"tool": "bash", "input": {"command": "touch made"}},
        {"text": "Done."},
    ])));
    let ran = person.run(&["exec", "hi"], "y\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"));
    assert!(
        ran.err
            .contains("denied, since nobody is asked: bash: touch made"),
        "{}",
        ran.err
    );
    assert!(!person.at("work/made").exists());
    person.set(&json!({"permissions": {"bash": {"default": "ask", "allow": ["touch"]}}}));
    let ran = person.run(&["exec", "hi"], "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(person.at("work/made").exists());
}

#[test]
fn wrong_use_is_told_before_anything_is_made() {
    let person = Person::told("x");
    let long = "x".repeat(16_385);
    for (args, why) in [
        (&["exec", ""][..], "the prompt is blank"),
        (&["exec", &long], "the prompt has 16385 bytes"),
        (&["exec", "--max-turns", "0", "hi"], "--max-turns"),
        (&["exec", "--cwd", "nowhere", "hi"], "nowhere"),
        (&["exec"], "PROMPT"),
    ] {
        let ran = person.run(args, "");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains(why), "{args:?}: {}", ran.err);
    }
    assert!(person.sessions().is_empty());
    // The prompt from standard input, which is read to its end.
    let ran = person.run(&["exec", "-"], "from a pipe\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "x\n"), "{}", ran.err);
}

#[test]
fn an_input_that_nobody_closes_is_not_waited_for() {
    let person = Person::told("x");
    let mut child = person.command(&["exec", "hi"]).spawn().unwrap();
    let held = child.stdin.take();
    let mut out = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(out, "x\n");
    drop(held);
}

#[test]
fn an_interrupt_cancels_the_turn() {
    let person = Person::with(&turn(&json!([{"text": "Slow"}, {"wait_ms": 600_000}])));
    let mut child = person
        .command(&["exec", "--json", "hi"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("message.delta") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the turn ended");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last = lines(&rest).pop().unwrap();
    assert_eq!(
        (&last["outcome"], &last["exit_status"]),
        (&json!("cancelled"), &json!(130))
    );
}

#[test]
fn a_model_is_chosen_for_the_run_also_in_a_session_that_had_another() {
    let person = Person::told("x");
    person.set(
        &json!({"providers": {"own": {"api": "openai-chat", "base_url": "http://127.0.0.1:9/v1"}}}),
    );
    assert_eq!(person.run(&["exec", "a"], "").code, 0);
    let session = person.sessions().pop().unwrap();
    for args in [
        &["exec", "--json", "--model", "own/vendor/big", "b"][..],
        &[
            "exec",
            "--json",
            "--model",
            "own/vendor/big",
            "--session",
            &session,
            "b",
        ],
    ] {
        let ran = person.run(args, "");
        let lines = lines(&ran.out);
        assert_eq!(ran.code, 1, "nobody listens there");
        let error = &lines.last().unwrap()["error_code"];
        assert_eq!(error, "provider_unavailable", "{}", ran.out);
    }
}
