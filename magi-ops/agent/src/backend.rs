//! The facade that callers hold: admission of startup, sessions, history and runs, one at a time.
//! State is behind one lock, which is never held across a wait; the work itself is done elsewhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use crate::attach::{self, Attached, Attachment, Prepared, SharedWriter};
use crate::error::{SessionError, TurnError};
use crate::history::{self, HistoryPage, Snapshot};
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

/// Marks a session or history operation as active while it lives.
struct Operation(Arc<Backend>);

impl Drop for Operation {
    fn drop(&mut self) {
        self.0.lock().work = None;
        self.0.idle.notify_waiters();
    }
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

    /// Attaches a new session. It has no file before its first run stores the input.
    pub async fn create_session(
        self: &Arc<Self>,
        cancel: CancellationToken,
    ) -> Result<Attached, SessionError> {
        let (operation, admitted, _) = self.begin()?;
        let job = spawn_blocking(move || attach::create(&admitted));
        self.attach(operation, job, cancel).await
    }

    /// Attaches an existing session by its exact id. On failure the previous attachment stays.
    pub async fn open_session(
        self: &Arc<Self>,
        id: &str,
        cancel: CancellationToken,
    ) -> Result<Attached, SessionError> {
        let (operation, admitted, attached) = self.begin()?;
        let id = id.parse().map_err(|_| SessionError::SessionInvalid)?;
        let held = attached.filter(|(attached, _)| *attached == id);
        let durable = |(_, writer): &(_, SharedWriter)| writer.with(|writer| writer.is_durable());
        if let Some((_, writer)) = held.as_ref().filter(|held| !durable(held)) {
            return self.reattach(writer);
        }
        let job = spawn_blocking(move || {
            attach::open(&admitted, &id, held.as_ref().map(|(_, writer)| writer))
        });
        self.attach(operation, job, cancel).await
    }

    /// Opens the attached session again that has no file yet: the handle itself, under a new
    /// revision.
    fn reattach(&self, writer: &SharedWriter) -> Result<Attached, SessionError> {
        if !writer.with(|writer| writer.is_unchanged()) {
            // Someone put a file under its name.
            return Err(SessionError::SessionInvalid);
        }
        let mut state = self.lock();
        let attachment = state
            .attachment
            .as_mut()
            .ok_or(SessionError::SessionMissing)?;
        attachment.stale = false;
        Ok(Attached {
            session_id: attachment.id.to_string(),
            durable: false,
            revision: attachment.renew(),
            notices: Vec::new(),
        })
    }

    /// Admits a session operation.
    #[allow(clippy::type_complexity)]
    fn begin(
        self: &Arc<Self>,
    ) -> Result<
        (
            Operation,
            Arc<Admitted>,
            Option<(store::sessions::SessionId, SharedWriter)>,
        ),
        SessionError,
    > {
        let mut state = self.lock();
        let admitted = state.ready()?;
        if state.work.is_some() {
            return Err(SessionError::Busy);
        }
        if self.cancel.is_cancelled() {
            return Err(SessionError::OperationCancelled);
        }
        state.work = Some(Work::Operation);
        let attached = state
            .attachment
            .as_ref()
            .map(|attachment| (attachment.id.clone(), attachment.writer.clone()));
        Ok((Operation(Arc::clone(self)), admitted, attached))
    }

    /// Waits for `job` unless it is cancelled; then the operation stays active until the job's
    /// resources are free.
    async fn finish<T: Send + 'static>(
        &self,
        operation: Operation,
        mut job: JoinHandle<Result<T, SessionError>>,
        cancel: CancellationToken,
    ) -> Result<(Operation, T), SessionError> {
        tokio::select! {
            biased;
            done = &mut job => match done {
                Ok(result) => result.map(|value| (operation, value)),
                Err(_) => Err(SessionError::SessionInvalid),
            },
            () = either(&cancel, &self.cancel) => {
                tokio::spawn(async move {
                    drop(job.await);
                    drop(operation);
                });
                Err(SessionError::OperationCancelled)
            }
        }
    }

    async fn attach(
        &self,
        operation: Operation,
        job: JoinHandle<Result<Prepared, SessionError>>,
        cancel: CancellationToken,
    ) -> Result<Attached, SessionError> {
        let (operation, prepared) = self.finish(operation, job, cancel).await?;
        let previous = self.lock().attachment.replace(prepared.attachment);
        // The previous session is free before the answer says that this one is attached.
        let _ = spawn_blocking(move || drop(previous)).await;
        drop(operation);
        Ok(prepared.attached)
    }

    /// One page of the attached session's history: the first for `None`, else the one that
    /// `cursor` was given out for.
    pub async fn history_page(
        self: &Arc<Self>,
        session_id: &str,
        revision: &str,
        cursor: Option<&str>,
        cancel: CancellationToken,
    ) -> Result<HistoryPage, SessionError> {
        let (operation, admitted, _) = self.begin()?;
        let (writer, snapshot, number) = {
            let state = self.lock();
            let attachment = state
                .attachment
                .as_ref()
                .ok_or(SessionError::SessionMissing)?;
            if attachment.id.as_str() != session_id {
                return Err(SessionError::StaleSession);
            }
            if attachment.revision != revision || attachment.stale {
                return Err(SessionError::StaleRevision);
            }
            let number = match cursor {
                None => 0,
                Some(cursor) => history::page_of(cursor, revision)
                    .filter(|number| (1..=attachment.issued).contains(number))
                    .ok_or(SessionError::StaleRevision)?,
            };
            (
                attachment.writer.clone(),
                attachment.snapshot.clone(),
                number,
            )
        };
        let job = spawn_blocking(move || Ok(snapshot_of(&admitted, &writer, snapshot)));
        let (operation, result) = self.finish(operation, job, cancel).await?;
        let mut state = self.lock();
        // Nothing else can have changed the attachment: the operation is still ours.
        let attachment = state
            .attachment
            .as_mut()
            .ok_or(SessionError::SessionMissing)?;
        let page = match result {
            Ok(snapshot) => {
                let page = snapshot.page(number, session_id, revision);
                attachment.snapshot = Some(snapshot);
                page
            }
            Err(SessionError::StaleRevision) => {
                attachment.stale = true;
                attachment.snapshot = None;
                return release(state, operation, Err(SessionError::StaleRevision));
            }
            Err(error) => return release(state, operation, Err(error)),
        };
        if page.as_ref().is_some_and(|page| page.next_cursor.is_some()) {
            attachment.issued = attachment.issued.max(number + 1);
        }
        release(state, operation, page.ok_or(SessionError::StaleRevision))
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

/// Ends an operation with `result`, the lock first: the operation takes it again.
fn release<T>(state: MutexGuard<'_, State>, operation: Operation, result: T) -> T {
    drop(state);
    drop(operation);
    result
}

async fn either(one: &CancellationToken, other: &CancellationToken) {
    tokio::select! {
        () = one.cancelled() => {}
        () = other.cancelled() => {}
    }
}

/// The projection of what the file holds now, `known` if it is the same still. `StaleRevision`
/// if someone else changed the file. Blocks.
fn snapshot_of(
    admitted: &Admitted,
    writer: &SharedWriter,
    known: Option<Arc<Snapshot>>,
) -> Result<Arc<Snapshot>, SessionError> {
    writer.with(|writer| {
        let records = match known {
            Some(_) => None,
            None if !writer.is_durable() => Some(Ok(Vec::new())),
            None => Some(
                admitted
                    .sessions
                    .reopen(writer)
                    .map(|opened| opened.records),
            ),
        };
        // After the read, so that a change before or during it is noticed.
        if !writer.is_unchanged() {
            return Err(SessionError::StaleRevision);
        }
        match (known, records) {
            (Some(known), _) => Ok(known),
            (None, Some(records)) => Snapshot::new(&records?, &admitted.redactor).map(Arc::new),
            (None, None) => Err(SessionError::StaleRevision),
        }
    })
}
