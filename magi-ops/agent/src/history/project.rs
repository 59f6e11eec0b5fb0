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

/// The stored code of a turn that could not go on with a conversation of its length.
pub(crate) const COMPACTION_REQUIRED: &str = "compaction_required";

const STARTED: &str = "started";
const FAILED: &str = "failed";
const EARLIER: &str = "What stood before in this session became too long to be read here. It is kept, and the summary below \
    stands for it.";
const INTERRUPTED: &str =
    "This turn was interrupted before its end was stored; what is shown of it may be incomplete.";

/// A message before redaction.
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) kind: EntryKind,
    /// Of an activity, the name of its tool as a model wrote it; else empty.
    name: String,
    /// Of an activity, how far it came; else empty.
    state: &'static str,
    /// Of an activity, the line that was shown of it last.
    pub(crate) text: String,
    pub(crate) partial: bool,
    /// Its end is not at hand: its text may go on, or broke off anywhere.
    open: bool,
}

impl Message {
    /// Its text as it may be shown. Redacted whole, so that no cut can hide a secret from the redactor;
    /// of what broke off without what may be the beginning of one, and of what may go on without what may yet turn out
    /// to be one.
    /// What a model says in one turn is judged together: `said` is what it said before, and the next message's `said` after.
    pub(crate) fn redacted(&self, redactor: &Redactor, said: &mut String) -> Redacted {
        let before = match self.kind {
            EntryKind::User => std::mem::take(said),
            EntryKind::Assistant => {
                let next =
                    redact::reach(&format!("{said}{}", redact::reach(&self.text))).to_owned();
                std::mem::replace(said, next)
            }
            _ => String::new(),
        };
        match self.kind {
            EntryKind::Activity => {
                let (mut line, detail) = self.activity(redactor);
                line.push(&Redacted::fixed(" "));
                line.push(&Redacted::fixed(self.state));
                if !detail.is_empty() {
                    line.push(&Redacted::fixed(": "));
                    line.push(&detail);
                }
                line.summary(MAX_LINE_BYTES)
            }
            EntryKind::Diagnostic => redactor.redact(&self.text).summary(MAX_LINE_BYTES),
            _ if self.open => {
                let mut stream = redactor.stream();
                let _ = stream.push(&before);
                let _ = stream.pause();
                let mut shown = stream.push(&self.text).unwrap_or_default();
                let held = stream.finish();
                if held.as_str() == redact::MASK {
                    shown.push(&held);
                }
                shown
            }
            _ if self.partial => redactor.redact_cut(&before, &self.text),
            EntryKind::Assistant => redactor.redact_message(&before, &self.text),
            _ => redactor.redact(&self.text),
        }
    }
}

impl Message {
    /// Of an activity, the name of its tool and what is said of it beside that and its state.
    pub(crate) fn activity(&self, redactor: &Redactor) -> (Redacted, Redacted) {
        let name = shown_name(&self.name, redactor);
        let detail = detail(&self.text, [&self.name, name.as_str()], self.state);
        let detail = redactor.redact(detail);
        (name, detail)
    }

    /// Of an activity, whether it failed; `None` of one that has no end.
    pub(crate) fn failed(&self) -> Option<bool> {
        (self.state != STARTED).then_some(self.state == FAILED)
    }
}

/// A tool's name for showing: as a model wrote it, it may be anything.
pub(crate) fn shown_name(name: &str, redactor: &Redactor) -> Redacted {
    redactor.redact(name).summary(MAX_NAME_BYTES)
}

/// What a summary says beside the tool's name and the state: all begin with the name, those of older records may have the
/// state behind it.
fn detail<'a>(summary: &'a str, names: [&str; 2], state: &str) -> &'a str {
    let strip = |text: &'a str, word: &str, ends: &[char]| {
        // A path may begin with the same word.
        let behind = text.strip_prefix(word);
        let behind = behind.filter(|behind| behind.is_empty() || behind.starts_with(ends));
        behind.map(|behind| behind.trim_start_matches([':', ' ']))
    };
    let summary = summary.trim_start();
    let named = names
        .iter()
        .find_map(|name| strip(summary, name, &[':', ' ']));
    let rest = named.unwrap_or(summary);
    strip(rest, state, &[':']).unwrap_or(rest)
}

#[derive(Default)]
pub(crate) struct Projection {
    pub(crate) messages: Vec<Message>,
    /// Where turns ended: after how many messages, and how.
    pub(crate) ends: Vec<(usize, TurnEnd)>,
    /// A turn has no stored end, or what stood before is not at hand.
    pub(crate) incomplete: bool,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    Cancelled,
    Failed,
    /// It failed because the conversation is too long for its model and could not be made shorter.
    CompactionRequired,
}

impl TurnEnd {
    pub(crate) fn of(outcome: Outcome, error_code: Option<&str>) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Failed if error_code == Some(COMPACTION_REQUIRED) => Self::CompactionRequired,
            Outcome::Failed => Self::Failed,
        }
    }
}

/// Puts a projection together, record by record: of most bytes of a long session nothing is shown.
#[derive(Default)]
pub(crate) struct Projector {
    out: Projection,
    /// The number of the record that opened the turn that has no end yet.
    turn: Option<u64>,
    /// Where the open turn's identified things stand in `out`.
    places: HashMap<(EntryKind, String), usize>,
    /// Every id so far: a session that another program wrote may give one twice.
    ids: HashSet<String>,
    /// The number of the last record: the next one's follows it unless some are missing.
    last: u64,
    /// Messages that lack pieces. What is behind the hole is not shown: without its beginning a
    /// secret can't be told from words.
    torn: HashSet<usize>,
    /// Records are missing here; a message that goes on may have begun there.
    broken: bool,
}

impl Projector {
    pub(crate) fn finish(mut self) -> Projection {
        self.end_turn();
        self.out
    }

    /// Nothing before the record number `next` counts: it is no hole that it is not given.
    pub(crate) fn goes_on_at(&mut self, next: u64) {
        self.last = next.wrapping_sub(1);
    }

    /// Takes the next record.
    pub(crate) fn take(&mut self, record: &Record) {
        if record.n != self.last.wrapping_add(1) {
            self.broken = true;
            self.torn.extend(self.places.values());
        }
        self.last = record.n;
        self.show(record);
        // Nothing of these stands within a message; whatever else is stored may.
        if let Body::UserInput { .. }
        | Body::AssistantMessage { .. }
        | Body::ToolStarted { .. }
        | Body::ToolFinished { .. }
        | Body::Checkpoint { .. }
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
                let kind = EntryKind::ReasoningSummary;
                let item = item_id.as_deref();
                if let Some(place) = item.and_then(|item| self.place(kind, item)) {
                    self.out.messages[place].text.clone_from(text);
                    return;
                }
                let place = self.add(id, kind, text.clone(), false);
                if let Some(item) = item {
                    self.places.insert((kind, item.to_owned()), place);
                }
            }
            Body::ToolStarted {
                activity_id,
                name,
                subject,
                ..
            } => {
                // The id that it had while it ran.
                let id = activity_id.clone();
                let kind = EntryKind::Activity;
                let subject = subject.clone().unwrap_or_default();
                let place = self.add(id, kind, subject, true);
                let message = &mut self.out.messages[place];
                message.name.clone_from(name);
                message.state = STARTED;
                self.places.insert((kind, activity_id.clone()), place);
            }
            Body::ToolFinished {
                activity_id,
                is_error,
                summary,
                ..
            } => {
                if let Some(place) = self.place(EntryKind::Activity, activity_id) {
                    let message = &mut self.out.messages[place];
                    message.state = if *is_error { FAILED } else { "completed" };
                    message.text.clone_from(summary);
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
            Body::Checkpoint {
                activity_id,
                summary,
                ..
            } => {
                // The id that it had while it ran.
                let id = activity_id.clone();
                self.add(id, EntryKind::Compaction, summary.clone(), false);
            }
            Body::Continuation { .. } => {
                self.out.incomplete = true;
                let id = format!("earlier.{}", record.n);
                self.add(id, EntryKind::Diagnostic, EARLIER.to_owned(), true);
            }
            Body::TurnFinished {
                outcome,
                error_code,
            } => {
                let end = TurnEnd::of(*outcome, error_code.as_deref());
                self.out.ends.push((self.out.messages.len(), end));
                self.turn = None;
                self.places.clear();
            }
            // Raw reasoning, what only a provider needs, what a request cost, and what the engine keeps of a task: its
            // call is shown.
            Body::Reasoning { .. }
            | Body::Usage { .. }
            | Body::Delegation { .. }
            | Body::Task { .. }
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
            self.out.incomplete = true;
            let id = format!("interrupted.{n}");
            self.add(id, EntryKind::Diagnostic, INTERRUPTED.to_owned(), true);
        }
        self.places.clear();
    }

    fn add(&mut self, id: String, kind: EntryKind, text: String, partial: bool) -> usize {
        let mut unique = id;
        for count in 1.. {
            if self.ids.insert(unique.clone()) {
                break;
            }
            unique = format!("again.{}.{count}", self.last.wrapping_add(1));
        }
        self.out.messages.push(Message {
            id: unique,
            kind,
            name: String::new(),
            state: "",
            text,
            partial,
            open: false,
        });
        self.out.messages.len() - 1
    }

    fn place(&self, kind: EntryKind, id: &str) -> Option<usize> {
        self.places.get(&(kind, id.to_owned())).copied()
    }

    /// Where the assistant message `id` is; partial until it is said to be complete.
    fn message(&mut self, id: &str) -> usize {
        let kind = EntryKind::Assistant;
        if let Some(place) = self.place(kind, id) {
            return place;
        }
        let place = self.add(id.to_owned(), kind, String::new(), true);
        self.out.messages[place].open = true;
        self.places.insert((kind, id.to_owned()), place);
        if self.broken {
            self.torn.insert(place);
        }
        place
    }
}
