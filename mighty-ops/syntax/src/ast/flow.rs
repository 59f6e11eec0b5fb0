//! Parts of control flow and block forms that need more than a child of one type (language.md §3.4).
//! The views themselves are declared in `exprs`.

use super::{
    ArenaExpr, AstNode, Block, BudgetExpr, Expr, ForExpr, HasName, IfExpr, LambdaExpr, LetCond,
    ParamList, SandboxExpr, TaskExpr, WhileExpr, view,
};
use crate::SyntaxKind::*;
use crate::tree::{Element, Token};

/// A condition of `if` or `while`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition<'t> {
    /// A `Bool`.
    Expr(Expr<'t>),
    /// `let p = e`.
    Let(LetCond<'t>),
}

fn condition(node: crate::tree::Node<'_>) -> Option<Condition<'_>> {
    let first = node.children().next()?;
    LetCond::cast(first)
        .map(Condition::Let)
        .or_else(|| Expr::cast(first).map(Condition::Expr))
}

/// What follows `else`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElseBranch<'t> {
    /// `else { … }`.
    Block(Block<'t>),
    /// `else if …`.
    If(IfExpr<'t>),
}

impl<'t> IfExpr<'t> {
    /// The condition.
    #[must_use]
    pub fn condition(self) -> Option<Condition<'t>> {
        condition(self.0)
    }

    /// The block taken when it holds.
    #[must_use]
    pub fn then_block(self) -> Option<Block<'t>> {
        // The condition is the first child even if it is a block itself.
        self.0.children().skip(1).find_map(Block::cast)
    }

    /// The `else`.
    #[must_use]
    pub fn else_token(self) -> Option<Token<'t>> {
        self.0.own_token(ElseKw)
    }

    /// What is done otherwise. Chains of `else if` may be thousands long: follow them in a loop.
    #[must_use]
    pub fn else_branch(self) -> Option<ElseBranch<'t>> {
        let mut after = self
            .0
            .elements()
            .skip_while(|e| !matches!(e, Element::Token(t) if t.kind() == ElseKw));
        after.find_map(|e| match e {
            Element::Node(n) => Block::cast(n)
                .map(ElseBranch::Block)
                .or_else(|| IfExpr::cast(n).map(ElseBranch::If)),
            Element::Token(_) => None,
        })
    }
}

impl<'t> WhileExpr<'t> {
    /// The condition.
    #[must_use]
    pub fn condition(self) -> Option<Condition<'t>> {
        condition(self.0)
    }
}

impl<'t> ForExpr<'t> {
    /// What is iterated.
    #[must_use]
    pub fn iterable(self) -> Option<Expr<'t>> {
        let mut after = self
            .0
            .elements()
            .skip_while(|e| !matches!(e, Element::Token(t) if t.kind() == InKw));
        after.find_map(|e| {
            if let Element::Node(n) = e {
                Expr::cast(n)
            } else {
                None
            }
        })
    }
}

impl<'t> ArenaExpr<'t> {
    /// The label.
    #[must_use]
    pub fn label(self) -> Option<Token<'t>> {
        self.0.own_token(Ident)
    }

    /// Whether it is `arena l: e`.
    #[must_use]
    pub fn is_inline(self) -> bool {
        self.0.own_token(Colon).is_some()
    }

    /// The body in either form.
    #[must_use]
    pub fn body(self) -> Option<Expr<'t>> {
        view(self.0)
    }
}

impl<'t> TaskExpr<'t> {
    /// `@d`.
    #[must_use]
    pub fn deadline(self) -> Option<Token<'t>> {
        self.0.own_token(DurationLit)
    }
}

impl<'t> BudgetExpr<'t> {
    /// The body in either form.
    #[must_use]
    pub fn body(self) -> Option<Expr<'t>> {
        view(self.0)
    }
}

impl<'t> HasName<'t> for SandboxExpr<'t> {
    fn name(self) -> Option<Token<'t>> {
        self.0.own_token(Ident)
    }
}

impl<'t> LambdaExpr<'t> {
    /// Whether it is written `|x| e`.
    #[must_use]
    pub fn is_pipes(self) -> bool {
        self.params().is_some_and(ParamList::is_pipes)
    }
}
