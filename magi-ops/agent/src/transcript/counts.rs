//! What a whole session comes to, counted on one pass that keeps no text but the first lines of inputs.

use std::collections::BTreeMap;

use store::sessions::{Body, Outcome, Record};
use store::{Redacted, Redactor};

use super::{Answerer, Cost};

/// Most first lines that are kept.
const MAX_LINES: usize = 500;
/// Most models that are told apart; what others cost counts for none of them.
const MAX_MODELS: usize = 32;
/// Longest first line, in bytes.
const MAX_LINE_BYTES: usize = 120;

/// What a session comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    pub turns: u64,
    /// Of each of the first 500 turns: the first line of its input, and whether it failed.
    pub lines: Vec<(Redacted, bool)>,
    /// Calls of tools, those of subagents not among them.
    pub calls: u64,
    pub failed_calls: u64,
    pub compactions: u64,
    /// Milliseconds between the beginnings and the ends of turns.
    pub worked_ms: u64,
    /// When the first and the last record were made.
    pub began_at: u64,
    pub ended_at: u64,
    /// By what answered, subagents among them; `None` of what is not known.
    pub costs: BTreeMap<Option<Answerer>, Cost>,
}

impl Counts {
    /// All together.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let mut all = Cost::default();
        self.costs.values().for_each(|cost| all.add(cost));
        all
    }
}

/// Counts record by record.
pub(crate) struct Counter<'r> {
    redactor: &'r Redactor,
    pub(crate) counts: Counts,
    turn: Option<(u64, u64)>,
    model: Option<Answerer>,
    /// The conversations of its subagents.
    pub(crate) tasks: Vec<String>,
}

impl<'r> Counter<'r> {
    pub(crate) fn new(redactor: &'r Redactor) -> Self {
        Self {
            redactor,
            counts: Counts::default(),
            turn: None,
            model: None,
            tasks: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, record: &Record) {
        let counts = &mut self.counts;
        if counts.began_at == 0 {
            counts.began_at = record.at;
        }
        counts.ended_at = counts.ended_at.max(record.at);
        if let Some((_, last)) = &mut self.turn {
            *last = record.at.max(*last);
        }
        match &record.body {
            Body::UserInput { text, .. } => {
                self.end_turn();
                self.turn = Some((record.at, record.at));
                self.counts.turns += 1;
                if self.counts.lines.len() < MAX_LINES {
                    let text = self.redactor.redact(text);
                    let line = text.as_str().trim_start();
                    let from = text.len() - line.len();
                    let line = line.lines().next().unwrap_or_default().len();
                    let line = text.part(from..from + line).summary(MAX_LINE_BYTES);
                    self.counts.lines.push((line, false));
                }
            }
            Body::TurnFinished { outcome, .. } => {
                let turn = self.counts.turns;
                if let Some(line) = usize::try_from(turn)
                    .ok()
                    .and_then(|turn| self.counts.lines.get_mut(turn.checked_sub(1)?))
                {
                    line.1 = *outcome == Outcome::Failed;
                }
                self.end_turn();
            }
            Body::ToolStarted { .. } => counts.calls += 1,
            Body::ToolFinished { is_error, .. } => counts.failed_calls += u64::from(*is_error),
            Body::Checkpoint { .. } => counts.compactions += 1,
            Body::Task { task, .. } => self.tasks.push(task.clone()),
            _ => {}
        }
        self.cost(&record.body);
    }

    /// Takes a record of a subagent, of which the costs count alone.
    pub(crate) fn take_of_task(&mut self, record: &Record) {
        if let Body::Task { task, .. } = &record.body {
            self.tasks.push(task.clone());
        }
        self.cost(&record.body);
    }

    fn cost(&mut self, body: &Body) {
        if let Body::Session {
            provider: Some(provider),
            model: Some(model),
            ..
        }
        | Body::Selection {
            provider, model, ..
        } = body
        {
            let shown = |name: &str| crate::history::shown_name(name, self.redactor);
            self.model = Some(Answerer {
                provider: shown(provider),
                model: shown(model),
            });
        }
        if let Some(cost) = Cost::of(body) {
            let costs = &mut self.counts.costs;
            let is_known = costs.contains_key(&self.model) || costs.len() < MAX_MODELS;
            let model = self.model.clone().filter(|_| is_known);
            costs.entry(model).or_default().add(&cost);
        }
    }

    fn end_turn(&mut self) {
        if let Some((began, ended)) = self.turn.take() {
            self.counts.worked_ms = self.counts.worked_ms.saturating_add(ended - began);
        }
    }

    pub(crate) fn finish(mut self) -> Counts {
        self.end_turn();
        self.counts
    }
}
