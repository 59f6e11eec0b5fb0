//! Selection: the configured provider and model, as far as this build has them, and whether they
//! could authenticate. Asks nobody and refreshes nothing.

use std::sync::Arc;

use provider::{FIXTURE_ID, FIXTURE_MODEL, Fixture, Provider};
use store::settings::Settings;

use super::{Environment, StartupError};

/// A provider and one of its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) provider: String,
    pub(crate) model: String,
}

pub(super) struct Selected {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) selection: Selection,
    pub(super) models: Vec<String>,
}

/// The selected provider and model, as far as this build has them.
pub(super) fn select(settings: &Settings) -> Result<Selected, StartupError> {
    let model = settings
        .model
        .clone()
        .filter(|_| settings.provider == FIXTURE_ID)
        .ok_or(StartupError::ProviderUnavailable)?;
    let fixture = settings.providers.get(FIXTURE_ID);
    let mut models = vec![FIXTURE_MODEL.to_owned()];
    models.extend(fixture.iter().flat_map(|fixture| fixture.models.clone()));
    if !models.contains(&model) {
        return Err(StartupError::ProviderUnavailable);
    }
    let script = fixture.and_then(|fixture| fixture.script.as_deref());
    let provider = match script {
        None => Fixture::demonstration(),
        Some(path) => Fixture::from_script(path).map_err(|_| StartupError::ConfigurationInvalid)?,
    };
    Ok(Selected {
        provider: Arc::new(provider),
        selection: Selection {
            provider: settings.provider.clone(),
            model,
        },
        models,
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
