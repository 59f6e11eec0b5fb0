//! What a provider's server says of its models, whatever its wire. Ids and names are the server's words: who shows them
//! looks at them first. How a server is asked stands in `wires`.

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use store::settings::{ModelSettings, ThinkingLevel};

use crate::credential::CredentialSource;
use crate::error::ProviderError;

/// Most models of one server that are taken.
pub const MAX_DISCOVERED: usize = 20_000;

/// What a server answered when it was asked for its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Discovered {
    /// They are those that it named with the tag which it was shown.
    Unchanged,
    /// In its order, at most [`MAX_DISCOVERED`].
    Models {
        models: Vec<DiscoveredModel>,
        /// What names this list, if the server has one.
        etag: Option<String>,
    },
}

/// A provider's server, to be asked for its models.
pub trait Discover: Send + Sync {
    /// Asks once, within 30 s and 16 MiB. `etag` is what the server named the list that is known. Dropping the future ends it.
    ///
    /// # Errors
    /// Without a credential where one is needed, without an answer, and for one that is no list of models.
    fn ask<'a>(
        &'a self,
        credentials: &'a dyn CredentialSource,
        etag: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Discovered, ProviderError>>;
}

/// What a server said of one model. Absent is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiscoveredModel {
    /// As requests name it.
    pub id: String,
    /// As people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Tokens that a conversation may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Most tokens of one response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The levels that the model has, beside the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_levels: Option<Vec<ThinkingLevel>>,
    /// Whether it takes images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// There, and not to be selected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

impl DiscoveredModel {
    /// The same in the form in which settings say it, for `ModelLimits::discovered`.
    #[must_use]
    pub fn settings(&self) -> ModelSettings {
        ModelSettings {
            id: self.id.clone(),
            // Zero says nothing.
            max_output_tokens: self.max_output_tokens.filter(|tokens| *tokens > 0),
            context_window: self.context_window.filter(|tokens| *tokens > 0),
            thinking_levels: self.thinking_levels.clone(),
            images: self.images,
            reasoning: None,
        }
    }
}
