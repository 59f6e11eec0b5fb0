//! The events of the Responses API, or a whole response, as pieces of a response.
//! No bytes, no connection and no request here; what says error has been taken out before.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use super::items::{Item, Items, Kind, Text, arguments, named, whole_arguments};
use super::request::state;
use crate::config::Reasoning;
use crate::error::{ErrorKind, ProviderError};
use crate::message::ToolCall;
use crate::request::Request;
use crate::response::{Chunk, Usage};
use crate::wires::call_ids::CallIds;
use crate::wires::finish::{Ending, is_whole};
use crate::wires::input::{read_input, tool_name};
use crate::wires::json::{count, take, text, word};
use crate::wires::wire::{Progress, Reader, keep};

/// Reads one response.
pub(crate) struct ResponseReader {
    ids: CallIds,
    /// What the settings say that the server wants back.
    wanted: Option<Reasoning>,
    items: Items,
    /// Bytes of text so far.
    text: usize,
    ending: Ending,
    out: VecDeque<Chunk>,
    /// Halves of characters are in the event's texts.
    lone: bool,
    /// The model refuses to answer.
    refused: bool,
}

impl Reader for ResponseReader {
    fn event(&mut self, mut event: Value, lone: bool) -> Result<Progress, ProviderError> {
        self.lone = lone;
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        let name = kind.strip_prefix("response.").unwrap_or(&kind);
        match name {
            "output_item.added" => self.begin(event)?,
            "output_item.done" => {
                let (index, _) = named(&event);
                self.whole_item(index, take(&mut event, "item"))?;
            }
            "output_text.delta" | "refusal.delta" => {
                let piece = text(take(&mut event, "delta")).unwrap_or_default();
                self.refused |= name == "refusal.delta" && !piece.is_empty();
                self.part(&event, Kind::Message, |text, lone| text.add(piece, lone))?;
            }
            "output_text.done" | "refusal.done" => {
                let member = name.split('.').next().unwrap_or_default();
                let member = member.trim_start_matches("output_");
                let whole = text(take(&mut event, member)).unwrap_or_default();
                self.refused |= member == "refusal" && !whole.is_empty();
                self.part(&event, Kind::Message, |text, lone| text.rest(whole, lone))?;
            }
            "content_part.added" | "content_part.done" => {
                let part = take(&mut event, "part");
                self.content_part(&event, part)?;
            }
            "reasoning_text.delta" => {
                let piece = text(take(&mut event, "delta")).unwrap_or_default();
                self.part(&event, Kind::Reasoning, |text, lone| text.add(piece, lone))?;
            }
            "reasoning_text.done" => {
                let whole = text(take(&mut event, "text")).unwrap_or_default();
                self.part(&event, Kind::Reasoning, |text, lone| text.rest(whole, lone))?;
            }
            "reasoning_summary_text.delta" => {
                let piece = text(take(&mut event, "delta")).unwrap_or_default();
                let lone = self.lone;
                self.summary(&event)?.add(piece, lone);
            }
            "reasoning_summary_text.done" => {
                let whole = text(take(&mut event, "text")).unwrap_or_default();
                self.tell_summary(&event, whole)?;
            }
            "reasoning_summary_part.done" => {
                let whole = text(take(&mut event, "part")).unwrap_or_default();
                self.tell_summary(&event, whole)?;
            }
            "function_call_arguments.delta" | "custom_tool_call_input.delta" => {
                let piece = arguments(take(&mut event, "delta"));
                let lone = self.lone;
                self.call(&event)?.arguments.add(piece, lone);
            }
            "function_call_arguments.done" | "custom_tool_call_input.done" => {
                let whole = whole_arguments(&mut event);
                let name = word(event.get("name"));
                let lone = self.lone;
                let call = self.call(&event)?;
                if call.name.is_empty() {
                    call.name = name;
                }
                call.arguments.replace(whole, lone);
            }
            "completed" | "incomplete" | "failed" | "cancelled" | "done" => {
                let response = take(&mut event, "response");
                return self.response(response, name);
            }
            // A whole response instead of a stream.
            "" if event.get("output").is_some() || event.get("status").is_some() => {
                return self.response(event, "");
            }
            "created" | "in_progress" | "queued" => {}
            other => tracing::debug!(known = other.is_empty(), "an unknown event is skipped"),
        }
        Ok(self.ending.progress())
    }

    fn marker(&mut self) {
        self.ending.marked_elsewhere = true;
    }

    fn end(&mut self) -> Result<(), ProviderError> {
        if self.refused {
            return Err(ProviderError::new(ErrorKind::Filtered).with_note("the model refused"));
        }
        let has_calls = self.items.has_calls();
        self.ending.check(self.text > 0, has_calls)?;
        let cut = self.ending.is_cut() || self.items.is_broken();
        let last = self.items.0.len().saturating_sub(1);
        for at in 0..self.items.0.len() {
            let item = &self.items.0[at];
            let (kind, whole) = (item.kind, item.whole);
            let is_open = !item.done && !item.broken;
            match kind {
                Kind::Message => self.finish_parts(at),
                Kind::Reasoning if !cut && is_open => self.finish_reasoning(at, None)?,
                Kind::Call => self.give_call(at, whole || !cut || at < last),
                Kind::Reasoning | Kind::Other => {}
            }
        }
        self.out.extend(cut.then_some(Chunk::Cut));
        Ok(())
    }

    fn pieces(&mut self) -> &mut VecDeque<Chunk> {
        &mut self.out
    }
}

impl ResponseReader {
    pub(crate) fn new(request: &Request, wanted: Option<Reasoning>) -> Self {
        Self {
            ids: CallIds::of(&request.messages),
            wanted,
            items: Items::default(),
            text: 0,
            ending: Ending::default(),
            out: VecDeque::new(),
            lone: false,
            refused: false,
        }
    }

    /// An item begins, with whatever of it there is already.
    fn begin(&mut self, mut event: Value) -> Result<(), ProviderError> {
        let (index, _) = named(&event);
        let item = take(&mut event, "item");
        let kind = Kind::of(item["type"].as_str().unwrap_or_default());
        let id = word(item.get("id"));
        if self.items.has_ended(&id) {
            return Ok(());
        }
        let at = self.items.begin(kind, index, id, self.text)?;
        self.fill(at, item)
    }

    /// An item is whole.
    fn whole_item(&mut self, index: Option<u64>, item: Value) -> Result<(), ProviderError> {
        let kind = Kind::of(item["type"].as_str().unwrap_or_default());
        let id = word(item.get("id"));
        if self.items.has_ended(&id) {
            return Ok(());
        }
        let at = match self.items.find(kind, index, &id) {
            Some(at) => at,
            None => self.items.begin(kind, index, id.clone(), self.text)?,
        };
        self.items.0[at].name_once(id);
        self.end_item(at, item)
    }

    fn end_item(&mut self, at: usize, mut item: Value) -> Result<(), ProviderError> {
        if self.items.0[at].done {
            return Ok(());
        }
        let status = item["status"].as_str().unwrap_or_default();
        // What tools at the provider failed at fails no answer.
        let is_whole = self.items.0[at].kind == Kind::Other || is_whole(status)?;
        self.items.0[at].whole = status == "completed";
        self.items.0[at].broken = !is_whole;
        let encrypted = take(&mut item, "encrypted_content");
        self.fill(at, item)?;
        self.items.0[at].done = is_whole;
        match self.items.0[at].kind {
            Kind::Message => self.finish_parts(at),
            Kind::Reasoning if is_whole => self.finish_reasoning(at, encrypted.as_str())?,
            _ => {}
        }
        Ok(())
    }

    /// Adds what `item` has beyond what has come of it.
    fn fill(&mut self, at: usize, mut item: Value) -> Result<(), ProviderError> {
        let lone = self.lone;
        match self.items.0[at].kind {
            Kind::Message | Kind::Reasoning => {
                let contents = match take(&mut item, "content") {
                    Value::Array(parts) => parts,
                    Value::Null => Vec::new(),
                    text => vec![text],
                };
                for (index, part) in (0..).zip(contents) {
                    self.whole_part(at, index, part)?;
                }
                if let Value::Array(summaries) = take(&mut item, "summary") {
                    for (index, summary) in (0..).zip(summaries) {
                        let whole = text(summary).unwrap_or_default();
                        self.items.0[at].summary(index)?.replace(whole, lone);
                    }
                }
            }
            Kind::Call => {
                let whole = whole_arguments(&mut item);
                let call = &mut self.items.0[at];
                call.arguments.replace(whole, lone);
                let words = [("call_id", &mut call.call_id), ("name", &mut call.name)];
                for (name, known) in words {
                    let own = word(item.get(name));
                    if !own.is_empty() {
                        *known = own;
                    }
                }
            }
            Kind::Other => tracing::debug!("an item of another kind is skipped"),
        }
        Ok(())
    }

    /// The item that an event is about; one that never began begins.
    fn item_of(&mut self, event: &Value, kind: Kind) -> Result<usize, ProviderError> {
        let (index, id) = named(event);
        match self.items.find(kind, index, &id) {
            Some(at) => Ok(at),
            None => self.items.begin(kind, index, id, self.text),
        }
    }

    fn part(
        &mut self,
        event: &Value,
        kind: Kind,
        read: impl FnOnce(&mut Text, bool) -> String,
    ) -> Result<(), ProviderError> {
        let (_, id) = named(event);
        if self.items.has_ended(&id) {
            return Ok(());
        }
        let at = self.item_of(event, kind)?;
        let index = event.get("content_index").and_then(count).unwrap_or(0);
        let lone = self.lone;
        let new = read(self.items.0[at].part(index)?, lone);
        self.say(kind, new);
        Ok(())
    }

    fn content_part(&mut self, event: &Value, part: Value) -> Result<(), ProviderError> {
        let kind = match part["type"].as_str() {
            Some("reasoning_text") => Kind::Reasoning,
            _ => Kind::Message,
        };
        let (_, id) = named(event);
        if self.items.has_ended(&id) {
            return Ok(());
        }
        let at = self.item_of(event, kind)?;
        let index = event.get("content_index").and_then(count).unwrap_or(0);
        self.whole_part(at, index, part)
    }

    /// A part as far as an event repeats it.
    fn whole_part(&mut self, at: usize, index: u64, mut part: Value) -> Result<(), ProviderError> {
        let refusal = text(take(&mut part, "refusal")).unwrap_or_default();
        self.refused |= !refusal.is_empty();
        let whole = match refusal.is_empty() {
            true => text(part).unwrap_or_default(),
            false => refusal,
        };
        let item = &mut self.items.0[at];
        let kind = item.kind;
        let known = item.part(index)?;
        // An empty one is only its place.
        if !whole.is_empty() {
            let new = known.rest(whole, self.lone);
            self.say(kind, new);
        }
        Ok(())
    }

    fn say(&mut self, kind: Kind, text: String) {
        if text.is_empty() {
            return;
        }
        self.out.push_back(match kind {
            Kind::Reasoning => Chunk::Reasoning {
                text,
                provider_summary: false,
            },
            _ => {
                self.text += text.len();
                Chunk::Text(text)
            }
        });
    }

    fn finish_parts(&mut self, at: usize) {
        let item = &mut self.items.0[at];
        let kind = item.kind;
        let rests: String = item.parts.values_mut().filter_map(Text::finish).collect();
        self.say(kind, rests);
    }

    fn summary(&mut self, event: &Value) -> Result<&mut Text, ProviderError> {
        let at = self.item_of(event, Kind::Reasoning)?;
        let index = event.get("summary_index").and_then(count).unwrap_or(0);
        self.items.0[at].summary(index)
    }

    /// A summary is complete.
    fn tell_summary(&mut self, event: &Value, whole: String) -> Result<(), ProviderError> {
        let (_, id) = named(event);
        if self.items.has_ended(&id) {
            return Ok(());
        }
        let lone = self.lone;
        let text = self.summary(event)?;
        text.replace(whole, lone);
        let told = text.tell();
        self.out.extend(told.map(summary));
        Ok(())
    }

    /// Reasoning is complete: its summaries are told, and what the server wants back is kept.
    fn finish_reasoning(
        &mut self,
        at: usize,
        encrypted: Option<&str>,
    ) -> Result<(), ProviderError> {
        self.finish_parts(at);
        let item = &mut self.items.0[at];
        let told = item.summaries.values_mut().filter_map(Text::tell);
        self.out.extend(told.map(summary));
        let encrypted = encrypted.filter(|text| !text.is_empty());
        let wanted = match self.wanted {
            Some(Reasoning::None) => false,
            Some(Reasoning::Echo) => true,
            Some(Reasoning::Signed) | None => encrypted.is_some(),
        };
        if !wanted {
            return Ok(());
        }
        let of = |texts: &BTreeMap<u64, Text>, kind: &str| -> Value {
            let texts = texts
                .values()
                .map(|text| json!({ "type": kind, "text": text.said }));
            texts.collect()
        };
        let mut kept =
            json!({ "type": "reasoning", "summary": of(&item.summaries, "summary_text") });
        if !item.id().is_empty() {
            kept["id"] = json!(item.id());
        }
        if !item.parts.is_empty() {
            kept["content"] = of(&item.parts, "reasoning_text");
        }
        if let Some(encrypted) = encrypted {
            kept["encrypted_content"] = json!(encrypted);
        }
        keep(state(item.place, &kept), &mut self.out);
        Ok(())
    }

    fn call(&mut self, event: &Value) -> Result<&mut Item, ProviderError> {
        let at = self.item_of(event, Kind::Call)?;
        Ok(&mut self.items.0[at])
    }

    fn give_call(&mut self, at: usize, complete: bool) {
        let call = &mut self.items.0[at];
        let _ = call.arguments.finish();
        if call.is_nothing() {
            return;
        }
        let input = std::mem::take(&mut call.arguments.said);
        let own = if call.call_id.is_empty() {
            call.id()
        } else {
            &call.call_id
        };
        self.out.push_back(Chunk::ToolCall(ToolCall {
            id: self.ids.claim(own),
            name: tool_name(&call.name),
            input: match call.broken {
                // Also one that looks whole does not run.
                true => Value::String(input),
                false => read_input(input, complete),
            },
        }));
    }

    /// The response as a whole: what of it has not come yet, its counts, and how it ended.
    fn response(&mut self, mut response: Value, event: &str) -> Result<Progress, ProviderError> {
        if let Value::Array(output) = take(&mut response, "output") {
            let mut seen = [0; 4];
            for item in output {
                let kind = Kind::of(item["type"].as_str().unwrap_or_default());
                let nth = &mut seen[kind as usize];
                let at = match self.items.nth(kind, *nth) {
                    Some(at) => at,
                    None => self
                        .items
                        .begin(kind, None, word(item.get("id")), self.text)?,
                };
                *nth += 1;
                self.end_item(at, item)?;
            }
        }
        self.count(&response["usage"]);
        let status = response["status"].as_str().unwrap_or_default();
        let cut = response.pointer("/incomplete_details/reason");
        // What is careful counts, where they say different things.
        match (status, event, cut.and_then(Value::as_str)) {
            (_, "failed" | "cancelled", _) => self.ending.reason(event)?,
            ("failed" | "cancelled", ..) => self.ending.reason(status)?,
            (_, _, Some(cut)) => self.ending.incomplete(cut)?,
            ("incomplete", ..) | (_, "incomplete", _) => self.ending.incomplete("incomplete")?,
            ("" | "in_progress" | "queued", "done" | "completed", _) => {
                self.ending.reason("completed")?;
            }
            _ => self.ending.reason(status)?,
        }
        Ok(match self.ending.progress() {
            Progress::More => Progress::More,
            _ => Progress::Done,
        })
    }

    fn count(&mut self, counts: &Value) {
        let of = |path: &str| counts.pointer(path).and_then(count);
        let (input, output) = (of("/input_tokens"), of("/output_tokens"));
        if input.is_none() && output.is_none() {
            return;
        }
        self.out.push_back(Chunk::Usage(Usage {
            input: input.unwrap_or(0),
            output: output.unwrap_or(0),
            cache_read: of("/input_tokens_details/cached_tokens"),
            reasoning: of("/output_tokens_details/reasoning_tokens"),
        }));
    }
}

/// A summary that is complete.
fn summary(text: String) -> Chunk {
    Chunk::Reasoning {
        text,
        provider_summary: true,
    }
}

#[cfg(test)]
mod tests;
