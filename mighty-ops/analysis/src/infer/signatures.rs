//! Rules of signatures that need inferred types or none: `main`, public parameters (MT2020), state without a value.
//! Must not look at bodies.

use super::Types;
use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::hir::*;
use crate::package::FileId;
use crate::ty::{Ty, TyKind};

/// A parameter of `main` that is no capability (§25.4).
pub(super) fn main_parameters(hir: &Hir, sink: &mut Sink) {
    for f in &hir.fns {
        let root = hir.modules[f.head.module.index()].parent.is_none();
        if f.kind != FnKind::Free || !root || hir.text(f.head.name) != "main" {
            continue;
        }
        for p in &f.params {
            let ty = p.ty.map(|t| hir.tys.kind(hir.tys.peel(t)));
            if !matches!(
                ty,
                Some(TyKind::Family(_) | TyKind::Cap(_) | TyKind::Opaque(_) | TyKind::Error)
            ) {
                let title = "`main` takes only capabilities";
                sink.push(
                    Diagnostic::error(2005, f.head.file, p.range, title)
                        .hint(FixHint::Delete { range: p.range }),
                );
            }
        }
    }
}

/// MT2020, with the inferred type for the fix.
pub(super) fn public_parameters(hir: &Hir, types: &Types, sink: &mut Sink) {
    for (i, f) in hir.fns.iter().enumerate() {
        if !f.head.public {
            continue;
        }
        for (k, p) in f.params.iter().enumerate() {
            if p.ty.is_some() {
                continue;
            }
            let ty = types.params[i][k];
            let known = ty != Ty::UNKNOWN && ty != Ty::ERROR;
            let shown = if known {
                hir.show(ty)
            } else {
                "I32".to_owned()
            };
            let name = p.name.map_or("this", |n| hir.text(n));
            let d = Diagnostic::error(
                2020,
                f.head.file,
                p.range,
                format!("the parameter `{name}` of a public function needs a type"),
            );
            let d = if known {
                d.note(format!("its uses say `{shown}`"))
            } else {
                d
            };
            sink.push(d.hint(FixHint::Annotate {
                at: p.range.end,
                ty: shown,
            }));
        }
    }
}

/// State fields without a value whose type has no zero ([R:G47]).
pub(super) fn zero_values(hir: &Hir, sink: &mut Sink) {
    for a in &hir.agents {
        for f in &a.state {
            let Some(ty) = f.ty.filter(|_| f.body.is_none()) else {
                continue;
            };
            if !has_zero(hir, ty) {
                let title = format!(
                    "the state field `{}` needs a value: `{}` has no zero",
                    hir.text(f.name),
                    hir.show(ty)
                );
                let file: FileId = a.head.file;
                let d = Diagnostic::error(2013, file, f.name_range, title);
                sink.push(d.hint(FixHint::Facts(vec![("field", hir.text(f.name).to_owned())])));
            }
        }
    }
}

fn has_zero(hir: &Hir, ty: Ty) -> bool {
    match hir.tys.kind(ty) {
        TyKind::Ref(..)
        | TyKind::Ptr(..)
        | TyKind::Fn(..)
        | TyKind::Family(_)
        | TyKind::Cap(_)
        | TyKind::Struct(..)
        | TyKind::Enum(..)
        | TyKind::Dyn(_) => false,
        TyKind::Array(t, _) => has_zero(hir, t),
        TyKind::Tuple(l) => hir.tys.list(l).iter().all(|t| has_zero(hir, *t)),
        _ => true,
    }
}
