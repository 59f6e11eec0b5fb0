//! One provider response: its text as messages, the tools it asks for, within the bounds of the run.
//! Running the tools and ending the run are not done here.

use std::sync::Arc;

use futures_util::FutureExt;
use provider::{
    Chunk, ErrorKind, Message, ProviderError, ProviderState, Request, Response, ToolCall, Usage,
};
use serde_json::Value;
use store::sessions::Body;

use super::segment::Segment;
use super::{Stop, Worker};
use crate::conversation::MAX_CALL_ID_BYTES;
use crate::startup::Selected;

/// Most containers within each other in the input of a call. Parsers stop at 128, and a record has
/// containers of its own around the input: one that could not be read again would cost the session.
const MAX_INPUT_DEPTH: usize = 64;

/// The next piece of a response; `None` is its end.
pub(super) type Arrived = Option<Result<Chunk, ProviderError>>;

impl Worker {
    /// One provider response: streams its text, returns the tools it asks for.
    pub(super) async fn respond(
        &mut self,
        response: u32,
        selected: &Selected,
    ) -> Result<Responded, Stop> {
        self.requests += 1;
        let cancel = self.active.cancel.child_token();
        let mut stream = selected.provider.respond(
            Request {
                session: self.active.session.to_string(),
                model: selected.choice.model.clone(),
                system: Arc::clone(&self.equipment.system),
                thinking: selected.choice.thinking,
                fast: selected.fast,
                messages: Arc::clone(&self.transcript.messages),
                written: self.transcript.written.clone(),
                tools: self.equipment.offered.clone(),
                workspace: self.workspace.cwd.clone(),
                ..Request::default()
            },
            cancel.clone(),
        );
        let _stop_with_us = cancel.drop_guard();
        let mut turn = Turn {
            response,
            start: self.persist.next_number(),
            ..Turn::default()
        };
        let mut end = self.read(&mut stream, &mut turn).await;
        drop(stream);
        if let Some(error) = turn.refused {
            return Ok(Responded::TooLong(error));
        }
        // Where both failed, that the end could not be told is the error.
        end = self.end_segment(&mut turn, end.is_err()).await.and(end);
        if turn.cut && end.is_ok() {
            end = self.report_cut().await;
        }
        end = self.report_usage(&turn, selected).await.and(end);
        let calls = match &end {
            Ok(()) => std::mem::take(&mut turn.calls),
            // A response that broke off asks for nothing.
            Err(_) => Vec::new(),
        };
        if !turn.text.is_empty() || !calls.is_empty() {
            let message = Message::Assistant {
                state: ProviderState {
                    provider: selected.provider.id().to_owned(),
                    items: turn.state,
                },
                text: turn.text,
                tool_calls: calls.clone(),
            };
            self.remember(message, turn.start);
        }
        if let Some(usage) = turn.usage {
            let tokens = usage.input.saturating_add(usage.output);
            self.transcript.length.tell(tokens);
        }
        end.map(|()| Responded::Calls(calls))
    }

    async fn read(&mut self, stream: &mut Response, turn: &mut Turn) -> Result<(), Stop> {
        let mut ready = None;
        loop {
            let chunk = match ready.take() {
                Some(chunk) => chunk,
                None => self.next(stream).await?,
            };
            let chunk = match chunk {
                None => return Ok(()),
                Some(Ok(chunk)) => chunk,
                Some(Err(error)) if error == ErrorKind::Cancelled => return Err(Stop::Cancelled),
                Some(Err(error)) if error == ErrorKind::ContextLength && turn.is_silent() => {
                    turn.refused = Some(error);
                    return Ok(());
                }
                Some(Err(error)) => return Err(self.provider_failed(&error)),
            };
            match chunk {
                Chunk::Text(mut text) => {
                    ready = join_ready(&mut text, self.policy.text.max_event_bytes, stream);
                    self.accept_text(&text, turn).await?;
                }
                Chunk::Reasoning {
                    text,
                    provider_summary: true,
                } => {
                    self.count_unshown(text.len())?;
                    self.accept_summary(text, turn).await?;
                }
                Chunk::ToolCall(mut call) => {
                    self.end_segment(turn, false).await?;
                    if call.id.len() > MAX_CALL_ID_BYTES {
                        return Err(Stop::execution("the provider's response is malformed"));
                    }
                    if !self.activities.has_room_for(turn.calls.len()) {
                        return Err(Stop::limit("the run has too many activities"));
                    }
                    let input = call.input.to_string();
                    self.count_unshown(call.name.len() + input.len())?;
                    if !is_within(&call.input, MAX_INPUT_DEPTH) {
                        // As a string, like any other input that is none, for the tool to refuse.
                        call.input = Value::String(input);
                    }
                    turn.calls.push(call);
                }
                Chunk::State(state) if !is_within(&state, MAX_INPUT_DEPTH) => {
                    tracing::debug!("what the provider wants back is too deep to be kept");
                }
                Chunk::State(state) => {
                    self.count_unshown(state.to_string().len())?;
                    self.persist.push(Body::ProviderState {
                        response: turn.response,
                        state: state.clone(),
                    });
                    turn.state.push(state);
                }
                Chunk::Usage(usage) => turn.usage = Some(usage),
                Chunk::Cut => turn.cut = true,
                Chunk::Retry(retry) => self.report_retry(&retry).await?,
                Chunk::Notice(error) => self.report_notice(&error).await?,
                // Raw thinking is neither shown nor kept.
                Chunk::Reasoning { .. } => {}
            }
        }
    }

    /// The next chunk. While there is none, accepted text goes to the disk as it becomes due: a model that is quicker than
    /// the disk is not held up by a record for each word.
    pub(super) async fn next(&mut self, stream: &mut Response) -> Result<Arrived, Stop> {
        if self.active.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        tokio::select! {
            biased;
            chunk = stream.next() => Ok(chunk),
            () = self.active.cancel.cancelled() => Err(Stop::Cancelled),
            never = self.persist.write_when_due() => match never {},
        }
    }

    async fn accept_text(&mut self, text: &str, turn: &mut Turn) -> Result<(), Stop> {
        if text.is_empty() {
            return Ok(());
        }
        if turn.segment.is_none() {
            if self.segments == self.policy.text.max_messages {
                return Err(Stop::limit("the run has too many messages"));
            }
            self.segments += 1;
        }
        let accepted = self.fitting(text);
        if !accepted.is_empty() {
            self.content += accepted.len();
            turn.segment
                .get_or_insert_with(|| {
                    let redactor = self.workspace.redactor();
                    let stream = self.said.stream(redactor, &self.policy.text);
                    Segment::new(turn.response, stream)
                })
                .push(accepted, &self.sink, &mut self.persist)
                .await;
        }
        if accepted.len() < text.len() {
            return Err(Stop::limit("the run's text is too long"));
        }
        Ok(())
    }

    /// As much of `text` as the run's bounds take.
    fn fitting<'t>(&mut self, text: &'t str) -> &'t str {
        let bytes = self.policy.text.max_bytes - self.content;
        let Some(max_json) = self.policy.text.max_json_bytes else {
            return &text[..text.floor_char_boundary(bytes)];
        };
        let (end, json) = fit(text, bytes, max_json - self.content_json);
        self.content_json += json;
        &text[..end]
    }

    fn count_unshown(&mut self, bytes: usize) -> Result<(), Stop> {
        self.unshown = self.unshown.saturating_add(bytes);
        if self.unshown > self.policy.max_unshown_bytes {
            return Err(Stop::limit("the model's requests are too long"));
        }
        Ok(())
    }

    async fn end_segment(&mut self, turn: &mut Turn, partial: bool) -> Result<(), Stop> {
        let Some(segment) = turn.segment.take() else {
            return Ok(());
        };
        let redactor = self.workspace.redactor();
        let (raw, sent) = segment
            .finish(
                partial,
                &mut self.said,
                redactor,
                &self.policy.text,
                &self.sink,
                &mut self.persist,
            )
            .await;
        self.persist.start();
        turn.text.push_str(&raw);
        self.bound_shown()?;
        Ok(sent?)
    }

    /// What is shown may be longer than what was accepted: redaction puts words for secrets.
    fn bound_shown(&mut self) -> Result<(), Stop> {
        let text = &self.policy.text;
        let max_json = text.max_json_bytes.unwrap_or(usize::MAX);
        let shown = &mut self.said.shown;
        let (end, _) = fit(shown.as_str(), text.max_bytes, max_json);
        if end == shown.len() {
            return Ok(());
        }
        *shown = shown.part(0..end);
        Err(Stop::limit("the run's text is too long"))
    }
}

/// Adds the text that is there already, a packet's as a rule, and never waits for more. Returns what
/// came behind it, if that is there too.
fn join_ready(text: &mut String, max: usize, stream: &mut Response) -> Option<Arrived> {
    while text.len() < max {
        match stream.next().now_or_never()? {
            Some(Ok(Chunk::Text(more))) => text.push_str(&more),
            other => return Some(other),
        }
    }
    None
}

/// How many bytes of `text`, whole characters, are within both bounds, and how many they are as JSON.
fn fit(text: &str, bytes: usize, json_bytes: usize) -> (usize, usize) {
    let (mut end, mut json) = (0, 0);
    for (at, c) in text.char_indices() {
        let (whole, more) = (at + c.len_utf8(), json + crate::history::json_len(c));
        if whole > bytes || more > json_bytes {
            break;
        }
        (end, json) = (whole, more);
    }
    (end, json)
}

/// Whether at most `depth` containers stand within each other.
fn is_within(value: &Value, depth: usize) -> bool {
    let inner = |value: &Value| is_within(value, depth - 1);
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(inner),
        Value::Object(members) => depth > 0 && members.values().all(inner),
        _ => true,
    }
}

/// What a request came to.
pub(super) enum Responded {
    Calls(Vec<ToolCall>),
    /// The provider refused the conversation for its length, and said nothing.
    TooLong(ProviderError),
}

/// One provider response as it is put together.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) response: u32,
    /// The number that its first record gets.
    start: u64,
    pub(super) segment: Option<Segment>,
    /// What the provider wants back with the response.
    pub(super) state: Vec<Value>,
    /// The raw text of the messages that ended.
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    /// Summaries of reasoning so far.
    pub(super) summaries: u32,
    /// The model reached the limit of its output.
    cut: bool,
    pub(super) usage: Option<Usage>,
    /// Why the conversation is too long for its model.
    refused: Option<ProviderError>,
}

impl Turn {
    /// Whether nothing was said or asked for.
    fn is_silent(&self) -> bool {
        self.segment.is_none() && self.text.is_empty() && self.calls.is_empty()
    }
}
