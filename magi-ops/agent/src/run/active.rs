//! The handle on an active run: cancellation, and approvals with exactly one winner.
//! The run itself is a task that this knows nothing of; how it asks stands in `approval`.

use std::sync::Arc;
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
    /// Those of the runs that work for this one stand here too. Who takes an entry out has decided it.
    pub(super) approvals: Arc<DashMap<String, Waiting>>,
    /// The worker is done and the conversation whole again.
    ended: AtomicBool,
    /// The caller let go of the events, the terminal one told or not.
    drained: AtomicBool,
}

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) answer: oneshot::Sender<bool>,
    /// Of the run that asks.
    pub(super) cancel: CancellationToken,
}

impl ActiveRun {
    /// A run of its own, which `cancel` ends.
    pub(crate) fn new(session: SessionId, spec: RunSpec, cancel: CancellationToken) -> Self {
        Self {
            session,
            run_id: spec.policy.ids.next(),
            spec,
            cancel,
            approvals: Arc::default(),
            ended: AtomicBool::new(false),
            drained: AtomicBool::new(false),
        }
    }

    /// A run that works for `parent`: what ends that one ends it, and who answers that one answers it.
    pub(crate) fn beneath(parent: &Self, session: SessionId, spec: RunSpec) -> Self {
        Self {
            approvals: Arc::clone(&parent.approvals),
            ..Self::new(session, spec, parent.cancel.child_token())
        }
    }

    /// The session that the person sees.
    pub(crate) fn shown_session(&self) -> &SessionId {
        let parent = self.spec.parent.as_ref();
        parent.map_or(&self.session, |parent| &parent.session)
    }

    /// How many runs stand above it.
    pub(crate) fn depth(&self) -> u32 {
        self.spec.parent.as_ref().map_or(0, |parent| parent.depth)
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
        waiting.is_some_and(|(_, waiting)| {
            !waiting.cancel.is_cancelled() && waiting.answer.send(allow).is_ok()
        })
    }
}
