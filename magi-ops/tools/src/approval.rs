//! What a person is asked about one call. Who is asked, and whether, is decided above; how it is shown, by the redactor.

use redact::{Redacted, Redactor};

pub(crate) use redact::is_unseen;

/// What a person is asked about one call. Not redacted; only [`Self::render`] makes it a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is done, in our own words: `bash`, `write outside the workspace`.
    action: String,
    /// On what: a command, a path, a pattern and where it is looked for. Nothing of it is left out silently.
    subject: String,
}

impl Question {
    /// `action` is our own words, `subject` the model's.
    pub fn new(action: impl Into<String>, subject: impl Into<String>) -> Self {
        Self {
            action: action.into(),
            subject: subject.into(),
        }
    }

    /// The line that a person reads, of at most `bytes` (256 at least); see [`Redactor::question`].
    pub fn render(&self, redactor: &Redactor, bytes: usize) -> Redacted {
        redactor.question(&self.action, &self.subject, bytes)
    }
}
