//! The rounds of expansion of one file: find calls, replace them, parse again (language.md §22, rules 1 to 5).
//! Must not know how templates are made.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use syntax::{SyntaxKind, TextRange, Tree};

use super::Expanded;
use super::calls::{self, Locals, Site};
use super::map::{Builder, SpanMap};
use super::names::{Macros, Meaning, Scope};
use super::standard::{self, Finding};
use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::package::FileId;
use crate::resolve::{prelude, suggest};

/// Rounds after which what is left is reported (MT6004).
const MAX_ROUNDS: usize = 32;

/// How much longer than its file an expansion may become: so many times, plus so many bytes. Beyond it calls
/// are given up (MT6004), so that templates that double their argument stay harmless.
const MAX_GROWTH: (usize, usize) = (16, 1 << 20);

/// Unknown names per file for which a near one is looked for.
const MAX_SUGGESTIONS: usize = 200;

struct Run<'a> {
    written: &'a Tree,
    macros: &'a Macros<'a>,
    scope: &'a Scope<'a>,
    file: FileId,
    sink: &'a mut Sink,
    limit: usize,
    /// Whether the limit was reached: nothing is expanded any more.
    exhausted: bool,
    /// Number of expansions so far: the number in renamed bindings.
    count: usize,
    suggestions: usize,
}

/// What becomes of a call.
enum Fate {
    Expand,
    /// Replaced by `0`; the report is still to be made.
    Fail(Box<Finding>),
    /// Replaced by `0` without a report.
    Silent,
}

/// Expands a file.
pub(super) fn run(
    file: &mut Expanded,
    written: &Tree,
    macros: &Macros<'_>,
    id: FileId,
    sink: &mut Sink,
) {
    let mut run = Run {
        written,
        macros,
        scope: &macros.scopes[id.index()],
        file: id,
        sink,
        limit: written.text().len() * MAX_GROWTH.0 + MAX_GROWTH.1,
        exhausted: false,
        count: 0,
        suggestions: MAX_SUGGESTIONS,
    };
    for round in 0.. {
        let parse = Arc::clone(&file.parse);
        let mut locals = Locals::new(&parse.tree);
        let at = |o: u32| file.map.written(TextRange::new(o, o)).start;
        let found = calls::find(&parse.tree, run.scope, &mut locals, at);
        if found.sites.is_empty() {
            let (findings, depth) = standard::check(parse.tree.text(), &found.standard);
            for finding in findings {
                run.report(&file.map, finding);
            }
            file.depth = parse.tree.max_depth() + depth;
            return;
        }
        run.round(file, &found.sites, &mut locals, round);
    }
}

impl Run<'_> {
    fn round(
        &mut self,
        file: &mut Expanded,
        sites: &[Site],
        locals: &mut Locals<'_>,
        round: usize,
    ) {
        let mut fates: Vec<Fate> = sites.iter().map(|s| self.fate(file, s, round)).collect();
        // A failed expansion becomes `0`, which parses wherever its call did.
        for attempt in 0.. {
            let (next, regions) = self.build(file, sites, &mut fates, locals);
            let errors: Vec<_> = next.parse.errors.iter().filter(|e| e.is_hard()).collect();
            if errors.is_empty() || attempt == 3 {
                for fate in fates {
                    if let Fate::Fail(finding) = fate {
                        self.report(&file.map, *finding);
                    }
                }
                self.count += sites.len();
                *file = next;
                return;
            }
            let mut blamed = false;
            for e in errors {
                let i = regions.partition_point(|r| r.start <= e.range.start);
                let Some(i) = i.checked_sub(1) else { continue };
                if !matches!(fates[i], Fate::Expand) {
                    continue;
                }
                blamed = true;
                fates[i] = Fate::Fail(Box::new(self.does_not_parse(&sites[i], &next.map, file, e)));
            }
            if !blamed || attempt == 2 {
                for (fate, site) in fates.iter_mut().zip(sites) {
                    if matches!(fate, Fate::Expand) {
                        let title = "this macro call does not fit where it stands".to_owned();
                        *fate = Fate::Fail(Box::new(Finding::new(6003, site.name, title)));
                    }
                }
            }
        }
    }

    /// What the name and the number of arguments say about a call.
    fn fate(&mut self, file: &Expanded, site: &Site, round: usize) -> Fate {
        let text = file.parse.tree.text();
        let name = &text[std::ops::Range::from(site.name)];
        let fail = |f: Finding| Fate::Fail(Box::new(f));
        let i = match site.meaning {
            Meaning::Declared(i) => i,
            Meaning::Foreign | Meaning::Standard(_) => return Fate::Silent,
            Meaning::Later(_) | Meaning::Private(_) | Meaning::Unknown => {
                return fail(self.unknown(name, site, &file.map));
            }
        };
        let decl = &self.macros.decls[i];
        let Some(_) = &decl.template else {
            let title = format!("the procedural macro `{name}` cannot run");
            let mut f = Finding::new(6006, site.name, title);
            f.notes
                .push("procedural macros are parsed and kept, but nothing executes them".into());
            return fail(f);
        };
        if let Some(range) = site.unknown {
            let title =
                format!("an argument of `{name}!` holds bytes that are no part of the language");
            return fail(Finding::new(6003, range, title));
        }
        if decl.params.len() != site.args.len() {
            let expected = vec!["_".to_owned(); decl.params.len()];
            let mut f = standard::arity(name, site.name, expected, site.args.len(), site.inside);
            if !decl.params.is_empty() {
                f.notes.push(format!(
                    "it is declared as `{name}({})`",
                    decl.params.join(", ")
                ));
            }
            return fail(f);
        }
        if let Some(empty) = site.args.iter().find(|a| a.is_empty()) {
            let title = format!("an argument of `{name}!` is missing before a comma");
            return fail(Finding::new(
                6003,
                TextRange::new(empty.start, empty.start + 1),
                title,
            ));
        }
        if self.exhausted {
            return fail(self.too_long(name, site));
        }
        if round >= MAX_ROUNDS {
            let title = format!("`{name}!` is still not expanded after {MAX_ROUNDS} rounds");
            return fail(Finding::new(6004, site.name, title));
        }
        Fate::Expand
    }

    fn unknown(&mut self, name: &str, site: &Site, map: &SpanMap) -> Finding {
        let at = map.written(site.name).start;
        let mut f = Finding::new(6001, site.name, format!("there is no macro `{name}`"));
        match site.meaning {
            Meaning::Later(_) => {
                f.notes.push(
                    "it is declared further down: macros are visible from their declaration on"
                        .into(),
                );
                return f;
            }
            Meaning::Private(_) => {
                f.notes
                    .push("the macro that is imported under this name is not `pub`".into());
                return f;
            }
            _ => {}
        }
        if prelude::is_value(name) || self.scope.functions.contains(name) {
            f.notes
                .push(format!("`{name}` is a function: call it without `!`"));
            return f;
        }
        if self.suggestions == 0 {
            return f;
        }
        self.suggestions -= 1;
        if let Some((to, distance)) = suggest::nearest(name, self.scope.candidates(at)) {
            f.notes.push(format!("did you mean `{to}!`?"));
            f.hint = FixHint::Rename {
                to: to.to_owned(),
                distance,
            };
        }
        f
    }

    /// The next text and where in it each call went.
    fn build(
        &mut self,
        file: &Expanded,
        sites: &[Site],
        fates: &mut [Fate],
        locals: &mut Locals<'_>,
    ) -> (Expanded, Vec<TextRange>) {
        let tree = &file.parse.tree;
        let mut out = Builder::new(tree.text(), &file.map, &file.poison);
        let mut regions = Vec::with_capacity(sites.len());
        let mut done = 0;
        for (i, (site, fate)) in sites.iter().zip(fates).enumerate() {
            out.copy(TextRange::new(done, site.range.start));
            done = site.range.end;
            let start = out.len();
            let call = file.map.written(site.range);
            let template = match (&fate, site.meaning) {
                (Fate::Expand, Meaning::Declared(d)) => self.macros.decls[d].template.as_ref(),
                _ => None,
            };
            if let Some(t) = template {
                let saved = out.mark();
                let mentioned = if t.binders.iter().all(|b| b.by_let) {
                    FxHashSet::default()
                } else {
                    words(tree, site.inside)
                };
                let hygienic: Vec<bool> = t
                    .binders
                    .iter()
                    .map(|b| {
                        b.by_let
                            || mentioned.contains(b.name.as_str())
                                && locals.binds(site.owner, &b.name)
                    })
                    .collect();
                if !t.expand(
                    &mut out,
                    call,
                    &site.args,
                    self.count + i,
                    &hygienic,
                    self.limit,
                ) {
                    out.reset(saved);
                    let name = &tree.text()[std::ops::Range::from(site.name)];
                    *fate = Fate::Fail(Box::new(self.too_long(name, site)));
                    self.exhausted = true;
                    out.fail(call);
                }
            } else {
                out.fail(call);
            }
            regions.push(TextRange::new(start, out.len()));
        }
        out.copy(TextRange::new(done, tree.text().len() as u32));
        let Builder {
            text, map, poison, ..
        } = out;
        (
            Expanded {
                parse: Arc::new(syntax::parse(text)),
                map,
                poison,
                depth: 0,
            },
            regions,
        )
    }

    fn too_long(&self, name: &str, site: &Site) -> Finding {
        let title = format!("the expansion of `{name}!` grows without end");
        let mut f = Finding::new(6004, site.name, title);
        f.notes.push(format!(
            "all expansions of this file together exceed {} KiB",
            self.limit >> 10
        ));
        f
    }

    fn does_not_parse(
        &self,
        site: &Site,
        next: &SpanMap,
        file: &Expanded,
        error: &syntax::SyntaxError,
    ) -> Finding {
        let name = &file.parse.tree.text()[std::ops::Range::from(site.name)];
        if error.code == syntax::error::code::DEPTH_LIMIT_EXCEEDED && !file.map.pieces.is_empty() {
            let title = format!("the expansion of `{name}!` nests without end");
            return Finding::new(6004, site.name, title);
        }
        let title = format!("what `{name}!` expands to does not parse");
        let mut f = Finding::new(6003, site.name, title);
        f.notes.push(error.title.clone());
        // A fault among the tokens of an argument is shown there.
        if next.is_copy(error.range) {
            f.written = Some(next.written(error.range));
        }
        f
    }

    fn report(&mut self, map: &SpanMap, finding: Finding) {
        let Finding {
            code,
            range,
            title,
            notes,
            hint,
            written,
        } = finding;
        let mut report = Diagnostic::error(code, self.file, range, title).hint(hint);
        report.notes = notes;
        let copied = map.is_copy(range);
        report = map.report(report);
        if let Some(written) = written {
            report.range = written;
        } else if !copied {
            // Text of a template comes from a call: its name stands first.
            let name = self
                .written
                .token_at(report.range.start)
                .filter(|t| t.kind() == SyntaxKind::Ident);
            report.range = name.map_or(report.range, |t| t.range());
        }
        self.sink.push(report);
    }
}

/// The identifiers in a range.
fn words(tree: &Tree, range: TextRange) -> FxHashSet<&str> {
    let first = tree.token_at(range.start);
    std::iter::successors(first, |t| t.next())
        .take_while(|t| t.range().end <= range.end)
        .filter(|t| t.kind() == SyntaxKind::Ident)
        .map(|t| t.text())
        .collect()
}
