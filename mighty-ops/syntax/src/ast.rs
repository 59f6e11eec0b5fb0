//! Typed views: one `Copy` handle per construct, over nodes of the tree.
//! Must not hold state or judge: a view only finds parts. Parts are `Option` because a tree with errors may lack
//! them; in a tree without hard errors everything the grammar requires is there.

mod agents;
mod exprs;
mod flow;
mod foreign;
mod items;
mod literals;
mod patterns;
mod sigs;
mod stmts;
mod types;

pub use agents::*;
pub use exprs::*;
pub use flow::*;
pub use foreign::*;
pub use items::*;
pub use literals::*;
pub use patterns::*;
pub use sigs::*;
pub use stmts::*;
pub use types::*;

use crate::SyntaxKind;
use crate::error::TextRange;
use crate::tree::{Node, Token};

/// A typed view of a node.
pub trait AstNode<'t>: Copy {
    /// The view, if the node is of its kind.
    fn cast(node: Node<'t>) -> Option<Self>;

    /// The node.
    fn syntax(self) -> Node<'t>;

    /// Byte range of the node.
    fn range(self) -> TextRange {
        self.syntax().range()
    }

    /// Text of the node, inner trivia included.
    fn text(self) -> &'t str {
        self.syntax().text()
    }
}

/// A construct with a name of its own.
pub trait HasName<'t>: AstNode<'t> {
    /// The name: an identifier, or a keyword in a tolerant position.
    fn name(self) -> Option<Token<'t>>;
}

/// A construct that may carry `#[…]`, `@…` and doc comments.
pub trait HasAttrs<'t>: AstNode<'t> {
    /// Attributes in source order.
    fn attrs(self) -> impl Iterator<Item = Attr<'t>> {
        views(self.syntax())
    }

    /// The `///` comments directly before it, in source order.
    fn doc_comments(self) -> Vec<Token<'t>> {
        let mut found = Vec::new();
        let mut at = self.syntax().first_token().and_then(Token::prev);
        while let Some(t) = at {
            match t.kind() {
                SyntaxKind::DocComment => found.push(t),
                SyntaxKind::Whitespace | SyntaxKind::LineComment => {}
                // A blank line cuts the comment off from the item.
                SyntaxKind::Newline if t.text().matches('\n').count() < 2 => {}
                _ => break,
            }
            at = t.prev();
        }
        found.reverse();
        found
    }
}

/// Child views of one type, in source order.
pub(crate) fn views<'t, N: AstNode<'t>>(node: Node<'t>) -> impl Iterator<Item = N> {
    node.children().filter_map(N::cast)
}

/// The first child view of one type.
pub(crate) fn view<'t, N: AstNode<'t>>(node: Node<'t>) -> Option<N> {
    views(node).next()
}

/// The first own token that is an identifier or a keyword outside `skip`.
pub(crate) fn name_after<'t>(node: Node<'t>, skip: &[SyntaxKind]) -> Option<Token<'t>> {
    node.own_tokens()
        .skip_while(|t| skip.contains(&t.kind()))
        .find(|t| t.kind() == SyntaxKind::Ident || t.kind().is_keyword())
}

macro_rules! nodes {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name<'t>(pub(crate) crate::tree::Node<'t>);

        impl<'t> crate::ast::AstNode<'t> for $name<'t> {
            fn cast(node: crate::tree::Node<'t>) -> Option<Self> {
                (node.kind() == crate::SyntaxKind::$name).then_some(Self(node))
            }

            fn syntax(self) -> crate::tree::Node<'t> {
                self.0
            }
        }
    )*};
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($variant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name<'t> {
            $(#[doc = concat!("See [`", stringify!($variant), "`].")] $variant($variant<'t>),)*
        }

        impl<'t> crate::ast::AstNode<'t> for $name<'t> {
            fn cast(node: crate::tree::Node<'t>) -> Option<Self> {
                match node.kind() {
                    $(crate::SyntaxKind::$variant => Some(Self::$variant($variant(node))),)*
                    _ => None,
                }
            }

            fn syntax(self) -> crate::tree::Node<'t> {
                match self {
                    $(Self::$variant(v) => v.0,)*
                }
            }
        }
    };
}

macro_rules! named {
    ($($name:ident skips [$($skip:ident),*];)*) => {$(
        impl<'t> crate::ast::HasName<'t> for $name<'t> {
            fn name(self) -> Option<crate::tree::Token<'t>> {
                crate::ast::name_after(self.0, &[$(crate::SyntaxKind::$skip),*])
            }
        }
    )*};
}

pub(crate) use {choice, named, nodes};
