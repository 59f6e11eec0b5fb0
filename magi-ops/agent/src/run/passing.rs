//! What happens in a subagent's run, on its way through the run that it works for: its questions, what a person should
//! know, what it does and what that costs. Its text goes another way: it is the outcome of a call.

use std::sync::{Mutex, PoisonError};

use store::{Redacted, Redactor};

use super::event::{Activity, MayDrop, MustArrive, RunEvent};
use super::queue::{Lost, RunEvents, Sink};

/// Tokens of requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) effective_input: u64,
    pub(super) output: u64,
    /// `None` if one of the requests did not say.
    pub(super) cache_read: Option<u64>,
}

/// What requests cost so far.
#[derive(Debug, Default)]
pub(super) struct Costs(Mutex<Option<Cost>>);

impl Costs {
    /// `None` without a request that said what it cost.
    pub(super) fn all(&self) -> Option<Cost> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, more: Cost) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *all =
            Some(all.map_or(more, |cost| {
                Cost {
                    effective_input: cost.effective_input.saturating_add(more.effective_input),
                    output: cost.output.saturating_add(more.output),
                    cache_read: (cost.cache_read.zip(more.cache_read))
                        .map(|(one, other)| one.saturating_add(other)),
                }
            }));
    }
}

/// Passes on what happens in a subagent's run. Returns the last thing that a person was told: of a run that failed, why.
pub(super) async fn pass(
    mut events: RunEvents,
    sink: &Sink,
    costs: &Costs,
    task: &str,
    label: &str,
    redactor: &Redactor,
) -> Option<Redacted> {
    let mut reason = None;
    let labelled = |summary: &Redacted| {
        let mut words = redactor.redact(label);
        words.push(summary);
        words
    };
    while let Some(event) = events.recv().await {
        let passed = match event {
            RunEvent::MustArrive(MustArrive::ApprovalRequested {
                approval_id,
                summary,
                expires_in_ms,
            }) => {
                let asked = MustArrive::ApprovalRequested {
                    approval_id,
                    summary: labelled(&summary),
                    expires_in_ms,
                };
                sink.send(asked).await
            }
            RunEvent::MustArrive(MustArrive::Diagnostic { code, summary }) => {
                let told = MustArrive::Diagnostic {
                    code,
                    summary: labelled(&summary),
                };
                reason = Some(summary);
                sink.send(told).await
            }
            RunEvent::MayDrop {
                event: MayDrop::Activity(activity),
                ..
            } => pass_activity(activity, sink, costs, task).await,
            // Its text and its end are the outcome of the call.
            RunEvent::MustArrive(_) | RunEvent::MayDrop { .. } => Ok(()),
        };
        if passed.is_err() {
            break;
        }
    }
    reason
}

async fn pass_activity(
    activity: Activity,
    sink: &Sink,
    costs: &Costs,
    task: &str,
) -> Result<(), Lost> {
    match activity {
        Activity::Usage {
            effective_input,
            output,
            cache_read,
            ..
        } => {
            costs.add(Cost {
                effective_input,
                output,
                cache_read,
            });
            Ok(())
        }
        // Of its own conversation, which nobody is shown.
        Activity::Context { .. }
        | Activity::ReasoningSummary { .. }
        | Activity::Compaction { .. } => Ok(()),
        // Of a subagent of its own.
        deeper @ Activity::OfTask { .. } => sink.activity(deeper).await,
        own => {
            let activity = Box::new(own);
            let task = task.to_owned();
            sink.activity(Activity::OfTask { task, activity }).await
        }
    }
}
