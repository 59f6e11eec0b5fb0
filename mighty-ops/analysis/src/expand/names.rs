//! Which macro a name means at a place: declarations of a package, imports, standard macros.
//! Must not expand anything.

use rustc_hash::{FxHashMap, FxHashSet};
use syntax::SyntaxKind;
use syntax::ast::{self, AstNode, HasName, Item};

use super::template::Template;
use crate::package::Package;

/// The macros that need no declaration, with their arity where it is fixed.
pub(crate) const STANDARD: &[(&str, Option<usize>)] = &[
    ("assert", Some(1)),
    ("assert_eq", Some(2)),
    ("assert_ne", Some(2)),
    ("debug", Some(1)),
    ("format", None),
    ("unreachable", Some(0)),
    ("vec", None),
];

/// A declared macro.
#[derive(Debug)]
pub(super) struct Decl<'t> {
    pub(super) name: &'t str,
    /// The modules around it, outermost first.
    module: Vec<&'t str>,
    public: bool,
    pub(super) params: Vec<&'t str>,
    /// `None` for a procedural one.
    pub(super) template: Option<Template>,
}

/// What a macro name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A declaration, by index.
    Declared(usize),
    /// An import that leads out of the package: nothing is known.
    Foreign,
    /// A standard macro, by index into [`STANDARD`].
    Standard(usize),
    /// Nothing yet: declared further down in the same file.
    Later(usize),
    /// Nothing: declared in another module without `pub`.
    Private(usize),
    Unknown,
}

/// The macro names of one file.
#[derive(Debug, Default)]
pub(super) struct Scope<'t> {
    /// Declarations of the file with the offset from which they are visible, ascending.
    local: FxHashMap<&'t str, Vec<(u32, usize)>>,
    imported: FxHashMap<&'t str, Meaning>,
    /// Functions of the file; a plain call means them rather than a macro ([R:G110]).
    pub(super) functions: FxHashSet<&'t str>,
}

impl<'t> Scope<'t> {
    /// Whether a plain call could be a macro call at all.
    pub(super) fn has_macros(&self) -> bool {
        !self.local.is_empty()
            || self
                .imported
                .values()
                .any(|m| matches!(m, Meaning::Declared(_)))
    }

    /// What `name` means at an offset of the written text.
    pub(super) fn lookup(&self, name: &str, at: u32) -> Meaning {
        let mut later = None;
        if let Some(all) = self.local.get(name) {
            let visible = all.partition_point(|(from, _)| *from <= at);
            if let Some(last) = visible.checked_sub(1) {
                return Meaning::Declared(all[last].1);
            }
            later = all.first().map(|(_, i)| Meaning::Later(*i));
        }
        let imported = self.imported.get(name).copied();
        if let Some(Meaning::Declared(i)) = imported {
            return Meaning::Declared(i);
        }
        // An import of another kind, a function say, leaves the standard macro of its name alone.
        if let Some(i) = STANDARD.iter().position(|(n, _)| *n == name) {
            return Meaning::Standard(i);
        }
        later.or(imported).unwrap_or(Meaning::Unknown)
    }

    /// Names that a misspelt macro at an offset may have meant.
    pub(super) fn candidates(&self, at: u32) -> impl Iterator<Item = &str> {
        let local = self
            .local
            .iter()
            .filter(move |(_, all)| all.iter().any(|(from, _)| *from <= at));
        let imported = self
            .imported
            .iter()
            .filter(|(_, m)| matches!(m, Meaning::Declared(_)));
        let standard = STANDARD.iter().map(|(n, _)| *n);
        local
            .map(|(n, _)| *n)
            .chain(imported.map(|(n, _)| *n))
            .chain(standard)
    }
}

/// All macros of a package and the scope of each file.
#[derive(Debug, Default)]
pub(super) struct Macros<'t> {
    pub(super) decls: Vec<Decl<'t>>,
    pub(super) scopes: Vec<Scope<'t>>,
}

/// What imports can lead to.
#[derive(Default)]
struct Index<'t> {
    /// Declarations by name.
    macros: FxHashMap<&'t str, Vec<usize>>,
    /// Modules by path, numbered.
    modules: FxHashMap<Vec<&'t str>, usize>,
    /// Names of items with the number of their module.
    items: FxHashSet<(usize, &'t str)>,
}

impl Index<'_> {
    fn holds(&self, module: &[&str], name: &str) -> bool {
        let number = self.modules.get(module);
        number.is_some_and(|m| self.items.contains(&(*m, name)))
    }
}

/// Collects the macros of the files that parse.
pub(super) fn collect(package: &Package) -> Macros<'_> {
    let mut macros = Macros::default();
    let mut uses = Vec::new();
    let mut index = Index::default();
    for (i, file) in package.files.iter().enumerate() {
        let mut scope = Scope::default();
        let module: Vec<&str> = file.module.iter().map(String::as_str).collect();
        let mut todo = vec![(module, file.parse.file().items().collect::<Vec<_>>())];
        while let Some((module, items)) = todo.pop() {
            let next = index.modules.len();
            let number = *index.modules.entry(module.clone()).or_insert(next);
            for item in items {
                if !matches!(item, Item::UseItem(_)) {
                    index.items.extend(item.name().map(|n| (number, n.text())));
                }
                match item {
                    Item::MacroDef(_) | Item::ProcMacroDef(_) => {
                        declare(&mut macros.decls, &mut scope, item, &module);
                    }
                    Item::FnDef(f) => scope.functions.extend(f.name().map(|n| n.text())),
                    Item::ExportItem(e) => {
                        scope
                            .functions
                            .extend(e.function().and_then(HasName::name).map(|n| n.text()));
                    }
                    Item::ExternBlock(b) => {
                        let names = b.syntax().descendants().filter_map(ast::FnDef::cast);
                        scope
                            .functions
                            .extend(names.filter_map(HasName::name).map(|n| n.text()));
                    }
                    Item::ModItem(m) => {
                        let mut inner = module.clone();
                        inner.extend(m.name().map(|n| n.text()));
                        todo.push((inner, m.items().collect()));
                    }
                    Item::UseItem(u) => uses.push((i, module.clone(), u)),
                    _ => {}
                }
            }
        }
        for all in scope.local.values_mut() {
            all.sort_unstable();
        }
        macros.scopes.push(scope);
    }
    for (i, d) in macros.decls.iter().enumerate() {
        index.macros.entry(d.name).or_default().push(i);
    }
    for (file, module, item) in uses {
        import(&mut macros, &index, package, file, &module, item);
    }
    macros
}

fn declare<'t>(
    decls: &mut Vec<Decl<'t>>,
    scope: &mut Scope<'t>,
    item: Item<'t>,
    module: &[&'t str],
) {
    let Some(name) = item.name() else { return };
    let (params, template): (Vec<&'t str>, _) = match item {
        Item::MacroDef(m) => {
            let params: Vec<&str> = m.params().map(|t| t.text()).collect();
            let template = m.body().and_then(|b| Template::compile(b, &params));
            (params, Some(template.unwrap_or_default()))
        }
        _ => (Vec::new(), None),
    };
    scope
        .local
        .entry(name.text())
        .or_default()
        .push((item.range().end, decls.len()));
    decls.push(Decl {
        name: name.text(),
        module: module.to_vec(),
        public: item.syntax().child(SyntaxKind::Vis).is_some(),
        params,
        template,
    });
}

/// §22 rule 6: `use` brings a `pub macro` of the package in; a name that leads elsewhere may be a macro too.
fn import<'t>(
    macros: &mut Macros<'t>,
    index: &Index<'_>,
    package: &Package,
    file: usize,
    module: &[&str],
    item: ast::UseItem<'t>,
) {
    let (Some(path), Some(local)) = (item.path(), item.local_name()) else {
        return;
    };
    let mut names: Vec<&str> = path.segments().map(|t| t.text()).collect();
    let Some(last) = names.pop() else { return };
    let own = package
        .name
        .as_deref()
        .into_iter()
        .chain(declared_name(package));
    let mut starts: Vec<Vec<&str>> = vec![names.clone()];
    for own in own {
        let own: Vec<&str> = own.split('.').map(str::trim).collect();
        starts.extend(names.strip_prefix(own.as_slice()).map(<[_]>::to_vec));
    }
    // A path may begin with a module next to the import, or next to one around it.
    for depth in 1..=module.len() {
        starts.push(module[..depth].iter().chain(&names).copied().collect());
    }
    let named = index.macros.get(last).map_or(&[][..], Vec::as_slice);
    let found = named
        .iter()
        .rev()
        .copied()
        .find(|i| starts.contains(&macros.decls[*i].module));
    let meaning = match found {
        Some(i) if macros.decls[i].public => Meaning::Declared(i),
        Some(i) => Meaning::Private(i),
        // Something else of this package is no macro; what cannot be found is reported with the import.
        None if starts.iter().any(|s| index.holds(s, last)) => return,
        None => Meaning::Foreign,
    };
    macros.scopes[file].imported.insert(local.text(), meaning);
}

/// `package a.b` of the first file.
fn declared_name(package: &Package) -> Option<&str> {
    package
        .files
        .first()?
        .parse
        .file()
        .package()?
        .path()
        .map(AstNode::text)
}
