//! The driver of the application-service dialect. It says nothing of partial messages and interrupted turns:
//! what its replay leaves open, a turn without a terminal item, is put in the words of the other drivers.

use std::collections::VecDeque;
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::driver::{Driver, History, Kind, Message, NotOpened, Seen};
use crate::service_client::{RECORD, assert_response_shape, launch, record, version_1};
use crate::support::{Line, Place, Server};

pub(crate) struct Service {
    server: Server,
    next_id: u32,
    /// Things that one frame said besides.
    said: VecDeque<Seen>,
    /// Something came that cannot come before the input is on the disk.
    stored: bool,
    /// The turn that was begun last.
    turn: String,
    /// Messages of the turn so far: the dialect has no name for them, tools stand between them.
    message: u32,
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

/// The frame of a whole line, checked for size and shape.
fn frame(line: &Line) -> Value {
    assert!(line.terminated && line.bytes.len() < RECORD, "{line:?}");
    let frame = line.json();
    match frame["kind"].as_str() {
        Some("response") => assert_response_shape(&frame),
        Some("event") => assert!(
            frame["event_id"].is_string() && frame["payload"].is_object(),
            "{frame}"
        ),
        _ => panic!("neither response nor event: {frame}"),
    }
    frame
}

impl Service {
    fn send(&mut self, method: &str, session: Option<&str>, payload: &Value) -> String {
        self.next_id += 1;
        let id = format!("r{}", self.next_id);
        let mut line = record(&id, method, payload);
        if let Some(session) = session {
            let mut request: Value = serde_json::from_slice(&line).expect("JSON");
            request["session_id"] = json!(session);
            line = format!("{request}\n").into_bytes();
        }
        self.server.send(line);
        id
    }

    /// The payload, or the code of an error. Only while no turn is active.
    fn call(
        &mut self,
        method: &str,
        session: Option<&str>,
        payload: &Value,
    ) -> Result<Value, String> {
        let id = self.send(method, session, payload);
        let frame = self.frame();
        assert_eq!(frame["request_id"], json!(id), "{frame}");
        match frame["error"]["code"].as_str() {
            Some(code) => Err(code.to_owned()),
            None => Ok(frame["payload"].clone()),
        }
    }

    fn frame(&mut self) -> Value {
        match self.server.recv_line() {
            Some(line) => frame(&line),
            None => {
                let exit = self.server.wait_exit();
                panic!("stdout ended, {:?}, stderr: {}", exit.status, exit.stderr);
            }
        }
    }

    fn note(&mut self, frame: &Value) {
        if frame["kind"] == "response" {
            assert!(frame["error"].is_null(), "{frame}");
            if frame["method"] == "turn.start" {
                self.turn = text(&frame["payload"]["turn_id"]);
            }
            self.said.push_back(Seen::Admitted);
            return;
        }
        let payload = &frame["payload"];
        let activity = &payload["activity"];
        let seen = match frame["event"].as_str().expect("a name") {
            "turn.assistant_delta" => Seen::Text {
                message: self.message.to_string(),
                text: text(&payload["text"]),
            },
            "turn.activity" if activity["kind"] == "tool" => match activity["status"].as_str() {
                Some("completed" | "failed") => Seen::ToolEnded,
                _ => Seen::ToolStarted,
            },
            "turn.terminal" => Seen::Ended {
                outcome: text(&payload["status"]),
                // Without drops, which a reader that keeps up does not have, that is what it says.
                durable: payload["replay_required"] == false,
            },
            _ => Seen::Other,
        };
        // Text and tools come after the input is stored; a turn whose input was not has none.
        if !self.stored && matches!(seen, Seen::Text { .. } | Seen::ToolStarted) {
            self.stored = true;
            self.said.push_back(Seen::InputStored);
        }
        // Tools stand between two messages.
        self.message += u32::from(seen == Seen::ToolEnded);
        self.said.push_back(seen);
    }

    /// All of a session that `session.replay` shows.
    fn replay(&mut self, session: &str) -> History {
        let mut items = Vec::new();
        let mut after = Value::Null;
        loop {
            let page = self
                .call("session.replay", Some(session), &json!({ "after": after }))
                .unwrap_or_else(|code| panic!("the replay is refused: {code}"));
            assert_eq!(
                (&page["gap"], &page["resync_required"]),
                (&json!(false), &json!(false)),
                "{page}"
            );
            let events = page["events"].as_array().expect("events");
            items.extend(events.iter().cloned());
            after = page["next_cursor"].clone();
            if page["truncated"] == false {
                break;
            }
            assert!(!events.is_empty(), "an empty page that is not the last");
        }
        let history = assemble(&items);
        history.check();
        history
    }
}

fn assemble(items: &[Value]) -> History {
    let mut messages: Vec<Message> = Vec::new();
    let mut next = 0;
    let mut open = false;
    let mut interrupted = 0;
    let diagnostic = |id: String, partial| Message {
        id,
        kind: Kind::Diagnostic,
        text: String::new(),
        partial,
    };
    for (number, item) in items.iter().enumerate() {
        if item["kind"] == "terminal" {
            assert_eq!((next, open), (0, true), "a terminal out of place: {item}");
            open = false;
            if item["status"] != "completed"
                && let Some(last) = messages.last_mut()
            {
                last.partial = last.kind == Kind::Assistant;
            }
            if item["status"] == "failed" {
                messages.push(diagnostic(format!("failed {number}"), false));
            }
            continue;
        }
        let is_summary = item["kind"] == "summary";
        assert!(is_summary || item["kind"] == "message", "{item}");
        let part = item["part"].as_u64().expect("part");
        assert_eq!(part, next, "a part out of order: {item}");
        let piece = text(&item["text"]);
        if part == 0 {
            let kind = match item["role"].as_str() {
                None if is_summary && number == 0 => Kind::Summary,
                Some("user") => Kind::User,
                Some("assistant") => Kind::Assistant,
                _ => panic!("an unknown role: {item}"),
            };
            if kind == Kind::User {
                if std::mem::replace(&mut open, true) {
                    interrupted += 1;
                    messages.push(diagnostic(format!("interrupted {number}"), true));
                }
            } else {
                assert!(open != is_summary, "an answer without its prompt: {item}");
            }
            messages.push(Message {
                id: number.to_string(),
                kind,
                text: piece,
                partial: false,
            });
        } else {
            messages.last_mut().expect("a first part").text += &piece;
        }
        next = match item["last_part"] == true {
            true => 0,
            false => part + 1,
        };
    }
    assert_eq!(next, 0, "the last message has no last part");
    if open {
        interrupted += 1;
        messages.push(diagnostic("interrupted at last".to_owned(), true));
    }
    History {
        messages,
        complete: interrupted == 0,
    }
}

impl Driver for Service {
    fn spawn(place: &Arc<Place>) -> Self {
        Self {
            server: Server::spawn(launch().place(place)),
            next_id: 0,
            said: VecDeque::new(),
            stored: false,
            turn: String::new(),
            message: 0,
        }
    }

    fn initialize(&mut self) {
        self.call("initialize", None, &version_1())
            .expect("initialized");
    }

    fn create(&mut self) -> String {
        let created = self.call("session.create", None, &json!({}));
        text(&created.expect("a session")["session_id"])
    }

    fn open(&mut self, session: &str) -> Result<History, NotOpened> {
        match self.call("session.open", Some(session), &json!({})) {
            Ok(_) => Ok(self.replay(session)),
            Err(code) if code == "session_busy" => Err(NotOpened::Busy),
            Err(code) => Err(NotOpened::Other(code)),
        }
    }

    fn open_blindly(&mut self, session: &str) {
        self.send("initialize", None, &version_1());
        self.send("session.open", Some(session), &json!({}));
    }

    fn begin(&mut self, session: &str, prompt: &str) {
        self.stored = false;
        let payload = json!({"prompt": prompt, "options": {}});
        self.send("turn.start", Some(session), &payload);
    }

    fn next(&mut self) -> Seen {
        loop {
            if let Some(seen) = self.said.pop_front() {
                return seen;
            }
            let frame = self.frame();
            self.note(&frame);
        }
    }

    fn pid(&self) -> u32 {
        self.server.pid()
    }

    fn cancel(&mut self, _session: &str) {
        let turn = json!({"turn_id": self.turn});
        self.send("turn.cancel", None, &turn);
    }

    fn kill(mut self) -> Vec<Seen> {
        self.server.signal(Signal::KILL);
        let exit = self.server.wait_exit();
        assert_eq!((exit.code, exit.stderr.as_str()), (None, ""));
        let lines = self.server.rest();
        for line in lines.iter().filter(|line| line.terminated) {
            let frame = frame(line);
            if frame["method"] == "turn.start" || frame["kind"] == "event" {
                self.note(&frame);
            }
        }
        self.said.into_iter().collect()
    }

    fn end(mut self) {
        self.server.close_stdin();
        assert_eq!(self.server.wait_exit().code, Some(0));
    }
}
