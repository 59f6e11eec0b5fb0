//! Black-box tests of the log that `MC_LOG` turns on: what it holds, what it never holds, and that it stops nothing.
//! What a client is shown is the other files' matter.
#![cfg(all(
    feature = "log",
    feature = "local-agent",
    feature = "lifecycle",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    unix
))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "local_agent/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "local_agent/run.rs"]
#[allow(dead_code)]
mod run;
#[path = "secrets/shapes.rs"]
#[allow(dead_code)]
mod shapes;
#[path = "secrets/shown.rs"]
#[allow(dead_code)]
mod shown;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::shapes::all;
use crate::shown::Shown;
use crate::support::Place;

fn logs(place: &Arc<Place>) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(place.mc_home().join("logs")) else {
        return Vec::new();
    };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Every line, each of which must be an object of JSON.
fn lines(place: &Arc<Place>) -> Vec<Value> {
    let files = logs(place);
    let text: String = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// One turn with a command and a hook, in a process with this filter.
fn turn(place: &Arc<Place>, filter: &str) {
    let mut agent = Agent::spawn(launch().place(place).env("MC_LOG", filter));
    agent.initialize();
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed", "{:?}", run.events);
    // This also asserts that nothing stands on its standard error.
    agent.end();
}

fn place() -> Arc<Place> {
    let steps = json!([{"tool": "bash", "input": {"command": "echo ok"}}, {"text": "ok"}]);
    let place = Place::with_script(&json!({"turns": [{ "steps": steps }]}));
    let script = place.root().join("script.json");
    place.write_settings(&json!({
        "providers": {"fixture": {"script": script}},
        "permissions": {"bash": "allow"},
        "hooks": {"pre_tool": ["true"]},
    }));
    place
}

#[test]
fn the_log_names_everything_on_a_request_s_way_and_is_private() {
    let place = place();
    turn(&place, "trace");
    let text = json!(lines(&place)).to_string();
    for word in [
        "connection",
        "request",
        "run",
        "response",
        "tool",
        "command",
        "startup",
        "lease",
        "append",
        "hook",
    ] {
        assert!(text.contains(&format!("\"{word}\"")), "{word}");
    }
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.mc_home().join("logs")), 0o700);
    let files = logs(&place);
    assert!(files.len() == 1 && mode(&files[0]) == 0o600, "{files:?}");
}

#[test]
fn what_belongs_to_something_stands_within_it() {
    let place = place();
    turn(&place, "trace");
    let paths: Vec<Vec<String>> = lines(&place)
        .iter()
        .filter(|line| line["begins"] == "command")
        .map(|line| {
            let spans = line["spans"].as_array().unwrap().iter();
            spans
                .map(|span| span["span"].as_str().unwrap().to_owned())
                .collect()
        })
        .collect();
    let tool = ["connection", "request", "run", "response", "tool"];
    let [of_the_hook, of_the_call] = &paths[..] else {
        panic!("{paths:?}");
    };
    assert_eq!(*of_the_call, [&tool[..], &["command"]].concat());
    assert_eq!(*of_the_hook, [&tool[..], &["hook", "command"]].concat());
}

#[test]
fn a_hook_that_fails_is_named_by_its_event_number_and_exit_code() {
    let place = place();
    let script = place.root().join("script.json");
    place.write_settings(&json!({
        "providers": {"fixture": {"script": script}},
        "permissions": {"bash": "allow"},
        "hooks": {
            "session_start": ["true", "echo words-canary >&2; exit 7"],
            "pre_tool": ["exit 2"],
            "turn_end": ["kill -9 $$"],
        },
    }));
    turn(&place, "info");
    let found: Vec<_> = lines(&place)
        .iter()
        .filter(|line| line.get("number").is_some())
        .map(|line| {
            json!([
                line["event"],
                line["number"],
                line["exit_code"],
                line["signal"]
            ])
        })
        .collect();
    let expected = json!([
        ["session_start", 2, 7, null],
        ["pre_tool", 1, 2, null],
        ["turn_end", 1, null, 9],
    ]);
    assert_eq!(json!(found), expected);
    assert!(!json!(lines(&place)).to_string().contains("words-canary"));
}

#[test]
fn a_span_has_a_number_of_its_own_that_every_reader_can_hold() {
    let place = place();
    turn(&place, "trace");
    let lines = lines(&place);
    let own = |line: &Value| line["spans"].as_array().unwrap().last().unwrap()["span_id"].clone();
    let of = |what: &str| -> Vec<u64> {
        let lines = lines.iter().filter(|line| line.get(what).is_some());
        lines.map(|line| own(line).as_u64().unwrap()).collect()
    };
    let (begun, mut ended) = (of("begins"), of("ends"));
    assert_eq!(begun, (1..=begun.len() as u64).collect::<Vec<_>>());
    ended.sort_unstable();
    assert_eq!(ended, begun);
}

#[test]
fn nothing_is_written_without_a_filter() {
    let place = place();
    turn(&place, "");
    assert!(logs(&place).is_empty());
}

#[test]
fn a_filter_that_is_none_and_a_folder_that_is_none_stop_nothing() {
    let unread = place();
    turn(&unread, "agent=loudly,=,");
    assert!(
        json!(lines(&unread))
            .to_string()
            .contains("MC_LOG is no filter")
    );
    let blocked = place();
    std::fs::write(blocked.mc_home().join("logs"), "a file").unwrap();
    turn(&blocked, "trace");
}

#[test]
fn a_word_that_no_part_is_called_is_told_whatever_it_lets_pass() {
    let place = place();
    turn(&place, "agnet=debug,store::session=off,too=info,hos=error");
    let lines = lines(&place);
    let told: Vec<_> = lines
        .iter()
        .filter(|line| {
            line["message"]
                .as_str()
                .unwrap_or_default()
                .contains("names no part")
        })
        .map(|line| line["name"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["agnet"], "{lines:?}");
    // Whoever asks for one of these gets what the list promises: it has every part that can log.
    let parts = lines
        .iter()
        .find_map(|line| line["parts"].as_str())
        .unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut logging = Vec::new();
    for folder in [
        "",
        "base",
        "host",
        "host/protocols",
        "handlers",
        "magi-ops",
        "mighty-ops",
    ] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            continue;
        };
        for entry in entries {
            let manifest = entry.unwrap().path().join("Cargo.toml");
            let text = std::fs::read_to_string(manifest).unwrap_or_default();
            let name = text.lines().find_map(|line| line.strip_prefix("name = "));
            if text.contains("\ntracing.workspace") {
                logging.push(name.unwrap().trim_matches('"').replace('-', "_"));
            }
        }
    }
    logging.sort();
    assert_eq!(logging.join(", ") + ", log", parts);
    let off = place_of_nothing();
    turn(&off, "off");
    assert!(logs(&off).is_empty());
}

fn place_of_nothing() -> Arc<Place> {
    Place::with_script(&json!({"turns": [{"steps": [{"text": "ok"}]}]}))
}

#[test]
fn a_run_that_fails_is_logged_in_words() {
    let steps =
        json!([{"tool": "bash", "input": {"command": "exit 3"}}, {"error": "unauthorized"}]);
    let place = Place::with_script(&json!({"turns": [{ "steps": steps }]}));
    let script = place.root().join("script.json");
    place.write_settings(&json!({
        "providers": {"fixture": {"script": script}}, "permissions": {"bash": "allow"},
    }));
    let mut agent = Agent::spawn(launch().place(&place).env("MC_LOG", "debug"));
    agent.initialize();
    let session = agent.create();
    assert_eq!(agent.turn(&session, "go").outcome(), "failed");
    agent.end();
    let lines = lines(&place);
    let of = |message: &str| {
        lines
            .iter()
            .find(|line| line["message"] == message)
            .unwrap()
    };
    let ended = of("the run has ended");
    assert_eq!(ended["outcome"], "failed");
    assert_eq!(ended["persistence"], "durable");
    assert_eq!(ended["error_code"], "provider_unavailable");
    let provider = of("the provider gave no answer");
    assert_eq!(provider["kind"], "the provider refused the credential");
    assert_eq!(of("a command ended")["exit_code"], 3);
    assert_eq!(of("the connection ended")["ended"], "drained");
}

#[cfg(feature = "mty-agent")]
#[test]
fn mty_keeps_a_log_too() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let place = place();
    let mut child = Command::new(env!("CARGO_BIN_EXE_mty"))
        .args(["agent", "--single-shot"])
        .current_dir(place.work())
        .env_clear()
        .env("HOME", place.home())
        .env("MC_HOME", place.mc_home())
        .env("MC_LOG", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let request = b"{\"op\":\"explain\",\"id\":\"1\",\"code\":\"MT2001\"}\n";
    child.stdin.take().unwrap().write_all(request).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(done.stderr.is_empty(), "{done:?}");
    for line in String::from_utf8(done.stdout).unwrap().lines() {
        assert!(line.contains("\"kind\""), "no line of the protocol: {line}");
    }
    let lines = lines(&place);
    assert_eq!(lines[0]["message"], "the log begins");
    assert!(
        json!(lines).to_string().contains("\"request\""),
        "{lines:?}"
    );
    let files = logs(&place);
    let mode = std::fs::metadata(&files[0]).unwrap().permissions().mode();
    assert!(files.len() == 1 && mode & 0o777 == 0o600, "{files:?}");
}

#[test]
fn logs_of_earlier_processes_leave_after_a_fortnight() {
    let place = place();
    let folder = place.mc_home().join("logs");
    std::fs::create_dir_all(&folder).unwrap();
    let day = std::time::Duration::from_secs(24 * 60 * 60);
    for (name, days) in [
        ("2020-01-01-1.jsonl", 15),
        ("2020-01-02-1.jsonl", 13),
        ("notes.txt", 99),
    ] {
        let file = std::fs::File::create(folder.join(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - day * days)
            .unwrap();
    }
    turn(&place, "info");
    let kept = |name: &str| folder.join(name).exists();
    assert!(!kept("2020-01-01-1.jsonl") && kept("2020-01-02-1.jsonl") && kept("notes.txt"));
}

#[test]
fn no_secret_is_in_the_log() {
    let canaries = all();
    let turns: Vec<Value> = canaries
        .iter()
        .map(|canary| {
            let line = canary.line();
            json!({"steps": [
                {"reasoning": line, "provider_summary": true},
                {"tool": "read", "input": {"path": line}},
                {"tool": "bash", "input": {"command": format!("cat <<'end'\n{line}\nend\nfalse")}},
                {"tool": line, "input": {}},
                {"text": line, "chunks": 3},
            ]})
        })
        .collect();
    let place = Place::with_script(&json!({ "turns": turns }));
    let script = place.root().join("script.json");
    place.write_settings(&json!({
        "providers": {"fixture": {"script": script}}, "permissions": {"bash": "allow"},
    }));
    let mut agent = Agent::spawn(launch().place(&place).env("MC_LOG", "trace"));
    agent.initialize();
    let session = agent.create();
    for canary in &canaries {
        agent.turn(&session, &canary.line());
    }
    agent.end();
    let shown = Shown::of_value(&json!(lines(&place)));
    let leaks: Vec<String> = canaries
        .iter()
        .filter_map(|canary| shown.leak(canary))
        .collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(shown.holds("tool"));
}
