//! The settings layers, read only: global file, project file, environment; and their merged effect.
//! Acting on them happens elsewhere; writing stands in `writer`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file;
use crate::local::LocalHome;
use crate::reason::{Reason, SourceText, first};

mod approval;
mod check;
mod edit;
mod fault;
mod folder;
mod hooks;
mod layer;
mod merge;
mod model;
mod permissions;
mod project;
mod projects;
mod read;
mod rule_advice;
mod selection;
mod server;
mod source;
mod tree;
mod writer;

pub use approval::is_server_name;
pub(crate) use check::is_of_server;
pub(crate) use folder::Folder;
pub use hooks::{HookEvent, Hooks, MAX_HOOK_BYTES, MAX_HOOKS};
pub use layer::{Api, CommandEnvironment, Permission, SNIPPETS};
pub use model::{ModelSettings, Reasoning, ThinkingLevel};
pub use permissions::{CommandRules, MAX_RULE_BYTES, MAX_RULES};
pub use projects::Projects;
pub use rule_advice::{RuleAdvice, rule_advice};
pub use selection::{Accept, Change, Seen};
pub use server::{Launch, McpServer, ServerState};
pub use writer::{EditError, Refusal, Scope};

/// The settings file's name, in the home directory and under `<cwd>/.magi-code/`.
pub(crate) const FILE_NAME: &str = "settings.json";
/// The folder of a project's settings, skills and profiles.
pub const PROJECT_FOLDER: &str = ".magi-code";
/// The generated schema's name beside the global settings.
const SCHEMA_FILE_NAME: &str = "settings.schema.json";
/// JSON Schema of `settings.json`. A test holds it against the Rust types.
pub(crate) const SCHEMA: &str = include_str!("schema.json");

/// The form of settings files that this build reads and writes; their member `version` may name it.
pub(crate) const FORM: u32 = 1;
/// Longest settings file, in bytes.
pub const MAX_BYTES: u64 = 1024 * 1024;
/// Longest provider or model name, in UTF-8 bytes.
pub const MAX_NAME_BYTES: usize = 256;
/// Most `instructions` of one settings file.
pub const MAX_INSTRUCTIONS: usize = 32;

/// The provider and its model when nothing is configured: the offline one.
pub const DEFAULT_PROVIDER: &str = "fixture";
/// See [`DEFAULT_PROVIDER`].
pub const DEFAULT_MODEL: &str = "fixture-model";
/// Providers that need no entry of `providers`.
pub const BUILT_IN: [&str; 3] = ["fixture", "anthropic", "openai-codex"];
/// The built-in providers that authenticate with a key, and the variables that hold them.
pub const BUILT_IN_KEYS: [(&str, &str); 1] = [("anthropic", "ANTHROPIC_API_KEY")];
const DEFAULT_RETENTION_DAYS: u32 = 30;
const DEFAULT_COMPACTION_THRESHOLD: f64 = 0.8;

/// Why settings can't be used: `configuration_invalid`. Carries paths and words of the files: never for the wire.
#[derive(Debug, thiserror::Error)]
#[error("{}", first(.reasons))]
pub struct SettingsError {
    reasons: Vec<Reason>,
    /// The project's file, where it is read.
    project: Option<PathBuf>,
    usable: Box<Settings>,
}

impl SettingsError {
    /// The effect of what could be read, for a look at what else is wrong; never to work with.
    #[must_use]
    pub fn usable(&self) -> &Settings {
        &self.usable
    }

    /// Every problem that was found, in the order of the files; at least one.
    #[must_use]
    pub fn into_reasons(self) -> Vec<Reason> {
        self.reasons
    }

    /// The same without those of the project's file, for what is no matter of a project.
    #[must_use]
    pub fn into_reasons_of_person(mut self) -> Vec<Reason> {
        let project = self.project.as_deref();
        self.reasons
            .retain(|reason| project.is_none() || reason.file.as_deref() != project);
        self.reasons
    }
}

/// Where the settings of a person are kept, beside which those of each project lie in its own files. Every call blocks.
pub trait SettingsStore: Debug + Send + Sync {
    /// The effect of all layers: the person's settings, those of the project in `cwd`, the environment. `tools` are the
    /// names that `permissions` may hold; without any, all do.
    ///
    /// What does not count of the project's file is no error but one of [`Settings::notices`].
    ///
    /// # Errors
    /// When settings can't be read, are longer than [`MAX_BYTES`], are no JSON object, or hold what has another type or
    /// is out of its bounds; then everything that is wrong is told at once.
    fn load(
        &self,
        cwd: &Path,
        env: Overrides<'_>,
        tools: &[&str],
    ) -> Result<Settings, SettingsError>;

    /// Says in the person's settings whether the files of a project in `directory`, which is canonical, are trusted.
    /// Returns whether that was not what held there before.
    ///
    /// # Errors
    /// When the settings as they are can't be used, or can't be written; then nothing is changed.
    fn set_trusted(&self, directory: &Path, trusted: bool) -> Result<bool, EditError>;

    /// Says in the person's settings which definition of an MCP server may be started, by its digest; without one, none.
    /// Returns whether that was not what they said before.
    ///
    /// # Errors
    /// When the settings as they are can't be used, or can't be written; then nothing is changed.
    fn approve_server(&self, name: &str, digest: Option<&str>) -> Result<bool, EditError>;

    /// Says in the person's settings that command lines which `rule` covers run without a question in `directory`, which is
    /// canonical. Returns whether they did not say so before.
    ///
    /// # Errors
    /// As [`Self::set_trusted`].
    fn allow_command(&self, directory: &Path, rule: &str) -> Result<bool, EditError>;

    /// Changes what is selected, in the person's settings or in those of the project in `cwd`, which is canonical. `accept` is
    /// asked with the effect that all layers will have, before anything is written and while nobody else who knows the lock
    /// writes; again when somebody without it did. Returns that effect.
    ///
    /// # Errors
    /// As [`Self::set_trusted`]; a project's file that would not be read is not written either: [`EditError::NoProject`].
    /// [`EditError::Effect`] when
    /// another layer can't be read, [`EditError::Refused`] with what `accept` said.
    fn change(
        &self,
        cwd: &Path,
        scope: Scope,
        change: &Change,
        seen: Seen<'_>,
        accept: &mut Accept<'_>,
    ) -> Result<Settings, EditError>;

    /// Whether a project in `cwd`, which is canonical, can have settings of its own: what [`Self::change`] writes to. Blocks.
    fn has_project(&self, cwd: &Path) -> bool;
}

impl SettingsStore for LocalHome {
    fn load(
        &self,
        cwd: &Path,
        env: Overrides<'_>,
        tools: &[&str],
    ) -> Result<Settings, SettingsError> {
        Settings::load(self.root(), cwd, env, tools)
    }

    fn set_trusted(&self, directory: &Path, trusted: bool) -> Result<bool, EditError> {
        writer::set_trusted(self, directory, trusted)
    }

    fn approve_server(&self, name: &str, digest: Option<&str>) -> Result<bool, EditError> {
        writer::approve_server(self, name, digest)
    }

    fn allow_command(&self, directory: &Path, rule: &str) -> Result<bool, EditError> {
        writer::allow_command(self, directory, rule)
    }

    fn change(
        &self,
        cwd: &Path,
        scope: Scope,
        change: &Change,
        seen: Seen<'_>,
        accept: &mut Accept<'_>,
    ) -> Result<Settings, EditError> {
        selection::change(self, cwd, scope, change, seen, accept)
    }

    fn has_project(&self, cwd: &Path) -> bool {
        writer::has_project(self, cwd)
    }
}

/// Writes the schema beside the settings unless it stands there.
pub(crate) fn write_schema(home: &LocalHome) -> io::Result<()> {
    let path = home.root().join(SCHEMA_FILE_NAME);
    let schema = SCHEMA.as_bytes();
    match file::read(&path, schema.len() as u64) {
        Ok(Some(bytes)) if bytes == schema => Ok(()),
        _ => file::replace(&path, schema, 0o600, home.staging()),
    }
}

/// The effect of all layers at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Id of the selected provider, at most [`MAX_NAME_BYTES`].
    pub provider: String,
    /// The selected model, at most [`MAX_NAME_BYTES`]; `None` when a provider other than the
    /// offline one is selected without a model.
    pub model: Option<String>,
    pub thinking_level: ThinkingLevel,
    /// Fast mode; of the global file only.
    pub fast: bool,
    /// `providers.<id>`.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// `permissions.<tool>`; a tool without an entry follows its own default.
    /// Rules for `bash` stand in [`Self::bash`]; its word here is only for who looks at no rules.
    pub permissions: BTreeMap<String, Permission>,
    /// `permissions.bash`: what command lines may run.
    pub bash: CommandRules,
    /// `permissions.code`: what tools may do when a snippet calls them, in place of [`Self::permissions`].
    pub code: BTreeMap<String, Permission>,
    /// What commands of tools and hooks find in their environment; of the global file only.
    pub command_environment: CommandEnvironment,
    /// Whether the project's files may configure more than what makes things stricter.
    pub trusted: bool,
    /// What the global file says of each directory's trust.
    pub projects: Projects,
    /// Of the global file only: a repository that was only checked out must not run commands.
    pub hooks: Hooks,
    /// MCP servers by name, whether they may be started or not.
    pub mcp_servers: Vec<McpServer>,
    /// Share of the context window that triggers automatic compaction, above 0 and at most 1.
    pub compaction_threshold: f64,
    /// Additional instruction files: the global file's, then the project's.
    pub instructions: Vec<InstructionFile>,
    /// Days that sessions are kept; 0 keeps them for good.
    pub retention_days: u32,
    /// What of the files is ignored, and why.
    pub notices: Vec<Reason>,
    origins: BTreeMap<Vec<String>, Origin>,
}

/// One of `instructions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Absolute.
    pub path: PathBuf,
    /// Whether the project's settings name it, and not the person's.
    pub of_project: bool,
    /// Where it is named, for what is said of it.
    pub named: Reason,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    File(Arc<SourceText>, usize),
    /// A variable or another file, as the reason says.
    Elsewhere(Reason),
}

/// `providers.<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderSettings {
    pub api: Option<Api>,
    pub base_url: Option<String>,
    /// Who gives tokens to those who log in; of the global file only.
    pub issuer_url: Option<String>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// Models to offer without discovery.
    pub models: Vec<ModelSettings>,
    /// Most tokens of one response, of models that say nothing of their own.
    pub max_output_tokens: Option<u64>,
    /// Tokens that a conversation may have, with models that say nothing of their own.
    pub context_window: Option<u64>,
    /// What the server wants back of its models' reasoning; `None` leaves it to the wire.
    pub reasoning: Option<Reasoning>,
    /// Script of the offline provider, absolute.
    pub script: Option<PathBuf>,
    /// The project's settings say where it is or what it speaks: no key may be sent there.
    pub placed_by_project: bool,
}

/// The environment's layer, which beats both files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides<'a> {
    /// `MC_PROVIDER`; empty counts as absent.
    pub provider: Option<&'a str>,
    /// `MC_MODEL`; empty counts as absent.
    pub model: Option<&'a str>,
}

impl Settings {
    /// A reason about the member under `path`: it stands where that member, or the nearest one above it, was
    /// said last.
    #[must_use]
    pub fn reason(&self, path: &[&str], reason: impl Into<String>) -> Reason {
        let names: Vec<_> = path.iter().map(|&name| name.to_owned()).collect();
        let mut said = (1..=names.len())
            .rev()
            .filter_map(|end| self.origins.get(&names[..end]));
        let reason = match said.next() {
            Some(Origin::File(text, at)) => text.reason(*at, reason),
            Some(Origin::Elsewhere(named)) => Reason {
                reason: reason.into(),
                ..named.clone()
            },
            None => Reason::new(reason),
        };
        Reason {
            key: Some(path.join(".")),
            ..reason
        }
    }

    /// Takes another model than the files select; `named` is where it stands.
    pub fn choose_model(&mut self, model: &str, named: &Reason) {
        self.model = Some(model.to_owned());
        self.origins
            .insert(vec!["model".to_owned()], Origin::Elsewhere(named.clone()));
    }

    /// Whether `provider` has that model, as far as these settings know: a list of models is the whole of a
    /// provider of one's own.
    #[must_use]
    pub fn offers(&self, provider: &str, model: &str) -> bool {
        let known = self.providers.get(provider);
        let listed = known.is_some_and(|known| known.model(model).is_some());
        match provider {
            DEFAULT_PROVIDER => listed || model == DEFAULT_MODEL,
            _ if BUILT_IN.contains(&provider) => true,
            _ => listed || known.is_none_or(|known| known.models.is_empty()),
        }
    }

    /// Every environment variable that holds a key of a model: those of the built-in providers and each
    /// that an `api_key_env` of the global file names. Sorted, each once.
    #[must_use]
    pub fn key_variables(&self) -> Vec<&str> {
        let named = self.providers.values();
        let named = named.filter_map(|provider| provider.api_key_env.as_deref());
        let all = BUILT_IN_KEYS.iter().map(|(_, key)| *key).chain(named);
        Vec::from_iter(all.collect::<BTreeSet<_>>())
    }
}

impl ProviderSettings {
    /// What is said of one model; `None` if it is not among [`Self::models`].
    pub fn model(&self, id: &str) -> Option<&ModelSettings> {
        self.models.iter().find(|model| model.id == id)
    }
}

#[cfg(test)]
mod tests;
