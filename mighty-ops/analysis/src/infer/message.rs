//! `spawn`, messages to agents and calls of standard macros (language.md §18.2, §22).
//! Must not look at handlers' bodies.

use syntax::TextRange;

use super::call::Sig;
use super::driver::{Fx, Want};
use crate::hir::*;
use crate::ty::{Ty, TyKind};

impl Fx<'_, '_> {
    pub(super) fn spawn(&mut self, e: ExprId, target: Res, args: List<Arg>) -> Ty {
        match target {
            Res::Agent(a) => {
                let agent = &self.u.hir.agents[a.index()];
                let name = format!("`{}`", self.u.hir.text(agent.head.name));
                let init: Option<Vec<Param>> = agent.init.as_ref().map(|i| i.params.clone());
                let ctor_names: Vec<Option<Name>> = agent.ctor.iter().map(|p| p.name).collect();
                let sig = match init {
                    Some(params) if ctor_names.is_empty() => {
                        let mut types = Vec::new();
                        for p in &params {
                            types.push(match p.ty {
                                Some(t) => self.u.instantiate(t),
                                None => self.u.fresh(),
                            });
                        }
                        let names = params.iter().map(|p| p.name).collect();
                        Sig {
                            names,
                            ..Sig::plain(types, Ty::UNIT)
                        }
                    }
                    _ => Sig {
                        names: ctor_names,
                        ..Sig::plain(self.ctor_types(a), Ty::UNIT)
                    },
                };
                self.check_args(e, &name, &sig, args);
                let inner = self.u.hir.tys.intern(TyKind::Agent(a));
                self.u.hir.tys.intern(TyKind::AgentRef(inner))
            }
            Res::Supervisor(s) => {
                self.loose_args(args);
                let inner = self.u.hir.tys.intern(TyKind::Supervisor(s));
                self.u.hir.tys.intern(TyKind::AgentRef(inner))
            }
            Res::Error | Res::CapElsewhere(_) => {
                self.loose_args(args);
                Ty::ERROR
            }
            _ => {
                self.loose_args(args);
                self.u.fresh()
            }
        }
    }

    /// A send or an ask; both have the type of the reply ([R:G81]).
    pub(super) fn message(
        &mut self,
        target: ExprId,
        msg: Name,
        range: TextRange,
        args: List<Arg>,
    ) -> Ty {
        let found = self.synth(target);
        let (ty, n) = self.u.peel(found);
        if n > 0 {
            self.cx.bt.derefs.insert(target, n);
        }
        let TyKind::AgentRef(of) = self.u.hir.tys.kind(ty) else {
            self.loose_args(args);
            return if self.u.hir.tys.kind(ty) == TyKind::Error {
                Ty::ERROR
            } else {
                self.u.fresh()
            };
        };
        let sig = match self.u.shape(of) {
            TyKind::Protocol(p) => self.u.hir.protocols[p.index()]
                .messages
                .iter()
                .find(|m| m.name == msg)
                .map(|m| (m.params.clone(), Some(m.ret))),
            TyKind::Agent(a) => {
                let handler = self.u.hir.agents[a.index()]
                    .handlers
                    .iter()
                    .find(|h| h.name == msg);
                handler.map(|h| match h.message {
                    Some((p, i)) => {
                        let m = &self.u.hir.protocols[p.index()].messages[i as usize];
                        (m.params.clone(), Some(m.ret))
                    }
                    None => {
                        let params = h.params.iter().map(|p| {
                            let name = p.name.unwrap_or(msg);
                            (name, p.range, p.ty.unwrap_or(Ty::UNKNOWN))
                        });
                        (params.collect(), h.ret)
                    }
                })
            }
            _ => None,
        };
        let Some((params, ret)) = sig else {
            self.loose_args(args);
            return self.u.fresh();
        };
        let mut types = Vec::new();
        for (_, _, t) in &params {
            types.push(self.u.instantiate(*t));
        }
        let names = params.iter().map(|(n, _, _)| Some(*n)).collect();
        let what = format!("the message `{}`", self.u.hir.text(msg));
        let sig = Sig {
            names,
            ..Sig::plain(types, Ty::UNIT)
        };
        let body = self.body;
        let given = body.args_of(args);
        if given.len() != sig.params.len() {
            let range = if given.is_empty() {
                range
            } else {
                let first = body.expr(given[0].value).range.start;
                let last = body.expr(given[given.len() - 1].value).range.end;
                TextRange::new(first, last)
            };
            self.wrong_count(range, &what, &sig.params, false, given.len());
            self.loose_args(args);
        } else {
            self.check_args(target, &what, &sig, args);
        }
        match ret {
            Some(t) => self.u.instantiate(t),
            None => self.u.fresh(),
        }
    }

    pub(super) fn std_macro(&mut self, mac: StdMacro, args: List<ExprId>) -> Ty {
        let args = self.body.exprs_of(args);
        match mac {
            StdMacro::Assert => {
                for (i, a) in args.iter().enumerate() {
                    if i == 0 {
                        self.check(*a, Ty::BOOL, 2001);
                    } else {
                        self.synth(*a);
                    }
                }
                Ty::UNIT
            }
            StdMacro::AssertEq | StdMacro::AssertNe => {
                let mut types = Vec::new();
                for a in args {
                    let want = types.first().map_or(Want::Nothing, |t| Want::Ty(*t));
                    types.push(self.infer(*a, want));
                }
                if let [a, b, ..] = types[..]
                    && !self.comparable(a, b)
                {
                    let range = self.value_range(args[1]);
                    self.mismatch(2001, range, a, b);
                }
                Ty::UNIT
            }
            StdMacro::Debug => {
                let types: Vec<Ty> = args.iter().map(|a| self.synth(*a)).collect();
                types.first().copied().unwrap_or(Ty::UNIT)
            }
            StdMacro::Unreachable => {
                args.iter().for_each(|a| {
                    self.synth(*a);
                });
                Ty::NEVER
            }
            StdMacro::Format => {
                args.iter().for_each(|a| {
                    self.synth(*a);
                });
                Ty::STR
            }
            StdMacro::Vec => {
                let elem = self.u.fresh();
                for a in args {
                    self.check(*a, elem, 2001);
                }
                self.u.hir.tys.intern(TyKind::Vec(elem))
            }
        }
    }
}
