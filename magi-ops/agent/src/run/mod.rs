//! One run: the input on the disk, then provider responses and tool calls in turn, then one terminal event.
//! Admission and the attachment are the engine's; policy, storage and events have their own files.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use provider::Message;
use store::Redacted;
use store::sessions::{Body, Flush, Outcome, recorded_cwd};
use tracing::{Instrument, error, info, info_span};
use work::{Deadline, Pool};

use crate::attach::{Conversation, Transcript};
use crate::error::{EngineError, ErrorKind};
use crate::startup::{Choice, Equipment, Selected, StartupErrorKind, Workspace};
use crate::writer::SharedWriter;

mod active;
mod allowance;
mod approval;
mod beneath;
mod call;
mod caller;
mod compaction;
mod event;
mod hooks;
mod index;
mod notice;
mod owner;
mod passing;
mod persist;
mod queue;
mod repeats;
mod report;
mod respond;
mod segment;
mod spec;
mod stop;
mod subagent;
mod tasks;
mod tools;

pub use active::ActiveRun;
use allowance::Allowance;
use compaction::Shortening;
pub use event::{
    Activity, ActivityState, Category, CompactionState, ContextSource, MayDrop, MustArrive,
    Persistence, RunEvent, UsageSource,
};
pub(crate) use index::{Runs, Workers};
pub(crate) use owner::{Ended, Owner};
use persist::Persist;
pub use queue::RunEvents;
use queue::Sink;
use repeats::Repeats;
use respond::Responded;
use segment::Said;
pub use spec::{Authoritative, DeliveryPolicy, ParentRun, RunIds, RunPolicy, RunSpec, TextPolicy};
pub use stop::RunErrorCode;
use stop::Stop;
pub(crate) use subagent::MAX_PROMPT_BYTES as MAX_TASK_PROMPT_BYTES;
use subagent::Subagents;

/// An admitted run.
#[derive(Debug)]
pub struct Run {
    pub session_id: String,
    pub run_id: String,
    pub events: RunEvents,
}

/// A run and its work, which takes the transcript now and begins when it is polled.
pub(crate) fn prepare(
    owner: Arc<dyn Owner>,
    workspace: Arc<Workspace>,
    blocking: Pool,
    active: Arc<ActiveRun>,
    conversation: &mut Conversation,
) -> (Run, impl Future<Output = ()> + Send + use<>) {
    let run_id = active.run_id.clone();
    let session_id = active.session.to_string();
    let max_activities = active.spec.policy.max_activities;
    let span = info_span!("run", run = run_id, session = session_id);
    let (events, worker) = worker(Parts {
        selected: (conversation.selected.as_ref())
            .or(workspace.selected.as_ref())
            .cloned(),
        equipment: Arc::clone(&workspace.equipment),
        writer: conversation.writer.clone(),
        transcript: std::mem::take(&mut conversation.transcript),
        activities: Allowance::new(max_activities, None),
        owner,
        workspace,
        blocking,
        active,
    });
    let run = Run {
        session_id,
        run_id,
        events,
    };
    (run, worker.run().instrument(span))
}

/// What a run is made of.
struct Parts {
    owner: Arc<dyn Owner>,
    workspace: Arc<Workspace>,
    equipment: Arc<Equipment>,
    /// What answers, if that is known.
    selected: Option<Arc<Selected>>,
    blocking: Pool,
    active: Arc<ActiveRun>,
    writer: SharedWriter,
    transcript: Transcript,
    activities: Arc<Allowance>,
}

/// The worker of a run, and its events.
fn worker(parts: Parts) -> (RunEvents, Worker) {
    let Parts {
        owner,
        workspace,
        equipment,
        selected,
        blocking,
        active,
        writer,
        transcript,
        activities,
    } = parts;
    let (sink, events) = queue::channel(Arc::clone(&owner), Arc::clone(&active));
    let subagents = Subagents::new(
        Arc::clone(&owner),
        blocking.clone(),
        writer.clone(),
        Arc::clone(&activities),
    );
    let is_primary = Arc::ptr_eq(&equipment, &workspace.equipment);
    let worker = Worker {
        persist: Persist::new(blocking.clone(), writer.clone(), &active.run_id),
        policy: active.spec.policy,
        owner,
        blocking,
        workspace,
        equipment,
        is_primary,
        active,
        writer,
        selected,
        transcript,
        sink,
        activities,
        subagents,
        batch: None,
        said: Said::default(),
        content: 0,
        content_json: 0,
        unshown: 0,
        results: 0,
        repeats: None,
        segments: 0,
        requests: 0,
        shortening: Shortening::default(),
        warned: false,
        accepted: false,
    };
    (events, worker)
}

struct Worker {
    owner: Arc<dyn Owner>,
    blocking: Pool,
    workspace: Arc<Workspace>,
    equipment: Arc<Equipment>,
    /// Whether that is the primary agent's, which is another one when a server tells of other tools.
    is_primary: bool,
    active: Arc<ActiveRun>,
    writer: SharedWriter,
    /// What answers: the session's, the workspace's, else `None` until the run has asked the settings.
    selected: Option<Arc<Selected>>,
    transcript: Transcript,
    sink: Sink,
    persist: Persist,
    policy: RunPolicy,
    /// What the messages that ended say together.
    said: Said,
    /// Bytes of assistant text so far.
    content: usize,
    /// The same as JSON.
    content_json: usize,
    /// Bytes of reasoning summaries and tool inputs so far.
    unshown: usize,
    /// Bytes of tool results so far.
    results: usize,
    /// `None` of a script, which repeats itself because it is written so.
    repeats: Option<Repeats>,
    segments: usize,
    /// Requests to the provider so far.
    requests: u32,
    shortening: Shortening,
    activities: Arc<Allowance>,
    subagents: Arc<Subagents>,
    /// The activity of the tasks that the last response gives.
    batch: Option<String>,
    /// The client knows that storing failed.
    warned: bool,
    /// The input is stored.
    accepted: bool,
}

/// What a panic says of itself. Where it was, the process's hook tells.
fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no text")
}

/// Frees the owner also if the worker panics: a run that never ends would block it for good.
struct Release<'a> {
    owner: &'a dyn Owner,
    active: &'a ActiveRun,
    ended: Option<Ended>,
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.owner.run_ended(self.active, self.ended.take());
    }
}

impl Worker {
    async fn run(mut self) {
        info!("the run begins");
        let owner = Arc::clone(&self.owner);
        let active = Arc::clone(&self.active);
        let mut release = Release {
            owner: &*owner,
            active: &active,
            ended: None,
        };
        // A run that breaks off still ends with its terminal event and a record of it.
        let mut result = AssertUnwindSafe(self.drive())
            .catch_unwind()
            .await
            .unwrap_or_else(|payload| {
                error!(payload = panic_text(&*payload), "the run panicked");
                // Its tools are tasks of their own.
                active.cancel.cancel();
                Err(Stop::execution("the run stopped unexpectedly"))
            });
        if matches!(result, Ok(()) | Err(Stop::Failed(..))) {
            let outcome = if result.is_ok() {
                "completed"
            } else {
                "failed"
            };
            result = result.and(self.end_hooks(outcome).await);
        }
        if let Err(Stop::Failed(code, summary)) = &result {
            info!(code = code.word(), reason = %summary, "the run failed");
            // After the messages' ends: in the history, the reason stands below what it ended.
            let (code, summary) = (*code, summary.clone());
            result = self.diagnose_for_good(code, summary).await.and(result);
        }
        self.report_tasks().await;
        let (outcome, error_code) = match &result {
            Ok(()) => (Outcome::Completed, None),
            Err(Stop::Cancelled) => (Outcome::Cancelled, None),
            Err(Stop::OutputLost) => (Outcome::Cancelled, Some(RunErrorCode::OutputUnavailable)),
            Err(Stop::Failed(code, _)) => (Outcome::Failed, Some(*code)),
            Err(Stop::NotStarted) => (Outcome::Failed, Some(RunErrorCode::PersistenceFailed)),
        };
        // Without its input nothing of the run is stored, however it ended.
        let persistence = if !self.accepted {
            Persistence::NotStarted
        } else {
            self.persist.push(Body::TurnFinished {
                outcome,
                error_code: error_code.map(|code| code.word().to_owned()),
            });
            if self.persist.settle(Flush::Durable).await {
                Persistence::Durable
            } else {
                Persistence::Degraded
            }
        };
        self.warn_if_degraded().await;
        info!(
            outcome = outcome.word(),
            persistence = persistence.word(),
            error_code = error_code.map(RunErrorCode::word),
            "the run has ended"
        );
        let durable = persistence == Persistence::Durable;
        release.ended = Some(Ended {
            transcript: std::mem::take(&mut self.transcript),
            outcome,
            error_code,
            durable,
        });
        // The owner is told first: whoever sees the terminal event may begin the next run.
        let room = self.sink.reserve_terminal().await;
        let revision = owner.run_ended(&active, release.ended.take());
        if let Ok(room) = room {
            let text = std::mem::take(&mut self.said.shown);
            self.sink
                .finish(room, |sequence, activity_dropped| MustArrive::Finished {
                    sequence,
                    outcome,
                    persistence,
                    revision,
                    error_code,
                    text,
                    activity_dropped,
                });
        }
    }

    async fn drive(&mut self) -> Result<(), Stop> {
        self.accept().await?;
        let selected = self.choose().await?;
        self.connect().await?;
        self.repeats = (!selected.provider.is_scripted()).then(Repeats::default);
        self.begin_hooks().await?;
        self.report_instructions().await?;
        for response in 0..self.policy.max_responses {
            let span = info_span!("response", number = response + 1);
            if !self.step(response, &selected).instrument(span).await? {
                return Ok(());
            }
        }
        info!(
            responses = self.policy.max_responses,
            primary = self.is_primary,
            "the run has no responses left"
        );
        Err(Stop::execution(
            "the model asked for tools too many times in one run",
        ))
    }

    /// One response and the calls that it asks for. Whether there were any: then another one follows.
    async fn step(&mut self, response: u32, selected: &Arc<Selected>) -> Result<bool, Stop> {
        if self.is_primary {
            // A server may take its time to list its tools again.
            let cancelled = Deadline::from(self.active.cancel.clone());
            self.equipment = cancelled.bound(self.workspace.primary_equipment()).await?;
        }
        self.make_room(selected).await?;
        let mut responded = self.respond(response, selected).await?;
        if let Responded::TooLong(error) = &responded {
            self.shorten_refused(error, selected).await?;
            responded = self.respond(response, selected).await?;
        }
        let calls = match responded {
            Responded::Calls(calls) => calls,
            Responded::TooLong(error) => return Err(self.too_long(&error)),
        };
        self.warn_if_degraded().await;
        if !calls.is_empty() {
            self.run_tools(response, &calls, selected).await?;
        }
        Ok(!calls.is_empty())
    }

    /// Stores the input, then says so; nothing else happens before.
    async fn accept(&mut self) -> Result<(), Stop> {
        let prompt = self.active.spec.prompt.clone();
        let message_id = crate::new_id();
        self.make_room_for_input().await?;
        if self.persist.next_number() == 1 {
            self.persist.push(Body::Session {
                created_at: (self.workspace.services.clock)(),
                cwd: recorded_cwd(&self.workspace.cwd),
                provider: None,
                model: None,
            });
        }
        if let Some(selected) = self.selected.clone() {
            self.record(&selected.choice);
        }
        self.persist.push(Body::UserInput {
            message_id: message_id.clone(),
            text: prompt.clone(),
        });
        if !self.persist.settle(Flush::Durable).await {
            return Err(Stop::NotStarted);
        }
        self.accepted = true;
        let start = self.persist.next_number() - 1;
        self.remember(Message::User { text: prompt }, start);
        let revision = self.owner.input_stored(&self.active);
        self.send(MustArrive::InputPersisted {
            message_id,
            revision,
        })
        .await?;
        self.tell_held().await
    }

    /// What answers this run.
    async fn choose(&mut self) -> Result<Arc<Selected>, Stop> {
        let selected = self.select().await?;
        self.record(&selected.choice);
        Ok(selected)
    }

    async fn select(&mut self) -> Result<Arc<Selected>, Stop> {
        let workspace = Arc::clone(&self.workspace);
        if let Some(selected) = &self.selected {
            // A login since the start is not shown either.
            if self.active.depth() == 0 {
                let reading = self.blocking.run(move || workspace.learn_accounts());
                let cancelled = Deadline::from(self.active.cancel.clone());
                if let Err(error) = cancelled.bound(reading).await? {
                    tracing::warn!(%error, "stored credentials are not looked at");
                }
            }
            return Ok(Arc::clone(selected));
        }
        let reading = self.blocking.run(move || workspace.select_now());
        let cancelled = Deadline::from(self.active.cancel.clone());
        let selected = cancelled.bound(reading).await?;
        let selected = selected
            .map_err(EngineError::from)
            .and_then(|selected| Ok(selected?));
        let selected = selected.map_err(|error| {
            let unavailable = ErrorKind::Startup(StartupErrorKind::ProviderUnavailable);
            let (code, words) = if error.kind() == unavailable {
                let words = "the selected provider is not available";
                (RunErrorCode::ProviderUnavailable, words)
            } else {
                (RunErrorCode::ExecutionFailed, "the settings cannot be read")
            };
            error.log(code.word());
            Stop::Failed(code, Redacted::fixed(words))
        })?;
        let selected = Arc::new(selected);
        // Asked once: what answers is chosen for the whole run.
        self.selected = Some(Arc::clone(&selected));
        Ok(selected)
    }

    /// Starts the servers whose tools join, unless they run or the agent has no use for them.
    async fn connect(&mut self) -> Result<(), Stop> {
        let cancelled = Deadline::from(self.active.cancel.clone());
        let connected = cancelled.bound(self.workspace.connect()).await?;
        if let Err(error) = connected {
            error.log();
            let words = "an MCP server does not start";
            return Err(Stop::execution(words));
        }
        Ok(())
    }

    /// Tells the session what answers from here on, if that is new to it.
    fn record(&mut self, choice: &Choice) {
        if self.transcript.recorded.as_ref() == Some(choice) {
            return;
        }
        self.persist.push(Body::Selection {
            provider: choice.provider.clone(),
            model: choice.model.clone(),
            thinking: choice.thinking,
        });
        self.transcript.recorded = Some(choice.clone());
    }

    /// Appends to the conversation. No request shares it any more, so nothing is copied.
    /// `start` is the number of the record that it began with; of the result of a call, that of its response.
    fn remember(&mut self, message: Message, start: u64) {
        self.transcript.length.add(&message);
        self.transcript.starts.push(start);
        Arc::make_mut(&mut self.transcript.messages).push(message);
    }

    async fn send(&self, event: MustArrive) -> Result<(), Stop> {
        Ok(self.sink.send(event).await?)
    }

    /// Once: a client must not take the history for durable.
    async fn warn_if_degraded(&mut self) {
        if self.persist.failed() && !self.warned {
            self.warned = true;
            let summary = Redacted::fixed("the session file cannot be written");
            let code = RunErrorCode::PersistenceFailed;
            // A loss shows at the next event that the run can't do without.
            let _ = self.diagnose(code, summary).await;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
