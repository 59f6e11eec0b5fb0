//! `config.get` and `config.set` (spec: "Read effective settings", "Persist a scoped change").
//! How a file is changed byte by byte is tested beside the writer.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::client::{Service, code, keys, launch, request};
use crate::support::{Launch, Place};

/// Two providers of one's own: their lists are their catalogs.
fn providers() -> Value {
    json!({
        "mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9/v1", "models": [
            "plain", {"id": "levels", "thinking_levels": ["low", "high"]},
        ]},
        "other": {"api": "ollama", "models": ["small"]},
    })
}

fn place() -> Arc<Place> {
    Place::with_settings(&json!({"providers": providers()}))
}

fn settings(place: &Place) -> PathBuf {
    place.mc_home().join("settings.json")
}

fn project(place: &Place) -> PathBuf {
    place.work().join(".magi-code/settings.json")
}

fn select(scope: &str, provider: &str, model: &str) -> Value {
    json!({"scope": scope, "selection": {"provider_id": provider, "model_id": model}})
}

fn effective(service: &mut Service) -> Value {
    service.ok("config.get", &json!({}))
}

fn selected(effective: &Value) -> [&str; 2] {
    let selection = &effective["selection"];
    ["provider_id", "model_id"].map(|id| selection[id].as_str().unwrap())
}

#[test]
fn the_projection_is_bounded_and_holds_nothing_else() {
    let mut service = Service::ready();
    let all = ["default", "low", "medium", "high", "x_high", "max"];
    assert_eq!(
        effective(&mut service),
        json!({
            "selection": {"provider_id": "fixture", "model_id": "fixture-model"},
            "thinking_level": "default",
            "configured_thinking_level": "default",
            "available_thinking_levels": all,
            "fast": false,
            "precedence": ["environment", "project", "global"],
            "writable_scopes": ["global", "project"],
            "global_only": ["fast"],
        })
    );
    for wrong in [json!({"scope": "global"}), json!({"a": null})] {
        assert_eq!(service.code("config.get", &wrong), "invalid_payload");
    }
    for method in ["config.get", "config.set"] {
        let on_a_session = service.call_on(Some("s"), method, &json!({}));
        assert_eq!(code(&on_a_session), "invalid_request", "{method}");
    }
    let mut early = Service::start();
    assert_eq!(early.code("config.get", &json!({})), "not_initialized");
    let fast = json!({"scope": "global", "fast": true});
    assert_eq!(early.code("config.set", &fast), "not_initialized");
    let misplaced = json!({"scope": "project", "fast": true});
    assert_eq!(early.code("config.set", &misplaced), "invalid_scope");
}

#[test]
fn selection_follows_settings_and_overrides_and_needs_no_catalog() {
    let place = place();
    let mut service = Service::ready_in(&place);
    // Nothing is known of the models of anthropic; nobody asks whether one could answer.
    place.write_settings(&json!({
        "provider": "anthropic", "model": "claude-opus-4-5", "thinking_level": "max", "fast": true,
        "providers": providers(),
    }));
    let now = effective(&mut service);
    assert_eq!(selected(&now), ["anthropic", "claude-opus-4-5"]);
    assert_eq!(now["fast"], true);
    place.write_settings(&json!({
        "provider": "mine", "model": "levels", "thinking_level": "max", "providers": providers(),
    }));
    let now = effective(&mut service);
    assert_eq!(now["configured_thinking_level"], "max");
    assert_eq!(now["thinking_level"], "high");
    let levels = json!(["default", "low", "high"]);
    assert_eq!(now["available_thinking_levels"], levels);
    // The environment stands above both files.
    fs::create_dir(place.work().join(".magi-code")).unwrap();
    fs::write(project(&place), r#"{"provider":"other","model":"small"}"#).unwrap();
    assert_eq!(selected(&effective(&mut service)), ["other", "small"]);
    let with = launch().place(&place).env("MC_PROVIDER", "mine");
    let mut service = Service::spawn(with.env("MC_MODEL", "plain"));
    service.initialize();
    assert_eq!(selected(&effective(&mut service)), ["mine", "plain"]);
}

#[test]
fn what_has_no_safe_projection_is_unavailable_and_never_told() {
    const KEY: &str = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    for wrong in [
        json!({"provider": "anthropic"}),
        json!({"fast": "yes"}),
        json!({"provider": "mine", "model": "not an id"}),
        json!({"provider": "anthropic", "model": KEY}),
    ] {
        place.write_settings(&wrong);
        let answer = service.call("config.get", &json!({}));
        assert_eq!(code(&answer), "configuration_unavailable", "{wrong}");
        assert!(!answer.to_string().contains("sk-ant"), "{answer}");
    }
    fs::write(settings(&place), "{\"model\":\"a\",\"model\":\"b\"}").unwrap();
    assert_eq!(
        service.code("config.get", &json!({})),
        "configuration_unavailable"
    );
    // What one can select repairs it.
    place.write_settings(&json!({"provider": "anthropic"}));
    let before = fs::read(settings(&place)).unwrap();
    let fast = json!({"scope": "global", "fast": true});
    assert_eq!(
        service.code("config.set", &fast),
        "configuration_unavailable"
    );
    let level = json!({"scope": "global", "thinking_level": "low"});
    assert_eq!(
        service.code("config.set", &level),
        "configuration_unavailable"
    );
    assert_eq!(fs::read(settings(&place)).unwrap(), before);
    service.ok("config.set", &select("global", "fixture", "fixture-model"));
    assert_eq!(
        selected(&effective(&mut service)),
        ["fixture", "fixture-model"]
    );
}

#[test]
fn payloads_are_strict_and_a_refused_change_changes_nothing() {
    let place = place();
    let before = fs::read(settings(&place)).unwrap();
    let mut service = Service::ready_in(&place);
    let both = json!({"provider_id": "mine", "model_id": "plain"});
    for (payload, expected) in [
        (json!({}), "invalid_payload"),
        (json!({"scope": "global"}), "invalid_payload"),
        (json!({"scope": "nowhere"}), "invalid_payload"),
        (json!({"fast": true}), "invalid_payload"),
        (json!({"scope": null, "fast": true}), "invalid_payload"),
        (json!({"scope": 1, "fast": true}), "invalid_payload"),
        (json!({"scope": "global", "fast": null}), "invalid_payload"),
        (
            json!({"scope": "global", "fast": "true"}),
            "invalid_payload",
        ),
        (
            json!({"scope": "global", "selection": null}),
            "invalid_payload",
        ),
        (
            json!({"scope": "global", "selection": {}}),
            "invalid_payload",
        ),
        (
            json!({"scope": "global", "selection": {"provider_id": "mine"}}),
            "invalid_payload",
        ),
        (
            json!({"scope": "global", "selection": {"provider_id": "mine", "model_id": "plain", "x": 1}}),
            "invalid_payload",
        ),
        (
            json!({"scope": "global", "selection": {"provider_id": "mine", "model_id": null}}),
            "invalid_payload",
        ),
        (
            json!({"scope": "global", "thinking_level": null}),
            "invalid_payload",
        ),
        (
            json!({"scope": "global", "thinking_level": "highest"}),
            "invalid_payload",
        ),
        (
            json!({"scope": "global", "thinking_level": 3}),
            "invalid_payload",
        ),
        (
            json!({"scope": "global", "fast": true, "retention_days": 0}),
            "invalid_payload",
        ),
        (json!({"scope": "nowhere", "fast": true}), "invalid_scope"),
        (
            json!({"scope": "environment", "selection": both}),
            "invalid_scope",
        ),
        (json!({"scope": "project", "fast": false}), "invalid_scope"),
        (
            json!({"scope": "project", "selection": both, "fast": true}),
            "invalid_scope",
        ),
        (select("global", "nobody", "m"), "invalid_selection"),
        (select("global", "mine", "small"), "invalid_selection"),
        (select("project", "", "plain"), "invalid_selection"),
        (select("global", "mine", "../../etc"), "invalid_selection"),
        (select("global", "mine", "a b"), "invalid_selection"),
        (
            select("global", "mine", &"m".repeat(257)),
            "invalid_selection",
        ),
        (
            select(
                "global",
                "mine",
                "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
            ),
            "invalid_selection",
        ),
        // Nobody has asked for its models yet.
        (
            select("global", "anthropic", "claude-opus-4-5"),
            "catalog_unavailable",
        ),
        (
            json!({"scope": "global", "selection": {"provider_id": "mine", "model_id": "levels"},
                   "thinking_level": "medium"}),
            "unsupported_reasoning",
        ),
        (
            // Whole, or not at all.
            json!({"scope": "global", "selection": {"provider_id": "mine", "model_id": "levels"},
                   "thinking_level": "x_high", "fast": true}),
            "unsupported_reasoning",
        ),
    ] {
        assert_eq!(service.code("config.set", &payload), expected, "{payload}");
        assert_eq!(fs::read(settings(&place)).unwrap(), before, "{payload}");
        assert!(!project(&place).exists(), "{payload}");
    }
    service.assert_alive();
}

#[test]
fn a_selection_resets_the_level_and_a_level_is_held_against_what_is_effective() {
    let place = place();
    let mut service = Service::ready_in(&place);
    let mut both = select("global", "mine", "levels");
    both["thinking_level"] = json!("high");
    let stored = service.ok("config.set", &both);
    assert_eq!(keys(&stored), ["effective", "persisted", "scope"]);
    assert_eq!(
        (&stored["persisted"], &stored["scope"]),
        (&json!(true), &json!("global"))
    );
    assert_eq!(stored["effective"]["thinking_level"], "high");
    assert_eq!(stored["effective"], effective(&mut service));
    // Only the level: of the model that is selected.
    let level = |level: &str| json!({"scope": "global", "thinking_level": level});
    assert_eq!(
        service.code("config.set", &level("max")),
        "unsupported_reasoning"
    );
    service.ok("config.set", &level("low"));
    let now = service.ok("config.set", &select("global", "mine", "levels"));
    assert_eq!(now["effective"]["configured_thinking_level"], "default");
    // Fast mode asks for no catalog.
    place.write_settings(&json!({"provider": "anthropic", "model": "claude-opus-4-5"}));
    assert_eq!(
        service.code("config.set", &level("default")),
        "catalog_unavailable"
    );
    let fast = service.ok("config.set", &json!({"scope": "global", "fast": true}));
    assert_eq!(fast["effective"]["fast"], true);
    assert_eq!(
        selected(&fast["effective"]),
        ["anthropic", "claude-opus-4-5"]
    );
    // The environment's selection is the effective one.
    let place = self::place();
    let with = launch().place(&place).env("MC_PROVIDER", "mine");
    let mut service = Service::spawn(with.env("MC_MODEL", "levels"));
    service.initialize();
    assert_eq!(
        service.code("config.set", &level("max")),
        "unsupported_reasoning"
    );
    service.ok("config.set", &level("high"));
}

#[test]
fn scopes_have_their_files_keep_what_they_do_not_know_and_mask_each_other() {
    let place = Place::new();
    fs::create_dir_all(place.mc_home()).unwrap();
    let text =
        "{\n\t// mine, for now\n\t\"later\": 1.50,\n\t\"model\": \"fixture-model\", // here\n}";
    fs::write(settings(&place), text).unwrap();
    let mut service = Service::ready_in(&place);
    let level = |scope: &str, level: &str| json!({"scope": scope, "thinking_level": level});
    let stored = service.ok("config.set", &level("global", "low"));
    assert_eq!(stored["effective"]["thinking_level"], "low");
    let written = "{\n\t// mine, for now\n\t\"later\": 1.50,\n\t\"model\": \"fixture-model\", // here\n\t\
                   \"thinking_level\": \"low\",\n}";
    let now = fs::read_to_string(settings(&place)).unwrap();
    assert_eq!(now, written);
    // What a project says is pinned, though it is what holds anyway.
    let stored = service.ok("config.set", &level("project", "low"));
    assert_eq!(stored["scope"], "project");
    let pinned: Value = serde_json::from_slice(&fs::read(project(&place)).unwrap()).unwrap();
    assert_eq!(pinned, json!({"thinking_level": "low"}));
    assert_eq!(fs::read_to_string(settings(&place)).unwrap(), now);
    // And stands above what is written for all.
    let masked = service.ok("config.set", &level("global", "max"));
    assert_eq!(masked["persisted"], true);
    assert_eq!(masked["effective"]["configured_thinking_level"], "low");
    // It survives the service, and another directory is not concerned.
    service.finish();
    assert_eq!(
        effective(&mut Service::ready_in(&place))["thinking_level"],
        "low"
    );
    let other = place.root().join("other");
    fs::create_dir(&other).unwrap();
    let mut elsewhere = Service::spawn(launch().place(&place).cwd(other));
    elsewhere.initialize();
    assert_eq!(effective(&mut elsewhere)["thinking_level"], "max");
}

/// Whoever holds it makes every change wait.
#[test]
fn a_home_that_is_the_project_s_folder_is_no_scope_of_the_project() {
    let place = place();
    let home = place.work().join(".magi-code");
    fs::create_dir(&home).unwrap();
    let with = launch().place(&place);
    let mut service = Service::spawn(with.env("MC_HOME", home.to_str().unwrap()));
    service.initialize();
    let now = effective(&mut service);
    assert_eq!(now["writable_scopes"], json!(["global"]));
    let level = |scope: &str| json!({"scope": scope, "thinking_level": "low"});
    assert_eq!(
        service.code("config.set", &level("project")),
        "invalid_scope"
    );
    service.ok("config.set", &level("global"));
    assert!(home.join("settings.json").exists());
}

#[test]
fn what_is_selected_for_every_directory_has_to_be_there_without_the_project() {
    let place = Place::new();
    let trust = json!({place.work().canonicalize().unwrap().to_str().unwrap(): {"trusted": true}});
    let own = json!({"providers": providers(), "projects": trust});
    place.write_settings(&own);
    fs::create_dir(place.work().join(".magi-code")).unwrap();
    let of_project = json!({"providers": {
        "own": {"api": "openai-chat", "base_url": "http://127.0.0.1:9/v1", "models": ["q"]},
        "other": {"models": ["only-here"]},
    }});
    fs::write(project(&place), of_project.to_string()).unwrap();
    let mut service = Service::ready_in(&place);
    for (provider, model) in [("own", "q"), ("other", "only-here")] {
        let before = fs::read(settings(&place)).unwrap();
        let global = select("global", provider, model);
        let refused = service.code("config.set", &global);
        assert_eq!(refused, "invalid_selection", "{provider}");
        assert_eq!(fs::read(settings(&place)).unwrap(), before);
        let set = service.ok("config.set", &select("project", provider, model));
        assert_eq!(selected(&set["effective"]), [provider, model]);
    }
    // One of the person's own is masked here, and counts elsewhere.
    let set = service.ok("config.set", &select("global", "mine", "plain"));
    assert_eq!(selected(&set["effective"]), ["other", "only-here"]);
}

#[test]
fn the_model_of_the_primary_profile_is_what_is_selected() {
    let place = place();
    fs::create_dir_all(place.mc_home().join("agents")).unwrap();
    let profile = "---\nname: primary\nmodel: levels\n---\nBe brief.\n";
    fs::write(place.mc_home().join("agents/primary.md"), profile).unwrap();
    place.write_settings(&json!({
        "provider": "mine", "model": "plain", "providers": providers(),
    }));
    let mut service = Service::ready_in(&place);
    let now = effective(&mut service);
    assert_eq!(selected(&now), ["mine", "levels"]);
    let levels = json!(["default", "low", "high"]);
    assert_eq!(now["available_thinking_levels"], levels);
    let set = service.ok("config.set", &select("global", "mine", "plain"));
    assert_eq!(selected(&set["effective"]), ["mine", "levels"]);
    let level = |level: &str| json!({"scope": "global", "thinking_level": level});
    let refused = service.code("config.set", &level("max"));
    assert_eq!(refused, "unsupported_reasoning");
    service.ok("config.set", &level("high"));
    // The environment stands above the profile.
    let with = launch().place(&place).env("MC_MODEL", "plain");
    let mut service = Service::spawn(with);
    service.initialize();
    assert_eq!(selected(&effective(&mut service)), ["mine", "plain"]);
}

fn held(place: &Place) -> File {
    fs::create_dir_all(place.mc_home()).unwrap();
    let lock = File::create(place.mc_home().join("settings.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    lock
}

#[test]
fn one_at_a_time_while_turns_go_on() {
    let script = json!({"turns": [{"steps": [{"text": "Hello."}]}]});
    let place = Place::with_script(&script);
    let mut service = Service::ready_in(&place);
    let lock = held(&place);
    let fast = json!({"scope": "global", "fast": true});
    service
        .server
        .send_json(&request("set", "config.set", &fast));
    assert_eq!(service.code("config.get", &json!({})), "configuration_busy");
    assert_eq!(service.code("config.set", &fast), "configuration_busy");
    // Its id is taken as long as it is not answered.
    let same = service.exchange(&request("set", "status", &json!({})));
    assert_eq!(code(&same), "duplicate_request_id");
    service.ok("status", &json!({}));
    service.ok("turn.start", &json!({"prompt": "hi"}));
    loop {
        let event = service.event();
        if event["event"] == "turn.terminal" {
            assert_eq!(event["payload"]["status"], "completed");
            break;
        }
    }
    drop(lock);
    let stored = service.recv();
    assert_eq!(
        (&stored["request_id"], &stored["error"]),
        (&json!("set"), &Value::Null)
    );
    // Whoever has the answer finds the worker free.
    assert_eq!(effective(&mut service)["fast"], true);
}

#[test]
fn the_end_waits_for_a_write() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    let lock = held(&place);
    let fast = json!({"scope": "global", "fast": true});
    service
        .server
        .send_json(&request("set", "config.set", &fast));
    assert_eq!(service.code("config.get", &json!({})), "configuration_busy");
    service.server.close_stdin();
    drop(lock);
    let stored = service.recv();
    assert_eq!(stored["payload"]["persisted"], true, "{stored}");
    assert_eq!(service.server.wait_exit().code, Some(0));
    let written: Value = serde_json::from_slice(&fs::read(settings(&place)).unwrap()).unwrap();
    assert_eq!(written, json!({"fast": true}));
}

#[test]
fn an_editor_that_saves_before_a_change_is_in_loses_nothing() {
    let place = Place::with_settings(&json!({"retention_days": 1}));
    let mut service = Service::ready_in(&place);
    let lock = held(&place);
    let fast = json!({"scope": "global", "fast": true});
    service
        .server
        .send_json(&request("set", "config.set", &fast));
    assert_eq!(service.code("config.get", &json!({})), "configuration_busy");
    fs::write(
        settings(&place),
        "{\n    \"retention_days\": 2 // saved\n}\n",
    )
    .unwrap();
    drop(lock);
    assert_eq!(service.recv()["payload"]["persisted"], true);
    let now = fs::read_to_string(settings(&place)).unwrap();
    assert!(now.contains("\"retention_days\": 2"), "{now}");
    assert!(
        now.contains("// saved") && now.contains("\"fast\": true"),
        "{now}"
    );
}

#[test]
fn new_turns_take_what_is_set_and_running_ones_keep_what_they_have() {
    let text = "These are some words of the offline model. ".repeat(8);
    let script = json!({"turns": [{"steps": [{"text": text, "chunks": 8}, {"wait_ms": 60_000}]}]});
    let place = Place::with_script(&script);
    let written: Value = serde_json::from_slice(&fs::read(settings(&place)).unwrap()).unwrap();
    let mut all = providers();
    all["fixture"] = written["providers"]["fixture"].clone();
    place.write_settings(&json!({"providers": all}));
    let mut service = Service::ready_in(&place);
    let running = service.ok("turn.start", &json!({"prompt": "hi"}));
    while service.event()["event"] != "turn.assistant_delta" {}
    service.ok("config.set", &select("global", "mine", "plain"));
    // A server that nobody runs.
    service.ok("turn.start", &json!({"prompt": "hi"}));
    let mut ends = Vec::new();
    while ends.len() < 2 {
        let event = service.event();
        if event["event"] == "turn.terminal" {
            if ends.is_empty() {
                let cancel = json!({"turn_id": running["turn_id"]});
                service.ok("turn.cancel", &cancel);
            }
            ends.push(event["payload"]["status"].clone());
        }
    }
    assert_eq!(ends, ["failed", "cancelled"]);
    service.ok("config.set", &select("global", "fixture", "fixture-model"));
    service.ok("turn.start", &json!({"prompt": "hi"}));
    while service.event()["event"] != "turn.assistant_delta" {}
}

#[test]
fn a_hundred_changes_from_two_processes_are_all_in() {
    let place = place();
    let comment = "// of a person\n";
    let text = fs::read_to_string(settings(&place)).unwrap();
    fs::write(settings(&place), format!("{comment}{text}")).unwrap();
    thread::scope(|scope| {
        for (own, of) in [("mine", "plain"), ("other", "small")] {
            let place = &place;
            scope.spawn(move || {
                let mut service = Service::ready_in(place);
                for n in 0..50 {
                    let change = match n % 3 {
                        0 => select("global", own, of),
                        1 => json!({"scope": "global", "fast": n % 2 == 0}),
                        _ => json!({"scope": "global", "thinking_level": "default"}),
                    };
                    let stored = service.ok("config.set", &change);
                    assert_eq!(stored["persisted"], true);
                    let pair = selected(&stored["effective"]);
                    assert!(
                        [["mine", "plain"], ["other", "small"]].contains(&pair),
                        "{pair:?}"
                    );
                    if n % 3 == 0 {
                        assert_eq!(pair, [own, of]);
                    }
                }
                service.finish();
            });
        }
    });
    let text = fs::read_to_string(settings(&place)).unwrap();
    let json = text.strip_prefix(comment).unwrap();
    let now: Value = serde_json::from_str(json).unwrap();
    assert_eq!(now["providers"], providers());
    let mut names: Vec<_> = now.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(
        names,
        ["fast", "model", "provider", "providers", "thinking_level"]
    );
    // Nothing is left beside it.
    let left = fs::read_dir(place.mc_home()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().contains(".tmp")),
        "{left:?}"
    );
}

#[test]
fn what_cannot_be_written_is_said_and_leaves_the_file_as_it_was() {
    let fast = json!({"scope": "global", "fast": true});
    // More than a file may have.
    let place = Place::new();
    fs::create_dir_all(place.mc_home()).unwrap();
    let text = format!("{{\"fast\": false}} // {}\n", "x".repeat(4096));
    fs::write(settings(&place), &text).unwrap();
    let Launch { program, args, .. } = launch();
    let mut limited = Launch::new("sh", &["-c", "ulimit -f 2 && exec \"$0\" \"$@\""]).place(&place);
    limited.args.push(program.into_os_string());
    limited.args.extend(args);
    let mut service = Service::spawn(limited);
    service.initialize();
    assert_eq!(service.code("config.set", &fast), "settings_write_failed");
    assert_eq!(fs::read_to_string(settings(&place)).unwrap(), text);
    assert_eq!(effective(&mut service)["fast"], false);
    // A folder that nobody makes files in, and not even root.
    let place = Place::new();
    fs::create_dir_all(place.mc_home()).unwrap();
    let mut service = Service::ready_in(&place);
    std::os::unix::fs::symlink("/proc/sys/settings.json", settings(&place)).unwrap();
    assert_eq!(service.code("config.set", &fast), "settings_write_failed");
    // A document that holds a member twice is nobody's to repair.
    fs::remove_file(settings(&place)).unwrap();
    let twice = "{\"fast\": false, \"fast\": false}";
    fs::write(settings(&place), twice).unwrap();
    assert_eq!(service.code("config.set", &fast), "settings_write_failed");
    assert_eq!(fs::read_to_string(settings(&place)).unwrap(), twice);
    // A project's folder that leads out of the project.
    fs::write(settings(&place), "{}").unwrap();
    let elsewhere = place.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.work().join(".magi-code")).unwrap();
    fs::write(elsewhere.join("settings.json"), "{}").unwrap();
    let project = json!({"scope": "project", "thinking_level": "low"});
    assert_eq!(service.code("config.set", &project), "invalid_scope");
    assert_eq!(
        effective(&mut service)["writable_scopes"],
        json!(["global"])
    );
    assert_eq!(fs::read(elsewhere.join("settings.json")).unwrap(), b"{}");
    service.assert_alive();
}
