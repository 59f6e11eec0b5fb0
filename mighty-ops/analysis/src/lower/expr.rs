//! Expressions to HIR, path forms excepted.
//! Must not infer.

use syntax::ast::{self, AstNode, Expr as AstExpr};
use syntax::{Node, SyntaxKind};

use super::body::{Cx, list};
use super::names::Usage;
use crate::hir::*;
use crate::resolve::prelude;
use crate::ty::FloatTy;

impl Cx<'_, '_> {
    /// An expression.
    pub(super) fn expr(&mut self, e: AstExpr<'_>) -> ExprId {
        let node = e.syntax();
        let kind = match e {
            AstExpr::Literal(l) => self.literal(l),
            AstExpr::PathExpr(_)
            | AstExpr::SelfExpr(_)
            | AstExpr::FieldExpr(_)
            | AstExpr::ScopeExpr(_)
            | AstExpr::TurbofishExpr(_) => {
                let p = self.prefix(e, Usage::Plain);
                return self.value(p, e);
            }
            AstExpr::ParenExpr(p) => return self.operand(p.inner(), node),
            AstExpr::AwaitExpr(a) => return self.operand(a.operand(), node),
            AstExpr::TupleExpr(t) => {
                let items: Vec<ExprId> = t.elements().map(|e| self.expr(e)).collect();
                ExprKind::Tuple(self.expr_list(&items))
            }
            AstExpr::ArrayExpr(a) => {
                let items: Vec<ExprId> = a.elements().map(|e| self.expr(e)).collect();
                ExprKind::Array(self.expr_list(&items))
            }
            AstExpr::RepeatExpr(r) => {
                let elem = self.operand(r.element(), node);
                let count = self.operand(r.count(), node);
                ExprKind::Repeat { elem, count }
            }
            AstExpr::Block(b) => return self.block(b),
            AstExpr::IfExpr(i) => return self.if_expr(i),
            AstExpr::MatchExpr(m) => self.match_expr(m),
            AstExpr::LoopExpr(l) => ExprKind::Loop {
                body: self.inner_block(l.body(), node),
            },
            AstExpr::WhileExpr(w) => {
                let mark = self.enter();
                self.depth += 1;
                let cond = self.condition(w.condition(), node);
                let body = self.opt_block(w.body(), node);
                self.depth -= 1;
                self.leave(mark);
                ExprKind::While { cond, body }
            }
            AstExpr::ForExpr(f) => {
                let iter = self.operand(f.iterable(), node);
                let mark = self.enter();
                self.depth += 1;
                let pat = match f.pattern() {
                    Some(p) => self.top_pat(p, LocalKind::Pattern, false),
                    None => self.add_pat(PatKind::Missing, f.range(), node),
                };
                let body = self.opt_block(f.body(), node);
                self.depth -= 1;
                self.leave(mark);
                ExprKind::For { pat, iter, body }
            }
            AstExpr::ReturnExpr(r) => ExprKind::Return(r.value().map(|v| self.expr(v))),
            AstExpr::BreakExpr(b) => ExprKind::Break(b.value().map(|v| self.expr(v))),
            AstExpr::ContinueExpr(_) => ExprKind::Continue,
            AstExpr::LambdaExpr(l) => self.lambda(l),
            AstExpr::StructLit(s) => self.struct_lit(s),
            AstExpr::MapLit(m) => self.map_lit(m),
            AstExpr::MacroCall(m) => return self.macro_call(m),
            AstExpr::SpawnExpr(s) => self.spawn(s),
            AstExpr::DetachExpr(d) => {
                let body = self.inner_block(d.body(), node);
                ExprKind::Region {
                    kind: Region::Detach,
                    body,
                }
            }
            AstExpr::JoinExpr(j) => ExprKind::Join(self.operand(j.inner(), node)),
            AstExpr::RunExpr(r) => ExprKind::Run(self.operand(r.inner(), node)),
            AstExpr::ArenaExpr(a) => {
                self.permissive += 1;
                let body = self.operand(a.body(), node);
                self.permissive -= 1;
                ExprKind::Region {
                    kind: Region::Arena,
                    body,
                }
            }
            AstExpr::TaskExpr(t) => {
                let body = self.opt_block(t.body(), node);
                ExprKind::Region {
                    kind: Region::Task,
                    body,
                }
            }
            AstExpr::BudgetExpr(b) => {
                self.permissive += 1;
                let body = self.operand(b.body(), node);
                self.permissive -= 1;
                ExprKind::Region {
                    kind: Region::Budget,
                    body,
                }
            }
            AstExpr::SandboxExpr(s) => {
                self.permissive += 1;
                let body = self.opt_block(s.body(), node);
                self.permissive -= 1;
                ExprKind::Region {
                    kind: Region::Sandbox,
                    body,
                }
            }
            AstExpr::UnsafeExpr(u) => {
                self.permissive += 1;
                let body = self.opt_block(u.body(), node);
                self.permissive -= 1;
                ExprKind::Region {
                    kind: Region::Unsafe,
                    body,
                }
            }
            AstExpr::PrefixExpr(p) => {
                let operand = self.operand(p.operand(), node);
                let op = match p.op_token().map(syntax::Token::kind) {
                    Some(SyntaxKind::Minus) => UnOp::Neg,
                    Some(SyntaxKind::Star) => UnOp::Deref,
                    _ => UnOp::Not,
                };
                ExprKind::Unary { op, operand }
            }
            AstExpr::RefExpr(r) => {
                let operand = self.operand(r.operand(), node);
                ExprKind::Ref {
                    mutable: r.mut_token().is_some(),
                    operand,
                }
            }
            AstExpr::MoveExpr(m) => ExprKind::Move(self.operand(m.operand(), node)),
            AstExpr::BinaryExpr(b) => {
                let lhs = self.operand(b.lhs(), node);
                let rhs = self.operand(b.rhs(), node);
                let token = b.op_token();
                let Some(op) = token.and_then(|t| binary_op(t.kind())) else {
                    return self.missing(node);
                };
                let op_range = self.at(token.map_or_else(|| node.range(), syntax::Token::range));
                ExprKind::Binary {
                    op,
                    op_range,
                    lhs,
                    rhs,
                }
            }
            AstExpr::AssignExpr(a) => {
                let place = self.operand(a.lhs(), node);
                let value = self.operand(a.rhs(), node);
                let token = a.op_token();
                let op = token.and_then(|t| compound_op(t.kind()));
                let op_range = self.at(token.map_or_else(|| node.range(), syntax::Token::range));
                ExprKind::Assign {
                    op,
                    op_range,
                    place,
                    value,
                }
            }
            AstExpr::RangeExpr(r) => {
                let low = self.operand(r.lhs(), node);
                let high = self.operand(r.rhs(), node);
                ExprKind::Range {
                    low,
                    high,
                    inclusive: r.is_inclusive(),
                }
            }
            AstExpr::CastExpr(c) => {
                let operand = self.operand(c.operand(), node);
                let Some(t) = c.ty() else {
                    return self.missing(node);
                };
                let ty = self.written_ty(t);
                ExprKind::Cast {
                    operand,
                    ty,
                    ty_range: self.at(t.range()),
                }
            }
            AstExpr::CallExpr(c) => return self.call(c),
            AstExpr::MethodCallExpr(m) => return self.method_call(m),
            AstExpr::IndexExpr(i) => {
                let base = self.operand(i.base(), node);
                let index = self.operand(i.index(), node);
                ExprKind::Index { base, index }
            }
            AstExpr::PropagateExpr(p) => ExprKind::Propagate(self.operand(p.operand(), node)),
            AstExpr::AskExpr(a) => {
                let target = self.operand(a.target(), node);
                let args = self.args(a.args(), false, false);
                let Some(t) = a.message() else {
                    return self.missing(node);
                };
                let msg = self.lower.name(t);
                ExprKind::Ask {
                    target,
                    msg,
                    msg_range: self.at(t.range()),
                    args,
                }
            }
            AstExpr::SendExpr(s) => {
                let target = self.operand(s.target(), node);
                let args = self.args(s.args(), false, false);
                let Some(t) = s.message() else {
                    return self.missing(node);
                };
                let msg = self.lower.name(t);
                ExprKind::Send {
                    target,
                    msg,
                    msg_range: self.at(t.range()),
                    args,
                }
            }
            AstExpr::DeadlineExpr(d) => ExprKind::Deadline(self.operand(d.operand(), node)),
        };
        self.add(kind, node)
    }

    fn operand(&mut self, e: Option<AstExpr<'_>>, node: Node<'_>) -> ExprId {
        match e {
            Some(e) => self.expr(e),
            None => self.missing(node),
        }
    }

    fn opt_block(&mut self, b: Option<ast::Block<'_>>, node: Node<'_>) -> ExprId {
        match b {
            Some(b) => self.block(b),
            None => self.missing(node),
        }
    }

    /// The body of a loop or of detached code.
    fn inner_block(&mut self, b: Option<ast::Block<'_>>, node: Node<'_>) -> ExprId {
        self.depth += 1;
        let body = self.opt_block(b, node);
        self.depth -= 1;
        body
    }

    fn literal(&mut self, l: ast::Literal<'_>) -> ExprKind {
        let file = self.scope.file;
        if self.inside.is_none() {
            let poison = &self.lower.files[file.index()].poison;
            if !poison.is_empty() && poison.binary_search(&l.range()).is_ok() {
                return ExprKind::Missing;
            }
        }
        literal(l.token()).map_or(ExprKind::Missing, ExprKind::Lit)
    }

    fn condition(&mut self, c: Option<ast::Condition<'_>>, node: Node<'_>) -> ExprId {
        match c {
            Some(ast::Condition::Expr(e)) => self.expr(e),
            Some(ast::Condition::Let(l)) => {
                let value = self.operand(l.value(), l.syntax());
                let pat = match l.pattern() {
                    Some(p) => self.top_pat(p, LocalKind::Pattern, false),
                    None => self.add_pat(PatKind::Missing, l.range(), l.syntax()),
                };
                self.add(ExprKind::Let { pat, value }, l.syntax())
            }
            None => self.missing(node),
        }
    }

    fn if_expr(&mut self, i: ast::IfExpr<'_>) -> ExprId {
        let node = i.syntax();
        let mark = self.enter();
        let cond = self.condition(i.condition(), node);
        let then = self.opt_block(i.then_block(), node);
        self.leave(mark);
        let els = i.else_branch().map(|e| match e {
            ast::ElseBranch::Block(b) => self.block(b),
            ast::ElseBranch::If(i) => self.if_expr(i),
        });
        self.add(ExprKind::If { cond, then, els }, node)
    }

    fn match_expr(&mut self, m: ast::MatchExpr<'_>) -> ExprKind {
        let scrutinee = self.operand(m.scrutinee(), m.syntax());
        let mut arms = Vec::new();
        for a in m.arms() {
            let mark = self.enter();
            let pat = match a.pattern() {
                Some(p) => self.top_pat(p, LocalKind::Pattern, false),
                None => self.add_pat(PatKind::Missing, a.range(), a.syntax()),
            };
            let guard = a.guard().map(|g| self.operand(g.condition(), g.syntax()));
            let body = self.operand(a.body(), a.syntax());
            self.leave(mark);
            arms.push(Arm {
                pat,
                guard,
                body,
                range: self.at(a.range()),
            });
        }
        ExprKind::Match {
            scrutinee,
            arms: list(&mut self.body.arms, &arms),
        }
    }

    fn lambda(&mut self, l: ast::LambdaExpr<'_>) -> ExprKind {
        let mark = self.enter();
        self.depth += 1;
        let mut params = Vec::new();
        for p in l.params().into_iter().flat_map(|l| l.params()) {
            let ty = p.ty().map(|t| self.written_ty(t));
            params.push(match p.pattern() {
                Some(pattern) => self.param_pat(pattern, LocalKind::LambdaParam, ty),
                None => self.add_pat(PatKind::Missing, p.range(), p.syntax()),
            });
        }
        let ret = l
            .ret_type()
            .and_then(ast::RetType::ty)
            .map(|t| self.written_ty(t));
        let body = self.operand(l.body(), l.syntax());
        self.depth -= 1;
        self.leave(mark);
        ExprKind::Lambda {
            params: self.pat_list(&params),
            ret,
            body,
        }
    }
}

/// A literal token's value.
pub(super) fn literal(token: ast::LitToken<'_>) -> Option<Lit> {
    Some(match token {
        ast::LitToken::Int(i) => Lit::Int(i.value()?, i.suffix().and_then(prelude::int_suffix)),
        ast::LitToken::Float(f) => Lit::Float(
            f.value()?,
            f.suffix().map(|s| {
                if s == "f32" {
                    FloatTy::F32
                } else {
                    FloatTy::F64
                }
            }),
        ),
        ast::LitToken::Size(t) => Lit::Size(ast::size_value(t).unwrap_or(u128::MAX)),
        ast::LitToken::Duration(t) => Lit::Duration(ast::duration_ns(t).unwrap_or(u128::MAX)),
        ast::LitToken::Str(_) => Lit::Str,
        ast::LitToken::Bytes(_) => Lit::Bytes,
        ast::LitToken::Char(t) => Lit::Char(ast::char_value(t).unwrap_or('\u{FFFD}')),
        ast::LitToken::Html(_) => Lit::Html,
        ast::LitToken::Bool(b) => Lit::Bool(b),
    })
}

fn binary_op(k: SyntaxKind) -> Option<BinOp> {
    Some(match k {
        SyntaxKind::Plus => BinOp::Add,
        SyntaxKind::Minus => BinOp::Sub,
        SyntaxKind::Star => BinOp::Mul,
        SyntaxKind::Slash => BinOp::Div,
        SyntaxKind::Percent => BinOp::Rem,
        SyntaxKind::Amp => BinOp::And,
        SyntaxKind::Pipe => BinOp::Or,
        SyntaxKind::Caret => BinOp::Xor,
        SyntaxKind::Shl => BinOp::Shl,
        SyntaxKind::Shr => BinOp::Shr,
        SyntaxKind::EqEq => BinOp::Eq,
        SyntaxKind::NotEq => BinOp::Ne,
        SyntaxKind::Lt => BinOp::Lt,
        SyntaxKind::LtEq => BinOp::Le,
        SyntaxKind::Gt => BinOp::Gt,
        SyntaxKind::GtEq => BinOp::Ge,
        SyntaxKind::AmpAmp => BinOp::AndAnd,
        SyntaxKind::PipePipe => BinOp::OrOr,
        _ => return None,
    })
}

fn compound_op(k: SyntaxKind) -> Option<BinOp> {
    Some(match k {
        SyntaxKind::PlusEq => BinOp::Add,
        SyntaxKind::MinusEq => BinOp::Sub,
        SyntaxKind::StarEq => BinOp::Mul,
        SyntaxKind::SlashEq => BinOp::Div,
        SyntaxKind::PercentEq => BinOp::Rem,
        SyntaxKind::AmpEq => BinOp::And,
        SyntaxKind::PipeEq => BinOp::Or,
        SyntaxKind::CaretEq => BinOp::Xor,
        SyntaxKind::ShlEq => BinOp::Shl,
        SyntaxKind::ShrEq => BinOp::Shr,
        _ => return None,
    })
}
