//! The events of the Messages API, one message at a time, as pieces of a response.
//! No bytes, no connection and no request here.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::Value;

use super::models;
use super::request::Place;
use crate::wires::Progress;
use crate::wires::http::stream_error;
use crate::wires::turns::{CallIds, read_input};
use crate::{Chunk, ProviderError, Request, Thought, ToolCall, Usage};

/// Most blocks that may be open at once; the API opens one after the other.
const MAX_OPEN: usize = 64;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Head,
    },
    ContentBlockStart {
        index: u64,
        content_block: Start,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        #[serde(default)]
        delta: Stop,
        #[serde(default)]
        usage: Counts,
    },
    MessageStop,
    Error {
        #[serde(default)]
        error: Value,
    },
    /// `ping`, and what is yet to be invented.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    usage: Counts,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Start {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    /// Of tools that run at the provider, which nobody asked for.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the wire's names")]
enum Delta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    #[serde(other)]
    OtherDelta,
}

#[derive(Deserialize, Default)]
struct Stop {
    stop_reason: Option<String>,
}

/// Absent counts are those of an earlier event.
#[derive(Deserialize, Default)]
struct Counts {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

/// A block that has begun.
enum Block {
    Text,
    Thinking {
        text: String,
        signature: String,
        /// Where it began.
        place: (usize, usize),
    },
    ToolUse {
        id: String,
        name: String,
        /// What came with the block's start, for servers that send no fragments.
        whole: Value,
        fragments: String,
    },
    Other,
}

/// Reads one message.
pub(super) struct MessageReader {
    ids: CallIds,
    /// Signed thinking is a summary made for display.
    summaries: bool,
    open: BTreeMap<u64, Block>,
    /// Bytes of text so far.
    text: usize,
    /// Tool calls so far.
    calls: usize,
    counts: Counts,
    stop: Option<String>,
    /// A call whose block has ended. Whether its input is whole shows by what follows: the API ends the
    /// block also where the output's limit cut it off.
    ended: Option<Block>,
}

impl MessageReader {
    pub(super) fn new(request: &Request) -> Self {
        Self {
            ids: CallIds::of(&request.messages),
            summaries: models::thinking(&request.model, request.thinking)
                .is_some_and(|thinking| thinking.summaries),
            open: BTreeMap::new(),
            text: 0,
            calls: 0,
            counts: Counts::default(),
            stop: None,
            ended: None,
        }
    }

    pub(super) fn read(
        &mut self,
        data: &str,
        out: &mut VecDeque<Chunk>,
    ) -> Result<Progress, ProviderError> {
        match serde_json::from_str(data).map_err(|_| ProviderError::Malformed)? {
            Event::MessageStart { message } => self.count(message.usage, out),
            Event::ContentBlockStart {
                index,
                content_block,
            } => self.start(index, content_block, out)?,
            Event::ContentBlockDelta { index, delta } => self.delta(index, delta, out)?,
            Event::ContentBlockStop { index } => match self.open.remove(&index) {
                Some(call @ Block::ToolUse { .. }) => {
                    self.settle(true, out);
                    self.ended = Some(call);
                }
                Some(block) => self.finish(block, true, out),
                None => {}
            },
            Event::MessageDelta { delta, usage } => {
                self.stop = delta.stop_reason.or(self.stop.take());
                self.count(usage, out);
            }
            Event::MessageStop => {
                let cut = matches!(
                    self.stop.as_deref(),
                    Some("max_tokens" | "model_context_window_exceeded")
                );
                // If a block is open, that one is what was cut off.
                self.settle(!cut || !self.open.is_empty(), out);
                for (_, block) in std::mem::take(&mut self.open) {
                    self.finish(block, false, out);
                }
                if cut {
                    out.push_back(Chunk::Cut);
                }
                return match self.stop.as_deref() {
                    Some("refusal") => Err(ProviderError::Refused),
                    _ => Ok(Progress::Done),
                };
            }
            Event::Error { error } => return Err(stream_error(&error)),
            Event::Other => {}
        }
        Ok(Progress::More)
    }

    fn start(
        &mut self,
        index: u64,
        start: Start,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderError> {
        self.settle(true, out);
        let block = match start {
            Start::Text { text } => {
                self.say(text, out);
                Block::Text
            }
            Start::Thinking {
                thinking,
                signature,
            } => {
                self.think(&thinking, out);
                Block::Thinking {
                    text: thinking,
                    signature,
                    place: (self.text, self.calls),
                }
            }
            Start::RedactedThinking { data } => {
                let place = (self.text, self.calls);
                out.push_back(thought(String::new(), true, place, &data));
                Block::Other
            }
            Start::ToolUse { id, name, input } => Block::ToolUse {
                id,
                name,
                whole: input,
                fragments: String::new(),
            },
            Start::Other => Block::Other,
        };
        let taken = self.open.insert(index, block).is_some();
        if taken || self.open.len() > MAX_OPEN {
            return Err(ProviderError::Malformed);
        }
        Ok(())
    }

    fn delta(
        &mut self,
        index: u64,
        delta: Delta,
        out: &mut VecDeque<Chunk>,
    ) -> Result<(), ProviderError> {
        match (self.open.get_mut(&index), delta) {
            (Some(Block::Text), Delta::TextDelta { text }) => self.say(text, out),
            (Some(Block::ToolUse { fragments, .. }), Delta::InputJsonDelta { partial_json }) => {
                fragments.push_str(&partial_json);
            }
            (Some(Block::Thinking { text, .. }), Delta::ThinkingDelta { thinking }) => {
                text.push_str(&thinking);
                self.think(&thinking, out);
            }
            (
                Some(Block::Thinking { signature, .. }),
                Delta::SignatureDelta { signature: more },
            ) => {
                signature.push_str(&more);
            }
            (Some(Block::Other), _) | (Some(_), Delta::OtherDelta) => {}
            // A piece of nothing, or of something else.
            _ => return Err(ProviderError::Malformed),
        }
        Ok(())
    }

    /// Gives the call whose block has ended.
    fn settle(&mut self, complete: bool, out: &mut VecDeque<Chunk>) {
        if let Some(block) = self.ended.take() {
            self.finish(block, complete, out);
        }
    }

    fn finish(&mut self, block: Block, complete: bool, out: &mut VecDeque<Chunk>) {
        match block {
            Block::Text | Block::Other => {}
            Block::Thinking {
                text,
                signature,
                place,
            } => {
                // Half a signature is none; without one the API does not want it back.
                if complete && !signature.is_empty() {
                    if self.summaries && !text.is_empty() {
                        out.push_back(Chunk::Reasoning {
                            text: text.clone(),
                            provider_summary: true,
                        });
                    }
                    out.push_back(thought(text, false, place, &signature));
                }
            }
            Block::ToolUse {
                id,
                name,
                whole,
                fragments,
            } => {
                let whole_says = whole.as_object().is_some_and(|input| !input.is_empty());
                let input = if fragments.is_empty() && whole_says {
                    whole
                } else {
                    read_input(fragments, complete)
                };
                self.calls += 1;
                out.push_back(Chunk::ToolCall(ToolCall {
                    id: self.ids.claim(&id),
                    name,
                    input,
                }));
            }
        }
    }

    fn say(&mut self, text: String, out: &mut VecDeque<Chunk>) {
        if !text.is_empty() {
            self.text += text.len();
            out.push_back(Chunk::Text(text));
        }
    }

    /// Thinking as it comes is raw. A summary is told as a whole, once its signature has shown that it
    /// is the provider's.
    fn think(&self, text: &str, out: &mut VecDeque<Chunk>) {
        if !text.is_empty() && !self.summaries {
            out.push_back(Chunk::Reasoning {
                text: text.to_owned(),
                provider_summary: false,
            });
        }
    }

    fn count(&mut self, new: Counts, out: &mut VecDeque<Chunk>) {
        let counts = &mut self.counts;
        let told = new.input_tokens.is_some() || new.output_tokens.is_some();
        counts.input_tokens = new.input_tokens.or(counts.input_tokens);
        counts.cache_creation_input_tokens = new
            .cache_creation_input_tokens
            .or(counts.cache_creation_input_tokens);
        counts.cache_read_input_tokens = new
            .cache_read_input_tokens
            .or(counts.cache_read_input_tokens);
        counts.output_tokens = new.output_tokens.or(counts.output_tokens);
        counts.output_tokens_details = new
            .output_tokens_details
            .or(counts.output_tokens_details.take());
        if !told {
            return;
        }
        let cache_read = counts.cache_read_input_tokens;
        // The API counts what the cache gave and took beside the rest.
        let input = [
            counts.input_tokens,
            counts.cache_creation_input_tokens,
            cache_read,
        ];
        out.push_back(Chunk::Usage(Usage {
            input: input.into_iter().flatten().fold(0, u64::saturating_add),
            output: counts.output_tokens.unwrap_or(0),
            cache_read,
            reasoning: counts
                .output_tokens_details
                .as_ref()
                .and_then(|details| details.thinking_tokens),
        }));
    }
}

fn thought(text: String, redacted: bool, place: (usize, usize), signature: &str) -> Chunk {
    let place = Place {
        redacted,
        text: place.0,
        calls: place.1,
        signature,
    };
    Chunk::Thought(Thought {
        text,
        signature: place.write(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::ThinkingLevel;

    fn reader() -> MessageReader {
        MessageReader::new(&Request {
            session: "s".into(),
            model: "claude-haiku-4-5".into(),
            system: "".into(),
            thinking: ThinkingLevel::High,
            fast: false,
            messages: Vec::new().into(),
            tools: Vec::new(),
            workspace: "/".into(),
        })
    }

    fn event() -> impl Strategy<Value = Value> {
        let block = prop_oneof![
            Just(json!({"type": "text", "text": "x"})),
            Just(json!({"type": "thinking", "thinking": "x"})),
            Just(json!({"type": "redacted_thinking", "data": "x"})),
            Just(json!({"type": "tool_use", "id": "a", "name": "n", "input": {}})),
            Just(json!({"type": "other"})),
            Just(json!(7)),
        ];
        let delta = prop_oneof![
            Just(json!({"type": "text_delta", "text": "ü"})),
            Just(json!({"type": "input_json_delta", "partial_json": "{"})),
            Just(json!({"type": "thinking_delta", "thinking": "x"})),
            Just(json!({"type": "signature_delta", "signature": "S"})),
            Just(json!({})),
        ];
        prop_oneof![
            4 => (0..3_u64, block).prop_map(|(index, block)| {
                json!({"type": "content_block_start", "index": index, "content_block": block})
            }),
            4 => (0..3_u64, delta).prop_map(|(index, delta)| {
                json!({"type": "content_block_delta", "index": index, "delta": delta})
            }),
            4 => (0..3_u64).prop_map(|index| json!({"type": "content_block_stop", "index": index})),
            1 => any::<Option<u64>>().prop_map(|count| {
                json!({"type": "message_delta", "usage": {
                    "input_tokens": count, "cache_read_input_tokens": count, "output_tokens": count,
                }})
            }),
            1 => Just(json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})),
            1 => Just(json!({"type": "message_stop"})),
        ]
    }

    proptest! {
        /// Any order of events gives pieces or a refusal, never one id twice, and nothing after a cut.
        #[test]
        fn no_order_of_events_makes_it_panic(events in prop::collection::vec(event(), 0..40)) {
            let mut reader = reader();
            let mut out = VecDeque::new();
            for event in events {
                match reader.read(&event.to_string(), &mut out) {
                    Ok(Progress::More) => {}
                    Ok(Progress::Done) | Err(_) => break,
                }
            }
            let mut ids = HashSet::new();
            let cut = out.iter().position(|chunk| *chunk == Chunk::Cut);
            prop_assert!(cut.is_none_or(|at| at + 1 == out.len()));
            for chunk in out {
                if let Chunk::ToolCall(call) = chunk {
                    prop_assert!(!call.id.is_empty() && ids.insert(call.id));
                }
            }
        }

        #[test]
        fn no_data_makes_it_panic(data: String) {
            let _ = reader().read(&data, &mut VecDeque::new());
        }
    }
}
