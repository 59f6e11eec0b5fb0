//! Views of patterns (language.md §3.3).

use super::{HasName, choice, named, nodes, view, views};
use crate::SyntaxKind::*;
use crate::tree::Token;

nodes! {
    /// `_`.
    WildcardPat;
    /// A literal, perhaps with `-`.
    LiteralPat;
    /// `a..b`, `a..=b`.
    RangePat;
    /// `ref mut x @ p`; without any of these perhaps a unit variant or a constant (ruling G17).
    IdentPat;
    /// `&p`, `&mut p`.
    RefPat;
    /// `()`, `(p, q)`.
    TuplePat;
    /// `(p)`.
    ParenPat;
    /// `A.B` without payload.
    PathPat;
    /// `A.B(p, q)`.
    VariantPat;
    /// `A { x, y: p, .. }`.
    StructPat;
    /// `{ … }` of a struct pattern.
    FieldPatList;
    /// `x` or `y: p`.
    FieldPat;
    /// `..`.
    RestPat;
    /// `p | q`.
    OrPat;
    /// `A.B` or `A::B` at the head of a pattern.
    QualPath;
}

choice! {
    /// A pattern.
    Pattern {
        WildcardPat, LiteralPat, RangePat, IdentPat, RefPat, TuplePat, ParenPat, PathPat, VariantPat,
        StructPat, OrPat,
    }
}

named! {
    IdentPat skips [RefKw, MutKw];
    FieldPat skips [];
}

impl<'t> QualPath<'t> {
    /// Segments in source order; never none.
    pub fn segments(self) -> impl Iterator<Item = Token<'t>> {
        super::items::names(self.0)
    }
}

impl<'t> LiteralPat<'t> {
    /// The `-`.
    #[must_use]
    pub fn minus_token(self) -> Option<Token<'t>> {
        self.0.own_token(Minus)
    }

    /// The literal.
    #[must_use]
    pub fn literal(self) -> Option<Token<'t>> {
        self.0.own_tokens().find(|t| t.kind().is_literal())
    }
}

/// One end of a range pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PatBound<'t> {
    /// The `-`.
    pub minus: Option<Token<'t>>,
    /// The number.
    pub number: Token<'t>,
}

impl<'t> RangePat<'t> {
    /// `..` or `..=`.
    #[must_use]
    pub fn op_token(self) -> Option<Token<'t>> {
        self.0
            .own_tokens()
            .find(|t| matches!(t.kind(), DotDot | DotDotEq))
    }

    /// Whether it is `..=`.
    #[must_use]
    pub fn is_inclusive(self) -> bool {
        self.0.own_token(DotDotEq).is_some()
    }

    fn bound(tokens: impl Iterator<Item = Token<'t>>) -> Option<PatBound<'t>> {
        let mut minus = None;
        for t in tokens {
            if t.kind() == Minus {
                minus = Some(t);
            } else {
                return Some(PatBound { minus, number: t });
            }
        }
        None
    }

    /// The low end.
    #[must_use]
    pub fn low(self) -> Option<PatBound<'t>> {
        Self::bound(
            self.0
                .own_tokens()
                .take_while(|t| !matches!(t.kind(), DotDot | DotDotEq)),
        )
    }

    /// The high end.
    #[must_use]
    pub fn high(self) -> Option<PatBound<'t>> {
        Self::bound(
            self.0
                .own_tokens()
                .skip_while(|t| !matches!(t.kind(), DotDot | DotDotEq))
                .skip(1),
        )
    }
}

impl<'t> IdentPat<'t> {
    /// The `ref`.
    #[must_use]
    pub fn ref_token(self) -> Option<Token<'t>> {
        self.0.own_token(RefKw)
    }

    /// The `mut`.
    #[must_use]
    pub fn mut_token(self) -> Option<Token<'t>> {
        self.0.own_token(MutKw)
    }

    /// The pattern after `@`.
    #[must_use]
    pub fn sub(self) -> Option<Pattern<'t>> {
        view(self.0)
    }

    /// Whether it is nothing but a name.
    #[must_use]
    pub fn is_bare(self) -> bool {
        self.0.tokens().len() == 1
    }
}

impl<'t> RefPat<'t> {
    /// The `mut`.
    #[must_use]
    pub fn mut_token(self) -> Option<Token<'t>> {
        self.0.own_token(MutKw)
    }

    /// What is behind the reference.
    #[must_use]
    pub fn inner(self) -> Option<Pattern<'t>> {
        view(self.0)
    }
}

impl<'t> TuplePat<'t> {
    /// Components.
    pub fn patterns(self) -> impl Iterator<Item = Pattern<'t>> {
        views(self.0)
    }
}

impl<'t> ParenPat<'t> {
    /// What is in the parentheses.
    #[must_use]
    pub fn inner(self) -> Option<Pattern<'t>> {
        view(self.0)
    }
}

impl<'t> PathPat<'t> {
    /// The path.
    #[must_use]
    pub fn path(self) -> Option<QualPath<'t>> {
        view(self.0)
    }
}

impl<'t> VariantPat<'t> {
    /// The path.
    #[must_use]
    pub fn path(self) -> Option<QualPath<'t>> {
        view(self.0)
    }

    /// Payload patterns.
    pub fn patterns(self) -> impl Iterator<Item = Pattern<'t>> {
        views(self.0)
    }
}

impl<'t> StructPat<'t> {
    /// The path.
    #[must_use]
    pub fn path(self) -> Option<QualPath<'t>> {
        view(self.0)
    }

    /// The braces.
    #[must_use]
    pub fn field_list(self) -> Option<FieldPatList<'t>> {
        view(self.0)
    }

    /// Fields in source order.
    pub fn fields(self) -> impl Iterator<Item = FieldPat<'t>> {
        self.field_list().into_iter().flat_map(|l| views(l.0))
    }

    /// `..`.
    #[must_use]
    pub fn rest(self) -> Option<RestPat<'t>> {
        self.field_list().and_then(|l| view(l.0))
    }
}

impl<'t> FieldPat<'t> {
    /// `: p`; without it the field binds its own name.
    #[must_use]
    pub fn pattern(self) -> Option<Pattern<'t>> {
        view(self.0)
    }

    /// The name it binds when it has no pattern.
    #[must_use]
    pub fn shorthand(self) -> Option<Token<'t>> {
        if self.pattern().is_some() {
            None
        } else {
            self.name()
        }
    }
}

impl<'t> OrPat<'t> {
    /// Alternatives in source order.
    pub fn patterns(self) -> impl Iterator<Item = Pattern<'t>> {
        views(self.0)
    }
}
