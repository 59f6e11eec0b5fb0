//! The walk over one body: values of expressions and bindings (language.md §16, "Propagation").
//! Must not decide about calls; `call` does.

use rustc_hash::{FxHashMap, FxHashSet};
use syntax::TextRange;

use super::flow::{Bindings, Value};
use super::rules::{Handle, handle_type};
use super::{Known, Outcome, Source, declared_tainted};
use crate::hir::*;
use crate::infer::BodyTypes;
use crate::ty::Family;

/// A body's loops are walked again while they learn something, but all its expressions together no more than
/// this many times.
const MAX_VISITS: usize = 8;

pub(super) struct Walk<'a> {
    pub(super) hir: &'a Hir,
    pub(super) body: &'a Body,
    pub(super) types: &'a BodyTypes,
    pub(super) known: &'a Known,
    pub(super) out: Outcome,
    pub(super) vars: Bindings,
    /// The statement around the current place.
    pub(super) statement: TextRange,
    pub(super) reported: FxHashSet<ExprId>,
    /// Elements of tuples, so that a pattern beside them takes each apart.
    parts: FxHashMap<ExprId, Value>,
    /// What the innermost function or lambda returns by `return`.
    returned: Value,
    /// What the loops around are left with by `break`.
    breaks: Vec<Value>,
    visits_left: usize,
}

pub(super) fn walk(hir: &Hir, types: &BodyTypes, body: &Body, known: &Known) -> Outcome {
    let mut walk = Walk {
        hir,
        body,
        types,
        known,
        out: Outcome::default(),
        vars: Bindings::new(body.locals.len()),
        statement: body.expr(body.root).range,
        reported: FxHashSet::default(),
        parts: FxHashMap::default(),
        returned: Value::Clean,
        breaks: Vec::new(),
        visits_left: body.exprs.len().saturating_mul(MAX_VISITS),
    };
    if known.annotated {
        walk.params();
    }
    let tail = walk.expr(body.root);
    walk.out.result = tail.join(walk.returned);
    walk.out
}

impl Walk<'_> {
    fn params(&mut self) {
        let params: &[Param] = match self.body.owner {
            Owner::Fn(f) => &self.hir.function(f).params,
            Owner::Handler(a, i) => &self.hir.agents[a.index()].handlers[i as usize].params,
            Owner::Init(a) => self.hir.agents[a.index()]
                .init
                .as_ref()
                .map_or(&[], |i| i.params.as_slice()),
            Owner::Const(_) | Owner::State(..) | Owner::Sandbox(_) => &[],
        };
        for (p, pat) in params.iter().zip(&self.body.params) {
            if declared_tainted(self.hir, self.body.file, p) {
                self.bind(*pat, Value::Tainted);
            }
        }
    }

    /// The value of an expression.
    pub(super) fn expr(&mut self, id: ExprId) -> Value {
        self.visits_left = self.visits_left.saturating_sub(1);
        let body = self.body;
        match body.expr(id).kind {
            ExprKind::Missing | ExprKind::Lit(_) | ExprKind::Continue => Value::Clean,
            ExprKind::Path(res) => self.path(id, res),
            ExprKind::Tuple(l) => {
                let mut all = Value::Clean;
                for e in body.exprs_of(l) {
                    let v = self.expr(*e);
                    self.parts.insert(*e, v);
                    all = all.join(v);
                }
                all
            }
            ExprKind::Array(l) => self.all(body.exprs_of(l)),
            ExprKind::Repeat { elem, count } => {
                let v = self.expr(elem);
                self.expr(count);
                v
            }
            ExprKind::Block { stmts, tail } => self.block(stmts, tail),
            ExprKind::Region { body: e, .. }
            | ExprKind::Deadline(e)
            | ExprKind::Join(e)
            | ExprKind::Run(e)
            | ExprKind::Propagate(e)
            | ExprKind::Ref { operand: e, .. }
            | ExprKind::Move(e)
            | ExprKind::Unary {
                op: UnOp::Deref,
                operand: e,
            } => self.expr(e),
            ExprKind::Unary { operand: e, .. } | ExprKind::Cast { operand: e, .. } => {
                self.expr(e).flow()
            }
            ExprKind::If { cond, then, els } => {
                self.expr(cond);
                let mark = self.vars.mark();
                let mut v = self.expr(then);
                let first = self.vars.take_back(mark);
                if let Some(e) = els {
                    v = v.join(self.expr(e));
                }
                self.vars.merge(first);
                v
            }
            ExprKind::Let { pat, value } => {
                let v = self.expr(value);
                self.bind_to(pat, value, v);
                v.flow()
            }
            ExprKind::Match { scrutinee, arms } => self.match_expr(scrutinee, arms),
            ExprKind::Loop { body: b } => {
                self.breaks.push(Value::Clean);
                self.repeat(|w| {
                    w.expr(b);
                });
                self.breaks.pop().unwrap_or_default()
            }
            ExprKind::While { cond, body: b } => {
                self.breaks.push(Value::Clean);
                self.repeat(|w| {
                    w.expr(cond);
                    w.expr(b);
                });
                self.breaks.pop();
                Value::Clean
            }
            ExprKind::For { pat, iter, body: b } => {
                let v = self.expr(iter);
                self.breaks.push(Value::Clean);
                self.repeat(|w| {
                    w.bind(pat, v);
                    w.expr(b);
                });
                self.breaks.pop();
                Value::Clean
            }
            ExprKind::Return(e) => {
                let v = self.opt(e);
                self.returned = self.returned.join(v);
                Value::Clean
            }
            ExprKind::Break(e) => {
                let v = self.opt(e);
                if let Some(b) = self.breaks.last_mut() {
                    *b = b.join(v);
                }
                Value::Clean
            }
            ExprKind::Lambda { .. } => self.lambda(id, Value::Clean),
            ExprKind::StructLit { head, fields, .. } => {
                let mut all = Value::Clean;
                for f in body.inits_of(fields) {
                    let v = self.expr(f.value);
                    all = all.join(v);
                    if let LitHead::Agent(a) = head {
                        let state = &self.hir.agents[a.index()].state;
                        if let Some(i) = state.iter().position(|s| s.name == f.name) {
                            self.store_state(a, i as u32, v);
                        }
                    }
                }
                all
            }
            ExprKind::MapLit { entries, .. } => {
                let mut all = Value::Clean;
                for (k, v) in body.pairs_of(entries) {
                    all = all.join(self.expr(*k)).join(self.expr(*v));
                }
                all
            }
            ExprKind::Call { callee, args, .. } => self.call(id, callee, args),
            ExprKind::MethodCall {
                receiver,
                name,
                args,
                ..
            } => self.method(id, receiver, name, args),
            ExprKind::Field { base, name, .. } => {
                let v = self.expr(base);
                self.field(base, v, name)
            }
            ExprKind::TupleField { base, .. } => self.expr(base),
            ExprKind::Index { base, index } => {
                let v = self.expr(base);
                self.expr(index);
                match v {
                    Value::Handle(Handle::Response) => Value::Tainted,
                    v => v,
                }
            }
            ExprKind::Spawn { args, .. } => {
                self.args(args);
                Value::Clean
            }
            ExprKind::Send {
                target, msg, args, ..
            }
            | ExprKind::Ask {
                target, msg, args, ..
            } => {
                self.expr(target);
                let given = self.args(args);
                let of = self.hir.tys.peel(self.types.of(target));
                let mut v = given.flow();
                for s in self.known.answers(self.hir, self.hir.tys.kind(of), msg) {
                    v = v.join(self.ask(s));
                }
                v
            }
            ExprKind::Binary { lhs, rhs, .. } => self.expr(lhs).flow().join(self.expr(rhs).flow()),
            ExprKind::Assign { place, value, .. } => {
                let v = self.expr(value);
                self.expr(place);
                self.store(place, v);
                Value::Clean
            }
            ExprKind::Range { low, high, .. } => self.expr(low).flow().join(self.expr(high).flow()),
            ExprKind::StdMacro { mac, args } => {
                let v = self.all(body.exprs_of(args));
                match mac {
                    StdMacro::Format => v.flow(),
                    StdMacro::Vec | StdMacro::Debug => v,
                    _ => Value::Clean,
                }
            }
        }
    }

    fn opt(&mut self, e: Option<ExprId>) -> Value {
        e.map_or(Value::Clean, |e| self.expr(e))
    }

    fn all(&mut self, list: &[ExprId]) -> Value {
        let mut all = Value::Clean;
        for e in list {
            all = all.join(self.expr(*e));
        }
        all
    }

    /// What another body decides.
    pub(super) fn ask(&mut self, source: Source) -> Value {
        self.out.used.insert(source);
        self.known.value(source)
    }

    fn path(&mut self, id: ExprId, res: Res) -> Value {
        match res {
            Res::Local(l) => self.vars.get(l),
            Res::State(a, i) => {
                let here = self.out.state.get(&(a, i)).copied().unwrap_or_default();
                self.ask(Source::State(a, i)).join(here)
            }
            // A function given by its name.
            Res::Fn(f) | Res::AgentMethod(f) => self.ask(Source::Fn(f)).flow(),
            Res::Assoc(..) | Res::TraitMember(..) => match self.types.callee.get(&id) {
                Some(f) => self.ask(Source::Fn(*f)).flow(),
                None => Value::Clean,
            },
            _ => Value::Clean,
        }
    }

    fn field(&self, base: ExprId, value: Value, name: Name) -> Value {
        match value {
            Value::Handle(Handle::Response) => Value::tainted_if(self.hir.text(name) == "body"),
            Value::Clean if self.family(base) == Some(Family::Net) => {
                match handle_type(self.hir.text(name)) {
                    Some(h) => Value::Handle(h),
                    None => Value::Clean,
                }
            }
            v => v,
        }
    }

    fn block(&mut self, stmts: List<Stmt>, tail: Option<ExprId>) -> Value {
        let body = self.body;
        let outer = self.statement;
        for s in body.stmts_of(stmts) {
            match *s {
                Stmt::Let {
                    pat,
                    ty,
                    ty_range,
                    init,
                    range,
                } => {
                    self.statement = range;
                    let declared = self.known.annotated
                        && ty.is_some()
                        && self.hir.text_of(body.file, ty_range).contains("Tainted[");
                    let v = self.opt(init);
                    match init {
                        _ if declared => self.bind(pat, Value::Tainted),
                        Some(e) => self.bind_to(pat, e, v),
                        None => self.bind(pat, v),
                    }
                }
                Stmt::Expr(e) => {
                    self.statement = body.expr(e).range;
                    self.expr(e);
                }
            }
        }
        let v = match tail {
            Some(e) => {
                self.statement = body.expr(e).range;
                self.expr(e)
            }
            None => Value::Clean,
        };
        self.statement = outer;
        v
    }

    fn match_expr(&mut self, scrutinee: ExprId, arms: List<Arm>) -> Value {
        let body = self.body;
        let value = self.expr(scrutinee);
        let mut all = Value::Clean;
        let mut changes = Vec::new();
        for a in body.arms_of(arms) {
            let mark = self.vars.mark();
            self.bind_to(a.pat, scrutinee, value);
            let outer = std::mem::replace(&mut self.statement, body.expr(a.body).range);
            self.opt(a.guard);
            all = all.join(self.expr(a.body));
            self.statement = outer;
            changes.push(self.vars.take_back(mark));
        }
        for c in changes {
            self.vars.merge(c);
        }
        all
    }

    /// A loop: again while its bindings learn something.
    fn repeat(&mut self, mut round: impl FnMut(&mut Self)) {
        loop {
            let mark = self.vars.mark();
            round(self);
            if self.visits_left == 0 || !self.vars.changed_since(mark) {
                break;
            }
        }
    }

    /// A lambda whose parameters get this value; gives what it returns.
    pub(super) fn lambda(&mut self, id: ExprId, given: Value) -> Value {
        let ExprKind::Lambda {
            params, body: code, ..
        } = self.body.expr(id).kind
        else {
            return Value::Clean;
        };
        for p in self.body.pats_of(params) {
            self.bind(*p, given);
        }
        let returned = std::mem::take(&mut self.returned);
        let breaks = std::mem::take(&mut self.breaks);
        let outer = std::mem::replace(&mut self.statement, self.body.expr(code).range);
        let v = self.expr(code);
        self.statement = outer;
        self.breaks = breaks;
        v.join(std::mem::replace(&mut self.returned, returned))
    }

    /// Binds a pattern to what stands beside it; tuples element by element.
    fn bind_to(&mut self, pat: PatId, from: ExprId, value: Value) {
        if let (PatKind::Tuple(pats), ExprKind::Tuple(parts)) =
            (self.body.pat(pat).kind, self.body.expr(from).kind)
            && pats.len() == parts.len()
        {
            let body = self.body;
            for (p, e) in body.pats_of(pats).iter().zip(body.exprs_of(parts)) {
                let v = self.parts.get(e).copied().unwrap_or(value);
                self.bind_to(*p, *e, v);
            }
            return;
        }
        self.bind(pat, value);
    }

    /// All bindings of a pattern.
    fn bind(&mut self, pat: PatId, value: Value) {
        let body = self.body;
        match body.pat(pat).kind {
            PatKind::Bind { local, sub, .. } => {
                self.vars.bind(local, value);
                if let Some(p) = sub {
                    self.bind(p, value);
                }
            }
            PatKind::Ref { inner, .. } => self.bind(inner, value),
            // What failed is no handle.
            PatKind::Variant {
                res: PatRes::Prelude(PreludeVariant::Err),
                args,
                ..
            } if matches!(value, Value::Handle(_)) => {
                for p in body.pats_of(args) {
                    self.bind(*p, Value::Clean);
                }
            }
            PatKind::Tuple(l) | PatKind::Variant { args: l, .. } | PatKind::Or(l) => {
                for p in body.pats_of(l) {
                    self.bind(*p, value);
                }
            }
            PatKind::Struct { fields, .. } => {
                for f in body.field_pats_of(fields) {
                    let v = match value {
                        Value::Handle(Handle::Response) => {
                            Value::tainted_if(self.hir.text(f.name) == "body")
                        }
                        v => v,
                    };
                    self.bind(f.pat, v);
                }
            }
            PatKind::Missing
            | PatKind::Wild
            | PatKind::Lit { .. }
            | PatKind::Range { .. }
            | PatKind::Path(_) => {}
        }
    }

    /// Assigns to the binding or state field at the root of a place.
    pub(super) fn store(&mut self, place: ExprId, value: Value) {
        let mut id = place;
        let mut whole = true;
        loop {
            match self.body.expr(id).kind {
                ExprKind::Field { base, .. }
                | ExprKind::TupleField { base, .. }
                | ExprKind::Index { base, .. } => {
                    whole = false;
                    id = base;
                }
                ExprKind::Unary {
                    op: UnOp::Deref,
                    operand,
                }
                | ExprKind::Ref { operand, .. } => id = operand,
                ExprKind::Path(Res::Local(l)) => {
                    let v = if whole { value } else { value.flow() };
                    if whole || v.is_tainted() {
                        self.vars.assign(l, v);
                    }
                    return;
                }
                ExprKind::Path(Res::State(a, i)) => return self.store_state(a, i, value),
                _ => return,
            }
        }
    }

    fn store_state(&mut self, agent: AgentId, index: u32, value: Value) {
        if value != Value::Clean {
            let at = self.out.state.entry((agent, index)).or_default();
            *at = at.join(value);
        }
    }
}
