//! The run as one of its calls sees it: calls and tasks that are made for it.
//! What the run stores and shows of them stands in `beneath` and `tasks`.

use std::sync::Arc;

use provider::ToolCall;
use serde_json::Value;
use tokio::sync::{RwLock, oneshot};
use tools::{Caller, Calling, Concurrency, Delegation, ToolOutcome, ToolSpec};
use tracing::{Instrument, info_span};
use work::Deadline;

use super::call::{Ran, Site, run};
use super::notice::Notices;
use super::subagent::{Subagents, delegate};
use crate::startup::Selected;

#[derive(Clone)]
pub(super) struct RunCaller {
    pub(super) site: Site,
    /// The activity of the call that makes others.
    pub(super) parent: String,
    pub(super) notices: Notices,
    /// Held by each call that changes something, and shared by the others.
    pub(super) alone: Arc<RwLock<()>>,
    pub(super) subagents: Arc<Subagents>,
    /// What answers the run.
    pub(super) selected: Arc<Selected>,
}

impl Caller for RunCaller {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.site.equipment.callable().cloned().collect()
    }

    fn call(&self, name: String, input: Value) -> Calling {
        let (site, notices) = (self.site.clone(), self.notices.clone());
        let parent = self.parent.clone();
        let alone = Arc::clone(&self.alone);
        Box::pin(async move {
            let spec = site.equipment.tools.spec(&name);
            let Some(spec) = spec.filter(|spec| !spec.makes_calls) else {
                return ToolOutcome::failed(format!("no such tool: {name}"), "unknown tool");
            };
            let (_shared, _alone) = match spec.concurrency {
                Concurrency::SideBySide => (Some(alone.read().await), None),
                _ => (None, Some(alone.write().await)),
            };
            let id = crate::new_id();
            let call = ToolCall { id, name, input };
            match notices.begin(parent, call.clone()).await {
                Ok(activity_id) => {
                    let span = info_span!("tool", name = %call.name, activity = activity_id);
                    let ran = made(&site, &call).instrument(span).await;
                    notices.end(activity_id, ran).await
                }
                Err(why) => ToolOutcome::failed(why.to_owned(), "not made"),
            }
        })
    }

    fn delegate(&self, task: Delegation, until: Deadline) -> Calling {
        let Self {
            site,
            parent,
            notices,
            subagents,
            selected,
            ..
        } = self.clone();
        Box::pin(async move {
            delegate(&site, &subagents, &selected, &notices, &parent, task, until).await
        })
    }
}

/// Makes a call that the run has taken notice of.
async fn made(site: &Site, call: &ToolCall) -> Ran {
    let access = site.equipment.tools.access(&call.name, &call.input).await;
    let (settles, _settled) = oneshot::channel();
    run(site, call, &access, None, settles).await
}
