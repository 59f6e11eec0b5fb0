//! Inference variables: kinds, unification, coercion (language.md §7.1 to §7.3, §8).
//! Must not report; callers know what a failure means where.

use rustc_hash::FxHashMap;

use crate::hir::{Hir, Name};
use crate::ty::{Ty, TyKind};

use super::tables::Tables;

/// What an unbound variable may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    Integer,
    Float,
    /// A sequence literal: element type and length; of different lengths merged, no length.
    Seq {
        elem: Ty,
        len: Option<u64>,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    Open { kind: Kind, touched: bool },
    Bound(Ty),
}

/// Steps one comparison of types may take before it gives up and agrees.
pub(super) const MAX_STEPS: u32 = 20_000;

/// How deep a type may nest; beyond that it is poison.
pub(super) const MAX_DEPTH: u32 = 64;

/// Whether a type holds a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occurs {
    No,
    Yes,
    /// More than can be looked through.
    TooLarge,
}

/// The variables of one group of bodies that settle together.
#[derive(Debug, Default)]
pub(super) struct Vars {
    pub(super) slots: Vec<Slot>,
    /// Final types, once settled.
    pub(super) cache: FxHashMap<Ty, Ty>,
}

/// Names that stand for open kinds in messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct KindNames {
    pub(super) integer: Name,
    pub(super) float: Name,
}

/// Types, variables and what unification must know about items.
pub(super) struct Unifier<'h> {
    pub(super) hir: &'h mut Hir,
    pub(super) vars: Vars,
    pub(super) tables: Tables,
    pub(super) kind_names: KindNames,
    pub(super) steps: u32,
}

impl<'h> Unifier<'h> {
    pub(super) fn new(hir: &'h mut Hir, tables: Tables) -> Self {
        let kind_names = KindNames {
            integer: hir.names.intern("{integer}"),
            float: hir.names.intern("{float}"),
        };
        Self {
            hir,
            vars: Vars::default(),
            tables,
            kind_names,
            steps: 0,
        }
    }

    pub(super) fn var(&mut self, kind: Kind) -> Ty {
        let i = self.vars.slots.len() as u32;
        self.vars.slots.push(Slot::Open {
            kind,
            touched: false,
        });
        self.hir.tys.intern(TyKind::Var(i))
    }

    pub(super) fn fresh(&mut self) -> Ty {
        self.var(Kind::Any)
    }

    /// The type with outer variables followed.
    pub(super) fn resolve(&self, mut ty: Ty) -> Ty {
        while let TyKind::Var(i) = self.hir.tys.kind(ty) {
            match self.vars.slots.get(i as usize) {
                Some(Slot::Bound(t)) => ty = *t,
                _ => break,
            }
        }
        ty
    }

    /// As `resolve`; chains of variables on the way are cut, so that following them again takes one step.
    fn shorten(&mut self, mut ty: Ty) -> Ty {
        let root = self.resolve(ty);
        while let TyKind::Var(i) = self.hir.tys.kind(ty)
            && let Some(Slot::Bound(next)) = self.vars.slots.get_mut(i as usize)
        {
            ty = std::mem::replace(next, root);
        }
        root
    }

    /// The shape of a type, outer variables followed.
    pub(super) fn shape(&self, ty: Ty) -> TyKind {
        self.hir.tys.kind(self.resolve(ty))
    }

    /// The kind of an open variable.
    pub(super) fn open_kind(&self, ty: Ty) -> Option<Kind> {
        match self.shape(ty) {
            TyKind::Var(i) => match self.vars.slots.get(i as usize) {
                Some(Slot::Open { kind, .. }) => Some(*kind),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the type is an open variable that nothing was ever unified with.
    pub(super) fn untouched(&self, ty: Ty) -> bool {
        match self.shape(ty) {
            TyKind::Var(i) => matches!(
                self.vars.slots.get(i as usize),
                Some(Slot::Open {
                    kind: Kind::Any,
                    touched: false
                })
            ),
            _ => false,
        }
    }

    /// Notes that something was compared with an open variable.
    pub(super) fn touch(&mut self, ty: Ty) {
        if let TyKind::Var(i) = self.shape(ty)
            && let Some(Slot::Open { touched, .. }) = self.vars.slots.get_mut(i as usize)
        {
            *touched = true;
        }
    }

    /// References removed, with their number.
    pub(super) fn peel(&self, ty: Ty) -> (Ty, u8) {
        let mut ty = self.resolve(ty);
        let mut n = 0u8;
        while let TyKind::Ref(inner, _) = self.hir.tys.kind(ty) {
            ty = self.resolve(inner);
            n = n.saturating_add(1);
        }
        (ty, n)
    }

    /// Replaces every `Unknown` by a fresh variable.
    pub(super) fn instantiate(&mut self, ty: Ty) -> Ty {
        if !self.has_unknown(ty) {
            return ty;
        }
        self.replace_unknown(ty)
    }

    fn has_unknown(&self, ty: Ty) -> bool {
        if ty == Ty::UNKNOWN {
            return true;
        }
        let mut found = false;
        self.hir
            .tys
            .parts(ty, &mut |t| found = found || self.has_unknown(t));
        found
    }

    fn replace_unknown(&mut self, ty: Ty) -> Ty {
        let Self { hir, vars, .. } = self;
        hir.tys.map(ty, &mut |store, t| {
            (t == Ty::UNKNOWN).then(|| {
                let i = vars.slots.len() as u32;
                vars.slots.push(Slot::Open {
                    kind: Kind::Any,
                    touched: false,
                });
                store.intern(TyKind::Var(i))
            })
        })
    }

    /// Makes two types equal if they can be.
    pub(super) fn unify(&mut self, a: Ty, b: Ty) -> bool {
        self.steps = 0;
        self.unify_at(a, b)
    }

    pub(super) fn unify_at(&mut self, a: Ty, b: Ty) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return true;
        }
        let (a, b) = (self.shorten(a), self.shorten(b));
        if a == b {
            return true;
        }
        let (ka, kb) = (self.hir.tys.kind(a), self.hir.tys.kind(b));
        match (ka, kb) {
            // Poison spreads to what is not known otherwise, so that one cause gives one report.
            (TyKind::Error, TyKind::Var(v)) | (TyKind::Var(v), TyKind::Error) => {
                let var = if kb == TyKind::Error { a } else { b };
                if self.open_kind(var) == Some(Kind::Any) {
                    self.vars.slots[v as usize] = Slot::Bound(Ty::ERROR);
                }
                true
            }
            (TyKind::Error | TyKind::Unknown, _) | (_, TyKind::Error | TyKind::Unknown) => true,
            (TyKind::Var(i), TyKind::Var(j)) => self.merge(i, j, a, b),
            (TyKind::Var(i), _) => self.bind(i, a, b),
            (_, TyKind::Var(j)) => self.bind(j, b, a),
            (TyKind::Never, _) | (_, TyKind::Never) => true,
            (TyKind::Str | TyKind::String, TyKind::Str | TyKind::String) => true,
            (TyKind::Tuple(x), TyKind::Tuple(y)) => self.unify_lists(x, y),
            (TyKind::Array(x, n), TyKind::Array(y, m)) => {
                (n.is_none() || m.is_none() || n == m) && self.unify_at(x, y)
            }
            (TyKind::Slice(x), TyKind::Slice(y))
            | (TyKind::Option(x), TyKind::Option(y))
            | (TyKind::Vec(x) | TyKind::List(x), TyKind::Vec(y) | TyKind::List(y))
            | (TyKind::Set(x), TyKind::Set(y))
            | (TyKind::Range(x), TyKind::Range(y))
            | (TyKind::Task(x), TyKind::Task(y)) => self.unify_at(x, y),
            (TyKind::AgentRef(x), TyKind::AgentRef(y)) => self.same_agent(x, y),
            (TyKind::Ref(x, m), TyKind::Ref(y, n)) => m == n && self.unify_at(x, y),
            (TyKind::Ptr(x, m), TyKind::Ptr(y, n)) => m == n && self.unify_at(x, y),
            (TyKind::Fn(p, r), TyKind::Fn(q, s)) => self.unify_lists(p, q) && self.unify_at(r, s),
            (TyKind::Struct(s, x), TyKind::Struct(t, y)) => s == t && self.unify_lists(x, y),
            (TyKind::Enum(s, x), TyKind::Enum(t, y)) => s == t && self.unify_lists(x, y),
            (TyKind::Result(t, e), TyKind::Result(u, f)) => {
                self.unify_at(t, u) && self.unify_at(e, f)
            }
            (TyKind::Map(k, v), TyKind::Map(l, w)) => self.unify_at(k, l) && self.unify_at(v, w),
            // What an opaque type is compared with is not known here, unless both names are.
            (TyKind::Opaque(x), TyKind::Opaque(y)) => !self.both_errors(x, y),
            (TyKind::Opaque(x), k) | (k, TyKind::Opaque(x)) => self.may_be_opaque(x, k),
            _ => false,
        }
    }

    /// Two different error types of the prelude do not agree; of other opaque types nothing is known.
    fn both_errors(&self, x: Name, y: Name) -> bool {
        let is = |n: Name| crate::resolve::prelude::ERRORS.contains(&self.hir.text(n));
        is(x) && is(y)
    }

    /// An opaque type against a known one: error types and capabilities are no numbers or texts.
    fn may_be_opaque(&self, name: Name, kind: TyKind) -> bool {
        if name == self.kind_names.integer || name == self.kind_names.float {
            return false;
        }
        let error = crate::resolve::prelude::ERRORS.contains(&self.hir.text(name));
        let scalar = matches!(
            kind,
            TyKind::Int(_)
                | TyKind::Float(_)
                | TyKind::Bool
                | TyKind::Char
                | TyKind::Unit
                | TyKind::Enum(..)
        );
        !(error && scalar)
    }

    /// References to agents agree if one may stand for the other: the same, or an agent and a protocol it
    /// has, or anything foreign.
    fn same_agent(&self, x: Ty, y: Ty) -> bool {
        match (self.shape(x), self.shape(y)) {
            (TyKind::Agent(a), TyKind::Agent(b)) => a == b,
            (TyKind::Agent(a), TyKind::Protocol(p)) | (TyKind::Protocol(p), TyKind::Agent(a)) => {
                let protocols = &self.hir.agents[a.index()].protocols;
                protocols.is_empty() || protocols.iter().any(|r| r.id.is_none() || r.id == Some(p))
            }
            (TyKind::Supervisor(a), TyKind::Supervisor(b)) => a == b,
            _ => true,
        }
    }

    pub(super) fn unify_lists(&mut self, x: crate::ty::Tys, y: crate::ty::Tys) -> bool {
        let n = self.hir.tys.list(x).len();
        if n != self.hir.tys.list(y).len() {
            return false;
        }
        // All parts, even after a failure: what can be known of the rest saves later reports.
        let mut ok = true;
        for i in 0..n {
            let (a, b) = (self.hir.tys.list(x)[i], self.hir.tys.list(y)[i]);
            ok &= self.unify_at(a, b);
        }
        ok
    }

    fn merge(&mut self, i: u32, j: u32, a: Ty, b: Ty) -> bool {
        let (Some(ka), Some(kb)) = (self.open_kind(a), self.open_kind(b)) else {
            return true;
        };
        let mut kind = match (ka, kb) {
            (Kind::Any, k) | (k, Kind::Any) => k,
            (Kind::Integer, Kind::Integer) => Kind::Integer,
            (Kind::Float, Kind::Float) => Kind::Float,
            (Kind::Seq { elem: x, len: n }, Kind::Seq { elem: y, len: m }) => {
                if !self.unify_at(x, y) {
                    return false;
                }
                Kind::Seq {
                    elem: x,
                    len: n.filter(|_| n == m),
                }
            }
            _ => return false,
        };
        // Elements of a sequence must not hold the variable itself.
        if let Kind::Seq { elem, len } = kind {
            match (self.occurs(i, elem, 0), self.occurs(j, elem, 0)) {
                (Occurs::Yes, _) | (_, Occurs::Yes) => {
                    self.touch(a);
                    self.touch(b);
                    return false;
                }
                (Occurs::No, Occurs::No) => {}
                _ => {
                    kind = Kind::Seq {
                        elem: Ty::ERROR,
                        len,
                    }
                }
            }
        }
        // The older one stays: what a long literal unifies one after the other makes no chain.
        let (keep, other, ty) = if i < j { (i, j, a) } else { (j, i, b) };
        self.vars.slots[other as usize] = Slot::Bound(ty);
        self.vars.slots[keep as usize] = Slot::Open {
            kind,
            touched: true,
        };
        true
    }

    fn bind(&mut self, i: u32, var: Ty, ty: Ty) -> bool {
        let Some(kind) = self.open_kind(var) else {
            return true;
        };
        let shape = self.hir.tys.kind(ty);
        let ok = match kind {
            Kind::Any => true,
            Kind::Integer => match shape {
                TyKind::Int(_) | TyKind::Never => true,
                TyKind::Opaque(n) => self.may_be_opaque(n, TyKind::Int(crate::ty::IntTy::I32)),
                _ => false,
            },
            Kind::Float => match shape {
                TyKind::Float(_) | TyKind::Never => true,
                TyKind::Opaque(n) => self.may_be_opaque(n, TyKind::Float(crate::ty::FloatTy::F64)),
                _ => false,
            },
            Kind::Seq { elem, len } => match shape {
                TyKind::Never | TyKind::Opaque(_) => true,
                TyKind::Array(t, n) => {
                    // Merged lengths cannot be an array any more.
                    (n.is_none() || len == n) && self.unify_at(elem, t)
                }
                TyKind::Vec(t) | TyKind::List(t) | TyKind::Set(t) | TyKind::Slice(t) => {
                    self.unify_at(elem, t)
                }
                _ => false,
            },
        };
        if !ok || shape == TyKind::Never {
            return ok;
        }
        let ty = match self.occurs(i, ty, 0) {
            Occurs::Yes => {
                self.touch(var);
                return false;
            }
            Occurs::No => ty,
            Occurs::TooLarge => Ty::ERROR,
        };
        self.vars.slots[i as usize] = Slot::Bound(ty);
        true
    }

    fn occurs(&mut self, i: u32, ty: Ty, depth: u32) -> Occurs {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH {
            return Occurs::TooLarge;
        }
        let ty = self.resolve(ty);
        match self.hir.tys.kind(ty) {
            TyKind::Var(j) => {
                if i == j {
                    return Occurs::Yes;
                }
                match self.open_kind(ty) {
                    Some(Kind::Seq { elem, .. }) => self.occurs(i, elem, depth + 1),
                    _ => Occurs::No,
                }
            }
            _ => {
                let mut parts: [Ty; 8] = [Ty::UNIT; 8];
                let mut n = 0;
                let mut more = Vec::new();
                self.hir.tys.parts(ty, &mut |t| {
                    if n < parts.len() {
                        parts[n] = t;
                        n += 1;
                    } else {
                        more.push(t);
                    }
                });
                for t in parts[..n].iter().chain(&more) {
                    match self.occurs(i, *t, depth + 1) {
                        Occurs::No => {}
                        found => return found,
                    }
                }
                Occurs::No
            }
        }
    }
}
