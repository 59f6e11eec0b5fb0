//! Diagnostics for people, drawn by `annotate-snippets`. Only shows what an envelope holds.

use annotate_snippets::{AnnotationKind, Level as Look, Origin, Renderer, Snippet};
use mighty::tools::{Checked, Envelope, Level};

use super::terminal::Terminal;

/// Source of one report at most, in bytes; beyond it only the place is named.
const MAX_EXCERPT: usize = 16 << 10;
/// Lines of one report at most.
const MAX_LINES: usize = 6;

pub(super) struct Pretty {
    renderer: Renderer,
}

impl Pretty {
    pub(super) fn new(terminal: Terminal) -> Self {
        let renderer = if terminal.color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        Self {
            renderer: renderer.term_width(terminal.width),
        }
    }

    /// One report, without a last line feed.
    pub(super) fn report(&self, envelope: &Envelope, text: &str) -> String {
        let span = &envelope.span;
        let look = match envelope.severity {
            Level::Error => Look::ERROR,
            Level::Warning => Look::WARNING,
        };
        let code = envelope.code.to_string();
        let title = plain(&envelope.title);
        let path = plain(&span.file);
        let mut group = match excerpt(envelope, text) {
            Some((lines, range)) => look.primary_title(title).id(code).element(
                Snippet::source(lines)
                    .line_start(span.line)
                    .path(path)
                    .annotation(AnnotationKind::Primary.span(range)),
            ),
            None => look
                .primary_title(title)
                .id(code)
                .element(Origin::path(path).line(span.line).char_column(span.col)),
        };
        for note in &envelope.notes {
            group = group.element(Look::NOTE.message(plain(note)));
        }
        for alternative in envelope.fix.iter().flat_map(|fix| &fix.alternatives) {
            let label = format!("{} ({})", alternative.label, alternative.confidence.value());
            group = group.element(Look::HELP.message(plain(&label)));
        }
        self.renderer.render(&[group])
    }
}

/// The lines of a report and its range in them, line ends as LF.
fn excerpt(envelope: &Envelope, text: &str) -> Option<(String, std::ops::Range<usize>)> {
    let span = &envelope.span;
    let start = text
        .get(..span.byte_start)?
        .rfind('\n')
        .map_or(0, |i| i + 1);
    let mut end = span.byte_end.max(span.byte_start);
    for _ in 0..MAX_LINES {
        end = text
            .get(end..)?
            .find('\n')
            .map_or(text.len(), |i| end + i + 1);
        if end > span.byte_end || end == text.len() {
            break;
        }
    }
    let lines = text.get(start..end)?;
    if lines.len() > MAX_EXCERPT {
        return None;
    }
    let kept = |to: usize| {
        let part = text.get(start..to.min(end)).unwrap_or(lines);
        part.len() - part.matches("\r\n").count()
    };
    let lf = lines.replace("\r\n", "\n");
    let lf = lf.strip_suffix('\n').unwrap_or(&lf).to_owned();
    let from = kept(span.byte_start).min(lf.len());
    let to = kept(span.byte_end).clamp(from, lf.len());
    Some((lf, from..to))
}

/// Text without anything that a terminal obeys.
fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
}

/// `2 errors and 1 warning`, `1 error`; empty for neither.
pub(super) fn tally(checked: &[Checked]) -> String {
    let count = |level: Level| {
        let all = checked.iter().flat_map(|c| &c.envelopes);
        all.filter(|e| e.severity == level).count()
    };
    let words = |n: usize, one: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {one}s")),
    };
    let parts = [
        words(count(Level::Error), "error"),
        words(count(Level::Warning), "warning"),
    ];
    parts
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" and ")
}
