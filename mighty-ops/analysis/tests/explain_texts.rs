//! Holds the explain texts to the style they are written in: shape, labels, columns, references.
//! Whether the programs under `Wrong:` and `Right:` behave as claimed is not checked here.
#![allow(clippy::unwrap_used)]

use analysis::{Code, ExplainError, Explanation, Status, catalogue, explain, lookup};
use std::collections::{BTreeMap, BTreeSet};

const FILE: &str = include_str!("../src/explain.txt");
const LABELS: [&str; 6] = ["Cause:", "Wrong:", "Right:", "Fix:", "Notes:", "See:"];

fn all() -> Vec<Explanation> {
    catalogue()
        .iter()
        .map(|d| explain(&d.number.to_string()).unwrap())
        .collect()
}

/// The labelled parts in file order, continuation lines joined by newlines, indentation kept.
fn parts(text: &str) -> Vec<(&str, String)> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for line in text.lines().skip(2) {
        match LABELS.iter().find(|label| line.starts_with(**label)) {
            Some(label) => parts.push((label, line[7..].to_owned())),
            None => {
                let rest = line
                    .strip_prefix("       ")
                    .unwrap_or_else(|| panic!("not indented: {line:?}"));
                let (_, part) = parts.last_mut().unwrap();
                part.push('\n');
                part.push_str(rest);
            }
        }
    }
    parts
}

fn part(text: &str, label: &str) -> String {
    parts(text)
        .into_iter()
        .find(|(l, _)| *l == label)
        .map(|(_, p)| p)
        .unwrap_or_default()
}

#[test]
fn every_code_has_a_text_and_no_text_lacks_a_code() {
    let mut written = BTreeSet::new();
    for line in FILE.lines().filter(|l| l.starts_with("MT")) {
        let (code, _) = line.split_once(": ").unwrap();
        let code: Code = code.parse().unwrap();
        assert!(
            lookup(code.number()).is_some(),
            "{code} is not in the catalogue"
        );
        assert!(written.insert(code.number()), "{code} stands twice");
    }
    let assigned: BTreeSet<_> = catalogue().iter().map(|d| d.number).collect();
    assert_eq!(written, assigned);
}

#[test]
fn the_file_is_its_blocks_and_nothing_else() {
    let blocks: Vec<_> = all().iter().map(|e| e.text).collect();
    assert_eq!(FILE, blocks.join("\n\n") + "\n");
}

#[test]
fn lines_keep_their_measures() {
    for Explanation { code, text } in all() {
        let lines: Vec<_> = text.lines().collect();
        assert!(
            (6..=14).contains(&lines.len()),
            "{code}: {} lines",
            lines.len()
        );
        for line in &lines {
            assert!(line.chars().count() <= 76, "{code}: {line}");
            assert_eq!(line.trim_end(), *line, "{code}: trailing blank");
            assert!(
                !line.chars().any(char::is_control),
                "{code}: control character"
            );
        }
        let title = lines[0].strip_prefix(&format!("{code}: ")).unwrap();
        assert!(
            !title.is_empty() && lines[0].chars().count() <= 60,
            "{code}: {title}"
        );
        assert!(!title.ends_with('.'), "{code}: the title is no sentence");
        assert!(
            lines[1].is_empty() && lines[2..].iter().all(|l| !l.is_empty()),
            "{code}: blank lines"
        );
    }
}

#[test]
fn parts_stand_in_order() {
    for Explanation { code, text } in all() {
        let labels: Vec<_> = parts(text).iter().map(|(label, _)| *label).collect();
        let wanted: Vec<_> = LABELS
            .into_iter()
            .filter(|l| *l != "Notes:" || labels.contains(l))
            .collect();
        assert_eq!(labels, wanted, "{code}");
        for (label, part) in parts(text) {
            assert!(!part.trim().is_empty(), "{code}: {label} is empty");
            assert!(!part.starts_with(' '), "{code}: {label} is not in column 8");
        }
        assert_ne!(part(text, "Wrong:"), part(text, "Right:"), "{code}");
    }
}

#[test]
fn no_markdown_except_code_spans() {
    for Explanation { code, text } in all() {
        for label in ["Cause:", "Fix:", "Notes:"] {
            let prose = part(text, label);
            assert_eq!(
                prose.matches('`').count() % 2,
                0,
                "{code}: unpaired backtick in {label}"
            );
            // Outside code spans, that is, in every other piece between backticks.
            let words: String = prose.split('`').step_by(2).collect();
            assert!(
                !words.contains(['*', '[', ']', '<', '#', '_']),
                "{code}: markup in {label}"
            );
            assert!(!prose.contains("://"), "{code}: link");
            assert!(
                prose.is_empty() || prose.ends_with('.'),
                "{code}: {label} ends without a full stop"
            );
        }
    }
}

#[test]
fn references_exist_and_point_elsewhere() {
    for Explanation { code, text } in all() {
        let see = part(text, "See:");
        let codes: Vec<_> = see.split(", ").collect();
        assert!((1..=3).contains(&codes.len()), "{code}: {see}");
        assert_eq!(
            codes.iter().collect::<BTreeSet<_>>().len(),
            codes.len(),
            "{code}: {see}"
        );
        for other in codes {
            assert_eq!(explain(other).unwrap().code, other, "{code}");
            assert_ne!(other, code);
        }
        // Codes named in prose exist as well.
        for (at, _) in text.match_indices("MT") {
            let named = &text[at..at + 6];
            assert_eq!(explain(named).unwrap().code, named, "in {code}");
        }
    }
}

#[test]
fn no_two_texts_share_a_long_sentence() {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for Explanation { code, text } in all() {
        for label in ["Cause:", "Wrong:", "Right:", "Fix:", "Notes:"] {
            let flat = part(text, label)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            for sentence in flat
                .split_inclusive(". ")
                .map(|s| s.trim().trim_end_matches('.'))
            {
                if sentence.split(' ').count() <= 8 {
                    continue;
                }
                if let Some(other) = seen.insert(sentence.to_owned(), code) {
                    assert_eq!(other, code, "shared: {sentence}");
                }
            }
        }
    }
}

#[test]
fn statuses_and_severities_are_told() {
    for d in catalogue() {
        let text = explain(&d.number.to_string()).unwrap().text;
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match d.status {
            Status::Reserved => assert!(flat.contains("not emitted yet"), "{}", d.number),
            Status::Private => assert!(flat.contains("number is private"), "{}", d.number),
            Status::Cluster => {
                assert!(
                    flat.contains("run-time") || flat.contains("not emitted yet"),
                    "{}",
                    d.number
                );
            }
            Status::Codegen => assert!(flat.contains("interpreter"), "{}", d.number),
            Status::Emitted | Status::Folded => {
                assert!(!flat.contains("not emitted yet"), "{}", d.number);
            }
        }
        if matches!(
            d.severity,
            analysis::Severity::Warning | analysis::Severity::ByScope
        ) {
            assert!(flat.contains("warning"), "{}", d.number);
        }
        // A run-time code says what becomes of the process and of agents (style rule 6).
        if d.severity == analysis::Severity::Trap {
            let notes = part(text, "Notes:");
            assert!(
                ["exit", "process", "agent"]
                    .iter()
                    .any(|w| notes.contains(w)),
                "{}",
                d.number
            );
        }
    }
}

#[test]
fn spellings_and_refusals() {
    let text = explain("MT0001").unwrap().text;
    for code in ["mt0001", "SD0001", "sd0001", "0001", "1"] {
        let found = explain(code).unwrap();
        assert_eq!((found.code, found.text), ("MT0001", text), "{code}");
    }
    for (code, shown) in [
        ("0", "MT0000"),
        ("MT0005", "MT0005"),
        ("sd7001", "MT7001"),
        ("9999", "MT9999"),
    ] {
        let error = explain(code).unwrap_err();
        assert!(matches!(error, ExplainError::Unknown { .. }), "{code}");
        assert_eq!(
            error.to_string(),
            format!("unknown diagnostic code {shown}")
        );
    }
    for code in [
        "",
        "MT",
        "MTx",
        "MT0001 ",
        "hello",
        "99999",
        &"9".repeat(100_000),
    ] {
        assert!(matches!(explain(code), Err(ExplainError::NotACode(_))));
    }
}

#[test]
fn first_and_last_block_are_whole() {
    let first = explain("1").unwrap().text;
    assert!(
        first.starts_with("MT0001: ") && first.ends_with("See:   MT0010, MT0011"),
        "{first}"
    );
    let last = explain("8010").unwrap().text;
    assert!(
        last.starts_with("MT8010: ") && last.ends_with("See:   MT8007, MT2004"),
        "{last}"
    );
}
