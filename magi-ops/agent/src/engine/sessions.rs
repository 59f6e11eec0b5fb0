//! Sessions of the engine: attaching and letting go, lists, pages of a history, replays.
//! Files are the store's matter, what overlaps with what the families'.

use std::path::Path;
use std::sync::Arc;

use store::sessions::{SessionId, SessionList};
use tokio_util::sync::CancellationToken;

use super::{Engine, conversation};
use crate::attach::{self, Attached, Attachment, Lifetime};
use crate::error::{EngineError, ErrorKind};
use crate::history::{self, HistoryPage, Snapshot};
use crate::replay::ReplayPage;
use crate::run::{Run, RunSpec};
use crate::startup::Workspace;
use crate::writer::SharedWriter;

/// How far letting go of a session came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detached {
    /// Nothing of this process holds the session.
    Closed,
    /// Its run was cancelled; the attachment ends with it.
    Closing,
}

impl Engine {
    /// Attaches a session of `workspace` and reads it; without an id a new one, which has no file before a run
    /// stores its input. What `instead_of` names is let go once that is done; on failure it stays as it is.
    ///
    /// # Errors
    /// Why it can't be attached; [`ErrorKind::Cancelled`] when `cancel` fired before it was.
    pub async fn open(
        &self,
        workspace: &Arc<Workspace>,
        session: Option<SessionId>,
        instead_of: Option<&SessionId>,
        cancel: &CancellationToken,
    ) -> Result<Attached, EngineError> {
        self.has_place(&self.table(), instead_of)?;
        let held = match &session {
            Some(id) if instead_of == Some(id) => {
                Some(conversation(&mut self.table(), id)?.writer.clone())
            }
            _ => None,
        };
        if let (Some(id), Some(writer)) = (&session, &held)
            && !writer.with(|writer| writer.is_durable())
        {
            return self.open_again(id, writer);
        }
        let within = Arc::clone(workspace);
        let prepared = self.run_blocking(move || match session {
            None => attach::create(&within),
            Some(id) => attach::open(&within, &id, held.as_ref()),
        });
        let (conversation, attached) = prepared.await??;
        let attachment = Attachment::of(conversation, Lifetime::UntilDetached);
        let previous = self.install(attachment, instead_of, cancel)?;
        // The previous session is free before anybody is told that this one is attached.
        self.run_blocking(move || drop(previous)).await?;
        Ok(attached)
    }

    /// Opens an attached session again that has no file yet: the handle itself, under a new revision.
    fn open_again(&self, id: &SessionId, writer: &SharedWriter) -> Result<Attached, EngineError> {
        if !writer.with(|writer| writer.is_unchanged()) {
            // Someone put a file under its name.
            return Err(ErrorKind::SessionInvalid.into());
        }
        let mut table = self.table();
        let conversation = conversation(&mut table, id)?;
        conversation.stale = false;
        Ok(Attached {
            session_id: id.to_string(),
            durable: false,
            revision: conversation.renew(),
            notices: Vec::new(),
        })
    }

    /// The provider and model that answer in an attached session, as far as they may be shown.
    #[must_use]
    pub fn selection(
        &self,
        workspace: &Workspace,
        id: &SessionId,
    ) -> Option<(Option<String>, Option<String>)> {
        let mut table = self.table();
        let choice = &conversation(&mut table, id).ok()?.selected.as_ref()?.choice;
        let shown = |name: &str| workspace.public_name(name);
        Some((shown(&choice.provider), shown(&choice.model)))
    }

    /// Attaches a session of a canonical directory by its lease alone, or keeps the one that a run attached; without an id a new one
    /// whose first record is on the disk. Returns its id.
    ///
    /// # Errors
    /// Why it can't be attached.
    pub async fn lease(
        &self,
        directory: &Path,
        session: Option<SessionId>,
    ) -> Result<SessionId, EngineError> {
        let _admission = self.admission.lock().await;
        if let Some(id) = &session
            && let Some(attachment) = self.table().get_mut(id)
        {
            if attachment.lifetime == Lifetime::Ending {
                return Err(ErrorKind::SessionBusy.into());
            }
            attachment.lifetime = Lifetime::UntilDetached;
            return Ok(id.clone());
        }
        self.has_place(&self.table(), None)?;
        let (services, directory) = (Arc::clone(self.services()?), directory.to_owned());
        let lifetime = Lifetime::UntilDetached;
        let attaching = self.run_blocking(move || match session {
            None => attach::create_durable(&services, &directory, lifetime),
            Some(id) => attach::lease(&services, &directory, &id)
                .map(|lease| Attachment::leased(lease, lifetime)),
        });
        let attachment = attaching.await??;
        let id = attachment.lease.id().clone();
        self.install(attachment, None, &self.cancel)?;
        Ok(id)
    }

    /// Ends the attachment of a session, cancelling its run. Idempotent, also for sessions that are
    /// not there.
    ///
    /// # Errors
    /// When the process ends meanwhile.
    pub async fn detach(&self, id: &SessionId) -> Result<Detached, EngineError> {
        let _admission = self.admission.lock().await;
        let idle = {
            let mut table = self.table();
            if let (Some(run), Some(attachment)) = (self.runs.of_session(id), table.get_mut(id)) {
                attachment.lifetime = Lifetime::Ending;
                run.cancel.cancel();
                return Ok(Detached::Closing);
            }
            table.remove(id)
        };
        let known = self.recent().take(id);
        // Another process may have it once the answer is out.
        self.run_blocking(move || drop((idle, known))).await?;
        Ok(Detached::Closed)
    }

    /// Starts a run of an existing session, or of a new one. Returning means admission; what happens
    /// comes as events. A session that is not attached is for as long as its run.
    ///
    /// # Errors
    /// Why no run was admitted; the attachments are then what they were.
    pub async fn start_in(
        self: &Arc<Self>,
        workspace: &Arc<Workspace>,
        session: Option<SessionId>,
        spec: RunSpec,
    ) -> Result<Run, EngineError> {
        if !spec.policy.admits(&spec.prompt) {
            return Err(ErrorKind::InvalidPrompt.into());
        }
        let _admission = self.admission.lock().await;
        let attached = {
            let mut table = self.table();
            let attached = session.as_ref().and_then(|id| table.get(id));
            if attached.is_some_and(|attachment| {
                attachment.lifetime == Lifetime::Ending
                    || self.runs.of_session(attachment.lease.id()).is_some()
            }) {
                return Err(ErrorKind::SessionBusy.into());
            }
            self.may_run()?;
            if attached.is_none() {
                self.has_place(&table, None)?;
            }
            // Out of the table while it is looked at: nobody else admits anything meanwhile.
            session.as_ref().and_then(|id| table.remove(id))
        };
        let known = session.as_ref().and_then(|id| self.recent().take(id));
        let within = Arc::clone(workspace);
        let reading = self.run_blocking(move || -> Result<_, EngineError> {
            let lifetime = Lifetime::WithItsRun;
            let mut attachment = match (attached, session) {
                (Some(attached), _) => attached,
                (None, None) => attach::create_durable(&within.services, &within.cwd, lifetime)?,
                (None, Some(id)) => {
                    Attachment::leased(within.services.sessions.attach(&id)?, lifetime)
                }
            };
            let read = attachment.read(&within.cwd, known);
            Ok((attachment, read))
        });
        let (attachment, read) = reading.await??;
        let id = attachment.lease.id().clone();
        let for_run = attachment.lifetime == Lifetime::WithItsRun;
        self.install(attachment, None, &self.cancel)?;
        let started = read.and_then(|()| self.start(workspace, &id, spec));
        started.inspect_err(|_| {
            if for_run {
                let attached = self.table().remove(&id);
                self.free(attached);
            }
        })
    }

    /// Puts an attachment into the table, unless `cancel` fired or the process is at its end. Gives back the one
    /// that it stands there instead of.
    fn install(
        &self,
        attachment: Attachment,
        instead_of: Option<&SessionId>,
        cancel: &CancellationToken,
    ) -> Result<Option<Attachment>, EngineError> {
        let mut table = self.table();
        if cancel.is_cancelled() || self.cancel.is_cancelled() {
            drop(table);
            self.free(Some(attachment));
            return Err(ErrorKind::Cancelled.into());
        }
        let previous = instead_of.and_then(|id| table.remove(id));
        table.insert(attachment.lease.id().clone(), attachment);
        Ok(previous)
    }

    /// One page of an attached session's history: the first for `None`, else the one that `cursor` was given
    /// out for.
    ///
    /// # Errors
    /// [`ErrorKind::StaleRevision`] when `revision` or `cursor` are not those of the history as it stands.
    pub async fn page(
        &self,
        workspace: &Workspace,
        id: &SessionId,
        revision: &str,
        cursor: Option<&str>,
    ) -> Result<HistoryPage, EngineError> {
        let (writer, snapshot, number) = {
            let mut table = self.table();
            let conversation = conversation(&mut table, id)?;
            if conversation.revision != revision || conversation.stale {
                return Err(ErrorKind::StaleRevision.into());
            }
            let number = match cursor {
                None => 0,
                Some(cursor) => history::page_of(cursor, revision)
                    .filter(|number| (1..=conversation.issued).contains(number))
                    .ok_or(ErrorKind::StaleRevision)?,
            };
            let snapshot = conversation.snapshot.clone();
            (conversation.writer.clone(), snapshot, number)
        };
        let redactor = workspace.redactor().clone();
        let current = self.run_blocking(move || Snapshot::current(&redactor, &writer, snapshot));
        let current = current.await?;
        let mut table = self.table();
        let conversation = conversation(&mut table, id)?;
        if conversation.revision != revision {
            return Err(ErrorKind::StaleRevision.into());
        }
        let snapshot = current.inspect_err(|error| {
            if error.kind() == ErrorKind::StaleRevision {
                conversation.stale = true;
                conversation.snapshot = None;
            }
        })?;
        let page = snapshot.page(number, id.as_str(), revision);
        conversation.snapshot = Some(snapshot);
        let page = page.ok_or(ErrorKind::StaleRevision)?;
        if page.next_cursor.is_some() {
            conversation.issued = conversation.issued.max(number + 1);
        }
        Ok(page)
    }

    /// One page of all sessions, ordered by id, from behind `after`.
    ///
    /// # Errors
    /// When there are too many files, or they can't be listed.
    pub async fn list(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<SessionList, EngineError> {
        let services = Arc::clone(self.services()?);
        let list = self.run_blocking(move || {
            let redactor = &services.redactor;
            services.sessions.list(after.as_ref(), limit, redactor)
        });
        Ok(list.await??)
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
        let services = Arc::clone(self.services()?);
        let page = move || services.replays.page(&id, after.as_deref(), limit);
        self.run_blocking(page).await?
    }
}
