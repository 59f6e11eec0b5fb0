//! Calls of functions, variants, library paths and values; messages and `spawn` (language.md §7.4, §18.2).
//! Must not look up methods.

use syntax::TextRange;

use super::driver::{Fx, Want};
use crate::diagnostic::FixHint;
use crate::hir::*;
use crate::ty::{Prim, Ty, TyKind};

/// What a callee takes.
pub(super) struct Sig {
    pub(super) params: Vec<Ty>,
    pub(super) names: Vec<Option<Name>>,
    pub(super) ret: Ty,
    pub(super) variadic: bool,
    /// Foreign functions take text for pointers and references for pointers.
    pub(super) foreign: bool,
}

impl Sig {
    pub(super) fn plain(params: Vec<Ty>, ret: Ty) -> Self {
        Self {
            params,
            names: Vec::new(),
            ret,
            variadic: false,
            foreign: false,
        }
    }
}

impl Fx<'_, '_> {
    pub(super) fn call(
        &mut self,
        e: ExprId,
        callee: ExprId,
        type_args: List<Ty>,
        args: List<Arg>,
        want: Want,
    ) -> Ty {
        let body = self.body;
        let c = body.expr(callee);
        let explicit = body.type_args_of(type_args).to_vec();
        let ExprKind::Path(res) = c.kind else {
            let found = self.synth(callee);
            return self.call_value(e, callee, found, args);
        };
        let (what, sig) = match res {
            Res::Fn(f) | Res::AgentMethod(f) => {
                self.cx.bt.callee.insert(callee, f);
                let sig = self.fn_sig(f, &explicit, None, c.range);
                (self.callee_name(f), sig)
            }
            Res::Variant(id, i) => {
                let ty = self.enum_fresh(id, &explicit);
                let payload = self.payload(ty, id, i);
                let name = self
                    .u
                    .hir
                    .text(self.u.hir.enums[id.index()].variants[i as usize].name);
                (format!("`{name}`"), Sig::plain(payload, ty))
            }
            Res::PreludeVariant(v) => {
                let sig = self.prelude_sig(v, &explicit);
                let name = match v {
                    PreludeVariant::Some => "Some",
                    PreludeVariant::None => "None",
                    PreludeVariant::Ok => "Ok",
                    PreludeVariant::Err => "Err",
                };
                (format!("`{name}`"), sig)
            }
            Res::Assoc(ty, name) => {
                return self.call_assoc(e, callee, ty, name, &explicit, args, want);
            }
            Res::TraitMember(t, name) => {
                let method = self.u.hir.traits[t.index()]
                    .methods
                    .iter()
                    .copied()
                    .find(|f| self.u.hir.fns[f.index()].head.name == name);
                if let Some(f) = method {
                    self.cx.bt.callee.insert(callee, f);
                }
                self.loose_args(args);
                return self.u.fresh();
            }
            Res::PrimValue(p) => {
                self.loose_args(args);
                return self.construct(p);
            }
            Res::Prelude(name) => {
                self.loose_args(args);
                return self.prelude_call(name);
            }
            Res::Struct(s) => {
                self.loose_args(args);
                let name = self
                    .u
                    .hir
                    .text(self.u.hir.structs[s.index()].head.name)
                    .to_owned();
                let d =
                    self.diagnostic(2008, c.range, format!("the struct `{name}` is no function"));
                self.push(d.note(format!("write `{name} {{ … }}` to make one")));
                return Ty::ERROR;
            }
            Res::Error | Res::CapElsewhere(_) | Res::Family(_) => {
                self.loose_args(args);
                return Ty::ERROR;
            }
            Res::Opaque(_)
            | Res::OpaqueType(_)
            | Res::Tolerated(_)
            | Res::Agent(_)
            | Res::Supervisor(_) => {
                self.loose_args(args);
                return self.u.fresh();
            }
            Res::Local(_) | Res::AgentSelf(_) | Res::State(..) | Res::Ctor(..) | Res::Const(_) => {
                let found = self.synth(callee);
                return self.call_value(e, callee, found, args);
            }
        };
        self.cx.bt.exprs[callee.index()] = self.fn_type(&sig);
        self.hint_result(&sig, want);
        self.check_args(e, &what, &sig, args);
        sig.ret
    }

    /// Lets a wanted type into a call's result before its arguments are seen, as far as they agree.
    pub(super) fn hint_result(&mut self, sig: &Sig, want: Want) {
        if let Want::Ty(w) = want
            && sig.params.iter().any(|p| {
                matches!(
                    self.u.shape(*p),
                    TyKind::Var(_) | TyKind::Fn(..) | TyKind::Vec(_)
                )
            })
        {
            match (self.u.shape(sig.ret), self.u.shape(w)) {
                // Text and references may differ harmlessly: no hint through a bare variable.
                (TyKind::Var(_), _) | (_, TyKind::Var(_)) => {}
                (TyKind::Result(a, b), TyKind::Result(c, d)) => {
                    self.hint_part(a, c);
                    self.hint_part(b, d);
                }
                (TyKind::Option(a), TyKind::Option(b)) => self.hint_part(a, b),
                (TyKind::Struct(s, x), TyKind::Struct(t, y)) if s == t => self.hint_parts(x, y),
                (TyKind::Enum(s, x), TyKind::Enum(t, y)) if s == t => self.hint_parts(x, y),
                _ => {}
            }
        }
    }

    fn hint_parts(&mut self, x: crate::ty::Tys, y: crate::ty::Tys) {
        let n = self
            .u
            .hir
            .tys
            .list(x)
            .len()
            .min(self.u.hir.tys.list(y).len());
        for i in 0..n {
            let (a, b) = (self.u.hir.tys.list(x)[i], self.u.hir.tys.list(y)[i]);
            self.hint_part(a, b);
        }
    }

    fn hint_part(&mut self, open: Ty, wanted: Ty) {
        if let TyKind::Var(_) = self.u.shape(open)
            && !matches!(self.u.shape(wanted), TyKind::Error | TyKind::Unknown)
        {
            let _ = self.u.unify(open, wanted);
        }
    }

    fn fn_type(&mut self, sig: &Sig) -> Ty {
        let list = self.u.hir.tys.list_of(&sig.params);
        self.u.hir.tys.intern(TyKind::Fn(list, sig.ret))
    }

    fn callee_name(&self, f: FnId) -> String {
        format!("`{}`", self.u.hir.text(self.u.hir.fns[f.index()].head.name))
    }

    /// The signature of a function with fresh arguments for its generic parameters, and those of its impl
    /// bound to `outer`.
    pub(super) fn fn_sig(
        &mut self,
        f: FnId,
        explicit: &[Ty],
        outer: Option<(&[GenericId], &[Ty])>,
        range: TextRange,
    ) -> Sig {
        let func = &self.u.hir.fns[f.index()];
        let (ret, variadic, foreign) = (func.ret, func.variadic, func.kind == FnKind::Extern);
        let names = func.params.iter().map(|p| p.name).collect();
        let generics: Vec<GenericId> = func
            .generics
            .iter()
            .copied()
            .filter(|g| !self.u.hir.generics[g.index()].is_row)
            .collect();
        let params = self.param_types(f);
        if !explicit.is_empty() && explicit.len() != generics.len() {
            let title = format!(
                "{} takes {} type argument{}, not {}",
                self.callee_name(f),
                generics.len(),
                if generics.len() == 1 { "" } else { "s" },
                explicit.len()
            );
            self.error(2004, range, title);
        }
        let mut ids: Vec<GenericId> = Vec::new();
        let mut types: Vec<Ty> = Vec::new();
        for (i, g) in generics.iter().enumerate() {
            let ty = match explicit.get(i).filter(|_| explicit.len() == generics.len()) {
                Some(t) => self.u.instantiate(*t),
                None => self.u.fresh(),
            };
            ids.push(*g);
            types.push(ty);
            self.cx.bounds.push(super::driver::BoundCheck {
                range,
                ty,
                generic: *g,
            });
        }
        if let Some((g, t)) = outer {
            ids.extend(g);
            types.extend(t);
        }
        if ids.is_empty() {
            let ret = self.u.instantiate(ret);
            return Sig {
                params,
                names,
                ret,
                variadic,
                foreign,
            };
        }
        let params = params
            .iter()
            .map(|t| self.with_types(*t, &ids, &types))
            .collect();
        let ret = self.with_types(ret, &ids, &types);
        Sig {
            params,
            names,
            ret,
            variadic,
            foreign,
        }
    }

    /// A function named as a value.
    pub(super) fn function_value(&mut self, e: ExprId, f: FnId) -> Ty {
        self.cx.bt.callee.insert(e, f);
        let range = self.body.expr(e).range;
        let sig = self.fn_sig(f, &[], None, range);
        self.fn_type(&sig)
    }

    pub(super) fn enum_fresh(&mut self, id: EnumId, explicit: &[Ty]) -> Ty {
        let n = self.u.hir.enums[id.index()].generics.len();
        let mut args = Vec::with_capacity(n);
        for i in 0..n {
            args.push(match explicit.get(i).filter(|_| explicit.len() == n) {
                Some(t) => self.u.instantiate(*t),
                None => self.u.fresh(),
            });
        }
        let list = self.u.hir.tys.list_of(&args);
        self.u.hir.tys.intern(TyKind::Enum(id, list))
    }

    /// Payload types of a variant of an enum type.
    pub(super) fn payload(&mut self, ty: Ty, id: EnumId, i: u32) -> Vec<Ty> {
        let item = &self.u.hir.enums[id.index()];
        let payload = item.variants[i as usize].payload.clone();
        let generics = item.generics.clone();
        let TyKind::Enum(_, args) = self.u.shape(ty) else {
            return payload;
        };
        payload
            .into_iter()
            .map(|t| self.with_args(t, &generics, args))
            .collect()
    }

    /// A variant named as a value: a unit variant, or a function.
    pub(super) fn variant_value(&mut self, id: EnumId, i: u32) -> Ty {
        let ty = self.enum_fresh(id, &[]);
        let payload = self.payload(ty, id, i);
        if payload.is_empty() {
            return ty;
        }
        let sig = Sig::plain(payload, ty);
        self.fn_type(&sig)
    }

    fn prelude_sig(&mut self, v: PreludeVariant, explicit: &[Ty]) -> Sig {
        let t = match explicit.first() {
            Some(t) => self.u.instantiate(*t),
            None => self.u.fresh(),
        };
        let other = match explicit.get(1) {
            Some(t) => self.u.instantiate(*t),
            None => self.u.fresh(),
        };
        match v {
            PreludeVariant::Some => Sig::plain(vec![t], self.u.hir.tys.intern(TyKind::Option(t))),
            PreludeVariant::None => {
                Sig::plain(Vec::new(), self.u.hir.tys.intern(TyKind::Option(t)))
            }
            PreludeVariant::Ok => {
                Sig::plain(vec![t], self.u.hir.tys.intern(TyKind::Result(t, other)))
            }
            PreludeVariant::Err if explicit.len() == 2 => {
                Sig::plain(vec![other], self.u.hir.tys.intern(TyKind::Result(t, other)))
            }
            PreludeVariant::Err => {
                Sig::plain(vec![t], self.u.hir.tys.intern(TyKind::Result(other, t)))
            }
        }
    }

    pub(super) fn prelude_value(&mut self, v: PreludeVariant) -> Ty {
        let sig = self.prelude_sig(v, &[]);
        if v == PreludeVariant::None {
            sig.ret
        } else {
            self.fn_type(&sig)
        }
    }

    fn prelude_call(&mut self, name: Name) -> Ty {
        match self.u.hir.text(name) {
            "log" | "print" | "println" | "eprint" | "eprintln" | "dbg" | "sleep" => Ty::UNIT,
            "panic" => Ty::NEVER,
            "str" => Ty::STR,
            "valid" => Ty::BOOL,
            _ => self.u.fresh(),
        }
    }

    /// A primitive or collection type called like a function.
    fn construct(&mut self, p: Prim) -> Ty {
        match p {
            Prim::String | Prim::Str | Prim::Bytes => crate::lower::prim_ty(self.u.hir, p, &[]),
            Prim::Vec | Prim::Map | Prim::Set | Prim::List => {
                let (a, b) = (self.u.fresh(), self.u.fresh());
                crate::lower::prim_ty(self.u.hir, p, &[a, b])
            }
            _ => self.u.fresh(),
        }
    }

    /// A call of a lambda's parameter says what it is: a lambda is not generalised (§7.1).
    fn call_open(&mut self, callee: ExprId, ty: Ty, args: List<Arg>) -> Ty {
        let params: Vec<Ty> = self
            .body
            .args_of(args)
            .iter()
            .map(|a| self.synth(a.value))
            .collect();
        let ret = self.u.fresh();
        let sig = Sig::plain(params, ret);
        let function = self.fn_type(&sig);
        if !self.u.unify(ty, function) {
            let range = self.body.expr(callee).range;
            self.mismatch(2001, range, function, ty);
            return Ty::ERROR;
        }
        ret
    }

    /// A call of a value.
    fn call_value(&mut self, e: ExprId, callee: ExprId, found: Ty, args: List<Arg>) -> Ty {
        let (ty, n) = self.u.peel(found);
        if n > 0 {
            self.cx.bt.derefs.insert(callee, n);
        }
        match self.u.hir.tys.kind(ty) {
            TyKind::Fn(p, r) => {
                let params = self.u.hir.tys.list(p).to_vec();
                let sig = Sig::plain(params, r);
                self.check_args(e, "this function", &sig, args);
                r
            }
            TyKind::Error => {
                self.loose_args(args);
                Ty::ERROR
            }
            TyKind::Unknown
            | TyKind::Never
            | TyKind::Opaque(_)
            | TyKind::Param(_)
            | TyKind::SelfOf(_)
            | TyKind::Dyn(_)
            | TyKind::Ptr(..)
            | TyKind::Family(_)
            | TyKind::Cap(_) => {
                self.loose_args(args);
                self.u.fresh()
            }
            TyKind::Var(_) if matches!(self.u.open_kind(ty), Some(super::unify::Kind::Any)) => {
                if let ExprKind::Path(Res::Local(l)) = self.body.expr(callee).kind
                    && self.body.local(l).kind == LocalKind::LambdaParam
                {
                    return self.call_open(callee, ty, args);
                }
                self.loose_args(args);
                self.u.fresh()
            }
            _ => {
                self.loose_args(args);
                let shown = self.u.show(ty);
                let range = self.body.expr(callee).range;
                let end = self.body.expr(e).range.end;
                let d = self.diagnostic(2008, range, format!("a `{shown}` is no function"));
                self.push(d.hint(FixHint::Delete {
                    range: TextRange::new(range.end, end),
                }));
                Ty::ERROR
            }
        }
    }
}
