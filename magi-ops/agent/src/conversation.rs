//! The conversation of stored records, as a provider replays it: raw, complete, with every tool call answered.
//! Not for showing: the history projection is another reading of the same records.

use provider::{Message, ProviderState, ToolCall};
use serde_json::{Value, json};
use store::sessions::{Body, Record};

use crate::compaction::is_blank;
use crate::error::{EngineError, ErrorKind};
use crate::is_id;

/// What the model is told of a call whose result was never stored.
const UNKNOWN_RESULT: &str = "The call was interrupted; whether it had an effect is unknown.";
/// What stands before a summary.
const SUMMARY: &str = "[The earlier part of this conversation was left out to save room. This summary stands in its place; \
    it is what you know of it.]";
/// Longest id of a tool call, in bytes (spec: local-agent, "Bounds and failure policy").
pub(crate) const MAX_CALL_ID_BYTES: usize = 1024;

/// Messages, and the number of the record that each of them began with: of the results of calls, that of their response.
/// A summary has 0.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Stored {
    pub(crate) messages: Vec<Message>,
    pub(crate) starts: Vec<u64>,
    /// The [`Body::Checkpoint`] that the first one is of.
    pub(crate) checkpoint: Option<Body>,
}

impl Stored {
    fn push(&mut self, message: Message, start: u64) {
        self.messages.push(message);
        self.starts.push(start);
    }
}

/// What a model is told in the place of what `summary` stands for.
pub(crate) fn summary_message(summary: &str, users: u64, responses: u64) -> Message {
    Message::Summary {
        text: format!("{SUMMARY}\n\n{summary}"),
        users,
        responses,
    }
}

/// Puts the conversation together, record by record.
#[derive(Default)]
pub(crate) struct Replay {
    all: Stored,
    /// The number of the record that is taken.
    at: u64,
    current: Option<Response>,
    /// What answers from here on.
    provider: String,
}

/// One provider response and what its tools answered.
struct Response {
    start: u64,
    number: u32,
    state: Vec<Value>,
    /// Message ids and texts.
    texts: Vec<(String, String)>,
    calls: Vec<(ToolCall, Option<Message>)>,
}

impl Replay {
    /// Takes the next record. Refuses one whose ids could not be shown; nothing comes of the others
    /// then.
    pub(crate) fn take(&mut self, record: Record) -> Result<(), EngineError> {
        self.at = record.n;
        let checkpoint =
            matches!(record.body, Body::Checkpoint { .. }).then(|| record.body.clone());
        match record.body {
            Body::UserInput { message_id, text } => {
                check(&message_id)?;
                self.close();
                self.all.push(Message::User { text }, record.n);
            }
            Body::Checkpoint {
                activity_id,
                cutoff,
                input,
                inputs,
                responses,
                summary,
                ..
            } => {
                check(&activity_id)?;
                self.close();
                if !self.fits(record.n, cutoff, input, &summary) {
                    return Err(ErrorKind::SessionInvalid.into());
                }
                let before = std::mem::take(&mut self.all);
                self.all.checkpoint = checkpoint;
                let summary = summary_message(&summary, inputs, responses);
                self.all.push(summary, 0);
                for (message, start) in before.messages.into_iter().zip(before.starts) {
                    if start > cutoff || Some(start) == input {
                        self.all.push(message, start);
                    }
                }
            }
            Body::AssistantText {
                message_id,
                response,
                text,
            } => {
                check(&message_id)?;
                self.text_of(response, &message_id).push_str(&text);
            }
            Body::AssistantMessage {
                message_id,
                response,
                text,
                ..
            } => {
                check(&message_id)?;
                match text {
                    Some(text) => *self.text_of(response, &message_id) = text,
                    None => {
                        let texts = &self.response(response).texts;
                        if !texts.iter().any(|(id, _)| *id == message_id) {
                            // Neither a text nor pieces that could be it.
                            return Err(ErrorKind::SessionInvalid.into());
                        }
                    }
                }
            }
            Body::ProviderState { response, state } => self.response(response).state.push(state),
            // As the wire that signs keeps it.
            Body::Thought {
                response,
                text,
                signature,
            } => self
                .response(response)
                .state
                .push(json!({ "thinking": text, "signature": signature })),
            Body::ToolStarted {
                activity_id,
                parent: Some(parent),
                ..
            }
            | Body::ToolFinished {
                activity_id,
                parent: Some(parent),
                ..
            } => {
                check(&activity_id)?;
                check(&parent)?;
            }
            Body::ToolStarted {
                activity_id,
                call_id,
                response,
                name,
                input,
                parent: None,
                ..
            } => {
                check(&activity_id)?;
                if call_id.len() > MAX_CALL_ID_BYTES {
                    return Err(ErrorKind::SessionInvalid.into());
                }
                let call = ToolCall {
                    id: call_id,
                    name,
                    input,
                };
                self.response(response).calls.push((call, None));
            }
            Body::ToolFinished {
                activity_id,
                call_id,
                name,
                is_error,
                content,
                ..
            } => {
                check(&activity_id)?;
                let calls = self.current.iter_mut().flat_map(|r| &mut r.calls);
                let call = calls
                    .rev()
                    .find(|(call, result)| call.id == call_id && result.is_none())
                    .ok_or(ErrorKind::SessionInvalid)?;
                call.1 = Some(Message::ToolResult {
                    call_id,
                    name,
                    content,
                    images: Vec::new(),
                    is_error,
                });
            }
            Body::Reasoning { item_id, .. } => item_id.as_deref().map_or(Ok(()), check)?,
            Body::TurnFinished { .. } => self.close(),
            Body::Session { provider, .. } => self.provider = provider.unwrap_or_default(),
            Body::Selection { provider, .. } => {
                // A response under way was given by the one before.
                self.close();
                self.provider = provider;
            }
            Body::Continuation { .. }
            | Body::Diagnostic { .. }
            | Body::Delegation { .. }
            | Body::Task { .. }
            | Body::Usage { .. } => {}
        }
        Ok(())
    }

    /// The conversation as far as it came.
    pub(crate) fn finish(mut self) -> Stored {
        self.close();
        self.all
    }

    /// Whether a summary, which is record `n`, can stand for what its record says: for something before it, no less than
    /// the summary before it did, but for an input that is there.
    fn fits(&self, n: u64, cutoff: u64, input: Option<u64>, summary: &str) -> bool {
        let before = match self.all.checkpoint {
            Some(Body::Checkpoint { cutoff, .. }) => cutoff,
            _ => 0,
        };
        let stays = |input: u64| {
            let mut all = self.all.starts.iter().zip(&self.all.messages);
            let found = |(start, message): (&u64, &Message)| {
                *start == input && matches!(message, Message::User { .. })
            };
            input <= cutoff && all.any(found)
        };
        (before..n).contains(&cutoff) && !is_blank(summary) && input.is_none_or(stays)
    }

    fn response(&mut self, number: u32) -> &mut Response {
        if self.current.as_ref().is_some_and(|r| r.number != number) {
            self.close();
        }
        self.current.get_or_insert_with(|| Response {
            start: self.at,
            number,
            state: Vec::new(),
            texts: Vec::new(),
            calls: Vec::new(),
        })
    }

    fn text_of(&mut self, response: u32, message_id: &str) -> &mut String {
        let texts = &mut self.response(response).texts;
        let at = texts
            .iter()
            .position(|(id, _)| id == message_id)
            .unwrap_or_else(|| {
                texts.push((message_id.to_owned(), String::new()));
                texts.len() - 1
            });
        &mut texts[at].1
    }

    fn close(&mut self) {
        let Some(response) = self.current.take() else {
            return;
        };
        let text: String = response.texts.into_iter().map(|(_, text)| text).collect();
        // Providers refuse a call that no result follows.
        let calls = response.calls.into_iter().map(|(call, result)| {
            let result = result.unwrap_or_else(|| unknown_result(&call));
            (call, result)
        });
        let (tool_calls, results): (Vec<_>, Vec<_>) = calls.unzip();
        if text.is_empty() && tool_calls.is_empty() {
            return;
        }
        let answer = Message::Assistant {
            state: ProviderState {
                provider: self.provider.clone(),
                items: response.state,
            },
            text,
            tool_calls,
        };
        for message in std::iter::once(answer).chain(results) {
            self.all.push(message, response.start);
        }
    }
}

fn unknown_result(call: &ToolCall) -> Message {
    Message::ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: UNKNOWN_RESULT.to_owned(),
        images: Vec::new(),
        is_error: true,
    }
}

fn check(id: &str) -> Result<(), EngineError> {
    let valid = is_id(id).then_some(());
    valid.ok_or_else(|| ErrorKind::SessionInvalid.into())
}
