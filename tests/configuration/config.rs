//! `magi-code config`: what a person sees and changes, by the rules of `config.set`.

use std::fs;
use std::process::Output;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::Place;
use crate::{magi_code, text};

fn place() -> Arc<Place> {
    Place::with_settings(&json!({"providers": {
        "mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9/v1", "models": [
            "plain", {"id": "org/levels", "thinking_levels": ["low", "high"]},
        ]},
        "single": {"api": "ollama", "models": ["one"]},
    }}))
}

fn config(place: &Place, args: &[&str]) -> Output {
    magi_code(place, &[&["config"], args].concat(), &[])
}

fn told(place: &Place, args: &[&str]) -> String {
    let done = config(place, args);
    assert_eq!(
        done.status.code(),
        Some(0),
        "{args:?}: {}",
        text(&done.stderr)
    );
    text(&done.stdout)
}

fn refused(place: &Place, args: &[&str], status: i32) -> String {
    let before = fs::read(place.mc_home().join("settings.json")).unwrap();
    let done = config(place, args);
    assert_eq!(
        done.status.code(),
        Some(status),
        "{args:?}: {}",
        text(&done.stdout)
    );
    assert_eq!(
        fs::read(place.mc_home().join("settings.json")).unwrap(),
        before
    );
    text(&done.stderr)
}

#[test]
fn a_person_selects_by_keys_and_sees_what_it_comes_to() {
    let place = place();
    let now = "provider        fixture\nmodel           fixture-model\nthinking_level  default\nfast            false\n";
    assert_eq!(told(&place, &[]), now);
    assert_eq!(told(&place, &["get"]), now);
    // A model's name may have a slash of its own.
    told(&place, &["set", "model", "mine/org/levels"]);
    assert_eq!(told(&place, &["get", "provider"]), "mine\n");
    assert_eq!(told(&place, &["get", "model"]), "org/levels\n");
    told(&place, &["set", "thinking_level", "high"]);
    told(&place, &["set", "model", "plain"]);
    assert_eq!(told(&place, &["get", "thinking_level"]), "default\n");
    told(&place, &["set", "model", "org/levels"]);
    told(&place, &["set", "provider", "single"]);
    assert_eq!(told(&place, &["get", "model"]), "one\n");
    assert!(told(&place, &["set", "fast", "true"]).contains("fast            true\n"));
    // A project of its own, and what stands above.
    told(
        &place,
        &["set", "model", "mine/plain", "--scope", "project"],
    );
    let project = fs::read(place.work().join(".magi-code/settings.json")).unwrap();
    let project: Value = serde_json::from_slice(&project).unwrap();
    let pinned = json!({"provider": "mine", "model": "plain", "thinking_level": "default"});
    assert_eq!(project, pinned);
    let masked = config(&place, &["set", "model", "fixture/fixture-model"]);
    assert_eq!(masked.status.code(), Some(0));
    assert!(text(&masked.stderr).contains("does not count here"));
    assert_eq!(told(&place, &["get", "model"]), "plain\n");
}

#[test]
fn what_is_refused_says_what_to_do_and_changes_nothing() {
    let place = place();
    for (args, status, says) in [
        (
            &["set", "model", "nothing"][..],
            1,
            "magi-code models fixture",
        ),
        (
            &["set", "model", "anthropic/claude-opus-4-5"],
            1,
            "magi-code models --refresh anthropic",
        ),
        (
            &["set", "provider", "anthropic"],
            1,
            "magi-code models --refresh anthropic",
        ),
        (
            &["set", "provider", "nobody"],
            1,
            "no provider is called `nobody`",
        ),
        (
            &["set", "provider", "mine"],
            1,
            "magi-code config set model mine/MODEL",
        ),
        (
            &["set", "fast", "true", "--scope", "project"],
            1,
            "--scope global",
        ),
        (
            &["set", "thinking_level", "highest"],
            2,
            "one of default, low",
        ),
        (&["set", "fast", "yes"], 2, "true or false"),
        (&["set", "colour", "red"], 2, "colour"),
        (&["set", "fast", "true", "--scope", "moon"], 2, "moon"),
        (&["set", "model"], 2, "VALUE"),
    ] {
        let why = refused(&place, args, status);
        assert!(why.contains(says), "{args:?}: {why}");
    }
    fs::write(place.mc_home().join("settings.json"), "{\n  \"fast\": 1\n}").unwrap();
    for args in [&["get"][..], &["set", "fast", "true"]] {
        let why = refused(&place, args, 1);
        assert!(why.contains("settings.json:2:"), "{why}");
    }
}
