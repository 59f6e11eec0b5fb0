//! First pass: every item gets its identity, and every module its names.
//! Must not look at types or bodies.

use syntax::SyntaxKind;
use syntax::ast::{self, AstNode, HasName, Item};
use syntax::{Node, Token};

use super::Lower;
use crate::diagnostic::{Diagnostic, FixHint};
use crate::hir::*;
use crate::package::FileId;
use crate::ty::Ty;

impl<'t> Lower<'t> {
    pub(super) fn collect(&mut self) {
        let empty = self.well_known.empty;
        let root = self.new_module(empty, None, FileId(0), false);
        self.package_names();
        let files: &'t [crate::expand::Expanded] = self.files;
        for (i, expanded) in files.iter().enumerate() {
            let file = FileId(i as u32);
            let mut module = root;
            for part in &self.package.files[i].module {
                let name = self.hir.names.intern(part);
                module = self.child_module(module, name, file);
            }
            let source = expanded.parse.file();
            self.collect_items(source.items(), module, file);
            self.collect_blocks(source.syntax(), module, file);
        }
    }

    fn package_names(&mut self) {
        if let Some(name) = &self.package.name {
            let name = self.hir.names.intern(name);
            self.own_names.push(vec![name]);
        }
        let files: &'t [crate::expand::Expanded] = self.files;
        if let Some(path) = files
            .first()
            .and_then(|f| f.parse.file().package())
            .and_then(ast::PackageDecl::path)
        {
            let names = path.segments().map(|t| self.name(t)).collect();
            self.own_names.push(names);
        }
    }

    pub(super) fn new_module(
        &mut self,
        name: Name,
        parent: Option<ModuleId>,
        file: FileId,
        is_block: bool,
    ) -> ModuleId {
        let id = ModuleId(self.hir.modules.len() as u32);
        self.hir.modules.push(Module {
            name,
            parent,
            file,
            is_block,
            names: rustc_hash::FxHashMap::default(),
            children: Vec::new(),
        });
        if let Some(p) = parent.filter(|_| !is_block) {
            self.hir.modules[p.index()].children.push(id);
        }
        id
    }

    fn child_module(&mut self, parent: ModuleId, name: Name, file: FileId) -> ModuleId {
        if let Some(Def::Module(m)) = self.hir.modules[parent.index()].names.get(&name) {
            return *m;
        }
        let id = self.new_module(name, Some(parent), file, false);
        self.hir.modules[parent.index()]
            .names
            .insert(name, Def::Module(id));
        id
    }

    fn collect_items(
        &mut self,
        items: impl Iterator<Item = Item<'t>>,
        module: ModuleId,
        file: FileId,
    ) {
        for item in items {
            self.collect_item(item, module, file);
        }
    }

    fn head(
        &mut self,
        node: Node<'t>,
        name: Option<Token<'t>>,
        module: ModuleId,
        file: FileId,
    ) -> Head {
        let public = node
            .child(SyntaxKind::Vis)
            .and_then(ast::Vis::cast)
            .is_some_and(|v| !v.is_crate());
        Head {
            name: name.map_or(self.well_known.empty, |t| self.hir.names.intern(t.text())),
            name_range: name.map_or_else(|| node.range(), Token::range),
            range: node.range(),
            file,
            module,
            node: node.id(),
            public,
        }
    }

    fn declare(&mut self, head: &Head, def: Def) {
        if head.name == self.well_known.empty {
            return;
        }
        let names = &mut self.hir.modules[head.module.index()].names;
        let old = names.insert(head.name, def);
        let Some(old) = old else { return };
        let Some(first) = self.head_of(old) else {
            return;
        };
        if first.file != head.file {
            return;
        }
        let (first_range, file) = (first.range, first.file);
        let text = self.hir.text(head.name).to_owned();
        let report = Diagnostic::warning(
            1090,
            file,
            head.name_range,
            format!("`{text}` is declared twice in this module, the later one counts"),
        );
        self.sink
            .push(report.hint(FixHint::Delete { range: first_range }));
    }

    /// The head of an item of this package.
    pub(super) fn head_of(&self, def: Def) -> Option<&Head> {
        let h = &self.hir;
        Some(match def {
            Def::Fn(i) => &h.fns[i.index()].head,
            Def::Struct(i) => &h.structs[i.index()].head,
            Def::Enum(i) => &h.enums[i.index()].head,
            Def::Trait(i) => &h.traits[i.index()].head,
            Def::Alias(i) => &h.aliases[i.index()].head,
            Def::Const(i) => &h.consts[i.index()].head,
            Def::Agent(i) => &h.agents[i.index()].head,
            Def::Protocol(i) => &h.protocols[i.index()].head,
            Def::Supervisor(i) => &h.supervisors[i.index()].head,
            Def::Cap(i) => &h.caps[i.index()].head,
            Def::Sandbox(_)
            | Def::Module(_)
            | Def::Macro(_)
            | Def::Variant(..)
            | Def::Std(_)
            | Def::Foreign(_)
            | Def::Broken => return None,
        })
    }

    fn collect_item(&mut self, item: Item<'t>, module: ModuleId, file: FileId) {
        let node = item.syntax();
        let head = self.head(node, item.name(), module, file);
        match item {
            Item::UseItem(u) => self.uses.push((module, file, u)),
            Item::ModItem(m) => self.collect_mod(m, head, module, file),
            Item::FnDef(f) => {
                let id = self.add_fn(f, head, FnKind::Free);
                self.declare(&head, Def::Fn(id));
            }
            Item::ExportItem(e) => {
                if let Some(f) = e.function() {
                    let id = self.add_fn(f, head, FnKind::Export);
                    self.declare(&head, Def::Fn(id));
                }
            }
            Item::ExternBlock(b) => {
                for f in b.functions() {
                    let head = self.head(f.syntax(), f.name(), module, file);
                    let id = self.add_fn(f, head, FnKind::Extern);
                    self.externs.insert(id);
                    self.declare(&head, Def::Fn(id));
                }
            }
            Item::StructDef(s) => {
                let id = StructId(self.hir.structs.len() as u32);
                let derives = s
                    .derives()
                    .map(|t| (self.hir.names.intern(t.text()), t.range()))
                    .collect();
                self.hir.structs.push(Struct {
                    head,
                    generics: Vec::new(),
                    fields: Vec::new(),
                    braced: s.field_list().is_some(),
                    derives,
                    is_copy: false,
                });
                self.views.structs.push(s);
                self.declare(&head, Def::Struct(id));
            }
            Item::EnumDef(e) => self.collect_enum(e, head),
            Item::TraitDef(t) => self.collect_trait(t, head),
            Item::ImplDef(i) => self.collect_impl(i, head),
            Item::TypeAlias(a) => {
                let id = AliasId(self.hir.aliases.len() as u32);
                self.hir.aliases.push(Alias {
                    head,
                    generics: Vec::new(),
                    ty: Ty::UNKNOWN,
                });
                self.views.aliases.push(a);
                self.alias_state.push(0);
                self.declare(&head, Def::Alias(id));
            }
            Item::ConstDef(c) => {
                let id = self.add_const(c, head);
                self.declare(&head, Def::Const(id));
            }
            Item::AgentDef(a) => self.collect_agent(a, head),
            Item::ProtocolDef(p) => {
                let id = ProtocolId(self.hir.protocols.len() as u32);
                self.hir.protocols.push(Protocol {
                    head,
                    messages: Vec::new(),
                });
                self.views.protocols.push(p);
                self.declare(&head, Def::Protocol(id));
            }
            Item::SupervisorDef(s) => {
                let id = SupervisorId(self.hir.supervisors.len() as u32);
                self.hir.supervisors.push(Supervisor {
                    head,
                    children: Vec::new(),
                });
                self.views.supervisors.push(s);
                self.declare(&head, Def::Supervisor(id));
            }
            Item::SandboxItem(s) => {
                self.hir.sandboxes.push(Sandbox { head, body: None });
                self.views.sandboxes.push(s);
            }
            Item::CapDecl(_) => {
                let id = CapId(self.hir.caps.len() as u32);
                self.hir.caps.push(Cap { head });
                self.declare(&head, Def::Cap(id));
            }
            Item::MacroDef(_) => self.hir.macros.push(Macro {
                head,
                is_proc: false,
            }),
            Item::ProcMacroDef(_) => self.hir.macros.push(Macro {
                head,
                is_proc: true,
            }),
        }
    }

    fn collect_mod(&mut self, m: ast::ModItem<'t>, head: Head, module: ModuleId, file: FileId) {
        let known = self.hir.modules[module.index()]
            .names
            .get(&head.name)
            .copied();
        if m.item_list().is_none() {
            // `mod a;`: the file of that module is part of the package, or out of sight.
            if known.is_none() {
                let at = head.name;
                self.hir.modules[module.index()]
                    .names
                    .insert(at, Def::Foreign(at));
            }
            return;
        }
        let inner = self.child_module(module, head.name, file);
        self.collect_items(m.items(), inner, file);
    }

    pub(super) fn add_fn(&mut self, f: ast::FnDef<'t>, head: Head, kind: FnKind) -> FnId {
        let id = FnId(self.hir.fns.len() as u32);
        self.hir.fns.push(Function {
            head,
            kind,
            generics: Vec::new(),
            self_param: None,
            params: Vec::new(),
            variadic: false,
            ret: Ty::UNIT,
            ret_range: None,
            effects: None,
            is_unsafe: f.unsafe_token().is_some(),
            is_const: f.const_token().is_some(),
            body: None,
        });
        self.views.fns.push(f);
        id
    }

    fn add_const(&mut self, c: ast::ConstDef<'t>, head: Head) -> ConstId {
        let id = ConstId(self.hir.consts.len() as u32);
        self.hir.consts.push(Const {
            head,
            ty: None,
            ty_range: None,
            body: None,
            owner: None,
        });
        self.views.consts.push(c);
        id
    }

    fn collect_enum(&mut self, e: ast::EnumDef<'t>, head: Head) {
        let id = EnumId(self.hir.enums.len() as u32);
        let derives = e
            .derives()
            .map(|t| (self.hir.names.intern(t.text()), t.range()))
            .collect();
        let mut variants = Vec::new();
        for v in e.variants() {
            let Some(t) = v.name() else { continue };
            let name = self.name(t);
            if v.payload().next().is_none() {
                self.unit_variants.insert(name);
            }
            variants.push(Variant {
                name,
                range: t.range(),
                payload: Vec::new(),
                payload_ranges: Vec::new(),
            });
        }
        self.hir.enums.push(Enum {
            head,
            generics: Vec::new(),
            variants,
            derives,
            is_copy: false,
        });
        self.views.enums.push(e);
        self.declare(&head, Def::Enum(id));
    }

    fn collect_members(
        &mut self,
        members: impl Iterator<Item = ast::Member<'t>>,
        head: &Head,
        kind: FnKind,
    ) -> (Vec<FnId>, Vec<ConstId>) {
        let (mut fns, mut consts) = (Vec::new(), Vec::new());
        for m in members {
            match m {
                ast::Member::FnDef(f) => {
                    let h = self.head(f.syntax(), f.name(), head.module, head.file);
                    fns.push(self.add_fn(f, h, kind));
                }
                ast::Member::ConstDef(c) => {
                    let h = self.head(c.syntax(), c.name(), head.module, head.file);
                    consts.push(self.add_const(c, h));
                }
            }
        }
        (fns, consts)
    }

    fn collect_trait(&mut self, t: ast::TraitDef<'t>, head: Head) {
        let id = TraitId(self.hir.traits.len() as u32);
        let (methods, consts) = self.collect_members(t.members(), &head, FnKind::Trait(id));
        let unsafe_for_dyn = t.functions().position(mentions_self).map(|i| methods[i]);
        self.hir.traits.push(Trait {
            head,
            generics: Vec::new(),
            methods,
            consts,
            not_object_safe: unsafe_for_dyn,
        });
        self.views.traits.push(t);
        self.declare(&head, Def::Trait(id));
    }

    fn collect_impl(&mut self, i: ast::ImplDef<'t>, head: Head) {
        let id = ImplId(self.hir.impls.len() as u32);
        let (methods, consts) = self.collect_members(i.members(), &head, FnKind::Method(id));
        self.hir.impls.push(Impl {
            head,
            generics: Vec::new(),
            has_trait: i.trait_type().is_some(),
            trait_id: None,
            trait_name: None,
            trait_range: None,
            self_ty: Ty::UNKNOWN,
            self_range: i.self_type().map_or_else(|| i.range(), AstNode::range),
            methods,
            consts,
        });
        self.views.impls.push(i);
    }

    fn collect_agent(&mut self, a: ast::AgentDef<'t>, head: Head) {
        let id = AgentId(self.hir.agents.len() as u32);
        let mut methods = Vec::new();
        for f in a.functions() {
            let h = self.head(f.syntax(), f.name(), head.module, head.file);
            methods.push(self.add_fn(f, h, FnKind::Agent(id)));
        }
        self.hir.agents.push(Agent {
            head,
            ctor: Vec::new(),
            protocols: Vec::new(),
            state: Vec::new(),
            handlers: Vec::new(),
            methods,
            init: None,
        });
        self.views.agents.push(a);
        self.declare(&head, Def::Agent(id));
    }

    /// Items inside blocks: each such block is a module of its own ([R:G18]).
    fn collect_blocks(&mut self, root: Node<'t>, file_module: ModuleId, file: FileId) {
        for node in root.descendants() {
            if node.kind() != SyntaxKind::Block || !node.children().any(|c| c.kind().is_item()) {
                continue;
            }
            let parent = self.module_around(node, file_module, file);
            let empty = self.well_known.empty;
            let module = self.new_module(empty, Some(parent), file, true);
            self.blocks.insert((file, node.id()), module);
            self.collect_items(node.children().filter_map(Item::cast), module, file);
        }
    }

    fn module_around(&mut self, node: Node<'t>, file_module: ModuleId, file: FileId) -> ModuleId {
        let mut mods = Vec::new();
        for a in node.ancestors() {
            if mods.is_empty()
                && let Some(m) = self.blocks.get(&(file, a.id()))
            {
                return *m;
            }
            if let Some(m) = ast::ModItem::cast(a).and_then(|m| m.name()) {
                mods.push(m);
            }
        }
        let mut module = file_module;
        for m in mods.into_iter().rev() {
            let name = self.name(m);
            if let Some(Def::Module(inner)) = self.hir.modules[module.index()].names.get(&name) {
                module = *inner;
            }
        }
        module
    }
}

/// Whether a method keeps its trait from being a `dyn` type: own generics, or `Self` outside the receiver
/// ([R:G37]).
fn mentions_self(f: ast::FnDef<'_>) -> bool {
    if f.generics().is_some() {
        return true;
    }
    let has_self = |n: Node<'_>| {
        n.tokens()
            .any(|t| t.kind() == SyntaxKind::Ident && t.text() == "Self")
    };
    f.params()
        .is_some_and(|p| p.params().any(|p| has_self(p.syntax())))
        || f.ret_type().is_some_and(|r| has_self(r.syntax()))
}
