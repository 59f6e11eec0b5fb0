//! Exchanges that `MC_RECORD` keeps, and the folders of them that a model server of the tests plays again.
//! What is kept of one exchange is tested in `magi-ops/provider`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::*;

/// The exchanges of a folder, oldest first.
fn exchanges(folder: &Path) -> Vec<Value> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension().is_some_and(|end| end == "json") && !path.ends_with("expected.json")
        })
        .collect();
    paths.sort();
    let read = |path: &PathBuf| serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    paths.iter().map(read).collect()
}

/// A server that gives the answers of a recorded folder, in order.
fn replaying(folder: &Path) -> Model {
    Model::answering(exchanges(folder).iter().map(Answer::recorded).collect())
}

/// What a run said and how it ended.
fn told(run: &run::Run) -> Value {
    let diagnostics: Vec<_> = run
        .named("diagnostic")
        .iter()
        .map(|event| event["summary"].clone())
        .collect();
    json!({ "outcome": run.outcome(), "text": run.reconciled(), "diagnostics": diagnostics })
}

/// A turn in a new session of a workspace with the file that the scripts read.
fn turn_with(settings: &Value, prompt: &str, record: Option<&Path>) -> Value {
    let place = Place::with_settings(settings);
    place.write_file("notes.txt", "first line\nsecond line\n");
    let mut launch = launch().place(&place);
    for name in ["ANTHROPIC_API_KEY", "GATEWAY_KEY"] {
        launch = launch.env(name, KEY);
    }
    if let Some(folder) = record {
        launch = launch.env("MC_RECORD", folder.to_str().unwrap());
    }
    let mut agent = Agent::spawn(launch);
    agent.initialize();
    let session = agent.create();
    let mut told = told(&agent.turn(&session, prompt));
    agent.end();
    let notes = fs::read_to_string(place.work().join("notes.txt")).unwrap();
    told["notes"] = notes.into();
    told
}

fn messages_api(base: &str) -> Value {
    json!({
        "provider": "anthropic",
        "model": "claude-haiku-4-5",
        "thinking_level": "low",
        "providers": {"anthropic": {"base_url": base}},
    })
}

#[test]
fn a_recorded_turn_is_played_again_with_the_same_course() {
    type Settings = fn(&str) -> Value;
    let wires: [(Settings, [Vec<String>; 2]); 2] = [
        (messages_api, anthropic("Two lines.")),
        (
            |base| differences::chat(base, &json!({})),
            openai_chat("Two lines."),
        ),
    ];
    for (settings, script) in wires {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("recorded");
        let model = Model::start(script.clone().into());
        let first = turn_with(
            &settings(&model.base()),
            "What do the notes say?",
            Some(&folder),
        );
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700
        );
        let kept = exchanges(&folder);
        assert_eq!(kept.len(), 2);
        for (exchange, events) in kept.iter().zip(&script) {
            let sent: String = events
                .iter()
                .map(|data| format!("data: {data}\n\n"))
                .collect();
            assert_eq!(exchange["response"]["body"], sent);
            assert_eq!(exchange["request"]["body"], model.asked().body);
            assert!(!exchange.to_string().contains(KEY));
        }
        let again = replaying(&folder);
        assert_eq!(
            turn_with(&settings(&again.base()), "What do the notes say?", None),
            first
        );
    }
}

#[test]
fn an_exchange_that_ends_with_the_process_or_before_it_is_recorded() {
    let begun = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    for cancels in [false, true] {
        let model = Model::answering(vec![Answer {
            stays: true,
            ..Answer::events(&[begun("Hello there, this goes on.")])
        }]);
        let place = Place::with_settings(&differences::chat(&model.base(), &json!({})));
        let folder = place.root().join("recorded");
        let launch = launch().place(&place).env("GATEWAY_KEY", KEY);
        let mut agent = Agent::spawn(launch.env("MC_RECORD", folder.to_str().unwrap()));
        agent.initialize();
        let session = agent.create();
        let run = agent.begin(&session, "go");
        agent.until("message.delta");
        if cancels {
            let params = json!({"session_id": session, "run_id": run});
            agent.ok("turn.cancel", params);
            agent.until("run.finished");
        }
        agent.end();
        let kept = exchanges(&folder);
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0]["outcome"], "cancelled");
        let body = kept[0]["response"]["body"].as_str().unwrap();
        assert!(body.contains("Hello there"), "{body}");
    }
}

/// Each folder of `tests/fixtures/recordings` is a report: exchanges as they were recorded, and in `expected.json` the
/// settings that matter, the prompt, and what the run has to come to.
#[test]
fn recorded_reports_stay_mended() {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    let mut seen = 0;
    for folder in fs::read_dir(reports)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let expected = fs::read(folder.join("expected.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let model = replaying(&folder);
        let mut settings = expected["settings"].clone();
        let provider = settings["provider"].as_str().unwrap().to_owned();
        settings["providers"][&provider]["base_url"] = model.base().into();
        let told = turn_with(&settings, expected["prompt"].as_str().unwrap(), None);
        assert_eq!(told, expected["run"], "{}", folder.display());
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn no_secret_is_in_a_recording_however_it_came_there() {
    // From the environment, by its shape, and in pieces; in the prompt, a file, the answer and a refusal.
    let shaped = format!("sk-proj-{}", "aB3dE6gH9jK2mN5pQ8sT".repeat(2));
    let secrets = [KEY, &shaped];
    let say = |text: &str| json!({ "content": text });
    let mut pieces = Vec::new();
    for secret in secrets {
        let (head, tail) = secret.split_at(9);
        pieces.extend([say("it is "), say(head), say(tail), say(" indeed. ")]);
    }
    let read = |path: &str| {
        json!({"tool_calls": [{"index": 0, "id": "call_1",
               "function": {"name": "read", "arguments": json!({ "path": path }).to_string()}}]})
    };
    let leak =
        json!({"error": {"message": format!("Incorrect API key provided: {shaped}, {KEY}")}});
    let model = Model::answering(vec![
        differences::completion(&[read("notes.txt")], "tool_calls"),
        differences::completion(&pieces, "stop"),
        Answer::refusal(401, &leak.to_string()),
    ]);
    let place = Place::with_settings(&differences::chat(&model.base(), &json!({})));
    place.write_file("notes.txt", &format!("key: {shaped}\nother: {KEY}\n"));
    let folder = place.root().join("recorded");
    let launch = launch().place(&place).env("GATEWAY_KEY", KEY);
    let mut agent = Agent::spawn(launch.env("MC_RECORD", folder.to_str().unwrap()));
    agent.initialize();
    let session = agent.create();
    for _ in 0..2 {
        agent.turn(&session, &format!("What of {shaped} and {KEY}?"));
    }
    agent.end();
    let kept = exchanges(&folder);
    assert_eq!(kept.len(), 3);
    for exchange in &kept {
        let text = exchange.to_string();
        for secret in secrets {
            let (head, tail) = secret.split_at(9);
            for part in [secret, tail] {
                assert!(!text.contains(part), "{part}: {text}");
            }
            // A beginning that every key has is none.
            assert!(head.len() < 10);
        }
    }
    assert_eq!(kept[2]["response"]["status"], 401);
}

#[test]
fn a_folder_that_can_t_be_used_costs_the_recording_only() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    for folder in [file.clone(), file.join("below")] {
        let model = Model::start(openai_chat("Two lines.").into());
        let settings = differences::chat(&model.base(), &json!({}));
        let run = turn_with(&settings, "go", Some(&folder));
        assert_eq!(run["outcome"], "completed");
    }
    assert_eq!(fs::read(&file).unwrap(), b"");
}
