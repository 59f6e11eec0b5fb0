//! The handle on an active run that the facade keeps: cancellation, and approvals with exactly one winner.
//! The run itself is a task that this knows nothing of.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use store::Redacted;
use store::sessions::SessionId;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use work::{Deadline, Expired};

use super::event::MustArrive;
use super::queue::Sink;
use super::spec::RunSpec;

#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) session: SessionId,
    pub(crate) run_id: String,
    pub(crate) spec: RunSpec,
    pub(crate) cancel: CancellationToken,
    /// Who takes an entry out has decided it.
    approvals: DashMap<String, oneshot::Sender<bool>>,
    /// The worker is done and the conversation whole again.
    ended: AtomicBool,
    /// The caller let go of the events, the terminal one told or not.
    drained: AtomicBool,
}

impl Control {
    pub(crate) fn new(session: SessionId, spec: RunSpec, cancel: CancellationToken) -> Self {
        Self {
            session,
            run_id: crate::new_id(),
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

    /// Asks for an approval. The question is out when this returns; `None` if nobody listens.
    pub(super) async fn ask(
        &self,
        sink: &Sink,
        summary: Redacted,
        expiry: Duration,
    ) -> Option<Approval<'_>> {
        let approval_id = crate::new_id();
        let (sender, answer) = oneshot::channel();
        // Before the event: the answer may be there as soon as it is out.
        self.approvals.insert(approval_id.clone(), sender);
        let approval = Approval {
            control: self,
            approval_id: approval_id.clone(),
            answer,
            expiry,
        };
        let asked = MustArrive::ApprovalRequested {
            approval_id,
            summary,
            expires_in_ms: u64::try_from(expiry.as_millis()).unwrap_or(u64::MAX),
        };
        sink.send(asked).await.ok().map(|()| approval)
    }
}

/// An approval that waits. Dropping it withdraws it.
pub(super) struct Approval<'a> {
    control: &'a Control,
    approval_id: String,
    answer: oneshot::Receiver<bool>,
    expiry: Duration,
}

impl Approval<'_> {
    /// Waits for the answer. Everything but a timely `true` denies.
    pub(super) async fn answer(mut self) -> Answer {
        let deadline = Deadline::from(self.control.cancel.clone()).within(self.expiry);
        let unanswered = match deadline.bound(&mut self.answer).await {
            Ok(allowed) => return allowed.map_or(Answer::Cancelled, Answer::of),
            Err(Expired::Cancelled) => Answer::Cancelled,
            Err(Expired::Late) => Answer::Expired,
        };
        if self.withdraw() {
            return unanswered;
        }
        // The answer was recorded at the same moment: it has won.
        self.answer.try_recv().map_or(unanswered, Answer::of)
    }

    fn withdraw(&self) -> bool {
        self.control.approvals.remove(&self.approval_id).is_some()
    }
}

impl Drop for Approval<'_> {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// What came of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Allowed,
    Denied,
    /// Nobody answered.
    Expired,
    /// The run was, or nobody listens.
    Cancelled,
}

impl Answer {
    fn of(allowed: bool) -> Self {
        if allowed { Self::Allowed } else { Self::Denied }
    }
}
