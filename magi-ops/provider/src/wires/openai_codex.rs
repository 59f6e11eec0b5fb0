//! The wire of `openai-codex`: the Responses API as the ChatGPT subscription's servers speak it. Where it is and which
//! headers it wants; everything else is `openai_responses`'.

use std::time::Duration;

use super::discover::Listing;
use super::http::{Endpoint, KeyHeader, Target};
use super::openai_chat::model_entry;
use super::openai_responses::{LIST, OPTIONAL, PATH, ResponseReader, Server, body};
use super::wire::{Parameters, Reader, Wire};
use crate::config::{Api, BuildError, ProviderConfig};
use crate::models::known;
use crate::request::Request;

/// The built-in provider that a person logs in to.
pub(super) const BUILT_IN: &str = "openai-codex";
const BASE: &str = "https://chatgpt.com/backend-api/codex";
/// Tokens that a conversation may have: less than the same models take elsewhere.
const WINDOW: u64 = 272_000;

/// The servers list models by what a client of this version of theirs can speak with, and refuse who names none.
const CLIENT_VERSION: &str = "1.0.0";

pub(super) struct OpenaiCodex;

fn with_headers(endpoint: Endpoint) -> Endpoint {
    let endpoint = endpoint.naming_account("chatgpt-account-id");
    let endpoint = endpoint.header("openai-beta", "responses=experimental");
    endpoint.header("originator", "magi-code")
}

impl Wire for OpenaiCodex {
    fn name(&self) -> &'static str {
        "openai-codex"
    }

    fn api(&self) -> Api {
        Api::OpenaiResponses
    }

    fn endpoint(&self, config: &ProviderConfig, connect: Duration) -> Result<Endpoint, BuildError> {
        let base = config.base_url.as_deref().unwrap_or(BASE);
        let endpoint = Endpoint::new(base, &PATH, &[], KeyHeader::BEARER, connect)?;
        Ok(with_headers(endpoint))
    }

    fn listing(&self, config: &ProviderConfig, connect: Duration) -> Result<Listing, BuildError> {
        let base = config.base_url.as_deref().unwrap_or(BASE);
        let endpoint = Endpoint::new(base, &LIST, &[&PATH], KeyHeader::BEARER, connect)?;
        Ok(Listing {
            endpoint: with_headers(endpoint),
            query: vec![("client_version", CLIENT_VERSION.to_owned())],
            page: "after",
            entry: model_entry,
            details: None,
        })
    }

    /// The first event tells of the response before anything is computed.
    fn first_event(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn target(&self, request: &Request) -> Target {
        let session = ("session_id", request.session.clone());
        Target {
            path: None,
            headers: vec![session],
        }
    }

    fn body(&self, request: &Request, parameters: &Parameters<'_>) -> Vec<u8> {
        body(request, parameters, Server::Codex)
    }

    fn optional(&self) -> &'static [&'static str] {
        OPTIONAL
    }

    fn reader(&self, request: &Request, parameters: &Parameters<'_>) -> Box<dyn Reader> {
        Box::new(ResponseReader::new(request, parameters.reasoning))
    }

    fn context_window(&self, _provider: &str, model: &str) -> Option<u64> {
        let own = known(model).context_window.unwrap_or(WINDOW);
        Some(own.min(WINDOW))
    }
}
