//! What each tool answers on real directories, and the bounds of its answers.
//! Only the public API.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use support::place;
use tools::{Context, ToolSet};

mod support;

#[path = "tools/search.rs"]
mod search;

#[tokio::test]
async fn read_numbers_lines() {
    let place = place();
    place.write("README.md", "one\r\n\nthree");
    let outcome = place.ok("read", json!({ "path": "README.md" })).await;
    assert_eq!(outcome.content, "     1\tone\n     2\t\n     3\tthree\n");
    assert_eq!(outcome.summary, "3 lines");
    let absolute = place.workspace.join("README.md");
    let again = place.ok("read", json!({ "path": absolute })).await;
    assert_eq!(again, outcome);
}

#[tokio::test]
async fn read_starts_and_ends_where_asked() {
    let place = place();
    let lines: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    place.write("a.txt", &lines);
    let outcome = place
        .ok("read", json!({ "path": "a.txt", "offset": 3, "limit": 2 }))
        .await;
    assert_eq!(
        outcome.content,
        format!(
            "     3\tline 3\n     4\tline 4\n[truncated: lines 3 to 4 of a file of {} bytes; continue with offset 5]\n",
            lines.len()
        )
    );
    assert_eq!(outcome.summary, "lines 3 to 4");
    let default = place.ok("read", json!({ "path": "a.txt" })).await;
    assert!(
        default
            .content
            .contains("  2000\tline 2000\n[truncated: lines 1 to 2000")
    );
    let tail = place
        .ok("read", json!({ "path": "a.txt", "offset": 5000 }))
        .await;
    assert_eq!(tail.content, "  5000\tline 5000\n");
    let past = place
        .err("read", json!({ "path": "a.txt", "offset": 5001 }))
        .await;
    assert_eq!(
        past.content,
        "offset 5001 is past the end: the file has 5000 lines"
    );
    place.write("empty", "");
    let empty = place.ok("read", json!({ "path": "empty" })).await;
    assert_eq!(empty.content, "[the file is empty]\n");
}

#[tokio::test]
async fn read_bounds_bytes_and_lines() {
    let place = place();
    place.write("wide.txt", format!("{}\n", "é".repeat(500)).repeat(1000));
    let outcome = place
        .ok("read", json!({ "path": "wide.txt", "limit": 999 }))
        .await;
    assert!(outcome.content.len() < 300 * 1024);
    assert!(
        outcome.content.contains("[truncated: lines 1 to 2"),
        "{}",
        outcome.summary
    );
    // One line of 3 MiB, and one of exactly the limit.
    place.write(
        "long.txt",
        format!("{}\n{}\n", "ü".repeat(1_500_000), "z".repeat(2000)),
    );
    let outcome = place.ok("read", json!({ "path": "long.txt" })).await;
    let expected = format!(
        "     1\t{}…\n     2\t{}\n[lines longer than 2000 characters are cut]\n",
        "ü".repeat(2000),
        "z".repeat(2000)
    );
    assert_eq!(outcome.content, expected);
}

#[tokio::test]
async fn read_shows_wrong_utf8_and_refuses_binary() {
    let place = place();
    place.write("latin1.txt", b"caf\xe9\n");
    let outcome = place.ok("read", json!({ "path": "latin1.txt" })).await;
    assert_eq!(
        outcome.content,
        "     1\tcaf\u{fffd}\n[not valid UTF-8: wrong bytes are shown as U+FFFD]\n"
    );
    place.write("image.png", b"\x89PNG\0\0\0");
    let outcome = place.err("read", json!({ "path": "image.png" })).await;
    assert_eq!(
        outcome.content,
        "image.png is a binary file of 7 bytes; it is not shown"
    );
    assert_eq!(outcome.summary, "binary file");
}

#[tokio::test]
async fn read_shows_images_up_to_their_bound() {
    const MAX: usize = 5 * 1024 * 1024;
    let place = place();
    let mut bytes = b"\xff\xd8\xff\xe0\0\x10JFIF\0".to_vec();
    // The name says nothing, the first bytes everything.
    place.write("photo.txt", &bytes);
    let outcome = place
        .ok("read", json!({ "path": "photo.txt", "offset": 2 }))
        .await;
    assert_eq!(outcome.content, "[photo.txt: image/jpeg, 11 bytes]\n");
    assert_eq!(outcome.summary, "image/jpeg, 11 bytes");
    let shown: Vec<_> = outcome.images.iter().map(tools::Image::bytes).collect();
    assert_eq!(shown, [&bytes[..]]);
    bytes.resize(MAX, 0);
    place.write("photo.jpg", &bytes);
    let outcome = place.ok("read", json!({ "path": "photo.jpg" })).await;
    assert_eq!(outcome.images[0].bytes().len(), MAX);
    bytes.push(0);
    place.write("photo.jpg", &bytes);
    let outcome = place.err("read", json!({ "path": "photo.jpg" })).await;
    assert_eq!(
        outcome.content,
        "the image photo.jpg would be or is longer than 5242880 bytes"
    );
    assert!(outcome.images.is_empty());
}

#[tokio::test]
async fn list_sorts_marks_and_measures() {
    let place = place();
    place.write("b.txt", "12345");
    place.write("a/inner", "");
    place.write("new\nline", "");
    symlink("nowhere", place.workspace.join("c")).unwrap();
    let outcome = place.ok("list", json!({ "path": null })).await;
    assert_eq!(
        outcome.content,
        ".: 4 entries\n           -  a/\n           5  b.txt\n        link  c\n           0  new\\nline\n\
         [1 name is not valid UTF-8 or not printable: shown with U+FFFD or escapes, and no input can name it]\n"
    );
    assert_eq!(outcome.summary, "4 entries");
}

#[tokio::test]
async fn huge_directories_are_cut_in_order() {
    let place = place();
    for n in 0..1500 {
        place.write(&format!("f{n:05}"), "x\n");
    }
    let list = place.ok("list", json!({})).await;
    let lines: Vec<_> = list.content.lines().collect();
    assert_eq!(lines.len(), 1002);
    assert_eq!(lines[0], ".: 1500 entries");
    assert_eq!(lines[1000], "           2  f00999");
    assert!(lines[1001].starts_with("[truncated: the first 1000 of 1500 entries"));
    let glob = place.ok("glob", json!({ "pattern": "f*" })).await;
    let lines: Vec<_> = glob.content.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[999]),
        (1001, "f00000", "f00999")
    );
    assert!(lines[1000].starts_with("[truncated: the first 1000 of 1500 paths"));
    let grep = place.ok("grep", json!({ "pattern": "x" })).await;
    let lines: Vec<_> = grep.content.lines().collect();
    assert_eq!((lines.len(), lines[499]), (501, "f00499:1: x"));
    assert!(lines[500].starts_with("[truncated: the first 500 matches"));
    assert_eq!(grep.summary, "500 matches in 500 files");
}

/// Models send members that a tool doesn't have, and numbers in text.
#[tokio::test]
async fn inputs_are_read_for_what_they_plainly_mean() {
    let place = place();
    place.write("a.txt", "one\ntwo\nthree\n");
    let outcome = place
        .ok(
            "read",
            json!({ "path": "a.txt", "offset": "2", "limit": " 1 ", "description": "x", "n\nm": 1 }),
        )
        .await;
    assert_eq!(
        outcome.content,
        "     2\ttwo\n[truncated: lines 2 to 2 of a file of 14 bytes; continue with offset 3]\n\
         [ignored, the tool has no such input: description, n\\nm; it has limit, offset, path]\n"
    );
    let edit = json!({ "path": "a.txt", "old": "t", "new": "5", "all": "true" });
    place.ok("edit", edit).await;
    assert_eq!(place.read("a.txt"), b"one\n5wo\n5hree\n");
    // Where text is wanted, it stays text.
    place
        .ok("write", json!({ "path": "7", "content": "5" }))
        .await;
    assert_eq!(place.read("7"), b"5");
    for (input, words) in [
        (
            json!({ "path": "a.txt", "limit": "many" }),
            "limit: invalid type",
        ),
        (
            json!({ "path": "a.txt", "limit": "1.5" }),
            "limit: invalid type",
        ),
        (
            json!({ "path": "a.txt", "limit": "-1" }),
            "limit: invalid value",
        ),
        (json!({ "file": "a.txt" }), "missing field `path`\n[ignored"),
    ] {
        let outcome = place.err("read", input).await;
        assert!(outcome.content.contains(words), "{}", outcome.content);
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_nothing_that_a_model_sees() {
    let place = place();
    place.write("a.txt", "\u{feff}one\ntwo \u{feff}\n");
    let outcome = place.ok("read", json!({ "path": "a.txt" })).await;
    assert_eq!(outcome.content, "     1\tone\n     2\ttwo \u{feff}\n");
    let input = json!({ "path": "a.txt", "old": "one", "new": "1" });
    let outcome = place.ok("edit", input).await;
    assert!(
        outcome.content.contains("     1\t1\n"),
        "{}",
        outcome.content
    );
    assert_eq!(place.read("a.txt"), "\u{feff}1\ntwo \u{feff}\n".as_bytes());
    // Also for one that knows of it.
    let input = json!({ "path": "a.txt", "old": "\u{feff}1", "new": "\u{feff}one" });
    place.ok("edit", input).await;
    assert_eq!(
        place.read("a.txt"),
        "\u{feff}one\ntwo \u{feff}\n".as_bytes()
    );
    let input = json!({ "path": "a.txt", "old": "\u{feff}", "new": "x" });
    let outcome = place.err("edit", input).await;
    assert!(
        outcome.content.contains("must not be empty"),
        "{}",
        outcome.content
    );
}

#[tokio::test]
async fn names_that_cannot_be_given_back_are_said_to_be_so() {
    let place = place();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.rs");
    fs::write(place.workspace.join(name), "fn\n").unwrap();
    place.write("b.rs", "fn\n");
    let note = "[1 name is not valid UTF-8 or not printable: shown with U+FFFD or escapes, and no input can name it]\n";
    let glob = place.ok("glob", json!({ "pattern": "*.rs" })).await;
    assert_eq!(glob.content, format!("b.rs\ncaf\u{fffd}.rs\n{note}"));
    let list = place.ok("list", json!({})).await;
    assert_eq!(
        list.content,
        format!(".: 2 entries\n           3  b.rs\n           3  caf\u{fffd}.rs\n{note}")
    );
    let grep = place.ok("grep", json!({ "pattern": "fn" })).await;
    assert_eq!(grep.content, "b.rs:1: fn\ncaf\u{fffd}.rs:1: fn\n");
}

#[tokio::test]
async fn wrong_inputs_are_explained() {
    let place = place();
    for (tool, input, words) in [
        ("read", json!("x"), "must be a JSON object"),
        ("read", json!({}), "missing field `path`"),
        ("read", json!({ "path": 5 }), "path: invalid type"),
        (
            "read",
            json!({ "path": "a", "offset": -1 }),
            "offset: invalid value",
        ),
        ("read", json!({ "path": "a", "offset": 0 }), "start at 1"),
        ("read", json!({ "path": "" }), "must not be empty"),
        ("read", json!({ "path": "a\0b" }), "NUL"),
        (
            "read",
            json!({ "path": "a".repeat(5000) }),
            "longer than 4096 bytes",
        ),
        ("glob", json!({ "path": "." }), "missing field `pattern`"),
        ("glob", json!({ "pattern": "" }), "must not be empty"),
        (
            "grep",
            json!({ "pattern": "a".repeat(5000) }),
            "longer than 4096 bytes",
        ),
    ] {
        let outcome = place.err(tool, input.clone()).await;
        assert_eq!(outcome.summary, "invalid input");
        assert!(
            outcome.content.contains(words),
            "{input}: {}",
            outcome.content
        );
    }
    let outcome = place.err("none", json!({})).await;
    assert_eq!(
        outcome.content,
        "no such tool; the tools are read, write, edit, list, glob, grep, bash"
    );
}

#[test]
fn schemas_are_plain_and_strict() {
    let set = ToolSet::registered(Context::new("/".into(), Vec::new())).unwrap();
    let specs: Vec<_> = set.specs().collect();
    let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(
        names,
        ["read", "write", "edit", "list", "glob", "grep", "bash"]
    );
    for spec in &specs {
        let changes = ["write", "edit", "bash"].contains(&spec.name.as_str());
        assert_eq!(spec.read_only, !changes, "{}", spec.name);
    }
    assert_eq!(
        specs[0].input_schema,
        json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file, relative to the workspace or absolute."
                },
                "offset": {
                    "type": "integer", "minimum": 1,
                    "description": "The first line to show, counted from 1. Default 1."
                },
                "limit": {
                    "type": "integer", "minimum": 1,
                    "description": "How many lines to show at most. Default 2000."
                },
            },
            "required": ["path"],
            "additionalProperties": false,
        })
    );
    let members = |index: usize| {
        let schema: &Value = &specs[index].input_schema;
        let names: Vec<_> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        (names.join(","), schema["required"].clone())
    };
    assert_eq!(
        members(1),
        ("content,path".into(), json!(["path", "content"]))
    );
    assert_eq!(
        members(2),
        ("all,new,old,path".into(), json!(["path", "old", "new"]))
    );
    assert_eq!(members(3), ("path".into(), Value::Null));
    assert_eq!(members(4), ("path,pattern".into(), json!(["pattern"])));
    assert_eq!(members(5), ("glob,path,pattern".into(), json!(["pattern"])));
}
