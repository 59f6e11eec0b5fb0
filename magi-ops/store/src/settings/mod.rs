//! The settings layers, read only: global file, project file, environment; and their merged effect.
//! Acting on them happens elsewhere; writing stands in `edit`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file::{self, Bounded, Links};
use crate::local::LocalHome;
use crate::reason::{Reason, Reasons, SourceText};

mod edit;
mod hooks;
mod layer;
mod model;
mod permissions;
mod project;
mod projects;
mod read;
mod rule_advice;
mod source;
mod tree;

pub use edit::EditError;
pub use hooks::{HookEvent, Hooks, MAX_HOOK_BYTES, MAX_HOOKS};
pub use layer::{Api, CommandEnvironment, Permission, ThinkingLevel};
use layer::{Layer, ProviderLayer};
pub use model::{ModelSettings, Reasoning};
pub use permissions::{CommandRules, MAX_RULE_BYTES, MAX_RULES};
pub use projects::Projects;
pub use rule_advice::{RuleAdvice, rule_advice};
use source::{File, Source};

/// The settings file's name, in the home directory and under `<cwd>/.magi-code/`.
pub(crate) const FILE_NAME: &str = "settings.json";
/// The folder of a project's settings, skills and profiles.
pub const PROJECT_FOLDER: &str = ".magi-code";
/// The generated schema's name beside the global settings.
const SCHEMA_FILE_NAME: &str = "settings.schema.json";
/// JSON Schema of `settings.json`. A test holds it against the Rust types.
pub(crate) const SCHEMA: &str = include_str!("schema.json");

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
#[error("{}", self.first())]
pub struct SettingsError {
    reasons: Vec<Reason>,
    usable: Box<Settings>,
}

impl SettingsError {
    /// The effect of what could be read, for a look at what else is wrong; never to work with.
    #[must_use]
    pub fn usable(&self) -> &Settings {
        &self.usable
    }

    /// Whether one of these members, or what begins with its name, may be among what could not be read: a file that can't
    /// be read at all may have said it.
    #[must_use]
    pub fn concerns(&self, members: &[&str]) -> bool {
        self.reasons.iter().any(|reason| match &reason.key {
            Some(key) => members.iter().any(|member| key.starts_with(member)),
            None => true,
        })
    }

    /// Every problem that was found, in the order of the files; at least one.
    #[must_use]
    pub fn into_reasons(self) -> Vec<Reason> {
        self.reasons
    }

    fn first(&self) -> String {
        self.reasons
            .first()
            .map(Reason::to_string)
            .unwrap_or_default()
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
        edit::set_trusted(self, directory, trusted)
    }
}

/// Writes the schema beside the settings unless it stands there.
pub(crate) fn write_schema(home: &LocalHome) -> io::Result<()> {
    let path = home.root().join(SCHEMA_FILE_NAME);
    let schema = SCHEMA.as_bytes();
    match file::read_bounded(&path, schema.len() as u64, Links::Follow) {
        Ok(Bounded::Bytes(bytes)) if bytes == schema => Ok(()),
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
    Variable(&'static str),
    /// Another file, where the reason says.
    Elsewhere(Reason),
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
    fn load(
        home: &Path,
        cwd: &Path,
        env: Overrides<'_>,
        tools: &[&str],
    ) -> Result<Self, SettingsError> {
        let cwd = &cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let mut problems = Reasons::default();
        let mut notices = Reasons::default();
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
            projects: Projects::default(),
            hooks: Hooks::new(),
            compaction_threshold: DEFAULT_COMPACTION_THRESHOLD,
            instructions: Vec::new(),
            retention_days: DEFAULT_RETENTION_DAYS,
            notices: Vec::new(),
            origins: BTreeMap::new(),
        };
        let mut permissions = permissions::Merged::default();

        let global = File::read(&home.join(FILE_NAME), None, tools);
        problems.extend(global.problems.into_vec());
        notices.extend(global.notices.into_vec());
        let mut layer = global.layer;
        settings.fast = layer.fast.unwrap_or_default();
        settings.hooks = std::mem::take(&mut layer.hooks);
        settings.command_environment = layer.tools.environment.unwrap_or_default();
        permissions.person(std::mem::take(&mut layer.permissions));
        settings.projects = Projects::of(&layer.projects);
        settings.trusted = settings.projects.trust(cwd);
        let mut own = projects::nearest(std::mem::take(&mut layer.projects), cwd);
        match own.len() {
            1 => own.drain(..).for_each(|own| permissions.person(own)),
            // Two entries for one directory: each counts where it is stricter, as a notice says.
            _ => own
                .into_iter()
                .for_each(|own| drop(permissions.project(own, false))),
        }
        settings.apply(layer, home, global.source.as_ref(), false);
        settings.remember(global.source.as_ref(), &[]);

        match Folder::of(home, cwd, settings.trusted) {
            Folder::Own => {}
            Folder::Linked(folder) => notices.add(
                Reason::of_file(&folder, "this is a link, so nothing below it counts")
                    .help(project::TRUST),
            ),
            Folder::At(folder) => {
                let inside = (!settings.trusted).then_some(cwd.as_path());
                let file = File::read(&folder.join(FILE_NAME), inside, tools);
                problems.extend(file.problems.into_vec());
                notices.extend(file.notices.into_vec());
                let mut layer = file.layer;
                let mut ignored = project::admit(&mut layer, &settings);
                let own = std::mem::take(&mut layer.permissions);
                ignored.extend(permissions.project(own, settings.trusted));
                let moved: Vec<_> = layer
                    .providers
                    .iter()
                    .filter(|(_, own)| own.api.is_some() || own.base_url.is_some())
                    .map(|(id, _)| id.clone())
                    .collect();
                settings.apply(layer, cwd, file.source.as_ref(), true);
                for id in moved {
                    settings.providers.entry(id).or_default().placed_by_project = true;
                }
                settings.remember(file.source.as_ref(), &ignored);
                if let Some(source) = &file.source {
                    notices.extend(ignored.into_iter().map(|ignored| {
                        let reason = source.reason(&ignored.path, ignored.why);
                        Reason {
                            help: ignored.help.map(str::to_owned),
                            ..reason
                        }
                    }));
                }
            }
        }
        (settings.bash, settings.permissions) = permissions.rules_and_words();
        settings.code = permissions.code;
        settings.environment(env, &mut problems);

        if settings.provider.is_empty() {
            DEFAULT_PROVIDER.clone_into(&mut settings.provider);
        }
        if settings.model.is_none() && settings.provider == DEFAULT_PROVIDER {
            settings.model = Some(DEFAULT_MODEL.to_owned());
        }
        settings.notices = notices.into_vec();
        if !problems.is_empty() {
            return Err(SettingsError {
                reasons: problems.into_vec(),
                usable: Box::new(settings),
            });
        }
        Ok(settings)
    }

    fn environment(&mut self, env: Overrides<'_>, problems: &mut Reasons) {
        let mut given = |variable: &'static str, key: &str, value: Option<&str>| {
            let value = value.filter(|value| !value.is_empty())?;
            if value.len() > MAX_NAME_BYTES {
                let reason = format!("this name is longer than {MAX_NAME_BYTES} bytes");
                problems.add(Reason::of_variable(variable, reason));
            }
            self.origins
                .insert(vec![key.to_owned()], Origin::Variable(variable));
            Some(value.to_owned())
        };
        let provider = given("MC_PROVIDER", "provider", env.provider);
        let model = given("MC_MODEL", "model", env.model);
        self.select(provider, model);
    }

    /// Keeps where the members of a file stand, but those that don't count.
    fn remember(&mut self, source: Option<&Source>, ignored: &[project::Ignored]) {
        let Some(source) = source else { return };
        source.walk(&mut |path, at| {
            let told = matches!(
                path[0].as_str(),
                "provider" | "model" | "thinking_level" | "providers"
            );
            if told
                && path.len() <= 3
                && !ignored
                    .iter()
                    .any(|ignored| path.starts_with(&ignored.path))
            {
                let origin = Origin::File(Arc::clone(&source.text), at);
                self.origins.insert(path.to_vec(), origin);
            }
        });
    }

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
            Some(Origin::Variable(variable)) => Reason::of_variable(variable, reason),
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

    fn apply(&mut self, layer: Layer, base: &Path, source: Option<&Source>, of_project: bool) {
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
        let files = layer.instructions.into_iter().enumerate();
        self.instructions
            .extend(files.map(|(index, path)| InstructionFile {
                path: base.join(path),
                of_project,
                named: source.map_or_else(Reason::default, |source| {
                    source.reason(&["instructions".to_owned(), index.to_string()], "")
                }),
            }));
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

/// Where a project's own settings, skills and profiles lie.
pub(crate) enum Folder {
    /// In the person's own home: nothing there is a project's.
    Own,
    /// Behind a link, in a project that is not trusted.
    Linked(PathBuf),
    At(PathBuf),
}

impl Folder {
    /// Of the working directory `cwd`, which is canonical.
    pub(crate) fn of(home: &Path, cwd: &Path, trusted: bool) -> Self {
        let folder = cwd.join(PROJECT_FOLDER);
        let real = folder.canonicalize();
        if real.is_ok() && real.ok() == home.canonicalize().ok() {
            return Self::Own;
        }
        let linked = folder
            .symlink_metadata()
            .is_ok_and(|folder| folder.is_symlink());
        if linked && !trusted {
            return Self::Linked(folder);
        }
        Self::At(folder)
    }
}

#[cfg(test)]
mod tests;
