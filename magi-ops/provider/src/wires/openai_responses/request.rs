//! A conversation as a request of the Responses API, and where its reasoning belongs.
//! Nothing is read from a response here.

use serde_json::{Value, json};

use crate::config::Reasoning;
use crate::message::Message;
use crate::models::{Thinking, known};
use crate::request::Request;
use crate::wires::images::data_url;
use crate::wires::input::input_object;
use crate::wires::turns::{
    Answered, Part, Place, Turn, elements, parts, says_something, turns, wire_name, with_elements,
};
use crate::wires::wire::{Parameters, effort};

/// Whose servers a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Any,
    /// The ChatGPT subscription's: instructions are demanded, bounds of the output and ids of items refused.
    Codex,
}

/// Reasoning behind so many bytes of its response's text and so many calls, as an item of the state that is kept. The
/// API refuses reasoning that comes back in another place.
pub(super) fn state((text, calls): (usize, usize), item: &Value) -> Value {
    json!({ "reasoning": item, "text": text, "calls": calls })
}

/// The other way round.
fn placed(state: &Value) -> Option<(Place, &Value)> {
    let number = |name: &str| usize::try_from(state[name].as_u64()?).ok();
    let (text, calls) = (number("text")?, number("calls")?);
    Some(((text..text, calls), state.get("reasoning")?))
}

fn goes_back(item: &Value, parameters: &Parameters<'_>) -> bool {
    let signed = item["encrypted_content"].is_string();
    match parameters.reasoning {
        _ if parameters.quirks.leaves_out("encrypted_content") && signed => false,
        Some(Reasoning::None) => false,
        Some(Reasoning::Echo) => true,
        Some(Reasoning::Signed) | None => signed,
    }
}

pub(crate) fn body(request: &Request, parameters: &Parameters<'_>, server: Server) -> Vec<u8> {
    let model = &request.model;
    let mut body = json!({ "model": model, "stream": true });
    let quirks = &parameters.quirks;
    let mut optional = |name: &str, value: Value| {
        if !quirks.leaves_out(name) {
            body[name] = value;
        }
    };
    optional("store", json!(false));
    if !matches!(
        parameters.reasoning,
        Some(Reasoning::None | Reasoning::Echo)
    ) {
        optional("include", json!(["reasoning.encrypted_content"]));
    }
    if !request.session.is_empty() {
        optional("prompt_cache_key", json!(request.session));
    }
    let effort = effort(parameters.level);
    // Others refuse the member, and where nothing is known nothing is asked for.
    if effort.is_some() || known(model).thinking == Some(Thinking::Effort) {
        let mut reasoning = json!({});
        if !quirks.leaves_out("reasoning.summary") {
            reasoning["summary"] = json!("auto");
        }
        if let Some(effort) = effort.filter(|_| !quirks.leaves_out("reasoning.effort")) {
            reasoning["effort"] = json!(effort);
        }
        if reasoning != json!({}) {
            optional("reasoning", reasoning);
        }
    }
    if let Some(most) = parameters.max_tokens.filter(|_| server == Server::Any) {
        optional("max_output_tokens", json!(most));
    }
    if request.fast {
        optional("service_tier", json!("priority"));
    }
    if !request.tools.is_empty() {
        optional("parallel_tool_calls", json!(true));
        let tools = request.tools.iter().map(|tool| {
            let mut tool = json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": quirks.schema(&tool.input_schema),
            });
            // The API's own default refuses schemas with optional members.
            if !quirks.leaves_out("strict") {
                tool["strict"] = json!(false);
            }
            tool
        });
        body["tools"] = tools.collect();
    }
    if says_something(&request.system) || server == Server::Codex {
        body["instructions"] = json!(&*request.system);
    }
    let write = |part: &[Message], _| items(part, parameters, server);
    with_elements("input", &body, &elements(request, parameters, write))
}

fn items(part: &[Message], parameters: &Parameters<'_>, server: Server) -> Vec<Value> {
    let mut items = Vec::with_capacity(part.len());
    for turn in turns(part, parameters) {
        match turn {
            Turn::User(text) => items.push(message("user", "input_text", &text)),
            Turn::Assistant { state, text, calls } => {
                let reasoning = state.iter().filter_map(placed);
                let reasoning = reasoning.filter(|(_, item)| goes_back(item, parameters));
                let mut said = parts(text, calls.len(), reasoning);
                // The API refuses reasoning that nothing follows.
                while matches!(said.last(), Some(Part::State(..))) {
                    said.pop();
                }
                items.extend(said.into_iter().map(|part| match part {
                    Part::Text(text) => message("assistant", "output_text", text),
                    Part::Call(at) => call(&calls[at]),
                    Part::State(_, item) => reasoning_item(item, server),
                }));
                items.extend(calls.iter().map(result));
            }
        }
    }
    items
}

fn message(role: &str, kind: &str, text: &str) -> Value {
    let content = json!([{ "type": kind, "text": text }]);
    json!({ "type": "message", "role": role, "content": content })
}

fn reasoning_item(item: &Value, server: Server) -> Value {
    let mut item = item.clone();
    if let (Server::Codex, Some(members)) = (server, item.as_object_mut()) {
        members.remove("id");
    }
    item
}

fn call(answered: &Answered<'_>) -> Value {
    json!({
        "type": "function_call",
        "call_id": answered.id,
        "name": wire_name(&answered.call.name),
        "arguments": input_object(&answered.call.input).to_string(),
    })
}

fn result(answered: &Answered<'_>) -> Value {
    // The wire has no field for failure: the model must read it.
    let text = match answered.is_error {
        true => format!("Error: {}", answered.content),
        false => answered.content.to_string(),
    };
    let images = answered.images.iter();
    let images = images.map(|image| json!({ "type": "input_image", "image_url": data_url(image) }));
    let output = match answered.images.is_empty() {
        true => json!(text),
        false => {
            let words =
                says_something(&text).then(|| json!({ "type": "input_text", "text": text }));
            words.into_iter().chain(images).collect()
        }
    };
    json!({ "type": "function_call_output", "call_id": answered.id, "output": output })
}

#[cfg(test)]
mod tests;
