//! Arithmetic faults of constants found by evaluating them (MT2001; language.md §22, [R:G52]).
//! Must not report what it cannot evaluate: anything beyond integers, `Bool`, branches and const-fn calls is
//! unknown.

mod numbers;

use syntax::TextRange;

use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::hir::*;
use crate::infer::Types;
use crate::ty::{IntTy, TyKind};
use crate::unfinished::{Unfinished, on_stack};
use numbers::{overflow, wrap};

/// Steps one constant may take.
const MAX_STEPS: u32 = 100_000;

/// Calls within calls, as at run time (§25.4).
const MAX_DEPTH: u32 = 1000;

/// Expressions within each other, those of callers included; what nests deeper is unknown.
const MAX_NESTING: u32 = 20_000;

/// Constants that may need each other on the caller's stack.
const FEW: usize = 64;

/// Bytes of stack for that many in debug builds; its pages are only touched as needed.
const STACK: usize = 256 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Int(i128),
    Bool(bool),
}

/// Why there is no value.
enum Stop {
    Unknown,
    /// Where in the body at hand, what happened, and the trap it would be at run time.
    Fault(TextRange, String, &'static str),
    Return(Value),
    /// A constant that needs its own value.
    Cycle(ConstId),
}

/// What is known of a constant.
#[derive(Debug, Clone, Copy)]
enum Known {
    New,
    Working,
    Done(Option<Value>),
}

struct Eval<'a> {
    hir: &'a Hir,
    types: &'a Types,
    steps: u32,
    depth: u32,
    nesting: u32,
    /// By constant.
    known: Vec<Known>,
}

struct Frame<'a> {
    id: BodyId,
    body: &'a Body,
    locals: Vec<Option<Value>>,
}

/// Evaluates every constant of a package, on a stack of its own if there are calls or chains to follow.
///
/// # Errors
/// Where there is no such stack.
pub(crate) fn check(hir: &Hir, types: &Types, sink: &mut Sink) -> Result<(), Unfinished> {
    if hir.consts.len() <= FEW && !hir.fns.iter().any(|f| f.is_const) {
        evaluate(hir, types, sink);
        return Ok(());
    }
    on_stack(STACK, || evaluate(hir, types, sink))
}

fn evaluate(hir: &Hir, types: &Types, sink: &mut Sink) {
    let mut e = Eval {
        hir,
        types,
        steps: 0,
        depth: 0,
        nesting: 0,
        known: vec![Known::New; hir.consts.len()],
    };
    for (i, c) in hir.consts.iter().enumerate() {
        let Some(id) = c.body else { continue };
        (e.steps, e.depth, e.nesting) = (0, 0, 0);
        match e.constant(ConstId(i as u32)) {
            Err(Stop::Fault(range, what, trap)) => {
                let d = Diagnostic::error(2001, hir.body(id).file, range, what);
                let found = hir.text_of(hir.body(id).file, range).to_owned();
                sink.push(
                    d.note(format!("at run time this would trap with {trap}"))
                        .hint(FixHint::Facts(vec![("expression", found)])),
                );
            }
            Err(Stop::Cycle(of)) => {
                if let Some(id) = hir.consts[of.index()].body {
                    let body = hir.body(id);
                    let name = hir.text(hir.consts[of.index()].head.name);
                    let title = format!("the constant `{name}` needs its own value");
                    let range = body.expr(body.root).range;
                    sink.push(Diagnostic::error(2001, body.file, range, title));
                }
                for k in &mut e.known {
                    if let Known::Working = k {
                        *k = Known::New;
                    }
                }
                e.known[of.index()] = Known::Done(None);
            }
            Ok(_) | Err(Stop::Unknown | Stop::Return(_)) => {}
        }
        if let Known::Working = e.known[i] {
            e.known[i] = Known::Done(None);
        }
    }
}

impl<'a> Eval<'a> {
    fn constant(&mut self, c: ConstId) -> Result<Value, Stop> {
        match self.known[c.index()] {
            Known::Done(v) => return v.ok_or(Stop::Unknown),
            Known::Working => return Err(Stop::Cycle(c)),
            Known::New => self.known[c.index()] = Known::Working,
        }
        let id = self.hir.consts[c.index()].body.ok_or(Stop::Unknown)?;
        let body = self.hir.body(id);
        let mut frame = Frame {
            id,
            body,
            locals: vec![None; body.locals.len()],
        };
        let v = self.expr(&mut frame, body.root)?;
        self.known[c.index()] = Known::Done(Some(v));
        Ok(v)
    }

    fn int_ty(&self, f: &Frame<'_>, e: ExprId) -> Result<IntTy, Stop> {
        let ty = self.types.body(f.id).of(e);
        match self.hir.tys.kind(self.hir.tys.peel(ty)) {
            TyKind::Int(t) => Ok(t),
            _ => Err(Stop::Unknown),
        }
    }

    fn expr(&mut self, f: &mut Frame<'a>, e: ExprId) -> Result<Value, Stop> {
        if self.nesting >= MAX_NESTING {
            return Err(Stop::Unknown);
        }
        self.nesting += 1;
        let found = self.value(f, e);
        self.nesting -= 1;
        found
    }

    fn value(&mut self, f: &mut Frame<'a>, e: ExprId) -> Result<Value, Stop> {
        let body = f.body;
        let x = body.expr(e);
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let what = "this constant takes more than 100,000 steps".to_owned();
            return Err(Stop::Fault(x.range, what, "MT5009"));
        }
        match x.kind {
            ExprKind::Lit(Lit::Int(n, _)) => {
                let t = self.int_ty(f, e)?;
                if !t.holds(n, false) {
                    return Err(Stop::Unknown);
                }
                i128::try_from(n).ok().map(Value::Int).ok_or(Stop::Unknown)
            }
            ExprKind::Lit(Lit::Bool(b)) => Ok(Value::Bool(b)),
            ExprKind::Path(Res::Local(l)) => f.locals[l.index()].ok_or(Stop::Unknown),
            ExprKind::Path(Res::Const(c)) => self.constant_in(c),
            ExprKind::Block { stmts, tail } => {
                for s in body.stmts_of(stmts) {
                    self.stmt(f, s)?;
                }
                self.expr(f, tail.ok_or(Stop::Unknown)?)
            }
            ExprKind::If { cond, then, els } => {
                let els = els.ok_or(Stop::Unknown)?;
                match self.expr(f, cond)? {
                    Value::Bool(true) => self.expr(f, then),
                    Value::Bool(false) => self.expr(f, els),
                    Value::Int(_) => Err(Stop::Unknown),
                }
            }
            ExprKind::Match { scrutinee, arms } => {
                let v = self.expr(f, scrutinee)?;
                for arm in body.arms_of(arms) {
                    if !self.matches(f, arm.pat, v)? {
                        continue;
                    }
                    if let Some(g) = arm.guard
                        && self.expr(f, g)? != Value::Bool(true)
                    {
                        continue;
                    }
                    return self.expr(f, arm.body);
                }
                Err(Stop::Unknown)
            }
            ExprKind::Return(Some(v)) => Err(Stop::Return(self.expr(f, v)?)),
            ExprKind::Unary { op, operand } => self.unary(f, e, op, operand),
            ExprKind::Binary { op, lhs, rhs, .. } => self.binary(f, e, op, lhs, rhs),
            ExprKind::Cast { operand, .. } => {
                let to = self.types.body(f.id).of(e);
                let v = match body.expr(operand).kind {
                    ExprKind::Lit(Lit::Int(n, _)) => {
                        Value::Int(i128::try_from(n).ok().ok_or(Stop::Unknown)?)
                    }
                    _ => self.expr(f, operand)?,
                };
                match (self.hir.tys.kind(to), v) {
                    (TyKind::Int(t), Value::Int(n)) => {
                        wrap(n, t).map(Value::Int).ok_or(Stop::Unknown)
                    }
                    (TyKind::Int(_), Value::Bool(b)) => Ok(Value::Int(i128::from(b))),
                    (TyKind::Bool, Value::Int(n)) => Ok(Value::Bool(n != 0)),
                    _ => Err(Stop::Unknown),
                }
            }
            ExprKind::Call { callee, args, .. } => self.call(f, x.range, callee, args),
            _ => Err(Stop::Unknown),
        }
    }

    /// A fault of another constant is reported there.
    fn constant_in(&mut self, c: ConstId) -> Result<Value, Stop> {
        if self.depth >= MAX_DEPTH {
            return Err(Stop::Unknown);
        }
        let new = matches!(self.known[c.index()], Known::New);
        self.depth += 1;
        let found = self.constant(c);
        self.depth -= 1;
        match found {
            Ok(v) => Ok(v),
            Err(Stop::Cycle(of)) => Err(Stop::Cycle(of)),
            Err(_) => {
                // It was evaluated out of turn: let its own turn report the fault.
                if new {
                    self.known[c.index()] = Known::New;
                }
                Err(Stop::Unknown)
            }
        }
    }

    fn stmt(&mut self, f: &mut Frame<'a>, s: &Stmt) -> Result<(), Stop> {
        match *s {
            Stmt::Let {
                pat, init: Some(v), ..
            } => {
                let v = self.expr(f, v)?;
                match self.matches(f, pat, v)? {
                    true => Ok(()),
                    false => Err(Stop::Unknown),
                }
            }
            Stmt::Let { .. } => Err(Stop::Unknown),
            Stmt::Expr(e) => match f.body.expr(e).kind {
                ExprKind::If {
                    cond,
                    then,
                    els: None,
                } => {
                    if self.expr(f, cond)? == Value::Bool(true) {
                        // Only a jump out of it can matter here.
                        self.expr(f, then)?;
                    }
                    Ok(())
                }
                _ => self.expr(f, e).map(|_| ()),
            },
        }
    }

    fn matches(&mut self, f: &mut Frame<'a>, p: PatId, v: Value) -> Result<bool, Stop> {
        let body = f.body;
        match body.pat(p).kind {
            PatKind::Wild => Ok(true),
            PatKind::Bind {
                local,
                sub: None,
                maybe: false,
            } => {
                f.locals[local.index()] = Some(v);
                Ok(true)
            }
            PatKind::Lit {
                lit: Lit::Bool(b), ..
            } => Ok(v == Value::Bool(b)),
            PatKind::Lit {
                lit: Lit::Int(n, _),
                neg,
                ..
            } => {
                let n = i128::try_from(n).ok().ok_or(Stop::Unknown)?;
                Ok(v == Value::Int(if neg { -n } else { n }))
            }
            PatKind::Range {
                low: Some(a),
                high: Some(b),
                inclusive,
                ..
            } => match v {
                Value::Int(n) => Ok(a <= n && (n < b || (inclusive && n == b))),
                Value::Bool(_) => Err(Stop::Unknown),
            },
            PatKind::Path(PatRes::Const(c)) => Ok(self.constant_in(c)? == v),
            PatKind::Or(list) => {
                for q in body.pats_of(list) {
                    if self.matches(f, *q, v)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Err(Stop::Unknown),
        }
    }

    fn unary(
        &mut self,
        f: &mut Frame<'a>,
        e: ExprId,
        op: UnOp,
        operand: ExprId,
    ) -> Result<Value, Stop> {
        if let (UnOp::Neg, ExprKind::Lit(Lit::Int(n, _))) = (op, f.body.expr(operand).kind) {
            // The sign is folded first; the range of the literal is checked elsewhere.
            return i128::try_from(n)
                .ok()
                .map(|n| Value::Int(-n))
                .ok_or(Stop::Unknown);
        }
        let range = f.body.expr(e).range;
        match (op, self.expr(f, operand)?) {
            (UnOp::Not, Value::Bool(b)) => Ok(Value::Bool(!b)),
            (UnOp::Neg, Value::Int(n)) => {
                let t = self.int_ty(f, e)?;
                self.fit(-n, t, range)
            }
            _ => Err(Stop::Unknown),
        }
    }

    fn fit(&self, n: i128, t: IntTy, range: TextRange) -> Result<Value, Stop> {
        if t.holds(n.unsigned_abs(), n < 0) {
            return Ok(Value::Int(n));
        }
        Err(overflow(t, range))
    }

    fn binary(
        &mut self,
        f: &mut Frame<'a>,
        e: ExprId,
        op: BinOp,
        lhs: ExprId,
        rhs: ExprId,
    ) -> Result<Value, Stop> {
        let range = f.body.expr(e).range;
        let a = self.expr(f, lhs)?;
        match (op, a) {
            (BinOp::AndAnd, Value::Bool(false)) => return Ok(a),
            (BinOp::OrOr, Value::Bool(true)) => return Ok(a),
            _ => {}
        }
        let b = self.expr(f, rhs)?;
        match op {
            BinOp::Eq => return Ok(Value::Bool(a == b)),
            BinOp::Ne => return Ok(Value::Bool(a != b)),
            _ => {}
        }
        let (x, y) = match (a, b) {
            (Value::Int(x), Value::Int(y)) => (x, y),
            (Value::Bool(x), Value::Bool(y)) => {
                return match op {
                    BinOp::AndAnd | BinOp::And => Ok(Value::Bool(x && y)),
                    BinOp::OrOr | BinOp::Or => Ok(Value::Bool(x || y)),
                    BinOp::Xor => Ok(Value::Bool(x != y)),
                    _ => Err(Stop::Unknown),
                };
            }
            _ => return Err(Stop::Unknown),
        };
        match op {
            BinOp::Lt => return Ok(Value::Bool(x < y)),
            BinOp::Le => return Ok(Value::Bool(x <= y)),
            BinOp::Gt => return Ok(Value::Bool(x > y)),
            BinOp::Ge => return Ok(Value::Bool(x >= y)),
            _ => {}
        }
        let t = self.int_ty(f, e)?;
        let found = match op {
            BinOp::Add => x.checked_add(y),
            BinOp::Sub => x.checked_sub(y),
            BinOp::Mul => x.checked_mul(y),
            BinOp::Div | BinOp::Rem if y == 0 => {
                return Err(Stop::Fault(
                    range,
                    "this constant divides by zero".to_owned(),
                    "MT5003",
                ));
            }
            BinOp::Div => x.checked_div(y),
            // The quotient of the least value and -1 overflows, so its remainder traps as well (§25.1).
            BinOp::Rem if y == -1 && !t.holds(x.unsigned_abs(), x > 0) => None,
            BinOp::Rem => x.checked_rem(y),
            BinOp::And => Some(x & y),
            BinOp::Or => Some(x | y),
            BinOp::Xor => Some(x ^ y),
            BinOp::Shl | BinOp::Shr => {
                let n = u32::try_from(y).ok().filter(|n| *n < t.bits());
                let Some(n) = n else {
                    return Err(overflow(t, range));
                };
                if op == BinOp::Shr {
                    Some(x >> n)
                } else {
                    // Bits shifted out are lost; that is no overflow.
                    return x
                        .checked_shl(n)
                        .and_then(|v| wrap(v, t))
                        .map(Value::Int)
                        .ok_or(Stop::Unknown);
                }
            }
            _ => return Err(Stop::Unknown),
        };
        match found {
            Some(n) => self.fit(n, t, range),
            // Beyond 128 bits of sign and magnitude: only `U128` has values there.
            None if t == IntTy::U128 => Err(Stop::Unknown),
            None => Err(overflow(t, range)),
        }
    }

    fn call(
        &mut self,
        f: &mut Frame<'a>,
        range: TextRange,
        callee: ExprId,
        args: List<Arg>,
    ) -> Result<Value, Stop> {
        let ExprKind::Path(Res::Fn(id)) = f.body.expr(callee).kind else {
            return Err(Stop::Unknown);
        };
        let func = self.hir.function(id);
        let (true, Some(body_id)) = (func.is_const, func.body) else {
            return Err(Stop::Unknown);
        };
        let given = f.body.args_of(args);
        if given.len() != func.params.len() || given.iter().any(|a| a.name.is_some()) {
            return Err(Stop::Unknown);
        }
        if self.depth >= MAX_DEPTH {
            let what = format!("the calls in this constant nest more than {MAX_DEPTH} deep");
            return Err(Stop::Fault(range, what, "MT5001"));
        }
        let body = self.hir.body(body_id);
        let mut inner = Frame {
            id: body_id,
            body,
            locals: vec![None; body.locals.len()],
        };
        for (a, p) in given.iter().zip(&body.params) {
            let v = self.expr(f, a.value)?;
            if !self.matches(&mut inner, *p, v)? {
                return Err(Stop::Unknown);
            }
        }
        self.depth += 1;
        let found = self.expr(&mut inner, body.root);
        self.depth -= 1;
        match found {
            Err(Stop::Return(v)) => Ok(v),
            // What goes wrong inside is reported at the call in the constant.
            Err(Stop::Fault(_, what, trap)) => Err(Stop::Fault(range, what, trap)),
            other => other,
        }
    }
}
