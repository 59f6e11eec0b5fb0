//! Views of the expressions with operators: their operands and the operator itself (language.md §3.4).
//! The nodes are the parent's.

use super::{AssignExpr, BinaryExpr, Expr, IndexExpr, PrefixExpr, RangeExpr, RefExpr};
use crate::SyntaxKind::{DotDotEq, Eq, MutKw};
use crate::ast::{view, views};
use crate::tree::Token;

impl<'t> PrefixExpr<'t> {
    /// `-`, `!` or `*`.
    #[must_use]
    pub fn op_token(self) -> Option<Token<'t>> {
        self.0.first_token()
    }
}

impl<'t> RefExpr<'t> {
    /// The `mut`.
    #[must_use]
    pub fn mut_token(self) -> Option<Token<'t>> {
        self.0.own_token(MutKw)
    }
}

macro_rules! infix {
    ($($name:ident),*) => {$(
        impl<'t> $name<'t> {
            /// The left operand. Chains of left operands may be thousands long, see
            /// [`MAX_DEPTH`](crate::MAX_DEPTH).
            #[must_use]
            pub fn lhs(self) -> Option<Expr<'t>> {
                view(self.0)
            }

            /// The operator.
            #[must_use]
            pub fn op_token(self) -> Option<Token<'t>> {
                self.0.own_tokens().next()
            }

            /// The right operand.
            #[must_use]
            pub fn rhs(self) -> Option<Expr<'t>> {
                views(self.0).nth(1)
            }
        }
    )*};
}

infix!(BinaryExpr, AssignExpr, RangeExpr);

impl RangeExpr<'_> {
    /// Whether it is `..=`.
    #[must_use]
    pub fn is_inclusive(self) -> bool {
        self.0.own_token(DotDotEq).is_some()
    }
}

impl AssignExpr<'_> {
    /// Whether it is a plain `=`.
    #[must_use]
    pub fn is_plain(self) -> bool {
        self.0.own_token(Eq).is_some()
    }
}

impl<'t> IndexExpr<'t> {
    /// The index.
    #[must_use]
    pub fn index(self) -> Option<Expr<'t>> {
        views(self.0).nth(1)
    }
}
