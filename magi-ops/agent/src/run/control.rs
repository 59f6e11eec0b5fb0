//! The handle on an active run that the facade keeps: cancellation, and approvals with exactly one winner.
//! The run itself is a task that this knows nothing of.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::Redacted;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::event::RunEvent;
use super::queue::Sink;

/// How long an approval waits before it is denied (spec: local-agent, "Turns, approvals and
/// events").
const APPROVAL_EXPIRY: Duration = Duration::from_millis(60_000);

#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) session_id: String,
    pub(crate) run_id: String,
    pub(crate) cancel: CancellationToken,
    approvals: Mutex<HashMap<String, oneshot::Sender<bool>>>,
}

impl Control {
    pub(crate) fn new(session_id: String, run_id: String, cancel: CancellationToken) -> Self {
        Self {
            session_id,
            run_id,
            cancel,
            approvals: Mutex::default(),
        }
    }

    pub(crate) fn is(&self, session_id: &str, run_id: &str) -> bool {
        self.session_id == session_id && self.run_id == run_id
    }

    fn approvals(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<bool>>> {
        self.approvals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a waiting approval. `false` if none waits under this id any more: who takes it
    /// out of the table has won, be it an answer, the expiry or a cancellation.
    pub(crate) fn answer(&self, approval_id: &str, allow: bool) -> bool {
        let waiting = self.approvals().remove(approval_id);
        waiting.is_some_and(|sender| sender.send(allow).is_ok())
    }

    /// Asks for an approval. The question is out when this returns; `None` if nobody listens.
    pub(super) async fn ask(&self, sink: &Sink, summary: Redacted) -> Option<Approval<'_>> {
        let approval_id = crate::new_id();
        let (sender, answer) = oneshot::channel();
        // Before the event: the answer may be there as soon as it is out.
        self.approvals().insert(approval_id.clone(), sender);
        let approval = Approval {
            control: self,
            approval_id: approval_id.clone(),
            answer,
        };
        let asked = RunEvent::ApprovalRequested {
            approval_id,
            summary,
            expires_in_ms: APPROVAL_EXPIRY.as_millis() as u64,
        };
        sink.critical(asked).await.ok().map(|()| approval)
    }
}

/// An approval that waits. Dropping it withdraws it.
pub(super) struct Approval<'a> {
    control: &'a Control,
    approval_id: String,
    answer: oneshot::Receiver<bool>,
}

impl Approval<'_> {
    /// Waits for the answer. Everything but a timely `true` denies.
    pub(super) async fn answer(mut self) -> Answer {
        let unanswered = tokio::select! {
            biased;
            allowed = &mut self.answer => return allowed.map_or(Answer::Cancelled, Answer::of),
            () = self.control.cancel.cancelled() => Answer::Cancelled,
            () = tokio::time::sleep(APPROVAL_EXPIRY) => Answer::Expired,
        };
        if self.withdraw() {
            return unanswered;
        }
        // The answer was recorded at the same moment: it has won.
        self.answer.try_recv().map_or(unanswered, Answer::of)
    }

    fn withdraw(&self) -> bool {
        self.control.approvals().remove(&self.approval_id).is_some()
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
