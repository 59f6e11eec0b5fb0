//! Identities of the HIR and the interner of names.
//! Must not know what the identified things are.

use std::sync::Arc;

use rustc_hash::FxHashMap;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Index into the vector that holds what it identifies.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A function, method, signature or extern declaration: index into [`Hir::fns`](super::Hir::fns).
    FnId;
    /// Index into [`Hir::structs`](super::Hir::structs).
    StructId;
    /// Index into [`Hir::enums`](super::Hir::enums).
    EnumId;
    /// Index into [`Hir::traits`](super::Hir::traits).
    TraitId;
    /// Index into [`Hir::impls`](super::Hir::impls).
    ImplId;
    /// Index into [`Hir::aliases`](super::Hir::aliases).
    AliasId;
    /// Index into [`Hir::consts`](super::Hir::consts).
    ConstId;
    /// Index into [`Hir::agents`](super::Hir::agents).
    AgentId;
    /// Index into [`Hir::protocols`](super::Hir::protocols).
    ProtocolId;
    /// Index into [`Hir::supervisors`](super::Hir::supervisors).
    SupervisorId;
    /// Index into [`Hir::sandboxes`](super::Hir::sandboxes).
    SandboxId;
    /// A `cap Name` declaration: index into [`Hir::caps`](super::Hir::caps).
    CapId;
    /// Index into [`Hir::macros`](super::Hir::macros).
    MacroId;
    /// A file, a `mod` or a block with nested items: index into [`Hir::modules`](super::Hir::modules).
    ModuleId;
    /// A generic parameter of any item: index into [`Hir::generics`](super::Hir::generics).
    GenericId;
    /// Index into [`Hir::bodies`](super::Hir::bodies).
    BodyId;
    /// Index into [`Body::exprs`](super::Body::exprs).
    ExprId;
    /// Index into [`Body::pats`](super::Body::pats).
    PatId;
    /// Index into [`Body::locals`](super::Body::locals).
    LocalId;
    /// An interned name, see [`Names`].
    Name;
}

/// The interner of names. Equal texts have equal [`Name`]s.
#[derive(Debug, Default)]
pub struct Names {
    texts: Vec<Arc<str>>,
    known: FxHashMap<Arc<str>, u32>,
}

impl Names {
    /// The name of a text.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(i) = self.known.get(text) {
            return Name(*i);
        }
        let shared: Arc<str> = text.into();
        let i = self.texts.len() as u32;
        self.texts.push(Arc::clone(&shared));
        self.known.insert(shared, i);
        Name(i)
    }

    /// The name of a text that was interned before.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Name> {
        self.known.get(text).map(|i| Name(*i))
    }

    /// The text of a name.
    #[must_use]
    pub fn text(&self, name: Name) -> &str {
        &self.texts[name.index()]
    }
}
