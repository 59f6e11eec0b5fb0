//! The offline provider `fixture`: picks which response of a script or the demonstration to play.
//! No network, no credential, no state; parsing and playback live beside it.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::demonstration;
use crate::message::Message;
use crate::play::play;
use crate::provider::Provider;
use crate::request::Request;
use crate::response::Response;
use crate::script::{Script, ScriptError};

/// The id of the offline provider.
pub const FIXTURE_ID: &str = "fixture";
/// Its only model.
pub const FIXTURE_MODEL: &str = "fixture-model";

/// The offline provider.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// `None` plays the demonstration.
    script: Option<Arc<Script>>,
}

impl Fixture {
    /// Plays the fixed demonstration: real tools on the real workspace, honest about itself.
    pub fn demonstration() -> Self {
        Self { script: None }
    }

    /// Reads and checks a whole script (at most [`crate::MAX_SCRIPT_BYTES`] bytes), so that a
    /// wrong one fails here and never in the middle of a turn. Blocks on file I/O.
    ///
    /// # Errors
    /// For a file that cannot be read, is too long or no valid script.
    pub fn from_script(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        Script::read(path.as_ref()).map(Self::playing)
    }

    pub(crate) fn playing(script: Script) -> Self {
        Self {
            script: Some(Arc::new(script)),
        }
    }
}

impl Provider for Fixture {
    fn id(&self) -> &str {
        FIXTURE_ID
    }

    fn is_scripted(&self) -> bool {
        true
    }

    fn respond(&self, request: Request, cancel: CancellationToken) -> Response {
        let place = Place::of(&request.messages);
        let steps = match &self.script {
            Some(script) => script.response(place.opening, place.turn, place.response),
            None => demonstration::response(&request, place.current).into(),
        };
        let call_id = format!("call_{}_{}", place.turn, place.response);
        play(steps, call_id, cancel)
    }
}

/// Where a conversation stands, read from its messages alone.
struct Place<'a> {
    /// The first prompt.
    opening: &'a str,
    /// Prompts before the current one.
    turn: usize,
    /// Responses already given to the current prompt.
    response: usize,
    /// The messages from the current prompt on.
    current: &'a [Message],
}

impl<'a> Place<'a> {
    fn of(messages: &'a [Message]) -> Self {
        let is_user = |message: &Message| matches!(message, Message::User { .. });
        let users = messages.iter().filter(|message| is_user(message)).count();
        let opening = messages.iter().find_map(|message| match message {
            Message::User { text } => Some(text.as_str()),
            _ => None,
        });
        let start = messages.iter().rposition(is_user).unwrap_or(0);
        let current = &messages[start..];
        Self {
            opening: opening.unwrap_or_default(),
            turn: users.saturating_sub(1),
            response: current
                .iter()
                .filter(|message| matches!(message, Message::Assistant { .. }))
                .count(),
            current,
        }
    }
}
