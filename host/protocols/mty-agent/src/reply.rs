//! What an op gives back: its result with the exit code of the equivalent command, or a failure in words of its
//! own. No op continues behind its answer, so nothing here can.

use std::borrow::Cow;

use host::{After, Answer, Failure, Fault, Interrupted, Outcome, Undelivered};
use serde::Serialize;

use crate::rules::{EXIT_FAILURE, EXIT_PROTOCOL, Word};

/// A successful answer: the `result` line's own members.
pub struct Reply<T> {
    value: T,
    exit_code: i32,
    after: After,
}

impl<T> Reply<T> {
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            value,
            exit_code: 0,
            after: After::Continue,
        }
    }

    /// The exit code that the equivalent command would give.
    #[must_use]
    pub fn exit_code(mut self, code: i32) -> Self {
        self.exit_code = code;
        self
    }

    /// Closes the connection after this answer.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.after = After::Close;
        self
    }
}

impl<T> From<T> for Reply<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Serialize> Answer for Reply<T> {
    fn into_outcome(self) -> serde_json::Result<Outcome> {
        Ok(Outcome {
            result: Ok(serde_json::to_string(&self.value)?),
            exit_code: self.exit_code,
            after: self.after,
            then: None,
        })
    }
}

/// A failure of an op: an `error` line, perhaps with a `result` line that says what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpFailure(Fault);

impl OpFailure {
    /// The op failed: exit code 1.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Word::Failed, message.into(), EXIT_FAILURE)
    }

    /// The request cannot be served: exit code 2.
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(Word::Protocol, message.into(), EXIT_PROTOCOL)
    }

    /// Adds the `result` line's own members.
    #[must_use]
    pub fn result(mut self, members: &impl serde::Serialize) -> Self {
        match serde_json::to_string(members) {
            Ok(body) => self.0.body = Some(body),
            Err(error) => tracing::error!(%error, "a failure's members could not be encoded"),
        }
        self
    }

    fn new(word: Word, message: String, exit_code: i32) -> Self {
        Self(Fault {
            code: word.code(),
            message: Cow::Owned(message),
            exit_code,
            body: None,
        })
    }
}

/// An op's blocking work gave nothing: the op failed, and says why.
impl From<Interrupted> for OpFailure {
    fn from(interrupted: Interrupted) -> Self {
        tracing::warn!(reason = %interrupted, "an op's blocking work gave nothing");
        Self::failed(format!("internal error: {interrupted}"))
    }
}

impl Failure for OpFailure {
    fn into_fault(self) -> Fault {
        self.0
    }
}

/// The connection is gone: there is nobody to tell more.
impl From<Undelivered> for OpFailure {
    fn from(undelivered: Undelivered) -> Self {
        Self::failed(undelivered.to_string())
    }
}
