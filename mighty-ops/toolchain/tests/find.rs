//! Searches real directories: which files are looked at, in which order, and what a hit holds.
//! How a line is cut and how siblings sort is tested beside the code.
#![cfg(feature = "find")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use toolchain::{FindError, FindRequest, Found, Hit, MAX_TEXT_BYTES};

#[path = "find/walk.rs"]
mod walk;

const MAX_BYTES: usize = 1 << 20;

fn tree(files: &[(&str, &[u8])]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (path, bytes) in files {
        write(dir.path(), path, bytes);
    }
    dir
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn found(root: &Path, query: &str, top: usize, max_bytes: usize) -> Result<Found, FindError> {
    let request = FindRequest {
        query: query.to_owned(),
        top,
        max_bytes,
        root: root.to_owned(),
    };
    toolchain::find(&request, &CancellationToken::new())
}

fn search(root: &Path, query: &str, top: usize) -> Result<Vec<Hit>, FindError> {
    found(root, query, top, MAX_BYTES).map(|found| found.hits)
}

/// `file:line` of every hit.
fn places(root: &Path, query: &str) -> Vec<String> {
    let hits = search(root, query, usize::MAX).unwrap();
    hits.iter()
        .map(|h| format!("{}:{}", h.file, h.line))
        .collect()
}

fn texts(root: &Path, query: &str) -> Vec<String> {
    search(root, query, usize::MAX)
        .unwrap()
        .into_iter()
        .map(|h| h.text)
        .collect()
}

#[test]
fn a_hit_is_file_line_and_text() {
    let dir = tree(&[("src/main.mty", b"fn main() {\n  fs.write(p, d)\n}\n")]);
    let hit = Hit {
        file: "src/main.mty".into(),
        line: 2,
        text: "  fs.write(p, d)".into(),
    };
    assert_eq!(search(dir.path(), "fs.write(", 10).unwrap(), [hit]);
    assert_eq!(search(dir.path(), "fs write", 10).unwrap(), []);
}

#[test]
fn the_query_is_literal_and_case_counts() {
    let dir = tree(&[("a.mty", b"a.b\naxb\nA.B\n(.*)[\\d]\n^$\n")]);
    assert_eq!(places(dir.path(), "a.b"), ["a.mty:1"]);
    assert_eq!(places(dir.path(), "(.*)[\\d]"), ["a.mty:4"]);
    assert_eq!(places(dir.path(), "^$"), ["a.mty:5"]);
}

#[test]
fn a_line_is_one_hit_however_often_it_matches() {
    let dir = tree(&[("a.mty", b"x x x\nxx")]);
    assert_eq!(places(dir.path(), "x"), ["a.mty:1", "a.mty:2"]);
}

#[test]
fn markdown_counts_under_docs_only_and_sources_everywhere() {
    let dir = tree(&[
        ("README.md", b"key"),
        ("sub/docs/no.md", b"key"),
        ("src/no.md", b"key"),
        ("src/no.mtyi", b"key"),
        ("src/no.txt", b"key"),
        ("src/no.MTY", b"key"),
        ("src/yes.mty", b"key"),
        ("mty", b"key"),
    ]);
    write(dir.path(), "docs/yes.md", b"key");
    write(dir.path(), "docs/deep/er/yes.md", b"key");
    write(dir.path(), "docs/yes.mty", b"key");
    write(dir.path(), "docs/no.txt", b"key");
    write(dir.path(), "docs.md", b"key");
    let wanted = [
        "docs/deep/er/yes.md:1",
        "docs/yes.md:1",
        "docs/yes.mty:1",
        "src/yes.mty:1",
    ];
    assert_eq!(places(dir.path(), "key"), wanted);
}

#[test]
fn files_come_in_byte_order_of_their_paths() {
    let names = [
        "Z.mty",
        "a-b.mty",
        "a.mty",
        "a/c.mty",
        "a/c/d.mty",
        "a/é.mty",
        "a0.mty",
        "b/1.mty",
        "b/10.mty",
        "b/2.mty",
        "docs/a.md",
        "docs/a.mty",
        "z.mty",
        "ä.mty",
    ];
    let mut sorted = names;
    sorted.sort_unstable();
    let files: Vec<(&str, &[u8])> = names.iter().rev().map(|n| (*n, &b"k\n"[..])).collect();
    let dir = tree(&files);
    let found: Vec<_> = search(dir.path(), "k", 100)
        .unwrap()
        .into_iter()
        .map(|h| h.file)
        .collect();
    assert_eq!(found, sorted);
}

#[test]
fn top_bounds_the_hits_and_keeps_their_order() {
    let dir = tree(&[
        ("a.mty", b"k\nk\nk\n"),
        ("b/c.mty", b"k\nk\n"),
        ("d.mty", b"k\n"),
    ]);
    let all = search(dir.path(), "k", 100).unwrap();
    assert_eq!(all.len(), 6);
    for top in 0..8 {
        assert_eq!(
            search(dir.path(), "k", top).unwrap(),
            all[..top.min(6)],
            "top {top}"
        );
    }
    assert_eq!(search(dir.path(), "k", usize::MAX).unwrap(), all);
}

#[test]
fn the_bytes_of_all_hits_are_bounded_and_a_cut_is_told() {
    let body: String = (0..20_000).map(|n| format!("key {n}\n")).collect();
    let dir = tree(&[("a.mty", body.as_bytes()), ("b.mty", b"key")]);
    let all = found(dir.path(), "key", usize::MAX, 10 << 20).unwrap();
    assert_eq!((all.hits.len(), all.truncated), (20_001, false));
    let some = found(dir.path(), "key", usize::MAX, 100_000).unwrap();
    assert!(some.truncated && some.hits.len() > 1_000);
    let bytes: usize = some.hits.iter().map(|h| h.file.len() + h.text.len()).sum();
    assert!(bytes <= 100_000, "{bytes}");
    assert_eq!(some.hits, all.hits[..some.hits.len()]);
    // Exactly what was asked for is no cut.
    let top = some.hits.len();
    let asked = found(dir.path(), "key", top, 100_000).unwrap();
    assert_eq!((asked.hits, asked.truncated), (some.hits, false));
    let none = found(dir.path(), "key", 5, 0).unwrap();
    assert_eq!((none.hits.len(), none.truncated), (0, true));
}

#[test]
fn crlf_lone_cr_and_a_missing_last_terminator() {
    let dir = tree(&[("a.mty", b"one k\r\ntwo k\nthree\rk\r\nfour k")]);
    assert_eq!(
        texts(dir.path(), "k"),
        ["one k", "two k", "three\rk", "four k"]
    );
    // The CR of a terminator is no part of the line.
    assert_eq!(places(dir.path(), "k\r"), [""; 0]);
    assert_eq!(places(dir.path(), "three\rk"), ["a.mty:3"]);
}

#[test]
fn a_query_with_a_line_feed_matches_nothing() {
    let dir = tree(&[("a.mty", b"a\nb\n")]);
    assert_eq!(search(dir.path(), "a\nb", 10).unwrap(), []);
}

#[test]
fn unicode_and_bytes_that_are_none() {
    let dir = tree(&[(
        "na\u{ef}ve/\u{1f980}.mty",
        "let a = \"Grüße 🦀\"\n".as_bytes(),
    )]);
    let hits = search(dir.path(), "ße 🦀", 10).unwrap();
    assert_eq!(hits[0].file, "naïve/🦀.mty");
    assert_eq!(hits[0].text, "let a = \"Grüße 🦀\"");
    let latin = tree(&[("z.mty", b"ok\n\xe9 key \xc3(\n")]);
    assert_eq!(texts(latin.path(), "key"), ["\u{fffd} key \u{fffd}("]);
    assert_eq!(texts(latin.path(), "\u{fffd}"), [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_name_that_is_no_utf8_is_shown_with_replacements() {
    use std::os::unix::ffi::OsStrExt;
    let dir = TempDir::new().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"a\xff.mty");
    if fs::write(dir.path().join(name), "k").is_ok() {
        assert_eq!(places(dir.path(), "k"), ["a\u{fffd}.mty:1"]);
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let dir = tree(&[("a.mty", b"\xef\xbb\xbfkey\n")]);
    assert_eq!(texts(dir.path(), "key"), ["key"]);
}

#[test]
fn a_nul_is_a_byte_like_any_other() {
    let mut late = b"key\n".to_vec();
    late.extend(vec![b'x'; 300_000]);
    late.extend(b"\n\0\nkey\n");
    let dir = tree(&[
        ("a.mty", b"key\0\nkey\n"),
        ("b.mty", b"key\n\0"),
        ("late.mty", &late),
    ]);
    assert_eq!(
        places(dir.path(), "key"),
        ["a.mty:1", "a.mty:2", "b.mty:1", "late.mty:1", "late.mty:4"]
    );
    assert_eq!(texts(dir.path(), "key")[0], "key\0");
    assert_eq!(
        places(dir.path(), "\0"),
        ["a.mty:1", "b.mty:2", "late.mty:3"]
    );
}

#[test]
fn long_lines_are_clipped_and_endless_ones_end_the_file() {
    let long = format!("{}key{}\n", "x".repeat(100_000), "y".repeat(100_000));
    let endless = format!("key 1\n{}\nkey 3\n", "z".repeat(9 << 20));
    let dir = tree(&[("long.mty", long.as_bytes())]);
    let whole = found(dir.path(), "key", 10, MAX_BYTES).unwrap();
    assert!(!whole.truncated, "a line that is shown in part is a hit");
    let text = &whole.hits[0].text;
    assert_eq!(text.len(), MAX_TEXT_BYTES + 2 * '…'.len_utf8());
    assert!(text.contains("xkeyy") && text.starts_with("…x") && text.ends_with("y…"));

    write(dir.path(), "endless.mty", endless.as_bytes());
    assert_eq!(places(dir.path(), "key"), ["endless.mty:1", "long.mty:1"]);
    assert!(found(dir.path(), "key", 10, MAX_BYTES).unwrap().truncated);
}

#[test]
fn matches_are_found_across_buffer_borders() {
    let mut body = String::new();
    for n in 0..40_000 {
        body.push_str(if n % 977 == 0 {
            "needle in the straw\n"
        } else {
            "just straw, nothing else\n"
        });
    }
    let dir = tree(&[("a.mty", body.as_bytes())]);
    let wanted: Vec<_> = (0..40_000)
        .filter(|n| n % 977 == 0)
        .map(|n| format!("a.mty:{}", n + 1))
        .collect();
    assert_eq!(places(dir.path(), "needle"), wanted);
}

#[test]
fn roots_that_cannot_be_searched() {
    let dir = tree(&[("a.mty", b"k")]);
    let missing = dir.path().join("nowhere");
    let error = search(&missing, "k", 10).unwrap_err();
    assert!(matches!(error, FindError::RootNotFound));
    for file in ["a.mty", "a.mty/below"] {
        let file = dir.path().join(file);
        let error = search(&file, "k", 10).unwrap_err();
        assert!(matches!(error, FindError::NotADirectory), "{error}");
    }
    // Also where no hit is wanted, and for paths the system refuses outright.
    assert!(matches!(
        search(&missing, "k", 0),
        Err(FindError::RootNotFound)
    ));
    assert!(matches!(
        search(Path::new(""), "k", 1),
        Err(FindError::RootNotFound)
    ));
    let refused = [Path::new("a\0b").to_owned(), "x".repeat(100_000).into()];
    for path in refused {
        assert!(matches!(
            search(&path, "k", 1),
            Err(FindError::RootUnreadable(_))
        ));
    }
}

#[test]
fn an_empty_query_is_refused_and_a_huge_one_answered() {
    let dir = tree(&[("a.mty", b"k")]);
    assert!(matches!(
        search(dir.path(), "", 10),
        Err(FindError::EmptyQuery)
    ));
    assert_eq!(search(dir.path(), &"k".repeat(8 << 20), 10).unwrap(), []);
}

#[test]
fn a_cancelled_search_says_so() {
    let dir = tree(&[("a.mty", b"k")]);
    let request = FindRequest {
        query: "k".into(),
        top: 10,
        max_bytes: MAX_BYTES,
        root: dir.path().to_owned(),
    };
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let outcome = toolchain::find(&request, &cancelled);
    assert!(matches!(outcome, Err(FindError::Cancelled)));
}

#[test]
fn an_empty_directory_has_no_hits() {
    assert_eq!(search(TempDir::new().unwrap().path(), "k", 10).unwrap(), []);
}

/// Not a benchmark: prints what a plain search costs on a tree of many small files.
#[test]
fn five_thousand_small_files_are_all_searched() {
    let dir = TempDir::new().unwrap();
    for n in 0..5_000 {
        let body = format!("fn item_{n}() -> I32 {{\n  {n}\n}}\n").repeat(20);
        write(
            dir.path(),
            &format!("m{}/f{n}.mty", n % 50),
            body.as_bytes(),
        );
    }
    let started = std::time::Instant::now();
    let hits = search(dir.path(), "item_4999(", usize::MAX).unwrap();
    let whole = started.elapsed();
    assert_eq!((hits.len(), hits[0].file.as_str()), (20, "m49/f4999.mty"));
    // Ten hits are in the first file already, and the rest is not read.
    let started = std::time::Instant::now();
    assert_eq!(search(dir.path(), "fn item_", 10).unwrap().len(), 10);
    std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!(
            "5,000 files: {whole:?}, first ten hits: {:?}\n",
            started.elapsed()
        ),
    )
    .unwrap();
}
