//! The facade's session and history operations: admitted one at a time, done on threads that may block,
//! cancellable by their caller. What they do to files and projections is done elsewhere.

use std::sync::{Arc, MutexGuard};

use store::sessions::SessionId;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::{Backend, State, Work};
use crate::attach::{self, Attached, Prepared, SharedWriter};
use crate::error::SessionError;
use crate::history::{self, HistoryPage, Snapshot};
use crate::startup::Admitted;

/// Marks a session or history operation as active while it lives.
struct Operation(Arc<Backend>);

impl Drop for Operation {
    fn drop(&mut self) {
        self.0.lock().work = None;
        self.0.idle.notify_waiters();
    }
}

impl Backend {
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
    ) -> Result<(Operation, Arc<Admitted>, Option<(SessionId, SharedWriter)>), SessionError> {
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
        if session_id.parse::<SessionId>().is_err() {
            return Err(SessionError::SessionInvalid);
        }
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
        let job = spawn_blocking(move || Ok(Snapshot::current(&admitted, &writer, snapshot)));
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
