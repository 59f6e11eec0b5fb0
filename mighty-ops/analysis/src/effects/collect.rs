//! One walk over every body: what it does itself, whom it calls, and which closures it passes on (§15).
//! Must not report; `mod` judges what is gathered here once the fixpoint is known.

use rustc_hash::FxHashMap;
use syntax::TextRange;

use super::graph::{Graph, Node};
use super::set::EffectSet;
use crate::hir::*;
use crate::infer::{BodyTypes, Method, Types};
use crate::ty::TyKind;

/// Built-in methods through which the effects of a closure reach the caller (§15.1).
const HIGHER_ORDER: [&str; 12] = [
    "map", "filter", "fold", "flat_map", "for_each", "find", "any", "all", "collect", "and_then",
    "or_else", "map_err",
];

/// Who takes a closure.
#[derive(Debug, Clone, Copy)]
pub(super) enum Taker {
    /// A built-in method of this name.
    Builtin(Name),
    /// A function of the program with a row variable.
    User(FnId),
}

/// A closure given to something that passes its effects on, in a public function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) caller: FnId,
    pub(super) taker: Taker,
    /// The argument.
    pub(super) range: TextRange,
    pub(super) node: Node,
}

/// A call of a function with several row variables.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowCall {
    pub(super) body: BodyId,
    pub(super) callee: FnId,
    /// The name at the call.
    pub(super) range: TextRange,
    /// Arguments that are closures.
    pub(super) closures: usize,
}

/// What the walk found. Functions are nodes by their identity, closures come after them.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) graph: Graph,
    pub(super) passed: Vec<Passed>,
    pub(super) row_calls: Vec<RowCall>,
    /// The first place of each own effect, sorted by node.
    pub(super) places: Vec<(Node, EffectSet, TextRange)>,
    /// What has a place already.
    placed: FxHashMap<Node, EffectSet>,
}

pub(super) fn collect(hir: &Hir, types: &Types) -> Collected {
    let mut found = Collected::default();
    for f in &hir.fns {
        found.graph.node(declared(hir, f));
    }
    for id in hir.body_ids() {
        let body = hir.body(id);
        // Handlers and initialisers have effects too, but nobody calls them and they are not checked.
        let owner = match body.owner {
            Owner::Fn(f) => Some(f),
            _ => None,
        };
        let node = match owner {
            Some(f) => f.0,
            None => found.graph.node(EffectSet::EMPTY),
        };
        Walk {
            hir,
            id,
            body,
            types: types.body(id),
            all: types,
            caller: owner.filter(|f| hir.function(*f).head.public),
            node,
            closures: FxHashMap::default(),
            locals: FxHashMap::default(),
            covered: 0,
            found: &mut found,
        }
        .expr(body.root);
    }
    found.places.sort_by_key(|p| p.0);
    found
}

/// The concrete effects of a function's clause.
pub(super) fn declared(hir: &Hir, f: &Function) -> EffectSet {
    let mut set = EffectSet::EMPTY;
    for (name, _) in f.effects.iter().flat_map(|e| &e.names) {
        set |= EffectSet::named(hir.text(*name));
    }
    set
}

struct Walk<'a> {
    hir: &'a Hir,
    id: BodyId,
    body: &'a Body,
    types: &'a BodyTypes,
    all: &'a Types,
    /// The function around, if it is public.
    caller: Option<FnId>,
    node: Node,
    closures: FxHashMap<ExprId, Node>,
    /// Closures bound by a plain `let`.
    locals: FxHashMap<LocalId, Node>,
    /// Recorded closures around the current place: what is passed on inside them is reported once, outside.
    covered: u32,
    found: &'a mut Collected,
}

impl Walk<'_> {
    fn add(&mut self, set: EffectSet, range: TextRange) {
        let node = self.node;
        let placed = self.found.placed.entry(node).or_default();
        let new = set.without(*placed);
        if !new.is_empty() {
            *placed |= new;
            self.found.graph.add(node, new);
            self.found.places.push((node, new, range));
        }
    }

    fn expr(&mut self, id: ExprId) {
        let body = self.body;
        let e = *body.expr(id);
        match e.kind {
            ExprKind::Lit(Lit::Html) | ExprKind::MapLit { .. } => {
                self.add(EffectSet::ALLOC, e.range);
            }
            ExprKind::Region { kind, .. } => match kind {
                Region::Arena => self.add(EffectSet::ALLOC, e.range),
                Region::Detach => self.add(EffectSet::SPAWN, e.range),
                Region::Unsafe => self.add(EffectSet::UNSAFE, e.range),
                Region::Task | Region::Budget | Region::Sandbox => {}
            },
            ExprKind::Spawn { .. } | ExprKind::Send { .. } | ExprKind::Ask { .. } => {
                self.add(EffectSet::SPAWN, e.range);
            }
            ExprKind::Deadline(_) => self.add(EffectSet::TIME, e.range),
            ExprKind::Call { callee, args, .. } => return self.call(id, callee, args),
            ExprKind::MethodCall {
                receiver,
                name,
                name_range,
                args,
                ..
            } => return self.method(id, receiver, (name, name_range), args),
            ExprKind::Lambda { body: code, .. } => {
                let node = self.found.graph.node(EffectSet::EMPTY);
                self.found.graph.edge(self.node, node);
                self.closures.insert(id, node);
                let outer = std::mem::replace(&mut self.node, node);
                self.expr(code);
                self.node = outer;
                return;
            }
            ExprKind::Block { stmts, tail } => {
                for s in body.stmts_of(stmts) {
                    match *s {
                        Stmt::Let { pat, init, .. } => self.binding(pat, init),
                        Stmt::Expr(e) => self.expr(e),
                    }
                }
                if let Some(t) = tail {
                    self.expr(t);
                }
                return;
            }
            _ => {}
        }
        children(body, id, &mut |e| self.expr(e));
    }

    fn binding(&mut self, pat: PatId, init: Option<ExprId>) {
        let Some(init) = init else { return };
        self.expr(init);
        if let PatKind::Bind { local, .. } = self.body.pat(pat).kind
            && let Some(node) = self.closure(init)
        {
            self.locals.insert(local, node);
        }
    }

    /// The node of a closure or of a function given by its name.
    fn closure(&self, id: ExprId) -> Option<Node> {
        match self.body.expr(id).kind {
            ExprKind::Lambda { .. } => self.closures.get(&id).copied(),
            ExprKind::Path(Res::Local(l)) => self.locals.get(&l).copied(),
            ExprKind::Path(Res::Fn(f) | Res::AgentMethod(f)) => Some(f.0),
            ExprKind::Path(_) => self.types.callee.get(&id).map(|f| f.0),
            _ => None,
        }
    }

    fn call(&mut self, id: ExprId, callee: ExprId, args: List<Arg>) {
        let body = self.body;
        let target = *body.expr(callee);
        if let ExprKind::Path(res) = target.kind {
            if let Res::Opaque(path) | Res::OpaqueType(path) = res {
                let names = body.path(path);
                if let Some(head) = spelled_head(self.hir, body, target.range) {
                    let head = match names.first() {
                        Some(n) if head == "std" => self.hir.text(*n),
                        _ => head,
                    };
                    let range = body.expr(id).range;
                    self.add(EffectSet::of_head(head), range);
                    if let Some(last) = names.last() {
                        self.add(EffectSet::of_method(self.hir.text(*last)), range);
                    }
                }
            }
        } else {
            self.expr(callee);
        }
        match called(self.types, body, id, callee) {
            Some(f) => self.user_call(f, target.range, args, true),
            None => self.args(args),
        }
    }

    fn method(
        &mut self,
        id: ExprId,
        receiver: ExprId,
        (name, name_range): (Name, TextRange),
        args: List<Arg>,
    ) {
        self.expr(receiver);
        let body = self.body;
        if let Some(root) = path_root(body, receiver)
            && let Some(head) = spelled_name(self.hir, body, root)
        {
            self.add(EffectSet::of_head(head), body.expr(id).range);
        }
        match self.types.methods.get(&id) {
            Some(Method::User(f) | Method::Agent(f)) => {
                self.user_call(*f, name_range, args, false);
            }
            Some(Method::Trait(_, f)) => {
                let of = self.hir.tys.peel(self.types.of(receiver));
                if matches!(self.hir.tys.kind(of), TyKind::Dyn(_)) {
                    // §15: calls through `dyn` add nothing.
                    self.args(args);
                } else {
                    self.user_call(*f, name_range, args, false);
                }
            }
            Some(Method::FieldCall | Method::Error) => self.args(args),
            Some(Method::Builtin { .. } | Method::Family(_) | Method::Opaque) | None => {
                let text = self.hir.text(name);
                self.add(EffectSet::of_method(text), body.expr(id).range);
                if HIGHER_ORDER.contains(&text) {
                    self.pass(Taker::Builtin(name), args);
                } else {
                    self.args(args);
                }
            }
        }
    }

    fn args(&mut self, args: List<Arg>) {
        for a in self.body.args_of(args) {
            self.expr(a.value);
        }
    }

    /// Arguments of something that passes the effects of closures on.
    fn pass(&mut self, taker: Taker, args: List<Arg>) {
        for a in self.body.args_of(args) {
            let recorded = self.caller.filter(|_| self.covered == 0);
            let closure = matches!(self.body.expr(a.value).kind, ExprKind::Lambda { .. });
            self.covered += u32::from(closure);
            self.expr(a.value);
            self.covered -= u32::from(closure);
            let Some(node) = self.closure(a.value) else {
                continue;
            };
            self.found.graph.edge(self.node, node);
            if let Some(caller) = recorded {
                self.found.passed.push(Passed {
                    caller,
                    taker,
                    range: self.body.expr(a.value).range,
                    node,
                });
            }
        }
    }

    fn user_call(&mut self, f: FnId, range: TextRange, args: List<Arg>, by_path: bool) {
        self.found.graph.edge(self.node, f.0);
        let callee = self.hir.function(f);
        let rows = callee.effects.as_ref().map_or(0, |e| e.rows.len());
        if rows == 0 {
            return self.args(args);
        }
        self.pass(Taker::User(f), args);
        if rows < 2 {
            return;
        }
        let given = self.body.args_of(args);
        // `Type.method(receiver, …)` has the receiver among the arguments.
        let skip = usize::from(
            by_path && callee.self_param.is_some() && given.len() == callee.params.len() + 1,
        );
        if given.len() != callee.params.len() + skip {
            return;
        }
        let closures = given[skip..]
            .iter()
            .enumerate()
            .filter(|(i, a)| {
                let ty = self.all.params.get(f.index()).and_then(|p| p.get(*i));
                matches!(self.body.expr(a.value).kind, ExprKind::Lambda { .. })
                    || ty.is_some_and(|t| {
                        matches!(
                            self.hir.tys.kind(self.hir.tys.peel(*t)),
                            TyKind::Fn(..) | TyKind::Unknown
                        )
                    })
            })
            .count();
        self.found.row_calls.push(RowCall {
            body: self.id,
            callee: f,
            range,
            closures,
        });
    }
}

/// The function that a call comes to, if it is one of the program.
pub(crate) fn called(types: &BodyTypes, body: &Body, call: ExprId, callee: ExprId) -> Option<FnId> {
    match body.expr(callee).kind {
        ExprKind::Path(Res::Fn(f) | Res::AgentMethod(f)) => Some(f),
        ExprKind::Path(_) => types
            .callee
            .get(&call)
            .or_else(|| types.callee.get(&callee))
            .copied(),
        _ => None,
    }
}

/// The path at the root of `path.field.field`.
fn path_root(body: &Body, mut id: ExprId) -> Option<ExprId> {
    loop {
        match body.expr(id).kind {
            ExprKind::Path(_) => return Some(id),
            ExprKind::Field { base, .. } | ExprKind::TupleField { base, .. } => id = base,
            _ => return None,
        }
    }
}

/// The first name of a path as it is written.
fn spelled_name<'a>(hir: &'a Hir, body: &Body, path: ExprId) -> Option<&'a str> {
    let text = hir.text_of(body.file, body.expr(path).range);
    let end = text
        .find(|c: char| !(c == '_' || c.is_alphanumeric()))
        .unwrap_or(text.len());
    Some(&text[..end]).filter(|t| !t.is_empty())
}

/// The first name of a path of several names, as it is written.
fn spelled_head<'a>(hir: &'a Hir, body: &Body, range: TextRange) -> Option<&'a str> {
    let text = hir.text_of(body.file, range);
    let end = text.find(|c: char| !(c == '_' || c.is_alphanumeric()))?;
    let (head, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let dotted = rest.starts_with('.') || rest.starts_with("::");
    (dotted && !head.is_empty()).then_some(head)
}
