//! Struct and map literals, and the heads of struct patterns (language.md §3.4): MT2002, MT2022.
//! Must not check fields; inference does.

use syntax::TextRange;
use syntax::ast::{self, AstNode, Expr as AstExpr, HasName};

use super::body::{Cx, list};
use super::names::{Meaning, Prefix, Usage};
use crate::diagnostic::Diagnostic;
use crate::hir::*;
use crate::ty::{Prim, Ty, TyKind};

impl Cx<'_, '_> {
    /// The head of a struct literal or pattern from its meaning; faults are reported.
    pub(super) fn lit_head(&mut self, p: Prefix, range: TextRange) -> LitHead {
        let hir = &self.lower.hir;
        let (name, note) = match p {
            Prefix::Type(ty) => match hir.tys.kind(ty) {
                TyKind::Struct(s, args) => {
                    let open = hir.tys.list(args).iter().all(|t| *t == Ty::UNKNOWN);
                    return if open {
                        LitHead::Struct(s)
                    } else {
                        LitHead::Ty(ty)
                    };
                }
                TyKind::Opaque(_) | TyKind::Error | TyKind::Unknown => return LitHead::Opaque,
                TyKind::Enum(e, _) => {
                    let e = &hir.enums[e.index()];
                    let names: Vec<&str> = e.variants.iter().map(|v| hir.text(v.name)).collect();
                    (
                        hir.text(e.head.name),
                        Some(format!("its variants are: {}", names.join(", "))),
                    )
                }
                _ => ("this type", None),
            },
            Prefix::Prim(Prim::Str | Prim::String | Prim::Bytes) if self.permissive > 0 => {
                return LitHead::Opaque;
            }
            Prefix::Prim(_) => ("this type", None),
            Prefix::Agent(a)
                if self.agent == Some(a) && matches!(self.body.owner, Owner::Init(_)) =>
            {
                return LitHead::Agent(a);
            }
            Prefix::Agent(a) => (hir.text(hir.agents[a.index()].head.name), None),
            Prefix::Protocol(p) => (hir.text(hir.protocols[p.index()].head.name), None),
            Prefix::Trait(t) => (hir.text(hir.traits[t.index()].head.name), None),
            Prefix::Supervisor(s) => (hir.text(hir.supervisors[s.index()].head.name), None),
            Prefix::Opaque(_) | Prefix::OpaqueType(_) | Prefix::Family(_) => {
                return LitHead::Opaque;
            }
            Prefix::Lost(_) | Prefix::Unknown(_) => return LitHead::Error,
            Prefix::Value(e) | Prefix::Typed(e, _) => {
                if matches!(
                    self.body.expr(e).kind,
                    ExprKind::Path(Res::Error) | ExprKind::Missing
                ) {
                    return LitHead::Error;
                }
                ("this", None)
            }
            Prefix::Module(_) | Prefix::AgentSelf(_) => ("this", None),
        };
        let quoted = if name.starts_with("this") {
            name.to_owned()
        } else {
            format!("`{name}`")
        };
        let mut report = Diagnostic::error(
            2022,
            self.scope.file,
            range,
            format!("{quoted} is no struct"),
        );
        if let Some(n) = note {
            report = report.note(n);
        }
        self.lower.sink.push(report);
        LitHead::Error
    }

    pub(super) fn struct_lit(&mut self, s: ast::StructLit<'_>) -> ExprKind {
        let path = s.path();
        let head_range = self.at(path.map_or_else(|| s.range(), AstNode::range));
        let head = match path {
            Some(AstExpr::PathExpr(p)) => self.literal_name(p, head_range),
            Some(e) => {
                let prefix = self.prefix(e, Usage::Plain);
                self.lit_head(prefix, head_range)
            }
            None => LitHead::Error,
        };
        let mut fields = Vec::new();
        for f in s.fields() {
            let Some(t) = f.name() else { continue };
            let name = self.lower.name(t);
            let name_range = self.at(t.range());
            let value = match f.value() {
                Some(v) => self.expr(v),
                None => {
                    let res = match self.meaning(name, Usage::Plain) {
                        Meaning::Res(res) => res,
                        Meaning::Prefix(_) => self.unknown(name, name_range, Usage::Plain),
                    };
                    self.add_at(ExprKind::Path(res), name_range, f.syntax())
                }
            };
            fields.push(FieldInit {
                name,
                name_range,
                value,
            });
        }
        ExprKind::StructLit {
            head,
            head_range,
            fields: list(&mut self.body.inits, &fields),
        }
    }

    /// A single name before the braces of a literal: an unknown one is an unknown type (MT2002).
    pub(super) fn literal_name(&mut self, p: ast::PathExpr<'_>, range: TextRange) -> LitHead {
        let Some(t) = p.name() else {
            return LitHead::Error;
        };
        let name = self.lower.name(t);
        let prefix = match self.meaning(name, Usage::Plain) {
            Meaning::Res(res) => Prefix::Value(self.add(ExprKind::Path(res), p.syntax())),
            Meaning::Prefix(Prefix::Unknown(_)) => {
                if self.reported.insert(name, true).is_none() {
                    let near = {
                        let hir = &self.lower.hir;
                        let structs = hir.structs.iter().map(|s| hir.text(s.head.name));
                        crate::resolve::suggest::nearest(t.text(), structs)
                            .map(|(t, d)| (t.to_owned(), d))
                    };
                    let report = Diagnostic::error(
                        2002,
                        self.scope.file,
                        range,
                        format!("there is no type `{}`", t.text()),
                    );
                    self.lower
                        .sink
                        .push(super::types::with_rename(report, near));
                }
                return LitHead::Error;
            }
            Meaning::Prefix(p) => p,
        };
        self.lit_head(prefix, range)
    }

    pub(super) fn map_lit(&mut self, m: ast::MapLit<'_>) -> ExprKind {
        let ty = match m.path() {
            Some(t) => match self.prefix(AstExpr::TurbofishExpr(t), Usage::Plain) {
                Prefix::Type(ty) => ty,
                Prefix::Opaque(_) | Prefix::OpaqueType(_) => Ty::UNKNOWN,
                other => {
                    let range = self.at(t.range());
                    self.lit_head(other, range);
                    Ty::ERROR
                }
            },
            None => Ty::ERROR,
        };
        let mut pairs = Vec::new();
        for entry in m.entries() {
            let key = entry.key().map(|k| self.expr(k));
            let value = entry.value().map(|v| self.expr(v));
            if let (Some(k), Some(v)) = (key, value) {
                pairs.push((k, v));
            }
        }
        ExprKind::MapLit {
            ty,
            entries: list(&mut self.body.pairs, &pairs),
        }
    }
}
