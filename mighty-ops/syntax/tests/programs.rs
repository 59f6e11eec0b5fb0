//! Clean programs over every construct: no report, nothing lost, every kind of node seen.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use syntax::{Parse, SyntaxKind, parse};

fn programs() -> Vec<(PathBuf, String)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clean");
    let mut found: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .map(|p| (p.clone(), fs::read_to_string(p).unwrap()))
        .collect();
    found.sort();
    assert!(found.len() >= 20);
    found
}

/// Children lie inside their parents in order, tokens tile the text.
fn assert_sound(p: &Parse) {
    let mut at = 0;
    for t in p.tree.tokens() {
        assert_eq!(t.range().start, at);
        assert!(!t.range().is_empty());
        at = t.range().end;
    }
    assert_eq!(at as usize, p.tree.text().len());
    for n in p.tree.nodes().skip(1) {
        let parent = n.parent().unwrap();
        assert!(parent.range().covers(n.range()), "{n:?} in {parent:?}");
        assert!(!n.first_token().unwrap().kind().is_trivia(), "{n:?}");
        assert!(!n.last_token().unwrap().kind().is_trivia(), "{n:?}");
    }
    for n in p.tree.nodes() {
        let ranges: Vec<_> = n.children().map(|c| c.range()).collect();
        assert!(ranges.windows(2).all(|w| w[0].end <= w[1].start), "{n:?}");
    }
}

#[test]
fn clean_programs_have_no_reports() {
    for (path, text) in programs() {
        let p = parse(text.as_str());
        assert!(p.errors.is_empty(), "{}: {:#?}", path.display(), p.errors);
        assert_eq!(p.tree.text(), text.replace("\r\n", "\n"));
        assert_sound(&p);
        assert!(
            p.tree.nodes().all(|n| n.kind() != SyntaxKind::ErrorNode),
            "{}",
            path.display()
        );
    }
}

#[test]
fn every_node_kind_is_used() {
    let mut seen = BTreeSet::new();
    for (_, text) in programs() {
        let p = parse(text);
        seen.extend(p.tree.nodes().map(|n| format!("{:?}", n.kind())));
    }
    let source = include_str!("../src/kind.rs");
    let nodes = source
        .split("// ---- nodes: files and items")
        .nth(1)
        .unwrap();
    let nodes = nodes.split("ErrorNode,").next().unwrap();
    let missing: Vec<_> = nodes
        .lines()
        .map(str::trim)
        .filter(|l| !l.starts_with("//") && !l.is_empty())
        .map(|l| l.trim_end_matches(','))
        .filter(|k| !seen.contains(*k))
        .collect();
    assert!(nodes.lines().count() > 100);
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_truncation_of_a_clean_program_parses() {
    for (_, text) in programs() {
        for (cut, _) in text.char_indices().step_by(7) {
            let p = parse(&text[..cut]);
            assert_eq!(p.tree.text(), text[..cut].replace("\r\n", "\n"));
        }
    }
}

#[test]
fn the_corpus_is_clean() {
    let text = corpus::program(2_000, 3);
    let p = parse(text.as_str());
    assert!(p.errors.is_empty(), "{:#?}", p.errors);
    assert_sound(&p);
}

#[test]
fn offsets_lead_back_to_a_crlf_file() {
    let file = "fn a() {\r\n  \"x\r\ny\"\r\n  = 1\r\n}\r\n";
    let p = parse(file);
    assert!(p.had_crlf());
    assert_eq!(p.tree.text(), file.replace("\r\n", "\n"));
    assert_eq!(p.errors.len(), 1);
    let r = p.file_range(p.errors[0].range);
    assert_eq!(&file[std::ops::Range::from(r)], "\"x\r\ny\"");
}

#[test]
fn each_clean_program_stays_what_it_is_as_part_of_a_module() {
    for (path, text) in programs() {
        if text.starts_with("package") {
            continue;
        }
        let p = parse(format!("mod m {{\n{text}\n}}"));
        assert!(p.errors.is_empty(), "{}: {:#?}", path.display(), p.errors);
    }
}
