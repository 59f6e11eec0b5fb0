//! Blocks, branches, matches, loops, jumps, lambdas and `?` (language.md §8, §11).
//! Must not decide exhaustiveness; that waits until types are settled.

use super::driver::{Frame, Fx, LoopFrame, Want};
use super::unify::Kind;
use crate::hir::*;
use crate::ty::{Ty, TyKind};

impl Fx<'_, '_> {
    pub(super) fn block(&mut self, stmts: List<Stmt>, tail: Option<ExprId>, want: Want) -> Ty {
        let body = self.body;
        let mut diverges = false;
        for s in body.stmts_of(stmts) {
            diverges |= self.stmt(s);
        }
        let Some(tail) = tail else {
            return if diverges { Ty::NEVER } else { Ty::UNIT };
        };
        if self.discards(want) {
            let t = self.infer(tail, Want::Discard);
            return if self.u.resolve(t) == Ty::NEVER || diverges {
                Ty::NEVER
            } else {
                Ty::UNIT
            };
        }
        let t = self.infer(tail, want);
        if diverges && self.u.resolve(t) == Ty::UNIT {
            Ty::NEVER
        } else {
            t
        }
    }

    /// Whether a block's tail is thrown away ([R:G31]).
    fn discards(&self, want: Want) -> bool {
        match want {
            Want::Discard => true,
            Want::Ty(t) => self.u.resolve(t) == Ty::UNIT,
            Want::Nothing => false,
        }
    }

    /// A statement. Says whether it never ends.
    fn stmt(&mut self, s: &Stmt) -> bool {
        match *s {
            Stmt::Expr(e) => {
                let t = self.infer(e, Want::Discard);
                self.u.resolve(t) == Ty::NEVER
            }
            Stmt::Let { pat, ty, init, .. } => {
                let declared = ty.map(|t| self.u.instantiate(t));
                let found = match (declared, init) {
                    (Some(t), Some(e)) => Some((t, self.check(e, t, 2001))),
                    (None, Some(e)) => {
                        let found = self.synth(e);
                        self.note_empty(pat, e, found);
                        Some((found, found))
                    }
                    (Some(t), None) => Some((t, t)),
                    (None, None) => None,
                };
                let Some((ty, found)) = found else {
                    let t = self.u.fresh();
                    self.bind_pat(pat, t);
                    return false;
                };
                let never = self.u.resolve(found) == Ty::NEVER;
                // A binding of a jump takes any type.
                let ty = if never && declared.is_none() {
                    self.u.fresh()
                } else {
                    ty
                };
                self.bind_pat(pat, ty);
                never
            }
        }
    }

    /// Remembers a `[]` that initialises an unannotated `let` (MT2003).
    fn note_empty(&mut self, pat: PatId, e: ExprId, found: Ty) {
        let x = self.body.expr(e);
        let ExprKind::Array(list) = x.kind else {
            return;
        };
        if !list.is_empty() || !matches!(self.body.pat(pat).kind, PatKind::Bind { .. }) {
            return;
        }
        if let Some(Kind::Seq { elem, .. }) = self.u.open_kind(found) {
            let at = self.body.pat(pat).range.end;
            self.cx.empties.push((x.range, elem, at));
        }
    }

    pub(super) fn region(&mut self, kind: Region, inner: ExprId, want: Want) -> Ty {
        if kind != Region::Detach {
            return self.infer(inner, want);
        }
        let ret = self.u.fresh();
        self.cx.frames.push(Frame { ret, returns: true });
        let loops = std::mem::take(&mut self.cx.loops);
        let t = self.infer(inner, Want::Nothing);
        self.cx.loops = loops;
        self.cx.frames.pop();
        let t = if self.u.resolve(t) == Ty::NEVER {
            Ty::UNIT
        } else {
            t
        };
        self.u.hir.tys.intern(TyKind::Task(t))
    }

    /// A condition: `Bool`, or `let`.
    pub(super) fn condition(&mut self, cond: ExprId) {
        if matches!(self.body.expr(cond).kind, ExprKind::Let { .. }) {
            self.synth(cond);
        } else {
            self.check(cond, Ty::BOOL, 2001);
        }
    }

    /// What is wanted of branches, if it is a type that can be compared with.
    fn wanted(&self, want: Want) -> Option<Ty> {
        let Want::Ty(t) = want else { return None };
        match self.u.shape(t) {
            TyKind::Error | TyKind::Unknown => None,
            TyKind::Var(_) => None,
            _ => Some(t),
        }
    }

    pub(super) fn if_expr(
        &mut self,
        cond: ExprId,
        then: ExprId,
        els: Option<ExprId>,
        want: Want,
    ) -> Ty {
        self.condition(cond);
        let Some(els) = els else {
            let t = self.infer(then, Want::Discard);
            let _ = t;
            return Ty::UNIT;
        };
        if self.discards(want) {
            let a = self.infer(then, Want::Discard);
            let b = self.infer(els, Want::Discard);
            let never = self.u.resolve(a) == Ty::NEVER && self.u.resolve(b) == Ty::NEVER;
            return if never { Ty::NEVER } else { Ty::UNIT };
        }
        let a = self.infer(then, want);
        let b = self.infer(els, want);
        if self.u.resolve(a) == Ty::NEVER {
            return b;
        }
        if self.u.resolve(b) == Ty::NEVER {
            return a;
        }
        if let Some(w) = self.wanted(want)
            && let Some(n) = self.u.coerce(a, w)
        {
            if n > 0 {
                let at = self.innermost(then);
                self.cx.bt.derefs.insert(at, n);
            }
            if self.agree(els, b, w) {
                return w;
            }
            let range = self.value_range(els);
            self.mismatch(2018, range, w, b);
            return w;
        }
        if self.agree(els, b, a) {
            return a;
        }
        let range = self.value_range(els);
        self.mismatch(2018, range, a, b);
        if self.wanted(want).is_some() {
            Ty::ERROR
        } else {
            a
        }
    }

    fn agree(&mut self, e: ExprId, found: Ty, wanted: Ty) -> bool {
        match self.u.coerce(found, wanted) {
            Some(n) => {
                if n > 0 {
                    let at = self.innermost(e);
                    self.cx.bt.derefs.insert(at, n);
                }
                true
            }
            None => false,
        }
    }

    /// The type of what is matched, references followed (G113).
    pub(super) fn scrutinee(&mut self, e: ExprId) -> Ty {
        let found = self.synth(e);
        let (ty, n) = self.u.peel(found);
        if n > 0 {
            self.cx.bt.derefs.insert(e, n);
        }
        ty
    }

    pub(super) fn match_expr(
        &mut self,
        e: ExprId,
        scrutinee: ExprId,
        arms: List<Arm>,
        want: Want,
    ) -> Ty {
        let body = self.body;
        let ty = self.scrutinee(scrutinee);
        self.cx.matches.push(e);
        let discard = self.discards(want);
        // Arms with a value: body, type, whether it is what the place wants.
        let mut values: Vec<(ExprId, Ty, bool)> = Vec::new();
        let wanted = self.wanted(want);
        let mut unit = false;
        for arm in body.arms_of(arms) {
            self.bind_pat(arm.pat, ty);
            if let Some(g) = arm.guard {
                self.check(g, Ty::BOOL, 2001);
            }
            let found = self.infer(arm.body, if discard { Want::Discard } else { want });
            if self.u.resolve(found) == Ty::NEVER || discard {
                unit |= self.u.resolve(found) != Ty::NEVER;
                continue;
            }
            let like = wanted.or(values.first().map(|v| v.1));
            let fits = like.is_none_or(|t| self.agree(arm.body, found, t));
            values.push((arm.body, found, fits));
        }
        match values.first() {
            None if arms.is_empty() => self.u.fresh(),
            None if unit => Ty::UNIT,
            None => Ty::NEVER,
            Some((_, first, _)) => {
                let first = *first;
                self.join_arms(&values, first, wanted)
            }
        }
    }

    /// The type of a match whose arms have these types. What the place wants holds for all arms if one of them
    /// keeps to it; else they are compared with the first, and the caller says what is wrong with that.
    fn join_arms(&mut self, values: &[(ExprId, Ty, bool)], first: Ty, wanted: Option<Ty>) -> Ty {
        let kept = wanted.filter(|_| values.iter().any(|v| v.2));
        let like = kept.unwrap_or(first);
        let mut failed = false;
        for (e, found, fits) in values {
            let fits = match (kept, wanted) {
                (None, Some(_)) => self.agree(*e, *found, like),
                _ => *fits,
            };
            if !fits {
                let range = self.value_range(*e);
                self.mismatch(2001, range, like, *found);
                failed = true;
            }
        }
        if failed && wanted.is_some() && kept.is_none() {
            Ty::ERROR
        } else {
            like
        }
    }

    pub(super) fn loop_body(&mut self, body: ExprId, is_loop: bool) -> LoopFrame {
        self.cx.loops.push(LoopFrame {
            value: None,
            broken: false,
            is_loop,
        });
        self.infer(body, Want::Discard);
        self.cx.loops.pop().unwrap_or(LoopFrame {
            value: None,
            broken: false,
            is_loop,
        })
    }

    pub(super) fn loop_expr(&mut self, body: ExprId, want: Want) -> Ty {
        let _ = want;
        let frame = self.loop_body(body, true);
        if !frame.broken {
            return Ty::NEVER;
        }
        frame.value.unwrap_or(Ty::UNIT)
    }

    pub(super) fn break_expr(&mut self, e: ExprId, value: Option<ExprId>) {
        let Some(frame) = self.cx.loops.last().copied() else {
            if let Some(v) = value {
                self.synth(v);
            }
            return;
        };
        let found = match value {
            Some(v) => match frame.value {
                Some(t) if frame.is_loop => self.infer(v, Want::Ty(t)),
                _ => self.synth(v),
            },
            None => Ty::UNIT,
        };
        if let Some(f) = self.cx.loops.last_mut() {
            f.broken = true;
        }
        let at = value.unwrap_or(e);
        if !frame.is_loop {
            if value.is_some() {
                self.expect(at, found, Ty::UNIT, 2001);
            }
            return;
        }
        match frame.value {
            None => {
                if let Some(f) = self.cx.loops.last_mut() {
                    f.value = Some(found);
                }
            }
            Some(t) => {
                self.expect(at, found, t, 2001);
            }
        }
    }

    pub(super) fn return_expr(&mut self, e: ExprId, value: Option<ExprId>) {
        let Some(frame) = self.cx.frames.last().copied() else {
            return;
        };
        if !frame.returns || frame.ret == Ty::UNKNOWN {
            if let Some(v) = value {
                self.synth(v);
            }
            return;
        }
        match value {
            Some(v) => {
                self.check(v, frame.ret, 2019);
            }
            None => {
                if self.u.coerce(Ty::UNIT, frame.ret).is_none() {
                    let range = self.body.expr(e).range;
                    self.mismatch(2019, range, frame.ret, Ty::UNIT);
                }
            }
        }
    }

    pub(super) fn for_expr(&mut self, pat: PatId, iter: ExprId, body: ExprId) {
        let found = self.synth(iter);
        let (ty, refs) = self.u.peel(found);
        let elem = match self.u.hir.tys.kind(ty) {
            TyKind::Range(t)
            | TyKind::Array(t, _)
            | TyKind::Slice(t)
            | TyKind::Vec(t)
            | TyKind::List(t)
            | TyKind::Set(t) => Some(t),
            TyKind::Error => Some(Ty::ERROR),
            _ => match self.u.open_kind(ty) {
                Some(Kind::Seq { elem, .. }) => Some(elem),
                _ => None,
            },
        };
        let elem = match elem {
            None => self.u.fresh(),
            Some(t) if refs == 0 => t,
            Some(t) => {
                let (inner, _) = self.u.peel(t);
                let full = self.u.zonk_open(inner);
                let open = matches!(
                    self.u.hir.tys.kind(full),
                    TyKind::Var(_) | TyKind::Error | TyKind::Unknown
                );
                if open || crate::ty::is_copy(self.u.hir, full) {
                    t
                } else {
                    self.u.hir.tys.intern(TyKind::Ref(t, false))
                }
            }
        };
        self.bind_pat(pat, elem);
        self.loop_body(body, false);
    }

    pub(super) fn lambda(
        &mut self,
        e: ExprId,
        params: List<PatId>,
        ret: Option<Ty>,
        code: ExprId,
        want: Want,
    ) -> Ty {
        let body = self.body;
        let pats = body.pats_of(params);
        let hint = match want {
            Want::Ty(t) => match self.u.shape(t) {
                TyKind::Fn(p, r) => Some((self.u.hir.tys.list(p).to_vec(), r)),
                _ => None,
            },
            _ => None,
        };
        let mut wrong_count = false;
        if let Some((p, _)) = &hint
            && p.len() != pats.len()
        {
            wrong_count = true;
            let title = format!(
                "a function of {} parameter{} is wanted, this lambda has {}",
                p.len(),
                if p.len() == 1 { "" } else { "s" },
                pats.len()
            );
            let range = body.expr(e).range;
            let d = self.diagnostic(2024, range, title);
            self.push(d.hint(crate::diagnostic::FixHint::Facts(vec![
                ("expected", p.len().to_string()),
                ("found", pats.len().to_string()),
            ])));
        }
        let mut types = Vec::with_capacity(pats.len());
        for (i, p) in pats.iter().enumerate() {
            let declared = match body.pat(*p).kind {
                PatKind::Bind { local, .. } if body.local(local).ty.is_some() => {
                    Some(self.cx.bt.locals[local.index()])
                }
                _ => None,
            };
            let hinted = hint
                .as_ref()
                .filter(|_| !wrong_count)
                .and_then(|(h, _)| h.get(i))
                .copied();
            let ty = match (declared, hinted) {
                (Some(d), Some(h)) => {
                    // A written type that differs is found by the caller, who compares the whole.
                    let _ = self.u.coerce(h, d);
                    d
                }
                (Some(d), None) => d,
                (None, Some(h)) => h,
                (None, None) => self.u.fresh(),
            };
            types.push(ty);
            self.bind_pat(*p, ty);
        }
        let declared = ret.map(|t| self.u.instantiate(t));
        let hinted = hint.filter(|_| !wrong_count).map(|(_, r)| r);
        let result = declared.or(hinted);
        let frame_ret = match result {
            Some(t) => t,
            None => self.u.fresh(),
        };
        self.cx.frames.push(Frame {
            ret: frame_ret,
            returns: true,
        });
        let loops = std::mem::take(&mut self.cx.loops);
        let found = match result {
            Some(t) => {
                let code_no = if declared.is_some() { 2019 } else { 2001 };
                let hint_unit = declared.is_none() && self.u.resolve(t) == Ty::UNIT;
                if hint_unit {
                    self.infer(code, Want::Discard);
                } else {
                    self.check(code, t, code_no);
                }
                t
            }
            None => {
                let found = self.synth(code);
                if self.u.resolve(found) != Ty::NEVER {
                    self.expect(code, found, frame_ret, 2001);
                }
                frame_ret
            }
        };
        self.cx.loops = loops;
        self.cx.frames.pop();
        if wrong_count {
            return Ty::ERROR;
        }
        let list = self.u.hir.tys.list_of(&types);
        self.u.hir.tys.intern(TyKind::Fn(list, found))
    }
}
