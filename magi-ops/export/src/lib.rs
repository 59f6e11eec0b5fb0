//! Stored sessions on paper: text for a terminal, Markdown, JSON, one page of HTML. Written as they are read, a turn at a
//! time; what is read is redacted below, and what would act on a reader is taken away here.

use std::io;
use std::ops::ControlFlow;

use agent::{Archive, Cost, EngineError, Listed, Task, Turn, TurnEnd};

mod html;
mod json;
mod prices;
mod text;
mod words;

pub use words::{age, duration, size, stamp};

/// How deep subagents of subagents are followed.
const MAX_DEPTH: usize = 4;

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For a terminal: what was said and a line for each activity.
    Text,
    Markdown,
    /// One object with `turns`.
    Json,
    /// A page that needs nothing else.
    Html,
}

/// Why an export is not whole.
#[derive(Debug)]
pub enum ExportError {
    /// Something of the session can't be read. What could be is written, and the form is whole.
    Read(EngineError),
    /// Nobody takes it any more.
    Write(io::Error),
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Writes a session in one of the forms. Blocks; holds one turn at a time.
///
/// # Errors
/// [`ExportError`].
pub fn write(
    archive: &Archive,
    session: &Listed,
    form: Form,
    out: &mut dyn io::Write,
) -> Result<(), ExportError> {
    let from = Source {
        archive,
        session,
        task: None,
    };
    match form {
        Form::Text => text::write(&from, text::Style::Terminal, out),
        Form::Markdown => text::write(&from, text::Style::Markdown, out),
        Form::Json => json::write(&from, out),
        Form::Html => html::write(&from, out),
    }
}

/// What is written: a session, or what a subagent of it was given.
#[derive(Clone, Copy)]
struct Source<'a> {
    archive: &'a Archive,
    session: &'a Listed,
    task: Option<&'a Task>,
}

impl<'a> Source<'a> {
    fn of_task(self, task: &'a Task) -> Source<'a> {
        Source {
            task: Some(task),
            ..self
        }
    }

    fn title(&self) -> String {
        let title = self.session.title.as_ref();
        title.map_or_else(
            || "A session without a question".to_owned(),
            |title| words::harmless(title.as_str()),
        )
    }

    /// Gives each turn to `write`, oldest first.
    fn turns(&self, write: &mut dyn FnMut(Turn) -> io::Result<()>) -> Result<(), ExportError> {
        let mut written = Ok(());
        let mut give = |turn| match write(turn) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                written = Err(error);
                ControlFlow::Break(())
            }
        };
        let id = &self.session.id;
        let read = match self.task {
            None => self.archive.turns(id, &mut give),
            Some(task) => self.archive.task_turns(id, task, &mut give),
        };
        written?;
        read.map_err(ExportError::Read)
    }
}

/// How a turn ended, where a person is to be told: it did not just end.
fn ending(turn: &Turn) -> Option<&'static str> {
    match turn.end {
        Some(TurnEnd::Completed) => None,
        Some(TurnEnd::Cancelled) => Some("cancelled"),
        Some(TurnEnd::Failed | TurnEnd::CompactionRequired) => Some("failed"),
        None if turn.number == 0 => None,
        None => Some("interrupted"),
    }
}

/// What a turn cost, on a line: tokens, and dollars where the price is known. `None` if nobody counted.
fn cost_words(cost: &Cost, dollars: Option<f64>) -> Option<Vec<String>> {
    (cost.requests > 0).then(|| {
        let cached = cost.cache_read.filter(|read| *read > 0);
        let cached = cached.map(|read| format!(" ({} cached)", words::tokens(read)));
        let mut all = vec![
            format!(
                "{} tokens in{}",
                words::tokens(cost.input),
                cached.unwrap_or_default()
            ),
            format!("{} out", words::tokens(cost.output)),
        ];
        all.extend(dollars.map(words::money));
        all
    })
}
