//! References, ranges and the typing of casts (language.md §7.2, §9): MT2025.
//! Must not judge casts; that waits until types are settled.

use syntax::TextRange;

use super::driver::{Cast, Fx, Want};
use super::ops::Class;
use super::unify::Kind;
use crate::diagnostic::FixHint;
use crate::hir::*;
use crate::ty::{Ty, TyKind};

impl Fx<'_, '_> {
    pub(super) fn reference(
        &mut self,
        e: ExprId,
        mutable: bool,
        operand: ExprId,
        want: Want,
    ) -> Ty {
        let hint = match want {
            Want::Ty(t) => match self.u.shape(t) {
                TyKind::Ref(inner, _) => match self.u.shape(inner) {
                    TyKind::Slice(elem) => {
                        // A sequence literal behind `&` becomes that slice.
                        let found = self.infer(operand, Want::Nothing);
                        if let Some(Kind::Seq { elem: mine, .. }) = self.u.open_kind(found)
                            && self.u.unify(mine, elem)
                        {
                            let at = self.body.expr(e).range;
                            self.judge_place(mutable, operand, at);
                            return self.u.hir.tys.intern(TyKind::Ref(inner, mutable));
                        }
                        let at = self.body.expr(e).range;
                        self.judge_place(mutable, operand, at);
                        return self.u.hir.tys.intern(TyKind::Ref(found, mutable));
                    }
                    _ => Want::Ty(inner),
                },
                _ => Want::Nothing,
            },
            _ => Want::Nothing,
        };
        let found = self.infer(operand, hint);
        let range = self.body.expr(e).range;
        if !self.judge_place(mutable, operand, range) {
            return Ty::ERROR;
        }
        self.u.hir.tys.intern(TyKind::Ref(found, mutable))
    }

    /// MT2025 ([R:G117]).
    pub(super) fn judge_place(&mut self, mutable: bool, operand: ExprId, range: TextRange) -> bool {
        let bad = match self.body.expr(operand).kind {
            ExprKind::Path(res) => {
                mutable
                    && matches!(
                        res,
                        Res::Const(_)
                            | Res::Fn(_)
                            | Res::Variant(..)
                            | Res::PreludeVariant(_)
                            | Res::Struct(_)
                    )
            }
            ExprKind::Field { .. }
            | ExprKind::TupleField { .. }
            | ExprKind::Index { .. }
            | ExprKind::Unary {
                op: UnOp::Deref, ..
            }
            | ExprKind::Missing => false,
            ExprKind::Lit(
                Lit::Int(..) | Lit::Float(..) | Lit::Bool(_) | Lit::Size(_) | Lit::Duration(_),
            ) => true,
            ExprKind::Binary { .. } | ExprKind::Unary { .. } => true,
            _ => mutable,
        };
        if bad {
            let what = if mutable {
                "`&mut` needs a place: a variable, field or element"
            } else {
                "a number or the result of an operator has no place to refer to"
            };
            let text = self
                .u
                .hir
                .text_of(self.body.file, self.body.expr(operand).range)
                .to_owned();
            let d = self.diagnostic(2025, range, what);
            self.push(
                d.note("bind it with `let` first")
                    .hint(FixHint::Facts(vec![("operand", text)])),
            );
        }
        !bad
    }

    pub(super) fn range(&mut self, e: ExprId, low: ExprId, high: ExprId) -> Ty {
        let l = self.operand(low, Want::Nothing);
        let r = self.operand(high, Want::Nothing);
        let fits = |c: Class| {
            matches!(
                c,
                Class::Int
                    | Class::Open
                    | Class::Poison
                    | Class::Lenient
                    | Class::Char
                    | Class::Param
                    | Class::Never
            )
        };
        if !fits(self.class(l)) || !fits(self.class(r)) {
            self.undefined(e, l, r);
            if matches!(self.body.expr(low).kind, ExprKind::Assign { .. }) {
                // `r = 0..9` reads `(r = 0)..9` (§3.5).
                let range = self.body.expr(e).range;
                let _ = range;
            }
            return self.u.hir.tys.intern(TyKind::Range(Ty::ERROR));
        }
        if !self.u.unify(l, r) {
            let range = self.value_range(high);
            self.mismatch(2001, range, l, r);
        }
        self.u.hir.tys.intern(TyKind::Range(l))
    }

    pub(super) fn cast(&mut self, e: ExprId, operand: ExprId, to: Ty) -> Ty {
        let range = self.body.expr(e).range;
        let o = self.body.expr(operand).kind;
        let to = self.u.instantiate(to);
        let mut literal = None;
        let from = match o {
            ExprKind::Lit(lit @ Lit::Int(value, _)) => {
                literal = Some((value, false));
                self.uncounted(operand, lit, range)
            }
            ExprKind::Unary {
                op: UnOp::Neg,
                operand: inner,
            } => match self.body.expr(inner).kind {
                ExprKind::Lit(lit @ Lit::Int(value, _)) => {
                    literal = Some((value, true));
                    let ty = self.uncounted(inner, lit, range);
                    self.cx.bt.exprs[operand.index()] = ty;
                    ty
                }
                _ => self.synth(operand),
            },
            _ => self.synth(operand),
        };
        self.cx.casts.push(Cast {
            range,
            from,
            to,
            literal,
        });
        to
    }

    /// A literal directly under `as` is not checked for its range.
    pub(super) fn uncounted(&mut self, e: ExprId, lit: Lit, range: TextRange) -> Ty {
        let ty = self.literal(lit, range, false);
        self.cx.literals.pop();
        self.cx.bt.exprs[e.index()] = ty;
        ty
    }
}
