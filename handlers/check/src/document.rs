//! The json-result document of `mty check` (toolchain digest, section 4): all diagnostics of a path in one object.

use mty_agent::messages::Severity;
use serde::Serialize;
use toolchain::{Checked, Level, envelope};

use crate::envelope::severity;

/// What `mty check --format json-result` prints.
#[derive(Debug, Serialize)]
pub struct Document {
    ok: bool,
    path: String,
    diagnostics: Vec<Entry>,
}

#[derive(Debug, Serialize)]
struct Entry {
    code: String,
    severity: Severity,
    message: String,
    span: Place,
}

#[derive(Debug, Serialize)]
struct Place {
    file: String,
    line: usize,
    col: usize,
    end_line: usize,
    end_col: usize,
}

impl Document {
    /// The document of what was checked under one path.
    #[must_use]
    pub fn new<'c>(path: &str, checked: impl IntoIterator<Item = &'c Checked>) -> Self {
        let envelopes = checked.into_iter().flat_map(|c| &c.envelopes);
        let mut ok = true;
        let diagnostics = envelopes
            .map(|e| {
                ok &= e.severity != Level::Error;
                entry(e)
            })
            .collect();
        Self {
            ok,
            path: path.to_owned(),
            diagnostics,
        }
    }

    /// Says that something under the path could not be checked.
    pub fn failed(&mut self) {
        self.ok = false;
    }
}

fn entry(from: &envelope::Envelope) -> Entry {
    Entry {
        code: from.code.to_string(),
        severity: severity(from.severity),
        message: from.title.clone(),
        span: Place {
            file: from.span.file.clone(),
            line: from.span.line,
            col: from.span.col,
            end_line: from.span.end_line,
            end_col: from.span.end_col,
        },
    }
}
