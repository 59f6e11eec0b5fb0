//! The wire `anthropic`: the Messages API, streamed. Where it is and what its models can.
//! Requests and responses stand in modules of their own.

use std::time::Duration;

use super::http::{Endpoint, KeyHeader};
use super::quirks::{ADDITIONAL, Quirks};
use super::wire::{Reader, Wire};
use crate::config::{BuildError, ModelLimits, ProviderConfig, Reasoning};
use crate::message::ThinkingLevel;
use crate::request::Request;

mod models;
mod request;
mod response;

/// The built-in provider, whose models are Anthropic's own.
const BUILT_IN: &str = "anthropic";
const BASE: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";
const PATH: [&str; 2] = ["v1", "messages"];
const KEY: KeyHeader = KeyHeader {
    name: "x-api-key",
    scheme: "",
};
/// The first event tells of the message before anything is computed.
pub(super) const FIRST_EVENT: Duration = Duration::from_secs(60);
/// Output of a model that nothing is known of, in tokens: the API takes no request without a number.
const UNKNOWN_OUTPUT: u64 = 8_192;
/// The same, where the models are Anthropic's own.
const BUILT_IN_OUTPUT: u64 = 32_000;
/// The window of Anthropic's own models that nothing else is known of, in tokens.
const BUILT_IN_WINDOW: u64 = 200_000;

pub(super) fn endpoint(config: &ProviderConfig, connect: Duration) -> Result<Endpoint, BuildError> {
    let base = config.base_url.as_deref().unwrap_or(BASE);
    let endpoint = Endpoint::new(base, &PATH, &[], KEY, connect)?;
    Ok(endpoint.header("anthropic-version", VERSION))
}

pub(super) struct Anthropic {
    provider: String,
    limits: ModelLimits,
}

impl Anthropic {
    pub(super) fn new(config: &ProviderConfig) -> Self {
        Self {
            provider: config.id.clone(),
            limits: config.models.clone(),
        }
    }

    /// The settings' word, else what is known by the model's name.
    fn max_tokens(&self, model: &str) -> u64 {
        let unknown = match self.provider == BUILT_IN {
            true => BUILT_IN_OUTPUT,
            false => UNKNOWN_OUTPUT,
        };
        let own = self.limits.max_output_tokens(model);
        own.or_else(|| models::max_tokens(model)).unwrap_or(unknown)
    }

    fn thinking(&self, request: &Request, quirks: &Quirks) -> Option<models::Thinking> {
        if quirks.leaves_out("thinking") {
            return None;
        }
        let level = self.nearest_level(&request.model, request.thinking);
        models::thinking(&request.model, level, self.max_tokens(&request.model))
    }
}

impl Wire for Anthropic {
    fn body(&self, request: &Request, quirks: &Quirks) -> Vec<u8> {
        let shape = request::Shape {
            provider: &self.provider,
            max_tokens: self.max_tokens(&request.model),
            thinking: self.thinking(request, quirks),
            reasoning: self.limits.reasoning(&request.model),
            quirks,
        };
        request::body(request, shape)
    }

    fn optional(&self) -> &'static [&'static str] {
        &["thinking", "output_config", "cache_control", ADDITIONAL]
    }

    fn reader(&self, request: &Request) -> Box<dyn Reader> {
        let thinking = self.thinking(request, &Quirks::default());
        let summaries = thinking.is_some_and(|thinking| thinking.summaries);
        let echo = self.limits.reasoning(&request.model) == Some(Reasoning::Echo);
        Box::new(response::MessageReader::new(request, summaries, echo))
    }

    fn context_window(&self, model: &str) -> Option<u64> {
        let known = || models::context_window(model);
        let own = self.limits.context_window(model).or_else(known);
        own.or((self.provider == BUILT_IN).then_some(BUILT_IN_WINDOW))
    }

    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel {
        let own = self.limits.nearest_level(model, level);
        own.unwrap_or_else(|| models::nearest_level(model, level))
    }
}
