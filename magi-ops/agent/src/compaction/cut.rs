//! Which messages of a conversation a summary shall stand for, and which stay: whole turns, or within a long one whole
//! responses with the results of their calls.

use provider::Message;

use super::length::of_message;

/// What of a conversation goes, and what stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The messages before this one go.
    pub(crate) at: usize,
    /// But for this input, whose turn goes on behind the cut.
    pub(crate) input: Option<usize>,
}

/// The shortest cut that leaves at most `keep` tokens behind it, or of the turn that is under way a last response of at
/// most `keep_last`. An input without its answer stays always, and so does the input of a turn that is under way
/// (`goes_on`). `None` where nothing but an earlier summary would go.
pub(crate) fn plan(messages: &[Message], keep: u64, keep_last: u64, goes_on: bool) -> Option<Cut> {
    let first = usize::from(matches!(messages.first(), Some(Message::Summary { .. })));
    // Tokens from each message on.
    let mut behind = vec![0; messages.len() + 1];
    for (at, message) in messages.iter().enumerate().rev() {
        behind[at] = behind[at + 1] + of_message(message);
    }
    let is_user = |at: &usize| matches!(messages[*at], Message::User { .. });
    let is_response = |at: &usize| matches!(messages[*at], Message::Assistant { .. });
    let fits = |at: &usize| behind[*at] <= keep;
    let end = messages.len();
    let mut turns = (first + 1..end).filter(is_user);
    let last = (first..end).rev().find(is_user);
    let last = last.filter(|_| goes_on || last == end.checked_sub(1));
    if let Some(at) = turns.find(fits) {
        return Some(Cut { at, input: None });
    }
    let Some(input) = last else {
        return (first < end).then_some(Cut {
            at: end,
            input: None,
        });
    };
    let mut responses = (input + 1..end).filter(is_response);
    let Some(oldest) = responses.next() else {
        return (input > first).then_some(Cut {
            at: input,
            input: None,
        });
    };
    // The oldest one of the turn stays with its input only if what came before goes.
    if fits(&oldest) && input > first {
        return Some(Cut {
            at: input,
            input: None,
        });
    }
    let newest = responses.clone().next_back();
    let newest = newest.filter(|at| behind[*at] <= keep_last);
    let at = responses.find(fits).or(newest).unwrap_or(end);
    Some(Cut {
        at,
        input: Some(input),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use provider::{ProviderState, ToolCall};

    use super::*;

    /// `u` an input, `a` an answer, `c` a response with a call and its result, `s` a summary; each text of 36 bytes,
    /// which is 13 tokens with what surrounds it.
    fn conversation(kinds: &str) -> Vec<Message> {
        let text = "x".repeat(36);
        let mut messages = Vec::new();
        for kind in kinds.chars() {
            let answer = |tool_calls| Message::Assistant {
                state: ProviderState::default(),
                text: text.clone(),
                tool_calls,
            };
            match kind {
                's' => messages.push(Message::Summary {
                    text: text.clone(),
                    users: 1,
                    responses: 0,
                }),
                'u' => messages.push(Message::User { text: text.clone() }),
                'a' => messages.push(answer(Vec::new())),
                _ => {
                    let id = format!("call {}", messages.len());
                    messages.push(answer(vec![ToolCall {
                        id: id.clone(),
                        name: "n".into(),
                        input: serde_json::json!({}),
                    }]));
                    messages.push(Message::ToolResult {
                        call_id: id,
                        name: "n".into(),
                        content: text.clone(),
                        images: Vec::new(),
                        is_error: false,
                    });
                }
            }
        }
        messages
    }

    fn cut(kinds: &str, keep: u64) -> Option<(usize, Option<usize>)> {
        let cut = plan(&conversation(kinds), keep, 40, true)?;
        Some((cut.at, cut.input))
    }

    #[test]
    fn whole_turns_stay_as_far_as_they_fit() {
        for (kinds, keep, expected) in [
            ("u", 0, None),
            ("u", 100, None),
            ("su", 0, None),
            ("uau", 0, Some((2, None))),
            ("uau", 1000, Some((2, None))),
            ("suau", 1000, Some((3, None))),
            ("uauau", 40, Some((2, None))),
            ("uauau", 38, Some((4, None))),
            ("uu", 0, Some((1, None))),
        ] {
            assert_eq!(cut(kinds, keep), expected, "{kinds} {keep}");
        }
    }

    #[test]
    fn within_a_turn_responses_stay_with_the_results_of_their_calls() {
        // A response with a call and its result is 32 tokens.
        for (kinds, keep, expected) in [
            // Alone, the turn's own beginning goes.
            ("uc", 1000, Some((3, Some(0)))),
            ("ucc", 1000, Some((3, Some(0)))),
            ("ucc", 0, Some((3, Some(0)))),
            ("uccc", 70, Some((3, Some(0)))),
            ("uccc", 32, Some((5, Some(0)))),
            ("sucac", 0, Some((5, Some(1)))),
            // What came before goes first.
            ("uauc", 32, Some((2, None))),
            ("uaucc", 70, Some((2, None))),
            ("uaucc", 40, Some((5, Some(2)))),
        ] {
            let found = cut(kinds, keep);
            assert_eq!(found, expected, "{kinds} {keep}");
        }
        // A last response that is too long for anything goes as well.
        let all = plan(&conversation("ucc"), 0, 10, true).unwrap();
        assert_eq!((all.at, all.input), (5, Some(0)));
    }

    #[test]
    fn between_two_turns_all_may_go() {
        let messages = conversation("uaua");
        let cut = |keep| plan(&messages, keep, 0, false).map(|cut| (cut.at, cut.input));
        assert_eq!(cut(0), Some((4, None)));
        assert_eq!(cut(30), Some((2, None)));
        assert_eq!(plan(&conversation("s"), 0, 0, false), None);
        assert_eq!(plan(&[], 0, 0, false), None);
    }

    proptest! {
        #[test]
        fn every_cut_is_one(kinds in "s?(u[c]{0,4}a?){1,6}", keep in 0u64..400, keep_last in 0u64..100, goes_on: bool) {
            let messages = conversation(&kinds);
            let Some(cut) = plan(&messages, keep, keep_last, goes_on) else {
                return Ok(());
            };
            let first = usize::from(kinds.starts_with('s'));
            // Something goes that is no summary.
            prop_assert!(cut.at > first && (cut.at, cut.input) != (first + 1, Some(first)));
            // Nothing stays without what it belongs to.
            if let Some(message) = messages.get(cut.at) {
                let begins = match message {
                    Message::User { .. } => cut.input.is_none(),
                    Message::Assistant { .. } => cut.input.is_some(),
                    _ => false,
                };
                prop_assert!(begins, "{:?}", message);
            }
            let last = messages.iter().rposition(|it| matches!(it, Message::User { .. })).unwrap();
            if let Some(input) = cut.input {
                prop_assert_eq!(input, last);
                prop_assert!(input < cut.at);
            } else if goes_on || last + 1 == messages.len() {
                prop_assert!(cut.at <= last);
            }
        }
    }
}
