//! A question to a person within a run: it is out when `ask` returns, and one of answer, expiry and cancellation
//! decides it. Whether a call is asked for is decided in `tools`.

use std::time::Duration;

use store::Redacted;
use tokio::sync::oneshot;
use work::{Deadline, Expired};

use super::active::{ActiveRun, Waiting};
use super::event::MustArrive;
use super::queue::Sink;

/// An approval that waits. Dropping it withdraws it.
pub(super) struct Approval<'a> {
    active: &'a ActiveRun,
    approval_id: String,
    answer: oneshot::Receiver<bool>,
    expiry: Duration,
}

impl<'a> Approval<'a> {
    /// Asks for an approval. The question is out when this returns; `None` if nobody listens.
    pub(super) async fn ask(
        active: &'a ActiveRun,
        sink: &Sink,
        summary: Redacted,
        expiry: Duration,
    ) -> Option<Self> {
        let approval_id = crate::new_id();
        let (sender, answer) = oneshot::channel();
        // Before the event: the answer may be there as soon as it is out.
        let waiting = Waiting {
            answer: sender,
            cancel: active.cancel.clone(),
        };
        active.approvals.insert(approval_id.clone(), waiting);
        let approval = Self {
            active,
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

    /// Waits for the answer. Everything but a timely `true` denies.
    pub(super) async fn answer(mut self) -> Answer {
        let deadline = Deadline::from(self.active.cancel.clone()).within(self.expiry);
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
        self.active.approvals.remove(&self.approval_id).is_some()
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
