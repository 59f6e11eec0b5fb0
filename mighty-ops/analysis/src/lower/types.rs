//! Written types to `Ty`: MT2002, MT2004, MT2023, MT4023 (language.md §6, §10).
//! Must not compare types.

use syntax::ast::{self, AstNode, Type};
use syntax::{TextRange, Token};

use super::Lower;
use crate::diagnostic::{Diagnostic, FixHint};
use crate::hir::*;
use crate::package::FileId;
use crate::resolve::{prelude, suggest};
use crate::ty::{Prim, Ty, TyKind};

/// Aliases that may stand for each other in a row.
const MAX_ALIASES: u32 = 64;

/// What a written type may refer to.
#[derive(Clone)]
pub(super) struct TyScope {
    pub(super) file: FileId,
    pub(super) module: ModuleId,
    /// Inner ones last.
    pub(super) generics: Vec<(Name, GenericId)>,
    pub(super) self_ty: Option<Ty>,
    /// In `extern` blocks unknown types are opaque.
    pub(super) foreign: bool,
    /// In field types row variables are no names of types (MT2002).
    pub(super) in_field: bool,
    /// In code there are more names than those of items.
    pub(super) in_body: bool,
}

impl TyScope {
    pub(super) fn new(file: FileId, module: ModuleId) -> Self {
        Self {
            file,
            module,
            generics: Vec::new(),
            self_ty: None,
            foreign: false,
            in_field: false,
            in_body: false,
        }
    }

    pub(super) fn generic(&self, name: Name) -> Option<GenericId> {
        self.generics
            .iter()
            .rev()
            .find(|(n, _)| *n == name)
            .map(|(_, g)| *g)
    }
}

/// The head of a type: what its path means, before arguments are applied.
pub(super) enum Head {
    Prim(Prim),
    Def(Def),
    Done(Ty),
}

impl<'t> Lower<'t> {
    /// A written type, or `absent` where an error left none.
    pub(super) fn ty_or(&mut self, ty: Option<Type<'_>>, scope: &TyScope, absent: Ty) -> Ty {
        ty.map_or(absent, |t| self.ty(t, scope))
    }

    /// A written type. Faults are reported and become poison.
    pub(super) fn ty(&mut self, ty: Type<'_>, scope: &TyScope) -> Ty {
        self.ty_at(ty, scope, false)
    }

    pub(super) fn ty_at(&mut self, ty: Type<'_>, scope: &TyScope, is_arg: bool) -> Ty {
        match ty {
            Type::PathType(p) => self.path_ty(p, scope, is_arg),
            Type::RefType(r) => {
                let inner = self.ty_or(r.inner(), scope, Ty::ERROR);
                self.hir
                    .tys
                    .intern(TyKind::Ref(inner, r.mut_token().is_some()))
            }
            Type::PtrType(p) => {
                let inner = self.ty_or(p.inner(), scope, Ty::ERROR);
                self.hir
                    .tys
                    .intern(TyKind::Ptr(inner, p.mut_token().is_some()))
            }
            Type::TupleType(t) => {
                let parts: Vec<Ty> = t.types().map(|t| self.ty(t, scope)).collect();
                self.hir.tys.tuple(&parts)
            }
            Type::ParenType(p) => match p.inner() {
                Some(inner) => self.ty_at(inner, scope, is_arg),
                None => Ty::ERROR,
            },
            Type::SliceType(s) => {
                let elem = self.ty_or(s.element(), scope, Ty::ERROR);
                self.hir.tys.intern(TyKind::Slice(elem))
            }
            Type::ArrayType(a) => {
                let elem = self.ty_or(a.element(), scope, Ty::ERROR);
                let len = a.len().and_then(|e| self.const_len(e, scope.module, 0));
                if let (None, Some(e)) = (len, a.len()) {
                    self.judge_len(e, scope);
                }
                self.hir.tys.intern(TyKind::Array(elem, len))
            }
            Type::FnType(f) => {
                let params: Vec<Ty> = f.params().map(|t| self.ty(t, scope)).collect();
                let ret = f.ret_type().and_then(ast::RetType::ty);
                let ret = self.ty_or(ret, scope, Ty::UNIT);
                if scope.in_field {
                    for row in f
                        .effects()
                        .into_iter()
                        .flat_map(ast::EffectClause::row_vars)
                    {
                        let title =
                            format!("the row variable `{}` is no type of a field", row.text());
                        self.error(2002, scope.file, row.range(), title);
                    }
                }
                let params = self.hir.tys.list_of(&params);
                self.hir.tys.intern(TyKind::Fn(params, ret))
            }
            Type::DynType(d) => self.dyn_ty(d, scope),
            Type::ResultType(r) => {
                let ok = self.ty_or(r.ok(), scope, Ty::ERROR);
                let err = match r.union() {
                    Some(union) => {
                        for p in union.paths() {
                            let tokens: Vec<Token<'_>> = p.segments().collect();
                            self.head_of_type(&tokens, p.range(), scope, false);
                        }
                        Ty::ERROR
                    }
                    None => self.ty_or(r.err(), scope, Ty::ERROR),
                };
                self.hir.tys.intern(TyKind::Result(ok, err))
            }
        }
    }

    fn dyn_ty(&mut self, d: ast::DynType<'_>, scope: &TyScope) -> Ty {
        let Some(path) = d.path() else {
            return Ty::ERROR;
        };
        let tokens: Vec<Token<'_>> = path.segments().collect();
        match self.trait_named(&tokens, scope) {
            Some(Ok(t)) => {
                if let Some(method) = self.hir.traits[t.index()].not_object_safe {
                    let trait_name = self
                        .hir
                        .text(self.hir.traits[t.index()].head.name)
                        .to_owned();
                    let method = self
                        .hir
                        .text(self.hir.fns[method.index()].head.name)
                        .to_owned();
                    let report = Diagnostic::error(
                        4023,
                        scope.file,
                        d.range(),
                        format!("the trait `{trait_name}` cannot be a `dyn` type"),
                    );
                    self.sink.push(report.note(format!(
                        "its method `{method}` uses `Self` beyond the receiver or has generic parameters"
                    )));
                    return Ty::ERROR;
                }
                self.hir.tys.intern(TyKind::Dyn(t))
            }
            Some(Err(name)) => self.hir.tys.intern(TyKind::Opaque(name)),
            None => {
                if let Some(t) = tokens.last() {
                    self.unknown_type(*t, scope);
                }
                Ty::ERROR
            }
        }
    }

    /// A trait of this package, or the name of a foreign one; `None` if there is none.
    pub(super) fn trait_named(
        &mut self,
        tokens: &[Token<'_>],
        scope: &TyScope,
    ) -> Option<Result<TraitId, Name>> {
        let last = self.name(*tokens.last()?);
        match self.def_of_path(tokens, scope.module) {
            Some(Def::Trait(t)) => Some(Ok(t)),
            Some(Def::Std(_) | Def::Foreign(_) | Def::Broken) => Some(Err(last)),
            Some(_) => None,
            None => {
                let text = tokens.last()?.text();
                (prelude::is_opaque(text) || prelude::is_marker(text) || tokens.len() > 1)
                    .then_some(Err(last))
            }
        }
    }

    /// What a dotted path means among the items of the package and its imports.
    pub(super) fn def_of_path(&mut self, tokens: &[Token<'_>], module: ModuleId) -> Option<Def> {
        let first = self.name(*tokens.first()?);
        let mut def = match self.lookup(module, first) {
            Some(d) => d,
            None if tokens.len() > 1 && self.is_own_name(first) => Def::Module(ModuleId(0)),
            None => return None,
        };
        for t in &tokens[1..] {
            let name = self.name(*t);
            def = match def {
                Def::Module(m) => *self.hir.modules[m.index()].names.get(&name)?,
                Def::Std(_) | Def::Foreign(_) => Def::Foreign(name),
                Def::Broken => Def::Broken,
                Def::Enum(e) => {
                    let i = self.hir.enums[e.index()]
                        .variants
                        .iter()
                        .position(|v| v.name == name)?;
                    Def::Variant(e, i as u32)
                }
                _ => return None,
            };
        }
        Some(def)
    }

    pub(super) fn is_own_name(&self, name: Name) -> bool {
        self.own_names.iter().any(|n| n[..] == [name])
    }

    fn head_of_type(
        &mut self,
        tokens: &[Token<'_>],
        range: TextRange,
        scope: &TyScope,
        is_arg: bool,
    ) -> Head {
        let Some(last) = tokens.last().copied() else {
            return Head::Done(Ty::ERROR);
        };
        let text = last.text();
        if let [only] = tokens {
            let name = self.name(*only);
            if let Some(g) = scope.generic(name) {
                return Head::Done(self.hir.tys.intern(TyKind::Param(g)));
            }
            if name == self.well_known.self_ty
                && let Some(ty) = scope.self_ty
            {
                return Head::Done(ty);
            }
        }
        match self.def_of_path(tokens, scope.module) {
            Some(Def::Std(_) | Def::Foreign(_)) => return self.foreign_ty(last),
            Some(Def::Broken) => return Head::Done(Ty::ERROR),
            Some(Def::Fn(_) | Def::Const(_) | Def::Variant(..)) if is_arg => {
                let near = self.nearest_type(text, scope);
                let report = Diagnostic::error(
                    2023,
                    scope.file,
                    range,
                    format!("`{text}` is a value, a type argument must be a type"),
                );
                self.sink.push(with_rename(report, near));
                return Head::Done(Ty::ERROR);
            }
            Some(Def::Module(_) | Def::Fn(_) | Def::Const(_) | Def::Variant(..)) | None => {}
            Some(Def::Sandbox(_) | Def::Macro(_)) => {}
            Some(def) => return Head::Def(def),
        }
        if tokens.len() == 1 {
            if let Some(p) = prelude::prim(text) {
                return Head::Prim(p);
            }
            if let Some(f) = prelude::family(text) {
                return Head::Done(self.hir.tys.intern(TyKind::Family(f)));
            }
            if prelude::is_opaque(text) {
                let name = self.name(last);
                return Head::Done(self.hir.tys.intern(TyKind::Opaque(name)));
            }
            if is_arg && (prelude::variant(text).is_some() || prelude::is_value(text)) {
                let title = format!("`{text}` is a value, a type argument must be a type");
                self.error(2023, scope.file, range, title);
                return Head::Done(Ty::ERROR);
            }
        } else if self.foreign_head(tokens[0].text()) {
            return self.foreign_ty(last);
        }
        if scope.foreign {
            let name = self.name(last);
            return Head::Done(self.hir.tys.intern(TyKind::Opaque(name)));
        }
        self.unknown_type(last, scope);
        Head::Done(Ty::ERROR)
    }

    fn foreign_head(&self, text: &str) -> bool {
        text == "std" || prelude::is_module(text)
    }

    /// A type by a path through a library: `std.collections.Map` is the core one.
    fn foreign_ty(&mut self, last: Token<'_>) -> Head {
        if let Some(p) = prelude::prim(last.text()) {
            return Head::Prim(p);
        }
        if let Some(f) = prelude::family(last.text()) {
            return Head::Done(self.hir.tys.intern(TyKind::Family(f)));
        }
        let name = self.name(last);
        Head::Done(self.hir.tys.intern(TyKind::Opaque(name)))
    }

    fn unknown_type(&mut self, token: Token<'_>, scope: &TyScope) {
        let near = self.nearest_type(token.text(), scope);
        let mut report = Diagnostic::error(
            2002,
            scope.file,
            token.range(),
            format!("there is no type `{}`", token.text()),
        );
        let capital = capitalised(token.text());
        if capital != token.text() && prelude::prim(&capital).is_some() {
            report = report
                .note(format!(
                    "names of primitive types begin with a capital: `{capital}`"
                ))
                .hint(FixHint::Rename {
                    to: capital,
                    distance: 1,
                });
            self.sink.push(report);
            return;
        }
        self.sink.push(with_rename(report, near));
    }

    fn nearest_type(&mut self, text: &str, scope: &TyScope) -> Option<(String, u8)> {
        if self.suggestions_left == 0 {
            return None;
        }
        self.suggestions_left -= 1;
        let mut names: Vec<&str> = prelude::PRIMS.to_vec();
        names.extend(prelude::ERRORS);
        names.extend(scope.generics.iter().map(|(n, _)| self.hir.text(*n)));
        let mut module = Some(scope.module);
        while let Some(m) = module {
            let m = &self.hir.modules[m.index()];
            let is_type = |d: &Def| {
                matches!(
                    d,
                    Def::Struct(_)
                        | Def::Enum(_)
                        | Def::Alias(_)
                        | Def::Agent(_)
                        | Def::Protocol(_)
                        | Def::Cap(_)
                )
            };
            names.extend(
                m.names
                    .iter()
                    .filter(|(_, d)| is_type(d))
                    .map(|(n, _)| self.hir.text(*n)),
            );
            module = m.parent;
        }
        suggest::nearest(text, names).map(|(t, d)| (t.to_owned(), d))
    }

    fn path_ty(&mut self, p: ast::PathType<'_>, scope: &TyScope, is_arg: bool) -> Ty {
        let tokens: Vec<Token<'_>> = p.segments().collect();
        let path_range = match (tokens.first(), tokens.last()) {
            (Some(a), Some(b)) => TextRange::new(a.range().start, b.range().end),
            _ => p.range(),
        };
        let head = self.head_of_type(&tokens, path_range, scope, is_arg);
        let args: Option<Vec<Ty>> = p
            .args()
            .map(|a| a.types().map(|t| self.ty_at(t, scope, true)).collect());
        self.apply(head, args, p.range(), scope)
    }

    /// What an alias stands for; cycles become poison.
    pub(super) fn alias(&mut self, id: AliasId) -> Ty {
        match self.alias_state[id.index()] {
            2 => return self.hir.aliases[id.index()].ty,
            1 => {
                let head = self.hir.aliases[id.index()].head;
                let name = self.hir.text(head.name).to_owned();
                self.error(
                    2002,
                    head.file,
                    head.name_range,
                    format!("the alias `{name}` stands for itself"),
                );
                return Ty::ERROR;
            }
            // Longer chains are no program's; the names are known, what they stand for is not.
            _ if self.alias_depth >= MAX_ALIASES => return Ty::UNKNOWN,
            _ => self.alias_state[id.index()] = 1,
        }
        self.alias_depth += 1;
        let view = self.views.aliases[id.index()];
        let head = self.hir.aliases[id.index()].head;
        let mut scope = TyScope::new(head.file, head.module);
        let generics = self.generics(view.generics(), &mut scope);
        let ty = self.ty_or(view.ty(), &scope, Ty::ERROR);
        let alias = &mut self.hir.aliases[id.index()];
        alias.generics = generics;
        alias.ty = ty;
        self.alias_depth -= 1;
        self.alias_state[id.index()] = 2;
        ty
    }
}

/// The type of a core head with as many arguments as it takes; missing ones are unknown.
pub(crate) fn prim_ty(hir: &mut Hir, p: Prim, args: &[Ty]) -> Ty {
    let a = args.first().copied().unwrap_or(Ty::UNKNOWN);
    let b = args.get(1).copied().unwrap_or(Ty::UNKNOWN);
    let kind = match p {
        Prim::Int(t) => TyKind::Int(t),
        Prim::Float(t) => TyKind::Float(t),
        Prim::Bool => TyKind::Bool,
        Prim::Char => TyKind::Char,
        Prim::Unit => TyKind::Unit,
        Prim::Duration => TyKind::Duration,
        Prim::Size => TyKind::Size,
        Prim::Str => TyKind::Str,
        Prim::String => TyKind::String,
        Prim::Bytes => TyKind::Bytes,
        Prim::Never => TyKind::Never,
        Prim::Option => TyKind::Option(a),
        Prim::Result => TyKind::Result(a, b),
        // `AgentRef[Board]`: a bare agent name already is a reference.
        Prim::AgentRef => match hir.tys.kind(a) {
            TyKind::AgentRef(_) => return a,
            _ => TyKind::AgentRef(a),
        },
        Prim::Task => TyKind::Task(a),
        Prim::Vec => TyKind::Vec(a),
        Prim::List => TyKind::List(a),
        Prim::Set => TyKind::Set(a),
        Prim::Map => TyKind::Map(a, b),
        // [R:G46]: transparent for typing.
        Prim::Tainted => return a,
    };
    hir.tys.intern(kind)
}

fn capitalised(text: &str) -> String {
    match text {
        "usize" => return "USize".to_owned(),
        "isize" => return "ISize".to_owned(),
        _ => {}
    }
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// The ending of a counted word.
pub(crate) fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// Adds a did-you-mean.
pub(crate) fn with_rename(report: Diagnostic, near: Option<(String, u8)>) -> Diagnostic {
    match near {
        Some((to, distance)) => report
            .note(format!("did you mean `{to}`?"))
            .hint(FixHint::Rename { to, distance }),
        None => report,
    }
}
