//! The run as one of its calls sees it: calls and tasks that are made for it.
//! What the run stores and shows of them stands in `beneath` and `tasks`.

use std::sync::Arc;

use provider::ToolCall;
use serde_json::Value;
use tokio::sync::{RwLock, oneshot};
use tools::{Caller, Calling, Concurrency, Delegation, ToolSpec};
use tracing::{Instrument, info_span};
use work::Deadline;

use super::call::{Ran, Site, refused, run};
use super::notice::Notices;
use super::subagent::{Subagents, delegate};

pub(super) struct RunCaller {
    pub(super) site: Site,
    /// The activity of the call that makes others.
    pub(super) parent: String,
    pub(super) notices: Notices,
    /// Held by each call that changes something, and shared by the others.
    pub(super) alone: Arc<RwLock<()>>,
    pub(super) subagents: Arc<Subagents>,
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
            if spec.is_none_or(|spec| spec.makes_calls) {
                return refused(format!("no such tool: {name}"), "unknown tool");
            }
            let beside = spec.is_some_and(|spec| spec.concurrency == Concurrency::SideBySide);
            let (_shared, _alone) = if beside {
                (Some(alone.read().await), None)
            } else {
                (None, Some(alone.write().await))
            };
            let id = crate::new_id();
            let call = ToolCall { id, name, input };
            match notices.begin(parent, call.clone()).await {
                Ok(activity_id) => {
                    let span = info_span!("tool", name = %call.name, activity = activity_id);
                    let ran = made(&site, &call).instrument(span).await;
                    notices.end(activity_id, ran).await
                }
                Err(why) => refused(why.to_owned(), "not made"),
            }
        })
    }

    fn delegate(&self, task: Delegation, until: Deadline) -> Calling {
        let (site, notices) = (self.site.clone(), self.notices.clone());
        let (parent, subagents) = (self.parent.clone(), Arc::clone(&self.subagents));
        Box::pin(async move { delegate(&site, &subagents, &notices, &parent, task, until).await })
    }
}

/// Makes a call that the run has taken notice of.
async fn made(site: &Site, call: &ToolCall) -> Ran {
    let access = site.equipment.tools.access(&call.name, &call.input).await;
    let (settles, _settled) = oneshot::channel();
    run(site, call, &access, None, settles).await
}
