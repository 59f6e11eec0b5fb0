//! What a person is asked about one call. Who is asked, and whether, is decided above; how it is shown, by the redactor.

use redact::{Reading, Redacted, Redactor};
use serde_json::Value;

pub(crate) use redact::is_unseen;

/// What a person is asked about one call. Not redacted; only [`Self::render`] makes it a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is done, in our own words: `bash`, `write outside the workspace`.
    action: String,
    /// On what: a command, a path, a pattern and where it is looked for. Nothing of it is left out silently.
    subject: String,
    reading: Reading,
}

impl Question {
    /// `action` is our own words, `subject` the model's; nothing of it runs.
    pub fn new(action: impl Into<String>, subject: impl Into<String>) -> Self {
        Self::read(action, subject, Reading::Words)
    }

    /// About a command line.
    pub(crate) fn of_command(action: &str, line: &str) -> Self {
        Self::read(action, line, Reading::CommandLine)
    }

    /// About a whole input, for what only its own source understands.
    pub fn of_input(action: impl Into<String>, input: &Value) -> Self {
        Self::read(action, input.to_string(), Reading::Json)
    }

    fn read(action: impl Into<String>, subject: impl Into<String>, reading: Reading) -> Self {
        Self {
            action: action.into(),
            subject: subject.into(),
            reading,
        }
    }

    /// The line that a person reads, of at most `bytes` (256 at least); see [`Redactor::question`].
    pub fn render(&self, redactor: &Redactor, bytes: usize) -> Redacted {
        redactor.question(&self.action, &self.subject, self.reading, bytes)
    }
}
