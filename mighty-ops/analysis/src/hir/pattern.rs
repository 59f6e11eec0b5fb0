//! Patterns and the bindings they make.
//! Must not hold types; those are in `infer::BodyTypes`, by the same identities.

use syntax::{NodeId, TextRange};

use super::body::{List, LitHead};
use super::ids::*;
use super::words::{Lit, PreludeVariant};
use crate::ty::Ty;

/// A pattern.
#[derive(Debug, Clone, Copy)]
pub struct Pat {
    pub kind: PatKind,
    pub range: TextRange,
    pub node: NodeId,
}

/// What a pattern's path means. `Unit(local)` of a bare identifier is decided by the type it is matched
/// against, see [`BodyTypes::pat_res`](crate::infer::BodyTypes::pat_res).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatRes {
    Variant(EnumId, u32),
    Prelude(PreludeVariant),
    Const(ConstId),
    Struct(StructId),
    /// A name that may be a variant of the scrutinee's enum.
    ByType(Name),
    /// A constant `T.NAME`.
    AssocConst(Ty, Name),
    /// Foreign or unknown enum: accepted with any payload.
    Opaque,
    Error,
}

/// The forms of patterns.
#[derive(Debug, Clone, Copy)]
pub enum PatKind {
    Missing,
    Wild,
    /// A literal; `neg` if a `-` stands before it.
    Lit {
        lit: Lit,
        neg: bool,
        lit_range: TextRange,
    },
    /// Number bounds with their signs folded in; `None` for bounds that are no integers.
    Range {
        low: Option<i128>,
        high: Option<i128>,
        inclusive: bool,
        /// The two literals with their signs.
        lits: (Lit, Lit),
    },
    /// A binding. If `maybe` is set, it is a binding only if the type matched against has no such variant.
    Bind {
        local: LocalId,
        sub: Option<PatId>,
        maybe: bool,
    },
    Ref {
        mutable: bool,
        inner: PatId,
    },
    /// [`Body::pats_of`](super::Body::pats_of).
    Tuple(List<PatId>),
    /// A unit variant or a constant.
    Path(PatRes),
    /// [`Body::pats_of`](super::Body::pats_of).
    Variant {
        res: PatRes,
        res_range: TextRange,
        args: List<PatId>,
    },
    /// [`Body::field_pats_of`](super::Body::field_pats_of).
    Struct {
        head: LitHead,
        head_range: TextRange,
        fields: List<FieldPat>,
        rest: bool,
    },
    /// [`Body::pats_of`](super::Body::pats_of). A name bound in several alternatives is one local.
    Or(List<PatId>),
}

/// A field of a struct pattern.
#[derive(Debug, Clone, Copy)]
pub struct FieldPat {
    pub name: Name,
    pub name_range: TextRange,
    pub pat: PatId,
}

/// How a local came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalKind {
    SelfParam,
    Param,
    LambdaParam,
    Let,
    /// By a pattern of `match`, `if let`, `while let`, `for`.
    Pattern,
}

/// A binding.
#[derive(Debug, Clone, Copy)]
pub struct Local {
    pub name: Name,
    /// The name at its declaration.
    pub range: TextRange,
    pub mutable: bool,
    /// Bound by `ref`.
    pub by_ref: bool,
    pub kind: LocalKind,
    /// The declared type, of parameters only.
    pub ty: Option<Ty>,
    /// Innermost loop, lambda or detached body around the declaration; none at the top.
    pub depth: u32,
}
