//! The events of the Messages API, one message at a time, as pieces of a response.
//! No bytes, no connection and no request here; what says error has been taken out before.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::request::Place;
use crate::error::ProviderError;
use crate::message::ToolCall;
use crate::request::Request;
use crate::response::{Chunk, Usage};
use crate::wires::call_ids::CallIds;
use crate::wires::finish::Ending;
use crate::wires::halves::Joiner;
use crate::wires::input::{read_input, tool_name, unwrapped};
use crate::wires::json::{count, take, word};
use crate::wires::wire::{Progress, Reader};

/// Most blocks that may be open at once; the API opens one after the other.
const MAX_OPEN: usize = 64;

/// A block that has begun.
enum Block {
    Text,
    Thinking {
        text: String,
        signature: String,
        /// Where it began.
        place: (usize, usize),
    },
    ToolUse(Call),
    /// Of tools that run at the provider, which nobody asked for.
    Other,
}

struct Call {
    id: String,
    name: String,
    /// What came with the block's start, for servers that send no fragments.
    whole: Value,
    fragments: String,
}

/// A block's texts as they come together: halves of characters wait for their second half.
struct Open {
    block: Block,
    joiner: Joiner,
}

/// Reads one message.
pub(super) struct MessageReader {
    ids: CallIds,
    /// Signed thinking is a summary made for display.
    summaries: bool,
    /// Thinking that nobody signed is wanted back too.
    echo: bool,
    open: BTreeMap<u64, Open>,
    /// Bytes of text so far.
    text: usize,
    /// Tool calls so far.
    calls: usize,
    counts: [Option<u64>; 5],
    ending: Ending,
    out: VecDeque<Chunk>,
    /// Halves of characters are in the event's texts.
    lone: bool,
    /// A call whose block has ended. Whether its input is whole shows by what follows: the API ends the
    /// block also where the output's limit cut it off.
    ended: Option<Call>,
}

/// The counts in the order in which they are kept.
const COUNTS: [&str; 4] = [
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
];

impl Reader for MessageReader {
    fn event(&mut self, mut event: Value, lone: bool) -> Result<Progress, ProviderError> {
        self.lone = lone;
        let index = event.get("index").and_then(count).unwrap_or(0);
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "message_start" => self.message(take(&mut event, "message"))?,
            // A whole message instead of a stream.
            "message" => self.message(event)?,
            "content_block_start" => self.start(index, take(&mut event, "content_block"))?,
            "content_block_delta" => self.delta(index, take(&mut event, "delta"))?,
            "content_block_stop" => self.stop_block(index),
            "message_delta" => {
                self.stopped(&event["delta"])?;
                self.count(&event["usage"]);
            }
            "message_stop" => {
                self.ending.marked = true;
                return Ok(Progress::Done);
            }
            "ping" => {}
            other => tracing::debug!(known = other.is_empty(), "an unknown event is skipped"),
        }
        Ok(self.ending.progress())
    }

    fn marker(&mut self) {
        self.ending.marked_elsewhere = true;
    }

    fn end(&mut self) -> Result<(), ProviderError> {
        let has_calls = self.calls > 0 || self.ended.is_some() || !self.open.is_empty();
        self.ending.check(self.text > 0, has_calls)?;
        let cut = self.ending.is_cut();
        // If a block is open, that one is what was cut off.
        self.settle(!cut || !self.open.is_empty());
        for open in std::mem::take(&mut self.open).into_values() {
            self.finish(open, false);
        }
        self.out.extend(cut.then_some(Chunk::Cut));
        Ok(())
    }

    fn pieces(&mut self) -> &mut VecDeque<Chunk> {
        &mut self.out
    }
}

impl MessageReader {
    pub(super) fn new(request: &Request, summaries: bool, echo: bool) -> Self {
        Self {
            ids: CallIds::of(&request.messages),
            summaries,
            echo,
            open: BTreeMap::new(),
            text: 0,
            calls: 0,
            counts: [None; 5],
            ending: Ending::default(),
            out: VecDeque::new(),
            lone: false,
            ended: None,
        }
    }

    /// The head of a message, with whatever of its content it has already.
    fn message(&mut self, mut message: Value) -> Result<(), ProviderError> {
        let blocks = match take(&mut message, "content") {
            Value::Array(blocks) => blocks,
            text @ Value::String(_) => vec![text],
            _ => Vec::new(),
        };
        for (index, block) in (0..).zip(blocks) {
            self.start(index, block)?;
            self.stop_block(index);
        }
        self.stopped(&message)?;
        self.count(&message["usage"]);
        Ok(())
    }

    fn stopped(&mut self, delta: &Value) -> Result<(), ProviderError> {
        if let Some(reason) = delta.get("stop_reason").and_then(Value::as_str) {
            self.ending.reason(reason)?;
        }
        Ok(())
    }

    fn start(&mut self, index: u64, mut start: Value) -> Result<(), ProviderError> {
        self.settle(true);
        if self.open.contains_key(&index) {
            tracing::debug!("a block begins where another one is open");
            self.stop_block(index);
            self.settle(true);
        }
        let mut joiner = Joiner::default();
        let mut text = |name: &str| match take(&mut start, name) {
            Value::String(text) => text,
            _ => String::new(),
        };
        let kind = text("type");
        let (said, thinking) = (text("text"), text("thinking"));
        let (signature, data, name) = (text("signature"), text("data"), text("name"));
        let block = match kind.as_str() {
            "text" => {
                self.say(joiner.join(said, self.lone));
                Block::Text
            }
            "thinking" => {
                let thinking = joiner.join(thinking, self.lone);
                self.think(&thinking);
                Block::Thinking {
                    text: thinking,
                    signature,
                    place: (self.text, self.calls),
                }
            }
            "redacted_thinking" => {
                let place = (self.text, self.calls);
                self.out.push_back(thought("", true, place, &data));
                Block::Other
            }
            "tool_use" => Block::ToolUse(Call {
                id: word(start.get("id")),
                name,
                whole: take(&mut start, "input"),
                fragments: String::new(),
            }),
            // A text that stands for itself.
            "" if start.is_string() => {
                let text = start.as_str().unwrap_or_default().to_owned();
                self.say(joiner.join(text, self.lone));
                Block::Text
            }
            _ => Block::Other,
        };
        self.begin(index, block, joiner)
    }

    fn begin(&mut self, index: u64, block: Block, joiner: Joiner) -> Result<(), ProviderError> {
        self.open.insert(index, Open { block, joiner });
        if self.open.len() > MAX_OPEN {
            return Err(ProviderError::malformed("too many blocks are open"));
        }
        Ok(())
    }

    fn delta(&mut self, index: u64, mut delta: Value) -> Result<(), ProviderError> {
        let mut piece = |name: &str| match take(&mut delta, name) {
            Value::String(piece) => piece,
            Value::Null => String::new(),
            whole => whole.to_string(),
        };
        let (text, thinking) = (piece("text"), piece("thinking"));
        let (json, more) = (piece("partial_json"), piece("signature"));
        if !self.open.contains_key(&index) {
            if !json.is_empty() {
                // Of a call that has no name: to skip it would leave out what the model did.
                let error = "a piece of a call that never began";
                return Err(ProviderError::malformed(error));
            }
            let block = match (text.is_empty(), thinking.is_empty()) {
                (false, _) => Block::Text,
                (true, false) => Block::Thinking {
                    text: String::new(),
                    signature: String::new(),
                    place: (self.text, self.calls),
                },
                (true, true) => return Ok(()),
            };
            tracing::debug!("a piece of a block that never began is read as one");
            self.begin(index, block, Joiner::default())?;
        }
        let Some(open) = self.open.get_mut(&index) else {
            return Ok(());
        };
        let joiner = &mut open.joiner;
        match &mut open.block {
            Block::Text => {
                let text = joiner.join(text, self.lone);
                self.say(text);
            }
            Block::ToolUse(call) => {
                call.fragments.push_str(&joiner.join(json, self.lone));
            }
            Block::Thinking {
                text, signature, ..
            } => {
                let thinking = joiner.join(thinking, self.lone);
                text.push_str(&thinking);
                signature.push_str(&more);
                self.think(&thinking);
            }
            Block::Other => {}
        }
        Ok(())
    }

    fn stop_block(&mut self, index: u64) {
        let Some(open) = self.open.remove(&index) else {
            return;
        };
        match open.block {
            Block::ToolUse(call) => {
                self.settle(true);
                self.ended = Some(call);
            }
            _ => self.finish(open, true),
        }
    }

    /// Gives the call whose block has ended.
    fn settle(&mut self, complete: bool) {
        if let Some(call) = self.ended.take() {
            self.call(call, complete);
        }
    }

    fn finish(&mut self, mut open: Open, complete: bool) {
        match open.block {
            Block::Other => {}
            Block::Text => {
                if let Some(rest) = open.joiner.finish() {
                    self.say(rest.into());
                }
            }
            Block::Thinking {
                text,
                signature,
                place,
            } => {
                // Half a signature is none.
                if !complete || (signature.is_empty() && !self.echo) {
                    return;
                }
                let state = thought(&text, false, place, &signature);
                if self.summaries && !text.is_empty() && !signature.is_empty() {
                    self.out.push_back(Chunk::Reasoning {
                        text,
                        provider_summary: true,
                    });
                }
                self.out.push_back(state);
            }
            Block::ToolUse(call) => self.call(call, complete),
        }
    }

    fn call(&mut self, call: Call, complete: bool) {
        let input = if call.fragments.is_empty() && !is_empty(&call.whole) {
            unwrapped(call.whole)
        } else {
            read_input(call.fragments, complete)
        };
        self.calls += 1;
        self.out.push_back(Chunk::ToolCall(ToolCall {
            id: self.ids.claim(&call.id),
            name: tool_name(&call.name),
            input,
        }));
    }

    fn say(&mut self, text: String) {
        if !text.is_empty() {
            self.text += text.len();
            self.out.push_back(Chunk::Text(text));
        }
    }

    /// Thinking as it comes is raw. A summary is told as a whole, once its signature has shown that it
    /// is the provider's.
    fn think(&mut self, text: &str) {
        if !text.is_empty() && !self.summaries {
            self.out.push_back(Chunk::Reasoning {
                text: text.to_owned(),
                provider_summary: false,
            });
        }
    }

    /// Absent counts are those of an earlier event.
    fn count(&mut self, new: &Value) {
        let told = ["input_tokens", "output_tokens"]
            .iter()
            .any(|name| new.get(name).and_then(count).is_some());
        let thought = new.pointer("/output_tokens_details/thinking_tokens");
        let named = COUNTS.iter().map(|name| new.get(name));
        for (kept, new) in self.counts.iter_mut().zip(named.chain([thought])) {
            // Gateways put a nought where they have nothing to add.
            let new = new.and_then(count).filter(|new| *new > 0 || kept.is_none());
            *kept = new.or(*kept);
        }
        if !told {
            return;
        }
        let [input, created, read, output, thought] = self.counts;
        // The API counts what the cache gave and took beside the rest.
        let all = [input, created, read].into_iter().flatten();
        self.out.push_back(Chunk::Usage(Usage {
            input: all.fold(0, u64::saturating_add),
            output: output.unwrap_or(0),
            cache_read: read,
            reasoning: thought,
        }));
    }
}

fn is_empty(input: &Value) -> bool {
    match input {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

fn thought(text: &str, redacted: bool, place: (usize, usize), signature: &str) -> Chunk {
    let place = Place {
        redacted,
        text: place.0,
        calls: place.1,
        signature,
    };
    Chunk::State(place.state(text))
}

#[cfg(test)]
mod tests;
