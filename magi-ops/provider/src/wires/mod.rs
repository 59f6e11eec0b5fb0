//! The wires that reach a model over HTTP: what they share and how one becomes a `Provider`.
//! Each wire's JSON stands in its own module; connections, retries and events are read beside it.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::registry::{Api, BuildError, Patience, ProviderConfig};
use crate::{Chunk, Provider, ProviderError, Request, Response, ThinkingLevel};

mod anthropic;
mod body;
mod exchange;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod http;
mod openai_chat;
mod retry;
mod sse;
mod turns;

use http::Endpoint;

/// How one provider's requests and events look.
trait Wire: Send + Sync {
    /// The request's body, JSON.
    fn body(&self, request: &Request) -> Vec<u8>;

    /// Reads one response to `request`.
    fn reader(&self, request: &Request) -> Box<dyn Reader>;

    /// See [`Provider::context_window`].
    fn context_window(&self, model: &str) -> Option<u64>;

    /// See [`Provider::nearest_level`].
    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel;
}

/// Reads the events of one response.
trait Reader: Send {
    /// Reads one event's data and appends what it says.
    fn event(&mut self, data: &str, out: &mut VecDeque<Chunk>) -> Result<Progress, ProviderError>;

    /// The body has ended without the wire's end marker: appends what is left, or says what is
    /// missing.
    fn end(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), ProviderError>;
}

/// Whether more events are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    More,
    Done,
}

/// A provider behind an endpoint.
struct Remote {
    id: String,
    wire: Arc<dyn Wire>,
    endpoint: Arc<Endpoint>,
    patience: Arc<Patience>,
}

impl Provider for Remote {
    fn id(&self) -> &str {
        &self.id
    }

    fn respond(&self, request: Request, cancel: CancellationToken) -> Response {
        exchange::start(
            Arc::clone(&self.wire),
            Arc::clone(&self.endpoint),
            Arc::clone(&self.patience),
            request,
            cancel,
        )
    }

    fn context_window(&self, model: &str) -> Option<u64> {
        self.wire.context_window(model)
    }

    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel {
        self.wire.nearest_level(model, level)
    }
}

pub(crate) fn build(
    config: &ProviderConfig,
    mut patience: Patience,
) -> Result<Arc<dyn Provider>, BuildError> {
    let base = config.base_url.as_deref();
    let key = config.key.as_ref();
    let connect = patience.connect;
    let (wire, endpoint, first): (Arc<dyn Wire>, _, _) = match config.api {
        Api::Anthropic => (
            Arc::new(anthropic::Anthropic),
            anthropic::endpoint(base, key, connect)?,
            anthropic::FIRST_EVENT,
        ),
        Api::OpenaiChat | Api::Ollama => (
            Arc::new(openai_chat::OpenaiChat),
            openai_chat::endpoint(config.api, base, key, connect)?,
            openai_chat::FIRST_EVENT,
        ),
        Api::OpenaiResponses | Api::Gemini | Api::Fixture => return Err(BuildError::NotLinked),
    };
    patience.first.get_or_insert(first);
    Ok(Arc::new(Remote {
        id: config.id.clone(),
        wire,
        endpoint: Arc::new(endpoint),
        patience: Arc::new(patience),
    }))
}
