//! Runs of the engine: admission, and what their ends mean for sessions.
//! What happens within a run stands in `run`.

use std::sync::{Arc, MutexGuard, PoisonError};

use store::sessions::SessionId;

use super::{Engine, SessionTable, conversation};
use crate::attach::{Attachment, Conversation, Lifetime};
use crate::error::{EngineError, ErrorKind};
use crate::run::{self, ActiveRun, Ended, Owner, Run, RunSpec};
use crate::startup::Workspace;

impl Engine {
    /// The run of this id, until its caller has let go of its events.
    #[must_use]
    pub fn run(&self, run_id: &str) -> Option<Arc<ActiveRun>> {
        // Those that work for others are nobody's to address.
        self.runs.get(run_id).filter(|run| run.depth() == 0)
    }

    /// The run that works in a session.
    #[must_use]
    pub fn run_of(&self, id: &SessionId) -> Option<Arc<ActiveRun>> {
        self.runs.of_session(id)
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
        let owner = Arc::clone(self) as Arc<dyn Owner>;
        let ((run, work), beside) = {
            let mut table = self.table();
            if self.cancel.is_cancelled() {
                return Err(ErrorKind::Cancelled.into());
            }
            if self.runs.of_session(id).is_some() {
                return Err(ErrorKind::SessionBusy.into());
            }
            self.may_run()?;
            let conversation = conversation(&mut table, id)?;
            let beside = self.runs.is_working();
            let active = self.runs.admit(id.clone(), spec, &self.cancel)?;
            let (workspace, blocking) = (Arc::clone(workspace), self.blocking.clone());
            let prepared = run::prepare(owner, workspace, blocking, active, conversation);
            (prepared, beside)
        };
        // One run alone costs no thread; where several work, they share the cores.
        self.workers.spawn(beside, work);
        Ok(run)
    }

    /// Takes a run that is over on both sides out of the index, and frees an attachment that ends with it.
    fn settle(&self, mut table: MutexGuard<'_, SessionTable>, active: &ActiveRun) {
        let ends = |attachment: &Attachment| attachment.lifetime != Lifetime::UntilDetached;
        if self.runs.settle(active) && table.get(&active.session).is_some_and(ends) {
            let freed = table.remove(&active.session);
            drop(table);
            self.free(freed);
        }
    }
}

impl Owner for Engine {
    fn is_first_run(&self, session_id: &str) -> bool {
        let started = self.started.lock();
        let mut started = started.unwrap_or_else(PoisonError::into_inner);
        started.insert(session_id.to_owned())
    }

    fn input_stored(&self, active: &ActiveRun) -> String {
        let mut table = self.table();
        let conversation = conversation(&mut table, &active.session).ok();
        debug_assert!(conversation.is_some());
        conversation.map_or_else(crate::new_id, Conversation::renew)
    }

    fn run_ended(&self, active: &ActiveRun, ended: Option<Ended>) -> Option<String> {
        let mut table = self.table();
        if !active.end() {
            return None;
        }
        let mut revision = None;
        if let Ok(conversation) = conversation(&mut table, &active.session) {
            let renewed = conversation.renew();
            match ended {
                Some(ended) => {
                    conversation.transcript = ended.transcript;
                    conversation.stale |= !ended.durable;
                    revision = (!conversation.stale).then_some(renewed);
                }
                None => conversation.stale = true,
            }
        }
        self.settle(table, active);
        self.idle.notify_waiters();
        revision
    }

    fn events_drained(&self, active: &ActiveRun, gave_up: bool) {
        let table = self.table();
        active.drain();
        if gave_up {
            active.cancel.cancel();
        }
        self.settle(table, active);
    }

    fn admit_beneath(&self, id: SessionId, spec: RunSpec) -> Result<Arc<ActiveRun>, ErrorKind> {
        // Under the lock, as every admission.
        let _table = self.table();
        if self.cancel.is_cancelled() {
            return Err(ErrorKind::Cancelled);
        }
        self.runs.admit(id, spec, &self.cancel)
    }
}
