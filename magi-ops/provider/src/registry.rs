//! From configuration to a provider: what one needs, and why one cannot be built.
//! Reads no settings file and no environment; the wires themselves live in `wires`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use store::settings::Api;

use crate::{Fixture, Provider, ScriptError};

/// A credential. Its value is in no `Debug` output; only a request's header carries it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// White space around the value, such as the line end of a file it was read from, is no part
    /// of it.
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    #[cfg(feature = "wires")]
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// What a provider is built from.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// As `settings.json` names it.
    pub id: String,
    pub api: Api,
    /// `http` or `https`, without user name, password and fragment. `None` is the wire's own:
    /// `https://api.anthropic.com`, for `ollama` `http://127.0.0.1:11434`; `openai-chat` has none.
    pub base_url: Option<String>,
    /// `None` sends no credential.
    pub key: Option<Secret>,
    /// Script of the offline provider.
    pub script: Option<PathBuf>,
}

impl std::fmt::Debug for ProviderConfig {
    /// Without the address: gateways put credentials there.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderConfig")
            .field("id", &self.id)
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}

/// Why a configuration gives no provider. The words are fixed and carry no value.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("this build has no wire for the provider")]
    NotLinked,
    #[error("the provider needs a base URL")]
    BaseUrlMissing,
    #[error("the provider's base URL is not usable")]
    BaseUrlInvalid,
    #[error("the provider's key cannot be sent")]
    KeyInvalid,
    #[error("the HTTP client cannot be set up")]
    Client,
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// How long a wire waits for what, and how often it tries.
#[derive(Debug, Clone)]
pub struct Patience {
    /// For the connection, its encryption included.
    pub connect: Duration,
    /// From the request to the first event of the response. `None` is the wire's own: 60 s for
    /// `anthropic`, which answers at once, and 5 min for `openai-chat` and `ollama`, whose local
    /// servers load the model and read the whole prompt before they send a byte.
    pub first: Option<Duration>,
    /// Between two arrivals of bytes, once the response has begun.
    pub stall: Duration,
    /// For one whole response.
    pub whole: Duration,
    /// Attempts as long as no output has arrived, the first included.
    pub attempts: u32,
    /// After the first failed attempt; doubles with each further one, and up to half of it is
    /// added at random.
    pub backoff: Duration,
    /// Longest wait of our own choosing.
    pub backoff_most: Duration,
    /// Longest wait that a server's `Retry-After` may ask for; a longer one counts as this.
    pub retry_after_most: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first: None,
            stall: Duration::from_secs(60),
            whole: Duration::from_secs(60 * 60),
            attempts: 4,
            backoff: Duration::from_millis(500),
            backoff_most: Duration::from_secs(30),
            retry_after_most: Duration::from_secs(60),
        }
    }
}

/// Builds a provider. Connects nowhere. Blocks: a script and the system's certificates are read.
///
/// Errs with [`BuildError::NotLinked`] for an api that this build has no wire for:
/// `openai-responses`, `gemini`, and without the feature `wires` everything but `fixture`.
pub fn build(config: &ProviderConfig) -> Result<Arc<dyn Provider>, BuildError> {
    build_with(config, Patience::default())
}

/// [`build`] with other waits.
pub fn build_with(
    config: &ProviderConfig,
    patience: Patience,
) -> Result<Arc<dyn Provider>, BuildError> {
    match config.api {
        Api::Fixture => Ok(Arc::new(match &config.script {
            None => Fixture::demonstration(),
            Some(path) => Fixture::from_script(path)?,
        })),
        #[cfg(feature = "wires")]
        Api::Anthropic | Api::OpenaiChat | Api::Ollama => crate::wires::build(config, patience),
        _ => {
            let _ = patience;
            Err(BuildError::NotLinked)
        }
    }
}
