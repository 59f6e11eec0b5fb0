//! A provider behind an endpoint: one wire, one address, what was learned of the server.
//! The exchange itself and each wire's JSON stand in their own modules.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::anthropic::Anthropic;
use super::call_ids::IdForm;
use super::exchange::{self, Link};
use super::gemini::Gemini;
use super::openai_chat::OpenaiChat;
use super::openai_codex::{self, OpenaiCodex};
use super::openai_responses::OpenaiResponses;
use super::quirks::{Learned, Quirks, says_mistral};
use super::wire::Wire;
use crate::config::{Api, BuildError, Patience, ProviderConfig};
use crate::credential::CredentialSource;
use crate::discovered::Discover;
use crate::message::ThinkingLevel;
use crate::models::{levels, nearest_level};
use crate::provider::Provider;
use crate::recorder::Recorder;
use crate::request::Request;
use crate::response::Response;

struct Remote(Arc<Link>);

impl Provider for Remote {
    fn id(&self) -> &str {
        &self.0.provider
    }

    fn respond(&self, request: Request, cancel: CancellationToken) -> Response {
        exchange::start(Arc::clone(&self.0), request, cancel)
    }

    fn context_window(&self, model: &str) -> Option<u64> {
        let link = &self.0;
        let own = link.limits.context_window(model);
        own.or_else(|| link.wire.context_window(&link.provider, model))
    }

    fn nearest_level(&self, model: &str, level: ThinkingLevel) -> ThinkingLevel {
        let Link { wire, limits, .. } = &*self.0;
        nearest_level(&levels(wire.api(), limits, model), level)
    }
}

/// The wire that a provider's servers speak, if there is one.
fn wire(config: &ProviderConfig) -> Option<&'static dyn Wire> {
    match config.api {
        Api::Anthropic => Some(&Anthropic),
        Api::OpenaiChat | Api::Ollama => Some(&OpenaiChat),
        Api::OpenaiResponses if config.id == openai_codex::BUILT_IN => Some(&OpenaiCodex),
        Api::OpenaiResponses => Some(&OpenaiResponses),
        Api::Gemini => Some(&Gemini),
        Api::Fixture => None,
    }
}

/// What asks the server that `config` describes for its models. Reads the system's certificates for `https`.
///
/// # Errors
/// As [`build`].
pub(crate) fn discovery(config: &ProviderConfig) -> Result<Box<dyn Discover>, BuildError> {
    let wire = wire(config).ok_or(BuildError::NotLinked)?;
    Ok(Box::new(wire.listing(config, Patience::default().connect)?))
}

/// Builds the provider that `config` describes. Reads the system's certificates for `https`.
///
/// # Errors
/// For an api without a wire, and an address that can't be used.
pub(crate) fn build(
    config: &ProviderConfig,
    credentials: Arc<dyn CredentialSource>,
    recorder: Option<Arc<Recorder>>,
    patience: Patience,
) -> Result<Arc<dyn Provider>, BuildError> {
    let wire = wire(config).ok_or(BuildError::NotLinked)?;
    let base = config.base_url.as_deref().unwrap_or_default();
    let mut usual = Quirks::default();
    if says_mistral(&config.id) || says_mistral(base) {
        usual.ids = IdForm::Short;
    }
    Ok(Arc::new(Remote(Arc::new(Link {
        provider: config.id.clone(),
        limits: config.models.clone(),
        wire,
        endpoint: wire.endpoint(config, patience.connect)?,
        credentials,
        recorder,
        patience,
        learned: Learned::new(usual),
    }))))
}
