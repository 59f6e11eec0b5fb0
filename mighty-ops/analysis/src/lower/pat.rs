//! Patterns to HIR, with the bindings they make (language.md §3.3, [R:G17]).
//! Must not decide by type which bare names are variants; inference does.

use syntax::ast::{self, AstNode, HasName, LitToken, Pattern};
use syntax::{Node, SyntaxKind, TextRange, Token};

use super::body::{Cx, list};
use super::names::{Meaning, Prefix, Usage};
use crate::diagnostic::{Diagnostic, FixHint};
use crate::hir::*;
use crate::resolve::{prelude, suggest};
use crate::ty::{Prim, Ty, TyKind};

/// What the bindings of a pattern get.
#[derive(Clone, Copy)]
struct Binding {
    kind: LocalKind,
    mutable: bool,
    ty: Option<Ty>,
}

impl Cx<'_, '_> {
    pub(super) fn add_pat(&mut self, kind: PatKind, range: TextRange, node: Node<'_>) -> PatId {
        let id = PatId(self.body.pats.len() as u32);
        let range = self.at(range);
        let node = self.node_id(node);
        self.body.pats.push(Pat { kind, range, node });
        id
    }

    /// A pattern with its bindings in scope from here on.
    pub(super) fn top_pat(&mut self, p: Pattern<'_>, kind: LocalKind, mutable: bool) -> PatId {
        self.pat(
            p,
            Binding {
                kind,
                mutable,
                ty: None,
            },
        )
    }

    pub(super) fn param_pat(&mut self, p: Pattern<'_>, kind: LocalKind, ty: Option<Ty>) -> PatId {
        if let Pattern::IdentPat(i) = p
            && i.sub().is_none()
        {
            // A parameter is a binding whatever its name.
            return self.binding(
                i,
                Binding {
                    kind,
                    mutable: false,
                    ty,
                },
                false,
            );
        }
        // The declared type is that of the whole pattern; inference finds it in the signature.
        self.pat(
            p,
            Binding {
                kind,
                mutable: false,
                ty: None,
            },
        )
    }

    fn pat(&mut self, p: Pattern<'_>, b: Binding) -> PatId {
        let node = p.syntax();
        let kind = match p {
            Pattern::WildcardPat(_) => PatKind::Wild,
            Pattern::LiteralPat(l) => match l.literal().and_then(|t| Some((t, LitToken::of(t)?))) {
                Some((t, lit)) => match super::expr::literal(lit) {
                    Some(lit) => PatKind::Lit {
                        lit,
                        neg: l.minus_token().is_some(),
                        lit_range: self.at(t.range()),
                    },
                    None => PatKind::Missing,
                },
                None => PatKind::Missing,
            },
            Pattern::RangePat(r) => range_pat(r),
            Pattern::IdentPat(i) => return self.ident_pat(i, b),
            Pattern::RefPat(r) => match r.inner() {
                Some(inner) => {
                    let inner = self.pat(inner, b);
                    PatKind::Ref {
                        mutable: r.mut_token().is_some(),
                        inner,
                    }
                }
                None => PatKind::Missing,
            },
            Pattern::TuplePat(t) => {
                let parts: Vec<PatId> = t.patterns().map(|p| self.pat(p, b)).collect();
                PatKind::Tuple(self.pat_list(&parts))
            }
            Pattern::ParenPat(p) => match p.inner() {
                Some(inner) => return self.pat(inner, b),
                None => PatKind::Missing,
            },
            Pattern::PathPat(p) => match p.path() {
                Some(path) => PatKind::Path(self.pat_path(path)),
                None => PatKind::Missing,
            },
            Pattern::VariantPat(v) => {
                let res = v.path().map_or(PatRes::Error, |p| self.pat_path(p));
                let res_range = self.at(v.path().map_or_else(|| v.range(), AstNode::range));
                let args: Vec<PatId> = v.patterns().map(|p| self.pat(p, b)).collect();
                PatKind::Variant {
                    res,
                    res_range,
                    args: self.pat_list(&args),
                }
            }
            Pattern::StructPat(s) => self.struct_pat(s, b),
            Pattern::OrPat(o) => self.or_pat(o, b),
        };
        self.add_pat(kind, node.range(), node)
    }

    fn ident_pat(&mut self, i: ast::IdentPat<'_>, b: Binding) -> PatId {
        let Some(t) = i.name() else {
            return self.add_pat(PatKind::Missing, i.range(), i.syntax());
        };
        let mut maybe = false;
        if i.is_bare() {
            let name = self.lower.name(t);
            if let Some(v @ PreludeVariant::None) = prelude::variant(t.text()) {
                return self.add_pat(PatKind::Path(PatRes::Prelude(v)), i.range(), i.syntax());
            }
            match self.lower.lookup(self.scope.module, name) {
                Some(Def::Const(c)) if t.text().starts_with(char::is_uppercase) => {
                    return self.add_pat(PatKind::Path(PatRes::Const(c)), i.range(), i.syntax());
                }
                Some(Def::Variant(e, v)) => {
                    return self.add_pat(
                        PatKind::Path(PatRes::Variant(e, v)),
                        i.range(),
                        i.syntax(),
                    );
                }
                Some(Def::Struct(s)) if t.text().starts_with(char::is_uppercase) => {
                    return self.add_pat(PatKind::Path(PatRes::Struct(s)), i.range(), i.syntax());
                }
                _ => {}
            }
            maybe = self.lower.unit_variants.contains(&name);
        }
        self.binding(i, b, maybe)
    }

    /// The local that a name in a pattern binds: the one that an earlier alternative bound, or this new one.
    fn pattern_local(&mut self, new: Local) -> LocalId {
        let mut known = self.alternatives.iter().flatten();
        if let Some((_, local)) = known.find(|(n, _)| *n == new.name) {
            return *local;
        }
        let name = new.name;
        let local = self.add_local(new);
        self.bind(name, local);
        local
    }

    fn binding(&mut self, i: ast::IdentPat<'_>, b: Binding, maybe: bool) -> PatId {
        let Some(t) = i.name() else {
            return self.add_pat(PatKind::Missing, i.range(), i.syntax());
        };
        let name = self.lower.name(t);
        let sub = i.sub().map(|p| self.pat(p, Binding { ty: None, ..b }));
        let range = self.at(t.range());
        let local = self.pattern_local(Local {
            name,
            range,
            mutable: b.mutable || i.mut_token().is_some(),
            by_ref: i.ref_token().is_some(),
            kind: b.kind,
            ty: b.ty,
            depth: self.depth,
        });
        if !maybe {
            self.bound.push((name, local));
        }
        self.add_pat(PatKind::Bind { local, sub, maybe }, i.range(), i.syntax())
    }

    /// Alternatives bind equal names ([R:G17]); equal names are one local.
    fn or_pat(&mut self, o: ast::OrPat<'_>, b: Binding) -> PatKind {
        let outer_bound = std::mem::take(&mut self.bound);
        let outer = self.alternatives.clone();
        let mut parts = Vec::new();
        let mut first: Option<Vec<(Name, LocalId)>> = None;
        for p in o.patterns() {
            self.bound.clear();
            parts.push(self.pat(p, b));
            match &first {
                None => {
                    let mut known = outer.clone().unwrap_or_default();
                    known.extend(self.bound.iter().copied());
                    self.alternatives = Some(known);
                    first = Some(self.bound.clone());
                }
                Some(names) => {
                    let missing = names
                        .iter()
                        .find(|(n, _)| !self.bound.iter().any(|(m, _)| m == n));
                    let extra = self
                        .bound
                        .iter()
                        .find(|(n, _)| !names.iter().any(|(m, _)| m == n));
                    if let Some((n, _)) = missing.or(extra) {
                        let text = self.lower.hir.text(*n).to_owned();
                        let range = self.at(p.range());
                        let title =
                            format!("`{text}` is not bound in every alternative of this pattern");
                        self.lower.sink.push(Diagnostic::error(
                            2001,
                            self.scope.file,
                            range,
                            title,
                        ));
                    }
                }
            }
        }
        self.alternatives = outer;
        self.bound = outer_bound;
        self.bound.extend(first.unwrap_or_default());
        PatKind::Or(self.pat_list(&parts))
    }

    fn struct_pat(&mut self, s: ast::StructPat<'_>, b: Binding) -> PatKind {
        let head_range = self.at(s.path().map_or_else(|| s.range(), AstNode::range));
        let head = match s.path() {
            Some(path) => {
                let tokens: Vec<Token<'_>> = path.segments().collect();
                match self.type_of_path(&tokens) {
                    Some(prefix) => self.lit_head(prefix, head_range),
                    None => {
                        if let Some(t) = tokens.last() {
                            let title = format!("there is no type `{}`", t.text());
                            self.lower.sink.push(Diagnostic::error(
                                2002,
                                self.scope.file,
                                head_range,
                                title,
                            ));
                        }
                        LitHead::Error
                    }
                }
            }
            None => LitHead::Error,
        };
        let mut fields = Vec::new();
        for f in s.fields() {
            let Some(t) = f.name() else { continue };
            let name = self.lower.name(t);
            let name_range = self.at(t.range());
            let pat = match f.pattern() {
                Some(p) => self.pat(p, b),
                None => {
                    let local = self.pattern_local(Local {
                        name,
                        range: name_range,
                        mutable: b.mutable,
                        by_ref: false,
                        kind: b.kind,
                        ty: None,
                        depth: self.depth,
                    });
                    self.bound.push((name, local));
                    self.add_pat(
                        PatKind::Bind {
                            local,
                            sub: None,
                            maybe: false,
                        },
                        t.range(),
                        f.syntax(),
                    )
                }
            };
            fields.push(FieldPat {
                name,
                name_range,
                pat,
            });
        }
        PatKind::Struct {
            head,
            head_range,
            fields: list(&mut self.body.field_pats, &fields),
            rest: s.rest().is_some(),
        }
    }

    /// What a path of names means as a type, without reports; `None` if nothing.
    fn type_of_path(&mut self, tokens: &[Token<'_>]) -> Option<Prefix> {
        if let Some(def) = self.lower.def_of_path(tokens, self.scope.module) {
            return match self.of_def(def) {
                Meaning::Prefix(p) => Some(p),
                Meaning::Res(Res::Error) => Some(Prefix::Lost(Res::Error)),
                Meaning::Res(_) => Some(Prefix::Unknown(self.lower.well_known.empty)),
            };
        }
        let [only] = tokens else {
            let head = tokens.first()?.text();
            let foreign = head == "std" || prelude::is_module(head) || prelude::is_opaque(head);
            return foreign.then(|| Prefix::Opaque(Vec::new()));
        };
        let name = self.lower.name(*only);
        match self.meaning(name, Usage::Plain) {
            Meaning::Prefix(Prefix::Unknown(_)) | Meaning::Res(_) => None,
            Meaning::Prefix(p) => Some(p),
        }
    }

    /// The path of a variant or constant pattern.
    fn pat_path(&mut self, path: ast::QualPath<'_>) -> PatRes {
        let tokens: Vec<Token<'_>> = path.segments().collect();
        let Some(last) = tokens.last().copied() else {
            return PatRes::Error;
        };
        let name = self.lower.name(last);
        if let [only] = tokens[..] {
            if let Some(v) = prelude::variant(only.text()) {
                return PatRes::Prelude(v);
            }
            return match self.lower.lookup(self.scope.module, name) {
                Some(Def::Variant(e, i)) => PatRes::Variant(e, i),
                Some(Def::Const(c)) => PatRes::Const(c),
                Some(Def::Struct(s)) => PatRes::Struct(s),
                Some(Def::Foreign(_) | Def::Std(_)) => PatRes::Opaque,
                Some(Def::Broken) => PatRes::Error,
                _ => PatRes::ByType(name),
            };
        }
        match self.lower.def_of_path(&tokens, self.scope.module) {
            Some(Def::Variant(e, i)) => return PatRes::Variant(e, i),
            Some(Def::Const(c)) => return PatRes::Const(c),
            Some(Def::Foreign(_) | Def::Std(_)) => return PatRes::Opaque,
            Some(Def::Broken) => return PatRes::Error,
            _ => {}
        }
        let head = &tokens[..tokens.len() - 1];
        match self.type_of_path(head) {
            Some(Prefix::Type(ty)) => match self.lower.hir.tys.kind(ty) {
                TyKind::Enum(e, _) => self.variant_or_const(e, ty, name, last),
                TyKind::Option(_) | TyKind::Result(..) => {
                    prelude::variant(last.text()).map_or(PatRes::Error, PatRes::Prelude)
                }
                TyKind::Struct(..) => PatRes::AssocConst(ty, name),
                _ => PatRes::Opaque,
            },
            Some(Prefix::Prim(Prim::Option | Prim::Result)) => {
                prelude::variant(last.text()).map_or(PatRes::Error, PatRes::Prelude)
            }
            Some(Prefix::Prim(_) | Prefix::Trait(_)) => PatRes::Opaque,
            Some(Prefix::Lost(_)) => PatRes::Error,
            Some(_) => PatRes::Opaque,
            None => {
                if let Some(t) = head.last() {
                    let head_name = self.lower.name(*t);
                    if self.reported.insert(head_name, true).is_none() {
                        let hir = &self.lower.hir;
                        let enums = hir.enums.iter().map(|e| hir.text(e.head.name));
                        let near =
                            suggest::nearest(t.text(), enums).map(|(t, d)| (t.to_owned(), d));
                        let report = Diagnostic::error(
                            1001,
                            self.scope.file,
                            self.at(t.range()),
                            format!("nothing is named `{}` here", t.text()),
                        );
                        self.lower
                            .sink
                            .push(super::types::with_rename(report, near));
                    }
                }
                PatRes::Error
            }
        }
    }

    fn variant_or_const(&mut self, e: EnumId, ty: Ty, name: Name, token: Token<'_>) -> PatRes {
        let hir = &self.lower.hir;
        let item = &hir.enums[e.index()];
        if let Some(i) = item.variants.iter().position(|v| v.name == name) {
            return PatRes::Variant(e, i as u32);
        }
        let is_const = hir
            .consts
            .iter()
            .any(|c| c.head.name == name && c.owner.is_some());
        if is_const {
            return PatRes::AssocConst(ty, name);
        }
        let variants = item.variants.iter().map(|v| hir.text(v.name));
        let near = suggest::nearest(token.text(), variants);
        let mut report = Diagnostic::error(
            2009,
            self.scope.file,
            self.at(token.range()),
            format!(
                "the enum `{}` has no variant `{}`",
                hir.text(item.head.name),
                token.text()
            ),
        );
        if let Some((to, distance)) = near {
            report = report
                .note(format!("did you mean `{to}`?"))
                .hint(FixHint::Rename {
                    to: to.to_owned(),
                    distance,
                });
        }
        self.lower.sink.push(report);
        PatRes::Error
    }
}

fn range_pat(r: ast::RangePat<'_>) -> PatKind {
    let bound = |b: Option<ast::PatBound<'_>>| {
        let b = b?;
        let lit = super::expr::literal(LitToken::of(b.number)?)?;
        let value = match lit {
            Lit::Int(n, _) => i128::try_from(n)
                .ok()
                .map(|n| if b.minus.is_some() { -n } else { n }),
            _ => None,
        };
        Some((value, lit))
    };
    match (bound(r.low()), bound(r.high())) {
        (Some((low, a)), Some((high, b))) => {
            let inclusive = r
                .op_token()
                .is_some_and(|t| t.kind() == SyntaxKind::DotDotEq);
            PatKind::Range {
                low,
                high,
                inclusive,
                lits: (a, b),
            }
        }
        _ => PatKind::Missing,
    }
}
