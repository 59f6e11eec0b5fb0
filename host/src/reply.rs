//! What a handler gives back: an answer, what happens after it, and the work that goes on behind it.
//! Knows no envelope.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;

use crate::fault::Fault;

/// What happens on the connection after an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    #[default]
    Continue,
    /// No later input is admitted; pending work is cancelled and output drains.
    Close,
}

/// Work that continues once the answer stands in the output, such as a run's events. What it leaves
/// is dropped once everything it sent is written, or cannot be.
pub type FollowUp = Pin<Box<dyn Future<Output = Box<dyn Send>> + Send>>;

/// A successful answer in a dialect with concurrent requests.
pub struct Reply<T> {
    value: T,
    after: After,
    then: Option<FollowUp>,
}

impl<T> Reply<T> {
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            value,
            after: After::Continue,
            then: None,
        }
    }

    /// Continues with `work` after the answer is queued, so that no event can precede it. The request
    /// identity stays reserved until the work has ended and its last event is written (in dialects that
    /// reserve identities). What the work returns is kept as long: a reservation in an engine, for one,
    /// that must survive the attempt to write how it ended.
    #[must_use]
    pub fn then<R: Send + 'static>(
        mut self,
        work: impl Future<Output = R> + Send + 'static,
    ) -> Self {
        self.then = Some(Box::pin(
            async move { Box::new(work.await) as Box<dyn Send> },
        ));
        self
    }

    /// Closes the connection after this answer.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.after = After::Close;
        self
    }
}

impl<T: Serialize> Answer for Reply<T> {
    fn into_outcome(self) -> serde_json::Result<Outcome> {
        Ok(Outcome {
            result: Ok(serde_json::to_string(&self.value)?),
            exit_code: 0,
            after: self.after,
            then: self.then,
        })
    }
}

impl<T> From<T> for Reply<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// What a handler may give as its success: each dialect has the type that fits what its loop can do.
pub trait Answer {
    /// Encodes the answer's own value.
    ///
    /// # Errors
    /// When the value is none that JSON has.
    fn into_outcome(self) -> serde_json::Result<Outcome>;
}

/// A handler's outcome, encoded but not yet in an envelope.
pub struct Outcome {
    /// The answer as JSON text, or the failure.
    pub result: Result<String, Fault>,
    pub exit_code: i32,
    pub after: After,
    pub then: Option<FollowUp>,
}

impl Outcome {
    #[must_use]
    pub fn failed(fault: Fault) -> Self {
        Self {
            exit_code: fault.exit_code,
            result: Err(fault),
            after: After::Continue,
            then: None,
        }
    }
}
