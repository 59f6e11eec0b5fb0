//! The magi engine's refusals in application-service's words (spec: application-service, "Errors and validation").
//! No word of another dialect.

use agent::{DeskError, SessionId};
use application_service::Word;
use host::Cx;

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
        .map_err(|_: agent::InvalidSessionId| Word::InvalidSessionId)
}

#[must_use]
pub fn desk_word(error: DeskError) -> Word {
    match error {
        DeskError::InvalidSessionId => Word::InvalidSessionId,
        DeskError::InvalidPrompt => Word::InvalidPayload,
        DeskError::LimitExceeded => Word::LimitExceeded,
        DeskError::TooManyActiveTurns => Word::TooManyActiveTurns,
        DeskError::SessionBusy => Word::SessionBusy,
        DeskError::SessionUnavailable => Word::SessionUnavailable,
        DeskError::UnknownTurn => Word::UnknownTurn,
        DeskError::Internal => Word::InternalError,
    }
}
