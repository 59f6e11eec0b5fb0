//! Selection: the configured provider and model, as far as this build has them, and whether they
//! could authenticate. Asks nobody and refreshes nothing.

use std::sync::{Arc, Mutex, PoisonError};

use provider::{
    Api, BuildError, FIXTURE_ID, FIXTURE_MODEL, Fixture, Provider, ProviderConfig, Secret,
    ThinkingLevel,
};
use store::settings::{ProviderSettings, Settings};

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
const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
/// Most providers that are kept for the next turn.
const MAX_KEPT: usize = 4;

/// The providers behind a network that were selected last: turns share their connections.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<(ProviderConfig, Arc<dyn Provider>)>>);

impl Kept {
    fn build(&self, config: ProviderConfig) -> Result<Arc<dyn Provider>, StartupError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(known, _)| *known == config) {
            let found = kept.remove(at);
            let provider = Arc::clone(&found.1);
            kept.push(found);
            return Ok(provider);
        }
        let provider = provider::build(&config).map_err(|error| match error {
            BuildError::BaseUrlMissing | BuildError::BaseUrlInvalid | BuildError::Script(_) => {
                StartupError::ConfigurationInvalid
            }
            BuildError::NotLinked | BuildError::KeyInvalid | BuildError::Client => {
                StartupError::ProviderUnavailable
            }
        })?;
        if kept.len() == MAX_KEPT {
            kept.remove(0);
        }
        kept.push((config, Arc::clone(&provider)));
        Ok(provider)
    }
}

/// What the settings select, as far as this build has it.
pub(crate) fn select(
    settings: &Settings,
    environment: &Environment,
    kept: &Kept,
) -> Result<Selected, StartupError> {
    let model = settings
        .model
        .as_deref()
        .ok_or(StartupError::ProviderUnavailable)?;
    let choice = Choice::of(&settings.provider, model, settings.thinking_level);
    select_choice(settings, environment, kept, choice)
}

/// A choice under these settings, whatever they select themselves. Blocks: a script or the system's
/// certificates may be read.
pub(crate) fn select_choice(
    settings: &Settings,
    environment: &Environment,
    kept: &Kept,
    choice: Choice,
) -> Result<Selected, StartupError> {
    let provider = if choice.provider == FIXTURE_ID {
        fixture(settings, &choice.model)?
    } else {
        kept.build(remote(settings, environment, &choice)?)?
    };
    Ok(Selected {
        provider,
        choice,
        fast: settings.fast,
    })
}

fn fixture(settings: &Settings, model: &str) -> Result<Arc<dyn Provider>, StartupError> {
    let fixture = settings.providers.get(FIXTURE_ID);
    let configured = fixture.is_some_and(|fixture| fixture.model(model).is_some());
    if model != FIXTURE_MODEL && !configured {
        return Err(StartupError::ProviderUnavailable);
    }
    let script = fixture.and_then(|fixture| fixture.script.as_deref());
    Ok(Arc::new(match script {
        None => Fixture::demonstration(),
        Some(path) => Fixture::from_script(path).map_err(|_| StartupError::ConfigurationInvalid)?,
    }))
}

/// The configuration of a provider behind a network.
fn remote(
    settings: &Settings,
    environment: &Environment,
    choice: &Choice,
) -> Result<ProviderConfig, StartupError> {
    let own = settings.providers.get(&choice.provider);
    let built_in = choice.provider == ANTHROPIC_ID;
    let api = match own.and_then(|own| own.api) {
        // A built-in provider has its wire.
        Some(api) if built_in && api != Api::Anthropic => {
            return Err(StartupError::ConfigurationInvalid);
        }
        // The offline provider has one name only.
        None | Some(Api::Fixture) if !built_in => return Err(StartupError::ProviderUnavailable),
        Some(api) => api,
        None => Api::Anthropic,
    };
    // A list of models says which there are; without one the server knows.
    let listed =
        |own: &ProviderSettings| own.models.is_empty() || own.model(&choice.model).is_some();
    if !built_in && !own.is_none_or(listed) {
        return Err(StartupError::ProviderUnavailable);
    }
    let key = credential(settings, environment, &choice.provider)
        .ok_or(StartupError::ProviderUnavailable)?;
    Ok(ProviderConfig {
        id: choice.provider.clone(),
        api,
        base_url: own.and_then(|own| own.base_url.clone()),
        key: key.map(Secret::new),
        script: None,
    })
}

/// What `provider` authenticates with: `Some(None)` if it needs nothing, `None` if that is not there.
fn credential<'a>(
    settings: &Settings,
    environment: &'a Environment,
    provider: &str,
) -> Option<Option<&'a str>> {
    if provider == FIXTURE_ID {
        return Some(None);
    }
    let own = settings.providers.get(provider);
    let named = own.and_then(|own| own.api_key_env.as_deref());
    let variable = match named {
        _ if provider != ANTHROPIC_ID && own.is_none_or(|own| own.api.is_none()) => return None,
        Some(variable) => variable,
        None if provider == ANTHROPIC_ID => ANTHROPIC_KEY,
        // A custom provider says where its key is, or that it needs none.
        None => return Some(None),
    };
    if own.is_some_and(|own| own.placed_by_project) {
        return None;
    }
    let key = environment.var(variable)?;
    (!key.trim().is_empty()).then_some(Some(key))
}

/// Whether the selection as it is configured now could authenticate. Reads settings and environment
/// again; refreshes nothing and asks nobody.
pub(crate) fn provider_ready(environment: &Environment) -> Result<bool, StartupError> {
    let home = environment.home()?;
    let settings = Settings::load(&home, &environment.cwd, environment.overrides())
        .map_err(|_| StartupError::ConfigurationInvalid)?;
    store::auth::check(&home).map_err(|_| StartupError::Failed)?;
    Ok(credential(&settings, environment, &settings.provider).is_some())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use store::settings::Overrides;

    use super::*;

    fn settings(provider: &str, own: Option<ProviderSettings>) -> Settings {
        let empty = tempfile::tempdir().unwrap();
        let overrides = Overrides {
            provider: Some(provider),
            model: Some("m"),
        };
        let mut settings = Settings::load(empty.path(), empty.path(), overrides).unwrap();
        settings
            .providers
            .extend(own.map(|own| (provider.to_owned(), own)));
        settings
    }

    fn environment(vars: &[(&str, &str)]) -> Environment {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Environment {
            vars: vars.iter().map(own).collect(),
            ..Environment::default()
        }
    }

    fn own(api: Option<Api>, key: Option<&str>) -> Option<ProviderSettings> {
        Some(ProviderSettings {
            api,
            base_url: Some("http://127.0.0.1:9".into()),
            api_key_env: key.map(str::to_owned),
            ..ProviderSettings::default()
        })
    }

    #[test]
    fn a_provider_is_ready_exactly_if_its_key_is_there_or_not_needed() {
        let chat = Some(Api::OpenaiChat);
        for (provider, own, vars, expected) in [
            ("fixture", None, vec![], Some(None)),
            ("anthropic", None, vec![], None),
            ("anthropic", None, vec![("ANTHROPIC_API_KEY", " ")], None),
            (
                "anthropic",
                None,
                vec![("ANTHROPIC_API_KEY", "k")],
                Some(Some("k")),
            ),
            (
                "anthropic",
                own(None, Some("MINE")),
                vec![("ANTHROPIC_API_KEY", "k")],
                None,
            ),
            (
                "anthropic",
                own(None, Some("MINE")),
                vec![("MINE", "k")],
                Some(Some("k")),
            ),
            ("mine", None, vec![("ANTHROPIC_API_KEY", "k")], None),
            ("mine", own(None, Some("MINE")), vec![("MINE", "k")], None),
            ("mine", own(chat, None), vec![], Some(None)),
            ("mine", own(chat, Some("MINE")), vec![], None),
            (
                "mine",
                own(chat, Some("MINE")),
                vec![("MINE", "k")],
                Some(Some("k")),
            ),
        ] {
            let environment = environment(&vars);
            let settings = settings(provider, own);
            let found = credential(&settings, &environment, provider);
            assert_eq!(found, expected, "{provider} {vars:?}");
            // Selecting agrees, as far as the build has the wire.
            let selected = select(&settings, &environment, &Kept::default());
            if cfg!(feature = "providers") && provider != FIXTURE_ID {
                assert_eq!(selected.is_ok(), found.is_some(), "{provider} {vars:?}");
            } else {
                assert!(selected.is_err(), "{provider}");
            }
        }
    }

    #[test]
    fn no_key_goes_where_a_project_says() {
        let environment = environment(&[("ANTHROPIC_API_KEY", "k"), ("MINE", "k")]);
        for (provider, key, expected) in [
            ("anthropic", None, None),
            ("mine", Some("MINE"), None),
            ("mine", None, Some(None)),
        ] {
            let mut own = own(Some(Api::OpenaiChat), key).unwrap();
            own.placed_by_project = true;
            let settings = settings(provider, Some(own));
            let found = credential(&settings, &environment, provider);
            assert_eq!(found, expected, "{provider}");
        }
    }

    #[test]
    fn a_list_of_models_is_the_whole_of_a_custom_provider() {
        let models = |provider: &str, models: &[&str]| {
            let mut own = own(Some(Api::Anthropic), None).unwrap();
            own.models = models.iter().map(|&model| model.into()).collect();
            let settings = settings(provider, Some(own));
            let environment = environment(&[("ANTHROPIC_API_KEY", "k")]);
            let choice = Choice::of(provider, "m", ThinkingLevel::Default);
            remote(&settings, &environment, &choice).map(|config| config.id)
        };
        assert_eq!(models("mine", &[]), Ok("mine".to_owned()));
        assert_eq!(models("mine", &["x", "m"]), Ok("mine".to_owned()));
        assert_eq!(
            models("mine", &["x"]),
            Err(StartupError::ProviderUnavailable)
        );
        assert_eq!(models("anthropic", &["x"]), Ok("anthropic".to_owned()));
    }

    #[cfg(feature = "providers")]
    #[test]
    fn the_same_configuration_is_built_once() {
        let kept = Kept::default();
        let build = |model: &str, key: &str| {
            let settings = settings("mine", own(Some(Api::OpenaiChat), Some("MINE")));
            let environment = environment(&[("MINE", key)]);
            let choice = Choice::of("mine", model, ThinkingLevel::Default);
            select_choice(&settings, &environment, &kept, choice)
                .unwrap()
                .provider
        };
        let first = build("m", "k");
        assert!(Arc::ptr_eq(&first, &build("other model", "k")));
        assert!(!Arc::ptr_eq(&first, &build("m", "another key")));
        assert!(Arc::ptr_eq(&first, &build("m", "k")));
        for at in 0..10 {
            build("m", &at.to_string());
        }
        assert_eq!(kept.0.lock().unwrap().len(), MAX_KEPT);
    }
}
