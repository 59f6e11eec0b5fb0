//! The HIR: items with resolved signatures and bodies with resolved names, lowered from the expanded trees.
//! Must not infer types; and must not change once lowering is done.
//!
//! Read [`items`] for what a package holds and [`body`] for code. All ranges and node identities are those of
//! the expanded trees ([`Hir::files`]); the entry point maps ranges of reports back to the written text, so
//! passes use HIR ranges as they are.

pub mod body;
mod children;
pub mod ids;
pub mod items;
pub mod pattern;
pub mod words;

use std::sync::Arc;

use syntax::{Parse, TextRange};

pub use body::*;
pub(crate) use children::children;
pub use ids::*;
pub use items::*;
pub use pattern::*;
pub use words::*;

use crate::package::FileId;
use crate::ty::{Ty, TyStore};

/// A module: a file, a `mod`, or a block that holds items.
#[derive(Debug, Clone)]
pub struct Module {
    /// Its name; of the root and of blocks an empty one.
    pub name: Name,
    /// The module around it. Names not found in a module are looked up there.
    pub parent: Option<ModuleId>,
    /// The file it is written in (for the root: the first of its files).
    pub file: FileId,
    /// Whether it is a block.
    pub is_block: bool,
    /// Names in order of declaration; of two equal ones the later counts.
    pub names: rustc_hash::FxHashMap<Name, Def>,
    /// Submodules among `names` are found here too, for `a.b` paths.
    pub children: Vec<ModuleId>,
}

/// What a name of a module stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Def {
    Module(ModuleId),
    Fn(FnId),
    Struct(StructId),
    Enum(EnumId),
    Trait(TraitId),
    Alias(AliasId),
    Const(ConstId),
    Agent(AgentId),
    Protocol(ProtocolId),
    Supervisor(SupervisorId),
    Sandbox(SandboxId),
    Cap(CapId),
    Macro(MacroId),
    /// A variant brought in by `use`.
    Variant(EnumId, u32),
    /// A module of the standard library: its path without `std`, joined with dots.
    Std(Name),
    /// Anything foreign.
    Foreign(Name),
    /// An import that was reported; everything through it is poison.
    Broken,
}

/// A whole package.
#[derive(Debug, Default)]
pub struct Hir {
    pub names: Names,
    /// Expanded trees, by [`FileId`].
    pub files: Vec<Arc<Parse>>,
    pub modules: Vec<Module>,
    pub generics: Vec<Generic>,
    pub fns: Vec<Function>,
    pub structs: Vec<Struct>,
    pub enums: Vec<Enum>,
    pub traits: Vec<Trait>,
    pub impls: Vec<Impl>,
    pub aliases: Vec<Alias>,
    pub consts: Vec<Const>,
    pub agents: Vec<Agent>,
    pub protocols: Vec<Protocol>,
    pub supervisors: Vec<Supervisor>,
    pub sandboxes: Vec<Sandbox>,
    pub caps: Vec<Cap>,
    pub macros: Vec<Macro>,
    /// In the order of files and positions; agents' members stand together.
    pub bodies: Vec<Body>,
    /// All types; passes that run after inference read it through [`TyStore::kind`].
    pub tys: TyStore,
}

impl Hir {
    /// The text of a name.
    #[must_use]
    pub fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }

    /// The body of an identity.
    #[must_use]
    pub fn body(&self, id: BodyId) -> &Body {
        &self.bodies[id.index()]
    }

    /// All bodies with their identities.
    pub fn body_ids(&self) -> impl Iterator<Item = BodyId> + use<> {
        (0..self.bodies.len() as u32).map(BodyId)
    }

    /// A function.
    #[must_use]
    pub fn function(&self, id: FnId) -> &Function {
        &self.fns[id.index()]
    }

    /// Whether values of a type are copied rather than moved (§12.1). Unresolved types and generic
    /// parameters are not Copy.
    #[must_use]
    pub fn is_copy(&self, ty: Ty) -> bool {
        crate::ty::is_copy(self, ty)
    }

    /// A type as it would be written.
    #[must_use]
    pub fn show(&self, ty: Ty) -> String {
        crate::ty::show(self, ty)
    }

    /// The text of a range of a file's expanded tree.
    #[must_use]
    pub fn text_of(&self, file: FileId, range: TextRange) -> &str {
        let text = self.files[file.index()].tree.text();
        text.get(std::ops::Range::from(range)).unwrap_or_default()
    }
}
