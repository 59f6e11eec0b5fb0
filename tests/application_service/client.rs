//! A strict client of the service: every line it reads must be a whole, bounded, well-shaped response or event.
//! What an operation means is the test modules' business.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{Exit, Launch, Place, Server};

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_magi-code");

/// The record bound, newline included ("Advertised limits").
pub(crate) const RECORD: usize = 65_536;

/// Every code of the table "Errors and validation".
const CODES: &[&str] = &[
    "invalid_json",
    "record_too_large",
    "invalid_request",
    "payload_too_large",
    "limit_exceeded",
    "unsupported_version",
    "unsupported_capability",
    "unsupported_operation",
    "not_initialized",
    "invalid_payload",
    "duplicate_request_id",
    "too_many_active_turns",
    "session_busy",
    "session_unavailable",
    "invalid_session_id",
    "unknown_turn",
    "auth_busy",
    "unknown_login",
    "provider_unavailable",
    "confirmation_required",
    "configuration_unavailable",
    "configuration_busy",
    "catalog_refresh_failed",
    "settings_write_failed",
    "invalid_scope",
    "invalid_selection",
    "unsupported_reasoning",
    "catalog_unavailable",
    "catalog_stale",
    "internal_error",
];

pub(crate) fn launch() -> Launch {
    Launch::new(BIN, &["--app", "service"])
}

/// A request without `session_id`.
pub(crate) fn request(id: &str, method: &str, payload: &Value) -> Value {
    json!({
        "protocol_version": 1, "kind": "request", "request_id": id, "method": method, "payload": payload,
    })
}

/// The same as bytes with a newline.
pub(crate) fn record(id: &str, method: &str, payload: &Value) -> Vec<u8> {
    let mut line = serde_json::to_vec(&request(id, method, payload)).unwrap();
    line.push(b'\n');
    line
}

/// The usual `initialize` payload.
pub(crate) fn version_1() -> Value {
    json!({"supported_protocol_versions": [1], "requested_capabilities": []})
}

/// A `status` record that is exactly `total` bytes long, `end` included, padded with spaces.
pub(crate) fn padded(id: &str, total: usize, end: &[u8]) -> Vec<u8> {
    let mut line = serde_json::to_vec(&request(id, "status", &json!({}))).unwrap();
    let closing = line.pop().unwrap();
    line.resize(total - end.len() - 1, b' ');
    line.push(closing);
    line.extend_from_slice(end);
    assert_eq!(line.len(), total);
    line
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

/// Checks the shape that every response has ("Envelope").
pub(crate) fn assert_response_shape(response: &Value) {
    assert_eq!(
        keys(response),
        [
            "error",
            "kind",
            "method",
            "payload",
            "protocol_version",
            "request_id",
            "session_id"
        ],
        "{response}"
    );
    assert_eq!(response["protocol_version"], json!(1), "{response}");
    assert_eq!(response["kind"], "response", "{response}");
    for identity in ["request_id", "session_id", "method"] {
        assert!(
            response[identity].is_null() || response[identity].is_string(),
            "{response}"
        );
    }
    if response["error"].is_null() {
        assert!(response["payload"].is_object(), "{response}");
        assert!(
            response["request_id"].is_string(),
            "a success is correlated: {response}"
        );
    } else {
        assert!(response["payload"].is_null(), "{response}");
        assert_eq!(keys(&response["error"]), ["code", "message"], "{response}");
        let code = response["error"]["code"].as_str().expect("a code");
        assert!(CODES.contains(&code), "undocumented code: {response}");
        let message = response["error"]["message"].as_str().expect("a message");
        assert!((1..=512).contains(&message.len()), "{response}");
    }
}

/// Checks the shape that every event has ("Envelope").
fn assert_event_shape(event: &Value) {
    assert_eq!(
        keys(event),
        [
            "event",
            "event_id",
            "kind",
            "payload",
            "protocol_version",
            "request_id",
            "session_id"
        ],
        "{event}"
    );
    assert_eq!(event["protocol_version"], json!(1), "{event}");
    for (field, bytes) in [("event_id", 128), ("request_id", 128), ("event", 64)] {
        let text = event[field].as_str().expect("a text");
        assert!((1..=bytes).contains(&text.len()), "{event}");
    }
    assert!(event["session_id"].is_null() || event["session_id"].is_string());
    assert!(event["payload"].is_object(), "{event}");
}

/// A running service and the client's end of its pipes.
pub(crate) struct Service {
    pub(crate) server: Server,
    next_id: u32,
    /// Events that came while an answer was waited for.
    events: VecDeque<Value>,
}

impl Service {
    pub(crate) fn spawn(launch: Launch) -> Self {
        Self {
            server: Server::spawn(launch),
            next_id: 0,
            events: VecDeque::new(),
        }
    }

    /// A service in a fresh place, not initialized.
    pub(crate) fn start() -> Self {
        Self::spawn(launch())
    }

    /// An initialized service in a fresh place.
    pub(crate) fn ready() -> Self {
        Self::ready_in(&Place::new())
    }

    pub(crate) fn ready_in(place: &Arc<Place>) -> Self {
        let mut service = Self::spawn(launch().place(place));
        service.initialize();
        service
    }

    pub(crate) fn initialize(&mut self) -> Value {
        self.ok("initialize", &version_1())
    }

    pub(crate) fn fresh_id(&mut self) -> String {
        self.next_id += 1;
        format!("req-{}", self.next_id)
    }

    /// The next response, checked for shape and size. Events before it are kept for [`Self::event`].
    pub(crate) fn recv(&mut self) -> Value {
        loop {
            let message = self.message();
            if message["kind"] == "event" {
                self.events.push_back(message);
                continue;
            }
            return message;
        }
    }

    /// The next event that was not taken yet; no response may come before it.
    pub(crate) fn event(&mut self) -> Value {
        if let Some(event) = self.events.pop_front() {
            return event;
        }
        let event = self.message();
        assert_eq!(event["kind"], "event", "{event}");
        event
    }

    /// The next line, whichever kind it is, checked for shape and size.
    pub(crate) fn message(&mut self) -> Value {
        let line = match self.server.recv_line() {
            Some(line) => line,
            None => {
                let exit = self.server.wait_exit();
                panic!("stdout ended, {:?}, stderr: {}", exit.status, exit.stderr);
            }
        };
        assert!(line.terminated, "stdout ended inside a line");
        assert!(
            line.bytes.len() < RECORD,
            "an output line of {} bytes",
            line.bytes.len() + 1
        );
        let message = line.json();
        if message["kind"] == "event" {
            assert_event_shape(&message);
        } else {
            assert_response_shape(&message);
        }
        message
    }

    /// Sends raw bytes and takes one response.
    pub(crate) fn raw(&mut self, bytes: impl Into<Vec<u8>>) -> Value {
        self.server.send(bytes);
        self.recv()
    }

    /// Sends one value as a record and takes one response.
    pub(crate) fn exchange(&mut self, value: &Value) -> Value {
        self.server.send_json(value);
        self.recv()
    }

    /// A request with a fresh id; the response must be correlated with it.
    pub(crate) fn call(&mut self, method: &str, payload: &Value) -> Value {
        self.call_on(None, method, payload)
    }

    /// The same with the envelope's session.
    pub(crate) fn call_on(
        &mut self,
        session: Option<&str>,
        method: &str,
        payload: &Value,
    ) -> Value {
        let id = self.fresh_id();
        let mut value = request(&id, method, payload);
        if let Some(session) = session {
            value["session_id"] = json!(session);
        }
        let response = self.exchange(&value);
        assert_eq!(response["request_id"], json!(id), "{response}");
        assert_eq!(response["method"], method, "{response}");
        assert_eq!(response["session_id"], json!(session), "{response}");
        response
    }

    /// The payload of a request that must succeed.
    pub(crate) fn ok(&mut self, method: &str, payload: &Value) -> Value {
        let response = self.call(method, payload);
        assert_eq!(response["error"], Value::Null, "{method} {payload}");
        response["payload"].clone()
    }

    /// The payload of a request on a session that must succeed.
    pub(crate) fn ok_on(&mut self, session: &str, method: &str, payload: &Value) -> Value {
        let response = self.call_on(Some(session), method, payload);
        assert_eq!(response["error"], Value::Null, "{method} {payload}");
        response["payload"].clone()
    }

    /// The error code of a request on a session that must fail.
    pub(crate) fn code_on(&mut self, session: &str, method: &str, payload: &Value) -> String {
        code(&self.call_on(Some(session), method, payload))
    }

    /// The error code of a request that must fail.
    pub(crate) fn code(&mut self, method: &str, payload: &Value) -> String {
        code(&self.call(method, payload))
    }

    /// Proves that the loop goes on and nothing else was answered in between.
    pub(crate) fn assert_alive(&mut self) {
        let id = self.fresh_id();
        let response = self.raw(record(&id, "no.such", &json!({})));
        assert_eq!(
            response["request_id"],
            json!(id),
            "an answer too many: {response}"
        );
        assert_eq!(code(&response), "unsupported_operation");
    }

    /// Ends stdin; the service must end without another line.
    pub(crate) fn finish(mut self) -> Exit {
        self.server.close_stdin();
        let rest = self.server.rest();
        assert!(rest.is_empty(), "lines after the last answer: {rest:?}");
        self.server.wait_exit()
    }
}

/// The error code of a response that must be an error.
pub(crate) fn code(response: &Value) -> String {
    response["error"]["code"]
        .as_str()
        .unwrap_or_else(|| panic!("not an error: {response}"))
        .to_owned()
}
