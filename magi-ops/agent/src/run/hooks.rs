//! The hooks of a run: when they run, what they are told, and what becomes of what they say.
//! Running a command and reading its verdict are the tools' matter.

use serde_json::{Value, json};
use store::settings::HookEvent;
use tools::hooks::HookVerdict;

use super::active::ActiveRun;
use super::event::{Activity, ActivityState, Category};
use super::queue::Sink;
use super::{RunErrorCode, Stop, Worker};
use crate::startup::Workspace;

/// What every hook is told: who asks, and for which session and run. Of a subagent also what it is called, and the run
/// that it works for.
pub(super) fn payload(active: &ActiveRun) -> Value {
    let mut payload = json!({
        "invocation": active.spec.invocation,
        "session_id": active.shown_session().as_str(),
        "run_id": active.run_id,
    });
    if let Some(parent) = &active.spec.parent {
        payload["subagent"] = parent.name.as_str().into();
        payload["parent_run_id"] = parent.run_id.as_str().into();
    }
    payload
}

/// Runs the hooks of one moment, with an activity around them.
pub(super) async fn run(
    workspace: &Workspace,
    active: &ActiveRun,
    sink: &Sink,
    event: HookEvent,
    payload: &Value,
) -> HookVerdict {
    if !workspace.hooks.any(event) {
        return HookVerdict::Go {
            diagnostics: Vec::new(),
        };
    }
    // A loss shows at the next event that the run can't do without.
    let began = sink.begin(Category::Hook).await;
    let verdict = workspace.hooks.run(event, payload, &active.cancel).await;
    let state = match &verdict {
        _ if active.cancel.is_cancelled() => ActivityState::Cancelled,
        HookVerdict::Go { diagnostics } if diagnostics.is_empty() => ActivityState::Completed,
        _ => ActivityState::Failed,
    };
    if let Ok(id) = began {
        let _ = sink.activity(Activity::Ended { id, state }).await;
    }
    verdict
}

impl Worker {
    /// The hooks before the model is asked: those of the session once a process, however often it is
    /// attached, and those of the turn.
    pub(super) async fn begin_hooks(&mut self) -> Result<(), Stop> {
        let first = self.owner.is_first_run(self.active.session.as_str());
        let first = first.then_some(HookEvent::SessionStart);
        for event in first.into_iter().chain([HookEvent::TurnStart]) {
            self.hook(event, payload(&self.active)).await?;
        }
        Ok(())
    }

    /// The hooks after the last response. A cancelled run has none: it ends at once.
    pub(super) async fn end_hooks(&mut self, outcome: &str) -> Result<(), Stop> {
        let mut payload = payload(&self.active);
        payload["outcome"] = outcome.into();
        self.hook(HookEvent::TurnEnd, payload).await
    }

    async fn hook(&mut self, event: HookEvent, payload: Value) -> Result<(), Stop> {
        match run(&self.workspace, &self.active, &self.sink, event, &payload).await {
            HookVerdict::Go { diagnostics } => self.report_hooks(&diagnostics).await,
            // Only a call can be refused.
            HookVerdict::Refuse { .. } => Ok(()),
        }
    }

    /// One diagnostic for each hook that failed.
    pub(super) async fn report_hooks(&self, failed: &[String]) -> Result<(), Stop> {
        for words in failed {
            let code = RunErrorCode::ExecutionFailed;
            self.diagnose(code, self.summary(words)).await?;
        }
        Ok(())
    }
}
