//! One settings file as Rust types: the keys that are understood, each optional. Unknown keys are tolerated.
//! Merging and defaults stand beside it; the schema file must match these types.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;

use serde::de::{Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::hooks::Hooks;
use super::model::{ModelSettings, Reasoning};
use crate::Object;

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
    /// Fast mode. Global settings only.
    pub(super) fast: Option<bool>,
    /// Providers by id.
    #[serde(deserialize_with = "objects")]
    pub(super) providers: BTreeMap<String, ProviderLayer>,
    /// What each tool may do, by the tool's name.
    pub(super) permissions: Permissions,
    /// What holds for a directory and all below it, by its canonical path. Global settings only.
    #[serde(deserialize_with = "objects")]
    pub(super) projects: BTreeMap<String, ProjectLayer>,
    /// How tools run. Global settings only.
    #[serde(deserialize_with = "object")]
    pub(super) tools: ToolsLayer,
    /// MCP servers by name.
    #[cfg_attr(
        test,
        schemars(with = "BTreeMap<String, serde_json::Map<String, serde_json::Value>>")
    )]
    #[serde(rename = "mcp_servers")]
    _mcp_servers: BTreeMap<String, Others>,
    /// Commands to run at certain moments, by event. Global settings only.
    #[cfg_attr(test, schemars(transform = super::hooks::name_the_events))]
    pub(super) hooks: Hooks,
    /// Summarizing of long sessions.
    #[serde(deserialize_with = "object")]
    pub(super) compaction: CompactionLayer,
    /// Additional Markdown files with instructions, beside every `AGENTS.md`.
    pub(super) instructions: Vec<PathBuf>,
    /// Days that sessions are kept; 0 keeps them for good. Default 30.
    pub(super) retention_days: Option<u32>,
    #[cfg_attr(test, schemars(skip))]
    #[serde(flatten)]
    _others: Others,
}

/// Keys of other parts. To name them also refuses an array where an object belongs: a plain
/// struct would take one by position.
type Others = BTreeMap<String, IgnoredAny>;

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
    pub(super) models: Option<Vec<ModelSettings>>,
    /// Most tokens of one response, of models that say nothing of their own.
    pub(super) max_output_tokens: Option<NonZeroU64>,
    /// Tokens that a conversation may have, with models that say nothing of their own.
    pub(super) context_window: Option<NonZeroU64>,
    /// What the server wants back of its models' reasoning.
    pub(super) reasoning: Option<Reasoning>,
    /// Script of the offline provider `fixture`.
    pub(super) script: Option<PathBuf>,
    #[cfg_attr(test, schemars(skip))]
    #[serde(flatten)]
    _others: Others,
}

/// `permissions`, of a file or of one of its `projects`.
pub(super) type Permissions = BTreeMap<String, PermissionLayer>;

/// One of `permissions`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(super) enum PermissionLayer {
    Word(Permission),
    Rules(RulesLayer),
    /// `permissions.code`: words for the tools that a snippet calls.
    Tools(BTreeMap<String, Permission>),
}

/// Rules for command lines: each is the leading words of a simple command.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(super) struct RulesLayer {
    /// What holds where no rule does; `ask` when nothing says.
    pub(super) default: Option<Permission>,
    /// Commands that run without a question.
    pub(super) allow: Vec<String>,
    /// Commands that never run.
    pub(super) deny: Vec<String>,
}

/// One of `projects`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(super) struct ProjectLayer {
    /// Whether the files of the project may configure more than the words below. Default false.
    pub(super) trusted: Option<bool>,
    /// As above, for this project.
    pub(super) permissions: Permissions,
    #[cfg_attr(test, schemars(skip))]
    #[serde(flatten)]
    _others: Others,
}

/// `tools`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(super) struct ToolsLayer {
    /// The environment of commands: without the keys of models, or all of it.
    pub(super) environment: Option<CommandEnvironment>,
    #[cfg_attr(test, schemars(skip))]
    #[serde(flatten)]
    _others: Others,
}

/// What commands of tools and hooks find in their environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CommandEnvironment {
    /// Everything but the variables that hold keys of models.
    #[default]
    WithoutKeys,
    /// Everything.
    All,
}

/// `compaction`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(super) struct CompactionLayer {
    /// Share of the model's context window, above 0 and at most 1, from which a session is
    /// summarized by itself. Default 0.8.
    #[cfg_attr(test, schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
    pub(super) threshold: Option<f64>,
    #[cfg_attr(test, schemars(skip))]
    #[serde(flatten)]
    _others: Others,
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
    Gemini,
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

/// What a tool may do; what is stricter is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Never runs.
    Deny,
    /// A person is asked each time.
    Ask,
    /// Runs without a question.
    Allow,
}

/// A whole settings file.
pub(super) fn whole<'de, D: Deserializer<'de>>(source: D) -> Result<Layer, D::Error> {
    Object::deserialize(source).map(|object| object.0)
}

fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(source: D) -> Result<T, D::Error> {
    Object::deserialize(source).map(|object| object.0)
}

fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    source: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let entries = BTreeMap::<String, Object<T>>::deserialize(source)?;
    Ok(entries
        .into_iter()
        .map(|(id, entry)| (id, entry.0))
        .collect())
}
