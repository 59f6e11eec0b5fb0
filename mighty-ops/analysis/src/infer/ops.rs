//! Operators, assignment, references, ranges and casts (language.md §7.2, §7.4, §9, §25.1).
//! Must not judge casts; that waits until types are settled.

use syntax::TextRange;

use super::driver::{Fx, Want};
use super::unify::Kind;
use crate::diagnostic::FixHint;
use crate::hir::*;
use crate::ty::{Ty, TyKind};

/// What an operand is, as far as operators care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Poison,
    /// Not known: agrees with what the other side is.
    Open,
    Int,
    Float,
    Bool,
    Char,
    Text,
    Duration,
    Size,
    /// Opaque, foreign, a type parameter: operators are not judged.
    Lenient,
    Param,
    Never,
    Other,
}

impl Fx<'_, '_> {
    pub(super) fn class(&self, ty: Ty) -> Class {
        match self.u.shape(ty) {
            TyKind::Error => Class::Poison,
            TyKind::Unknown
            | TyKind::Opaque(_)
            | TyKind::SelfOf(_)
            | TyKind::Dyn(_)
            | TyKind::Html => Class::Lenient,
            TyKind::Param(_) => Class::Param,
            TyKind::Never => Class::Never,
            TyKind::Int(_) => Class::Int,
            TyKind::Float(_) => Class::Float,
            TyKind::Bool => Class::Bool,
            TyKind::Char => Class::Char,
            TyKind::Str | TyKind::String => Class::Text,
            TyKind::Duration => Class::Duration,
            TyKind::Size => Class::Size,
            TyKind::Var(_) => match self.u.open_kind(ty) {
                Some(Kind::Integer) => Class::Int,
                Some(Kind::Float) => Class::Float,
                Some(Kind::Seq { .. }) => Class::Other,
                _ => Class::Open,
            },
            _ => Class::Other,
        }
    }

    pub(super) fn operand(&mut self, e: ExprId, want: Want) -> Ty {
        let found = self.infer(e, want);
        let (ty, n) = self.u.peel(found);
        if n > 0 {
            self.cx.bt.derefs.insert(e, n);
        }
        ty
    }

    pub(super) fn binary(
        &mut self,
        e: ExprId,
        op: BinOp,
        lhs: ExprId,
        rhs: ExprId,
        want: Want,
    ) -> Ty {
        let numeric = |t: Ty, fx: &Self| matches!(fx.class(t), Class::Int | Class::Float);
        let hint = match want {
            Want::Ty(t) if !is_comparison(op) && !is_logic(op) && numeric(t, self) => Want::Ty(t),
            _ => Want::Nothing,
        };
        let l = self.operand(lhs, hint);
        if is_logic(op) {
            let r = self.operand(rhs, Want::Nothing);
            return self.logic(e, l, r);
        }
        let r = self.operand(rhs, Want::Nothing);
        if is_comparison(op) {
            return self.comparison(e, op, l, r);
        }
        self.arithmetic(e, op, l, r)
    }

    pub(super) fn undefined(&mut self, e: ExprId, l: Ty, r: Ty) {
        let (a, b) = (self.u.show(l), self.u.show(r));
        let x = self.body.expr(e);
        let op = match x.kind {
            ExprKind::Binary { op_range, .. } | ExprKind::Assign { op_range, .. } => {
                self.u.hir.text_of(self.body.file, op_range).to_owned()
            }
            _ => "..".to_owned(),
        };
        let title = format!("`{op}` is not defined for `{a}` and `{b}`");
        let mut d = self.diagnostic(2017, x.range, title);
        if let ExprKind::Binary { lhs, .. } = x.kind
            && matches!(self.body.expr(lhs).kind, ExprKind::Binary { op, .. } if is_comparison(op))
        {
            d = d.note("comparisons do not chain; join two with `&&`");
        }
        self.push(d.hint(FixHint::ExpectedFound {
            expected: a,
            found: b,
        }));
    }

    fn logic(&mut self, e: ExprId, l: Ty, r: Ty) -> Ty {
        let ok = |c: Class| {
            matches!(
                c,
                Class::Bool | Class::Poison | Class::Never | Class::Lenient | Class::Open
            )
        };
        for t in [l, r] {
            if self.class(t) == Class::Open {
                let _ = self.u.unify(t, Ty::BOOL);
            }
        }
        if !(ok(self.class(l)) && ok(self.class(r))) {
            self.undefined(e, l, r);
            return Ty::ERROR;
        }
        Ty::BOOL
    }

    /// Whether two values can be compared for equality, either followed through references.
    pub(super) fn comparable(&mut self, a: Ty, b: Ty) -> bool {
        let (a, _) = self.u.peel(a);
        let (b, _) = self.u.peel(b);
        if matches!(
            self.u.shape(a),
            TyKind::Vec(_) | TyKind::List(_) | TyKind::Slice(_) | TyKind::Array(..)
        ) && matches!(
            self.u.shape(b),
            TyKind::Vec(_) | TyKind::List(_) | TyKind::Slice(_) | TyKind::Array(..)
        ) {
            return true;
        }
        self.u.unify(a, b)
    }

    /// `Bool`, or poison once it is reported.
    fn comparison(&mut self, e: ExprId, op: BinOp, l: Ty, r: Ty) -> Ty {
        let (a, b) = (self.class(l), self.class(r));
        if a == Class::Poison || b == Class::Poison {
            return Ty::BOOL;
        }
        let ordered = |c: Class| !matches!(c, Class::Bool | Class::Other);
        let ok = if matches!(op, BinOp::Eq | BinOp::Ne) {
            // A literal against a parameter's value is as undefined as any mixing (§7.2).
            self.comparable(l, r)
        } else {
            ordered(a)
                && ordered(b)
                && (a == Class::Lenient || b == Class::Lenient || self.u.unify(l, r))
        };
        if ok {
            return Ty::BOOL;
        }
        self.undefined(e, l, r);
        Ty::ERROR
    }

    fn arithmetic(&mut self, e: ExprId, op: BinOp, l: Ty, r: Ty) -> Ty {
        let (a, b) = (self.class(l), self.class(r));
        use BinOp::{Add, And, Div, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        use Class::{
            Bool, Char, Duration, Float, Int, Lenient, Never, Open, Other, Param, Poison, Size,
            Text,
        };
        match (a, b) {
            (Poison, _) | (_, Poison) => return Ty::ERROR,
            (Never, _) => return r,
            (_, Never) => return l,
            (Other, _) | (_, Other) => {}
            (Lenient, _) | (_, Lenient) => return self.u.fresh(),
            (Param, Param) if self.u.resolve(l) == self.u.resolve(r) => return l,
            (Param, Open) | (Open, Param) => return self.u.fresh(),
            _ => {}
        }
        if matches!(op, Shl | Shr) {
            match (a, b) {
                (Int | Open, Int | Open) => return l,
                _ => {
                    self.undefined(e, l, r);
                    return if a == Int { l } else { Ty::ERROR };
                }
            }
        }
        let ok = match (a, b) {
            // Scaling keeps an open side open: it may be a duration.
            (Open, Int) if matches!(op, Mul | Div | Rem) => return l,
            (Int, Open) if op == Mul => return r,
            (Open, _) | (_, Open) => {
                let known = if a == Open { b } else { a };
                if defined(op, known) && self.u.unify(l, r) {
                    return if a == Open { r } else { l };
                }
                if a == Open && b == Open {
                    self.u.unify(l, r)
                } else {
                    false
                }
            }
            (Int, Int) | (Float, Float) => defined(op, a) && self.u.unify(l, r),
            (Bool, Bool) => matches!(op, And | Or | Xor),
            (Text, Text) if op == Add => {
                return if self.u.resolve(l) == Ty::STR && self.u.resolve(r) == Ty::STR {
                    Ty::STR
                } else {
                    Ty::STRING
                };
            }
            (Duration, Duration) | (Size, Size) => match op {
                Add | Sub => true,
                // A quotient of two durations is a number nobody has named.
                Div | Rem => return self.u.fresh(),
                _ => false,
            },
            (Duration | Size, Int) if matches!(op, Mul | Div) => return l,
            (Int, Duration | Size) if op == Mul => return r,
            (Char, Char) => false,
            _ => false,
        };
        if ok {
            return l;
        }
        self.undefined(e, l, r);
        Ty::ERROR
    }

    pub(super) fn assign(&mut self, e: ExprId, op: Option<BinOp>, place: ExprId, value: ExprId) {
        if let ExprKind::Path(
            Res::Const(_) | Res::Fn(_) | Res::Variant(..) | Res::PreludeVariant(_) | Res::Struct(_),
        ) = self.body.expr(place).kind
        {
            // The parser takes any name for a place; these are none (§27).
            let range = self.body.expr(place).range;
            self.error(1, range, "this is no place that could be assigned to");
            self.synth(value);
            return;
        }
        let target = self.synth(place);
        let Some(op) = op else {
            self.check_assigned(place, value, target);
            return;
        };
        let (l, n) = self.u.peel(target);
        if n > 0 {
            self.cx.bt.derefs.insert(place, n);
        }
        let r = self.operand(value, Want::Ty(l));
        let text = self.class(l) == Class::Text && self.class(r) == Class::Text && op == BinOp::Add;
        if text {
            return;
        }
        let found = self.arithmetic(e, op, l, r);
        if self.u.resolve(found) != Ty::ERROR && !self.u.unify(found, l) {
            self.undefined(e, l, r);
        }
    }

    /// Whether a value may be a copy of what it stands for, or a reference to it: what patterns bind, loops take
    /// and methods yield of elements is not fixed (§12.3, G113).
    fn may_be_copy(&self, e: ExprId) -> bool {
        match self.body.expr(e).kind {
            ExprKind::Path(Res::Local(l)) => {
                let local = self.body.local(l);
                match local.kind {
                    LocalKind::Pattern => true,
                    LocalKind::Let | LocalKind::LambdaParam => local.ty.is_none(),
                    LocalKind::Param | LocalKind::SelfParam => false,
                }
            }
            ExprKind::Path(Res::Const(_) | Res::State(..) | Res::Ctor(..))
            | ExprKind::Lit(_)
            | ExprKind::Binary { .. }
            | ExprKind::Field { .. } => false,
            _ => true,
        }
    }

    /// `p = v` with `p` a reference stores through it only if written `*p = v`; of an element the types say
    /// which is meant.
    fn check_assigned(&mut self, place: ExprId, value: ExprId, target: Ty) {
        let found = self.infer(value, Want::Ty(target));
        if self.may_be_copy(place)
            && let TyKind::Ref(inner, true) = self.u.shape(target)
            && !matches!(self.u.shape(found), TyKind::Ref(..))
            && self.u.coerce(found, inner).is_some()
        {
            return;
        }
        self.expect(value, found, target, 2001);
    }

    pub(super) fn unary(&mut self, e: ExprId, op: UnOp, operand: ExprId, want: Want) -> Ty {
        let range = self.body.expr(e).range;
        match op {
            UnOp::Neg => {
                if let ExprKind::Lit(lit @ Lit::Int(..)) = self.body.expr(operand).kind {
                    let ty = self.literal(lit, range, true);
                    self.cx.bt.exprs[operand.index()] = ty;
                    self.cx.negated.push((range, ty));
                    return ty;
                }
                let ty = self.operand(operand, want);
                match self.class(ty) {
                    Class::Int => self.cx.negated.push((range, ty)),
                    Class::Float
                    | Class::Duration
                    | Class::Open
                    | Class::Poison
                    | Class::Never
                    | Class::Lenient
                    | Class::Param => {}
                    _ => return self.undefined_prefix(range, "-", ty),
                }
                ty
            }
            UnOp::Not => {
                let ty = self.operand(operand, want);
                match self.class(ty) {
                    Class::Bool
                    | Class::Int
                    | Class::Open
                    | Class::Poison
                    | Class::Never
                    | Class::Lenient
                    | Class::Param => ty,
                    _ => self.undefined_prefix(range, "!", ty),
                }
            }
            UnOp::Deref => {
                let ty = self.synth(operand);
                match self.u.shape(ty) {
                    TyKind::Ref(t, _) | TyKind::Ptr(t, _) => t,
                    TyKind::Var(_) if self.class(ty) == Class::Open => self.u.fresh(),
                    TyKind::Error
                    | TyKind::Unknown
                    | TyKind::Never
                    | TyKind::Opaque(_)
                    | TyKind::Param(_)
                    | TyKind::SelfOf(_)
                    | TyKind::Dyn(_) => ty,
                    _ if !self.may_be_copy(operand) => self.undefined_prefix(range, "*", ty),
                    // A copied element (G113) may be written as if it still were behind its reference.
                    _ => ty,
                }
            }
        }
    }

    fn undefined_prefix(&mut self, range: TextRange, op: &str, ty: Ty) -> Ty {
        let shown = self.u.show(ty);
        let d = self.diagnostic(2017, range, format!("`{op}` is not defined for `{shown}`"));
        self.push(
            d.hint(FixHint::ExpectedFound {
                expected: match op {
                    "*" => "a reference",
                    "!" => "Bool",
                    _ => "a number",
                }
                .to_owned(),
                found: shown,
            }),
        );
        Ty::ERROR
    }
}

fn is_comparison(op: BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge
    )
}

fn is_logic(op: BinOp) -> bool {
    matches!(op, BinOp::AndAnd | BinOp::OrOr)
}

/// Whether an arithmetic operator is defined for a class at all.
fn defined(op: BinOp, c: Class) -> bool {
    use BinOp::{Add, And, Div, Mul, Or, Rem, Sub, Xor};
    match c {
        Class::Int | Class::Open => true,
        Class::Float => matches!(op, Add | Sub | Mul | Div | Rem),
        Class::Bool => matches!(op, And | Or | Xor),
        Class::Text => op == Add,
        Class::Duration | Class::Size => matches!(op, Add | Sub | Div | Rem),
        _ => false,
    }
}
