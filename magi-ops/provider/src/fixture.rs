//! The offline provider `fixture`: picks which response of a script or the demonstration to play.
//! No network, no credential, no state; parsing and playback live beside it.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::config::{Api, ModelLimits};
use crate::demonstration;
use crate::message::{Message, ThinkingLevel};
use crate::models::{levels, nearest_level};
use crate::play::play;
use crate::provider::Provider;
use crate::request::{Purpose, Request};
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
    limits: ModelLimits,
}

impl Fixture {
    /// Plays the fixed demonstration: real tools on the real workspace, honest about itself.
    pub fn demonstration() -> Self {
        Self {
            script: None,
            limits: ModelLimits::default(),
        }
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
            limits: ModelLimits::default(),
        }
    }

    /// With what the settings say of its model.
    #[must_use]
    pub fn limited(mut self, limits: ModelLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl Provider for Fixture {
    fn id(&self) -> &str {
        FIXTURE_ID
    }

    fn is_scripted(&self) -> bool {
        true
    }

    fn context_window(&self, model: &str) -> Option<u64> {
        self.limits.context_window(model)
    }

    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel {
        nearest_level(&levels(Api::Fixture, &self.limits, model), level)
    }

    fn respond(&self, request: Request, cancel: CancellationToken) -> Response {
        let place = Place::of(&request.messages);
        let steps = match (&self.script, request.purpose) {
            (Some(script), Purpose::Summary) => script.summary(),
            (Some(script), _) => script.response(place.opening, place.turn, place.response),
            (None, Purpose::Summary) => demonstration::summary(),
            (None, _) => demonstration::response(&request, place.current).into(),
        };
        let steps = match place.shortened {
            true => steps
                .iter()
                .filter(|step| !step.is_of_length())
                .cloned()
                .collect(),
            false => steps,
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
    /// A summary stands in the place of its beginning.
    shortened: bool,
    /// The messages from the current prompt on.
    current: &'a [Message],
}

impl<'a> Place<'a> {
    fn of(messages: &'a [Message]) -> Self {
        let is_user = |message: &Message| matches!(message, Message::User { .. });
        let (before, responses) = match messages.first() {
            Some(Message::Summary {
                users, responses, ..
            }) => (*users as usize, *responses as usize),
            _ => (0, 0),
        };
        let here = messages.iter().filter(|message| is_user(message)).count();
        let opening = messages.iter().find_map(|message| match message {
            Message::User { text } => Some(text.as_str()),
            _ => None,
        });
        let start = messages.iter().rposition(is_user).unwrap_or(0);
        let current = &messages[start..];
        Self {
            opening: opening.unwrap_or_default(),
            turn: (before + here).saturating_sub(1),
            response: current
                .iter()
                .filter(|message| matches!(message, Message::Assistant { .. }))
                .count()
                + if here == 1 { responses } else { 0 },
            shortened: matches!(messages.first(), Some(Message::Summary { .. })),
            current,
        }
    }
}
