//! One run: the input on the disk, then provider responses and tool calls in turn, then one terminal event.
//! Admission and the attachment are the backend's; policy, storage and events have their own files.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use provider::{Chunk, Message, Request, Response, Thought, ToolCall};
use store::Redacted;
use store::sessions::{Body, Flush, Outcome, now_ms, recorded_cwd};

use crate::attach::SharedWriter;
use crate::backend::Backend;
use crate::conversation::MAX_CALL_ID_BYTES;
use crate::startup::{Admitted, Selection};

mod control;
mod events;
mod persist;
mod segment;
mod tools;

pub(crate) use control::Control;
pub use events::{ActivityState, Persistence, RunEvent, RunEvents};
use events::{Lost, Sink};
use persist::Persist;
use segment::Segment;

/// Longest prompt, in UTF-8 bytes (spec: local-agent, "Bounds and failure policy").
pub const MAX_PROMPT_BYTES: usize = 16_384;
/// Most assistant text of one run, in bytes.
const MAX_CONTENT_BYTES: usize = 8 * 1024 * 1024;
/// Most bytes of what a run takes besides: summaries of reasoning and inputs of tools, as the model
/// wrote them.
const MAX_UNSHOWN_BYTES: usize = MAX_CONTENT_BYTES;
/// Most bytes of tool results in one run: they stay in memory for the next requests.
const MAX_RESULT_BYTES: usize = 64 * 1024 * 1024;
/// Most assistant messages of one run.
const MAX_SEGMENTS: usize = 512;
/// Most activities of one run (spec: local-agent, "Bounds and failure policy").
const MAX_ACTIVITIES: usize = 4096;
/// Most provider responses of one run.
const MAX_RESPONSES: u32 = 1024;
/// Longest summary of any kind, in bytes, after redaction.
const MAX_SUMMARY_BYTES: usize = 1024;

/// An admitted run.
#[derive(Debug)]
pub struct Run {
    pub run_id: String,
    pub events: RunEvents,
}

/// Why a run failed, or what a diagnostic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunErrorCode {
    ExecutionFailed,
    PersistenceFailed,
    OutputUnavailable,
    ContentLimit,
}

impl RunErrorCode {
    /// The word that is stored.
    fn word(self) -> &'static str {
        match self {
            Self::ExecutionFailed => "execution_failed",
            Self::PersistenceFailed => "persistence_failed",
            Self::OutputUnavailable => "output_unavailable",
            Self::ContentLimit => "content_limit",
        }
    }
}

/// What a run takes from the attachment, and gives back at its end.
pub(crate) struct Task {
    pub(crate) admitted: Arc<Admitted>,
    pub(crate) control: Arc<Control>,
    pub(crate) writer: SharedWriter,
    pub(crate) selection: Selection,
    pub(crate) messages: Vec<Message>,
    pub(crate) prompt: String,
}

/// How a run left the attachment.
pub(crate) struct Ended {
    pub(crate) messages: Vec<Message>,
    /// The history on the disk is what the run says it is.
    pub(crate) durable: bool,
}

/// Why a run stops before the model does.
enum Stop {
    Cancelled,
    OutputLost,
    /// With what a person should know; at most [`MAX_SUMMARY_BYTES`].
    Failed(RunErrorCode, Redacted),
    /// Nothing began: the input could not be stored.
    NotStarted,
}

impl Stop {
    fn execution(summary: &'static str) -> Self {
        Self::Failed(RunErrorCode::ExecutionFailed, Redacted::fixed(summary))
    }

    fn limit(summary: &'static str) -> Self {
        Self::Failed(RunErrorCode::ContentLimit, Redacted::fixed(summary))
    }
}

impl From<Lost> for Stop {
    fn from(_: Lost) -> Self {
        Self::OutputLost
    }
}

pub(crate) fn start(backend: &Arc<Backend>, task: Task) -> Run {
    let run_id = task.control.run_id.clone();
    let (sink, events) = events::channel(backend, &run_id);
    let worker = Worker {
        persist: Persist::new(task.writer.clone(), &run_id),
        backend: Arc::clone(backend),
        admitted: task.admitted,
        control: task.control,
        writer: task.writer,
        selection: task.selection,
        messages: Arc::new(task.messages),
        sink,
        content: 0,
        unshown: 0,
        results: 0,
        segments: 0,
        activities: 0,
        warned: false,
    };
    tokio::spawn(worker.run(task.prompt));
    Run { run_id, events }
}

struct Worker {
    backend: Arc<Backend>,
    admitted: Arc<Admitted>,
    control: Arc<Control>,
    writer: SharedWriter,
    selection: Selection,
    messages: Arc<Vec<Message>>,
    sink: Sink,
    persist: Persist,
    /// Bytes of assistant text so far.
    content: usize,
    /// Bytes of reasoning summaries and tool inputs so far.
    unshown: usize,
    /// Bytes of tool results so far.
    results: usize,
    segments: usize,
    activities: usize,
    /// The client knows that storing failed.
    warned: bool,
}

/// Frees the backend also if the worker panics: a run that never ends would block it for good.
struct Release<'a> {
    backend: &'a Backend,
    run_id: &'a str,
    ended: Option<Ended>,
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.backend.run_ended(self.run_id, self.ended.take());
    }
}

impl Worker {
    async fn run(mut self, prompt: String) {
        let backend = Arc::clone(&self.backend);
        let control = Arc::clone(&self.control);
        let mut release = Release {
            backend: &backend,
            run_id: &control.run_id,
            ended: None,
        };
        // A run that breaks off still ends with its terminal event and a record of it.
        let mut result = AssertUnwindSafe(self.drive(prompt))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(Stop::execution("the run stopped unexpectedly")));
        if let Err(Stop::Failed(code, summary)) = &result {
            // After the messages' ends: in the history, the reason stands below what it ended.
            let (code, summary) = (*code, summary.clone());
            self.persist.push(Body::Diagnostic {
                code: code.word().to_owned(),
                summary: summary.as_str().to_owned(),
            });
            if let Err(stop) = self.send(RunEvent::Diagnostic { code, summary }).await {
                result = Err(stop);
            }
        }
        let (outcome, error_code) = match &result {
            Ok(()) => (Outcome::Completed, None),
            Err(Stop::Cancelled) => (Outcome::Cancelled, None),
            Err(Stop::OutputLost) => (Outcome::Cancelled, Some(RunErrorCode::OutputUnavailable)),
            Err(Stop::Failed(code, _)) => (Outcome::Failed, Some(*code)),
            Err(Stop::NotStarted) => (Outcome::Failed, Some(RunErrorCode::PersistenceFailed)),
        };
        let persistence = if matches!(result, Err(Stop::NotStarted)) {
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
        let durable = persistence == Persistence::Durable;
        release.ended = Some(Ended {
            messages: Arc::unwrap_or_clone(std::mem::take(&mut self.messages)),
            durable,
        });
        // The backend is told first: whoever sees the terminal event may begin the next run.
        let room = self.sink.reserve_terminal().await;
        let revision = backend.run_ended(&control.run_id, release.ended.take());
        if let Ok(room) = room {
            room.send(RunEvent::Finished {
                outcome,
                persistence,
                revision,
                error_code,
            });
        }
    }

    async fn drive(&mut self, prompt: String) -> Result<(), Stop> {
        self.accept(prompt).await?;
        for response in 0..MAX_RESPONSES {
            let calls = self.respond(response).await?;
            self.warn_if_degraded().await;
            if calls.is_empty() {
                return Ok(());
            }
            self.run_tools(response, &calls).await?;
        }
        Err(Stop::execution(
            "the model asked for tools too many times in one run",
        ))
    }

    /// Stores the input, then says so; nothing else happens before (spec: local-agent,
    /// `input.persisted`).
    async fn accept(&mut self, prompt: String) -> Result<(), Stop> {
        let message_id = crate::new_id();
        if self.writer.with(|writer| writer.is_empty()) {
            self.persist.push(Body::Session {
                created_at: now_ms(),
                cwd: recorded_cwd(&self.admitted.cwd),
                provider: Some(self.selection.provider.clone()),
                model: Some(self.selection.model.clone()),
            });
        }
        self.persist.push(Body::UserInput {
            message_id: message_id.clone(),
            text: prompt.clone(),
        });
        if !self.persist.settle(Flush::Durable).await {
            return Err(Stop::NotStarted);
        }
        self.remember(Message::User { text: prompt });
        let revision = self.backend.input_stored(&self.control.run_id);
        self.send(RunEvent::InputPersisted {
            message_id,
            revision,
        })
        .await
    }

    /// One provider response: streams its text, returns the tools it asks for.
    async fn respond(&mut self, response: u32) -> Result<Vec<ToolCall>, Stop> {
        let cancel = self.control.cancel.child_token();
        let mut stream = self.admitted.provider.respond(
            Request {
                session: self.control.session_id.clone(),
                model: self.selection.model.clone(),
                system: "".into(),
                thinking: Default::default(),
                fast: false,
                messages: Arc::clone(&self.messages),
                tools: self.admitted.tools.clone(),
                workspace: self.admitted.cwd.clone(),
            },
            cancel.clone(),
        );
        let _stop_with_us = cancel.drop_guard();
        let mut turn = Turn::new(response);
        let mut end = self.read(&mut stream, &mut turn).await;
        drop(stream);
        turn.end_reasoning(&mut self.persist);
        if let Err(lost) = self.end_segment(&mut turn, end.is_err()).await {
            // Authoritative text did not arrive: that outweighs why the response ended.
            end = Err(lost);
        }
        let calls = match &end {
            Ok(()) => std::mem::take(&mut turn.calls),
            // A response that broke off asks for nothing.
            Err(_) => Vec::new(),
        };
        if !turn.text.is_empty() || !calls.is_empty() {
            self.remember(Message::Assistant {
                thoughts: turn.thoughts,
                text: turn.text,
                tool_calls: calls.clone(),
            });
        }
        end.map(|()| calls)
    }

    async fn read(&mut self, stream: &mut Response, turn: &mut Turn) -> Result<(), Stop> {
        loop {
            let chunk = match self.next(stream).await? {
                None => return Ok(()),
                Some(Ok(chunk)) => chunk,
                Some(Err(provider::ProviderError::Cancelled)) => return Err(Stop::Cancelled),
                Some(Err(error)) => {
                    let summary = self.admitted.redactor.redact(&error.to_string());
                    let summary = summary.summary(MAX_SUMMARY_BYTES);
                    return Err(Stop::Failed(RunErrorCode::ExecutionFailed, summary));
                }
            };
            match chunk {
                Chunk::Text(text) => self.accept_text(&text, turn).await?,
                Chunk::Reasoning {
                    text,
                    provider_summary: true,
                } => {
                    self.count_unshown(text.len())?;
                    turn.reasoning.push_str(&text);
                }
                Chunk::ToolCall(call) => {
                    turn.end_reasoning(&mut self.persist);
                    self.end_segment(turn, false).await?;
                    if call.id.len() > MAX_CALL_ID_BYTES {
                        return Err(Stop::execution("the provider's response is malformed"));
                    }
                    if self.activities + turn.calls.len() > MAX_ACTIVITIES {
                        return Err(Stop::limit("the run has too many activities"));
                    }
                    self.count_unshown(call.name.len() + call.input.to_string().len())?;
                    turn.calls.push(call);
                }
                Chunk::Thought(thought) => {
                    self.count_unshown(thought.text.len() + thought.signature.len())?;
                    self.persist.push(Body::Thought {
                        response: turn.response,
                        text: thought.text.clone(),
                        signature: thought.signature.clone(),
                    });
                    turn.thoughts.push(thought);
                }
                // Raw thinking is neither shown nor kept; token counts have no reader yet.
                Chunk::Reasoning { .. } | Chunk::Usage(_) | Chunk::Retry(_) => {}
            }
        }
    }

    /// The next chunk. While the provider pauses, accepted text goes to the disk.
    async fn next(
        &mut self,
        stream: &mut Response,
    ) -> Result<Option<Result<Chunk, provider::ProviderError>>, Stop> {
        if self.control.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if self.persist.is_due() {
            self.persist.start();
        }
        tokio::select! {
            biased;
            chunk = stream.next() => return Ok(chunk),
            () = std::future::ready(()) => {}
        }
        loop {
            self.persist.start();
            let writing = self.persist.is_writing();
            tokio::select! {
                biased;
                () = self.control.cancel.cancelled() => return Err(Stop::Cancelled),
                chunk = stream.next() => return Ok(chunk),
                () = self.persist.written(), if writing => {}
            }
        }
    }

    async fn accept_text(&mut self, text: &str, turn: &mut Turn) -> Result<(), Stop> {
        if text.is_empty() {
            return Ok(());
        }
        turn.end_reasoning(&mut self.persist);
        if turn.segment.is_none() {
            if self.segments == MAX_SEGMENTS {
                return Err(Stop::limit("the run has too many messages"));
            }
            self.segments += 1;
        }
        let room = MAX_CONTENT_BYTES - self.content;
        let accepted = &text[..text.floor_char_boundary(room)];
        if !accepted.is_empty() {
            self.content += accepted.len();
            turn.segment
                .get_or_insert_with(|| Segment::new(turn.response, &self.admitted.redactor))
                .push(accepted, &self.sink, &mut self.persist)
                .await;
        }
        if accepted.len() < text.len() {
            return Err(Stop::limit("the run's text is too long"));
        }
        Ok(())
    }

    fn count_unshown(&mut self, bytes: usize) -> Result<(), Stop> {
        self.unshown = self.unshown.saturating_add(bytes);
        if self.unshown > MAX_UNSHOWN_BYTES {
            return Err(Stop::limit("the model's requests are too long"));
        }
        Ok(())
    }

    /// Appends to the conversation. No request shares it any more, so nothing is copied.
    fn remember(&mut self, message: Message) {
        Arc::make_mut(&mut self.messages).push(message);
    }

    async fn end_segment(&mut self, turn: &mut Turn, partial: bool) -> Result<(), Stop> {
        let Some(segment) = turn.segment.take() else {
            return Ok(());
        };
        let redactor = &self.admitted.redactor;
        let (raw, sent) = segment
            .finish(partial, redactor, &self.sink, &mut self.persist)
            .await;
        self.persist.start();
        turn.text.push_str(&raw);
        Ok(sent?)
    }

    async fn send(&self, event: RunEvent) -> Result<(), Stop> {
        Ok(self.sink.critical(event).await?)
    }

    /// Once: a client must not take the history for durable.
    async fn warn_if_degraded(&mut self) {
        if self.persist.failed() && !self.warned {
            self.warned = true;
            let summary = Redacted::fixed("the session file cannot be written");
            let code = RunErrorCode::PersistenceFailed;
            // A loss shows at the next event that the run can't do without.
            let _ = self.send(RunEvent::Diagnostic { code, summary }).await;
        }
    }
}

/// One provider response as it is put together.
struct Turn {
    response: u32,
    segment: Option<Segment>,
    thoughts: Vec<Thought>,
    /// The raw text of the messages that ended.
    text: String,
    calls: Vec<ToolCall>,
    /// The summary that is arriving.
    reasoning: String,
    summaries: u32,
}

impl Turn {
    fn new(response: u32) -> Self {
        Self {
            response,
            segment: None,
            thoughts: Vec::new(),
            text: String::new(),
            calls: Vec::new(),
            reasoning: String::new(),
            summaries: 0,
        }
    }

    /// Anything else than reasoning ends a summary. Only summaries that the provider made for
    /// display come here.
    fn end_reasoning(&mut self, persist: &mut Persist) {
        if self.reasoning.is_empty() {
            return;
        }
        persist.push(Body::Reasoning {
            item_id: Some(format!("{}.{}", self.response, self.summaries)),
            text: std::mem::take(&mut self.reasoning),
            provider_summary: true,
        });
        self.summaries += 1;
    }
}

#[cfg(test)]
mod tests;
