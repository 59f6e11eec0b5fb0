//! What a wire is: how one kind of server wants its requests, and how its answers are read.
//! No connection, no bytes and no retry here.

use std::collections::VecDeque;

use serde_json::Value;

use super::quirks::Quirks;
use crate::error::ProviderError;
use crate::message::ThinkingLevel;
use crate::request::Request;
use crate::response::Chunk;

/// How one provider's requests and events look.
pub(crate) trait Wire: Send + Sync {
    /// The request's body, JSON, as far as the server is known to take it.
    fn body(&self, request: &Request, quirks: &Quirks) -> Vec<u8>;

    /// Members of a request that it can do without.
    fn optional(&self) -> &'static [&'static str];

    /// Reads one response to `request`.
    fn reader(&self, request: &Request) -> Box<dyn Reader>;

    /// See [`crate::Provider::context_window`].
    fn context_window(&self, model: &str) -> Option<u64>;

    /// See [`crate::Provider::nearest_level`].
    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel;
}

/// Reads the events of one response. What says *error* has been taken out before.
pub(crate) trait Reader: Send {
    /// Reads one event and appends what it says. `lone` as in [`super::json::Item::Value`].
    ///
    /// # Errors
    /// For an event that can't be understood, and for one that ends the response as failed.
    fn event(
        &mut self,
        event: Value,
        lone: bool,
        out: &mut VecDeque<Chunk>,
    ) -> Result<Progress, ProviderError>;

    /// The end marker `[DONE]` has come.
    fn marker(&mut self);

    /// Nothing more is read: appends what was held back, if the response is whole.
    ///
    /// # Errors
    /// Without evidence that it is; nothing is appended then.
    fn end(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), ProviderError>;
}

/// Whether more events are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    /// The reason to finish is known; counts, the end marker or an error may follow.
    Finishing,
    Done,
}
