//! Taint: untrusted values on their way to sensitive arguments, MT4099 (language.md §16).
//! Must not trust or distrust a type: what counts is where a value comes from.
//!
//! Each body is walked once with what is known of the others; what its result and its agent's state turned out
//! to be sends those that use them through again, until nothing changes.

mod call;
mod flow;
mod rules;
mod walk;

use rustc_hash::{FxHashMap, FxHashSet};
use syntax::ast;
use syntax::ast::AstNode;

use crate::diagnostic::{Diagnostic, Sink};
use crate::hir::*;
use crate::infer::Types;
use crate::ty::TyKind;
use flow::Value;

/// Bodies are walked again when their callees turn out to give more than thought, but all of them together no
/// more than this many times. (A result changes at most twice, so ordinary programs need two or three.)
const MAX_WALKS: usize = 32;

/// MT4099.
pub(crate) fn check(hir: &Hir, types: &Types, sink: &mut Sink) {
    let has_source = rules::SOURCE_NAMES
        .iter()
        .any(|n| hir.names.find(n).is_some());
    let annotated = hir.files.iter().any(|f| f.tree.text().contains("Tainted["));
    if !has_source && !annotated {
        return;
    }
    let mut known = Known::new(hir, annotated);
    let mut reports: Vec<Vec<Diagnostic>> = vec![Vec::new(); hir.bodies.len()];
    let mut users: FxHashMap<Source, Vec<BodyId>> = FxHashMap::default();
    let mut work: Vec<BodyId> = hir.body_ids().collect();
    let all: usize = hir.bodies.iter().map(|b| b.exprs.len()).sum();
    let mut left = all.saturating_mul(MAX_WALKS);
    let mut first = true;
    while left > 0 {
        let mut changed: Vec<Source> = Vec::new();
        for id in work {
            left = left.saturating_sub(hir.body(id).exprs.len());
            let outcome = walk::walk(hir, types.body(id), hir.body(id), &known);
            reports[id.index()] = outcome.reports;
            if first {
                for s in &outcome.used {
                    users.entry(*s).or_default().push(id);
                }
            }
            let results = outcome
                .state
                .into_iter()
                .map(|(s, v)| (Source::State(s.0, s.1), v));
            let own = Source::of(hir.body(id).owner).map(|s| (s, outcome.result));
            for (source, value) in results.chain(own) {
                if known.learn(source, value) {
                    changed.push(source);
                }
            }
        }
        first = false;
        let mut next: Vec<BodyId> = changed
            .iter()
            .filter_map(|s| users.get(s))
            .flatten()
            .copied()
            .collect();
        next.sort_unstable();
        next.dedup();
        if next.is_empty() {
            break;
        }
        work = next;
    }
    for r in reports.into_iter().flatten() {
        sink.push(r);
    }
}

/// Where a body may get a value from that another body decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    /// The result of a function.
    Fn(FnId),
    /// The reply of a handler.
    Handler(AgentId, u32),
    /// A state field.
    State(AgentId, u32),
}

impl Source {
    fn of(owner: Owner) -> Option<Self> {
        Some(match owner {
            Owner::Fn(f) => Self::Fn(f),
            Owner::Handler(a, i) => Self::Handler(a, i),
            Owner::State(a, i) => Self::State(a, i),
            Owner::Const(_) | Owner::Init(_) | Owner::Sandbox(_) => return None,
        })
    }
}

/// What is known across bodies.
struct Known {
    values: FxHashMap<Source, Value>,
    handlers: FxHashMap<(AgentId, Name), u32>,
    /// Agents by protocol.
    agents: FxHashMap<ProtocolId, Vec<AgentId>>,
    /// Whether `Tainted[…]` is written anywhere.
    annotated: bool,
}

impl Known {
    fn new(hir: &Hir, annotated: bool) -> Self {
        let mut known = Self {
            values: FxHashMap::default(),
            handlers: FxHashMap::default(),
            agents: FxHashMap::default(),
            annotated,
        };
        for (i, a) in hir.agents.iter().enumerate() {
            let id = AgentId(i as u32);
            for p in a.protocols.iter().filter_map(|p| p.id) {
                known.agents.entry(p).or_default().push(id);
            }
            for (k, h) in a.handlers.iter().enumerate() {
                known.handlers.entry((id, h.name)).or_insert(k as u32);
            }
        }
        if annotated {
            for (i, f) in hir.fns.iter().enumerate() {
                let tainted = f
                    .ret_range
                    .is_some_and(|r| hir.text_of(f.head.file, r).contains("Tainted["));
                if tainted {
                    known
                        .values
                        .insert(Source::Fn(FnId(i as u32)), Value::Tainted);
                }
            }
        }
        known
    }

    fn value(&self, source: Source) -> Value {
        self.values.get(&source).copied().unwrap_or_default()
    }

    /// Whether that was news.
    fn learn(&mut self, source: Source, value: Value) -> bool {
        let old = self.value(source);
        let new = old.join(value);
        if new == old {
            return false;
        }
        self.values.insert(source, new);
        true
    }

    /// Handlers that may answer a message to a target of this type.
    fn answers(&self, hir: &Hir, target: TyKind, msg: Name) -> Vec<Source> {
        let TyKind::AgentRef(of) = target else {
            return Vec::new();
        };
        let one;
        let agents: &[AgentId] = match hir.tys.kind(of) {
            TyKind::Agent(a) => {
                one = [a];
                &one
            }
            TyKind::Protocol(p) => self.agents.get(&p).map_or(&[], Vec::as_slice),
            _ => &[],
        };
        agents
            .iter()
            .filter_map(|a| {
                self.handlers
                    .get(&(*a, msg))
                    .map(|i| Source::Handler(*a, *i))
            })
            .collect()
    }
}

/// Whether a parameter is declared `Tainted[…]`.
fn declared_tainted(hir: &Hir, file: crate::package::FileId, p: &Param) -> bool {
    p.ty_node.is_some_and(|n| {
        let node = hir.files[file.index()].tree.node(n);
        ast::Type::cast(node).is_some() && node.text().contains("Tainted[")
    })
}

/// What one walk found.
#[derive(Default)]
struct Outcome {
    reports: Vec<Diagnostic>,
    result: Value,
    state: FxHashMap<(AgentId, u32), Value>,
    used: FxHashSet<Source>,
}
