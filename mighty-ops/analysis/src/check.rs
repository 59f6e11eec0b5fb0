//! The entry point: runs the passes in the order of language.md §27 and gathers their reports.
//! Must not hold rules of its own.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, FixHint, Level, Sink};
use crate::package::{FileId, Options, Package};

/// The outcome of a check.
#[derive(Debug)]
pub struct Analysis {
    /// All reports, by file, position and code.
    pub diagnostics: Vec<Diagnostic>,
}

impl Analysis {
    /// Whether there is an error; warnings leave exit codes alone.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Checks a package. Never panics on any input and always gives the same answer for it.
#[must_use]
pub fn check(package: &Package, options: &Options) -> Analysis {
    let _ = options;
    let mut sink = Sink::default();
    syntax_errors(package, &mut sink);
    Analysis {
        diagnostics: sink.into_sorted(),
    }
}

fn syntax_errors(package: &Package, sink: &mut Sink) {
    for (i, file) in package.files.iter().enumerate() {
        for e in &file.parse.errors {
            // The parser's codes are all well-formed.
            let Ok(code) = e.code.parse::<Code>() else {
                continue;
            };
            sink.push(Diagnostic {
                code,
                level: Level::Error,
                file: FileId(i as u32),
                range: e.range,
                title: e.title.clone(),
                notes: e.notes.clone(),
                hint: FixHint::None,
            });
        }
    }
}
