//! The layers of settings merged into their effect: global file, project file, environment.
//! What of a project's file counts, and what is wrong with a file, is decided beside.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::check::server_of;
use super::folder::Folder;
use super::layer::{Layer, PermissionLayer, Permissions, ProviderLayer};
use super::server::Servers;
use super::source::{File, Source};
use super::{
    CommandEnvironment, CommandRules, DEFAULT_COMPACTION_THRESHOLD, DEFAULT_MODEL,
    DEFAULT_PROVIDER, DEFAULT_RETENTION_DAYS, FILE_NAME, Hooks, InstructionFile, MAX_NAME_BYTES,
    Origin, Overrides, PROJECT_FOLDER, Permission, Projects, ProviderSettings, Scope, Settings,
    SettingsError, ThinkingLevel, approval, permissions, project, projects,
};
use crate::reason::{Reason, Reasons, shown};

impl Settings {
    /// Reads the layers: `<home>/settings.json`, `<cwd>/.magi-code/settings.json`, environment.
    /// A missing file is an empty layer. Relative paths in the global file start at `home`, in
    /// the project's file at `cwd`.
    pub(super) fn load(
        home: &Path,
        cwd: &Path,
        env: Overrides<'_>,
        tools: &[&str],
    ) -> Result<Self, SettingsError> {
        Self::load_with(home, cwd, env, tools, None, true)
    }

    /// The same, as if one file already held something else; without the project's where a directory is meant that has none.
    pub(super) fn load_with(
        home: &Path,
        cwd: &Path,
        env: Overrides<'_>,
        tools: &[&str],
        instead: Option<(Scope, &[u8])>,
        with_project: bool,
    ) -> Result<Self, SettingsError> {
        let instead = |scope| instead.and_then(|(of, bytes)| (of == scope).then_some(bytes));
        let cwd = &cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let mut problems = Reasons::default();
        let mut notices = Reasons::default();
        let mut settings = Self {
            provider: DEFAULT_PROVIDER.to_owned(),
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
            mcp_servers: Vec::new(),
            compaction_threshold: DEFAULT_COMPACTION_THRESHOLD,
            instructions: Vec::new(),
            retention_days: DEFAULT_RETENTION_DAYS,
            notices: Vec::new(),
            origins: BTreeMap::new(),
        };
        let mut permissions = permissions::Merged::default();

        let path = home.join(FILE_NAME);
        let global = match instead(Scope::Global) {
            Some(bytes) => File::of_bytes(&path, bytes.to_vec(), tools),
            None => File::read(&path, None, tools),
        };
        problems.extend(global.problems.into_vec());
        notices.extend(global.notices.into_vec());
        let mut layer = global.layer;
        let servers = std::mem::take(&mut layer.mcp_servers);
        let (mut of_project, mut project_source) = (Servers::new(), None);
        settings.fast = layer.fast.unwrap_or_default();
        settings.hooks = std::mem::take(&mut layer.hooks);
        settings.command_environment = layer.tools.environment.unwrap_or_default();
        let mut guarded = guarded_servers(&layer.permissions, global.source.as_ref());
        permissions.person(std::mem::take(&mut layer.permissions));
        settings.projects = Projects::of(&layer.projects);
        settings.trusted = settings.projects.trust(cwd);
        let own = projects::nearest(std::mem::take(&mut layer.projects), cwd);
        let is_only = own.len() == 1;
        for own in own {
            match is_only {
                true => permissions.person(own),
                // Two entries for one directory: each counts where it is stricter, as a notice says.
                false => drop(permissions.project(own, false)),
            }
        }
        settings.apply(layer, home, global.source.as_ref(), false);
        settings.remember(global.source.as_ref(), &[]);

        let folder = match Folder::of(home, cwd, settings.trusted) {
            _ if !with_project => Folder::None,
            // It will be there.
            Folder::None if instead(Scope::Project).is_some() => {
                Folder::At(cwd.join(PROJECT_FOLDER))
            }
            found => found,
        };
        let mut project = None;
        match folder {
            Folder::None => {}
            Folder::Ignored(reason) => notices.add(reason),
            Folder::At(folder) => {
                let inside = (!settings.trusted).then_some(cwd.as_path());
                let path = folder.join(FILE_NAME);
                let file = match instead(Scope::Project) {
                    Some(bytes) => File::of_bytes(&path, bytes.to_vec(), tools),
                    None => File::read(&path, inside, tools),
                };
                project = Some(path);
                problems.extend(file.problems.into_vec());
                notices.extend(file.notices.into_vec());
                let mut layer = file.layer;
                let mut ignored = project::admit(&mut layer, &settings);
                of_project = std::mem::take(&mut layer.mcp_servers);
                let own = std::mem::take(&mut layer.permissions);
                guarded.extend(guarded_servers(&own, file.source.as_ref()));
                ignored.extend(permissions.project(own, settings.trusted));
                settings.apply(layer, cwd, file.source.as_ref(), true);
                settings.remember(file.source.as_ref(), &ignored);
                if let Some(source) = &file.source {
                    notices.extend(ignored.into_iter().map(|ignored| {
                        let reason = source.reason(&ignored.path, ignored.why);
                        reason.help(ignored.help)
                    }));
                }
                project_source = file.source;
            }
        }
        let known = [&servers, &of_project];
        let unknown = guarded
            .into_iter()
            .filter(|(server, _)| !known.iter().any(|known| known.contains_key(server)));
        notices.extend(unknown.map(|(_, reason)| reason));
        settings.mcp_servers = approval::resolve(
            (&servers, global.source.as_ref()),
            (&of_project, project_source.as_ref()),
            settings.trusted,
            &mut notices,
        );
        (settings.bash, settings.permissions) = permissions.rules_and_words();
        settings.code = permissions.code;
        settings.environment(env, &mut problems);

        if settings.model.is_none() && settings.provider == DEFAULT_PROVIDER {
            settings.model = Some(DEFAULT_MODEL.to_owned());
        }
        settings.notices = notices.into_vec();
        if !problems.is_empty() {
            return Err(SettingsError {
                reasons: problems.into_vec(),
                project,
                usable: Box::new(settings),
            });
        }
        Ok(settings)
    }

    fn environment(&mut self, env: Overrides<'_>, problems: &mut Reasons) {
        let mut given = |variable: &str, key: &str, value: Option<&str>| {
            let value = value.filter(|value| !value.is_empty())?;
            if value.len() > MAX_NAME_BYTES {
                let reason = format!("this name is longer than {MAX_NAME_BYTES} bytes");
                problems.add(Reason::of_variable(variable, reason).help("shorten it"));
            }
            let named = Reason::of_variable(variable, "");
            self.origins
                .insert(vec![key.to_owned()], Origin::Elsewhere(named));
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

    /// A layer that changes the provider without naming a model doesn't inherit the model of
    /// the layer below: that one belongs to another provider.
    fn select(&mut self, provider: Option<String>, model: Option<String>) {
        // A blank one is told as that.
        if let Some(provider) = provider.filter(|provider| !provider.is_empty())
            && provider != self.provider
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
        // A blank one is told as that.
        let files = files.filter(|(_, path)| !path.to_string_lossy().trim().is_empty());
        self.instructions
            .extend(files.map(|(index, path)| InstructionFile {
                path: base.join(path),
                of_project,
                named: source.map_or_else(Reason::default, |source| {
                    source.reason(&["instructions".to_owned(), index.to_string()], "")
                }),
            }));
        for (id, over) in layer.providers {
            let provider = self.providers.entry(id).or_default();
            provider.placed_by_project |=
                of_project && (over.api.is_some() || over.base_url.is_some());
            provider.apply(over, base);
        }
    }
}

/// The servers whose tools a file's permissions restrict, and what is said of each that is defined nowhere: the slip in a
/// name that would guard nothing, or a word for a project elsewhere.
fn guarded_servers(permissions: &Permissions, source: Option<&Source>) -> Vec<(String, Reason)> {
    let words = permissions.0.iter().flat_map(|(tool, permission)| {
        let (words, tools) = match permission {
            PermissionLayer::Word(word) => (Some((vec![tool.as_str()], *word)), None),
            PermissionLayer::Tools(tools) => (None, Some(tools)),
            PermissionLayer::Rules(_) => (None, None),
        };
        let inside = tools.into_iter().flatten();
        words
            .into_iter()
            .chain(inside.map(|(inside, word)| (vec![tool.as_str(), inside.as_str()], *word)))
    });
    let restricted = words.filter(|(_, word)| *word < Permission::Allow);
    let named = restricted.filter_map(|(path, _)| {
        let server = server_of(path.last()?)?;
        let why = format!(
            "no MCP server is called `{}` here, so this guards nothing now",
            shown(server)
        );
        let path = [&["permissions"], &path[..]].concat();
        let reason = source?.reason(&path, why);
        let help = "correct the name, or leave it for where that server is defined";
        Some((server.to_owned(), reason.help(help)))
    });
    named.collect()
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
        set(&mut self.issuer_url, over.issuer_url);
        set(&mut self.api_key_env, over.api_key_env);
        set(&mut self.script, over.script.map(|path| base.join(path)));
        if let Some(models) = over.models {
            self.models = models;
        }
        set(&mut self.max_output_tokens, over.max_output_tokens);
        set(&mut self.context_window, over.context_window);
        set(&mut self.reasoning, over.reasoning);
    }
}
