//! The diagnostic envelope, schema 1.0 (toolchain digest, section 5), in its key order. `kind` is the dialect's.
//! `mty check --format json` prints the same lines without it, so that both have one definition.

use schemars::JsonSchema;
use serde::Serialize;
use toolchain::Level;
use toolchain::envelope::{self, SCHEMA_VERSION, Snippet};

/// One diagnostic. Key order is the schema's.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Envelope {
    /// `1.0`; a minor step adds, a major one changes.
    schema_version: &'static str,
    /// `MTnnnn`
    code: String,
    /// `error` or `warning`
    severity: &'static str,
    span: Span,
    /// One line: what was found and what was expected.
    title: String,
    /// The explain text of the code and what is particular to this site.
    prose: String,
    /// What can be done about it; left out where nothing is at least 0.5 sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<Fix>,
    /// Codes, then paths of pages of this project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    see_also: Vec<String>,
    /// Only when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Span {
    /// The path as it was given.
    file: String,
    /// From 1.
    line: usize,
    /// From 1, in Unicode scalars.
    col: usize,
    /// In bytes.
    len: usize,
    /// First byte in the file as it is on disk.
    byte_start: usize,
    /// One past the last byte.
    byte_end: usize,
}

/// Ways to repair it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Fix {
    /// What it does, a word of the schema's list.
    kind: &'static str,
    /// The best alternative's, 0.5 to 1.
    confidence: f64,
    /// At least one, most confident first.
    alternatives: Vec<Alternative>,
}

/// One way to repair it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Alternative {
    label: String,
    /// Unified, LF only.
    diff: String,
    /// Why this helps.
    rationale: String,
    /// 0.5 to 1.
    confidence: f64,
}

/// The line of the place and one on either side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Source {
    /// From 1.
    start_line: usize,
    /// Without line ends; at most 1000 characters of each.
    lines: Vec<String>,
}

/// The word of a severity.
pub(crate) fn severity(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
    }
}

impl Envelope {
    /// The wire form, with source lines if they are wanted.
    #[must_use]
    pub fn new(from: &envelope::Envelope, source: Option<Snippet>) -> Self {
        let span = &from.span;
        Self {
            schema_version: SCHEMA_VERSION,
            code: from.code.to_string(),
            severity: severity(from.severity),
            span: Span {
                file: span.file.clone(),
                line: span.line,
                col: span.col,
                len: span.len(),
                byte_start: span.byte_start,
                byte_end: span.byte_end,
            },
            title: from.title.clone(),
            prose: from.prose(),
            fix: from.fix.as_ref().map(|fix| Fix {
                kind: fix.kind.word(),
                confidence: fix.confidence().value(),
                alternatives: fix.alternatives.iter().map(alternative).collect(),
            }),
            see_also: from.see_also.clone(),
            source: source.map(|Snippet { start_line, lines }| Source { start_line, lines }),
        }
    }
}

fn alternative(from: &toolchain::Alternative) -> Alternative {
    Alternative {
        label: from.label.clone(),
        diff: from.diff.clone(),
        rationale: from.rationale.clone(),
        confidence: from.confidence.value(),
    }
}
