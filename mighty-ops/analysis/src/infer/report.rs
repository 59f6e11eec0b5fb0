//! The words of type reports and where they point.
//! Must not decide that something is wrong.

use syntax::TextRange;

use super::driver::Fx;
use crate::diagnostic::{Diagnostic, FixHint};
use crate::hir::*;
use crate::resolve::suggest;
use crate::ty::Ty;

impl Fx<'_, '_> {
    pub(super) fn push(&mut self, d: Diagnostic) {
        self.sink.push(d);
    }

    pub(super) fn error(&mut self, code: u16, range: TextRange, title: impl Into<String>) {
        let file = self.body.file;
        self.sink.push(Diagnostic::error(code, file, range, title));
    }

    pub(super) fn diagnostic(
        &self,
        code: u16,
        range: TextRange,
        title: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::error(code, self.body.file, range, title)
    }

    /// The expression whose value an expression has: the last tail of a block, the first branch of an `if`.
    pub(super) fn innermost(&self, mut e: ExprId) -> ExprId {
        loop {
            e = match self.body.expr(e).kind {
                ExprKind::Block { tail: Some(t), .. } => t,
                ExprKind::If { then, .. } => then,
                ExprKind::Match { arms, .. } => match self.body.arms_of(arms).first() {
                    Some(a) => a.body,
                    None => return e,
                },
                ExprKind::Region {
                    kind: Region::Detach,
                    ..
                } => return e,
                ExprKind::Region { body, .. } | ExprKind::Run(body) => body,
                _ => return e,
            };
        }
    }

    /// Where a wrong value is reported: its tail, or the closing brace of a block that has none.
    pub(super) fn value_range(&self, e: ExprId) -> TextRange {
        let e = self.innermost(e);
        let x = self.body.expr(e);
        match x.kind {
            ExprKind::Block { tail: None, .. } if x.range.len() > 1 => {
                TextRange::new(x.range.end - 1, x.range.end)
            }
            _ => x.range,
        }
    }

    /// A mismatch of `found` where `expected` is wanted.
    pub(super) fn mismatch(&mut self, code: u16, range: TextRange, expected: Ty, found: Ty) {
        let (expected, found) = (self.u.show(expected), self.u.show(found));
        let title = match code {
            2018 => format!("the branches of this `if` differ: `{expected}` and `{found}`"),
            2019 => format!("the result is `{expected}`, but this is `{found}`"),
            _ => format!("expected `{expected}`, found `{found}`"),
        };
        let mut d = self.diagnostic(code, range, title);
        if code == 2019
            && let Some(note) = self.row_note(&expected)
        {
            d = d.note(note);
        }
        self.push(d.hint(FixHint::ExpectedFound { expected, found }));
    }

    /// `-> (A, B)!E` reads as a row variable (§3.2), which few mean who write it.
    fn row_note(&self, result: &str) -> Option<String> {
        let Owner::Fn(f) = self.body.owner else {
            return None;
        };
        let f = &self.u.hir.fns[f.index()];
        let (name, _) = f.effects.as_ref()?.rows.first()?;
        let declared = f
            .generics
            .iter()
            .any(|g| self.u.hir.generics[g.index()].name == *name);
        let name = self.u.hir.text(*name);
        (!declared).then(|| {
            format!("`!{name}` here names effects; for an error write `Result[{result}, {name}]`")
        })
    }

    /// MT2006: a struct without a field of that name.
    pub(super) fn unknown_field(&mut self, s: StructId, name: Name, range: TextRange) {
        let item = &self.u.hir.structs[s.index()];
        let names: Vec<Name> = item.fields.iter().map(|x| x.name).collect();
        let title = format!(
            "the struct `{}` has no field `{}`",
            self.u.hir.text(item.head.name),
            self.u.hir.text(name)
        );
        let d = self.diagnostic(2006, range, title);
        let d = self.with_near(d, name, &names);
        self.push(d);
    }

    /// Adds the nearest of some names.
    pub(super) fn with_near(&self, d: Diagnostic, name: Name, candidates: &[Name]) -> Diagnostic {
        let hir = &self.u.hir;
        let near = suggest::nearest(hir.text(name), candidates.iter().map(|n| hir.text(*n)));
        match near {
            Some((to, distance)) => d
                .note(format!("did you mean `{to}`?"))
                .hint(FixHint::Rename {
                    to: to.to_owned(),
                    distance,
                }),
            None => d,
        }
    }

    /// MT2005.
    pub(super) fn wrong_count(
        &mut self,
        range: TextRange,
        what: &str,
        expected: &[Ty],
        at_least: bool,
        found: usize,
    ) {
        let n = expected.len();
        let least = if at_least { "at least " } else { "" };
        let s = if n == 1 { "" } else { "s" };
        let title = format!("{what} takes {least}{n} argument{s}, {found} given");
        let expected = expected.iter().map(|t| self.u.show(*t)).collect();
        let d = self.diagnostic(2005, range, title);
        self.push(d.hint(FixHint::Arguments {
            expected,
            found,
            args: range,
        }));
    }
}
