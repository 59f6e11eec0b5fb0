//! Views of blocks and statements (language.md §3.4, §2(c)).

use super::{
    AstNode, ConstDef, EnumDef, Expr, FnDef, Item, Pattern, StructDef, Type, TypeAlias, UseItem,
    choice, nodes, view, views,
};
use crate::SyntaxKind::*;
use crate::tree::Token;

nodes! {
    /// `{ statements }`; also an expression.
    Block;
    /// `let p: T = e;`.
    LetStmt;
    /// `e;` or `e`.
    ExprStmt;
    /// `;` alone.
    EmptyStmt;
}

choice! {
    /// A statement.
    Stmt { LetStmt, ExprStmt, EmptyStmt, FnDef, ConstDef, StructDef, EnumDef, TypeAlias, UseItem }
}

impl<'t> Stmt<'t> {
    /// The item, if it is a nested one.
    #[must_use]
    pub fn item(self) -> Option<Item<'t>> {
        Item::cast(self.syntax())
    }
}

impl<'t> Block<'t> {
    /// Statements in source order, the tail included.
    pub fn stmts(self) -> impl Iterator<Item = Stmt<'t>> {
        views(self.0)
    }

    /// The value of the block: its last statement, if that is an expression without `;` (S7).
    #[must_use]
    pub fn tail(self) -> Option<Expr<'t>> {
        match self.stmts().last()? {
            Stmt::ExprStmt(s) if s.semi_token().is_none() => s.expr(),
            _ => None,
        }
    }

    /// The `{`.
    #[must_use]
    pub fn open_token(self) -> Option<Token<'t>> {
        self.0.first_token()
    }

    /// The `}`.
    #[must_use]
    pub fn close_token(self) -> Option<Token<'t>> {
        self.0.last_token().filter(|t| t.kind() == RBrace)
    }

    /// Whether it holds no statement.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.stmts().next().is_none()
    }
}

impl<'t> LetStmt<'t> {
    /// What it binds.
    #[must_use]
    pub fn pattern(self) -> Option<Pattern<'t>> {
        view(self.0)
    }

    /// `: T`.
    #[must_use]
    pub fn ty(self) -> Option<Type<'t>> {
        view(self.0)
    }

    /// `= e`.
    #[must_use]
    pub fn value(self) -> Option<Expr<'t>> {
        view(self.0)
    }

    /// The `mut` before a pattern that is no plain binding (a binding holds its own `mut`).
    #[must_use]
    pub fn mut_token(self) -> Option<Token<'t>> {
        self.0.own_token(MutKw)
    }

    /// The `;`.
    #[must_use]
    pub fn semi_token(self) -> Option<Token<'t>> {
        self.0.own_token(Semi)
    }
}

impl<'t> ExprStmt<'t> {
    /// The expression.
    #[must_use]
    pub fn expr(self) -> Option<Expr<'t>> {
        view(self.0)
    }

    /// The `;`.
    #[must_use]
    pub fn semi_token(self) -> Option<Token<'t>> {
        self.0.own_token(Semi)
    }
}
