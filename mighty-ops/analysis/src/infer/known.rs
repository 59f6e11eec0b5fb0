//! Types that one body needs of another: constants, untyped parameters, state.
//! Must not walk bodies; what is not known yet is inferred first.

use super::driver::Fx;
use crate::hir::*;
use crate::ty::Ty;

impl Fx<'_, '_> {
    /// The type of a constant.
    pub(super) fn const_ty(&mut self, c: ConstId) -> Ty {
        if self.u.hir.consts[c.index()].ty.is_none()
            && let Some(b) = self.u.hir.consts[c.index()].body
        {
            self.ensure(b);
        }
        let ty = self.consts[c.index()];
        self.u.instantiate(ty)
    }

    /// Parameter types of a function as a caller sees them; open ones are fresh.
    pub(super) fn param_types(&mut self, f: FnId) -> Vec<Ty> {
        if let Some(t) = self.params_now.get(&f) {
            return t.clone();
        }
        let func = &self.u.hir.fns[f.index()];
        if func.params.iter().any(|p| p.ty.is_none())
            && let Some(b) = func.body
        {
            self.ensure(b);
        }
        let types = self.out.params[f.index()].clone();
        types.into_iter().map(|t| self.u.instantiate(t)).collect()
    }

    /// Constructor parameter types as a spawner sees them.
    pub(super) fn ctor_types(&mut self, a: AgentId) -> Vec<Ty> {
        if self.agent.id == Some(a) {
            return self.agent.ctor.clone();
        }
        if self.u.hir.agents[a.index()]
            .ctor
            .iter()
            .any(|p| p.ty.is_none())
        {
            self.ensure_agent(a);
        }
        let types = self.out.ctor[a.index()].clone();
        types.into_iter().map(|t| self.u.instantiate(t)).collect()
    }

    pub(super) fn state_ty(&mut self, a: AgentId, i: u32) -> Ty {
        if self.agent.id == Some(a) {
            return self
                .agent
                .state
                .get(i as usize)
                .copied()
                .unwrap_or(Ty::ERROR);
        }
        Ty::UNKNOWN
    }

    pub(super) fn ctor_ty(&mut self, a: AgentId, i: u32) -> Ty {
        if self.agent.id == Some(a) {
            return self
                .agent
                .ctor
                .get(i as usize)
                .copied()
                .unwrap_or(Ty::ERROR);
        }
        Ty::UNKNOWN
    }
}
