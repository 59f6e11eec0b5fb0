//! Providers behind a network that were built for a configuration, kept for the next turn with the key they ask for.
//! Which configuration is selected is decided beside.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, ready};
use provider::{
    BuildError, Credential, CredentialError, CredentialSource, Provider, ProviderConfig, Secret,
};
use store::Redactor;

/// Most providers that are kept for the next turn.
pub(super) const MAX_CACHED: usize = 4;

/// The key that a variable of the admitted environment holds. The redactor knows what it hands out.
struct EnvironmentKey {
    key: Option<Secret>,
    redactor: Redactor,
}

impl CredentialSource for EnvironmentKey {
    fn get(&self) -> BoxFuture<'_, Result<Option<Credential>, CredentialError>> {
        self.redactor.learn(self.key.as_ref().map(Secret::expose));
        Box::pin(ready(Ok(self.key.clone().map(Credential::from))))
    }
}

/// The providers behind a network that were selected last: turns share their connections.
#[derive(Default)]
pub(crate) struct ProviderCache {
    pub(super) providers: Mutex<Vec<(Remote, Arc<dyn Provider>)>>,
    redactor: Redactor,
}

/// A provider's configuration and the key that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) config: ProviderConfig,
    pub(super) key: Option<Secret>,
}

impl ProviderCache {
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            ..Self::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Remote, Arc<dyn Provider>)>> {
        self.providers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of them: what is not asked at the moment closes its connections.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    pub(super) fn build(&self, remote: Remote) -> Result<Arc<dyn Provider>, BuildError> {
        let mut cached = self.lock();
        if let Some(at) = cached.iter().position(|(known, _)| *known == remote) {
            // The one that was used last is at the end.
            cached[at..].rotate_left(1);
            return Ok(Arc::clone(&cached[cached.len() - 1].1));
        }
        let credentials = Arc::new(EnvironmentKey {
            key: remote.key.clone(),
            redactor: self.redactor.clone(),
        });
        let provider = provider::build(&remote.config, credentials)?;
        if cached.len() == MAX_CACHED {
            cached.remove(0);
        }
        cached.push((remote, Arc::clone(&provider)));
        Ok(provider)
    }
}
