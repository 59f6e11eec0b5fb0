//! The direct parts of an expression, in the order of evaluation.
//! Must not follow patterns or types; neither holds code.

use super::{Body, ExprId, ExprKind, Stmt};

/// Calls `each` with every expression directly inside `id`, in the order of evaluation.
pub(crate) fn children(body: &Body, id: ExprId, each: &mut dyn FnMut(ExprId)) {
    match body.expr(id).kind {
        ExprKind::Missing | ExprKind::Lit(_) | ExprKind::Path(_) | ExprKind::Continue => {}
        ExprKind::Tuple(l) | ExprKind::Array(l) | ExprKind::StdMacro { args: l, .. } => {
            body.exprs_of(l).iter().for_each(|e| each(*e));
        }
        ExprKind::Repeat { elem: a, count: b }
        | ExprKind::Index { base: a, index: b }
        | ExprKind::Binary { lhs: a, rhs: b, .. }
        | ExprKind::Assign {
            place: a, value: b, ..
        }
        | ExprKind::Range {
            low: a, high: b, ..
        }
        | ExprKind::While { cond: a, body: b }
        | ExprKind::For {
            iter: a, body: b, ..
        } => {
            each(a);
            each(b);
        }
        ExprKind::Block { stmts, tail } => {
            for s in body.stmts_of(stmts) {
                match s {
                    Stmt::Let { init, .. } => init.iter().for_each(|e| each(*e)),
                    Stmt::Expr(e) => each(*e),
                }
            }
            tail.iter().for_each(|e| each(*e));
        }
        ExprKind::If { cond, then, els } => {
            each(cond);
            each(then);
            els.iter().for_each(|e| each(*e));
        }
        ExprKind::Match { scrutinee, arms } => {
            each(scrutinee);
            for a in body.arms_of(arms) {
                a.guard.iter().for_each(|e| each(*e));
                each(a.body);
            }
        }
        ExprKind::Return(e) | ExprKind::Break(e) => e.iter().for_each(|e| each(*e)),
        ExprKind::Region { body: e, .. }
        | ExprKind::Let { value: e, .. }
        | ExprKind::Loop { body: e }
        | ExprKind::Lambda { body: e, .. }
        | ExprKind::Field { base: e, .. }
        | ExprKind::TupleField { base: e, .. }
        | ExprKind::Deadline(e)
        | ExprKind::Join(e)
        | ExprKind::Run(e)
        | ExprKind::Propagate(e)
        | ExprKind::Unary { operand: e, .. }
        | ExprKind::Ref { operand: e, .. }
        | ExprKind::Move(e)
        | ExprKind::Cast { operand: e, .. } => each(e),
        ExprKind::StructLit { fields, .. } => {
            body.inits_of(fields).iter().for_each(|f| each(f.value));
        }
        ExprKind::MapLit { entries, .. } => {
            for (k, v) in body.pairs_of(entries) {
                each(*k);
                each(*v);
            }
        }
        ExprKind::Call { callee, args, .. } => {
            each(callee);
            body.args_of(args).iter().for_each(|a| each(a.value));
        }
        ExprKind::MethodCall {
            receiver: e, args, ..
        }
        | ExprKind::Send {
            target: e, args, ..
        }
        | ExprKind::Ask {
            target: e, args, ..
        } => {
            each(e);
            body.args_of(args).iter().for_each(|a| each(a.value));
        }
        ExprKind::Spawn { args, .. } => {
            body.args_of(args).iter().for_each(|a| each(a.value));
        }
    }
}
