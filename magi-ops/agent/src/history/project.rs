//! From records to messages: what of a session is shown, in stored order, one copy of each thing.
//! Tool bodies, raw reasoning and provider-only records stay out; cutting comes after.

use std::collections::{HashMap, HashSet};

use store::sessions::{Body, Outcome, Record};
use store::{Redacted, Redactor};

use super::EntryKind;

/// Longest text of an activity or a diagnostic, in bytes (spec: local-agent, "Bounds and failure policy").
const MAX_LINE_BYTES: usize = 1024;
/// Longest tool name that is shown, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 64;

const INTERRUPTED: &str =
    "This turn was interrupted before its end was stored; what is shown of it may be incomplete.";

/// A message before redaction.
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) kind: EntryKind,
    /// Of an activity, the name of its tool as a model wrote it; else empty.
    name: String,
    pub(crate) text: String,
    pub(crate) partial: bool,
    /// Its end is not at hand: its text may go on, or broke off anywhere.
    open: bool,
}

impl Message {
    /// Its text as it may be shown. Redacted whole, so that no cut can hide a secret from the redactor;
    /// of what broke off without what may be the beginning of one, and of what may go on without what may yet turn out
    /// to be one.
    pub(crate) fn redacted(&self, redactor: &Redactor) -> Redacted {
        match self.kind {
            EntryKind::Activity => {
                let mut line = shown_name(&self.name, redactor);
                line.push(&redactor.redact(&self.text));
                line.summary(MAX_LINE_BYTES)
            }
            EntryKind::Diagnostic => redactor.redact(&self.text).summary(MAX_LINE_BYTES),
            _ if self.open => {
                let mut stream = redactor.stream();
                let mut shown = stream.push(&self.text).unwrap_or_default();
                let held = stream.finish();
                if held.as_str() == redact::MASK {
                    shown.push(&held);
                }
                shown
            }
            _ if self.partial => redactor.redact_cut(&self.text),
            _ => redactor.redact(&self.text),
        }
    }
}

/// A tool's name for showing: as a model wrote it, it may be anything.
pub(crate) fn shown_name(name: &str, redactor: &Redactor) -> Redacted {
    redactor.redact(name).summary(MAX_NAME_BYTES)
}

/// What a summary says beside the tool's name and the state; most begin with them.
fn detail<'a>(summary: &'a str, name: &str, state: &str) -> &'a str {
    let mut rest = summary.trim_start();
    for word in [name, state] {
        let behind = rest.strip_prefix(word);
        let behind = behind.filter(|behind| !behind.starts_with(|c: char| c.is_alphanumeric()));
        rest = behind.map_or(rest, |behind| behind.trim_start_matches([':', ' ']));
    }
    rest
}

pub(crate) struct Projection {
    pub(crate) messages: Vec<Message>,
    /// Where turns ended: after how many messages, and how.
    pub(crate) ends: Vec<(usize, Outcome)>,
    /// No turn was interrupted.
    pub(crate) complete: bool,
}

/// The projection of records in order. Numbers tell where some are missing.
pub(crate) fn project(records: &[Record]) -> Projection {
    let mut projector = Projector::new();
    for record in records {
        projector.take(record);
    }
    projector.finish()
}

/// Puts a projection together, record by record: of most bytes of a long session nothing is shown.
pub(crate) struct Projector {
    out: Projection,
    /// The number of the record that opened the turn that has no end yet.
    turn: Option<u64>,
    /// Where the open turn's identified things stand in `out`.
    places: Places,
    /// Every id so far: a session that another program wrote may give one twice.
    ids: HashSet<String>,
    /// The number that the next record has unless some are missing.
    next: u64,
    /// Messages that lack pieces. What is behind the hole is not shown: without its beginning a
    /// secret can't be told from words.
    torn: HashSet<usize>,
    /// Records are missing here; a message that goes on may have begun there.
    broken: bool,
}

#[derive(Default)]
struct Places {
    messages: HashMap<String, usize>,
    summaries: HashMap<String, usize>,
    activities: HashMap<String, usize>,
}

impl Projector {
    pub(crate) fn new() -> Self {
        Self {
            out: Projection {
                messages: Vec::new(),
                ends: Vec::new(),
                complete: true,
            },
            turn: None,
            places: Places::default(),
            ids: HashSet::new(),
            next: 1,
            torn: HashSet::new(),
            broken: false,
        }
    }

    pub(crate) fn finish(mut self) -> Projection {
        self.end_turn();
        self.out
    }

    /// Takes the next record.
    pub(crate) fn take(&mut self, record: &Record) {
        if record.n != self.next {
            self.broken = true;
            let Places {
                messages,
                summaries,
                activities,
            } = &self.places;
            let all = [messages, summaries, activities];
            self.torn.extend(all.into_iter().flat_map(HashMap::values));
        }
        self.next = record.n.wrapping_add(1);
        self.show(record);
        // Nothing of these stands within a message; whatever else is stored may.
        if let Body::UserInput { .. }
        | Body::AssistantMessage { .. }
        | Body::ToolStarted { .. }
        | Body::ToolFinished { .. }
        | Body::TurnFinished { .. } = record.body
        {
            self.broken = false;
        }
    }

    fn show(&mut self, record: &Record) {
        match &record.body {
            Body::UserInput { message_id, text } => {
                self.end_turn();
                self.turn = Some(record.n);
                self.add(message_id.clone(), EntryKind::User, text.clone(), false);
            }
            Body::AssistantText {
                message_id, text, ..
            } => {
                let place = self.message(message_id);
                if !self.torn.contains(&place) {
                    self.out.messages[place].text.push_str(text);
                }
            }
            Body::AssistantMessage {
                message_id,
                text,
                partial,
                ..
            } => {
                let place = self.message(message_id);
                let torn = self.torn.contains(&place);
                let message = &mut self.out.messages[place];
                // The whole text replaces the pieces: one copy, never both.
                if let Some(text) = text {
                    message.text.clone_from(text);
                }
                message.partial = *partial;
                message.open = torn && text.is_none();
            }
            Body::Reasoning {
                item_id,
                text,
                provider_summary: true,
            } => {
                let id = format!("reasoning.{}", record.n);
                let place = item_id
                    .as_ref()
                    .and_then(|item| self.places.summaries.get(item).copied());
                match place {
                    Some(place) => self.out.messages[place].text.clone_from(text),
                    None => {
                        let place = self.add(id, EntryKind::ReasoningSummary, text.clone(), false);
                        if let Some(item) = item_id {
                            self.places.summaries.insert(item.clone(), place);
                        }
                    }
                }
            }
            Body::ToolStarted {
                activity_id, name, ..
            } => {
                // The id that it had while it ran.
                let id = activity_id.clone();
                let place = self.add(id, EntryKind::Activity, " started".to_owned(), true);
                self.out.messages[place].name.clone_from(name);
                self.places.activities.insert(activity_id.clone(), place);
            }
            Body::ToolFinished {
                activity_id,
                name,
                is_error,
                summary,
                ..
            } => {
                let state = if *is_error { "failed" } else { "completed" };
                if let Some(&place) = self.places.activities.get(activity_id) {
                    let message = &mut self.out.messages[place];
                    message.text = match detail(summary, name, state) {
                        "" => format!(" {state}"),
                        detail => format!(" {state}: {detail}"),
                    };
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
            Body::TurnFinished { outcome, .. } => {
                self.out.ends.push((self.out.messages.len(), *outcome));
                self.turn = None;
                self.places = Places::default();
            }
            // Raw reasoning and what only a provider needs.
            Body::Reasoning { .. }
            | Body::Thought { .. }
            | Body::ProviderState { .. }
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
        self.places = Places::default();
    }

    fn add(&mut self, id: String, kind: EntryKind, text: String, partial: bool) -> usize {
        let mut unique = id;
        for count in 1.. {
            if self.ids.insert(unique.clone()) {
                break;
            }
            unique = format!("again.{}.{count}", self.next);
        }
        self.out.messages.push(Message {
            id: unique,
            kind,
            name: String::new(),
            text,
            partial,
            open: false,
        });
        self.out.messages.len() - 1
    }

    /// Where the assistant message `id` is; partial until it is said to be complete.
    fn message(&mut self, id: &str) -> usize {
        if let Some(&place) = self.places.messages.get(id) {
            return place;
        }
        let place = self.add(id.to_owned(), EntryKind::Assistant, String::new(), true);
        self.out.messages[place].open = true;
        self.places.messages.insert(id.to_owned(), place);
        if self.broken {
            self.torn.insert(place);
        }
        place
    }
}
