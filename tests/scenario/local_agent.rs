//! local-agent for the scenario runner: envelopes, the watch over one child, the client under test.
//! Frames are judged by the consumer crate; what a scenario expects stands in its file.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use consumer::local_agent::answer::VERSION_1;
use consumer::local_agent::frames::{Body, Frame};
use consumer::local_agent::{
    self, Answer, ErrorCode, History, Incoming, PageParams, Request, StartParams, Transcript,
};
use consumer::{Error, Violation};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::scenario::consumer::{Client, Input, Output};
use crate::scenario::{Dialect, Watch};

/// The child that a synthetic stream comes from, unless its record says another.
const INSTANCE: &str = "6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11";

pub(crate) struct LocalAgent;

impl Dialect for LocalAgent {
    const KIT: &'static str = "local_agent";
    const ARGS: &'static [&'static str] = &["serve", "--stdio"];
    type Watch = Child;
    type Client = UnderTest;

    fn frame(request: &Value) -> Value {
        let mut frame = json!({"protocol": local_agent::PROTOCOL, "version": local_agent::VERSION});
        let members = request.as_object().into_iter().flatten();
        for (name, value) in members {
            frame[name] = value.clone();
        }
        frame
    }
}

/// The request of a method and its params, where the client has it.
fn request(frame: &Value) -> Option<Request> {
    fn read<T: DeserializeOwned>(params: &Value) -> Option<T> {
        T::deserialize(params).ok()
    }
    let params = &frame["params"];
    Some(match frame["method"].as_str()? {
        "initialize" => Request::Initialize(read(params)?),
        "status" => Request::Status,
        "shutdown" => Request::Shutdown,
        "session.create" => Request::SessionCreate,
        "session.open" => Request::SessionOpen(read(params)?),
        "history.page" => Request::HistoryPage(read(params)?),
        "turn.start" => Request::TurnStart(read(params)?),
        "turn.cancel" => Request::TurnCancel(read(params)?),
        "approval.answer" => Request::ApprovalAnswer(read(params)?),
        _ => return None,
    })
}

/// One child as the strict client would see it, whoever wrote its requests.
#[derive(Default)]
pub(crate) struct Child {
    instance: Option<String>,
    seq: u64,
    used: HashSet<String>,
    pending: HashMap<String, Request>,
    run: Option<Transcript>,
    capabilities: Option<Vec<String>>,
}

impl Watch for Child {
    fn sent(&mut self, frame: &Value) {
        let Some(id) = frame["id"].as_str() else {
            return;
        };
        // A second use of an identity is refused and changes nothing about the first.
        if self.used.insert(id.to_owned())
            && let Some(request) = request(frame)
        {
            self.pending.insert(id.to_owned(), request);
        }
    }

    fn received(&mut self, line: &[u8]) -> Result<Value, String> {
        self.take(Frame::decode(line).map_err(|violation| violation.to_string())?)?;
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }

    fn advertised(&self) -> Option<&[String]> {
        self.capabilities.as_deref()
    }

    fn ended(&self) -> Result<(), String> {
        Ok(()) // the end of input promises neither answers nor a terminal event
    }
}

impl Child {
    fn take(&mut self, frame: Frame) -> Result<(), String> {
        if *self.instance.get_or_insert(frame.instance_id.clone()) != frame.instance_id {
            return Err("another instance".into());
        }
        if frame.seq <= self.seq || (self.seq == 0 && frame.seq != 1) {
            return Err(format!("seq {} after {}", frame.seq, self.seq));
        }
        self.seq = frame.seq;
        match frame.body {
            Body::Event(event) => self
                .run
                .as_mut()
                .ok_or("an event before any run")?
                .apply(&event)
                .map_err(|violation| violation.to_string()),
            Body::Refused { id: None, .. } => Ok(()),
            Body::Refused { id: Some(id), code } => {
                if !self.used.contains(&id) {
                    return Err("a refusal of nothing that was sent".into());
                }
                if code != ErrorCode::DuplicateId {
                    self.pending.remove(&id);
                }
                Ok(())
            }
            Body::Result { id, result } => {
                let request = self.pending.remove(&id).ok_or("a result of nothing sent")?;
                match Answer::read(&request, &result, &VERSION_1)
                    .map_err(|violation| violation.to_string())?
                {
                    Answer::Initialized(initialized) => {
                        self.capabilities = Some(
                            initialized
                                .capabilities
                                .into_iter()
                                .map(Cow::into_owned)
                                .collect(),
                        );
                    }
                    Answer::TurnAdmitted { run_id } => {
                        let Request::TurnStart(StartParams { session_id, .. }) = request else {
                            return Err("a run for something else".into());
                        };
                        if self.run.as_ref().is_some_and(|run| run.ended().is_none()) {
                            return Err("a second run at once".into());
                        }
                        self.run = Some(Transcript::new(session_id, run_id));
                    }
                    _ => {}
                }
                Ok(())
            }
        }
    }
}

/// The strict client, and what it told the runner last.
pub(crate) struct UnderTest {
    client: local_agent::Client<Output, Input>,
    history: Option<History>,
    /// A history is put together outside of the connection; what it refuses ends both.
    broken: Option<Violation>,
    last: Value,
}

impl Client for UnderTest {
    fn new(output: Output, input: Input, _: &[String]) -> Self {
        Self {
            client: local_agent::Client::new(output, input),
            history: None,
            broken: None,
            last: Value::Null,
        }
    }

    async fn send(&mut self, step: &Value) -> Result<(), Error> {
        let request = request(step).expect("a request that the client knows");
        if let Request::HistoryPage(PageParams {
            session_id,
            revision,
            cursor: None,
        }) = &request
        {
            self.history = Some(History::new(session_id.clone(), revision.clone()));
        }
        self.client.send(request)?;
        self.client.flush().await
    }

    async fn next(&mut self) -> Result<bool, Error> {
        let Some(incoming) = self.client.next().await? else {
            return Ok(false);
        };
        self.last = describe(&incoming);
        if let Incoming::Answered {
            answer: Answer::HistoryPage(page),
            ..
        } = incoming
        {
            let history = self.history.as_mut().expect("a history was asked for");
            if let Err(violation) = history.accept(page) {
                self.broken = Some(violation);
                return Err(violation.into());
            }
        }
        Ok(true)
    }

    async fn mutate(&mut self) -> Result<(), Error> {
        match self.broken {
            Some(violation) => Err(violation.into()),
            None => self.client.send(Request::SessionCreate).map(drop),
        }
    }

    fn state(&self) -> Value {
        let run = self.client.transcript().map(|run| {
            let segments: Vec<_> = (run.segments().iter())
                .map(|segment| {
                    json!({"text": segment.text(), "shown": segment.prefix(),
                        "settled": segment.is_settled(), "partial": segment.is_partial()})
                })
                .collect();
            let ended = run.ended().map(|ended| {
                json!({"outcome": ended.outcome.word(), "persistence": ended.persistence.word(),
                    "revision": ended.revision, "error_code": ended.error_code.map(ErrorCode::word)})
            });
            json!({"durable": run.is_persisted(), "segments": segments, "activities_running": run.running(),
                "approvals_waiting": run.approvals().len(), "ended": ended})
        });
        let history = self.history.as_ref().map(|history| {
            let messages: Vec<_> = (history.messages().iter())
                .map(|message| json!({"kind": message.kind.word(), "text": message.text, "partial": message.partial}))
                .collect();
            json!({"messages": messages, "complete": history.is_complete()})
        });
        json!({"waiting": self.client.in_flight(), "last": self.last, "run": run, "history": history})
    }

    fn id(request: &Value) -> &Value {
        &request["id"]
    }

    fn stamp(record: &mut Value, n: u64) {
        for (name, value) in [("instance_id", json!(INSTANCE)), ("seq", json!(n))] {
            if record.get(name).is_none() {
                record[name] = value;
            }
        }
    }
}

fn describe(incoming: &Incoming) -> Value {
    match incoming {
        Incoming::Answered { id, .. } => json!({"kind": "answer", "id": id}),
        Incoming::Refused { id, code, .. } => {
            json!({"kind": "failure", "id": id, "code": code.word()})
        }
        Incoming::Event(event) => json!({"kind": "event", "event": event.name()}),
    }
}
