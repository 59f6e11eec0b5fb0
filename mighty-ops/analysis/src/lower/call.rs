//! Calls: of paths, of values, of macros, and `spawn` (language.md §3.4, [R:G78]).
//! Must not resolve callees; `path` does.

use syntax::Node;
use syntax::ast::{self, AstNode, Expr as AstExpr, HasName};

use super::body::Cx;
use super::names::{Meaning, Prefix, Usage};
use super::stdmacro;
use crate::hir::*;
use crate::ty::Ty;

impl Cx<'_, '_> {
    pub(super) fn spawn(&mut self, s: ast::SpawnExpr<'_>) -> ExprKind {
        let target = match s.path() {
            Some(e) => match self.prefix(e, Usage::Plain) {
                Prefix::Agent(a) => Res::Agent(a),
                Prefix::Supervisor(s) => Res::Supervisor(s),
                Prefix::Opaque(p) => Res::Opaque(self.opaque_path(&p)),
                Prefix::OpaqueType(p) => Res::OpaqueType(self.opaque_path(&p)),
                Prefix::Lost(res) => res,
                _ => Res::Error,
            },
            None => Res::Error,
        };
        ExprKind::Spawn {
            target,
            args: self.args(s.args(), false, false),
        }
    }

    pub(super) fn call(&mut self, c: ast::CallExpr<'_>) -> ExprId {
        let node = c.syntax();
        let Some(callee) = c.callee() else {
            return self.missing(node);
        };
        let (callee, type_args) = self.callee(callee);
        if let ExprKind::Path(Res::Prelude(name)) = self.body.expr(callee).kind
            && let Some(mac) = stdmacro::by_name(self.lower.hir.text(name))
        {
            return self.legacy_macro(mac, c.args(), node);
        }
        if let (
            false,
            ExprKind::Field {
                base,
                name,
                name_range,
            },
        ) = (type_args.is_empty(), self.body.expr(callee).kind)
        {
            // `x.name::[T](…)`
            let args = self.args(c.args(), false, true);
            let type_args = self.type_list(&type_args);
            let kind = ExprKind::MethodCall {
                receiver: base,
                name,
                name_range,
                type_args,
                args,
            };
            return self.add(kind, node);
        }
        self.call_of(callee, type_args, c.args(), false, node)
    }

    pub(super) fn call_of(
        &mut self,
        callee: ExprId,
        type_args: Vec<Ty>,
        args: Option<ast::ArgList<'_>>,
        types_allowed: bool,
        node: Node<'_>,
    ) -> ExprId {
        let library = matches!(
            self.body.expr(callee).kind,
            ExprKind::Path(Res::Opaque(_) | Res::OpaqueType(_))
        );
        let args = self.args(args, types_allowed, library);
        let type_args = self.type_list(&type_args);
        self.add(
            ExprKind::Call {
                callee,
                type_args,
                args,
            },
            node,
        )
    }

    /// Arguments. Type names may stand among them if `types_allowed`; `name = e` is a named one if it may be a call
    /// of a library ([R:G78]).
    pub(super) fn args(
        &mut self,
        args: Option<ast::ArgList<'_>>,
        types_allowed: bool,
        library: bool,
    ) -> List<Arg> {
        let mut found = Vec::new();
        for a in args.into_iter().flat_map(|l| l.args()) {
            let mut name = a.name().map(|t| (self.lower.name(t), self.at(t.range())));
            let Some(mut v) = a.value() else { continue };
            if let (true, AstExpr::AssignExpr(assign)) = (library, v)
                && let (true, Some(AstExpr::PathExpr(p)), Some(value)) =
                    (assign.is_plain(), assign.lhs(), assign.rhs())
                && let Some(t) = p.name()
            {
                let n = self.lower.name(t);
                if matches!(
                    self.meaning(n, Usage::Plain),
                    Meaning::Prefix(Prefix::Unknown(_))
                ) {
                    name = Some((n, self.at(t.range())));
                    v = value;
                }
            }
            let value = match v {
                AstExpr::PathExpr(_) => match self.prefix(v, Usage::Argument) {
                    Prefix::Type(_) | Prefix::Trait(_) if types_allowed => {
                        let path = self.opaque_path(&[]);
                        self.add(ExprKind::Path(Res::OpaqueType(path)), v.syntax())
                    }
                    p => self.value(p, v),
                },
                v => self.expr(v),
            };
            found.push(Arg { name, value });
        }
        self.arg_list(&found)
    }

    pub(super) fn macro_call(&mut self, m: ast::MacroCall<'_>) -> ExprId {
        let node = m.syntax();
        match m.name().and_then(|t| stdmacro::by_name(t.text())) {
            Some(mac) => self.std_macro(mac, m),
            // A macro of the program that could not be expanded, or none at all: reported by expansion.
            None => self.missing(node),
        }
    }
}
