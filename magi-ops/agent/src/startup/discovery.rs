//! Asking a provider's server for its models, and keeping what it says: by the provider's own credential, which may be
//! renewed for that. Nothing here happens by itself.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use catalog::{Source, etag, keep};
use provider::{CredentialSource, Discover, Discovered, ProviderError};
use store::settings::Settings;

use super::cache::Remote;
use super::described::source;
use super::select::{sendable_login, unbuilt};
use super::{Services, StartupError};
use crate::error::{ConfigurationErrorKind as Kind, EngineError};

/// What is needed to ask one server.
pub(crate) struct Question {
    pub(crate) settings: Settings,
    source: Source,
    credentials: Arc<dyn CredentialSource>,
    server: Box<dyn Discover>,
    etag: Option<String>,
}

impl Question {
    /// By settings and credentials as they stand now. `None` where there is no server to ask. Blocks.
    ///
    /// # Errors
    /// [`Kind::Refresh`] without a credential or an address that can be used.
    pub(crate) fn new(
        services: &Services,
        settings: Settings,
        provider: &str,
    ) -> Result<Option<Self>, EngineError> {
        if provider == provider::FIXTURE_ID {
            return Ok(None);
        }
        let Some(source) = source(&settings, provider) else {
            return Err(Kind::Refresh.because("nothing says which `api` the provider speaks"));
        };
        let Services {
            environment,
            providers,
            home,
            redactor,
            ..
        } = services;
        let refused = |error: StartupError| refused(error.redacted(redactor));
        let unbuilt = |error| refused(unbuilt(&settings, provider, &error));
        let login = sendable_login(&settings, environment, providers, provider).map_err(refused)?;
        let config = source.config.clone();
        let server = provider::discovery(&config).map_err(unbuilt)?;
        let remote = Remote { config, login };
        let credentials = providers.credentials(&remote).map_err(unbuilt)?;
        Ok(Some(Self {
            etag: etag(home.catalogs(), &source, (providers.catalogs.now)()),
            settings,
            source,
            credentials,
            server,
        }))
    }

    /// Asks.
    ///
    /// # Errors
    /// [`Kind::Refresh`] when there is no answer, or none that is a list of models.
    pub(crate) async fn ask(&self) -> Result<Discovered, EngineError> {
        let asked = self.server.ask(&*self.credentials, self.etag.as_deref());
        asked.await.map_err(|error| refused(Unanswered(error)))
    }

    /// Keeps the answer. Blocks.
    ///
    /// # Errors
    /// [`Kind::Refresh`] when it is of no use or can't be written.
    pub(crate) fn keep(&self, services: &Services, said: Discovered) -> Result<(), EngineError> {
        let now = (services.providers.catalogs.now)();
        let store = services.home.catalogs();
        keep(store, &self.source, &services.redactor, now, said).map_err(refused)
    }
}

/// What a server failed with, and what it said or the system did: both are for people, by the redaction seam.
#[derive(Debug)]
struct Unanswered(ProviderError);

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        match error.message().map(str::to_owned).or_else(|| error.cause()) {
            Some(said) => write!(f, "{error}: {said}"),
            None => error.fmt(f),
        }
    }
}

impl std::error::Error for Unanswered {}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> EngineError {
    EngineError::caused(Kind::Refresh.into(), error)
}

impl Services {
    /// The settings for a directory as they stand now. What they name as a secret is not shown from then on. Blocks.
    ///
    /// # Errors
    /// [`Kind::Unreadable`] when they can't be used.
    pub(crate) fn settings_now(&self, cwd: &Path) -> Result<Settings, EngineError> {
        let settings = self.environment.settings(&*self.home, cwd);
        let settings =
            settings.map_err(|error| EngineError::caused(Kind::Unreadable.into(), error))?;
        let keys = super::named_keys(&settings, &self.environment);
        self.redactor.learn(keys);
        Ok(settings)
    }
}
