//! Questions about types: is it copied, does it hold a reference, can it be sent (language.md §12.1, §12.4, §13).
//! Must not look at expressions.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::hir::{EnumId, FnKind, Hir, Name, StructId};
use crate::ty::{Ty, TyKind};

/// Answers that are the same for all bodies, kept.
pub(super) struct Shapes<'a> {
    hir: &'a Hir,
    copy_marker: Option<Name>,
    /// Heads of user types with a `clone` method.
    cloned: FxHashSet<Head>,
    references: FxHashMap<Ty, bool>,
    unsendable: FxHashMap<Ty, Option<Reason>>,
}

/// The part of a type that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    /// Fields and variants on the way, outermost first.
    path: Vec<String>,
    /// What stands there.
    what: &'static str,
    ty: Ty,
}

impl Reason {
    /// In words: "field `out` of `Job` is a capability (`Fs`)".
    pub(super) fn say(&self, hir: &Hir) -> String {
        let mut text = String::new();
        for p in &self.path {
            text.push_str(p);
            text.push_str(" is or holds ");
        }
        format!("{text}{} (`{}`)", self.what, hir.show(self.ty))
    }

    /// Whether it is a plain reference, so that sending the value instead would do.
    pub(super) fn is_reference(&self, hir: &Hir) -> bool {
        self.path.is_empty() && matches!(hir.tys.kind(self.ty), TyKind::Ref(..))
    }
}

impl<'a> Shapes<'a> {
    pub(super) fn new(hir: &'a Hir) -> Self {
        Self {
            hir,
            copy_marker: hir.names.find("Copy"),
            cloned: cloned_heads(hir),
            references: FxHashMap::default(),
            unsendable: FxHashMap::default(),
        }
    }

    /// §12.1; a type parameter bounded by `Copy` is copied as well.
    pub(super) fn is_copy(&self, ty: Ty) -> bool {
        match self.hir.tys.kind(ty) {
            TyKind::Param(g) => self
                .copy_marker
                .is_some_and(|c| self.hir.generics[g.index()].markers.contains(&c)),
            _ => self.hir.is_copy(ty),
        }
    }

    /// Whether values of the type hold references that the checker follows.
    pub(super) fn has_reference(&mut self, ty: Ty) -> bool {
        if let Some(known) = self.references.get(&ty) {
            return *known;
        }
        let found = find_reference(self.hir, ty, &mut FxHashSet::default());
        self.references.insert(ty, found);
        found
    }

    /// Why a type is not Sendable, if so. Type parameters and unknown types are Sendable.
    pub(super) fn unsendable(&mut self, ty: Ty) -> Option<Reason> {
        if let Some(known) = self.unsendable.get(&ty) {
            return known.clone();
        }
        let found = find_unsendable(self.hir, ty, &mut FxHashSet::default());
        self.unsendable.insert(ty, found.clone());
        found
    }

    /// Whether `.clone()` of such a value is known to check.
    pub(super) fn can_clone(&self, ty: Ty) -> bool {
        let hir = self.hir;
        match hir.tys.kind(ty) {
            TyKind::Family(_) | TyKind::Cap(_) | TyKind::Dyn(_) | TyKind::Ref(_, true) => false,
            TyKind::Ptr(..) | TyKind::Error => false,
            TyKind::Struct(..) | TyKind::Enum(..) => {
                head_of(hir, ty).is_some_and(|h| self.cloned.contains(&h))
            }
            _ => true,
        }
    }
}

/// `seen` holds the types on the way and those that were found to hold none; what contains itself adds nothing
/// by doing so.
fn find_reference(hir: &Hir, ty: Ty, seen: &mut FxHashSet<Ty>) -> bool {
    if !seen.insert(ty) {
        return false;
    }
    match hir.tys.kind(ty) {
        TyKind::Ref(..) => true,
        TyKind::Fn(..) | TyKind::Ptr(..) => false,
        _ => {
            let mut parts = Vec::new();
            hir.tys.parts(ty, &mut |t| parts.push(t));
            each_field(hir, ty, &mut |t, _| parts.push(t));
            parts.into_iter().any(|t| find_reference(hir, t, seen))
        }
    }
}

fn find_unsendable(hir: &Hir, ty: Ty, seen: &mut FxHashSet<Ty>) -> Option<Reason> {
    if !seen.insert(ty) {
        return None;
    }
    let what = match hir.tys.kind(ty) {
        TyKind::Ref(..) => "a reference",
        TyKind::Ptr(..) => "a raw pointer",
        TyKind::Fn(..) => "a function value",
        TyKind::Family(_) | TyKind::Cap(_) => "a capability",
        TyKind::Dyn(_) => "a `dyn` value",
        // Handles; what stands behind them is not sent.
        TyKind::AgentRef(_) | TyKind::Task(_) => return None,
        _ => {
            let mut parts = Vec::new();
            each_field(hir, ty, &mut |t, label| parts.push((t, label)));
            hir.tys.parts(ty, &mut |t| {
                parts.push((t, format!("a part of `{}`", hir.show(ty))));
            });
            return parts.into_iter().find_map(|(t, label)| {
                let mut reason = find_unsendable(hir, t, seen)?;
                reason.path.insert(0, label);
                Some(reason)
            });
        }
    };
    Some(Reason {
        path: Vec::new(),
        what,
        ty,
    })
}

/// A user type without its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Head {
    Struct(StructId),
    Enum(EnumId),
}

fn head_of(hir: &Hir, ty: Ty) -> Option<Head> {
    match hir.tys.kind(ty) {
        TyKind::Struct(s, _) => Some(Head::Struct(s)),
        TyKind::Enum(e, _) => Some(Head::Enum(e)),
        _ => None,
    }
}

fn cloned_heads(hir: &Hir) -> FxHashSet<Head> {
    let Some(name) = hir.names.find("clone") else {
        return FxHashSet::default();
    };
    let methods = hir.fns.iter().filter(|f| f.head.name == name);
    methods
        .filter_map(|f| match f.kind {
            FnKind::Method(i) => head_of(hir, hir.impls[i.index()].self_ty),
            _ => None,
        })
        .collect()
}

/// The declared types of fields and payloads, with words for where they stand. Type arguments are not put in;
/// they are looked at as parts of the type.
fn each_field(hir: &Hir, ty: Ty, each: &mut dyn FnMut(Ty, String)) {
    match hir.tys.kind(ty) {
        TyKind::Struct(s, _) => {
            let s = &hir.structs[s.index()];
            let of = hir.text(s.head.name);
            for f in &s.fields {
                each(f.ty, format!("field `{}` of `{of}`", hir.text(f.name)));
            }
        }
        TyKind::Enum(e, _) => {
            let e = &hir.enums[e.index()];
            let of = hir.text(e.head.name);
            for v in &e.variants {
                for t in &v.payload {
                    each(*t, format!("variant `{of}.{}`", hir.text(v.name)));
                }
            }
        }
        _ => {}
    }
}
