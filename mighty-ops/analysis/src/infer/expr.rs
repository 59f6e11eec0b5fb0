//! Types of expressions; control flow, calls, operators and literals of types have files of their own.
//! Must not walk patterns.

use super::driver::{Fx, Want};
use super::unify::Kind;
use crate::hir::*;
use crate::ty::{Ty, TyKind};

impl Fx<'_, '_> {
    /// Infers an expression and compares it with what its place wants; a mismatch is reported under `code`.
    pub(super) fn check(&mut self, e: ExprId, expected: Ty, code: u16) -> Ty {
        let found = self.infer(e, Want::Ty(expected));
        self.expect(e, found, expected, code);
        found
    }

    /// Compares a found type with a wanted one. Says whether they agree.
    pub(super) fn expect(&mut self, e: ExprId, found: Ty, expected: Ty, code: u16) -> bool {
        match self.u.coerce(found, expected) {
            Some(n) => {
                if n > 0 {
                    let at = self.innermost(e);
                    self.cx.bt.derefs.insert(at, n);
                }
                true
            }
            None if self.borrowed_copy(e, found, expected) => true,
            None => {
                let range = self.value_range(e);
                self.mismatch(code, range, expected, found);
                false
            }
        }
    }

    /// What a pattern binds of a borrowed value is a copy (§12.3), and what a loop takes from borrowed elements
    /// is a reference unless it is Copy (G113). A program may well take either for the other.
    fn borrowed_copy(&mut self, e: ExprId, found: Ty, expected: Ty) -> bool {
        let ExprKind::Path(Res::Local(l)) = self.body.expr(e).kind else {
            return false;
        };
        if self.body.local(l).kind != LocalKind::Pattern {
            return false;
        }
        match (self.u.shape(found), self.u.shape(expected)) {
            (TyKind::Ref(inner, _), _) => self.u.coerce(inner, expected).is_some(),
            (_, TyKind::Ref(inner, false)) => self.u.coerce(found, inner).is_some(),
            _ => false,
        }
    }

    /// Infers an expression whose value is wanted as any single type.
    pub(super) fn synth(&mut self, e: ExprId) -> Ty {
        self.infer(e, Want::Nothing)
    }

    /// The type of an expression, recorded.
    pub(super) fn infer(&mut self, e: ExprId, want: Want) -> Ty {
        let ty = self.infer_kind(e, want);
        self.cx.bt.exprs[e.index()] = ty;
        ty
    }

    fn infer_kind(&mut self, e: ExprId, want: Want) -> Ty {
        let body = self.body;
        let x = body.expr(e);
        match x.kind {
            ExprKind::Missing => Ty::ERROR,
            ExprKind::Lit(lit) => self.literal(lit, x.range, false),
            ExprKind::Path(res) => self.path(e, res),
            ExprKind::Tuple(list) => {
                let hints = match want {
                    Want::Ty(t) => match self.u.shape(t) {
                        TyKind::Tuple(l) => self.u.hir.tys.list(l).to_vec(),
                        _ => Vec::new(),
                    },
                    _ => Vec::new(),
                };
                let items = body.exprs_of(list);
                let mut types = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    let found = match hints.get(i).filter(|_| hints.len() == items.len()) {
                        Some(h) => {
                            let found = self.infer(*item, Want::Ty(*h));
                            self.settle_part(*item, found, *h)
                        }
                        None => self.synth(*item),
                    };
                    types.push(found);
                }
                self.u.hir.tys.tuple(&types)
            }
            ExprKind::Array(list) => self.array(list, want),
            ExprKind::Repeat { elem, count } => self.repeat(elem, count, want),
            ExprKind::Block { stmts, tail } => self.block(stmts, tail, want),
            ExprKind::Region { kind, body } => self.region(kind, body, want),
            ExprKind::If { cond, then, els } => self.if_expr(cond, then, els, want),
            ExprKind::Let { pat, value } => {
                let ty = self.scrutinee(value);
                self.bind_pat(pat, ty);
                Ty::BOOL
            }
            ExprKind::Match { scrutinee, arms } => self.match_expr(e, scrutinee, arms, want),
            ExprKind::Loop { body } => self.loop_expr(body, want),
            ExprKind::While { cond, body } => {
                self.condition(cond);
                self.loop_body(body, false);
                Ty::UNIT
            }
            ExprKind::For { pat, iter, body } => {
                self.for_expr(pat, iter, body);
                Ty::UNIT
            }
            ExprKind::Return(value) => {
                self.return_expr(e, value);
                Ty::NEVER
            }
            ExprKind::Break(value) => {
                self.break_expr(e, value);
                Ty::NEVER
            }
            ExprKind::Continue => Ty::NEVER,
            ExprKind::Lambda { params, ret, body } => self.lambda(e, params, ret, body, want),
            ExprKind::StructLit {
                head,
                head_range,
                fields,
            } => self.struct_lit(e, head, head_range, fields, want),
            ExprKind::MapLit { ty, entries } => self.map_lit(ty, entries),
            ExprKind::Call {
                callee,
                type_args,
                args,
            } => self.call(e, callee, type_args, args, want),
            ExprKind::MethodCall {
                receiver,
                name,
                name_range,
                type_args,
                args,
            } => self.method_call(e, receiver, name, name_range, type_args, args, want),
            ExprKind::Field {
                base,
                name,
                name_range,
            } => self.field(e, base, name, name_range),
            ExprKind::TupleField {
                base,
                index,
                index_range,
            } => self.tuple_field(base, index, index_range),
            ExprKind::Index { base, index } => self.index(base, index),
            ExprKind::Spawn { target, args } => self.spawn(e, target, args),
            ExprKind::Send {
                target,
                msg,
                msg_range,
                args,
            }
            | ExprKind::Ask {
                target,
                msg,
                msg_range,
                args,
            } => self.message(target, msg, msg_range, args),
            ExprKind::Deadline(inner) => self.infer(inner, want),
            ExprKind::Run(inner) => self.infer(inner, want),
            ExprKind::Join(inner) => {
                let ty = self.synth(inner);
                match self.u.shape(ty) {
                    TyKind::Task(t) => t,
                    TyKind::Error => Ty::ERROR,
                    _ => self.u.fresh(),
                }
            }
            ExprKind::Propagate(inner) => self.propagate(e, inner),
            ExprKind::Unary { op, operand } => self.unary(e, op, operand, want),
            ExprKind::Ref { mutable, operand } => self.reference(e, mutable, operand, want),
            ExprKind::Move(inner) => self.infer(inner, want),
            ExprKind::Binary { op, lhs, rhs, .. } => self.binary(e, op, lhs, rhs, want),
            ExprKind::Assign {
                op, place, value, ..
            } => {
                self.assign(e, op, place, value);
                Ty::UNIT
            }
            ExprKind::Range { low, high, .. } => self.range(e, low, high),
            ExprKind::Cast { operand, ty, .. } => self.cast(e, operand, ty),
            ExprKind::StdMacro { mac, args } => self.std_macro(mac, args),
        }
    }

    /// A part that has a hint: if it agrees it takes the wanted type, else it keeps its own.
    pub(super) fn settle_part(&mut self, e: ExprId, found: Ty, hint: Ty) -> Ty {
        match self.u.shape(hint) {
            TyKind::Var(_) | TyKind::Error | TyKind::Unknown => found,
            _ => match self.u.coerce(found, hint) {
                Some(n) => {
                    if n > 0 {
                        self.cx.bt.derefs.insert(e, n);
                    }
                    hint
                }
                None => found,
            },
        }
    }

    pub(super) fn literal(&mut self, lit: Lit, range: syntax::TextRange, negative: bool) -> Ty {
        match lit {
            Lit::Int(value, suffix) => {
                let ty = match suffix {
                    Some(t) => self.u.hir.tys.intern(TyKind::Int(t)),
                    None => self.u.var(Kind::Integer),
                };
                self.cx.literals.push((range, ty, value, negative));
                ty
            }
            Lit::Float(_, Some(t)) => self.u.hir.tys.intern(TyKind::Float(t)),
            Lit::Float(_, None) => self.u.var(Kind::Float),
            Lit::Bool(_) => Ty::BOOL,
            Lit::Char(_) => Ty::CHAR,
            Lit::Str => Ty::STR,
            Lit::Bytes => Ty::BYTES,
            Lit::Duration(_) => Ty::DURATION,
            Lit::Size(_) => Ty::SIZE,
            Lit::Html => Ty::HTML,
        }
    }

    fn path(&mut self, e: ExprId, res: Res) -> Ty {
        match res {
            Res::Local(l) => self.cx.bt.locals[l.index()],
            Res::AgentSelf(a) => {
                let inner = self.u.hir.tys.intern(TyKind::Agent(a));
                self.u.hir.tys.intern(TyKind::AgentRef(inner))
            }
            Res::State(a, i) => self.state_ty(a, i),
            Res::Ctor(a, i) => self.ctor_ty(a, i),
            Res::Const(c) => self.const_ty(c),
            Res::Fn(f) | Res::AgentMethod(f) => self.function_value(e, f),
            Res::Struct(s) => {
                let n = self.u.hir.structs[s.index()].generics.len();
                let args: Vec<Ty> = (0..n).map(|_| self.u.fresh()).collect();
                let args = self.u.hir.tys.list_of(&args);
                self.u.hir.tys.intern(TyKind::Struct(s, args))
            }
            Res::Variant(id, i) => self.variant_value(id, i),
            Res::PreludeVariant(v) => self.prelude_value(v),
            Res::Assoc(ty, name) => self.assoc_value(e, ty, name),
            Res::Error => Ty::ERROR,
            Res::CapElsewhere(_) | Res::Family(_) => Ty::ERROR,
            Res::Prelude(_)
            | Res::TraitMember(..)
            | Res::PrimValue(_)
            | Res::Opaque(_)
            | Res::OpaqueType(_)
            | Res::Tolerated(_)
            | Res::Supervisor(_)
            | Res::Agent(_) => self.u.fresh(),
        }
    }

    fn field(&mut self, e: ExprId, base: ExprId, name: Name, range: syntax::TextRange) -> Ty {
        let found = self.synth(base);
        let (ty, n) = self.u.peel(found);
        if n > 0 {
            self.cx.bt.derefs.insert(base, n);
        }
        let _ = e;
        match self.u.hir.tys.kind(ty) {
            TyKind::Struct(s, args) => self.struct_field(s, args, name, range),
            TyKind::Enum(id, _) => {
                let title = format!(
                    "the enum `{}` has no field `{}`",
                    self.u.hir.text(self.u.hir.enums[id.index()].head.name),
                    self.u.hir.text(name)
                );
                self.error(2006, range, title);
                Ty::ERROR
            }
            TyKind::Error => Ty::ERROR,
            TyKind::AgentRef(of) => self.child(of, name),
            TyKind::Str
            | TyKind::String
            | TyKind::Bytes
            | TyKind::Vec(_)
            | TyKind::List(_)
            | TyKind::Set(_)
            | TyKind::Map(..)
            | TyKind::Array(..)
            | TyKind::Slice(_)
                if self.u.hir.text(name) == "len" =>
            {
                Ty::USIZE
            }
            _ if matches!(self.u.open_kind(ty), Some(Kind::Seq { .. }))
                && self.u.hir.text(name) == "len" =>
            {
                Ty::USIZE
            }
            _ => self.u.fresh(),
        }
    }

    /// `ref.child` of a supervisor is that child's reference ([R:G116]).
    fn child(&mut self, of: Ty, name: Name) -> Ty {
        if let TyKind::Supervisor(s) = self.u.shape(of) {
            let hir = &self.u.hir;
            let s = &hir.supervisors[s.index()];
            let started = s
                .children
                .iter()
                .find(|(n, _, _)| *n == name)
                .and_then(|(_, _, a)| *a);
            let agent = started.and_then(|a| hir.agents.iter().position(|x| x.head.name == a));
            if let Some(i) = agent {
                let inner = self.u.hir.tys.intern(TyKind::Agent(AgentId(i as u32)));
                return self.u.hir.tys.intern(TyKind::AgentRef(inner));
            }
        }
        self.u.fresh()
    }

    fn struct_field(
        &mut self,
        s: StructId,
        args: crate::ty::Tys,
        name: Name,
        range: syntax::TextRange,
    ) -> Ty {
        let item = &self.u.hir.structs[s.index()];
        if let Some(f) = item.fields.iter().find(|f| f.name == name) {
            let (ty, generics) = (f.ty, item.generics.clone());
            return self.with_args(ty, &generics, args);
        }
        self.unknown_field(s, name, range);
        Ty::ERROR
    }

    /// A type of an item with the item's parameters replaced by arguments.
    pub(super) fn with_args(&mut self, ty: Ty, generics: &[GenericId], args: crate::ty::Tys) -> Ty {
        if generics.is_empty() {
            return self.u.instantiate(ty);
        }
        let args = self.u.hir.tys.list(args).to_vec();
        self.with_types(ty, generics, &args)
    }

    pub(super) fn with_types(&mut self, ty: Ty, generics: &[GenericId], args: &[Ty]) -> Ty {
        let ty = self
            .u
            .hir
            .tys
            .substitute(ty, &|k| k.argument(generics, args));
        self.u.instantiate(ty)
    }

    fn tuple_field(&mut self, base: ExprId, index: u32, range: syntax::TextRange) -> Ty {
        let found = self.synth(base);
        let (ty, n) = self.u.peel(found);
        if n > 0 {
            self.cx.bt.derefs.insert(base, n);
        }
        match self.u.hir.tys.kind(ty) {
            TyKind::Tuple(l) => {
                let items = self.u.hir.tys.list(l);
                if let Some(t) = items.get(index as usize) {
                    return *t;
                }
                let title = format!("a tuple of {} has no component {index}", items.len());
                self.error(2006, range, title);
                Ty::ERROR
            }
            TyKind::Struct(s, _) => {
                let title = format!(
                    "the struct `{}` has no field `{index}`",
                    self.u.hir.text(self.u.hir.structs[s.index()].head.name)
                );
                self.error(2006, range, title);
                Ty::ERROR
            }
            TyKind::Error => Ty::ERROR,
            _ => self.u.fresh(),
        }
    }

    fn index(&mut self, base: ExprId, index: ExprId) -> Ty {
        let found = self.synth(base);
        let (ty, n) = self.u.peel(found);
        if n > 0 {
            self.cx.bt.derefs.insert(base, n);
        }
        let elem = match self.u.hir.tys.kind(ty) {
            TyKind::Map(k, v) => {
                let key = self.infer(index, Want::Ty(k));
                // A key may be given as text for text, or behind a reference.
                self.expect_key(index, key, k);
                return v;
            }
            TyKind::Vec(t) | TyKind::List(t) | TyKind::Array(t, _) | TyKind::Slice(t) => Some(t),
            TyKind::Bytes => Some(Ty::U8),
            TyKind::Error => {
                self.synth(index);
                return Ty::ERROR;
            }
            _ => match self.u.open_kind(ty) {
                Some(Kind::Seq { elem, .. }) => Some(elem),
                _ => None,
            },
        };
        let i = self.synth(index);
        let Some(elem) = elem else {
            return self.u.fresh();
        };
        self.expect_index(index, i);
        elem
    }

    fn expect_key(&mut self, e: ExprId, found: Ty, key: Ty) {
        let (f, _) = self.u.peel(found);
        let (k, _) = self.u.peel(key);
        if !self.u.unify(f, k) {
            let range = self.value_range(e);
            self.mismatch(2001, range, key, found);
        }
    }

    fn expect_index(&mut self, e: ExprId, found: Ty) {
        let (ty, n) = self.u.peel(found);
        if n > 0 {
            self.cx.bt.derefs.insert(e, n);
        }
        let fits = match self.u.hir.tys.kind(ty) {
            TyKind::Int(_)
            | TyKind::Error
            | TyKind::Unknown
            | TyKind::Never
            | TyKind::Opaque(_) => true,
            TyKind::Var(_) => !matches!(self.u.open_kind(ty), Some(Kind::Float | Kind::Seq { .. })),
            _ => false,
        };
        if !fits {
            let found = self.u.show(found);
            let range = self.value_range(e);
            let d = self.diagnostic(
                2001,
                range,
                format!("an index is an integer, found `{found}`"),
            );
            let hint = crate::diagnostic::FixHint::ExpectedFound {
                expected: "USize".to_owned(),
                found,
            };
            self.push(d.hint(hint));
        }
    }
}
