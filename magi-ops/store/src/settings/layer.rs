//! One settings file as Rust types: the members that are understood, each optional. A new one is a field here.
//! Merging and defaults stand beside it; the schema file must match these types.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::hooks::Hooks;
use super::model::{ModelSettings, Reasoning, ThinkingLevel, above_zero};
use super::server::Servers;

/// The tool whose calls are command lines: its permission may be a set of rules.
pub(super) const COMMANDS: &str = "bash";
/// The tool whose snippets call other tools: its permission may be words for those.
pub const SNIPPETS: &str = "code";

/// What `settings.json` may hold.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
#[cfg_attr(test, schemars(title = "magi-code settings"))]
pub(super) struct Layer {
    /// The form of the file, 1 unless it says so; there has been no other.
    #[cfg_attr(test, schemars(extend("minimum" = 1, "maximum" = 1)))]
    pub(super) version: Option<u32>,
    /// Id of the provider; `fixture`, the offline one, when nothing is configured.
    pub(super) provider: Option<String>,
    /// The provider's model.
    pub(super) model: Option<String>,
    /// How much the model thinks before it answers.
    pub(super) thinking_level: Option<ThinkingLevel>,
    /// Fast mode. Global settings only.
    pub(super) fast: Option<bool>,
    /// Providers by id.
    pub(super) providers: BTreeMap<String, ProviderLayer>,
    /// What each tool may do, by the tool's name.
    pub(super) permissions: Permissions,
    /// What holds for a directory and all below it, by its canonical path. Global settings only.
    pub(super) projects: BTreeMap<String, ProjectLayer>,
    /// How tools run. Global settings only.
    pub(super) tools: ToolsLayer,
    /// MCP servers by name.
    pub(super) mcp_servers: Servers,
    /// Commands to run at certain moments, by event. Global settings only.
    #[cfg_attr(test, schemars(transform = super::hooks::name_the_events))]
    pub(super) hooks: Hooks,
    /// Summarizing of long sessions.
    pub(super) compaction: CompactionLayer,
    /// Additional Markdown files with instructions, beside every `AGENTS.md`.
    pub(super) instructions: Vec<PathBuf>,
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
    /// The OAuth issuer of `openai-codex`. Global settings only.
    pub(super) issuer_url: Option<String>,
    /// The environment variable that holds the key; null means no authentication.
    pub(super) api_key_env: Option<String>,
    /// Models to offer without discovery.
    #[cfg_attr(test, schemars(with = "Option<Vec<super::model::Model>>"))]
    pub(super) models: Option<Vec<ModelSettings>>,
    /// Most tokens of one response, of models that say nothing of their own.
    #[serde(deserialize_with = "above_zero")]
    #[cfg_attr(test, schemars(with = "Option<std::num::NonZeroU64>"))]
    pub(super) max_output_tokens: Option<u64>,
    /// Tokens that a conversation may have, with models that say nothing of their own.
    #[serde(deserialize_with = "above_zero")]
    #[cfg_attr(test, schemars(with = "Option<std::num::NonZeroU64>"))]
    pub(super) context_window: Option<u64>,
    /// What the server wants back of its models' reasoning.
    pub(super) reasoning: Option<Reasoning>,
    /// Script of the offline provider `fixture`.
    pub(super) script: Option<PathBuf>,
}

/// `permissions`, of a file or of one of its `projects`.
#[derive(Debug, Default)]
pub(super) struct Permissions(pub(super) BTreeMap<String, PermissionLayer>);

/// One of `permissions`.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(untagged))]
pub(super) enum PermissionLayer {
    Word(Permission),
    /// `permissions.bash`.
    Rules(RulesLayer),
    /// `permissions.code`: words for the tools that a snippet calls.
    Tools(BTreeMap<String, Permission>),
}

// By hand, because an untagged enum forgets where in the file it went wrong.
impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct ByTool;
        impl<'de> Visitor<'de> for ByTool {
            type Value = Permissions;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Permissions, A::Error> {
                let mut all = BTreeMap::new();
                while let Some(tool) = members.next_key::<String>()? {
                    let permission = match tool.as_str() {
                        COMMANDS => members.next_value_seed(WordOr(PermissionLayer::Rules))?,
                        SNIPPETS => members.next_value_seed(WordOr(PermissionLayer::Tools))?,
                        _ => PermissionLayer::Word(members.next_value()?),
                    };
                    all.insert(tool, permission);
                }
                Ok(Permissions(all))
            }
        }
        source.deserialize_map(ByTool)
    }
}

/// A word, or an object that says more.
struct WordOr<T>(fn(T) -> PermissionLayer);

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for WordOr<T> {
    type Value = PermissionLayer;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<PermissionLayer, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for WordOr<T> {
    type Value = PermissionLayer;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a word or an object")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<PermissionLayer, E> {
        let word: StrDeserializer<'_, E> = word.into_deserializer();
        Permission::deserialize(word).map(PermissionLayer::Word)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<PermissionLayer, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(self.0)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Permissions {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Permissions".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BTreeMap::<String, PermissionLayer>::json_schema(generator)
    }
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
}

/// `tools`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(super) struct ToolsLayer {
    /// The environment of commands: without the keys of models, or all of it.
    pub(super) environment: Option<CommandEnvironment>,
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

/// What a tool may do; what is stricter is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Never runs.
    Deny,
    /// A person is asked each time.
    #[default]
    Ask,
    /// Runs without a question.
    Allow,
}
