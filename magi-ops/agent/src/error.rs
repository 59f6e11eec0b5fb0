//! Why the facade refuses: closed vocabularies for the one session of local-agent, for its turns,
//! and for the many sessions of application-service.
//! Words only: no path, no content, no underlying error.

use crate::startup::StartupErrorKind;

/// Refusals of session and history operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("not initialized")]
    NotInitialized,
    #[error(transparent)]
    Startup(#[from] StartupErrorKind),
    #[error("another operation is active")]
    Busy,
    #[error("another session is attached")]
    StaleSession,
    #[error("no such session")]
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
    #[error("the operation was cancelled")]
    OperationCancelled,
}

impl From<store::sessions::SessionError> for SessionError {
    fn from(error: store::sessions::SessionError) -> Self {
        use store::sessions::SessionError as E;
        match error {
            E::Missing => Self::SessionMissing,
            E::Busy => Self::SessionBusy,
            E::CwdMismatch => Self::CwdMismatch,
            E::HistoryLimit => Self::HistoryLimit,
            // Storage that fails leaves the session as unreadable as a broken file.
            E::Invalid(_) | E::Io(_) => Self::SessionInvalid,
        }
    }
}

/// Refusals of what [`crate::Backend`] does for many sessions at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeskError {
    #[error("not a session id")]
    InvalidSessionId,
    #[error("the prompt is blank or longer than 16384 bytes")]
    InvalidPrompt,
    #[error("too many attached sessions, or too many files to list")]
    LimitExceeded,
    #[error("too many turns are active")]
    TooManyActiveTurns,
    #[error("the session is in use")]
    SessionBusy,
    #[error("the session is missing, unsafe, unreadable or beyond the bounds")]
    SessionUnavailable,
    #[error("no such turn, or it has ended")]
    UnknownTurn,
    #[error("the service failed")]
    Internal,
}

impl From<SessionError> for DeskError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::SessionBusy | SessionError::Busy => Self::SessionBusy,
            _ => Self::SessionUnavailable,
        }
    }
}

/// Refusals of turn operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    #[error("not initialized")]
    NotInitialized,
    #[error(transparent)]
    Startup(#[from] StartupErrorKind),
    #[error("another operation is active")]
    Busy,
    #[error("no session is attached")]
    SessionMissing,
    #[error("another session is attached")]
    StaleSession,
    #[error("not a session id")]
    SessionInvalid,
    #[error("the prompt is blank or longer than 16384 bytes")]
    InvalidPrompt,
    #[error("not the active run")]
    StaleRun,
    #[error("no approval waits under this identity")]
    StaleApproval,
    #[error("the operation was cancelled")]
    OperationCancelled,
}

impl From<store::sessions::ListError> for DeskError {
    fn from(error: store::sessions::ListError) -> Self {
        match error {
            store::sessions::ListError::ScanLimit => Self::LimitExceeded,
            _ => Self::Internal,
        }
    }
}

impl From<crate::ReplayError> for DeskError {
    fn from(error: crate::ReplayError) -> Self {
        match error {
            crate::ReplayError::Busy => Self::SessionBusy,
            crate::ReplayError::Unavailable => Self::SessionUnavailable,
        }
    }
}
