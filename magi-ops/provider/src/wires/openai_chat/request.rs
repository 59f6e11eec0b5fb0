//! A conversation as a request for chat completions.
//! Nothing is read from a response here.

use serde_json::{Value, json};

use crate::config::Reasoning;
use crate::message::Message;
use crate::request::Request;
use crate::wires::call_ids::wire_id;
use crate::wires::images::data_url;
use crate::wires::input::input_object;
use crate::wires::quirks::NO_SIGNATURE;
use crate::wires::turns::{
    Answered, Turn, elements, says_something, turns, wire_name, with_elements,
};
use crate::wires::wire::{Parameters, effort};

/// Whether the member `name` of a message's state goes back. By default with calls only: servers
/// that want it back want it between calls, and others have no use for it.
fn goes_back(parameters: &Parameters<'_>, name: &str, has_calls: bool) -> bool {
    if parameters.quirks.leaves_out(name) {
        return false;
    }
    match (name, parameters.reasoning) {
        ("extra_content", _) => true,
        (_, Some(Reasoning::None)) => false,
        ("reasoning_content" | "reasoning", Some(Reasoning::Echo)) => true,
        ("reasoning_details", Some(Reasoning::Signed)) => true,
        (_, Some(_)) => false,
        ("reasoning_content", None) => has_calls || parameters.quirks.fill_reasoning,
        ("reasoning_details", None) => has_calls,
        (_, None) => false,
    }
}

pub(super) fn body(request: &Request, parameters: &Parameters<'_>) -> Vec<u8> {
    let mut body = json!({ "model": request.model, "stream": true });
    let mut optional = |name: &str, value: Value| {
        let takes = !parameters.quirks.leaves_out(name);
        if takes {
            body[name] = value;
        }
        takes
    };
    // Servers that don't know it send no counts.
    optional("stream_options", json!({ "include_usage": true }));
    // The field is left out for servers without such a choice.
    if let Some(effort) = effort(parameters.level) {
        optional("reasoning_effort", json!(effort));
    }
    if request.fast {
        optional("service_tier", json!("priority"));
    }
    // The second is OpenAI's newer name of the first, which some of its models take alone.
    if let Some(most) = parameters.max_tokens
        && !optional("max_tokens", json!(most))
    {
        optional("max_completion_tokens", json!(most));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": parameters.quirks.schema(&tool.input_schema),
                },
            })
        });
        body["tools"] = tools.collect();
    }
    let conversation = elements(request, parameters, |part, _| messages(part, parameters));
    let system = says_something(&request.system)
        .then(|| json!({ "role": "system", "content": &*request.system }).to_string());
    let parts = [system.unwrap_or_default().into_bytes(), conversation];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let messages = parts.collect::<Vec<_>>().join(&b',');
    with_elements("messages", &body, &messages)
}

fn messages(part: &[Message], parameters: &Parameters<'_>) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::with_capacity(part.len());
    // What the tools of the response before showed.
    let mut shown = Vec::new();
    for turn in turns(part, parameters) {
        match turn {
            // Many servers refuse two messages of one side.
            Turn::User(text) if !shown.is_empty() => {
                shown.push(json!({ "type": "text", "text": text }));
                messages.push(user(std::mem::take(&mut shown).into()));
            }
            Turn::User(text) => messages.push(user(text.into())),
            Turn::Assistant {
                state,
                text,
                mut calls,
            } => {
                if !shown.is_empty() {
                    messages.push(user(std::mem::take(&mut shown).into()));
                }
                let content = says_something(text).then_some(text);
                let mut message = json!({ "role": "assistant", "content": content });
                for (at, answered) in (0..).zip(&mut calls) {
                    if let Some(id) = server_id(state, at) {
                        answered.id = wire_id(id, true, parameters.quirks.ids);
                    }
                }
                let mut sent: Vec<_> = calls.iter().map(call).collect();
                give_back(state, parameters, &mut message, &mut sent);
                if !sent.is_empty() {
                    message["tool_calls"] = sent.into();
                }
                messages.push(message);
                messages.extend(calls.iter().map(result));
                // A result is text alone: images follow all of them as the person's.
                shown.extend(calls.iter().flat_map(images));
            }
        }
    }
    if !shown.is_empty() {
        messages.push(user(shown.into()));
    }
    messages
}

fn user(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

/// What a call showed, behind words that say so.
fn images(answered: &Answered<'_>) -> Vec<Value> {
    if answered.images.is_empty() {
        return Vec::new();
    }
    let name = wire_name(&answered.call.name);
    let words = format!("[Shown by the call {} of {name}:]", answered.id);
    let images = answered
        .images
        .iter()
        .map(|image| json!({ "type": "image_url", "image_url": { "url": data_url(image) } }));
    let words = std::iter::once(json!({ "type": "text", "text": words }));
    words.chain(images).collect()
}

/// The server's own id of a call, where that was too long to be the conversation's.
fn server_id(state: &[Value], at: u64) -> Option<&str> {
    let item = state
        .iter()
        .find(|item| item["call"] == at && item.get("id").is_some())?;
    item["id"].as_str()
}

/// Puts what the server wants back into its message and the message's calls.
fn give_back(
    state: &[Value],
    parameters: &Parameters<'_>,
    message: &mut Value,
    calls: &mut [Value],
) {
    for item in state.iter().filter_map(Value::as_object) {
        let call = item.get("call").and_then(Value::as_u64);
        for (name, value) in item {
            match call {
                _ if name == "call" || name == "id" => {}
                Some(at) => {
                    let call = usize::try_from(at).ok().and_then(|at| calls.get_mut(at));
                    if let Some(call) = call
                        && !parameters.quirks.leaves_out(name)
                    {
                        call[name] = value.clone();
                    }
                }
                None if goes_back(parameters, name, !calls.is_empty()) => {
                    message[name] = value.clone()
                }
                None => {}
            }
        }
    }
    let quirks = &parameters.quirks;
    if quirks.fill_reasoning
        && goes_back(parameters, "reasoning_content", true)
        && message.get("reasoning_content").is_none()
    {
        message["reasoning_content"] = json!("");
    }
    if quirks.fill_signatures {
        // The first call of a response is signed for all of them.
        let first = calls.first_mut();
        if let Some(call) = first.filter(|call| call.get("extra_content").is_none()) {
            call["extra_content"] = json!({ "google": { "thought_signature": NO_SIGNATURE } });
        }
    }
}

fn call(answered: &Answered<'_>) -> Value {
    json!({
        "id": answered.id,
        "type": "function",
        "function": {
            "name": wire_name(&answered.call.name),
            "arguments": input_object(&answered.call.input).to_string(),
        },
    })
}

fn result(answered: &Answered<'_>) -> Value {
    // The wire has no field for failure: the model must read it.
    let content = if answered.is_error {
        format!("Error: {}", answered.content)
    } else {
        answered.content.to_string()
    };
    json!({ "role": "tool", "tool_call_id": answered.id, "content": content })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::config::ModelLimits;
    use crate::message::{ProviderState, ThinkingLevel, ToolCall, ToolSpec};
    use crate::wires::fixtures::result;
    use crate::wires::openai_chat::OpenaiChat;
    use crate::wires::quirks::Quirks;

    fn json_of(request: &Request, limits: ModelLimits, quirks: &Quirks) -> Value {
        let parameters = Parameters::new(&OpenaiChat, "p", &limits, request, quirks.clone());
        serde_json::from_slice(&body(request, &parameters)).unwrap()
    }

    fn usual(request: &Request) -> Value {
        json_of(request, ModelLimits::default(), &Quirks::default())
    }

    #[test]
    fn a_conversation_becomes_messages_with_calls_and_results() {
        let call = |id: &str, name: &str, input| ToolCall {
            id: id.into(),
            name: name.into(),
            input,
        };
        let mut request = Request {
            model: "m".into(),
            system: "Be brief.".into(),
            thinking: ThinkingLevel::Max,
            messages: Arc::new(vec![
                Message::User { text: "go".into() },
                Message::Assistant {
                    state: ProviderState {
                        provider: "another".into(),
                        items: vec![json!({"reasoning_content": "hm", "extra_content": 1})],
                    },
                    text: String::new(),
                    tool_calls: vec![
                        call("functions.read:0", "read", json!({"path": "x"})),
                        call("b", "", json!("{\"pa")),
                    ],
                },
                result("b", "no", true),
                result("functions.read:0", "text", false),
                Message::Assistant {
                    state: ProviderState::default(),
                    text: "done".into(),
                    tool_calls: Vec::new(),
                },
                Message::User { text: "on".into() },
            ]),
            tools: vec![ToolSpec {
                name: "read".into(),
                description: "Reads.".into(),
                input_schema: json!({ "type": "object" }),
            }],
            ..Request::default()
        };
        let sent = usual(&request);
        assert_eq!(
            sent,
            json!({
                "model": "m",
                "stream": true,
                "stream_options": { "include_usage": true },
                "reasoning_effort": "high",
                "tools": [{ "type": "function", "function": {
                    "name": "read", "description": "Reads.", "parameters": { "type": "object" },
                } }],
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": "go" },
                    { "role": "assistant", "content": null, "tool_calls": [
                        { "id": "functions_read_0", "type": "function",
                          "function": { "name": "read", "arguments": "{\"path\":\"x\"}" } },
                        { "id": "b", "type": "function",
                          "function": { "name": "_", "arguments": "{\"invalid_input\":\"{\\\"pa\"}" } },
                    ] },
                    { "role": "tool", "tool_call_id": "functions_read_0", "content": "text" },
                    { "role": "tool", "tool_call_id": "b", "content": "Error: no" },
                    { "role": "assistant", "content": "done" },
                    { "role": "user", "content": "on" },
                ],
            })
        );
        request.thinking = ThinkingLevel::Default;
        request.tools.clear();
        let sent = usual(&request);
        for absent in ["reasoning_effort", "tools"] {
            assert!(sent.get(absent).is_none(), "{absent}");
        }
    }

    /// A response of `provider` with one call, its result, and one without calls.
    fn with_state(provider: &str) -> Request {
        let state = |items| ProviderState {
            provider: provider.into(),
            items,
        };
        let reasoning = json!({"reasoning_content": "hm"});
        Request {
            model: "m".into(),
            messages: Arc::new(vec![
                Message::User { text: "go".into() },
                Message::Assistant {
                    state: state(vec![
                        reasoning.clone(),
                        json!({"reasoning_details": [{"data": "x"}]}),
                        json!({"call": 0, "extra_content": {"google": 1}}),
                        json!({"call": 7, "extra_content": 2}),
                        json!(3),
                    ]),
                    text: String::new(),
                    tool_calls: vec![ToolCall {
                        id: "functions.read:0".into(),
                        name: "read".into(),
                        input: json!({}),
                    }],
                },
                Message::Assistant {
                    state: state(vec![reasoning]),
                    text: "done".into(),
                    tool_calls: Vec::new(),
                },
            ]),
            ..Request::default()
        }
    }

    #[test]
    fn state_goes_back_as_the_settings_say() {
        let sent = |reasoning, provider| {
            let limits = ModelLimits {
                reasoning,
                ..ModelLimits::default()
            };
            let sent = json_of(&with_state(provider), limits, &Quirks::default());
            let [with, without] = [&sent["messages"][1], &sent["messages"][3]];
            let has = |message: &Value, name| message.get(name).is_some();
            (
                has(with, "reasoning_content"),
                has(without, "reasoning_content"),
                has(with, "reasoning_details"),
                has(&with["tool_calls"][0], "extra_content"),
            )
        };
        use Reasoning::{Echo, Signed};
        assert_eq!(sent(None, "p"), (true, false, true, true));
        assert_eq!(sent(Some(Echo), "p"), (true, true, false, true));
        assert_eq!(sent(Some(Signed), "p"), (false, false, true, true));
        assert_eq!(
            sent(Some(Reasoning::None), "p"),
            (false, false, false, true)
        );
        assert_eq!(sent(Some(Echo), "q"), (false, false, false, false));
    }

    #[test]
    fn ids_are_the_server_s_own_or_what_it_takes() {
        let id = |provider, quirks: &Quirks| {
            let sent = json_of(&with_state(provider), ModelLimits::default(), quirks);
            let id = sent["messages"][1]["tool_calls"][0]["id"].clone();
            assert_eq!(sent["messages"][2]["tool_call_id"], id);
            id.as_str().unwrap().to_owned()
        };
        assert_eq!(id("p", &Quirks::default()), "functions.read:0");
        assert_eq!(id("q", &Quirks::default()), "functions_read_0");
        let short = Quirks {
            ids: crate::wires::call_ids::IdForm::Short,
            ..Quirks::default()
        };
        assert_eq!(id("p", &short).len(), 9);
        assert_eq!(id("p", &short), id("q", &short));
    }

    #[test]
    fn what_a_server_demands_is_filled_in() {
        let quirks = Quirks {
            fill_reasoning: true,
            fill_signatures: true,
            ..Quirks::default()
        };
        let sent = json_of(&with_state("q"), ModelLimits::default(), &quirks);
        for at in [1, 3] {
            assert_eq!(sent["messages"][at]["reasoning_content"], "");
        }
        let call = &sent["messages"][1]["tool_calls"][0];
        assert!(call["extra_content"]["google"]["thought_signature"].is_string());
        let sent = json_of(&with_state("p"), ModelLimits::default(), &quirks);
        for at in [1, 3] {
            assert_eq!(sent["messages"][at]["reasoning_content"], "hm");
        }
    }

    #[test]
    fn speed_is_the_service_tier() {
        let mut request = with_state("p");
        assert_eq!(usual(&request).get("service_tier"), None);
        request.fast = true;
        assert_eq!(usual(&request)["service_tier"], "priority");
        let mut quirks = Quirks::default();
        quirks.left_out.insert("service_tier");
        let sent = json_of(&request, ModelLimits::default(), &quirks);
        assert_eq!(sent.get("service_tier"), None);
    }

    #[test]
    fn the_output_and_the_levels_are_the_settings() {
        let limits = ModelLimits {
            max_output_tokens: Some(77),
            models: vec![crate::config::ModelSettings {
                thinking_levels: Some(vec![ThinkingLevel::XHigh]),
                ..crate::config::ModelSettings::from("m")
            }],
            ..ModelLimits::default()
        };
        let mut request = with_state("p");
        request.thinking = ThinkingLevel::Max;
        let sent = json_of(&request, limits, &Quirks::default());
        assert_eq!(
            (&sent["max_tokens"], &sent["reasoning_effort"]),
            (&json!(77), &json!("xhigh"))
        );
    }
}
