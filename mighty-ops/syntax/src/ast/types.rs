//! Views of types (language.md §3.2).

use super::{EffectClause, Expr, Path, RetType, choice, nodes, view, views};
use crate::SyntaxKind::*;
use crate::tree::Token;

nodes! {
    /// `a.b.C[T, U]`.
    PathType;
    /// `[T, U]` of a type, or of a turbofish.
    TypeArgs;
    /// `&T`, `&mut T`.
    RefType;
    /// `*T`, `*const T`, `*mut T`.
    PtrType;
    /// `()`, `(T, U)`.
    TupleType;
    /// `(T)`.
    ParenType;
    /// `[T]`.
    SliceType;
    /// `[T; n]`.
    ArrayType;
    /// `fn(A) -> B !{…}`.
    FnType;
    /// `(A, B)` of a function type.
    FnTypeParams;
    /// `dyn a.Trait`.
    DynType;
    /// `T!E`, `T!{A, B}`.
    ResultType;
    /// `{A, B}`.
    ErrorUnion;
}

choice! {
    /// A type.
    Type {
        PathType, RefType, PtrType, TupleType, ParenType, SliceType, ArrayType, FnType, DynType,
        ResultType,
    }
}

impl<'t> PathType<'t> {
    /// Segments of the path in source order; never none.
    pub fn segments(self) -> impl Iterator<Item = Token<'t>> {
        super::items::names(self.0)
    }

    /// `[T, U]`.
    #[must_use]
    pub fn args(self) -> Option<TypeArgs<'t>> {
        view(self.0)
    }
}

impl<'t> TypeArgs<'t> {
    /// Arguments in source order.
    pub fn types(self) -> impl Iterator<Item = Type<'t>> {
        views(self.0)
    }
}

impl<'t> RefType<'t> {
    /// The `mut`.
    #[must_use]
    pub fn mut_token(self) -> Option<Token<'t>> {
        self.0.own_token(MutKw)
    }

    /// What it points to.
    #[must_use]
    pub fn inner(self) -> Option<Type<'t>> {
        view(self.0)
    }
}

impl<'t> PtrType<'t> {
    /// The `mut`.
    #[must_use]
    pub fn mut_token(self) -> Option<Token<'t>> {
        self.0.own_token(MutKw)
    }

    /// The `const`.
    #[must_use]
    pub fn const_token(self) -> Option<Token<'t>> {
        self.0.own_token(ConstKw)
    }

    /// What it points to.
    #[must_use]
    pub fn inner(self) -> Option<Type<'t>> {
        view(self.0)
    }
}

impl<'t> TupleType<'t> {
    /// Components; none for `()`.
    pub fn types(self) -> impl Iterator<Item = Type<'t>> {
        views(self.0)
    }
}

impl<'t> ParenType<'t> {
    /// What is in the parentheses.
    #[must_use]
    pub fn inner(self) -> Option<Type<'t>> {
        view(self.0)
    }
}

impl<'t> SliceType<'t> {
    /// The element type.
    #[must_use]
    pub fn element(self) -> Option<Type<'t>> {
        view(self.0)
    }
}

impl<'t> ArrayType<'t> {
    /// The element type.
    #[must_use]
    pub fn element(self) -> Option<Type<'t>> {
        view(self.0)
    }

    /// The length.
    #[must_use]
    pub fn len(self) -> Option<Expr<'t>> {
        view(self.0)
    }
}

impl<'t> FnType<'t> {
    /// Parameter types.
    pub fn params(self) -> impl Iterator<Item = Type<'t>> {
        view::<FnTypeParams<'t>>(self.0)
            .into_iter()
            .flat_map(|p| views(p.0))
    }

    /// `-> T`.
    #[must_use]
    pub fn ret_type(self) -> Option<RetType<'t>> {
        view(self.0)
    }

    /// Its effect row.
    #[must_use]
    pub fn effects(self) -> Option<EffectClause<'t>> {
        view(self.0)
    }
}

impl<'t> DynType<'t> {
    /// The trait.
    #[must_use]
    pub fn path(self) -> Option<Path<'t>> {
        view(self.0)
    }
}

impl<'t> ResultType<'t> {
    /// The type of success, before `!`.
    #[must_use]
    pub fn ok(self) -> Option<Type<'t>> {
        view(self.0)
    }

    /// The error type of `T!E`.
    #[must_use]
    pub fn err(self) -> Option<Type<'t>> {
        views(self.0).nth(1)
    }

    /// `{A, B}` of `T!{A, B}`.
    #[must_use]
    pub fn union(self) -> Option<ErrorUnion<'t>> {
        view(self.0)
    }
}

impl<'t> ErrorUnion<'t> {
    /// The error types.
    pub fn paths(self) -> impl Iterator<Item = Path<'t>> {
        views(self.0)
    }
}
