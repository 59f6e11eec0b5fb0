//! The events of a streamed chat completion, or a whole completion, as pieces of a response.
//! Tolerant where servers differ; no bytes, no connection and no request here.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::calls::Calls;
use crate::config::Reasoning;
use crate::error::{ErrorKind, ProviderError};
use crate::message::ToolCall;
use crate::request::Request;
use crate::response::{Chunk, Usage};
use crate::wires::call_ids::CallIds;
use crate::wires::finish::Ending;
use crate::wires::halves::Joiner;
use crate::wires::input::{read_input, tool_name};
use crate::wires::json::{count, first_of, take, text};
use crate::wires::wire::{MAX_STATE_BYTES, Progress, Reader, keep};

/// Longest id of a call that is kept to be sent back, in bytes.
const MAX_ID_BYTES: usize = 64 * 1024;

/// Reads one completion.
pub(super) struct CompletionReader {
    ids: CallIds,
    /// What the settings say that the server wants back.
    wanted: Option<Reasoning>,
    calls: Calls,
    ending: Ending,
    out: VecDeque<Chunk>,
    /// Halves of characters are in the event's texts.
    lone: bool,
    /// Anything of an answer has come.
    has_content: bool,
    /// The model refuses to answer.
    refused: bool,
    content: Joiner,
    thinking: Joiner,
    /// The server's name for its reasoning, and all of it.
    reasoning: Option<(&'static str, String)>,
    details: Vec<Value>,
    /// What belongs to the message as a whole.
    extra: Option<Value>,
}

impl Reader for CompletionReader {
    fn event(&mut self, mut event: Value, lone: bool) -> Result<Progress, ProviderError> {
        self.lone = lone;
        if let Some(choice) = first_of(take(&mut event, "choices")) {
            self.choice(choice)?;
        }
        self.count(&event["usage"]);
        Ok(self.ending.progress())
    }

    fn marker(&mut self) {
        self.ending.marked = true;
    }

    fn end(&mut self) -> Result<(), ProviderError> {
        if self.refused {
            return Err(ProviderError::new(ErrorKind::Filtered).with_note("the model refused"));
        }
        let has_calls = !self.calls.0.is_empty();
        self.ending.check(self.has_content, has_calls)?;
        let rest = self.content.finish();
        self.out.extend(rest.map(|rest| Chunk::Text(rest.into())));
        self.keep_state();
        let cut = self.ending.is_cut();
        let calls = std::mem::take(&mut self.calls).0;
        let last = calls.len().saturating_sub(1);
        for (at, mut call) in calls.into_iter().enumerate() {
            let id = self.ids.claim(&call.id);
            if id != call.id && call.id.len() > MAX_ID_BYTES {
                tracing::warn!(
                    bytes = call.id.len(),
                    "a call's id is too long to be sent back"
                );
            } else if id != call.id && call.id.len() > 128 {
                call.state.insert("id".into(), call.id.into());
            }
            if !call.state.is_empty() {
                call.state.insert("call".into(), at.into());
                self.out.push_back(Chunk::State(call.state.into()));
            }
            self.out.push_back(Chunk::ToolCall(ToolCall {
                id,
                name: tool_name(&call.name),
                input: read_input(call.arguments, !cut || at < last),
            }));
        }
        self.out.extend(cut.then_some(Chunk::Cut));
        Ok(())
    }

    fn pieces(&mut self) -> &mut VecDeque<Chunk> {
        &mut self.out
    }
}

impl CompletionReader {
    pub(super) fn new(request: &Request, wanted: Option<Reasoning>) -> Self {
        Self {
            ids: CallIds::of(&request.messages),
            wanted,
            calls: Calls::default(),
            ending: Ending::default(),
            out: VecDeque::new(),
            lone: false,
            has_content: false,
            refused: false,
            content: Joiner::default(),
            thinking: Joiner::default(),
            reasoning: None,
            details: Vec::new(),
            extra: None,
        }
    }

    fn choice(&mut self, mut choice: Value) -> Result<(), ProviderError> {
        let mut take = |name: &str| take(&mut choice, name);
        let (delta, message, text) = (take("delta"), take("message"), take("text"));
        let (reason, native) = (take("finish_reason"), take("native_finish_reason"));
        for (part, whole) in [(delta, false), (message, true)] {
            match part {
                mut part @ Value::Object(_) => self.part(&mut part, whole)?,
                text @ Value::String(_) => self.content(text),
                _ => {}
            }
        }
        self.content(text);
        match reason {
            Value::Null => {}
            Value::String(reason) => self.ending.reason(&reason)?,
            _ => tracing::debug!("a reason to finish is no word and is skipped"),
        }
        native.as_str().map_or(Ok(()), Ending::second_reason)
    }

    /// A delta or a whole message.
    fn part(&mut self, part: &mut Value, whole: bool) -> Result<(), ProviderError> {
        let mut take = |name: &str| take(part, name);
        // Names for the same thing; some servers send it twice.
        let text_of = |value: Value| text(value).unwrap_or_default();
        let reasoning = [
            ("reasoning_content", text_of(take("reasoning_content"))),
            ("reasoning", text_of(take("reasoning"))),
        ];
        let (content, refusal) = (take("content"), text_of(take("refusal")));
        let (calls, legacy) = (take("tool_calls"), take("function_call"));
        let (details, extra) = (take("reasoning_details"), take("extra_content"));
        if let Some((name, text)) = reasoning.into_iter().find(|(_, text)| !text.is_empty()) {
            self.think(name, text);
        }
        if let Value::Array(details) = details {
            details.into_iter().for_each(|detail| self.detail(detail));
        }
        if !extra.is_null() {
            self.extra = Some(extra);
        }
        self.content(content);
        if !refusal.is_empty() {
            self.refused = true;
            self.say(refusal);
        }
        self.calls.read(calls, whole, self.lone)?;
        self.calls.read_legacy(legacy, self.lone)
    }

    /// Text, or parts of several kinds.
    fn content(&mut self, content: Value) {
        match content {
            Value::Array(parts) => {
                for mut part in parts {
                    let thinking = text(take(&mut part, "thinking"));
                    let refusal = text(take(&mut part, "refusal"));
                    if let Some(thinking) = thinking {
                        self.think("reasoning", thinking);
                    } else if let Some(refusal) = refusal {
                        self.refused = true;
                        self.say(refusal);
                    } else if let Some(text) = text(part) {
                        self.say(text);
                    }
                }
            }
            content => {
                if let Some(text) = text(content) {
                    self.say(text);
                }
            }
        }
    }

    fn say(&mut self, text: String) {
        let text = self.content.join(text, self.lone);
        if !text.is_empty() {
            self.has_content = true;
            self.out.push_back(Chunk::Text(text));
        }
    }

    fn think(&mut self, name: &'static str, text: String) {
        let text = self.thinking.join(text, self.lone);
        if text.is_empty() {
            return;
        }
        let (_, reasoning) = self.reasoning.get_or_insert((name, String::new()));
        if reasoning.len() <= MAX_STATE_BYTES {
            reasoning.push_str(&text);
        }
        self.out.push_back(Chunk::Reasoning {
            text,
            provider_summary: false,
        });
    }

    /// One item of reasoning, or a further piece of one.
    fn detail(&mut self, detail: Value) {
        let index = &detail["index"];
        let same = self.details.iter_mut().rev().find(|known| {
            !index.is_null() && known["index"] == *index && known["type"] == detail["type"]
        });
        let (Some(Value::Object(known)), Value::Object(more)) = (same, &detail) else {
            self.details.push(detail);
            return;
        };
        for (name, value) in more {
            match (known.get_mut(name), value) {
                (_, Value::Null) => {}
                (Some(Value::String(text)), Value::String(piece))
                    if matches!(name.as_str(), "text" | "summary" | "data") =>
                {
                    text.push_str(piece);
                }
                _ => {
                    known.insert(name.clone(), value.clone());
                }
            }
        }
    }

    /// What the server may want back with the message. See the request for what then goes back.
    fn keep_state(&mut self) {
        let has_calls = !self.calls.0.is_empty();
        let wanted = match self.wanted {
            Some(Reasoning::None) => false,
            Some(Reasoning::Echo | Reasoning::Signed) => true,
            None => has_calls,
        };
        let mut keep = |name: &str, value: Value| keep(json!({ name: value }), &mut self.out);
        if let Some((name, text)) = self.reasoning.take()
            && wanted
        {
            keep(name, text.into());
        }
        let details = std::mem::take(&mut self.details);
        if wanted && !details.is_empty() {
            keep("reasoning_details", details.into());
        }
        if let Some(extra) = self.extra.take() {
            keep("extra_content", extra);
        }
    }

    fn count(&mut self, counts: &Value) {
        let of = |path: &str| counts.pointer(path).and_then(count);
        let (input, output) = (of("/prompt_tokens"), of("/completion_tokens"));
        if input.is_none() && output.is_none() {
            return;
        }
        self.out.push_back(Chunk::Usage(Usage {
            input: input.unwrap_or(0),
            output: output.unwrap_or(0),
            // DeepSeek has a name of its own.
            cache_read: of("/prompt_tokens_details/cached_tokens")
                .or_else(|| of("/prompt_cache_hit_tokens")),
            reasoning: of("/completion_tokens_details/reasoning_tokens"),
        }));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        /// Whatever the fragments, each of them lands in one call, and no id is given twice.
        #[test]
        fn fragments_are_neither_lost_nor_doubled(
            pieces in prop::collection::vec(
                (
                    proptest::option::of(0..3_u64),
                    proptest::option::of("[ab]?"),
                    proptest::option::of("[rw]?"),
                    "[{}x]{0,2}",
                ),
                0..20,
            ),
        ) {
            let mut reader = CompletionReader::new(&Request::default(), None);
            let mut sent = 0;
            for (index, id, name, arguments) in pieces {
                sent += arguments.len();
                let delta = json!({"tool_calls": [{
                    "index": index, "id": id, "function": {"name": name, "arguments": arguments},
                }]});
                let event = json!({"choices": [{"delta": delta}]});
                reader.event(event, false).unwrap();
            }
            let kept: usize = reader.calls.0.iter().map(|call| call.arguments.len()).sum();
            prop_assert_eq!(kept, sent);
            let calls = reader.calls.0.len();
            reader.marker();
            // Nothing at all is no answer.
            prop_assert_eq!(reader.end().is_ok(), calls > 0);
            let mut ids = HashSet::new();
            for chunk in reader.out {
                if let Chunk::ToolCall(call) = chunk {
                    prop_assert!(!call.id.is_empty() && ids.insert(call.id));
                }
            }
        }
    }
}
