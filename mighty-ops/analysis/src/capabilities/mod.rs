//! Capabilities: their names, methods and limits (language.md §14), and `unsafe` (§23).
//! Must not check moves or sends of handles; ownership does.

mod constraint;
mod frames;
mod surface;

use rustc_hash::{FxHashMap, FxHashSet};
use syntax::TextRange;

use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::effects::called;
use crate::hir::*;
use crate::infer::{BodyTypes, Method, Types};
use crate::resolve::suggest;
use crate::ty::{Family, TyKind};
use constraint::Constraint;

/// MT4010, MT4060 to MT4065, MT4090.
pub(crate) fn check(hir: &Hir, types: &Types, sink: &mut Sink) {
    frames::check(hir, sink);
    for id in hir.body_ids() {
        let body = hir.body(id);
        let is_unsafe = match body.owner {
            Owner::Fn(f) => hir.function(f).is_unsafe,
            _ => false,
        };
        let mut walk = Walk {
            hir,
            body,
            types: types.body(id),
            in_unsafe: is_unsafe,
            reported: FxHashSet::default(),
            handles: FxHashMap::default(),
            lambdas: FxHashMap::default(),
            wanted: FxHashMap::default(),
            sink,
        };
        walk.params();
        walk.expr(body.root);
    }
}

struct Walk<'a, 's> {
    hir: &'a Hir,
    body: &'a Body,
    types: &'a BodyTypes,
    in_unsafe: bool,
    /// Names reported with MT4062: once for name and body.
    reported: FxHashSet<Name>,
    /// What handles bound in this body are limited to, as far as it is known.
    handles: FxHashMap<LocalId, Constraint>,
    /// Parameters without a type of lambdas bound by a plain `let`.
    lambdas: FxHashMap<LocalId, Vec<Option<LocalId>>>,
    /// By untyped parameter of a lambda: the limit its first call gave it. Lambdas are not generalised, so
    /// later calls must fit.
    wanted: FxHashMap<LocalId, Option<Constraint>>,
    sink: &'s mut Sink,
}

impl Walk<'_, '_> {
    fn report(&mut self, code: u16, range: TextRange, title: String) {
        self.sink
            .push(Diagnostic::error(code, self.body.file, range, title));
    }

    /// Written parameter types are unrestricted.
    fn params(&mut self) {
        for (i, l) in self.body.locals.iter().enumerate() {
            if let Some(ty) = l.ty
                && self.family_of(ty).is_some()
            {
                self.handles.insert(LocalId(i as u32), Constraint::Any);
            }
        }
    }

    fn family_of(&self, ty: crate::ty::Ty) -> Option<Family> {
        match self.hir.tys.kind(self.hir.tys.peel(ty)) {
            TyKind::Family(f) => Some(f),
            _ => None,
        }
    }

    fn expr(&mut self, id: ExprId) {
        let body = self.body;
        let e = *body.expr(id);
        match e.kind {
            ExprKind::Path(Res::Family(f)) => self.family_as_value(f, e.range),
            ExprKind::Path(Res::CapElsewhere(name)) => self.elsewhere(name, e.range),
            ExprKind::Region {
                kind: Region::Unsafe,
                body: code,
            } => {
                let outer = std::mem::replace(&mut self.in_unsafe, true);
                self.expr(code);
                self.in_unsafe = outer;
                return;
            }
            ExprKind::Unary {
                op: UnOp::Deref,
                operand: base,
            }
            | ExprKind::Field { base, .. }
            | ExprKind::Index { base, .. } => self.pointer(base, e.range),
            ExprKind::MethodCall {
                receiver,
                name,
                name_range,
                args,
                ..
            } => {
                self.method(id, receiver, (name, name_range), args);
            }
            ExprKind::Call { callee, args, .. } => {
                if let Some(f) = called(self.types, body, id, callee) {
                    self.unsafe_call(f, e.range);
                }
                children(body, id, &mut |e| self.expr(e));
                return self.lambda_call(callee, args);
            }
            ExprKind::Assign { place, .. } => {
                // What it is limited to from here on depends on the way taken.
                if let ExprKind::Path(Res::Local(l)) = body.expr(place).kind {
                    self.handles.remove(&l);
                }
            }
            ExprKind::Block { stmts, tail } => {
                for s in body.stmts_of(stmts) {
                    match *s {
                        Stmt::Let { pat, init, .. } => self.binding(pat, init),
                        Stmt::Expr(e) => self.expr(e),
                    }
                }
                if let Some(t) = tail {
                    self.expr(t);
                }
                return;
            }
            _ => {}
        }
        children(body, id, &mut |e| self.expr(e));
    }

    fn binding(&mut self, pat: PatId, init: Option<ExprId>) {
        let Some(init) = init else { return };
        self.expr(init);
        let PatKind::Bind { local, .. } = self.body.pat(pat).kind else {
            return;
        };
        if let ExprKind::Lambda { params, .. } = self.body.expr(init).kind {
            let untyped = |p: &PatId| match self.body.pat(*p).kind {
                PatKind::Bind { local, .. } if self.body.local(local).ty.is_none() => Some(local),
                _ => None,
            };
            let params = self.body.pats_of(params).iter().map(untyped).collect();
            self.lambdas.insert(local, params);
        } else if let Some(c) = self.limit(init) {
            self.handles.insert(local, c);
        }
    }

    fn family_as_value(&mut self, f: Family, range: TextRange) {
        let name = f.name();
        self.sink.push(
            Diagnostic::error(
                4060,
                self.body.file,
                range,
                format!("`{name}` is a capability family, not a value"),
            )
            .note(format!(
                "authority comes from a parameter, such as `{}: {name}`",
                name.to_lowercase()
            )),
        );
    }

    fn elsewhere(&mut self, name: Name, range: TextRange) {
        if self.reported.insert(name) {
            let text = self.hir.text(name);
            self.report(
                4062,
                range,
                format!("the capability `{text}` belongs to another function of this file"),
            );
        }
    }

    /// MT4090 for access through a raw pointer.
    fn pointer(&mut self, base: ExprId, range: TextRange) {
        if !self.in_unsafe
            && let TyKind::Ptr(..) = self.hir.tys.kind(self.hir.tys.peel(self.types.of(base)))
        {
            let title = "a raw pointer is followed outside `unsafe`".to_owned();
            self.report(4090, range, title);
        }
    }

    fn unsafe_call(&mut self, f: FnId, range: TextRange) {
        let f = self.hir.function(f);
        if f.is_unsafe && !self.in_unsafe {
            let name = self.hir.text(f.head.name);
            let title = format!("`{name}` is an unsafe function, called outside `unsafe`");
            self.report(4090, range, title);
        }
    }

    fn method(
        &mut self,
        id: ExprId,
        receiver: ExprId,
        (name, name_range): (Name, TextRange),
        args: List<Arg>,
    ) {
        let text = self.hir.text(name);
        let family = match self.types.methods.get(&id) {
            Some(Method::User(f) | Method::Trait(_, f) | Method::Agent(f)) => {
                let range = self.body.expr(id).range;
                return self.unsafe_call(*f, range);
            }
            Some(Method::FieldCall | Method::Error) => return,
            Some(Method::Family(f)) => *f,
            _ => {
                let ty = self.types.of(receiver);
                if matches!(text, "read" | "write") {
                    self.pointer(receiver, self.body.expr(id).range);
                }
                let Some(f) = self.family_of(ty) else { return };
                f
            }
        };
        // `Fs.read(..)` has no handle at all: MT4060 alone.
        if matches!(
            self.body.expr(receiver).kind,
            ExprKind::Path(Res::Family(_))
        ) {
            return;
        }
        if surface::narrowing(family).contains(&text) {
            return self.narrowing(text, name_range, args);
        }
        let Some(operations) = surface::operations(family) else {
            return;
        };
        if operations.contains(&text) || surface::COMMON.contains(&text) {
            return;
        }
        let known = || {
            let narrowing = surface::narrowing(family).iter();
            operations.iter().chain(narrowing).copied()
        };
        let title = format!("a `{}` capability has no method `{text}`", family.name());
        let mut report = Diagnostic::error(4064, self.body.file, name_range, title);
        if let Some((to, distance)) = suggest::nearest(text, known()) {
            report = report
                .note(format!("did you mean `{to}`?"))
                .hint(FixHint::Rename {
                    to: to.to_owned(),
                    distance,
                });
        } else {
            let list: Vec<String> = known().map(|m| format!("`{m}`")).collect();
            report = report.note(format!("it has {}", list.join(", ")));
        }
        self.sink.push(report);
    }

    /// MT4065.
    fn narrowing(&mut self, method: &str, name_range: TextRange, args: List<Arg>) {
        let Some(arg) = self.body.args_of(args).first() else {
            let title = format!("`{method}` needs what to narrow to");
            return self.report(4065, name_range, title);
        };
        let range = self.body.expr(arg.value).range;
        if self.is_empty_text(arg.value) {
            let title = format!("`{method}` cannot narrow to an empty text");
            self.report(4065, range, title);
        } else if !self.may_be_text(self.types.of(arg.value)) {
            let title = format!(
                "`{method}` narrows to a text, not to `{}`",
                self.hir.show(self.types.of(arg.value))
            );
            self.report(4065, range, title);
        }
    }

    fn is_empty_text(&self, id: ExprId) -> bool {
        match self.body.expr(id).kind {
            ExprKind::Lit(Lit::Str) => self.text(id).is_some_and(str::is_empty),
            ExprKind::Array(l) => {
                l.is_empty() || self.body.exprs_of(l).iter().all(|e| self.is_empty_text(*e))
            }
            _ => false,
        }
    }

    /// What stands between the quotes of a text literal.
    fn text(&self, id: ExprId) -> Option<&str> {
        let e = self.body.expr(id);
        let ExprKind::Lit(Lit::Str) = e.kind else {
            return None;
        };
        let written = self.hir.text_of(self.body.file, e.range);
        let from = written.find('"')? + 1;
        let to = written.rfind('"')?;
        let inner = written.get(from..to)?;
        // A block text of three quotes that holds nothing.
        Some(inner.trim_matches('"')).filter(|t| !t.contains('\\'))
    }

    fn may_be_text(&self, ty: crate::ty::Ty) -> bool {
        let s = &self.hir.tys;
        match s.kind(s.peel(ty)) {
            TyKind::Str
            | TyKind::String
            | TyKind::Error
            | TyKind::Unknown
            | TyKind::Never
            | TyKind::Opaque(_)
            | TyKind::Param(_)
            | TyKind::SelfOf(_)
            | TyKind::Dyn(_)
            | TyKind::Var(_) => true,
            TyKind::Array(t, _)
            | TyKind::Slice(t)
            | TyKind::Vec(t)
            | TyKind::List(t)
            | TyKind::Set(t) => self.may_be_text(t),
            _ => false,
        }
    }

    /// What a handle is limited to, if that is plain to see.
    fn limit(&self, id: ExprId) -> Option<Constraint> {
        match self.body.expr(id).kind {
            ExprKind::Path(Res::Local(l)) => self.handles.get(&l).cloned(),
            ExprKind::Path(Res::Ctor(..)) => {
                self.family_of(self.types.of(id)).map(|_| Constraint::Any)
            }
            ExprKind::Ref { operand, .. } | ExprKind::Move(operand) => self.limit(operand),
            ExprKind::MethodCall {
                receiver,
                name,
                args,
                ..
            } => {
                let old = self.limit(receiver)?;
                let arg = self.text(self.body.args_of(args).first()?.value)?;
                match self.hir.text(name) {
                    "ro" => Some(Constraint::read_only(arg.to_owned())),
                    "path" => Some(old.and(Constraint::Path(arg.to_owned()))),
                    "host" => Some(old.and(Constraint::Host(vec![arg.to_owned()]))),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// MT4010: the first call of a lambda limits its untyped parameters.
    fn lambda_call(&mut self, callee: ExprId, args: List<Arg>) {
        let ExprKind::Path(Res::Local(l)) = self.body.expr(callee).kind else {
            return;
        };
        let Some(params) = self.lambdas.get(&l).cloned() else {
            return;
        };
        let args = self.body.args_of(args);
        for (param, arg) in params.into_iter().zip(args) {
            let Some(param) = param else { continue };
            let given = self.limit(arg.value);
            let Some(first) = self.wanted.get(&param) else {
                self.wanted.insert(param, given);
                continue;
            };
            let (Some(wanted), Some(given)) = (first, given) else {
                continue;
            };
            if given.fits(wanted) {
                continue;
            }
            let e = self.body.expr(arg.value);
            let text = self.hir.text_of(self.body.file, e.range);
            let calls = wanted.calls();
            let title = format!(
                "`{text}` allows more than the parameter `{}`, which an earlier call limits",
                self.hir.text(self.body.local(param).name)
            );
            let narrowed = format!("{text}{calls}");
            self.sink.push(
                Diagnostic::error(4010, self.body.file, e.range, title)
                    .note(format!(
                        "the first call passes a capability narrowed by `{calls}`"
                    ))
                    .hint(FixHint::Replace {
                        range: e.range,
                        text: narrowed,
                    }),
            );
        }
    }
}
