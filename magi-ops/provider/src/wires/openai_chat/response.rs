//! The events of a streamed chat completion as pieces of a response.
//! Tolerant where servers differ; no bytes, no connection and no request here.

use std::collections::VecDeque;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::wires::Progress;
use crate::wires::http::stream_error;
use crate::wires::turns::{CallIds, read_input};
use crate::{Chunk, ProviderError, Request, ToolCall, Usage};

/// Most tool calls of one response.
const MAX_CALLS: usize = 4096;

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<String>,
    /// Two names for the same thing.
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    #[serde(default)]
    name: Option<String>,
    /// A piece of JSON text; some servers send the object itself.
    #[serde(default)]
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Counts {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

/// A call as far as it has come.
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// Reads one completion.
pub(super) struct CompletionReader {
    ids: CallIds,
    /// In the order they began.
    calls: Vec<Call>,
    finished: bool,
}

impl CompletionReader {
    pub(super) fn new(request: &Request) -> Self {
        Self {
            ids: CallIds::of(&request.messages),
            calls: Vec::new(),
            finished: false,
        }
    }

    /// Whether the completion is whole; counts may follow.
    pub(super) fn finished(&self) -> bool {
        self.finished
    }

    pub(super) fn read(
        &mut self,
        data: &str,
        out: &mut VecDeque<Chunk>,
    ) -> Result<Progress, ProviderError> {
        if data.trim() == "[DONE]" {
            // Some local servers give no reason to finish. The marker alone says that all of the response
            // is here, which a lost connection cannot; whether the model was cut off stays unknown then.
            self.finish(true, out);
            return Ok(Progress::Done);
        }
        let event: Event = serde_json::from_str(data).map_err(|_| ProviderError::Malformed)?;
        if let Some(error) = event.error.filter(|error| !error.is_null()) {
            return Err(stream_error(&error));
        }
        // One choice was asked for.
        if let Some(choice) = event.choices.into_iter().flatten().next() {
            if let Some(delta) = choice.delta {
                self.delta(delta, out)?;
            }
            match choice.finish_reason.as_deref() {
                None | Some("") => {}
                Some("content_filter") => return Err(ProviderError::Refused),
                Some(reason) => {
                    // Mistral has a word of its own for the context's limit.
                    let cut = matches!(reason, "length" | "model_length");
                    // Some servers give the reason again with the counts.
                    let first = !self.finished;
                    self.finish(!cut, out);
                    if cut && first {
                        out.push_back(Chunk::Cut);
                    }
                }
            }
        }
        if let Some(counts) = event.usage {
            count(&counts, out);
        }
        Ok(Progress::More)
    }

    fn delta(&mut self, delta: Delta, out: &mut VecDeque<Chunk>) -> Result<(), ProviderError> {
        let says = |text: &String| !text.is_empty();
        let reasoning = delta
            .reasoning_content
            .filter(says)
            .or(delta.reasoning.filter(says));
        if let Some(text) = reasoning {
            out.push_back(Chunk::Reasoning {
                text,
                provider_summary: false,
            });
        }
        if let Some(text) = delta.content.filter(says) {
            out.push_back(Chunk::Text(text));
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call)?;
        }
        Ok(())
    }

    fn call(&mut self, delta: CallDelta) -> Result<(), ProviderError> {
        let id = delta.id.unwrap_or_default();
        let function = delta.function;
        let (name, arguments) = function.map_or((None, None), |f| (f.name, f.arguments));
        let name = name.unwrap_or_default();
        let arguments = match arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(piece)) => piece,
            Some(whole) => whole.to_string(),
        };
        // Without an index, a piece belongs to the last call. Some servers give every call the same
        // index, some no id: another id with a name of its own is another call, and so is a name
        // after input that is whole.
        let known = self.calls.iter().rposition(|call| {
            delta.index.is_none() || call.index.is_none() || call.index == delta.index
        });
        let continues = |call: &Call| match id.as_str() {
            _ if name.is_empty() => true,
            "" => {
                // The cheap look first: pieces may be many.
                !call.arguments.trim_end().ends_with('}')
                    || serde_json::from_str::<IgnoredAny>(&call.arguments).is_err()
            }
            id => id == call.id,
        };
        match known.map(|at| &mut self.calls[at]) {
            Some(call) if continues(call) => {
                if call.id.is_empty() {
                    call.id = id;
                }
                if call.name.is_empty() {
                    call.name = name;
                }
                call.arguments.push_str(&arguments);
                Ok(())
            }
            _ => {
                if self.calls.len() == MAX_CALLS {
                    return Err(ProviderError::Malformed);
                }
                self.calls.push(Call {
                    index: delta.index,
                    id,
                    name,
                    arguments,
                });
                Ok(())
            }
        }
    }

    /// Gives the calls; `complete` unless the output's limit cut the last one off.
    fn finish(&mut self, complete: bool, out: &mut VecDeque<Chunk>) {
        self.finished = true;
        let calls = std::mem::take(&mut self.calls);
        let last = calls.len().saturating_sub(1);
        for (at, call) in calls.into_iter().enumerate() {
            out.push_back(Chunk::ToolCall(ToolCall {
                id: self.ids.claim(&call.id),
                name: call.name,
                input: read_input(call.arguments, complete || at < last),
            }));
        }
    }
}

fn count(counts: &Counts, out: &mut VecDeque<Chunk>) {
    if counts.prompt_tokens.is_none() && counts.completion_tokens.is_none() {
        return;
    }
    let cached = counts.prompt_tokens_details.as_ref();
    let thought = counts.completion_tokens_details.as_ref();
    out.push_back(Chunk::Usage(Usage {
        input: counts.prompt_tokens.unwrap_or(0),
        output: counts.completion_tokens.unwrap_or(0),
        cache_read: cached.and_then(|details| details.cached_tokens),
        reasoning: thought.and_then(|details| details.reasoning_tokens),
    }));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::ThinkingLevel;

    fn reader() -> CompletionReader {
        CompletionReader::new(&Request {
            session: "s".into(),
            model: "m".into(),
            system: "".into(),
            thinking: ThinkingLevel::Default,
            fast: false,
            messages: Vec::new().into(),
            tools: Vec::new(),
            workspace: "/".into(),
        })
    }

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
            let mut reader = reader();
            let mut out = VecDeque::new();
            let mut sent = 0;
            for (index, id, name, arguments) in pieces {
                sent += arguments.len();
                let delta = json!({"tool_calls": [{
                    "index": index, "id": id, "function": {"name": name, "arguments": arguments},
                }]});
                let event = json!({"choices": [{"delta": delta}]});
                reader.read(&event.to_string(), &mut out).unwrap();
            }
            let kept: usize = reader.calls.iter().map(|call| call.arguments.len()).sum();
            prop_assert_eq!(kept, sent);
            reader.read("[DONE]", &mut out).unwrap();
            let mut ids = HashSet::new();
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
