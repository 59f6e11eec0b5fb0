//! The walk over a body in the order of evaluation: scopes, branches, loops and what each form does with its
//! parts (language.md §12.3, §12.4). Must not hold the table of uses (`uses`) nor calls (`calls`).

use rustc_hash::{FxHashMap, FxHashSet};
use syntax::TextRange;

use super::live::Live;
use super::place::{Record, State};
use super::shape::Shapes;
use crate::diagnostic::Sink;
use crate::hir::*;
use crate::infer::{BodyTypes, Types};
use crate::package::Options;
use crate::ty::{Ty, TyKind};

/// Rounds of one loop in a row (§12.4 rule 7).
pub(super) const MAX_ROUNDS: u32 = 16;

/// Expressions walked per expression of the body before loops get one round only.
pub(super) const MAX_WORK: u64 = 64;

/// Entries of states copied or looked through per body, before it is left unchecked from there on. Only bodies
/// with many thousands of moves inside branches, or of borrows alive at once, come near.
const MAX_COPIED: u64 = 30_000_000;

/// What the place of an expression does with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Only reads it.
    Read,
    /// A move position.
    Move,
    /// A move position whose value cannot carry a reference out, as the tail of a function without one in
    /// its result.
    Last,
    /// Reads and forgets it.
    Unused,
}

impl Mode {
    pub(super) fn moves(self) -> bool {
        matches!(self, Self::Move | Self::Last)
    }

    pub(super) fn keeps(self) -> bool {
        matches!(self, Self::Read | Self::Move)
    }
}

/// A borrow that a value carries and nobody holds yet.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pend {
    /// The temporary record of this expression.
    Temp(ExprId),
    /// What the variable that was read holds; becomes a record again with the next holder.
    Copy(Record),
}

/// All borrows that a value carries.
pub(super) type Pending = Vec<Pend>;

pub(super) struct Around {
    /// Number of locals in scope at its start.
    pub(super) mark: usize,
    pub(super) breaks: State,
    pub(super) continues: State,
    /// What the values of its `break`s carry.
    pub(super) value: Pending,
}

pub(super) struct Walker<'a, 's> {
    pub(super) hir: &'a Hir,
    pub(super) all: &'a Types,
    pub(super) types: &'a BodyTypes,
    pub(super) options: &'a Options,
    pub(super) body: &'a Body,
    pub(super) agent: Option<AgentId>,
    pub(super) shapes: &'s mut Shapes<'a>,
    pub(super) sink: &'s mut Sink,
    pub(super) live: Live,
    pub(super) state: State,
    pub(super) reported: FxHashSet<(u16, ExprId)>,
    /// The call or statement around the current expression.
    pub(super) site: TextRange,
    /// The last point passed, see [`Live`].
    pub(super) now: u32,
    /// Locals in scope, in order of declaration.
    pub(super) scope: Vec<LocalId>,
    /// By local: its index in `scope`.
    pub(super) position: Vec<usize>,
    /// Locals bound by `match`, `if let` and `while let`: copies of parts of something else.
    pub(super) lent: Vec<bool>,
    /// Locals declared without a value: where their declared type ends.
    pub(super) valueless: FxHashMap<LocalId, u32>,
    /// Fields of literals that are written as their name alone.
    pub(super) shorthand: FxHashSet<ExprId>,
    pub(super) loops: Vec<Around>,
    /// Index in `scope` where the innermost function or lambda begins.
    pub(super) frame: usize,
    /// Whether the result of the innermost function or lambda holds references.
    pub(super) lends: bool,
    /// By loop: the state at its head so far. A loop inside others begins there, so that rounds of the outer
    /// ones do not multiply with its own.
    pub(super) heads: FxHashMap<ExprId, State>,
    pub(super) work: u64,
    copied: u64,
}

impl<'a, 's> Walker<'a, 's> {
    pub(super) fn new(
        hir: &'a Hir,
        types: &'a Types,
        options: &'a Options,
        id: BodyId,
        shapes: &'s mut Shapes<'a>,
        sink: &'s mut Sink,
    ) -> Self {
        let body = hir.body(id);
        let agent = match body.owner {
            Owner::State(a, _) | Owner::Handler(a, _) | Owner::Init(a) => Some(a),
            Owner::Fn(f) => match hir.function(f).kind {
                FnKind::Agent(a) => Some(a),
                _ => None,
            },
            Owner::Const(_) | Owner::Sandbox(_) => None,
        };
        Self {
            hir,
            all: types,
            types: types.body(id),
            options,
            body,
            agent,
            shapes,
            sink,
            live: Live::of(body),
            state: State::new(),
            reported: FxHashSet::default(),
            site: body.expr(body.root).range,
            now: 0,
            scope: Vec::new(),
            position: vec![usize::MAX; body.locals.len()],
            lent: vec![false; body.locals.len()],
            valueless: FxHashMap::default(),
            shorthand: FxHashSet::default(),
            loops: Vec::new(),
            frame: 0,
            lends: false,
            heads: FxHashMap::default(),
            work: 0,
            copied: 0,
        }
    }

    pub(super) fn run(mut self) {
        let body = self.body;
        if let Some(l) = body.self_local {
            self.declare(l);
        }
        for p in &body.params {
            for l in self.bindings(*p) {
                self.declare(l);
            }
        }
        self.lends = self.result().is_some_and(|t| self.shapes.has_reference(t));
        let value = self.walk(body.root, self.last_mode());
        self.leaves(&value);
    }

    /// How the tail of the innermost function or lambda is used.
    pub(super) fn last_mode(&self) -> Mode {
        if self.lends { Mode::Move } else { Mode::Last }
    }

    /// The declared result of the body, if it has one.
    pub(super) fn result(&self) -> Option<Ty> {
        match self.body.owner {
            Owner::Fn(f) => Some(self.hir.function(f).ret),
            Owner::Handler(a, i) => self.hir.agents[a.index()].handlers[i as usize].ret,
            _ => None,
        }
    }

    // ---- expressions

    /// Evaluates an expression; the answer is what its value carries.
    pub(super) fn walk(&mut self, e: ExprId, mode: Mode) -> Pending {
        if !self.state.reachable {
            return Vec::new();
        }
        self.work += 1;
        if self.copied > MAX_COPIED {
            self.state.reachable = false;
            return Vec::new();
        }
        let value = self.form(e, mode);
        let value = self.settle(e, value);
        if self.types.of(e) == Ty::NEVER {
            self.state.reachable = false;
        }
        value
    }

    /// Accounts for work that grows with a state.
    pub(super) fn pay(&mut self, entries: usize) {
        self.work += entries as u64 / 16;
        self.copied += entries as u64;
    }

    /// What a value without references carried ends here (§12.4 rule 4).
    pub(super) fn settle(&mut self, e: ExprId, value: Pending) -> Pending {
        if value.is_empty() || self.shapes.has_reference(self.types.of(e)) {
            return value;
        }
        self.drop_all(&value);
        Vec::new()
    }

    pub(super) fn drop_all(&mut self, value: &[Pend]) {
        for p in value {
            if let Pend::Temp(e) = p {
                self.state.end(*e);
            }
        }
    }

    /// Evaluates it and forgets the value.
    pub(super) fn walk_off(&mut self, e: ExprId) {
        let value = self.walk(e, Mode::Read);
        self.drop_all(&value);
    }

    pub(super) fn form(&mut self, e: ExprId, mode: Mode) -> Pending {
        let body = self.body;
        let kind = body.expr(e).kind;
        match kind {
            ExprKind::Missing | ExprKind::Lit(_) => Vec::new(),
            ExprKind::Path(Res::Local(_) | Res::State(..) | Res::Ctor(..))
            | ExprKind::Field { .. }
            | ExprKind::TupleField { .. }
            | ExprKind::Index { .. }
            | ExprKind::Unary {
                op: UnOp::Deref, ..
            } => self.use_place(e, mode, false),
            ExprKind::Path(_) => Vec::new(),
            ExprKind::Tuple(l) => {
                let mut value = Vec::new();
                for x in body.exprs_of(l) {
                    value.extend(self.walk(*x, Mode::Move));
                }
                value
            }
            ExprKind::Array(l) => {
                let slot = self.slot_mode(self.element(self.types.of(e)));
                let mut value = Vec::new();
                for x in body.exprs_of(l) {
                    value.extend(self.walk(*x, slot));
                }
                value
            }
            ExprKind::Repeat { elem, count } => {
                let value = self.walk(elem, Mode::Move);
                self.walk_off(count);
                value
            }
            ExprKind::Block { stmts, tail } => self.block(stmts, tail, mode),
            ExprKind::Region { kind, body: inner } => match kind {
                Region::Detach => {
                    self.apart(&[], inner, false);
                    Vec::new()
                }
                Region::Arena => {
                    self.arena(inner);
                    self.walk(inner, mode)
                }
                Region::Unsafe | Region::Task | Region::Budget | Region::Sandbox => {
                    self.walk(inner, mode)
                }
            },
            ExprKind::If { cond, then, els } => self.if_else(e, cond, then, els, mode),
            ExprKind::Let { pat, value } => {
                let carried = self.peek(value);
                self.bind(pat, &carried, true);
                Vec::new()
            }
            ExprKind::Match { scrutinee, arms } => self.match_arms(e, scrutinee, arms, mode),
            ExprKind::Loop { body } => self.repeat(e, None, None, body),
            ExprKind::While { cond, body } => self.repeat(e, Some(cond), None, body),
            ExprKind::For { pat, iter, body } => {
                let value = self.peek(iter);
                self.repeat(e, None, Some(pat), body);
                self.drop_all(&value);
                Vec::new()
            }
            ExprKind::Return(v) => {
                if let Some(v) = v {
                    let value = self.walk(v, self.last_mode());
                    self.leaves(&value);
                }
                self.state.reachable = false;
                Vec::new()
            }
            ExprKind::Break(v) => {
                let value = v.map(|v| self.walk(v, Mode::Move)).unwrap_or_default();
                self.jump(true, value);
                Vec::new()
            }
            ExprKind::Continue => {
                self.jump(false, Vec::new());
                Vec::new()
            }
            ExprKind::Lambda {
                params, body: b, ..
            } => {
                let lends = match self.hir.tys.kind(self.types.of(e)) {
                    TyKind::Fn(_, ret) => self.shapes.has_reference(ret),
                    _ => false,
                };
                self.apart(body.pats_of(params), b, lends);
                Vec::new()
            }
            ExprKind::StructLit { head, fields, .. } => {
                let mut value = Vec::new();
                for f in body.inits_of(fields) {
                    if body.expr(f.value).range == f.name_range {
                        self.shorthand.insert(f.value);
                    }
                    let slot = self.field_type(head, f.name);
                    let mode = slot.map_or(Mode::Move, |t| self.slot_mode(t));
                    value.extend(self.walk(f.value, mode));
                }
                value
            }
            ExprKind::MapLit { entries, .. } => {
                let mut value = Vec::new();
                for (k, v) in body.pairs_of(entries) {
                    value.extend(self.walk(*k, Mode::Move));
                    value.extend(self.walk(*v, Mode::Move));
                }
                value
            }
            ExprKind::Call { callee, args, .. } => self.call(e, callee, args),
            ExprKind::MethodCall { receiver, args, .. } => self.method_call(e, receiver, args),
            ExprKind::Spawn { target, args } => self.spawn(e, target, args),
            ExprKind::Send {
                target, msg, args, ..
            }
            | ExprKind::Ask {
                target, msg, args, ..
            } => self.message(e, target, msg, args),
            ExprKind::Deadline(x) | ExprKind::Run(x) => self.walk(x, mode),
            ExprKind::Move(x) => self.walk(x, Mode::Move),
            ExprKind::Ref { mutable, operand } => self.reference(e, mutable, operand),
            ExprKind::Join(x)
            | ExprKind::Propagate(x)
            | ExprKind::Unary { operand: x, .. }
            | ExprKind::Cast { operand: x, .. } => self.walk(x, Mode::Read),
            ExprKind::Binary { op, lhs, rhs, .. } => self.binary(op, lhs, rhs),
            ExprKind::Assign {
                op, place, value, ..
            } => {
                self.assignment(e, op, place, value);
                Vec::new()
            }
            ExprKind::Range { low, high, .. } => {
                self.walk_off(low);
                self.walk_off(high);
                Vec::new()
            }
            ExprKind::StdMacro { args, .. } => {
                for a in body.exprs_of(args) {
                    let value = self.peek(*a);
                    self.drop_all(&value);
                }
                Vec::new()
            }
        }
    }

    pub(super) fn binary(&mut self, op: BinOp, lhs: ExprId, rhs: ExprId) -> Pending {
        match op {
            BinOp::AndAnd | BinOp::OrOr => {
                self.walk_off(lhs);
                let skipped = self.state.clone();
                self.walk_off(rhs);
                self.state =
                    std::mem::replace(&mut self.state, State::unreachable()).join(&skipped);
                Vec::new()
            }
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                let mut value = self.peek(lhs);
                value.extend(self.peek(rhs));
                value
            }
            _ => {
                let mut value = self.walk(lhs, Mode::Read);
                value.extend(self.walk(rhs, Mode::Read));
                value
            }
        }
    }

    /// Reads something without taking the value out of it, so that `*r` is fine.
    pub(super) fn peek(&mut self, e: ExprId) -> Pending {
        if !self.state.reachable {
            return Vec::new();
        }
        match self.body.expr(e).kind {
            ExprKind::Unary {
                op: UnOp::Deref, ..
            } => {
                let value = self.use_place(e, Mode::Read, true);
                self.settle(e, value)
            }
            _ => self.walk(e, Mode::Read),
        }
    }

    /// A move position for values of a type: what is copied into it is only read, also text for a `Str`
    /// ([R:G26]).
    pub(super) fn slot_mode(&self, slot: Ty) -> Mode {
        if slot != Ty::ERROR && slot != Ty::NEVER && self.shapes.is_copy(slot) {
            Mode::Read
        } else {
            Mode::Move
        }
    }

    pub(super) fn element(&self, ty: Ty) -> Ty {
        match self.hir.tys.kind(ty) {
            TyKind::Array(t, _)
            | TyKind::Slice(t)
            | TyKind::Vec(t)
            | TyKind::List(t)
            | TyKind::Set(t) => t,
            _ => Ty::UNKNOWN,
        }
    }

    pub(super) fn field_type(&self, head: LitHead, name: Name) -> Option<Ty> {
        let s = match head {
            LitHead::Struct(s) => s,
            LitHead::Ty(t) => match self.hir.tys.kind(t) {
                TyKind::Struct(s, _) => s,
                _ => return None,
            },
            _ => return None,
        };
        let fields = &self.hir.structs[s.index()].fields;
        fields.iter().find(|f| f.name == name).map(|f| f.ty)
    }
}
