//! Which methods, associated functions and impls each type has.
//! Must not instantiate or choose; `method` does.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::hir::{ConstId, EnumId, FnId, Hir, ImplId, Name, StructId, TraitId};
use crate::ty::{Ty, TyKind};

/// The head of a type, by which impls are found (§10: generic arguments are ignored).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum HeadKey {
    Struct(StructId),
    Enum(EnumId),
    Opaque(Name),
    /// Everything else by the shape's place; arguments do not count.
    Other(u8),
    /// A type parameter: an impl for every type.
    Any,
}

/// The head of a shape; none for what has no impls (variables, poison).
pub(crate) fn head_key(kind: TyKind) -> Option<HeadKey> {
    use crate::ty::{FloatTy, IntTy};
    Some(match kind {
        TyKind::Struct(s, _) => HeadKey::Struct(s),
        TyKind::Enum(e, _) => HeadKey::Enum(e),
        TyKind::Opaque(n) => HeadKey::Opaque(n),
        TyKind::Param(_) => HeadKey::Any,
        TyKind::Int(t) => HeadKey::Other(match t {
            IntTy::I8 => 0,
            IntTy::I16 => 1,
            IntTy::I32 => 2,
            IntTy::I64 => 3,
            IntTy::I128 => 4,
            IntTy::ISize => 5,
            IntTy::U8 => 6,
            IntTy::U16 => 7,
            IntTy::U32 => 8,
            IntTy::U64 => 9,
            IntTy::U128 => 10,
            IntTy::USize => 11,
        }),
        TyKind::Float(FloatTy::F32) => HeadKey::Other(12),
        TyKind::Float(FloatTy::F64) => HeadKey::Other(13),
        TyKind::Bool => HeadKey::Other(14),
        TyKind::Char => HeadKey::Other(15),
        TyKind::Unit => HeadKey::Other(16),
        TyKind::Duration => HeadKey::Other(17),
        TyKind::Size => HeadKey::Other(18),
        TyKind::Str => HeadKey::Other(19),
        TyKind::String => HeadKey::Other(20),
        TyKind::Bytes => HeadKey::Other(21),
        TyKind::Tuple(_) => HeadKey::Other(22),
        TyKind::Array(..) => HeadKey::Other(23),
        TyKind::Slice(_) => HeadKey::Other(24),
        TyKind::Fn(..) => HeadKey::Other(25),
        TyKind::Option(_) => HeadKey::Other(26),
        TyKind::Result(..) => HeadKey::Other(27),
        TyKind::Vec(_) => HeadKey::Other(28),
        TyKind::List(_) => HeadKey::Other(29),
        TyKind::Set(_) => HeadKey::Other(30),
        TyKind::Map(..) => HeadKey::Other(31),
        _ => return None,
    })
}

/// A method or associated function of a type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) func: FnId,
    pub(crate) imp: ImplId,
    /// The trait, if the impl is of one of the package; default bodies have no impl of their own.
    pub(crate) trait_id: Option<TraitId>,
    pub(crate) inherent: bool,
}

/// Impls by head.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) methods: FxHashMap<(HeadKey, Name), Vec<Candidate>>,
    pub(crate) consts: FxHashMap<(HeadKey, Name), ConstId>,
    impls: FxHashSet<(HeadKey, TraitId)>,
    /// Types with an impl of a trait that is not known: any method may exist.
    pub(crate) open: FxHashSet<HeadKey>,
    /// Names of methods by head, for near misses.
    pub(crate) names: FxHashMap<HeadKey, Vec<Name>>,
    pub(crate) markers: FxHashSet<(HeadKey, Name)>,
}

impl Tables {
    pub(crate) fn new(hir: &Hir) -> Self {
        let mut t = Tables::default();
        for (i, item) in hir.impls.iter().enumerate() {
            let imp = ImplId(i as u32);
            let self_ty = hir.tys.peel(item.self_ty);
            let Some(key) = head_key(hir.tys.kind(self_ty)) else {
                continue;
            };
            for f in &item.methods {
                let c = Candidate {
                    func: *f,
                    imp,
                    trait_id: item.trait_id,
                    inherent: !item.has_trait,
                };
                t.add(key, hir.fns[f.index()].head.name, c);
            }
            for c in &item.consts {
                t.consts.insert((key, hir.consts[c.index()].head.name), *c);
            }
            let Some(tr) = item.trait_id else {
                if item.has_trait {
                    let known = item.trait_name.is_some_and(|n| {
                        let text = hir.text(n);
                        crate::resolve::prelude::is_marker(text)
                            || crate::resolve::prelude::is_opaque(text)
                    });
                    if let (true, Some(n)) = (known, item.trait_name) {
                        t.markers.insert((key, n));
                    } else {
                        t.open.insert(key);
                    }
                }
                continue;
            };
            t.impls.insert((key, tr));
            let given: Vec<Name> = item
                .methods
                .iter()
                .map(|f| hir.fns[f.index()].head.name)
                .collect();
            for f in &hir.traits[tr.index()].methods {
                let name = hir.fns[f.index()].head.name;
                if !given.contains(&name) {
                    let c = Candidate {
                        func: *f,
                        imp,
                        trait_id: Some(tr),
                        inherent: false,
                    };
                    t.add(key, name, c);
                }
            }
            for c in &hir.traits[tr.index()].consts {
                t.consts
                    .entry((key, hir.consts[c.index()].head.name))
                    .or_insert(*c);
            }
        }
        t
    }

    fn add(&mut self, key: HeadKey, name: Name, c: Candidate) {
        self.methods.entry((key, name)).or_default().push(c);
        self.names.entry(key).or_default().push(name);
    }

    /// Whether a shape has an impl of the trait.
    pub(crate) fn implements(&self, kind: TyKind, tr: TraitId) -> bool {
        let text = |k: TyKind| matches!(k, TyKind::Str | TyKind::String);
        let direct = |k: TyKind| head_key(k).is_some_and(|k| self.impls.contains(&(k, tr)));
        direct(kind)
            || self.impls.contains(&(HeadKey::Any, tr))
            || (text(kind) && (direct(TyKind::Str) || direct(TyKind::String)))
            || self.open_for(kind)
    }

    fn open_for(&self, kind: TyKind) -> bool {
        self.open.contains(&HeadKey::Any) || head_key(kind).is_some_and(|k| self.open.contains(&k))
    }

    /// Whether unknown methods of the shape may exist after all.
    pub(crate) fn is_open(&self, kind: TyKind) -> bool {
        self.open_for(kind)
    }

    /// Candidates of a name: of the head itself, then of impls for every type.
    pub(crate) fn candidates(&self, kind: TyKind, name: Name) -> Vec<Candidate> {
        let Some(key) = head_key(kind) else {
            return Vec::new();
        };
        let mut found = self.methods.get(&(key, name)).cloned().unwrap_or_default();
        if key != HeadKey::Any
            && let Some(more) = self.methods.get(&(HeadKey::Any, name))
        {
            found.extend(more);
        }
        if found.is_empty() {
            let other = match kind {
                TyKind::Str => TyKind::String,
                TyKind::String => TyKind::Str,
                _ => return found,
            };
            if let Some(key) = head_key(other) {
                found = self.methods.get(&(key, name)).cloned().unwrap_or_default();
            }
        }
        found
    }
}

/// Whether a type is one that the program declares (MT2007 and MT2006 are only about those).
pub(crate) fn is_user(hir: &Hir, ty: Ty) -> bool {
    matches!(hir.tys.kind(ty), TyKind::Struct(..) | TyKind::Enum(..))
}
