//! Checks that wait until the types of a group are settled: literal ranges, casts, bounds, empty arrays,
//! matches (language.md §7.2, §7.3, §8, §9).
//! Must not bind variables any more.

use super::driver::{Cast, Ctx, Fx};
use crate::diagnostic::FixHint;
use crate::hir::*;
use crate::resolve::prelude;
use crate::ty::{Ty, TyKind};

impl Fx<'_, '_> {
    /// MT2003, before sequences are defaulted.
    pub(super) fn empty_literals(&mut self, cx: &Ctx) {
        if matches!(
            self.body.owner,
            Owner::Const(_) | Owner::State(..) | Owner::Sandbox(_)
        ) {
            return;
        }
        for (range, elem, at) in &cx.empties {
            if self.u.untouched(*elem) {
                let d = self.diagnostic(2003, *range, "nothing says what this `[]` holds");
                let hint = FixHint::Annotate {
                    at: *at,
                    ty: "Vec[I32]".to_owned(),
                };
                self.push(d.note("write its type: `let name: Vec[T] = []`").hint(hint));
            }
        }
    }

    /// `cx` holds final expression types; other types in it are resolved here.
    pub(super) fn waited_checks(&mut self, cx: &Ctx) {
        // A sign before an expression's literal of an unsigned type is an operator (below), a pattern's is not.
        let literals = cx.literals.iter().map(|l| (l, false));
        let patterns = cx.pat_literals.iter().map(|l| (l, true));
        let mut reported = None;
        for ((range, ty, value, negative), in_pattern) in literals.chain(patterns) {
            let ty = self.u.finish(*ty);
            if let TyKind::Int(t) = self.u.hir.tys.kind(ty)
                && !t.holds(*value, *negative)
                && (!*negative || t.signed() || in_pattern)
                && reported != Some(*range)
            {
                reported = Some(*range);
                let sign = if *negative { "-" } else { "" };
                let title = format!("{sign}{value} is no value of `{}`", t.name());
                let d = self.diagnostic(2001, *range, title);
                let found = format!("{sign}{value}");
                self.push(d.hint(FixHint::ExpectedFound {
                    expected: t.name().to_owned(),
                    found,
                }));
            }
        }
        for (range, ty) in &cx.negated {
            let ty = self.u.finish(*ty);
            if let TyKind::Int(t) = self.u.hir.tys.kind(ty)
                && !t.signed()
            {
                let title = format!("`-` is not defined for `{}`", t.name());
                self.error(2017, *range, title);
            }
        }
        for c in &cx.casts {
            self.judge_cast(c);
        }
        for b in &cx.bounds {
            let ty = self.u.finish(b.ty);
            self.judge_bound(b.range, ty, b.generic);
        }
        for m in &cx.matches {
            self.judge_match(*m, cx);
        }
    }

    /// §9.
    fn judge_cast(&mut self, c: &Cast) {
        let from = self.u.finish(c.from);
        let to = self.u.finish(c.to);
        let (f, t) = (self.u.hir.tys.kind(from), self.u.hir.tys.kind(to));
        let open = |k: TyKind| {
            matches!(
                k,
                TyKind::Error
                    | TyKind::Unknown
                    | TyKind::Never
                    | TyKind::Opaque(_)
                    | TyKind::Param(_)
                    | TyKind::SelfOf(_)
            )
        };
        if open(f) || open(t) {
            return;
        }
        if let (TyKind::Char, Some((value, negative))) = (t, c.literal) {
            let bad = (negative && value > 0)
                || u32::try_from(value).ok().and_then(char::from_u32).is_none();
            if bad {
                let title = format!(
                    "{}{value} is no Unicode scalar value",
                    if negative { "-" } else { "" }
                );
                self.error(2028, c.range, title);
            }
            return;
        }
        if self.cast_allowed(from, to) {
            return;
        }
        let (a, b) = (self.u.hir.show(from), self.u.hir.show(to));
        let mut d = self.diagnostic(2027, c.range, format!("`{a}` cannot be cast to `{b}`"));
        if let (TyKind::Int(_), TyKind::Char) = (f, t) {
            d = d.note("`Char.from_u32` gives an `Option[Char]`");
        }
        self.push(d.hint(FixHint::ExpectedFound {
            expected: b,
            found: a,
        }));
    }

    fn cast_allowed(&self, from: Ty, to: Ty) -> bool {
        let tys = &self.u.hir.tys;
        let number = |k: TyKind| matches!(k, TyKind::Int(_) | TyKind::Float(_));
        let (mut f, t) = (tys.kind(from), tys.kind(to));
        if let (TyKind::Ref(_, _), false) = (f, matches!(t, TyKind::Ptr(..) | TyKind::Ref(..))) {
            f = tys.kind(tys.peel(from));
        }
        match (f, t) {
            (TyKind::Int(_), TyKind::Bool)
            | (TyKind::Bool, TyKind::Int(_))
            | (TyKind::Char, TyKind::Int(_)) => true,
            // What is shared is not written through.
            (TyKind::Ref(_, false), TyKind::Ptr(_, true)) => false,
            (TyKind::Ref(a, _), TyKind::Ptr(b, _)) | (TyKind::Ptr(a, _), TyKind::Ptr(b, _)) => {
                a == b
                    || matches!(
                        tys.kind(a),
                        TyKind::Unknown | TyKind::Error | TyKind::Opaque(_)
                    )
                    || matches!(
                        tys.kind(b),
                        TyKind::Unknown | TyKind::Error | TyKind::Opaque(_)
                    )
            }
            // A cast to its own type is no conversion; scalars only.
            (TyKind::Bool, TyKind::Bool)
            | (TyKind::Char, TyKind::Char)
            | (TyKind::Duration, TyKind::Duration)
            | (TyKind::Size, TyKind::Size)
            | (TyKind::Unit, TyKind::Unit) => true,
            // Sizes and durations are counts of a unit nobody fixed for casts.
            (TyKind::Duration | TyKind::Size, k) | (k, TyKind::Duration | TyKind::Size)
                if number(k) =>
            {
                true
            }
            (TyKind::Dyn(_) | TyKind::AgentRef(_) | TyKind::Fn(..), _) => true,
            (a, b) if number(a) && number(b) => true,
            _ => from == to && !matches!(f, TyKind::Str | TyKind::String),
        }
    }

    /// [R:G27].
    fn judge_bound(&mut self, range: syntax::TextRange, ty: Ty, generic: GenericId) {
        let g = self.u.hir.generics[generic.index()].clone();
        let kind = self.u.hir.tys.kind(self.u.hir.tys.peel(ty));
        let open = matches!(
            kind,
            TyKind::Error
                | TyKind::Unknown
                | TyKind::Never
                | TyKind::Opaque(_)
                | TyKind::SelfOf(_)
                | TyKind::Fn(..)
        );
        if open {
            return;
        }
        for tr in &g.bounds {
            let fits = match kind {
                TyKind::Param(p) => {
                    let p = &self.u.hir.generics[p.index()];
                    p.open || p.bounds.contains(tr)
                }
                TyKind::Dyn(t) => t == *tr,
                k => self.u.tables.implements(k, *tr),
            };
            if !fits {
                let tr = self
                    .u
                    .hir
                    .text(self.u.hir.traits[tr.index()].head.name)
                    .to_owned();
                let shown = self.u.hir.show(ty);
                let d =
                    self.diagnostic(2001, range, format!("`{shown}` does not implement `{tr}`"));
                self.push(d.hint(FixHint::ExpectedFound {
                    expected: tr,
                    found: shown,
                }));
            }
        }
        for m in &g.markers {
            let name = self.u.hir.text(*m);
            let derives = match kind {
                TyKind::Struct(s, _) => &self.u.hir.structs[s.index()].derives,
                TyKind::Enum(e, _) => &self.u.hir.enums[e.index()].derives,
                _ => continue,
            };
            // Plain owned types are sendable without the derive ([R:G42]); any faulty derive is reported itself.
            if name == "Sendable"
                || derives.iter().any(|(n, _)| n == m)
                || !prelude::is_marker(name)
            {
                continue;
            }
            let by_impl = super::tables::head_key(kind)
                .is_some_and(|k| self.u.tables.markers.contains(&(k, *m)));
            if !by_impl {
                let name = name.to_owned();
                let shown = self.u.hir.show(ty);
                let d = self.diagnostic(2001, range, format!("`{shown}` does not derive `{name}`"));
                self.push(d.hint(FixHint::ExpectedFound {
                    expected: name,
                    found: shown,
                }));
            }
        }
    }

    fn judge_match(&mut self, e: ExprId, cx: &Ctx) {
        let ExprKind::Match { scrutinee, arms } = self.body.expr(e).kind else {
            return;
        };
        let found = cx.bt.of(scrutinee);
        let ty = self.u.hir.tys.peel(found);
        let arms = self.body.arms_of(arms);
        let report = crate::exhaust::check(self.u.hir, self.body, &cx.bt, ty, arms);
        for i in report.unreachable {
            let arm = arms[i];
            let file = self.body.file;
            let range = self.body.pat(arm.pat).range;
            let d = crate::diagnostic::Diagnostic::warning(
                2016,
                file,
                range,
                "no value reaches this arm",
            );
            self.push(d.hint(FixHint::Delete { range: arm.range }));
        }
        if !report.missing.is_empty() {
            let shown: Vec<String> = report.missing.iter().map(|m| format!("`{m}`")).collect();
            let x = self.body.expr(e).range;
            let range = self.body.expr(scrutinee).range;
            let d = self.diagnostic(
                2015,
                range,
                format!("this match does not cover {}", shown.join(", ")),
            );
            let insert_at = x.end.saturating_sub(1);
            self.push(d.hint(FixHint::MissingArms {
                patterns: report.missing,
                insert_at,
            }));
        }
    }
}
