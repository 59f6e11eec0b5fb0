//! What the tests of secrets need of a client, for each dialect: hold a turn, read what is kept, and hand
//! over everything that was shown. No canary and no expectation stands here.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::Agent;
use crate::shown::Shown;
use crate::support::Place;

/// One child with one attached session.
pub(crate) trait Client: Sized {
    fn ready(place: &Arc<Place>) -> Self;
    /// Holds a turn, which must complete; everything that was shown of it.
    fn turn(&mut self, prompt: &str) -> Shown;
    /// Everything that is shown of the session now.
    fn kept(&mut self) -> Shown;
    fn end(self);
}

pub(crate) struct LocalAgent {
    agent: Agent,
    session: String,
    revision: String,
}

impl LocalAgent {
    pub(crate) fn of(mut agent: Agent) -> Self {
        let session = agent.create();
        Self {
            agent,
            session,
            revision: String::new(),
        }
    }
}

impl Client for LocalAgent {
    fn ready(place: &Arc<Place>) -> Self {
        Self::of(Agent::ready(place))
    }

    fn turn(&mut self, prompt: &str) -> Shown {
        let run = self.agent.turn(&self.session, prompt);
        assert_eq!(run.outcome(), "completed", "{:?}", run.events);
        run.revision().clone_into(&mut self.revision);
        Shown::of_run(&run)
    }

    fn kept(&mut self) -> Shown {
        let (entries, complete) = self.agent.history(&self.session, &self.revision);
        assert!(complete);
        Shown::of_parts(&entries)
    }

    fn end(self) {
        self.agent.end();
    }
}

#[cfg(feature = "application-service")]
pub(crate) struct Service {
    service: crate::service_client::Service,
    session: String,
    asked: u32,
}

#[cfg(feature = "application-service")]
impl Service {
    pub(crate) fn of(launch: crate::support::Launch) -> Self {
        let mut service = crate::service_client::Service::spawn(launch);
        service.initialize();
        let created = service.ok("session.create", &json!({}));
        Self {
            service,
            session: created["session_id"].as_str().unwrap().to_owned(),
            asked: 0,
        }
    }

    fn ask(&mut self, method: &str, payload: &Value) {
        self.asked += 1;
        let mut request =
            crate::service_client::request(&format!("r{}", self.asked), method, payload);
        request["session_id"] = json!(self.session);
        self.service.server.send_json(&request);
    }
}

#[cfg(feature = "application-service")]
impl Client for Service {
    fn ready(place: &Arc<Place>) -> Self {
        Self::of(crate::service_client::launch().place(place))
    }

    fn turn(&mut self, prompt: &str) -> Shown {
        self.ask("turn.start", &json!({ "prompt": prompt }));
        let ended = |frame: &Value| frame["event"] == "turn.terminal" || !frame["error"].is_null();
        let frames = self.service.server.recv_until(ended);
        let last = frames.last().unwrap();
        assert_eq!(last["payload"]["status"], "completed", "{last}");
        Shown::of_frames(&frames)
    }

    fn kept(&mut self) -> Shown {
        let (mut items, mut after) = (Vec::new(), Value::Null);
        loop {
            self.ask("session.replay", &json!({ "after": after }));
            let page = self.service.server.recv()["payload"].clone();
            assert_eq!(page["gap"], false, "{page}");
            items.extend(page["events"].as_array().unwrap().iter().cloned());
            after = page["next_cursor"].clone();
            if page["truncated"] == false {
                break;
            }
        }
        let mut listed = Shown::of_parts(&items);
        self.service
            .server
            .send_json(&crate::service_client::request(
                "list",
                "session.list",
                &json!({}),
            ));
        listed.take(&self.service.server.recv());
        listed
    }

    fn end(self) {
        assert_eq!(self.service.finish().code, Some(0));
    }
}
