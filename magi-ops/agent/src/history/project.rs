//! From records to messages: what of a session is shown, in stored order, one copy of each thing.
//! Tool bodies, raw reasoning and provider-only records stay out; redaction and cutting come after.

use std::collections::HashMap;

use store::sessions::{Body, Record};

use super::EntryKind;

const INTERRUPTED: &str =
    "This turn was interrupted before its end was stored; what is shown of it may be incomplete.";

/// A message before redaction.
pub(super) struct Message {
    pub(super) id: String,
    pub(super) kind: EntryKind,
    pub(super) text: String,
    pub(super) partial: bool,
}

pub(super) struct Projection {
    pub(super) messages: Vec<Message>,
    /// No turn was interrupted.
    pub(super) complete: bool,
}

pub(super) fn project(records: &[Record]) -> Projection {
    let mut projector = Projector {
        out: Projection {
            messages: Vec::new(),
            complete: true,
        },
        turn: None,
        places: HashMap::new(),
    };
    for record in records {
        projector.take(record);
    }
    projector.end_turn();
    projector.out
}

struct Projector<'a> {
    out: Projection,
    /// The number of the record that opened the turn that has no end yet.
    turn: Option<u64>,
    /// Where the open turn's identified things stand in `out`.
    places: HashMap<(EntryKind, &'a str), usize>,
}

impl<'a> Projector<'a> {
    fn take(&mut self, record: &'a Record) {
        match &record.body {
            Body::UserInput { message_id, text } => {
                self.end_turn();
                self.turn = Some(record.n);
                self.add(message_id.clone(), EntryKind::User, text.clone(), false);
            }
            Body::AssistantText {
                message_id, text, ..
            } => self.message(message_id).text.push_str(text),
            Body::AssistantMessage {
                message_id,
                text,
                partial,
                ..
            } => {
                let message = self.message(message_id);
                // The whole text replaces the pieces: one copy, never both.
                if let Some(text) = text {
                    message.text.clone_from(text);
                }
                message.partial = *partial;
            }
            Body::Reasoning {
                item_id,
                text,
                provider_summary: true,
            } => {
                let id = format!("reasoning.{}", record.n);
                let place = item_id.as_deref().and_then(|item| {
                    self.places
                        .get(&(EntryKind::ReasoningSummary, item))
                        .copied()
                });
                match place {
                    Some(place) => self.out.messages[place].text.clone_from(text),
                    None => {
                        let place = self.add(id, EntryKind::ReasoningSummary, text.clone(), false);
                        if let Some(item) = item_id {
                            self.places
                                .insert((EntryKind::ReasoningSummary, item), place);
                        }
                    }
                }
            }
            Body::ToolStarted {
                activity_id, name, ..
            } => {
                let text = format!("{name} started");
                let place = self.add(
                    format!("activity.{}", record.n),
                    EntryKind::Activity,
                    text,
                    true,
                );
                self.places
                    .insert((EntryKind::Activity, activity_id), place);
            }
            Body::ToolFinished {
                activity_id,
                name,
                is_error,
                summary,
                ..
            } => {
                let state = if *is_error { "failed" } else { "completed" };
                let text = format!("{name} {state}: {summary}");
                if let Some(&place) = self
                    .places
                    .get(&(EntryKind::Activity, activity_id.as_str()))
                {
                    let message = &mut self.out.messages[place];
                    message.text = text;
                    message.partial = false;
                }
            }
            Body::Diagnostic { code, summary } => {
                let id = format!("diagnostic.{}", record.n);
                self.add(
                    id,
                    EntryKind::Diagnostic,
                    format!("{code}: {summary}"),
                    false,
                );
            }
            Body::TurnFinished { .. } => {
                self.turn = None;
                self.places.clear();
            }
            // Raw reasoning and what only a provider needs.
            Body::Reasoning { .. }
            | Body::Thought { .. }
            | Body::Session { .. }
            | Body::Selection { .. } => {}
        }
    }

    /// A turn without a stored end was interrupted: said where it stopped, and the history
    /// can't be complete any more.
    fn end_turn(&mut self) {
        if let Some(n) = self.turn.take() {
            self.out.complete = false;
            let id = format!("interrupted.{n}");
            self.add(id, EntryKind::Diagnostic, INTERRUPTED.to_owned(), true);
        }
        self.places.clear();
    }

    fn add(&mut self, id: String, kind: EntryKind, text: String, partial: bool) -> usize {
        self.out.messages.push(Message {
            id,
            kind,
            text,
            partial,
        });
        self.out.messages.len() - 1
    }

    /// The assistant message `id`; partial until it is said to be complete.
    fn message(&mut self, id: &'a str) -> &mut Message {
        let key = (EntryKind::Assistant, id);
        let place = match self.places.get(&key) {
            Some(&place) => place,
            None => {
                let place = self.add(id.to_owned(), EntryKind::Assistant, String::new(), true);
                self.places.insert(key, place);
                place
            }
        };
        &mut self.out.messages[place]
    }
}
