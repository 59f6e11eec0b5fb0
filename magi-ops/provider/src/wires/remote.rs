//! A provider behind an endpoint: one wire, one address, what was learned of the server.
//! The exchange itself and each wire's JSON stand in their own modules.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::call_ids::IdForm;
use super::exchange::{self, Link};
use super::quirks::{Learned, Quirks, says_mistral};
use super::{anthropic, openai_chat};
use crate::config::{Api, BuildError, Patience, ProviderConfig};
use crate::credential::CredentialSource;
use crate::message::ThinkingLevel;
use crate::provider::Provider;
use crate::request::Request;
use crate::response::Response;

struct Remote {
    id: String,
    link: Arc<Link>,
}

impl Provider for Remote {
    fn id(&self) -> &str {
        &self.id
    }

    fn respond(&self, request: Request, cancel: CancellationToken) -> Response {
        exchange::start(Arc::clone(&self.link), request, cancel)
    }

    fn context_window(&self, model: &str) -> Option<u64> {
        self.link.wire.context_window(model)
    }

    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel {
        self.link.wire.nearest_level(model, level)
    }
}

/// Builds the provider that `config` describes. Reads the system's certificates for `https`.
///
/// # Errors
/// For an api without a wire, and an address that can't be used.
pub(crate) fn build(
    config: &ProviderConfig,
    credentials: Arc<dyn CredentialSource>,
    mut patience: Patience,
) -> Result<Arc<dyn Provider>, BuildError> {
    let connect = patience.connect;
    let (wire, endpoint, first): (Arc<dyn super::wire::Wire>, _, _) = match config.api {
        Api::Anthropic => (
            Arc::new(anthropic::Anthropic::new(config)),
            anthropic::endpoint(config, connect)?,
            anthropic::FIRST_EVENT,
        ),
        Api::OpenaiChat | Api::Ollama => (
            Arc::new(openai_chat::OpenaiChat::new(config)),
            openai_chat::endpoint(config, connect)?,
            openai_chat::FIRST_EVENT,
        ),
        Api::OpenaiResponses | Api::Gemini | Api::Fixture => return Err(BuildError::NotLinked),
    };
    patience.first.get_or_insert(first);
    let base = config.base_url.as_deref().unwrap_or_default();
    let mut usual = Quirks::default();
    if says_mistral(&config.id) || says_mistral(base) {
        usual.ids = IdForm::Short;
    }
    Ok(Arc::new(Remote {
        id: config.id.clone(),
        link: Arc::new(Link {
            provider: config.id.clone(),
            wire,
            endpoint,
            credentials,
            patience,
            learned: Learned::new(usual),
        }),
    }))
}
