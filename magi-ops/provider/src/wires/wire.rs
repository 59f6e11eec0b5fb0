//! What a wire is: how one kind of server wants its requests, and how its answers are read.
//! No bytes, no exchange and no retry here.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;

use super::discover::Listing;
use super::http::{Endpoint, Target};
use super::images::Taken;
use super::quirks::Quirks;
use crate::config::{Api, BuildError, ModelLimits, ProviderConfig, Reasoning};
use crate::error::ProviderError;
use crate::message::ThinkingLevel;
use crate::models::{known, levels, nearest_level};
use crate::request::Request;
use crate::response::Chunk;

/// How one kind of server's requests and events look. Keeps nothing of a server.
pub(crate) trait Wire: Send + Sync {
    /// No other wire's name.
    fn name(&self) -> &'static str;

    /// Which api of the settings it is; Ollama's models are asked as those of `openai-chat`.
    fn api(&self) -> Api;

    /// Where requests go. Waits at most `connect` for a connection.
    ///
    /// # Errors
    /// For an address that can't be used, and without an HTTP client.
    fn endpoint(&self, config: &ProviderConfig, connect: Duration) -> Result<Endpoint, BuildError>;

    /// How its servers are asked for their models.
    ///
    /// # Errors
    /// As [`Self::endpoint`].
    fn listing(&self, config: &ProviderConfig, connect: Duration) -> Result<Listing, BuildError>;

    /// How long the first event may take unless [`crate::Patience::first`] says.
    fn first_event(&self) -> Duration;

    /// The request's body, JSON, as far as the server is known to take it.
    fn body(&self, request: &Request, parameters: &Parameters<'_>) -> Vec<u8>;

    /// What of the address and the headers depends on the request.
    fn target(&self, _request: &Request) -> Target {
        Target::default()
    }

    /// Members of a request that it can do without. One inside another, as `outer.inner`, is left out alone where a
    /// refusal means it.
    fn optional(&self) -> &'static [&'static str];

    /// Reads one response to `request`.
    fn reader(&self, request: &Request, parameters: &Parameters<'_>) -> Box<dyn Reader>;

    /// Tokens that a conversation may have, as far as the names of provider and model say.
    fn context_window(&self, _provider: &str, model: &str) -> Option<u64> {
        known(model).context_window
    }
}

/// What a request asks of its model, by the settings and by what is known of the server.
pub(crate) struct Parameters<'a> {
    /// [`Wire::name`] of the wire that asks.
    pub(crate) wire: &'static str,
    /// Id of the provider that is asked.
    pub(crate) provider: &'a str,
    /// A level that the model has.
    pub(crate) level: ThinkingLevel,
    /// Most tokens of the response, if the settings or the request say.
    pub(crate) max_tokens: Option<u64>,
    /// Most tokens that a response may have, if the server said.
    pub(crate) discovered_output: Option<u64>,
    /// What the server wants back of reasoning, if the settings say.
    pub(crate) reasoning: Option<Reasoning>,
    /// Whether the model takes images.
    pub(crate) images: bool,
    pub(crate) quirks: Quirks,
}

impl<'a> Parameters<'a> {
    pub(crate) fn new(
        wire: &dyn Wire,
        provider: &'a str,
        limits: &ModelLimits,
        request: &Request,
        quirks: Quirks,
    ) -> Self {
        let model = &request.model;
        Self {
            wire: wire.name(),
            provider,
            level: nearest_level(&levels(wire.api(), limits, model), request.thinking),
            max_tokens: [limits.max_output_tokens(model), request.max_output]
                .into_iter()
                .flatten()
                .min(),
            discovered_output: limits.discovered_output(model),
            reasoning: limits.reasoning(model),
            images: limits.images(model).unwrap_or_else(|| known(model).images),
            quirks,
        }
    }

    /// Which images the model gets.
    pub(crate) fn taken_images(&self) -> Taken<'_> {
        Taken {
            any: self.images,
            most: self.quirks.max_image_bytes,
            refused: &self.quirks.refused_images,
        }
    }
}

/// The name of a level, which all wires share; `None` leaves it to the server.
pub(crate) fn effort(level: ThinkingLevel) -> Option<&'static str> {
    Some(match level {
        ThinkingLevel::Default => return None,
        ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::XHigh => "xhigh",
        ThinkingLevel::Max => "max",
    })
}

/// Tokens of thinking for a model that wants a number; `None` leaves it to the server.
pub(crate) fn budget(level: ThinkingLevel) -> Option<u64> {
    Some(match level {
        ThinkingLevel::Default => return None,
        ThinkingLevel::Low => 4_096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 20_480,
        ThinkingLevel::XHigh => 32_768,
        ThinkingLevel::Max => 49_152,
    })
}

/// Least output that is left for the answer beside the thinking, in tokens.
pub(crate) const ANSWER_TOKENS: u64 = 8_192;

/// Most tokens of thinking in a response of `max_tokens`: half of a small one, where there is no room for a whole answer
/// beside it.
pub(crate) fn thinking_room(max_tokens: u64) -> u64 {
    let half = (max_tokens / 2).min(ANSWER_TOKENS);
    max_tokens.saturating_sub(ANSWER_TOKENS).max(half)
}

/// Reads the events of one response. What says *error* has been taken out before.
pub(crate) trait Reader: Send {
    /// Reads one event. `lone`: halves of characters are in its texts, see [`super::halves`].
    ///
    /// # Errors
    /// For an event that can't be understood, and for one that ends the response as failed.
    fn event(&mut self, event: Value, lone: bool) -> Result<Progress, ProviderError>;

    /// The end marker `[DONE]` has come, which is that of chat completions.
    fn marker(&mut self);

    /// Nothing more is read: gives what was held back, if the response is whole.
    ///
    /// # Errors
    /// Without evidence that it is; nothing is given then.
    fn end(&mut self) -> Result<(), ProviderError>;

    /// What has been read, for the caller to take.
    fn pieces(&mut self) -> &mut VecDeque<Chunk>;
}

/// Most bytes of one value, as JSON, that are kept to be sent back.
pub(crate) const MAX_STATE_BYTES: usize = 1024 * 1024;

/// Keeps what the server wants back, unless it is too long.
pub(crate) fn keep(state: Value, out: &mut VecDeque<Chunk>) {
    match state.to_string().len() {
        ..=MAX_STATE_BYTES => out.push_back(Chunk::State(state)),
        bytes => tracing::warn!(
            bytes,
            "what the server wants back is too long to be kept: the next request goes without it"
        ),
    }
}

/// Whether more events are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    /// The reason to finish is known; counts, the end marker or an error may follow.
    Finishing,
    Done,
}

#[cfg(test)]
mod tests {
    use super::super::openai_chat::OpenaiChat;
    use super::*;

    #[test]
    fn the_lower_bound_of_a_response_holds() {
        for (own, request, holds) in [
            (None, None, None),
            (Some(7), None, Some(7)),
            (None, Some(9), Some(9)),
            (Some(7), Some(9), Some(7)),
            (Some(9), Some(7), Some(7)),
        ] {
            let limits = ModelLimits {
                max_output_tokens: own,
                ..ModelLimits::default()
            };
            let request = Request {
                max_output: request,
                ..Request::default()
            };
            let quirks = Quirks::default();
            let parameters = Parameters::new(&OpenaiChat, "p", &limits, &request, quirks);
            assert_eq!(parameters.max_tokens, holds);
        }
    }
}
