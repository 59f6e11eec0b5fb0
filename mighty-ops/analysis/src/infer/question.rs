//! `e?` (language.md §11): MT2010 and MT2011.
//! Must not look at what the operand does.

use super::driver::Fx;
use super::unify::Kind;
use crate::hir::*;
use crate::ty::{Ty, TyKind};

impl Fx<'_, '_> {
    pub(super) fn propagate(&mut self, e: ExprId, inner: ExprId) -> Ty {
        let found = self.infer_operand_of_question(inner);
        let (ty, _) = self.u.peel(found);
        let range = self.body.expr(e).range;
        let (ok, err) = match self.u.hir.tys.kind(ty) {
            TyKind::Result(t, err) => (t, err),
            TyKind::Error => return Ty::ERROR,
            TyKind::Var(_) if !matches!(self.u.open_kind(ty), Some(Kind::Any)) => {
                self.not_a_result(range, found);
                return Ty::ERROR;
            }
            TyKind::Var(_)
            | TyKind::Unknown
            | TyKind::Opaque(_)
            | TyKind::Never
            | TyKind::Param(_) => {
                return self.u.fresh();
            }
            _ => {
                self.not_a_result(range, found);
                return Ty::ERROR;
            }
        };
        let Some(frame) = self.cx.frames.last().copied() else {
            return ok;
        };
        // What an `init` yields never is a `Result` (§18.1).
        let init = matches!(self.body.owner, Owner::Init(_)) && self.cx.frames.len() == 1;
        let ret = if frame.returns && !init {
            self.u.resolve(frame.ret)
        } else {
            Ty::UNIT
        };
        match self.u.hir.tys.kind(ret) {
            TyKind::Result(_, err2) => {
                if self.u.coerce(err, err2).is_none() {
                    let (a, b) = (self.u.show(err), self.u.show(err2));
                    let title = format!(
                        "`?` passes on an error `{a}`, but the function's errors are `{b}`"
                    );
                    let d = self.diagnostic(2011, range, title);
                    self.push(d.hint(crate::diagnostic::FixHint::ExpectedFound {
                        expected: b,
                        found: a,
                    }));
                }
            }
            TyKind::Error | TyKind::Unknown | TyKind::Opaque(_) | TyKind::Param(_) => {}
            TyKind::Var(_) => {
                let value = self.u.fresh();
                let result = self.u.hir.tys.intern(TyKind::Result(value, err));
                if !self.u.unify(ret, result) {
                    self.question_outside(range, err, ok);
                }
            }
            _ => self.question_outside(range, err, ok),
        }
        ok
    }

    pub(super) fn not_a_result(&mut self, range: syntax::TextRange, found: Ty) {
        let found = self.u.show(found);
        let d = self.diagnostic(
            2010,
            range,
            format!("`?` needs a `Result`, this is `{found}`"),
        );
        self.push(d.hint(crate::diagnostic::FixHint::ExpectedFound {
            expected: "Result".to_owned(),
            found,
        }));
    }

    pub(super) fn question_outside(&mut self, range: syntax::TextRange, err: Ty, ok: Ty) {
        let (err, ok) = (self.u.show(err), self.u.show(ok));
        let ret = match self.body.owner {
            Owner::Fn(f) if self.cx.frames.len() == 1 => self.u.hir.fns[f.index()].ret_range,
            _ => None,
        };
        let d = self.diagnostic(
            2010,
            range,
            "`?` stands only where the function returns a `Result`",
        );
        self.push(
            d.note(format!("an error `{err}` would have to be passed on"))
                .hint(crate::diagnostic::FixHint::Question {
                    ret,
                    error: err,
                    ok,
                }),
        );
    }

    /// `x.parse()?`: the operand is any ([R:G39], stdlib.md §2.1).
    pub(super) fn infer_operand_of_question(&mut self, inner: ExprId) -> Ty {
        let ty = self.synth(inner);
        if let ExprKind::MethodCall { name, .. } = self.body.expr(inner).kind
            && self.u.hir.text(name) == "parse"
            && matches!(
                self.cx.bt.methods.get(&inner),
                Some(super::Method::Builtin { .. } | super::Method::Opaque)
            )
        {
            let any = self.u.fresh();
            self.cx.bt.exprs[inner.index()] = any;
            return any;
        }
        ty
    }
}
