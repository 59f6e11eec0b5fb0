//! Scopes: declaring and ending locals, and who holds the borrows that values carry (language.md §12.4).
//! Must not evaluate expressions beyond the statements of a block.

use super::place::{Gone, Holder, Place, Record, Root};
use super::walk::{Mode, Pend, Pending, Walker};
use crate::hir::*;

impl Walker<'_, '_> {
    pub(super) fn declare(&mut self, l: LocalId) {
        let root = Root(l.0);
        self.position[l.index()] = self.scope.len();
        self.scope.push(l);
        self.state.refill(Place::whole(root));
        self.state
            .retain(|r| r.place.root != root && !r.held_by(root));
    }

    /// The locals a pattern binds, each once.
    pub(super) fn bindings(&self, p: PatId) -> Vec<LocalId> {
        let mut found = Vec::new();
        self.collect(p, &mut found, false);
        found
    }

    pub(super) fn collect(&self, p: PatId, found: &mut Vec<LocalId>, again: bool) {
        let body = self.body;
        match body.pat(p).kind {
            PatKind::Bind { local, sub, maybe } => {
                let is_variant = maybe && self.types.pat_res.contains_key(&p);
                let known = again && found.contains(&local);
                if !is_variant && !known {
                    found.push(local);
                }
                if let Some(s) = sub {
                    self.collect(s, found, again);
                }
            }
            PatKind::Ref { inner, .. } => self.collect(inner, found, again),
            PatKind::Tuple(l) | PatKind::Variant { args: l, .. } => {
                for p in body.pats_of(l) {
                    self.collect(*p, found, again);
                }
            }
            // Alternatives bind the same locals.
            PatKind::Or(l) => {
                for p in body.pats_of(l) {
                    self.collect(*p, found, true);
                }
            }
            PatKind::Struct { fields, .. } => body
                .field_pats_of(fields)
                .iter()
                .for_each(|f| self.collect(f.pat, found, again)),
            PatKind::Missing
            | PatKind::Wild
            | PatKind::Lit { .. }
            | PatKind::Range { .. }
            | PatKind::Path(_) => {}
        }
    }

    /// Declares what a pattern binds and lets it hold what the value carries.
    pub(super) fn bind(&mut self, pat: PatId, value: &[Pend], lent: bool) {
        let locals = self.bindings(pat);
        for l in &locals {
            self.declare(*l);
            self.lent[l.index()] = lent;
        }
        let holders: Vec<Place> = locals.iter().map(|l| Place::whole(Root(l.0))).collect();
        if holders.is_empty() {
            self.drop_all(value);
        } else {
            self.hold(value, &holders);
        }
    }

    /// Ends the scopes of all locals from an index on, without forgetting them (rule 5 of §12.4). `value` is
    /// what leaves the scope.
    pub(super) fn close(&mut self, mark: usize, value: &mut Pending) {
        if !self.state.reachable || self.scope.len() <= mark {
            return;
        }
        for i in mark..self.scope.len() {
            self.state.refill(Place::whole(Root(self.scope[i].0)));
        }
        if self.state.records().is_empty() && value.is_empty() {
            return;
        }
        let (position, locals) = (&self.position, self.body.locals.len());
        let ends = |root: Root| {
            root.index() < locals
                && position[root.index()] >= mark
                && position[root.index()] != usize::MAX
        };
        self.state
            .retain(|r| !matches!(r.holder, Holder::Local(p) if ends(p.root)));
        let mut dangling: Vec<Record> = Vec::new();
        for p in value.iter() {
            match p {
                Pend::Temp(e) => dangling.extend(
                    self.state
                        .records()
                        .iter()
                        .find(|r| r.expr == *e && r.holder == Holder::Temporary),
                ),
                Pend::Copy(r) => dangling.push(*r),
            }
        }
        dangling.retain(|r| ends(r.place.root));
        let lost: Vec<ExprId> = dangling.iter().map(|r| r.expr).collect();
        let state = &self.state;
        let held = state
            .records()
            .iter()
            .filter(|r| ends(r.place.root) && matches!(r.holder, Holder::Local(_)));
        let live = &self.live;
        dangling.extend(held.filter(|r| match r.holder {
            Holder::Local(p) if p.root.index() < locals => {
                live.last_use(LocalId(p.root.0)) > self.now
            }
            _ => false,
        }));
        self.state.retain(|r| !ends(r.place.root));
        value.retain(|p| match p {
            Pend::Temp(e) => !lost.contains(e),
            Pend::Copy(r) => !lost.contains(&r.expr),
        });
        for r in dangling {
            self.report_outlived(&r);
        }
    }

    pub(super) fn report_outlived(&mut self, r: &Record) {
        let lent = self
            .local_of(r.place.root)
            .is_some_and(|l| self.lent[l.index()]);
        if r.owned && !lent {
            self.outlives(r);
        }
    }

    pub(super) fn end_scope(&mut self, mark: usize, value: &mut Pending) {
        self.close(mark, value);
        for l in self.scope.drain(mark..) {
            self.position[l.index()] = usize::MAX;
        }
    }

    /// A value leaves the function or lambda: what it borrows from its locals is dropped.
    pub(super) fn leaves(&mut self, value: &[Pend]) {
        for p in if self.lends { value } else { &[] } {
            let record = match p {
                Pend::Temp(e) => self
                    .state
                    .records()
                    .iter()
                    .find(|r| r.expr == *e && r.holder == Holder::Temporary)
                    .copied(),
                Pend::Copy(r) => Some(*r),
            };
            let Some(r) = record else { continue };
            let Some(l) = self.local_of(r.place.root) else {
                continue;
            };
            let position = self.position[l.index()];
            if position != usize::MAX && position >= self.frame {
                self.report_outlived(&r);
            }
        }
        self.drop_all(value);
    }

    pub(super) fn block(&mut self, stmts: List<Stmt>, tail: Option<ExprId>, mode: Mode) -> Pending {
        let body = self.body;
        let mark = self.scope.len();
        let outer = self.site;
        for s in body.stmts_of(stmts) {
            if !self.state.reachable {
                break;
            }
            match *s {
                Stmt::Let {
                    pat,
                    init,
                    range,
                    ty_range,
                    ..
                } => {
                    self.site = range;
                    match init {
                        Some(init) => self.let_value(pat, init),
                        None => {
                            for l in self.bindings(pat) {
                                self.declare(l);
                                self.state.lose(Place::whole(Root(l.0)), Gone::Uninit);
                                self.valueless.insert(l, ty_range.end);
                            }
                        }
                    }
                }
                Stmt::Expr(e) => {
                    self.site = body.expr(e).range;
                    let value = self.walk(e, Mode::Unused);
                    self.drop_all(&value);
                }
            }
        }
        let mut value = Vec::new();
        if let Some(t) = tail {
            self.site = body.expr(t).range;
            value = self.walk(t, mode);
            if !mode.keeps() {
                self.drop_all(&value);
                value.clear();
            }
        }
        self.site = outer;
        self.end_scope(mark, &mut value);
        value
    }

    pub(super) fn let_value(&mut self, pat: PatId, init: ExprId) {
        let body = self.body;
        let kind = body.pat(pat).kind;
        if let (PatKind::Tuple(pats), ExprKind::Tuple(items)) = (kind, body.expr(init).kind)
            && pats.len() == items.len()
        {
            // Each part holds its own borrows.
            for (p, x) in body.pats_of(pats).iter().zip(body.exprs_of(items)) {
                self.let_part(*p, *x, Mode::Move);
            }
            return;
        }
        let mode = match kind {
            PatKind::Wild => Mode::Read,
            PatKind::Bind {
                local, sub: None, ..
            } => self.slot_mode(self.types.local(local)),
            _ => Mode::Move,
        };
        self.let_part(pat, init, mode);
    }

    pub(super) fn let_part(&mut self, pat: PatId, init: ExprId, mode: Mode) {
        let value = self.walk(init, mode);
        self.bind(pat, &value, false);
    }

    /// Makes places the holders of what a value carries. Holders that are never read again hold nothing.
    pub(super) fn hold(&mut self, value: &[Pend], holders: &[Place]) {
        if value.is_empty() {
            return;
        }
        for h in holders {
            let Some(l) = self.local_of(h.root) else {
                continue;
            };
            if self.live.last_use(l) <= self.now || !self.shapes.has_reference(self.types.local(l))
            {
                continue;
            }
            for p in value {
                match p {
                    Pend::Temp(e) => {
                        self.state.give(*e, *h);
                    }
                    Pend::Copy(r) if r.place.root != h.root => self.state.add(Record {
                        holder: Holder::Local(*h),
                        ..*r
                    }),
                    Pend::Copy(_) => {}
                }
            }
        }
        self.drop_all(value);
    }
}
