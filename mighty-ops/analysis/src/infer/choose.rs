//! Which of several methods of one name a call means: by the impl's type, by the trait in sight (language.md §10).
//! Must not type the call.

use syntax::TextRange;

use super::driver::Fx;
use super::tables::Candidate;
use crate::hir::*;
use crate::ty::{Ty, TyKind};

impl Fx<'_, '_> {
    /// The candidate of the only trait among them that has a name at the current place.
    pub(super) fn only_seen(&self, among: &[Candidate]) -> Option<Candidate> {
        let sees = |t: TraitId| {
            let mut at = Some(self.body.module);
            while let Some(m) = at {
                let m = &self.u.hir.modules[m.index()];
                if m.names.values().any(|d| *d == Def::Trait(t)) {
                    return true;
                }
                at = m.parent;
            }
            false
        };
        let mut seen = among.iter().filter(|c| c.trait_id.is_some_and(sees));
        let first = *seen.next()?;
        seen.all(|c| c.trait_id == first.trait_id).then_some(first)
    }

    /// Whether an impl's self type can be that of a receiver, without deciding anything.
    pub(super) fn may_fit(&self, pattern: Ty, ty: Ty, depth: u32) -> bool {
        if depth > 16 {
            return true;
        }
        let (p, t) = (self.u.shape(pattern), self.u.shape(ty));
        match (p, t) {
            (TyKind::Param(_) | TyKind::Unknown | TyKind::Error | TyKind::Var(_), _) => true,
            (_, TyKind::Var(_) | TyKind::Unknown | TyKind::Error) => true,
            (TyKind::Str | TyKind::String, TyKind::Str | TyKind::String) => true,
            (TyKind::Struct(a, x), TyKind::Struct(b, y)) => {
                a == b && self.lists_may_fit(x, y, depth)
            }
            (TyKind::Enum(a, x), TyKind::Enum(b, y)) => a == b && self.lists_may_fit(x, y, depth),
            (TyKind::Option(a), TyKind::Option(b))
            | (TyKind::Vec(a), TyKind::Vec(b))
            | (TyKind::Slice(a), TyKind::Slice(b))
            | (TyKind::Array(a, _), TyKind::Array(b, _))
            | (TyKind::Ref(a, _), TyKind::Ref(b, _)) => self.may_fit(a, b, depth + 1),
            (TyKind::Ref(a, _), _) => self.may_fit(a, ty, depth + 1),
            (TyKind::Tuple(_) | TyKind::Fn(..) | TyKind::Map(..) | TyKind::Result(..), _) => {
                std::mem::discriminant(&p) == std::mem::discriminant(&t)
            }
            _ => self.u.resolve(pattern) == self.u.resolve(ty),
        }
    }

    fn lists_may_fit(&self, x: crate::ty::Tys, y: crate::ty::Tys, depth: u32) -> bool {
        let (x, y) = (self.u.hir.tys.list(x), self.u.hir.tys.list(y));
        x.len() == y.len()
            && x.iter()
                .zip(y)
                .all(|(a, b)| self.may_fit(*a, *b, depth + 1))
    }

    pub(super) fn ambiguous(&mut self, name: Name, range: TextRange, traits: Vec<Name>) {
        let hir = &self.u.hir;
        let traits: Vec<String> = traits
            .iter()
            .map(|n| format!("`{}`", hir.text(*n)))
            .collect();
        let title = format!(
            "several traits offer `{}`: {}",
            hir.text(name),
            traits.join(", ")
        );
        let first = traits
            .first()
            .map(|t| t.trim_matches('`').to_owned())
            .unwrap_or_default();
        let note = format!("write `{first}.{}(…)` to choose one", hir.text(name));
        let d = self.diagnostic(4020, range, title);
        let hint = crate::diagnostic::FixHint::Facts(vec![("trait", first)]);
        self.push(d.note(note).hint(hint));
    }
}
