//! Views of files, items and function headers (language.md §3.1), agents and their kin excepted.

use super::{
    AgentDef, AstNode, Block, EntryList, Expr, HasAttrs, HasName, Pattern, ProtocolDef, StrLit,
    SupervisorDef, Type, choice, named, nodes, view, views,
};
use crate::SyntaxKind::{self, *};
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
    FnDef skips [ConstKw, AsyncKw, UnsafeKw, FnKw];
    GenericParam skips [];
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
    FnDef,
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
