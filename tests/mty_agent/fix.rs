//! `fix`: previews, writes, the session's memory, and what cannot be fixed (spec: "fix", "Interactive state";
//! toolchain digest, sections 3.1 to 3.3).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::Place;
use crate::wire::*;

const BAD: &str = "fn main() {\n  let n = 10_\n  log(n)\n}\n";
const GOOD: &str = "fn main() {\n  let n = 10\n  log(n)\n}\n";
const DIFF: &str = "--- a/a.mty\n+++ b/a.mty\n@@ -1,4 +1,4 @@\n fn main() {\n-  let n = 10_\n+  let n = 10\n   log(n)\n }\n";

fn place(text: &str) -> Arc<Place> {
    let place = Place::new();
    place.write_file("a.mty", text);
    place
}

fn agent(place: &Arc<Place>) -> Agent {
    Agent::spawn(launch(&[]).place(place))
}

fn read(place: &Place) -> String {
    std::fs::read_to_string(place.work().join("a.mty")).unwrap()
}

fn fix(more: &Value) -> String {
    let mut request = json!({"op": "fix", "path": "a.mty", "code": "MT0006"});
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request.to_string()
}

fn result(ok: bool, applied: bool, diff_len: usize) -> String {
    format!(r#"{{"kind":"result","op":"fix","ok":{ok},"applied":{applied},"diff_len":{diff_len}}}"#)
}

#[test]
fn preview_dry_run_and_write_are_byte_exact() {
    let place = place(BAD);
    let mut agent = agent(&place);
    let diff = serde_json::to_string(DIFF).unwrap();
    let new = serde_json::to_string(GOOD).unwrap();
    let preview = agent.ask(fix(&json!({})));
    let line = format!(r#"{{"kind":"patch","applied":false,"diff":{diff}}}"#);
    assert_eq!(
        preview.lines,
        [line, result(true, false, DIFF.len()), DONE_0.into()]
    );
    // Whoever asks to see only, sees only.
    for more in [
        json!({"dry_run": true}),
        json!({"dry_run": true, "write": true}),
    ] {
        let dry = agent.ask(fix(&more));
        let line =
            format!(r#"{{"kind":"patch","applied":false,"diff":{diff},"new_content":{new}}}"#);
        let result = result(true, false, DIFF.len());
        assert_eq!(dry.lines, [line, result, DONE_0.into()]);
        assert_eq!(read(&place), BAD);
    }
    let written = agent.ask(fix(&json!({"write": true})));
    let line = format!(r#"{{"kind":"patch","applied":true,"diff":{diff},"new_content":{new}}}"#);
    assert_eq!(
        written.lines,
        [line, result(true, true, DIFF.len()), DONE_0.into()]
    );
    assert_eq!(read(&place), GOOD);
    assert_eq!(agent.ask(r#"{"op":"check","path":"a.mty"}"#).exit_code(), 0);
}

#[test]
fn a_session_remembers_its_path_and_notices_changes() {
    let place = place(BAD);
    let mut agent = agent(&place);
    let pathless = r#"{"op":"fix","code":"mt0006","write":true}"#;
    assert!(agent.ask(pathless).protocol_error().starts_with("no path"));
    assert_eq!(agent.ask(r#"{"op":"check","path":"a.mty"}"#).exit_code(), 1);
    // The file moved on since: the fix is made for what is there now.
    place.write_file("a.mty", &format!("// new\n\n{BAD}"));
    let exchange = agent.ask(pathless);
    assert_eq!(exchange.exit_code(), 0, "{:?}", exchange.lines);
    assert_eq!(read(&place), format!("// new\n\n{GOOD}"));
    // Another session knows nothing of it.
    let mut other = Agent::spawn(launch(&[]).place(&place));
    assert!(other.ask(pathless).protocol_error().starts_with("no path"));
}

#[test]
fn crlf_files_stay_crlf_and_diffs_are_lf() {
    let place = place(&BAD.replace('\n', "\r\n"));
    let exchange = agent(&place).ask(fix(&json!({"write": true})));
    let patch = json(&exchange.lines[0]);
    assert_eq!(patch["diff"], DIFF);
    assert_eq!(patch["new_content"], GOOD.replace('\n', "\r\n"));
    assert_eq!(read(&place), GOOD.replace('\n', "\r\n"));
}

#[test]
fn alternatives_are_chosen_by_number() {
    let text =
        "enum Hue { Red, Blue }\nfn f(h: Hue) -> I32 {\n  match h {\n    Hue.Red => 0\n  }\n}\n";
    let place = place(text);
    let mut agent = agent(&place);
    let mut with = |n: usize| {
        agent.ask(
            json!({"op": "fix", "path": "a.mty", "code": "MT2015", "alternative": n}).to_string(),
        )
    };
    let diffs: Vec<Value> = (0..2)
        .map(|n| json(&with(n).lines[0])["diff"].clone())
        .collect();
    assert!(
        diffs[0]
            .as_str()
            .unwrap()
            .contains("+    Hue.Blue => panic(\"todo\")\n")
    );
    assert!(
        diffs[1]
            .as_str()
            .unwrap()
            .contains("+    _ => panic(\"todo\")\n")
    );
    let beyond = with(2);
    assert_eq!(
        beyond.errors(),
        ["no alternative 2: MT2015 has 2, counted from 0"]
    );
    assert_eq!(beyond.lines[1], result(false, false, 0));
    assert_eq!(beyond.exit_code(), 1);
    assert_eq!(read(&place), text);
}

#[test]
fn what_cannot_be_fixed_says_which() {
    let place = place("fn f() -> I32 { 6 * }\n");
    let mut agent = agent(&place);
    for (more, why) in [
        (json!({}), "no MT0006 in a.mty"),
        (json!({"code": "MT0011"}), "no fix for MT0011 in a.mty"),
        (json!({"code": "gibberish"}), "no gibberish in a.mty"),
        (json!({"path": "none.mty"}), "path not found: none.mty"),
    ] {
        let exchange = agent.ask(fix(&more));
        assert_eq!(exchange.errors(), [why]);
        assert_eq!(
            exchange.lines[1..],
            [
                result(false, false, 0),
                r#"{"kind":"done","exit_code":1}"#.into()
            ]
        );
    }
    for (more, key) in [
        (json!({"alternative": -1}), "alternative"),
        (json!({"write": "yes"}), "write"),
        (json!({"code": null}), "code"),
    ] {
        assert!(agent.ask(fix(&more)).protocol_error().contains(key));
    }
    agent.assert_alive();
}

#[test]
fn a_recorded_session_replays() {
    let place = place(BAD);
    let record = place.work().join("session.ndjson");
    let path = record.to_str().unwrap();
    let mut agent = Agent::spawn(launch(&["--record", path]).place(&place));
    agent.ask(r#"{"op":"check","path":"a.mty"}"#);
    agent.ask(r#"{"op":"fix","code":"MT0006","dry_run":true}"#);
    agent.finish();
    let (_, exit) = run(launch(&["--replay", path]).place(&place), "");
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}
