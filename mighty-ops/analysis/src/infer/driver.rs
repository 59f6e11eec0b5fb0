//! Which bodies settle together, in which order they are inferred, and the state of the one at hand.
//! Must not know expressions.

use rustc_hash::FxHashMap;
use syntax::TextRange;
use tokio_util::sync::CancellationToken;

use super::signatures::{main_parameters, public_parameters, zero_values};
use super::tables::Tables;
use super::unify::Unifier;
use super::{BodyTypes, Types};
use crate::diagnostic::Sink;
use crate::hir::*;
use crate::ty::Ty;

/// Units waiting for each other deeper than this are taken as unknown by those that wait.
const MAX_WAITING: u32 = 24;

/// What is wanted of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// Anything.
    Nothing,
    /// This type; a hint, the caller still compares.
    Ty(Ty),
    /// Its value is thrown away.
    Discard,
}

/// What `return` and `?` refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The result.
    pub(super) ret: Ty,
    /// Whether there is one at all; initialisers have none.
    pub(super) returns: bool,
}

/// A loop around the current place.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopFrame {
    /// The type of its breaks, of `loop` only.
    pub(super) value: Option<Ty>,
    pub(super) broken: bool,
    pub(super) is_loop: bool,
}

/// The state of inferring one body.
#[derive(Debug, Default)]
pub(super) struct Ctx {
    pub(super) bt: BodyTypes,
    pub(super) frames: Vec<Frame>,
    pub(super) loops: Vec<LoopFrame>,
    /// Integer literals with their signs: checked against their final type.
    pub(super) literals: Vec<(TextRange, Ty, u128, bool)>,
    /// Integers in patterns with their signs: values of the type matched against (§3.3).
    pub(super) pat_literals: Vec<(TextRange, Ty, u128, bool)>,
    pub(super) casts: Vec<Cast>,
    pub(super) matches: Vec<ExprId>,
    /// `[]` in unannotated `let`s: literal, element variable, end of the pattern.
    pub(super) empties: Vec<(TextRange, Ty, u32)>,
    pub(super) bounds: Vec<BoundCheck>,
    /// Operands of prefix `-`, once known unsigned it is MT2017.
    pub(super) negated: Vec<(TextRange, Ty)>,
}

/// A cast to judge once types are settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cast {
    pub(super) range: TextRange,
    pub(super) from: Ty,
    pub(super) to: Ty,
    /// The operand, if it is an integer literal, and whether it is negated.
    pub(super) literal: Option<(u128, bool)>,
}

/// A type argument to compare with the bounds of its parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundCheck {
    pub(super) range: TextRange,
    pub(super) ty: Ty,
    pub(super) generic: GenericId,
}

/// What is known of the agent at hand while its members are inferred together.
#[derive(Debug, Default, Clone)]
pub(super) struct AgentNow {
    pub(super) id: Option<AgentId>,
    pub(super) state: Vec<Ty>,
    pub(super) ctor: Vec<Ty>,
}

/// The inference of a package; its fields about a body are swapped when another must be known first.
pub(super) struct Fx<'b, 'h> {
    pub(super) u: Unifier<'h>,
    pub(super) sink: &'h mut Sink,
    pub(super) bodies: &'b [Body],
    pub(super) body: &'b Body,
    pub(super) cx: Ctx,
    pub(super) out: Types,
    /// Types of untyped parameters in the group at hand.
    pub(super) params_now: FxHashMap<FnId, Vec<Ty>>,
    pub(super) agent: AgentNow,
    /// By body: 0 to do, 1 at work, 2 done.
    status: Vec<u8>,
    agent_status: Vec<u8>,
    pub(super) consts: Vec<Ty>,
    waiting: u32,
}

/// Infers and checks all bodies, or those before `cancel` was cancelled: the caller looks at it too.
#[must_use]
pub(crate) fn infer(hir: &mut Hir, cancel: &CancellationToken, sink: &mut Sink) -> Types {
    let bodies = std::mem::take(&mut hir.bodies);
    let types = run(hir, &bodies, cancel, sink);
    hir.bodies = bodies;
    types
}

fn run(hir: &mut Hir, bodies: &[Body], cancel: &CancellationToken, sink: &mut Sink) -> Types {
    let tables = Tables::new(hir);
    crate::traits::check(hir, sink);
    let blank = |b: &Body| BodyTypes {
        exprs: vec![Ty::UNKNOWN; b.exprs.len()],
        pats: vec![Ty::UNKNOWN; b.pats.len()],
        locals: vec![Ty::UNKNOWN; b.locals.len()],
        ..BodyTypes::default()
    };
    let declared = |p: &Param| p.ty.unwrap_or(Ty::UNKNOWN);
    let out = Types {
        bodies: bodies.iter().map(blank).collect(),
        state: hir
            .agents
            .iter()
            .map(|a| {
                a.state
                    .iter()
                    .map(|f| f.ty.unwrap_or(Ty::UNKNOWN))
                    .collect()
            })
            .collect(),
        ctor: hir
            .agents
            .iter()
            .map(|a| a.ctor.iter().map(declared).collect())
            .collect(),
        params: hir
            .fns
            .iter()
            .map(|f| f.params.iter().map(declared).collect())
            .collect(),
    };
    let consts = hir
        .consts
        .iter()
        .map(|c| c.ty.unwrap_or(Ty::UNKNOWN))
        .collect();
    let agents = hir.agents.len();
    let Some(first) = bodies.first() else {
        main_parameters(hir, sink);
        public_parameters(hir, &out, sink);
        zero_values(hir, sink);
        return out;
    };
    let mut fx = Fx {
        u: Unifier::new(hir, tables),
        sink,
        bodies,
        body: first,
        cx: Ctx::default(),
        out,
        params_now: FxHashMap::default(),
        agent: AgentNow::default(),
        status: vec![0; bodies.len()],
        agent_status: vec![0; agents],
        consts,
        waiting: 0,
    };
    for i in 0..bodies.len() {
        if cancel.is_cancelled() {
            break;
        }
        fx.ensure(BodyId(i as u32));
    }
    for a in 0..agents {
        fx.ensure_agent(AgentId(a as u32));
    }
    let Fx { u, sink, out, .. } = fx;
    main_parameters(u.hir, sink);
    public_parameters(u.hir, &out, sink);
    zero_values(u.hir, sink);
    out
}

impl<'b, 'h> Fx<'b, 'h> {
    /// Infers the group of a body, unless that is done or at work.
    pub(super) fn ensure(&mut self, id: BodyId) {
        match self.bodies[id.index()].owner {
            Owner::State(a, _) | Owner::Handler(a, _) | Owner::Init(a) => self.ensure_agent(a),
            Owner::Fn(f) => {
                if let FnKind::Agent(a) = self.u.hir.fns[f.index()].kind {
                    self.ensure_agent(a);
                } else {
                    self.ensure_body(id);
                }
            }
            Owner::Const(_) | Owner::Sandbox(_) => self.ensure_body(id),
        }
    }

    fn ensure_body(&mut self, id: BodyId) {
        if self.status[id.index()] != 0 || self.waiting >= MAX_WAITING {
            return;
        }
        self.status[id.index()] = 1;
        self.apart(|fx| {
            let cx = fx.infer_body(id);
            fx.settle(vec![(id, cx)]);
        });
        self.status[id.index()] = 2;
    }

    pub(super) fn ensure_agent(&mut self, a: AgentId) {
        if self.agent_status[a.index()] != 0 || self.waiting >= MAX_WAITING {
            return;
        }
        self.agent_status[a.index()] = 1;
        self.apart(|fx| fx.infer_agent(a));
        self.agent_status[a.index()] = 2;
    }

    /// Runs something with variables and body of its own.
    fn apart(&mut self, f: impl FnOnce(&mut Self)) {
        let vars = std::mem::take(&mut self.u.vars);
        let cx = std::mem::take(&mut self.cx);
        let params = std::mem::take(&mut self.params_now);
        let agent = std::mem::take(&mut self.agent);
        let body = self.body;
        self.waiting += 1;
        f(self);
        self.waiting -= 1;
        self.body = body;
        self.agent = agent;
        self.params_now = params;
        self.cx = cx;
        self.u.vars = vars;
    }

    fn infer_agent(&mut self, a: AgentId) {
        let agent = self.u.hir.agents[a.index()].clone();
        let state = agent.state.iter().map(|f| self.declared(f.ty)).collect();
        let ctor = agent.ctor.iter().map(|p| self.declared(p.ty)).collect();
        self.agent = AgentNow {
            id: Some(a),
            state,
            ctor,
        };
        let mut done = Vec::new();
        for f in &agent.methods {
            let params = self.u.hir.fns[f.index()].params.clone();
            let types = params.iter().map(|p| self.declared(p.ty)).collect();
            self.params_now.insert(*f, types);
        }
        let states = agent.state.iter().filter_map(|f| f.body);
        let init = agent.init.as_ref().and_then(|i| i.body);
        let handlers = agent.handlers.iter().filter_map(|h| h.body);
        let methods: Vec<BodyId> = agent
            .methods
            .iter()
            .filter_map(|f| self.u.hir.fns[f.index()].body)
            .collect();
        for id in states.chain(init).chain(handlers).chain(methods) {
            self.status[id.index()] = 1;
            let cx = self.infer_body(id);
            done.push((id, cx));
        }
        self.settle(done);
        let AgentNow { state, ctor, .. } = self.agent.clone();
        self.out.state[a.index()] = state.iter().map(|t| self.u.finish(*t)).collect();
        self.out.ctor[a.index()] = ctor.iter().map(|t| self.u.finish(*t)).collect();
    }

    fn declared(&mut self, ty: Option<Ty>) -> Ty {
        match ty {
            Some(t) => self.u.instantiate(t),
            None => self.u.fresh(),
        }
    }

    /// Infers one body; its types may still hold variables.
    fn infer_body(&mut self, id: BodyId) -> Ctx {
        let body: &'b Body = &self.bodies[id.index()];
        self.body = body;
        self.cx = Ctx {
            bt: BodyTypes {
                exprs: vec![Ty::UNKNOWN; body.exprs.len()],
                pats: vec![Ty::UNKNOWN; body.pats.len()],
                locals: vec![Ty::UNKNOWN; body.locals.len()],
                ..BodyTypes::default()
            },
            ..Ctx::default()
        };
        // Every binding has a type before its pattern is seen.
        for (i, l) in body.locals.iter().enumerate() {
            let ty = self.declared(l.ty);
            self.cx.bt.locals[i] = ty;
        }
        match body.owner {
            Owner::Fn(f) => {
                let func = self.u.hir.fns[f.index()].clone();
                let types = match self.params_now.get(&f) {
                    Some(t) => t.clone(),
                    None => {
                        let types: Vec<Ty> =
                            func.params.iter().map(|p| self.declared(p.ty)).collect();
                        self.params_now.insert(f, types.clone());
                        types
                    }
                };
                self.bind_params(&types);
                let ret = self.u.instantiate(func.ret);
                self.root(ret, true);
            }
            Owner::Handler(a, i) => {
                let handler = self.u.hir.agents[a.index()].handlers[i as usize].clone();
                let of_message = handler.message.map(|(p, m)| {
                    self.u.hir.protocols[p.index()].messages[m as usize]
                        .params
                        .clone()
                });
                let mut types = Vec::new();
                for (k, p) in handler.params.iter().enumerate() {
                    let ty =
                        p.ty.or_else(|| of_message.as_ref()?.get(k).map(|(_, _, t)| *t));
                    types.push(self.declared(ty));
                }
                self.bind_params(&types);
                let ret = self.declared(handler.ret);
                if handler.ret.is_none()
                    && !handler.has_arrow
                    && self.u.hir.agents[a.index()].protocols.is_empty()
                {
                    // Nothing says that there is a reply (§18.1), so what the block ends with is discarded.
                    self.cx.frames.push(Frame { ret, returns: true });
                    self.infer(body.root, Want::Discard);
                } else {
                    self.root(ret, true);
                }
            }
            Owner::Init(a) => {
                let params = self.u.hir.agents[a.index()]
                    .init
                    .as_ref()
                    .map(|i| i.params.clone());
                let types: Vec<Ty> = params
                    .unwrap_or_default()
                    .iter()
                    .map(|p| self.declared(p.ty))
                    .collect();
                self.bind_params(&types);
                self.cx.frames.push(Frame {
                    ret: Ty::UNKNOWN,
                    returns: true,
                });
                self.infer(body.root, Want::Discard);
            }
            Owner::State(_, i) => {
                let ty = self
                    .agent
                    .state
                    .get(i as usize)
                    .copied()
                    .unwrap_or(Ty::UNKNOWN);
                self.cx.frames.push(Frame {
                    ret: Ty::UNIT,
                    returns: false,
                });
                self.check(body.root, ty, 2001);
            }
            Owner::Const(c) => {
                let ty = self.declared(self.u.hir.consts[c.index()].ty);
                self.cx.frames.push(Frame {
                    ret: Ty::UNIT,
                    returns: false,
                });
                self.check(body.root, ty, 2001);
            }
            Owner::Sandbox(_) => {
                self.cx.frames.push(Frame {
                    ret: Ty::UNIT,
                    returns: true,
                });
                self.infer(body.root, Want::Discard);
            }
        }
        std::mem::take(&mut self.cx)
    }

    fn root(&mut self, ret: Ty, returns: bool) {
        self.cx.frames.push(Frame { ret, returns });
        if self.u.resolve(ret) == Ty::UNIT {
            // [R:G31], for the forms without braces as well.
            self.infer(self.body.root, Want::Discard);
        } else {
            self.check(self.body.root, ret, 2019);
        }
    }

    fn bind_params(&mut self, types: &[Ty]) {
        for (i, pat) in self.body.params.iter().enumerate() {
            let ty = types.get(i).copied().unwrap_or(Ty::UNKNOWN);
            let ty = if ty == Ty::UNKNOWN {
                self.u.fresh()
            } else {
                ty
            };
            self.bind_pat(*pat, ty);
        }
    }

    /// Final types of a settled group, and everything that had to wait for them.
    fn settle(&mut self, group: Vec<(BodyId, Ctx)>) {
        for (id, cx) in &group {
            self.body = &self.bodies[id.index()];
            self.empty_literals(cx);
        }
        self.u.default_kinds();
        for (id, mut cx) in group {
            self.body = &self.bodies[id.index()];
            for list in [&mut cx.bt.exprs, &mut cx.bt.pats, &mut cx.bt.locals] {
                for t in list.iter_mut() {
                    *t = self.u.finish(*t);
                }
            }
            self.cx = Ctx::default();
            self.waited_checks(&cx);
            match self.body.owner {
                Owner::Fn(f) => {
                    if let Some(types) = self.params_now.get(&f).cloned() {
                        self.out.params[f.index()] =
                            types.iter().map(|t| self.u.finish(*t)).collect();
                    }
                }
                Owner::Const(c) if self.u.hir.consts[c.index()].ty.is_none() => {
                    self.consts[c.index()] = cx.bt.of(self.body.root);
                }
                _ => {}
            }
            self.out.bodies[id.index()] = cx.bt;
            self.status[id.index()] = 2;
        }
    }
}
