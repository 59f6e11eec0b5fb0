//! Macro expansion: from the written trees to the trees that the HIR is lowered from, with the way back.
//! Must not resolve names beyond macro names.
//!
//! What the HIR expects of the expanded tree:
//! * calls of *user* macros, `name!(…)` and the legacy `name(…)`, are gone, each replaced by its template in
//!   `({ … })`, failed ones by `(0)` (the HIR types that `0` as poison if [`Expanded::poison`] holds its
//!   range);
//! * calls of the *standard* macros (`assert assert_eq assert_ne debug unreachable format vec`) stay as they
//!   are: the HIR lowers their arguments, holes of a `format!` template included, and stays silent about
//!   whatever expansion reports (MT6xxx).
//!
//! Reports of this module are in terms of the *written* text; [`SpanMap::report`] takes those of later passes
//! there.

mod calls;
pub(crate) mod format;
mod map;
mod names;
mod procedural;
mod rounds;
mod standard;
mod template;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use syntax::{Parse, SyntaxKind, TextRange};

use crate::diagnostic::Sink;
use crate::package::{FileId, Package};

pub use map::{Piece, SpanMap};

/// One file after expansion.
#[derive(Debug, Clone)]
pub struct Expanded {
    /// The tree that all HIR ranges and node identities refer to.
    pub parse: Arc<Parse>,
    /// From its text to the written one.
    pub map: SpanMap,
    /// Ranges, in the expanded text, of the literals that stand for failed calls; ascending.
    pub poison: Vec<TextRange>,
    /// Levels that code which recurses over the tree and into the arguments of standard macros has to expect.
    pub depth: u32,
}

/// Expands all files of a package. Files with hard syntax errors stay as they are: nothing after the parser
/// looks at them.
#[must_use]
pub fn expand(package: &Package, sink: &mut Sink) -> Vec<Expanded> {
    let mut expanded: Vec<Expanded> = package
        .files
        .iter()
        .map(|f| Expanded {
            parse: Arc::clone(&f.parse),
            map: SpanMap::default(),
            poison: Vec::new(),
            depth: f.parse.tree.max_depth(),
        })
        .collect();
    // A package without macros pays for this look only.
    if !package.files.iter().any(|f| has_macros(&f.parse)) {
        return expanded;
    }
    let macros = names::collect(package);
    for (i, file) in package.files.iter().enumerate() {
        if file.parse.has_hard_error() {
            continue;
        }
        let id = FileId(i as u32);
        procedural::check(&file.parse.tree, id, sink);
        rounds::run(&mut expanded[i], &file.parse.tree, &macros, id, sink);
    }
    expanded
}

fn has_macros(parse: &Parse) -> bool {
    use SyntaxKind::{MacroCall, MacroDef, ProcMacroDef};
    parse
        .tree
        .nodes()
        .any(|n| matches!(n.kind(), MacroCall | MacroDef | ProcMacroDef))
}
