//! Runs `tests/cases/<code>/*.mty` and `tests/clean/*.mty` through the check (see tests/cases/README.md).
//! Must not know codes: what a case expects stands in it.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::{Level, Options, Package, Profile, SourceFile, check};

/// A report, as a case writes it: file, range in its text, code, error or warning.
type Expected = (usize, (u32, u32), String, Level);

fn files_under(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(dir) else {
        return found;
    };
    for e in entries {
        let path = e.unwrap().path();
        if path.is_dir() {
            found.extend(files_under(&path));
        } else if path.extension().is_some_and(|e| e == "mty") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Splits a case into files at `//# module a.b` lines and reads the other directives.
fn package(text: &str) -> (Package, Options) {
    let mut options = Options::default();
    let mut name = None;
    let mut parts: Vec<(Vec<String>, String)> = vec![(Vec::new(), String::new())];
    for line in text.split_inclusive('\n') {
        let words: Vec<&str> = line
            .strip_prefix("//#")
            .map(|l| l.split_whitespace().collect())
            .unwrap_or_default();
        match words[..] {
            ["module", path] => {
                parts.push((path.split('.').map(str::to_owned).collect(), String::new()))
            }
            ["package", n] => name = Some(n.to_owned()),
            ["profile", "core"] => options.profile = Profile::Core,
            ["strict-names"] => options.strict_names = true,
            [] => {}
            ref other => panic!("unknown directive {other:?}"),
        }
        parts.last_mut().unwrap().1.push_str(line);
    }
    let files = parts
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

/// `MT2001` or `MT2021 warning`.
fn label(text: &str) -> (String, Level) {
    let mut words = text.split_whitespace();
    let code = words.next().expect("a marker names its code").to_owned();
    assert!(
        code.starts_with("MT") && code.len() == 6,
        "bad marker {text:?}"
    );
    let level = match words.next() {
        None => Level::Error,
        Some("warning") => Level::Warning,
        Some(other) => panic!("bad marker word {other:?}"),
    };
    (code, level)
}

fn markers(file: usize, text: &str, into: &mut Vec<Expected>) {
    // `//  ^^^ MT2001` under a line.
    let mut offset = 0usize;
    let mut previous: Option<(usize, &str)> = None;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_end();
        let is_marker = trimmed.trim_start().starts_with("//")
            && trimmed.trim_start()[2..].trim_start().starts_with('^');
        if is_marker {
            let (start, target) = previous.expect("a marker stands under a line");
            let carets = trimmed.find('^').unwrap();
            let column = trimmed[..carets].chars().count();
            let width = trimmed[carets..].chars().take_while(|c| *c == '^').count();
            let byte = |column: usize| {
                target
                    .char_indices()
                    .nth(column)
                    .map_or(target.trim_end().len(), |(i, _)| i)
            };
            let (code, level) = label(trimmed[carets + width..].trim());
            let range = (start + byte(column), start + byte(column + width));
            into.push((file, (range.0 as u32, range.1 as u32), code, level));
        } else {
            previous = Some((offset, line));
        }
        offset += line.len();
    }
    // `/*[MT2015*/ … /*]*/` around a range.
    let mut open: Vec<(usize, (String, Level))> = Vec::new();
    let mut at = 0;
    while let Some(i) = text[at..].find("/*").map(|i| i + at) {
        let end = text[i..].find("*/").map_or(text.len(), |e| i + e + 2);
        let comment = &text[i..end];
        if let Some(body) = comment.strip_prefix("/*[") {
            open.push((end, label(body.trim_end_matches("*/"))));
        } else if comment == "/*]*/" {
            let (start, (code, level)) = open.pop().expect("an opened marker");
            into.push((file, (start as u32, i as u32), code, level));
        }
        at = end;
    }
    assert!(open.is_empty(), "a marker is not closed");
}

fn show(package: &Package, e: &Expected) -> String {
    let text = package.files[e.0].parse.tree.text();
    let start = e.1.0 as usize;
    let line = text[..start].matches('\n').count() + 1;
    let column = text[..start]
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    let part = text.get(start..e.1.1 as usize).unwrap_or("?");
    format!("{}:{line}:{column} {} {:?} {part:?}", e.0, e.2, e.3)
}

fn run(path: &Path, failures: &mut String) {
    let text = fs::read_to_string(path).unwrap();
    let (package, options) = package(&text);
    let mut expected = Vec::new();
    for (i, f) in package.files.iter().enumerate() {
        markers(i, f.parse.tree.text(), &mut expected);
    }
    let analysis = check(&package, &options).unwrap();
    let mut found: Vec<Expected> = analysis
        .diagnostics
        .iter()
        .map(|d| {
            (
                d.file.index(),
                (d.range.start, d.range.end),
                d.code.to_string(),
                d.level,
            )
        })
        .collect();
    expected.sort();
    found.sort();
    let clean = !path
        .file_name()
        .unwrap()
        .to_string_lossy()
        .starts_with("fail");
    if clean && !expected.is_empty() {
        let _ = writeln!(failures, "{}: a clean case has markers", path.display());
    }
    if !clean && expected.is_empty() {
        let _ = writeln!(failures, "{}: a failing case has no marker", path.display());
    }
    if found == expected {
        return;
    }
    let _ = writeln!(failures, "{}:", path.display());
    for e in expected.iter().filter(|e| !found.contains(e)) {
        let _ = writeln!(failures, "  expected {}", show(&package, e));
    }
    for (d, e) in analysis
        .diagnostics
        .iter()
        .zip(analysis.diagnostics.iter().map(|d| {
            (
                d.file.index(),
                (d.range.start, d.range.end),
                d.code.to_string(),
                d.level,
            )
        }))
    {
        if !expected.contains(&e) {
            let _ = writeln!(failures, "  found    {}: {}", show(&package, &e), d.title);
        }
    }
}

fn run_all(dir: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(dir);
    let only = std::env::var("CASE").unwrap_or_default();
    let mut failures = String::new();
    let mut count = 0;
    for path in files_under(&root) {
        if path.to_string_lossy().contains(&only) {
            count += 1;
            run(&path, &mut failures);
        }
    }
    assert!(
        count > 0 || !only.is_empty(),
        "no cases under {}",
        root.display()
    );
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn cases_give_exactly_the_reports_they_mark() {
    run_all("cases");
}

#[test]
fn clean_programs_are_clean() {
    run_all("clean");
}

#[test]
fn every_case_directory_has_two_failing_and_one_clean_case() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut thin = Vec::new();
    for e in fs::read_dir(&root).unwrap() {
        let dir = e.unwrap().path();
        if !dir.is_dir() {
            continue;
        }
        let names: Vec<String> = files_under(&dir)
            .iter()
            .map(|p| p.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        let failing = names.iter().filter(|n| n.starts_with("fail-")).count();
        let clean = names.iter().filter(|n| n.starts_with("clean-")).count();
        if failing < 2 || clean < 1 {
            thin.push(format!(
                "{}: {failing} failing, {clean} clean",
                dir.display()
            ));
        }
    }
    assert!(thin.is_empty(), "{}", thin.join("\n"));
}
