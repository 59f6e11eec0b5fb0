//! One turn of a transcript, put together of its records: what is shown of them is the history's word, times and costs
//! stand beside.

use std::collections::HashMap;

use serde_json::Value;
use store::sessions::{Body, Outcome, Record};
use store::{Redacted, Redactor};

use super::{Answerer, Call, Cost, Entry, MAX_INPUT_BYTES, MAX_OUTPUT_BYTES, Task, Turn};
use crate::history::{EntryKind, Projector, TurnEnd};

/// A turn while it is read.
pub(super) struct Builder {
    turn: Turn,
    projector: Projector,
    calls: HashMap<String, Beside>,
    compactions: HashMap<String, (u64, u64)>,
    /// Calls of the conversation without an end.
    open: u64,
    /// Since when a model is waited for.
    waits_since: Option<u64>,
    /// The response that asked for the last call.
    asked_by: Option<u32>,
}

/// What is known of a call beside the line on it.
#[derive(Default)]
struct Beside {
    began_at: u64,
    ended_at: Option<u64>,
    beneath: bool,
    input: Redacted,
    output: Redacted,
    task: Option<Task>,
}

impl Builder {
    /// The turn that begins with `first`.
    pub(super) fn new(number: u64, first: &Record) -> Self {
        let mut projector = Projector::default();
        projector.goes_on_at(first.n);
        Self {
            turn: Turn {
                number,
                began_at: first.at,
                ended_at: first.at,
                ..Turn::default()
            },
            projector,
            calls: HashMap::new(),
            compactions: HashMap::new(),
            open: 0,
            waits_since: (number > 0).then_some(first.at),
            asked_by: None,
        }
    }

    pub(super) fn take(&mut self, record: Record, model: Option<&Answerer>, redactor: &Redactor) {
        // A clock that was set back makes nothing last less than no time.
        let at = record.at.max(self.turn.ended_at);
        if let Some(cost) = Cost::of(&record.body) {
            self.turn.cost.add(&cost);
        }
        self.projector.take(&record);
        match record.body {
            Body::ToolStarted {
                activity_id,
                input,
                parent,
                response,
                ..
            } => {
                let beside = Beside {
                    began_at: at,
                    beneath: parent.is_some(),
                    input: cut(&members(&input), MAX_INPUT_BYTES, redactor),
                    ..Beside::default()
                };
                self.calls.entry(activity_id).or_insert(beside);
                if parent.is_none() {
                    self.open += 1;
                    // Calls of one response that are made one after the other.
                    if self.asked_by.replace(response) == Some(response) {
                        self.waits_since = None;
                    }
                    self.answered(at);
                }
            }
            Body::ToolFinished {
                activity_id,
                content,
                parent,
                ..
            } => {
                if let Some(beside) = self.calls.get_mut(&activity_id) {
                    beside.ended_at = Some(at);
                    beside.output = cut(&content, MAX_OUTPUT_BYTES, redactor);
                }
                if parent.is_none() {
                    self.open = self.open.saturating_sub(1);
                    if self.open == 0 {
                        self.waits_since = Some(at);
                    }
                }
            }
            Body::Task {
                activity_id,
                task,
                profile,
                ..
            } => {
                let profile = profile.map(|name| redactor.redact(&name).summary(64));
                if let Some(beside) = self.calls.get_mut(&activity_id) {
                    beside.task = Some(Task { id: task, profile });
                }
            }
            Body::Checkpoint {
                activity_id,
                tokens_before,
                tokens_after,
                ..
            } => {
                self.compactions
                    .insert(activity_id, (tokens_before, tokens_after));
            }
            Body::TurnFinished {
                outcome,
                error_code,
            } => {
                self.answered(at);
                self.turn.end = Some(TurnEnd::of(outcome, error_code.as_deref()));
                self.turn.error_code = error_code
                    .filter(|_| outcome != Outcome::Completed)
                    .map(|code| redactor.redact(&code).summary(64));
            }
            _ => {}
        }
        self.turn.ended_at = at;
        // The one that answered last.
        if let Some(model) = model {
            self.turn.model = Some(model.clone());
        }
    }

    /// The model's response is there, if one was waited for.
    fn answered(&mut self, at: u64) {
        if let Some(since) = self.waits_since.take() {
            self.turn.responses.push((since, at));
        }
    }

    pub(super) fn finish(mut self, redactor: &Redactor) -> Turn {
        self.answered(self.turn.ended_at);
        let mut said = String::new();
        let projected = self.projector.finish();
        for message in projected.messages {
            let entry = match message.kind {
                EntryKind::Activity => {
                    let (name, about) = message.activity(redactor);
                    let beside = self.calls.remove(&message.id).unwrap_or_default();
                    Entry::Call(Box::new(Call {
                        name,
                        about: about.summary(1024),
                        failed: message.failed(),
                        began_at: beside.began_at,
                        ended_at: beside.ended_at,
                        beneath: beside.beneath,
                        input: beside.input,
                        output: beside.output,
                        task: beside.task,
                    }))
                }
                kind => {
                    let text = message.redacted(redactor, &mut said);
                    match kind {
                        EntryKind::User => Entry::User(text),
                        EntryKind::Assistant => Entry::Assistant {
                            text,
                            partial: message.partial,
                        },
                        EntryKind::ReasoningSummary => Entry::Reasoning(text),
                        EntryKind::Compaction => {
                            let tokens = self.compactions.get(&message.id);
                            let (tokens_before, tokens_after) = tokens.copied().unwrap_or_default();
                            Entry::Compaction {
                                summary: text,
                                tokens_before,
                                tokens_after,
                            }
                        }
                        // That it was interrupted says the turn.
                        _ if message.partial => continue,
                        _ => Entry::Diagnostic(text),
                    }
                }
            };
            self.turn.entries.push(entry);
        }
        self.turn
    }
}

/// The members of a call's input, each on lines of its own, texts as they are.
fn members(input: &Value) -> String {
    let Value::Object(members) = input else {
        return input.to_string();
    };
    let line = |(name, value): (&String, &Value)| match value {
        Value::String(text) if text.contains('\n') => format!("{name}:\n{text}"),
        Value::String(text) => format!("{name}: {text}"),
        value => format!("{name}: {value}"),
    };
    members.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// At most `bytes` of a text, of both ends, and how much is left out between them. Redacted whole before that.
fn cut(text: &str, bytes: usize, redactor: &Redactor) -> Redacted {
    let text = redactor.redact(text);
    if text.len() <= bytes {
        return text;
    }
    let begin = text.as_str().floor_char_boundary(bytes - bytes / 4);
    let end = text.as_str().ceil_char_boundary(text.len() - bytes / 4);
    let mut cut = text.part(0..begin);
    let left_out = format!("\n… {} bytes are left out here …\n", end - begin);
    cut.push(&redactor.redact(&left_out));
    cut.push(&text.part(end..text.len()));
    cut
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use store::sessions::SCHEMA_VERSION;

    use super::super::Reader;
    use super::*;

    /// The turns of records that are made at these moments.
    fn turns(records: &[(u64, Body)]) -> Vec<Turn> {
        let redactor = Redactor::default();
        let mut reader = Reader::new(&redactor);
        let mut turns = Vec::new();
        let mut give = |turn| {
            turns.push(turn);
            std::ops::ControlFlow::Continue(())
        };
        for (n, (at, body)) in records.iter().enumerate() {
            let record = Record {
                v: SCHEMA_VERSION,
                n: n as u64 + 1,
                session: "s".into(),
                at: *at,
                turn: None,
                body: body.clone(),
            };
            assert!(reader.take(record, &mut give).is_continue());
        }
        assert!(reader.finish(&mut give).is_continue());
        turns
    }

    fn input(text: &str) -> Body {
        Body::UserInput {
            message_id: text.into(),
            text: text.into(),
        }
    }

    fn started(id: &str, parent: Option<&str>, input: Value) -> Body {
        Body::ToolStarted {
            activity_id: id.into(),
            call_id: id.into(),
            response: 0,
            name: "bash".into(),
            input,
            subject: Some("bash true".into()),
            parent: parent.map(str::to_owned),
        }
    }

    fn finished(id: &str, parent: Option<&str>, content: &str) -> Body {
        Body::ToolFinished {
            activity_id: id.into(),
            call_id: id.into(),
            name: "bash".into(),
            is_error: false,
            summary: "bash true: exit 0".into(),
            content: content.into(),
            parent: parent.map(str::to_owned),
        }
    }

    fn usage(input: u64, cache_read: Option<u64>) -> Body {
        Body::Usage {
            input,
            output: 5,
            cache_read,
            reasoning: None,
        }
    }

    fn ended(outcome: Outcome) -> Body {
        Body::TurnFinished {
            outcome,
            error_code: None,
        }
    }

    #[test]
    fn times_of_calls_and_of_waits_come_from_the_records() {
        let all = turns(&[
            (
                1,
                Body::Session {
                    created_at: 1,
                    cwd: "/w".into(),
                    provider: None,
                    model: None,
                },
            ),
            (10, input("one")),
            (20, usage(100, None)),
            (20, started("a", None, json!({"command": "x"}))),
            (22, started("b", None, json!({}))),
            (25, started("c", Some("b"), json!({}))),
            (30, finished("a", None, "out")),
            (40, finished("c", Some("b"), "")),
            (50, finished("b", None, "")),
            (70, usage(200, Some(150))),
            (71, ended(Outcome::Completed)),
            (90, input("two")),
        ]);
        assert_eq!(all.len(), 2);
        let one = &all[0];
        assert_eq!((one.number, one.began_at, one.ended_at), (1, 10, 71));
        assert_eq!(one.end, Some(TurnEnd::Completed));
        assert_eq!(one.responses, [(10, 20), (50, 71)]);
        assert_eq!(
            one.cost,
            Cost {
                requests: 2,
                input: 300,
                output: 10,
                cache_read: Some(150)
            }
        );
        let calls: Vec<_> = one
            .entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Call(call) => {
                    Some((call.began_at, call.ended_at, call.beneath, call.failed))
                }
                _ => None,
            })
            .collect();
        assert_eq!(
            calls,
            [
                (20, Some(30), false, Some(false)),
                (22, Some(50), false, Some(false)),
                (25, Some(40), true, Some(false)),
            ]
        );
        let Entry::Call(call) = &one.entries[1] else {
            panic!("{one:?}")
        };
        assert_eq!(
            (call.input.as_str(), call.output.as_str()),
            ("command: x", "out")
        );
        assert_eq!(
            (call.name.as_str(), call.about.as_str()),
            ("bash", "true: exit 0")
        );
        assert_eq!(all[1].end, None);
        assert_eq!(all[1].entries, [Entry::User(Redacted::fixed("two"))]);
    }

    #[test]
    fn a_clock_that_goes_back_and_calls_without_an_end_are_shown() {
        let all = turns(&[
            (100, input("one")),
            (50, started("a", None, json!("text"))),
            (40, ended(Outcome::Cancelled)),
        ]);
        assert_eq!((all[0].began_at, all[0].ended_at), (100, 100));
        assert_eq!(all[0].responses, [(100, 100)]);
        let Entry::Call(call) = &all[0].entries[1] else {
            panic!("{all:?}")
        };
        assert_eq!((call.failed, call.ended_at), (None, None));
    }

    #[test]
    fn what_is_long_loses_its_middle_after_it_was_redacted() {
        let secret = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT".repeat(2));
        let long = "a ".repeat(MAX_OUTPUT_BYTES) + &secret + "\nend";
        let all = turns(&[
            (1, input("one")),
            (
                2,
                started(
                    "a",
                    None,
                    json!({"text": "b\nc", "n": 1, "long": "x".repeat(9000)}),
                ),
            ),
            (3, finished("a", None, &long)),
        ]);
        let Entry::Call(call) = &all[0].entries[1] else {
            panic!("{all:?}")
        };
        assert!(
            call.output.len() < MAX_OUTPUT_BYTES + 64 && call.output.as_str().ends_with("\nend")
        );
        assert!(!call.output.as_str().contains("ghp_"));
        assert!(call.output.as_str().contains(" bytes are left out here …"));
        assert!(call.input.len() < MAX_INPUT_BYTES + 64, "{}", call.input);
        assert!(
            call.input.as_str().contains("text:\nb\nc"),
            "{}",
            call.input
        );
    }
}
