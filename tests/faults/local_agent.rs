//! The driver of the local-agent dialect, over the strict client of its own tests.
//! No expectation of a test stands here.

use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{Agent, launch, request_line};
use crate::driver::{Driver, History, Kind, Message, NotOpened, Seen};
use crate::support::Place;

pub(crate) struct LocalAgent(pub(crate) Agent);

impl LocalAgent {
    fn run_id(&mut self) -> Value {
        self.0.ok("status", json!({}))["run_id"].clone()
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn seen(frame: &Value) -> Seen {
    if frame["type"] == "response" {
        assert!(frame.get("result").is_some(), "{frame}");
        return Seen::Admitted;
    }
    let data = &frame["data"];
    match frame["event"].as_str().expect("a name") {
        "input.persisted" => {
            assert_eq!(data["durable"], true);
            Seen::InputStored
        }
        "message.delta" => Seen::Text {
            message: text(&data["message_id"]),
            text: text(&data["text"]),
        },
        "message.reconcile" => Seen::Whole {
            message: text(&data["message_id"]),
            text: text(&data["text"]),
        },
        "activity" if data["state"] == "started" => Seen::ToolStarted,
        "activity" => Seen::ToolEnded,
        "run.finished" => Seen::Ended {
            outcome: text(&data["outcome"]),
            durable: data["persistence"] == "durable",
        },
        _ => Seen::Other,
    }
}

/// Puts the parts of a history's entries together and checks their numbers.
pub(crate) fn assemble(entries: &[Value]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut next = 0;
    for entry in entries {
        let part = entry["part"].as_u64().expect("part");
        assert_eq!(part, next, "a part out of order: {entry}");
        let (id, piece) = (text(&entry["message_id"]), text(&entry["text"]));
        if part == 0 {
            messages.push(Message {
                id,
                kind: match entry["kind"].as_str().expect("kind") {
                    "user" => Kind::User,
                    "assistant" => Kind::Assistant,
                    "reasoning_summary" | "compaction" => Kind::Summary,
                    "activity" => Kind::Activity,
                    "diagnostic" => Kind::Diagnostic,
                    other => panic!("unexpected kind {other}"),
                },
                text: piece,
                partial: entry["partial"].as_bool().expect("partial"),
            });
        } else {
            let message = messages.last_mut().expect("a first part");
            assert_eq!(message.id, id, "a part of another message");
            message.text += &piece;
        }
        next = if entry["last_part"] == true {
            0
        } else {
            part + 1
        };
    }
    assert_eq!(next, 0, "the last message has no last part");
    messages
}

impl LocalAgent {
    /// The whole history of the attached session at `revision`.
    pub(crate) fn history(&mut self, session: &str, revision: &str) -> History {
        let (entries, complete) = self.0.history(session, revision);
        let history = History {
            messages: assemble(&entries),
            complete,
        };
        history.check();
        history
    }
}

impl Driver for LocalAgent {
    fn spawn(place: &Arc<Place>) -> Self {
        Self(Agent::spawn(launch().place(place)))
    }

    fn initialize(&mut self) {
        self.0.initialize();
    }

    fn create(&mut self) -> String {
        self.0.create()
    }

    fn open(&mut self, session: &str) -> Result<History, NotOpened> {
        let frame = self
            .0
            .call("session.open", json!({ "session_id": session }));
        match frame["error"]["code"].as_str() {
            None => {}
            Some("session_missing") => return Err(NotOpened::Missing),
            Some("session_busy") => return Err(NotOpened::Busy),
            Some(other) => return Err(NotOpened::Other(other.to_owned())),
        }
        let opened = &frame["result"];
        let revision = text(&opened["revision"]);
        let history = self.history(session, &revision);
        // Death between the creation of the file and its first record leaves an empty session, which
        // is a session, and names no directory.
        let notices = match history.messages.as_slice() {
            [] if opened["notices"] != json!([]) => json!(["cwd_unverified"]),
            _ => json!([]),
        };
        assert_eq!(opened["notices"], notices, "{opened}");
        Ok(history)
    }

    fn open_blindly(&mut self, session: &str) {
        let all = [
            request_line("i", "initialize", &json!({"required_capabilities": []})),
            request_line("o", "session.open", &json!({ "session_id": session })),
        ];
        self.0.server.send(all.concat());
    }

    fn begin(&mut self, session: &str, prompt: &str) {
        let params = json!({"session_id": session, "prompt": prompt});
        self.0.send("turn.start", params);
    }

    fn next(&mut self) -> Seen {
        seen(&self.0.frame())
    }

    fn pid(&self) -> u32 {
        self.0.server.pid()
    }

    fn cancel(&mut self, session: &str) {
        let run = self.run_id();
        self.0
            .send("turn.cancel", json!({"session_id": session, "run_id": run}));
    }

    fn kill(mut self) -> Vec<Seen> {
        self.0.server.signal(Signal::KILL);
        let exit = self.0.server.wait_exit();
        assert_eq!((exit.code, exit.stderr.as_str()), (None, ""));
        let lines = self.0.server.rest();
        let whole = lines.iter().filter(|line| line.terminated);
        whole
            .map(|line| self.0.check(line))
            .filter(|frame| frame["id"] != "i" && frame["id"] != "o")
            .map(|frame| seen(&frame))
            .collect()
    }

    fn end(self) {
        self.0.end();
    }
}
