//! Calls, method calls, `spawn` and messages: which arguments move, how receivers are borrowed, what may be
//! sent (language.md §12.3, §13). Must not judge places themselves; `uses` does.

use super::place::Holder;
use super::uses::Report;
use super::walk::{Mode, Pend, Pending, Walker};
use crate::diagnostic::FixHint;
use crate::hir::*;
use crate::infer::Method;
use crate::ty::{Ty, TyKind};

/// How the arguments of a call are taken.
pub(super) enum Taker {
    /// By a function with these parameters; the flag tells whether the receiver is the first argument.
    Function(FnId, bool),
    /// By a value of function type with these parameters.
    Value(Vec<Ty>),
    /// By a variant with these payloads; those of the prelude take anything.
    Variant(Vec<Ty>),
    /// By something that only reads.
    Reader,
}

impl Walker<'_, '_> {
    /// How an argument for a parameter is used: references and copied values are read.
    pub(super) fn argument_mode(&self, param: Option<Ty>) -> Mode {
        match param {
            Some(t) if self.is_reference(t) => Mode::Read,
            Some(t) => self.slot_mode(t),
            None => Mode::Move,
        }
    }

    pub(super) fn param(&self, f: FnId, i: usize, arg: &Arg) -> Option<Ty> {
        let params = &self.hir.function(f).params;
        let i = match arg.name {
            Some((name, _)) => params.iter().position(|p| p.name == Some(name))?,
            None => i,
        };
        let inferred = self.all.params.get(f.index()).and_then(|p| p.get(i));
        inferred.copied().or_else(|| params.get(i)?.ty)
    }

    pub(super) fn taker(&self, e: ExprId, callee: ExprId, count: usize) -> Taker {
        let known = self
            .types
            .callee
            .get(&e)
            .or_else(|| self.types.callee.get(&callee));
        let kind = self.body.expr(callee).kind;
        let function = match (known, kind) {
            (Some(f), _) => Some(*f),
            (None, ExprKind::Path(Res::Fn(f) | Res::AgentMethod(f))) => Some(f),
            _ => None,
        };
        if let Some(f) = function {
            let item = self.hir.function(f);
            let explicit = item.self_param.is_some() && count > item.params.len();
            return Taker::Function(f, explicit);
        }
        match kind {
            ExprKind::Path(Res::Variant(en, v)) => {
                let variants = &self.hir.enums[en.index()].variants;
                Taker::Variant(
                    variants
                        .get(v as usize)
                        .map(|v| v.payload.clone())
                        .unwrap_or_default(),
                )
            }
            ExprKind::Path(Res::PreludeVariant(_)) => Taker::Variant(Vec::new()),
            _ => match self.hir.tys.kind(self.hir.tys.peel(self.types.of(callee))) {
                TyKind::Fn(params, _)
                    if !matches!(
                        kind,
                        ExprKind::Path(
                            Res::Prelude(_)
                                | Res::PrimValue(_)
                                | Res::Opaque(_)
                                | Res::OpaqueType(_)
                                | Res::Assoc(..)
                                | Res::TraitMember(..)
                        )
                    ) =>
                {
                    Taker::Value(self.hir.tys.list(params).to_vec())
                }
                _ => Taker::Reader,
            },
        }
    }

    pub(super) fn taken(&self, taker: &Taker, i: usize, arg: &Arg) -> Mode {
        match taker {
            Taker::Function(f, true) if i == 0 => match self.hir.function(*f).self_param {
                Some(s) if s.kind == SelfKind::Value => Mode::Move,
                _ => Mode::Read,
            },
            Taker::Function(f, explicit) => {
                self.argument_mode(self.param(*f, i - usize::from(*explicit), arg))
            }
            Taker::Value(params) => self.argument_mode(params.get(i).copied()),
            Taker::Variant(payload) => payload.get(i).map_or(Mode::Move, |t| self.slot_mode(*t)),
            Taker::Reader => Mode::Read,
        }
    }

    pub(super) fn arguments(&mut self, args: List<Arg>, taker: &Taker) -> Pending {
        let mut value = Vec::new();
        for (i, a) in self.body.args_of(args).iter().enumerate() {
            let mode = self.taken(taker, i, a);
            value.extend(self.walk(a.value, mode));
        }
        value
    }

    /// What the arguments carried passes to the result; borrows of variables that were merely passed on do
    /// not (§12.4 rule 4 is about `&e`).
    pub(super) fn passed(value: Pending) -> Pending {
        value
            .into_iter()
            .filter(|p| matches!(p, Pend::Temp(_)))
            .collect()
    }

    pub(super) fn call(&mut self, e: ExprId, callee: ExprId, args: List<Arg>) -> Pending {
        let body = self.body;
        let outer = std::mem::replace(&mut self.site, body.expr(e).range);
        if !matches!(body.expr(callee).kind, ExprKind::Path(Res::Fn(_))) {
            self.walk_off(callee);
        }
        let taker = self.taker(e, callee, args.len());
        let value = self.arguments(args, &taker);
        self.site = outer;
        match taker {
            Taker::Variant(_) => value,
            _ => Self::passed(value),
        }
    }

    pub(super) fn method_call(&mut self, e: ExprId, receiver: ExprId, args: List<Arg>) -> Pending {
        let body = self.body;
        let outer = std::mem::replace(&mut self.site, body.expr(e).range);
        let method = self.types.methods.get(&e).copied();
        let value = match method {
            Some(Method::User(f) | Method::Trait(_, f) | Method::Agent(f)) => {
                self.user_method(receiver, f, args)
            }
            Some(Method::FieldCall) => {
                self.walk_off(receiver);
                let params = match body.expr(e).kind {
                    ExprKind::MethodCall { name, .. } => self.field_params(receiver, name),
                    _ => Vec::new(),
                };
                self.arguments(args, &Taker::Value(params))
            }
            Some(Method::Builtin { .. }) => self.built_in(e, receiver, args),
            Some(Method::Family(_) | Method::Opaque | Method::Error) | None => {
                let mut value = self.receiver(receiver);
                value.extend(self.arguments(args, &Taker::Reader));
                value
            }
        };
        self.site = outer;
        Self::passed(value)
    }

    /// Reads a receiver; `(*r).m()` takes nothing out of `r`.
    pub(super) fn receiver(&mut self, receiver: ExprId) -> Pending {
        match self.spot(receiver) {
            Ok(spot) => {
                self.read(&spot);
                self.release(spot.place.root);
                Vec::new()
            }
            Err(value) => value,
        }
    }

    pub(super) fn field_params(&self, receiver: ExprId, name: Name) -> Vec<Ty> {
        let ty = self.hir.tys.peel(self.types.of(receiver));
        let TyKind::Struct(s, _) = self.hir.tys.kind(ty) else {
            return Vec::new();
        };
        let fields = &self.hir.structs[s.index()].fields;
        match fields.iter().find(|f| f.name == name).map(|f| f.ty) {
            Some(t) => match self.hir.tys.kind(t) {
                TyKind::Fn(params, _) => self.hir.tys.list(params).to_vec(),
                _ => Vec::new(),
            },
            None => Vec::new(),
        }
    }

    /// §12.3: built-in methods only read, but `push` and `insert` take their arguments.
    pub(super) fn built_in(&mut self, e: ExprId, receiver: ExprId, args: List<Arg>) -> Pending {
        let ExprKind::MethodCall { name, .. } = self.body.expr(e).kind else {
            return Vec::new();
        };
        let takes = matches!(self.hir.text(name), "push" | "insert");
        let holder = self.hir.tys.peel(self.types.of(receiver));
        let mut value = self.receiver(receiver);
        let slots = match self.hir.tys.kind(holder) {
            TyKind::Vec(t) | TyKind::List(t) | TyKind::Set(t) | TyKind::Array(t, _) => [t, t],
            TyKind::Map(k, v) => [k, v],
            _ => [Ty::UNKNOWN; 2],
        };
        let several = args.len() > 1;
        for (i, a) in self.body.args_of(args).iter().enumerate() {
            let slot = match self.hir.tys.kind(holder) {
                TyKind::Map(..) => slots.get(i).copied(),
                // `v.insert(at, x)`
                _ if several && i == 0 => None,
                _ => slots.first().copied(),
            };
            let mode = if takes {
                slot.map_or(Mode::Move, |t| self.slot_mode(t))
            } else {
                Mode::Read
            };
            value.extend(self.walk(a.value, mode));
        }
        value
    }

    /// Receivers of user methods are borrowed for the call ([R:G127]). What an argument only borrows while it
    /// is evaluated does not count: `c.add(c.total())` is fine.
    pub(super) fn user_method(&mut self, receiver: ExprId, f: FnId, args: List<Arg>) -> Pending {
        let ty = self.types.of(receiver);
        let kind = self.hir.function(f).self_param.map(|s| s.kind);
        let by_reference = self.is_reference(ty);
        let taker = Taker::Function(f, false);
        let mutable = match kind {
            Some(SelfKind::Value) if !by_reference => {
                let mut value = self.walk(receiver, Mode::Move);
                value.extend(self.arguments(args, &taker));
                return value;
            }
            Some(SelfKind::Shared) if !by_reference => false,
            Some(SelfKind::Mut) if !by_reference => true,
            _ => {
                let mut value = self.receiver(receiver);
                value.extend(self.arguments(args, &taker));
                return value;
            }
        };
        let spot = match self.spot(receiver) {
            Ok(s) => s,
            Err(mut value) => {
                value.extend(self.arguments(args, &taker));
                return value;
            }
        };
        let started = self.start_borrow(&spot, mutable, receiver, Holder::Receiver);
        self.release(spot.place.root);
        let value = self.arguments(args, &taker);
        if !started {
            return value;
        }
        let own = self
            .state
            .records()
            .iter()
            .find(|r| r.expr == receiver && r.holder == Holder::Receiver)
            .copied();
        self.state.end(receiver);
        if let Some(own) = own {
            let against: Vec<_> = self
                .state
                .records()
                .iter()
                .filter(|r| {
                    r.place.overlaps(own.place)
                        && (r.mutable || own.mutable)
                        && value
                            .iter()
                            .any(|p| matches!(p, Pend::Temp(e) if *e == r.expr))
                })
                .copied()
                .collect();
            for r in against {
                self.overlapping(&own, r.mutable, r.place, r.expr);
            }
        }
        value
    }

    pub(super) fn spawn(&mut self, e: ExprId, target: Res, args: List<Arg>) -> Pending {
        let outer = std::mem::replace(&mut self.site, self.body.expr(e).range);
        let mut value = Vec::new();
        for (i, a) in self.body.args_of(args).iter().enumerate() {
            let mode = self.argument_mode(self.spawn_param(target, i));
            value.extend(self.walk(a.value, mode));
        }
        self.site = outer;
        value
    }

    pub(super) fn spawn_param(&self, target: Res, i: usize) -> Option<Ty> {
        let Res::Agent(a) = target else { return None };
        let agent = &self.hir.agents[a.index()];
        if !agent.ctor.is_empty() {
            return self.all.ctor.get(a.index())?.get(i).copied();
        }
        self.body_param(agent.init.as_ref()?.body?, i)
    }

    /// The type of a parameter as its body has it.
    pub(super) fn body_param(&self, id: BodyId, i: usize) -> Option<Ty> {
        let body = self.hir.body(id);
        let types = self.all.body(id);
        let pat = *body.params.get(i)?;
        Some(match body.pat(pat).kind {
            PatKind::Bind { local, .. } => types.local(local),
            _ => types.pat(pat),
        })
    }

    /// `t!Msg(..)` and `t?Msg(..)`.
    pub(super) fn message(
        &mut self,
        e: ExprId,
        target: ExprId,
        msg: Name,
        args: List<Arg>,
    ) -> Pending {
        let body = self.body;
        let outer = std::mem::replace(&mut self.site, body.expr(e).range);
        self.walk_off(target);
        let to = self.types.of(target);
        let mut value = Vec::new();
        for (i, a) in body.args_of(args).iter().enumerate() {
            self.sendable(a.value, msg);
            let mode = self.argument_mode(self.message_param(to, msg, i));
            value.extend(self.walk(a.value, mode));
        }
        self.site = outer;
        Self::passed(value)
    }

    pub(super) fn message_param(&self, target: Ty, msg: Name, i: usize) -> Option<Ty> {
        let TyKind::AgentRef(of) = self.hir.tys.kind(self.hir.tys.peel(target)) else {
            return None;
        };
        match self.hir.tys.kind(of) {
            TyKind::Agent(a) => {
                let handlers = &self.hir.agents[a.index()].handlers;
                let h = handlers.iter().find(|h| h.name == msg)?;
                self.body_param(h.body?, i)
            }
            TyKind::Protocol(p) => {
                let messages = &self.hir.protocols[p.index()].messages;
                let m = messages.iter().find(|m| m.name == msg)?;
                m.params.get(i).map(|p| p.2)
            }
            _ => None,
        }
    }

    /// MT3011 (§13).
    pub(super) fn sendable(&mut self, arg: ExprId, msg: Name) {
        let ty = self.types.of(arg);
        let Some(reason) = self.shapes.unsendable(ty) else {
            return;
        };
        let hint = if reason.is_reference(self.hir) {
            self.value_behind(arg)
        } else {
            FixHint::None
        };
        let title = format!(
            "this argument of `{}` cannot be sent to another agent",
            self.hir.text(msg)
        );
        let report =
            Report::hint(hint).note(format!("{} stays with its agent", reason.say(self.hir)));
        self.report(3011, arg, title, report);
    }

    /// Replaces a reference by the value it refers to.
    fn value_behind(&self, arg: ExprId) -> FixHint {
        let body = self.body;
        let TyKind::Ref(inner, _) = self.hir.tys.kind(self.types.of(arg)) else {
            return FixHint::None;
        };
        let text = |e: ExprId| self.hir.text_of(body.file, body.expr(e).range);
        let value = match body.expr(arg).kind {
            ExprKind::Ref { operand, .. } => text(operand).to_owned(),
            ExprKind::Path(_) | ExprKind::Field { .. } => format!("*{}", text(arg)),
            _ => return FixHint::None,
        };
        let text = match (self.shapes.is_copy(inner), value.starts_with('*')) {
            (true, _) => value,
            (false, _) if !self.shapes.can_clone(inner) => return FixHint::None,
            (false, true) => format!("({value}).clone()"),
            (false, false) => format!("{value}.clone()"),
        };
        FixHint::Replace {
            range: body.expr(arg).range,
            text,
        }
    }
}
