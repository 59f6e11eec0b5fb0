//! A conversation as a request of `generateContent`, and where its signatures belong.
//! Nothing is read from a response here.

use media::Image;
use serde_json::{Value, json};

use super::schema::parameters as input_schema;
use crate::config::Reasoning;
use crate::message::Message;
use crate::models::{Thinking, known};
use crate::request::Request;
use crate::wires::images::base64;
use crate::wires::input::input_object;
use crate::wires::quirks::NO_SIGNATURE;
use crate::wires::turns::{
    Answered, Part, Place, Turn, elements, parts, says_something, turns, wire_name, with_elements,
};
use crate::wires::wire::{Parameters, budget, effort, thinking_room};

/// The member of a part that its server wants back.
pub(super) const SIGNATURE: &str = "thoughtSignature";

/// Least thinking that every model takes, in tokens.
const LEAST_BUDGET: u64 = 512;

/// A signature of a part of the text, at its place, as an item of the state that is kept. The API refuses it with
/// another part than its own.
pub(super) fn text_state((text, calls): &Place, signature: &Value) -> Value {
    json!({ "text": [text.start, text.end], "calls": calls, SIGNATURE: signature })
}

/// What goes back with the call of that index: the server's own id, and its signature.
pub(super) fn call_state(call: usize, id: Option<&str>, signature: Option<&Value>) -> Value {
    let mut state = json!({ "call": call });
    if let Some(id) = id {
        state["id"] = json!(id);
    }
    if let Some(signature) = signature {
        state[SIGNATURE] = signature.clone();
    }
    state
}

fn placed(state: &Value) -> Option<(Place, &Value)> {
    let number = |path: &str| usize::try_from(state.pointer(path)?.as_u64()?).ok();
    let place = (number("/text/0")?..number("/text/1")?, number("/calls")?);
    Some((place, state.get(SIGNATURE)?))
}

fn state_of_call(state: &[Value], at: usize) -> Option<&Value> {
    state.iter().find(|item| item["call"] == at)
}

fn signatures_go_back(parameters: &Parameters<'_>) -> bool {
    parameters.reasoning != Some(Reasoning::None) && !parameters.quirks.leaves_out(SIGNATURE)
}

/// How the request asks for thinking; `None` leaves it to the server.
pub(super) fn thinking(request: &Request, parameters: &Parameters<'_>) -> Option<Value> {
    let (level, quirks) = (parameters.level, &parameters.quirks);
    let takes = |name: &str| !quirks.leaves_out(&format!("thinkingConfig.{name}"));
    let known = known(&request.model).thinking;
    if quirks.leaves_out("thinkingConfig")
        || known == Some(Thinking::None)
        || (known.is_none() && effort(level).is_none())
    {
        return None;
    }
    let mut thinking = json!({});
    if takes("includeThoughts") {
        thinking["includeThoughts"] = json!(true);
    }
    match known {
        Some(Thinking::Budget) => {
            if let Some(budget) = budget(level).filter(|_| takes("thinkingBudget")) {
                let room = parameters.max_tokens.map_or(u64::MAX, thinking_room);
                let budget = budget.min(room);
                if budget >= LEAST_BUDGET {
                    thinking["thinkingBudget"] = json!(budget);
                }
            }
        }
        _ => {
            if let Some(effort) = effort(level).filter(|_| takes("thinkingLevel")) {
                thinking["thinkingLevel"] = json!(effort);
            }
        }
    }
    (thinking != json!({})).then_some(thinking)
}

pub(super) fn body(request: &Request, parameters: &Parameters<'_>) -> Vec<u8> {
    let mut generation = json!({});
    if let Some(thinking) = thinking(request, parameters) {
        generation["thinkingConfig"] = thinking;
    }
    if let Some(most) = parameters.max_tokens
        && !parameters.quirks.leaves_out("maxOutputTokens")
    {
        generation["maxOutputTokens"] = json!(most);
    }
    let mut body = json!({ "generationConfig": generation });
    if says_something(&request.system) {
        body["systemInstruction"] = json!({ "parts": [{ "text": &*request.system }] });
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let mut declared = json!({ "name": tool.name, "description": tool.description });
            if let Some(schema) = input_schema(&tool.input_schema) {
                declared["parameters"] = schema;
            }
            declared
        });
        let tools: Value = tools.collect();
        body["tools"] = json!([{ "functionDeclarations": tools }]);
    }
    let write = |part: &[Message], _| contents(part, parameters);
    with_elements("contents", &body, &elements(request, parameters, write))
}

fn contents(part: &[Message], parameters: &Parameters<'_>) -> Vec<Value> {
    let mut contents: Vec<(&str, Vec<Value>)> = Vec::with_capacity(part.len());
    let mut push = |role, parts: Vec<Value>| {
        // Results and the next prompt are one content.
        match contents.last_mut() {
            _ if parts.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(parts),
            _ => contents.push((role, parts)),
        }
    };
    for turn in turns(part, parameters) {
        match turn {
            Turn::User(text) => push("user", text_part(&text).into_iter().collect()),
            Turn::Assistant {
                state, text, calls, ..
            } => {
                push("model", said(state, text, &calls, parameters));
                let results = calls.iter().enumerate();
                let results =
                    results.map(|(at, answered)| result(answered, state_of_call(state, at)));
                let images = calls.iter().flat_map(|answered| &answered.images);
                let images = images.map(|image| inline(image));
                push("user", results.chain(images).collect());
            }
        }
    }
    let contents = contents.into_iter();
    let contents = contents.map(|(role, parts)| json!({ "role": role, "parts": parts }));
    contents.collect()
}

/// One response's parts in the order they came.
fn said(
    state: &[Value],
    text: &str,
    calls: &[Answered<'_>],
    parameters: &Parameters<'_>,
) -> Vec<Value> {
    let goes_back = signatures_go_back(parameters);
    let signed = state.iter().filter_map(placed).filter(|_| goes_back);
    let parts = parts(text, calls.len(), signed);
    let parts = parts.into_iter().map(|part| match part {
        Part::Text(text) => json!({ "text": text }),
        Part::State(text, signature) => json!({ "text": text, SIGNATURE: signature }),
        Part::Call(at) => {
            let own = state_of_call(state, at);
            let mut part = json!({ "functionCall": call(calls[at].call, own) });
            let signature = own.and_then(|own| own.get(SIGNATURE));
            if let Some(signature) = signature.filter(|_| goes_back) {
                part[SIGNATURE] = signature.clone();
            } else if at == 0 && parameters.quirks.fill_signatures {
                // The first call of a response is signed for all of them.
                part[SIGNATURE] = json!(NO_SIGNATURE);
            }
            part
        }
    });
    parts.collect()
}

/// The API refuses a part without a word.
fn text_part(text: &str) -> Option<Value> {
    says_something(text).then(|| json!({ "text": text }))
}

fn call(call: &crate::message::ToolCall, state: Option<&Value>) -> Value {
    let mut sent = json!({ "name": wire_name(&call.name), "args": input_object(&call.input) });
    with_id(&mut sent, state);
    sent
}

fn result(answered: &Answered<'_>, state: Option<&Value>) -> Value {
    let member = match answered.is_error {
        true => "error",
        false => "output",
    };
    let mut sent = json!({
        "name": wire_name(&answered.call.name),
        "response": { member: answered.content },
    });
    with_id(&mut sent, state);
    json!({ "functionResponse": sent })
}

/// What a tool showed stands behind all results.
fn inline(image: &Image) -> Value {
    let media_type = image.format().media_type();
    json!({ "inlineData": { "mimeType": media_type, "data": base64(image) } })
}

/// Servers that give ids want them back, and some of the others refuse any.
fn with_id(sent: &mut Value, state: Option<&Value>) {
    if let Some(id) = state.and_then(|state| state.get("id")) {
        sent["id"] = id.clone();
    }
}

#[cfg(test)]
mod tests;
