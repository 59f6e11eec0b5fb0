//! Views of files, items and function headers (language.md §3.1), agents and their kin excepted.

use super::{
    AgentDef, AstNode, Attr, Block, EntryList, Expr, FnDef, GenericParamList, HasAttrs, HasName,
    ProtocolDef, SupervisorDef, Type, Vis, WhereClause, choice, named, nodes, view, views,
};
use crate::SyntaxKind::*;
use crate::tree::{Node, Token};

nodes! {
    /// A whole file.
    SourceFile;
    /// `package a.b`.
    PackageDecl;
    /// `a.b.c`.
    Path;
    /// `use a.b.C as D`, `use host:iface/name`.
    UseItem;
    /// `mighty:web/dom`.
    HostPath;
    /// `as name`.
    Rename;
    /// `mod a { … }`, `mod a;`.
    ModItem;
    /// `{ items }` of a module.
    ItemList;
    /// A struct, with or without fields.
    StructDef;
    /// `{ fields }`.
    FieldList;
    /// `name: Type`.
    FieldDef;
    /// An enum.
    EnumDef;
    /// `{ variants }`.
    VariantList;
    /// `Name(T, U)`.
    Variant;
    /// `type A = T`.
    TypeAlias;
    /// `const N: T = e`.
    ConstDef;
    /// A trait.
    TraitDef;
    /// `impl T`, `impl Trait for T`.
    ImplDef;
    /// `{ … }` of a trait, impl or extern block.
    MemberList;
    /// `derive A, B` before a struct or enum.
    DeriveClause;
    /// `cap Name { … }`.
    CapDecl;
    /// Balanced raw tokens with their brackets.
    TokenTree;
    /// `sandbox Name with { … } { … }` as an item.
    SandboxItem;
    /// `extern c { … }`.
    ExternBlock;
    /// `export c fn …`.
    ExportItem;
    /// `macro name(a, b) => { … }`.
    MacroDef;
    /// `(a, b)` of a macro.
    MacroParamList;
    /// `proc macro name(input: T) -> T { … }`.
    ProcMacroDef;
    /// Tokens the parser had no use for; a report points into or before it.
    ErrorNode;
}

choice! {
    /// An item of a file, a module or a block.
    Item {
        UseItem, ModItem, FnDef, StructDef, EnumDef, TypeAlias, ConstDef, TraitDef, ImplDef, CapDecl,
        ProtocolDef, AgentDef, SupervisorDef, SandboxItem, ExternBlock, ExportItem, MacroDef,
        ProcMacroDef,
    }
}

choice! {
    /// A member of a trait, impl or extern block.
    Member { FnDef, ConstDef }
}

named! {
    ModItem skips [ModKw];
    StructDef skips [StructKw];
    FieldDef skips [];
    EnumDef skips [EnumKw];
    Variant skips [];
    TypeAlias skips [TypeKw];
    ConstDef skips [ConstKw];
    TraitDef skips [TraitKw];
    CapDecl skips [CapKw];
    SandboxItem skips [SandboxKw];
    MacroDef skips [MacroKw];
    Rename skips [AsKw];
}

impl<'t> HasName<'t> for ProcMacroDef<'t> {
    fn name(self) -> Option<Token<'t>> {
        self.0.own_tokens().filter(|t| t.kind() == Ident).nth(1)
    }
}

macro_rules! attrs {
    ($($name:ident),*) => {$( impl<'t> HasAttrs<'t> for $name<'t> {} )*};
}

attrs!(
    Item,
    Member,
    UseItem,
    ModItem,
    StructDef,
    FieldDef,
    EnumDef,
    TypeAlias,
    ConstDef,
    TraitDef,
    ImplDef,
    CapDecl,
    ProtocolDef,
    AgentDef,
    SupervisorDef,
    SandboxItem,
    ExternBlock,
    ExportItem,
    MacroDef,
    ProcMacroDef
);

impl<'t> Item<'t> {
    /// `pub …` before it.
    #[must_use]
    pub fn visibility(self) -> Option<Vis<'t>> {
        view(self.syntax())
    }

    /// The name it declares; none for `use`, `impl` and `extern`.
    #[must_use]
    pub fn name(self) -> Option<Token<'t>> {
        match self {
            Item::UseItem(u) => u.local_name(),
            Item::ImplDef(_) | Item::ExternBlock(_) => None,
            Item::ModItem(x) => x.name(),
            Item::FnDef(x) => x.name(),
            Item::StructDef(x) => x.name(),
            Item::EnumDef(x) => x.name(),
            Item::TypeAlias(x) => x.name(),
            Item::ConstDef(x) => x.name(),
            Item::TraitDef(x) => x.name(),
            Item::CapDecl(x) => x.name(),
            Item::ProtocolDef(x) => x.name(),
            Item::AgentDef(x) => x.name(),
            Item::SupervisorDef(x) => x.name(),
            Item::SandboxItem(x) => x.name(),
            Item::ExportItem(x) => x.function().and_then(HasName::name),
            Item::MacroDef(x) => x.name(),
            Item::ProcMacroDef(x) => x.name(),
        }
    }
}

impl<'t> SourceFile<'t> {
    pub(crate) fn new(node: Node<'t>) -> Self {
        Self(node)
    }

    /// `package …` at the start.
    #[must_use]
    pub fn package(self) -> Option<PackageDecl<'t>> {
        view(self.0)
    }

    /// Items in source order.
    pub fn items(self) -> impl Iterator<Item = Item<'t>> {
        views(self.0)
    }
}

impl<'t> PackageDecl<'t> {
    /// The dotted name.
    #[must_use]
    pub fn path(self) -> Option<Path<'t>> {
        view(self.0)
    }
}

impl<'t> Path<'t> {
    /// Segments in source order; never none.
    pub fn segments(self) -> impl Iterator<Item = Token<'t>> {
        names(self.0)
    }

    /// The last segment.
    #[must_use]
    pub fn last(self) -> Option<Token<'t>> {
        self.segments().last()
    }
}

/// Own tokens that are identifiers or keywords.
pub(super) fn names(node: Node<'_>) -> impl Iterator<Item = Token<'_>> {
    node.own_tokens()
        .filter(|t| t.kind() == Ident || t.kind().is_keyword())
}

impl<'t> UseItem<'t> {
    /// The dotted path, unless it is a host path.
    #[must_use]
    pub fn path(self) -> Option<Path<'t>> {
        view(self.0)
    }

    /// `mighty:web/dom`.
    #[must_use]
    pub fn host_path(self) -> Option<HostPath<'t>> {
        view(self.0)
    }

    /// `as name`.
    #[must_use]
    pub fn rename(self) -> Option<Rename<'t>> {
        view(self.0)
    }

    /// The name it binds.
    #[must_use]
    pub fn local_name(self) -> Option<Token<'t>> {
        match self.rename() {
            Some(r) => r.name(),
            None => self
                .path()
                .and_then(Path::last)
                .or_else(|| self.host_path().and_then(|h| names(h.0).last())),
        }
    }
}

impl<'t> HostPath<'t> {
    /// Its words in source order.
    pub fn segments(self) -> impl Iterator<Item = Token<'t>> {
        names(self.0)
    }
}

impl<'t> ModItem<'t> {
    /// The braces of an inline module.
    #[must_use]
    pub fn item_list(self) -> Option<ItemList<'t>> {
        view(self.0)
    }

    /// Items of an inline module.
    pub fn items(self) -> impl Iterator<Item = Item<'t>> {
        self.item_list().into_iter().flat_map(ItemList::items)
    }
}

impl<'t> ItemList<'t> {
    /// Items in source order.
    pub fn items(self) -> impl Iterator<Item = Item<'t>> {
        views(self.0)
    }
}

macro_rules! common {
    ($($name:ident),*) => {$(
        impl<'t> $name<'t> {
            /// `pub …`.
            #[must_use]
            pub fn visibility(self) -> Option<Vis<'t>> {
                view(self.0)
            }

            /// `[T, …]`.
            #[must_use]
            pub fn generics(self) -> Option<GenericParamList<'t>> {
                view(self.0)
            }
        }
    )*};
}

common!(StructDef, EnumDef, TypeAlias, TraitDef, ImplDef);

macro_rules! derives {
    ($($name:ident),*) => {$(
        impl<'t> $name<'t> {
            /// `derive A, B` before it.
            #[must_use]
            pub fn derive_clause(self) -> Option<DeriveClause<'t>> {
                view(self.0)
            }

            /// Derived names, of `derive A` and of `#[derive(A)]`.
            pub fn derives(self) -> impl Iterator<Item = Token<'t>> {
                let attrs = views::<Attr<'t>>(self.0).flat_map(Attr::derives);
                attrs.chain(self.derive_clause().into_iter().flat_map(DeriveClause::names))
            }
        }
    )*};
}

derives!(StructDef, EnumDef);

impl<'t> DeriveClause<'t> {
    /// The names.
    pub fn names(self) -> impl Iterator<Item = Token<'t>> {
        self.0.own_tokens().filter(|t| t.kind() == Ident)
    }
}

impl<'t> StructDef<'t> {
    /// The braces; none for a unit struct.
    #[must_use]
    pub fn field_list(self) -> Option<FieldList<'t>> {
        view(self.0)
    }

    /// Fields in source order.
    pub fn fields(self) -> impl Iterator<Item = FieldDef<'t>> {
        self.field_list().into_iter().flat_map(|l| views(l.0))
    }
}

impl<'t> FieldDef<'t> {
    /// `pub …`.
    #[must_use]
    pub fn visibility(self) -> Option<Vis<'t>> {
        view(self.0)
    }

    /// Its type.
    #[must_use]
    pub fn ty(self) -> Option<Type<'t>> {
        view(self.0)
    }
}

impl<'t> EnumDef<'t> {
    /// The braces.
    #[must_use]
    pub fn variant_list(self) -> Option<VariantList<'t>> {
        view(self.0)
    }

    /// Variants in source order.
    pub fn variants(self) -> impl Iterator<Item = Variant<'t>> {
        self.variant_list().into_iter().flat_map(|l| views(l.0))
    }
}

impl<'t> Variant<'t> {
    /// Payload types.
    pub fn payload(self) -> impl Iterator<Item = Type<'t>> {
        views(self.0)
    }
}

impl<'t> TypeAlias<'t> {
    /// What it stands for.
    #[must_use]
    pub fn ty(self) -> Option<Type<'t>> {
        view(self.0)
    }
}

impl<'t> ConstDef<'t> {
    /// `pub …`.
    #[must_use]
    pub fn visibility(self) -> Option<Vis<'t>> {
        view(self.0)
    }

    /// `: T`.
    #[must_use]
    pub fn ty(self) -> Option<Type<'t>> {
        view(self.0)
    }

    /// `= e`; a trait's constant may lack it.
    #[must_use]
    pub fn value(self) -> Option<Expr<'t>> {
        view(self.0)
    }
}

macro_rules! members {
    ($($name:ident),*) => {$(
        impl<'t> $name<'t> {
            /// The braces.
            #[must_use]
            pub fn member_list(self) -> Option<MemberList<'t>> {
                view(self.0)
            }

            /// Members in source order.
            pub fn members(self) -> impl Iterator<Item = Member<'t>> {
                self.member_list().into_iter().flat_map(|l| views(l.0))
            }

            /// Functions among the members.
            pub fn functions(self) -> impl Iterator<Item = FnDef<'t>> {
                self.member_list().into_iter().flat_map(|l| views(l.0))
            }
        }
    )*};
}

members!(TraitDef, ImplDef, ExternBlock);

impl<'t> MemberList<'t> {
    /// Members in source order.
    pub fn members(self) -> impl Iterator<Item = Member<'t>> {
        views(self.0)
    }
}

impl<'t> ImplDef<'t> {
    /// The trait of `impl Trait for T`.
    #[must_use]
    pub fn trait_type(self) -> Option<Type<'t>> {
        self.0.own_token(ForKw)?;
        view(self.0)
    }

    /// The implementing type.
    #[must_use]
    pub fn self_type(self) -> Option<Type<'t>> {
        views(self.0).nth(usize::from(self.0.own_token(ForKw).is_some()))
    }

    /// The `where` clause.
    #[must_use]
    pub fn where_clause(self) -> Option<WhereClause<'t>> {
        view(self.0)
    }
}

impl<'t> CapDecl<'t> {
    /// Its raw body.
    #[must_use]
    pub fn body(self) -> Option<TokenTree<'t>> {
        view(self.0)
    }
}

impl<'t> TokenTree<'t> {
    /// Every token between the brackets, trivia included.
    pub fn inner(self) -> impl DoubleEndedIterator<Item = Token<'t>> {
        let n = self.0.tokens().len();
        let closed = self.0.last_token().is_some_and(|t| t.kind().is_closer()) && n > 1;
        self.0.tokens().take(n - usize::from(closed)).skip(1)
    }
}

impl<'t> SandboxItem<'t> {
    /// The entries.
    #[must_use]
    pub fn entries(self) -> Option<EntryList<'t>> {
        view(self.0)
    }

    /// The body.
    #[must_use]
    pub fn body(self) -> Option<Block<'t>> {
        view(self.0)
    }
}
