//! Imports: what each `use` brings in, and MT1002, MT2029, MT2030 (language.md §4, [R:G22]).
//! Must not resolve names in code.

use syntax::ast::{self, AstNode};
use syntax::{TextRange, Token};

use super::Lower;
use crate::diagnostic::{Diagnostic, FixHint};
use crate::hir::{Def, MacroId, ModuleId, Name};
use crate::package::FileId;
use crate::resolve::{prelude, suggest};

impl<'t> Lower<'t> {
    pub(super) fn resolve_uses(&mut self) {
        let uses = std::mem::take(&mut self.uses);
        // Two rounds, so that an import of an import may stand before it; the second one reports.
        for last in [false, true] {
            for (module, file, item) in &uses {
                let Some(local) = item.local_name() else {
                    continue;
                };
                let local = self.name(local);
                let def = self.resolve_use(*module, *file, *item, last);
                if !last && def == Def::Broken {
                    continue;
                }
                let names = &mut self.hir.modules[module.index()].names;
                match names.get(&local) {
                    // An item of the module wins over an import of its name.
                    Some(d) if !last && !matches!(d, Def::Std(_) | Def::Foreign(_)) => {}
                    Some(d)
                        if last && !matches!(d, Def::Std(_) | Def::Foreign(_) | Def::Broken) => {}
                    _ => {
                        names.insert(local, def);
                    }
                }
            }
        }
    }

    fn resolve_use(
        &mut self,
        module: ModuleId,
        file: FileId,
        item: ast::UseItem<'t>,
        report: bool,
    ) -> Def {
        let Some(path) = item.path() else {
            let name = item
                .local_name()
                .map_or(self.well_known.empty, |t| self.name(t));
            return Def::Foreign(name);
        };
        let tokens: Vec<Token<'t>> = path.segments().collect();
        let names: Vec<Name> = tokens.iter().map(|t| self.name(*t)).collect();
        let (Some(first), Some(last)) = (names.first().copied(), names.last().copied()) else {
            return Def::Broken;
        };
        if first == self.well_known.std {
            return self.resolve_std(file, item, &tokens, report);
        }
        if let Some(skip) = self.own_prefix(&names) {
            return self.walk_own(ModuleId(0), file, &tokens[skip..], &names[skip..], report);
        }
        let local = self.lookup(module, first);
        match local {
            Some(Def::Module(m)) => self.walk_own(m, file, &tokens[1..], &names[1..], report),
            Some(Def::Enum(_)) if names.len() == 2 => self
                .member_of(local, names[1])
                .unwrap_or(Def::Foreign(last)),
            _ => Def::Foreign(last),
        }
    }

    /// Number of leading names that are the package's own.
    fn own_prefix(&self, names: &[Name]) -> Option<usize> {
        self.own_names
            .iter()
            .find(|own| names.starts_with(own) && !own.is_empty())
            .map(Vec::len)
    }

    fn resolve_std(
        &mut self,
        file: FileId,
        item: ast::UseItem<'t>,
        tokens: &[Token<'t>],
        report: bool,
    ) -> Def {
        let joined = tokens[1..]
            .iter()
            .map(|t| t.text())
            .collect::<Vec<_>>()
            .join(".");
        let def = Def::Std(self.hir.names.intern(&joined));
        let Some(module) = tokens.get(1) else {
            return def;
        };
        if !prelude::is_module(module.text()) {
            if report {
                let near = suggest::nearest(module.text(), prelude::MODULES.iter().copied());
                let mut d = Diagnostic::error(
                    1002,
                    file,
                    module.range(),
                    format!("the standard library has no module `{}`", module.text()),
                );
                d = match near {
                    Some((to, distance)) => {
                        d.note(format!("did you mean `std.{to}`?"))
                            .hint(FixHint::Rename {
                                to: to.to_owned(),
                                distance,
                            })
                    }
                    None => d.hint(FixHint::Delete {
                        range: item.range(),
                    }),
                };
                self.sink.push(d);
            }
            return Def::Broken;
        }
        if let [_, module, symbol] = tokens
            && report
        {
            let known = prelude::symbols(module.text());
            if !known.contains(&symbol.text())
                && let Some((to, distance)) = suggest::nearest(symbol.text(), known.iter().copied())
            {
                self.no_symbol(
                    file,
                    symbol.range(),
                    symbol.text(),
                    module.text(),
                    Some((to, distance)),
                );
            }
        }
        def
    }

    fn walk_own(
        &mut self,
        start: ModuleId,
        file: FileId,
        tokens: &[Token<'t>],
        names: &[Name],
        report: bool,
    ) -> Def {
        let mut module = start;
        for (i, name) in names.iter().enumerate() {
            let found = self.hir.modules[module.index()].names.get(name).copied();
            let is_last = i + 1 == names.len();
            match found {
                Some(def) if is_last => return def,
                Some(Def::Module(m)) => module = m,
                Some(Def::Enum(_)) if i + 2 == names.len() => {
                    return self.member_of(found, names[i + 1]).unwrap_or(Def::Broken);
                }
                Some(_) => return Def::Foreign(names[names.len() - 1]),
                None => {
                    // Macros have a space of names of their own (§22 rule 6).
                    let mut macros = self.hir.macros.iter();
                    let found =
                        macros.position(|m| m.head.module == module && m.head.name == *name);
                    if let Some(m) = found.filter(|_| is_last) {
                        return Def::Macro(MacroId(m as u32));
                    }
                    if report {
                        self.not_in_module(module, file, tokens[i], is_last);
                    }
                    return Def::Broken;
                }
            }
        }
        Def::Module(module)
    }

    fn not_in_module(&mut self, module: ModuleId, file: FileId, token: Token<'t>, is_last: bool) {
        let m = &self.hir.modules[module.index()];
        let mut names: Vec<&str> = Vec::new();
        let mut modules: Vec<&str> = Vec::new();
        for (n, d) in &m.names {
            match d {
                Def::Module(_) => modules.push(self.hir.text(*n)),
                _ => names.push(self.hir.text(*n)),
            }
        }
        // A missing last name may be a module (`use geo.trig`) or a symbol: without a hint from near names the
        // root of a package holds modules, a module holds symbols.
        let near_module = suggest::nearest(token.text(), modules.iter().copied());
        let near_name = suggest::nearest(token.text(), names.iter().copied());
        let starts_lower = token.text().starts_with(|c: char| c.is_lowercase());
        let is_module = !is_last
            || (near_name.is_none()
                && (near_module.is_some() || (module == ModuleId(0) && starts_lower)));
        if is_module {
            let near = near_module.map(|(t, d)| (t.to_owned(), d));
            let mut d = Diagnostic::error(
                2029,
                file,
                token.range(),
                format!("this package has no module `{}` here", token.text()),
            );
            if let Some((to, distance)) = near {
                d = d
                    .note(format!("did you mean `{to}`?"))
                    .hint(FixHint::Rename { to, distance });
            }
            self.sink.push(d);
        } else {
            let near = near_name.or(near_module).map(|(t, d)| (t.to_owned(), d));
            let of = self.hir.text(m.name).to_owned();
            let near = near.as_ref().map(|(t, d)| (t.as_str(), *d));
            self.no_symbol(file, token.range(), token.text(), &of, near);
        }
    }

    /// MT2030.
    pub(super) fn no_symbol(
        &mut self,
        file: FileId,
        range: TextRange,
        symbol: &str,
        module: &str,
        near: Option<(&str, u8)>,
    ) {
        let place = if module.is_empty() {
            "this package".to_owned()
        } else {
            format!("module `{module}`")
        };
        let mut d = Diagnostic::error(2030, file, range, format!("{place} has no `{symbol}`"));
        if let Some((to, distance)) = near {
            d = d
                .note(format!("did you mean `{to}`?"))
                .hint(FixHint::Rename {
                    to: to.to_owned(),
                    distance,
                });
        }
        self.sink.push(d);
    }

    /// A variant of an enum, by name.
    fn member_of(&self, def: Option<Def>, name: Name) -> Option<Def> {
        let Some(Def::Enum(e)) = def else { return None };
        let i = self.hir.enums[e.index()]
            .variants
            .iter()
            .position(|v| v.name == name)?;
        Some(Def::Variant(e, i as u32))
    }
}
