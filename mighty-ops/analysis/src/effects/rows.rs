//! Row variables of signatures and of calls: MT4055 to MT4058 (language.md §15.1, [R:G45]).
//! Must not compute effects.

use syntax::ast::{self, AstNode};

use super::collect::RowCall;
use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::hir::*;
use crate::infer::Types;
use crate::ty::{Ty, TyKind};

/// MT4055 to MT4057: a declared row variable, and no parameter of function type that could bind it.
pub(super) fn signatures(hir: &Hir, types: &Types, sink: &mut Sink) {
    for (i, f) in hir.fns.iter().enumerate() {
        let Some(clause) = f.effects.as_ref().filter(|e| !e.rows.is_empty()) else {
            continue;
        };
        let Some((name, at)) = clause.rows.iter().find(|(n, _)| is_declared(hir, f, *n)) else {
            continue;
        };
        let takes_function = (0..f.params.len()).any(|k| {
            let ty = types.params.get(i).and_then(|p| p.get(k)).copied();
            let ty = f.params[k].ty.or(ty).unwrap_or(Ty::UNKNOWN);
            may_hold_function(hir, ty, 0)
        });
        if takes_function {
            continue;
        }
        let parameters = f.params.len() + usize::from(f.self_param.is_some());
        let text = hir.text(*name);
        let (code, title) = if !clause.names.is_empty() {
            (
                4056,
                format!(
                    "the row variable `{text}` stands beside named effects, and no parameter is a function"
                ),
            )
        } else if parameters >= 2 {
            (
                4055,
                format!("the row variable `{text}` is never used: no parameter is a function"),
            )
        } else {
            (
                4057,
                format!("nothing binds the row variable `{text}`: it stands only in the result"),
            )
        };
        sink.push(Diagnostic::error(code, f.head.file, *at, title));
    }
}

fn is_declared(hir: &Hir, f: &Function, name: Name) -> bool {
    let outer: &[GenericId] = match f.kind {
        FnKind::Method(i) => &hir.impls[i.index()].generics,
        FnKind::Trait(t) => &hir.traits[t.index()].generics,
        _ => &[],
    };
    f.generics
        .iter()
        .chain(outer)
        .any(|g| hir.generics[g.index()].name == name)
}

/// Whether a value of the type is, holds or may be a function.
fn may_hold_function(hir: &Hir, ty: Ty, depth: u32) -> bool {
    match hir.tys.kind(ty) {
        TyKind::Fn(..) | TyKind::Unknown | TyKind::Error => true,
        TyKind::Struct(s, _) if depth < 4 => hir.structs[s.index()]
            .fields
            .iter()
            .any(|f| may_hold_function(hir, f.ty, depth + 1)),
        _ => {
            let mut found = false;
            hir.tys
                .parts(ty, &mut |t| found |= may_hold_function(hir, t, depth));
            found
        }
    }
}

/// MT4058: several row variables pair with the closures of a call in order, so their numbers must agree.
pub(super) fn calls(hir: &Hir, calls: &[RowCall], sink: &mut Sink) {
    for call in calls {
        let f = hir.function(call.callee);
        let Some(clause) = &f.effects else { continue };
        let mut rows: Vec<Name> = clause.rows.iter().map(|(n, _)| *n).collect();
        rows.sort_unstable();
        rows.dedup();
        // Without any closure the signature was reported.
        if rows.len() < 2 || call.closures == 0 || call.closures == rows.len() {
            continue;
        }
        if binds_explicitly(hir, f) {
            continue;
        }
        let file = hir.body(call.body).file;
        let title = format!(
            "`{}` has {} row variables, but this call passes {} closure{}",
            hir.text(f.head.name),
            rows.len(),
            call.closures,
            if call.closures == 1 { "" } else { "s" }
        );
        sink.push(
            Diagnostic::error(4058, file, call.range, title)
                .note("several row variables pair with the closures in order; one takes them all")
                .hint(FixHint::Facts(vec![
                    ("rows", rows.len().to_string()),
                    ("closures", call.closures.to_string()),
                ])),
        );
    }
}

/// Whether the types of parameters name row variables themselves.
fn binds_explicitly(hir: &Hir, f: &Function) -> bool {
    let tree = &hir.files[f.head.file.index()].tree;
    f.params.iter().any(|p| {
        tree.node(p.node)
            .descendants()
            .filter_map(ast::EffectClause::cast)
            .any(|e| e.row_vars().next().is_some())
    })
}
