//! A conversation in application-service: a turn in a new session, its replay, the end.

use serde_json::{Value, json};

use crate::MAGI_CODE;
use crate::stage::{Dialect, Stage};
use crate::support::{Launch, Place};

fn shape(frame: &Value) -> &'static str {
    match (frame["kind"].as_str(), &frame["error"]) {
        (Some("event"), _) => "event",
        (_, Value::Null) => "response",
        _ => "refusal",
    }
}

/// Accepts the response to a request.
fn response(id: &'static str) -> impl FnMut(&Value) -> bool {
    move |frame| frame["kind"] == "response" && frame["request_id"] == id
}

#[test]
fn application_service_transcript_is_what_happens() {
    let place = Place::new();
    place.write_file("README.md", "# Hello\n");
    place.write_script(&json!({"turns": [{"steps": [
        {"text": "Let me look. "}, {"tool": "read", "input": {"path": "README.md"}},
        {"text": "It greets."}, {"usage": {"input": 120, "output": 8, "cache_read": 0}},
    ]}]}));
    let dialect = Dialect {
        name: "application-service",
        title: "application-service v1",
        opaque: &[
            ("server_version", "version"),
            ("session_id", "session"),
            ("turn_id", "turn"),
            ("activity_id", "activity"),
            ("tool_id", "tool"),
            ("cursor", "cursor"),
            ("next_cursor", "cursor"),
            ("snapshot_cursor", "cursor"),
        ],
        // An estimate, which counts the path of the workspace too.
        numbers: &["current_tokens"],
        shape,
        schema: (MAGI_CODE, &["schema", "application-service"]),
    };
    let launch = Launch::new(MAGI_CODE, &["--app", "service"]).place(&place);
    let mut stage = Stage::new(dialect, launch);

    stage.section(
        "Too early",
        "A failure has a code and its fixed message, and takes nothing back.",
    );
    stage.exchange(
        r#"{"protocol_version":1,"kind":"request","request_id":"q1","method":"status","payload":{}}"#,
        response("q1"),
    );
    stage.section(
        "Initialize",
        "The answer lists all operations and **all events**: a client that does not know one of these events stops here.",
    );
    stage.exchange(
        r#"{"protocol_version":1,"kind":"request","request_id":"q2","method":"initialize","payload":{"supported_protocol_versions":[1],"requested_capabilities":["turn.start","session.replay"]}}"#,
        response("q2"),
    );
    stage.section(
        "A turn in a new session",
        "The envelope names no session, so the turn gets a new one; the response tells its id. Its events carry the request's \
         id. `sequence` counts deltas and activities together, from `turn.started` to `turn.terminal`. The terminal's \
         `assistant_text` is the text of the turn, whatever the deltas showed.",
    );
    stage.exchange(
        r#"{"protocol_version":1,"kind":"request","request_id":"q3","method":"turn.start","payload":{"prompt":"What does the README say?"}}"#,
        |frame| frame["event"] == "turn.terminal",
    );
    stage.section(
        "What is stored",
        "From the beginning, as `after` is left out. Keep the `cursor` of the last item that was taken: it is where the next \
         replay goes on, in a later process too.",
    );
    stage.exchange(
        r#"{"protocol_version":1,"kind":"request","request_id":"q4","session_id":"<session-1>","method":"session.replay","payload":{"limit":32}}"#,
        response("q4"),
    );
    stage.section(
        "The session is let go",
        "Nothing is deleted. A session whose turn has ended is `closed` at once.",
    );
    stage.exchange(
        r#"{"protocol_version":1,"kind":"request","request_id":"q5","session_id":"<session-1>","method":"session.close","payload":{}}"#,
        response("q5"),
    );
    stage.section(
        "The end",
        "The client closes the input. A turn that ran would be cancelled, and its terminal event would still come.",
    );
    stage.end(true);
}
