//! The run's side of tasks that its calls give to subagents: what is stored and shown of them, and what they cost.
//! The subagent itself is a run of its own (`subagent`).

use std::collections::HashMap;

use provider::ToolCall;
use store::sessions::{Body, Flush, Outcome};
use tools::{ActivityKind, ToolOutcome};

use super::event::{Activity, ActivityState, Category, UsageSource};
use super::notice::Task;
use super::{Stop, Worker};
use crate::ceilings::Ceilings;

/// Tasks that have not ended, by the activities of the calls that gave them; `None` of one that waits.
pub(super) type OpenTasks = HashMap<String, Option<Task>>;

/// The activity of a task itself, beside that of the call that gives it.
pub(super) fn activity_of(call: &str) -> String {
    format!("task.{call}")
}

impl Worker {
    /// Tells that tasks of one response begin, if it gives any.
    pub(super) async fn begin_batch(&mut self, calls: &[ToolCall]) -> Result<(), Stop> {
        self.batch = None;
        if !calls.iter().any(|call| self.gives_task(call)) {
            return Ok(());
        }
        let id = crate::new_id();
        self.batch = Some(id.clone());
        self.activity(Activity::Began {
            id,
            parent: None,
            what: Category::SubagentBatch,
            waits: false,
        })
        .await
    }

    /// Tells how they ended: failed if one of them did.
    pub(super) async fn end_batch(
        &mut self,
        calls: &[ToolCall],
        results: &[Option<ToolOutcome>],
    ) -> Result<(), Stop> {
        let Some(id) = self.batch.take() else {
            return Ok(());
        };
        let mut tasks = calls
            .iter()
            .zip(results)
            .filter(|(call, _)| self.gives_task(call));
        let succeeded =
            |result: &Option<ToolOutcome>| result.as_ref().is_some_and(|outcome| !outcome.is_error);
        let state = if self.active.cancel.is_cancelled() {
            ActivityState::Cancelled
        } else if tasks.all(|(_, result)| succeeded(result)) {
            ActivityState::Completed
        } else {
            ActivityState::Failed
        };
        self.activity(Activity::Ended { id, state }).await
    }

    fn gives_task(&self, call: &ToolCall) -> bool {
        let spec = self.equipment.tools.spec(&call.name);
        spec.is_some_and(|spec| spec.activity == ActivityKind::Subagent)
    }

    /// A task waits for its place.
    pub(super) async fn task_waits(
        &mut self,
        call: String,
        open: &mut OpenTasks,
    ) -> Result<(), Stop> {
        open.insert(call.clone(), None);
        self.task_began(&call, true).await
    }

    /// A task begins. In the first part what it may be given, once that is on the disk.
    pub(super) async fn task_begins(
        &mut self,
        call: String,
        task: Task,
        tools: &[String],
        open: &mut OpenTasks,
    ) -> (Result<Ceilings, &'static str>, Result<(), Stop>) {
        if self.active.cancel.is_cancelled() {
            return (Err("The call was cancelled."), Err(Stop::Cancelled));
        }
        // What subagents delegate is within what was delegated to them.
        if self.active.spec.parent.is_none() {
            let own: Vec<_> = self
                .equipment
                .usable()
                .map(|spec| spec.name.clone())
                .collect();
            let ceilings = &mut self.transcript.ceilings;
            let session = ceilings.set(None, &own);
            let profile = task.profile.as_deref();
            let profile = profile.and_then(|profile| ceilings.set(Some(profile), tools));
            let new: Vec<_> = session.into_iter().chain(profile).collect();
            let is_known = new.is_empty();
            for record in new {
                self.persist.push(record);
            }
            if !is_known && !self.persist.settle(Flush::Durable).await {
                // A ceiling that would not hold after a restart is none.
                return (Err("The session file cannot be written."), Ok(()));
            }
        }
        let ceilings = self.transcript.ceilings.clone();
        open.insert(call.clone(), Some(task));
        (Ok(ceilings), self.task_began(&call, false).await)
    }

    async fn task_began(&self, call: &str, waits: bool) -> Result<(), Stop> {
        self.activity(Activity::Began {
            id: activity_of(call),
            parent: self.batch.clone(),
            what: Category::SubagentTask,
            waits,
        })
        .await
    }

    /// A task has ended, or is not waited for any more. Nothing if that is known.
    pub(super) async fn task_ends(
        &mut self,
        call: &str,
        outcome: Outcome,
        error_code: Option<&'static str>,
        open: &mut OpenTasks,
    ) -> Result<(), Stop> {
        let Some(begun) = open.remove(call) else {
            return Ok(());
        };
        if let Some(task) = begun {
            self.persist.push(Body::Task {
                activity_id: call.to_owned(),
                task: task.id,
                profile: task.profile,
                outcome,
                error_code: error_code.map(str::to_owned),
            });
        }
        let state = match outcome {
            Outcome::Completed => ActivityState::Completed,
            Outcome::Failed => ActivityState::Failed,
            Outcome::Cancelled => ActivityState::Cancelled,
        };
        let id = activity_of(call);
        self.activity(Activity::Ended { id, state }).await
    }

    /// What all subagents of the run cost, once it is over: a loss shows at its end.
    pub(super) async fn report_tasks(&self) {
        let Some(cost) = self.subagents.costs.all() else {
            return;
        };
        let usage = Activity::Usage {
            effective_input: cost.effective_input,
            output: cost.output,
            cache_read: cost.cache_read,
            request: self.requests,
            source: UsageSource::Subagents,
        };
        let _ = self.activity(usage).await;
    }
}
