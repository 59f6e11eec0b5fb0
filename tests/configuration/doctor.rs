//! Wrong configurations, each of which names its file, line and column or its variable, and what to do.
//! `doctor` finds what a start would, and `try` tells the same.

mod beyond;
mod cases;
mod names;

use std::fs;

use serde_json::{Value, json};

use self::cases::{At, Case, File, Variable};
use crate::client::{Agent, launch};
use crate::support::Place;
use crate::{magi_code, text};

fn all() -> impl Iterator<Item = &'static Case> {
    let all = [cases::CASES, names::CASES, beyond::CASES];
    all.into_iter().flatten()
}

fn place_of(case: &Case) -> std::sync::Arc<Place> {
    let place = Place::new();
    for (path, content) in case.files {
        let path = match path.strip_prefix("home/") {
            Some(path) => place.mc_home().join(path),
            None => place.root().join(path),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let content = content
            .replace("@HOME", place.mc_home().to_str().unwrap())
            .replace(
                "@WORK",
                place.work().canonicalize().unwrap().to_str().unwrap(),
            );
        match content.strip_prefix("-> ") {
            Some(target) => std::os::unix::fs::symlink(target, path).unwrap(),
            None => {
                fs::write(&path, content).unwrap();
                if path.ends_with("auth.json") {
                    let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
                    fs::set_permissions(path, own).unwrap();
                }
            }
        }
    }
    place
}

#[test]
fn every_wrong_configuration_says_where_and_what_to_do() {
    assert!(all().count() > 60);
    for case in all() {
        let place = place_of(case);
        let path = |path: &str| match path.strip_prefix("home/") {
            Some(path) => place.mc_home().join(path),
            None if path.starts_with('/') => path.into(),
            None => place
                .work()
                .canonicalize()
                .unwrap()
                .join(path.strip_prefix("work/").unwrap()),
        };
        let done = magi_code(&place, &["doctor", "--json"], case.vars);
        assert!(done.stderr.is_empty(), "{done:?}");
        let found: Value = serde_json::from_slice(&done.stdout).unwrap();
        let is_notice = case.code.is_none();
        assert_eq!(done.status.code(), Some(i32::from(!is_notice)), "{found}");
        let (own, other) = match is_notice {
            true => ("notices", "problems"),
            false => ("problems", "notices"),
        };
        let reasons = found[own].as_array().unwrap();
        assert_eq!(reasons.len(), 1, "{found}");
        assert_eq!(found[other], json!([]), "{found}");
        let reason = &reasons[0];
        let (file, line, column, shown) = match case.place {
            At(file, line, column) => {
                let file = path(file).display().to_string();
                let shown = format!("{file}:{line}:{column}: ");
                (json!(file), json!(line), json!(column), shown)
            }
            File(file) => {
                let file = path(file).display().to_string();
                (json!(file), Value::Null, Value::Null, format!("{file}: "))
            }
            Variable(name) => {
                assert_eq!(reason["variable"], name);
                (Value::Null, Value::Null, Value::Null, format!("{name}: "))
            }
        };
        assert_eq!(
            (&reason["file"], &reason["line"], &reason["column"]),
            (&file, &line, &column),
            "{found}"
        );
        assert_eq!(reason["key"], json!(case.key), "{found}");
        let told = format!(
            "{} {}",
            reason["reason"].as_str().unwrap(),
            reason["help"].as_str().unwrap_or_default()
        );
        for word in case.words {
            assert!(told.contains(word), "{word}: {told}");
        }
        let help = reason["help"].as_str();
        assert!(help.is_some_and(|help| !help.is_empty()), "{found}");
        // People read the same.
        let printed = magi_code(&place, &["doctor"], case.vars);
        assert_eq!(printed.status.code(), done.status.code());
        let line = format!("{shown}{}", reason["reason"].as_str().unwrap());
        assert!(
            text(&printed.stdout).lines().any(|printed| printed == line),
            "{line}\n{}",
            text(&printed.stdout)
        );
    }
}

#[test]
fn what_doctor_calls_a_problem_fails_a_start_and_try_tells_the_same() {
    for (index, case) in all().enumerate() {
        let place = place_of(case);
        let vars = case.vars.iter();
        let launch = vars.fold(launch().place(&place), |launch, (name, value)| {
            launch.env(name, *value)
        });
        let mut agent = Agent::spawn(launch);
        let answer = agent.call("initialize", json!({"required_capabilities": []}));
        let code = answer["error"]["code"].as_str();
        assert_eq!(code, case.code, "{:?}", case.files);
        drop(agent);
        // A turn costs more than the rest together.
        if index % 6 != 0 {
            continue;
        }
        let done = magi_code(&place, &["try", "hello"], case.vars);
        let doctor = text(&magi_code(&place, &["doctor"], case.vars).stdout);
        let said = text(&done.stderr);
        assert_eq!(done.status.success(), case.code.is_none(), "{said}");
        for line in doctor.lines().filter(|line| line.starts_with('/')) {
            assert_eq!(said.matches(line).count(), 1, "{line}\n{said}");
        }
    }
}

#[test]
fn all_problems_and_notices_come_at_once() {
    let place = Place::new();
    fs::create_dir_all(place.mc_home()).unwrap();
    fs::write(
        place.mc_home().join("settings.json"),
        "{\n\"fast\": 1,\n\"model\": 2,\n\"themes\": 3,\n\"retention_days\": -1\n}",
    )
    .unwrap();
    place.write_file(
        ".magi-code/settings.json",
        "{\n\"fast\": 1,\n\"fats\": 1\n}",
    );
    let done = magi_code(&place, &["doctor", "--json"], &[]);
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    let lines = |of: &str| {
        let all = found[of].as_array().unwrap().iter();
        all.map(|reason| {
            (
                reason["line"].as_u64().unwrap(),
                reason["key"].as_str().unwrap().to_owned(),
            )
        })
        .collect::<Vec<_>>()
    };
    let at = |line, key: &str| (line, key.to_owned());
    assert_eq!(
        lines("problems"),
        [
            at(2, "fast"),
            at(3, "model"),
            at(5, "retention_days"),
            at(2, "fast"),
            at(3, "fats")
        ]
    );
}

#[test]
fn doctor_is_calm_about_what_is_right_and_about_its_own_use() {
    let place = Place::new();
    let done = magi_code(&place, &["doctor"], &[]);
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(
        text(&done.stdout),
        "A start would succeed: problems 0, notices 0.\n"
    );
    let done = magi_code(&place, &["doctor", "--json"], &[]);
    assert_eq!(text(&done.stdout), "{\"notices\":[],\"problems\":[]}\n");
    let elsewhere = magi_code(&place, &["doctor", "--cwd", "none"], &[]);
    assert_eq!(elsewhere.status.code(), Some(1));
    assert!(text(&elsewhere.stdout).contains("/none: this working directory cannot be used"));
    for usage in [&["doctor", "--jsn"][..], &["doctor", "x"]] {
        assert_eq!(magi_code(&place, usage, &[]).status.code(), Some(2));
    }
    // A secret that stands where a word belongs is not repeated.
    place.write_settings(&json!({"provider": "sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}));
    let done = magi_code(&place, &["doctor"], &[]);
    assert_eq!(done.status.code(), Some(1));
    assert!(!text(&done.stdout).contains("aaaaaaaa"), "{done:?}");
}

#[test]
fn problems_of_every_stage_come_at_once_and_without_credentials() {
    let place = Place::new();
    fs::create_dir_all(place.mc_home().join("agents")).unwrap();
    fs::write(
        place.mc_home().join("settings.json"),
        "{\"retention_days\": \"7\", \"provider\": \"antropic\",\n\"instructions\": [\"https://u:hunter2pass@h/x.md\"]}",
    )
    .unwrap();
    fs::write(place.mc_home().join("agents/a.md"), "no front matter").unwrap();
    let done = magi_code(&place, &["doctor"], &[]);
    assert_eq!(done.status.code(), Some(1));
    let out = text(&done.stdout);
    for part in [
        "whole number",
        "no such file",
        "no front matter",
        "no provider is called",
    ] {
        assert_eq!(out.matches(part).count(), 1, "{part}: {out}");
    }
    let done = magi_code(&place, &["doctor", "--json"], &[]);
    assert_eq!(out.matches("hunter2pass").count(), 0, "{out}");
    assert!(!text(&done.stdout).contains("hunter2pass"));
}

#[test]
fn what_is_ignored_is_told_also_where_another_file_fails() {
    for settings in ["{\"fast\": 1}", "{"] {
        let place = Place::new();
        fs::create_dir_all(place.mc_home().join("skills/a")).unwrap();
        fs::write(place.mc_home().join("settings.json"), settings).unwrap();
        fs::write(place.mc_home().join("skills/a/SKILL.md"), "words").unwrap();
        fs::write(place.mc_home().join("auth.json"), "[]").unwrap();
        place.write_file(
            ".magi-code/settings.json",
            "{\"hooks\": {\"pre_tool\": [\"x\"]}}",
        );
        let done = magi_code(&place, &["doctor", "--json"], &[]);
        let found: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(found["problems"].as_array().unwrap().len(), 1, "{found}");
        let notices = found["notices"].to_string();
        for word in ["hooks of a project", "front matter", "no JSON object"] {
            assert_eq!(notices.matches(word).count(), 1, "{word}: {found}");
        }
    }
}

#[test]
fn an_approved_server_and_one_that_is_off_wait_for_nothing() {
    let place = Place::new();
    let digest = "sha256:073d8a138e0e50150e4ae2108e0bd87da367189f20abca373b6fdaa32d747efe";
    place.write_settings(&json!({"mcp_servers": {
        "off": {"command": "x", "enabled": false},
        "on": {"command": "true", "args": ["a"], "approved": digest},
    }}));
    let done = magi_code(&place, &["doctor"], &[]);
    let out = text(&done.stdout);
    assert!(out.ends_with("problems 0, notices 1.\n"), "{out}");
    assert!(
        out.contains("if these MCP servers start, which was not tried: on: problems 0"),
        "{out}"
    );
    assert!(
        out.contains("MCP servers:\noff: disabled\non: approved\n"),
        "{out}"
    );
}

#[test]
fn a_directory_that_cannot_be_worked_in_says_what_to_do() {
    let place = Place::new();
    place.write_file("file", "");
    for (cwd, why) in [("none", "cannot be used"), ("file", "is no directory")] {
        let done = magi_code(&place, &["doctor", "--cwd", cwd], &[]);
        let out = text(&done.stdout);
        assert_eq!(done.status.code(), Some(1));
        assert!(
            out.contains(&format!("/{cwd}: this working directory {why}")),
            "{out}"
        );
        assert!(
            out.contains("\n    start in a directory that is there\n"),
            "{out}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_home_that_takes_no_sessions_is_told() {
    let place = Place::new();
    fs::create_dir_all(place.mc_home()).unwrap();
    // Not even root creates files there.
    std::os::unix::fs::symlink("/proc/sys", place.mc_home().join("sessions")).unwrap();
    let done = magi_code(&place, &["doctor"], &[]);
    let out = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{out}");
    let told = "/proc/sys: this directory cannot be written, so no session can be begun, opened or gone on with: ";
    assert!(out.contains(told), "{out}");
    assert!(
        out.contains("\n    make it writable, or set MC_HOME to another one\n"),
        "{out}"
    );
}

#[test]
fn what_keeps_a_provider_from_being_selected_comes_at_once() {
    let custom = |more: Value| {
        let mut own = json!({"api": "openai-chat", "base_url": "http://u:p@127.0.0.1:1/v1"});
        own.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"provider": "l", "model": "zz", "providers": {"l": own}})
    };
    for (settings, words) in [
        (
            custom(json!({"context_window": "128k"})),
            &["a text stands where", "user name"][..],
        ),
        (
            custom(json!({"models": ["a"], "api_key_env": "NOPE"})),
            &["offers no model `zz`", "NOPE", "user name"],
        ),
        (
            json!({"provider": "anthropic"}),
            &["without a model", "ANTHROPIC_API_KEY"],
        ),
        // What follows from a word that is wrong itself is no problem of its own.
        (
            custom(json!({"models": [7]})),
            &["a number stands", "user name"],
        ),
        (
            json!({"provider": "l", "model": "m", "providers": {"l": {"apii": "ollama"}}}),
            &["did you mean `api`"],
        ),
        (
            json!({"provider": "l", "model": "m", "providers": {"l": 7}}),
            &["a number stands"],
        ),
    ] {
        let place = Place::new();
        place.write_settings(&settings);
        let done = magi_code(&place, &["doctor", "--json"], &[]);
        let found: Value = serde_json::from_slice(&done.stdout).unwrap();
        let problems = found["problems"].as_array().unwrap();
        assert_eq!(problems.len(), words.len(), "{settings}: {found}");
        for word in words {
            assert!(
                found["problems"].to_string().contains(word),
                "{word}: {found}"
            );
        }
    }
}

#[test]
fn variables_that_come_to_nothing_and_credentials_that_others_read_are_told() {
    let place = Place::new();
    place.write_file("file", "");
    place.write_settings(&json!({}));
    let accounts = place.mc_home().join("auth.json");
    fs::write(&accounts, r#"{"version":1,"providers":{}}"#).unwrap();
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    fs::set_permissions(&accounts, mode(0o644)).unwrap();
    let file = place.work().join("file");
    let vars = [
        ("MC_RECORD", file.to_str().unwrap()),
        ("MC_LOG", "inof,agent=loudly"),
    ];
    let out = text(&magi_code(&place, &["doctor"], &vars).stdout);
    let said = text(&magi_code(&place, &["try", "hi"], &vars).stderr);
    for word in [
        "exchanges with models can't be kept",
        "MC_LOG is no filter",
        "may read or change these credentials (mode 644)",
        "chmod 600 ",
    ] {
        assert_eq!(out.matches(word).count(), 1, "{word}: {out}");
        assert_eq!(said.matches(word).count(), 1, "{word}: {said}");
    }
    fs::set_permissions(&accounts, mode(0o600)).unwrap();
    let done = magi_code(&place, &["doctor"], &[("MC_LOG", "off")]);
    assert!(text(&done.stdout).ends_with("notices 0.\n"), "{done:?}");
    fs::remove_dir_all(place.mc_home().join("logs")).unwrap();
    fs::write(place.mc_home().join("logs"), "").unwrap();
    let done = magi_code(&place, &["doctor"], &[("MC_LOG", "agnet=info")]);
    for word in ["called `agnet`", "no log can be written"] {
        assert!(text(&done.stdout).contains(word), "{done:?}");
    }
}
