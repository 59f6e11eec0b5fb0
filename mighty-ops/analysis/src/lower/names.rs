//! Plain names in code: lookup order, scope policy, MT2021 and MT1001 (language.md §5.1, §5.2).
//! Must not walk dotted paths; `path` does.

use syntax::TextRange;

use super::body::Cx;
use super::types::with_rename;
use crate::diagnostic::{Diagnostic, Level};
use crate::hir::*;
use crate::resolve::{prelude, suggest};
use crate::ty::{Family, Prim, Ty, TyKind};

/// How a name is used, as far as reports care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    Plain,
    /// Before a dot.
    Head,
    /// Before `::`.
    ScopeHead,
    /// As a whole argument of a call.
    Argument,
}

/// What a name or the beginning of a path means.
#[derive(Debug, Clone)]
pub(super) enum Prefix {
    /// A finished expression.
    Value(ExprId),
    /// A finished expression with a turbofish, to be called.
    Typed(ExprId, Vec<Ty>),
    Module(ModuleId),
    /// Inside the standard library or a foreign module.
    Opaque(Vec<Name>),
    /// An opaque type of the prelude, and what follows.
    OpaqueType(Vec<Name>),
    /// A struct, enum, alias or core type; open arguments are `Unknown`.
    Type(Ty),
    Prim(Prim),
    Trait(TraitId),
    Agent(AgentId),
    Supervisor(SupervisorId),
    Protocol(ProtocolId),
    Family(Family),
    AgentSelf(AgentId),
    /// Not known, and not yet reported.
    Unknown(Name),
    /// Not known, and reported or due elsewhere.
    Lost(Res),
}

/// A name that is no path yet: either a finished meaning or the beginning of one.
pub(super) enum Meaning {
    Res(Res),
    Prefix(Prefix),
}

impl Cx<'_, '_> {
    /// §5.1: locals, parameters, agent members, items and imports, prelude.
    pub(super) fn meaning(&mut self, name: Name, usage: Usage) -> Meaning {
        if let Some(l) = self.vars.get(&name) {
            return Meaning::Res(Res::Local(*l));
        }
        if let Some(a) = self.agent
            && let Some(res) = self.agent_member(a, name)
        {
            return Meaning::Res(res);
        }
        let dotted = matches!(usage, Usage::Head | Usage::ScopeHead);
        if dotted && let Some(g) = self.scope.generic(name) {
            let ty = self.lower.hir.tys.intern(TyKind::Param(g));
            return Meaning::Prefix(Prefix::Type(ty));
        }
        if let Some(def) = self.lower.lookup(self.scope.module, name) {
            return self.of_def(def);
        }
        if name == self.lower.well_known.self_ty
            && let Some(ty) = self.scope.self_ty
        {
            return Meaning::Prefix(match (self.lower.hir.tys.kind(ty), self.agent) {
                (TyKind::AgentRef(_), Some(a)) => Prefix::Agent(a),
                _ => Prefix::Type(ty),
            });
        }
        let text = self.lower.hir.text(name);
        if dotted && (text == "std" || prelude::is_module(text)) {
            let path = if text == "std" {
                Vec::new()
            } else {
                vec![name]
            };
            return Meaning::Prefix(Prefix::Opaque(path));
        }
        if let Some(v) = prelude::variant(text) {
            return Meaning::Res(Res::PreludeVariant(v));
        }
        if let Some(p) = prelude::prim(text) {
            return Meaning::Prefix(Prefix::Prim(p));
        }
        if let Some(f) = prelude::family(text) {
            return Meaning::Prefix(Prefix::Family(f));
        }
        if prelude::is_opaque(text) {
            return Meaning::Prefix(Prefix::OpaqueType(vec![name]));
        }
        if prelude::is_value(text) {
            return Meaning::Res(Res::Prelude(name));
        }
        if text.starts_with("__tool_") {
            // What `@tool` adds beside a function (stdlib.md §6).
            return Meaning::Prefix(Prefix::Opaque(vec![name]));
        }
        if dotted && self.lower.is_own_name(name) {
            return Meaning::Prefix(Prefix::Module(ModuleId(0)));
        }
        Meaning::Prefix(Prefix::Unknown(name))
    }

    pub(super) fn agent_member(&self, agent: AgentId, name: Name) -> Option<Res> {
        let a = &self.lower.hir.agents[agent.index()];
        if let Some(i) = a.state.iter().position(|f| f.name == name) {
            return Some(Res::State(agent, i as u32));
        }
        if let Some(i) = a.ctor.iter().position(|p| p.name == Some(name)) {
            return Some(Res::Ctor(agent, i as u32));
        }
        let fns = &self.lower.hir.fns;
        a.methods
            .iter()
            .find(|f| fns[f.index()].head.name == name)
            .map(|f| Res::AgentMethod(*f))
    }

    /// The meaning of an item or import.
    pub(super) fn of_def(&mut self, def: Def) -> Meaning {
        let hir = &mut self.lower.hir;
        Meaning::Prefix(match def {
            Def::Fn(f) => return Meaning::Res(Res::Fn(f)),
            Def::Const(c) => return Meaning::Res(Res::Const(c)),
            Def::Variant(e, i) => return Meaning::Res(Res::Variant(e, i)),
            Def::Broken => return Meaning::Res(Res::Error),
            Def::Module(m) => Prefix::Module(m),
            Def::Struct(s) => {
                let n = hir.structs[s.index()].generics.len();
                let args = hir.tys.list_of(&vec![Ty::UNKNOWN; n]);
                Prefix::Type(hir.tys.intern(TyKind::Struct(s, args)))
            }
            Def::Enum(e) => {
                let n = hir.enums[e.index()].generics.len();
                let args = hir.tys.list_of(&vec![Ty::UNKNOWN; n]);
                Prefix::Type(hir.tys.intern(TyKind::Enum(e, args)))
            }
            Def::Alias(a) => {
                let ty = hir.aliases[a.index()].ty;
                Prefix::Type(hir.tys.substitute(ty, &|k| match k {
                    TyKind::Param(_) => Some(Ty::UNKNOWN),
                    _ => None,
                }))
            }
            Def::Trait(t) => Prefix::Trait(t),
            Def::Agent(a) => Prefix::Agent(a),
            Def::Protocol(p) => Prefix::Protocol(p),
            Def::Supervisor(s) => Prefix::Supervisor(s),
            Def::Std(path) => {
                let text = hir.text(path).to_owned();
                let last = text.rsplit('.').next().unwrap_or_default();
                match prelude::prim(last) {
                    Some(p) => Prefix::Prim(p),
                    None => {
                        let parts = text.split('.').filter(|p| !p.is_empty());
                        Prefix::Opaque(parts.map(|p| hir.names.intern(p)).collect())
                    }
                }
            }
            Def::Foreign(name) => Prefix::Opaque(vec![name]),
            Def::Cap(c) => Prefix::Opaque(vec![hir.caps[c.index()].head.name]),
            Def::Sandbox(s) => Prefix::Opaque(vec![hir.sandboxes[s.index()].head.name]),
            Def::Macro(m) => Prefix::Opaque(vec![hir.macros[m.index()].head.name]),
        })
    }

    fn is_strict(&self) -> bool {
        self.lower.options.strict_names || (self.body.strict && self.permissive == 0)
    }

    /// Reports an unknown plain name, once per body, and says what it counts as.
    pub(super) fn unknown(&mut self, name: Name, range: TextRange, usage: Usage) -> Res {
        let file = self.scope.file;
        if usage != Usage::Plain
            && usage != Usage::ScopeHead
            && self.lower.cap_params[file.index()].contains(&name)
            && !prelude::is_module(self.lower.hir.text(name))
        {
            return Res::CapElsewhere(name);
        }
        let scoped = usage == Usage::ScopeHead;
        let error = scoped || self.is_strict();
        let res = if error {
            Res::Error
        } else {
            Res::Tolerated(name)
        };
        match self.reported.get(&name) {
            Some(was_error) if *was_error || !error => return res,
            _ => self.reported.insert(name, error),
        };
        let text = self.lower.hir.text(name).to_owned();
        let near = self.nearest_value(&text, scoped);
        let code = if scoped { 1001 } else { 2021 };
        let title = if text == "self" {
            "`self` stands only in methods and agents".to_owned()
        } else if text == "_" {
            "`_` is no value".to_owned()
        } else {
            format!("nothing is named `{text}` here")
        };
        let mut report = Diagnostic::error(code, file, range, title);
        if !error {
            report.level = Level::Warning;
            report = report.note("if the line is reached, the program stops there (MT5001)");
        }
        self.lower.sink.push(with_rename(report, near));
        res
    }

    /// Candidates: what could stand here, by the kind of place.
    fn nearest_value(&mut self, text: &str, types: bool) -> Option<(String, u8)> {
        if self.lower.suggestions_left == 0 {
            return None;
        }
        self.lower.suggestions_left -= 1;
        let hir = &self.lower.hir;
        let mut names: Vec<&str> = Vec::new();
        if types {
            names.extend(prelude::PRIMS);
        } else {
            names.extend(self.vars.keys().map(|n| hir.text(*n)));
            names.extend(prelude::VALUES);
            names.extend(["Some", "None", "Ok", "Err"]);
        }
        if let Some(a) = self.agent.filter(|_| !types) {
            let a = &hir.agents[a.index()];
            names.extend(a.state.iter().map(|f| hir.text(f.name)));
            names.extend(a.ctor.iter().filter_map(|p| p.name).map(|n| hir.text(n)));
            names.extend(
                a.methods
                    .iter()
                    .map(|f| hir.text(hir.fns[f.index()].head.name)),
            );
        }
        let mut module = Some(self.scope.module);
        while let Some(m) = module {
            let m = &hir.modules[m.index()];
            names.extend(m.names.keys().map(|n| hir.text(*n)));
            module = m.parent;
        }
        suggest::nearest(text, names).map(|(t, d)| (t.to_owned(), d))
    }

    /// MT1001 for a type name that stands alone as a value.
    pub(super) fn type_as_value(&mut self, name: Name, what: &str, range: TextRange) -> Res {
        if self.reported.insert(name, true).is_none() {
            let text = self.lower.hir.text(name);
            let title = format!("`{text}` is {what}, not a value");
            self.lower
                .sink
                .push(Diagnostic::error(1001, self.scope.file, range, title));
        }
        Res::Error
    }
}
