//! Types: interned, so that equal types are equal numbers, and the store that holds them.
//! Must not unify or infer; `infer` does.

mod show;

use rustc_hash::FxHashMap;

use crate::hir::{
    AgentId, CapId, EnumId, GenericId, Hir, Name, ProtocolId, StructId, SupervisorId, TraitId,
};

pub use show::show;

/// A type. Compare with `==`; look into it with [`TyStore::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ty(u32);

/// A list of types in the store, see [`TyStore::list`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tys(u32);

/// Parts a type may have; larger ones are not told apart.
pub const MAX_SIZE: u32 = 2_000;

/// Integer types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntTy {
    I8,
    I16,
    I32,
    I64,
    I128,
    ISize,
    U8,
    U16,
    U32,
    U64,
    U128,
    USize,
}

/// Float types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FloatTy {
    F32,
    F64,
}

/// Capability families.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    Net,
    Fs,
    Clock,
    Dom,
    Model,
    Canvas,
    Input,
}

/// Primitive and collection types that are also callable values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prim {
    Int(IntTy),
    Float(FloatTy),
    Bool,
    Char,
    Unit,
    Duration,
    Size,
    Str,
    String,
    Bytes,
    Never,
    Option,
    Result,
    AgentRef,
    Task,
    Vec,
    Map,
    List,
    Set,
    Tainted,
}

/// The shape of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TyKind {
    /// Poison: agrees with everything, silences what is built on it.
    Error,
    /// Nothing known: a type that was still open when its body settled, or the result of an opaque call.
    Unknown,
    /// Bottom.
    Never,
    Int(IntTy),
    Float(FloatTy),
    Bool,
    Char,
    Unit,
    Duration,
    Size,
    Str,
    String,
    Bytes,
    /// A DOM fragment, `html"…"`.
    Html,
    /// Two or more.
    Tuple(Tys),
    /// The length if it is known.
    Array(Ty, Option<u64>),
    Slice(Ty),
    Ref(Ty, bool),
    /// A raw pointer; `true` for `*mut`.
    Ptr(Ty, bool),
    /// Parameters and result. Effect rows are no part of types here; see the nodes of parameters.
    Fn(Tys, Ty),
    Dyn(TraitId),
    Struct(StructId, Tys),
    Enum(EnumId, Tys),
    Option(Ty),
    Result(Ty, Ty),
    Vec(Ty),
    List(Ty),
    Set(Ty),
    Map(Ty, Ty),
    /// A range value `a..b`.
    Range(Ty),
    /// A reference to an agent; what of is [`TyKind::Agent`], [`TyKind::Protocol`], [`TyKind::Supervisor`] or
    /// anything opaque. A bare agent or protocol name as a type means the same.
    AgentRef(Ty),
    /// Only inside `AgentRef`.
    Agent(AgentId),
    /// Only inside `AgentRef`.
    Protocol(ProtocolId),
    /// Only inside `AgentRef`.
    Supervisor(SupervisorId),
    Task(Ty),
    Family(Family),
    /// `cap Name`.
    Cap(CapId),
    /// An opaque type of the prelude or a foreign one, by its last name.
    Opaque(Name),
    /// A generic parameter.
    Param(GenericId),
    /// `Self` of a trait.
    SelfOf(TraitId),
    /// An inference variable; never in the results of inference.
    Var(u32),
}

impl TyKind {
    /// The argument that stands for a type parameter of `generics`; `None` for any other type.
    #[must_use]
    pub fn argument(self, generics: &[GenericId], args: &[Ty]) -> Option<Ty> {
        let TyKind::Param(g) = self else {
            return None;
        };
        let at = generics.iter().position(|x| *x == g)?;
        args.get(at).copied()
    }
}

/// All types of a check.
#[derive(Debug)]
pub struct TyStore {
    kinds: Vec<TyKind>,
    /// Parts of each type, itself included.
    sizes: Vec<u32>,
    known: FxHashMap<TyKind, u32>,
    lists: Vec<(u32, u32)>,
    items: Vec<Ty>,
    known_lists: FxHashMap<Box<[Ty]>, u32>,
}

macro_rules! fixed {
    ($($name:ident = $i:literal, $kind:expr;)*) => {
        impl Ty {
            $(#[allow(missing_docs)] pub const $name: Ty = Ty($i);)*
        }
        const FIXED: &[TyKind] = &[$($kind),*];
    };
}

fixed! {
    ERROR = 0, TyKind::Error;
    UNKNOWN = 1, TyKind::Unknown;
    NEVER = 2, TyKind::Never;
    UNIT = 3, TyKind::Unit;
    BOOL = 4, TyKind::Bool;
    CHAR = 5, TyKind::Char;
    STR = 6, TyKind::Str;
    STRING = 7, TyKind::String;
    BYTES = 8, TyKind::Bytes;
    DURATION = 9, TyKind::Duration;
    SIZE = 10, TyKind::Size;
    HTML = 11, TyKind::Html;
    I32 = 12, TyKind::Int(IntTy::I32);
    I64 = 13, TyKind::Int(IntTy::I64);
    U8 = 14, TyKind::Int(IntTy::U8);
    U32 = 15, TyKind::Int(IntTy::U32);
    U64 = 16, TyKind::Int(IntTy::U64);
    USIZE = 17, TyKind::Int(IntTy::USize);
    F64 = 18, TyKind::Float(FloatTy::F64);
}

impl Default for TyStore {
    fn default() -> Self {
        let mut store = Self {
            kinds: Vec::new(),
            sizes: Vec::new(),
            known: FxHashMap::default(),
            lists: Vec::new(),
            items: Vec::new(),
            known_lists: FxHashMap::default(),
        };
        for k in FIXED {
            store.intern(*k);
        }
        store.list_of(&[]);
        store
    }
}

impl TyStore {
    /// The type of a shape; poison for one of more than [`MAX_SIZE`] parts, so that nothing is said about what
    /// nobody looks through. Shared parts count each time, so that whoever walks a type does bounded work.
    pub fn intern(&mut self, kind: TyKind) -> Ty {
        if let Some(i) = self.known.get(&kind) {
            return Ty(*i);
        }
        let mut size = 1u32;
        self.parts_of(kind, &mut |t| {
            size = size.saturating_add(self.sizes[t.0 as usize])
        });
        if size > MAX_SIZE {
            return Ty::ERROR;
        }
        let i = self.kinds.len() as u32;
        self.kinds.push(kind);
        self.sizes.push(size);
        self.known.insert(kind, i);
        Ty(i)
    }

    /// The shape of a type.
    #[must_use]
    pub fn kind(&self, ty: Ty) -> TyKind {
        self.kinds[ty.0 as usize]
    }

    /// A list of types.
    pub fn list_of(&mut self, types: &[Ty]) -> Tys {
        if let Some(i) = self.known_lists.get(types) {
            return Tys(*i);
        }
        let i = self.lists.len() as u32;
        self.lists
            .push((self.items.len() as u32, types.len() as u32));
        self.items.extend_from_slice(types);
        self.known_lists.insert(types.into(), i);
        Tys(i)
    }

    /// The types of a list.
    #[must_use]
    pub fn list(&self, list: Tys) -> &[Ty] {
        let (start, len) = self.lists[list.0 as usize];
        &self.items[start as usize..(start + len) as usize]
    }

    /// A tuple; of none it is `Unit`, of one that one.
    pub fn tuple(&mut self, types: &[Ty]) -> Ty {
        match types {
            [] => Ty::UNIT,
            _ => {
                let list = self.list_of(types);
                self.intern(TyKind::Tuple(list))
            }
        }
    }

    /// Without the references around it.
    #[must_use]
    pub fn peel(&self, mut ty: Ty) -> Ty {
        while let TyKind::Ref(inner, _) = self.kind(ty) {
            ty = inner;
        }
        ty
    }

    /// Rebuilds a type with `f` applied to the leaves `f` answers for; shapes without parts that `f` does not
    /// answer for stay.
    pub fn map(&mut self, ty: Ty, f: &mut dyn FnMut(&mut TyStore, Ty) -> Option<Ty>) -> Ty {
        if let Some(new) = f(self, ty) {
            return new;
        }
        let kind = self.kind(ty);
        let new = match kind {
            TyKind::Tuple(l) => TyKind::Tuple(self.map_list(l, f)),
            TyKind::Array(t, n) => TyKind::Array(self.map(t, f), n),
            TyKind::Slice(t) => TyKind::Slice(self.map(t, f)),
            TyKind::Ref(t, m) => TyKind::Ref(self.map(t, f), m),
            TyKind::Ptr(t, m) => TyKind::Ptr(self.map(t, f), m),
            TyKind::Fn(p, r) => TyKind::Fn(self.map_list(p, f), self.map(r, f)),
            TyKind::Struct(s, l) => TyKind::Struct(s, self.map_list(l, f)),
            TyKind::Enum(e, l) => TyKind::Enum(e, self.map_list(l, f)),
            TyKind::Option(t) => TyKind::Option(self.map(t, f)),
            TyKind::Result(t, e) => TyKind::Result(self.map(t, f), self.map(e, f)),
            TyKind::Vec(t) => TyKind::Vec(self.map(t, f)),
            TyKind::List(t) => TyKind::List(self.map(t, f)),
            TyKind::Set(t) => TyKind::Set(self.map(t, f)),
            TyKind::Map(k, v) => TyKind::Map(self.map(k, f), self.map(v, f)),
            TyKind::Range(t) => TyKind::Range(self.map(t, f)),
            TyKind::AgentRef(t) => TyKind::AgentRef(self.map(t, f)),
            TyKind::Task(t) => TyKind::Task(self.map(t, f)),
            _ => return ty,
        };
        if new == kind { ty } else { self.intern(new) }
    }

    fn map_list(&mut self, list: Tys, f: &mut dyn FnMut(&mut TyStore, Ty) -> Option<Ty>) -> Tys {
        let n = self.list(list).len();
        if n == 0 {
            return list;
        }
        let mut new = Vec::with_capacity(n);
        for i in 0..n {
            let t = self.list(list)[i];
            new.push(self.map(t, f));
        }
        self.list_of(&new)
    }

    /// Replaces generic parameters (and `Self` of a trait) by what `of` gives for them.
    pub fn substitute(&mut self, ty: Ty, of: &dyn Fn(TyKind) -> Option<Ty>) -> Ty {
        self.map(ty, &mut |s, t| match s.kind(t) {
            k @ (TyKind::Param(_) | TyKind::SelfOf(_)) => of(k),
            _ => None,
        })
    }

    /// The direct parts of a type, in order.
    pub fn parts(&self, ty: Ty, each: &mut dyn FnMut(Ty)) {
        self.parts_of(self.kind(ty), each);
    }

    fn parts_of(&self, kind: TyKind, each: &mut dyn FnMut(Ty)) {
        match kind {
            TyKind::Tuple(l) | TyKind::Struct(_, l) | TyKind::Enum(_, l) => {
                self.list(l).iter().for_each(|t| each(*t));
            }
            TyKind::Fn(p, r) => {
                self.list(p).iter().for_each(|t| each(*t));
                each(r);
            }
            TyKind::Array(t, _)
            | TyKind::Slice(t)
            | TyKind::Ref(t, _)
            | TyKind::Ptr(t, _)
            | TyKind::Option(t)
            | TyKind::Vec(t)
            | TyKind::List(t)
            | TyKind::Set(t)
            | TyKind::Range(t)
            | TyKind::AgentRef(t)
            | TyKind::Task(t) => each(t),
            TyKind::Result(a, b) | TyKind::Map(a, b) => {
                each(a);
                each(b);
            }
            _ => {}
        }
    }
}

/// §12.1. Opaque prelude types and agent references are Copy; unknown types are not.
pub(crate) fn is_copy(hir: &Hir, ty: Ty) -> bool {
    copies(hir, ty, false)
}

/// Whether values of the type are Copy if those of its parameters are.
pub(crate) fn may_be_copy(hir: &Hir, ty: Ty) -> bool {
    copies(hir, ty, true)
}

fn copies(hir: &Hir, ty: Ty, params: bool) -> bool {
    let all = |l: Tys| {
        let mut parts = hir.tys.list(l).iter();
        parts.all(|t| copies(hir, *t, params))
    };
    let args = |l: Tys| {
        let mut args = hir.tys.list(l).iter();
        args.all(|t| *t == Ty::UNKNOWN || copies(hir, *t, params))
    };
    let s = &hir.tys;
    match s.kind(ty) {
        TyKind::Error
        | TyKind::Never
        | TyKind::Int(_)
        | TyKind::Float(_)
        | TyKind::Bool
        | TyKind::Char
        | TyKind::Unit
        | TyKind::Duration
        | TyKind::Size
        | TyKind::Str
        | TyKind::Html
        | TyKind::Fn(..)
        | TyKind::Range(_)
        | TyKind::AgentRef(_)
        | TyKind::Agent(_)
        | TyKind::Protocol(_)
        | TyKind::Supervisor(_)
        | TyKind::Task(_)
        | TyKind::Opaque(_) => true,
        TyKind::Ref(_, mutable) | TyKind::Ptr(_, mutable) => !mutable,
        TyKind::Tuple(l) => all(l),
        TyKind::Array(t, _) | TyKind::Option(t) => copies(hir, t, params),
        TyKind::Result(a, b) => copies(hir, a, params) && copies(hir, b, params),
        // A derived type with parameters is Copy where its arguments are.
        TyKind::Struct(id, l) => hir.structs[id.index()].is_copy && args(l),
        TyKind::Enum(id, l) => hir.enums[id.index()].is_copy && args(l),
        TyKind::Unknown
        | TyKind::String
        | TyKind::Bytes
        | TyKind::Slice(_)
        | TyKind::Dyn(_)
        | TyKind::Vec(_)
        | TyKind::List(_)
        | TyKind::Set(_)
        | TyKind::Map(..)
        | TyKind::Family(_)
        | TyKind::Cap(_)
        | TyKind::SelfOf(_)
        | TyKind::Var(_) => false,
        TyKind::Param(_) => params,
    }
}
