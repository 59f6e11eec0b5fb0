//! application-service for the scenario runner: envelopes, the watch over one service, the client under test.
//! Records are judged by the consumer crate; what a scenario expects stands in its file.

use std::collections::HashSet;

use consumer::application_service::decode::OutputBounds;
use consumer::application_service::{
    self, Answer, Envelope, Event, Incoming, Request, Requirements, Tracker, VERSION,
};
use consumer::{Error, NotSent};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::scenario::consumer::{Client, Input, Output};
use crate::scenario::{Dialect, Watch};

pub(crate) const OPERATIONS: [&str; 20] = [
    "initialize",
    "status",
    "capabilities",
    "session.list",
    "session.create",
    "session.open",
    "session.replay",
    "session.close",
    "turn.start",
    "turn.cancel",
    "auth.status",
    "auth.login.start",
    "auth.login.callback",
    "auth.login.cancel",
    "auth.logout",
    "catalog.providers",
    "catalog.models",
    "catalog.refresh",
    "config.get",
    "config.set",
];

pub(crate) struct ApplicationService;

impl Dialect for ApplicationService {
    const KIT: &'static str = "application_service";
    const ARGS: &'static [&'static str] = &["--app", "service"];
    type Watch = Service;
    type Client = UnderTest;

    fn frame(request: &Value) -> Value {
        let mut frame = json!({"protocol_version": VERSION, "kind": "request"});
        let members = request.as_object().into_iter().flatten();
        for (name, value) in members {
            frame[name] = value.clone();
        }
        frame
    }
}

/// The request of a record, where the client has it.
fn request(frame: &Value) -> Option<Request> {
    fn read<T: DeserializeOwned>(payload: &Value) -> Option<T> {
        T::deserialize(payload).ok()
    }
    let payload = &frame["payload"];
    let session = || frame["session_id"].as_str().map(str::to_owned);
    Some(match frame["method"].as_str()? {
        "initialize" => Request::Initialize(read(payload)?),
        "status" => Request::Status,
        "capabilities" => Request::Capabilities,
        "session.list" => Request::SessionList(read(payload)?),
        "session.create" => Request::SessionCreate,
        "session.open" => Request::SessionOpen {
            session_id: session()?,
        },
        "session.replay" => Request::SessionReplay {
            session_id: session()?,
            page: read(payload)?,
        },
        "session.close" => Request::SessionClose {
            session_id: session()?,
        },
        "turn.start" => Request::TurnStart {
            session_id: session(),
            start: read(payload)?,
        },
        "turn.cancel" => Request::TurnCancel(read(payload)?),
        "auth.status" => Request::AuthStatus,
        "auth.login.start" => Request::AuthLoginStart(read(payload)?),
        "auth.login.callback" => Request::AuthLoginCallback(read(payload)?),
        "auth.login.cancel" => Request::AuthLoginCancel(read(payload)?),
        "auth.logout" => Request::AuthLogout(read(payload)?),
        "catalog.providers" => Request::CatalogProviders(read(payload)?),
        "catalog.models" => Request::CatalogModels(read(payload)?),
        "catalog.refresh" => Request::CatalogRefresh(read(payload)?),
        "config.get" => Request::ConfigGet,
        "config.set" => Request::ConfigSet(read(payload)?),
        _ => return None,
    })
}

/// One service as the strict client would see it, whoever wrote its requests.
pub(crate) struct Service {
    tracker: Tracker,
    /// Identities of requests that the strict client would not have sent, or not under that identity.
    untracked: HashSet<String>,
    operations: Option<Vec<String>>,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            tracker: Tracker::new(Requirements::default()),
            untracked: HashSet::new(),
            operations: None,
        }
    }
}

impl Watch for Service {
    fn sent(&mut self, frame: &Value) {
        let Some(id) = frame["request_id"].as_str() else {
            return;
        };
        // Only what the client itself would write says what its answer must be.
        let tracked = request(frame)
            .filter(|request| request.session_id() == frame["session_id"].as_str())
            .is_some_and(|request| self.tracker.send_as(id, request).is_ok());
        if tracked {
            self.untracked.remove(id);
        } else {
            self.untracked.insert(id.to_owned());
        }
    }

    fn received(&mut self, line: &[u8]) -> Result<Value, String> {
        let value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let envelope = Envelope::decode(line, &OutputBounds::LOCAL)
            .map_err(|violation| violation.to_string())?;
        let id = value["request_id"].as_str().unwrap_or_default();
        let refusal = matches!(
            &envelope,
            Envelope::Response {
                outcome: Err(_),
                ..
            }
        );
        // The answer to a duplicate says nothing about the request that holds the identity.
        let duplicate = refusal && value["error"]["code"] == "duplicate_request_id";
        if duplicate
            || (self.untracked.contains(id) && matches!(envelope, Envelope::Response { .. }))
        {
            if refusal {
                self.untracked.remove(id);
            }
            return Ok(value);
        }
        let incoming = (self.tracker.accept(line)).map_err(|violation| violation.to_string())?;
        if let Incoming::Answered {
            answer: Answer::Initialized(advertisement),
            ..
        } = incoming
        {
            self.operations = Some(
                advertisement
                    .operations
                    .into_iter()
                    .map(Into::into)
                    .collect(),
            );
        }
        Ok(value)
    }

    fn advertised(&self) -> Option<&[String]> {
        self.operations.as_deref()
    }

    fn ended(&self) -> Result<(), String> {
        // Every started turn has its terminal event, also when the input ended first.
        match (self.tracker.active(), self.tracker.in_flight()) {
            (0, 0) => Ok(()),
            (turns, answers) => Err(format!(
                "ended with {turns} unsettled turns and {answers} missing answers"
            )),
        }
    }
}

/// The strict client, and what it told the runner last.
pub(crate) struct UnderTest {
    client: application_service::Client<Output, Input>,
    sent: Vec<String>,
    last: Value,
}

impl Client for UnderTest {
    fn new(output: Output, input: Input, requires: &[String]) -> Self {
        let operations: Vec<&'static str> = (OPERATIONS.into_iter())
            .filter(|name| requires.iter().any(|required| required == name))
            .collect();
        let requirements = Requirements {
            operations: Vec::leak(operations),
            activity: requires.iter().any(|name| name == "turn.activity"),
        };
        Self {
            client: application_service::Client::new(output, input, requirements),
            sent: Vec::new(),
            last: Value::Null,
        }
    }

    async fn send(&mut self, step: &Value) -> Result<(), Error> {
        let request = request(step).expect("a request that the client knows");
        let id = self.client.send(request)?;
        self.sent.push(id);
        self.client.flush().await
    }

    async fn next(&mut self) -> Result<bool, Error> {
        let Some(incoming) = self.client.next().await? else {
            return Ok(false);
        };
        self.last = describe(&incoming);
        Ok(true)
    }

    async fn mutate(&mut self) -> Result<(), Error> {
        match self.client.send(Request::SessionCreate) {
            Err(Error::NotSent(NotSent::NotOffered(_))) => {
                panic!("the profile has no mutation to try")
            }
            other => other.map(drop),
        }
    }

    fn state(&self) -> Value {
        let tracker = self.client.tracker();
        let turns: Vec<_> = (self.sent.iter())
            .filter_map(|id| tracker.turn(id))
            .map(|turn| {
                json!({"started": turn.started, "skipped": turn.skipped, "replay_asked": turn.replay_asked})
            })
            .collect();
        json!({"waiting": tracker.in_flight(), "unsettled": tracker.active(), "turns": turns, "last": self.last})
    }

    fn id(request: &Value) -> &Value {
        &request["request_id"]
    }

    fn stamp(record: &mut Value, n: u64) {
        if record["kind"] == "event" && record.get("event_id").is_none() {
            record["event_id"] = json!(format!("event-{n}"));
        }
    }
}

fn describe(incoming: &Incoming) -> Value {
    match incoming {
        Incoming::Answered { request_id, .. } => {
            json!({"kind": "answer", "request_id": request_id})
        }
        Incoming::Failed { request_id, error } => {
            json!({"kind": "failure", "request_id": request_id, "code": error.word()})
        }
        Incoming::Event { event, .. } => match event {
            Event::TurnTerminal(settlement) => {
                json!({"kind": "terminal", "status": settlement.status.word(),
                    "assistant_text": settlement.assistant_text,
                    "activity_dropped": settlement.activity_dropped,
                    "replay_required": settlement.replay_required})
            }
            Event::LoginTerminal(end) => json!({"kind": "terminal", "status": end.state.word()}),
            _ => json!({"kind": "event"}),
        },
    }
}
