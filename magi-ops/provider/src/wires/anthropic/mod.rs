//! The wire `anthropic`: the Messages API, streamed. Where it is and what its models can.
//! Requests and responses stand in modules of their own.

use std::time::Duration;

use super::discover::Listing;
use super::http::{Endpoint, KeyHeader};
use super::wire::{Parameters, Reader, Wire};
use crate::config::{Api, BuildError, ProviderConfig, Reasoning};
use crate::models::known;
use crate::request::Request;

mod models;
mod request;
mod response;
mod thinking;

/// The built-in provider, whose models are Anthropic's own.
const BUILT_IN: &str = "anthropic";
const BASE: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";
const PATH: [&str; 2] = ["v1", "messages"];
const LIST: [&str; 2] = ["v1", "models"];
const KEY: KeyHeader = KeyHeader {
    name: "x-api-key",
    scheme: "",
};
/// Output of a model that nothing is known of, in tokens: the API takes no request without a number.
const UNKNOWN_OUTPUT: u64 = 8_192;
/// The same, where the models are Anthropic's own.
const BUILT_IN_OUTPUT: u64 = 32_000;
/// The window of Anthropic's own models that nothing else is known of, in tokens.
const BUILT_IN_WINDOW: u64 = 200_000;

#[cfg(feature = "fuzzing")]
pub(super) use models::entry as model_entry;

pub(super) struct Anthropic;

/// The settings' word, else the server's, else what is known by the model's name.
fn max_tokens(model: &str, parameters: &Parameters<'_>) -> u64 {
    let unknown = match parameters.provider {
        BUILT_IN => BUILT_IN_OUTPUT,
        _ => UNKNOWN_OUTPUT,
    };
    let own = parameters.max_tokens.or(parameters.discovered_output);
    own.or(known(model).max_output_tokens).unwrap_or(unknown)
}

fn thinking(model: &str, parameters: &Parameters<'_>) -> Option<thinking::Thinking> {
    thinking::thinking(model, parameters.level, max_tokens(model, parameters))
}

impl Wire for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn api(&self) -> Api {
        Api::Anthropic
    }

    fn endpoint(&self, config: &ProviderConfig, connect: Duration) -> Result<Endpoint, BuildError> {
        let base = config.base_url.as_deref().unwrap_or(BASE);
        let endpoint = Endpoint::new(base, &PATH, &[], KEY, connect)?;
        Ok(endpoint.header("anthropic-version", VERSION))
    }

    fn listing(&self, config: &ProviderConfig, connect: Duration) -> Result<Listing, BuildError> {
        let base = config.base_url.as_deref().unwrap_or(BASE);
        let endpoint = Endpoint::new(base, &LIST, &[&PATH], KEY, connect)?;
        Ok(Listing {
            endpoint: endpoint.header("anthropic-version", VERSION),
            query: vec![("limit", "1000".to_owned())],
            page: "after_id",
            entry: models::entry,
            details: None,
        })
    }

    /// The first event tells of the message before anything is computed.
    fn first_event(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn body(&self, request: &Request, parameters: &Parameters<'_>) -> Vec<u8> {
        request::body(request, parameters)
    }

    fn optional(&self) -> &'static [&'static str] {
        &[
            "thinking",
            "output_config",
            "cache_control",
            "service_tier",
            "is_error",
        ]
    }

    fn reader(&self, request: &Request, parameters: &Parameters<'_>) -> Box<dyn Reader> {
        let thinking = thinking(&request.model, parameters);
        let summaries = thinking.is_some_and(|thinking| thinking.summaries);
        let echo = parameters.reasoning == Some(Reasoning::Echo);
        Box::new(response::MessageReader::new(request, summaries, echo))
    }

    fn context_window(&self, provider: &str, model: &str) -> Option<u64> {
        let built_in = (provider == BUILT_IN).then_some(BUILT_IN_WINDOW);
        known(model).context_window.or(built_in)
    }
}
