//! The magi engine's refusals in application-service's words (spec: application-service, "Errors and validation").
//! No word of another dialect.

use agent::DeskError;
use host::dialect::application_service::Word;

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
