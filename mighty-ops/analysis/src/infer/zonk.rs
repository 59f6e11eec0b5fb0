//! From types with variables to types without: for messages, for questions in between, and for good
//! (language.md §7.1, step 4).
//! Must not bind variables, defaults of literal kinds excepted.

use super::unify::{Kind, MAX_DEPTH, MAX_STEPS, Slot, Unifier};
use crate::ty::{Ty, TyKind};

impl Unifier<'_> {
    /// The type with every bound variable replaced; open ones stay.
    pub(super) fn zonk_open(&mut self, ty: Ty) -> Ty {
        self.steps = 0;
        let ty = self.resolve(ty);
        self.zonk_with(ty, 0, &|_, _| None)
    }

    /// For messages: open kinds as `{integer}` and `{float}`, sequences as arrays.
    pub(super) fn show(&mut self, ty: Ty) -> String {
        let names = self.kind_names;
        self.steps = 0;
        let t = self.zonk_with(ty, 0, &|u, kind| match kind {
            Kind::Any => None,
            Kind::Integer => Some(u.hir.tys.intern(TyKind::Opaque(names.integer))),
            Kind::Float => Some(u.hir.tys.intern(TyKind::Opaque(names.float))),
            Kind::Seq { elem, len } => {
                let elem = u.zonk_with(elem, 48, &|_, _| None);
                Some(u.hir.tys.intern(TyKind::Array(elem, len)))
            }
        });
        self.hir.show(t)
    }

    pub(super) fn zonk_with(
        &mut self,
        ty: Ty,
        depth: u32,
        of: &dyn Fn(&mut Self, Kind) -> Option<Ty>,
    ) -> Ty {
        let ty = self.resolve(ty);
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return Ty::ERROR;
        }
        if let Some(kind) = self.open_kind(ty) {
            return of(self, kind).unwrap_or(ty);
        }
        let mut parts = Vec::new();
        self.hir.tys.parts(ty, &mut |t| parts.push(t));
        if parts.is_empty() {
            return ty;
        }
        let new: Vec<Ty> = parts
            .iter()
            .map(|t| self.zonk_with(*t, depth + 1, of))
            .collect();
        if new == parts {
            ty
        } else {
            self.rebuild(ty, &new)
        }
    }

    /// A type with other direct parts.
    pub(super) fn rebuild(&mut self, ty: Ty, parts: &[Ty]) -> Ty {
        let s = &mut self.hir.tys;
        let kind = match s.kind(ty) {
            TyKind::Tuple(_) => TyKind::Tuple(s.list_of(parts)),
            TyKind::Struct(id, _) => TyKind::Struct(id, s.list_of(parts)),
            TyKind::Enum(id, _) => TyKind::Enum(id, s.list_of(parts)),
            TyKind::Fn(..) => {
                let (last, front) = parts.split_last().unwrap_or((&Ty::UNKNOWN, &[]));
                TyKind::Fn(s.list_of(front), *last)
            }
            TyKind::Array(_, n) => TyKind::Array(parts[0], n),
            TyKind::Slice(_) => TyKind::Slice(parts[0]),
            TyKind::Ref(_, m) => TyKind::Ref(parts[0], m),
            TyKind::Ptr(_, m) => TyKind::Ptr(parts[0], m),
            TyKind::Option(_) => TyKind::Option(parts[0]),
            TyKind::Vec(_) => TyKind::Vec(parts[0]),
            TyKind::List(_) => TyKind::List(parts[0]),
            TyKind::Set(_) => TyKind::Set(parts[0]),
            TyKind::Range(_) => TyKind::Range(parts[0]),
            TyKind::AgentRef(_) => TyKind::AgentRef(parts[0]),
            TyKind::Task(_) => TyKind::Task(parts[0]),
            TyKind::Result(..) => TyKind::Result(parts[0], parts[1]),
            TyKind::Map(..) => TyKind::Map(parts[0], parts[1]),
            _ => return ty,
        };
        s.intern(kind)
    }

    /// Defaults what is open: literals to `I32` and `F64`, sequences to arrays or `Vec`.
    pub(super) fn default_kinds(&mut self) {
        for i in 0..self.vars.slots.len() {
            if let Slot::Open { kind, .. } = self.vars.slots[i] {
                match kind {
                    Kind::Integer => self.vars.slots[i] = Slot::Bound(Ty::I32),
                    Kind::Float => self.vars.slots[i] = Slot::Bound(Ty::F64),
                    Kind::Any | Kind::Seq { .. } => {}
                }
            }
        }
        for i in 0..self.vars.slots.len() {
            if let Slot::Open {
                kind: Kind::Seq { elem, len },
                ..
            } = self.vars.slots[i]
            {
                let kind = match len {
                    Some(0) | None => TyKind::Vec(elem),
                    Some(n) => TyKind::Array(elem, Some(n)),
                };
                let ty = self.hir.tys.intern(kind);
                self.vars.slots[i] = Slot::Bound(ty);
            }
        }
    }

    /// The final type after defaulting: what is still open is `Unknown`.
    pub(super) fn finish(&mut self, ty: Ty) -> Ty {
        if let Some(t) = self.vars.cache.get(&ty) {
            return *t;
        }
        let done = self.finish_at(ty, 0);
        self.vars.cache.insert(ty, done);
        done
    }

    pub(super) fn finish_at(&mut self, ty: Ty, depth: u32) -> Ty {
        let ty = self.resolve(ty);
        if depth > MAX_DEPTH {
            return Ty::ERROR;
        }
        if let Some(t) = self.vars.cache.get(&ty) {
            return *t;
        }
        if let TyKind::Var(_) = self.hir.tys.kind(ty) {
            return Ty::UNKNOWN;
        }
        let mut parts = Vec::new();
        self.hir.tys.parts(ty, &mut |t| parts.push(t));
        let done = if parts.is_empty() {
            ty
        } else {
            let new: Vec<Ty> = parts
                .iter()
                .map(|t| self.finish_at(*t, depth + 1))
                .collect();
            if new == parts {
                ty
            } else {
                self.rebuild(ty, &new)
            }
        };
        self.vars.cache.insert(ty, done);
        done
    }
}
