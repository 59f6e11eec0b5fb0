//! Keeps docs/conformance/*.md honest: every named test exists, every row has a state of the closed
//! list, every `tested` row names a test. It reads sources only; whether they pass is their own matter.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What is built next. A `next` row names each of them that it waits for.
const NEXT: [&str; 0] = [];

/// Documents whose rows are all tested, explained or named as waiting for what is built next.
const SETTLED: [&str; 3] = ["local-agent.md", "application-service.md", "edges.md"];

/// One table row: where it stands and its cells.
struct Row {
    at: String,
    tests: Vec<(PathBuf, String)>,
    state: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(root().join("docs/conformance"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    all.sort();
    all
}

/// Cells of a row. A pipe inside a cell is written `\|`.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let marked = inner.replace("\\|", "\u{0}");
    Some(
        marked
            .split('|')
            .map(|cell| cell.trim().replace('\u{0}', "|"))
            .collect(),
    )
}

/// Names in backticks that look like `path/to/file.rs::test`.
fn named_tests(cell: &str) -> Vec<(PathBuf, String)> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|name| name.split_once(".rs::"))
        .map(|(file, test)| (PathBuf::from(format!("{file}.rs")), test.to_owned()))
        .collect()
}

/// All rows of all tables that have a `Tests` and a `State` column.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for document in documents() {
        let name = document.file_name().unwrap().to_string_lossy().into_owned();
        let mut columns: Option<(usize, usize)> = None;
        for (number, line) in fs::read_to_string(&document).unwrap().lines().enumerate() {
            let Some(cells) = cells(line) else {
                columns = None;
                continue;
            };
            let at = format!("{name}:{}", number + 1);
            if let Some((tests, state)) = columns {
                if cells
                    .iter()
                    .all(|cell| cell.chars().all(|c| "-: ".contains(c)))
                {
                    continue;
                }
                assert!(cells.len() > tests.max(state), "{at}: too few cells");
                rows.push(Row {
                    at,
                    tests: named_tests(&cells[tests]),
                    state: cells[state].clone(),
                });
            } else {
                let find = |title: &str| {
                    cells
                        .iter()
                        .position(|cell| cell.eq_ignore_ascii_case(title))
                };
                let found = find("tests").or_else(|| find("test")).zip(find("state"));
                columns = Some(found.unwrap_or_else(|| panic!("{at}: no Tests and State columns")));
            }
        }
    }
    rows
}

/// Names of the functions in a source file that carry a test attribute.
fn tests_in(source: &str) -> Vec<&str> {
    let (mut found, mut marked) = (Vec::new(), false);
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        } else if let Some(name) = line
            .split_once("fn ")
            .filter(|_| marked && !line.starts_with("//"))
            .and_then(|(_, rest)| rest.split_once('('))
        {
            found.push(name.0);
            marked = false;
        }
    }
    found
}

/// Whether `state` is of the closed list: `tested`, `open`, `by design: why`, `next: what, what`.
fn is_known(state: &str) -> bool {
    state == "tested"
        || state == "open"
        || state
            .strip_prefix("by design: ")
            .is_some_and(|why| !why.trim().is_empty())
        || state
            .strip_prefix("next: ")
            .is_some_and(|parts| parts.split(", ").all(|part| NEXT.contains(&part)))
}

#[test]
fn every_row_has_a_state_of_the_closed_list() {
    let rows = rows();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(
            is_known(&row.state),
            "{}: unknown state {:?}",
            row.at,
            row.state
        );
    }
}

#[test]
fn settled_documents_have_no_open_row() {
    for row in rows().iter().filter(|row| row.state == "open") {
        let document = row.at.split(':').next().unwrap();
        assert!(!SETTLED.contains(&document), "{}: open", row.at);
    }
}

#[test]
fn every_tested_row_names_a_test() {
    for row in rows().iter().filter(|row| row.state == "tested") {
        assert!(!row.tests.is_empty(), "{}: tested by nothing", row.at);
    }
}

#[test]
fn every_named_test_exists() {
    let mut sources = HashMap::<PathBuf, Option<String>>::new();
    let mut missing = Vec::new();
    for row in rows() {
        for (file, test) in row.tests {
            let source = sources
                .entry(file.clone())
                .or_insert_with(|| fs::read_to_string(root().join(&file)).ok());
            match source {
                None => missing.push(format!("{}: no file {}", row.at, file.display())),
                Some(source) if tests_in(source).contains(&test.as_str()) => {}
                Some(_) => {
                    missing.push(format!("{}: no test {test} in {}", row.at, file.display()))
                }
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn stated_counts_match_the_rows() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let name = document.file_name().unwrap().to_string_lossy().into_owned();
        let count = |state: &str| {
            rows()
                .iter()
                .filter(|row| {
                    row.at.starts_with(&format!("{name}:")) && row.state.starts_with(state)
                })
                .count()
        };
        let next = match count("next") {
            0 => String::new(),
            next => format!(", {next} next"),
        };
        let expected = format!(
            "{} statements tested, {} open, {} by design{next}.",
            count("tested"),
            count("open"),
            count("by design")
        );
        let stated = text
            .lines()
            .find(|line| line.contains(" statements tested, "));
        assert!(
            stated.is_none_or(|line| line.trim() == expected),
            "{name}: should say {expected:?}"
        );
    }
}

#[test]
fn the_reader_of_these_tables_can_fail() {
    let source = "#[test]\nfn real() {}\n// fn commented() {}\nfn helper() {}\n#[test]\n#[ignore]\nfn second() {}\n";
    assert_eq!(tests_in(source), ["real", "second"]);
    assert_eq!(named_tests("`a/b.rs::x`, `no test`, `c.rs::y`").len(), 2);
    assert_eq!(cells("| a \\| b | c |").unwrap(), ["a | b", "c"]);
    assert!(cells("not a row").is_none());
    assert!(is_known("by design: an absence"));
    for unknown in ["next", "next: ", "next: soon", "by design: ", "Tested", ""] {
        assert!(!is_known(unknown), "{unknown:?}");
    }
}
