//! The service that an application-service process is: up to sixteen attached sessions with a turn each (spec:
//! application-service, "Attachments, close, and conflicts"). What sessions and runs are is the engine's matter.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::{
    Capacity, Engine, EngineError, Environment, ErrorKind, Run, RunSpec, SessionId, Workspace,
};

use super::ConfigurationWorker;

/// Sixteen attachments, and a turn for each.
const CAPACITY: Capacity = Capacity {
    sessions: 16,
    runs: 16,
};

/// How long what was cancelled is waited for; slower ends are left to the process's exit.
const TEARDOWN: Duration = Duration::from_secs(2);

/// The state of one service process.
#[derive(Debug)]
pub struct Service {
    engine: Arc<Engine>,
    /// Canonical.
    directory: PathBuf,
    /// `None` while the settings could not be read.
    workspace: Mutex<Option<Arc<Workspace>>>,
    configuration: ConfigurationWorker,
    #[cfg(feature = "accounts")]
    accounts: Arc<agent::Accounts>,
}

impl Service {
    /// Prepares the home and takes the snapshot of instructions, skills and policies that this process works with.
    /// Settings that cannot be read are no reason to fail: sessions are listed, opened and replayed without, and
    /// a turn tries again. Blocks.
    ///
    /// # Errors
    /// When there is no directory to work in, or no home.
    pub fn start(environment: Environment) -> Result<Arc<Self>, EngineError> {
        #[cfg(feature = "accounts")]
        let accounts = agent::Accounts::start(&environment)?;
        let engine = Engine::new(environment, CAPACITY);
        engine.start_services()?;
        let directory = engine.canonical_directory()?;
        let workspace = engine
            .admit_unselected(&directory)
            .inspect_err(|error| {
                tracing::warn!(
                    reason = error.reason(),
                    "no turn can start with these settings"
                );
            })
            .ok();
        Ok(Arc::new(Self {
            engine,
            directory,
            workspace: Mutex::new(workspace),
            configuration: ConfigurationWorker::default(),
            #[cfg(feature = "accounts")]
            accounts,
        }))
    }

    async fn workspace(&self) -> Result<Arc<Workspace>, EngineError> {
        let known = || {
            self.workspace
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(workspace) = &*known() {
            return Ok(workspace.clone());
        }
        let (engine, directory) = (Arc::clone(&self.engine), self.directory.clone());
        let admitting = move || engine.admit_unselected(&directory);
        let admitted = self.engine.run_blocking(admitting).await??;
        Ok(known().get_or_insert(admitted).clone())
    }

    /// What this process works with, if the settings let it: whoever asks what they come to learns the reason from them.
    pub async fn known_workspace(&self) -> Option<Arc<Workspace>> {
        self.workspace().await.ok()
    }

    /// What works on sessions whichever process or turn holds them, and lets go of them.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The same for work that outlives whoever asked for it.
    #[must_use]
    pub fn shared_engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// What works for the requests about catalogs and configuration.
    #[must_use]
    pub fn configuration(&self) -> &ConfigurationWorker {
        &self.configuration
    }

    /// Who is logged in, and the login that is under way.
    #[cfg(feature = "accounts")]
    #[must_use]
    pub fn accounts(&self) -> &Arc<agent::Accounts> {
        &self.accounts
    }

    /// Ends everything: turns and a login are cancelled, while what is written or refreshed comes to its end. Callers bound
    /// the wait.
    pub async fn close(&self) {
        #[cfg(feature = "accounts")]
        let accounts = self.accounts.close();
        #[cfg(not(feature = "accounts"))]
        let accounts = std::future::ready(());
        tokio::join!(accounts, self.configuration.close(), self.engine.close());
    }

    /// The same when nothing is delivered any more: what was cancelled is waited for 2 s, what is written or refreshed as
    /// long as that takes, which callers bound.
    pub async fn cleanup(&self) {
        let in_time = tokio::time::timeout(TEARDOWN, self.close()).await;
        if in_time.is_err() {
            self.configuration.close().await;
        }
    }

    /// Attaches a session of this directory, or keeps the one that a turn attached; its history is not read. Without
    /// an id a new one, whose first record is on the disk.
    ///
    /// # Errors
    /// Why it can't be attached.
    pub async fn attach(&self, session: Option<SessionId>) -> Result<SessionId, EngineError> {
        self.engine.lease(&self.directory, session).await
    }

    /// Starts a turn of an existing session, or of a new one. Returning means admission; what happens
    /// comes as events. A session that is not attached is for as long as its turn.
    ///
    /// # Errors
    /// Why no turn was admitted.
    pub async fn start_turn(
        &self,
        session: Option<SessionId>,
        spec: RunSpec,
    ) -> Result<Run, EngineError> {
        let workspace = self.workspace().await?;
        self.engine.start_in(&workspace, session, spec).await
    }

    /// Asks a turn to stop, of the session that is named if one is. Its end comes as an event.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownRun`] when there is no such turn, or it has ended.
    pub fn cancel_turn(&self, session: Option<&SessionId>, turn: &str) -> Result<(), EngineError> {
        let run = self.engine.run(turn).filter(|run| !run.has_ended());
        let run = run.filter(|run| session.is_none_or(|session| run.session == *session));
        run.ok_or(ErrorKind::UnknownRun)?.cancel();
        Ok(())
    }
}
