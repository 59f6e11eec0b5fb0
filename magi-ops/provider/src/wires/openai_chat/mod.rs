//! The wire `openai-chat`: chat completions, streamed, as OpenAI made and many servers copied them.
//! Where it is; requests and responses stand in modules of their own.

use std::time::Duration;

use super::http::{Endpoint, KeyHeader};
use super::quirks::{ADDITIONAL, Quirks};
use super::wire::{Reader, Wire};
use crate::config::{Api, BuildError, ModelLimits, ProviderConfig};
use crate::message::ThinkingLevel;
use crate::request::Request;

mod calls;
mod request;
mod response;

const OLLAMA_BASE: &str = "http://127.0.0.1:11434";
const PATH: [&str; 2] = ["chat", "completions"];
const OLLAMA_PATH: [&str; 3] = ["v1", "chat", "completions"];
/// The addresses of Ollama's own API, which mean the same server.
const OLLAMA_OWN: [&[&str]; 3] = [&["api", "chat"], &["api", "generate"], &["api"]];
const KEY: KeyHeader = KeyHeader {
    name: "authorization",
    scheme: "Bearer ",
};
/// Local servers load the model and read the whole prompt before they send a byte.
pub(super) const FIRST_EVENT: Duration = Duration::from_secs(5 * 60);

/// Ollama speaks this wire beside its own API, under `v1`.
pub(super) fn endpoint(config: &ProviderConfig, connect: Duration) -> Result<Endpoint, BuildError> {
    let base = config.base_url.as_deref();
    match config.api {
        Api::Ollama => {
            let base = base.unwrap_or(OLLAMA_BASE);
            Endpoint::new(base, &OLLAMA_PATH, &OLLAMA_OWN, KEY, connect)
        }
        _ => {
            let base = base.ok_or(BuildError::BaseUrlMissing)?;
            Endpoint::new(base, &PATH, &[], KEY, connect)
        }
    }
}

pub(super) struct OpenaiChat {
    provider: String,
    limits: ModelLimits,
}

impl OpenaiChat {
    pub(super) fn new(config: &ProviderConfig) -> Self {
        Self {
            provider: config.id.clone(),
            limits: config.models.clone(),
        }
    }
}

impl Wire for OpenaiChat {
    fn body(&self, request: &Request, quirks: &Quirks) -> Vec<u8> {
        let shape = request::Shape {
            provider: &self.provider,
            thinking: self.nearest_level(&request.model, request.thinking),
            max_tokens: self.limits.max_output_tokens(&request.model),
            reasoning: self.limits.reasoning(&request.model),
            quirks,
        };
        request::body(request, &shape)
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
            ADDITIONAL,
        ]
    }

    fn reader(&self, request: &Request) -> Box<dyn Reader> {
        let reasoning = self.limits.reasoning(&request.model);
        Box::new(response::CompletionReader::new(request, reasoning))
    }

    fn context_window(&self, model: &str) -> Option<u64> {
        // Names say nothing here: each server has its own limits.
        self.limits.context_window(model)
    }

    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel {
        let own = self.limits.nearest_level(model, level);
        own.unwrap_or_else(|| request::nearest_level(level))
    }
}
