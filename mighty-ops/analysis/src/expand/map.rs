//! The way from offsets of an expanded text back to the written one, and the builder that keeps it.
//! Must not know what a macro is.

use syntax::TextRange;

use crate::diagnostic::{Diagnostic, FixHint, Place};

/// How offsets of an expanded text relate to the written text.
#[derive(Debug, Clone, Default)]
pub struct SpanMap {
    /// Ascending and gapless over the expanded text; empty means the texts are the same.
    pub pieces: Vec<Piece>,
}

/// A run of expanded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// First byte in the expanded text.
    pub start: u32,
    /// What it comes from in the written text.
    pub written: TextRange,
    /// Whether it is a copy, byte by byte; otherwise all of it comes from all of `written` (a macro call).
    pub copied: bool,
}

impl SpanMap {
    /// The written range of a range of the expanded text: exact inside copied runs, otherwise the smallest
    /// range that covers the calls it came from.
    #[must_use]
    pub fn written(&self, range: TextRange) -> TextRange {
        if self.pieces.is_empty() {
            return range;
        }
        let end = range.end.max(range.start + 1) - 1;
        let first = self.at(range.start);
        let last = self.at(end);
        let start = if first.copied {
            first.written.start + (range.start - first.start)
        } else {
            first.written.start
        };
        if range.is_empty() && first.copied {
            return TextRange::new(start, start);
        }
        let end = if last.copied {
            last.written.start + (end - last.start) + 1
        } else {
            last.written.end
        };
        // An argument may be used out of order; then the call's pieces decide.
        TextRange::new(start.min(end), end.max(start))
    }

    /// Whether all of a range is a copy of one run of written text, so that an edit there can be made there.
    #[must_use]
    pub fn is_copy(&self, range: TextRange) -> bool {
        if self.pieces.is_empty() {
            return true;
        }
        let last = range.end.max(range.start + 1) - 1;
        let from = self.pieces.partition_point(|p| p.start <= range.start);
        let to = self.pieces.partition_point(|p| p.start <= last);
        from == to && self.at(range.start).copied
    }

    /// A report whose ranges lie in the expanded text, with all of them mapped. Facts for a fix are dropped
    /// when they point into a macro's template, where no edit would help.
    #[must_use]
    pub fn report(&self, mut report: Diagnostic) -> Diagnostic {
        if self.pieces.is_empty() {
            return report;
        }
        let editable = self.is_copy(report.range) && self.map_hint(&mut report.hint);
        if !editable {
            report.hint = FixHint::None;
        }
        report.range = self.written(report.range);
        report
    }

    /// Maps every place of a hint; whether all of them may be edited.
    fn map_hint(&self, hint: &mut FixHint) -> bool {
        let mut editable = true;
        hint.each_place(|place| match place {
            Place::Range(range) => {
                editable &= self.is_wide_copy(*range);
                *range = self.written(*range);
            }
            Place::At(at) => {
                let range = TextRange::new(*at, *at);
                editable &= self.is_copy(range);
                *at = self.written(range).start;
            }
        });
        editable
    }

    /// Whether both ends of a range are copies: an edit around macro calls is fine, one inside is not.
    fn is_wide_copy(&self, range: TextRange) -> bool {
        let last = range.end.max(range.start + 1) - 1;
        let (first, last) = (
            TextRange::new(range.start, range.start),
            TextRange::new(last, last),
        );
        self.is_copy(first) && self.is_copy(last) && {
            let (a, b) = (self.written(first).start, self.written(last).start);
            a <= b
        }
    }

    fn at(&self, offset: u32) -> Piece {
        let i = self.pieces.partition_point(|p| p.start <= offset);
        self.pieces[i.saturating_sub(1)]
    }
}

/// A text under construction, with its map and the poisoned literals in it.
pub(super) struct Builder<'a> {
    pub(super) text: String,
    pub(super) map: SpanMap,
    pub(super) poison: Vec<TextRange>,
    source: &'a str,
    source_map: &'a SpanMap,
    source_poison: &'a [TextRange],
}

impl<'a> Builder<'a> {
    /// A builder that copies from `source`.
    pub(super) fn new(
        source: &'a str,
        source_map: &'a SpanMap,
        source_poison: &'a [TextRange],
    ) -> Self {
        Self {
            text: String::with_capacity(source.len() + source.len() / 4),
            map: SpanMap::default(),
            poison: Vec::new(),
            source,
            source_map,
            source_poison,
        }
    }

    /// A state to go back to; take it before a `push`, never before a `copy`.
    pub(super) fn mark(&self) -> (usize, usize, usize) {
        (self.text.len(), self.map.pieces.len(), self.poison.len())
    }

    /// Forgets everything since a mark.
    pub(super) fn reset(&mut self, mark: (usize, usize, usize)) {
        self.text.truncate(mark.0);
        self.map.pieces.truncate(mark.1);
        self.poison.truncate(mark.2);
    }

    /// Where the next byte goes.
    pub(super) fn len(&self) -> u32 {
        self.text.len() as u32
    }

    /// Appends a run of the source.
    pub(super) fn copy(&mut self, range: TextRange) {
        if range.is_empty() {
            return;
        }
        let base = self.len();
        self.text
            .push_str(&self.source[std::ops::Range::from(range)]);
        let shift =
            |r: TextRange| TextRange::new(base + r.start - range.start, base + r.end - range.start);
        let from = self.source_poison.partition_point(|p| p.end <= range.start);
        let held = self.source_poison[from..]
            .iter()
            .take_while(|p| p.end <= range.end);
        self.poison.extend(held.map(|p| shift(*p)));
        let pieces = &self.source_map.pieces;
        if pieces.is_empty() {
            self.piece(base, range, true);
            return;
        }
        let first = pieces.partition_point(|p| p.start <= range.start) - 1;
        for p in pieces[first..].iter().take_while(|p| p.start < range.end) {
            let start = p.start.max(range.start);
            let at = base + start - range.start;
            if p.copied {
                let from = p.written.start + (start - p.start);
                let end = p.written.end.min(from + (range.end - start));
                self.piece(at, TextRange::new(from, end), true);
            } else {
                self.piece(at, p.written, false);
            }
        }
    }

    /// Appends text that comes from a call written at `call`.
    pub(super) fn push(&mut self, text: &str, call: TextRange) {
        if text.is_empty() {
            return;
        }
        self.piece(self.len(), call, false);
        self.text.push_str(text);
    }

    /// Appends the literal that stands for a failed call.
    pub(super) fn fail(&mut self, call: TextRange) {
        self.push("(", call);
        let at = self.len();
        self.poison.push(TextRange::new(at, at + 1));
        self.push("0)", call);
    }

    fn piece(&mut self, start: u32, written: TextRange, copied: bool) {
        if let Some(last) = self.map.pieces.last_mut() {
            if copied && last.copied && last.written.end == written.start {
                last.written.end = written.end;
                return;
            }
            if !copied && !last.copied && last.written == written {
                return;
            }
        }
        self.map.pieces.push(Piece {
            start,
            written,
            copied,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(a: u32, b: u32) -> TextRange {
        TextRange::new(a, b)
    }

    #[test]
    fn two_builders_in_a_row_map_back_to_the_first_text() {
        // written: "a M(xy) b"; first round: "a <(xy)> b"; second: "a <(x0)> b" is not made, "xy" is copied.
        let written = "a M(xy) b";
        let none = SpanMap::default();
        let mut one = Builder::new(written, &none, &[]);
        one.copy(r(0, 2));
        one.push("<", r(2, 7));
        one.copy(r(4, 6));
        one.push(">", r(2, 7));
        one.copy(r(7, 9));
        assert_eq!(one.text, "a <xy> b");
        assert_eq!(one.map.written(r(3, 4)), r(4, 5));
        assert_eq!(one.map.written(r(2, 3)), r(2, 7));
        assert_eq!(one.map.written(r(2, 6)), r(2, 7));
        assert_eq!(one.map.written(r(0, 8)), r(0, 9));
        assert!(
            one.map.is_copy(r(3, 5))
                && !one.map.is_copy(r(2, 5))
                && !one.map.is_copy(r(6, 8).min(r(5, 8)))
        );
        let (text, map) = (one.text, one.map);
        let mut two = Builder::new(&text, &map, &[]);
        two.copy(r(0, 3));
        two.fail(map.written(r(3, 4)));
        two.copy(r(4, 8));
        assert_eq!(two.text, "a <(0)y> b");
        assert_eq!(two.poison, [r(4, 5)]);
        assert_eq!(two.map.written(r(4, 5)), r(4, 5));
        assert_eq!(two.map.written(r(6, 7)), r(5, 6));
        assert_eq!(two.map.written(r(9, 10)), r(8, 9));
    }

    #[test]
    fn facts_inside_a_template_are_dropped() {
        let none = SpanMap::default();
        let mut b = Builder::new("M() b", &none, &[]);
        b.push("let q", r(0, 3));
        b.copy(r(3, 5));
        let report = |range, at| {
            let hint = FixHint::Insert {
                at,
                text: "x".into(),
            };
            b.map
                .report(Diagnostic::error(3014, crate::FileId(0), range, "t").hint(hint))
        };
        let inside = report(r(4, 5), 4);
        assert_eq!((inside.range, inside.hint), (r(0, 3), FixHint::None));
        let outside = report(r(6, 7), 6);
        assert_eq!(outside.range, r(4, 5));
        assert_eq!(
            outside.hint,
            FixHint::Insert {
                at: 4,
                text: "x".into()
            }
        );
    }
}
