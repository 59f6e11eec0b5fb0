//! A workspace and how it comes to be: everything of one directory that runs work with.
//! Reading files is the store's part, choosing the provider stands beside.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use store::resources::Profile;
use store::settings::{CommandEnvironment, ServerState, Settings, SettingsError};
use store::{Home, LocalPlaces, Reason, Redactor};
use tokio_util::sync::CancellationToken;
use tools::guard::Guard;
use tools::hooks::Hooks;
use tools::policy::Rules;
use tools::{Context, Skill, ToolSet};

use super::environment::canonical;
use super::equipment::Equipment;
use super::error::redacted;
use super::guidance::Guidance;
use super::select::{Choice, Selected, select, select_choice, unusable_addresses};
use super::servers::{self, Servers, keep_secret};
use super::services::Services;
use super::{Environment, StartupError, StartupStatus};

/// Where runs work: what one startup admitted of a directory. It never changes, and a process may hold several.
pub struct Workspace {
    pub(crate) services: Arc<Services>,
    /// Canonical.
    pub(crate) cwd: PathBuf,
    /// What the primary agent works with as long as no tools join.
    pub(crate) equipment: Arc<Equipment>,
    pub(crate) hooks: Hooks,
    pub(crate) guidance: Guidance,
    /// What answers where a session does not say otherwise; `None` where each run asks the settings.
    pub(crate) selected: Option<Arc<Selected>>,
    /// Servers whose tools join.
    pub(super) servers: Arc<Servers>,
    /// What the primary agent works with beside them, and how often what they offer had changed by then.
    pub(super) equipped: Mutex<Option<(u64, Arc<Equipment>)>>,
    /// What commands run under.
    guard: Guard,
    /// As they were at startup.
    settings: Settings,
}

impl Workspace {
    /// Reads everything of a directory once; what is ignored of it, `status` tells. `stop` ends it between two files.
    /// Blocks.
    pub(crate) fn admit(
        services: &Arc<Services>,
        directory: &Path,
        status: &mut StartupStatus,
        stop: &CancellationToken,
    ) -> Result<Self, StartupError> {
        let _span = tracing::info_span!("startup").entered();
        let redactor = &services.redactor;
        let admitted = read(services, directory, status, stop);
        status.notices = redacted(std::mem::take(&mut status.notices), redactor);
        for notice in &status.notices {
            tracing::info!(%notice, "a part of the configuration does not count");
        }
        admitted.map_err(|error| error.redacted(redactor))
    }

    /// The same with what its settings select.
    pub(crate) fn selecting(mut self) -> Result<Self, StartupError> {
        self.selected = Some(Arc::new(self.select()?));
        Ok(self)
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.services.redactor
    }

    /// Why addresses that are not selected can't be used.
    pub(super) fn unusable_addresses(&self) -> Vec<Reason> {
        unusable_addresses(&self.settings, &self.services.providers)
    }

    /// Why servers in this state could not start, once they are approved, as far as that can be seen. Blocks.
    pub(super) fn unstartable_servers(&self, state: ServerState) -> Vec<Reason> {
        let home = &self.services.home;
        let reasons = servers::unstartable(
            home,
            &self.cwd,
            &self.settings,
            state,
            &self.guard,
            self.redactor(),
        );
        redacted(reasons, self.redactor())
    }

    /// What the settings selected at startup.
    pub(super) fn select(&self) -> Result<Selected, StartupError> {
        let services = &*self.services;
        let selected = select(&self.settings, &services.environment, &services.providers);
        selected.map_err(|error| error.redacted(self.redactor()))
    }

    /// A choice that a session was saved with, if the settings of startup still have it.
    pub(crate) fn select_saved(&self, choice: &Choice) -> Option<Selected> {
        let services = &*self.services;
        let (environment, providers) = (&services.environment, &services.providers);
        let selected = select_choice(&self.settings, environment, providers, choice.clone());
        let because = |error: StartupError| {
            for reason in redacted(error.reasons, self.redactor()) {
                tracing::info!(%reason, "the saved selection is not available");
            }
        };
        selected.map_err(because).ok()
    }

    /// What answers a subagent with this profile, where `selected` answers the agent that asks: the profile's model, of
    /// the same provider. Blocks on small reads.
    pub(crate) fn select_profile(
        &self,
        selected: &Selected,
        profile: &Profile,
        model: &str,
    ) -> Result<Selected, StartupError> {
        let Services {
            environment,
            providers,
            ..
        } = &*self.services;
        let select = || {
            let now = match &self.selected {
                Some(_) => None,
                // Where each run asks the settings.
                None => Some(self.settings_now()?),
            };
            let settings = now.as_ref().unwrap_or(&self.settings);
            let provider = &selected.choice.provider;
            if profile.of_stranger && !settings.offers(provider, model) {
                return Err(StartupError::unavailable(Guidance::strange_model(profile)));
            }
            let choice = Choice::of(provider, model, selected.choice.thinking);
            select_choice(settings, environment, providers, choice)
        };
        select().map_err(|error| error.redacted(self.redactor()))
    }

    /// Why models that profiles of subagents name are not available, where `selected` answers the primary agent: a start goes
    /// on, and the tasks that ask for such a profile fail. Blocks on small reads.
    pub(super) fn unavailable_models(&self, selected: &Selected) -> Vec<Reason> {
        let profiles = self.guidance.profiles.iter();
        let named = profiles.filter_map(|profile| Some((profile, profile.model.as_deref()?)));
        let refused = named.filter_map(|(profile, model)| {
            let error = self.select_profile(selected, profile, model).err()?;
            let told = error.reasons.into_iter().map(|reason| Reason {
                reason: format!("tasks with this profile fail: {}", reason.reason),
                help: reason.help,
                ..profile.named.clone()
            });
            Some(told.collect::<Vec<_>>())
        });
        redacted(refused.flatten().collect(), self.redactor())
    }

    /// What the settings select as they stand now. Blocks on small reads.
    pub(crate) fn select_now(&self) -> Result<Selected, StartupError> {
        let environment = &self.services.environment;
        let select = || {
            let mut settings = self.settings_now()?;
            self.guidance.choose_model(&mut settings, environment);
            select(&settings, environment, &self.services.providers)
        };
        select().map_err(|error: StartupError| error.redacted(self.redactor()))
    }

    /// The settings as they stand now. A key that they name since startup is not shown either, and no command finds it.
    fn settings_now(&self) -> Result<Settings, SettingsError> {
        let Services {
            environment, home, ..
        } = &*self.services;
        let settings = environment.settings(&**home, &self.cwd)?;
        self.redactor().learn(named_keys(&settings, environment));
        self.learn_accounts();
        withhold_keys(&self.guard, &settings);
        Ok(settings)
    }

    /// Whatever is stored for whichever provider or server is not shown from now on: a command could come upon it. Blocks
    /// on a small read.
    pub(crate) fn learn_accounts(&self) {
        learn_accounts(&*self.services.home, self.redactor());
    }

    /// The settings as they were at startup.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A name as it may be shown; see [`public_name`].
    pub(crate) fn public_name(&self, name: &str) -> Option<String> {
        public_name(self.redactor(), name)
    }

    /// The same with another provider.
    #[cfg(test)]
    pub(crate) fn with_provider(
        mut self: Arc<Self>,
        provider: Arc<dyn provider::Provider>,
    ) -> Arc<Self> {
        let workspace = Arc::get_mut(&mut self);
        if let Some(selected) = workspace.and_then(|workspace| workspace.selected.as_mut()) {
            Arc::make_mut(selected).provider = provider;
        }
        self
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace")
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

fn read(
    services: &Arc<Services>,
    directory: &Path,
    status: &mut StartupStatus,
    stop: &CancellationToken,
) -> Result<Workspace, StartupError> {
    let Services {
        environment,
        home,
        redactor,
        ..
    } = &**services;
    let cwd = canonical(directory)?;
    // Captured once, after the runtime directories exist.
    status.context_id = Some(home.context_id(&cwd));
    let loaded = environment.settings(&**home, &cwd);
    let mut settings = loaded.inspect_err(|error| {
        status.notices.clone_from(&error.usable().notices);
    })?;
    redactor.learn(named_keys(&settings, environment));
    learn_accounts(&**home, redactor);
    status.notices = std::mem::take(&mut settings.notices);
    let shown = |settings: &Settings| {
        let model = settings.model.as_deref();
        model.and_then(|model| public_name(redactor, model))
    };
    status.provider = public_name(redactor, &settings.provider);
    status.model = shown(&settings);
    let notices = &mut status.notices;
    let guidance = Guidance::load(&**home, &cwd, &settings, environment, stop, notices)?;
    let ignored = guidance.choose_model(&mut settings, environment);
    status.notices.extend(ignored);
    status.model = shown(&settings);
    let guard = Guard::this_program();
    withhold_keys(&guard, &settings);
    keep_secret(&settings.mcp_servers, redactor);
    let notices = &mut status.notices;
    let servers = Servers::of(&settings, home, &cwd, &guard, redactor, notices);
    services.keep_servers(&servers);
    let tools = tool_set(services, &cwd, &settings, &guidance, &guard)?;
    Ok(Workspace {
        hooks: Hooks::new(cwd.clone(), guard.clone(), settings.hooks.clone()),
        equipment: Arc::new(Equipment::new(
            &cwd,
            &guidance,
            guidance.primary.as_ref(),
            tools,
            &settings,
        )),
        guidance,
        cwd,
        selected: None,
        servers,
        equipped: Mutex::default(),
        guard,
        settings,
        services: Arc::clone(services),
    })
}

/// The tools of this build, for a directory and what was read of it.
fn tool_set(
    services: &Services,
    cwd: &Path,
    settings: &Settings,
    guidance: &Guidance,
    guard: &Guard,
) -> Result<ToolSet, StartupError> {
    let LocalPlaces {
        hidden,
        protected,
        staging,
        ..
    } = services.home.places();
    let mut context = Context::new(cwd.to_owned(), hidden).with_staging(staging);
    context.guard = guard.clone();
    context.home = services.environment.user_home.clone();
    context.pool = services.calls.clone();
    let rules = &settings.bash;
    context.rules = Rules::new(
        rules.default,
        rules.allow.iter().map(String::as_str),
        rules.deny.iter().map(String::as_str),
    );
    let skills = guidance.skills.iter().map(|skill| Skill {
        name: skill.name.clone(),
        description: skill.description.clone(),
        dir: skill.directory.clone(),
        body: skill.body.to_string(),
    });
    context.skills = skills.collect();
    let profiles = guidance.profiles.iter();
    context.profiles = profiles.map(|profile| profile.name.clone()).collect();
    context.protected = protected;
    ToolSet::registered(context).map_err(|error| {
        let why = format!("the tools of this build cannot be used: {error}");
        StartupError::failed(Reason::new(why))
    })
}

/// Commands don't find the keys of models, unless the person wants them to.
pub(super) fn withhold_keys(guard: &Guard, settings: &Settings) {
    if settings.command_environment == CommandEnvironment::WithoutKeys {
        guard.withhold(settings.key_variables());
        Guard::close_this_process();
    }
}

/// The keys that settings name by their variables, whatever those are called.
pub(crate) fn named_keys<'a>(
    settings: &'a Settings,
    environment: &'a Environment,
) -> impl Iterator<Item = &'a str> {
    settings
        .providers
        .values()
        .filter_map(|provider| environment.var(provider.api_key_env.as_deref()?))
}

pub(super) fn learn_accounts(home: &dyn Home, redactor: &Redactor) {
    match home.accounts().texts() {
        Ok(texts) => {
            let members = texts.iter().map(|(name, text)| (&**name, &**text));
            redactor.learn_variables(members.clone());
            let accounts = members.filter(|(name, _)| *name == "account_id");
            redactor.learn(accounts.map(|(_, text)| text));
        }
        // Whoever needs one of them says so where it is needed.
        Err(error) => tracing::debug!(%error, "stored credentials cannot be read"),
    }
}

/// A provider or model name that may be shown; omitted when secret-like, or when
/// something in it must not be shown.
fn public_name(redactor: &Redactor, name: &str) -> Option<String> {
    redactor.is_presentable(name).then(|| name.to_owned())
}
