//! What `glob` and `grep` find, what they say of where they could not look, and their bounds.

use super::*;

#[tokio::test]
async fn glob_matches_names_or_paths() {
    let place = place();
    for path in [
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "src/d.md",
        ".github/e.yml",
    ] {
        place.write(path, "");
    }
    for (pattern, expected) in [
        ("*.rs", "a.rs\nsrc/b.rs\nsrc/deep/c.rs\n"),
        ("./*.rs", "a.rs\nsrc/b.rs\nsrc/deep/c.rs\n"),
        ("src/*.rs", "src/b.rs\n"),
        ("**/c.rs", "src/deep/c.rs\n"),
        ("src/**/*.{rs,md}", "src/b.rs\nsrc/d.md\nsrc/deep/c.rs\n"),
        (".github/*", ".github/e.yml\n"),
        ("*.py", "[no file matches]\n"),
    ] {
        let outcome = place.ok("glob", json!({ "pattern": pattern })).await;
        assert_eq!(outcome.content, expected, "{pattern}");
    }
    let below = place
        .ok("glob", json!({ "pattern": "deep/*", "path": "src" }))
        .await;
    assert_eq!(below.content, "src/deep/c.rs\n");
    assert_eq!(below.summary, "1 path");
    for pattern in ["[", "/etc/*", "{a"] {
        let outcome = place.err("glob", json!({ "pattern": pattern })).await;
        assert_eq!(outcome.summary, "invalid pattern", "{pattern}");
    }
}

#[tokio::test]
async fn grep_finds_lines() {
    let place = place();
    place.write("b.rs", "fn one() {}\nlet x;\nfn two() {}\r\n");
    place.write("a/c.md", "a fn here\n");
    place.write("latin1", b"fn \xe9\n");
    place.write("bin", b"fn\0fn\n");
    let outcome = place
        .ok("grep", json!({ "pattern": r"fn \w+\(\) \{\}$|here" }))
        .await;
    assert_eq!(
        outcome.content,
        "a/c.md:1: a fn here\nb.rs:1: fn one() {}\nb.rs:3: fn two() {}\n[1 binary file was skipped]\n"
    );
    assert_eq!(outcome.summary, "3 matches in 2 files");
    let only = place
        .ok("grep", json!({ "pattern": "(?i)FN", "glob": "*.md" }))
        .await;
    assert_eq!(only.content, "a/c.md:1: a fn here\n");
    let lossy = place
        .ok("grep", json!({ "pattern": "fn", "path": "latin1" }))
        .await;
    assert_eq!(
        lossy.content,
        "latin1:1: fn \u{fffd}\n[not valid UTF-8: wrong bytes are shown as U+FFFD]\n"
    );
    let none = place.ok("grep", json!({ "pattern": "nothing" })).await;
    assert_eq!(
        none.content,
        "[no line matches]\n[1 binary file was skipped]\n"
    );
    let one = place
        .ok("grep", json!({ "pattern": "^let x;$", "path": "b.rs" }))
        .await;
    assert_eq!(one.content, "b.rs:2: let x;\n");
}

#[tokio::test]
async fn grep_says_where_it_could_not_look() {
    let place = place();
    let late = ["fn late\n", &"x\n".repeat(50_000), "\0\nfn later\n"].concat();
    place.write("late", &late);
    place.write("early", "fn\0");
    let outcome = place.ok("grep", json!({ "pattern": "^fn" })).await;
    assert_eq!(
        outcome.content,
        "late:1: fn late\n[1 file was searched only up to a NUL byte]\n[1 binary file was skipped]\n"
    );
    let named = place
        .err("grep", json!({ "pattern": "^fn", "path": "early" }))
        .await;
    assert_eq!(
        named.content,
        "early is a binary file of 3 bytes; it is not shown"
    );
}

/// As ripgrep does: what the mark at its beginning says to be text is text.
#[tokio::test]
async fn grep_reads_what_its_mark_says_to_be_utf_16() {
    let place = place();
    let encode = |text: &str, little: bool| -> Vec<u8> {
        let bytes = |unit: u16| {
            if little {
                unit.to_le_bytes()
            } else {
                unit.to_be_bytes()
            }
        };
        ("\u{feff}".to_owned() + text)
            .encode_utf16()
            .flat_map(bytes)
            .collect()
    };
    place.write("big.txt", encode("first\r\nfn größe\r\n", false));
    place.write("little.txt", encode("fn 𝄞\n", true));
    place.write("marked.txt", "\u{feff}fn marked\n");
    // Longer than what is read whole.
    let long = "x".repeat(300_000) + "\nfn long\n";
    place.write("long.txt", encode(&long, true));
    let outcome = place.ok("grep", json!({ "pattern": "^fn" })).await;
    assert_eq!(
        outcome.content,
        "big.txt:2: fn größe\nlittle.txt:1: fn 𝄞\nlong.txt:2: fn long\nmarked.txt:1: fn marked\n"
    );
}

#[tokio::test]
async fn grep_bounds_patterns_lines_and_files() {
    let place = place();
    place.write("long", format!("x{}\n", "y".repeat(10_000)));
    let outcome = place.ok("grep", json!({ "pattern": "^x" })).await;
    assert_eq!(outcome.content, format!("long:1: x{}…\n", "y".repeat(499)));
    let huge = fs::File::create(place.workspace.join("huge")).unwrap();
    huge.set_len(16 * 1024 * 1024 + 1).unwrap();
    let outcome = place.ok("grep", json!({ "pattern": "zzz" })).await;
    assert_eq!(
        outcome.content,
        "[no line matches]\n[1 file above 16 MiB was skipped]\n"
    );
    for pattern in ["(", r"(\w{100}){100}", "a\nb"] {
        let outcome = place.err("grep", json!({ "pattern": pattern })).await;
        assert_eq!(outcome.summary, "invalid pattern", "{pattern}");
        assert!(outcome.content.len() < 500);
    }
}
