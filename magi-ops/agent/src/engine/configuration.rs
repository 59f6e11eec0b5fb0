//! What is selected, as a frontend or a person asks for it and changes it: the effect of all layers, and which changes are
//! accepted. Files and catalogs are others' matter.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use catalog::{State, is_shown};
use provider::nearest_level;
use store::Home;
use store::settings::{Change, EditError, Scope, Seen, Settings, ThinkingLevel};
use tokio_util::sync::CancellationToken;

use super::Engine;
use crate::error::{ConfigurationErrorKind as Kind, EngineError, ErrorKind};
use crate::startup::{Catalogs, Environment, Guidance, Workspace, named_keys};

const WITHOUT_MODEL: &str = "a provider is selected without a model";

/// What all layers of settings select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Follows the grammar of ids that are shown.
    pub provider: String,
    /// As the provider.
    pub model: String,
    /// What is saved.
    pub configured_level: ThinkingLevel,
    /// What that comes to for the model.
    pub level: ThinkingLevel,
    /// Those that the model has; the default first, at most six.
    pub levels: Vec<ThinkingLevel>,
    pub fast: bool,
    /// Whether the project of the working directory can have settings of its own.
    pub has_project: bool,
}

impl Engine {
    /// The selection as settings and environment stand now, and as the primary agent of `workspace` has it. Blocks on small
    /// reads.
    ///
    /// # Errors
    /// [`Kind::Unreadable`] when settings can't be used, or select what may not be shown.
    pub fn configuration(
        &self,
        workspace: Option<&Workspace>,
    ) -> Result<Configuration, EngineError> {
        let guidance = workspace.map(|workspace| &workspace.guidance);
        configuration_of(&self.environment, &self.services()?.home, guidance)
    }

    /// See [`configure`].
    ///
    /// # Errors
    /// Those of [`configure`].
    pub fn configure(
        &self,
        workspace: Option<&Workspace>,
        scope: Scope,
        change: &Change,
    ) -> Result<Configuration, EngineError> {
        let guidance = workspace.map(|workspace| &workspace.guidance);
        let home = &self.services()?.home;
        configure_in(&self.environment, home, guidance, scope, change)
    }
}

/// The selection as settings and environment stand now. Makes no home. Blocks on small reads.
///
/// # Errors
/// [`Kind::Unreadable`] when settings can't be used, or select what may not be shown.
pub fn configuration(environment: &Environment) -> Result<Configuration, EngineError> {
    let home: Arc<dyn Home> = Arc::new(environment.home_as_it_is().map_err(unreadable)?);
    let guidance = guidance_now(environment, &*home);
    configuration_of(environment, &home, guidance.as_ref())
}

fn configuration_of(
    environment: &Environment,
    home: &Arc<dyn Home>,
    guidance: Option<&Guidance>,
) -> Result<Configuration, EngineError> {
    let cwd = environment.canonical_cwd().map_err(unreadable)?;
    let settings = environment.settings(&**home, &cwd).map_err(unreadable)?;
    let settings = chosen(environment, guidance, settings);
    let catalogs = catalogs(environment, Arc::clone(home));
    projected(&catalogs, environment, &settings, &cwd)
}

/// What instructs a model, as it lies there now. Where it can't be used no run starts, and nothing of it counts here.
fn guidance_now(environment: &Environment, home: &dyn Home) -> Option<Guidance> {
    let cwd = environment.canonical_cwd().ok()?;
    let settings = environment.settings(home, &cwd).ok()?;
    let (never, mut notices) = (CancellationToken::new(), Vec::new());
    Guidance::load(home, &cwd, &settings, environment, &never, &mut notices)
        .inspect_err(|error| tracing::info!(%error, "no profile chooses the model"))
        .ok()
}

/// Settings with the model that the primary agent's profile chooses over the files.
fn chosen(
    environment: &Environment,
    guidance: Option<&Guidance>,
    mut settings: Settings,
) -> Settings {
    if let Some(guidance) = guidance {
        guidance.choose_model(&mut settings, environment);
    }
    settings
}

/// Changes what is selected and says what that comes to. A selection without a level takes the default one. The whole change
/// and its effect are judged before anything is written; a new selection or level needs a catalog of the provider's models
/// that still holds, and a selection for every directory has to be one there. Blocks, for seconds where other processes
/// change the settings too.
///
/// # Errors
/// A [`Kind`] but [`Kind::Refresh`], or what is wrong with the home; then nothing is changed.
pub fn configure(
    environment: &Environment,
    scope: Scope,
    change: &Change,
) -> Result<Configuration, EngineError> {
    let home = environment.home().map_err(unwritable)?;
    let guidance = guidance_now(environment, &*home);
    configure_in(environment, &home, guidance.as_ref(), scope, change)
}

fn configure_in(
    environment: &Environment,
    home: &Arc<dyn Home>,
    guidance: Option<&Guidance>,
    scope: Scope,
    change: &Change,
) -> Result<Configuration, EngineError> {
    if scope == Scope::Project && change.fast.is_some() {
        return Err(Kind::Scope.because("`fast` belongs to the person's settings"));
    }
    let change = &Change {
        thinking_level: change
            .thinking_level
            .or(change.selection.is_some().then_some(ThinkingLevel::Default)),
        ..change.clone()
    };
    let cwd = environment.canonical_cwd().map_err(unreadable)?;
    let catalogs = catalogs(environment, Arc::clone(home));
    let tools = tools::registered_names();
    let seen = Seen {
        env: environment.overrides(),
        tools: &tools,
    };
    let mut accept = |effect: &Settings, elsewhere: Option<&Settings>| {
        environment
            .redactor()
            .learn(named_keys(effect, environment));
        let effect = chosen(environment, guidance, effect.clone());
        selectable(&catalogs, &effect, change)?;
        if let (Some((provider, model)), Some(elsewhere)) = (&change.selection, elsewhere) {
            selectable_elsewhere(&catalogs, elsewhere, provider, model)?;
        }
        projected(&catalogs, environment, &effect, &cwd)?;
        Ok(())
    };
    let effect = home
        .settings()
        .change(&cwd, scope, change, seen, &mut accept)
        .map_err(unwritten)?;
    let effect = chosen(environment, guidance, effect);
    projected(&catalogs, environment, &effect, &cwd)
}

pub(super) fn catalogs(environment: &Environment, home: Arc<dyn Home>) -> Catalogs {
    Catalogs {
        home,
        redactor: environment.redactor(),
        now: SystemTime::now,
    }
}

/// Whether the models that `change` is about can be selected and have its level, under the settings as they will be.
fn selectable(catalogs: &Catalogs, effect: &Settings, change: &Change) -> Result<(), EngineError> {
    if change.selection.is_none() && change.thinking_level.is_none() {
        return Ok(());
    }
    let effective = || Some((effect.provider.as_str(), effect.model.as_deref()?));
    let wanted = change.selection.as_ref();
    let wanted = wanted.map(|(provider, model)| (provider.as_str(), model.as_str()));
    let (provider, model) = wanted
        .or_else(effective)
        .ok_or_else(|| Kind::Unreadable.because(WITHOUT_MODEL))?;
    let catalog = catalogs
        .catalog(effect, provider)
        .ok_or_else(|| Kind::Selection.because("there is no such provider"))?;
    let entry = match catalog.state() {
        State::Unavailable => return Err(ErrorKind::from(Kind::CatalogUnavailable).into()),
        State::Stale => return Err(ErrorKind::from(Kind::CatalogStale).into()),
        State::Fresh => catalog.model(model).filter(|model| model.available),
    };
    let entry =
        entry.ok_or_else(|| Kind::Selection.because("the provider offers no such model"))?;
    match change.thinking_level {
        Some(level) if !entry.thinking_levels.contains(&level) => {
            Err(ErrorKind::from(Kind::Thinking).into())
        }
        _ => Ok(()),
    }
}

/// Whether a selection is one where no project adds to the person's settings. A catalog that does not hold for those, since
/// this project says where the provider is, tells nothing; their own list of models does.
fn selectable_elsewhere(
    catalogs: &Catalogs,
    elsewhere: &Settings,
    provider: &str,
    model: &str,
) -> Result<(), EngineError> {
    let catalog = catalogs.catalog(elsewhere, provider);
    let is_offered = catalog.is_some_and(|catalog| match catalog.state() {
        State::Fresh => catalog.model(model).is_some_and(|model| model.available),
        State::Stale | State::Unavailable => elsewhere.offers(provider, model),
    });
    match is_offered {
        true => Ok(()),
        false => Err(Kind::Selection.because("only this project has this provider or model")),
    }
}

fn projected(
    catalogs: &Catalogs,
    environment: &Environment,
    settings: &Settings,
    cwd: &Path,
) -> Result<Configuration, EngineError> {
    let redactor = &catalogs.redactor;
    redactor.learn(named_keys(settings, environment));
    let provider = settings.provider.clone();
    let model = settings.model.clone();
    let model = model.ok_or_else(|| Kind::Unreadable.because(WITHOUT_MODEL))?;
    if !is_shown(&provider, redactor) || !is_shown(&model, redactor) {
        return Err(
            Kind::Unreadable.because("the selected provider or model has a name that is not shown")
        );
    }
    let levels = catalogs.levels(settings, &provider, &model);
    Ok(Configuration {
        level: nearest_level(&levels, settings.thinking_level),
        configured_level: settings.thinking_level,
        fast: settings.fast,
        has_project: catalogs.home.settings().has_project(cwd),
        provider,
        model,
        levels,
    })
}

pub(super) fn unreadable(error: impl Error + Send + Sync + 'static) -> EngineError {
    EngineError::caused(Kind::Unreadable.into(), error)
}

fn unwritable(error: impl Error + Send + Sync + 'static) -> EngineError {
    EngineError::caused(Kind::Unwritten.into(), error)
}

/// What was behind a change that was not made.
fn unwritten(error: EditError) -> EngineError {
    match error {
        EditError::Effect(error) => unreadable(*error),
        error @ EditError::NoProject(_) => EngineError::caused(Kind::Scope.into(), error),
        EditError::Refused(why) => match why.downcast::<EngineError>() {
            Ok(own) => *own,
            Err(other) => EngineError::caused(Kind::Unwritten.into(), other),
        },
        error => unwritable(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use provider::{Discovered, DiscoveredModel};
    use store::LocalHome;

    use super::*;
    use crate::startup::source;

    #[test]
    fn only_a_catalog_that_holds_says_what_can_be_selected() {
        let dir = tempfile::tempdir().unwrap();
        let environment = Environment {
            cwd: dir.path().to_owned(),
            mc_home: Some(dir.path().join("home")),
            ..Environment::default()
        };
        let home = Arc::new(LocalHome::prepare(&dir.path().join("home")).unwrap());
        let written = r#"{"provider":"mine","model":"off","providers":{
            "mine":{"api":"openai-chat","base_url":"http://127.0.0.1:9/v1"}}}"#;
        std::fs::write(dir.path().join("home/settings.json"), written).unwrap();
        let settings = environment.settings(&*home, dir.path()).unwrap();
        let mut catalogs = catalogs(&environment, home);
        let selection = |provider: &str, model: &str| Change {
            selection: Some((provider.to_owned(), model.to_owned())),
            ..Change::default()
        };
        let level = Change {
            thinking_level: Some(ThinkingLevel::Low),
            ..Change::default()
        };
        let why = |catalogs: &Catalogs, change: &Change| {
            let refused = selectable(catalogs, &settings, change).map_err(|error| error.kind());
            refused.err()
        };
        let missing = Some(ErrorKind::from(Kind::CatalogUnavailable));
        assert_eq!(why(&catalogs, &selection("mine", "m")), missing);
        assert_eq!(why(&catalogs, &level), missing);

        let model = |id: &str, disabled: bool| DiscoveredModel {
            id: id.to_owned(),
            disabled,
            thinking_levels: Some(vec![ThinkingLevel::High]),
            ..DiscoveredModel::default()
        };
        let models = vec![model("m", false), model("off", true)];
        let said = Discovered::Models { models, etag: None };
        let mine = source(&settings, "mine").unwrap();
        let then = SystemTime::UNIX_EPOCH;
        catalog::keep(
            catalogs.home.catalogs(),
            &mine,
            &catalogs.redactor,
            then,
            said,
        )
        .unwrap();
        let stale = Some(ErrorKind::from(Kind::CatalogStale));
        assert_eq!(why(&catalogs, &selection("mine", "m")), stale);
        assert_eq!(why(&catalogs, &level), stale);
        assert_eq!(
            why(
                &catalogs,
                &Change {
                    fast: Some(true),
                    ..Change::default()
                }
            ),
            None
        );

        catalogs.now = || SystemTime::UNIX_EPOCH;
        assert_eq!(why(&catalogs, &selection("mine", "m")), None);
        let unknown = Some(ErrorKind::from(Kind::Selection));
        for wrong in [
            selection("mine", "off"),
            selection("mine", "n"),
            selection("no", "m"),
        ] {
            assert_eq!(why(&catalogs, &wrong), unknown, "{wrong:?}");
        }
        // The selected one is off.
        assert_eq!(why(&catalogs, &level), unknown);
        let both = |level| Change {
            thinking_level: Some(level),
            ..selection("mine", "m")
        };
        assert_eq!(why(&catalogs, &both(ThinkingLevel::High)), None);
        let other = Some(ErrorKind::from(Kind::Thinking));
        assert_eq!(why(&catalogs, &both(ThinkingLevel::Low)), other);
    }
}
