//! The facade that callers hold: startup, the table of attached sessions and the ends of their runs, behind one
//! lock that is never held across a wait. Who may attach and run what stands in `seat` and `desk`.

mod desk;
mod seat;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::sessions::SessionId;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::attach::{Attachment, Conversation};
use crate::error::{SessionError, TurnError};
use crate::heap;
use crate::run::{Ended, Owner};
use crate::startup::{
    self, Admitted, Environment, InitializeError, Reached, Selected, StartupError,
    StartupErrorKind, Storage,
};

pub use desk::Detached;

/// How far the process has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Uninitialized,
    Starting,
    Ready,
    Failed(StartupErrorKind),
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
    /// Of a run whose caller may still be telling of its end.
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
    /// Held while application-service attaches, detaches or admits a turn.
    desk: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    /// The startup selection and context, as far as startup came.
    reached: Reached,
    admitted: Option<Arc<Admitted>>,
    /// Application-service's view of the sessions.
    storage: Option<Arc<Storage>>,
    /// What answers where a session does not say otherwise; see [`Backend::initialize`].
    selected: Option<Arc<Selected>>,
    attachments: HashMap<SessionId, Attachment>,
    /// The one attachment of local-agent.
    seat: Option<SessionId>,
    /// A session or history operation of local-agent is active.
    operating: bool,
    /// Sessions that had a run in this process.
    started: HashSet<String>,
}

impl State {
    fn ready(&self) -> Result<Arc<Admitted>, NotReady> {
        match (&self.admitted, self.phase) {
            (_, Phase::Failed(error)) => Err(NotReady::Failed(error)),
            (Some(admitted), Phase::Ready) => Ok(Arc::clone(admitted)),
            _ => Err(NotReady::Pending),
        }
    }

    fn seated(&self) -> Option<&Attachment> {
        self.attachments.get(self.seat.as_ref()?)
    }

    /// The attachment of the seat with its conversation.
    fn conversation(&mut self) -> Option<(&SessionId, &mut Conversation)> {
        let id = self.seat.as_ref()?;
        let conversation = self.attachments.get_mut(id)?.conversation.as_mut()?;
        Some((id, conversation))
    }

    /// The attachment that a run works on.
    fn of_run(&mut self, run_id: &str) -> Option<(&SessionId, &mut Attachment)> {
        self.attachments
            .iter_mut()
            .find(|(_, attachment)| attachment.control().is_some_and(|c| c.run_id == run_id))
    }

    fn is_working(&self) -> bool {
        let busy = |attachment: &Attachment| attachment.run.as_ref().is_some_and(|run| !run.ended);
        self.operating || self.attachments.values().any(busy)
    }
}

enum NotReady {
    Pending,
    Failed(StartupErrorKind),
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
            desk: tokio::sync::Mutex::default(),
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
        // However this ends, the worker does not read on for nobody.
        let stop = CancellationToken::new();
        let _stops = stop.clone().drop_guard();
        let mut worker = spawn_blocking(move || {
            let mut reached = Reached::default();
            let admitted = startup::admit(&environment, &mut reached, &stop)
                .and_then(|admitted| admitted.select().map(|selected| (admitted, selected)));
            (admitted, reached)
        });
        let (admitted, reached) = tokio::select! {
            () = cancel.cancelled() => (Err(StartupErrorKind::Cancelled.into()), Reached::default()),
            () = self.cancel.cancelled() => (Err(StartupErrorKind::Cancelled.into()), Reached::default()),
            done = &mut worker => {
                done.unwrap_or_else(|error| {
                    let why = format!("startup broke off: {error}");
                    let reason = store::Reason::new(why);
                    (Err(StartupError::failed(reason)), Reached::default())
                })
            }
        };
        {
            let mut state = self.lock();
            state.reached = reached;
            match admitted {
                Ok((admitted, selected)) => {
                    state.admitted = Some(Arc::new(admitted));
                    state.selected = Some(Arc::new(selected));
                    state.phase = Phase::Ready;
                }
                Err(error) => {
                    state.phase = Phase::Failed(error.kind);
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
        if let Some(selected) = state.selected.as_mut().map(Arc::make_mut) {
            selected.provider = provider;
        }
    }

    /// Another store of sessions than the home's, before anything is attached.
    #[cfg(test)]
    pub(crate) fn replace_sessions(&self, sessions: Arc<dyn store::sessions::SessionStore>) {
        let mut state = self.lock();
        if let Some(admitted) = state.admitted.as_mut().and_then(Arc::get_mut) {
            admitted.sessions = sessions;
        }
    }

    /// Never waits, and never asks a provider.
    #[must_use]
    pub fn status(&self) -> Status {
        let state = self.lock();
        let conversation = state.seated().and_then(|seat| seat.conversation.as_ref());
        let selected = conversation.and_then(|conversation| conversation.selected.as_ref());
        let (provider, model) = match (selected, &state.admitted) {
            (Some(selected), Some(admitted)) => (
                admitted.public_name(&selected.choice.provider),
                admitted.public_name(&selected.choice.model),
            ),
            _ => (state.reached.provider.clone(), state.reached.model.clone()),
        };
        Status {
            phase: state.phase,
            provider,
            model,
            context_id: state.reached.context_id.clone(),
            session_id: state.seat.as_ref().map(ToString::to_string),
            run_id: state
                .seated()
                .and_then(Attachment::control)
                .map(|control| control.run_id.clone()),
        }
    }

    /// Whether the provider that is selected now could authenticate, from settings and environment as
    /// they stand. Errs when they cannot be read. Blocks on small reads.
    pub fn provider_ready(&self) -> Result<bool, StartupError> {
        startup::provider_ready(&self.environment)
    }

    /// Cancels what runs and waits for its teardown; then the session is free. Callers bound
    /// the wait. Nothing is admitted afterwards.
    pub async fn close(&self) {
        self.cancel.cancel();
        let _closing = self.closing.lock().await;
        let attachments = loop {
            // Registered before the look, so that no end falls between the two.
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            {
                let mut state = self.lock();
                if !state.is_working() {
                    state.seat = None;
                    break std::mem::take(&mut state.attachments);
                }
            }
            idle.await;
        };
        let _ = spawn_blocking(move || drop(attachments)).await;
    }

    /// Clears a run that is over on both sides, and takes out an attachment that ends with it.
    fn settle(&self, state: &mut State, id: &SessionId) -> Option<Attachment> {
        let attachment = state.attachments.get_mut(id)?;
        let over = attachment.settle() && (attachment.closing || !attachment.explicit);
        over.then(|| state.attachments.remove(id)).flatten()
    }
}

impl Owner for Backend {
    fn is_first_run(&self, session_id: &str) -> bool {
        self.lock().started.insert(session_id.to_owned())
    }

    fn input_stored(&self, run_id: &str) -> String {
        let mut state = self.lock();
        let attachment = state.of_run(run_id).map(|(_, attachment)| attachment);
        debug_assert!(attachment.is_some());
        attachment
            .and_then(|attachment| attachment.conversation.as_mut())
            .map_or_else(crate::new_id, Conversation::renew)
    }

    fn run_ended(&self, run_id: &str, ended: Option<Ended>) -> Option<String> {
        let mut state = self.lock();
        let (id, attachment) = state.of_run(run_id)?;
        let id = id.clone();
        let run = attachment.run.as_mut().filter(|run| !run.ended)?;
        run.ended = true;
        let mut revision = None;
        if let Some(conversation) = &mut attachment.conversation {
            let renewed = conversation.renew();
            match ended {
                Some(ended) => {
                    conversation.messages = ended.messages;
                    conversation.recorded = ended.recorded;
                    conversation.stale |= !ended.durable;
                    revision = (!conversation.stale).then_some(renewed);
                }
                None => conversation.stale = true,
            }
        }
        let freed = self.settle(&mut state, &id);
        drop(state);
        self.idle.notify_waiters();
        free(freed);
        revision
    }

    fn events_drained(&self, run_id: &str, gave_up: bool) {
        let mut state = self.lock();
        let Some((id, attachment)) = state.of_run(run_id) else {
            return;
        };
        let id = id.clone();
        if let Some(run) = &mut attachment.run {
            run.drained = true;
            if gave_up {
                run.control.cancel.cancel();
            }
        }
        let freed = self.settle(&mut state, &id);
        drop(state);
        free(freed);
    }
}

/// Frees an attachment: the lease here and now, since whoever learns of the end may want the session at
/// once; the conversation, which may be long, behind that.
fn free(attachment: Option<Attachment>) {
    if let Some(mut attachment) = attachment {
        let conversation = attachment.conversation.as_mut();
        let messages = conversation.map(|known| std::mem::take(&mut known.messages));
        drop(attachment);
        spawn_blocking(move || messages.map(heap::free));
    }
}
