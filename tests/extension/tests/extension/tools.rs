//! A third party's tool: told to every set of the process, run by a turn of both dialects, named to those who watch.
//! Every exchange goes over real pipes.

use std::sync::Arc;

use super::*;
use support::Place;

const TOOL: &str = "thirdparty_words";

fn place() -> Arc<Place> {
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"tool": TOOL, "input": {"path": "./a.txt", "why": "a member that it does not have"}},
        {"text": "Done."}
    ]}]}));
    place.write_file("a.txt", "three small words\n");
    place
}

/// The result as the model was given it, from the session's own file.
fn result(place: &Place) -> String {
    let sessions = place.mc_home().join("sessions");
    let files = std::fs::read_dir(sessions).unwrap();
    let records: Vec<Value> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let lines: Vec<Value> = text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            lines
        })
        .collect();
    let finished = records
        .iter()
        .map(|record| &record["body"])
        .find(|body| body["type"] == "tool_finished")
        .expect("a result");
    assert_eq!(finished["is_error"], false, "{finished}");
    finished["content"].as_str().unwrap().to_owned()
}

const RESULT: &str = "a.txt has 3 words\n[ignored, the tool has no such input: why; it has path]\n";

#[test]
fn it_stands_behind_the_built_in_ones() {
    let names = tools::registered_names();
    assert_eq!(names.last(), Some(&TOOL));
    assert_eq!(tools::registered(TOOL), Some(TOOL));
    let place = place();
    let context = tools::Context::new(place.work(), Vec::new());
    let set = tools::ToolSet::registered(context).unwrap();
    let spec = set.specs().last().unwrap();
    assert_eq!(spec.name, TOOL);
    assert_eq!(spec.input_schema["required"], json!(["path"]));
}

#[test]
fn a_run_of_local_agent_calls_it() {
    let place = place();
    let launch = Launch::new(env!("CARGO_BIN_EXE_extended"), &[LOCAL_AGENT]).place(&place);
    let mut server = Server::spawn(launch);
    let mut number = 0;
    let mut call = |server: &mut Server, method: &str, params: Value| {
        number += 1;
        server.send_json(&json!({
            "protocol": "magi-code.local-agent", "version": 1,
            "id": number.to_string(), "method": method, "params": params,
        }));
        let frame = server.recv();
        assert_eq!(frame["type"], "response", "{frame}");
        assert!(frame["result"].is_object(), "{frame}");
        frame["result"].clone()
    };
    call(
        &mut server,
        "initialize",
        json!({"required_capabilities": []}),
    );
    let session = call(&mut server, "session.create", json!({}))["session_id"].clone();
    let prompt = json!({"session_id": session, "prompt": "count"});
    call(&mut server, "turn.start", prompt);
    let events = server.recv_until(|frame| frame["event"] == "run.finished");
    let shown: Vec<_> = events
        .iter()
        .filter(|frame| frame["event"] == "activity")
        .map(|frame| {
            let data = &frame["data"];
            (
                &data["kind"],
                &data["state"],
                &data["name"],
                &data["summary"],
            )
        })
        .collect();
    let (kind, name) = (json!("tool"), json!(TOOL));
    let (started, ended) = (json!("started"), json!("completed"));
    let (subject, summary) = (
        json!("thirdparty_words a.txt"),
        json!("thirdparty_words a.txt: 3 words"),
    );
    assert_eq!(
        shown,
        [
            (&kind, &started, &name, &subject),
            (&kind, &ended, &name, &summary)
        ]
    );
    server.close_stdin();
    assert_eq!(server.wait_exit().code, Some(0));
    assert_eq!(result(&place), RESULT);
}

#[test]
fn a_turn_of_application_service_calls_it() {
    let place = place();
    let launch = Launch::new(env!("CARGO_BIN_EXE_extended"), &[APPLICATION_SERVICE]).place(&place);
    let mut server = Server::spawn(launch);
    let request = |id: &str, method: &str, payload: Value| {
        json!({
            "protocol_version": 1, "kind": "request", "request_id": id, "method": method,
            "payload": payload,
        })
    };
    server.send_json(&request(
        "i",
        "initialize",
        json!({"supported_protocol_versions": [1], "requested_capabilities": []}),
    ));
    assert_eq!(server.recv()["error"], Value::Null);
    server.send_json(&request(
        "t",
        "turn.start",
        json!({"prompt": "count", "options": {}}),
    ));
    let records = server.recv_until(|record| record["event"] == "turn.terminal");
    let tools: Vec<_> = records
        .iter()
        .map(|record| &record["payload"]["activity"])
        .chain(records.iter().map(|record| &record["payload"]))
        .filter(|activity| activity["kind"] == "tool")
        .map(|activity| {
            (
                activity["tool_name"].as_str().unwrap_or_default(),
                activity["status"].as_str().unwrap_or_default(),
                activity["transport"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        tools,
        [(TOOL, "running", "local"), (TOOL, "completed", "local")]
    );
    server.close_stdin();
    assert_eq!(server.wait_exit().code, Some(0));
    assert_eq!(result(&place), RESULT);
}
