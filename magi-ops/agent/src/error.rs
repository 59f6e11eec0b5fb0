//! The engine's one error: what kind it is, for whoever gives it a code, and what was behind it, for people.
//! No word of a protocol; where a kind becomes one, the reason is told to the log.

use std::error::Error;
use std::fmt;

use crate::startup::{StartupError, StartupErrorKind};

/// What kind of failure it is: all that a program can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    #[error("the process has not been initialized")]
    NotInitialized,
    #[error("initialization was admitted before")]
    AlreadyInitialized,
    #[error(transparent)]
    Startup(#[from] StartupErrorKind),
    #[error(transparent)]
    Configuration(#[from] ConfigurationErrorKind),
    #[error("another operation is active")]
    Busy,
    #[error("another session is attached")]
    StaleSession,
    #[error("no such session, or none is attached")]
    SessionMissing,
    #[error("another writer holds the session")]
    SessionBusy,
    #[error("the session is unsafe, unreadable or malformed")]
    SessionInvalid,
    #[error("the session belongs to another directory")]
    CwdMismatch,
    #[error("the session is beyond the history bounds")]
    HistoryLimit,
    #[error("the revision or cursor is not the current one")]
    StaleRevision,
    #[error("the prompt is blank or too long")]
    InvalidPrompt,
    #[error("no such run, or it has ended")]
    UnknownRun,
    #[error("no approval waits under this identity")]
    UnknownApproval,
    #[error("too many sessions are attached")]
    TooManySessions,
    #[error("too many runs are active")]
    TooManyRuns,
    #[error("too many files to list")]
    ScanLimit,
    #[error("the operation was cancelled")]
    Cancelled,
    #[error("the engine failed")]
    Internal,
}

/// What kept settings or a catalog from being read or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationErrorKind {
    #[error("the settings can't be used")]
    Unreadable,
    #[error("the settings were not changed")]
    Unwritten,
    #[error("a setting does not belong to this scope")]
    Scope,
    #[error("no such provider or model can be selected")]
    Selection,
    #[error("the model does not have this thinking level")]
    Thinking,
    #[error("there is no usable catalog of the provider's models")]
    CatalogUnavailable,
    #[error("the catalog of the provider's models is too old")]
    CatalogStale,
    #[error("the catalog of the provider's models was not refreshed")]
    Refresh,
}

impl ConfigurationErrorKind {
    /// A failure of this kind, with its reason for the log.
    pub(crate) fn because(self, why: &'static str) -> EngineError {
        EngineError::caused(self.into(), why)
    }
}

/// Why the engine refuses or fails. Two are equal when they are of one kind.
#[derive(Debug)]
pub struct EngineError {
    kind: ErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl EngineError {
    /// A failure of this kind that `source` caused.
    pub(crate) fn caused(kind: ErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            source: Some(source.into()),
        }
    }

    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The kind and everything behind it, outermost first, in one line. For people: it may hold names of
    /// files, and must pass the redaction seam on its way to them.
    #[must_use]
    pub fn reason(&self) -> String {
        let mut text = self.kind.to_string();
        let mut behind = self.source();
        while let Some(error) = behind {
            text.push_str(": ");
            text.push_str(&error.to_string());
            behind = error.source();
        }
        text
    }

    /// What was behind it.
    pub(crate) fn into_source(self) -> Option<Box<dyn Error + Send + Sync>> {
        self.source
    }

    /// Tells the log, where the error becomes `code`.
    pub fn log(&self, code: &'static str) {
        match self
            .source()
            .and_then(|source| source.downcast_ref::<StartupError>())
        {
            Some(startup) => startup.log(),
            None => tracing::info!(code, reason = self.reason(), "refused"),
        }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl Error for EngineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}

impl PartialEq for EngineError {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl From<ErrorKind> for EngineError {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, source: None }
    }
}

impl From<store::sessions::InvalidSessionId> for EngineError {
    fn from(error: store::sessions::InvalidSessionId) -> Self {
        Self::caused(ErrorKind::SessionInvalid, error)
    }
}

impl From<StartupError> for EngineError {
    fn from(error: StartupError) -> Self {
        Self::caused(ErrorKind::Startup(error.kind), error)
    }
}

impl From<store::sessions::SessionError> for EngineError {
    fn from(error: store::sessions::SessionError) -> Self {
        use store::sessions::SessionError as E;
        let kind = match &error {
            E::Missing => ErrorKind::SessionMissing,
            E::Busy => ErrorKind::SessionBusy,
            E::CwdMismatch => ErrorKind::CwdMismatch,
            E::HistoryLimit => ErrorKind::HistoryLimit,
            // Storage that fails leaves the session as unreadable as a broken file.
            E::Invalid(_) | E::Io(_) => ErrorKind::SessionInvalid,
        };
        Self::caused(kind, error)
    }
}

/// Nothing more can be stored in the session as it stands.
impl From<store::sessions::AppendError> for EngineError {
    fn from(error: store::sessions::AppendError) -> Self {
        Self::caused(ErrorKind::SessionInvalid, error)
    }
}

impl From<store::sessions::ListError> for EngineError {
    fn from(error: store::sessions::ListError) -> Self {
        let kind = match &error {
            store::sessions::ListError::ScanLimit => ErrorKind::ScanLimit,
            _ => ErrorKind::Internal,
        };
        Self::caused(kind, error)
    }
}

/// Work on a thread that may block came to no end: it panicked, or the process ends.
impl From<work::Interrupted> for EngineError {
    fn from(error: work::Interrupted) -> Self {
        Self::caused(ErrorKind::Internal, error)
    }
}

impl From<tokio::task::JoinError> for EngineError {
    fn from(error: tokio::task::JoinError) -> Self {
        work::Interrupted::from(error).into()
    }
}
