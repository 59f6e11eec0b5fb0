//! The facade that callers hold: admission of startup and runs, one thing at a time; sessions and history
//! have their own file. State is behind one lock, never held across a wait; the work is done elsewhere.

mod sessions;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::sessions::SessionId;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::attach::Attachment;
use crate::error::{SessionError, TurnError};
use crate::run::{self, Control, Ended, MAX_PROMPT_BYTES, Run};
use crate::startup::{self, Admitted, Environment, InitializeError, Reached, StartupError};

/// How far the process has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Uninitialized,
    Starting,
    Ready,
    Failed(StartupError),
}

/// What the process says of itself; names are safe to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub phase: Phase,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub context_id: Option<String>,
    /// Of the last completed attachment.
    pub session_id: Option<String>,
    /// Of a run whose end was not yet taken from its events.
    pub run_id: Option<String>,
}

/// The engine of one process.
#[derive(Debug)]
pub struct Backend {
    environment: Environment,
    state: Mutex<State>,
    /// Cancels everything; fires once, at the end.
    cancel: CancellationToken,
    /// Told whenever work ends.
    idle: Notify,
    /// Held while the end is under way, so that everyone who asks for it waits for it.
    closing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    /// The startup selection and context, as far as startup came.
    reached: Reached,
    admitted: Option<Arc<Admitted>>,
    work: Option<Work>,
    attachment: Option<Attachment>,
}

/// The one thing that is being done.
#[derive(Debug)]
enum Work {
    /// A session or history operation.
    Operation,
    Run {
        control: Arc<Control>,
        /// The worker is done and the attachment whole again.
        ended: bool,
        /// The caller took the terminal event, or gave up.
        drained: bool,
    },
}

impl State {
    fn ready(&self) -> Result<Arc<Admitted>, NotReady> {
        match (&self.admitted, self.phase) {
            (_, Phase::Failed(error)) => Err(NotReady::Failed(error)),
            (Some(admitted), _) => Ok(Arc::clone(admitted)),
            (None, _) => Err(NotReady::Pending),
        }
    }

    fn control(&self) -> Option<&Arc<Control>> {
        match &self.work {
            Some(Work::Run { control, .. }) => Some(control),
            _ => None,
        }
    }

    /// Clears a run that is over on both sides.
    fn settle_run(&mut self) {
        if let Some(Work::Run {
            ended: true,
            drained: true,
            ..
        }) = self.work
        {
            self.work = None;
        }
    }
}

enum NotReady {
    Pending,
    Failed(StartupError),
}

impl From<NotReady> for SessionError {
    fn from(why: NotReady) -> Self {
        match why {
            NotReady::Pending => Self::NotInitialized,
            NotReady::Failed(error) => Self::Startup(error),
        }
    }
}

impl From<NotReady> for TurnError {
    fn from(why: NotReady) -> Self {
        match why {
            NotReady::Pending => Self::NotInitialized,
            NotReady::Failed(error) => Self::Startup(error),
        }
    }
}

impl Backend {
    /// Touches nothing.
    #[must_use]
    pub fn new(environment: Environment) -> Arc<Self> {
        Arc::new(Self {
            environment,
            state: Mutex::default(),
            cancel: CancellationToken::new(),
            idle: Notify::new(),
            closing: tokio::sync::Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits one startup for the life of the process; returns after readiness or failure.
    pub async fn initialize(
        self: &Arc<Self>,
        cancel: CancellationToken,
    ) -> Result<Status, InitializeError> {
        {
            let mut state = self.lock();
            if state.phase != Phase::Uninitialized {
                return Err(InitializeError::AlreadyInitialized);
            }
            state.phase = Phase::Starting;
        }
        let environment = self.environment.clone();
        let mut worker = spawn_blocking(move || {
            let mut reached = Reached::default();
            let admitted = startup::admit(&environment, &mut reached);
            (admitted, reached)
        });
        let (admitted, reached) = tokio::select! {
            () = cancel.cancelled() => (Err(StartupError::Cancelled), Reached::default()),
            () = self.cancel.cancelled() => (Err(StartupError::Cancelled), Reached::default()),
            done = &mut worker => {
                done.unwrap_or_else(|_| (Err(StartupError::Failed), Reached::default()))
            }
        };
        {
            let mut state = self.lock();
            state.reached = reached;
            match admitted {
                Ok(admitted) => {
                    state.admitted = Some(Arc::new(admitted));
                    state.phase = Phase::Ready;
                }
                Err(error) => {
                    state.phase = Phase::Failed(error);
                    return Err(error.into());
                }
            }
        }
        Ok(self.status())
    }

    /// Another provider for the startup selection.
    #[cfg(test)]
    pub(crate) fn replace_provider(&self, provider: Arc<dyn provider::Provider>) {
        let mut state = self.lock();
        if let Some(admitted) = state.admitted.as_mut().and_then(Arc::get_mut) {
            admitted.provider = provider;
        }
    }

    /// Never waits, and never asks a provider.
    #[must_use]
    pub fn status(&self) -> Status {
        let state = self.lock();
        let (provider, model) = match (&state.attachment, &state.admitted) {
            (Some(attachment), Some(admitted)) => {
                let selection = &attachment.selection;
                (
                    admitted.public_name(&selection.provider),
                    admitted.public_name(&selection.model),
                )
            }
            _ => (state.reached.provider.clone(), state.reached.model.clone()),
        };
        Status {
            phase: state.phase,
            provider,
            model,
            context_id: state.reached.context_id.clone(),
            session_id: state.attachment.as_ref().map(|a| a.id.to_string()),
            run_id: state.control().map(|control| control.run_id.clone()),
        }
    }

    /// Creates the runtime directories and the settings schema, for a dialect whose launch may do so
    /// before any request. Blocks.
    pub fn prepare(&self) -> Result<(), StartupError> {
        startup::prepare(&self.environment)
    }

    /// Whether the provider that is selected now could authenticate, from settings and environment as
    /// they stand. Errs when they cannot be read. Blocks on small reads.
    pub fn provider_ready(&self) -> Result<bool, StartupError> {
        startup::provider_ready(&self.environment)
    }

    /// Starts a run of the attached session. Must be called within a runtime. Returning means
    /// admission only; what happens comes as events.
    pub fn start_turn(self: &Arc<Self>, session_id: &str, prompt: &str) -> Result<Run, TurnError> {
        if prompt.len() > MAX_PROMPT_BYTES || prompt.trim().is_empty() {
            return Err(TurnError::InvalidPrompt);
        }
        let mut state = self.lock();
        let admitted = state.ready()?;
        if state.work.is_some() {
            return Err(TurnError::Busy);
        }
        if self.cancel.is_cancelled() {
            return Err(TurnError::OperationCancelled);
        }
        if session_id.parse::<SessionId>().is_err() {
            return Err(TurnError::SessionInvalid);
        }
        let attachment = state.attachment.as_mut().ok_or(TurnError::SessionMissing)?;
        if attachment.id.as_str() != session_id {
            return Err(TurnError::StaleSession);
        }
        let control = Arc::new(Control::new(
            session_id.to_owned(),
            crate::new_id(),
            self.cancel.child_token(),
        ));
        let task = run::Task {
            admitted,
            control: Arc::clone(&control),
            writer: attachment.writer.clone(),
            selection: attachment.selection.clone(),
            messages: std::mem::take(&mut attachment.messages),
            prompt: prompt.to_owned(),
        };
        state.work = Some(Work::Run {
            control,
            ended: false,
            drained: false,
        });
        drop(state);
        Ok(run::start(self, task))
    }

    /// Asks the active run to stop. Idempotent; its end comes as an event.
    pub fn cancel_turn(&self, session_id: &str, run_id: &str) -> Result<(), TurnError> {
        let state = self.lock();
        state.ready()?;
        let control = state
            .control()
            .filter(|control| control.is(session_id, run_id))
            .ok_or(TurnError::StaleRun)?;
        control.cancel.cancel();
        Ok(())
    }

    /// Answers one approval of the active run. Succeeds for exactly one answer, and for none
    /// after expiry or cancellation.
    pub fn answer_approval(
        &self,
        session_id: &str,
        run_id: &str,
        approval_id: &str,
        allow: bool,
    ) -> Result<(), TurnError> {
        let state = self.lock();
        state.ready()?;
        let recorded = state
            .control()
            .filter(|control| control.is(session_id, run_id) && !control.cancel.is_cancelled())
            .is_some_and(|control| control.answer(approval_id, allow));
        if recorded {
            Ok(())
        } else {
            Err(TurnError::StaleApproval)
        }
    }

    /// Cancels what runs and waits for its teardown; then the session is free. Callers bound
    /// the wait. Nothing is admitted afterwards.
    pub async fn close(&self) {
        self.cancel.cancel();
        let _closing = self.closing.lock().await;
        let attachment = loop {
            // Registered before the look, so that no end falls between the two.
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            {
                let mut state = self.lock();
                if matches!(state.work, None | Some(Work::Run { ended: true, .. })) {
                    break state.attachment.take();
                }
            }
            idle.await;
        };
        let _ = spawn_blocking(move || drop(attachment)).await;
    }

    /// The run's input is on the disk: the revision that shows it.
    pub(crate) fn input_stored(&self, run_id: &str) -> String {
        let mut state = self.lock();
        debug_assert!(
            state
                .control()
                .is_some_and(|control| control.run_id == run_id)
        );
        state
            .attachment
            .as_mut()
            .map_or_else(crate::new_id, Attachment::renew)
    }

    /// The worker of a run is done. Returns the revision that shows the run, if the history is
    /// what the run says it is. `None` for a run that broke off.
    pub(crate) fn run_ended(&self, run_id: &str, ended: Option<Ended>) -> Option<String> {
        let mut state = self.lock();
        let Some(Work::Run {
            control,
            ended: already,
            ..
        }) = &mut state.work
        else {
            return None;
        };
        if control.run_id != run_id || *already {
            return None;
        }
        *already = true;
        let mut revision = None;
        if let Some(attachment) = &mut state.attachment {
            let renewed = attachment.renew();
            match ended {
                Some(ended) => {
                    attachment.messages = ended.messages;
                    attachment.stale |= !ended.durable;
                    revision = (!attachment.stale).then_some(renewed);
                }
                None => attachment.stale = true,
            }
        }
        state.settle_run();
        drop(state);
        self.idle.notify_waiters();
        revision
    }

    /// The caller of a run takes no more events.
    pub(crate) fn events_drained(&self, run_id: &str, gave_up: bool) {
        let mut state = self.lock();
        if let Some(Work::Run {
            control, drained, ..
        }) = &mut state.work
            && control.run_id == run_id
        {
            *drained = true;
            if gave_up {
                control.cancel.cancel();
            }
            state.settle_run();
        }
    }
}
