//! Types of patterns and their bindings (language.md §3.3, §8).
//! Must not judge exhaustiveness.

use syntax::TextRange;

use super::driver::Fx;
use super::unify::Kind;
use crate::hir::*;
use crate::ty::{Ty, TyKind};

impl Fx<'_, '_> {
    /// Binds a pattern to the type it is matched against.
    pub(super) fn bind_pat(&mut self, p: PatId, ty: Ty) {
        let body = self.body;
        let pat = body.pat(p);
        let is_binding = matches!(pat.kind, PatKind::Bind { .. } | PatKind::Wild);
        let ty = if is_binding {
            self.u.resolve(ty)
        } else {
            self.u.peel(ty).0
        };
        self.cx.bt.pats[p.index()] = ty;
        match pat.kind {
            PatKind::Missing | PatKind::Wild => {}
            PatKind::Lit { lit, neg, .. } => {
                let found = self.literal(lit, pat.range, neg);
                if neg && let Some(l) = self.cx.literals.pop() {
                    self.cx.pat_literals.push(l);
                }
                self.pat_expects(pat.range, ty, found);
            }
            PatKind::Range {
                lits: (a, b),
                low,
                high,
                ..
            } => {
                for (lit, value) in [(a, low), (b, high)] {
                    let found = match lit {
                        Lit::Int(_, None) => self.u.var(Kind::Integer),
                        other => {
                            let n = self.cx.literals.len();
                            let t = self.literal(other, pat.range, false);
                            self.cx.literals.truncate(n);
                            t
                        }
                    };
                    if !self.pat_expects(pat.range, ty, found) {
                        break;
                    }
                    if let Some(v) = value {
                        let entry = (pat.range, found, v.unsigned_abs(), v < 0);
                        self.cx.pat_literals.push(entry);
                    }
                }
            }
            PatKind::Bind { local, sub, maybe } => self.bind_name(p, ty, local, sub, maybe),
            PatKind::Ref { inner, .. } => self.bind_pat(inner, ty),
            PatKind::Tuple(list) => self.bind_tuple(pat.range, ty, body.pats_of(list)),
            PatKind::Path(res) => self.bind_path(p, pat.range, ty, res),
            PatKind::Variant { res, args, .. } => {
                self.bind_variant(p, pat.range, ty, res, body.pats_of(args))
            }
            PatKind::Struct { head, fields, .. } => self.bind_struct(pat.range, ty, head, fields),
            PatKind::Or(list) => body
                .pats_of(list)
                .iter()
                .for_each(|x| self.bind_pat(*x, ty)),
        }
    }

    fn pat_expects(&mut self, range: TextRange, ty: Ty, found: Ty) -> bool {
        if self.u.unify(ty, found) {
            return true;
        }
        self.mismatch(2001, range, ty, found);
        false
    }

    fn bind_name(&mut self, p: PatId, ty: Ty, local: LocalId, sub: Option<PatId>, maybe: bool) {
        if maybe {
            let (peeled, _) = self.u.peel(ty);
            let name = self.body.local(local).name;
            if let TyKind::Enum(id, _) = self.u.hir.tys.kind(peeled)
                && let Some(i) = self.unit_variant(id, name)
            {
                self.cx.bt.pat_res.insert(p, (id, i));
                return;
            }
        }
        let ty = if self.body.local(local).by_ref {
            self.u
                .hir
                .tys
                .intern(TyKind::Ref(ty, self.body.local(local).mutable))
        } else {
            ty
        };
        let known = self.cx.bt.locals[local.index()];
        if !self.u.unify(known, ty) {
            // Alternatives bind equal types ([R:G17]), written parameter types agree with wanted ones.
            let range = self.body.pat(p).range;
            if self.body.local(local).ty.is_none() {
                self.mismatch(2001, range, known, ty);
            }
        }
        if let Some(s) = sub {
            self.bind_pat(s, ty);
        }
    }

    fn unit_variant(&self, id: EnumId, name: Name) -> Option<u32> {
        let variants = &self.u.hir.enums[id.index()].variants;
        variants
            .iter()
            .position(|v| v.name == name && v.payload.is_empty())
            .map(|i| i as u32)
    }

    fn bind_tuple(&mut self, range: TextRange, ty: Ty, parts: &[PatId]) {
        match self.u.shape(ty) {
            TyKind::Tuple(l) if self.u.hir.tys.list(l).len() == parts.len() => {
                for (i, p) in parts.iter().enumerate() {
                    let t = self.u.hir.tys.list(l)[i];
                    self.bind_pat(*p, t);
                }
            }
            TyKind::Error | TyKind::Unknown | TyKind::Opaque(_) | TyKind::Never => {
                self.bind_any(parts)
            }
            TyKind::Unit if parts.is_empty() => {}
            _ => {
                let types: Vec<Ty> = parts.iter().map(|_| self.u.fresh()).collect();
                let tuple = self.u.hir.tys.tuple(&types);
                if !self.u.unify(ty, tuple) {
                    self.mismatch(2001, range, ty, tuple);
                    self.bind_poison(parts);
                    return;
                }
                for (p, t) in parts.iter().zip(&types) {
                    self.bind_pat(*p, *t);
                }
            }
        }
    }

    fn bind_any(&mut self, parts: &[PatId]) {
        for p in parts {
            let t = self.u.fresh();
            self.bind_pat(*p, t);
        }
    }

    fn bind_poison(&mut self, parts: &[PatId]) {
        for p in parts {
            self.bind_pat(*p, Ty::ERROR);
        }
    }

    fn bind_path(&mut self, p: PatId, range: TextRange, ty: Ty, res: PatRes) {
        match res {
            PatRes::Variant(id, i) => {
                let own = self.enum_fresh(id, &[]);
                if self.pat_expects(range, ty, own) {
                    self.payload_count(range, id, i, 0);
                }
            }
            PatRes::Prelude(v) => self.bind_prelude(range, ty, v, &[]),
            PatRes::Const(c) => {
                let t = self.const_ty(c);
                self.pat_expects(range, ty, t);
            }
            PatRes::AssocConst(of, name) => {
                let key = super::tables::head_key(self.u.shape(of));
                if let Some(c) = key.and_then(|k| self.u.tables.consts.get(&(k, name)).copied()) {
                    let t = self.const_ty(c);
                    self.pat_expects(range, ty, t);
                }
            }
            PatRes::Struct(s) => {
                if let Some((_, own)) = self.head_type(LitHead::Struct(s)) {
                    self.pat_expects(range, ty, own);
                }
            }
            PatRes::ByType(name) => {
                if let Some((id, i)) = self.by_type(range, ty, name) {
                    self.cx.bt.pat_res.insert(p, (id, i));
                    self.payload_count(range, id, i, 0);
                }
            }
            PatRes::Opaque | PatRes::Error => {}
        }
    }

    /// A single name as a variant of the enum that is matched.
    fn by_type(&mut self, range: TextRange, ty: Ty, name: Name) -> Option<(EnumId, u32)> {
        match self.u.shape(ty) {
            TyKind::Enum(id, _) => {
                let variants = &self.u.hir.enums[id.index()].variants;
                if let Some(i) = variants.iter().position(|v| v.name == name) {
                    return Some((id, i as u32));
                }
                let len = self.u.hir.text(name).len() as u32;
                let at = TextRange::new(range.start, range.start + len);
                self.unknown_variant(id, name, at);
                None
            }
            TyKind::Error | TyKind::Unknown | TyKind::Opaque(_) | TyKind::Var(_) => None,
            _ => {
                let shown = self.u.show(ty);
                let title = format!("`{}` is no variant of `{shown}`", self.u.hir.text(name));
                let d = self.diagnostic(2001, range, title);
                self.push(d);
                None
            }
        }
    }

    /// MT2012. Says whether the number fits.
    fn payload_count(&mut self, range: TextRange, id: EnumId, i: u32, found: usize) -> bool {
        let v = &self.u.hir.enums[id.index()].variants[i as usize];
        let n = v.payload.len();
        if n == found {
            return true;
        }
        let s = if n == 1 { "" } else { "s" };
        let title = format!(
            "the variant `{}` holds {n} value{s}, the pattern names {found}",
            self.u.hir.text(v.name)
        );
        let d = self.diagnostic(2012, range, title);
        self.push(d.hint(crate::diagnostic::FixHint::Facts(vec![
            ("expected", n.to_string()),
            ("found", found.to_string()),
        ])));
        false
    }

    fn bind_variant(&mut self, p: PatId, range: TextRange, ty: Ty, res: PatRes, args: &[PatId]) {
        let (id, i) = match res {
            PatRes::Variant(id, i) => (id, i),
            PatRes::Prelude(v) => return self.bind_prelude(range, ty, v, args),
            PatRes::ByType(name) => match self.by_type(range, ty, name) {
                Some(found) => {
                    self.cx.bt.pat_res.insert(p, found);
                    found
                }
                None => {
                    let open = matches!(
                        self.u.shape(ty),
                        TyKind::Var(_) | TyKind::Unknown | TyKind::Opaque(_)
                    );
                    return if open {
                        self.bind_any(args)
                    } else {
                        self.bind_poison(args)
                    };
                }
            },
            PatRes::Opaque | PatRes::Const(_) | PatRes::AssocConst(..) | PatRes::Struct(_) => {
                return self.bind_any(args);
            }
            PatRes::Error => return self.bind_poison(args),
        };
        let own = self.enum_fresh(id, &[]);
        if !self.pat_expects(range, ty, own) {
            return self.bind_poison(args);
        }
        let payload = self.payload(own, id, i);
        if !self.payload_count(range, id, i, args.len()) {
            return self.bind_poison(args);
        }
        for (a, t) in args.iter().zip(payload) {
            self.bind_pat(*a, t);
        }
    }

    fn bind_prelude(&mut self, range: TextRange, ty: Ty, v: PreludeVariant, args: &[PatId]) {
        let (a, b) = (self.u.fresh(), self.u.fresh());
        let own = match v {
            PreludeVariant::Some | PreludeVariant::None => self.u.hir.tys.intern(TyKind::Option(a)),
            PreludeVariant::Ok | PreludeVariant::Err => self.u.hir.tys.intern(TyKind::Result(a, b)),
        };
        if !self.pat_expects(range, ty, own) {
            return self.bind_poison(args);
        }
        let payload = match v {
            PreludeVariant::Some | PreludeVariant::Ok => Some(a),
            PreludeVariant::Err => Some(b),
            PreludeVariant::None => None,
        };
        let n = usize::from(payload.is_some());
        if args.len() != n {
            let title = format!(
                "this variant holds {n} value{}, the pattern names {}",
                if n == 1 { "" } else { "s" },
                args.len()
            );
            let d = self.diagnostic(2012, range, title);
            self.push(d.hint(crate::diagnostic::FixHint::Facts(vec![
                ("expected", n.to_string()),
                ("found", args.len().to_string()),
            ])));
            return self.bind_poison(args);
        }
        if let (Some(t), [p]) = (payload, args) {
            self.bind_pat(*p, t);
        }
    }

    fn bind_struct(&mut self, range: TextRange, ty: Ty, head: LitHead, fields: List<FieldPat>) {
        let fields = self.body.field_pats_of(fields);
        let Some((s, own)) = self.head_type(head) else {
            for f in fields {
                let t = if head == LitHead::Opaque {
                    self.u.fresh()
                } else {
                    Ty::ERROR
                };
                self.bind_pat(f.pat, t);
            }
            return;
        };
        if !self.pat_expects(range, ty, own) {
            fields.iter().for_each(|f| self.bind_pat(f.pat, Ty::ERROR));
            return;
        }
        let item = self.u.hir.structs[s.index()].clone();
        let TyKind::Struct(_, args) = self.u.shape(own) else {
            return;
        };
        for f in fields {
            match item.fields.iter().find(|x| x.name == f.name) {
                Some(x) => {
                    let t = self.with_args(x.ty, &item.generics, args);
                    self.bind_pat(f.pat, t);
                }
                None => {
                    self.unknown_field(s, f.name, f.name_range);
                    self.bind_pat(f.pat, Ty::ERROR);
                }
            }
        }
    }
}
