//! Method calls and associated functions: lookup on user types, bounds and `dyn`, then the built-in tables
//! (language.md §10).
//! Must not hold the built-in signatures; `builtin` does.

use syntax::TextRange;

use super::Method;
use super::call::Sig;
use super::driver::{Fx, Want};
use super::tables::{Candidate, is_user};
use crate::hir::*;
use crate::ty::{Ty, TyKind};

/// What every value answers to.
const UNIVERSAL: &[&str] = &[
    "clone",
    "to_bin_str",
    "to_debug_str",
    "to_hex_str",
    "to_hex_upper_str",
    "to_oct_str",
    "to_str",
    "to_string",
];

impl Fx<'_, '_> {
    /// The signature of a method as its impl gives it for a receiver: the impl's generics are open, and
    /// their bounds are noted for the end of the body.
    fn sig_in_impl(&mut self, c: Candidate, explicit: &[Ty], recv: Ty, range: TextRange) -> Sig {
        let imp = self.u.hir.impls[c.imp.index()].clone();
        let types: Vec<Ty> = imp.generics.iter().map(|_| self.u.fresh()).collect();
        let self_ty = self.with_types(imp.self_ty, &imp.generics, &types);
        let _ = self.u.unify(self_ty, recv);
        for (g, ty) in imp.generics.iter().zip(&types) {
            self.cx.bounds.push(super::driver::BoundCheck {
                range,
                ty: *ty,
                generic: *g,
            });
        }
        let mut sig = self.fn_sig(c.func, explicit, Some((&imp.generics, &types)), range);
        if let FnKind::Trait(t) = self.u.hir.fns[c.func.index()].kind {
            self.replace_self(&mut sig, t, recv);
            self.open_trait_params(&mut sig, t);
        }
        sig
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn method_call(
        &mut self,
        e: ExprId,
        receiver: ExprId,
        name: Name,
        name_range: TextRange,
        type_args: List<Ty>,
        args: List<Arg>,
        want: Want,
    ) -> Ty {
        let found = self.synth(receiver);
        let (ty, n) = self.u.peel(found);
        if n > 0 {
            self.cx.bt.derefs.insert(receiver, n);
        }
        let kind = self.u.hir.tys.kind(ty);
        if kind == TyKind::Error {
            self.loose_args(args);
            return self.done(e, Method::Error, Ty::ERROR);
        }
        // A field that holds a function wins only if there is no method.
        let candidates = self.u.tables.candidates(kind, name);
        if !candidates.is_empty() {
            return self.user_method(e, ty, name, name_range, candidates, args, want);
        }
        match kind {
            TyKind::Param(g) => {
                let mut offers: Vec<(TraitId, FnId)> = Vec::new();
                for t in &self.u.hir.generics[g.index()].bounds {
                    if let Some(f) = self.trait_method(*t, name)
                        && !offers.iter().any(|(o, _)| o == t)
                    {
                        offers.push((*t, f));
                    }
                }
                match offers[..] {
                    [] => {}
                    [(t, f)] => return self.bound_method(e, ty, t, f, name_range, args, want),
                    _ => {
                        self.loose_args(args);
                        let hir = &self.u.hir;
                        let traits = offers
                            .iter()
                            .map(|(t, _)| hir.traits[t.index()].head.name)
                            .collect();
                        self.ambiguous(name, name_range, traits);
                        return self.done(e, Method::Error, Ty::ERROR);
                    }
                }
            }
            TyKind::Dyn(t) | TyKind::SelfOf(t) => {
                if let Some(f) = self.trait_method(t, name) {
                    return self.bound_method(e, ty, t, f, name_range, args, want);
                }
            }
            TyKind::Family(f) => {
                self.loose_args(args);
                let ret = match self.u.hir.text(name) {
                    "ro" | "path" | "host" => ty,
                    "to_str" => Ty::STR,
                    _ => self.u.fresh(),
                };
                return self.done(e, Method::Family(f), ret);
            }
            _ => {}
        }
        if let TyKind::Struct(s, l) = kind {
            let item = &self.u.hir.structs[s.index()];
            if let Some(f) = item.fields.iter().find(|f| f.name == name) {
                let (fty, generics) = (f.ty, item.generics.clone());
                let fty = self.with_args(fty, &generics, l);
                if let TyKind::Fn(p, r) = self.u.shape(fty) {
                    let sig = Sig::plain(self.u.hir.tys.list(p).to_vec(), r);
                    self.check_args(e, "this function", &sig, args);
                    return self.done(e, Method::FieldCall, r);
                }
            }
        }
        let text = self.u.hir.text(name);
        if UNIVERSAL.contains(&text) {
            let ret = match text {
                "clone" => ty,
                "to_string" => Ty::STRING,
                _ => Ty::STR,
            };
            self.loose_args(args);
            return self.done(e, Method::Builtin { known: true }, ret);
        }
        if is_user(self.u.hir, ty) {
            self.loose_args(args);
            if self.u.tables.is_open(kind) {
                let any = self.u.fresh();
                return self.done(e, Method::Opaque, any);
            }
            self.unknown_method(ty, name, name_range);
            return self.done(e, Method::Error, Ty::ERROR);
        }
        if let TyKind::AgentRef(of) = kind
            && let TyKind::Agent(a) = self.u.shape(of)
        {
            let method = self.u.hir.agents[a.index()]
                .methods
                .iter()
                .copied()
                .find(|f| self.u.hir.fns[f.index()].head.name == name);
            if let Some(f) = method.filter(|_| self.agent.id == Some(a)) {
                let sig = self.fn_sig(f, &[], None, name_range);
                let what = format!("`{}`", self.u.hir.text(name));
                self.check_args(e, &what, &sig, args);
                return self.done(e, Method::Agent(f), sig.ret);
            }
        }
        let explicit = self.body.type_args_of(type_args).to_vec();
        self.builtin_method(e, ty, name, &explicit, args, want)
    }

    pub(super) fn done(&mut self, e: ExprId, m: Method, ty: Ty) -> Ty {
        self.cx.bt.methods.insert(e, m);
        ty
    }

    fn trait_method(&self, t: TraitId, name: Name) -> Option<FnId> {
        let methods = &self.u.hir.traits[t.index()].methods;
        methods
            .iter()
            .copied()
            .find(|f| self.u.hir.fns[f.index()].head.name == name)
    }

    #[allow(clippy::too_many_arguments)]
    fn bound_method(
        &mut self,
        e: ExprId,
        recv: Ty,
        t: TraitId,
        f: FnId,
        range: TextRange,
        args: List<Arg>,
        want: Want,
    ) -> Ty {
        let mut sig = self.fn_sig(f, &[], None, range);
        self.replace_self(&mut sig, t, recv);
        self.open_trait_params(&mut sig, t);
        let what = format!("`{}`", self.u.hir.text(self.u.hir.fns[f.index()].head.name));
        self.hint_result(&sig, want);
        self.check_args(e, &what, &sig, args);
        self.done(e, Method::Trait(t, f), sig.ret)
    }

    /// `Self` of a trait's signature is the receiver.
    fn replace_self(&mut self, sig: &mut Sig, t: TraitId, recv: Ty) {
        let mut swap = |ty: Ty| {
            self.u.hir.tys.substitute(ty, &|k| match k {
                TyKind::SelfOf(x) if x == t => Some(recv),
                _ => None,
            })
        };
        sig.params = sig.params.iter().map(|p| swap(*p)).collect();
        sig.ret = swap(sig.ret);
    }

    /// Generic parameters of a trait are not tracked through bounds: any type does.
    fn open_trait_params(&mut self, sig: &mut Sig, t: TraitId) {
        let generics = self.u.hir.traits[t.index()].generics.clone();
        if generics.is_empty() {
            return;
        }
        let types: Vec<Ty> = generics.iter().map(|_| self.u.fresh()).collect();
        sig.params = sig
            .params
            .iter()
            .map(|p| self.with_types(*p, &generics, &types))
            .collect();
        sig.ret = self.with_types(sig.ret, &generics, &types);
    }

    #[allow(clippy::too_many_arguments)]
    fn user_method(
        &mut self,
        e: ExprId,
        recv: Ty,
        name: Name,
        range: TextRange,
        candidates: Vec<Candidate>,
        args: List<Arg>,
        want: Want,
    ) -> Ty {
        let fitting: Vec<Candidate> = candidates
            .iter()
            .copied()
            .filter(|c| self.may_fit(self.u.hir.impls[c.imp.index()].self_ty, recv, 0))
            .collect();
        let among = if fitting.is_empty() {
            candidates
        } else {
            fitting
        };
        let inherent = among.iter().copied().find(|c| c.inherent);
        let chosen = match inherent {
            Some(c) => c,
            None => {
                let mut traits: Vec<Option<TraitId>> = among.iter().map(|c| c.trait_id).collect();
                traits.dedup();
                let different = traits.len() > 1 || (traits == [None] && among.len() > 1);
                let seen = if different && !is_user(self.u.hir, recv) {
                    self.only_seen(&among)
                } else {
                    None
                };
                if different && seen.is_none() {
                    self.loose_args(args);
                    if !is_user(self.u.hir, recv) {
                        // Only user types are dispatched strictly (§7.4, §10).
                        let any = self.u.fresh();
                        return self.done(e, Method::Builtin { known: false }, any);
                    }
                    let traits = among
                        .iter()
                        .filter_map(|c| self.u.hir.impls[c.imp.index()].trait_name)
                        .collect();
                    self.ambiguous(name, range, traits);
                    return self.done(e, Method::Error, Ty::ERROR);
                }
                seen.unwrap_or(among[0])
            }
        };
        let sig = self.sig_in_impl(chosen, &[], recv, range);
        let what = format!("`{}`", self.u.hir.text(name));
        // A function without a receiver, called through a value: its first parameter is none of the call's.
        self.hint_result(&sig, want);
        self.check_args(e, &what, &sig, args);
        self.done(e, Method::User(chosen.func), sig.ret)
    }

    fn unknown_method(&mut self, ty: Ty, name: Name, range: TextRange) {
        let kind = self.u.hir.tys.kind(ty);
        let mut candidates: Vec<Name> = super::tables::head_key(kind)
            .and_then(|k| self.u.tables.names.get(&k).cloned())
            .unwrap_or_default();
        if let TyKind::Struct(s, _) = kind {
            candidates.extend(self.u.hir.structs[s.index()].fields.iter().map(|f| f.name));
        }
        let shown = self.u.show(ty);
        let title = format!("`{shown}` has no method `{}`", self.u.hir.text(name));
        let d = self.diagnostic(2007, range, title);
        let d = self.with_near(d, name, &candidates);
        self.push(d);
    }

    /// `Type.name(args)`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn call_assoc(
        &mut self,
        e: ExprId,
        callee: ExprId,
        ty: Ty,
        name: Name,
        explicit: &[Ty],
        args: List<Arg>,
        want: Want,
    ) -> Ty {
        let ty = self.u.instantiate(ty);
        let range = self.body.expr(callee).range;
        let name_range = TextRange::new(range.end - self.u.hir.text(name).len() as u32, range.end);
        let kind = self.u.hir.tys.kind(ty);
        if let TyKind::SelfOf(t) | TyKind::Dyn(t) = kind
            && let Some(f) = self.trait_method(t, name)
        {
            self.cx.bt.callee.insert(callee, f);
            let mut sig = self.fn_sig(f, explicit, None, name_range);
            self.replace_self(&mut sig, t, ty);
            self.with_receiver(f, ty, &mut sig, args);
            self.check_args(e, &format!("`{}`", self.u.hir.text(name)), &sig, args);
            return sig.ret;
        }
        if let TyKind::Param(g) = kind {
            for t in self.u.hir.generics[g.index()].bounds.clone() {
                if let Some(f) = self.trait_method(t, name) {
                    self.cx.bt.callee.insert(callee, f);
                    let mut sig = self.fn_sig(f, explicit, None, name_range);
                    self.replace_self(&mut sig, t, ty);
                    self.with_receiver(f, ty, &mut sig, args);
                    self.check_args(e, &format!("`{}`", self.u.hir.text(name)), &sig, args);
                    return sig.ret;
                }
            }
            self.loose_args(args);
            return self.u.fresh();
        }
        let candidates = self.u.tables.candidates(kind, name);
        let fitting = candidates
            .iter()
            .copied()
            .filter(|c| self.may_fit(self.u.hir.impls[c.imp.index()].self_ty, ty, 0));
        if let Some(c) = fitting
            .max_by_key(|c| c.inherent)
            .or(candidates.first().copied())
        {
            self.cx.bt.callee.insert(callee, c.func);
            let mut sig = self.sig_in_impl(c, explicit, ty, name_range);
            self.with_receiver(c.func, ty, &mut sig, args);
            self.hint_result(&sig, want);
            self.check_args(e, &format!("`{}`", self.u.hir.text(name)), &sig, args);
            return sig.ret;
        }
        self.loose_args(args);
        if is_user(self.u.hir, ty) {
            if self.u.tables.is_open(kind) {
                return self.u.fresh();
            }
            if let TyKind::Enum(id, _) = kind {
                self.unknown_variant(id, name, name_range);
            } else {
                self.unknown_method(ty, name, name_range);
            }
            return Ty::ERROR;
        }
        self.builtin_assoc(ty, name)
    }

    /// `Type.method(receiver, …)`: the receiver is the first argument.
    fn with_receiver(&mut self, f: FnId, ty: Ty, sig: &mut Sig, args: List<Arg>) {
        let func = &self.u.hir.fns[f.index()];
        let Some(s) = func.self_param else { return };
        let given = self.body.args_of(args).len();
        let _ = given;
        let first = match s.kind {
            SelfKind::Value => ty,
            // A place or a reference to it.
            SelfKind::Shared | SelfKind::Mut => self.u.fresh(),
        };
        sig.params.insert(0, first);
        if !sig.names.is_empty() {
            sig.names.insert(0, None);
        }
    }

    pub(super) fn unknown_variant(&mut self, id: EnumId, name: Name, range: TextRange) {
        let item = &self.u.hir.enums[id.index()];
        let candidates: Vec<Name> = item.variants.iter().map(|v| v.name).collect();
        let title = format!(
            "the enum `{}` has no variant `{}`",
            self.u.hir.text(item.head.name),
            self.u.hir.text(name)
        );
        let d = self.diagnostic(2009, range, title);
        let d = self.with_near(d, name, &candidates);
        self.push(d);
    }

    /// `Type.name` without a call: a constant, or an associated function as a value.
    pub(super) fn assoc_value(&mut self, e: ExprId, ty: Ty, name: Name) -> Ty {
        let kind = self.u.hir.tys.kind(ty);
        let key = super::tables::head_key(kind);
        if let Some(c) = key.and_then(|k| self.u.tables.consts.get(&(k, name)).copied()) {
            self.cx.bt.consts.insert(e, c);
            return self.const_ty(c);
        }
        let traits = match kind {
            TyKind::SelfOf(t) => vec![t],
            TyKind::Param(g) => self.u.hir.generics[g.index()].bounds.clone(),
            _ => Vec::new(),
        };
        for t in traits {
            let consts = self.u.hir.traits[t.index()].consts.clone();
            if let Some(c) = consts
                .into_iter()
                .find(|c| self.u.hir.consts[c.index()].head.name == name)
            {
                self.cx.bt.consts.insert(e, c);
                return self.const_ty(c);
            }
        }
        let candidates = self.u.tables.candidates(kind, name);
        if let Some(c) = candidates.first() {
            self.cx.bt.callee.insert(e, c.func);
            return self.u.fresh();
        }
        let range = self.body.expr(e).range;
        let name_range = TextRange::new(range.end - self.u.hir.text(name).len() as u32, range.end);
        match kind {
            TyKind::Enum(id, _) if !self.u.tables.is_open(kind) => {
                self.unknown_variant(id, name, name_range);
                Ty::ERROR
            }
            TyKind::Struct(s, _) if !self.u.tables.is_open(kind) => {
                let item = &self.u.hir.structs[s.index()];
                let title = format!(
                    "the struct `{}` has no constant or function `{}`",
                    self.u.hir.text(item.head.name),
                    self.u.hir.text(name)
                );
                self.error(2006, name_range, title);
                Ty::ERROR
            }
            _ => self.u.fresh(),
        }
    }
}
