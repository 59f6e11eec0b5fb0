//! Calls that a call makes: the run as a tool sees it, and the run's side of it, where such calls are counted, stored and
//! shown beneath the one that makes them. Deciding, asking and running them is that of every call (`tools`).

use std::collections::HashMap;
use std::sync::Arc;

use provider::ToolCall;
use serde_json::Value;
use store::sessions::Flush;
use tokio::sync::{RwLock, mpsc, oneshot};
use tools::{Caller, Calling, Concurrency, ToolOutcome, ToolSpec};
use tracing::{Instrument, info_span};

use super::tools::{CallOf, Ran, Site, refused, run};
use super::{Stop, Worker};

/// Calls that wait for the run to take notice of them.
const WAITING: usize = 64;

/// What calls beneath tell the run, which alone stores and shows.
pub(super) enum Notice {
    /// A call is about to be made for the activity `parent`. The answer is its own activity, or why it is not made.
    Begin {
        parent: String,
        call: ToolCall,
        activity: oneshot::Sender<Result<String, &'static str>>,
    },
    /// It has ended. The answer follows when that is told.
    End {
        activity_id: String,
        ran: Ran,
        told: oneshot::Sender<()>,
    },
}

/// The way from calls to their run.
#[derive(Clone)]
pub(super) struct Notices(mpsc::Sender<Notice>);

pub(super) fn notices() -> (Notices, mpsc::Receiver<Notice>) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Notices(sender), receiver)
}

/// The run as one of its calls sees it.
pub(super) struct RunCaller {
    pub(super) site: Site,
    /// The activity of the call that makes others.
    pub(super) parent: String,
    pub(super) notices: Notices,
    /// Held by each call that changes something, and shared by the others.
    pub(super) alone: Arc<RwLock<()>>,
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
}

/// Makes a call that the run has taken notice of.
async fn made(site: &Site, call: &ToolCall) -> Ran {
    let access = site.equipment.tools.access(&call.name, &call.input).await;
    let (settles, _settled) = oneshot::channel();
    run(site, call, &access, None, settles).await
}

impl Notices {
    async fn begin(&self, parent: String, call: ToolCall) -> Result<String, &'static str> {
        const OVER: &str = "The run is over.";
        let (activity, begun) = oneshot::channel();
        let begin = Notice::Begin {
            parent,
            call,
            activity,
        };
        // Whoever is not heard any more belongs to a run that has ended.
        let Ok(()) = self.0.send(begin).await else {
            return Err(OVER);
        };
        begun.await.unwrap_or(Err(OVER))
    }

    async fn end(&self, activity_id: String, ran: Ran) -> ToolOutcome {
        let outcome = ran.outcome.clone();
        let (told, heard) = oneshot::channel();
        let end = Notice::End {
            activity_id,
            ran,
            told,
        };
        if self.0.send(end).await.is_ok() {
            let _ = heard.await;
        }
        outcome
    }
}

/// Calls beneath others that began and have not ended, by their activities.
#[derive(Default)]
pub(super) struct Open(HashMap<String, (String, ToolCall)>);

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
                if self.activities == self.policy.max_activities {
                    let _ = activity.send(Err("The run has too many activities."));
                    return Ok(());
                }
                let begun = CallOf {
                    call: &call,
                    response,
                    parent: Some(&parent),
                };
                let flush = match self.beside(&call) {
                    true => Flush::Written,
                    false => Flush::Durable,
                };
                let activity_id = self.begin_call(begun, flush).await?;
                open.0.insert(activity_id.clone(), (parent, call));
                let _ = activity.send(Ok(activity_id));
                Ok(())
            }
            Notice::End {
                activity_id,
                ran: Ran { outcome, hooks },
                told,
            } => {
                let Some((parent, call)) = open.0.remove(&activity_id) else {
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
        let left = open.0.extract_if(|_, (of, _)| of == parent);
        for (activity_id, (parent, call)) in left.collect::<Vec<_>>() {
            let ended = CallOf {
                call: &call,
                response,
                parent: Some(&parent),
            };
            let outcome = refused(String::new(), "cancelled");
            reported = reported.and(self.report(ended, activity_id, &outcome).await);
        }
        reported
    }
}
