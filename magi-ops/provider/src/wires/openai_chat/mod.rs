//! The wire `openai-chat`: chat completions, streamed, as OpenAI made and many servers copied them.
//! Where it is; requests and responses stand in modules of their own.

use std::time::Duration;

use super::discover::{Details, Listing};
use super::http::{Endpoint, KeyHeader};
use super::wire::{Parameters, Reader, Wire};
use crate::config::{Api, BuildError, ProviderConfig};
use crate::request::Request;

mod calls;
mod models;
mod request;
mod response;

const OLLAMA_BASE: &str = "http://127.0.0.1:11434";
const PATH: [&str; 2] = ["chat", "completions"];
const OLLAMA_PATH: [&str; 3] = ["v1", "chat", "completions"];
/// The addresses of Ollama's own API, which mean the same server.
const OLLAMA_OWN: [&[&str]; 3] = [&["api", "chat"], &["api", "generate"], &["api"]];

const LIST: [&str; 1] = ["models"];
const OLLAMA_LIST: [&str; 2] = ["api", "tags"];
const OLLAMA_SHOW: [&str; 2] = ["api", "show"];
/// What bases of Ollama end with.
const OLLAMA_BASES: [&[&str]; 5] = [
    &OLLAMA_PATH,
    &["api", "chat"],
    &["api", "generate"],
    &["v1"],
    &["api"],
];
/// Of llama.cpp, beside what it has in common with others.
const PROPERTIES: [&str; 1] = ["props"];
const AT_ROOT: [&[&str]; 3] = [&OLLAMA_PATH, &PATH, &["v1"]];

pub(super) use models::entry as model_entry;

pub(super) struct OpenaiChat;

impl Wire for OpenaiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn api(&self) -> Api {
        Api::OpenaiChat
    }

    /// Ollama speaks this wire beside its own API, under `v1`.
    fn endpoint(&self, config: &ProviderConfig, connect: Duration) -> Result<Endpoint, BuildError> {
        let base = config.base_url.as_deref();
        match config.api {
            Api::Ollama => {
                let base = base.unwrap_or(OLLAMA_BASE);
                Endpoint::new(base, &OLLAMA_PATH, &OLLAMA_OWN, KeyHeader::BEARER, connect)
            }
            _ => {
                let base = base.ok_or(BuildError::BaseUrlMissing)?;
                Endpoint::new(base, &PATH, &[], KeyHeader::BEARER, connect)
            }
        }
    }

    /// Ollama has a list of its own, which names no more than the models; llama.cpp tells the window at its root.
    fn listing(&self, config: &ProviderConfig, connect: Duration) -> Result<Listing, BuildError> {
        let base = config.base_url.as_deref();
        let new =
            |base, path, instead| Endpoint::new(base, path, instead, KeyHeader::BEARER, connect);
        if config.api == Api::Ollama {
            let base = base.unwrap_or(OLLAMA_BASE);
            return Ok(Listing {
                endpoint: new(base, &OLLAMA_LIST, &OLLAMA_BASES)?,
                query: Vec::new(),
                page: "page",
                entry: models::entry,
                details: Some(Details {
                    endpoint: new(base, &OLLAMA_SHOW, &OLLAMA_BASES)?,
                    ask: models::ask_details,
                    read: models::read_details,
                }),
            });
        }
        let base = base.ok_or(BuildError::BaseUrlMissing)?;
        Ok(Listing {
            endpoint: new(base, &LIST, &[&PATH])?,
            query: Vec::new(),
            page: "after",
            entry: models::entry,
            details: Some(Details {
                endpoint: new(base, &PROPERTIES, &AT_ROOT)?,
                ask: models::ask_properties,
                read: models::read_properties,
            }),
        })
    }

    /// Local servers load the model and read the whole prompt before they send a byte.
    fn first_event(&self) -> Duration {
        Duration::from_secs(5 * 60)
    }

    fn body(&self, request: &Request, parameters: &Parameters<'_>) -> Vec<u8> {
        request::body(request, parameters)
    }

    fn optional(&self) -> &'static [&'static str] {
        &[
            "stream_options",
            "reasoning_effort",
            "max_tokens",
            "max_completion_tokens",
            "reasoning_content",
            "reasoning_details",
            "reasoning",
            "extra_content",
            "service_tier",
        ]
    }

    fn reader(&self, request: &Request, parameters: &Parameters<'_>) -> Box<dyn Reader> {
        let wanted = parameters.reasoning;
        Box::new(response::CompletionReader::new(request, wanted))
    }
}
