//! The tool calls of one provider response: running side by side, results in order, what is stored and told of them.
//! What a tool does is its own matter; whether it may is decided in `call`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use provider::{Message, ToolCall};
use redact::Redacted;
use store::sessions::{Body, Flush};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tools::{Access, ActivityKind, Caller, Concurrency, ToolOutcome};
use tracing::{Instrument, error, info, info_span};
use work::Deadline;

use super::beneath::Open;
use super::call::{CallOf, Ran, Site, run, shown_line};
use super::caller::RunCaller;
use super::event::{Activity, ActivityState};
use super::notice::{Notices, notices};
use super::repeats::{Repeats, Repetition};
use super::{Stop, Worker, panic_text};
use crate::history::shown_name;
use crate::images;
use crate::startup::Selected;

/// Calls that run at the same time; the rest waits.
const SIDE_BY_SIDE: usize = 8;

impl Worker {
    /// Runs `calls`, appends their results to the conversation in the order of the calls.
    pub(super) async fn run_tools(
        &mut self,
        response: u32,
        calls: &[ToolCall],
        selected: &Arc<Selected>,
    ) -> Result<(), Stop> {
        let mut results: Vec<Option<ToolOutcome>> = vec![None; calls.len()];
        let mut outcome = self.begin_batch(calls).await;
        if outcome.is_ok() {
            outcome = self.run_all(response, calls, selected, &mut results).await;
        }
        outcome = outcome.and(self.end_batch(calls, &results).await);
        // Every call gets its result, also when the run stops here: the conversation goes on
        // in the next run.
        let start = self.transcript.starts.last().copied();
        let start = start.unwrap_or_default();
        for (call, result) in calls.iter().zip(results) {
            let result = result
                .unwrap_or_else(|| ToolOutcome::failed("The call was cancelled.", "cancelled"));
            let result = Message::ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                content: result.content,
                images: result.images,
                is_error: result.is_error,
            };
            self.remember(result, start);
        }
        self.transcript.bound_images();
        // Bounds what waits for the disk, whatever the tools bring.
        self.persist.settle(Flush::Written).await;
        self.warn_if_degraded().await;
        outcome
    }

    async fn run_all(
        &mut self,
        response: u32,
        calls: &[ToolCall],
        selected: &Arc<Selected>,
        results: &mut [Option<ToolOutcome>],
    ) -> Result<(), Stop> {
        let mut running = JoinSet::new();
        let (notices, mut noticed) = notices();
        let mut open = Open::default();
        let mut next = 0;
        let mut looked: Option<Access> = None;
        // Whether what runs changes something: then it runs by itself, in its turn.
        let mut alone = false;
        let mut stop = Ok(());
        loop {
            while stop.is_ok() && next < calls.len() && running.len() < SIDE_BY_SIDE {
                let access = match looked.take() {
                    Some(access) => access,
                    None => match self.look(&calls[next]).await {
                        Ok(access) => access,
                        Err(cancelled) => {
                            stop = Err(cancelled);
                            break;
                        }
                    },
                };
                let beside = self.beside(&calls[next]);
                if !running.is_empty() && (alone || !beside) {
                    looked = Some(access);
                    break;
                }
                alone = !beside;
                let begun = CallOf {
                    call: &calls[next],
                    response,
                    parent: None,
                };
                stop = self
                    .start_tool(next, begun, access, selected, &notices, &mut running)
                    .await;
                next += 1;
            }
            // Calls that began are waited for, whatever happens: none may outlive the run.
            let done = tokio::select! {
                biased;
                Some(notice) = noticed.recv() => {
                    stop = stop.and(self.notice(response, notice, &mut open).await);
                    continue;
                }
                done = running.join_next() => done,
            };
            let Some(done) = done else {
                return stop;
            };
            let Ok((index, activity_id, Ran { mut outcome, hooks })) = done else {
                continue;
            };
            let repetition = match &mut self.repeats {
                Some(repeats) => repeats.count(response, &calls[index], &outcome),
                None => Repetition::Fine,
            };
            if let Repetition::Note(times) = repetition {
                outcome.content.push_str(&Repeats::note(times));
            }
            stop = stop.and(self.close_beneath(response, &activity_id, &mut open).await);
            let ended = CallOf {
                call: &calls[index],
                response,
                parent: None,
            };
            let reported = self.report(ended, activity_id, &outcome).await;
            // Counted here: the calls of one response alone may bring far more than the bound.
            self.results = self.results.saturating_add(outcome.content.len());
            results[index] = Some(outcome);
            stop = stop.and(reported).and(self.report_hooks(&hooks).await);
            if self.active.cancel.is_cancelled() {
                stop = stop.and(Err(Stop::Cancelled));
            }
            if repetition == Repetition::End {
                let words = "the model made the same call eight times with the same result";
                stop = stop.and(Err(Stop::execution(words)));
            }
            if self.results > self.policy.max_result_bytes {
                let words = "the results of the run's tools are too long";
                stop = stop.and(Err(Stop::limit(words)));
            }
        }
    }

    /// Whether the call may run beside others of its kind.
    pub(super) fn beside(&self, call: &ToolCall) -> bool {
        let spec = self.equipment.tools.spec(&call.name);
        spec.is_none_or(|spec| spec.concurrency == Concurrency::SideBySide)
    }

    /// What the call would touch; a look at a dead disk must not outlast the run.
    async fn look(&self, call: &ToolCall) -> Result<Access, Stop> {
        let cancelled = Deadline::from(self.active.cancel.clone());
        let looking = self.equipment.tools.access(&call.name, &call.input);
        Ok(cancelled.bound(looking).await?)
    }

    async fn start_tool(
        &mut self,
        index: usize,
        begun: CallOf<'_>,
        access: Access,
        selected: &Arc<Selected>,
        notices: &Notices,
        running: &mut JoinSet<(usize, String, Ran)>,
    ) -> Result<(), Stop> {
        if self.active.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if !self.activities.take() {
            return Err(Stop::limit("the run has too many activities"));
        }
        let activity_id = self.begin_call(begun).await?;
        let site = Site {
            workspace: Arc::clone(&self.workspace),
            equipment: Arc::clone(&self.equipment),
            active: Arc::clone(&self.active),
            sink: self.sink.clone(),
        };
        let caller: Arc<dyn Caller> = Arc::new(RunCaller {
            site: site.clone(),
            parent: activity_id.clone(),
            notices: notices.clone(),
            alone: Arc::default(),
            subagents: Arc::clone(&self.subagents),
            selected: Arc::clone(selected),
        });
        let call = begun.call.clone();
        let (settles, settled) = oneshot::channel();
        let span = info_span!("tool", name = %call.name, activity = activity_id);
        let work = async move {
            let work = run(&site, &call, &access, Some(caller), settles);
            // A call that panics is a failed call, not a failed run.
            let ran = AssertUnwindSafe(work).catch_unwind().await;
            let ran = ran.unwrap_or_else(|payload| {
                error!(payload = panic_text(&*payload), "a call panicked");
                let content = "the tool stopped unexpectedly".to_owned();
                ToolOutcome::failed(content, "stopped unexpectedly").into()
            });
            (index, activity_id, ran)
        };
        running.spawn(work.instrument(span));
        // A question follows the start of its call directly, so that a person sees what it is about.
        let _ = settled.await;
        Ok(())
    }

    /// Stores and tells that a call begins, which was counted. Returns its activity.
    pub(super) async fn begin_call(&mut self, begun: CallOf<'_>) -> Result<String, Stop> {
        let call = begun.call;
        let flush = match self.beside(call) {
            true => Flush::Written,
            false => Flush::Durable,
        };
        let summary = self.line_on(call, "");
        let activity_id = crate::new_id();
        self.persist.push(Body::ToolStarted {
            activity_id: activity_id.clone(),
            call_id: call.id.clone(),
            response: begun.response,
            name: call.name.clone(),
            input: call.input.clone(),
            subject: Some(summary.as_str().to_owned()),
            parent: begun.parent.map(str::to_owned),
        });
        // Before it runs: whatever becomes of this process, the session knows that it may have had an effect.
        self.persist.settle(flush).await;
        self.tool_activity(begun, &activity_id, ActivityState::Started, summary, None)
            .await?;
        Ok(activity_id)
    }

    /// One line on a call, within the run's bound.
    fn line_on(&self, call: &ToolCall, outcome: &str) -> Redacted {
        let about = self.equipment.tools.subject(&call.name, &call.input);
        let line = shown_line(call, &about, outcome, self.workspace.redactor());
        line.summary(self.policy.max_summary_bytes)
    }

    /// Stores and tells what came of a call.
    pub(super) async fn report(
        &mut self,
        ended: CallOf<'_>,
        activity_id: String,
        outcome: &ToolOutcome,
    ) -> Result<(), Stop> {
        let summary = self.line_on(ended.call, &outcome.summary);
        if outcome.is_error {
            self.log_failure(
                &ended.call.name,
                &activity_id,
                &summary,
                outcome.why.as_deref(),
            );
        }
        self.persist.push(Body::ToolFinished {
            activity_id: activity_id.clone(),
            call_id: ended.call.id.clone(),
            name: ended.call.name.clone(),
            is_error: outcome.is_error,
            summary: summary.as_str().to_owned(),
            // What another call asked for, the model learns from that one.
            content: match ended.parent {
                None => images::in_words(outcome.content.clone(), &outcome.images),
                Some(_) => String::new(),
            },
            parent: ended.parent.map(str::to_owned),
        });
        self.persist.start();
        let state = match outcome.is_error {
            true => ActivityState::Failed,
            false => ActivityState::Completed,
        };
        let timed_out = Some(outcome.timed_out);
        self.tool_activity(ended, &activity_id, state, summary, timed_out)
            .await
    }

    /// That a call failed, and why. What a tool put out is none of the log's, but what another program says of its
    /// failure is the reason.
    fn log_failure(&self, tool: &str, activity: &str, summary: &Redacted, why: Option<&str>) {
        const MAX_WORDS: usize = 300;
        let redactor = self.workspace.redactor();
        let first = |text: &str| text.lines().next().map(str::to_owned);
        // Redacted whole: a secret may go over the end of a line.
        let words = why.and_then(|why| first(redactor.redact(why).as_str()));
        let words = words.map(|words| redactor.redact(&words).summary(MAX_WORDS));
        let tool = shown_name(tool, redactor);
        info!(
            tool = tool.as_str(),
            activity,
            summary = summary.as_str(),
            words = words.as_ref().map(Redacted::as_str),
            "a call failed"
        );
    }

    async fn tool_activity(
        &self,
        of: CallOf<'_>,
        id: &str,
        state: ActivityState,
        summary: Redacted,
        timed_out: Option<bool>,
    ) -> Result<(), Stop> {
        let tool = &of.call.name;
        let spec = self.equipment.tools.spec(tool);
        self.activity(Activity::Tool {
            id: id.to_owned(),
            parent: of.parent.map(str::to_owned),
            kind: spec.map_or(ActivityKind::Tool, |spec| spec.activity),
            tool: tool.clone(),
            server: spec.and_then(|spec| spec.server.clone()),
            name: shown_name(tool, self.workspace.redactor()),
            state,
            summary,
            timed_out,
        })
        .await
    }
}
