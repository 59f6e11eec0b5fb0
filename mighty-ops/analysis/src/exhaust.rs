//! Exhaustiveness and reachability of matches by usefulness of patterns (MT2015, MT2016; language.md §8).
//! Must not report; `infer::settle` does.

use crate::hir::*;
use crate::infer::BodyTypes;
use crate::ty::{Ty, TyKind};

/// What is wrong with a match.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Indices of arms that no value reaches.
    pub(crate) unreachable: Vec<usize>,
    /// Patterns of values that no arm takes, ready to stand before `=>`.
    pub(crate) missing: Vec<String>,
}

/// Work one match may take; beyond it nothing is reported about it.
const MAX_STEPS: u32 = 2_000_000;

/// Missing patterns listed at most.
pub(crate) const MAX_MISSING: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Ctor {
    Bool(bool),
    Variant(u32),
    Prelude(PreludeVariant),
    /// The only one of a tuple or struct.
    Single,
    /// A literal, range or constant, by its text.
    Text(String),
}

#[derive(Debug, Clone)]
enum P {
    Wild,
    Ctor(Ctor, Vec<P>),
    Or(Vec<P>),
}

/// A pattern lost to an error: nothing can be said about the match.
struct Lost;

struct Check<'a> {
    hir: &'a mut Hir,
    body: &'a Body,
    types: &'a BodyTypes,
    steps: u32,
}

/// Judges the arms of a match on values of a type.
pub(crate) fn check(hir: &mut Hir, body: &Body, types: &BodyTypes, ty: Ty, arms: &[Arm]) -> Report {
    let mut c = Check {
        hir,
        body,
        types,
        steps: 0,
    };
    let mut report = Report::default();
    let open = matches!(
        c.hir.tys.kind(ty),
        TyKind::Error | TyKind::Unknown | TyKind::Opaque(_) | TyKind::Never
    );
    let mut rows: Vec<Vec<P>> = Vec::with_capacity(arms.len());
    for (i, arm) in arms.iter().enumerate() {
        let Ok(p) = c.pattern(arm.pat, ty) else {
            return Report::default();
        };
        if !c.useful(&rows, std::slice::from_ref(&p), &[ty], 0) {
            report.unreachable.push(i);
        }
        if arm.guard.is_none() {
            c.push_row(&mut rows, vec![p]);
        }
        if c.steps > MAX_STEPS {
            return Report::default();
        }
    }
    if !open {
        report.missing = c.missing(&rows, ty);
        if c.steps > MAX_STEPS {
            return Report::default();
        }
    }
    report
}

impl Check<'_> {
    /// Adds a row, alternatives of its first column spread out.
    fn push_row(&mut self, rows: &mut Vec<Vec<P>>, row: Vec<P>) {
        self.steps += 1;
        match row.first() {
            Some(P::Or(alternatives)) => {
                for a in alternatives {
                    let mut one = vec![a.clone()];
                    one.extend_from_slice(&row[1..]);
                    self.push_row(rows, one);
                }
            }
            _ => rows.push(row),
        }
    }

    fn pattern(&mut self, p: PatId, ty: Ty) -> Result<P, Lost> {
        let body = self.body;
        let ty = self.hir.tys.peel(ty);
        let pat = body.pat(p);
        Ok(match pat.kind {
            PatKind::Missing => return Err(Lost),
            PatKind::Wild => P::Wild,
            PatKind::Lit {
                lit: Lit::Bool(b), ..
            } => P::Ctor(Ctor::Bool(b), Vec::new()),
            PatKind::Lit { .. } | PatKind::Range { .. } => P::Ctor(self.text(p), Vec::new()),
            PatKind::Bind { sub: Some(s), .. } => self.pattern(s, ty)?,
            PatKind::Bind { .. } => match self.types.pat_res.get(&p) {
                Some((_, i)) => P::Ctor(Ctor::Variant(*i), Vec::new()),
                None => P::Wild,
            },
            PatKind::Ref { inner, .. } => self.pattern(inner, ty)?,
            PatKind::Tuple(list) => {
                let parts = body.pats_of(list);
                let types = self.fields(ty, &Ctor::Single);
                if types.len() != parts.len() {
                    return Err(Lost);
                }
                P::Ctor(Ctor::Single, self.patterns(parts, &types)?)
            }
            PatKind::Path(res) => self.path(p, res, &[], ty)?,
            PatKind::Variant { res, args, .. } => self.path(p, res, body.pats_of(args), ty)?,
            PatKind::Struct { head, fields, .. } => {
                let other = match head {
                    LitHead::Struct(h) => {
                        !matches!(self.hir.tys.kind(ty), TyKind::Struct(s, _) if s == h)
                    }
                    LitHead::NotAStruct | LitHead::Error => true,
                    LitHead::Agent(_) | LitHead::Ty(_) | LitHead::Opaque => false,
                };
                if other {
                    return Err(Lost);
                }
                let TyKind::Struct(s, _) = self.hir.tys.kind(ty) else {
                    return if head == LitHead::Opaque {
                        Ok(P::Ctor(self.text(p), Vec::new()))
                    } else {
                        Err(Lost)
                    };
                };
                let names: Vec<Name> = self.hir.structs[s.index()]
                    .fields
                    .iter()
                    .map(|f| f.name)
                    .collect();
                let types = self.fields(ty, &Ctor::Single);
                let mut parts = vec![P::Wild; names.len()];
                for f in body.field_pats_of(fields) {
                    let i = names.iter().position(|n| *n == f.name).ok_or(Lost)?;
                    parts[i] = self.pattern(f.pat, types[i])?;
                }
                P::Ctor(Ctor::Single, parts)
            }
            PatKind::Or(list) => {
                let parts: Result<Vec<P>, Lost> = body
                    .pats_of(list)
                    .iter()
                    .map(|x| self.pattern(*x, ty))
                    .collect();
                P::Or(parts?)
            }
        })
    }

    fn patterns(&mut self, parts: &[PatId], types: &[Ty]) -> Result<Vec<P>, Lost> {
        parts
            .iter()
            .zip(types)
            .map(|(p, t)| self.pattern(*p, *t))
            .collect()
    }

    fn text(&self, p: PatId) -> Ctor {
        Ctor::Text(
            self.hir
                .text_of(self.body.file, self.body.pat(p).range)
                .to_owned(),
        )
    }

    fn path(&mut self, p: PatId, res: PatRes, args: &[PatId], ty: Ty) -> Result<P, Lost> {
        let ctor = match res {
            PatRes::Variant(_, i) => Ctor::Variant(i),
            PatRes::Prelude(v) => Ctor::Prelude(v),
            PatRes::Const(_) | PatRes::AssocConst(..) => self.text(p),
            PatRes::Struct(_) => return Ok(P::Wild),
            PatRes::ByType(_) => match self.types.pat_res.get(&p) {
                Some((_, i)) => Ctor::Variant(*i),
                None => return Err(Lost),
            },
            PatRes::Opaque => return Ok(P::Ctor(self.text(p), Vec::new())),
            PatRes::Error => return Err(Lost),
        };
        if matches!(ctor, Ctor::Text(_)) {
            return Ok(P::Ctor(ctor, Vec::new()));
        }
        let types = self.fields(ty, &ctor);
        if types.len() != args.len() {
            return Err(Lost);
        }
        let parts = self.patterns(args, &types)?;
        Ok(P::Ctor(ctor, parts))
    }

    /// Types of the parts of a constructor.
    fn fields(&mut self, ty: Ty, ctor: &Ctor) -> Vec<Ty> {
        let kind = self.hir.tys.kind(ty);
        match (kind, ctor) {
            (TyKind::Option(t), Ctor::Prelude(PreludeVariant::Some)) => vec![t],
            (TyKind::Result(t, _), Ctor::Prelude(PreludeVariant::Ok)) => vec![t],
            (TyKind::Result(_, e), Ctor::Prelude(PreludeVariant::Err)) => vec![e],
            (TyKind::Tuple(l), Ctor::Single) => self.hir.tys.list(l).to_vec(),
            (TyKind::Struct(s, args), Ctor::Single) => {
                let item = &self.hir.structs[s.index()];
                let (types, generics) = (
                    item.fields.iter().map(|f| f.ty).collect::<Vec<_>>(),
                    item.generics.clone(),
                );
                self.substituted(types, &generics, args)
            }
            (TyKind::Enum(e, args), Ctor::Variant(i)) => {
                let item = &self.hir.enums[e.index()];
                let Some(v) = item.variants.get(*i as usize) else {
                    return Vec::new();
                };
                let (types, generics) = (v.payload.clone(), item.generics.clone());
                self.substituted(types, &generics, args)
            }
            _ => Vec::new(),
        }
    }

    fn substituted(
        &mut self,
        types: Vec<Ty>,
        generics: &[GenericId],
        args: crate::ty::Tys,
    ) -> Vec<Ty> {
        if generics.is_empty() {
            return types;
        }
        let args = self.hir.tys.list(args).to_vec();
        let swap = |k: TyKind| k.argument(generics, &args);
        types
            .into_iter()
            .map(|t| self.hir.tys.substitute(t, &swap))
            .collect()
    }

    /// Whether a row of patterns takes a value that no earlier row takes.
    fn useful(&mut self, rows: &[Vec<P>], q: &[P], types: &[Ty], depth: u32) -> bool {
        self.steps += 1 + rows.len() as u32;
        if self.steps > MAX_STEPS || depth > 512 {
            return true;
        }
        let Some(first) = q.first() else {
            return rows.is_empty();
        };
        match first {
            P::Or(alternatives) => alternatives.iter().any(|a| {
                let mut one = vec![a.clone()];
                one.extend_from_slice(&q[1..]);
                self.useful(rows, &one, types, depth + 1)
            }),
            P::Ctor(c, parts) => {
                let inner = self.specialise(rows, c, parts.len());
                let mut next = parts.clone();
                next.extend_from_slice(&q[1..]);
                let types = self.next_types(types, c, parts.len());
                self.useful(&inner, &next, &types, depth + 1)
            }
            P::Wild => {
                let all_wild = rows.iter().all(|r| matches!(r[0], P::Wild));
                let ty = types.first().map_or(Ty::UNKNOWN, |t| self.hir.tys.peel(*t));
                let all = if all_wild {
                    None
                } else {
                    self.constructors(ty)
                };
                if let Some(all) = all {
                    return all.iter().any(|(c, n)| {
                        let inner = self.specialise(rows, c, *n);
                        let mut next = vec![P::Wild; *n];
                        next.extend_from_slice(&q[1..]);
                        let types = self.next_types(types, c, *n);
                        self.useful(&inner, &next, &types, depth + 1)
                    });
                }
                let rest = self.defaults(rows);
                self.useful(
                    &rest,
                    &q[1..],
                    types.get(1..).unwrap_or_default(),
                    depth + 1,
                )
            }
        }
    }

    /// Column types once the first column is taken apart.
    fn next_types(&mut self, types: &[Ty], c: &Ctor, arity: usize) -> Vec<Ty> {
        let first = types.first().map_or(Ty::UNKNOWN, |t| self.hir.tys.peel(*t));
        let mut next = self.fields(first, c);
        next.resize(arity, Ty::UNKNOWN);
        next.extend_from_slice(types.get(1..).unwrap_or_default());
        next
    }

    fn specialise(&mut self, rows: &[Vec<P>], c: &Ctor, arity: usize) -> Vec<Vec<P>> {
        let mut out = Vec::new();
        for row in rows {
            self.steps += 1;
            match &row[0] {
                P::Ctor(d, parts) if d == c && parts.len() == arity => {
                    let mut next = parts.clone();
                    next.extend_from_slice(&row[1..]);
                    self.push_row(&mut out, next);
                }
                P::Wild => {
                    let mut next = vec![P::Wild; arity];
                    next.extend_from_slice(&row[1..]);
                    self.push_row(&mut out, next);
                }
                _ => {}
            }
        }
        out
    }

    fn defaults(&mut self, rows: &[Vec<P>]) -> Vec<Vec<P>> {
        let mut out = Vec::new();
        for row in rows {
            self.steps += 1;
            if matches!(row[0], P::Wild) {
                self.push_row(&mut out, row[1..].to_vec());
            }
        }
        out
    }

    /// All constructors of a type with the number of their parts; none if they cannot be counted.
    fn constructors(&mut self, ty: Ty) -> Option<Vec<(Ctor, usize)>> {
        Some(match self.hir.tys.kind(ty) {
            TyKind::Bool => vec![(Ctor::Bool(true), 0), (Ctor::Bool(false), 0)],
            TyKind::Option(_) => {
                vec![
                    (Ctor::Prelude(PreludeVariant::Some), 1),
                    (Ctor::Prelude(PreludeVariant::None), 0),
                ]
            }
            TyKind::Result(..) => {
                vec![
                    (Ctor::Prelude(PreludeVariant::Ok), 1),
                    (Ctor::Prelude(PreludeVariant::Err), 1),
                ]
            }
            TyKind::Unit => vec![(Ctor::Single, 0)],
            TyKind::Tuple(l) => vec![(Ctor::Single, self.hir.tys.list(l).len())],
            TyKind::Struct(s, _) => vec![(Ctor::Single, self.hir.structs[s.index()].fields.len())],
            TyKind::Enum(e, _) => {
                let variants = &self.hir.enums[e.index()].variants;
                variants
                    .iter()
                    .enumerate()
                    .map(|(i, v)| (Ctor::Variant(i as u32), v.payload.len()))
                    .collect()
            }
            _ => return None,
        })
    }

    /// Patterns of a single column that no row takes.
    fn missing(&mut self, rows: &[Vec<P>], ty: Ty) -> Vec<String> {
        let all_wild = rows.iter().all(|r| matches!(r[0], P::Wild));
        let ctors = if all_wild {
            None
        } else {
            self.constructors(ty)
        };
        let Some(ctors) = ctors else {
            let rest = self.defaults(rows);
            if !rest.is_empty() {
                return Vec::new();
            }
            // Nothing at all is taken: name the variants, if there are any.
            if let Some(all) = self.constructors(ty).filter(|_| rows.is_empty()) {
                return all
                    .iter()
                    .take(MAX_MISSING)
                    .map(|(c, n)| self.show(ty, c, &vec!["_".to_owned(); *n]))
                    .collect();
            }
            return vec!["_".to_owned()];
        };
        let mut found = Vec::new();
        for (c, n) in &ctors {
            let inner = self.specialise(rows, c, *n);
            let types = self.fields(ty, c);
            if let Some(parts) = self.uncovered(&inner, &types, 0) {
                found.push(self.show(ty, c, &parts));
                if found.len() == MAX_MISSING {
                    break;
                }
            }
        }
        found
    }

    /// A row of values that no row of patterns takes.
    fn uncovered(&mut self, rows: &[Vec<P>], types: &[Ty], depth: u32) -> Option<Vec<String>> {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > 512 {
            return None;
        }
        let Some(ty) = types.first() else {
            return rows.is_empty().then(Vec::new);
        };
        let ty = self.hir.tys.peel(*ty);
        let all_wild = rows.iter().all(|r| matches!(r[0], P::Wild));
        let ctors = if all_wild {
            None
        } else {
            self.constructors(ty)
        };
        match ctors {
            Some(ctors) => {
                for (c, n) in &ctors {
                    let inner = self.specialise(rows, c, *n);
                    let mut next = self.fields(ty, c);
                    next.extend_from_slice(&types[1..]);
                    if let Some(mut values) = self.uncovered(&inner, &next, depth + 1) {
                        let rest = values.split_off(*n);
                        let mut out = vec![self.show(ty, c, &values)];
                        out.extend(rest);
                        return Some(out);
                    }
                }
                None
            }
            None => {
                // Of an open type nothing is known but what the patterns say.
                let open = matches!(
                    self.hir.tys.kind(ty),
                    TyKind::Unknown | TyKind::Error | TyKind::Opaque(_)
                );
                if open && !all_wild {
                    return None;
                }
                let rest = self.defaults(rows);
                let values = self.uncovered(&rest, &types[1..], depth + 1)?;
                let mut out = vec!["_".to_owned()];
                out.extend(values);
                Some(out)
            }
        }
    }

    fn show(&self, ty: Ty, c: &Ctor, parts: &[String]) -> String {
        let hir = &self.hir;
        match (hir.tys.kind(ty), c) {
            (TyKind::Enum(e, _), Ctor::Variant(i)) => {
                let e = &hir.enums[e.index()];
                let name = format!(
                    "{}.{}",
                    hir.text(e.head.name),
                    hir.text(e.variants[*i as usize].name)
                );
                if parts.is_empty() {
                    name
                } else {
                    format!("{name}({})", parts.join(", "))
                }
            }
            (_, Ctor::Bool(b)) => b.to_string(),
            (_, Ctor::Prelude(PreludeVariant::None)) => "None".to_owned(),
            (_, Ctor::Prelude(v)) => format!("{v:?}({})", parts.join(", ")),
            (TyKind::Tuple(_) | TyKind::Unit, Ctor::Single) => format!("({})", parts.join(", ")),
            _ => "_".to_owned(),
        }
    }
}
