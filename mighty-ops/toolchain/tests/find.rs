//! Searches real directories: which files are looked at, in which order, and what a hit holds.
//! How a line is cut and how siblings sort is tested beside the code.
#![cfg(feature = "find")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use toolchain::{FindError, FindRequest, Found, Hit, MAX_TEXT_BYTES};

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
fn gitignore_holds_without_a_repository_and_at_every_level() {
    let dir = tree(&[
        (".gitignore", b"gen/\n*.tmp.mty\n/only-here.mty\n"),
        ("a.mty", b"k"),
        ("a.tmp.mty", b"k"),
        ("only-here.mty", b"k"),
        ("sub/only-here.mty", b"k"),
        ("sub/gen/b.mty", b"k"),
        ("sub/.gitignore", b"secret.mty\n!keep.tmp.mty\n"),
        ("sub/secret.mty", b"k"),
        ("sub/keep.tmp.mty", b"k"),
        ("secret.mty", b"k"),
        ("docs/.gitignore", b"draft.md"),
        ("docs/draft.md", b"k"),
        ("docs/final.md", b"k"),
    ]);
    let wanted = [
        "a.mty:1",
        "docs/final.md:1",
        "secret.mty:1",
        "sub/keep.tmp.mty:1",
        "sub/only-here.mty:1",
    ];
    assert_eq!(places(dir.path(), "k"), wanted);
}

#[test]
fn gitignore_above_the_root_counts_inside_a_repository_only() {
    let dir = tree(&[
        (".gitignore", b"gen.mty\n/pkg/src/built.mty\n"),
        ("pkg/src/gen.mty", b"k"),
        ("pkg/src/built.mty", b"k"),
        ("pkg/src/main.mty", b"k"),
    ]);
    let root = dir.path().join("pkg");
    assert_eq!(
        places(&root, "k"),
        ["src/built.mty:1", "src/gen.mty:1", "src/main.mty:1"]
    );
    fs::create_dir(dir.path().join(".git")).unwrap();
    assert_eq!(places(&root, "k"), ["src/main.mty:1"]);
    assert_eq!(places(dir.path(), "k"), ["pkg/src/main.mty:1"]);
}

#[test]
fn other_ignore_files_do_not_count() {
    let dir = tree(&[
        (".ignore", b"*"),
        (".git/info/exclude", b"*"),
        ("a.mty", b"k"),
    ]);
    assert_eq!(places(dir.path(), "k"), ["a.mty:1"]);
}

#[test]
fn hidden_entries_are_passed_over() {
    let dir = tree(&[
        (".gitignore", b"!.hidden.mty\n!.cache/"),
        (".hidden.mty", b"k"),
        (".mty", b"k"),
        (".cache/a.mty", b"k"),
        ("docs/.md", b"k"),
        ("yes.mty", b"k"),
    ]);
    assert_eq!(places(dir.path(), "k"), ["yes.mty:1"]);
    // The root itself is searched whatever it is called.
    assert_eq!(places(&dir.path().join(".cache"), "k"), ["a.mty:1"]);
}

#[test]
fn a_build_directory_is_passed_over_and_a_module_of_that_name_is_not() {
    let dir = tree(&[
        ("target/a.mty", b"k"),
        ("src/target/b.mty", b"k"),
        ("docs/target/c.md", b"k"),
        ("sub/target.mty", b"k"),
        ("targets/d.mty", b"k"),
        ("cached/target/CACHEDIR.TAG", b""),
        ("cached/target/e.mty", b"k"),
        ("inner/mighty.toml", b""),
        ("inner/target/f.mty", b"k"),
        ("inner/src/target/g.mty", b"k"),
    ]);
    let wanted = [
        "docs/target/c.md:1",
        "inner/src/target/g.mty:1",
        "src/target/b.mty:1",
        "sub/target.mty:1",
        "targets/d.mty:1",
    ];
    assert_eq!(places(dir.path(), "k"), wanted);
    assert_eq!(places(&dir.path().join("target"), "k"), ["a.mty:1"]);
    // A manifest above says that the root is not where the package begins.
    assert_eq!(
        places(&dir.path().join("inner/src"), "k"),
        ["target/g.mty:1"]
    );
}

#[test]
fn a_root_inside_docs_is_documentation() {
    let dir = tree(&[
        ("README.md", b"k"),
        ("docs/a.md", b"k"),
        ("docs/b.MD", b"k"),
        ("docs/c.Markdown", b"k"),
        ("docs/d.mdx", b"k"),
        ("docs/guide/e.md", b"k"),
        ("docs/pkg/mighty.toml", b""),
        ("docs/pkg/README.md", b"k"),
        ("docs/pkg/docs/f.md", b"k"),
    ]);
    assert_eq!(places(&dir.path().join("docs/guide"), "k"), ["e.md:1"]);
    assert_eq!(
        places(&dir.path().join("docs"), "k")[..3],
        ["a.md:1", "b.MD:1", "c.Markdown:1"]
    );
    // A package that is kept under somebody's docs begins anew.
    assert_eq!(places(&dir.path().join("docs/pkg"), "k"), ["docs/f.md:1"]);
    assert_eq!(places(&dir.path().join("docs/pkg/docs"), "k"), ["f.md:1"]);
}

#[test]
fn hostile_gitignores_are_not_honoured_and_do_no_harm() {
    use std::os::unix::fs::symlink;
    let dir = tree(&[
        (".git/HEAD", b""),
        ("a/x.mty", b"k"),
        ("b/x.mty", b"k"),
        ("c/x.mty", b"k"),
        ("d/x.mty", b"k"),
        ("rules", b"*"),
        ("e/.gitignore/x.mty", b"k"),
        ("e/x.mty", b"k"),
    ]);
    let at = |path: &str| dir.path().join(path);
    symlink("/dev/zero", at(".gitignore")).unwrap();
    symlink("/dev/zero", at("a/.gitignore")).unwrap();
    symlink("../rules", at("b/.gitignore")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(at("c/.gitignore"))
        .status();
    assert!(made.unwrap().success());
    let long = "#".repeat(300_000) + "\n*\n";
    fs::write(at("d/.gitignore"), long).unwrap();
    let wanted = [
        "a/x.mty:1",
        "b/x.mty:1",
        "c/x.mty:1",
        "d/x.mty:1",
        "e/x.mty:1",
    ];
    assert_eq!(places(dir.path(), "k"), wanted);
    for root in ["a", "b", "c", "d", "e"] {
        assert_eq!(places(&at(root), "k"), ["x.mty:1"]);
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_but_the_root_may_be_one() {
    use std::os::unix::fs::symlink;
    let outside = tree(&[("secret.mty", b"k")]);
    let dir = tree(&[("pkg/a.mty", b"k")]);
    let pkg = dir.path().join("pkg");
    symlink(&pkg, pkg.join("loop")).unwrap();
    symlink("..", pkg.join("up")).unwrap();
    symlink("self.mty", pkg.join("self.mty")).unwrap();
    symlink(outside.path(), pkg.join("docs")).unwrap();
    symlink(outside.path().join("secret.mty"), pkg.join("leak.mty")).unwrap();
    symlink(&pkg, dir.path().join("alias")).unwrap();
    assert_eq!(places(&pkg, "k"), ["a.mty:1"]);
    assert_eq!(places(&dir.path().join("alias"), "k"), ["a.mty:1"]);
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_passed_over() {
    let dir = tree(&[("a.mty", b"k"), ("dir.mty/inner.mty", b"k")]);
    let socket = std::os::unix::net::UnixListener::bind(dir.path().join("sock.mty")).unwrap();
    let pipe = dir.path().join("pipe.mty");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(places(dir.path(), "k"), ["a.mty:1", "dir.mty/inner.mty:1"]);
    drop(socket);
}

#[cfg(unix)]
#[test]
fn unreadable_entries_are_passed_over() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tree(&[
        ("a.mty", b"k"),
        ("b.mty", b"k"),
        ("c/d.mty", b"k"),
        ("e.mty", b"k"),
    ]);
    let lock = |path: &str, mode| {
        let path = dir.path().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    lock("b.mty", 0o000);
    lock("c", 0o000);
    // A privileged user reads them all the same.
    let privileged = fs::read(dir.path().join("b.mty")).is_ok();
    let found = places(dir.path(), "k");
    lock("c", 0o700);
    if privileged {
        assert_eq!(found, ["a.mty:1", "b.mty:1", "c/d.mty:1", "e.mty:1"]);
    } else {
        assert_eq!(found, ["a.mty:1", "e.mty:1"]);
    }
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
