//! application-service's rules for turns, and the one place where the engine's errors become its words (spec:
//! application-service, "Errors and validation", "Bounds and privacy").

use ::application_service::Word;
use agent::{
    Authoritative, DeliveryPolicy, EngineError, ErrorKind, RunPolicy, RunSpec, Selection,
    SessionId, TextPolicy,
};
use host::Cx;

/// The rules of a turn. No text may be missing and a client's output has no deadline, so deltas wait; activities
/// that find no room are counted. The terminal event holds all text as one string, within a payload of 32,768
/// bytes. Nobody can be asked.
pub const TURN: RunPolicy = RunPolicy {
    max_prompt_bytes: 16_384,
    approval_expiry: None,
    delivery: DeliveryPolicy {
        queue: 32,
        queued_deltas: 32,
        wait: None,
        deltas_may_drop: false,
        activities_may_drop: true,
    },
    text: TextPolicy {
        max_bytes: 16_384,
        max_json_bytes: Some(31_744),
        max_messages: 512,
        max_event_bytes: 4000,
        authoritative: Authoritative::AtTheEnd,
    },
    max_activities: 4096,
    max_responses: 1024,
    max_summary_bytes: 1024,
    max_reasoning_bytes: 2048,
    max_reasoning_input_bytes: 16_384,
    max_unshown_bytes: 8 * 1024 * 1024,
    // They stay in memory for the next requests, and a session holds 64 MiB.
    max_result_bytes: 32 * 1024 * 1024,
};

/// A turn, with the model that the settings name when it begins.
#[must_use]
pub fn turn(prompt: String) -> RunSpec {
    RunSpec {
        prompt,
        selection: Selection::OfSettings,
        parent: None,
        invocation: "application_service",
        policy: TURN,
    }
}

/// The word for an error of the engine; its reason goes to the log.
#[must_use]
pub fn word(error: EngineError) -> Word {
    let word = word_of(error.kind());
    error.log(word.code());
    word
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
    id.parse().map_err(|error: agent::InvalidSessionId| {
        let word = Word::InvalidSessionId;
        EngineError::from(error).log(word.code());
        word
    })
}
