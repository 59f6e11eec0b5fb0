//! Rules of impls and derives: coherence MT4022, derives MT4040 and MT4041 (language.md §10).
//! Must not look at bodies; object safety is judged where a `dyn` type is written.

use rustc_hash::FxHashMap;
use syntax::TextRange;

use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::hir::*;
use crate::infer::head_key;
use crate::resolve::{prelude, suggest};
use crate::ty::{Ty, TyKind};

/// Checks all impls and derives of a package.
pub(crate) fn check(hir: &Hir, sink: &mut Sink) {
    coherence(hir, sink);
    for s in &hir.structs {
        let parts: Vec<(Ty, TextRange)> = s.fields.iter().map(|f| (f.ty, f.ty_range)).collect();
        derives(hir, &s.head, &s.derives, &parts, sink);
    }
    for e in &hir.enums {
        let parts: Vec<(Ty, TextRange)> = e
            .variants
            .iter()
            .flat_map(|v| {
                v.payload
                    .iter()
                    .copied()
                    .zip(v.payload_ranges.iter().copied())
            })
            .collect();
        derives(hir, &e.head, &e.derives, &parts, sink);
    }
}

/// One impl for each pair of trait and type head.
fn coherence(hir: &Hir, sink: &mut Sink) {
    let mut seen = FxHashMap::default();
    for i in &hir.impls {
        let Some(name) = i.trait_name.filter(|_| i.has_trait) else {
            continue;
        };
        let Some(key) = head_key(hir.tys.kind(hir.tys.peel(i.self_ty))) else {
            continue;
        };
        // Foreign traits are the same if they are written alike.
        let of = (
            i.trait_id,
            if i.trait_id.is_some() {
                None
            } else {
                Some(name)
            },
        );
        if seen.insert((of, key), i.head.range).is_some() {
            let title = format!(
                "`{}` is implemented twice for `{}`",
                hir.text(name),
                hir.show(i.self_ty)
            );
            let range = i
                .trait_range
                .map_or(i.self_range, |r| TextRange::new(r.start, i.self_range.end));
            let d = Diagnostic::error(4022, i.head.file, range, title);
            sink.push(
                d.note("arguments of generic types do not tell impls apart")
                    .hint(FixHint::Delete {
                        range: i.head.range,
                    }),
            );
        }
    }
}

fn derives(
    hir: &Hir,
    head: &Head,
    names: &[(Name, TextRange)],
    parts: &[(Ty, TextRange)],
    sink: &mut Sink,
) {
    for (name, range) in names {
        let text = hir.text(*name);
        if !prelude::is_marker(text) {
            let near = suggest::nearest(text, prelude::MARKERS.iter().copied());
            let title = format!("`{text}` cannot be derived");
            let d = Diagnostic::error(4041, head.file, *range, title)
                .note("what can be derived is Copy, Hash, Eq and Sendable");
            sink.push(match near {
                Some((to, distance)) => {
                    d.note(format!("did you mean `{to}`?"))
                        .hint(FixHint::Rename {
                            to: to.to_owned(),
                            distance,
                        })
                }
                None => d.hint(FixHint::Delete { range: *range }),
            });
            continue;
        }
        if text != "Copy" {
            continue;
        }
        let bad = parts
            .iter()
            .find(|(t, _)| !hir.is_copy(*t) && !lenient(hir, *t));
        if let Some((ty, part)) = bad {
            let title = format!(
                "`{}` cannot derive `Copy`: it holds a `{}`",
                hir.text(head.name),
                hir.show(*ty)
            );
            let at = hir.text_of(head.file, *part).to_owned();
            let d = Diagnostic::error(4040, head.file, *range, title);
            sink.push(d.hint(FixHint::Facts(vec![("field type", at)])));
        }
    }
}

/// Poison, and parameters, whose arguments decide.
fn lenient(hir: &Hir, ty: Ty) -> bool {
    match hir.tys.kind(ty) {
        TyKind::Error | TyKind::Unknown | TyKind::Param(_) => true,
        TyKind::Tuple(l) => hir
            .tys
            .list(l)
            .iter()
            .all(|t| hir.is_copy(*t) || lenient(hir, *t)),
        TyKind::Array(t, _) | TyKind::Option(t) => lenient(hir, t),
        _ => crate::ty::may_be_copy(hir, ty),
    }
}
