//! Parts of extern blocks, exports and macros (language.md §3.1, §22, §23).
//! The views themselves are declared in `items`.

use super::items::names;
use super::{
    ExportItem, ExternBlock, FnDef, MacroDef, MacroParamList, ParamList, ProcMacroDef, RetType,
    StrLit, TokenTree, view,
};
use crate::SyntaxKind::{self, *};
use crate::tree::{Node, Token};

/// The word after `extern` or `export`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Abi<'t> {
    /// `c`, or nothing.
    C,
    /// `js`.
    Js,
    /// `component "iface"`.
    Component(Option<StrLit<'t>>),
}

fn abi(node: Node<'_>) -> Abi<'_> {
    match node
        .own_tokens()
        .find(|t| t.kind() == SyntaxKind::Ident)
        .map(Token::text)
    {
        Some("js") => Abi::Js,
        Some("component") => Abi::Component(
            node.own_tokens()
                .find(|t| matches!(t.kind(), Str | RawStr))
                .map(StrLit::new),
        ),
        _ => Abi::C,
    }
}

impl<'t> ExternBlock<'t> {
    /// Whose functions these are.
    #[must_use]
    pub fn abi(self) -> Abi<'t> {
        abi(self.0)
    }
}

impl<'t> ExportItem<'t> {
    /// Who may call it.
    #[must_use]
    pub fn abi(self) -> Abi<'t> {
        abi(self.0)
    }

    /// The function.
    #[must_use]
    pub fn function(self) -> Option<FnDef<'t>> {
        view(self.0)
    }
}

impl<'t> MacroDef<'t> {
    /// Parameter names.
    pub fn params(self) -> impl Iterator<Item = Token<'t>> {
        view::<MacroParamList<'t>>(self.0)
            .into_iter()
            .flat_map(|l| names(l.0))
    }

    /// The optional `=>`.
    #[must_use]
    pub fn arrow_token(self) -> Option<Token<'t>> {
        self.0.own_token(FatArrow)
    }

    /// The raw body with its braces.
    #[must_use]
    pub fn body(self) -> Option<TokenTree<'t>> {
        view(self.0)
    }
}

impl<'t> ProcMacroDef<'t> {
    /// `( input: T )`.
    #[must_use]
    pub fn params(self) -> Option<ParamList<'t>> {
        view(self.0)
    }

    /// `-> T`.
    #[must_use]
    pub fn ret_type(self) -> Option<RetType<'t>> {
        view(self.0)
    }

    /// The raw body with its braces.
    #[must_use]
    pub fn body(self) -> Option<TokenTree<'t>> {
        view(self.0)
    }
}
