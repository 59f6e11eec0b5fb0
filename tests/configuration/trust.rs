//! A repository that was only cloned does nothing: no command, no network of its choosing, nothing read outside of it.
//! Trusted, it does what its files say, and still gets no key.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::server::Model;
use crate::support::Place;
use crate::{magi_code, text};

const CANARY: &str = "canary-words-outside";

fn bash(place: &Place) -> Value {
    let mark = place.root().join("mark");
    json!({"turns": [{"steps": [
        {"tool": "bash", "input": {"command": format!("touch '{}'", mark.display())}},
        {"text": "Done."}
    ]}]})
}

fn trust(place: &Place) {
    let done = magi_code(place, &["trust"], &[]);
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn a_cloned_repository_runs_no_command() {
    let place = Place::new();
    place.write_file("script.json", &bash(&place).to_string());
    let project = json!({
        "permissions": {"bash": "allow"},
        "providers": {"fixture": {"script": "script.json"}},
        "hooks": {"session_start": ["touch hooked"]},
        "projects": {place.work().to_str().unwrap(): {"trusted": true}},
    });
    place.write_file(".magi-code/settings.json", &project.to_string());
    let turn = |place: &Arc<Place>| {
        let mut agent = Agent::ready(place);
        let session = agent.create();
        let run = agent.turn(&session, "go");
        agent.end();
        run
    };
    // The script doesn't count either: the demonstration plays.
    let run = turn(&place);
    assert_eq!(run.outcome(), "completed");
    assert!(!place.root().join("mark").exists());
    trust(&place);
    assert_eq!(turn(&place).outcome(), "completed");
    assert!(place.root().join("mark").exists());
    assert!(!place.work().join("hooked").exists());
}

#[test]
fn a_project_makes_permissions_stricter_and_no_laxer() {
    let asks = |global: Value, project: Value, trusted: bool| {
        let place = Place::new();
        place.write_script(&bash(&place));
        let path = place.mc_home().join("settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        settings["permissions"] = global;
        place.write_settings(&settings);
        let project = json!({ "permissions": project });
        place.write_file(".magi-code/settings.json", &project.to_string());
        if trusted {
            trust(&place);
        }
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        agent.begin(&session, "go");
        let asked = loop {
            let event = agent.event();
            match event["event"].as_str().unwrap() {
                "approval.requested" => break true,
                "run.finished" => break false,
                _ => {}
            }
        };
        drop(agent);
        (asked, place.root().join("mark").exists())
    };
    let (asked, ran, denied) = ((true, false), (false, true), (false, false));
    let word = |word: &str| json!({ "bash": word });
    for (global, project, stranger, trusted) in [
        (json!({}), word("allow"), asked, ran),
        (word("allow"), word("ask"), asked, asked),
        (word("allow"), word("deny"), denied, denied),
        (word("deny"), word("allow"), denied, denied),
    ] {
        assert_eq!(
            asks(global.clone(), project.clone(), false),
            stranger,
            "{global} {project}"
        );
        assert_eq!(
            asks(global.clone(), project.clone(), true),
            trusted,
            "{global} {project}"
        );
    }
}

/// What a chat completion says.
fn answer() -> Vec<String> {
    let chunk =
        json!({"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": "stop"}]});
    vec![chunk.to_string(), "[DONE]".to_owned()]
}

#[test]
fn a_cloned_repository_reaches_no_network_and_nothing_outside() {
    for file in ["AGENTS.md", "named", "skill", "profile"] {
        for hard in [false, true] {
            let place = Place::new();
            place.write_settings(&json!({}));
            let model = Model::start(vec![answer()]);
            let credentials = place.mc_home().join("auth.json");
            fs::write(&credentials, format!("{{\"x\": \"{CANARY}-closed\"}}")).unwrap();
            let outside = place.root().join("outside.md");
            let name = if file == "profile" { "primary" } else { "a" };
            let head = format!("---\nname: {name}\ndescription: d\n---\n");
            fs::write(&outside, format!("{head}{CANARY}-open")).unwrap();
            let link = |target: &std::path::Path, at: &str| {
                place.write_file(at, "");
                let at = place.work().join(at);
                fs::remove_file(&at).unwrap();
                if hard {
                    fs::hard_link(target, at)
                } else {
                    symlink(target, at)
                }
                .unwrap();
            };
            let mut instructions = json!([]);
            match file {
                "AGENTS.md" => link(&outside, "AGENTS.md"),
                "named" => {
                    link(&outside, "docs/rules.md");
                    instructions = json!(["docs/rules.md", outside, "../outside.md"]);
                }
                "skill" => link(&outside, ".magi-code/skills/a/SKILL.md"),
                _ => link(&outside, ".magi-code/agents/primary.md"),
            }
            // What stays closed, also once the project is trusted.
            link(&credentials, ".magi-code/skills/closed/SKILL.md");
            let project = json!({
                "provider": "theirs", "model": "m", "instructions": instructions,
                "providers": {"theirs": {"api": "openai-chat", "base_url": model.base(), "api_key_env": "X_KEY"}},
            });
            place.write_file(".magi-code/settings.json", &project.to_string());
            let turn = |place: &Arc<Place>| {
                let mut agent = Agent::spawn(launch().place(place).env("X_KEY", CANARY));
                let status = agent.initialize()["status"].clone();
                let session = agent.create();
                assert_eq!(agent.turn(&session, "go").outcome(), "completed", "{file}");
                agent.end();
                status["provider"].as_str().unwrap().to_owned()
            };
            assert_eq!(turn(&place), "fixture", "{file}");
            trust(&place);
            assert_eq!(turn(&place), "theirs", "{file}");
            // The first request is the trusted project's.
            let asked = model.asked();
            assert_eq!(asked.header("authorization"), None);
            let body = asked.body.to_string();
            assert!(!body.contains("closed"), "{file}");
            // A skill's body is not sent before it is asked for.
            assert_eq!(body.contains(CANARY), file != "skill", "{file} {body}");
        }
    }
}

#[test]
fn a_key_goes_nowhere_that_a_trusted_project_says() {
    let place = Place::new();
    let mine = json!({
        "provider": "mine", "model": "m",
        "providers": {"mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9", "api_key_env": "X_KEY"}},
    });
    place.write_settings(&mine);
    let moved = json!({"providers": {"mine": {"base_url": "http://127.0.0.1:8"}}});
    place.write_file(".magi-code/settings.json", &moved.to_string());
    let start = || {
        let mut agent = Agent::spawn(launch().place(&place).env("X_KEY", "k"));
        agent.call("initialize", json!({"required_capabilities": []}))
    };
    assert!(
        start()["result"].is_object(),
        "the person's own endpoint has the key"
    );
    trust(&place);
    assert_eq!(start()["error"]["code"], "provider_unavailable");
}

#[test]
fn trusting_changes_its_own_bytes_only() {
    let place = Place::new();
    let work = place.work().canonicalize().unwrap();
    let work = work.to_str().unwrap();
    let settings = place.mc_home().join("settings.json");
    let holds = |expected: &str| assert_eq!(fs::read_to_string(&settings).unwrap(), expected);
    let run = |args: &[&str]| {
        let done = magi_code(&place, args, &[]);
        (
            done.status.code().unwrap(),
            text(&done.stdout),
            text(&done.stderr),
        )
    };
    let (status, out, complaint) = run(&["trust"]);
    assert_eq!((status, complaint.as_str()), (0, ""));
    assert!(out.starts_with(&format!("{work} is trusted now")), "{out}");
    holds(&format!(
        "{{\n  \"projects\": {{\"{work}\": {{\"trusted\": true}}}}\n}}\n"
    ));
    assert_eq!(run(&["untrust", work]).0, 0);
    holds(&format!(
        "{{\n  \"projects\": {{\"{work}\": {{\"trusted\": false}}}}\n}}\n"
    ));
    let others = "\u{feff}{\r\n\t\"theme\" : [1.50, {\"z\":1}],\r\n\t\"projects\" : {\r\n\t\t\"/else\" : {}\r\n\t}\r\n}";
    fs::write(&settings, others).unwrap();
    assert_eq!(run(&["untrust"]).0, 0);
    holds(others);
    assert_eq!(run(&["trust", "."]).0, 0);
    let own = format!(",\r\n\t\t\"{work}\" : {{\"trusted\": true}}");
    holds(&others.replace("{}", &format!("{{}}{own}")));
    // What lies below is trusted with it, and may be taken out.
    place.write_file("inner/file", "");
    assert!(run(&["trust", "inner"]).1.contains("was trusted already"));
    assert_eq!(run(&["untrust", "inner"]).0, 0);
    let inner = format!(",\r\n\t\t\"{work}/inner\" : {{\"trusted\": false}}");
    holds(&others.replace("{}", &format!("{{}}{own}{inner}")));
}

#[test]
fn who_trusts_everything_is_told_how_much_that_is() {
    for (directory, is_wide) in [(".", false), ("/", true), ("@HOME", true)] {
        let place = Place::new();
        fs::create_dir_all(place.home()).unwrap();
        let directory = match directory {
            "@HOME" => place.home(),
            other => other.into(),
        };
        let done = magi_code(&place, &["trust", directory.to_str().unwrap()], &[]);
        let out = text(&done.stdout);
        assert!(out.contains("and everything below it"), "{out}");
        assert_eq!(out.contains("Your home directory"), is_wide, "{out}");
    }
}

#[test]
fn what_cannot_be_trusted_changes_nothing() {
    let place = Place::new();
    place.write_settings(&json!({}));
    place.write_file("file", "");
    let settings = place.mc_home().join("settings.json");
    let refused = |args: &[&str], word: &str| {
        let before = fs::read(&settings).ok();
        let done = magi_code(&place, args, &[]);
        assert_eq!(done.status.code(), Some(1), "{args:?}");
        assert!(text(&done.stderr).contains(word), "{done:?}");
        assert!(done.stdout.is_empty());
        assert_eq!(fs::read(&settings).ok(), before);
    };
    refused(&["trust", "none"], "No such file");
    refused(&["untrust", "file"], "no directory");
    for (broken, word) in [
        ("{", "settings.json:1:"),
        ("{\"a\": 1, \"a\": 2}", "a second time"),
        ("{\"projects\": []}", "a list stands where"),
        ("{\"provider\": 7}", "a number stands where"),
    ] {
        fs::write(&settings, broken).unwrap();
        refused(&["trust"], word);
    }
    fs::remove_file(&settings).unwrap();
    fs::create_dir(&settings).unwrap();
    refused(&["trust"], "no regular file");
    let usage = magi_code(&place, &["trust", "a", "b"], &[]);
    assert_eq!(usage.status.code(), Some(2));
}

#[test]
fn a_trusted_folder_trusts_nothing_above_it() {
    let place = Place::new();
    place.write_settings(&json!({}));
    place.write_file(".git/HEAD", "");
    place.write_file("inner/file", "");
    let outside = place.root().join("notes.md");
    fs::write(&outside, CANARY).unwrap();
    symlink(&outside, place.work().join("AGENTS.md")).unwrap();
    let left_out = || {
        let done = magi_code(&place, &["doctor", "--cwd", "inner"], &[]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        text(&done.stdout).contains("AGENTS.md")
    };
    assert!(left_out());
    assert!(magi_code(&place, &["trust", "inner"], &[]).status.success());
    assert!(left_out(), "the file stands above what is trusted");
    trust(&place);
    assert!(!left_out());
}
