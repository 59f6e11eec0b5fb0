//! What local-agent may do: one attached session, one thing at a time. Session and history operations are
//! done on threads that may block and are cancellable; what they do to files and projections is done elsewhere.

use std::sync::{Arc, MutexGuard};

use store::sessions::SessionId;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::{Backend, State};
use crate::attach::{self, Active, Attached, Attachment, Prepared};
use crate::error::{SessionError, TurnError};
use crate::history::{self, HistoryPage, Snapshot};
use crate::run::{self, Control, MAX_PROMPT_BYTES, Run};
use crate::startup::{Admitted, Selected};
use crate::writer::SharedWriter;

/// Marks a session or history operation as active while it lives.
struct Operation(Arc<Backend>);

impl Drop for Operation {
    fn drop(&mut self) {
        self.0.lock().operating = false;
        self.0.idle.notify_waiters();
    }
}

/// An admitted operation and what it works with.
struct Begun {
    operation: Operation,
    admitted: Arc<Admitted>,
    selected: Arc<Selected>,
    seated: Option<(SessionId, SharedWriter)>,
}

impl State {
    fn is_seat_busy(&self) -> bool {
        self.operating || self.seated().is_some_and(|seat| seat.run.is_some())
    }
}

impl Backend {
    /// Attaches a new session. It has no file before its first run stores the input.
    pub async fn create_session(
        self: &Arc<Self>,
        cancel: CancellationToken,
    ) -> Result<Attached, SessionError> {
        let begun = self.begin()?;
        let (admitted, selected) = (begun.admitted, begun.selected);
        let job = spawn_blocking(move || attach::create(&admitted, &selected));
        self.take_seat(begun.operation, job, cancel).await
    }

    /// Attaches an existing session by its exact id. On failure the previous attachment stays.
    pub async fn open_session(
        self: &Arc<Self>,
        id: &str,
        cancel: CancellationToken,
    ) -> Result<Attached, SessionError> {
        let begun = self.begin()?;
        let id = id.parse().map_err(|_| SessionError::SessionInvalid)?;
        let held = begun.seated.filter(|(seated, _)| *seated == id);
        let durable = |(_, writer): &(_, SharedWriter)| writer.with(|writer| writer.is_durable());
        if let Some((_, writer)) = held.as_ref().filter(|held| !durable(held)) {
            return self.sit_again(writer);
        }
        let (admitted, selected) = (begun.admitted, begun.selected);
        let job = spawn_blocking(move || {
            let held = held.as_ref().map(|(_, writer)| writer);
            attach::open(&admitted, &selected, &id, held)
        });
        self.take_seat(begun.operation, job, cancel).await
    }

    /// Opens the attached session again that has no file yet: the handle itself, under a new
    /// revision.
    fn sit_again(&self, writer: &SharedWriter) -> Result<Attached, SessionError> {
        if !writer.with(|writer| writer.is_unchanged()) {
            // Someone put a file under its name.
            return Err(SessionError::SessionInvalid);
        }
        let mut state = self.lock();
        let (id, conversation) = state.conversation().ok_or(SessionError::SessionMissing)?;
        conversation.stale = false;
        Ok(Attached {
            session_id: id.to_string(),
            durable: false,
            revision: conversation.renew(),
            notices: Vec::new(),
        })
    }

    /// Admits a session operation.
    fn begin(self: &Arc<Self>) -> Result<Begun, SessionError> {
        let mut state = self.lock();
        let admitted = state.ready()?;
        let selected = state.selected.clone().ok_or(SessionError::NotInitialized)?;
        if state.is_seat_busy() {
            return Err(SessionError::Busy);
        }
        if self.cancel.is_cancelled() {
            return Err(SessionError::OperationCancelled);
        }
        state.operating = true;
        let seated = state
            .conversation()
            .map(|(id, conversation)| (id.clone(), conversation.writer.clone()));
        Ok(Begun {
            operation: Operation(Arc::clone(self)),
            admitted,
            selected,
            seated,
        })
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

    async fn take_seat(
        &self,
        operation: Operation,
        job: JoinHandle<Result<Prepared, SessionError>>,
        cancel: CancellationToken,
    ) -> Result<Attached, SessionError> {
        let (operation, prepared) = self.finish(operation, job, cancel).await?;
        let previous = {
            let mut state = self.lock();
            let left = state.seat.replace(prepared.id.clone());
            let left = left.and_then(|id| state.attachments.remove(&id));
            let attachment = Attachment::of(prepared.conversation);
            state.attachments.insert(prepared.id, attachment);
            left
        };
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
        let begun = self.begin()?;
        if session_id.parse::<SessionId>().is_err() {
            return Err(SessionError::SessionInvalid);
        }
        let (writer, snapshot, number) = {
            let mut state = self.lock();
            let (id, conversation) = state.conversation().ok_or(SessionError::SessionMissing)?;
            if id.as_str() != session_id {
                return Err(SessionError::StaleSession);
            }
            if conversation.revision != revision || conversation.stale {
                return Err(SessionError::StaleRevision);
            }
            let number = match cursor {
                None => 0,
                Some(cursor) => history::page_of(cursor, revision)
                    .filter(|number| (1..=conversation.issued).contains(number))
                    .ok_or(SessionError::StaleRevision)?,
            };
            (
                conversation.writer.clone(),
                conversation.snapshot.clone(),
                number,
            )
        };
        let admitted = begun.admitted;
        let job =
            spawn_blocking(move || Ok(Snapshot::current(&admitted.redactor, &writer, snapshot)));
        let (operation, result) = self.finish(begun.operation, job, cancel).await?;
        let mut state = self.lock();
        // Nothing else can have changed the attachment: the operation is still ours.
        let (_, conversation) = state.conversation().ok_or(SessionError::SessionMissing)?;
        let page = match result {
            Ok(snapshot) => {
                let page = snapshot.page(number, session_id, revision);
                conversation.snapshot = Some(snapshot);
                page
            }
            Err(SessionError::StaleRevision) => {
                conversation.stale = true;
                conversation.snapshot = None;
                return release(state, operation, Err(SessionError::StaleRevision));
            }
            Err(error) => return release(state, operation, Err(error)),
        };
        if page.as_ref().is_some_and(|page| page.next_cursor.is_some()) {
            conversation.issued = conversation.issued.max(number + 1);
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
        if state.is_seat_busy() {
            return Err(TurnError::Busy);
        }
        if self.cancel.is_cancelled() {
            return Err(TurnError::OperationCancelled);
        }
        if session_id.parse::<SessionId>().is_err() {
            return Err(TurnError::SessionInvalid);
        }
        let seat = state.seat.clone().ok_or(TurnError::SessionMissing)?;
        if seat.as_str() != session_id {
            return Err(TurnError::StaleSession);
        }
        let attachment = state
            .attachments
            .get_mut(&seat)
            .ok_or(TurnError::SessionMissing)?;
        let conversation = attachment
            .conversation
            .as_mut()
            .ok_or(TurnError::SessionMissing)?;
        let control = Arc::new(Control::new(
            session_id.to_owned(),
            crate::new_id(),
            self.cancel.child_token(),
        ));
        let task = run::Task::new(admitted, &control, conversation, prompt, run::Kind::Run);
        attachment.run = Some(Active::new(control));
        drop(state);
        Ok(run::start(Arc::clone(self) as Arc<dyn run::Owner>, task))
    }

    /// Asks the active run to stop. Idempotent; its end comes as an event.
    pub fn cancel_turn(&self, session_id: &str, run_id: &str) -> Result<(), TurnError> {
        let state = self.lock();
        state.ready()?;
        let control = state
            .seated()
            .and_then(Attachment::control)
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
            .seated()
            .and_then(Attachment::control)
            .filter(|control| control.is(session_id, run_id) && !control.cancel.is_cancelled())
            .is_some_and(|control| control.answer(approval_id, allow));
        if recorded {
            Ok(())
        } else {
            Err(TurnError::StaleApproval)
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
