//! The service that an application-service process is: up to sixteen attached sessions with a turn each (spec:
//! application-service, "Attachments, close, and conflicts"). What sessions and runs are is the engine's matter.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agent::{
    Capacity, Detached, Engine, EngineError, Environment, ErrorKind, ReplayPage, Run, RunSpec,
    SessionId, SessionList, Workspace,
};

/// Sixteen attachments, and a turn for each.
const CAPACITY: Capacity = Capacity {
    sessions: 16,
    runs: 16,
};

/// The state of one service process.
#[derive(Debug)]
pub struct Service {
    engine: Arc<Engine>,
    /// Canonical.
    directory: PathBuf,
    /// `None` while the settings could not be read.
    workspace: Mutex<Option<Arc<Workspace>>>,
}

impl Service {
    /// Prepares the home and takes the snapshot of instructions, skills and policies that this process works with.
    /// Settings that cannot be read are no reason to fail: sessions are listed, opened and replayed without, and
    /// a turn tries again. Blocks.
    ///
    /// # Errors
    /// When there is no directory to work in, or no home.
    pub fn start(environment: Environment) -> Result<Arc<Self>, EngineError> {
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

    /// Whether the provider that is selected now could authenticate. Blocks on small reads.
    ///
    /// # Errors
    /// When settings cannot be read.
    pub fn provider_ready(&self) -> Result<bool, EngineError> {
        self.engine.provider_ready()
    }

    /// One page of all sessions, ordered by id, from behind `after`.
    ///
    /// # Errors
    /// When there are too many files, or they can't be listed.
    pub async fn list_sessions(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<SessionList, EngineError> {
        self.engine.list(after, limit).await
    }

    /// One page of what a session durably holds. Needs no attachment.
    ///
    /// # Errors
    /// When the session is missing, being written to by another process, or unreadable.
    pub async fn replay(
        &self,
        id: SessionId,
        after: Option<String>,
        limit: usize,
    ) -> Result<ReplayPage, EngineError> {
        self.engine.replay(id, after, limit).await
    }

    /// Creates a session whose first record is on the disk and attaches it.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn create_session(&self) -> Result<SessionId, EngineError> {
        self.engine.lease(&self.directory, None).await
    }

    /// Attaches a session of this directory, or keeps the one that a turn attached. Its history is not read.
    ///
    /// # Errors
    /// Why it can't be attached.
    pub async fn open_session(&self, id: SessionId) -> Result<SessionId, EngineError> {
        self.engine.lease(&self.directory, Some(id)).await
    }

    /// Ends the attachment of a session, cancelling its turn. Idempotent, also for sessions that are
    /// not there.
    ///
    /// # Errors
    /// When the process ends meanwhile.
    pub async fn close_session(&self, id: &SessionId) -> Result<Detached, EngineError> {
        self.engine.detach(id).await
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

    /// Cancels what runs and waits for its teardown; then every session is free. Callers bound
    /// the wait. Nothing is admitted afterwards.
    pub async fn close(&self) {
        self.engine.close().await;
    }
}
