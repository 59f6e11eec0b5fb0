//! What every wire asks of a conversation: calls with their results, names that pass, whose state it is.
//! No wire's JSON is made here.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use media::Image;
use serde_json::Value;

use super::call_ids::{plain, wire_id};
use super::images;
use super::wire::Parameters;
use crate::message::{Message, ToolCall};
use crate::request::Request;

/// Longest tool name that every wire takes, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// The result of a call that has none: the run ended before the tool did.
const INTERRUPTED: &str = "The call was interrupted and has no result.";

/// One side's share of the conversation.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    User(Cow<'a, str>),
    Assistant {
        /// What the provider that is asked now wants back; nothing of another one's.
        state: &'a [Value],
        text: &'a str,
        calls: Vec<Answered<'a>>,
    },
}

/// A tool call and its result.
#[derive(Debug, PartialEq)]
pub(crate) struct Answered<'a> {
    pub(crate) call: &'a ToolCall,
    /// As the server takes it.
    pub(crate) id: Cow<'a, str>,
    /// With words for what the model can't be shown.
    pub(crate) content: Cow<'a, str>,
    pub(crate) images: Vec<&'a Image>,
    pub(crate) is_error: bool,
}

/// The conversation in turns. Providers refuse a call without a result and a result without a call, so
/// every call gets one and results of no call are left out; a response that said nothing is too.
pub(crate) fn turns<'a>(messages: &'a [Message], parameters: &Parameters<'_>) -> Vec<Turn<'a>> {
    let mut turns = Vec::with_capacity(messages.len());
    // Which calls of the last response have had their result.
    let mut open: HashSet<usize> = HashSet::new();
    for message in messages {
        match message {
            Message::User { text } | Message::Summary { text, .. } => {
                open.clear();
                match turns.last_mut() {
                    // Behind a summary, or a prompt that got no answer: templates of local models take turns of the two
                    // sides by turns only.
                    Some(Turn::User(before)) if says_something(before) => {
                        if says_something(text) {
                            before.to_mut().push_str("\n\n");
                            before.to_mut().push_str(text);
                        }
                    }
                    Some(Turn::User(blank)) => *blank = text.into(),
                    _ => turns.push(Turn::User(text.into())),
                }
            }
            Message::Assistant {
                state,
                text,
                tool_calls,
            } => {
                open = (0..tool_calls.len()).collect();
                if text.trim().is_empty() && tool_calls.is_empty() {
                    continue;
                }
                let own = state.provider == parameters.provider;
                let calls = tool_calls.iter().map(|call| Answered {
                    call,
                    id: wire_id(&call.id, own, parameters.quirks.ids),
                    content: INTERRUPTED.into(),
                    images: Vec::new(),
                    is_error: true,
                });
                turns.push(Turn::Assistant {
                    state: if own { &state.items } else { &[] },
                    text,
                    calls: calls.collect(),
                });
            }
            Message::ToolResult {
                call_id,
                content,
                images,
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
                    // Where a wire has a field for failure, it takes words alone beside it.
                    let mut taken = parameters.taken_images();
                    taken.any &= !is_error;
                    (answered.content, answered.images) = images::shown(content, images, taken);
                    answered.is_error = *is_error;
                    open.remove(&at);
                }
            }
        }
    }
    turns
}

/// How many of the messages stand before the last response but one that follows something from the other side: what comes
/// later neither answers a call before it nor joins the message before it, and the last two messages of the other side
/// stand behind it, which a wire may mark.
fn settled(messages: &[Message]) -> usize {
    let is_response = |message: &Message| matches!(message, Message::Assistant { text, tool_calls, .. } if says_something(text) || !tool_calls.is_empty());
    let is_answered = |before: &[Message]| {
        let behind_results = before
            .iter()
            .rev()
            .find(|message| !matches!(message, Message::ToolResult { .. }));
        match (before.last(), behind_results) {
            (Some(Message::User { text } | Message::Summary { text, .. }), _) => {
                says_something(text)
            }
            (_, Some(Message::Assistant { tool_calls, .. })) => !tool_calls.is_empty(),
            _ => false,
        }
    };
    let cut = |at: &usize| is_response(&messages[*at]) && is_answered(&messages[..*at]);
    let mut cuts = (1..messages.len()).rev().filter(cut);
    cuts.nth(1).unwrap_or(0)
}

/// The conversation as elements of a JSON array, without its brackets; `write` gives those of a part, the last
/// one or not.
pub(crate) fn elements(
    request: &Request,
    parameters: &Parameters<'_>,
    write: impl Fn(&[Message], bool) -> Vec<Value>,
) -> Vec<u8> {
    let Parameters {
        wire,
        provider,
        reasoning,
        images,
        quirks,
        ..
    } = parameters;
    let by = format!("{wire} {provider} {reasoning:?} {images} {quirks:?}");
    let messages = &request.messages;
    request.written.elements(by, messages, settled, write)
}

/// A request's body, an object with members, with the elements of its conversation under `name`.
pub(crate) fn with_elements(name: &str, body: &Value, elements: &[u8]) -> Vec<u8> {
    let rest = body.to_string();
    let (_, rest) = rest.split_at(1);
    let head = format!("{{\"{name}\":[");
    [head.as_bytes(), elements, b"],", rest.as_bytes()].concat()
}

/// A part of one response, in the order in which they came.
#[derive(Debug, PartialEq)]
pub(crate) enum Part<'a, T> {
    Text(&'a str),
    /// The index of a call.
    Call(usize),
    /// What the provider wants back at this place, with the text that it is about.
    State(&'a str, T),
}

/// Where in a response something stood that the provider wants back: the bytes of the text that it is about, none as
/// a rule, and how many calls came before it.
pub(crate) type Place = (Range<usize>, usize);

/// A response's text and calls with its `state` between them. What stands out of order moves back to where it still
/// fits. Blank texts are left out.
pub(crate) fn parts<'a, T>(
    text: &'a str,
    calls: usize,
    state: impl IntoIterator<Item = (Place, T)>,
) -> Vec<Part<'a, T>> {
    let mut parts = Vec::new();
    let (mut text_at, mut calls_at) = (0, 0);
    let end = (text.len()..text.len(), calls);
    let state = state.into_iter().map(|(place, item)| (place, Some(item)));
    for ((about, before), item) in state.chain([(end, None)]) {
        let start = text.floor_char_boundary(about.start).max(text_at);
        let end = text.floor_char_boundary(about.end).max(start);
        let piece = &text[text_at..start];
        parts.extend(says_something(piece).then_some(Part::Text(piece)));
        let before = before.min(calls).max(calls_at);
        parts.extend((calls_at..before).map(Part::Call));
        parts.extend(item.map(|item| Part::State(&text[start..end], item)));
        (text_at, calls_at) = (end, before);
    }
    parts
}

/// Whether a text has anything that a provider takes as text.
pub(crate) fn says_something(text: &str) -> bool {
    !text.trim().is_empty()
}

/// A tool's name as every wire takes it. Models invent others, and those must not spoil the
/// conversation for good.
pub(crate) fn wire_name(name: &str) -> String {
    let name: String = plain(name).chars().take(MAX_NAME_BYTES).collect();
    if name.is_empty() { "_".into() } else { name }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::message::{ProviderState, ThinkingLevel};
    use crate::wires::quirks::Quirks;

    fn asked(provider: &str) -> Parameters<'_> {
        Parameters {
            wire: "w",
            provider,
            level: ThinkingLevel::Default,
            max_tokens: None,
            discovered_output: None,
            reasoning: None,
            images: true,
            quirks: Quirks::default(),
        }
    }

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
            images: Vec::new(),
            is_error: false,
        }
    }

    fn assistant(text: &str, tool_calls: Vec<ToolCall>) -> Message {
        Message::Assistant {
            state: ProviderState::default(),
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
        let turns = turns(&messages, &asked("p"));
        assert_eq!(turns.len(), 3);
        let Turn::Assistant { calls, .. } = &turns[1] else {
            panic!("{turns:?}");
        };
        let contents: Vec<_> = calls
            .iter()
            .map(|call| (&*call.content, call.is_error))
            .collect();
        assert_eq!(
            contents,
            [(INTERRUPTED, true), ("first b", false), ("second b", false)]
        );
        assert_eq!(turns[2], Turn::User("on".into()));
    }

    #[test]
    fn what_a_person_says_without_an_answer_is_one_turn_with_what_follows() {
        let summary = Message::Summary {
            text: "so far".into(),
            users: 3,
            responses: 0,
        };
        let user = |text: &str| Message::User { text: text.into() };
        let one = [summary.clone(), user("go"), user("on")];
        let turn = |text: &'static str| Turn::User(text.into());
        assert_eq!(turns(&one, &asked("p")), [turn("so far\n\ngo\n\non")]);
        let silent = [user("go"), assistant(" ", Vec::new()), user("on")];
        assert_eq!(turns(&silent, &asked("p")), [turn("go\n\non")]);
        let said = |text: &str| assistant(text, Vec::new());
        let behind = [summary, said("yes"), user("go"), said("no"), user("on")];
        assert_eq!(turns(&behind, &asked("p")).len(), 5);
        assert_eq!(settled(&behind), 1);
    }

    #[test]
    fn state_goes_back_to_its_own_provider_only() {
        let message = Message::Assistant {
            state: ProviderState {
                provider: "a".into(),
                items: vec![json!(1)],
            },
            text: "hi".into(),
            tool_calls: Vec::new(),
        };
        let messages = [message];
        for (provider, kept) in [("a", 1), ("b", 0), ("", 0)] {
            let Turn::Assistant { state, .. } = &turns(&messages, &asked(provider))[0] else {
                panic!();
            };
            assert_eq!(state.len(), kept, "{provider}");
        }
    }

    #[test]
    fn state_stands_where_it_was_given() {
        use Part::{Call, State, Text};
        let all = "aé b";
        for (state, expected) in [
            (vec![], vec![Text(all), Call(0), Call(1)]),
            (
                vec![((0..0, 0), 'x'), ((2..2, 1), 'y'), ((9..9, 9), 'z')],
                vec![
                    State("", 'x'),
                    Text("a"),
                    Call(0),
                    State("", 'y'),
                    Text("é b"),
                    Call(1),
                    State("", 'z'),
                ],
            ),
            // Out of order, and blank between them.
            (
                vec![((3..3, 1), 'x'), ((1..1, 0), 'y'), ((4..4, 1), 'z')],
                vec![
                    Text("aé"),
                    Call(0),
                    State("", 'x'),
                    State("", 'y'),
                    State("", 'z'),
                    Text("b"),
                    Call(1),
                ],
            ),
            // About a part of the text.
            (
                vec![((1..3, 0), 'x'), ((2..5, 0), 'y')],
                vec![
                    Text("a"),
                    State("é", 'x'),
                    State(" b", 'y'),
                    Call(0),
                    Call(1),
                ],
            ),
        ] {
            assert_eq!(parts(all, 2, state), expected);
        }
    }

    #[test]
    fn names_pass_every_wire() {
        assert_eq!(wire_name("functions.read:0"), "functions_read_0");
        assert_eq!(wire_name(""), "_");
        assert_eq!(wire_name(&"é".repeat(100)), "_".repeat(64));
    }
}
