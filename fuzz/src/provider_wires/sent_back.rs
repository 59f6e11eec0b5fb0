//! What was said, as it goes back in the next request: whole, in order, and to who said it alone.
//! Reading what was said is the matter above.

use super::*;

/// The next request of the same conversation, on each wire: providers refuse it where a call has no result,
/// where text is blank, and where a thought is missing or moved. Only the provider that thought gets it back.
pub(super) fn sent_back(model: &str, said: &[Chunk]) {
    let (mut items, mut text, mut tool_calls) = (Vec::new(), String::new(), Vec::new());
    for chunk in said {
        match chunk {
            Chunk::Text(piece) => text.push_str(piece),
            Chunk::State(item) => items.push(item.clone()),
            Chunk::ToolCall(call) => tool_calls.push(call.clone()),
            _ => {}
        }
    }
    let results: Vec<_> = tool_calls.iter().map(result).collect();
    let mut messages = vec![
        user("hi"),
        Message::Assistant {
            state: ProviderState {
                provider: PROVIDER.to_owned(),
                items: items.clone(),
            },
            text: text.clone(),
            tool_calls: tool_calls.clone(),
        },
    ];
    messages.extend(results);
    messages.push(user("go on"));
    let request = request(model, messages);
    let kept = !text.trim().is_empty() || !tool_calls.is_empty();
    let names: Vec<&str> = tool_calls.iter().map(|call| call.name.as_str()).collect();
    for wire in [
        Spoken::Anthropic,
        Spoken::OpenaiChat,
        Spoken::OpenaiResponses,
        Spoken::Gemini,
    ] {
        let body: Value = serde_json::from_slice(&request_body(wire, &request)).expect("JSON");
        let elements = ["messages", "input", "contents"];
        let messages = elements.iter().find_map(|name| body[*name].as_array());
        let messages = messages.expect("a conversation");
        let words = |text: &str| text.split_whitespace().collect::<String>();
        let said = words(&format!("hi{text}go on"));
        let all_words = |texts: &mut dyn Iterator<Item = &Value>| -> String {
            texts.filter_map(Value::as_str).map(words).collect()
        };
        let calls = match wire {
            Spoken::Anthropic => {
                let blocks: Vec<&Value> = messages
                    .iter()
                    .flat_map(|message| message["content"].as_array().expect("blocks"))
                    .collect();
                let of = |kind: &str| -> Vec<&Value> {
                    let of_kind = blocks.iter().filter(|block| block["type"] == kind);
                    of_kind.copied().collect()
                };
                let texts = of("text");
                let all = all_words(&mut texts.iter().map(|block| &block["text"]));
                assert_eq!(all, said, "no word is lost");
                assert!(texts.iter().all(|block| block["text"] != ""));
                let signed = of("thinking").len() + of("redacted_thinking").len();
                let opaque = |item: &Value| item["signature"].as_str().map(str::to_owned);
                // Behind the place stands the signature, and half of one is none.
                let whole = items
                    .iter()
                    .filter_map(opaque)
                    .filter(|text| !text.ends_with(':'));
                assert_eq!(signed, if kept { whole.count() } else { 0 });
                for block in of("thinking") {
                    let signature = block["signature"].as_str().expect("a signature");
                    assert!(items.iter().any(|item| {
                        block["thinking"] == item["thinking"]
                            && opaque(item).is_some_and(|opaque| opaque.ends_with(signature))
                    }));
                }
                let answered = of("tool_result");
                let calls = of("tool_use");
                assert!(calls.iter().all(|call| call["input"].is_object()));
                assert!(
                    calls
                        .iter()
                        .map(|call| &call["id"])
                        .eq(answered.iter().map(|result| &result["tool_use_id"])),
                    "each call has its result"
                );
                pairs(&calls, |call| (&call["id"], &call["name"]))
            }
            Spoken::OpenaiChat => {
                let calls: Vec<&Value> = messages
                    .iter()
                    .filter_map(|message| message["tool_calls"].as_array())
                    .flatten()
                    .collect();
                let answered = messages.iter().filter(|message| message["role"] == "tool");
                assert!(
                    calls
                        .iter()
                        .map(|call| &call["id"])
                        .eq(answered.map(|result| &result["tool_call_id"])),
                    "each call has its result"
                );
                for call in &calls {
                    let arguments = call["function"]["arguments"].as_str().expect("text");
                    let arguments: Value = serde_json::from_str(arguments).expect("JSON");
                    assert!(arguments.is_object());
                }
                pairs(&calls, |call| (&call["id"], &call["function"]["name"]))
            }
            Spoken::OpenaiResponses => {
                let of = |kind: &str| -> Vec<&Value> {
                    let of_kind = messages.iter().filter(|item| item["type"] == kind);
                    of_kind.collect()
                };
                let texts = of("message");
                let all = all_words(&mut texts.iter().map(|item| &item["content"][0]["text"]));
                assert_eq!(all, said, "no word is lost");
                let (calls, answered) = (of("function_call"), of("function_call_output"));
                let results = answered.iter().map(|result| &result["call_id"]);
                assert!(
                    calls.iter().map(|call| &call["call_id"]).eq(results),
                    "each call has its result"
                );
                for call in &calls {
                    let arguments = call["arguments"].as_str().expect("text");
                    let arguments: Value = serde_json::from_str(arguments).expect("JSON");
                    assert!(arguments.is_object());
                }
                for pair in messages.windows(2) {
                    let follows = pair[1]["role"] != "user" && !pair[1]["output"].is_string();
                    assert!(
                        pair[0]["type"] != "reasoning" || follows,
                        "reasoning ends nothing"
                    );
                }
                assert!(
                    of("reasoning")
                        .iter()
                        .all(|item| item["encrypted_content"].is_string())
                );
                pairs(&calls, |call| (&call["call_id"], &call["name"]))
            }
            Spoken::Gemini => {
                let parts: Vec<&Value> = messages
                    .iter()
                    .flat_map(|message| message["parts"].as_array().expect("parts"))
                    .collect();
                let of = |kind: &str| -> Vec<&Value> {
                    parts.iter().filter_map(|part| part.get(kind)).collect()
                };
                let all = all_words(&mut of("text").into_iter());
                assert_eq!(all, said, "no word is lost");
                let signed = |part: &&&Value| part["thoughtSignature"].is_string();
                let signatures = items
                    .iter()
                    .filter(|item| item["thoughtSignature"].is_string());
                let expected = if kept { signatures.count() } else { 0 };
                assert_eq!(parts.iter().filter(signed).count(), expected);
                let (calls, answered) = (of("functionCall"), of("functionResponse"));
                assert!(calls.iter().all(|call| call["args"].is_object()));
                let results = answered
                    .iter()
                    .map(|result| (&result["name"], result.get("id")));
                let asked = calls.iter().map(|call| (&call["name"], call.get("id")));
                assert!(asked.eq(results), "each call has its result");
                // Without ids the place counts.
                let mut named = pairs(&calls, |call| (&call["id"], &call["name"]));
                for (at, (id, _)) in named.iter_mut().enumerate() {
                    *id = at.to_string();
                }
                named
            }
        };
        assert_eq!(calls.len(), names.len());
        let passes = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        };
        let ids: HashSet<_> = calls.iter().map(|call| &call.0).collect();
        assert_eq!(ids.len(), calls.len(), "one id twice");
        assert!(
            calls
                .iter()
                .all(|(id, name)| passes(id) && passes(name) && name.len() <= 64)
        );
    }
}

fn pairs<'a>(
    calls: &[&'a Value],
    of: impl Fn(&'a Value) -> (&'a Value, &'a Value),
) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    calls
        .iter()
        .map(|call| of(call))
        .map(|(id, name)| (word(id), word(name)))
        .collect()
}
