//! Calls in the walk: sources, sinks, exits, and what else a call gives (language.md §16).
//! Must not hold the names of either; `rules` does.

use super::Source;
use super::flow::Value;
use super::rules::{self, Given, Handle, Sensitive};
use super::walk::Walk;
use crate::diagnostic::{Diagnostic, FixHint};
use crate::effects::called;
use crate::hir::*;
use crate::infer::Method;
use crate::ty::{Family, Ty, TyKind};

impl Walk<'_> {
    /// A value, or the handle that its type stands for.
    fn handle(&self, id: ExprId, value: Value) -> Option<Handle> {
        match value {
            Value::Handle(h) => Some(h),
            _ => {
                let ty = self.hir.tys.peel(self.types.of(id));
                match self.hir.tys.kind(ty) {
                    TyKind::Opaque(name) => rules::handle_type(self.hir.text(name)),
                    _ => None,
                }
            }
        }
    }

    pub(super) fn family(&self, id: ExprId) -> Option<Family> {
        match self.hir.tys.kind(self.hir.tys.peel(self.types.of(id))) {
            TyKind::Family(f) => Some(f),
            _ => None,
        }
    }

    /// Arguments; what any of them is.
    pub(super) fn args(&mut self, args: List<Arg>) -> Value {
        let mut all = Value::Clean;
        for v in self.each(args) {
            all = all.join(v);
        }
        all
    }

    fn each(&mut self, args: List<Arg>) -> Vec<Value> {
        let body = self.body;
        body.args_of(args)
            .iter()
            .map(|a| self.expr(a.value))
            .collect()
    }

    pub(super) fn call(&mut self, id: ExprId, callee: ExprId, args: List<Arg>) -> Value {
        let body = self.body;
        if let Some(f) = called(self.types, body, id, callee) {
            let given = self.args(args);
            return self.user(f, given);
        }
        match body.expr(callee).kind {
            ExprKind::Path(Res::Opaque(path) | Res::OpaqueType(path)) => {
                let names: Vec<&str> = body.path(path).iter().map(|n| self.hir.text(*n)).collect();
                let values = self.each(args);
                if let Some((sink, sensitive)) = rules::sink(&names) {
                    let skip = usize::from(
                        body.args_of(args)
                            .first()
                            .is_some_and(|a| self.family(a.value).is_some()),
                    );
                    self.sink(&sink, sensitive, args, &values, skip);
                }
                match rules::call(&names) {
                    Given::Untrusted => Value::Tainted,
                    Given::Handle(h) => Value::Handle(h),
                    Given::Trusted => Value::Clean,
                    Given::Carried => Value::tainted_if(values.iter().any(|v| v.is_tainted())),
                }
            }
            ExprKind::Path(Res::Prelude(name)) => {
                let given = self.args(args);
                if rules::is_display(self.hir.text(name)) {
                    Value::Clean
                } else {
                    given
                }
            }
            // Constructors hold what they are given.
            ExprKind::Path(
                Res::PreludeVariant(_) | Res::Variant(..) | Res::Struct(_) | Res::PrimValue(_),
            ) => self.args(args),
            _ => {
                let f = self.expr(callee).flow();
                f.join(self.args(args).flow())
            }
        }
    }

    /// A function of the program: tainted if it is given something tainted, else what its body gives.
    fn user(&mut self, f: FnId, given: Value) -> Value {
        given.flow().join(self.ask(Source::Fn(f)))
    }

    pub(super) fn method(
        &mut self,
        id: ExprId,
        receiver: ExprId,
        name: Name,
        args: List<Arg>,
    ) -> Value {
        let value = self.expr(receiver);
        match self.types.methods.get(&id) {
            Some(Method::User(f) | Method::Trait(_, f) | Method::Agent(f)) => {
                let given = value.join(self.args(args));
                return self.user(*f, given);
            }
            Some(Method::FieldCall) => {
                let given = value.flow();
                return given.join(self.args(args).flow());
            }
            _ => {}
        }
        let text = self.hir.text(name);
        if rules::is_exit(text) {
            self.args(args);
            return Value::Clean;
        }
        if let Some(family) = self
            .family(receiver)
            .or_else(|| self.family_by_name(receiver))
        {
            return self.on_capability(family, text, args);
        }
        if let Some(handle) = self.handle(receiver, value) {
            return self.on_handle(handle, value, text, args);
        }
        self.on_value(receiver, value, text, args)
    }

    /// A parameter without a type that is called `fs` is taken for what effects take it for.
    fn family_by_name(&self, receiver: ExprId) -> Option<Family> {
        let ExprKind::Path(Res::Local(l)) = self.body.expr(receiver).kind else {
            return None;
        };
        let named = self.hir.text(self.body.local(l).name) == "fs";
        (named && self.types.of(receiver) == Ty::UNKNOWN).then_some(Family::Fs)
    }

    fn on_capability(&mut self, family: Family, method: &str, args: List<Arg>) -> Value {
        let values = self.each(args);
        if family != Family::Fs {
            return Value::Clean;
        }
        if let Some(sensitive) = rules::file_sink(method) {
            self.sink(&format!("std.fs.{method}"), sensitive, args, &values, 0);
        }
        let carried = method == "read_to_string" && values.iter().any(|v| v.is_tainted());
        Value::tainted_if(carried)
    }

    fn on_handle(&mut self, handle: Handle, value: Value, method: &str, args: List<Arg>) -> Value {
        let values = self.each(args);
        if let Some((sink, sensitive)) = rules::handle_sink(handle, method) {
            self.sink(&sink, sensitive, args, &values, 0);
        }
        if rules::is_source(handle, method) {
            return Value::Tainted;
        }
        if value == Value::Tainted {
            return value;
        }
        match (handle, method) {
            (Handle::Response, "status" | "headers") => Value::Clean,
            (Handle::Response, m) if !rules::is_unwrapping(m) => Value::Tainted,
            _ => Value::Handle(handle),
        }
    }

    /// A built-in method, or one of a value of which nothing is known.
    fn on_value(&mut self, receiver: ExprId, value: Value, method: &str, args: List<Arg>) -> Value {
        let body = self.body;
        // Closures get what the receiver and the other arguments hold.
        let mut given = Value::Clean;
        let is_closure = |a: &Arg| matches!(body.expr(a.value).kind, ExprKind::Lambda { .. });
        for a in body.args_of(args).iter().filter(|a| !is_closure(a)) {
            given = given.join(self.expr(a.value));
        }
        let mut made = None;
        for a in body.args_of(args).iter().filter(|a| is_closure(a)) {
            let v = self.lambda(a.value, value.join(given));
            made = Some(made.unwrap_or(Value::Clean).join(v));
        }
        if rules::is_storing(method) && given.is_tainted() {
            self.store(receiver, Value::Tainted);
        }
        match (method, made) {
            // The result consists of what the closure gives.
            ("map" | "and_then" | "flat_map" | "fold", Some(made)) => made.join(given),
            // The result consists of what the receiver holds; the closure only chooses.
            ("filter" | "find" | "any" | "all" | "for_each" | "position", Some(_)) => {
                value.join(given.flow())
            }
            (m, _) if rules::is_lookup(m) => value,
            ("len" | "is_empty" | "to_str", _) => value.flow(),
            (m, made) => {
                let made = made.unwrap_or_default().flow();
                let carried = given.flow().join(made);
                let kept = if rules::is_unwrapping(m) || carried == Value::Clean {
                    value
                } else {
                    value.flow()
                };
                kept.join(carried)
            }
        }
    }

    /// Reports tainted arguments of a sink. `skip` leading arguments are capabilities.
    fn sink(
        &mut self,
        sink: &str,
        sensitive: Sensitive,
        args: List<Arg>,
        values: &[Value],
        skip: usize,
    ) {
        let body = self.body;
        for (i, (arg, value)) in body.args_of(args).iter().zip(values).skip(skip).enumerate() {
            let concerned = match sensitive {
                Sensitive::One(n) => n == i,
                Sensitive::All => true,
            };
            if !concerned || !value.is_tainted() || !self.reported.insert(arg.value) {
                continue;
            }
            let range = body.expr(arg.value).range;
            let title = format!("tainted value flows to argument {i} of {sink}");
            self.out.reports.push(
                Diagnostic::error(4099, body.file, range, title)
                    .note("it comes from outside and was not checked on the way here")
                    .hint(FixHint::Taint {
                        statement: self.statement,
                        argument: range,
                        sink: sink.to_owned(),
                    }),
            );
        }
    }
}
