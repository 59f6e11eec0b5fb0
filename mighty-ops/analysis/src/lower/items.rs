//! Signatures: generics, parameters, fields, variants, impls (language.md §3.1, §10).
//! Must not look at bodies, and leaves agents and protocols to `members`.

use syntax::ast::{self, AstNode, HasName};
use syntax::{TextRange, Token};

use super::Lower;
use super::types::TyScope;
use crate::hir::*;
use crate::resolve::prelude;
use crate::ty::{Ty, TyKind};

impl<'t> Lower<'t> {
    pub(super) fn signatures(&mut self) {
        for i in 0..self.hir.aliases.len() {
            self.alias(AliasId(i as u32));
        }
        for i in 0..self.hir.structs.len() {
            self.struct_sig(i);
        }
        for i in 0..self.hir.enums.len() {
            self.enum_sig(i);
        }
        let trait_scopes: Vec<TyScope> = (0..self.hir.traits.len())
            .map(|i| self.trait_sig(i))
            .collect();
        let impl_scopes: Vec<TyScope> = (0..self.hir.impls.len())
            .map(|i| self.impl_sig(i))
            .collect();
        for i in 0..self.hir.fns.len() {
            let head = self.hir.fns[i].head;
            let mut scope = match self.hir.fns[i].kind {
                FnKind::Method(m) => impl_scopes[m.index()].clone(),
                FnKind::Trait(t) => trait_scopes[t.index()].clone(),
                FnKind::Agent(a) => self.agent_scope(a),
                FnKind::Free | FnKind::Extern | FnKind::Export => {
                    TyScope::new(head.file, head.module)
                }
            };
            scope.foreign = self.externs.contains(&FnId(i as u32));
            self.fn_sig(i, &mut scope);
        }
        for (i, scope) in impl_scopes.iter().enumerate() {
            for c in self.hir.impls[i].consts.clone() {
                self.const_sig(c, scope);
            }
        }
        for (i, scope) in trait_scopes.iter().enumerate() {
            for c in self.hir.traits[i].consts.clone() {
                self.const_sig(c, scope);
            }
        }
        for i in 0..self.hir.consts.len() {
            if self.hir.consts[i].owner.is_none() {
                let head = self.hir.consts[i].head;
                self.const_sig(ConstId(i as u32), &TyScope::new(head.file, head.module));
            }
        }
        self.copy_types();
        self.protocols();
        self.agents();
        self.supervisors();
    }

    pub(super) fn agent_scope(&mut self, agent: AgentId) -> TyScope {
        let head = self.hir.agents[agent.index()].head;
        let mut scope = TyScope::new(head.file, head.module);
        let inner = self.hir.tys.intern(TyKind::Agent(agent));
        scope.self_ty = Some(self.hir.tys.intern(TyKind::AgentRef(inner)));
        scope
    }

    /// Declares the generic parameters of a list in the scope.
    pub(super) fn generics(
        &mut self,
        list: Option<ast::GenericParamList<'t>>,
        scope: &mut TyScope,
    ) -> Vec<GenericId> {
        let mut ids = Vec::new();
        let params: Vec<ast::GenericParam<'t>> =
            list.into_iter().flat_map(|l| l.params()).collect();
        for p in &params {
            let Some(t) = p.name() else { continue };
            let id = GenericId(self.hir.generics.len() as u32);
            let name = self.name(t);
            self.hir.generics.push(Generic {
                name,
                range: t.range(),
                bounds: Vec::new(),
                markers: Vec::new(),
                is_row: false,
                open: false,
            });
            scope.generics.push((name, id));
            ids.push(id);
        }
        for (p, id) in params.iter().zip(&ids) {
            if let Some(b) = p.bounds() {
                self.bounds(*id, b, scope);
            }
        }
        ids
    }

    fn bounds(&mut self, id: GenericId, bounds: ast::Bounds<'t>, scope: &TyScope) {
        for path in bounds.paths() {
            let tokens: Vec<Token<'t>> = path.segments().collect();
            match self.trait_named(&tokens, scope) {
                Some(Ok(t)) => self.hir.generics[id.index()].bounds.push(t),
                Some(Err(name)) if prelude::is_marker(self.hir.text(name)) => {
                    self.hir.generics[id.index()].markers.push(name);
                }
                Some(Err(_)) => self.hir.generics[id.index()].open = true,
                None => {
                    self.hir.generics[id.index()].open = true;
                    if let Some(t) = tokens.last() {
                        let title = format!("there is no trait `{}`", t.text());
                        self.error(2002, scope.file, t.range(), title);
                    }
                }
            }
        }
    }

    fn wheres(&mut self, clause: Option<ast::WhereClause<'t>>, scope: &TyScope) {
        for p in clause.into_iter().flat_map(|w| w.preds()) {
            let (Some(ty), Some(bounds)) = (p.ty(), p.bounds()) else {
                continue;
            };
            let ty = self.ty(ty, scope);
            if let TyKind::Param(g) = self.hir.tys.kind(ty) {
                self.bounds(g, bounds, scope);
            }
        }
    }

    fn struct_sig(&mut self, i: usize) {
        let view = self.views.structs[i];
        let head = self.hir.structs[i].head;
        let mut scope = TyScope::new(head.file, head.module);
        let generics = self.generics(view.generics(), &mut scope);
        let params: Vec<Ty> = generics
            .iter()
            .map(|g| self.hir.tys.intern(TyKind::Param(*g)))
            .collect();
        let args = self.hir.tys.list_of(&params);
        scope.self_ty = Some(
            self.hir
                .tys
                .intern(TyKind::Struct(StructId(i as u32), args)),
        );
        scope.in_field = true;
        let mut fields = Vec::new();
        for f in view.fields() {
            let Some(t) = f.name() else { continue };
            let ty = self.ty_or(f.ty(), &scope, Ty::ERROR);
            fields.push(Field {
                name: self.name(t),
                range: t.range(),
                ty,
                ty_range: f.ty().map_or_else(|| t.range(), AstNode::range),
            });
        }
        let s = &mut self.hir.structs[i];
        s.generics = generics;
        s.fields = fields;
    }

    fn enum_sig(&mut self, i: usize) {
        let view = self.views.enums[i];
        let head = self.hir.enums[i].head;
        let mut scope = TyScope::new(head.file, head.module);
        let generics = self.generics(view.generics(), &mut scope);
        let params: Vec<Ty> = generics
            .iter()
            .map(|g| self.hir.tys.intern(TyKind::Param(*g)))
            .collect();
        let args = self.hir.tys.list_of(&params);
        scope.self_ty = Some(self.hir.tys.intern(TyKind::Enum(EnumId(i as u32), args)));
        scope.in_field = true;
        for (k, v) in view.variants().filter(|v| v.name().is_some()).enumerate() {
            let types: Vec<ast::Type<'t>> = v.payload().collect();
            let payload = types.iter().map(|t| self.ty(*t, &scope)).collect();
            let variant = &mut self.hir.enums[i].variants[k];
            variant.payload = payload;
            variant.payload_ranges = types.iter().map(|t| t.range()).collect();
        }
        self.hir.enums[i].generics = generics;
    }

    fn trait_sig(&mut self, i: usize) -> TyScope {
        let view = self.views.traits[i];
        let head = self.hir.traits[i].head;
        let mut scope = TyScope::new(head.file, head.module);
        self.hir.traits[i].generics = self.generics(view.generics(), &mut scope);
        let self_ty = self.hir.tys.intern(TyKind::SelfOf(TraitId(i as u32)));
        scope.self_ty = Some(self_ty);
        for c in self.hir.traits[i].consts.clone() {
            self.hir.consts[c.index()].owner = Some(self_ty);
        }
        scope
    }

    fn impl_sig(&mut self, i: usize) -> TyScope {
        let view = self.views.impls[i];
        let head = self.hir.impls[i].head;
        let mut scope = TyScope::new(head.file, head.module);
        let generics = self.generics(view.generics(), &mut scope);
        let mut trait_id = None;
        let mut trait_name = None;
        let mut trait_range = None;
        if let Some(ast::Type::PathType(p)) = view.trait_type() {
            let tokens: Vec<Token<'t>> = p.segments().collect();
            trait_range = match (tokens.first(), tokens.last()) {
                (Some(a), Some(b)) => Some(TextRange::new(a.range().start, b.range().end)),
                _ => None,
            };
            trait_name = tokens.last().map(|t| self.name(*t));
            match self.trait_named(&tokens, &scope) {
                Some(Ok(t)) => trait_id = Some(t),
                Some(Err(_)) => {}
                None => {
                    if let Some(t) = tokens.last() {
                        let title = format!("there is no trait `{}`", t.text());
                        self.error(2002, head.file, t.range(), title);
                    }
                }
            }
            for t in p.args().into_iter().flat_map(|a| a.types()) {
                self.ty(t, &scope);
            }
        }
        let self_ty = self.impl_self(view.self_type(), &scope);
        scope.self_ty = Some(self_ty);
        self.wheres(view.where_clause(), &scope);
        for c in self.hir.impls[i].consts.clone() {
            self.hir.consts[c.index()].owner = Some(self_ty);
        }
        let item = &mut self.hir.impls[i];
        item.generics = generics;
        item.trait_id = trait_id;
        item.trait_name = trait_name;
        item.trait_range = trait_range;
        item.self_ty = self_ty;
        scope
    }

    /// The self type of an impl. A generic type may stand without its arguments.
    fn impl_self(&mut self, ty: Option<ast::Type<'t>>, scope: &TyScope) -> Ty {
        if let Some(ast::Type::PathType(p)) = ty
            && p.args().is_none()
        {
            let tokens: Vec<Token<'t>> = p.segments().collect();
            let (generics, make): (usize, fn(u32, crate::ty::Tys) -> TyKind);
            let id = match self.def_of_path(&tokens, scope.module) {
                Some(Def::Struct(s)) => {
                    generics = self.hir.structs[s.index()].generics.len();
                    make = |i, l| TyKind::Struct(StructId(i), l);
                    s.0
                }
                Some(Def::Enum(e)) => {
                    generics = self.hir.enums[e.index()].generics.len();
                    make = |i, l| TyKind::Enum(EnumId(i), l);
                    e.0
                }
                _ => return self.ty_or(ty, scope, Ty::ERROR),
            };
            let args = self.hir.tys.list_of(&vec![Ty::UNKNOWN; generics]);
            return self.hir.tys.intern(make(id, args));
        }
        self.ty_or(ty, scope, Ty::ERROR)
    }

    fn fn_sig(&mut self, i: usize, scope: &mut TyScope) {
        let view = self.views.fns[i];
        let file = self.hir.fns[i].head.file;
        let generics = self.generics(view.generics(), scope);
        let effects = view.effects().map(|e| self.effects(e));
        let rows = effects.as_ref().map(|e| e.rows.clone()).unwrap_or_default();
        // Row variables are told apart from type parameters by use, also in the types of parameters (§15.1).
        let mut row_names: Vec<Name> = rows.into_iter().map(|(n, _)| n).collect();
        if let Some(p) = view.params().filter(|_| !generics.is_empty()) {
            for node in p.syntax().descendants() {
                if let Some(e) = ast::EffectClause::cast(node) {
                    row_names.extend(self.effects(e).rows.into_iter().map(|(n, _)| n));
                }
            }
        }
        for g in &generics {
            let generic = &mut self.hir.generics[g.index()];
            generic.is_row = row_names.contains(&generic.name);
        }
        self.wheres(view.where_clause(), scope);
        let ret_ty = view.ret_type().and_then(ast::RetType::ty);
        let ret = self.ty_or(ret_ty, scope, Ty::UNIT);
        let mut params = Vec::new();
        for p in view.params().into_iter().flat_map(|l| l.params()) {
            params.push(self.param(p, scope));
        }
        for p in &params {
            self.note_capability(p, file);
        }
        let self_param = view.params().and_then(ast::ParamList::self_param).map(|s| {
            // Only how it is taken counts; a wrong name in it is one all the same.
            self.ty_or(s.ty(), scope, Ty::ERROR);
            let kind = match s.ty() {
                Some(ast::Type::RefType(r)) if r.mut_token().is_some() => SelfKind::Mut,
                Some(ast::Type::RefType(_)) => SelfKind::Shared,
                Some(_) => SelfKind::Value,
                None if s.mut_token().is_some() => SelfKind::Mut,
                None => SelfKind::Shared,
            };
            SelfParam {
                kind,
                range: s.range(),
            }
        });
        let f = &mut self.hir.fns[i];
        f.generics = generics;
        f.effects = effects;
        f.ret = ret;
        f.ret_range = ret_ty.map(AstNode::range);
        f.params = params;
        f.self_param = self_param;
        f.variadic = view.params().is_some_and(|l| l.variadic().is_some());
    }

    pub(super) fn param(&mut self, p: ast::Param<'t>, scope: &TyScope) -> Param {
        Param {
            name: p.name().map(|t| self.name(t)),
            range: p.pattern().map_or_else(|| p.range(), AstNode::range),
            ty: p.ty().map(|t| self.ty(t, scope)),
            ty_node: p.ty().map(|t| t.syntax().id()),
            node: p.syntax().id(),
        }
    }

    /// Remembers names of capability parameters of a file (MT4062).
    pub(super) fn note_capability(&mut self, p: &Param, file: crate::package::FileId) {
        if let (Some(name), Some(ty)) = (p.name, p.ty)
            && matches!(self.hir.tys.kind(self.hir.tys.peel(ty)), TyKind::Family(_))
        {
            self.cap_params[file.index()].insert(name);
        }
    }

    fn effects(&mut self, e: ast::EffectClause<'t>) -> Effects {
        Effects {
            range: e.range(),
            names: e
                .effects()
                .map(|t| (self.hir.names.intern(t.text()), t.range()))
                .collect(),
            rows: e
                .row_vars()
                .map(|t| (self.hir.names.intern(t.text()), t.range()))
                .collect(),
        }
    }

    fn const_sig(&mut self, id: ConstId, scope: &TyScope) {
        let view = self.views.consts[id.index()];
        let ty = view.ty().map(|t| self.ty(t, scope));
        let c = &mut self.hir.consts[id.index()];
        c.ty = ty;
        c.ty_range = view.ty().map(AstNode::range);
    }

    /// Which derives of Copy are valid. A type is Copy if it derives so and all fields are, which may depend on
    /// types further down, so assume it of all and withdraw until nothing changes.
    fn copy_types(&mut self) {
        let copy = self.hir.names.intern("Copy");
        for s in &mut self.hir.structs {
            s.is_copy = s.derives.iter().any(|(n, _)| *n == copy);
        }
        for e in &mut self.hir.enums {
            e.is_copy = e.derives.iter().any(|(n, _)| *n == copy);
        }
        loop {
            let holds = crate::ty::may_be_copy;
            let bad_struct: Vec<usize> = (0..self.hir.structs.len())
                .filter(|i| {
                    let s = &self.hir.structs[*i];
                    s.is_copy && !s.fields.iter().all(|f| holds(&self.hir, f.ty))
                })
                .collect();
            let bad_enum: Vec<usize> = (0..self.hir.enums.len())
                .filter(|i| {
                    let e = &self.hir.enums[*i];
                    e.is_copy
                        && !e
                            .variants
                            .iter()
                            .flat_map(|v| &v.payload)
                            .all(|t| holds(&self.hir, *t))
                })
                .collect();
            if bad_struct.is_empty() && bad_enum.is_empty() {
                return;
            }
            bad_struct
                .iter()
                .for_each(|i| self.hir.structs[*i].is_copy = false);
            bad_enum
                .iter()
                .for_each(|i| self.hir.enums[*i].is_copy = false);
        }
    }
}
