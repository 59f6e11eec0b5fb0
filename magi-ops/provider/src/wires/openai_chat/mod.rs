//! The wire `openai-chat`: chat completions, streamed, as OpenAI made and many servers copied them.
//! Where it is; requests and responses stand in modules of their own.

use std::collections::VecDeque;
use std::time::Duration;

use super::http::Endpoint;
use super::{Progress, Reader, Wire};
use crate::registry::{Api, BuildError, Secret};
use crate::{Chunk, ProviderError, Request, ThinkingLevel};

mod request;
mod response;

const OLLAMA_BASE: &str = "http://127.0.0.1:11434";
/// Local servers load the model and read the whole prompt before they send a byte.
pub(super) const FIRST_EVENT: Duration = Duration::from_secs(5 * 60);

/// Ollama speaks this wire beside its own API, under `v1`.
pub(super) fn endpoint(
    api: Api,
    base: Option<&str>,
    key: Option<&Secret>,
    connect: Duration,
) -> Result<Endpoint, BuildError> {
    let (base, path): (_, &[&str]) = match api {
        Api::Ollama => (base.unwrap_or(OLLAMA_BASE), &["v1", "chat", "completions"]),
        _ => (
            base.ok_or(BuildError::BaseUrlMissing)?,
            &["chat", "completions"],
        ),
    };
    Endpoint::new(base, path, connect)?.key("authorization", "Bearer ", key)
}

pub(super) struct OpenaiChat;

impl Wire for OpenaiChat {
    fn body(&self, request: &Request) -> Vec<u8> {
        request::body(request)
    }

    fn reader(&self, request: &Request) -> Box<dyn Reader> {
        Box::new(response::CompletionReader::new(request))
    }

    fn context_window(&self, _: &str) -> Option<u64> {
        // Names say nothing here: each server has its own limits.
        None
    }

    fn nearest_level(&self, _: &str, level: ThinkingLevel) -> ThinkingLevel {
        request::nearest_level(level)
    }
}

impl Reader for response::CompletionReader {
    fn event(&mut self, data: &str, out: &mut VecDeque<Chunk>) -> Result<Progress, ProviderError> {
        self.read(data, out)
    }

    fn end(&mut self, _: &mut VecDeque<Chunk>) -> Result<(), ProviderError> {
        // Some servers close after the last choice and leave the end marker out.
        if self.finished() {
            Ok(())
        } else {
            Err(ProviderError::Network)
        }
    }
}
