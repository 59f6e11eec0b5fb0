//! From expanded trees to the HIR: collect items, resolve imports, lower signatures, lower bodies.
//! Must not infer types.

mod body;
mod call;
mod collect;
mod expr;
mod items;
mod literal;
mod members;
mod names;
mod pat;
mod path;
mod stdmacro;
mod typeargs;
mod types;
mod uses;

pub(crate) use types::prim_ty;

use rustc_hash::{FxHashMap, FxHashSet};
use syntax::{NodeId, TextRange, ast};

use crate::diagnostic::{Diagnostic, Sink};
use crate::expand::Expanded;
use crate::hir::{BodyId, Def, FnId, Hir, ModuleId, Name};
use crate::package::{FileId, Options, Package};

/// Views of the items, by the same index as the vectors of the HIR.
#[derive(Default)]
struct Views<'t> {
    fns: Vec<ast::FnDef<'t>>,
    structs: Vec<ast::StructDef<'t>>,
    enums: Vec<ast::EnumDef<'t>>,
    traits: Vec<ast::TraitDef<'t>>,
    impls: Vec<ast::ImplDef<'t>>,
    aliases: Vec<ast::TypeAlias<'t>>,
    consts: Vec<ast::ConstDef<'t>>,
    agents: Vec<ast::AgentDef<'t>>,
    protocols: Vec<ast::ProtocolDef<'t>>,
    supervisors: Vec<ast::SupervisorDef<'t>>,
    sandboxes: Vec<ast::SandboxItem<'t>>,
}

/// The state of lowering.
struct Lower<'t> {
    hir: Hir,
    package: &'t Package,
    options: &'t Options,
    files: &'t [Expanded],
    sink: &'t mut Sink,
    views: Views<'t>,
    uses: Vec<(ModuleId, FileId, ast::UseItem<'t>)>,
    /// Blocks that hold items.
    blocks: FxHashMap<(FileId, NodeId), ModuleId>,
    /// Functions declared in `extern` blocks, whose unknown types are opaque.
    externs: FxHashSet<FnId>,
    /// 0 untouched, 1 being resolved, 2 done.
    alias_state: Vec<u8>,
    alias_depth: u32,
    well_known: WellKnown,
    /// Names of unit variants of all enums: a bare pattern of such a name is decided by type.
    unit_variants: FxHashSet<Name>,
    /// Names of capability parameters, by file (MT4062).
    cap_params: Vec<FxHashSet<Name>>,
    /// What the package calls itself.
    own_names: Vec<Vec<Name>>,
    /// Near names still looked for; bounds the work on hostile input.
    suggestions_left: u32,
}

/// Names that lowering compares with.
struct WellKnown {
    self_ty: Name,
    std: Name,
    empty: Name,
    underscore: Name,
    self_value: Name,
}

/// Lowers a package.
pub(crate) fn lower<'t>(
    package: &'t Package,
    files: &'t [Expanded],
    options: &'t Options,
    sink: &'t mut Sink,
) -> Hir {
    let mut hir = Hir {
        files: files.iter().map(|f| f.parse.clone()).collect(),
        ..Hir::default()
    };
    let well_known = WellKnown {
        self_ty: hir.names.intern("Self"),
        std: hir.names.intern("std"),
        empty: hir.names.intern(""),
        underscore: hir.names.intern("_"),
        self_value: hir.names.intern("self"),
    };
    let mut lower = Lower {
        hir,
        package,
        options,
        files,
        sink,
        views: Views::default(),
        uses: Vec::new(),
        blocks: FxHashMap::default(),
        externs: FxHashSet::default(),
        alias_state: Vec::new(),
        alias_depth: 0,
        well_known,
        unit_variants: FxHashSet::default(),
        cap_params: vec![FxHashSet::default(); package.files.len()],
        own_names: Vec::new(),
        suggestions_left: 200,
    };
    lower.collect();
    lower.resolve_uses();
    lower.signatures();
    lower.bodies();
    lower.hir
}

impl<'t> Lower<'t> {
    fn name(&mut self, token: syntax::Token<'_>) -> Name {
        self.hir.names.intern(token.text())
    }

    fn error(&mut self, code: u16, file: FileId, range: TextRange, title: impl Into<String>) {
        self.sink.push(Diagnostic::error(code, file, range, title));
    }

    /// What a name means in a module or one around it.
    fn lookup(&self, mut module: ModuleId, name: Name) -> Option<Def> {
        loop {
            let m = &self.hir.modules[module.index()];
            if let Some(def) = m.names.get(&name) {
                return Some(*def);
            }
            module = m.parent?;
        }
    }

    fn next_body(&self) -> BodyId {
        BodyId(self.hir.bodies.len() as u32)
    }
}
