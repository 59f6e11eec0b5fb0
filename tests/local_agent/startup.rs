//! What startup reads besides the home: settings of both scopes, instructions, skills and profiles
//! (spec: "Shared startup and effects"). Their effect on prompts is tested in the engine.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::client::{Agent, assert_clean, launch};
use crate::support::Place;

const PRIMARY: &str = ".magi-code/agents/primary.md";

fn models() -> Value {
    json!({
        "provider": "fixture",
        "model": "one",
        "providers": {"fixture": {"models": ["one", "two", "three"]}},
    })
}

/// The model of a child that starts in `place`.
fn model(place: &std::sync::Arc<Place>, variables: &[(&str, &str)]) -> String {
    let launch = variables
        .iter()
        .fold(launch().place(place), |launch, (name, value)| {
            launch.env(name, value)
        });
    let mut agent = Agent::spawn(launch);
    let status = agent.initialize()["status"].clone();
    agent.end();
    status["model"].as_str().unwrap().to_owned()
}

/// The code that startup fails with, as `initialize` and `status` tell it.
fn failure(place: &std::sync::Arc<Place>) -> String {
    let mut agent = Agent::spawn(launch().place(place));
    let code = agent.err("initialize", json!({"required_capabilities": []}));
    let status = agent.ok("status", json!({}));
    assert_eq!(status["state"], "failed");
    assert_eq!(status["readiness"], json!(code));
    agent.ok("shutdown", json!({}));
    assert_clean(&agent.server.wait_exit());
    code
}

#[test]
fn project_settings_beat_global_ones_and_the_environment_beats_both() {
    let place = Place::with_settings(&models());
    assert_eq!(model(&place, &[]), "one");
    place.write_file(".magi-code/settings.json", r#"{"model":"two"}"#);
    assert_eq!(model(&place, &[]), "two");
    assert_eq!(model(&place, &[("MC_MODEL", "three")]), "three");
}

#[test]
fn project_settings_are_those_of_the_exact_cwd() {
    let place = Place::with_settings(&models());
    // Neither a repository's root nor any other directory above counts.
    std::fs::create_dir(place.work().join(".git")).unwrap();
    place.write_file(".magi-code/settings.json", r#"{"model":"two"}"#);
    place.write_file("inner/file", "");
    let mut agent = Agent::spawn(launch().place(&place).cwd(place.work().join("inner")));
    assert_eq!(agent.initialize()["status"]["model"], "one");
    agent.end();
}

#[test]
fn the_primary_profile_selects_the_model_and_the_projects_one_wins() {
    let place = Place::with_settings(&models());
    let global = place.mc_home().join("agents");
    std::fs::create_dir(&global).unwrap();
    std::fs::write(global.join("primary.md"), "---\nmodel: two\n---\nRole\n").unwrap();
    assert_eq!(model(&place, &[]), "two");
    place.write_file(PRIMARY, "---\nmodel: three\n---\nRole\n");
    assert_eq!(model(&place, &[]), "three");
    assert_eq!(model(&place, &[("MC_MODEL", "one")]), "one");
    place.write_file(PRIMARY, "---\nmodel: three\ndisabled: true\n---\n");
    assert_eq!(model(&place, &[]), "one");
}

#[test]
fn a_profile_that_is_not_valid_fails_startup_unless_it_is_disabled() {
    for (name, content) in [
        ("primary", "no front matter\n"),
        ("primary", "---\ntools: [no-such-tool]\n---\n"),
        ("helper", "---\ntools: read\n---\n"),
    ] {
        let place = Place::new();
        place.write_file(&format!(".magi-code/agents/{name}.md"), content);
        assert_eq!(failure(&place), "profile_invalid", "{content}");
    }
    let place = Place::with_settings(&models());
    let off = "---\ndisabled: true\ntools: [no-such-tool]\n---\n";
    place.write_file(".magi-code/agents/helper.md", off);
    assert_eq!(model(&place, &[]), "one");
}

#[test]
fn additional_instructions_must_be_there() {
    let place = Place::new();
    place.write_settings(&json!({"instructions": ["rules/mine.md"]}));
    assert_eq!(failure(&place), "configuration_invalid");
    let rules = place.mc_home().join("rules");
    std::fs::create_dir(&rules).unwrap();
    std::fs::write(rules.join("mine.md"), "Be brief.\n").unwrap();
    assert_eq!(model(&place, &[]), "fixture-model");
}

#[test]
fn instructions_that_lead_to_credentials_fail_startup_or_are_left_out() {
    let place = Place::with_settings(&models());
    let credentials = place.mc_home().join("auth.json");
    std::fs::write(&credentials, "{}").unwrap();
    // Of a project, they are left out: it is nobody's to keep a person from working there.
    let of_project = place.work().join("AGENTS.md");
    symlink(&credentials, &of_project).unwrap();
    assert_eq!(model(&place, &[]), "one");
    symlink(&credentials, place.mc_home().join("AGENTS.md")).unwrap();
    assert_eq!(failure(&place), "configuration_invalid");
}

#[test]
fn a_malformed_or_colliding_skill_is_no_reason_to_fail() {
    let place = Place::with_settings(&models());
    let skill = "---\nname: both\ndescription: One of two\n---\nSteps\n";
    place.write_file(".magi-code/skills/both/SKILL.md", skill);
    place.write_file(".magi-code/skills/broken/SKILL.md", "---\nname: [\n");
    let global = place.mc_home().join("skills/both");
    std::fs::create_dir_all(&global).unwrap();
    std::fs::write(global.join("SKILL.md"), skill).unwrap();
    assert_eq!(model(&place, &[]), "one");
}

#[test]
fn hooks_of_a_project_are_ignored_and_a_misspelt_event_is_refused() {
    let place = Place::with_settings(&models());
    let hooks = r#"{"hooks":{"session_start":["touch hooked"]},"fast":true}"#;
    place.write_file(".magi-code/settings.json", hooks);
    assert_eq!(model(&place, &[]), "one");
    assert!(!place.work().join("hooked").exists());
    place.write_settings(&json!({"hooks": {"pre_tools": []}}));
    assert_eq!(failure(&place), "configuration_invalid");
}

#[test]
#[cfg(all(feature = "providers", feature = "session", feature = "turn"))]
fn nothing_is_asked_of_a_provider_before_a_turn() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let place = Place::with_settings(&json!({
        "provider": "mine",
        "model": "any",
        "providers": {"mine": {
            "api": "openai-chat",
            "base_url": format!("http://{}/v1", listener.local_addr().unwrap()),
        }},
    }));
    let asked = || listener.accept().is_ok();
    let mut agent = Agent::ready(&place);
    agent.ok("status", json!({}));
    let session = agent.create();
    agent.end();
    assert!(!asked(), "a connection before any turn");
    let mut agent = Agent::ready(&place);
    assert_ne!(agent.create(), session);
    let session = agent.ok("status", json!({}))["session_id"].clone();
    let start = json!({"session_id": session, "prompt": "go"});
    let run = agent.ok("turn.start", start)["run_id"].clone();
    crate::support::wait_for("the turn's request", asked);
    agent.ok("turn.cancel", json!({"session_id": session, "run_id": run}));
    agent.until("run.finished");
    agent.end();
}
