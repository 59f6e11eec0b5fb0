//! A question to a person within a run: it is out when `ask` returns, and one of answer, expiry and cancellation
//! decides it. Whether a call is asked for is decided in `call`.

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
        // Who took it out of the table at the same moment has won, and sends the answer or lets go of it at once.
        (&mut self.answer).await.map_or(unanswered, Answer::of)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::time::timeout;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::run::tests::policy::reconciled_run;

    /// An approval whose time is over, while another thread has taken it out of the table and not answered yet.
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_counts_is_the_answer_also_at_the_moment_of_expiry() {
        for (answered, expected) in [
            (Some(true), Answer::Allowed),
            (Some(false), Answer::Denied),
            (None, Answer::Expired),
        ] {
            let cancel = CancellationToken::new();
            let active = ActiveRun::new("s".parse().unwrap(), reconciled_run("go"), cancel);
            let (sender, answer) = oneshot::channel();
            let approval = Approval {
                active: &active,
                approval_id: "a".into(),
                answer,
                expiry: Duration::from_secs(1),
            };
            let mut waiting = std::pin::pin!(approval.answer());
            let early = timeout(Duration::from_secs(2), &mut waiting).await;
            assert!(early.is_err(), "{early:?}");
            match answered {
                Some(allow) => sender.send(allow).unwrap(),
                None => drop(sender),
            }
            assert_eq!(waiting.await, expected);
        }
    }
}
