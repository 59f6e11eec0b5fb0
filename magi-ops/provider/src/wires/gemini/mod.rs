//! The wire `gemini`: Google's own `streamGenerateContent`. Where it is and how its models are asked to think.
//! Requests, schemas and responses stand in modules of their own.

use std::time::Duration;

use super::discover::Listing;
use super::http::{Endpoint, GENERATE, KeyHeader, Target};
use super::wire::{Parameters, Reader, Wire};
use crate::config::{Api, BuildError, ProviderConfig};
use crate::request::Request;

mod models;
mod request;
mod response;
mod schema;

const BASE: &str = "https://generativelanguage.googleapis.com/v1beta";
const PATH: [&str; 1] = ["models"];
/// Endpoints that mean the same server.
const ENDPOINTS: [&[&str]; 1] = [&["models", GENERATE]];
const KEY: KeyHeader = KeyHeader {
    name: "x-goog-api-key",
    scheme: "",
};

#[cfg(feature = "fuzzing")]
pub(super) use models::entry as model_entry;

pub(super) struct Gemini;

impl Wire for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn api(&self) -> Api {
        Api::Gemini
    }

    fn endpoint(&self, config: &ProviderConfig, connect: Duration) -> Result<Endpoint, BuildError> {
        let base = config.base_url.as_deref().unwrap_or(BASE);
        let endpoint = Endpoint::new(base, &PATH, &ENDPOINTS, KEY, connect)?;
        Ok(endpoint.query("alt", "sse"))
    }

    fn listing(&self, config: &ProviderConfig, connect: Duration) -> Result<Listing, BuildError> {
        let base = config.base_url.as_deref().unwrap_or(BASE);
        Ok(Listing {
            endpoint: Endpoint::new(base, &PATH, &ENDPOINTS, KEY, connect)?,
            query: vec![("pageSize", "1000".to_owned())],
            page: "pageToken",
            entry: models::entry,
            details: None,
        })
    }

    /// Models that think may do so before their first word, and say nothing meanwhile.
    fn first_event(&self) -> Duration {
        Duration::from_secs(5 * 60)
    }

    fn target(&self, request: &Request) -> Target {
        let model = request.model.strip_prefix("models/");
        let model = model.unwrap_or(&request.model);
        Target {
            path: Some(format!("{model}:streamGenerateContent")),
            headers: Vec::new(),
        }
    }

    fn body(&self, request: &Request, parameters: &Parameters<'_>) -> Vec<u8> {
        request::body(request, parameters)
    }

    fn optional(&self) -> &'static [&'static str] {
        &[
            "thinkingConfig",
            "thinkingConfig.includeThoughts",
            "thinkingConfig.thinkingBudget",
            "thinkingConfig.thinkingLevel",
            "maxOutputTokens",
            "thoughtSignature",
        ]
    }

    fn reader(&self, request: &Request, parameters: &Parameters<'_>) -> Box<dyn Reader> {
        let summaries = request::thinking(request, parameters)
            .is_some_and(|thinking| thinking["includeThoughts"] == true);
        Box::new(response::ContentReader::new(
            request,
            parameters.reasoning,
            summaries,
        ))
    }
}
