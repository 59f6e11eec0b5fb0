//! Dotted and scoped paths in code: from a head that is no value to a value, a call or a literal head.
//! Must not infer: what depends on the type of a value is left as field access or method call.

use syntax::TextRange;
use syntax::ast::{self, AstNode, Expr as AstExpr};

use super::body::Cx;
use super::names::{Meaning, Prefix, Usage};
use crate::diagnostic::Diagnostic;
use crate::hir::*;
use crate::resolve::suggest;
use crate::ty::{Prim, Ty, TyKind};

impl Cx<'_, '_> {
    /// The meaning of an expression that may be (the beginning of) a path.
    pub(super) fn prefix(&mut self, e: AstExpr<'_>, usage: Usage) -> Prefix {
        match e {
            AstExpr::PathExpr(p) => {
                let Some(t) = p.name() else {
                    return Prefix::Lost(Res::Error);
                };
                let name = self.lower.name(t);
                match self.meaning(name, usage) {
                    Meaning::Res(res) => Prefix::Value(self.add(ExprKind::Path(res), p.syntax())),
                    Meaning::Prefix(Prefix::Unknown(n)) => {
                        let range = self.at(t.range());
                        Prefix::Lost(self.unknown(n, range, usage))
                    }
                    Meaning::Prefix(p) => p,
                }
            }
            AstExpr::SelfExpr(s) => {
                if let Some(a) = self.agent {
                    return Prefix::AgentSelf(a);
                }
                let name = self.lower.well_known.self_value;
                let res = match self.vars.get(&name) {
                    Some(l) => Res::Local(*l),
                    None => {
                        let range = self.at(s.range());
                        self.unknown(name, range, Usage::Plain)
                    }
                };
                Prefix::Value(self.add(ExprKind::Path(res), s.syntax()))
            }
            AstExpr::FieldExpr(f) => {
                let Some(base) = f.base() else {
                    return Prefix::Lost(Res::Error);
                };
                let base_prefix = self.prefix(base, Usage::Head);
                let Some(t) = f.name() else {
                    return Prefix::Lost(Res::Error);
                };
                if let Some(index) = f.tuple_index() {
                    let base = self.value(base_prefix, base);
                    let kind = ExprKind::TupleField {
                        base,
                        index: u32::try_from(index).unwrap_or(u32::MAX),
                        index_range: self.at(t.range()),
                    };
                    return Prefix::Value(self.add(kind, f.syntax()));
                }
                let name = self.lower.name(t);
                let range = self.at(t.range());
                self.member(base_prefix, base, e, name, range)
            }
            AstExpr::ScopeExpr(s) => {
                let Some(base) = s.base() else {
                    return Prefix::Lost(Res::Error);
                };
                let base_prefix = self.prefix(base, Usage::ScopeHead);
                let Some(t) = s.name() else {
                    return Prefix::Lost(Res::Error);
                };
                let name = self.lower.name(t);
                let range = self.at(t.range());
                self.member(base_prefix, base, e, name, range)
            }
            AstExpr::TurbofishExpr(t) => {
                let Some(base) = t.base() else {
                    return Prefix::Lost(Res::Error);
                };
                // The head of `A::[T]::b` is that of a path (§3.4); of `a::[T](…)` a plain name.
                let usage = if usage == Usage::ScopeHead {
                    usage
                } else {
                    Usage::Plain
                };
                let base_prefix = self.prefix(base, usage);
                let args: Vec<Ty> = t
                    .args()
                    .into_iter()
                    .flat_map(|a| a.types())
                    .map(|t| self.written_arg(t))
                    .collect();
                let range = self.at(t.range());
                self.turbofish(base_prefix, args, range)
            }
            AstExpr::ParenExpr(_) => Prefix::Value(self.expr(e)),
            other => Prefix::Value(self.expr(other)),
        }
    }

    fn turbofish(&mut self, base: Prefix, args: Vec<Ty>, range: TextRange) -> Prefix {
        let hir = &mut self.lower.hir;
        match base {
            Prefix::Value(e) => {
                self.body.exprs[e.index()].range = range;
                Prefix::Typed(e, args)
            }
            Prefix::Prim(p) => {
                let want = match p {
                    Prim::Result | Prim::Map => 2,
                    Prim::Option
                    | Prim::Vec
                    | Prim::List
                    | Prim::Set
                    | Prim::Task
                    | Prim::AgentRef => 1,
                    _ => 0,
                };
                if want != args.len() {
                    self.arity(range, want, args.len());
                }
                Prefix::Type(super::types::prim_ty(&mut self.lower.hir, p, &args))
            }
            Prefix::Type(ty) => {
                let (want, kind): (usize, &dyn Fn(crate::ty::Tys) -> TyKind) = match hir
                    .tys
                    .kind(ty)
                {
                    TyKind::Struct(s, l) => (hir.tys.list(l).len(), &move |l| TyKind::Struct(s, l)),
                    TyKind::Enum(e, l) => (hir.tys.list(l).len(), &move |l| TyKind::Enum(e, l)),
                    _ => return Prefix::Type(ty),
                };
                if want != args.len() {
                    self.arity(range, want, args.len());
                    return Prefix::Type(ty);
                }
                let list = hir.tys.list_of(&args);
                Prefix::Type(hir.tys.intern(kind(list)))
            }
            other => other,
        }
    }

    fn arity(&mut self, range: TextRange, want: usize, given: usize) {
        let range = self.at(range);
        let title = format!(
            "this type takes {want} type argument{}, not {given}",
            super::types::plural(want)
        );
        self.lower
            .sink
            .push(Diagnostic::error(2004, self.scope.file, range, title));
    }

    /// `base.name`, not called.
    fn member(
        &mut self,
        base: Prefix,
        base_expr: AstExpr<'_>,
        whole: AstExpr<'_>,
        name: Name,
        name_range: TextRange,
    ) -> Prefix {
        let node = whole.syntax();
        let res = match base {
            Prefix::Value(b) | Prefix::Typed(b, _) => {
                return Prefix::Value(self.add(
                    ExprKind::Field {
                        base: b,
                        name,
                        name_range,
                    },
                    node,
                ));
            }
            Prefix::AgentSelf(a) => match self.agent_member(a, name) {
                Some(res) => res,
                None => self.no_agent_member(a, name, name_range, 2006),
            },
            Prefix::Module(m) => return self.module_member(m, name, name_range, whole),
            Prefix::Opaque(mut path) => {
                path.push(name);
                return Prefix::Opaque(path);
            }
            Prefix::OpaqueType(mut path) => {
                path.push(name);
                return Prefix::OpaqueType(path);
            }
            Prefix::Type(ty) => {
                if let TyKind::Enum(e, args) = self.lower.hir.tys.kind(ty)
                    && let Some(i) = self.variant(e, name)
                {
                    let args = self.lower.hir.tys.list(args).to_vec();
                    let value = self.add(ExprKind::Path(Res::Variant(e, i)), node);
                    return if args.iter().any(|t| *t != Ty::UNKNOWN) {
                        Prefix::Typed(value, args)
                    } else {
                        Prefix::Value(value)
                    };
                }
                Res::Assoc(ty, name)
            }
            Prefix::Prim(p) => self.prim_member(p, name),
            Prefix::Trait(t) => Res::TraitMember(t, name),
            Prefix::Agent(_) | Prefix::Supervisor(_) | Prefix::Protocol(_) => Res::Tolerated(name),
            Prefix::Family(f) => {
                let b = self.add(ExprKind::Path(Res::Family(f)), base_expr.syntax());
                return Prefix::Value(self.add(
                    ExprKind::Field {
                        base: b,
                        name,
                        name_range,
                    },
                    node,
                ));
            }
            Prefix::Lost(res) => {
                let b = self.add(ExprKind::Path(res), base_expr.syntax());
                return Prefix::Value(self.add(
                    ExprKind::Field {
                        base: b,
                        name,
                        name_range,
                    },
                    node,
                ));
            }
            Prefix::Unknown(_) => Res::Error,
        };
        Prefix::Value(self.add(ExprKind::Path(res), node))
    }

    fn prim_member(&mut self, p: Prim, name: Name) -> Res {
        let text = self.lower.hir.text(name);
        match (p, crate::resolve::prelude::variant(text)) {
            (Prim::Option, Some(v @ (PreludeVariant::Some | PreludeVariant::None)))
            | (Prim::Result, Some(v @ (PreludeVariant::Ok | PreludeVariant::Err))) => {
                Res::PreludeVariant(v)
            }
            _ => Res::Assoc(super::types::prim_ty(&mut self.lower.hir, p, &[]), name),
        }
    }

    fn variant(&self, e: EnumId, name: Name) -> Option<u32> {
        let variants = &self.lower.hir.enums[e.index()].variants;
        variants
            .iter()
            .position(|v| v.name == name)
            .map(|i| i as u32)
    }

    /// MT2006 or MT2007 for a member that an agent lacks.
    pub(super) fn no_agent_member(
        &mut self,
        a: AgentId,
        name: Name,
        range: TextRange,
        code: u16,
    ) -> Res {
        let hir = &self.lower.hir;
        let agent = &hir.agents[a.index()];
        let what = if code == 2006 {
            "state field"
        } else {
            "method"
        };
        let title = format!(
            "the agent `{}` has no {what} `{}`",
            hir.text(agent.head.name),
            hir.text(name)
        );
        let fields = agent
            .state
            .iter()
            .map(|f| f.name)
            .chain(agent.ctor.iter().filter_map(|p| p.name));
        let methods = agent.methods.iter().map(|f| hir.fns[f.index()].head.name);
        let candidates: Vec<Name> = if code == 2006 {
            fields.collect()
        } else {
            methods.collect()
        };
        let near = suggest::nearest(hir.text(name), candidates.iter().map(|n| hir.text(*n)))
            .map(|(t, d)| (t.to_owned(), d));
        let report = Diagnostic::error(code, self.scope.file, range, title);
        self.lower
            .sink
            .push(super::types::with_rename(report, near));
        Res::Error
    }

    fn module_member(
        &mut self,
        m: ModuleId,
        name: Name,
        range: TextRange,
        whole: AstExpr<'_>,
    ) -> Prefix {
        let found = self.lower.hir.modules[m.index()].names.get(&name).copied();
        match found {
            Some(def) => match self.of_def(def) {
                Meaning::Res(res) => Prefix::Value(self.add(ExprKind::Path(res), whole.syntax())),
                Meaning::Prefix(p) => p,
            },
            None => {
                let module = &self.lower.hir.modules[m.index()];
                let of = self.lower.hir.text(module.name).to_owned();
                let text = self.lower.hir.text(name).to_owned();
                let names = module.names.keys().map(|n| self.lower.hir.text(*n));
                let near = suggest::nearest(&text, names).map(|(t, d)| (t.to_owned(), d));
                let near = near.as_ref().map(|(t, d)| (t.as_str(), *d));
                if self.reported.insert(name, true).is_none() {
                    self.lower
                        .no_symbol(self.scope.file, range, &text, &of, near);
                }
                Prefix::Lost(Res::Error)
            }
        }
    }

    pub(super) fn opaque_path(&mut self, names: &[Name]) -> OpaquePath {
        let start = self.body.paths.len() as u32;
        self.body.paths.extend_from_slice(names);
        OpaqueNames {
            start,
            len: names.len() as u32,
        }
    }

    /// A path as a value.
    pub(super) fn value(&mut self, p: Prefix, e: AstExpr<'_>) -> ExprId {
        let range = self.at(e.range());
        let res = match p {
            Prefix::Value(id) | Prefix::Typed(id, _) => return id,
            Prefix::Opaque(path) => Res::Opaque(self.opaque_path(&path)),
            Prefix::OpaqueType(path) => Res::OpaqueType(self.opaque_path(&path)),
            Prefix::Prim(p) => Res::PrimValue(p),
            Prefix::Family(f) => Res::Family(f),
            Prefix::AgentSelf(a) => Res::AgentSelf(a),
            Prefix::Type(ty) => {
                let hir = &self.lower.hir;
                match hir.tys.kind(ty) {
                    TyKind::Struct(s, _) if !hir.structs[s.index()].braced => Res::Struct(s),
                    TyKind::Struct(s, _) => {
                        let name = hir.structs[s.index()].head.name;
                        self.type_as_value(name, "a struct", range)
                    }
                    TyKind::Enum(id, _) => {
                        let name = hir.enums[id.index()].head.name;
                        self.type_as_value(name, "an enum", range)
                    }
                    _ => Res::Error,
                }
            }
            Prefix::Trait(t) => {
                let name = self.lower.hir.traits[t.index()].head.name;
                self.type_as_value(name, "a trait", range)
            }
            Prefix::Protocol(p) => {
                let name = self.lower.hir.protocols[p.index()].head.name;
                self.type_as_value(name, "a protocol", range)
            }
            Prefix::Agent(a) => Res::Agent(a),
            Prefix::Supervisor(s) => Res::Supervisor(s),
            Prefix::Module(m) => {
                let name = self.lower.hir.modules[m.index()].name;
                Res::Opaque(self.opaque_path(&[name]))
            }
            Prefix::Unknown(_) => Res::Error,
            Prefix::Lost(res) => res,
        };
        self.add(ExprKind::Path(res), e.syntax())
    }

    /// A path as a callee, with the type arguments given to it.
    pub(super) fn callee(&mut self, e: AstExpr<'_>) -> (ExprId, Vec<Ty>) {
        match self.prefix(e, Usage::Plain) {
            Prefix::Typed(id, args) => (id, args),
            Prefix::Type(ty) => {
                let res = match self.lower.hir.tys.kind(ty) {
                    TyKind::Struct(s, _) => Res::Struct(s),
                    // `Vec::[I32]()` and the like.
                    TyKind::Vec(_) | TyKind::Map(..) | TyKind::Set(_) | TyKind::List(_) => {
                        let new = self.lower.hir.names.intern("new");
                        Res::Assoc(ty, new)
                    }
                    _ => {
                        let id = self.value(Prefix::Type(ty), e);
                        return (id, Vec::new());
                    }
                };
                (self.add(ExprKind::Path(res), e.syntax()), Vec::new())
            }
            p => (self.value(p, e), Vec::new()),
        }
    }

    /// `receiver.name(args)`.
    pub(super) fn method_call(&mut self, m: ast::MethodCallExpr<'_>) -> ExprId {
        let Some(recv) = m.receiver() else {
            return self.missing(m.syntax());
        };
        let base = self.prefix(recv, Usage::Head);
        let Some(t) = m.name() else {
            return self.missing(m.syntax());
        };
        let name = self.lower.name(t);
        let name_range = self.at(t.range());
        let types_allowed = matches!(t.text(), "sanitize_with" | "in_allowlist");
        let type_args: Vec<Ty> = m
            .type_args()
            .into_iter()
            .flat_map(|a| a.types())
            .map(|t| self.written_arg(t))
            .collect();
        // The callee's range: from the head to the name.
        let whole = AstExpr::MethodCallExpr(m);
        let start = self.at(m.range()).start;
        let callee_range = TextRange::new(start, name_range.end);
        let receiver = match base {
            Prefix::Value(id) | Prefix::Typed(id, _) => id,
            Prefix::Family(f) => self.add(ExprKind::Path(Res::Family(f)), recv.syntax()),
            Prefix::Lost(res) => self.add(ExprKind::Path(res), recv.syntax()),
            Prefix::AgentSelf(a) => {
                let res = match self.agent_member(a, name) {
                    Some(res) => res,
                    None => self.no_agent_member(a, name, name_range, 2007),
                };
                let callee = self.add_at(ExprKind::Path(res), callee_range, m.syntax());
                return self.call_of(callee, type_args, m.args(), types_allowed, m.syntax());
            }
            base => {
                let p = self.member(base, recv, whole, name, name_range);
                let (callee, args) = match p {
                    Prefix::Typed(id, args) => (id, args),
                    Prefix::Type(ty) => {
                        let res = match self.lower.hir.tys.kind(ty) {
                            TyKind::Struct(s, _) => Res::Struct(s),
                            _ => Res::Error,
                        };
                        (self.add(ExprKind::Path(res), m.syntax()), Vec::new())
                    }
                    p => (self.value(p, whole), Vec::new()),
                };
                self.body.exprs[callee.index()].range = callee_range;
                let args = if args.is_empty() { type_args } else { args };
                return self.call_of(callee, args, m.args(), types_allowed, m.syntax());
            }
        };
        let args = self.args(m.args(), types_allowed, true);
        let type_args = self.type_list(&type_args);
        self.add(
            ExprKind::MethodCall {
                receiver,
                name,
                name_range,
                type_args,
                args,
            },
            m.syntax(),
        )
    }
}
