//! `edit` on real files: what changes, what stays, and what a model is told.
//! Only the public API; the properties of the replacing itself stand beside it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use support::place;
use tokio_util::sync::CancellationToken;

mod support;

#[tokio::test]
async fn edit_replaces_the_one_place_and_shows_it() {
    let place = place();
    place.write("a.rs", "fn a() {\n    one();\n    two();\n}\n\nfn b() {}\n");
    let outcome = place
        .ok(
            "edit",
            json!({ "path": "a.rs", "old": "    two();\n", "new": "    two(2);\n    three();\n" }),
        )
        .await;
    assert_eq!(
        outcome.content,
        "edited a.rs: 1 replacement, now 7 lines, 58 bytes\n     1\tfn a() {\n     2\t    one();\n     3\t    two(2);\n     4\t    three();\n     5\t}\n     6\t\n     7\tfn b() {}\n"
    );
    assert_eq!(outcome.summary, "1 replacement");
    assert_eq!(
        place.read("a.rs"),
        b"fn a() {\n    one();\n    two(2);\n    three();\n}\n\nfn b() {}\n"
    );
    // Taking away, to an empty file.
    place.write("b", "x");
    let outcome = place
        .ok("edit", json!({ "path": "b", "old": "x", "new": "" }))
        .await;
    assert_eq!(
        outcome.content,
        "edited b: 1 replacement, now 0 lines, 0 bytes\n"
    );
    assert_eq!(place.read("b"), b"");
    assert_eq!(place.paths(), ["a.rs", "b"].map(Path::new));
}

#[tokio::test]
async fn several_places_are_refused_or_all_replaced() {
    let place = place();
    let text = "let x = 1;\nother\nlet x = 1;\nlet x = 1; let x = 1;\n";
    place.write("a", text);
    let input = json!({ "path": "a", "old": "let x = 1;", "new": "let y;" });
    let outcome = place.err("edit", input.clone()).await;
    assert_eq!(outcome.summary, "several matches");
    assert!(
        outcome
            .content
            .starts_with("old stands in the file 4 times, at lines 1, 3, 4, 4; nothing was done."),
        "{}",
        outcome.content
    );
    assert_eq!(place.read("a"), text.as_bytes());
    let mut input = input;
    input["all"] = json!(true);
    let outcome = place.ok("edit", input).await;
    assert_eq!(outcome.summary, "4 replacements");
    assert!(
        outcome.content.ends_with("at lines 1, 3, 4, 4]\n"),
        "{}",
        outcome.content
    );
    assert_eq!(
        place.read("a"),
        text.replace("let x = 1;", "let y;").as_bytes()
    );
    let many = "x\n".repeat(100_000);
    place.write("many", &many);
    let outcome = place
        .err("edit", json!({ "path": "many", "old": "x", "new": "y" }))
        .await;
    assert!(
        outcome.content.contains("100000 times, at lines 1, 2, 3,")
            && outcome.content.contains(" 20, …;"),
        "{}",
        outcome.content
    );
    assert!(outcome.content.len() < 500);
}

#[tokio::test]
async fn a_missing_piece_is_explained() {
    let place = place();
    place.write("a.py", "def f():\n\treturn 1\n");
    let outcome = place
        .err(
            "edit",
            json!({ "path": "a.py", "old": "def f():\n    return 1", "new": "x" }),
        )
        .await;
    assert_eq!(
        outcome.content,
        "old does not stand in the file; nothing was done. It is there but for whitespace or the case of letters; \
         the file has:\n     1\tdef f():\n     2\t\treturn 1\n"
    );
    assert_eq!(outcome.summary, "no match");
    let missing = place
        .err("edit", json!({ "path": "none/a", "old": "x", "new": "y" }))
        .await;
    assert_eq!(missing.summary, "not found");
    assert_eq!(place.paths(), ["a.py"].map(Path::new));
    for (old, new, words) in [
        ("", "x", "old must not be empty"),
        ("x", "x", "old and new are the same"),
    ] {
        let outcome = place
            .err("edit", json!({ "path": "a.py", "old": old, "new": new }))
            .await;
        assert!(outcome.content.contains(words), "{}", outcome.content);
    }
}

#[tokio::test]
async fn bytes_elsewhere_stay_as_they_are() {
    let place = place();
    place.write("bom.txt", b"\xef\xbb\xbfname=\xe9\xff\r\nkey=one\r\nlast\0");
    let outcome = place
        .ok(
            "edit",
            json!({ "path": "bom.txt", "old": "key=one\nlast", "new": "key=two\nmore\nlast" }),
        )
        .await;
    assert_eq!(
        place.read("bom.txt"),
        b"\xef\xbb\xbfname=\xe9\xff\r\nkey=two\r\nmore\r\nlast\0"
    );
    assert!(
        outcome.content.contains("still end with CRLF"),
        "{}",
        outcome.content
    );
    // Carriage returns that are written are meant.
    place.write("mixed", "a\r\nb\n");
    place
        .ok(
            "edit",
            json!({ "path": "mixed", "old": "a\r\n", "new": "a\n" }),
        )
        .await;
    assert_eq!(place.read("mixed"), b"a\nb\n");
}

#[tokio::test]
async fn long_files_are_edited_up_to_the_limit() {
    let place = place();
    let limit = 16 * 1024 * 1024;
    let mut text = vec![b'a'; limit];
    text[limit - 3..].copy_from_slice(b"end");
    place.write("most", &text);
    let outcome = place
        .ok(
            "edit",
            json!({ "path": "most", "old": "end", "new": "END" }),
        )
        .await;
    assert!(outcome.content.len() < 2000, "{}", outcome.content.len());
    text[limit - 3..].copy_from_slice(b"END");
    assert!(place.read("most") == text);
    let outcome = place
        .err(
            "edit",
            json!({ "path": "most", "old": "END", "new": "more" }),
        )
        .await;
    assert_eq!(outcome.summary, "too long");
    fs::File::create(place.workspace.join("huge"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let outcome = place
        .err("edit", json!({ "path": "huge", "old": "a", "new": "b" }))
        .await;
    assert_eq!(
        outcome.content,
        "huge would be or is longer than 16777216 bytes"
    );
}

#[tokio::test]
async fn of_many_editors_no_change_is_lost() {
    let place = place();
    place.write("list", "END\n");
    symlink("list", place.workspace.join("link")).unwrap();
    let tools = place.tools();
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..12 {
        let tools = tools.clone();
        calls.spawn(async move {
            let path = if n % 2 == 0 { "list" } else { "link" };
            let input = json!({ "path": path, "old": "END", "new": format!("line {n}\nEND") });
            loop {
                let outcome = tools.run("edit", &input, CancellationToken::new()).await;
                if !outcome.is_error {
                    return;
                }
                assert_eq!(outcome.summary, "file changed");
            }
        });
    }
    calls.join_all().await;
    let text = String::from_utf8(place.read("list")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..12).map(|n| format!("line {n}")).collect();
    expected.push("END".to_owned());
    expected.sort_unstable();
    assert_eq!(lines, expected);
}
