//! Providers behind a network that were built for a configuration, kept for the next turn with the key they ask for.
//! Which configuration is selected is decided beside.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::future::{BoxFuture, ready};
use provider::{
    BuildError, Credential, CredentialError, CredentialSource, Provider, ProviderConfig, Recorder,
    Secret,
};
use store::{Account, AccountError, Home, Redactor, StoredCredential};
use tokio_util::task::TaskTracker;

use super::catalogs::Catalogs;

/// Most providers that are kept for the next turn.
pub(super) const MAX_CACHED: usize = 4;

/// How long tokens that an issuer was asked for are waited for at the end: less than a process has for its end.
const REFRESH_TIME: Duration = Duration::from_millis(1900);

/// The key that a variable of the admitted environment holds, or none. The redactor knows what it hands out.
struct EnvironmentKey {
    key: Option<Secret>,
    redactor: Redactor,
    /// Words behind a credential that was refused.
    origin: String,
}

impl CredentialSource for EnvironmentKey {
    fn get(&self) -> BoxFuture<'_, Result<Option<Credential>, CredentialError>> {
        self.redactor.learn(self.key.as_ref().map(Secret::expose));
        Box::pin(ready(Ok(self.key.clone().map(Credential::from))))
    }

    fn origin(&self) -> Option<String> {
        Some(self.origin.clone())
    }
}

/// The providers behind a network that were selected last: turns share their connections.
pub(crate) struct ProviderCache {
    pub(super) providers: Mutex<Vec<(Remote, Arc<dyn Provider>)>>,
    /// What is known of their models.
    pub(crate) catalogs: Catalogs,
    redactor: Redactor,
    /// Where logins are stored.
    home: Arc<dyn Home>,
    /// Keeps their exchanges.
    recorder: Option<Arc<Recorder>>,
    /// Tokens that an issuer is asked for.
    refreshes: TaskTracker,
}

/// A provider's configuration and how it authenticates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) config: ProviderConfig,
    pub(super) login: Login,
}

/// What a provider authenticates with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Login {
    Nothing,
    /// A key of the environment, and the variable that holds it.
    Key {
        key: Secret,
        variable: String,
    },
    /// A key that a login stored.
    StoredKey,
    /// Tokens that a login stored, and who gives new ones; `None` is the public issuer.
    StoredTokens {
        issuer_url: Option<String>,
    },
}

impl ProviderCache {
    pub(crate) fn new(
        redactor: Redactor,
        home: Arc<dyn Home>,
        recorder: Option<Arc<Recorder>>,
    ) -> Self {
        Self {
            providers: Mutex::default(),
            catalogs: Catalogs {
                home: Arc::clone(&home),
                redactor: redactor.clone(),
                now: SystemTime::now,
            },
            redactor,
            home,
            recorder,
            refreshes: TaskTracker::new(),
        }
    }

    /// No tokens are asked for any more. Returns when those that were are stored, after [`REFRESH_TIME`] at most: tokens that an
    /// issuer gave and nobody stored would be the end of a login.
    pub(super) async fn close(&self) {
        self.refreshes.close();
        let ended = tokio::time::timeout(REFRESH_TIME, self.refreshes.wait()).await;
        if let Err(error) = ended {
            tracing::warn!(%error, "tokens that were asked for may be lost");
        }
    }

    /// What a login stored of `provider`, whose secrets nobody is shown from now on.
    pub(super) fn account(&self, provider: &str) -> Result<Account, AccountError> {
        let account = self.home.accounts().account(provider)?;
        let secrets = account.credential.iter();
        self.redactor
            .learn(secrets.flat_map(StoredCredential::secrets));
        Ok(account)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Remote, Arc<dyn Provider>)>> {
        self.providers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of them: what is not asked at the moment closes its connections. Returns when the exchanges that are over
    /// are kept, where any are.
    pub(super) async fn clear(&self) {
        self.lock().clear();
        if let Some(recorder) = &self.recorder {
            recorder.settle().await;
        }
    }

    pub(super) fn build(&self, remote: Remote) -> Result<Arc<dyn Provider>, BuildError> {
        let mut cached = self.lock();
        if let Some(at) = cached.iter().position(|(known, _)| *known == remote) {
            // The one that was used last is at the end.
            cached[at..].rotate_left(1);
            return Ok(Arc::clone(&cached[cached.len() - 1].1));
        }
        let credentials = self.credentials(&remote)?;
        let provider = provider::build(&remote.config, credentials, self.recorder.clone())?;
        if cached.len() == MAX_CACHED {
            cached.remove(0);
        }
        cached.push((remote, Arc::clone(&provider)));
        Ok(provider)
    }

    pub(super) fn credentials(
        &self,
        remote: &Remote,
    ) -> Result<Arc<dyn CredentialSource>, BuildError> {
        let (key, origin) = match &remote.login {
            Login::Nothing => {
                let id = store::shown(&remote.config.id);
                let origin =
                    format!("(none was sent: `providers.{id}.api_key_env` names no variable)");
                (None, origin)
            }
            Login::Key { key, variable } => {
                let origin = format!("of the variable `{}`", store::shown(variable));
                (Some(key.clone()), origin)
            }
            #[cfg(feature = "providers")]
            Login::StoredKey => return Ok(self.stored(remote, None)),
            #[cfg(feature = "providers")]
            Login::StoredTokens { issuer_url } => {
                let issuer = account::Issuer::new(issuer_url.as_deref())?;
                return Ok(self.stored(remote, Some(issuer)));
            }
            #[cfg(not(feature = "providers"))]
            Login::StoredKey | Login::StoredTokens { .. } => return Err(BuildError::NotLinked),
        };
        let redactor = self.redactor.clone();
        Ok(Arc::new(EnvironmentKey {
            key,
            redactor,
            origin,
        }))
    }

    #[cfg(feature = "providers")]
    fn stored(
        &self,
        remote: &Remote,
        issuer: Option<account::Issuer>,
    ) -> Arc<dyn CredentialSource> {
        let (home, redactor) = (Arc::clone(&self.home), self.redactor.clone());
        let id = &remote.config.id;
        let refreshes = self.refreshes.clone();
        Arc::new(account::StoredAccount::new(
            id, home, redactor, issuer, refreshes,
        ))
    }
}
