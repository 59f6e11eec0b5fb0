//! Who may say what now: pending requests, running turns and logins, their identities and their order.
//! Pure: records in, checked messages out; no I/O and no clock.

use std::collections::{HashMap, VecDeque};

use application_service::messages::{Accepted, CancelPayload, LoginStarted, SessionOpened};
use serde_json::{Map, Value};

use super::activity::asks_for_replay;
use super::answer::Answer;
use super::decode::{Envelope, OutputBounds, ServiceError};
use super::event::{Event, Reading};
use super::preflight::{Profile, Requirements};
use super::request::Request;
use super::words::LoginState;
use crate::violation::ensure;
use crate::{NotSent, Violation};

/// Requests this client lets wait at once.
const IN_FLIGHT: usize = 32;
/// Ended starts remembered, so that a late event is called what it is.
const ENDED: usize = 256;

/// What the server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    Answered {
        request_id: String,
        answer: Answer,
    },
    /// A refusal; without identity where the server could not tell what it refused.
    Failed {
        request_id: Option<String>,
        error: ServiceError,
    },
    /// An event of the turn or login that `request_id` started.
    Event {
        request_id: String,
        event: Event,
    },
}

#[derive(Clone, Debug)]
struct Turn {
    turn_id: String,
    session_id: String,
    /// The last sequence number; none before `turn.started`.
    last: Option<u64>,
    skipped: u64,
    replay_asked: bool,
}

#[derive(Clone, Debug)]
struct Login {
    login_id: String,
    provider_id: String,
    last: Option<LoginState>,
}

#[derive(Clone, Debug)]
enum Work {
    Turn(Turn),
    Login(Login),
}

/// What a client may know about a running turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnState {
    pub started: bool,
    /// Sequence numbers that never arrived: omitted live progress, not missing text.
    pub skipped: u64,
    /// A compaction asked for the durable session to be read again.
    pub replay_asked: bool,
}

/// The client's side of the protocol's state.
pub struct Tracker {
    requirements: Requirements,
    bounds: OutputBounds,
    profile: Option<Profile>,
    /// Mutations may go out: the last initialization succeeded and was accepted.
    open: bool,
    issued: u64,
    pending: HashMap<String, Request>,
    work: HashMap<String, Work>,
    ended: VecDeque<String>,
}

impl Tracker {
    #[must_use]
    pub fn new(requirements: Requirements) -> Self {
        Self {
            requirements,
            bounds: OutputBounds::LOCAL,
            profile: None,
            open: false,
            issued: 0,
            pending: HashMap::new(),
            work: HashMap::new(),
            ended: VecDeque::new(),
        }
    }

    /// The server this client has agreed to work with.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// The required operations that `initialize` can carry: at most eight, and the rest are left to the preflight.
    #[must_use]
    pub fn requested(&self) -> Vec<String> {
        let names = self.requirements.operations;
        if names.len() > 8 {
            Vec::new()
        } else {
            names.iter().map(|name| (*name).to_owned()).collect()
        }
    }

    /// Turns and logins that have not had their terminal event. After the end of the stream these are
    /// unsettled: neither done nor undone.
    #[must_use]
    pub fn active(&self) -> usize {
        self.work.len()
    }

    /// Requests that wait for their responses.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// The running turn that `request_id` started.
    #[must_use]
    pub fn turn(&self, request_id: &str) -> Option<TurnState> {
        match self.work.get(request_id)? {
            Work::Turn(turn) => Some(TurnState {
                started: turn.last.is_some(),
                skipped: turn.skipped,
                replay_asked: turn.replay_asked,
            }),
            Work::Login(_) => None,
        }
    }

    /// Admits a request under a fresh identity and gives its record without LF.
    ///
    /// # Errors
    /// Why it must not go out.
    pub fn send(&mut self, request: Request) -> Result<(String, Vec<u8>), NotSent> {
        // Fresh for the life of the process: stricter than "not in flight", and nothing can be mixed up.
        let id = format!("q{}", self.issued + 1);
        let record = self.send_as(&id, request)?;
        self.issued += 1;
        Ok((id, record))
    }

    /// As [`Tracker::send`], under an identity of the caller's own: one that is not in flight.
    ///
    /// # Errors
    /// Why it must not go out; [`NotSent::BadIdentity`] for an identity that is still reserved.
    pub fn send_as(&mut self, id: &str, request: Request) -> Result<Vec<u8>, NotSent> {
        if !request.is_discovery() {
            ensure(self.open, NotSent::NotNegotiated)?;
            if !self
                .profile
                .as_ref()
                .is_some_and(|profile| profile.offers(request.method()))
            {
                return Err(NotSent::NotOffered(request.method()));
            }
        }
        let id_bytes = self
            .profile
            .as_ref()
            .map_or(128, |profile| profile.limits.max_id_bytes);
        let reserved = self.pending.contains_key(id) || self.work.contains_key(id);
        if reserved || !(1..=id_bytes).contains(&id.len()) {
            return Err(NotSent::BadIdentity);
        }
        ensure(self.pending.len() < IN_FLIGHT, NotSent::TooManyInFlight)?;
        let record = request.encode(id, self.profile.as_ref().map(|profile| &profile.limits))?;
        if request.is_discovery() {
            // Mutations are not pipelined behind an initialization, and stay shut when it fails: a server
            // that was initialized before would go on, so this client must stop itself.
            self.open = false;
        }
        self.ended.retain(|ended| ended != id);
        self.pending.insert(id.to_owned(), request);
        Ok(record)
    }

    /// Takes one record.
    ///
    /// # Errors
    /// The first rule it breaks. The stream is then no longer trusted, and nothing more may be sent.
    pub fn accept(&mut self, record: &[u8]) -> Result<Incoming, Violation> {
        match Envelope::decode(record, &self.bounds)? {
            Envelope::Response {
                request_id,
                session_id,
                method,
                outcome,
            } => {
                let request = match &request_id {
                    Some(id) => Some(self.pending.remove(id).ok_or(Violation::UnknownRequest)?),
                    None => None,
                };
                if let (Some(request), Some(method)) = (&request, &method)
                    && request.method() != method
                {
                    return Err(Violation::IdentityMismatch("method"));
                }
                match outcome {
                    Err(error) => {
                        self.failed(request_id, request.as_ref(), session_id.as_deref(), error)
                    }
                    Ok(payload) => {
                        let (Some(id), Some(request), Some(_)) = (request_id, request, method)
                        else {
                            return Err(Violation::Unbound);
                        };
                        self.answered(id, &request, session_id.as_deref(), &payload, record)
                    }
                }
            }
            Envelope::Event {
                request_id,
                session_id,
                event,
                payload,
                ..
            } => self.event(request_id, session_id.as_deref(), &event, &payload),
        }
    }

    fn failed(
        &self,
        request_id: Option<String>,
        request: Option<&Request>,
        session_id: Option<&str>,
        error: ServiceError,
    ) -> Result<Incoming, Violation> {
        // Identities that could not be extracted are null; one that is there must be ours.
        if let (Some(request), Some(got)) = (request, session_id)
            && request.session_id() != Some(got)
            && !matches!(request, Request::TurnCancel(_))
        {
            return Err(Violation::IdentityMismatch("session_id"));
        }
        Ok(Incoming::Failed { request_id, error })
    }

    fn answered(
        &mut self,
        id: String,
        request: &Request,
        session_id: Option<&str>,
        payload: &Map<String, Value>,
        record: &[u8],
    ) -> Result<Incoming, Violation> {
        let limits = self.profile.as_ref().map(|profile| &profile.limits);
        let answer = Answer::read(request, payload, limits)?;
        let fits = match (&answer, request) {
            // Where the server assigns or implies the session, the envelope may name it or not.
            (
                Answer::TurnAccepted(Accepted {
                    session_id: assigned,
                    ..
                })
                | Answer::SessionOpen(SessionOpened {
                    session_id: assigned,
                    ..
                }),
                _,
            ) if request.session_id().is_none() => session_id.is_none_or(|got| got == assigned),
            (_, Request::TurnCancel(CancelPayload { turn_id })) => session_id.is_none_or(|got| {
                self.work.values().all(|work| match work {
                    Work::Turn(turn) if turn.turn_id == *turn_id => turn.session_id == got,
                    _ => true,
                })
            }),
            _ => session_id == request.session_id(),
        };
        ensure(fits, Violation::IdentityMismatch("session_id"))?;
        match &answer {
            Answer::Initialized(advertisement) | Answer::Capabilities(advertisement) => {
                let profile = advertisement.accept(&self.requirements)?;
                // Fixed for the running process (spec: "Advertised limits").
                if self.profile.as_ref().is_some_and(|known| *known != profile) {
                    return Err(Violation::AdvertisementChanged);
                }
                self.bounds = OutputBounds::accepted(&profile.limits);
                // The record that states the bounds is held to them like every other.
                Envelope::decode(record, &self.bounds)?;
                self.profile = Some(profile);
                self.open |= request.is_discovery();
            }
            Answer::TurnAccepted(Accepted {
                turn_id,
                session_id,
                ..
            }) => {
                for work in self.work.values() {
                    if let Work::Turn(turn) = work {
                        ensure(
                            turn.turn_id != *turn_id,
                            Violation::IdentityMismatch("turn_id"),
                        )?;
                        // One active turn a session; its reservation outlives its terminal.
                        if turn.session_id == *session_id {
                            return Err(Violation::IdentityMismatch("session_id"));
                        }
                    }
                }
                self.work.insert(
                    id.clone(),
                    Work::Turn(Turn {
                        turn_id: turn_id.clone(),
                        session_id: session_id.clone(),
                        last: None,
                        skipped: 0,
                        replay_asked: false,
                    }),
                );
            }
            Answer::LoginStarted(LoginStarted {
                login_id,
                provider_id,
                ..
            }) => {
                if self
                    .work
                    .values()
                    .any(|work| matches!(work, Work::Login(_)))
                {
                    return Err(Violation::IdentityMismatch("login_id"));
                }
                self.work.insert(
                    id.clone(),
                    Work::Login(Login {
                        login_id: login_id.clone(),
                        provider_id: provider_id.clone(),
                        last: None,
                    }),
                );
            }
            _ => {}
        }
        Ok(Incoming::Answered {
            request_id: id,
            answer,
        })
    }

    fn event(
        &mut self,
        request_id: String,
        session_id: Option<&str>,
        name: &str,
        payload: &Map<String, Value>,
    ) -> Result<Incoming, Violation> {
        // Nothing is advertised before an accepted profile, and an unadvertised event is never ignorable.
        let profile = self.profile.as_ref().ok_or(Violation::UnknownEvent)?;
        if !profile.events.iter().any(|known| known == name) {
            return Err(Violation::UnknownEvent);
        }
        let reading = Reading {
            id_bytes: profile.limits.max_id_bytes,
            summary_bytes: profile
                .activity
                .map_or(0, |flags| flags.max_summary_bytes as usize),
            activity: profile.activity.is_some(),
        };
        let event = Event::read(name, payload, reading)?;
        let Some(work) = self.work.get_mut(&request_id) else {
            return Err(if self.pending.contains_key(&request_id) {
                Violation::OutOfOrder
            } else if self.ended.contains(&request_id) {
                Violation::AfterTerminal
            } else {
                Violation::UnknownRun
            });
        };
        let ends = match work {
            Work::Turn(turn) => turn.take(&event, session_id)?,
            Work::Login(login) => login.take(&event, session_id)?,
        };
        if ends {
            self.work.remove(&request_id);
            if self.ended.len() == ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back(request_id.clone());
        }
        Ok(Incoming::Event { request_id, event })
    }
}

impl Turn {
    /// Whether the event ends the turn.
    fn take(&mut self, event: &Event, envelope: Option<&str>) -> Result<bool, Violation> {
        let (turn_id, session_id, sequence, ends) = match event {
            Event::TurnStarted(event) => (
                &event.turn_id,
                Some(&event.session_id),
                event.sequence,
                false,
            ),
            Event::AssistantDelta(event) => (&event.turn_id, None, event.sequence, false),
            Event::Activity(event) => (&event.turn_id, None, event.sequence, false),
            Event::TurnTerminal(event) => (
                &event.turn_id,
                Some(&event.session_id),
                event.sequence,
                true,
            ),
            Event::LoginProgress(_) | Event::LoginTerminal(_) => {
                return Err(Violation::IdentityMismatch("event"));
            }
        };
        ensure(
            **turn_id == *self.turn_id,
            Violation::IdentityMismatch("turn_id"),
        )?;
        if envelope != Some(&self.session_id)
            || session_id.is_some_and(|id| **id != *self.session_id)
        {
            return Err(Violation::IdentityMismatch("session_id"));
        }
        let starts = matches!(event, Event::TurnStarted(_));
        match self.last {
            None if !starts => return Err(Violation::OutOfOrder),
            None if sequence != 0 => return Err(Violation::Sequence),
            None => {}
            // Gaps are omitted progress; a repeated or smaller number is not (spec: "Turn completion and ordering").
            Some(last) if starts || sequence <= last => return Err(Violation::Sequence),
            Some(last) => self.skipped += sequence - last - 1,
        }
        self.last = Some(sequence);
        if let Event::Activity(event) = event {
            self.replay_asked |= asks_for_replay(&event.activity);
        }
        Ok(ends)
    }
}

impl Login {
    /// Whether the event ends the login.
    fn take(&mut self, event: &Event, envelope: Option<&str>) -> Result<bool, Violation> {
        ensure(
            envelope.is_none(),
            Violation::IdentityMismatch("session_id"),
        )?;
        let (login_id, progress) = match event {
            Event::LoginProgress(progress) => (&progress.login_id, Some(progress)),
            Event::LoginTerminal(end) => (&end.login_id, None),
            _ => return Err(Violation::IdentityMismatch("event")),
        };
        ensure(
            *login_id == self.login_id,
            Violation::IdentityMismatch("login_id"),
        )?;
        let Some(progress) = progress else {
            return Ok(true);
        };
        if progress.provider_id != self.provider_id {
            return Err(Violation::IdentityMismatch("provider_id"));
        }
        use LoginState::{AuthorizationUrl, CallbackAccepted, CallbackReceived, Waiting};
        let follows = matches!(
            (self.last, progress.state),
            (None, AuthorizationUrl)
                | (Some(AuthorizationUrl), Waiting)
                | (Some(Waiting), CallbackReceived)
                | (Some(CallbackReceived), CallbackAccepted)
        );
        ensure(follows, Violation::OutOfOrder)?;
        self.last = Some(progress.state);
        Ok(false)
    }
}

#[cfg(test)]
#[path = "tracker_tests/mod.rs"]
mod tests;
