//! The wire `openai-responses`: the Responses API, streamed, with nothing stored at the server. Where it is; requests and
//! responses stand in modules of their own, and `openai_codex` speaks it with another server.

use std::time::Duration;

use super::discover::Listing;
use super::http::{Endpoint, KeyHeader};
use super::openai_chat::model_entry;
use super::wire::{Parameters, Reader, Wire};
use crate::config::{Api, BuildError, ProviderConfig};
use crate::request::Request;

mod items;
mod request;
mod response;

pub(super) use request::{Server, body};
pub(super) use response::ResponseReader;

pub(super) const PATH: [&str; 1] = ["responses"];
pub(super) const LIST: [&str; 1] = ["models"];
/// Members of a request that it can do without.
pub(super) const OPTIONAL: &[&str] = &[
    "include",
    "reasoning",
    "reasoning.effort",
    "reasoning.summary",
    "encrypted_content",
    "prompt_cache_key",
    "max_output_tokens",
    "parallel_tool_calls",
    "service_tier",
    "strict",
    "store",
];

pub(super) struct OpenaiResponses;

impl Wire for OpenaiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn api(&self) -> Api {
        Api::OpenaiResponses
    }

    fn endpoint(&self, config: &ProviderConfig, connect: Duration) -> Result<Endpoint, BuildError> {
        let base = config.base_url.as_deref();
        let base = base.ok_or(BuildError::BaseUrlMissing)?;
        Endpoint::new(base, &PATH, &[], KeyHeader::BEARER, connect)
    }

    fn listing(&self, config: &ProviderConfig, connect: Duration) -> Result<Listing, BuildError> {
        let base = config.base_url.as_deref();
        let base = base.ok_or(BuildError::BaseUrlMissing)?;
        Ok(Listing {
            endpoint: Endpoint::new(base, &LIST, &[&PATH], KeyHeader::BEARER, connect)?,
            query: Vec::new(),
            page: "after",
            entry: model_entry,
            details: None,
        })
    }

    /// Local servers load the model and read the whole prompt before they send a byte.
    fn first_event(&self) -> Duration {
        Duration::from_secs(5 * 60)
    }

    fn body(&self, request: &Request, parameters: &Parameters<'_>) -> Vec<u8> {
        body(request, parameters, Server::Any)
    }

    fn optional(&self) -> &'static [&'static str] {
        OPTIONAL
    }

    fn reader(&self, request: &Request, parameters: &Parameters<'_>) -> Box<dyn Reader> {
        Box::new(ResponseReader::new(request, parameters.reasoning))
    }
}
