//! Capability parameters: one name, one family in a file, and once in a frame (MT4061, MT4063).
//! Must not look at code.

use rustc_hash::FxHashMap;
use syntax::TextRange;

use crate::diagnostic::{Diagnostic, Sink};
use crate::hir::*;
use crate::package::FileId;
use crate::ty::{Family, Ty, TyKind};

/// What kind of capability a type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Family(Family),
    Declared(CapId),
}

struct CapParam {
    file: FileId,
    name: Name,
    range: TextRange,
    kind: Kind,
}

fn kind(hir: &Hir, ty: Option<Ty>) -> Option<Kind> {
    match hir.tys.kind(hir.tys.peel(ty?)) {
        TyKind::Family(f) => Some(Kind::Family(f)),
        TyKind::Cap(c) => Some(Kind::Declared(c)),
        _ => None,
    }
}

/// Checks all parameter lists of a package.
pub(super) fn check(hir: &Hir, sink: &mut Sink) {
    let mut all: Vec<CapParam> = Vec::new();
    for f in &hir.fns {
        frame(hir, f.head.file, &f.params, &mut all, sink);
    }
    for a in &hir.agents {
        let file = a.head.file;
        frame(hir, file, &a.ctor, &mut all, sink);
        if let Some(init) = &a.init {
            frame(hir, file, &init.params, &mut all, sink);
        }
        for h in &a.handlers {
            frame(hir, file, &h.params, &mut all, sink);
        }
    }
    for body in &hir.bodies {
        for l in &body.locals {
            if l.kind == LocalKind::LambdaParam
                && let Some(kind) = kind(hir, l.ty)
            {
                all.push(CapParam {
                    file: body.file,
                    name: l.name,
                    range: l.range,
                    kind,
                });
            }
        }
    }
    families(hir, all, sink);
}

/// MT4063, and the parameters of a frame that are no repetition.
fn frame(hir: &Hir, file: FileId, params: &[Param], all: &mut Vec<CapParam>, sink: &mut Sink) {
    let first = all.len();
    for p in params {
        let (Some(name), Some(kind)) = (p.name, kind(hir, p.ty)) else {
            continue;
        };
        let text = hir.text(name);
        // The pattern may begin with `mut`.
        let range = if hir.text_of(file, p.range).ends_with(text) {
            TextRange::new(p.range.end - text.len() as u32, p.range.end)
        } else {
            p.range
        };
        if all[first..].iter().any(|o| o.name == name) {
            let title = format!("two capability parameters are named `{text}`");
            sink.push(Diagnostic::error(4063, file, range, title));
        } else {
            all.push(CapParam {
                file,
                name,
                range,
                kind,
            });
        }
    }
}

/// MT4061, at every parameter that departs from the first of its name.
fn families(hir: &Hir, mut all: Vec<CapParam>, sink: &mut Sink) {
    all.sort_by_key(|p| (p.file, p.range.start));
    let mut seen: FxHashMap<(FileId, Name), Family> = FxHashMap::default();
    for p in &all {
        let Kind::Family(family) = p.kind else {
            continue;
        };
        let first = *seen.entry((p.file, p.name)).or_insert(family);
        if first != family {
            let title = format!(
                "`{}` stands for `{}` here, but for `{}` elsewhere in this file",
                hir.text(p.name),
                family.name(),
                first.name()
            );
            sink.push(Diagnostic::error(4061, p.file, p.range, title));
        }
    }
}
