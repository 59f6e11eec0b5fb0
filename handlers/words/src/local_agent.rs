//! The magi engine's refusals in local-agent's words (spec: local-agent, "Bounds and failure policy").
//! No word of another dialect.

use agent::{SessionError, StartupErrorKind, TurnError};
use local_agent::Word;

#[must_use]
pub fn startup_word(error: StartupErrorKind) -> Word {
    match error {
        StartupErrorKind::ConfigurationInvalid => Word::ConfigurationInvalid,
        StartupErrorKind::ProfileInvalid => Word::ProfileInvalid,
        StartupErrorKind::ProviderUnavailable => Word::ProviderUnavailable,
        StartupErrorKind::Cancelled => Word::StartupCancelled,
        StartupErrorKind::Failed => Word::StartupFailed,
    }
}

#[must_use]
pub fn session_word(error: SessionError) -> Word {
    match error {
        SessionError::NotInitialized => Word::NotInitialized,
        SessionError::Startup(error) => startup_word(error),
        SessionError::Busy => Word::Busy,
        SessionError::StaleSession => Word::StaleSession,
        SessionError::SessionMissing => Word::SessionMissing,
        SessionError::SessionBusy => Word::SessionBusy,
        SessionError::SessionInvalid => Word::SessionInvalid,
        SessionError::CwdMismatch => Word::CwdMismatch,
        SessionError::HistoryLimit => Word::HistoryLimit,
        SessionError::StaleRevision => Word::StaleRevision,
        SessionError::OperationCancelled => Word::OperationCancelled,
    }
}

#[must_use]
pub fn turn_word(error: TurnError) -> Word {
    match error {
        TurnError::NotInitialized => Word::NotInitialized,
        TurnError::Startup(error) => startup_word(error),
        TurnError::Busy => Word::Busy,
        TurnError::SessionMissing => Word::SessionMissing,
        TurnError::StaleSession => Word::StaleSession,
        TurnError::SessionInvalid => Word::SessionInvalid,
        TurnError::InvalidPrompt => Word::InvalidParams,
        TurnError::StaleRun => Word::StaleRun,
        TurnError::StaleApproval => Word::StaleApproval,
        TurnError::OperationCancelled => Word::OperationCancelled,
    }
}
