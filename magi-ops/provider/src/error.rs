//! Why a response failed: a closed kind, the server's status and words, the error beneath.
//! No wire, no retry and no word for a dialect here.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Longest message of a server that is kept, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 2048;

/// What kind of failure it was. The words are fixed: no content, address or credential is in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ErrorKind {
    #[error("the provider's rate limit is reached")]
    RateLimited,
    /// Waiting does not help: the account has no money or no allowance left.
    #[error("the provider's quota is used up")]
    Quota,
    #[error("the provider is overloaded")]
    Overloaded,
    #[error("the provider refused the credential")]
    Unauthorized,
    #[error("the credential of the provider is not available")]
    NoCredential,
    /// It serves this process, and is lost with it.
    #[error("the renewed login of the provider cannot be stored")]
    NotStored,
    #[error("the provider does not know the model")]
    UnknownModel,
    #[error("the provider has nothing at this address")]
    NotFound,
    #[error("the provider sent the request elsewhere, which is not followed")]
    Redirected,
    #[error("the provider refused the request")]
    Refused,
    /// The model, or a filter in front of it, refuses to answer.
    #[error("the provider withheld the answer")]
    Filtered,
    #[error("the conversation is longer than the model takes")]
    ContextLength,
    #[error("the provider cannot be reached")]
    Network,
    #[error("the provider's answer broke off before it was whole")]
    Interrupted,
    #[error("the provider stopped sending")]
    Stalled,
    /// The provider said inside its answer that it failed.
    #[error("the provider failed to answer")]
    Failed,
    #[error("the provider's response is malformed")]
    Malformed,
    #[error("the response was cancelled")]
    Cancelled,
    #[error("the offline provider's script is invalid")]
    ScriptInvalid,
}

/// Why a response failed.
///
/// `Display` and `Debug` say the kind, the HTTP status and what is ours, the server's host and port among it; they never
/// repeat what the server said. That is in [`Self::message`] alone, and the error beneath in [`Error::source`].
#[derive(Clone)]
#[cfg_attr(
    not(feature = "wires"),
    expect(dead_code, reason = "only a server names members and waits")
)]
pub struct ProviderError {
    kind: ErrorKind,
    status: Option<u16>,
    /// Where, or of what: behind the kind. Of our own configuration alone.
    about: Option<Arc<str>>,
    /// Fixed words of our own.
    note: Option<&'static str>,
    message: Option<Arc<str>>,
    /// The member of the request that the server named as the cause; only compared with our own names.
    pub(crate) param: Option<String>,
    /// What the server asks to wait.
    pub(crate) retry_after: Option<Duration>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl ProviderError {
    pub fn new(kind: ErrorKind) -> Self {
        Self {
            kind,
            status: None,
            about: None,
            note: None,
            message: None,
            param: None,
            retry_after: None,
            source: None,
        }
    }

    /// What arrived is no response, for a reason of our own words.
    #[cfg(feature = "wires")]
    pub(crate) fn malformed(note: &'static str) -> Self {
        Self::new(ErrorKind::Malformed).with_note(note)
    }

    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The status of the server's HTTP answer, if there was one and it matters.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// What the server said, at most [`MAX_MESSAGE_BYTES`], on one line. Raw: it may repeat a key or a
    /// prompt, so nothing of it is shown that was not redacted.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The words of the deepest cause, such as the operating system's. Without addresses and keys.
    pub fn cause(&self) -> Option<String> {
        let mut deepest = self.source()?;
        while let Some(deeper) = deepest.source() {
            deepest = deeper;
        }
        Some(deepest.to_string())
    }

    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Words of the configuration that stand behind the kind: `at HOST:PORT`, `of the variable NAME`. Never a secret.
    #[must_use]
    pub fn with_about(mut self, about: &str) -> Self {
        self.about = Some(about.into());
        self
    }

    /// The same where nothing stands there yet.
    #[cfg(feature = "wires")]
    pub(crate) fn or_about(self, about: &str) -> Self {
        match self.about {
            Some(_) => self,
            None => self.with_about(about),
        }
    }

    /// Fixed words that say more than the kind.
    #[must_use]
    pub fn with_note(mut self, note: &'static str) -> Self {
        self.note = Some(note);
        self
    }

    /// What the server said; blank words are none.
    #[must_use]
    pub fn with_message(mut self, message: &str) -> Self {
        let line = one_line(message);
        self.message = (!line.is_empty()).then(|| line.into());
        self
    }

    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }
}

/// `text` on one line of at most [`MAX_MESSAGE_BYTES`], white space as one blank. Other controls stay: redaction knows what
/// belongs to an escape sequence, and takes it out whole.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() + word.len() >= MAX_MESSAGE_BYTES {
            let room = MAX_MESSAGE_BYTES.saturating_sub(line.len() + 1);
            line.push(' ');
            line.push_str(&word[..word.floor_char_boundary(room)]);
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line.trim().to_owned()
}

impl From<ErrorKind> for ProviderError {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.status) {
            // Tried again as an overload is, and none for a person.
            (ErrorKind::Overloaded, Some(500)) => f.write_str("the provider failed within")?,
            (kind, _) => write!(f, "{kind}")?,
        }
        if let Some(about) = &self.about {
            write!(f, " {about}")?;
        }
        if let Some(status) = self.status {
            write!(f, " (HTTP {status})")?;
        }
        match self.note {
            Some(note) => write!(f, ": {note}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderError")
            .field("kind", &self.kind)
            .field("status", &self.status)
            .field("about", &self.about)
            .field("note", &self.note)
            .finish_non_exhaustive()
    }
}

impl Error for ProviderError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| &**source as &(dyn Error + 'static))
    }
}

/// The error beneath has no equality; everything else counts.
impl PartialEq for ProviderError {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.status == other.status
            && self.about == other.about
            && self.note == other.note
            && self.message == other.message
    }
}

impl Eq for ProviderError {}

/// A test, or whoever asks about the kind alone, compares with it.
impl PartialEq<ErrorKind> for ProviderError {
    fn eq(&self, kind: &ErrorKind) -> bool {
        self.kind == *kind
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_the_server_said_is_in_the_message_alone() {
        let error = ProviderError::new(ErrorKind::Refused)
            .with_status(422)
            .with_message("no\n\u{1b}[31m  such   member: sk-canary")
            .with_source(std::io::Error::from_raw_os_error(111));
        assert_eq!(
            error.to_string(),
            "the provider refused the request (HTTP 422)"
        );
        assert!(!format!("{error:?}").contains("canary"));
        assert_eq!(
            error.message(),
            Some("no \u{1b}[31m such member: sk-canary")
        );
        assert!(error.cause().unwrap().contains("refused"));
        assert_eq!(
            ProviderError::new(ErrorKind::Refused)
                .with_message(" \n")
                .message(),
            None
        );
    }

    #[test]
    fn messages_are_bounded_at_a_character() {
        for text in ["é".repeat(5000), "é x ".repeat(5000)] {
            let error = ProviderError::new(ErrorKind::Refused).with_message(&text);
            let kept = error.message().unwrap();
            assert!((MAX_MESSAGE_BYTES - 8..=MAX_MESSAGE_BYTES).contains(&kept.len()));
        }
    }
}
