//! A conversation as a request of the Messages API, and where its signed thoughts belong.
//! Nothing is read from a response here.

use media::Image;
use serde_json::{Value, json};

use super::{max_tokens, thinking};
use crate::config::Reasoning;
use crate::message::Message;
use crate::request::Request;
use crate::wires::images::base64;
use crate::wires::input::input_object;
use crate::wires::quirks::Quirks;
use crate::wires::turns::{
    Answered, Part, Turn, elements, parts, says_something, turns, wire_name, with_elements,
};
use crate::wires::wire::Parameters;

/// Where a thought stood in its response, and what it was.
///
/// The place stands in front of the signature in the state that is kept: the API refuses thoughts that
/// come back in another place than they were given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// Whether the API keeps the thought's text to itself.
    pub(super) redacted: bool,
    /// Bytes of the response's text before it.
    pub(super) text: usize,
    /// Tool calls before it.
    pub(super) calls: usize,
    /// The API's own signature or, of a redacted thought, its data; empty if nobody signed it.
    pub(super) signature: &'a str,
}

impl<'a> Place<'a> {
    /// The thought `text` at this place as an item of the provider's state.
    pub(super) fn state(&self, text: &str) -> Value {
        json!({ "thinking": text, "signature": self.write() })
    }

    fn write(&self) -> String {
        let kind = if self.redacted { 'r' } else { 's' };
        format!("{kind}{}/{}:{}", self.text, self.calls, self.signature)
    }

    fn read(opaque: &'a str) -> Self {
        let parse = || {
            // The API's signatures are base64: no colon is in them.
            let (place, signature) = opaque.split_once(':')?;
            let (kind, numbers) = place.split_at_checked(1)?;
            let (text, calls) = numbers.split_once('/')?;
            Some(Self {
                redacted: match kind {
                    "r" => true,
                    "s" => false,
                    _ => return None,
                },
                text: text.parse().ok()?,
                calls: calls.parse().ok()?,
                signature,
            })
        };
        parse().unwrap_or(Self {
            redacted: false,
            text: 0,
            calls: 0,
            signature: opaque,
        })
    }
}

/// Marks what is asked for again with the next response.
fn cached(mut block: Value, quirks: &Quirks) -> Value {
    if !quirks.leaves_out("cache_control") {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
    block
}

fn goes_back(place: &Place<'_>, parameters: &Parameters<'_>) -> bool {
    match parameters.reasoning {
        _ if parameters.quirks.leaves_out("thinking") => false,
        Some(Reasoning::None) => false,
        Some(Reasoning::Echo) => true,
        Some(Reasoning::Signed) | None => !place.signature.is_empty(),
    }
}

pub(super) fn body(request: &Request, parameters: &Parameters<'_>) -> Vec<u8> {
    let (model, quirks) = (&request.model, &parameters.quirks);
    let most = max_tokens(model, parameters);
    let mut body = json!({ "model": model, "max_tokens": most, "stream": true });
    if says_something(&request.system) {
        let system = json!({ "type": "text", "text": &*request.system });
        body["system"] = json!([cached(system, quirks)]);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": quirks.schema(&tool.input_schema),
            })
        });
        let mut tools: Vec<_> = tools.collect();
        if let Some(last) = tools.last_mut() {
            *last = cached(last.take(), quirks);
        }
        body["tools"] = tools.into();
    }
    if request.fast && !quirks.leaves_out("service_tier") {
        body["service_tier"] = json!("auto");
    }
    if !quirks.leaves_out("thinking")
        && let Some(thinking) = thinking(model, parameters)
    {
        body["thinking"] = thinking.thinking;
        if let Some(effort) = thinking.effort
            && !quirks.leaves_out("output_config")
        {
            body["output_config"] = json!({ "effort": effort });
        }
    }
    let write = |part: &[Message], is_last| messages(part, is_last, parameters);
    with_elements("messages", &body, &elements(request, parameters, write))
}

fn messages(part: &[Message], is_last: bool, parameters: &Parameters<'_>) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut push = |role, blocks: Vec<Value>| {
        // Blocks of one side that follow each other are one message: results and the next prompt.
        match messages.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    };
    for turn in turns(part, parameters) {
        match turn {
            Turn::User(text) => push("user", text_block(&text).into_iter().collect()),
            Turn::Assistant { state, text, calls } => {
                push("assistant", said(state, text, &calls, parameters));
                let quirks = &parameters.quirks;
                let results = calls.iter().map(|call| result_block(call, quirks));
                push("user", results.collect());
            }
        }
    }
    // The conversation up to here is asked for again with the next response; up to the mark before it was asked for with
    // the last one.
    if is_last {
        let users = messages
            .iter_mut()
            .rev()
            .filter(|(role, _)| *role == "user");
        for last in users.take(2).filter_map(|(_, blocks)| blocks.last_mut()) {
            *last = cached(last.take(), &parameters.quirks);
        }
    }
    messages
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect()
}

/// One response's blocks in the order they came.
fn said(
    state: &[Value],
    text: &str,
    calls: &[Answered<'_>],
    parameters: &Parameters<'_>,
) -> Vec<Value> {
    let thoughts = state.iter().filter_map(|item| {
        let (thought, opaque) = (item["thinking"].as_str()?, item["signature"].as_str()?);
        let place = Place::read(opaque);
        let at = (place.text..place.text, place.calls);
        goes_back(&place, parameters).then_some((at, (thought, place)))
    });
    let block = |part: Part<'_, (&str, Place<'_>)>| match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Call(at) => call_block(&calls[at]),
        Part::State(_, (_, place)) if place.redacted => {
            json!({ "type": "redacted_thinking", "data": place.signature })
        }
        Part::State(_, (thought, place)) => {
            json!({ "type": "thinking", "thinking": thought, "signature": place.signature })
        }
    };
    let parts = parts(text, calls.len(), thoughts);
    parts.into_iter().map(block).collect()
}

/// The API refuses a text block without a word.
fn text_block(text: &str) -> Option<Value> {
    says_something(text).then(|| json!({ "type": "text", "text": text }))
}

fn image_block(image: &Image) -> Value {
    let media_type = image.format().media_type();
    let source = json!({ "type": "base64", "media_type": media_type, "data": base64(image) });
    json!({ "type": "image", "source": source })
}

fn call_block(answered: &Answered<'_>) -> Value {
    let call = answered.call;
    json!({
        "type": "tool_use",
        "id": answered.id,
        "name": wire_name(&call.name),
        "input": input_object(&call.input),
    })
}

fn result_block(answered: &Answered<'_>, quirks: &Quirks) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": answered.id });
    if answered.is_error && quirks.leaves_out("is_error") {
        block["content"] = json!(format!("Error: {}", answered.content));
        return block;
    }
    if answered.is_error {
        block["is_error"] = json!(true);
    }
    // The API takes a result without content, but no error without any.
    if !answered.images.is_empty() {
        let images = answered.images.iter().copied().map(image_block);
        let blocks = text_block(&answered.content).into_iter().chain(images);
        block["content"] = blocks.collect();
    } else if says_something(&answered.content) {
        block["content"] = json!(answered.content);
    } else if answered.is_error {
        block["content"] = json!("(no message)");
    }
    block
}

#[cfg(test)]
mod tests;
