//! One connection to a local-agent child: fresh identities, bounded requests, correlated answers.
//! No processes and no terminal; any pair of byte streams will do.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use tokio::io::{AsyncRead, AsyncWrite};

use super::answer::{Answer, Initialized, Limits, VERSION_1};
use super::assemble::Transcript;
use super::event::Event;
use super::frames::{BOUNDS, Body, Frame};
use super::request::Request;
use super::words::ErrorCode;
use crate::stream::{Lines, Tap};
use crate::violation::ensure;
use crate::{Error, NotSent, Violation};

/// What a client needs to hold a turn and read it back.
pub const REQUIRED_FOR_TURNS: &[&str] = &[
    "initialize",
    "status",
    "shutdown",
    "session.create",
    "turn.start",
    "history.page",
];

/// Requests this client lets wait at once, whatever the server would take.
const IN_FLIGHT: usize = 16;
/// Messages set aside while a call waits for its own answer; beyond it deltas are dropped (the
/// transcript has taken them already), and nothing else is.
const BACKLOG: usize = 256;

/// What the child said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// The result of the request with this identity.
    Answered { id: String, answer: Answer },
    /// A refusal. Without identity where the child could not tell what it refused.
    Refused {
        id: Option<String>,
        method: Option<&'static str>,
        code: ErrorCode,
    },
    /// Something happened in the run; [`Client::transcript`] has taken it already.
    Event(Event),
}

/// The client. After a violation every call gives that violation again.
pub struct Client<R, W> {
    lines: Lines<R, W>,
    limits: Limits,
    capabilities: Option<Vec<Cow<'static, str>>>,
    instance_id: Option<String>,
    seq: u64,
    used: usize,
    pending: HashMap<String, Request>,
    transcript: Option<Transcript>,
    backlog: VecDeque<Incoming>,
    broken: Option<Violation>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Client<R, W> {
    /// A client over the child's output and input.
    pub fn new(output: R, input: W) -> Self {
        Self {
            lines: Lines::new(output, input, BOUNDS.record_bytes),
            limits: VERSION_1,
            capabilities: None,
            instance_id: None,
            seq: 0,
            used: 0,
            pending: HashMap::new(),
            transcript: None,
            backlog: VecDeque::new(),
            broken: None,
        }
    }

    /// Shows every frame, both ways, to `tap`.
    pub fn set_tap(&mut self, tap: Tap) {
        self.lines.set_tap(tap);
    }

    /// The limits in force: version 1's until the child has said its own.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether the child offers `capability`. False before negotiation.
    #[must_use]
    pub fn offers(&self, capability: &str) -> bool {
        self.capabilities
            .as_ref()
            .is_some_and(|offered| offered.iter().any(|name| name == capability))
    }

    /// The run in progress, or the last one.
    #[must_use]
    pub fn transcript(&self) -> Option<&Transcript> {
        self.transcript.as_ref()
    }

    /// The run in progress or the last one, to mark approvals as expired.
    pub fn transcript_mut(&mut self) -> Option<&mut Transcript> {
        self.transcript.as_mut()
    }

    /// Requests that wait for their answers.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// Queues a request under a fresh identity and returns that. [`Client::next`] or
    /// [`Client::flush`] writes it.
    ///
    /// # Errors
    /// [`Error::NotSent`] where it must not go out; the violation of a broken connection.
    pub fn send(&mut self, request: Request) -> Result<String, Error> {
        if let Some(violation) = self.broken {
            return Err(violation.into());
        }
        let method = request.method();
        let early = ["initialize", "status", "shutdown"].contains(&method);
        if !early {
            ensure(self.capabilities.is_some(), NotSent::NotNegotiated)?;
            ensure(self.offers(method), NotSent::NotOffered(method))?;
        }
        if self.pending.len() >= self.limits.pending_responses.min(IN_FLIGHT) {
            return Err(NotSent::TooManyInFlight.into());
        }
        ensure(
            self.used < self.limits.requests_per_child,
            NotSent::RequestsExhausted,
        )?;
        // Identities are never used again within a child (spec: "Frames, correlation and compatibility").
        let id = format!("r{}", self.used + 1);
        let line = request.encode(&id, &self.limits)?;
        self.used += 1;
        self.lines.queue(&line);
        self.pending.insert(id.clone(), request);
        Ok(id)
    }

    /// Writes what is queued. May be dropped and called again.
    ///
    /// # Errors
    /// The stream's.
    pub async fn flush(&mut self) -> Result<(), Error> {
        self.lines.flush().await
    }

    /// Closes the child's input, which ends its work.
    pub fn close_input(&mut self) {
        self.lines.close_input();
    }

    /// The next thing the child says, or `None` when it has closed its output. May be dropped and
    /// called again: nothing is lost.
    ///
    /// # Errors
    /// The first violation, from then on always; or the stream's error.
    pub async fn next(&mut self) -> Result<Option<Incoming>, Error> {
        if let Some(incoming) = self.backlog.pop_front() {
            return Ok(Some(incoming));
        }
        self.receive().await
    }

    /// Sends a request and waits for its answer. What else arrives meanwhile is kept for
    /// [`Client::next`]. Dropping the future does not take the request back.
    ///
    /// # Errors
    /// [`Error::Refused`] with the child's word; [`Error::Closed`] if the output ends first.
    pub async fn call(&mut self, request: Request) -> Result<Answer, Error> {
        let wanted = self.send(request)?;
        loop {
            match self.receive().await? {
                None => return Err(Error::Closed),
                Some(Incoming::Answered { id, answer }) if id == wanted => return Ok(answer),
                Some(Incoming::Refused {
                    id: Some(id), code, ..
                }) if id == wanted => {
                    return Err(Error::Refused(code.word()));
                }
                // A child that could not even read who asked will not answer that request any more.
                Some(Incoming::Refused { id: None, code, .. }) => {
                    return Err(Error::Refused(code.word()));
                }
                Some(other) => {
                    let drops = matches!(&other, Incoming::Event(Event::MessageDelta(_)));
                    if self.backlog.len() < BACKLOG || !drops {
                        self.backlog.push_back(other);
                    }
                }
            }
        }
    }

    /// Initializes the child with the capabilities that this client cannot do without.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn negotiate(&mut self, required: &[&'static str]) -> Result<Initialized, Error> {
        match self.call(Request::initialize(required)).await? {
            Answer::Initialized(initialized) => Ok(*initialized),
            _ => Err(self.fail(Violation::UnknownRequest)),
        }
    }

    async fn receive(&mut self) -> Result<Option<Incoming>, Error> {
        if let Some(violation) = self.broken {
            return Err(violation.into());
        }
        let taken = match self.lines.next().await {
            Ok(Some(line)) => self.accept(&line),
            Ok(None) => return Ok(None),
            Err(Error::Violation(violation)) => Err(violation),
            Err(error) => return Err(error),
        };
        taken.map(Some).map_err(|violation| self.fail(violation))
    }

    fn fail(&mut self, violation: Violation) -> Error {
        self.broken = Some(violation);
        violation.into()
    }

    fn accept(&mut self, line: &[u8]) -> Result<Incoming, Violation> {
        let frame = Frame::decode(line)?;
        match &self.instance_id {
            None => self.instance_id = Some(frame.instance_id),
            Some(known) if *known == frame.instance_id => {}
            Some(_) => return Err(Violation::InstanceChanged),
        }
        // The first is 1, the rest strictly increase over all frames.
        if frame.seq <= self.seq || (self.seq == 0 && frame.seq != 1) {
            return Err(Violation::Sequence);
        }
        self.seq = frame.seq;
        match frame.body {
            Body::Event(event) => {
                self.transcript
                    .as_mut()
                    .ok_or(Violation::UnknownRun)?
                    .apply(&event)?;
                Ok(Incoming::Event(event))
            }
            Body::Refused { id: None, code } => Ok(Incoming::Refused {
                id: None,
                method: None,
                code,
            }),
            Body::Refused { id: Some(id), code } => {
                let request = self.pending.remove(&id).ok_or(Violation::UnknownRequest)?;
                if code == ErrorCode::StaleApproval {
                    self.forget_approval(&request);
                }
                Ok(Incoming::Refused {
                    id: Some(id),
                    method: Some(request.method()),
                    code,
                })
            }
            Body::Result { id, result } => {
                let request = self.pending.remove(&id).ok_or(Violation::UnknownRequest)?;
                let answer = Answer::read(&request, &result, &self.limits)?;
                self.note(&request, &answer)?;
                Ok(Incoming::Answered { id, answer })
            }
        }
    }

    fn note(&mut self, request: &Request, answer: &Answer) -> Result<(), Violation> {
        match (request, answer) {
            (Request::Initialize(_), Answer::Initialized(initialized)) => {
                ensure(self.capabilities.is_none(), Violation::AdvertisementChanged)?;
                self.limits = initialized.limits;
                self.capabilities = Some(initialized.capabilities.clone());
            }
            (Request::TurnStart(start), Answer::TurnAdmitted { run_id }) => {
                if let Some(last) = &self.transcript {
                    ensure(last.ended().is_some(), Violation::OutOfOrder)?;
                    ensure(
                        last.run_id() != run_id,
                        Violation::IdentityMismatch("run_id"),
                    )?;
                }
                self.transcript = Some(Transcript::new(start.session_id.clone(), run_id.clone()));
            }
            (Request::ApprovalAnswer(_), Answer::ApprovalRecorded) => self.forget_approval(request),
            _ => {}
        }
        Ok(())
    }

    fn forget_approval(&mut self, request: &Request) {
        if let (Request::ApprovalAnswer(answer), Some(transcript)) = (request, &mut self.transcript)
        {
            transcript.answered(&answer.approval_id);
        }
    }
}

#[cfg(test)]
#[path = "client_tests/mod.rs"]
mod tests;
