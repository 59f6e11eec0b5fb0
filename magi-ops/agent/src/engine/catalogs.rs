//! Which providers and models there are, as a frontend or a person asks for them; and the one place where a server is asked
//! for its models because somebody wants it. What a catalog holds is `catalog`'s matter.

use std::sync::Arc;

use catalog::{Catalog, State};

use super::Engine;
use crate::error::{ConfigurationErrorKind as Kind, EngineError};
use crate::startup::{Question, Services};

/// What asking a provider's server came to.
#[derive(Debug)]
pub struct Refreshed {
    /// Of the catalog as it is now.
    pub state: State,
    /// Why it is the one from before, if it is.
    pub failure: Option<EngineError>,
}

impl Engine {
    /// The ids of all providers, sorted, each once, as the settings of this process's directory stand now. Blocks on small
    /// reads.
    ///
    /// # Errors
    /// [`Kind::Unreadable`] when the settings can't be used.
    pub fn providers(&self) -> Result<Vec<String>, EngineError> {
        let services = self.services_until(&self.cancel)?;
        let settings = services.settings_now(&self.environment.canonical_cwd()?)?;
        Ok(services.providers.catalogs.providers(&settings))
    }

    /// The provider that is selected now, whether it can answer or not. Blocks on small reads.
    ///
    /// # Errors
    /// [`Kind::Unreadable`] when the settings can't be used.
    pub fn selected_provider(&self) -> Result<String, EngineError> {
        let services = self.services_until(&self.cancel)?;
        let settings = services.settings_now(&self.environment.canonical_cwd()?)?;
        Ok(settings.provider)
    }

    /// Why something failed, for a person: [`EngineError::reason`] without secrets.
    #[must_use]
    pub fn shown_reason(&self, error: &EngineError) -> String {
        let redactor = self
            .services
            .get()
            .map(|services| services.redactor.clone());
        let redactor = redactor.unwrap_or_else(|| self.environment.redactor());
        redactor.redact(&error.reason()).into_string()
    }

    /// What is known of a provider's models. Asks nobody and renews no credential. Blocks on reads.
    ///
    /// # Errors
    /// [`Kind::Unreadable`] when the settings can't be used, [`Kind::Selection`] for what is none of [`Self::providers`].
    pub fn catalog(&self, provider: &str) -> Result<Catalog, EngineError> {
        let services = self.services_until(&self.cancel)?;
        let settings = services.settings_now(&self.environment.canonical_cwd()?)?;
        let catalog = services.providers.catalogs.catalog(&settings, provider);
        catalog.ok_or_else(unknown)
    }

    /// Asks a provider's server for its models, within 30 s, and keeps what it says. Goes on to its end also while the engine
    /// ends; callers bound the wait.
    ///
    /// # Errors
    /// Those of [`Self::catalog`], and [`Kind::Refresh`] when nothing new is known and there is no catalog from before.
    pub async fn refresh_catalog(
        self: &Arc<Self>,
        provider: String,
    ) -> Result<Refreshed, EngineError> {
        let span = tracing::info_span!("catalog", provider);
        let services = Arc::clone(self.services_until(&self.cancel)?);
        let cwd = self.environment.canonical_cwd()?;
        let asking = {
            let (services, provider) = (Arc::clone(&services), provider.clone());
            self.run_blocking(move || {
                let settings = services.settings_now(&cwd)?;
                let state = state(&services, &settings, &provider)?;
                Ok::<_, EngineError>((state, Question::new(&services, settings, &provider)))
            })
        };
        let (before, question) = asking.await??;
        let failed = |failure| match before {
            State::Unavailable => Err(failure),
            state => Ok(Refreshed {
                state,
                failure: Some(failure),
            }),
        };
        let question = match question {
            Ok(Some(question)) => question,
            Ok(None) => {
                return Ok(Refreshed {
                    state: before,
                    failure: None,
                });
            }
            Err(error) => return failed(error),
        };
        let said = match tracing::Instrument::instrument(question.ask(), span).await {
            Ok(said) => said,
            Err(error) => return failed(error),
        };
        let keeping = self.run_blocking(move || {
            question.keep(&services, said)?;
            state(&services, &question.settings, &provider)
        });
        match keeping.await? {
            Ok(state) => Ok(Refreshed {
                state,
                failure: None,
            }),
            Err(error) => failed(error),
        }
    }
}

fn state(
    services: &Services,
    settings: &store::settings::Settings,
    provider: &str,
) -> Result<State, EngineError> {
    let catalog = services.providers.catalogs.catalog(settings, provider);
    Ok(catalog.ok_or_else(unknown)?.state())
}

fn unknown() -> EngineError {
    Kind::Selection.because("there is no such provider")
}
