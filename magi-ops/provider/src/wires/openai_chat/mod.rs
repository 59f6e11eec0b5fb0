//! The wire `openai-chat`: chat completions, streamed, as OpenAI made and many servers copied them.
//! Where it is; requests and responses stand in modules of their own.

use std::time::Duration;

use super::http::{Endpoint, KeyHeader};
use super::wire::{Parameters, Reader, Wire};
use crate::config::{Api, BuildError, ProviderConfig};
use crate::request::Request;

mod calls;
mod request;
mod response;

const OLLAMA_BASE: &str = "http://127.0.0.1:11434";
const PATH: [&str; 2] = ["chat", "completions"];
const OLLAMA_PATH: [&str; 3] = ["v1", "chat", "completions"];
/// The addresses of Ollama's own API, which mean the same server.
const OLLAMA_OWN: [&[&str]; 3] = [&["api", "chat"], &["api", "generate"], &["api"]];

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
