//! Branches, loops, jumps and bodies apart: how states part and meet (language.md §12.4 rules 6 and 7, §17).
//! Must not know places.

use super::place::State;
use super::uses::Report;
use super::walk::{Around, MAX_ROUNDS, MAX_WORK, Mode, Pending, Walker};
use crate::hir::*;

impl Walker<'_, '_> {
    pub(super) fn take(&mut self) -> State {
        std::mem::replace(&mut self.state, State::unreachable())
    }

    pub(super) fn if_else(
        &mut self,
        e: ExprId,
        cond: ExprId,
        then: ExprId,
        els: Option<ExprId>,
        mode: Mode,
    ) -> Pending {
        let mark = self.scope.len();
        let mut skipped;
        if let ExprKind::Let { pat, value } = self.body.expr(cond).kind {
            let carried = self.peek(value);
            skipped = self.state.clone();
            self.bind(pat, &carried, true);
            let bound = self.take();
            self.state = skipped;
            self.drop_all(&carried);
            skipped = std::mem::replace(&mut self.state, bound);
        } else {
            self.walk_off(cond);
            skipped = self.state.clone();
        }
        let inner = if els.is_some() { mode } else { Mode::Unused };
        let mut value = self.walk(then, inner);
        if !inner.keeps() {
            self.drop_all(&value);
            value.clear();
        }
        self.end_scope(mark, &mut value);
        let taken = std::mem::replace(&mut self.state, skipped);
        if let Some(els) = els {
            self.now = self.live.end(then);
            self.expire();
            value.extend(self.walk(els, inner));
        }
        self.meet(e, taken);
        value
    }

    /// Joins another way that ends here, after the whole of an expression.
    pub(super) fn meet(&mut self, e: ExprId, other: State) {
        self.pay(self.state.size() + other.size());
        self.state = self.take().join(&other);
        self.now = self.live.end(e);
        self.expire();
    }

    pub(super) fn match_arms(
        &mut self,
        e: ExprId,
        scrutinee: ExprId,
        arms: List<Arm>,
        mode: Mode,
    ) -> Pending {
        let body = self.body;
        let carried = self.peek(scrutinee);
        let arms = body.arms_of(arms);
        if arms.is_empty() {
            self.drop_all(&carried);
            return Vec::new();
        }
        // Where an arm is tried: after the scrutinee and the guards of the arms before.
        let mut tried = self.take();
        let mut done = State::unreachable();
        let mut value = Vec::new();
        for arm in arms {
            self.state = tried.clone();
            self.pay(self.state.size());
            self.expire();
            let mark = self.scope.len();
            self.bind(arm.pat, &carried, true);
            if let Some(g) = arm.guard {
                self.walk_off(g);
                if self.state.reachable {
                    let mut failed = self.state.clone();
                    std::mem::swap(&mut failed, &mut self.state);
                    self.close(mark, &mut Vec::new());
                    std::mem::swap(&mut failed, &mut self.state);
                    tried = tried.join(&failed);
                }
            }
            let mut out = self.walk(arm.body, mode);
            if !mode.keeps() {
                self.drop_all(&out);
                out.clear();
            }
            self.end_scope(mark, &mut out);
            value.extend(out);
            self.now = self.live.end(arm.body);
            done = done.join(&self.take());
        }
        self.state = done;
        self.now = self.live.end(e);
        self.expire();
        value
    }

    // ---- loops

    /// Rule 7 of §12.4. `cond` for `while`, `pat` for `for`.
    pub(super) fn repeat(
        &mut self,
        e: ExprId,
        cond: Option<ExprId>,
        pat: Option<PatId>,
        body: ExprId,
    ) -> Pending {
        if !self.state.reachable {
            return Vec::new();
        }
        let limit = MAX_WORK * (self.body.exprs.len() as u64 + 64);
        let mark = self.scope.len();
        let mut head = self.take();
        if let Some(known) = self.heads.get(&e) {
            head = head.join(known);
        }
        let mut round = 0;
        let (exit, value) = loop {
            round += 1;
            self.pay(head.size());
            self.state = head.clone();
            self.loops.push(Around {
                mark,
                breaks: State::unreachable(),
                continues: State::unreachable(),
                value: Vec::new(),
            });
            let mut exit = State::unreachable();
            match (cond, pat) {
                (Some(c), _) => exit = self.condition(c),
                (None, Some(p)) => {
                    exit = self.state.clone();
                    self.bind(p, &[], false);
                }
                (None, None) => {}
            }
            let value = self.walk(body, Mode::Unused);
            self.drop_all(&value);
            self.end_scope(mark, &mut Vec::new());
            let Some(around) = self.loops.pop() else {
                break (exit, Vec::new());
            };
            let next = head.clone().join(&self.take()).join(&around.continues);
            let stable = next == head;
            if stable || round >= MAX_ROUNDS || self.work > limit {
                break (exit.join(&around.breaks), around.value);
            }
            head = next;
        };
        self.heads.insert(e, head);
        self.state = exit;
        self.now = self.live.end(e);
        self.expire();
        value
    }

    /// Evaluates the condition of a `while`; the answer is the state if it does not hold.
    pub(super) fn condition(&mut self, cond: ExprId) -> State {
        let ExprKind::Let { pat, value } = self.body.expr(cond).kind else {
            self.walk_off(cond);
            return self.state.clone();
        };
        let carried = self.peek(value);
        let exit = self.state.clone();
        self.bind(pat, &carried, true);
        let bound = std::mem::replace(&mut self.state, exit);
        self.drop_all(&carried);
        std::mem::replace(&mut self.state, bound)
    }

    /// `break` and `continue`.
    pub(super) fn jump(&mut self, is_break: bool, mut value: Pending) {
        if self.state.reachable
            && let Some(mark) = self.loops.last().map(|l| l.mark)
        {
            self.close(mark, &mut value);
            let state = self.take();
            if let Some(l) = self.loops.last_mut() {
                let into = if is_break {
                    &mut l.breaks
                } else {
                    &mut l.continues
                };
                *into = std::mem::replace(into, State::unreachable()).join(&state);
                l.value.extend(value);
            }
        }
        self.state.reachable = false;
    }

    // ---- bodies apart

    /// A lambda or detached body: the state is restored after it. `lends` tells whether its result may hold
    /// references.
    pub(super) fn apart(&mut self, params: &[PatId], inner: ExprId, lends: bool) {
        let before = self.state.clone();
        let loops = std::mem::take(&mut self.loops);
        let mark = self.scope.len();
        let frame = std::mem::replace(&mut self.frame, mark);
        let outer = std::mem::replace(&mut self.lends, lends);
        for p in params {
            self.bind(*p, &[], false);
        }
        let mut value = self.walk(inner, self.last_mode());
        if !lends {
            self.drop_all(&value);
            value.clear();
        }
        self.end_scope(mark, &mut value);
        self.lends = outer;
        self.frame = frame;
        self.loops = loops;
        self.state = before;
        self.now = self.live.end(inner);
        self.expire();
    }

    /// MT3010: the tail of an arena names something that the arena frees (§17).
    pub(super) fn arena(&mut self, inner: ExprId) {
        let body = self.body;
        let ExprKind::Block {
            stmts,
            tail: Some(tail),
        } = body.expr(inner).kind
        else {
            return;
        };
        let mut root = tail;
        let local = loop {
            match body.expr(root).kind {
                ExprKind::Path(Res::Local(l)) => break l,
                ExprKind::Field { base, .. } | ExprKind::TupleField { base, .. } => root = base,
                _ => return,
            }
        };
        let inside = body.stmts_of(stmts).iter().any(|s| match s {
            Stmt::Let { pat, .. } => self.bindings(*pat).contains(&local),
            Stmt::Expr(_) => false,
        });
        let (whole, part) = (self.types.local(local), self.types.of(tail));
        if !inside || self.shapes.is_copy(whole) || self.shapes.is_copy(part) {
            return;
        }
        let name = self.hir.text(body.local(local).name);
        let title = format!("`{name}` is freed with its arena, and cannot be the arena's value");
        let report = Report::hint(self.clone_hint(tail))
            .note("values made inside an arena end at its closing brace; derive a new one");
        self.report(3010, tail, title, report);
    }
}
