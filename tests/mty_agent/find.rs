//! `find`: what is searched, in which order, what a hit says (spec: "find"; toolchain digest, section 14).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::Place;
use crate::wire::*;

#[path = "find_tree.rs"]
mod tree;

fn place(files: &[(&str, &str)]) -> Arc<Place> {
    let place = Place::new();
    for (path, text) in files {
        place.write_file(path, text);
    }
    place
}

fn ask(place: &Arc<Place>, request: &Value) -> Exchange {
    Agent::spawn(launch(&[]).place(place)).ask(request.to_string())
}

/// `file:line` of the hits of a search that must succeed.
fn hits(place: &Arc<Place>, request: &Value) -> Vec<String> {
    let exchange = ask(place, request);
    assert_eq!(exchange.exit_code(), 0, "{:?}", exchange.lines);
    let result = exchange.result().unwrap();
    assert_eq!(result["ok"], true);
    let hits = result["hits"].as_array().unwrap();
    hits.iter()
        .map(|hit| format!("{}:{}", hit["file"].as_str().unwrap(), hit["line"]))
        .collect()
}

fn find(query: &str) -> Value {
    json!({"op": "find", "query": query, "top": 100})
}

#[test]
fn result_line_is_byte_exact() {
    let place = place(&[
        ("src/main.mty", "fn main() {\n  log(\"needle \\\\ é\")\n}\n"),
        ("docs/guide.md", "# Guide\n\nneedle here\n"),
    ]);
    let exchange = ask(&place, &json!({"op": "find", "query": "needle", "top": 5}));
    let expected = concat!(
        r#"{"kind":"result","op":"find","ok":true,"hits":["#,
        r#"{"file":"docs/guide.md","line":3,"text":"needle here"},"#,
        r#"{"file":"src/main.mty","line":2,"text":"  log(\"needle \\\\ é\")"}]}"#
    );
    assert_eq!(exchange.lines, [expected, DONE_0]);
}

#[test]
fn finds_substring_in_mty_files_and_docs_markdown_only() {
    let text = "a needle\n";
    let place = place(&[
        ("a.mty", text),
        ("deep/er/b.mty", text),
        ("docs/c.md", text),
        ("docs/sub/d.md", text),
        ("docs/e.mty", text),
        ("README.md", text),
        ("src/notes.md", text),
        ("docs/f.txt", text),
        ("g.rs", text),
        ("mty", text),
        ("h.mty.bak", text),
    ]);
    assert_eq!(
        hits(&place, &find("needle")),
        [
            "a.mty:1",
            "deep/er/b.mty:1",
            "docs/c.md:1",
            "docs/e.mty:1",
            "docs/sub/d.md:1"
        ]
    );
    assert_eq!(
        hits(&place, &find("eedl")).len(),
        5,
        "a substring, not a word"
    );
}

#[test]
fn one_line_is_one_hit() {
    let place = place(&[("a.mty", "needle needle\nneedle\n\nno\nneedle")]);
    assert_eq!(
        hits(&place, &find("needle")),
        ["a.mty:1", "a.mty:2", "a.mty:5"]
    );
}

#[test]
fn query_is_literal_not_a_pattern() {
    let place = place(&[("a.mty", "axb\na.b\n(x|y)*\n^start$\n\\d+\n")]);
    for (query, line) in [("a.b", 2), ("(x|y)*", 3), ("^start$", 4), ("\\d+", 5)] {
        assert_eq!(
            hits(&place, &find(query)),
            [format!("a.mty:{line}")],
            "{query}"
        );
    }
}

#[test]
fn search_is_case_sensitive() {
    let place = place(&[("a.mty", "Needle\nneedle\nNEEDLE\n")]);
    assert_eq!(hits(&place, &find("needle")), ["a.mty:2"]);
    assert_eq!(hits(&place, &find("NEED")), ["a.mty:3"]);
}

#[test]
fn unicode_query_is_found() {
    let place = place(&[("a.mty", "x\n日本 é\n")]);
    assert_eq!(hits(&place, &find("本 é")), ["a.mty:2"]);
}

#[test]
fn crlf_sources_give_lines_without_their_end() {
    let place = place(&[("a.mty", "one\r\nneedle\r\n")]);
    let result = ask(&place, &find("needle")).result().unwrap();
    assert_eq!(
        result["hits"],
        json!([{"file": "a.mty", "line": 2, "text": "needle"}])
    );
}

#[test]
fn query_is_required() {
    let message = Agent::start()
        .ask(r#"{"op":"find","top":5}"#)
        .protocol_error();
    assert!(message.contains("query"), "{message}");
}

#[test]
fn empty_query_is_refused_or_matches_every_line() {
    // The spec says nothing; what must not happen is a hang or another shape.
    let exchange = ask(
        &place(&[("a.mty", "x\n")]),
        &json!({"op": "find", "query": ""}),
    );
    match exchange.exit_code() {
        2 => assert!(exchange.protocol_error().contains("query")),
        code => assert_eq!(code, 0, "{:?}", exchange.lines),
    }
}

#[test]
fn query_with_a_line_end_finds_nothing() {
    let exchange = ask(&place(&[("a.mty", "one\ntwo\n")]), &find("one\ntwo"));
    assert!(
        exchange
            .result()
            .is_none_or(|result| result["hits"] == json!([])),
        "{:?}",
        exchange.lines
    );
}

#[test]
fn top_defaults_to_10() {
    let place = place(&[("a.mty", &"needle\n".repeat(30))]);
    assert_eq!(
        hits(&place, &json!({"op": "find", "query": "needle"})).len(),
        10
    );
}

#[test]
fn top_bounds_the_hits() {
    let files: Vec<_> = (0..8).map(|i| format!("f{i}.mty")).collect();
    let files: Vec<_> = files
        .iter()
        .map(|name| (name.as_str(), "needle\nneedle\n"))
        .collect();
    let place = place(&files);
    for (top, expected) in [(0, 0), (1, 1), (3, 3), (15, 15), (16, 16), (1_000_000, 16)] {
        let found = hits(
            &place,
            &json!({"op": "find", "query": "needle", "top": top}),
        );
        assert_eq!(found.len(), expected, "top {top}");
        // The first ones in order, not any.
        let all = hits(&place, &find("needle"));
        assert_eq!(found, all[..expected]);
    }
}

#[test]
fn wrong_type_or_sign_of_top_is_an_error() {
    let mut agent = Agent::start();
    for top in ["-1", "1.5", "\"3\"", "true", "[]", "1e400"] {
        let message = agent
            .ask(format!(r#"{{"op":"find","query":"x","top":{top}}}"#))
            .protocol_error();
        assert!(
            message.contains("top") || message.contains("malformed"),
            "{top}: {message}"
        );
    }
}

#[test]
fn no_hits_is_ok_with_an_empty_list() {
    let exchange = ask(&place(&[("a.mty", "x\n")]), &find("needle"));
    assert_eq!(
        exchange.lines,
        [
            r#"{"kind":"result","op":"find","ok":true,"hits":[]}"#,
            DONE_0
        ]
    );
    let empty = ask(&place(&[]), &find("needle"));
    assert_eq!(empty.lines, exchange.lines);
}

#[test]
fn files_come_in_lexicographic_order() {
    let names = [
        "b.mty",
        "a/z.mty",
        "a.mty",
        "a-b.mty",
        "B.mty",
        "a/b/c.mty",
        "docs/x.md",
        "é.mty",
        "a0.mty",
    ];
    let place = place(&names.map(|name| (name, "needle\n")));
    let mut expected: Vec<_> = names.iter().map(|name| format!("{name}:1")).collect();
    expected.sort();
    let mut by_component = names.to_vec();
    by_component.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    let by_component: Vec<_> = by_component
        .iter()
        .map(|name| format!("{name}:1"))
        .collect();
    let found = hits(&place, &find("needle"));
    // "Lexicographic" may mean the whole path or its components; another order is wrong.
    assert!(found == expected || found == by_component, "{found:?}");
}

#[test]
fn order_is_the_same_in_every_run() {
    let files: Vec<_> = (0..60).map(|i| format!("d{}/f{}.mty", i % 7, i)).collect();
    let files: Vec<_> = files
        .iter()
        .map(|name| (name.as_str(), "needle\nx\nneedle\n"))
        .collect();
    let place = place(&files);
    let first = ask(&place, &json!({"op": "find", "query": "needle", "top": 50})).lines;
    for _ in 0..5 {
        assert_eq!(
            ask(&place, &json!({"op": "find", "query": "needle", "top": 50})).lines,
            first
        );
    }
}

#[test]
fn top_is_honoured_beyond_ten_thousand() {
    let place = place(&[("a.mty", &"needle\n".repeat(12_345))]);
    let all = json!({"op": "find", "query": "needle", "top": 20_000});
    let exchange = ask(&place, &all);
    let result = exchange.result().unwrap();
    assert_eq!(result["hits"].as_array().unwrap().len(), 12_345);
    assert_eq!(result.get("truncated"), None, "nothing was left out");
}

#[test]
fn answer_is_bounded_by_its_bytes_and_says_so() {
    let line = format!("needle {}\n", "\"".repeat(3_000));
    let place = place(&[("a.mty", &line.repeat(4_000))]);
    let request = json!({"op": "find", "query": "needle", "top": u64::MAX});
    let exchange = ask(&place, &request);
    assert_eq!(exchange.exit_code(), 0);
    let result = exchange.result().unwrap();
    assert_eq!(
        (&result["ok"], &result["truncated"]),
        (&json!(true), &json!(true))
    );
    let bytes = exchange.lines[0].len();
    assert!((15 << 20..17 << 20).contains(&bytes), "{bytes}");
    // A `top` that fits is no cut.
    let request = json!({"op": "find", "query": "needle", "top": 2_000});
    let result = ask(&place, &request).result().unwrap();
    assert_eq!(result["hits"].as_array().unwrap().len(), 2_000);
    assert_eq!(result.get("truncated"), None);
}

#[test]
fn file_with_a_nul_is_searched_whole() {
    let place = place(&[
        ("early.mty", "needle\0\nneedle\n"),
        (
            "late.mty",
            &format!("needle\n{}\n\0\nneedle\n", "x".repeat(200_000)),
        ),
    ]);
    assert_eq!(
        hits(&place, &find("needle")),
        ["early.mty:1", "early.mty:2", "late.mty:1", "late.mty:4"]
    );
}

#[test]
fn text_is_the_line_or_marked_where_it_was_cut() {
    let line = format!("{}needle{}", "x".repeat(2_000), "y".repeat(2_000));
    let long = format!("{}needle{}", "x".repeat(9_000), "y".repeat(9_000));
    let place = place(&[("a.mty", &format!("{line}\n{long}\n"))]);
    let result = ask(&place, &find("needle")).result().unwrap();
    assert_eq!(result["hits"][0]["text"], line);
    let text = result["hits"][1]["text"].as_str().unwrap();
    assert!(text.starts_with("…x") && text.ends_with("y…"), "{text}");
    assert!(text.contains("xneedley") && text.len() > 4_000, "{text}");
}
