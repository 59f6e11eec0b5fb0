//! Where a value of one type may stand for another: references followed, slices, `dyn` (language.md §8, §10).
//! Must not report.

use super::unify::{Kind, Unifier};
use crate::ty::{Ty, TyKind};

impl Unifier<'_> {
    /// Whether a value of type `from` may stand where `to` is wanted; makes them equal where needed. Says by
    /// how many references it was followed.
    pub(super) fn coerce(&mut self, from: Ty, to: Ty) -> Option<u8> {
        let (from, to) = (self.resolve(from), self.resolve(to));
        if from == to {
            return Some(0);
        }
        let (f, t) = (self.hir.tys.kind(from), self.hir.tys.kind(to));
        match (f, t) {
            (TyKind::Never, _) => return Some(0),
            (TyKind::Ref(a, _), TyKind::Ref(b, false)) => {
                return self.coerce_behind(a, b).then_some(0);
            }
            (TyKind::Ref(a, true), TyKind::Ref(b, true)) => {
                return self.coerce_behind(a, b).then_some(0);
            }
            (_, TyKind::Dyn(tr)) if self.has_impl(from, tr) => return Some(0),
            (TyKind::Ref(a, _), _)
                if !matches!(t, TyKind::Var(_) | TyKind::Error | TyKind::Unknown) =>
            {
                let (inner, n) = self.peel(a);
                if !self.unify(inner, to) {
                    return None;
                }
                let full = self.zonk_open(inner);
                let fits = crate::ty::is_copy(self.hir, full)
                    || matches!(
                        self.hir.tys.kind(full),
                        TyKind::Family(_) | TyKind::Unknown | TyKind::Var(_) | TyKind::Dyn(_)
                    );
                // Text may be borrowed from owned text ([R:G26]).
                let text = t == TyKind::Str && self.hir.tys.kind(full) == TyKind::String;
                return (fits || text).then_some(n.saturating_add(1));
            }
            (TyKind::Ref(_, m), TyKind::Var(_)) => {
                // A number or sequence that is wanted is not a reference: follow it.
                if let Some(Kind::Integer | Kind::Float) = self.open_kind(to) {
                    let (inner, n) = self.peel(from);
                    return self.unify(inner, to).then_some(n);
                }
                if let Some(Kind::Seq { .. }) = self.open_kind(to) {
                    let (inner, n) = self.peel(from);
                    let _ = m;
                    return self.unify(inner, to).then_some(n);
                }
            }
            (TyKind::Fn(p, r), TyKind::Fn(q, s)) => {
                // Results may be discarded where nothing is wanted ([R:G31]).
                if self.resolve(s) == Ty::UNIT {
                    self.steps = 0;
                    return self.unify_lists(p, q).then_some(0);
                }
                self.steps = 0;
                return (self.unify_lists(p, q) && self.unify_at(r, s)).then_some(0);
            }
            (TyKind::Option(a), TyKind::Option(b)) => return self.coerce_inside(a, b),
            _ => {}
        }
        self.unify(from, to).then_some(0)
    }

    pub(super) fn coerce_inside(&mut self, a: Ty, b: Ty) -> Option<u8> {
        if let TyKind::Ref(..) = self.shape(a) {
            return self.coerce(a, b);
        }
        self.unify(a, b).then_some(0)
    }

    /// Behind a reference: arrays and collections are slices, a type with an impl is the `dyn`.
    pub(super) fn coerce_behind(&mut self, a: Ty, b: Ty) -> bool {
        let (a, b) = (self.resolve(a), self.resolve(b));
        match (self.hir.tys.kind(a), self.hir.tys.kind(b)) {
            (TyKind::Vec(x) | TyKind::List(x) | TyKind::Array(x, _), TyKind::Slice(y)) => {
                self.unify(x, y)
            }
            (_, TyKind::Dyn(tr)) if self.has_impl(a, tr) => true,
            (TyKind::Ref(x, _), k) if !matches!(k, TyKind::Ref(..) | TyKind::Var(_)) => {
                self.coerce_behind(x, b)
            }
            _ => self.unify(a, b),
        }
    }

    /// Whether a type can stand for a `dyn` of the trait.
    pub(super) fn has_impl(&mut self, ty: Ty, tr: crate::hir::TraitId) -> bool {
        let (ty, _) = self.peel(ty);
        match self.hir.tys.kind(ty) {
            TyKind::Dyn(t) => t == tr,
            TyKind::Var(_)
            | TyKind::Error
            | TyKind::Unknown
            | TyKind::Opaque(_)
            | TyKind::Never => true,
            TyKind::Param(g) => {
                let g = &self.hir.generics[g.index()];
                g.open || g.bounds.contains(&tr)
            }
            TyKind::SelfOf(t) => t == tr,
            kind => self.tables.implements(kind, tr),
        }
    }
}
