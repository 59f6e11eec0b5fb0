//! One connection to an application service over any pair of byte streams.
//! Every rule about what may be said is `tracker`'s; here are only bytes and waiting.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncWrite};

use super::answer::Answer;
use super::limits::LOCAL;
use super::preflight::{Profile, Requirements};
use super::request::Request;
use super::tracker::{Incoming, Tracker};
use crate::stream::{Lines, Tap};
use crate::{Error, Violation};

/// Messages set aside while a call waits for its own answer. A service that says more than this
/// before answering is read no further: [`Client::call`] gives [`Error::Closed`].
const BACKLOG: usize = 4096;

/// The client. After a violation every call gives that violation again.
pub struct Client<R, W> {
    lines: Lines<R, W>,
    tracker: Tracker,
    backlog: VecDeque<Incoming>,
    broken: Option<Violation>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Client<R, W> {
    /// A client over the service's output and input that will not work without `requirements`.
    pub fn new(output: R, input: W, requirements: Requirements) -> Self {
        Self {
            lines: Lines::new(output, input, LOCAL.record_bytes),
            tracker: Tracker::new(requirements),
            backlog: VecDeque::new(),
            broken: None,
        }
    }

    /// Shows every record, both ways, to `tap`. Login records carry transient secrets: keep none of them.
    pub fn set_tap(&mut self, tap: Tap) {
        self.lines.set_tap(tap);
    }

    /// The state of requests, turns and logins.
    #[must_use]
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Initializes the service and judges everything it advertises. Nothing else can be sent before.
    /// At most eight required operations travel with the request; they are checked here in any case.
    ///
    /// # Errors
    /// [`Error::Violation`] for an incompatible server; otherwise as [`Client::call`].
    pub async fn negotiate(&mut self) -> Result<Profile, Error> {
        let requested_capabilities = self.tracker.requested();
        self.call(Request::initialize(requested_capabilities))
            .await?;
        self.tracker.profile().cloned().ok_or(Error::Closed)
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
        let (id, record) = self.tracker.send(request)?;
        self.lines.queue(&record);
        Ok(id)
    }

    /// Writes what is queued. May be dropped and called again.
    ///
    /// # Errors
    /// The stream's.
    pub async fn flush(&mut self) -> Result<(), Error> {
        self.lines.flush().await
    }

    /// Closes the service's input: it cancels its work, says its terminal events and ends.
    pub fn close_input(&mut self) {
        self.lines.close_input();
    }

    /// The next thing the service says, or `None` at the end of its output. What is then still
    /// [`Tracker::active`] is unsettled. May be dropped and called again: nothing is lost.
    ///
    /// # Errors
    /// The first violation, from then on always; or the stream's error.
    pub async fn next(&mut self) -> Result<Option<Incoming>, Error> {
        match self.backlog.pop_front() {
            Some(incoming) => Ok(Some(incoming)),
            None => self.receive().await,
        }
    }

    /// Sends a request and waits for its response. What else arrives meanwhile is kept for
    /// [`Client::next`]. Dropping the future does not take the request back.
    ///
    /// # Errors
    /// [`Error::Refused`] with the service's word; [`Error::Closed`] if the output ends first.
    pub async fn call(&mut self, request: Request) -> Result<Answer, Error> {
        let wanted = self.send(request)?;
        while self.backlog.len() < BACKLOG {
            match self.receive().await? {
                None => break,
                Some(Incoming::Answered { request_id, answer }) if request_id == wanted => {
                    return Ok(answer);
                }
                Some(Incoming::Failed { request_id, error })
                    if request_id.as_ref().is_none_or(|id| *id == wanted) =>
                {
                    return Err(Error::Refused(error.word()));
                }
                Some(other) => self.backlog.push_back(other),
            }
        }
        Err(Error::Closed)
    }

    async fn receive(&mut self) -> Result<Option<Incoming>, Error> {
        if let Some(violation) = self.broken {
            return Err(violation.into());
        }
        let taken = match self.lines.next().await {
            Ok(Some(record)) => self.tracker.accept(&record),
            Ok(None) => return Ok(None),
            Err(Error::Violation(violation)) => Err(violation),
            Err(error) => return Err(error),
        };
        taken.map(Some).map_err(|violation| {
            self.broken = Some(violation);
            violation.into()
        })
    }
}
