//! The one agent that a local-agent child is: its startup, its one attached session, and what is busy when (spec:
//! local-agent, "Owned sessions and chat history"). What sessions and runs are is the engine's matter.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::{
    ActiveRun, Attached, Capacity, Engine, EngineError, Environment, ErrorKind, HistoryPage, Run,
    RunSpec, SessionId, StartupErrorKind, StartupStatus, Workspace,
};
use tokio_util::sync::CancellationToken;

/// One attached session and one run.
const CAPACITY: Capacity = Capacity {
    sessions: 1,
    runs: 1,
};

/// How far the child has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Uninitialized,
    Starting,
    Ready,
    Failed(StartupErrorKind),
}

/// What the child says of itself; names are safe to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub phase: Phase,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub context_id: Option<String>,
    /// Of the last completed attachment.
    pub session_id: Option<String>,
    /// Of a run whose caller may still be telling of its end.
    pub run_id: Option<String>,
}

/// The state of one child.
#[derive(Debug)]
pub struct Agent {
    engine: Arc<Engine>,
    state: Mutex<State>,
    /// Most responses of a turn, where that is less than its rules allow.
    max_responses: Option<u32>,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    startup: StartupStatus,
    workspace: Option<Arc<Workspace>>,
    attached: Option<SessionId>,
    /// A session or history operation is active.
    operating: bool,
}

impl State {
    fn ready(&self) -> Result<Arc<Workspace>, EngineError> {
        match (self.phase, &self.workspace) {
            (Phase::Failed(error), _) => Err(ErrorKind::Startup(error).into()),
            (Phase::Ready, Some(workspace)) => Ok(workspace.clone()),
            _ => Err(ErrorKind::NotInitialized.into()),
        }
    }

    /// The attached session, which must be the one that is meant.
    fn attached(&self, meant: &str) -> Result<SessionId, EngineError> {
        let meant: SessionId = meant.parse()?;
        match &self.attached {
            None => Err(ErrorKind::SessionMissing.into()),
            Some(attached) if *attached != meant => Err(ErrorKind::StaleSession.into()),
            Some(attached) => Ok(attached.clone()),
        }
    }
}

/// Marks a session or history operation as active while it lives.
struct Operation(Arc<Agent>);

impl Drop for Operation {
    fn drop(&mut self) {
        self.0.lock().operating = false;
    }
}

impl Agent {
    /// Touches nothing.
    #[must_use]
    pub fn new(environment: Environment) -> Arc<Self> {
        Self::bounded(environment, None)
    }

    /// The same; a turn ends, as failed, where it would need more responses of its model than these. Touches nothing.
    #[must_use]
    pub fn bounded(environment: Environment, max_responses: Option<u32>) -> Arc<Self> {
        Arc::new(Self {
            engine: Engine::new(environment, CAPACITY),
            state: Mutex::default(),
            max_responses,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits one startup for the life of the child; returns after readiness or failure.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyInitialized`], or why startup failed.
    pub async fn initialize(&self, cancel: CancellationToken) -> Result<Status, EngineError> {
        {
            let mut state = self.lock();
            if state.phase != Phase::Uninitialized {
                return Err(ErrorKind::AlreadyInitialized.into());
            }
            state.phase = Phase::Starting;
        }
        let (startup, admitted) = self.engine.admit(self.engine.directory(), cancel).await;
        let mut state = self.lock();
        state.startup = startup;
        let workspace = admitted.inspect_err(|error| {
            state.phase = Phase::Failed(match error.kind() {
                ErrorKind::Startup(failed) => failed,
                _ => StartupErrorKind::Failed,
            });
        })?;
        state.workspace = Some(workspace);
        state.phase = Phase::Ready;
        drop(state);
        Ok(self.status())
    }

    /// Never waits, and never asks a provider.
    #[must_use]
    pub fn status(&self) -> Status {
        let state = self.lock();
        let attached = state.attached.as_ref();
        let selection = attached.zip(state.workspace.as_ref());
        let selection = selection.and_then(|(id, workspace)| self.engine.selection(workspace, id));
        let StartupStatus {
            provider,
            model,
            context_id,
            ..
        } = state.startup.clone();
        let (provider, model) = selection.unwrap_or((provider, model));
        Status {
            phase: state.phase,
            provider,
            model,
            context_id,
            session_id: attached.map(ToString::to_string),
            run_id: self.active(attached).map(|run| run.run_id.clone()),
        }
    }

    fn active(&self, attached: Option<&SessionId>) -> Option<Arc<ActiveRun>> {
        self.engine.run_of(attached?)
    }

    /// What is worked in, if nothing is active and the child does not end.
    fn idle(&self, state: &State) -> Result<Arc<Workspace>, EngineError> {
        let workspace = state.ready()?;
        if state.operating || self.active(state.attached.as_ref()).is_some() {
            return Err(ErrorKind::Busy.into());
        }
        if self.engine.cancellation().is_cancelled() {
            return Err(ErrorKind::Cancelled.into());
        }
        Ok(workspace)
    }

    /// Admits a session or history operation, unless something else is active.
    fn begin(
        self: &Arc<Self>,
    ) -> Result<(Operation, Arc<Workspace>, Option<SessionId>), EngineError> {
        let mut state = self.lock();
        let workspace = self.idle(&state)?;
        state.operating = true;
        let attached = state.attached.clone();
        Ok((Operation(Arc::clone(self)), workspace, attached))
    }

    /// Waits for `work` unless it is cancelled; then the operation stays active until the work has ended.
    async fn finish<T: Send + 'static>(
        &self,
        operation: Operation,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
        cancel: &CancellationToken,
    ) -> Result<T, EngineError> {
        let mut job = tokio::spawn(async move {
            let done = work.await;
            drop(operation);
            done
        });
        tokio::select! {
            biased;
            done = &mut job => done?,
            () = cancel.cancelled() => Err(ErrorKind::Cancelled.into()),
            () = self.engine.cancellation().cancelled() => Err(ErrorKind::Cancelled.into()),
        }
    }

    /// Attaches an existing session by its exact id; without one a new session, which has no file before its first
    /// run stores the input.
    ///
    /// # Errors
    /// Why it was not attached; the previous attachment stays.
    pub async fn attach(
        self: &Arc<Self>,
        id: Option<&str>,
        cancel: CancellationToken,
    ) -> Result<Attached, EngineError> {
        let (operation, workspace, previous) = self.begin()?;
        let id = id.map(str::parse::<SessionId>).transpose()?;
        let (this, stop) = (Arc::clone(self), cancel.clone());
        let work = async move {
            let attached = this
                .engine
                .open(&workspace, id, previous.as_ref(), &stop)
                .await?;
            this.lock().attached = attached.session_id.parse().ok();
            Ok(attached)
        };
        self.finish(operation, work, &cancel).await
    }

    /// One page of the attached session's history: the first for `None`, else the one that
    /// `cursor` was given out for.
    ///
    /// # Errors
    /// Why there is no such page.
    pub async fn history_page(
        self: &Arc<Self>,
        session_id: &str,
        revision: &str,
        cursor: Option<&str>,
        cancel: CancellationToken,
    ) -> Result<HistoryPage, EngineError> {
        let (operation, workspace, _) = self.begin()?;
        let id = self.lock().attached(session_id)?;
        let (engine, revision) = (Arc::clone(&self.engine), revision.to_owned());
        let cursor = cursor.map(str::to_owned);
        let work = async move {
            engine
                .page(&workspace, &id, &revision, cursor.as_deref())
                .await
        };
        self.finish(operation, work, &cancel).await
    }

    /// Starts a run of the attached session. Must be called within a runtime. Returning means
    /// admission only; what happens comes as events.
    ///
    /// # Errors
    /// Why no run was admitted.
    pub fn start_turn(&self, session_id: &str, mut spec: RunSpec) -> Result<Run, EngineError> {
        if !spec.policy.admits(&spec.prompt) {
            return Err(ErrorKind::InvalidPrompt.into());
        }
        let most = self.max_responses.unwrap_or(u32::MAX);
        spec.policy.max_responses = spec.policy.max_responses.min(most);
        let state = self.lock();
        let workspace = self.idle(&state)?;
        let id = state.attached(session_id)?;
        self.engine.start(&workspace, &id, spec)
    }

    /// The active run, if it is the one that is meant.
    fn meant(&self, session_id: &str, run_id: &str) -> Result<Option<Arc<ActiveRun>>, EngineError> {
        self.lock().ready()?;
        let run = self.engine.run(run_id);
        Ok(run.filter(|run| run.session.as_str() == session_id))
    }

    /// Asks the active run to stop. Idempotent; its end comes as an event.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownRun`] for another run or session.
    pub fn cancel_turn(&self, session_id: &str, run_id: &str) -> Result<(), EngineError> {
        let run = self.meant(session_id, run_id)?;
        run.ok_or(ErrorKind::UnknownRun)?.cancel();
        Ok(())
    }

    /// Answers one approval of the active run. Succeeds for exactly one answer, and for none
    /// after expiry or cancellation.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownApproval`] where no approval waits for this answer.
    pub fn answer_approval(
        &self,
        session_id: &str,
        run_id: &str,
        approval_id: &str,
        allow: bool,
    ) -> Result<(), EngineError> {
        let run = self.meant(session_id, run_id)?;
        if run.is_some_and(|run| run.answer(approval_id, allow)) {
            Ok(())
        } else {
            Err(ErrorKind::UnknownApproval.into())
        }
    }

    /// Cancels what runs and waits for its teardown; then the session is free. Callers bound
    /// the wait. Nothing is admitted afterwards.
    pub async fn close(&self) {
        self.engine.close().await;
        self.lock().attached = None;
    }
}
