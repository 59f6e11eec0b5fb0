//! A conversation in local-agent: a turn with tools and an approval, its history, the end.

use serde_json::{Value, json};

use crate::MAGI_CODE;
use crate::stage::{Dialect, Stage};
use crate::support::{Launch, Place};

fn shape(frame: &Value) -> &'static str {
    match (frame["type"].as_str(), frame.get("error")) {
        (Some("event"), _) => "event",
        (_, Some(_)) => "refusal",
        _ => "response",
    }
}

/// Accepts the response to a request.
fn response(id: &'static str) -> impl FnMut(&Value) -> bool {
    move |frame| frame["id"] == id
}

fn event(name: &'static str) -> impl FnMut(&Value) -> bool {
    move |frame| frame["event"] == name
}

#[test]
fn local_agent_transcript_is_what_happens() {
    let place = Place::new();
    place.write_file("README.md", "# Hello\n");
    let script = place.root().join("script.json");
    let steps = json!([
        {"text": "Let me look. "}, {"tool": "read", "input": {"path": "README.md"}},
        {"text": "I write it down."}, {"tool": "write", "input": {"path": "notes.txt", "content": "A greeting.\n"}},
        {"text": "Done: the file greets, and notes.txt says so."},
    ]);
    let turns = json!({"turns": [{"steps": steps}]});
    std::fs::write(&script, turns.to_string()).unwrap();
    place.write_settings(&json!({
        "providers": {"fixture": {"script": script}},
        "permissions": {"write": "ask"},
    }));
    let dialect = Dialect {
        name: "local-agent",
        title: "local-agent v1",
        opaque: &[
            ("instance_id", "instance"),
            ("context_id", "context"),
            ("session_id", "session"),
            ("run_id", "run"),
            ("revision", "revision"),
            ("message_id", "message"),
            ("activity_id", "activity"),
            ("approval_id", "approval"),
            ("next_cursor", "cursor"),
        ],
        numbers: &[],
        shape,
        schema: (MAGI_CODE, &["schema", "local-agent"]),
    };
    let launch = Launch::new(MAGI_CODE, &["serve", "--stdio"]).place(&place);
    let mut stage = Stage::new(dialect, launch);

    stage.section(
        "Initialize",
        "The client says what it can't do without. The answer comes when the child is ready, with everything that it \
         serves, its limits, and the selected model.",
    );
    stage.exchange(
        r#"{"protocol":"magi-code.local-agent","version":1,"id":"r1","method":"initialize","params":{"required_capabilities":["session.create","history.page","turn.start","approval.answer"]}}"#,
        response("r1"),
    );
    stage.section(
        "A session",
        "It has no file yet: `durable` is false, and its id is not worth storing before the first input is.",
    );
    stage.exchange(
        r#"{"protocol":"magi-code.local-agent","version":1,"id":"r2","method":"session.create","params":{}}"#,
        response("r2"),
    );
    stage.section(
        "A turn begins",
        "The response admits the run. `input.persisted` is the moment to store the session's id. The model says something: a \
         `message.delta`, then, once the message is whole, a `message.reconcile` whose text replaces it. It reads a file, \
         which needs no question: an `activity` that is `started` and `completed`. The second tool asks: its activity is \
         `started`, `approval.requested` comes right behind it, and the run waits.",
    );
    stage.exchange(
        r#"{"protocol":"magi-code.local-agent","version":1,"id":"r3","method":"turn.start","params":{"session_id":"<session-1>","prompt":"What does the README say? Write it down."}}"#,
        event("approval.requested"),
    );
    stage.section(
        "The approval is given",
        "One answer is recorded. The call runs, the model goes on, and `run.finished` ends the run: what it said is on the \
         disk, and `revision` names the history as it is now.",
    );
    stage.exchange(
        r#"{"protocol":"magi-code.local-agent","version":1,"id":"r4","method":"approval.answer","params":{"session_id":"<session-1>","run_id":"<run-1>","approval_id":"<approval-1>","allow":true}}"#,
        event("run.finished"),
    );
    stage.section(
        "A refusal",
        "The same answer once more. A failure is an `error` with a code; the connection goes on.",
    );
    stage.exchange(
        r#"{"protocol":"magi-code.local-agent","version":1,"id":"r5","method":"approval.answer","params":{"session_id":"<session-1>","run_id":"<run-1>","approval_id":"<approval-1>","allow":true}}"#,
        response("r5"),
    );
    stage.section(
        "The history",
        "Under the revision of `run.finished`. Messages and activities keep their ids. `complete` is true on the last page of \
         a history with nothing left out.",
    );
    stage.exchange(
        r#"{"protocol":"magi-code.local-agent","version":1,"id":"r6","method":"history.page","params":{"session_id":"<session-1>","revision":"<revision-3>","cursor":null}}"#,
        response("r6"),
    );
    stage.section(
        "The end",
        "No later request is admitted. What was running would be cancelled and stored now.",
    );
    stage.exchange(
        r#"{"protocol":"magi-code.local-agent","version":1,"id":"r7","method":"shutdown","params":{}}"#,
        response("r7"),
    );
    stage.end(false);
}
