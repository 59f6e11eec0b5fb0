//! What a pass reports: a diagnostic with its place, its words and the facts a fix would need.
//! Must not render, sort files or build diffs; the envelope and the fix engine do.

use syntax::TextRange;

use crate::code::Code;
use crate::package::FileId;

/// How heavy one report is. (The catalogue's `Severity` says what a code may be; this is what a report is.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Makes `check` fail and stops the borrow checker.
    Error,
    /// Reported only.
    Warning,
}

/// One report about a program.
///
/// While passes run, `range` lies in the *expanded* tree of its file, like every range of the HIR; the entry
/// point maps all of them back to the written text once, at the end (see [`crate::expand`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The catalogue number.
    pub code: Code,
    /// Error or warning; differs from the catalogue only for MT2021.
    pub level: Level,
    /// The file it is about.
    pub file: FileId,
    /// Where, in the normalised (LF) text of that file; `Parse::file_range` gives offsets in the file itself.
    pub range: TextRange,
    /// One line, no final dot, that names what was found and what was expected.
    pub title: String,
    /// Further facts about this site, one sentence each.
    pub notes: Vec<String>,
    /// Facts for the fix engine.
    pub hint: FixHint,
}

/// Structured facts about a site from which a fix can be built without analysing again. Types are given as
/// source text, as they would be written in a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FixHint {
    /// Nothing beyond code and range.
    #[default]
    None,
    /// Replace the reported range by a near name. `distance` is the edit distance, 1 or 2.
    Rename { to: String, distance: u8 },
    /// Insert `use path`.
    Import { path: String },
    /// Two types disagree at `range` (MT2001, 2017, 2018, 2019, 2027).
    ExpectedFound { expected: String, found: String },
    /// A `match` lacks these patterns, each ready to stand before `=>`. `insert_at` is the offset of the `}`.
    MissingArms {
        patterns: Vec<String>,
        insert_at: u32,
    },
    /// Delete the range (a whole arm, field, item, handler).
    Delete { range: TextRange },
    /// Insert `text` at `at`.
    Insert { at: u32, text: String },
    /// Replace `range` by `text`.
    Replace { range: TextRange, text: String },
    /// Declare the binding at `range` (its name) mutable.
    MakeMut { binding: TextRange },
    /// A struct literal lacks these fields, as (name, type). `insert_at` is the offset of the `}`.
    MissingFields {
        fields: Vec<(String, String)>,
        insert_at: u32,
    },
    /// A call has `found` arguments, these parameter types are wanted. `args` is the range between the
    /// parentheses.
    Arguments {
        expected: Vec<String>,
        found: usize,
        args: TextRange,
    },
    /// The binding at `at` (offset after its name or pattern) lacks a type, `ty` would fit.
    Annotate { at: u32, ty: String },
    /// `?` in a function that cannot take it: the function's return type as written, if any, the type of
    /// the operand's error, and the tail.
    Question {
        ret: Option<TextRange>,
        error: String,
        ok: String,
    },
    /// Call `.clone()` on, or borrow, the expression at `range`.
    CloneOrBorrow { range: TextRange },
    /// Effects to add to the clause of the function whose header ends at `at`; `clause` is the present one.
    AddEffects {
        effects: Vec<String>,
        clause: Option<TextRange>,
        at: u32,
    },
    /// A message to declare in a protocol, or a handler to write, `text` ready to insert at `at`.
    Declare { at: u32, text: String },
    /// A tainted argument reaches a sink: the statement and the argument.
    Taint {
        statement: TextRange,
        argument: TextRange,
        sink: String,
    },
    /// Anything a single pass and its fix agree upon: key and value pairs.
    Facts(Vec<(&'static str, String)>),
}

/// A place in the text that a hint names.
pub(crate) enum Place<'a> {
    At(&'a mut u32),
    Range(&'a mut TextRange),
}

impl FixHint {
    /// Calls `each` with every place that the hint names.
    pub(crate) fn each_place(&mut self, mut each: impl FnMut(Place<'_>)) {
        match self {
            Self::None
            | Self::Rename { .. }
            | Self::Import { .. }
            | Self::ExpectedFound { .. }
            | Self::Facts(_) => {}
            Self::MissingArms { insert_at: at, .. }
            | Self::MissingFields { insert_at: at, .. }
            | Self::Insert { at, .. }
            | Self::Annotate { at, .. }
            | Self::Declare { at, .. } => each(Place::At(at)),
            Self::Delete { range }
            | Self::Replace { range, .. }
            | Self::MakeMut { binding: range }
            | Self::CloneOrBorrow { range }
            | Self::Arguments { args: range, .. } => each(Place::Range(range)),
            Self::Question { ret, .. } => ret.iter_mut().for_each(|r| each(Place::Range(r))),
            Self::AddEffects { clause, at, .. } => {
                each(Place::At(at));
                clause.iter_mut().for_each(|r| each(Place::Range(r)));
            }
            Self::Taint {
                statement,
                argument,
                ..
            } => {
                each(Place::Range(statement));
                each(Place::Range(argument));
            }
        }
    }
}

impl Diagnostic {
    /// An error without notes and hint.
    ///
    /// # Panics
    /// In debug builds, if the catalogue does not hold `code`.
    #[must_use]
    pub fn error(code: u16, file: FileId, range: TextRange, title: impl Into<String>) -> Self {
        debug_assert!(
            crate::catalogue::lookup(code).is_some(),
            "MT{code:04} is not assigned"
        );
        Self {
            code: Code::assigned(code),
            level: Level::Error,
            file,
            range,
            title: title.into(),
            notes: Vec::new(),
            hint: FixHint::None,
        }
    }

    /// A warning without notes and hint.
    #[must_use]
    pub fn warning(code: u16, file: FileId, range: TextRange, title: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            ..Self::error(code, file, range, title)
        }
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Sets the facts for a fix.
    #[must_use]
    pub fn hint(mut self, hint: FixHint) -> Self {
        self.hint = hint;
        self
    }

    /// Whether it is an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.level == Level::Error
    }
}

/// Where passes put their reports; order does not matter, the entry point sorts.
#[derive(Debug, Default)]
pub struct Sink {
    found: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

/// Reports kept per check; a program with more is not read to the end by anybody.
pub const MAX_REPORTS: usize = 10_000;

impl Sink {
    /// Takes a report; beyond [`MAX_REPORTS`] of its level it is only counted. Title and notes become one line each: what
    /// they quote from the text may have line ends and other control characters.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        one_line(&mut diagnostic.title);
        diagnostic.notes.iter_mut().for_each(one_line);
        // Each level has room of its own: warnings must not keep an error out.
        let count = if diagnostic.is_error() {
            &mut self.errors
        } else {
            &mut self.warnings
        };
        *count += 1;
        if *count <= MAX_REPORTS {
            self.found.push(diagnostic);
        }
    }

    /// Whether an error was reported so far.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// The reports so far, in the order in which they came.
    #[must_use]
    pub fn found(&self) -> &[Diagnostic] {
        &self.found
    }

    /// Whether a report was left out because there were too many.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.errors > MAX_REPORTS || self.warnings > MAX_REPORTS
    }

    /// All reports by file, first byte, code, then last byte; exact repetitions once. With [`Self::is_cut`], or
    /// where more than [`MAX_REPORTS`] are left, see `cut`.
    #[must_use]
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by(|a, b| {
            (a.file, a.range.start, a.code, a.range.end, &a.title).cmp(&(
                b.file,
                b.range.start,
                b.code,
                b.range.end,
                &b.title,
            ))
        });
        self.found
            .dedup_by(|a, b| (a.file, a.range, a.code) == (b.file, b.range, b.code));
        self.found
    }
}

/// Leaves [`MAX_REPORTS`] of sorted reports: all errors, then the first of the warnings. Whether some had to go.
pub(crate) fn cut(reports: &mut Vec<Diagnostic>) -> bool {
    if reports.len() <= MAX_REPORTS {
        return false;
    }
    let errors = reports.iter().filter(|d| d.is_error()).count();
    let (mut errors, mut warnings) = (errors.min(MAX_REPORTS), MAX_REPORTS.saturating_sub(errors));
    reports.retain(|d| {
        let room = if d.is_error() {
            &mut errors
        } else {
            &mut warnings
        };
        let stays = *room > 0;
        *room = room.saturating_sub(1);
        stays
    });
    true
}

/// Puts a blank in the place of each run of control characters and the blanks around it.
fn one_line(text: &mut String) {
    if !text.contains(char::is_control) {
        return;
    }
    let parts = text.split(char::is_control).map(str::trim);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    *text = parts.join(" ");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_notes_are_one_line() {
        let mut sink = Sink::default();
        let file = FileId(0);
        let range = TextRange::new(0, 1);
        let quoted = "the hole `{:8)\n\t  x\r\n\u{1b}[1m}`";
        sink.push(Diagnostic::error(6010, file, range, quoted).note("a\n"));
        let found = sink.into_sorted();
        assert_eq!(found[0].title, "the hole `{:8) x [1m}`");
        assert_eq!(found[0].notes, ["a"]);
    }

    #[test]
    fn warnings_never_keep_an_error_out() {
        let mut sink = Sink::default();
        let many = MAX_REPORTS as u32 + 5;
        for at in 0..many {
            let range = TextRange::new(at, at + 1);
            sink.push(Diagnostic::warning(1090, FileId(0), range, "w"));
        }
        assert!(sink.is_cut() && !sink.has_errors());
        for at in [3, many] {
            let range = TextRange::new(at, at + 1);
            sink.push(Diagnostic::error(6010, FileId(0), range, "e"));
        }
        let mut found = sink.into_sorted();
        assert!(cut(&mut found));
        assert_eq!(found.len(), MAX_REPORTS);
        let errors: Vec<u32> = found
            .iter()
            .filter(|d| d.is_error())
            .map(|d| d.range.start)
            .collect();
        assert_eq!(errors, [3, many]);
        assert!(!cut(&mut found));
    }
}
