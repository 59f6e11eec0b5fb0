//! The handle on an active run: cancellation, and approvals with exactly one winner.
//! The run itself is a task that this knows nothing of; how it asks stands in `approval`.

use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;
use store::sessions::SessionId;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::spec::RunSpec;

/// A run that is under way, or whose end somebody may still be telling.
#[derive(Debug)]
pub struct ActiveRun {
    /// The session that it works in.
    pub session: SessionId,
    pub run_id: String,
    pub(crate) spec: RunSpec,
    pub(crate) cancel: CancellationToken,
    /// Who takes an entry out has decided it.
    pub(super) approvals: DashMap<String, oneshot::Sender<bool>>,
    /// The worker is done and the conversation whole again.
    ended: AtomicBool,
    /// The caller let go of the events, the terminal one told or not.
    drained: AtomicBool,
}

impl ActiveRun {
    pub(crate) fn new(session: SessionId, spec: RunSpec, cancel: CancellationToken) -> Self {
        Self {
            session,
            run_id: spec.policy.ids.next(),
            spec,
            cancel,
            approvals: DashMap::new(),
            ended: AtomicBool::new(false),
            drained: AtomicBool::new(false),
        }
    }

    /// Marks the worker as done; false if it was.
    pub(crate) fn end(&self) -> bool {
        !self.ended.swap(true, Ordering::Relaxed)
    }

    /// Marks the events as let go of.
    pub(crate) fn drain(&self) {
        self.drained.store(true, Ordering::Relaxed);
    }

    /// Whether its work is done; its caller may not know yet.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether it is over on both sides.
    pub(crate) fn is_over(&self) -> bool {
        self.has_ended() && self.drained.load(Ordering::Relaxed)
    }

    /// Asks it to stop, and every run that works for it. Idempotent; its end comes as an event.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Answers one of its approvals. True for exactly one answer, and for none after expiry or cancellation: who
    /// takes an approval out of the table has won.
    #[must_use]
    pub fn answer(&self, approval_id: &str, allow: bool) -> bool {
        if self.cancel.is_cancelled() {
            return false;
        }
        let waiting = self.approvals.remove(approval_id);
        waiting.is_some_and(|(_, sender)| sender.send(allow).is_ok())
    }
}
