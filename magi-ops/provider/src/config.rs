//! What a provider is built from: its configuration, its patience, and why one can't be built.
//! Reads no settings file and no environment; building is `registry`'s.

use std::time::Duration;

pub use store::settings::{Api, ModelSettings, Reasoning};

use crate::message::ThinkingLevel;

/// What a provider is built from. Its credential comes beside it, from a
/// [`crate::CredentialSource`].
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// As `settings.json` names it.
    pub id: String,
    pub api: Api,
    /// `http` or `https`, without user name, password and fragment. `None` is the wire's own, for
    /// `ollama` `http://127.0.0.1:11434`; `openai-chat` and `openai-responses` have none.
    pub base_url: Option<String>,
    /// What is known of models.
    pub models: ModelLimits,
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

/// What is known of a provider's models beside their names: by the settings, what one says for itself, else what holds for
/// all; and by its server, where the settings say nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelLimits {
    /// Most tokens of one response.
    pub max_output_tokens: Option<u64>,
    /// Tokens that a conversation may have.
    pub context_window: Option<u64>,
    /// What the server wants back of reasoning.
    pub reasoning: Option<Reasoning>,
    pub models: Vec<ModelSettings>,
    /// What the provider's server said of models, as far as that still holds. Those that are asked are enough.
    pub discovered: Vec<ModelSettings>,
}

impl ModelLimits {
    fn model(&self, id: &str) -> Option<&ModelSettings> {
        self.models.iter().find(|model| model.id == id)
    }

    fn discovered(&self, id: &str) -> Option<&ModelSettings> {
        self.discovered.iter().find(|model| model.id == id)
    }

    /// Most tokens of one response of `model`, if the settings say.
    pub fn max_output_tokens(&self, model: &str) -> Option<u64> {
        let own = self.model(model).and_then(|own| own.max_output_tokens);
        own.or(self.max_output_tokens)
    }

    /// Most tokens of one response of `model`, if its server says: what it could give at most, beside an empty prompt, so
    /// nothing to ask for where nobody has to.
    pub(crate) fn discovered_output(&self, model: &str) -> Option<u64> {
        self.discovered(model)?.max_output_tokens
    }

    /// Tokens that a conversation with `model` may have, if the settings or its server say.
    pub fn context_window(&self, model: &str) -> Option<u64> {
        let own = self.model(model).and_then(|own| own.context_window);
        let own = own.or(self.context_window);
        own.or_else(|| self.discovered(model)?.context_window)
    }

    /// What the server wants back of the reasoning of `model`, if the settings say.
    pub fn reasoning(&self, model: &str) -> Option<Reasoning> {
        let own = self.model(model).and_then(|own| own.reasoning);
        own.or(self.reasoning)
    }

    /// Whether `model` takes images, if the settings or its server say.
    pub fn images(&self, model: &str) -> Option<bool> {
        let own = self.model(model).and_then(|own| own.images);
        own.or_else(|| self.discovered(model)?.images)
    }

    /// The levels that the settings, else its server, give `model`; `None` if neither gives any.
    pub(crate) fn levels(&self, model: &str) -> Option<&[ThinkingLevel]> {
        let own = |own: &'_ ModelSettings| own.thinking_levels.is_some();
        let said = self.model(model).filter(|model| own(model));
        let said = said.or_else(|| self.discovered(model).filter(|model| own(model)));
        said?.thinking_levels.as_deref()
    }
}

/// Why a configuration gives no provider. The words are fixed and carry no value.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("this build has no wire for the provider")]
    NotLinked,
    #[error("the provider needs a base URL")]
    BaseUrlMissing,
    /// Not `http` or `https`, or with a user name, a password or a fragment.
    #[error("the provider's base URL is not usable")]
    BaseUrlInvalid,
    /// Such as `/v1/messages` with `openai-chat`. The `api` that speaks there.
    #[error("the provider's base URL is an endpoint of the api `{0}`")]
    BaseUrlOfOtherApi(&'static str),
    /// As a base URL is.
    #[error("the URL of the provider's issuer is not usable")]
    IssuerUrlInvalid,
    #[error("the HTTP client cannot be set up")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// How long a wire waits for what, and how often it tries.
#[derive(Debug, Clone)]
pub struct Patience {
    /// For the connection, its encryption included.
    pub connect: Duration,
    /// From the request to the first event of the response, and for the replacement of a refused credential. `None` is the wire's own: 60 s for
    /// `anthropic`, which answers at once, and 5 min for `openai-chat` and `ollama`, whose local
    /// servers load the model and read the whole prompt before they send a byte.
    pub first: Option<Duration>,
    /// Between two arrivals of bytes, once the response has begun.
    pub stall: Duration,
    /// Behind the reason to finish, for token counts and the end marker.
    pub leave: Duration,
    /// For one whole response.
    pub whole: Duration,
    /// Attempts as long as no output has arrived, the first included; those that taught something of the server, or
    /// replaced the credential, don't count.
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
            leave: Duration::from_millis(500),
            whole: Duration::from_secs(60 * 60),
            attempts: 4,
            backoff: Duration::from_millis(500),
            backoff_most: Duration::from_secs(30),
            retry_after_most: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_s_own_word_beats_the_provider_s() {
        let limits = ModelLimits {
            max_output_tokens: Some(10),
            reasoning: Some(Reasoning::None),
            models: vec![
                ModelSettings {
                    max_output_tokens: Some(7),
                    context_window: Some(9),
                    thinking_levels: Some(vec![ThinkingLevel::Low, ThinkingLevel::XHigh]),
                    ..ModelSettings::from("a")
                },
                ModelSettings {
                    thinking_levels: Some(vec![]),
                    ..ModelSettings::from("b")
                },
            ],
            ..ModelLimits::default()
        };
        assert_eq!(limits.max_output_tokens("a"), Some(7));
        assert_eq!(limits.max_output_tokens("c"), Some(10));
        assert_eq!(limits.context_window("a"), Some(9));
        assert_eq!(limits.context_window("b"), None);
        assert_eq!(limits.reasoning("a"), Some(Reasoning::None));
        use ThinkingLevel::{Low, XHigh};
        assert_eq!(limits.levels("a"), Some(&[Low, XHigh][..]));
        assert_eq!(limits.levels("b"), Some(&[][..]));
        assert_eq!(limits.levels("c"), None);
    }

    #[test]
    fn what_a_server_says_counts_where_the_settings_say_nothing() {
        let of_server = |id: &str| ModelSettings {
            max_output_tokens: Some(20),
            context_window: Some(30),
            images: Some(true),
            thinking_levels: Some(vec![ThinkingLevel::High]),
            ..ModelSettings::from(id)
        };
        let limits = ModelLimits {
            models: vec![ModelSettings {
                context_window: Some(9),
                images: Some(false),
                thinking_levels: Some(vec![]),
                ..ModelSettings::from("a")
            }],
            discovered: vec![of_server("a"), of_server("b")],
            ..ModelLimits::default()
        };
        assert_eq!(limits.context_window("a"), Some(9));
        assert_eq!(limits.max_output_tokens("a"), None);
        assert_eq!(limits.discovered_output("a"), Some(20));
        assert_eq!(limits.images("a"), Some(false));
        assert_eq!(limits.levels("a"), Some(&[][..]));
        assert_eq!(limits.context_window("b"), Some(30));
        assert_eq!(limits.images("b"), Some(true));
        assert_eq!(limits.levels("b"), Some(&[ThinkingLevel::High][..]));
        let for_all = ModelLimits {
            context_window: Some(7),
            ..limits
        };
        assert_eq!(for_all.context_window("b"), Some(7));
    }
}
