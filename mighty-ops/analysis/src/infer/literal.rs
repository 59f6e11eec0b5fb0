//! Composite literals: arrays, repeats, structs, maps (language.md §7.3, §10).
//! Must not judge empty arrays; that waits until types are settled.

use syntax::TextRange;

use super::driver::{Fx, Want};
use super::unify::Kind;
use crate::diagnostic::FixHint;
use crate::hir::*;
use crate::ty::{Ty, TyKind};

impl Fx<'_, '_> {
    /// The element type that a place wants of a sequence.
    fn wanted_element(&self, want: Want) -> Option<Ty> {
        let Want::Ty(t) = want else { return None };
        match self.u.shape(t) {
            TyKind::Vec(t)
            | TyKind::List(t)
            | TyKind::Set(t)
            | TyKind::Slice(t)
            | TyKind::Array(t, _) => Some(t),
            _ => match self.u.open_kind(t) {
                Some(Kind::Seq { elem, .. }) => Some(elem),
                _ => None,
            },
        }
    }

    pub(super) fn array(&mut self, list: List<ExprId>, want: Want) -> Ty {
        let items = self.body.exprs_of(list);
        let elem = match self.wanted_element(want) {
            Some(t) if !matches!(self.u.shape(t), TyKind::Error | TyKind::Unknown) => {
                for i in items {
                    self.check(*i, t, 2001);
                }
                t
            }
            _ => {
                let mut elem: Option<Ty> = None;
                for i in items {
                    match elem {
                        None => {
                            let t = self.synth(*i);
                            elem = Some(t).filter(|t| self.u.resolve(*t) != Ty::NEVER);
                        }
                        Some(t) => {
                            self.check(*i, t, 2001);
                        }
                    }
                }
                match elem {
                    Some(t) => t,
                    None => self.u.fresh(),
                }
            }
        };
        self.u.var(Kind::Seq {
            elem,
            len: Some(items.len() as u64),
        })
    }

    pub(super) fn repeat(&mut self, elem: ExprId, count: ExprId, want: Want) -> Ty {
        let t = match self.wanted_element(want) {
            Some(t) => {
                self.check(elem, t, 2001);
                t
            }
            None => self.synth(elem),
        };
        let n = self.synth(count);
        let (n, _) = self.u.peel(n);
        let int = matches!(
            self.u.shape(n),
            TyKind::Int(_) | TyKind::Error | TyKind::Unknown | TyKind::Opaque(_)
        ) || matches!(self.u.open_kind(n), Some(Kind::Integer | Kind::Any));
        if !int {
            let range = self.value_range(count);
            self.mismatch(2001, range, Ty::USIZE, n);
        }
        if let Want::Ty(w) = want
            && let TyKind::Vec(_) | TyKind::List(_) = self.u.shape(w)
        {
            return self.u.hir.tys.intern(TyKind::Vec(t));
        }
        let constant = matches!(
            self.body.expr(count).kind,
            ExprKind::Lit(Lit::Int(..) | Lit::Size(_))
                | ExprKind::Path(Res::Const(_))
                | ExprKind::Binary { .. }
                | ExprKind::Cast { .. }
        );
        let len = if constant {
            self.count(self.body, count, 0)
        } else {
            None
        };
        let kind = if constant {
            TyKind::Array(t, len)
        } else {
            TyKind::Vec(t)
        };
        self.u.hir.tys.intern(kind)
    }

    /// A length, as far as it is plain arithmetic over literals and constants; as `const_len` of written types.
    fn count(&self, body: &Body, e: ExprId, depth: u32) -> Option<u64> {
        if depth > 32 {
            return None;
        }
        match body.expr(e).kind {
            ExprKind::Lit(Lit::Int(n, _) | Lit::Size(n)) => n.try_into().ok(),
            ExprKind::Path(Res::Const(c)) => {
                let body = &self.bodies[self.u.hir.consts[c.index()].body?.index()];
                self.count(body, body.root, depth + 1)
            }
            ExprKind::Binary { op, lhs, rhs, .. } => {
                let l = self.count(body, lhs, depth + 1)?;
                let r = self.count(body, rhs, depth + 1)?;
                match op {
                    BinOp::Add => l.checked_add(r),
                    BinOp::Sub => l.checked_sub(r),
                    BinOp::Mul => l.checked_mul(r),
                    BinOp::Div => l.checked_div(r),
                    BinOp::Rem => l.checked_rem(r),
                    BinOp::Shl => l.checked_shl(r.try_into().ok()?),
                    _ => None,
                }
            }
            ExprKind::Cast { operand, .. } => self.count(body, operand, depth + 1),
            _ => None,
        }
    }

    pub(super) fn map_lit(&mut self, ty: Ty, entries: List<(ExprId, ExprId)>) -> Ty {
        let ty = self.u.instantiate(ty);
        let (k, v) = match self.u.shape(ty) {
            TyKind::Map(k, v) => (k, v),
            _ => {
                for (k, v) in self.body.pairs_of(entries) {
                    self.synth(*k);
                    self.synth(*v);
                }
                return ty;
            }
        };
        for (key, value) in self.body.pairs_of(entries) {
            self.check(*key, k, 2001);
            self.check(*value, v, 2001);
        }
        ty
    }

    /// The struct type a literal or pattern head names, with fresh arguments.
    pub(super) fn head_type(&mut self, head: LitHead) -> Option<(StructId, Ty)> {
        match head {
            LitHead::Struct(s) => {
                let n = self.u.hir.structs[s.index()].generics.len();
                let args: Vec<Ty> = (0..n).map(|_| self.u.fresh()).collect();
                let list = self.u.hir.tys.list_of(&args);
                Some((s, self.u.hir.tys.intern(TyKind::Struct(s, list))))
            }
            LitHead::Ty(t) => {
                let t = self.u.instantiate(t);
                match self.u.shape(t) {
                    TyKind::Struct(s, _) => Some((s, t)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    pub(super) fn struct_lit(
        &mut self,
        e: ExprId,
        head: LitHead,
        head_range: TextRange,
        fields: List<FieldInit>,
        want: Want,
    ) -> Ty {
        let body = self.body;
        let inits = body.inits_of(fields);
        if let LitHead::Agent(a) = head {
            return self.agent_lit(a, inits);
        }
        let Some((s, ty)) = self.head_type(head) else {
            inits.iter().for_each(|f| {
                self.synth(f.value);
            });
            return if head == LitHead::Opaque {
                self.u.fresh()
            } else {
                Ty::ERROR
            };
        };
        if let Want::Ty(w) = want
            && let TyKind::Struct(t, _) = self.u.shape(w)
            && s == t
        {
            let _ = self.u.unify(ty, w);
        }
        let item = self.u.hir.structs[s.index()].clone();
        let args = match self.u.shape(ty) {
            TyKind::Struct(_, l) => l,
            _ => return Ty::ERROR,
        };
        let mut seen: Vec<Name> = Vec::with_capacity(inits.len());
        for f in inits {
            let Some(field) = item.fields.iter().find(|x| x.name == f.name) else {
                self.synth(f.value);
                self.unknown_field(s, f.name, f.name_range);
                // A misspelt field is not missing as well.
                seen.push(f.name);
                continue;
            };
            if seen.contains(&f.name) {
                self.synth(f.value);
                let title = format!("the field `{}` is given twice", self.u.hir.text(f.name));
                let end = body.expr(f.value).range.end.max(f.name_range.end);
                let d = self.diagnostic(2014, f.name_range, title);
                self.push(d.hint(FixHint::Delete {
                    range: TextRange::new(f.name_range.start, end),
                }));
                continue;
            }
            seen.push(f.name);
            let want = self.with_args(field.ty, &item.generics, args);
            self.check(f.value, want, 2001);
        }
        let unknown = seen
            .iter()
            .filter(|n| !item.fields.iter().any(|f| f.name == **n))
            .count();
        let missing: Vec<&Field> = item
            .fields
            .iter()
            .filter(|f| !seen.contains(&f.name))
            .collect();
        if missing.len() > unknown {
            let names: Vec<String> = missing
                .iter()
                .map(|f| format!("`{}`", self.u.hir.text(f.name)))
                .collect();
            let s = if missing.len() == 1 { "" } else { "s" };
            let title = format!(
                "the literal of `{}` lacks the field{s} {}",
                self.u.hir.text(item.head.name),
                names.join(", ")
            );
            let mut lacking = Vec::new();
            for f in &missing {
                let t = self.with_args(f.ty, &item.generics, args);
                lacking.push((self.u.hir.text(f.name).to_owned(), self.u.show(t)));
            }
            let insert_at = body.expr(e).range.end.saturating_sub(1);
            let d = self.diagnostic(2013, head_range, title);
            self.push(d.hint(FixHint::MissingFields {
                fields: lacking,
                insert_at,
            }));
        }
        ty
    }

    /// `Name { field: v }` of the agent's own name in `init` ([R:G123]).
    fn agent_lit(&mut self, a: AgentId, inits: &[FieldInit]) -> Ty {
        let agent = self.u.hir.agents[a.index()].clone();
        let mut seen: Vec<Name> = Vec::new();
        for f in inits {
            if seen.contains(&f.name) {
                self.synth(f.value);
                let title = format!("the field `{}` is given twice", self.u.hir.text(f.name));
                self.error(2014, f.name_range, title);
                continue;
            }
            seen.push(f.name);
            match agent.state.iter().position(|s| s.name == f.name) {
                Some(i) => {
                    let ty = self.state_ty(a, i as u32);
                    self.check(f.value, ty, 2001);
                }
                None => {
                    self.synth(f.value);
                    let names: Vec<Name> = agent.state.iter().map(|s| s.name).collect();
                    let title = format!(
                        "the agent `{}` has no state field `{}`",
                        self.u.hir.text(agent.head.name),
                        self.u.hir.text(f.name)
                    );
                    let d = self.diagnostic(2006, f.name_range, title);
                    let d = self.with_near(d, f.name, &names);
                    self.push(d);
                }
            }
        }
        let inner = self.u.hir.tys.intern(TyKind::Agent(a));
        self.u.hir.tys.intern(TyKind::AgentRef(inner))
    }
}
