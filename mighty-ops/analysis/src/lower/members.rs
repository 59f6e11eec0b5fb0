//! Signatures of protocols, agents and supervisors (language.md §18, §19).
//! Must not check conformance; the protocol pass does.

use syntax::Token;
use syntax::ast::{self, AstNode, HasName};

use super::Lower;
use super::types::TyScope;
use crate::hir::*;
use crate::resolve::prelude;
use crate::ty::{Ty, TyKind};

impl<'t> Lower<'t> {
    pub(super) fn protocols(&mut self) {
        for i in 0..self.hir.protocols.len() {
            let view = self.views.protocols[i];
            let head = self.hir.protocols[i].head;
            let scope = TyScope::new(head.file, head.module);
            let mut messages = Vec::new();
            for m in view.messages() {
                let Some(t) = m.name() else { continue };
                let mut params = Vec::new();
                for p in m.param_views() {
                    let ty = self.ty_or(p.ty(), &scope, Ty::ERROR);
                    let name = p
                        .name()
                        .map_or(self.well_known.underscore, |t| self.name(t));
                    params.push((name, p.range(), ty));
                }
                let ret = self.ty_or(m.ret_type().and_then(ast::RetType::ty), &scope, Ty::UNIT);
                messages.push(Message {
                    name: self.name(t),
                    name_range: t.range(),
                    range: m.range(),
                    params,
                    ret,
                });
            }
            self.hir.protocols[i].messages = messages;
        }
    }

    pub(super) fn agents(&mut self) {
        for i in 0..self.hir.agents.len() {
            let view = self.views.agents[i];
            let id = AgentId(i as u32);
            let scope = self.agent_scope(id);
            let mut ctor = Vec::new();
            for p in view.params().into_iter().flat_map(|l| l.params()) {
                let mut param = self.param(p, &scope);
                if param.ty.is_none()
                    && let Some(f) = param
                        .name
                        .and_then(|n| prelude::family_of_parameter(self.hir.text(n)))
                {
                    param.ty = Some(self.hir.tys.intern(TyKind::Family(f)));
                }
                self.note_capability(&param, scope.file);
                ctor.push(param);
            }
            let mut protocols = Vec::new();
            for path in view.protocols() {
                let tokens: Vec<Token<'t>> = path.segments().collect();
                let Some(last) = tokens.last() else { continue };
                let id = match self.def_of_path(&tokens, scope.module) {
                    Some(Def::Protocol(p)) => Some(p),
                    _ => None,
                };
                protocols.push(ProtocolRef {
                    id,
                    name: self.name(*last),
                    range: path.range(),
                });
            }
            let mut state = Vec::new();
            for f in view.state_fields() {
                let Some(t) = f.name() else { continue };
                let ty = f.ty().map(|t| self.ty(t, &scope));
                state.push(StateField {
                    name: self.name(t),
                    name_range: t.range(),
                    range: f.range(),
                    ty,
                    body: None,
                });
            }
            let mut handlers = Vec::new();
            for h in view.handlers() {
                let Some(t) = h.name() else { continue };
                handlers.push(self.handler(h, t, &protocols, &scope));
            }
            let init = view.init().map(|init| {
                let list = init.params().into_iter().flat_map(|l| l.params());
                let params: Vec<Param> = list.map(|p| self.param(p, &scope)).collect();
                params
                    .iter()
                    .for_each(|p| self.note_capability(p, scope.file));
                Init {
                    range: init.range(),
                    params,
                    has_ret: init.ret_type().is_some(),
                    body: None,
                }
            });
            let a = &mut self.hir.agents[i];
            a.ctor = ctor;
            a.protocols = protocols;
            a.state = state;
            a.handlers = handlers;
            a.init = init;
        }
    }

    fn handler(
        &mut self,
        h: ast::Handler<'t>,
        name_token: Token<'t>,
        protocols: &[ProtocolRef],
        scope: &TyScope,
    ) -> Handler {
        let name = self.name(name_token);
        let list = h.params().into_iter().flat_map(|l| l.params());
        let params: Vec<Param> = list.map(|p| self.param(p, scope)).collect();
        params
            .iter()
            .for_each(|p| self.note_capability(p, scope.file));
        let ret_ty = h.ret_type().and_then(ast::RetType::ty);
        let written_ret = ret_ty.map(|t| self.ty(t, scope));
        let mut message = None;
        for p in protocols.iter().filter_map(|p| p.id) {
            if let Some(i) = self.hir.protocols[p.index()]
                .messages
                .iter()
                .position(|m| m.name == name)
            {
                message = Some((p, i as u32));
                break;
            }
        }
        let of_message =
            message.map(|(p, i)| self.hir.protocols[p.index()].messages[i as usize].ret);
        Handler {
            name,
            name_range: name_token.range(),
            range: h.range(),
            params,
            written_ret,
            ret_range: ret_ty.map(AstNode::range),
            ret: written_ret.or(of_message),
            has_arrow: ret_ty.is_some()
                || h.expr_body().is_some()
                || h.syntax().own_token(syntax::SyntaxKind::Arrow).is_some(),
            message,
            body: None,
            node: h.syntax().id(),
        }
    }

    pub(super) fn supervisors(&mut self) {
        for i in 0..self.hir.supervisors.len() {
            let mut children = Vec::new();
            for m in self.views.supervisors[i].members() {
                let ast::SupMember::ChildDef(c) = m else {
                    continue;
                };
                let Some(t) = c.name() else { continue };
                let started = c.value().and_then(|v| {
                    let callee = match v {
                        ast::Expr::SpawnExpr(s) => s.path()?,
                        ast::Expr::CallExpr(c) => c.callee()?,
                        other => other,
                    };
                    callee.path_segments()?.last().copied()
                });
                let started = started.map(|t| self.name(t));
                children.push((self.name(t), t.range(), started));
            }
            self.hir.supervisors[i].children = children;
        }
    }
}
