//! A failure as the wire tells it, and what handlers' error types become. Knows no dialect's words.

use std::borrow::Cow;

/// A failure in a dialect's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A word of the dialect's closed vocabulary.
    pub code: &'static str,
    pub message: Cow<'static, str>,
    /// Exit code of the equivalent command, for dialects that report one.
    pub exit_code: i32,
    /// Members of a result that accompanies the failure, as a JSON object.
    pub body: Option<String>,
}

/// Turns a handler's error type into the wire's fault.
pub trait Failure {
    fn into_fault(self) -> Fault;
}

impl Failure for Fault {
    fn into_fault(self) -> Fault {
        self
    }
}
