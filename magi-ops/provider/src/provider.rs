//! What a provider is: the one trait that the engine asks.
//! Implementations stand in `fixture` and in `wires`.

use tokio_util::sync::CancellationToken;

use crate::message::ThinkingLevel;
use crate::request::Request;
use crate::response::Response;

/// A source of model responses.
///
/// Implementations keep no state of the conversation: everything a response depends on is in
/// the [`Request`], so that a reopened session continues where it stood.
pub trait Provider: Send + Sync {
    /// The provider's id, as `settings.json` names it.
    fn id(&self) -> &str;

    /// Starts one response. Returns at once; failures arrive through the [`Response`].
    ///
    /// When `cancel` fires, the response ends promptly with [`crate::ErrorKind::Cancelled`].
    fn respond(&self, request: Request, cancel: CancellationToken) -> Response;

    /// Whether the answers were written in advance: that they repeat themselves is then meant so.
    fn is_scripted(&self) -> bool {
        false
    }

    /// Tokens that a conversation with `model` may have, if that is known.
    fn context_window(&self, model: &str) -> Option<u64> {
        let _ = model;
        None
    }

    /// What `model` is asked for when `level` is chosen: the level itself, or the nearest one that
    /// the model has.
    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel {
        let _ = model;
        level
    }
}
