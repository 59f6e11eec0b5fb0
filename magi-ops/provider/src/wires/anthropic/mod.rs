//! The wire `anthropic`: the Messages API, streamed. Where it is and what its models can.
//! Requests and responses stand in modules of their own.

use std::collections::VecDeque;
use std::time::Duration;

use super::http::Endpoint;
use super::{Progress, Reader, Wire};
use crate::registry::{BuildError, Secret};
use crate::{Chunk, ProviderError, Request, ThinkingLevel};

mod models;
mod request;
mod response;

const BASE: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";
/// The first event tells of the message before anything is computed.
pub(super) const FIRST_EVENT: Duration = Duration::from_secs(60);

pub(super) fn endpoint(
    base: Option<&str>,
    key: Option<&Secret>,
    connect: Duration,
) -> Result<Endpoint, BuildError> {
    Endpoint::new(base.unwrap_or(BASE), &["v1", "messages"], connect)?
        .header("anthropic-version", VERSION)
        .key("x-api-key", "", key)
}

pub(super) struct Anthropic;

impl Wire for Anthropic {
    fn body(&self, request: &Request) -> Vec<u8> {
        request::body(request)
    }

    fn reader(&self, request: &Request) -> Box<dyn Reader> {
        Box::new(response::MessageReader::new(request))
    }

    fn context_window(&self, model: &str) -> Option<u64> {
        models::context_window(model)
    }

    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel {
        models::nearest_level(model, level)
    }
}

impl Reader for response::MessageReader {
    fn event(&mut self, data: &str, out: &mut VecDeque<Chunk>) -> Result<Progress, ProviderError> {
        self.read(data, out)
    }

    fn end(&mut self, _: &mut VecDeque<Chunk>) -> Result<(), ProviderError> {
        // A whole message ends with an event that says so.
        Err(ProviderError::Network)
    }
}
