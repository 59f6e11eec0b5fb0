//! A place with MCP servers: their definitions, the person's approval, and a script that calls their tools.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Agent, BIN};
use crate::support::Place;

/// The server that misbehaves as its flags say.
pub(crate) fn misbehaving(flags: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp/server.py");
    let args: Vec<_> = [script.to_str().unwrap()]
        .iter()
        .chain(flags)
        .copied()
        .collect();
    json!({"command": "python3", "args": args})
}

/// Runs the binary in a place.
pub(crate) fn magi_code(place: &Place, arguments: &[&str]) -> Output {
    Command::new(BIN)
        .args(arguments)
        .current_dir(place.work())
        .env("HOME", place.home())
        .env("MC_HOME", place.mc_home())
        .env_remove("MC_LOG")
        .output()
        .unwrap()
}

/// A place with these servers, each approved and trusted, whose model plays `steps`.
pub(crate) fn place(servers: &Value, steps: &Value) -> Arc<Place> {
    let place = unapproved(servers, steps);
    approve(&place);
    place
}

/// The same without the person's word of them.
pub(crate) fn unapproved(servers: &Value, steps: &Value) -> Arc<Place> {
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    define(&place, servers);
    place
}

/// The same in a workspace that is not trusted either.
pub(crate) fn untrusted(servers: &Value, steps: &Value) -> Arc<Place> {
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    write(&place, servers);
    place
}

/// Writes the definitions of these servers into the settings of a workspace that is trusted: its servers start there.
pub(crate) fn define(place: &Place, servers: &Value) {
    write(place, servers);
    place.trust();
}

fn write(place: &Place, servers: &Value) {
    let mut settings = settings(place);
    settings["mcp_servers"] = servers.clone();
    place.write_settings(&settings);
}

/// Approves every server that is defined, and trusts it.
pub(crate) fn approve(place: &Place) {
    let names = settings(place)["mcp_servers"].as_object().unwrap().clone();
    for name in names.keys() {
        let done = magi_code(place, &["mcp", "approve", name]);
        assert!(done.status.success(), "{done:?}");
    }
    let mut settings = settings(place);
    for server in settings["mcp_servers"]
        .as_object_mut()
        .unwrap()
        .values_mut()
    {
        server["trust"] = json!(true);
    }
    place.write_settings(&settings);
}

/// What a command printed, both ways, and its exit status.
pub(crate) fn said(output: &Output) -> (i32, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(text).unwrap(),
    )
}

pub(crate) fn settings(place: &Place) -> Value {
    let text = std::fs::read(place.mc_home().join("settings.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// One call after the other, then words.
pub(crate) fn steps(calls: &[(&str, Value)]) -> Value {
    let calls = calls
        .iter()
        .map(|(tool, input)| json!({"tool": tool, "input": input}));
    calls.chain([json!({"text": "Done."})]).collect()
}

/// Plays the script of a place in one turn; gives what each call came to, as the session keeps it.
pub(crate) fn results(place: &Arc<Place>) -> Vec<Value> {
    let mut agent = Agent::ready(place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed", "{run:?}");
    agent.end();
    finished(place, &session)
}

/// The records of calls that ended.
pub(crate) fn finished(place: &Place, session: &str) -> Vec<Value> {
    let bodies = place.records(session).into_iter();
    bodies
        .filter(|body| body["type"] == "tool_finished")
        .collect()
}

/// What a server was sent.
pub(crate) fn heard(place: &Place) -> Vec<Value> {
    let text = std::fs::read_to_string(place.work().join("heard")).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The lines of the log of what ran there.
pub(crate) fn log(place: &Place) -> String {
    let folder: PathBuf = place.mc_home().join("logs");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|file| std::fs::read_to_string(file.path()).unwrap())
        .collect()
}
