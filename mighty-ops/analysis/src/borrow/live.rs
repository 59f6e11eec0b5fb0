//! The pre-pass of §12.4: numbers for path reads in source order, and the last one of every local.
//! Must not know types or states.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::hir::*;

/// Points of a body. A point is a number; bigger ones come later in the source.
pub(super) struct Live {
    /// By local: the point after which nothing reads it; 0 if nothing does. For a local from outside a loop
    /// that the loop reads it is the end of the loop [R:G93].
    last_use: Vec<u32>,
    /// By local: the path of the last read in source order.
    last_read: Vec<Option<ExprId>>,
    /// By local: the point of its declaration.
    declared: Vec<u32>,
    /// By local: whether something assigns to all of it.
    assigned: Vec<bool>,
    /// By expression: the last point in it. For a path it is the path's own.
    end: Vec<u32>,
    /// Plain assignments to a local whose value reads that local.
    reads_itself: FxHashSet<ExprId>,
}

impl Live {
    /// Numbers a body.
    pub(super) fn of(body: &Body) -> Self {
        let mut pass = Pass {
            body,
            live: Self {
                last_use: vec![0; body.locals.len()],
                last_read: vec![None; body.locals.len()],
                declared: vec![0; body.locals.len()],
                assigned: vec![false; body.locals.len()],
                end: vec![0; body.exprs.len()],
                reads_itself: FxHashSet::default(),
            },
            clock: 0,
            loops: Vec::new(),
            branch: 0,
            reads: vec![0; body.locals.len()],
        };
        for p in &body.params {
            pass.pattern(*p);
        }
        pass.expr(body.root);
        pass.live
    }

    pub(super) fn last_use(&self, local: LocalId) -> u32 {
        self.last_use.get(local.index()).copied().unwrap_or(0)
    }

    pub(super) fn last_read(&self, local: LocalId) -> Option<ExprId> {
        self.last_read.get(local.index()).copied().flatten()
    }

    pub(super) fn is_assigned(&self, local: LocalId) -> bool {
        self.assigned.get(local.index()).copied().unwrap_or(false)
    }

    pub(super) fn end(&self, expr: ExprId) -> u32 {
        self.end[expr.index()]
    }

    /// Whether the value of this assignment reads the local assigned to.
    pub(super) fn reads_itself(&self, assign: ExprId) -> bool {
        self.reads_itself.contains(&assign)
    }
}

/// A loop being numbered.
struct Around {
    start: u32,
    /// Branches around the loop's body: an assignment under no more of them happens in every round.
    branch: u32,
    /// Locals from outside that it mentions: `true` if it reads them before every round has written them.
    carried: FxHashMap<LocalId, bool>,
}

struct Pass<'b> {
    body: &'b Body,
    live: Live,
    clock: u32,
    loops: Vec<Around>,
    branch: u32,
    /// By local: number of reads so far.
    reads: Vec<u32>,
}

impl Pass<'_> {
    fn tick(&mut self) -> u32 {
        self.clock += 1;
        self.clock
    }

    fn pattern(&mut self, p: PatId) {
        let body = self.body;
        match body.pat(p).kind {
            PatKind::Bind { local, sub, .. } => {
                self.live.declared[local.index()] = self.tick();
                if let Some(s) = sub {
                    self.pattern(s);
                }
            }
            PatKind::Ref { inner, .. } => self.pattern(inner),
            PatKind::Tuple(l) | PatKind::Variant { args: l, .. } | PatKind::Or(l) => {
                body.pats_of(l).iter().for_each(|p| self.pattern(*p));
            }
            PatKind::Struct { fields, .. } => {
                body.field_pats_of(fields)
                    .iter()
                    .for_each(|f| self.pattern(f.pat));
            }
            PatKind::Missing
            | PatKind::Wild
            | PatKind::Lit { .. }
            | PatKind::Range { .. }
            | PatKind::Path(_) => {}
        }
    }

    fn read(&mut self, e: ExprId, local: LocalId) {
        let now = self.tick();
        let i = local.index();
        self.live.last_use[i] = self.live.last_use[i].max(now);
        self.live.last_read[i] = Some(e);
        self.reads[i] += 1;
        let declared = self.live.declared[i];
        if let Some(l) = self.loops.last_mut()
            && declared < l.start
        {
            l.carried.entry(local).or_insert(true);
        }
    }

    fn write(&mut self, local: LocalId) {
        self.live.assigned[local.index()] = true;
        let declared = self.live.declared[local.index()];
        if let Some(l) = self.loops.last_mut()
            && declared < l.start
            && l.branch == self.branch
        {
            l.carried.entry(local).or_insert(false);
        }
    }

    fn enter_loop(&mut self) {
        let start = self.tick();
        self.branch += 1;
        self.loops.push(Around {
            start,
            branch: self.branch,
            carried: FxHashMap::default(),
        });
    }

    fn leave_loop(&mut self) {
        let end = self.tick();
        self.branch -= 1;
        let Some(inner) = self.loops.pop() else {
            return;
        };
        for local in inner.carried.into_iter().filter(|c| c.1).map(|c| c.0) {
            let i = local.index();
            self.live.last_use[i] = self.live.last_use[i].max(end);
            let declared = self.live.declared[i];
            if let Some(outer) = self.loops.last_mut()
                && declared < outer.start
            {
                outer.carried.entry(local).or_insert(true);
            }
        }
    }

    fn branch(&mut self, e: ExprId) {
        self.branch += 1;
        self.expr(e);
        self.branch -= 1;
    }

    fn args(&mut self, args: List<Arg>) {
        let body = self.body;
        body.args_of(args).iter().for_each(|a| self.expr(a.value));
    }

    fn opt(&mut self, e: Option<ExprId>) {
        if let Some(e) = e {
            self.expr(e);
        }
    }

    fn expr(&mut self, e: ExprId) {
        let body = self.body;
        match body.expr(e).kind {
            ExprKind::Missing | ExprKind::Lit(_) | ExprKind::Continue => {}
            ExprKind::Path(Res::Local(l)) => self.read(e, l),
            ExprKind::Path(_) => {}
            ExprKind::Tuple(l) | ExprKind::Array(l) | ExprKind::StdMacro { args: l, .. } => {
                body.exprs_of(l).iter().for_each(|e| self.expr(*e));
            }
            ExprKind::Repeat { elem, count } => {
                self.expr(elem);
                self.expr(count);
            }
            ExprKind::Block { stmts, tail } => {
                for s in body.stmts_of(stmts) {
                    match *s {
                        Stmt::Let { pat, init, .. } => {
                            self.opt(init);
                            self.pattern(pat);
                        }
                        Stmt::Expr(e) => self.expr(e),
                    }
                }
                self.opt(tail);
            }
            ExprKind::Region { kind, body } => {
                if kind == Region::Detach {
                    self.branch(body);
                } else {
                    self.expr(body);
                }
            }
            ExprKind::If { cond, then, els } => {
                self.expr(cond);
                self.branch(then);
                if let Some(e) = els {
                    self.branch(e);
                }
            }
            ExprKind::Let { pat, value } => {
                self.expr(value);
                self.pattern(pat);
            }
            ExprKind::Match { scrutinee, arms } => {
                self.expr(scrutinee);
                self.branch += 1;
                for a in body.arms_of(arms) {
                    self.pattern(a.pat);
                    self.opt(a.guard);
                    self.expr(a.body);
                }
                self.branch -= 1;
            }
            ExprKind::Loop { body } => {
                self.enter_loop();
                self.expr(body);
                self.leave_loop();
            }
            ExprKind::While { cond, body } => {
                self.enter_loop();
                self.expr(cond);
                self.expr(body);
                self.leave_loop();
            }
            ExprKind::For { pat, iter, body } => {
                self.expr(iter);
                self.enter_loop();
                self.pattern(pat);
                self.expr(body);
                self.leave_loop();
            }
            ExprKind::Return(v) | ExprKind::Break(v) => self.opt(v),
            ExprKind::Lambda {
                params, body: b, ..
            } => {
                body.pats_of(params).iter().for_each(|p| self.pattern(*p));
                self.branch(b);
            }
            ExprKind::StructLit { fields, .. } => {
                body.inits_of(fields)
                    .iter()
                    .for_each(|f| self.expr(f.value));
            }
            ExprKind::MapLit { entries, .. } => {
                for (k, v) in body.pairs_of(entries) {
                    self.expr(*k);
                    self.expr(*v);
                }
            }
            ExprKind::Call { callee, args, .. } => {
                self.expr(callee);
                self.args(args);
            }
            ExprKind::MethodCall { receiver, args, .. } => {
                self.expr(receiver);
                self.args(args);
            }
            ExprKind::Spawn { args, .. } => self.args(args),
            ExprKind::Send { target, args, .. } | ExprKind::Ask { target, args, .. } => {
                self.expr(target);
                self.args(args);
            }
            ExprKind::Field { base, .. } | ExprKind::TupleField { base, .. } => self.expr(base),
            ExprKind::Index { base, index } => {
                self.expr(base);
                self.expr(index);
            }
            ExprKind::Deadline(x)
            | ExprKind::Join(x)
            | ExprKind::Run(x)
            | ExprKind::Propagate(x)
            | ExprKind::Move(x)
            | ExprKind::Unary { operand: x, .. }
            | ExprKind::Ref { operand: x, .. }
            | ExprKind::Cast { operand: x, .. } => self.expr(x),
            ExprKind::Binary { op, lhs, rhs, .. } => {
                self.expr(lhs);
                if matches!(op, BinOp::AndAnd | BinOp::OrOr) {
                    self.branch(rhs);
                } else {
                    self.expr(rhs);
                }
            }
            ExprKind::Assign {
                op, place, value, ..
            } => match body.expr(place).kind {
                ExprKind::Path(Res::Local(l)) if op.is_none() => {
                    let before = self.reads[l.index()];
                    self.expr(value);
                    if self.reads[l.index()] != before {
                        self.live.reads_itself.insert(e);
                    }
                    self.write(l);
                }
                kind => {
                    if let ExprKind::Path(Res::Local(l)) = kind {
                        self.live.assigned[l.index()] = true;
                    }
                    self.expr(place);
                    self.expr(value);
                }
            },
            ExprKind::Range { low, high, .. } => {
                self.expr(low);
                self.expr(high);
            }
        }
        self.live.end[e.index()] = self.clock;
    }
}
