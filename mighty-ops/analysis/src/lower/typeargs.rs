//! Type arguments and constant lengths (language.md §6): MT2004.
//! Must not resolve names of types.

use syntax::ast::{self, AstNode, Expr};
use syntax::{SyntaxKind, TextRange};

use super::Lower;
use super::types::{Head, TyScope, plural, prim_ty};
use crate::diagnostic::{Diagnostic, FixHint};
use crate::hir::*;
use crate::ty::{Prim, Ty, TyKind};

impl<'t> Lower<'t> {
    /// Applies type arguments, checking their number.
    pub(super) fn apply(
        &mut self,
        head: Head,
        args: Option<Vec<Ty>>,
        range: TextRange,
        scope: &TyScope,
    ) -> Ty {
        let given = args.as_deref().unwrap_or(&[]);
        match head {
            Head::Done(ty) => {
                // Opaque and foreign types take what they like; a parameter takes nothing.
                if args.is_some()
                    && matches!(
                        self.hir.tys.kind(ty),
                        TyKind::Param(_) | TyKind::SelfOf(_) | TyKind::Family(_)
                    )
                {
                    return self.wrong_arity(range, scope, 0, given.len());
                }
                ty
            }
            Head::Prim(p) => self.apply_prim(p, args, range, scope),
            Head::Def(Def::Struct(s)) => {
                let want = self.count_of(Def::Struct(s));
                if want != given.len() {
                    return self.wrong_arity(range, scope, want, given.len());
                }
                let args = self.hir.tys.list_of(given);
                self.hir.tys.intern(TyKind::Struct(s, args))
            }
            Head::Def(Def::Enum(e)) => {
                let want = self.count_of(Def::Enum(e));
                if want != given.len() {
                    return self.wrong_arity(range, scope, want, given.len());
                }
                let args = self.hir.tys.list_of(given);
                self.hir.tys.intern(TyKind::Enum(e, args))
            }
            Head::Def(Def::Alias(a)) => {
                let want = self.count_of(Def::Alias(a));
                if want != given.len() {
                    return self.wrong_arity(range, scope, want, given.len());
                }
                let ty = self.alias(a);
                let generics = self.hir.aliases[a.index()].generics.clone();
                self.hir.tys.substitute(ty, &|k| match k {
                    TyKind::Param(g) => generics.iter().position(|x| *x == g).map(|i| given[i]),
                    _ => None,
                })
            }
            Head::Def(Def::Agent(a)) => self.reference(TyKind::Agent(a)),
            Head::Def(Def::Protocol(p)) => self.reference(TyKind::Protocol(p)),
            Head::Def(Def::Supervisor(s)) => self.reference(TyKind::Supervisor(s)),
            Head::Def(Def::Cap(c)) => self.hir.tys.intern(TyKind::Cap(c)),
            // A trait is no type of values; nothing says how it is reported, so anything goes.
            Head::Def(_) => Ty::UNKNOWN,
        }
    }

    pub(super) fn reference(&mut self, kind: TyKind) -> Ty {
        let inner = self.hir.tys.intern(kind);
        self.hir.tys.intern(TyKind::AgentRef(inner))
    }

    pub(super) fn apply_prim(
        &mut self,
        p: Prim,
        args: Option<Vec<Ty>>,
        range: TextRange,
        scope: &TyScope,
    ) -> Ty {
        let want = match p {
            Prim::Result | Prim::Map => 2,
            Prim::Option
            | Prim::Vec
            | Prim::List
            | Prim::Set
            | Prim::Task
            | Prim::AgentRef
            | Prim::Tainted => 1,
            _ => 0,
        };
        let lenient = matches!(
            p,
            Prim::Task | Prim::AgentRef | Prim::Tainted | Prim::List | Prim::Set
        );
        let given = match args {
            Some(a) => a,
            None if want > 0 && lenient => vec![Ty::UNKNOWN],
            None => Vec::new(),
        };
        if given.len() != want {
            return self.wrong_arity(range, scope, want, given.len());
        }
        prim_ty(&mut self.hir, p, &given)
    }

    pub(super) fn count_of(&self, def: Def) -> usize {
        let list = match def {
            Def::Struct(s) => self.views.structs[s.index()].generics(),
            Def::Enum(e) => self.views.enums[e.index()].generics(),
            Def::Alias(a) => self.views.aliases[a.index()].generics(),
            _ => None,
        };
        list.map_or(0, |g| g.params().count())
    }

    pub(super) fn wrong_arity(
        &mut self,
        range: TextRange,
        scope: &TyScope,
        want: usize,
        given: usize,
    ) -> Ty {
        let report = Diagnostic::error(
            2004,
            scope.file,
            range,
            format!(
                "this type takes {want} type argument{}, not {given}",
                plural(want)
            ),
        );
        self.sink.push(report.hint(FixHint::Facts(vec![
            ("expected", want.to_string()),
            ("found", given.to_string()),
        ])));
        Ty::ERROR
    }

    /// What is wrong with a length that `const_len` has no value for, if that can be told: a literal of another
    /// type, or a name that nothing has.
    pub(super) fn judge_len(&mut self, e: Expr<'_>, scope: &TyScope) {
        let (code, title) = match e.unparen() {
            Some(Expr::Literal(l)) => match l.token() {
                ast::LitToken::Int(_) | ast::LitToken::Size(_) => return,
                _ => (2001, "the length of an array is an integer".to_owned()),
            },
            Some(Expr::PrefixExpr(_)) => (2001, "the length of an array is no `USize`".to_owned()),
            Some(Expr::PathExpr(p)) if !scope.in_body && !scope.foreign => {
                let Some(t) = p.name() else { return };
                let name = self.name(t);
                let known = scope.generic(name).is_some()
                    || self.lookup(scope.module, name).is_some()
                    || scope.self_ty.is_some() && name == self.well_known.self_ty;
                if known {
                    return;
                }
                (2021, format!("nothing is named `{}` here", t.text()))
            }
            _ => return,
        };
        self.sink
            .push(Diagnostic::error(code, scope.file, e.range(), title));
    }

    /// A constant length, as far as it is plain arithmetic over literals and constants.
    pub(super) fn const_len(&mut self, e: Expr<'_>, module: ModuleId, depth: u32) -> Option<u64> {
        if depth > 32 {
            return None;
        }
        match e.unparen()? {
            Expr::Literal(l) => match l.token() {
                ast::LitToken::Int(i) => i.value()?.try_into().ok(),
                ast::LitToken::Size(t) => ast::size_value(t)?.try_into().ok(),
                _ => None,
            },
            Expr::PathExpr(p) => {
                let name = self.name(p.name()?);
                let Some(Def::Const(c)) = self.lookup(module, name) else {
                    return None;
                };
                let value = self.views.consts[c.index()].value()?;
                let module = self.hir.consts[c.index()].head.module;
                self.const_len(value, module, depth + 1)
            }
            Expr::BinaryExpr(b) => {
                let l = self.const_len(b.lhs()?, module, depth + 1)?;
                let r = self.const_len(b.rhs()?, module, depth + 1)?;
                match b.op_token()?.kind() {
                    SyntaxKind::Plus => l.checked_add(r),
                    SyntaxKind::Minus => l.checked_sub(r),
                    SyntaxKind::Star => l.checked_mul(r),
                    SyntaxKind::Slash => l.checked_div(r),
                    SyntaxKind::Percent => l.checked_rem(r),
                    SyntaxKind::Shl => l.checked_shl(r.try_into().ok()?),
                    _ => None,
                }
            }
            Expr::CastExpr(c) => self.const_len(c.operand()?, module, depth + 1),
            _ => None,
        }
    }
}
