//! The settings layers, read only: global file, project file, environment; and their merged effect.
//! Writing settings and acting on them happen elsewhere.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::file::{self, Bounded, Links};

mod hooks;
mod layer;
mod model;
mod permissions;

pub use hooks::{HookEvent, Hooks, MAX_HOOK_BYTES, MAX_HOOKS};
pub use layer::{Api, CommandEnvironment, Permission, ThinkingLevel};
use layer::{Layer, ProjectLayer, ProviderLayer};
pub use model::{ModelSettings, Reasoning};
pub use permissions::CommandRules;

/// The settings file's name, in the home directory and under `<cwd>/.magi-code/`.
pub const FILE_NAME: &str = "settings.json";
/// The generated schema's name beside the global settings.
pub const SCHEMA_FILE_NAME: &str = "settings.schema.json";
/// JSON Schema of `settings.json`. A test holds it against the Rust types.
pub const SCHEMA: &str = include_str!("schema.json");

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
/// The built-in providers that authenticate with a key, and the variables that hold them.
pub const BUILT_IN_KEYS: [(&str, &str); 1] = [("anthropic", "ANTHROPIC_API_KEY")];
const DEFAULT_RETENTION_DAYS: u32 = 30;
const DEFAULT_COMPACTION_THRESHOLD: f64 = 0.8;

/// Why settings can't be used: `configuration_invalid`. Carries paths and keys, but no values:
/// never for the wire.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("cannot read {path}: {source}")]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{path} is longer than {MAX_BYTES} bytes")]
    TooLong { path: PathBuf },
    #[error("{path}, line {line}, column {column}: not valid settings")]
    Invalid {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    #[error("the {0} name is empty or longer than {MAX_NAME_BYTES} bytes")]
    Name(&'static str),
    #[error("{path}: the value of {key} is out of its bounds")]
    Value { path: PathBuf, key: &'static str },
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
    /// Of the global file only: a repository that was only checked out must not run commands.
    pub hooks: Hooks,
    /// Share of the context window that triggers automatic compaction, above 0 and at most 1.
    pub compaction_threshold: f64,
    /// Additional instruction files, absolute: the global file's, then the project's.
    pub instructions: Vec<PathBuf>,
    /// Days that sessions are kept; 0 keeps them for good.
    pub retention_days: u32,
}

/// `providers.<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderSettings {
    pub api: Option<Api>,
    pub base_url: Option<String>,
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
    /// Reads the layers: `<home>/settings.json`, `<cwd>/.magi-code/settings.json`, environment.
    /// A missing file is an empty layer. Relative paths in the global file start at `home`, in
    /// the project's file at `cwd`.
    pub fn load(home: &Path, cwd: &Path, env: Overrides<'_>) -> Result<Self, SettingsError> {
        let mut settings = Self {
            provider: String::new(),
            model: None,
            thinking_level: ThinkingLevel::Default,
            providers: BTreeMap::new(),
            fast: false,
            permissions: BTreeMap::new(),
            bash: CommandRules::default(),
            code: BTreeMap::new(),
            command_environment: CommandEnvironment::default(),
            trusted: false,
            hooks: Hooks::new(),
            compaction_threshold: DEFAULT_COMPACTION_THRESHOLD,
            instructions: Vec::new(),
            retention_days: DEFAULT_RETENTION_DAYS,
        };
        let mut global = read(&home.join(FILE_NAME))?;
        settings.fast = global.fast.unwrap_or_default();
        settings.hooks = std::mem::take(&mut global.hooks);
        settings.command_environment = global.tools.environment.unwrap_or_default();
        let mut permissions = permissions::Merged::default();
        permissions.person(std::mem::take(&mut global.permissions));
        if let Some(own) = nearest(std::mem::take(&mut global.projects), cwd) {
            settings.trusted = own.trusted.unwrap_or_default();
            permissions.person(own.permissions);
        }
        settings.apply(global, home);
        let mut project = read(&cwd.join(".magi-code").join(FILE_NAME))?;
        permissions.project(std::mem::take(&mut project.permissions), settings.trusted);
        (settings.bash, settings.permissions) = permissions.rules_and_words();
        settings.code = permissions.code;
        let moved = keep_keys_at_home(&mut project);
        settings.apply(project, cwd);
        for id in moved {
            settings.providers.entry(id).or_default().placed_by_project = true;
        }
        let given = |value: Option<&str>| value.filter(|v| !v.is_empty()).map(str::to_owned);
        settings.select(given(env.provider), given(env.model));

        if settings.provider.is_empty() {
            DEFAULT_PROVIDER.clone_into(&mut settings.provider);
        }
        if settings.model.is_none() && settings.provider == DEFAULT_PROVIDER {
            settings.model = Some(DEFAULT_MODEL.to_owned());
        }
        if settings.provider.len() > MAX_NAME_BYTES {
            return Err(SettingsError::Name("provider"));
        }
        if let Some(model) = &settings.model
            && (model.is_empty() || model.len() > MAX_NAME_BYTES)
        {
            return Err(SettingsError::Name("model"));
        }
        Ok(settings)
    }

    /// Every environment variable that holds a key of a model: those of the built-in providers and each
    /// that an `api_key_env` of the global file names. Sorted, each once.
    #[must_use]
    pub fn key_variables(&self) -> Vec<&str> {
        let named = self.providers.values();
        let named = named.filter_map(|provider| provider.api_key_env.as_deref());
        let mut all: Vec<_> = BUILT_IN_KEYS
            .iter()
            .map(|(_, key)| *key)
            .chain(named)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// A layer that changes the provider without naming a model doesn't inherit the model of
    /// the layer below: that one belongs to another provider.
    fn select(&mut self, provider: Option<String>, model: Option<String>) {
        let current = match self.provider.as_str() {
            "" => DEFAULT_PROVIDER,
            named => named,
        };
        if let Some(provider) = provider
            && provider != current
        {
            self.provider = provider;
            self.model = None;
        }
        if model.is_some() {
            self.model = model;
        }
    }

    fn apply(&mut self, layer: Layer, base: &Path) {
        self.select(layer.provider, layer.model);
        if let Some(level) = layer.thinking_level {
            self.thinking_level = level;
        }
        if let Some(days) = layer.retention_days {
            self.retention_days = days;
        }
        if let Some(threshold) = layer.compaction.threshold {
            self.compaction_threshold = threshold;
        }
        // A person's own instructions hold in every project, as their AGENTS.md does.
        let absolute = |path| base.join(path);
        self.instructions
            .extend(layer.instructions.into_iter().map(absolute));
        for (id, over) in layer.providers {
            self.providers.entry(id).or_default().apply(over, base);
        }
    }
}

impl ProviderSettings {
    fn apply(&mut self, over: ProviderLayer, base: &Path) {
        fn set<T>(slot: &mut Option<T>, over: Option<T>) {
            if over.is_some() {
                *slot = over;
            }
        }
        set(&mut self.api, over.api);
        set(&mut self.base_url, over.base_url);
        set(&mut self.api_key_env, over.api_key_env);
        set(&mut self.script, over.script.map(|path| base.join(path)));
        if let Some(models) = over.models {
            self.models = models;
        }
        let number = |value: Option<NonZeroU64>| value.map(NonZeroU64::get);
        set(&mut self.max_output_tokens, number(over.max_output_tokens));
        set(&mut self.context_window, number(over.context_window));
        set(&mut self.reasoning, over.reasoning);
    }

    /// What is said of one model; `None` if it is not among [`Self::models`].
    pub fn model(&self, id: &str) -> Option<&ModelSettings> {
        self.models.iter().find(|model| model.id == id)
    }
}

/// The entry for `cwd` or the nearest directory above it.
fn nearest(projects: BTreeMap<String, ProjectLayer>, cwd: &Path) -> Option<ProjectLayer> {
    projects
        .into_iter()
        .filter(|(path, _)| Path::new(path).is_absolute() && cwd.starts_with(path))
        .max_by_key(|(path, _)| Path::new(path).components().count())
        .map(|(_, project)| project)
}

/// A checked-out repository must not send a person's key anywhere: the names of keys count in the global
/// file only. Returns the providers whose wire or endpoint the project decides; they get no key.
fn keep_keys_at_home(project: &mut Layer) -> Vec<String> {
    let mut moved = Vec::new();
    for (id, provider) in &mut project.providers {
        provider.api_key_env = None;
        if provider.api.is_some() || provider.base_url.is_some() {
            moved.push(id.clone());
        }
    }
    moved
}

fn read(path: &Path) -> Result<Layer, SettingsError> {
    let bytes = match file::read_bounded(path, MAX_BYTES, Links::Follow) {
        Ok(Bounded::Missing) => return Ok(Layer::default()),
        Ok(Bounded::TooLong) => {
            return Err(SettingsError::TooLong {
                path: path.to_owned(),
            });
        }
        Ok(Bounded::Bytes(bytes)) => bytes,
        Err(source) => {
            return Err(SettingsError::Io {
                path: path.to_owned(),
                source,
            });
        }
    };
    // A byte order mark is what some editors put before every file.
    let json = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut source = serde_json::Deserializer::from_slice(json);
    layer::whole(&mut source)
        .and_then(|layer| source.end().map(|()| layer))
        .map_err(|error| SettingsError::Invalid {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
        })
        .and_then(|layer| match out_of_bounds(&layer) {
            None => Ok(layer),
            Some(key) => Err(SettingsError::Value {
                path: path.to_owned(),
                key,
            }),
        })
}

/// A key whose value has the right type and can't be used.
fn out_of_bounds(layer: &Layer) -> Option<&'static str> {
    let threshold = layer.compaction.threshold.unwrap_or(1.0);
    let instructions = &layer.instructions;
    if !hooks::are_valid(&layer.hooks) {
        Some("hooks")
    } else if threshold <= 0.0 || threshold > 1.0 {
        Some("compaction.threshold")
    } else if instructions.len() > MAX_INSTRUCTIONS
        || instructions.iter().any(|path| path.as_os_str().is_empty())
    {
        Some("instructions")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
