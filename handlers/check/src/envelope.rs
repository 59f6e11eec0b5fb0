//! The diagnostic envelope, schema 1.0 (toolchain digest, section 5), in its key order. `kind` is the dialect's.
//! `mty check --format json` prints the same lines without it, so that both have one definition.

use mty_agent::messages::{Alternative, Envelope, Fix, Severity, Source, Span};
use toolchain::Level;
use toolchain::envelope::{self, SCHEMA_VERSION, Snippet};

/// The word of a severity.
pub(crate) fn severity(level: Level) -> Severity {
    match level {
        Level::Error => Severity::Error,
        Level::Warning => Severity::Warning,
    }
}

/// The wire form, with source lines if they are wanted.
#[must_use]
pub fn line(from: &envelope::Envelope, source: Option<Snippet>) -> Envelope {
    let span = &from.span;
    Envelope {
        schema_version: SCHEMA_VERSION.into(),
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
            kind: fix.kind.word().into(),
            confidence: fix.confidence().value(),
            alternatives: fix.alternatives.iter().map(alternative).collect(),
        }),
        see_also: from.see_also.clone(),
        source: source.map(|Snippet { start_line, lines }| Source { start_line, lines }),
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
