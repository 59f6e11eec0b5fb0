//! Selection: the configured provider and model, as far as this build has them, and whether they
//! could authenticate. Asks nobody and refreshes nothing.

use std::sync::Arc;

use provider::{
    Api, BuildError, FIXTURE_ID, FIXTURE_MODEL, Fixture, ModelLimits, Provider, ProviderConfig,
    Secret, ThinkingLevel,
};
use store::settings::{BUILT_IN, ProviderSettings, Settings};
use store::{Home, Reason, did_you_mean, listed, near_miss, shown, shown_path};

use super::cache::{ProviderCache, Remote};
use super::{Environment, StartupError};

/// A provider, one of its models, and how much that is to think.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) thinking: ThinkingLevel,
}

impl Choice {
    pub(crate) fn of(provider: &str, model: &str, thinking: ThinkingLevel) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            thinking,
        }
    }
}

/// A choice that this build has, and what serves it.
#[derive(Clone)]
pub(crate) struct Selected {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) choice: Choice,
    pub(crate) fast: bool,
}

impl Selected {
    /// The same with another thinking level.
    pub(crate) fn thinking(&self, thinking: ThinkingLevel) -> Self {
        let mut other = self.clone();
        other.choice.thinking = thinking;
        other
    }

    /// Whether the model is asked for the very thinking level that was chosen.
    pub(crate) fn has_level(&self) -> bool {
        let Choice {
            model, thinking, ..
        } = &self.choice;
        self.provider.nearest_level(model, *thinking) == *thinking
    }
}

impl std::fmt::Debug for Selected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selected")
            .field("choice", &self.choice)
            .finish_non_exhaustive()
    }
}

/// The built-in provider with a wire of its own.
const ANTHROPIC_ID: &str = "anthropic";
const ANTHROPIC_KEY: &str = store::settings::BUILT_IN_KEYS[0].1;
/// The built-in provider that a person logs in to.
const CODEX_ID: &str = "openai-codex";

/// What the settings select, as far as this build has it.
pub(crate) fn select(
    settings: &Settings,
    environment: &Environment,
    providers: &ProviderCache,
) -> Result<Selected, StartupError> {
    let provider = settings.provider.as_str();
    // Told before the model: a provider that there is not has none.
    known(settings, provider)?;
    let model = settings.model.as_deref().ok_or_else(|| {
        let why = format!("`{}` is selected without a model", shown(provider));
        let help = "set `model` in the settings, or MC_MODEL";
        StartupError::unavailable(settings.reason(&["provider"], why).help(help))
    })?;
    let choice = Choice::of(provider, model, settings.thinking_level);
    select_choice(settings, environment, providers, choice)
}

/// A choice under these settings, whatever they select themselves. Blocks: a script or the system's
/// certificates may be read.
pub(crate) fn select_choice(
    settings: &Settings,
    environment: &Environment,
    providers: &ProviderCache,
    choice: Choice,
) -> Result<Selected, StartupError> {
    let provider = if choice.provider == FIXTURE_ID {
        fixture(settings, &choice.model)?
    } else {
        let config = remote(settings, environment, &choice)?;
        providers
            .build(config)
            .map_err(|error| unbuilt(settings, &choice.provider, &error))?
    };
    Ok(Selected {
        provider,
        choice,
        fast: settings.fast,
    })
}

fn unbuilt(settings: &Settings, id: &str, error: &BuildError) -> StartupError {
    let about = |member: &str| settings.reason(&["providers", id, member], error.to_string());
    match error {
        BuildError::BaseUrlMissing => {
            let help = format!("set `providers.{}.base_url`", shown(id));
            StartupError::invalid(about("base_url").help(help))
        }
        BuildError::BaseUrlInvalid => StartupError::invalid(
            about("base_url").help("write `http` or `https`, a host, and no user name or password"),
        ),
        BuildError::Script(_) => StartupError::invalid(
            about("script").help("docs/configuration.md says what a script holds"),
        ),
        BuildError::NotLinked => {
            let help = "select a provider of another `api`, or use a build that has it";
            StartupError::unavailable(about("api").help(help))
        }
        BuildError::BaseUrlOfOtherApi(api) => {
            let help = format!(
                "set `providers.{}.api` to `{api}`, or give the address that the path of its own api is added to",
                shown(id)
            );
            StartupError::invalid(about("base_url").help(help))
        }
        BuildError::Client(_) => StartupError::unavailable(
            about("base_url").help("look at the certificates and the proxy of the environment"),
        ),
    }
}

/// Addresses that can't be used, of providers that are not selected: a start goes on without them.
pub(super) fn unusable_addresses(settings: &Settings, providers: &ProviderCache) -> Vec<Reason> {
    let others = settings.providers.iter();
    let others = others.filter(|(id, own)| **id != settings.provider && own.base_url.is_some());
    let unusable = others.filter_map(|(id, own)| {
        let built_in = (id.as_str() == ANTHROPIC_ID).then_some(Api::Anthropic);
        let config = ProviderConfig {
            id: id.clone(),
            api: built_in.or(own.api)?,
            base_url: own.base_url.clone(),
            script: None,
            models: ModelLimits::default(),
        };
        match providers.build(Remote { config, key: None }) {
            Err(error @ (BuildError::BaseUrlInvalid | BuildError::BaseUrlOfOtherApi(_))) => {
                Some(unbuilt(settings, id, &error).reasons)
            }
            _ => None,
        }
    });
    unusable.flatten().collect()
}

/// A key that no header of a request can carry.
fn unsendable(settings: &Settings, id: &str) -> StartupError {
    let variable = key_variable(settings, id).map(str::to_owned);
    let why = "the provider's key cannot be sent";
    let reason = settings.reason(&["providers", id, "api_key_env"], why);
    StartupError::unavailable(Reason {
        variable,
        ..reason.help("set the variable to the key and nothing else")
    })
}

fn fixture(settings: &Settings, model: &str) -> Result<Arc<dyn Provider>, StartupError> {
    let own = settings.providers.get(FIXTURE_ID);
    if model != FIXTURE_MODEL && own.and_then(|own| own.model(model)).is_none() {
        return Err(not_offered(settings, FIXTURE_ID, model));
    }
    let script = own.and_then(|own| own.script.as_deref());
    Ok(Arc::new(match script {
        None => Fixture::demonstration(),
        Some(path) => Fixture::from_script(path).map_err(|error| {
            let key = ["providers", FIXTURE_ID, "script"];
            let why = match &error {
                // These name the file.
                provider::ScriptError::Invalid { .. } => {
                    format!("{}: {error}", shown_path(path))
                }
                _ => error.to_string(),
            };
            let help = "docs/configuration.md says what a script holds";
            StartupError::invalid(settings.reason(&key, why).help(help))
        })?,
    }))
}

/// A model that the provider's list doesn't have.
fn not_offered(settings: &Settings, provider: &str, model: &str) -> StartupError {
    let own = settings.providers.get(provider);
    let models = own.into_iter().flat_map(|own| &own.models);
    let mut offered: Vec<_> = models.map(|model| model.id.as_str()).collect();
    if provider == FIXTURE_ID {
        offered.insert(0, FIXTURE_MODEL);
    }
    let why = format!(
        "`{}` offers no model `{}`{}",
        shown(provider),
        shown(model),
        did_you_mean(near_miss(model, offered.iter().copied()))
    );
    let help = match offered.is_empty() {
        true => "name its models in `models`".to_owned(),
        false => format!("choose one of {}", listed(&offered)),
    };
    StartupError::unavailable(settings.reason(&["model"], why).help(help))
}

/// Whether a provider of that id is described at all.
fn known(settings: &Settings, id: &str) -> Result<(), StartupError> {
    let own = settings.providers.get(id);
    if id == FIXTURE_ID || id == ANTHROPIC_ID {
        return Ok(());
    }
    let refused = |path: &[&str], why: &str, help: &str| {
        let reason = settings.reason(path, why).help(help);
        Err(StartupError::unavailable(reason))
    };
    if id == CODEX_ID && own.is_none_or(|own| own.api.is_none()) {
        let why = format!("`{id}` needs a login, which this build cannot do");
        return refused(&["provider"], &why, "select another provider");
    }
    let Some(own) = own else {
        let own = settings.providers.keys().map(String::as_str);
        let all: Vec<_> = BUILT_IN.into_iter().chain(own).collect();
        let meant = did_you_mean(near_miss(id, all.iter().copied()));
        let why = format!("no provider is called `{}`{meant}", shown(id));
        let help = format!(
            "select one of {}, or describe it under `providers`",
            listed(&all)
        );
        return refused(&["provider"], &why, &help);
    };
    let why = match own.api {
        None => "this provider has no `api`",
        // The offline provider has one name only.
        Some(Api::Fixture) => "only the provider `fixture` is the offline one",
        Some(_) => return Ok(()),
    };
    let help = "set it to the wire that the server speaks, such as `openai-chat`";
    refused(&["providers", id, "api"], why, help)
}

/// The configuration of a provider behind a network.
fn remote(
    settings: &Settings,
    environment: &Environment,
    choice: &Choice,
) -> Result<Remote, StartupError> {
    let id = choice.provider.as_str();
    known(settings, id)?;
    let own = settings.providers.get(id);
    let built_in = id == ANTHROPIC_ID;
    let api = match own.and_then(|own| own.api) {
        // A built-in provider has its wire.
        Some(api) if built_in && api != Api::Anthropic => {
            let reason = settings.reason(
                &["providers", id, "api"],
                "this built-in provider speaks no other wire than `anthropic`",
            );
            let help = "give a server of your own another name";
            return Err(StartupError::invalid(reason.help(help)));
        }
        Some(api) => api,
        None => Api::Anthropic,
    };
    // A list of models says which there are; without one the server knows.
    let listed =
        |own: &ProviderSettings| own.models.is_empty() || own.model(&choice.model).is_some();
    if !built_in && !own.is_none_or(listed) {
        return Err(not_offered(settings, id, &choice.model));
    }
    let key = credential(settings, environment, id)?.map(Secret::new);
    if key.as_ref().is_some_and(|key| !key.can_be_sent()) {
        return Err(unsendable(settings, id));
    }
    let models = own.map_or_else(ModelLimits::default, |own| ModelLimits {
        max_output_tokens: own.max_output_tokens,
        context_window: own.context_window,
        reasoning: own.reasoning,
        models: own.models.clone(),
    });
    Ok(Remote {
        config: ProviderConfig {
            id: choice.provider.clone(),
            api,
            base_url: own.and_then(|own| own.base_url.clone()),
            script: None,
            models,
        },
        key,
    })
}

/// The variable that holds the key of a provider, if it has one.
fn key_variable<'a>(settings: &'a Settings, provider: &str) -> Option<&'a str> {
    let own = settings.providers.get(provider);
    let named = own.and_then(|own| own.api_key_env.as_deref());
    // A custom provider says where its key is, or that it needs none.
    named.or((provider == ANTHROPIC_ID).then_some(ANTHROPIC_KEY))
}

/// What `provider` authenticates with, `None` if it needs nothing; or why that is not there.
fn credential<'a>(
    settings: &Settings,
    environment: &'a Environment,
    provider: &str,
) -> Result<Option<&'a str>, StartupError> {
    known(settings, provider)?;
    let Some(variable) = key_variable(settings, provider).filter(|_| provider != FIXTURE_ID) else {
        return Ok(None);
    };
    let own = settings.providers.get(provider);
    if own.is_some_and(|own| own.placed_by_project) {
        let why = format!(
            "the project says where `{}` is, so it gets no key",
            shown(provider)
        );
        let reason = settings.reason(&["providers", provider], why);
        let reason = reason.help("say it in the global settings");
        return Err(StartupError::unavailable(reason));
    }
    let key = environment.var(variable).unwrap_or_default();
    if !key.trim().is_empty() {
        return Ok(Some(key));
    }
    let variable = shown(variable);
    let why = format!(
        "the variable {variable}, which holds the key of `{}`, is not set",
        shown(provider)
    );
    let named = own.is_some_and(|own| own.api_key_env.is_some());
    let reason = match named {
        true => settings.reason(&["providers", provider, "api_key_env"], why),
        false => Reason::new(why),
    };
    Err(StartupError::unavailable(Reason {
        variable: Some(variable.clone()),
        ..reason.help(format!("set {variable} before you start"))
    }))
}

/// Whether the selection as it is configured now could authenticate. Reads settings and environment
/// again; refreshes nothing and asks nobody.
///
/// # Errors
/// When settings or credentials can't be read.
pub(crate) fn provider_ready(environment: &Environment) -> Result<bool, StartupError> {
    let redactor = environment.redactor();
    let ready = || {
        let home = environment.home_as_it_is()?;
        let settings = environment.settings(&home, &environment.cwd)?;
        home.accounts().check()?;
        Ok(credential(&settings, environment, &settings.provider).is_ok())
    };
    ready().map_err(|error: StartupError| error.redacted(&redactor))
}

#[cfg(test)]
mod tests;
