//! Runs of the engine: admission, the handle that outsiders have on them, and what their ends mean for sessions.
//! What happens within a run stands in `run`.

use std::sync::{Arc, PoisonError};

use store::sessions::SessionId;

use super::Engine;
use crate::attach::{Attachment, Conversation, Lifetime};
use crate::engine::table::SessionTable;
use crate::error::{EngineError, ErrorKind};
use crate::run::{self, Control, Ended, Owner, Run, RunSpec};
use crate::startup::Workspace;

/// A run that is under way, or whose end somebody may still be telling.
#[derive(Clone, Debug)]
pub struct ActiveRun(Arc<Control>);

impl ActiveRun {
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.0.run_id
    }

    /// The session that it works in.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.0.session
    }

    /// Whether its work is done; its caller may not know yet.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    /// Asks it to stop, and every run that works for it. Idempotent; its end comes as an event.
    pub fn cancel(&self) {
        self.0.cancel.cancel();
    }

    /// Answers one of its approvals. True for exactly one answer, and for none after expiry or cancellation.
    #[must_use]
    pub fn answer(&self, approval_id: &str, allow: bool) -> bool {
        !self.0.cancel.is_cancelled() && self.0.answer(approval_id, allow)
    }
}

impl Engine {
    /// The run of this id, until its caller has let go of its events.
    #[must_use]
    pub fn run(&self, run_id: &str) -> Option<ActiveRun> {
        self.runs.get(run_id).map(ActiveRun)
    }

    /// The run that works in a session.
    #[must_use]
    pub fn run_of(&self, id: &SessionId) -> Option<ActiveRun> {
        self.runs.of_session(id).map(ActiveRun)
    }

    /// Whether one more run may be admitted.
    pub(super) fn may_run(&self) -> Result<(), ErrorKind> {
        if self.runs.len() < self.capacity.runs {
            Ok(())
        } else {
            Err(ErrorKind::TooManyRuns)
        }
    }

    /// Starts a run of an attached session that was read. Must be called within a runtime. Returning means
    /// admission only; what happens comes as events.
    ///
    /// # Errors
    /// Why no run was admitted.
    pub fn start(
        self: &Arc<Self>,
        workspace: &Arc<Workspace>,
        id: &SessionId,
        spec: RunSpec,
    ) -> Result<Run, EngineError> {
        if !spec.policy.admits(&spec.prompt) {
            return Err(ErrorKind::InvalidPrompt.into());
        }
        let (task, beside) = {
            let mut table = self.table();
            if self.cancel.is_cancelled() {
                return Err(ErrorKind::Cancelled.into());
            }
            if self.runs.of_session(id).is_some() {
                return Err(ErrorKind::SessionBusy.into());
            }
            self.may_run()?;
            let conversation = table.conversation(id)?;
            let beside = self.runs.is_working();
            let control = self.runs.admit(id.clone(), spec, &self.cancel)?;
            let blocking = self.blocking.clone();
            let task = run::Task::new(Arc::clone(workspace), blocking, &control, conversation);
            (task, beside)
        };
        let owner = Arc::clone(self) as Arc<dyn Owner>;
        let (run, work) = run::prepare(owner, task);
        // One run alone costs no thread; where several work, they share the cores.
        self.workers.spawn(beside, work);
        Ok(run)
    }

    /// Takes a run that is over on both sides out of the index, and gives back an attachment that ends with it.
    fn settle(&self, table: &mut SessionTable, control: &Control) -> Option<Attachment> {
        if !self.runs.settle(control) {
            return None;
        }
        let attachment = table.get(&control.session)?;
        let over = attachment.lifetime != Lifetime::UntilDetached;
        over.then(|| table.remove(&control.session)).flatten()
    }
}

impl Owner for Engine {
    fn is_first_run(&self, session_id: &str) -> bool {
        let started = self.started.lock();
        let mut started = started.unwrap_or_else(PoisonError::into_inner);
        started.insert(session_id.to_owned())
    }

    fn input_stored(&self, control: &Control) -> String {
        let mut table = self.table();
        let conversation = table.conversation(&control.session).ok();
        debug_assert!(conversation.is_some());
        conversation.map_or_else(crate::new_id, Conversation::renew)
    }

    fn run_ended(&self, control: &Control, ended: Option<Ended>) -> Option<String> {
        let mut table = self.table();
        if !control.end() {
            return None;
        }
        let mut revision = None;
        if let Ok(conversation) = table.conversation(&control.session) {
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
        let freed = self.settle(&mut table, control);
        drop(table);
        self.idle.notify_waiters();
        self.free(freed);
        revision
    }

    fn events_drained(&self, control: &Control, gave_up: bool) {
        let mut table = self.table();
        control.drain();
        if gave_up {
            control.cancel.cancel();
        }
        let freed = self.settle(&mut table, control);
        drop(table);
        self.free(freed);
    }
}
