//! application-service's rules for turns, and the one place where the engine's errors become its words (spec:
//! application-service, "Errors and validation", "Bounds and privacy").

use ::application_service::Word;
use ::application_service::words::Thinking;
use agent::{
    ConfigurationErrorKind, DeliveryPolicy, EngineError, ErrorKind, RunPolicy, RunSpec, SessionId,
    TextPolicy, ThinkingLevel,
};
use host::Cx;

use crate::common::{POLICY, logged};

/// The rules of a turn. No text may be missing and a client's output has no deadline, so deltas wait; activities
/// that find no room are counted. The terminal event holds all text as one string, within a payload of 32,768
/// bytes. Nobody can be asked.
pub const TURN: RunPolicy = RunPolicy {
    delivery: DeliveryPolicy {
        activities_may_drop: true,
        ..POLICY.delivery
    },
    text: TextPolicy {
        max_json_bytes: Some(31_744),
        ..POLICY.text
    },
    ..POLICY
};

/// A turn. No workspace of this dialect has a model: the settings name one when the turn begins.
#[must_use]
pub fn turn(prompt: String) -> RunSpec {
    RunSpec {
        prompt,
        parent: None,
        invocation: "application_service",
        policy: TURN,
    }
}

/// The word for a thinking level.
#[must_use]
pub const fn thinking(level: ThinkingLevel) -> Thinking {
    match level {
        ThinkingLevel::Default => Thinking::Default,
        ThinkingLevel::Low => Thinking::Low,
        ThinkingLevel::Medium => Thinking::Medium,
        ThinkingLevel::High => Thinking::High,
        ThinkingLevel::XHigh => Thinking::XHigh,
        ThinkingLevel::Max => Thinking::Max,
    }
}

/// The thinking level that a word means.
#[must_use]
pub const fn thinking_level(word: Thinking) -> ThinkingLevel {
    match word {
        Thinking::Default => ThinkingLevel::Default,
        Thinking::Low => ThinkingLevel::Low,
        Thinking::Medium => ThinkingLevel::Medium,
        Thinking::High => ThinkingLevel::High,
        Thinking::XHigh => ThinkingLevel::XHigh,
        Thinking::Max => ThinkingLevel::Max,
    }
}

/// The word for an error of the engine; its reason goes to the log.
#[must_use]
pub fn word(error: EngineError) -> Word {
    logged(&error, word_of)
}

fn word_of(kind: ErrorKind) -> Word {
    match kind {
        ErrorKind::InvalidPrompt => Word::InvalidPayload,
        ErrorKind::TooManySessions | ErrorKind::ScanLimit => Word::LimitExceeded,
        ErrorKind::TooManyRuns => Word::TooManyActiveTurns,
        ErrorKind::SessionBusy | ErrorKind::Busy => Word::SessionBusy,
        ErrorKind::SessionMissing
        | ErrorKind::SessionInvalid
        | ErrorKind::CwdMismatch
        | ErrorKind::HistoryLimit
        | ErrorKind::StaleSession
        | ErrorKind::StaleRevision => Word::SessionUnavailable,
        ErrorKind::UnknownRun | ErrorKind::UnknownApproval => Word::UnknownTurn,
        ErrorKind::Configuration(kind) => match kind {
            ConfigurationErrorKind::Unreadable => Word::ConfigurationUnavailable,
            ConfigurationErrorKind::Unwritten => Word::SettingsWriteFailed,
            ConfigurationErrorKind::Scope => Word::InvalidScope,
            ConfigurationErrorKind::Selection => Word::InvalidSelection,
            ConfigurationErrorKind::Thinking => Word::UnsupportedReasoning,
            ConfigurationErrorKind::CatalogUnavailable => Word::CatalogUnavailable,
            ConfigurationErrorKind::CatalogStale => Word::CatalogStale,
            ConfigurationErrorKind::Refresh => Word::CatalogRefreshFailed,
        },
        ErrorKind::NotInitialized
        | ErrorKind::AlreadyInitialized
        | ErrorKind::Startup(_)
        | ErrorKind::Cancelled
        | ErrorKind::Internal => Word::InternalError,
    }
}

/// The envelope's session, as far as it names one.
///
/// # Errors
/// [`Word::InvalidSessionId`] if the engine never gave out such an id.
pub fn session_of<B>(cx: &Cx<B>) -> Result<Option<SessionId>, Word> {
    cx.session_id().map(session_id).transpose()
}

/// The session that an id names.
///
/// # Errors
/// [`Word::InvalidSessionId`] if the engine never gave out such an id.
pub fn session_id(id: &str) -> Result<SessionId, Word> {
    id.parse()
        .map_err(|error: agent::InvalidSessionId| logged(&error.into(), |_| Word::InvalidSessionId))
}
