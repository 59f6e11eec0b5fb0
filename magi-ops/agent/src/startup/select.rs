//! Selection: the configured provider and model, as far as this build has them, and whether they
//! could authenticate. Asks nobody and refreshes nothing.

use std::sync::Arc;

use provider::{FIXTURE_ID, FIXTURE_MODEL, Fixture, Provider, ThinkingLevel};
use store::settings::Settings;

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
) -> Result<Selected, StartupError> {
    let model = settings
        .model
        .as_deref()
        .ok_or(StartupError::ProviderUnavailable)?;
    let choice = Choice::of(&settings.provider, model, settings.thinking_level);
    select_choice(settings, environment, choice)
}

/// A choice under these settings, whatever they select themselves.
pub(crate) fn select_choice(
    settings: &Settings,
    _environment: &Environment,
    choice: Choice,
) -> Result<Selected, StartupError> {
    if choice.provider != FIXTURE_ID {
        return Err(StartupError::ProviderUnavailable);
    }
    let fixture = settings.providers.get(FIXTURE_ID);
    let configured = fixture.is_some_and(|fixture| fixture.models.contains(&choice.model));
    if choice.model != FIXTURE_MODEL && !configured {
        return Err(StartupError::ProviderUnavailable);
    }
    let script = fixture.and_then(|fixture| fixture.script.as_deref());
    let provider = match script {
        None => Fixture::demonstration(),
        Some(path) => Fixture::from_script(path).map_err(|_| StartupError::ConfigurationInvalid)?,
    };
    Ok(Selected {
        provider: Arc::new(provider),
        choice,
        fast: settings.fast,
    })
}

/// Whether the selection as it is configured now could authenticate. Reads settings and environment
/// again; refreshes nothing and asks nobody.
pub(crate) fn provider_ready(environment: &Environment) -> Result<bool, StartupError> {
    let home = environment.home()?;
    let settings = Settings::load(&home, &environment.cwd, environment.overrides())
        .map_err(|_| StartupError::ConfigurationInvalid)?;
    store::auth::check(&home).map_err(|_| StartupError::Failed)?;
    Ok(has_credential(&settings, environment))
}

/// Whether the selection has what it needs to authenticate, whatever this build can do with it.
fn has_credential(settings: &Settings, environment: &Environment) -> bool {
    let filled = |name: &str| environment.var(name).is_some_and(|value| !value.is_empty());
    match (
        settings.provider.as_str(),
        settings.providers.get(&settings.provider),
    ) {
        (FIXTURE_ID, _) => true,
        ("anthropic", _) => filled("ANTHROPIC_API_KEY"),
        // A custom provider says where its key is, or that it needs none.
        (_, Some(custom)) if custom.api.is_some() => {
            custom.api_key_env.as_deref().is_none_or(filled)
        }
        _ => false,
    }
}
