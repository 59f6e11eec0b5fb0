//! Views of attributes and function headers: parameters, results, effects, bounds (language.md §3.1).
//! Must not hold whole items but the function, which is little else than its header.

use super::items::names;
use super::{Block, Expr, HasAttrs, HasName, Path, Pattern, Type, named, nodes, view, views};
use crate::SyntaxKind::*;
use crate::tree::Token;

nodes! {
    /// `#[…]` or `@name(…)`.
    Attr;
    /// `pub`, `pub(crate)`.
    Vis;
    /// A function, method, extern or trait signature.
    FnDef;
    /// `[T: A + B, U]`.
    GenericParamList;
    /// `T: A + B`.
    GenericParam;
    /// `A + B`.
    Bounds;
    /// Parameters with their brackets: `( … )`, or `| … |` of a lambda.
    ParamList;
    /// One parameter that is not `self`.
    Param;
    /// `self`, `self: T`, `&self`, `&mut self`.
    SelfParam;
    /// `...`.
    VariadicParam;
    /// `-> T`.
    RetType;
    /// `effect a, b | E`, `!{a | E}`, `!E`.
    EffectClause;
    /// `where T: A, U: B`.
    WhereClause;
    /// `T: A + B`.
    WherePred;
    /// `requires cond`.
    RequiresClause;
    /// `= expr` of a function, `-> expr` of a handler.
    ExprBody;
}

named! {
    FnDef skips [ConstKw, AsyncKw, UnsafeKw, FnKw];
    GenericParam skips [];
}

impl<'t> HasAttrs<'t> for FnDef<'t> {}

impl<'t> Attr<'t> {
    /// Whether it is written `@name`.
    #[must_use]
    pub fn is_at(self) -> bool {
        self.0.first_token().is_some_and(|t| t.kind() == At)
    }

    /// The first identifier: `derive`, `tool`.
    #[must_use]
    pub fn name(self) -> Option<Token<'t>> {
        names(self.0).next()
    }

    /// Significant tokens after the name, brackets of the argument list included; the `]` that ends
    /// `#[…]` is not.
    pub fn args(self) -> impl Iterator<Item = Token<'t>> {
        let last = if self.is_at() {
            None
        } else {
            self.0.last_token()
        };
        self.0
            .own_tokens()
            .skip_while(|t| matches!(t.kind(), Hash | LBracket | At))
            .skip(1)
            .filter(move |t| Some(*t) != last)
    }

    /// The names of `#[derive(A, B)]`.
    pub fn derives(self) -> impl Iterator<Item = Token<'t>> {
        let derive = !self.is_at() && self.name().is_some_and(|n| n.text() == "derive");
        self.args().filter(move |t| derive && t.kind() == Ident)
    }
}

impl Vis<'_> {
    /// Whether it is `pub(crate)`.
    #[must_use]
    pub fn is_crate(self) -> bool {
        self.0.own_token(LParen).is_some()
    }
}

impl<'t> FnDef<'t> {
    /// `pub …`.
    #[must_use]
    pub fn visibility(self) -> Option<Vis<'t>> {
        view(self.0)
    }

    /// The `const` before `fn`.
    #[must_use]
    pub fn const_token(self) -> Option<Token<'t>> {
        self.0.own_token(ConstKw)
    }

    /// The `async` before `fn`; it changes nothing.
    #[must_use]
    pub fn async_token(self) -> Option<Token<'t>> {
        self.0.own_token(AsyncKw)
    }

    /// The `unsafe` before `fn`.
    #[must_use]
    pub fn unsafe_token(self) -> Option<Token<'t>> {
        self.0.own_token(UnsafeKw)
    }

    /// The `fn`.
    #[must_use]
    pub fn fn_token(self) -> Option<Token<'t>> {
        self.0.own_token(FnKw)
    }

    /// `[T, …]`.
    #[must_use]
    pub fn generics(self) -> Option<GenericParamList<'t>> {
        view(self.0)
    }

    /// `( … )`.
    #[must_use]
    pub fn params(self) -> Option<ParamList<'t>> {
        view(self.0)
    }

    /// `-> T`.
    #[must_use]
    pub fn ret_type(self) -> Option<RetType<'t>> {
        view(self.0)
    }

    /// The effect clause.
    #[must_use]
    pub fn effects(self) -> Option<EffectClause<'t>> {
        view(self.0)
    }

    /// The `where` clause.
    #[must_use]
    pub fn where_clause(self) -> Option<WhereClause<'t>> {
        view(self.0)
    }

    /// `requires` clauses.
    pub fn requires(self) -> impl Iterator<Item = RequiresClause<'t>> {
        views(self.0)
    }

    /// The braced body.
    #[must_use]
    pub fn block(self) -> Option<Block<'t>> {
        view(self.0)
    }

    /// `= expr`.
    #[must_use]
    pub fn expr_body(self) -> Option<ExprBody<'t>> {
        view(self.0)
    }

    /// The body as an expression, in either form.
    #[must_use]
    pub fn body(self) -> Option<Expr<'t>> {
        self.block()
            .map(Expr::Block)
            .or_else(|| self.expr_body()?.expr())
    }

    /// Whether it has a body.
    #[must_use]
    pub fn has_body(self) -> bool {
        self.block().is_some() || self.expr_body().is_some()
    }
}

impl<'t> GenericParamList<'t> {
    /// Parameters in source order.
    pub fn params(self) -> impl Iterator<Item = GenericParam<'t>> {
        views(self.0)
    }
}

impl<'t> GenericParam<'t> {
    /// `: A + B`.
    #[must_use]
    pub fn bounds(self) -> Option<Bounds<'t>> {
        view(self.0)
    }
}

impl<'t> Bounds<'t> {
    /// The traits.
    pub fn paths(self) -> impl Iterator<Item = Path<'t>> {
        views(self.0)
    }
}

impl<'t> ParamList<'t> {
    /// The receiver.
    #[must_use]
    pub fn self_param(self) -> Option<SelfParam<'t>> {
        view(self.0)
    }

    /// Parameters without the receiver.
    pub fn params(self) -> impl Iterator<Item = Param<'t>> {
        views(self.0)
    }

    /// `...` at the end.
    #[must_use]
    pub fn variadic(self) -> Option<VariadicParam<'t>> {
        view(self.0)
    }

    /// Whether it is written `|…|`.
    #[must_use]
    pub fn is_pipes(self) -> bool {
        self.0.first_token().is_some_and(|t| t.kind() == Pipe)
    }
}

impl<'t> Param<'t> {
    /// What it binds; `mut x` is an [`IdentPat`](super::IdentPat) with `mut`.
    #[must_use]
    pub fn pattern(self) -> Option<Pattern<'t>> {
        view(self.0)
    }

    /// The name, if the pattern is a plain binding.
    #[must_use]
    pub fn name(self) -> Option<Token<'t>> {
        match self.pattern()? {
            Pattern::IdentPat(p) => p.name(),
            Pattern::WildcardPat(p) => p.0.first_token(),
            _ => None,
        }
    }

    /// `: T`.
    #[must_use]
    pub fn ty(self) -> Option<Type<'t>> {
        view(self.0)
    }
}

impl<'t> SelfParam<'t> {
    /// The `self`.
    #[must_use]
    pub fn self_token(self) -> Option<Token<'t>> {
        self.0.own_token(SelfKw)
    }

    /// `: T`.
    #[must_use]
    pub fn ty(self) -> Option<Type<'t>> {
        view(self.0)
    }

    /// The `&` of `&self`, `&mut self`.
    #[must_use]
    pub fn amp_token(self) -> Option<Token<'t>> {
        self.0.own_token(Amp)
    }

    /// The `mut` of `&mut self`.
    #[must_use]
    pub fn mut_token(self) -> Option<Token<'t>> {
        self.0.own_token(MutKw)
    }
}

impl<'t> RetType<'t> {
    /// The type.
    #[must_use]
    pub fn ty(self) -> Option<Type<'t>> {
        view(self.0)
    }
}

impl<'t> EffectClause<'t> {
    /// Whether it is the bare `!E`.
    #[must_use]
    pub fn is_bare_variable(self) -> bool {
        self.0
            .own_tokens()
            .nth(1)
            .is_some_and(|t| t.kind() == Ident)
            && self.0.first_token().is_some_and(|t| t.kind() == Bang)
    }

    /// Whether it is written with the word `effect`.
    #[must_use]
    pub fn is_word_form(self) -> bool {
        self.0.first_token().is_some_and(|t| t.kind() == EffectKw)
    }

    /// Concrete effect names; any word may be one.
    pub fn effects(self) -> impl Iterator<Item = Token<'t>> {
        let none = self.is_bare_variable();
        names_of(
            self.0
                .own_tokens()
                .skip(1)
                .take_while(move |t| !none && t.kind() != Pipe),
        )
    }

    /// Row variables: the names after `|`, or the one of `!E`.
    pub fn row_vars(self) -> impl Iterator<Item = Token<'t>> {
        let bare = self.is_bare_variable();
        names_of(
            self.0
                .own_tokens()
                .skip(1)
                .skip_while(move |t| !bare && t.kind() != Pipe),
        )
    }
}

fn names_of<'t>(tokens: impl Iterator<Item = Token<'t>>) -> impl Iterator<Item = Token<'t>> {
    tokens.filter(|t| t.kind() == Ident || t.kind().is_keyword())
}

impl<'t> WhereClause<'t> {
    /// Predicates in source order.
    pub fn preds(self) -> impl Iterator<Item = WherePred<'t>> {
        views(self.0)
    }
}

impl<'t> WherePred<'t> {
    /// The bounded type.
    #[must_use]
    pub fn ty(self) -> Option<Type<'t>> {
        view(self.0)
    }

    /// Its bounds.
    #[must_use]
    pub fn bounds(self) -> Option<Bounds<'t>> {
        view(self.0)
    }
}

impl<'t> RequiresClause<'t> {
    /// The condition.
    #[must_use]
    pub fn condition(self) -> Option<Expr<'t>> {
        view(self.0)
    }
}

impl<'t> ExprBody<'t> {
    /// The expression.
    #[must_use]
    pub fn expr(self) -> Option<Expr<'t>> {
        view(self.0)
    }
}
