//! What application-service may do: up to sixteen attached sessions, explicit or for one turn, each with at most
//! one turn (spec: application-service, "Attachments, close, and conflicts"). Files are the store's matter.

use std::sync::Arc;

use store::sessions::{SessionId, SessionList};
use tokio::task::spawn_blocking;

use super::{Backend, State, free};
use crate::attach::{self, Active, Attachment};
use crate::error::{DeskError, SessionError};
use crate::replay::ReplayPage;
use crate::run::{self, Control, Kind, MAX_PROMPT_BYTES, Run};
use crate::startup::{self, Admitted, Reached, StartupError, Storage};

/// Most attached sessions of a process.
const MAX_ATTACHMENTS: usize = 16;
/// Most turns at a time: one for each attachment.
const MAX_TURNS: usize = MAX_ATTACHMENTS;

/// How far closing an attachment came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detached {
    /// Nothing of this process holds the session.
    Closed,
    /// Its turn was cancelled; the attachment ends with it.
    Closing,
}

impl State {
    fn turns(&self) -> usize {
        let running = |attachment: &&Attachment| attachment.run.is_some();
        self.attachments.values().filter(running).count()
    }

    /// Whether one more session may be attached.
    fn has_place(&self) -> Result<(), DeskError> {
        if self.attachments.len() < MAX_ATTACHMENTS {
            Ok(())
        } else {
            Err(DeskError::LimitExceeded)
        }
    }
}

impl Backend {
    /// Prepares the home and takes the snapshot of instructions, skills and policies that this process
    /// works with, for a dialect whose launch may do so before any request. Settings that cannot be
    /// read are no reason to fail: sessions are listed, opened and replayed without, and a turn tries
    /// again. Blocks.
    ///
    /// # Errors
    /// When there is no home, or none that can be prepared.
    pub fn prepare(&self) -> Result<(), StartupError> {
        let admitted = startup::admit(&self.environment, &mut Reached::default(), &self.cancel)
            .inspect_err(StartupError::log)
            .ok();
        let storage = match &admitted {
            Some(admitted) => Storage::beside(admitted),
            None => Storage::of(&self.environment)?,
        };
        let mut state = self.lock();
        state.storage = Some(Arc::new(storage));
        state.admitted = admitted.map(Arc::new);
        Ok(())
    }

    async fn admitted(&self) -> Result<Arc<Admitted>, DeskError> {
        if let Some(admitted) = &self.lock().admitted {
            return Ok(Arc::clone(admitted));
        }
        let environment = self.environment.clone();
        let stop = self.cancel.clone();
        let admit = move || startup::admit(&environment, &mut Reached::default(), &stop);
        let admitted = blocking(admit).await?.map_err(|error| {
            error.log();
            DeskError::Internal
        })?;
        let mut state = self.lock();
        Ok(Arc::clone(state.admitted.get_or_insert(Arc::new(admitted))))
    }

    /// There since [`Self::prepare`].
    fn storage(&self) -> Result<Arc<Storage>, DeskError> {
        self.lock().storage.clone().ok_or(DeskError::Internal)
    }

    /// One page of all sessions, ordered by id, from behind `after`.
    pub async fn list_sessions(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SessionList, DeskError> {
        let after = after.map(session_id).transpose()?;
        let storage = self.storage()?;
        let list = move || {
            storage
                .sessions
                .list(after.as_ref(), limit, &storage.redactor)
        };
        Ok(blocking(list).await??)
    }

    /// One page of what a session durably holds. Needs no attachment.
    pub async fn replay(
        &self,
        id: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ReplayPage, DeskError> {
        let id = session_id(id)?;
        let storage = self.storage()?;
        let after = after.map(str::to_owned);
        let page = move || storage.replays.page(&id, after.as_deref(), limit);
        Ok(blocking(page).await??)
    }

    /// Creates a session whose first record is on the disk and attaches it. Returns its id.
    pub async fn create_attached(self: &Arc<Self>) -> Result<String, DeskError> {
        let _desk = self.desk.lock().await;
        let storage = self.storage()?;
        self.lock().has_place()?;
        let (id, attachment) = blocking(move || new_session(&storage)).await??;
        let name = id.to_string();
        self.install(id, attachment)?;
        Ok(name)
    }

    /// Attaches a session of this directory, or keeps the one that a turn attached. Its history is not read.
    pub async fn attach(self: &Arc<Self>, id: &str) -> Result<(), DeskError> {
        let id = session_id(id)?;
        let _desk = self.desk.lock().await;
        let storage = self.storage()?;
        {
            let mut state = self.lock();
            match state.attachments.get_mut(&id) {
                Some(attachment) if attachment.closing => return Err(DeskError::SessionBusy),
                Some(attachment) => {
                    attachment.explicit = true;
                    return Ok(());
                }
                None => state.has_place()?,
            }
        }
        let held = {
            let id = id.clone();
            blocking(move || attach::lease(&storage, &id)).await?
        };
        self.install(id, Attachment::leased(held?))
    }

    /// Ends the attachment of a session, cancelling its turn. Idempotent, also for sessions that are
    /// not there.
    pub async fn detach(self: &Arc<Self>, id: &str) -> Result<Detached, DeskError> {
        let id = session_id(id)?;
        let _desk = self.desk.lock().await;
        let idle = {
            let mut state = self.lock();
            match state.attachments.get_mut(&id) {
                Some(attachment) if attachment.run.is_some() => {
                    attachment.closing = true;
                    if let Some(control) = attachment.control() {
                        control.cancel.cancel();
                    }
                    return Ok(Detached::Closing);
                }
                _ => state.attachments.remove(&id),
            }
        };
        // Another process may have it once the answer is out.
        blocking(move || drop(idle)).await?;
        Ok(Detached::Closed)
    }

    /// Starts a turn of an existing session, or of a new one. Returning means admission; what happens
    /// comes as events. A session that is not attached is for as long as its turn.
    pub async fn begin_turn(
        self: &Arc<Self>,
        id: Option<&str>,
        prompt: &str,
    ) -> Result<Run, DeskError> {
        if prompt.len() > MAX_PROMPT_BYTES || prompt.trim().is_empty() {
            return Err(DeskError::InvalidPrompt);
        }
        let id = id.map(session_id).transpose()?;
        let _desk = self.desk.lock().await;
        let admitted = self.admitted().await?;
        let attached = {
            let mut state = self.lock();
            let attached = id.as_ref().and_then(|id| state.attachments.get(id));
            match attached {
                Some(busy) if busy.closing || busy.run.is_some() => {
                    return Err(DeskError::SessionBusy);
                }
                _ if state.turns() == MAX_TURNS => return Err(DeskError::TooManyActiveTurns),
                Some(_) => {}
                None => state.has_place()?,
            }
            // Out of the table while it is looked at: the desk is ours, nobody misses it.
            id.as_ref().and_then(|id| state.attachments.remove(id))
        };
        let (id, attachment) = match id {
            None => {
                let storage = self.storage()?;
                let (id, mut attachment) = blocking(move || new_session(&storage)).await??;
                attachment.explicit = false;
                (id, attachment)
            }
            Some(id) => {
                let admitted = Arc::clone(&admitted);
                let look = {
                    let id = id.clone();
                    move || ready_for_turn(&admitted, &id, attached)
                };
                match blocking(look).await? {
                    (Some(attachment), Ok(())) => (id, attachment),
                    (kept, result) => {
                        if let Some(kept) = kept {
                            self.install(id, kept)?;
                        }
                        return Err(result.err().map_or(DeskError::Internal, DeskError::from));
                    }
                }
            }
        };
        self.start(admitted, id, attachment, prompt)
    }

    fn start(
        self: &Arc<Self>,
        admitted: Arc<Admitted>,
        id: SessionId,
        mut attachment: Attachment,
        prompt: &str,
    ) -> Result<Run, DeskError> {
        let control = Arc::new(Control::new(
            id.to_string(),
            crate::new_id(),
            self.cancel.child_token(),
        ));
        let conversation = attachment
            .conversation
            .as_mut()
            .ok_or(DeskError::Internal)?;
        let task = run::Task::new(admitted, &control, conversation, prompt, Kind::Turn);
        attachment.run = Some(Active::new(control));
        self.install(id, attachment)?;
        Ok(run::start(Arc::clone(self) as Arc<dyn run::Owner>, task))
    }

    /// Puts an attachment into the table, unless the process is at its end.
    fn install(&self, id: SessionId, attachment: Attachment) -> Result<(), DeskError> {
        let mut state = self.lock();
        if self.cancel.is_cancelled() {
            drop(state);
            free(Some(attachment));
            return Err(DeskError::Internal);
        }
        state.attachments.insert(id, attachment);
        Ok(())
    }

    /// Asks a turn to stop, of the session `id` if one is named. Its end comes as an event.
    pub fn cancel_turn_by_id(&self, id: Option<&str>, turn_id: &str) -> Result<(), DeskError> {
        let id = id.map(session_id).transpose()?;
        let mut state = self.lock();
        let (of, attachment) = state.of_run(turn_id).ok_or(DeskError::UnknownTurn)?;
        let run = attachment.run.as_ref().filter(|run| !run.ended);
        let run = run.filter(|_| id.is_none_or(|id| id == *of));
        run.ok_or(DeskError::UnknownTurn)?.control.cancel.cancel();
        Ok(())
    }
}

fn session_id(id: &str) -> Result<SessionId, DeskError> {
    id.parse().map_err(|_| DeskError::InvalidSessionId)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DeskError> {
    spawn_blocking(work).await.map_err(|_| DeskError::Internal)
}

fn new_session(storage: &Storage) -> Result<(SessionId, Attachment), SessionError> {
    let conversation = attach::create_durable(storage)?;
    let id = conversation
        .writer
        .with(|writer| writer.lease().id().clone());
    Ok((id, Attachment::of(conversation)))
}

/// Brings the content of the session's file into its attachment, made for the turn where there is none.
/// On failure the attachment is the one that there was.
fn ready_for_turn(
    admitted: &Admitted,
    id: &SessionId,
    attached: Option<Attachment>,
) -> (Option<Attachment>, Result<(), SessionError>) {
    let is_new = attached.is_none();
    let mut attachment = match attached {
        Some(attachment) => attachment,
        None => match admitted.sessions.attach(id) {
            Ok(lease) => Attachment::leased(lease),
            Err(error) => return (None, Err(error.into())),
        },
    };
    attachment.explicit &= !is_new;
    let current = attachment
        .conversation
        .as_ref()
        .is_some_and(|known| !known.stale && known.writer.with(|writer| writer.is_unchanged()));
    if current {
        return (Some(attachment), Ok(()));
    }
    attachment.conversation = None;
    match attach::load(&admitted.cwd, &attachment.lease) {
        Ok(conversation) => {
            attachment.conversation = Some(conversation);
            (Some(attachment), Ok(()))
        }
        Err(error) => ((!is_new).then_some(attachment), Err(error)),
    }
}
