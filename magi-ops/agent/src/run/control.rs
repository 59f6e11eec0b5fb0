//! The handle on an active run that the facade keeps: cancellation, and approvals with exactly one winner.
//! The run itself is a task that this knows nothing of; how it asks stands in `approval`.

use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;
use store::sessions::SessionId;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::spec::RunSpec;

#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) session: SessionId,
    pub(crate) run_id: String,
    pub(crate) spec: RunSpec,
    pub(crate) cancel: CancellationToken,
    /// Who takes an entry out has decided it.
    pub(super) approvals: DashMap<String, oneshot::Sender<bool>>,
    /// The worker is done and the conversation whole again.
    ended: AtomicBool,
    /// The caller let go of the events, the terminal one told or not.
    drained: AtomicBool,
}

impl Control {
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

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether it is over on both sides.
    pub(crate) fn is_over(&self) -> bool {
        self.has_ended() && self.drained.load(Ordering::Relaxed)
    }

    /// Answers a waiting approval. `false` if none waits under this id any more: who takes it
    /// out of the table has won, be it an answer, the expiry or a cancellation.
    pub(crate) fn answer(&self, approval_id: &str, allow: bool) -> bool {
        let waiting = self.approvals.remove(approval_id);
        waiting.is_some_and(|(_, sender)| sender.send(allow).is_ok())
    }
}
