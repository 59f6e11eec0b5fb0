//! Effects: what functions do against what they declare, and effect rows (language.md §15).
//! Must not look at types beyond what tells calls apart: effects are found by spelling.

mod collect;
mod graph;
mod rows;
mod set;

use rustc_hash::FxHashSet;
use syntax::TextRange;
use syntax::ast::{self, AstNode};

pub(crate) use collect::called;

use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::hir::{FnId, FnKind, Hir};
use crate::infer::Types;
use crate::package::{Options, Profile};
use collect::{Collected, Taker, collect, declared};
use graph::Node;
use set::EffectSet;

/// MT4001, MT4002, MT4050 and MT4055 to MT4059.
pub(crate) fn check(hir: &Hir, types: &Types, options: &Options, sink: &mut Sink) {
    let mut found = collect(hir, types);
    let sets = found.graph.solve();
    rows::signatures(hir, types, sink);
    rows::calls(hir, &found.row_calls, sink);
    for (i, f) in hir.fns.iter().enumerate() {
        let exported = f.kind == FnKind::Export;
        if f.body.is_none() || !(f.head.public || exported) {
            continue;
        }
        let missing = sets[i].without(declared(hir, f));
        if !missing.is_empty() {
            undeclared(hir, &found, &sets, FnId(i as u32), missing, sink);
        }
        if options.profile == Profile::Core && f.head.public {
            no_heap(hir, &found, &sets, FnId(i as u32), sink);
        }
    }
    for p in &found.passed {
        let f = hir.function(p.caller);
        let missing = sets[p.node as usize].without(declared(hir, f));
        if missing.is_empty() {
            continue;
        }
        let (code, taker) = match p.taker {
            Taker::Builtin(name) => (4050, hir.text(name)),
            Taker::User(f) => (4059, hir.text(hir.function(f).head.name)),
        };
        let title = format!(
            "the closure given to `{taker}` brings {missing}, which `{}` does not declare",
            hir.text(f.head.name)
        );
        sink.push(
            Diagnostic::error(code, f.head.file, p.range, title)
                .hint(add_effects(hir, p.caller, missing)),
        );
    }
}

fn undeclared(
    hir: &Hir,
    found: &Collected,
    sets: &[EffectSet],
    id: FnId,
    missing: EffectSet,
    sink: &mut Sink,
) {
    let f = hir.function(id);
    let what = if f.head.public { "public" } else { "exported" };
    let title = format!(
        "the {what} function `{}` has {missing}, which its signature does not declare",
        hir.text(f.head.name)
    );
    let mut report = Diagnostic::error(4001, f.head.file, f.head.name_range, title);
    for name in missing.names() {
        if let Some(origin) = origin(hir, found, sets, id, EffectSet::named(name)) {
            report = report.note(format!("`{name}` comes from {origin}"));
        }
    }
    sink.push(report.hint(add_effects(hir, id, missing)));
}

/// MT4002. A declared `alloc` alone allocates nothing, so the function's own clause does not count.
fn no_heap(hir: &Hir, found: &Collected, sets: &[EffectSet], id: FnId, sink: &mut Sink) {
    let Some(origin) = origin(hir, found, sets, id, EffectSet::ALLOC) else {
        return;
    };
    let f = hir.function(id);
    let title = format!(
        "the public function `{}` allocates, and profile `core` has no heap",
        hir.text(f.head.name)
    );
    sink.push(
        Diagnostic::error(4002, f.head.file, f.head.name_range, title)
            .note(format!("`alloc` comes from {origin}")),
    );
}

/// The first place from which a function has an effect.
fn origin(
    hir: &Hir,
    found: &Collected,
    sets: &[EffectSet],
    id: FnId,
    effect: EffectSet,
) -> Option<String> {
    let functions = hir.fns.len() as Node;
    let file = hir.function(id).head.file;
    // Closures inside belong to the function; other functions are named.
    let mut nodes = vec![id.0];
    let mut seen = FxHashSet::default();
    let mut callee = None;
    while let Some(node) = nodes.pop() {
        if !seen.insert(node) {
            continue;
        }
        let from = found.places.partition_point(|p| p.0 < node);
        let own = found.places[from..].iter().take_while(|p| p.0 == node);
        for (_, set, range) in own {
            if set.covers(effect) {
                return Some(format!("`{}`", excerpt(hir.text_of(file, *range))));
            }
        }
        for used in found.graph.used_by(node) {
            if !sets[used as usize].covers(effect) {
                continue;
            }
            if used >= functions {
                nodes.push(used);
            } else if used != id.0 {
                callee.get_or_insert(used);
            }
        }
    }
    callee.map(|n| format!("a use of `{}`", hir.text(hir.fns[n as usize].head.name)))
}

/// The beginning of a text, on one line.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut short = String::new();
    for (i, c) in text
        .split_whitespace()
        .flat_map(|w| [" ", w])
        .skip(1)
        .flat_map(str::chars)
        .enumerate()
    {
        if i == LONGEST {
            short.push('…');
            break;
        }
        short.push(c);
    }
    short
}

fn add_effects(hir: &Hir, id: FnId, missing: EffectSet) -> FixHint {
    let f = hir.function(id);
    let tree = &hir.files[f.head.file.index()].tree;
    let params = ast::FnDef::cast(tree.node(f.head.node)).and_then(ast::FnDef::params);
    let ends = [
        Some(f.head.name_range.end),
        params.map(|p| p.range().end),
        f.ret_range.map(|r: TextRange| r.end),
    ];
    FixHint::AddEffects {
        effects: missing.names().map(str::to_owned).collect(),
        clause: f.effects.as_ref().map(|e| e.range),
        at: ends.into_iter().flatten().max().unwrap_or_default(),
    }
}
