//! Bodies: which there are, their parameters, scopes and blocks.
//! Must not decide what a name means; `names` does.

use std::marker::PhantomData;

use rustc_hash::FxHashMap;
use syntax::ast::{self, AstNode, Expr as AstExpr, Stmt as AstStmt};
use syntax::{Node, NodeId, TextRange};

use super::Lower;
use super::types::TyScope;
use crate::hir::*;
use crate::package::FileId;
use crate::ty::{Ty, TyKind};

/// The state of lowering one body.
pub(super) struct Cx<'l, 't> {
    pub(super) lower: &'l mut Lower<'t>,
    pub(super) body: Body,
    pub(super) scope: TyScope,
    pub(super) vars: FxHashMap<Name, LocalId>,
    pub(super) undo: Vec<(Name, Option<LocalId>)>,
    pub(super) agent: Option<AgentId>,
    /// Permissive blocks around the current place.
    pub(super) permissive: u32,
    /// Names reported in this body, and whether as errors.
    pub(super) reported: FxHashMap<Name, bool>,
    /// Loops, lambdas and detached bodies around the current place.
    pub(super) depth: u32,
    /// Inside arguments of a standard macro: what to add to offsets, and the macro call.
    pub(super) inside: Option<(i64, NodeId)>,
    pub(super) macro_depth: u32,
    /// Bindings of the first alternative of the or-pattern being lowered.
    pub(super) alternatives: Option<Vec<(Name, LocalId)>>,
    pub(super) bound: Vec<(Name, LocalId)>,
}

/// What has a body.
enum Task<'t> {
    Fn(FnId),
    Const(ConstId),
    Agent(AgentId, ast::AgentDef<'t>),
    Sandbox(SandboxId),
}

impl<'t> Lower<'t> {
    pub(super) fn bodies(&mut self) {
        let mut tasks: Vec<(FileId, u32, Task<'t>)> = Vec::new();
        for (i, f) in self.hir.fns.iter().enumerate() {
            if !matches!(f.kind, FnKind::Agent(_)) {
                tasks.push((f.head.file, f.head.range.start, Task::Fn(FnId(i as u32))));
            }
        }
        for (i, c) in self.hir.consts.iter().enumerate() {
            tasks.push((
                c.head.file,
                c.head.range.start,
                Task::Const(ConstId(i as u32)),
            ));
        }
        for (i, a) in self.hir.agents.iter().enumerate() {
            let task = Task::Agent(AgentId(i as u32), self.views.agents[i]);
            tasks.push((a.head.file, a.head.range.start, task));
        }
        for (i, s) in self.hir.sandboxes.iter().enumerate() {
            tasks.push((
                s.head.file,
                s.head.range.start,
                Task::Sandbox(SandboxId(i as u32)),
            ));
        }
        tasks.sort_by_key(|t| (t.0, t.1));
        for (file, _, task) in tasks {
            match task {
                Task::Fn(id) => self.fn_body(id),
                Task::Const(id) => {
                    let head = self.hir.consts[id.index()].head;
                    let value = self.views.consts[id.index()].value();
                    let mut scope = TyScope::new(head.file, head.module);
                    scope.self_ty = self.hir.consts[id.index()].owner;
                    self.hir.consts[id.index()].body =
                        value.map(|v| self.plain_body(Owner::Const(id), scope, None, v));
                }
                Task::Agent(id, view) => self.agent_bodies(id, view),
                Task::Sandbox(id) => {
                    let head = self.hir.sandboxes[id.index()].head;
                    let scope = TyScope::new(file, head.module);
                    let body = self.views.sandboxes[id.index()].body();
                    self.hir.sandboxes[id.index()].body = body.map(|b| {
                        self.plain_body(Owner::Sandbox(id), scope, None, AstExpr::Block(b))
                    });
                }
            }
        }
    }

    fn agent_bodies(&mut self, id: AgentId, view: ast::AgentDef<'t>) {
        let scope = self.agent_scope(id);
        let fields: Vec<ast::StateField<'t>> = view
            .state_fields()
            .filter(|f| ast::HasName::name(*f).is_some())
            .collect();
        for (i, f) in fields.into_iter().enumerate() {
            if let Some(v) = f.value() {
                let body = self.plain_body(Owner::State(id, i as u32), scope.clone(), Some(id), v);
                self.hir.agents[id.index()].state[i].body = Some(body);
            }
        }
        if let Some(init) = view.init()
            && let Some(block) = init.block()
        {
            let params = self.hir.agents[id.index()]
                .init
                .as_ref()
                .map(|i| i.params.clone());
            let mut cx = Cx::new(self, Owner::Init(id), scope.clone(), Some(id));
            cx.params(init.params(), &params.unwrap_or_default());
            let body = cx.finish(AstExpr::Block(block));
            if let Some(i) = &mut self.hir.agents[id.index()].init {
                i.body = Some(body);
            }
        }
        let handlers: Vec<ast::Handler<'t>> = view
            .handlers()
            .filter(|h| ast::HasName::name(*h).is_some())
            .collect();
        for (i, h) in handlers.into_iter().enumerate() {
            let Some(code) = h.body() else { continue };
            let handler = &self.hir.agents[id.index()].handlers[i];
            let mut params = handler.params.clone();
            if let Some((p, m)) = handler.message {
                let message = &self.hir.protocols[p.index()].messages[m as usize];
                for (param, (_, _, ty)) in params.iter_mut().zip(&message.params) {
                    param.ty = param.ty.or(Some(*ty));
                }
            }
            let mut cx = Cx::new(self, Owner::Handler(id, i as u32), scope.clone(), Some(id));
            cx.params(h.params(), &params);
            let body = cx.finish(code);
            self.hir.agents[id.index()].handlers[i].body = Some(body);
        }
        for f in self.hir.agents[id.index()].methods.clone() {
            self.fn_body(f);
        }
    }

    fn plain_body(
        &mut self,
        owner: Owner,
        scope: TyScope,
        agent: Option<AgentId>,
        code: AstExpr<'t>,
    ) -> BodyId {
        Cx::new(self, owner, scope, agent).finish(code)
    }

    fn fn_body(&mut self, id: FnId) {
        let view = self.views.fns[id.index()];
        let Some(code) = view.body() else { return };
        let f = &self.hir.fns[id.index()];
        let (head, kind, params, self_param) = (f.head, f.kind, f.params.clone(), f.self_param);
        let mut generics = f.generics.clone();
        let mut scope = TyScope::new(head.file, head.module);
        let mut agent = None;
        match kind {
            FnKind::Method(i) => {
                let item = &self.hir.impls[i.index()];
                generics.splice(0..0, item.generics.iter().copied());
                scope.self_ty = Some(item.self_ty);
            }
            FnKind::Trait(t) => {
                generics.splice(0..0, self.hir.traits[t.index()].generics.iter().copied());
                scope.self_ty = Some(self.hir.tys.intern(TyKind::SelfOf(t)));
            }
            FnKind::Agent(a) => {
                scope = self.agent_scope(a);
                agent = Some(a);
            }
            FnKind::Free | FnKind::Extern | FnKind::Export => {}
        }
        scope.generics = generics
            .iter()
            .map(|g| (self.hir.generics[g.index()].name, *g))
            .collect();
        let self_ty = scope.self_ty;
        let mut cx = Cx::new(self, Owner::Fn(id), scope, agent);
        if let (Some(s), None) = (self_param, agent) {
            let ty = match s.kind {
                SelfKind::Value => self_ty,
                kind => self_ty.map(|t| {
                    cx.lower
                        .hir
                        .tys
                        .intern(TyKind::Ref(t, kind == SelfKind::Mut))
                }),
            };
            let name = cx.lower.well_known.self_value;
            let range = view
                .params()
                .and_then(ast::ParamList::self_param)
                .and_then(ast::SelfParam::self_token)
                .map_or(s.range, syntax::Token::range);
            let local = cx.add_local(Local {
                name,
                range,
                mutable: false,
                by_ref: false,
                kind: LocalKind::SelfParam,
                ty,
                depth: 0,
            });
            cx.body.self_local = Some(local);
            cx.bind(name, local);
        }
        cx.params(view.params(), &params);
        let body = cx.finish(code);
        self.hir.fns[id.index()].body = Some(body);
    }
}

/// Whether unknown plain names are errors in bodies of this owner ([R:G24]); blocks inside may be permissive.
fn is_strict(hir: &Hir, owner: Owner) -> bool {
    match owner {
        Owner::Fn(f) => matches!(hir.fns[f.index()].kind, FnKind::Agent(_)),
        Owner::Const(_) | Owner::State(..) | Owner::Handler(..) | Owner::Init(_) => true,
        Owner::Sandbox(_) => false,
    }
}

impl<'l, 't> Cx<'l, 't> {
    fn new(
        lower: &'l mut Lower<'t>,
        owner: Owner,
        mut scope: TyScope,
        agent: Option<AgentId>,
    ) -> Self {
        scope.in_body = true;
        let strict = is_strict(&lower.hir, owner);
        let body = Body {
            owner,
            file: scope.file,
            module: scope.module,
            strict,
            exprs: Vec::new(),
            pats: Vec::new(),
            locals: Vec::new(),
            self_local: None,
            params: Vec::new(),
            root: ExprId(0),
            expr_pool: Vec::new(),
            pat_pool: Vec::new(),
            stmts: Vec::new(),
            arms: Vec::new(),
            inits: Vec::new(),
            field_pats: Vec::new(),
            args: Vec::new(),
            type_args: Vec::new(),
            pairs: Vec::new(),
            paths: Vec::new(),
        };
        Self {
            lower,
            body,
            scope,
            vars: FxHashMap::default(),
            undo: Vec::new(),
            agent,
            permissive: 0,
            reported: FxHashMap::default(),
            depth: 0,
            inside: None,
            macro_depth: 0,
            alternatives: None,
            bound: Vec::new(),
        }
    }

    fn finish(mut self, code: AstExpr<'_>) -> BodyId {
        self.body.root = self.expr(code);
        let id = self.lower.next_body();
        self.lower.hir.bodies.push(self.body);
        id
    }

    fn params(&mut self, list: Option<ast::ParamList<'_>>, params: &[Param]) {
        for (view, p) in list.into_iter().flat_map(|l| l.params()).zip(params) {
            let pat = match view.pattern() {
                Some(pattern) => self.param_pat(pattern, LocalKind::Param, p.ty),
                None => self.add_pat(PatKind::Missing, view.range(), view.syntax()),
            };
            self.body.params.push(pat);
        }
    }

    /// A range of the tree at hand as one of the file's tree.
    pub(super) fn at(&self, range: TextRange) -> TextRange {
        match self.inside {
            None => range,
            Some((shift, _)) => {
                let moved = |n: u32| u32::try_from(i64::from(n) + shift).unwrap_or(0);
                TextRange::new(moved(range.start), moved(range.end))
            }
        }
    }

    pub(super) fn node_id(&self, node: Node<'_>) -> NodeId {
        self.inside.map_or(node.id(), |(_, id)| id)
    }

    pub(super) fn add(&mut self, kind: ExprKind, node: Node<'_>) -> ExprId {
        let range = self.at(node.range());
        self.add_at(kind, range, node)
    }

    /// Adds an expression whose range is already one of the file's tree.
    pub(super) fn add_at(&mut self, kind: ExprKind, range: TextRange, node: Node<'_>) -> ExprId {
        let id = ExprId(self.body.exprs.len() as u32);
        let node = self.node_id(node);
        self.body.exprs.push(Expr { kind, range, node });
        id
    }

    pub(super) fn missing(&mut self, node: Node<'_>) -> ExprId {
        self.add(ExprKind::Missing, node)
    }

    pub(super) fn add_local(&mut self, local: Local) -> LocalId {
        let id = LocalId(self.body.locals.len() as u32);
        self.body.locals.push(local);
        id
    }

    pub(super) fn bind(&mut self, name: Name, local: LocalId) {
        let old = self.vars.insert(name, local);
        self.undo.push((name, old));
    }

    pub(super) fn enter(&self) -> usize {
        self.undo.len()
    }

    pub(super) fn leave(&mut self, mark: usize) {
        while self.undo.len() > mark {
            if let Some((name, old)) = self.undo.pop() {
                match old {
                    Some(l) => self.vars.insert(name, l),
                    None => self.vars.remove(&name),
                };
            }
        }
    }

    pub(super) fn expr_list(&mut self, items: &[ExprId]) -> List<ExprId> {
        list(&mut self.body.expr_pool, items)
    }

    pub(super) fn pat_list(&mut self, items: &[PatId]) -> List<PatId> {
        list(&mut self.body.pat_pool, items)
    }

    pub(super) fn arg_list(&mut self, items: &[Arg]) -> List<Arg> {
        list(&mut self.body.args, items)
    }

    pub(super) fn type_list(&mut self, items: &[Ty]) -> List<Ty> {
        list(&mut self.body.type_args, items)
    }

    pub(super) fn block(&mut self, b: ast::Block<'_>) -> ExprId {
        let mark = self.enter();
        let outer = self.scope.module;
        if self.inside.is_none()
            && let Some(m) = self.lower.blocks.get(&(self.scope.file, b.syntax().id()))
        {
            self.scope.module = *m;
        }
        let stmts: Vec<AstStmt<'_>> = b.stmts().collect();
        let mut lowered = Vec::with_capacity(stmts.len());
        let mut tail = None;
        let last = stmts.len().saturating_sub(1);
        for (i, s) in stmts.into_iter().enumerate() {
            match s {
                AstStmt::LetStmt(l) => {
                    let stmt = self.let_stmt(l);
                    lowered.push(stmt);
                }
                AstStmt::ExprStmt(e) => {
                    let Some(code) = e.expr() else { continue };
                    let id = self.expr(code);
                    if i == last && e.semi_token().is_none() {
                        tail = Some(id);
                    } else {
                        lowered.push(Stmt::Expr(id));
                    }
                }
                _ => {}
            }
        }
        self.leave(mark);
        self.scope.module = outer;
        let stmts = list(&mut self.body.stmts, &lowered);
        self.add(ExprKind::Block { stmts, tail }, b.syntax())
    }

    fn let_stmt(&mut self, l: ast::LetStmt<'_>) -> Stmt {
        let init = l.value().map(|v| self.expr(v));
        let ty = l.ty().map(|t| self.written_ty(t));
        let pat = match l.pattern() {
            Some(p) => self.top_pat(p, LocalKind::Let, l.mut_token().is_some()),
            None => self.add_pat(PatKind::Missing, l.range(), l.syntax()),
        };
        let ty_range = self.at(l.ty().map_or_else(|| l.range(), AstNode::range));
        Stmt::Let {
            pat,
            ty,
            ty_range,
            init,
            range: self.at(l.range()),
        }
    }

    /// A written type in code. In macro arguments faults of types would be reported at wrong places; there are
    /// only casts and lambdas there, and expansion checks that they parse.
    pub(super) fn written_ty(&mut self, ty: ast::Type<'_>) -> Ty {
        self.written(ty, false)
    }

    /// A type argument in code: of a turbofish.
    pub(super) fn written_arg(&mut self, ty: ast::Type<'_>) -> Ty {
        self.written(ty, true)
    }

    fn written(&mut self, ty: ast::Type<'_>, is_arg: bool) -> Ty {
        let scope = std::mem::replace(&mut self.scope, TyScope::new(FileId(0), ModuleId(0)));
        let found = if self.inside.is_some() {
            let mut quiet = crate::diagnostic::Sink::default();
            std::mem::swap(self.lower.sink, &mut quiet);
            let found = self.lower.ty_at(ty, &scope, is_arg);
            std::mem::swap(self.lower.sink, &mut quiet);
            found
        } else {
            self.lower.ty_at(ty, &scope, is_arg)
        };
        self.scope = scope;
        found
    }
}

/// Puts items at the end of a pool.
pub(super) fn list<T: Copy>(pool: &mut Vec<T>, items: &[T]) -> List<T> {
    let start = pool.len() as u32;
    pool.extend_from_slice(items);
    List {
        start,
        len: items.len() as u32,
        of: PhantomData,
    }
}
