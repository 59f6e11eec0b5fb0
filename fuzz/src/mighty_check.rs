//! A Mighty package: its reports are in order, once each, known to the catalogue and inside the text, with
//! facts that are too; the same package gives the same reports; only broken syntax leaves it without a program.

use std::sync::Arc;

use analysis::{Analysis, Diagnostic, FixHint, Level, Options, Package, Profile, SourceFile};
use syntax::TextRange;

use crate::mighty_parse::text_of;

/// Files of one input that are read as such; later ones belong to the last.
const FILES: usize = 8;

/// Checks an input as a package. Gives the codes of its reports.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<u16> {
    let (package, options) = package(&text_of(data));
    let found = analysis::check(&package, &options).expect("the check ends");
    let broken = package.files.iter().any(|f| f.parse.has_hard_error());
    assert_eq!(found.program.is_none(), broken, "every stage ran");
    for diagnostic in &found.diagnostics {
        report(&package, diagnostic);
    }
    ordered(&found);
    let again = analysis::check(&package, &options).expect("the check ends");
    assert_eq!(again.diagnostics, found.diagnostics, "twice the same");
    found.diagnostics.iter().map(|d| d.code.number()).collect()
}

/// Files begin at lines `//# module a.b`; other lines `//# …` are options, as in the cases of the analysis.
/// A line that is neither is a comment.
pub fn package(text: &str) -> (Package, Options) {
    let mut options = Options::default();
    let mut name = None;
    let mut files: Vec<(Vec<String>, String)> = vec![(Vec::new(), String::new())];
    for line in text.split_inclusive('\n') {
        let words: Vec<&str> = match line.strip_prefix("//#") {
            Some(rest) => rest.split_whitespace().collect(),
            None => Vec::new(),
        };
        match words[..] {
            ["module", path] if files.len() < FILES => {
                let module = path.split('.').map(str::to_owned).collect();
                files.push((module, String::new()));
            }
            ["package", word] => name = Some(word.to_owned()),
            ["profile", "core"] => options.profile = Profile::Core,
            ["profile", "edge"] => options.profile = Profile::Edge,
            ["profile", "web"] => options.profile = Profile::Web,
            ["strict-names"] => options.strict_names = true,
            ["whole-root-moves"] => options.whole_root_moves = true,
            _ => {}
        }
        if let Some((_, text)) = files.last_mut() {
            text.push_str(line);
        }
    }
    let files = files
        .into_iter()
        .enumerate()
        .map(|(i, (module, text))| SourceFile {
            path: format!("file{i}.mty"),
            module,
            parse: Arc::new(syntax::parse(text)),
        })
        .collect();
    (Package { name, files }, options)
}

fn report(package: &Package, diagnostic: &Diagnostic) {
    let text = package.file(diagnostic.file).parse.tree.text();
    within(text, diagnostic.range, diagnostic);
    assert!(
        analysis::lookup(diagnostic.code.number()).is_some(),
        "{diagnostic:?}"
    );
    for line in std::iter::once(&diagnostic.title).chain(&diagnostic.notes) {
        assert!(!line.is_empty() && !line.contains('\n'), "{diagnostic:?}");
    }
    let at = |offset: u32| within(text, TextRange::new(offset, offset), diagnostic);
    match &diagnostic.hint {
        FixHint::Rename { distance, .. } => assert!(matches!(distance, 1 | 2), "{diagnostic:?}"),
        FixHint::MissingArms { insert_at, .. } | FixHint::MissingFields { insert_at, .. } => {
            at(*insert_at);
        }
        FixHint::Delete { range }
        | FixHint::Replace { range, .. }
        | FixHint::MakeMut { binding: range }
        | FixHint::Arguments { args: range, .. }
        | FixHint::CloneOrBorrow { range } => within(text, *range, diagnostic),
        FixHint::Insert { at: offset, .. }
        | FixHint::Annotate { at: offset, .. }
        | FixHint::Declare { at: offset, .. } => at(*offset),
        FixHint::Question { ret: range, .. } => {
            if let Some(range) = range {
                within(text, *range, diagnostic);
            }
        }
        FixHint::AddEffects {
            clause, at: offset, ..
        } => {
            at(*offset);
            if let Some(range) = clause {
                within(text, *range, diagnostic);
            }
        }
        FixHint::Taint {
            statement,
            argument,
            ..
        } => {
            within(text, *statement, diagnostic);
            within(text, *argument, diagnostic);
        }
        FixHint::None
        | FixHint::Import { .. }
        | FixHint::ExpectedFound { .. }
        | FixHint::Facts(_) => {}
    }
}

fn within(text: &str, range: TextRange, diagnostic: &Diagnostic) {
    assert!(
        range.start <= range.end && text.get(std::ops::Range::from(range)).is_some(),
        "{range:?} of {diagnostic:?} lies in {text:?}"
    );
}

/// By file, first byte and code; no two alike.
fn ordered(found: &Analysis) {
    let key = |d: &Diagnostic| (d.file, d.range.start, d.code, d.range.end);
    assert!(
        found
            .diagnostics
            .is_sorted_by(|a, b| key(a) <= key(b) && (key(a) != key(b) || a.level != b.level)),
        "{:?}",
        found.diagnostics
    );
    assert_eq!(
        found.has_errors(),
        found.diagnostics.iter().any(|d| d.level == Level::Error)
    );
}
