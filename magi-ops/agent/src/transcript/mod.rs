//! A session as a person reads it from the first word to the last: turns with texts, activities, times and costs, given
//! out one at a time. What holds them on paper is decided above.

use std::ops::ControlFlow;

use store::sessions::{Body, Record};
use store::{Redacted, Redactor};

use crate::history::TurnEnd;

mod counts;
mod turn;

pub(crate) use counts::Counter;
pub use counts::Counts;
use turn::Builder;

/// Longest text of a call's input, in bytes.
pub(crate) const MAX_INPUT_BYTES: usize = 4 * 1024;
/// Longest text of what a call put out, in bytes.
pub(crate) const MAX_OUTPUT_BYTES: usize = 16 * 1024;

/// What one input led to. All times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// From 1; 0 of what stands before the first input.
    pub number: u64,
    pub began_at: u64,
    pub ended_at: u64,
    /// `None` where it was interrupted, or still runs.
    pub end: Option<TurnEnd>,
    pub error_code: Option<Redacted>,
    /// What answered, as far as it was recorded.
    pub model: Option<Answerer>,
    /// In stored order.
    pub entries: Vec<Entry>,
    /// When a model was waited for or wrote, in order, from and to.
    pub responses: Vec<(u64, u64)>,
    /// What its requests cost, without those of its subagents.
    pub cost: Cost,
}

/// What answers: a provider and its model, for showing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answerer {
    pub provider: Redacted,
    pub model: Redacted,
}

/// Tokens of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Requests that a provider counted.
    pub requests: u64,
    /// Those from a cache among them.
    pub input: u64,
    pub output: u64,
    /// `None` if no provider said.
    pub cache_read: Option<u64>,
}

impl Cost {
    /// Adds what others cost.
    pub fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        if let Some(read) = other.cache_read {
            self.cache_read = Some(self.cache_read.unwrap_or(0).saturating_add(read));
        }
    }

    /// Of a record that says so.
    fn of(body: &Body) -> Option<Self> {
        match *body {
            Body::Usage {
                input,
                output,
                cache_read,
                ..
            } => Some(Self {
                requests: 1,
                input,
                output,
                cache_read,
            }),
            _ => None,
        }
    }
}

/// One thing of a turn. All of it redacted whole before it was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    User(Redacted),
    Assistant {
        text: Redacted,
        /// The provider did not finish it.
        partial: bool,
    },
    /// A summary of its reasoning that the provider made for display.
    Reasoning(Redacted),
    Call(Box<Call>),
    /// The conversation was made shorter for its model.
    Compaction {
        summary: Redacted,
        tokens_before: u64,
        tokens_after: u64,
    },
    Diagnostic(Redacted),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// At most 64 bytes.
    pub name: Redacted,
    /// What it is about and what came of it, on a line.
    pub about: Redacted,
    /// `None` without an end.
    pub failed: Option<bool>,
    pub began_at: u64,
    pub ended_at: Option<u64>,
    /// Another call made it.
    pub beneath: bool,
    /// A member a line; at most 4,096 bytes and a word on what is left out.
    pub input: Redacted,
    /// What the model was told; at most 16,384 bytes and a word on what is left out.
    pub output: Redacted,
    /// The subagent that it was given to.
    pub task: Option<Task>,
}

/// A subagent's task. What it said is read by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub(crate) id: String,
    pub profile: Option<Redacted>,
}

/// Puts the turns of a conversation together, record by record; holds one at a time.
pub(crate) struct Reader<'r> {
    redactor: &'r Redactor,
    current: Option<Builder>,
    turns: u64,
    model: Option<Answerer>,
}

impl<'r> Reader<'r> {
    pub(crate) fn new(redactor: &'r Redactor) -> Self {
        Self {
            redactor,
            current: None,
            turns: 0,
            model: None,
        }
    }

    /// Takes the next record; gives out the turn that ended before it.
    pub(crate) fn take(
        &mut self,
        record: Record,
        give: &mut dyn FnMut(Turn) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let begins = matches!(record.body, Body::UserInput { .. });
        if begins {
            self.finish(give)?;
            self.turns += 1;
        }
        if let Body::Session {
            provider: Some(provider),
            model: Some(model),
            ..
        }
        | Body::Selection {
            provider, model, ..
        } = &record.body
        {
            let shown = |name: &str| crate::history::shown_name(name, self.redactor);
            self.model = Some(Answerer {
                provider: shown(provider),
                model: shown(model),
            });
        }
        let number = self.turns;
        let current = self
            .current
            .get_or_insert_with(|| Builder::new(number, &record));
        current.take(record, self.model.as_ref(), self.redactor);
        ControlFlow::Continue(())
    }

    /// Gives out the last turn.
    pub(crate) fn finish(
        &mut self,
        give: &mut dyn FnMut(Turn) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self.current.take().map(|it| it.finish(self.redactor)) {
            Some(turn) if turn.number > 0 || !turn.entries.is_empty() => give(turn),
            _ => ControlFlow::Continue(()),
        }
    }
}
