//! The run's side of calls that a call makes: they are counted, stored and shown beneath the one that makes them.
//! Deciding, asking and running them is that of every call (`call`).

use std::collections::HashMap;

use provider::ToolCall;
use store::sessions::Outcome;
use tools::ToolOutcome;

use super::call::{CallOf, Ran};
use super::notice::Notice;
use super::tasks::OpenTasks;
use super::{Stop, Worker};

/// What began beneath calls and has not ended.
#[derive(Default)]
pub(super) struct Open {
    /// Calls with those that make them, by their activities.
    calls: HashMap<String, (String, ToolCall)>,
    /// Tasks by the activities of the calls that gave them.
    pub(super) tasks: OpenTasks,
}

impl Worker {
    /// Takes notice of a call beneath another one.
    pub(super) async fn notice(
        &mut self,
        response: u32,
        notice: Notice,
        open: &mut Open,
    ) -> Result<(), Stop> {
        match notice {
            Notice::Begin {
                parent,
                call,
                activity,
            } => {
                if self.active.cancel.is_cancelled() {
                    let _ = activity.send(Err("The call was cancelled."));
                    return Err(Stop::Cancelled);
                }
                if !self.activities.take() {
                    let _ = activity.send(Err("The run has too many activities."));
                    return Ok(());
                }
                let begun = CallOf {
                    call: &call,
                    response,
                    parent: Some(&parent),
                };
                let activity_id = self.begin_call(begun).await?;
                open.calls.insert(activity_id.clone(), (parent, call));
                let _ = activity.send(Ok(activity_id));
                Ok(())
            }
            Notice::End {
                activity_id,
                ran: Ran { outcome, hooks },
                told,
            } => {
                let Some((parent, call)) = open.calls.remove(&activity_id) else {
                    return Ok(());
                };
                let ended = CallOf {
                    call: &call,
                    response,
                    parent: Some(&parent),
                };
                let reported = self.report(ended, activity_id, &outcome).await;
                let _ = told.send(());
                reported.and(self.report_hooks(&hooks).await)
            }
            Notice::TaskWaits { parent } => self.task_waits(parent, &mut open.tasks).await,
            Notice::TaskBegins {
                parent,
                task,
                tools,
                ceilings,
            } => {
                let (stored, told) = self
                    .task_begins(parent, task, &tools, &mut open.tasks)
                    .await;
                let _ = ceilings.send(stored);
                told
            }
            Notice::TaskEnds {
                parent,
                outcome,
                error_code,
                told,
            } => {
                let ended = self
                    .task_ends(&parent, outcome, error_code, &mut open.tasks)
                    .await;
                let _ = told.send(());
                ended
            }
        }
    }

    /// Ends what a call that is over left open beneath it.
    pub(super) async fn close_beneath(
        &mut self,
        response: u32,
        parent: &str,
        open: &mut Open,
    ) -> Result<(), Stop> {
        let mut reported = Ok(());
        let left = open.calls.extract_if(|_, (of, _)| of == parent);
        for (activity_id, (parent, call)) in left.collect::<Vec<_>>() {
            let ended = CallOf {
                call: &call,
                response,
                parent: Some(&parent),
            };
            let outcome = ToolOutcome::failed(String::new(), "cancelled");
            reported = reported.and(self.report(ended, activity_id, &outcome).await);
        }
        let cancelled = self.task_ends(parent, Outcome::Cancelled, None, &mut open.tasks);
        cancelled.await.and(reported)
    }
}
