//! What all workspaces of a process share: where the person's work is kept, what answers and by which credentials, what
//! hides secrets, the clock. They start and stop together; no session and no run.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use provider::Recorder;
use store::sessions::{SessionStore, now_ms};
use store::{Home, Redactor};
use tokio_util::sync::CancellationToken;
use work::Pool;

use super::cache::ProviderCache;
use super::servers::Servers;
use super::{Environment, StartupError, StartupErrorKind};
use crate::replay::Replays;

/// Calls of tools that work on files at once. Not the threads that sessions are written on: calls that are stuck in the
/// kernel must cost no record.
const CALLS: u32 = 16;

pub(crate) struct Services {
    pub(crate) environment: Environment,
    /// Settings, accounts and what instructs a model.
    pub(crate) home: Arc<dyn Home>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    /// Projections of sessions for clients that are not attached to them.
    pub(crate) replays: Replays,
    pub(crate) redactor: Redactor,
    /// Providers, each with the source that it asks for its credential.
    pub(crate) providers: ProviderCache,
    /// Threads for calls of tools.
    pub(super) calls: Pool,
    /// Of every workspace: they end together.
    servers: Mutex<Vec<Arc<Servers>>>,
    /// Milliseconds since 1970.
    pub(crate) clock: fn() -> u64,
}

impl Services {
    /// Starts all of them, or none. Creates what is missing of the home. Blocks.
    pub(crate) fn start(
        environment: &Environment,
        stop: &CancellationToken,
    ) -> Result<Self, StartupError> {
        let home = environment.home()?;
        // Nothing of them works before it is asked to.
        match stop.is_cancelled() {
            true => Err(StartupErrorKind::Cancelled.into()),
            false => Ok(Self::on(environment, home.sessions(), home)),
        }
    }

    pub(super) fn on(
        environment: &Environment,
        sessions: Arc<dyn SessionStore>,
        home: Arc<dyn Home>,
    ) -> Self {
        let redactor = environment.redactor();
        Self {
            environment: environment.clone(),
            replays: Replays::new(Arc::clone(&sessions), redactor.clone()),
            sessions,
            providers: ProviderCache::new(
                redactor.clone(),
                Arc::clone(&home),
                recorder(environment, &redactor)
                    .inspect_err(|error| tracing::warn!(%error, "MC_RECORD names no usable folder"))
                    .unwrap_or_default(),
            ),
            home,
            redactor,
            calls: Pool::new(CALLS),
            servers: Mutex::default(),
            clock: now_ms,
        }
    }

    /// The same with another store of sessions.
    #[cfg(test)]
    pub(crate) fn with_sessions(self, sessions: Arc<dyn SessionStore>) -> Self {
        Self::on(&self.environment, sessions, self.home)
    }

    /// Ends these with the others.
    pub(super) fn keep_servers(&self, servers: &Arc<Servers>) {
        let mut all = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::clone(servers));
    }

    /// Ends what goes on beside runs. The servers of all workspaces: each is told before any is waited for. Logins that are
    /// refreshed come to their end. Returns when that is done, after two seconds at most.
    pub(crate) async fn close(&self) {
        let all = self
            .servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let servers = join_all(all.iter().map(|servers| servers.close()));
        tokio::join!(servers, self.providers.close());
    }

    /// Lets go of connections; what was recorded of them is on the disk then. After the sessions, which are written to until
    /// then.
    pub(crate) async fn stop(&self) {
        self.providers.clear().await;
    }
}

/// What keeps the exchanges with models, if `MC_RECORD` names a folder for them.
///
/// # Errors
/// When nothing can be kept there.
pub(super) fn recorder(
    environment: &Environment,
    redactor: &Redactor,
) -> std::io::Result<Option<Arc<Recorder>>> {
    let folder = environment
        .var("MC_RECORD")
        .filter(|folder| !folder.is_empty());
    let recorder =
        folder.map(|folder| Recorder::create(&environment.cwd.join(folder), redactor.clone()));
    Ok(recorder.transpose()?.map(Arc::new))
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services")
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}
