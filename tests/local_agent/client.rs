//! A strict client of the tests: checks every frame's envelope, answers by id, keeps events in order.
//! What an operation means is the test modules' business.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::run::Run;
use crate::support::{Exit, Launch, Line, Place, Server};
use std::sync::Arc;

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_magi-code");
pub(crate) const PROTOCOL: &str = "magi-code.local-agent";

/// Every code that the protocol text names. Anything else on the wire fails the test.
const CODES: &[&str] = &[
    "invalid_frame",
    "invalid_request",
    "invalid_params",
    "protocol_mismatch",
    "unsupported_method",
    "unsupported_capability",
    "not_initialized",
    "already_initialized",
    "duplicate_id",
    "request_limit",
    "frame_too_large",
    "incomplete_frame",
    "configuration_invalid",
    "provider_unavailable",
    "profile_invalid",
    "mcp_unavailable",
    "startup_cancelled",
    "startup_failed",
    "busy",
    "stale_session",
    "session_missing",
    "session_busy",
    "session_invalid",
    "cwd_mismatch",
    "history_limit",
    "stale_revision",
    "content_limit",
    "operation_cancelled",
    "stale_run",
    "stale_approval",
    "execution_failed",
    "persistence_failed",
    "output_unavailable",
];

const EVENTS: &[&str] = &[
    "input.persisted",
    "message.delta",
    "message.reconcile",
    "activity",
    "approval.requested",
    "diagnostic",
    "run.finished",
];

/// `serve --stdio` in a fresh place.
pub(crate) fn launch() -> Launch {
    Launch::new(BIN, &["serve", "--stdio"])
}

/// A request with the exact field set.
pub(crate) fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({"protocol": PROTOCOL, "version": 1, "id": id, "method": method, "params": params})
}

/// The same as one LF-terminated line.
pub(crate) fn request_line(id: &str, method: &str, params: &Value) -> String {
    format!("{}\n", request(id, method, params))
}

/// 1–64 ASCII bytes of `[A-Za-z0-9._-]`.
pub(crate) fn is_opaque_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// The keys of an object, sorted.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

/// A child with the strict client's end of its pipes.
pub(crate) struct Agent {
    pub(crate) server: Server,
    next_id: u32,
    seq: u64,
    instance: Option<String>,
    answers: VecDeque<Value>,
    events: VecDeque<Value>,
}

impl Agent {
    pub(crate) fn spawn(launch: Launch) -> Self {
        Self {
            server: Server::spawn(launch),
            next_id: 0,
            seq: 0,
            instance: None,
            answers: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// A child in a fresh place, not initialized.
    pub(crate) fn start() -> Self {
        Self::spawn(launch())
    }

    /// An initialized child in `place`.
    pub(crate) fn ready(place: &Arc<Place>) -> Self {
        let mut agent = Self::spawn(launch().place(place));
        agent.initialize();
        agent
    }

    /// An initialized child whose offline provider plays these steps at every prompt.
    pub(crate) fn scripted(steps: &Value) -> Self {
        Self::ready(&Place::with_script(&json!({"turns": [{"steps": steps}]})))
    }

    pub(crate) fn initialize(&mut self) -> Value {
        self.ok("initialize", json!({"required_capabilities": []}))
    }

    pub(crate) fn instance_id(&self) -> &str {
        self.instance.as_deref().expect("a frame was received")
    }

    /// Reads one frame and checks all that holds for every frame.
    pub(crate) fn frame(&mut self) -> Value {
        match self.server.recv_line() {
            Some(line) => self.check(&line),
            None => {
                let exit = self.server.wait_exit();
                panic!("stdout ended, {:?}, stderr: {}", exit.status, exit.stderr);
            }
        }
    }

    /// Checks a frame's envelope and returns it.
    pub(crate) fn check(&mut self, line: &Line) -> Value {
        assert!(line.terminated, "a partial frame: {line:?}");
        assert!(
            line.bytes.len() < 65_536,
            "a frame of {} bytes with its LF",
            line.bytes.len() + 1
        );
        assert!(
            !line.bytes.contains(&b'\r') && !line.bytes.contains(&0x1b),
            "{line:?}"
        );
        let frame = line.json();
        assert_eq!(frame["protocol"], PROTOCOL);
        assert_eq!(frame["version"].as_u64(), Some(1));
        let instance = frame["instance_id"].as_str().expect("instance_id");
        assert!(is_uuid(instance), "{frame}");
        let known = self.instance.get_or_insert_with(|| instance.to_owned());
        assert_eq!(known, instance, "instance_id changed");
        let seq = frame["seq"].as_u64().expect("seq");
        if self.seq == 0 {
            assert_eq!(seq, 1, "the first frame");
        }
        assert!(seq > self.seq, "seq {seq} after {}", self.seq);
        self.seq = seq;
        match frame["type"].as_str() {
            Some("response") => {
                assert!(frame["id"].is_null() || frame["id"].as_str().is_some_and(is_opaque_id));
                if frame.get("error").is_some() {
                    assert_eq!(
                        keys(&frame),
                        [
                            "error",
                            "id",
                            "instance_id",
                            "protocol",
                            "seq",
                            "type",
                            "version"
                        ]
                    );
                    assert_eq!(keys(&frame["error"]), ["code"]);
                    let code = frame["error"]["code"].as_str().expect("a code");
                    assert!(CODES.contains(&code), "unknown code {code}");
                } else {
                    assert_eq!(
                        keys(&frame),
                        [
                            "id",
                            "instance_id",
                            "protocol",
                            "result",
                            "seq",
                            "type",
                            "version"
                        ]
                    );
                    assert!(
                        frame["id"].is_string(),
                        "a result without identity: {frame}"
                    );
                }
            }
            Some("event") => {
                assert_eq!(
                    keys(&frame),
                    [
                        "data",
                        "event",
                        "instance_id",
                        "protocol",
                        "seq",
                        "type",
                        "version"
                    ]
                );
                let name = frame["event"].as_str().expect("a name");
                assert!(EVENTS.contains(&name), "unknown event {name}");
                assert!(frame["data"]["session_id"].is_string(), "{frame}");
                assert!(
                    frame["data"]["run_id"].as_str().is_some_and(is_uuid),
                    "{frame}"
                );
            }
            _ => panic!("unknown frame type: {frame}"),
        }
        frame
    }

    pub(crate) fn fresh_id(&mut self) -> String {
        self.next_id += 1;
        format!("auto-{}", self.next_id)
    }

    /// Sends a request under a fresh id and returns that id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> String {
        let id = self.fresh_id();
        self.server.send_json(&request(&id, method, &params));
        id
    }

    /// The response to `id`. Events and other responses that come first are kept.
    pub(crate) fn answer(&mut self, id: &str) -> Value {
        if let Some(found) = self.answers.iter().position(|frame| frame["id"] == id) {
            return self.answers.remove(found).expect("the answer");
        }
        loop {
            let frame = self.frame();
            if frame["type"] == "event" {
                self.events.push_back(frame);
            } else if frame["id"] == id {
                return frame;
            } else {
                self.answers.push_back(frame);
            }
        }
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(&id)
    }

    /// The result of a request that must succeed.
    pub(crate) fn ok(&mut self, method: &str, params: Value) -> Value {
        let frame = self.call(method, params);
        assert!(frame.get("result").is_some(), "{method}: {frame}");
        frame["result"].clone()
    }

    /// The code of a request that must fail.
    pub(crate) fn err(&mut self, method: &str, params: Value) -> String {
        let frame = self.call(method, params);
        frame["error"]["code"]
            .as_str()
            .unwrap_or_else(|| panic!("{method}: {frame}"))
            .to_owned()
    }

    /// Sends raw bytes and returns the next response's id and code.
    pub(crate) fn refusal(&mut self, bytes: impl Into<Vec<u8>>) -> (Value, String) {
        self.server.send(bytes);
        self.next_refusal()
    }

    pub(crate) fn next_refusal(&mut self) -> (Value, String) {
        let frame = self.frame();
        let code = frame["error"]["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no error: {frame}"));
        (frame["id"].clone(), code.to_owned())
    }

    /// The next event, in order, whether it came before an answer or not.
    pub(crate) fn event(&mut self) -> Value {
        if let Some(event) = self.events.pop_front() {
            return event;
        }
        loop {
            let frame = self.frame();
            if frame["type"] == "event" {
                return frame;
            }
            self.answers.push_back(frame);
        }
    }

    /// All events up to and including the first of that name.
    pub(crate) fn until(&mut self, name: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let event = self.event();
            let found = event["event"] == name;
            seen.push(event);
            if found {
                return seen;
            }
        }
    }

    pub(crate) fn create(&mut self) -> String {
        self.ok("session.create", json!({}))["session_id"]
            .as_str()
            .expect("a session id")
            .to_owned()
    }

    /// Starts a run and returns its id.
    pub(crate) fn begin(&mut self, session: &str, prompt: &str) -> String {
        let started = self.ok(
            "turn.start",
            json!({"session_id": session, "prompt": prompt}),
        );
        assert_eq!(keys(&started), ["accepted", "run_id"]);
        assert_eq!(started["accepted"], true);
        started["run_id"].as_str().expect("a run id").to_owned()
    }

    /// Runs one prompt to its end and returns all its events.
    pub(crate) fn turn(&mut self, session: &str, prompt: &str) -> Run {
        let run_id = self.begin(session, prompt);
        self.finish(run_id)
    }

    /// The rest of a run's events up to its terminal one.
    pub(crate) fn finish(&mut self, run_id: String) -> Run {
        let events = self.until("run.finished");
        for event in &events {
            assert_eq!(
                event["data"]["run_id"],
                run_id.as_str(),
                "an event of another run"
            );
        }
        Run { run_id, events }
    }

    /// All history entries of the attached session at `revision`, and whether it is complete.
    pub(crate) fn history(&mut self, session: &str, revision: &str) -> (Vec<Value>, bool) {
        let (mut entries, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let page = self.ok(
                "history.page",
                json!({"session_id": session, "revision": revision, "cursor": cursor}),
            );
            assert_eq!(
                keys(&page),
                [
                    "complete",
                    "entries",
                    "next_cursor",
                    "revision",
                    "session_id"
                ]
            );
            let size = serde_json::to_vec(&page).expect("JSON").len();
            assert!(size <= 32_768, "a page of {size} bytes");
            let list = page["entries"].as_array().expect("entries");
            assert!(list.len() <= 100, "{} entries", list.len());
            entries.extend(list.iter().cloned());
            cursor = page["next_cursor"].clone();
            if cursor.is_null() {
                return (entries, page["complete"] == true);
            }
            assert!(!list.is_empty(), "an empty page with a cursor");
            assert_eq!(page["complete"], false, "complete before the last page");
            assert!(cursor.as_str().is_some_and(is_opaque_id), "{cursor}");
        }
    }

    /// Ends stdin and expects a clean end: exit 0, no stray output.
    pub(crate) fn end(mut self) {
        self.server.close_stdin();
        let exit = self.server.wait_exit();
        assert_clean(&exit);
    }

    /// Every frame that is left until stdout ends.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let lines = self.server.rest();
        lines.iter().map(|line| self.check(line)).collect()
    }
}

/// Exit 0 and nothing on stderr.
#[track_caller]
pub(crate) fn assert_clean(exit: &Exit) {
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
}

/// Exit 1 and nothing on stderr: how a transport failure ends a child.
#[track_caller]
pub(crate) fn assert_failed_silently(exit: &Exit) {
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(1), ""));
}
