//! What every wire asks of a conversation: calls with their results, ids and names that pass.
//! No wire's JSON is made here.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::{Message, Thought, ToolCall};

/// Longest tool name that every wire takes, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Longest id of a tool call that is taken over, in bytes.
const MAX_ID_BYTES: usize = 128;
/// The result of a call that has none: the run ended before the tool did.
const INTERRUPTED: &str = "The call was interrupted and has no result.";

/// One side's share of the conversation.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    User(&'a str),
    Assistant {
        thoughts: &'a [Thought],
        text: &'a str,
        calls: Vec<Answered<'a>>,
    },
}

/// A tool call and its result.
#[derive(Debug, PartialEq)]
pub(crate) struct Answered<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) content: &'a str,
    pub(crate) is_error: bool,
}

/// The conversation in turns. Providers refuse a call without a result and a result without a call, so
/// every call gets one and results of no call are left out; a response that said nothing is too.
pub(crate) fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns = Vec::with_capacity(messages.len());
    // Which calls of the last response have had their result.
    let mut open: HashSet<usize> = HashSet::new();
    for message in messages {
        match message {
            Message::User { text } => {
                open.clear();
                turns.push(Turn::User(text));
            }
            Message::Assistant {
                thoughts,
                text,
                tool_calls,
            } => {
                open = (0..tool_calls.len()).collect();
                if text.trim().is_empty() && tool_calls.is_empty() {
                    continue;
                }
                let calls = tool_calls.iter().map(|call| Answered {
                    call,
                    content: INTERRUPTED,
                    is_error: true,
                });
                turns.push(Turn::Assistant {
                    thoughts,
                    text,
                    calls: calls.collect(),
                });
            }
            Message::ToolResult {
                call_id,
                content,
                is_error,
                ..
            } => {
                let Some(Turn::Assistant { calls, .. }) = turns.last_mut() else {
                    continue;
                };
                let answered = calls
                    .iter_mut()
                    .enumerate()
                    .find(|(at, answered)| answered.call.id == *call_id && open.contains(at));
                if let Some((at, answered)) = answered {
                    answered.content = content;
                    answered.is_error = *is_error;
                    open.remove(&at);
                }
            }
        }
    }
    turns
}

/// Whether a text has anything that a provider takes as text.
pub(crate) fn says_something(text: &str) -> bool {
    !text.trim().is_empty()
}

/// A call's input as it is given back: always an object, as providers demand, even where the model
/// wrote something else.
pub(crate) fn input_object(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        other => json!({ "invalid_input": other }),
    }
}

/// What a model wrote as a call's input. Nothing at all is an empty object; what is no JSON, or was
/// cut off (`complete` is false), stays a string, for the tool to refuse.
pub(crate) fn read_input(text: String, complete: bool) -> Value {
    if text.trim().is_empty() && complete {
        return json!({});
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(input) => input,
        Err(_) => Value::String(text),
    }
}

/// A tool's name as every wire takes it. Models invent others, and those must not spoil the
/// conversation for good.
pub(crate) fn wire_name(name: &str) -> String {
    let name: String = name
        .chars()
        .take(MAX_NAME_BYTES)
        .map(|c| if passes(c) { c } else { '_' })
        .collect();
    if name.is_empty() { "_".into() } else { name }
}

/// An id as every wire takes it: another provider may have made it.
pub(crate) fn wire_id(id: &str) -> String {
    id.chars()
        .map(|c| if passes(c) { c } else { '_' })
        .collect()
}

fn passes(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// The ids of a conversation's calls: no two alike, whatever the server sends.
#[derive(Debug, Default)]
pub(crate) struct CallIds(HashSet<String>);

impl CallIds {
    pub(crate) fn of(messages: &[Message]) -> Self {
        let calls = messages.iter().flat_map(|message| match message {
            Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
            _ => &[],
        });
        Self(calls.map(|call| wire_id(&call.id)).collect())
    }

    /// The server's id, or one of our own if that is empty, too long or taken.
    pub(crate) fn claim(&mut self, id: &str) -> String {
        let fits = (1..=MAX_ID_BYTES).contains(&id.len());
        if fits && self.0.insert(wire_id(id)) {
            return id.to_owned();
        }
        let own = format!("call_{}", uuid::Uuid::new_v4().simple());
        self.0.insert(own.clone());
        own
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: "read".into(),
            input: json!({}),
        }
    }

    fn result(id: &str, content: &str) -> Message {
        Message::ToolResult {
            call_id: id.into(),
            name: "read".into(),
            content: content.into(),
            is_error: false,
        }
    }

    fn assistant(text: &str, tool_calls: Vec<ToolCall>) -> Message {
        Message::Assistant {
            thoughts: Vec::new(),
            text: text.into(),
            tool_calls,
        }
    }

    #[test]
    fn every_call_has_one_result_and_every_result_its_call() {
        let messages = [
            Message::User { text: "go".into() },
            assistant("", vec![call("a"), call("b"), call("b")]),
            result("b", "first b"),
            result("x", "of nobody"),
            result("b", "second b"),
            result("b", "third b"),
            assistant(" \n", Vec::new()),
            Message::User { text: "on".into() },
            result("a", "too late"),
        ];
        let turns = turns(&messages);
        assert_eq!(turns.len(), 3);
        let Turn::Assistant { calls, .. } = &turns[1] else {
            panic!("{turns:?}");
        };
        let contents: Vec<_> = calls
            .iter()
            .map(|call| (call.content, call.is_error))
            .collect();
        assert_eq!(
            contents,
            [(INTERRUPTED, true), ("first b", false), ("second b", false)]
        );
        assert_eq!(turns[2], Turn::User("on"));
    }

    #[test]
    fn inputs_that_are_no_json_stay_for_the_tool_to_refuse() {
        assert_eq!(read_input(" ".into(), true), json!({}));
        assert_eq!(read_input(String::new(), false), json!(""));
        assert_eq!(read_input("{\"a\":1}".into(), false), json!({"a": 1}));
        assert_eq!(read_input("{\"a\":".into(), true), json!("{\"a\":"));
        let deep = "[".repeat(100_000);
        assert_eq!(read_input(deep.clone(), true), Value::String(deep));
        assert_eq!(input_object(&json!({"a": 1})), json!({"a": 1}));
        assert_eq!(input_object(&json!("{")), json!({"invalid_input": "{"}));
    }

    #[test]
    fn names_and_ids_pass_every_wire() {
        assert_eq!(wire_name("functions.read:0"), "functions_read_0");
        assert_eq!(wire_name(""), "_");
        assert_eq!(wire_name(&"é".repeat(100)), "_".repeat(64));
        assert_eq!(wire_id("toolu_01-A"), "toolu_01-A");
    }

    #[test]
    fn ids_are_unique_in_the_conversation() {
        let mut ids = CallIds::of(&[assistant("", vec![call("old")])]);
        assert_eq!(ids.claim("new"), "new");
        let mut all = HashSet::from(["old".to_owned(), "new".to_owned()]);
        for taken in ["new", "old", "", "", &"x".repeat(129)] {
            assert!(all.insert(ids.claim(taken)));
        }
        // Alike on the wire is alike.
        assert_eq!(ids.claim("a.b"), "a.b");
        assert!(ids.claim("a_b").starts_with("call_"));
    }
}
