//! Selection: the configured provider and model, as far as this build has them, and whether they
//! could authenticate. Asks nobody and refreshes nothing.

use std::sync::Arc;

use provider::{
    Api, BuildError, FIXTURE_ID, FIXTURE_MODEL, Fixture, ModelLimits, Provider, ProviderConfig,
    ThinkingLevel,
};
use store::settings::{BUILT_IN, ProviderSettings, Settings};
use store::{AccountError, Home, Reason, did_you_mean, listed, near_miss, shown, shown_path};

use super::cache::{Login, ProviderCache, Remote};
use super::credential::{Lack, find};
#[cfg(feature = "providers")]
use super::described::CODEX_ID;
use super::described::{built_in_api, key_variable, limits};
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
    /// Share of the model's window that a conversation may fill, above 0 and at most 1.
    pub(crate) compaction_threshold: f64,
}

impl Selected {
    /// The same with another thinking level.
    pub(crate) fn with_thinking(&self, thinking: ThinkingLevel) -> Self {
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

/// What the settings select, as far as this build has it.
pub(crate) fn select(
    settings: &Settings,
    environment: &Environment,
    providers: &ProviderCache,
) -> Result<Selected, StartupError> {
    let provider = settings.provider.as_str();
    // Told before the model: a provider that there is not has none.
    known(settings, provider).map_err(|error| match settings.providers.contains_key(provider) {
        true => with_the_rest(error, settings, environment, providers, provider),
        false => error,
    })?;
    let model = settings.model.as_deref().ok_or_else(|| {
        let why = format!("`{}` is selected without a model", shown(provider));
        let help = "set `model` in the settings, or MC_MODEL";
        let error = StartupError::unavailable(settings.reason(&["provider"], why).help(help));
        with_the_rest(error, settings, environment, providers, provider)
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
        let config = remote(settings, environment, providers, &choice)?;
        providers
            .build(config)
            .map_err(|error| unbuilt(settings, &choice.provider, &error))?
    };
    Ok(Selected {
        provider,
        choice,
        fast: settings.fast,
        compaction_threshold: settings.compaction_threshold,
    })
}

/// What an address looks like.
const ADDRESS: &str = "write `http` or `https`, a host, and no user name or password";
/// What that of an issuer looks like: paths are added to it.
const ISSUER: &str =
    "write `http` or `https`, a host, and no user name, password, query or fragment";

pub(super) fn unbuilt(settings: &Settings, id: &str, error: &BuildError) -> StartupError {
    let about = |member: &str| settings.reason(&["providers", id, member], error.to_string());
    match error {
        BuildError::BaseUrlMissing => {
            let help = format!("set `providers.{}.base_url`", shown(id));
            StartupError::invalid(about("base_url").help(help))
        }
        BuildError::BaseUrlInvalid => StartupError::invalid(about("base_url").help(ADDRESS)),
        BuildError::IssuerUrlInvalid => StartupError::invalid(about("issuer_url").help(ISSUER)),
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
        let config = ProviderConfig {
            id: id.clone(),
            api: built_in_api(id).or(own.api)?,
            base_url: own.base_url.clone(),
            models: ModelLimits::default(),
        };
        let login = Login::Nothing;
        match providers.build(Remote { config, login }) {
            Err(error @ (BuildError::BaseUrlInvalid | BuildError::BaseUrlOfOtherApi(_))) => {
                Some(unbuilt(settings, id, &error).reasons)
            }
            _ => None,
        }
    });
    unusable
        .flatten()
        .chain(unusable_issuer(settings))
        .collect()
}

/// Why nobody can log in by the address that the settings give, whatever is selected.
#[cfg(feature = "providers")]
fn unusable_issuer(settings: &Settings) -> Vec<Reason> {
    let url = settings.providers.get(CODEX_ID);
    let url = url.and_then(|own| own.issuer_url.as_deref());
    let error = url.and_then(|url| account::Issuer::new(Some(url)).err());
    let error = error.filter(|error| matches!(error, BuildError::IssuerUrlInvalid));
    error.map_or_else(Vec::new, |error| {
        unbuilt(settings, CODEX_ID, &error).reasons
    })
}

#[cfg(not(feature = "providers"))]
fn unusable_issuer(_: &Settings) -> Vec<Reason> {
    Vec::new()
}

fn fixture(settings: &Settings, model: &str) -> Result<Arc<dyn Provider>, StartupError> {
    let own = settings.providers.get(FIXTURE_ID);
    if model != FIXTURE_MODEL && own.and_then(|own| own.model(model)).is_none() {
        return Err(not_offered(settings, FIXTURE_ID, model));
    }
    let script = own.and_then(|own| own.script.as_deref());
    let fixture = match script {
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
    };
    let limits = own.map_or_else(ModelLimits::default, limits);
    Ok(Arc::new(fixture.limited(limits)))
}

/// A model that the provider's list doesn't have.
fn not_offered(settings: &Settings, provider: &str, model: &str) -> StartupError {
    let own = settings.providers.get(provider);
    let models = own.into_iter().flat_map(|own| &own.models);
    let mut offered: Vec<_> = models.map(|model| model.id.as_str()).collect();
    if provider == FIXTURE_ID {
        offered.insert(0, FIXTURE_MODEL);
    }
    let near = near_miss(model, offered.iter().copied());
    let why = format!(
        "`{}` offers no model `{}`{}",
        shown(provider),
        shown(model),
        did_you_mean(near)
    );
    let help = match offered.is_empty() {
        true => "name its models in `models`".to_owned(),
        // Without a selection it is what answers: who names a model wants another one.
        false if provider == FIXTURE_ID && near.is_none() => {
            let offered = listed(&offered);
            format!("name the model's provider in `provider`; the offline one has only {offered}")
        }
        false => format!("choose one of {}", listed(&offered)),
    };
    StartupError::unavailable(settings.reason(&["model"], why).help(help))
}

/// Whether a provider of that id is described at all.
fn known(settings: &Settings, id: &str) -> Result<(), StartupError> {
    let own = settings.providers.get(id);
    if BUILT_IN.contains(&id) {
        return Ok(());
    }
    let refused = |path: &[&str], why: &str, help: &str| {
        let reason = settings.reason(path, why).help(help);
        Err(StartupError::unavailable(reason))
    };
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
    providers: &ProviderCache,
    choice: &Choice,
) -> Result<Remote, StartupError> {
    let id = choice.provider.as_str();
    known(settings, id)?;
    let own = settings.providers.get(id);
    let built_in = built_in_api(id);
    let all = |error| with_the_rest(error, settings, environment, providers, id);
    let api = match (own.and_then(|own| own.api), built_in) {
        // A built-in provider has its wire.
        (Some(api), Some(built_in)) if api != built_in => {
            let word = match built_in {
                Api::Anthropic => "anthropic",
                _ => "openai-responses",
            };
            let why = format!("this built-in provider speaks no other wire than `{word}`");
            let reason = settings.reason(&["providers", id, "api"], why);
            let help = "give a server of your own another name";
            return Err(all(StartupError::invalid(reason.help(help))));
        }
        (own, built_in) => own.or(built_in).unwrap_or(Api::OpenaiChat),
    };
    // A list of models says which there are; without one the server knows.
    let listed =
        |own: &ProviderSettings| own.models.is_empty() || own.model(&choice.model).is_some();
    if built_in.is_none() && !own.is_none_or(listed) {
        return Err(all(not_offered(settings, id, &choice.model)));
    }
    let login = sendable_login(settings, environment, providers, id).map_err(all)?;
    let models = providers.catalogs.limits(settings, id, &choice.model);
    Ok(Remote {
        config: ProviderConfig {
            id: choice.provider.clone(),
            api,
            base_url: own.and_then(|own| own.base_url.clone()),
            models,
        },
        login,
    })
}

/// The same with everything else that keeps the provider from being used: one look tells all.
fn with_the_rest(
    error: StartupError,
    settings: &Settings,
    environment: &Environment,
    providers: &ProviderCache,
    id: &str,
) -> StartupError {
    if id == FIXTURE_ID {
        return error;
    }
    let own = settings.providers.get(id);
    let api = built_in_api(id).or(own.and_then(|own| own.api));
    let unbuilt = api.and_then(|api| {
        let config = ProviderConfig {
            id: id.to_owned(),
            api,
            base_url: own.and_then(|own| own.base_url.clone()),
            models: ModelLimits::default(),
        };
        let login = Login::Nothing;
        let built = providers.build(Remote { config, login });
        built.err().map(|error| unbuilt(settings, id, &error))
    });
    let login = sendable_login(settings, environment, providers, id).err();
    error.and(unbuilt).and(login)
}

/// What a provider, which is known, authenticates with, as far as a request can carry it, or why that is not there.
pub(super) fn sendable_login(
    settings: &Settings,
    environment: &Environment,
    providers: &ProviderCache,
    id: &str,
) -> Result<Login, StartupError> {
    let stored = || providers.account(id).map(|account| account.credential);
    let found = find(settings, environment, id, stored).map_err(unreadable)?;
    found.login.map_err(|lack| lacking(settings, id, lack))
}

/// What a person is told of a credential that is missing.
fn lacking(settings: &Settings, id: &str, lack: Lack) -> StartupError {
    let variable = key_variable(settings, id);
    let key = ["providers", id, "api_key_env"];
    let of_login = |why: &str| {
        let help = "log in again, or select another provider";
        settings.reason(&["provider"], why).help(help)
    };
    let reason = match lack {
        Lack::Placed => {
            let why = format!(
                "the project says where `{}` is, so it gets no key",
                shown(id)
            );
            let reason = settings.reason(&["providers", id], why);
            reason.help("say it in the global settings")
        }
        Lack::NoKey => {
            let variable = shown(variable.unwrap_or_default());
            let why = format!(
                "the variable {variable}, which holds the key of `{}`, is not set",
                shown(id)
            );
            let own = settings.providers.get(id);
            let reason = match own.is_some_and(|own| own.api_key_env.is_some()) {
                true => settings.reason(&key, why),
                false => Reason::new(why),
            };
            let reason = reason.help(format!("set {variable} before you start"));
            Reason {
                variable: Some(variable),
                ..reason
            }
        }
        Lack::UnsendableKey => Reason {
            variable: variable.map(str::to_owned),
            ..settings
                .reason(&key, "the provider's key cannot be sent")
                .help("set the variable to the key and nothing else")
        },
        Lack::NoLogin => of_login("`openai-codex` needs a login, and none is stored"),
        Lack::Ended => of_login("the login of `openai-codex` has ended"),
        Lack::UnsendableTokens => {
            of_login("the tokens that are stored for `openai-codex` cannot be sent")
        }
    };
    StartupError::unavailable(reason)
}

/// Credentials that can't be read are none to work with.
fn unreadable(error: AccountError) -> StartupError {
    StartupError::unavailable(error.into_reason())
}

/// Whether the selection as it is configured now could authenticate. Reads settings and environment
/// again; refreshes nothing and asks nobody.
///
/// # Errors
/// When settings or credentials can't be read.
pub(crate) fn provider_ready(environment: &Environment) -> Result<bool, StartupError> {
    let redactor = environment.redactor();
    let ready = || {
        let home: Arc<dyn Home> = Arc::new(environment.home_as_it_is()?);
        let settings = environment.settings(&*home, &environment.cwd)?;
        home.accounts().check()?;
        let providers = ProviderCache::new(redactor.clone(), home, None);
        let provider = &settings.provider;
        Ok(known(&settings, provider).is_ok()
            && sendable_login(&settings, environment, &providers, provider).is_ok())
    };
    ready().map_err(|error: StartupError| error.redacted(&redactor))
}

#[cfg(test)]
mod tests;
