//! What must not be shown, secret or not: commands to a terminal, characters that hide or turn the direction of writing.
//! In everything that both dialects show of a session (spec: local-agent, "no ANSI styling", "sanitize all projections";
//! application-service, "Titles are optional, sanitized").

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::clients::{self, Client};
use crate::shown::Shown;
use crate::support::Place;

/// With what is hidden in it, and what stays.
const TEXT: &str = "\u{1b}[1;31mOne\u{1b}[0m t\u{202e}w\u{2066}o\u{2069} th\u{200b}r\u{ad}ee \
    \u{1b}]8;;http://evil\u{1b}\\fo\u{200f}ur\u{1b}]8;;\u{7} \u{9b}31mfi\u{61c}ve\u{2028}👩\u{200d}💻";
const SHOWN: &str = "One two three four five\n👩\u{200d}💻";
/// Nothing of these is shown raw.
const RAW: &[&str] = &[
    "\u{1b}", "\u{9b}", "\u{202e}", "\u{2066}", "\u{2069}", "\u{200b}", "\u{200f}", "\u{ad}",
    "\u{61c}", "\u{2028}", "\u{7}",
];
/// What a sequence would leave behind. Where a tool's input is shown, its characters may be spelled out.
const REST: &[&str] = &["[1;31m", "[0m", "31m", "evil"];

fn check(shown: &Shown, hidden: &[&str]) {
    for hidden in hidden {
        assert!(!shown.holds(hidden), "{hidden:?} in {shown:?}");
    }
}

fn hold<C: Client>() {
    let pieces: Vec<Value> = TEXT
        .chars()
        .map(|c| json!({"text": c.to_string()}))
        .chain([json!({"text": " end"})])
        .collect();
    let whole = json!([
        {"reasoning": TEXT, "provider_summary": true},
        {"text": TEXT},
    ]);
    let tools = json!([
        {"tool": "read", "input": {"path": TEXT}},
        {"tool": TEXT, "input": {}},
        {"tool": "grep", "input": {"pattern": format!("(({TEXT}")}},
        {"text": "ok"},
    ]);
    let place = Place::with_script(
        &json!({"turns": [{"steps": whole}, {"steps": pieces}, {"steps": tools}]}),
    );
    let mut child = C::ready(&place);
    for _ in 0..2 {
        let shown = child.turn(TEXT);
        check(&shown, RAW);
        check(&shown, REST);
        assert!(shown.holds(SHOWN), "{shown:?}");
    }
    check(&child.turn("go"), RAW);
    let kept = child.kept();
    check(&kept, RAW);
    assert!(kept.holds(SHOWN), "{kept:?}");
    child.end();
}

#[test]
fn in_a_session_of_local_agent() {
    hold::<clients::LocalAgent>();
}

#[cfg(feature = "application-service")]
#[test]
fn in_a_session_of_application_service() {
    hold::<clients::Service>();
}

#[test]
fn in_names_of_models_and_providers() {
    for name in ["m\u{202e}x", "m\u{200b}x", "m\u{1b}[31mx", "m\u{2028}x"] {
        for settings in [
            json!({"model": name, "providers": {"fixture": {"models": [name]}}}),
            json!({"provider": name, "model": "m"}),
        ] {
            let place = Place::with_settings(&settings);
            let mut agent = Agent::spawn(launch().place(&place));
            let frame = agent.call("initialize", json!({"required_capabilities": []}));
            let shown = Shown::of_value(&frame);
            check(&shown, RAW);
            assert!(!shown.holds(name), "{frame}");
            agent.end();
        }
    }
}

#[test]
fn in_what_a_person_is_asked_to_allow() {
    let steps =
        json!([{"tool": "bash", "input": {"command": format!("echo '{TEXT}'")}}, {"text": "ok"}]);
    let place = Place::with_script(&json!({"turns": [{ "steps": steps }]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.begin(&session, "go");
    let event = loop {
        let event = agent.event();
        check(&Shown::of_value(&event), RAW);
        if event["event"] == "approval.requested" {
            break event;
        }
    };
    let mut answer = event["data"].clone();
    let members = answer.as_object_mut().unwrap();
    members.retain(|key, _| key.ends_with("_id"));
    answer["allow"] = json!(false);
    agent.ok("approval.answer", answer);
    agent.end();
}
