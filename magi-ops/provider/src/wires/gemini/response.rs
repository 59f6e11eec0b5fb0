//! The events of `streamGenerateContent`, or a whole answer of `generateContent`, as pieces of a response.
//! No bytes, no connection and no request here; what says error has been taken out before.

use std::collections::VecDeque;

use serde_json::Value;

use super::request::{SIGNATURE, call_state, text_state};
use crate::config::Reasoning;
use crate::error::{ErrorKind, ProviderError};
use crate::message::ToolCall;
use crate::request::Request;
use crate::response::{Chunk, Usage};
use crate::wires::call_ids::CallIds;
use crate::wires::finish::Ending;
use crate::wires::halves::Joiner;
use crate::wires::input::{read_input, tool_name, unwrapped};
use crate::wires::json::{self, count, first_of, text, word};
use crate::wires::wire::{Progress, Reader, keep};

/// Most calls of one response.
const MAX_CALLS: usize = 4096;
/// What reasons end with that are none.
const UNSPECIFIED: &str = "UNSPECIFIED";
/// Reasons to finish by their numbers, as far as all servers of this API agree on them.
const REASONS: [&str; 6] = [
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
];

/// Reads one answer.
pub(super) struct ContentReader {
    ids: CallIds,
    /// What the settings say that the server wants back.
    wanted: Option<Reasoning>,
    /// Thoughts are summaries made for display, because those were asked for.
    summaries: bool,
    /// A summary that has not come to its end.
    thought: String,
    calls: Vec<Call>,
    /// Bytes of text so far.
    text: usize,
    ending: Ending,
    /// The last reason to finish that says nothing.
    unspecified: Option<String>,
    out: VecDeque<Chunk>,
    /// Halves of characters are in the event's texts.
    lone: bool,
    said: Joiner,
    thinking: Joiner,
}

struct Call {
    id: String,
    name: String,
    args: Value,
    signature: Option<Value>,
}

impl Reader for ContentReader {
    fn event(&mut self, mut event: Value, lone: bool) -> Result<Progress, ProviderError> {
        self.lone = lone;
        // Some gateways wrap each answer.
        let mut event = match take(&mut event, "response") {
            inner @ Value::Object(_) => inner,
            _ => event,
        };
        self.count(&take(&mut event, "usageMetadata"));
        blocked(&mut take(&mut event, "promptFeedback"))?;
        if let Some(candidate) = first_of(take(&mut event, "candidates")) {
            self.candidate(candidate)?;
        }
        Ok(self.ending.progress())
    }

    fn marker(&mut self) {
        self.ending.marked_elsewhere = true;
    }

    fn end(&mut self) -> Result<(), ProviderError> {
        let checked = self.ending.check(self.text > 0, !self.calls.is_empty());
        checked.map_err(|error| match &self.unspecified {
            Some(word) if error == ErrorKind::Interrupted => {
                ProviderError::malformed("it ends for a reason that nobody knows")
                    .with_message(word)
            }
            _ => error,
        })?;
        if let Some(rest) = self.said.finish() {
            self.say(rest.into());
        }
        let cut = self.ending.is_cut();
        // Half a summary is never told.
        if !cut {
            self.tell_thought();
        }
        let calls = std::mem::take(&mut self.calls);
        let last = calls.len().saturating_sub(1);
        for (at, call) in calls.into_iter().enumerate() {
            let own = (!call.id.is_empty()).then_some(call.id.as_str());
            if own.is_some() || call.signature.is_some() {
                let state = call_state(at, own, call.signature.as_ref());
                keep(state, &mut self.out);
            }
            let input = match call.args {
                Value::Null => read_input(String::new(), !cut || at < last),
                Value::String(text) => read_input(text, !cut || at < last),
                args => unwrapped(args),
            };
            self.out.push_back(Chunk::ToolCall(ToolCall {
                id: self.ids.claim(&call.id),
                name: tool_name(&call.name),
                input,
            }));
        }
        self.out.extend(cut.then_some(Chunk::Cut));
        Ok(())
    }

    fn pieces(&mut self) -> &mut VecDeque<Chunk> {
        &mut self.out
    }
}

impl ContentReader {
    pub(super) fn new(request: &Request, wanted: Option<Reasoning>, summaries: bool) -> Self {
        Self {
            ids: CallIds::of(&request.messages),
            wanted,
            summaries,
            thought: String::new(),
            calls: Vec::new(),
            text: 0,
            ending: Ending::default(),
            unspecified: None,
            out: VecDeque::new(),
            lone: false,
            said: Joiner::default(),
            thinking: Joiner::default(),
        }
    }

    fn candidate(&mut self, mut candidate: Value) -> Result<(), ProviderError> {
        let mut content = take(&mut candidate, "content");
        let parts = match take(&mut content, "parts") {
            Value::Array(parts) => parts,
            Value::Null => match content {
                text @ Value::String(_) => vec![text],
                _ => Vec::new(),
            },
            part => vec![part],
        };
        for part in parts {
            self.part(part)?;
        }
        let reason = named(take(&mut candidate, "finishReason"), &REASONS);
        if reason.is_empty() {
            return Ok(());
        }
        if reason.ends_with(UNSPECIFIED) {
            self.unspecified = Some(reason);
            return Ok(());
        }
        let words = take(&mut candidate, "finishMessage");
        self.ending
            .reason(&reason)
            .map_err(|failure| match words.as_str() {
                Some(words) => failure.with_message(&format!("{reason}: {words}")),
                None => failure,
            })
    }

    fn part(&mut self, mut part: Value) -> Result<(), ProviderError> {
        let signature = Some(take(&mut part, SIGNATURE))
            .filter(|signature| signature.as_str().is_some_and(|text| !text.is_empty()))
            .filter(|_| self.wanted != Some(Reasoning::None));
        let mut call = take(&mut part, "functionCall");
        if call.is_object() {
            self.tell_thought();
            if self.calls.len() == MAX_CALLS {
                return Err(ProviderError::malformed("too many calls"));
            }
            self.calls.push(Call {
                id: word(call.get("id")),
                name: word(call.get("name")),
                args: take(&mut call, "args"),
                signature,
            });
            return Ok(());
        }
        let is_thought = match take(&mut part, "thought") {
            // Some servers put the thought itself there.
            Value::String(thought) => {
                self.think(thought);
                false
            }
            thought => thought == true,
        };
        let text = match part {
            Value::String(text) => text,
            mut part => text(take(&mut part, "text")).unwrap_or_default(),
        };
        if is_thought {
            self.think(text);
            return Ok(());
        }
        let from = self.text;
        let text = self.said.join(text, self.lone);
        self.say(text);
        if let Some(signature) = signature {
            let place = (from..self.text, self.calls.len());
            keep(text_state(&place, &signature), &mut self.out);
        }
        Ok(())
    }

    fn say(&mut self, text: String) {
        if !text.is_empty() {
            self.tell_thought();
            self.text += text.len();
            self.out.push_back(Chunk::Text(text));
        }
    }

    fn think(&mut self, text: String) {
        let text = self.thinking.join(text, self.lone);
        if text.is_empty() {
            return;
        }
        match self.summaries {
            true => self.thought.push_str(&text),
            false => self.out.push_back(Chunk::Reasoning {
                text,
                provider_summary: false,
            }),
        }
    }

    /// Something else follows the thoughts that came, so they are complete.
    fn tell_thought(&mut self) {
        let rest = self.thinking.finish();
        self.thought.extend(rest.filter(|_| self.summaries));
        let text = std::mem::take(&mut self.thought);
        if !text.trim().is_empty() {
            self.out.push_back(Chunk::Reasoning {
                text,
                provider_summary: true,
            });
        }
    }

    fn count(&mut self, counts: &Value) {
        let of = |name: &str| member(counts, name).and_then(count);
        let (prompt, said) = (of("promptTokenCount"), of("candidatesTokenCount"));
        let thought = of("thoughtsTokenCount");
        if prompt.is_none() && said.is_none() && thought.is_none() {
            return;
        }
        // What tools at the provider read counts beside the prompt, thoughts beside the answer.
        let sum = |counts: [Option<u64>; 2]| {
            let counts = counts.into_iter().flatten();
            counts.fold(0, u64::saturating_add)
        };
        self.out.push_back(Chunk::Usage(Usage {
            input: sum([prompt, of("toolUsePromptTokenCount")]),
            output: sum([said, thought]),
            cache_read: of("cachedContentTokenCount"),
            reasoning: thought,
        }));
    }
}

/// The member `name`, which is as JSON of this API writes it, or as its protocol itself does: `finish_reason`.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let own = value.get(name).filter(|own| !own.is_null());
    own.or_else(|| value.get(plain(name)))
}

fn plain(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            plain.push('_');
        }
        plain.push(c.to_ascii_lowercase());
    }
    plain
}

/// The same, taken.
fn take(value: &mut Value, name: &str) -> Value {
    match json::take(value, name) {
        Value::Null => json::take(value, &plain(name)),
        own => own,
    }
}

/// A word that some servers write as its number; 0 stands for none where the words are not known.
fn named(word: Value, words: &[&str]) -> String {
    match count(&word).filter(|_| word.is_number()) {
        Some(0) if words.is_empty() => String::new(),
        Some(number) => {
            let known = usize::try_from(number).ok().and_then(|at| words.get(at));
            known.map_or_else(|| format!("reason {number}"), |word| (*word).to_owned())
        }
        None => text(word).unwrap_or_default(),
    }
}

/// A filter refused the prompt.
fn blocked(feedback: &mut Value) -> Result<(), ProviderError> {
    let reason = named(take(feedback, "blockReason"), &[]);
    if reason.is_empty() || reason.ends_with(UNSPECIFIED) {
        return Ok(());
    }
    let words = match take(feedback, "blockReasonMessage").as_str() {
        Some(words) => format!("{reason}: {words}"),
        None => reason,
    };
    Err(ProviderError::new(ErrorKind::Filtered).with_message(&words))
}
