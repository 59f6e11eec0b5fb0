//! The entry point: runs the passes in the order of language.md §27 and gathers their reports.
//! Must not hold rules of its own.
//!
//! Stack: lowering and inference recurse over the tree, which the parser bounds to
//! [`syntax::MAX_DEPTH`] levels (deeper ones are MT0030). Trees deeper than [`SHALLOW`] are checked on a thread
//! of their own with a stack that fits the bound in debug builds too; its pages are only touched as needed.

use std::panic::AssertUnwindSafe;

use rustc_hash::FxHashMap;
use syntax::SyntaxKind;
use tokio_util::sync::CancellationToken;

use crate::agents;
use crate::attributes;
use crate::borrow;
use crate::capabilities;
use crate::code::Code;
use crate::consteval;
use crate::diagnostic::{self, Diagnostic, FixHint, Level, Sink};
use crate::effects;
use crate::expand::{self, Expanded};
use crate::hir::{ExprKind, Function, Hir};
use crate::infer::{self, Types};
use crate::lower;
use crate::package::{FileId, Options, Package};
use crate::taint;
use crate::ty::Ty;
use crate::unfinished::{Unfinished, on_stack, wanted};

/// Trees up to this depth are checked on the caller's stack.
const SHALLOW: u32 = 96;

/// Bytes of stack for deep trees: some 40 KB for each level of the deepest tree.
const STACK: usize = 256 << 20;

/// The outcome of a check.
#[derive(Debug)]
pub struct Analysis {
    /// All reports, by file, position and code; ranges are those of the written, normalised text.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether there were more than [`MAX_REPORTS`](crate::MAX_REPORTS) and some were left out. Warnings go first.
    pub cut: bool,
    /// The lowered package and its types, unless a hard error stopped before (language.md §27).
    pub program: Option<Program>,
}

/// What the passes worked on; the interpreters start from it.
#[derive(Debug)]
pub struct Program {
    /// Items and bodies.
    pub hir: Hir,
    /// Types of the bodies.
    pub types: Types,
    /// Expanded trees and the way back from them.
    pub files: Vec<Expanded>,
}

impl Analysis {
    /// Whether there is an error; warnings leave exit codes alone.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Checks a package. Always gives the same answer for it.
///
/// # Errors
/// [`Unfinished`], where the check broke off: such a program is neither right nor wrong.
pub fn check(package: &Package, options: &Options) -> Result<Analysis, Unfinished> {
    check_until(package, options, &CancellationToken::new())
}

/// Checks a package like [`check`], until `cancel` is cancelled: that is looked at between the passes, and
/// before each body in those that take long.
///
/// # Errors
/// [`Unfinished`], where the check broke off or was cancelled.
pub fn check_until(
    package: &Package,
    options: &Options,
    cancel: &CancellationToken,
) -> Result<Analysis, Unfinished> {
    std::panic::catch_unwind(AssertUnwindSafe(|| whole(package, options, cancel)))
        .unwrap_or_else(|payload| Err(Unfinished::panicked(&*payload)))
}

fn whole(
    package: &Package,
    options: &Options,
    cancel: &CancellationToken,
) -> Result<Analysis, Unfinished> {
    if package.files.iter().any(|f| f.parse.has_hard_error()) {
        return Ok(syntax_only(package));
    }
    // Reports with ranges of the written text.
    let mut written = Sink::default();
    syntax_errors(package, &mut written);
    attributes::check(package, &mut written);
    // Neither of these recurses, and templates may nest deeper than anything written.
    let files = expand::expand(package, &mut written);
    let deepest = files.iter().map(|f| f.depth).max().unwrap_or(0);
    if deepest <= SHALLOW {
        return passes(package, options, files, written, cancel);
    }
    on_stack(STACK, || passes(package, options, files, written, cancel))?
}

fn syntax_only(package: &Package) -> Analysis {
    let mut sink = Sink::default();
    syntax_errors(package, &mut sink);
    let mut cut = sink.is_cut();
    let mut diagnostics = sink.into_sorted();
    cut |= diagnostic::cut(&mut diagnostics);
    Analysis {
        diagnostics,
        cut,
        program: None,
    }
}

/// Everything behind expansion.
fn passes(
    package: &Package,
    options: &Options,
    files: Vec<Expanded>,
    mut written: Sink,
    cancel: &CancellationToken,
) -> Result<Analysis, Unfinished> {
    wanted(cancel)?;
    // Reports with ranges of the expanded text.
    let mut sink = Sink::default();
    let mut hir = lower::lower(package, &files, options, &mut sink);
    wanted(cancel)?;
    agents::check(&hir, &mut sink);
    let types = infer::infer(&mut hir, cancel, &mut sink);
    wanted(cancel)?;
    if !sink.has_errors() {
        consteval::check(&hir, &types, &mut sink)?;
    }
    wanted(cancel)?;
    effects::check(&hir, &types, options, &mut sink);
    wanted(cancel)?;
    capabilities::check(&hir, &types, &mut sink);
    taint::check(&hir, &types, &mut sink);
    if !sink.has_errors() && !written.has_errors() {
        wanted(cancel)?;
        borrow::check(&hir, &types, options, cancel, &mut sink);
    }
    wanted(cancel)?;
    let mut cut = sink.is_cut();
    for d in sink.into_sorted() {
        let map = &files[d.file.index()].map;
        written.push(map.report(d));
    }
    cut |= written.is_cut();
    let mut diagnostics = written.into_sorted();
    cut |= diagnostic::cut(&mut diagnostics);
    return_types(&mut diagnostics, &hir, &types, &files);
    Ok(Analysis {
        diagnostics,
        cut,
        program: Some(Program { hir, types, files }),
    })
}

/// Gives the parser's MT0021 the type that the function's body says.
fn return_types(diagnostics: &mut [Diagnostic], hir: &Hir, types: &Types, files: &[Expanded]) {
    let mut without: Vec<_> = diagnostics
        .iter_mut()
        .filter(|d| d.code.number() == 21)
        .collect();
    if without.is_empty() {
        return;
    }
    let written = |f: &Function, range| files[f.head.file.index()].map.written(range);
    let by_name: FxHashMap<_, _> = hir
        .fns
        .iter()
        .map(|f| ((f.head.file, written(f, f.head.name_range).start), f))
        .collect();
    for d in &mut without {
        let Some(f) = by_name.get(&(d.file, d.range.start)) else {
            continue;
        };
        let Some(id) = f.body else { continue };
        let body = hir.body(id);
        let tail = match body.expr(body.root).kind {
            ExprKind::Block { tail, .. } => tail,
            _ => Some(body.root),
        };
        let ty = tail.map_or(Ty::UNIT, |t| types.body(id).of(t));
        if matches!(ty, Ty::UNKNOWN | Ty::ERROR | Ty::NEVER) {
            // Nothing is known: the fix offers its default, less sure of it.
            continue;
        }
        // After the parameter list of the written text.
        let view = files[d.file.index()].parse.tree.node(f.head.node);
        let Some(list) = view.child(SyntaxKind::ParamList) else {
            continue;
        };
        let at = written(f, list.range()).end;
        d.hint = FixHint::Annotate {
            at,
            ty: hir.show(ty),
        };
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
