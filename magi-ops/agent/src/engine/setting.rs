//! What a person changes by a key and a value, as `magi-code config` takes them: the same change, judged by the same rules.
//! What is said of a refusal is for people: with its reasons and what to do, redacted.

use std::sync::Arc;

use catalog::State;
use store::settings::{Change, EditError, Scope, Settings, SettingsError, ThinkingLevel};
use store::{Home, Reason, listed, shown};

use super::configuration::{Configuration, catalogs, configuration, configure, unreadable};
use crate::error::{ConfigurationErrorKind as Kind, EngineError, ErrorKind};
use crate::startup::{Catalogs, Environment, StartupError, choose, redacted};

/// What a person changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Another provider, with the model that is selected if it has that one, else with its only one.
    Provider(String),
    /// Another model of the provider that is selected, or of the one before a slash.
    Model(String),
    Level(ThinkingLevel),
    Fast(bool),
}

/// See [`configuration`]; what is wrong is told to a person.
///
/// # Errors
/// Everything that is wrong; at least one reason.
pub fn effective(environment: &Environment) -> Result<Configuration, Vec<Reason>> {
    configuration(environment).map_err(|error| told(environment, error, None))
}

/// See [`configure`]; what is wrong is told to a person.
///
/// # Errors
/// Everything that is wrong; at least one reason. Then nothing is changed.
pub fn set(
    environment: &Environment,
    scope: Scope,
    setting: &Setting,
) -> Result<Configuration, Vec<Reason>> {
    let change = match setting {
        Setting::Level(level) => Change {
            thinking_level: Some(*level),
            ..Change::default()
        },
        Setting::Fast(fast) => Change {
            fast: Some(*fast),
            ..Change::default()
        },
        Setting::Provider(_) | Setting::Model(_) => Change {
            selection: Some(selection(environment, setting)?),
            ..Change::default()
        },
    };
    configure(environment, scope, &change).map_err(|error| {
        let provider = match &change.selection {
            Some((provider, _)) => Some(provider.clone()),
            None => configuration(environment).ok().map(|now| now.provider),
        };
        told(environment, error, provider)
    })
}

/// The provider and the model that a setting comes to.
fn selection(
    environment: &Environment,
    setting: &Setting,
) -> Result<(String, String), Vec<Reason>> {
    let read = || {
        let home: Arc<dyn Home> = Arc::new(environment.home_as_it_is().map_err(unreadable)?);
        let cwd = environment.canonical_cwd().map_err(unreadable)?;
        let settings = environment.settings(&*home, &cwd).map_err(unreadable)?;
        Ok::<_, EngineError>((catalogs(environment, home), settings))
    };
    let (catalogs, settings) = read().map_err(|error| told(environment, error, None))?;
    let chosen = match setting {
        Setting::Provider(provider) => (
            provider.clone(),
            only_model(&catalogs, &settings, provider)?,
        ),
        Setting::Model(named) => {
            let chosen = choose(environment, named)?;
            let provider = chosen.provider.unwrap_or_else(|| settings.provider.clone());
            (provider, chosen.model)
        }
        Setting::Level(_) | Setting::Fast(_) => (settings.provider.clone(), String::new()),
    };
    Ok(chosen)
}

/// The model that is selected with a provider that is named alone.
fn only_model(
    catalogs: &Catalogs,
    settings: &Settings,
    provider: &str,
) -> Result<String, Vec<Reason>> {
    let selected = settings.model.clone().unwrap_or_default();
    let Some(catalog) = catalogs.catalog(settings, provider) else {
        let all = catalogs.providers(settings);
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        let why = format!("no provider is called `{}`", shown(provider));
        let help = format!(
            "choose one of {}, or describe it under `providers`",
            listed(&all)
        );
        return Err(vec![Reason::new(why).help(help)]);
    };
    if catalog.state() != State::Fresh {
        // Told with what to do about it, once it is judged.
        return Ok(selected);
    }
    let is_available = |id: &str| catalog.model(id).is_some_and(|model| model.available);
    if is_available(&selected) {
        return Ok(selected);
    }
    let models = catalog.models(0..catalog.len());
    let mut models: Vec<_> = models.iter().filter(|model| model.available).collect();
    match (models.pop(), models.is_empty()) {
        (Some(only), true) => Ok(only.id.clone()),
        _ => {
            let provider = shown(provider);
            let why = format!("`{provider}` has more than one model, and none of them is selected");
            let help = format!(
                "name one: `magi-code config set model {provider}/MODEL`; `magi-code models {provider}` lists them"
            );
            Err(vec![Reason::new(why).help(help)])
        }
    }
}

/// What was behind an error, for a person.
fn told(environment: &Environment, error: EngineError, provider: Option<String>) -> Vec<Reason> {
    let provider = provider.map_or_else(|| "PROVIDER".to_owned(), |provider| shown(&provider));
    let help = match error.kind() {
        ErrorKind::Configuration(Kind::CatalogUnavailable | Kind::CatalogStale) => {
            Some(format!("run `magi-code models --refresh {provider}`"))
        }
        ErrorKind::Configuration(Kind::Selection | Kind::Thinking) => Some(format!(
            "`magi-code models {provider}` lists what there is, and `magi-code config get` the levels of the model that is selected"
        )),
        ErrorKind::Configuration(Kind::Scope) => Some("use `--scope global`".to_owned()),
        _ => None,
    };
    let whole = Reason {
        help,
        ..Reason::new(error.reason())
    };
    let reasons = match error.into_source() {
        None => vec![whole],
        Some(source) => match source.downcast::<SettingsError>() {
            Ok(settings) => settings.into_reasons(),
            Err(source) => match source.downcast::<EditError>() {
                Ok(edit) => edit.into_reasons(),
                Err(source) => match source.downcast::<StartupError>() {
                    Ok(startup) => startup.reasons,
                    Err(_) => vec![whole],
                },
            },
        },
    };
    redacted(reasons, &environment.redactor())
}
