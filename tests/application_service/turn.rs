//! A client's view of one turn: it takes the turn's events and holds each against the order and the counts
//! that every turn keeps (spec: "Turn completion and ordering"). What a turn says is the test modules' business.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Service, keys, request};
use crate::support::Place;

/// A turn that was accepted.
pub(crate) struct Turn {
    pub(crate) request_id: String,
    pub(crate) turn_id: String,
    pub(crate) session_id: String,
    /// All its events so far but the terminal, `turn.started` included.
    pub(crate) events: Vec<Value>,
    /// The payload of `turn.terminal`, once it came.
    pub(crate) terminal: Option<Value>,
}

/// A place whose turns play these steps.
pub(crate) fn playing(steps: &Value) -> Arc<Place> {
    Place::with_script(&json!({"turns": [{"steps": steps}]}))
}

impl Service {
    /// Starts a turn; its events wait in the service's pipe.
    pub(crate) fn begin(&mut self, session: Option<&str>, prompt: &str) -> Turn {
        let request_id = self.fresh_id();
        let mut value = request(
            &request_id,
            "turn.start",
            &json!({"prompt": prompt, "options": {}}),
        );
        if let Some(session) = session {
            value["session_id"] = json!(session);
        }
        let response = self.exchange(&value);
        Turn::accepted(session, &response)
    }

    /// Holds a whole turn.
    pub(crate) fn hold(&mut self, session: Option<&str>, prompt: &str) -> Turn {
        let mut turn = self.begin(session, prompt);
        turn.finish(self);
        turn
    }
}

impl Turn {
    /// Reads the answer to `turn.start`.
    pub(crate) fn accepted(session: Option<&str>, response: &Value) -> Self {
        assert_eq!(response["error"], Value::Null, "{response}");
        assert_eq!(
            response["session_id"],
            json!(session),
            "the request's identity"
        );
        let payload = &response["payload"];
        assert_eq!(keys(payload), ["session_id", "status", "turn_id"]);
        assert_eq!(payload["status"], "accepted");
        let text = |name: &str| payload[name].as_str().expect("an id").to_owned();
        let turn = Self {
            request_id: response["request_id"].as_str().expect("an id").to_owned(),
            turn_id: text("turn_id"),
            session_id: text("session_id"),
            events: Vec::new(),
            terminal: None,
        };
        assert!((1..=128).contains(&turn.turn_id.len()));
        assert!(session.is_none_or(|session| session == turn.session_id));
        turn
    }

    /// Takes the next event, which must be this turn's and must be next in order.
    pub(crate) fn take(&mut self, event: Value) {
        assert!(self.terminal.is_none(), "after the terminal: {event}");
        assert_eq!(event["request_id"], json!(self.request_id), "{event}");
        assert_eq!(event["session_id"], json!(self.session_id), "{event}");
        let payload = &event["payload"];
        assert_eq!(payload["turn_id"], json!(self.turn_id), "{event}");
        let sequence = payload["sequence"].as_u64().expect("a sequence");
        match self.events.last() {
            None => assert_eq!(
                (event["event"].as_str(), payload),
                (
                    Some("turn.started"),
                    &json!({"turn_id": self.turn_id, "session_id": self.session_id, "status": "started", "sequence": 0})
                )
            ),
            Some(last) => {
                assert!(
                    sequence > last["payload"]["sequence"].as_u64().unwrap(),
                    "{event}"
                );
                assert_ne!(event["event_id"], last["event_id"]);
                match event["event"].as_str() {
                    Some("turn.assistant_delta") => {
                        assert_eq!(keys(payload), ["sequence", "text", "turn_id"]);
                        assert!(!payload["text"].as_str().unwrap().is_empty(), "{event}");
                    }
                    Some("turn.activity") => {
                        assert_eq!(keys(payload), ["activity", "sequence", "turn_id"]);
                    }
                    Some("turn.terminal") => self.settle(payload.clone()),
                    _ => panic!("{event}"),
                }
            }
        }
        if self.terminal.is_none() {
            self.events.push(event);
        }
    }

    /// Checks the terminal against what came before it.
    fn settle(&mut self, payload: Value) {
        assert_eq!(
            keys(&payload),
            [
                "activity_dropped",
                "activity_replay_available",
                "assistant_text",
                "replay_required",
                "sequence",
                "session_id",
                "status",
                "turn_id"
            ]
        );
        assert_eq!(payload["session_id"], json!(self.session_id));
        assert_eq!(payload["activity_replay_available"], json!(false));
        let text = payload["assistant_text"].as_str().expect("a text");
        assert_eq!(text, self.deltas(), "deltas are never dropped");
        let dropped = payload["activity_dropped"].as_u64().expect("a count");
        // `turn.started` has number 0 and is among the events.
        assert_eq!(
            payload["sequence"].as_u64(),
            Some(self.events.len() as u64 + dropped),
            "each missing number is a dropped activity"
        );
        if dropped > 0 {
            assert_eq!(payload["replay_required"], json!(true));
        }
        self.terminal = Some(payload);
    }

    /// Takes everything that is left.
    pub(crate) fn finish(&mut self, service: &mut Service) {
        while self.terminal.is_none() {
            let event = service.event();
            self.take(event);
        }
    }

    /// Takes events until one of this name came, and returns it.
    pub(crate) fn until(&mut self, service: &mut Service, name: &str) -> Value {
        loop {
            let event = service.event();
            let found = event["event"] == name;
            self.take(event.clone());
            if found {
                return event;
            }
        }
    }

    /// The assistant's text as it was streamed.
    pub(crate) fn deltas(&self) -> String {
        let of = |event: &Value| event["payload"]["text"].as_str().map(str::to_owned);
        let deltas = self
            .events
            .iter()
            .filter(|event| event["event"] == "turn.assistant_delta");
        deltas.filter_map(of).collect()
    }

    /// Its activities, in order.
    pub(crate) fn activities(&self) -> Vec<&Value> {
        let activities = self
            .events
            .iter()
            .filter(|event| event["event"] == "turn.activity");
        activities
            .map(|event| &event["payload"]["activity"])
            .collect()
    }

    pub(crate) fn settled(&self) -> &Value {
        self.terminal.as_ref().expect("a finished turn")
    }

    pub(crate) fn status(&self) -> &str {
        self.settled()["status"].as_str().expect("a status")
    }

    pub(crate) fn text(&self) -> &str {
        self.settled()["assistant_text"].as_str().expect("a text")
    }
}
