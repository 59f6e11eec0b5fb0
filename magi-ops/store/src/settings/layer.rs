//! One settings file as Rust types: the keys that are understood, each optional. Unknown keys are tolerated.
//! Merging and defaults stand beside it; the schema file must match these types.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What `settings.json` may hold.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
#[cfg_attr(test, schemars(title = "magi-code settings"))]
pub(super) struct Layer {
    /// Id of the provider; `fixture`, the offline one, when nothing is configured.
    pub(super) provider: Option<String>,
    /// The provider's model.
    pub(super) model: Option<String>,
    /// How much the model thinks before it answers.
    pub(super) thinking_level: Option<ThinkingLevel>,
    /// Providers by id.
    pub(super) providers: BTreeMap<String, ProviderLayer>,
    /// What each tool may do, by the tool's name.
    pub(super) permissions: BTreeMap<String, Permission>,
    /// Days that sessions are kept; 0 keeps them for good. Default 30.
    pub(super) retention_days: Option<u32>,
}

/// One provider.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(super) struct ProviderLayer {
    /// The wire of a custom provider.
    pub(super) api: Option<Api>,
    /// The endpoint.
    pub(super) base_url: Option<String>,
    /// The environment variable that holds the key; null means no authentication.
    pub(super) api_key_env: Option<String>,
    /// Models to offer without discovery.
    pub(super) models: Option<Vec<String>>,
    /// Script of the offline provider `fixture`.
    pub(super) script: Option<PathBuf>,
}

/// The wire that a custom provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    Anthropic,
    OpenaiResponses,
    OpenaiChat,
    Ollama,
    Fixture,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ThinkingLevel {
    #[default]
    Default,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

/// What a tool may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Runs without a question.
    Allow,
    /// A person is asked each time.
    Ask,
    /// Never runs.
    Deny,
}
