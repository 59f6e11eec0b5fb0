//! `write`: what stands on the disk afterwards, and what it refuses.
//! Only the public API.
#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;
use support::{mkfifo, place};
use tokio_util::sync::CancellationToken;
use tools::{Context, ToolSet};

mod support;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn write_creates_replaces_and_says_so() {
    let place = place();
    let outcome = place
        .ok(
            "write",
            json!({ "path": "src/new/a.rs", "content": "one\ntwo" }),
        )
        .await;
    assert_eq!(outcome.content, "created src/new/a.rs: 2 lines, 7 bytes\n");
    assert_eq!(outcome.summary, "2 lines, 7 bytes");
    assert_eq!(place.read("src/new/a.rs"), b"one\ntwo");
    let outcome = place
        .ok(
            "write",
            json!({ "path": "./src/../src/new/a.rs", "content": "" }),
        )
        .await;
    assert_eq!(outcome.content, "replaced src/new/a.rs: 0 lines, 0 bytes\n");
    assert_eq!(place.read("src/new/a.rs"), b"");
    let outcome = place
        .ok(
            "write",
            json!({ "path": place.outside.join("b"), "content": "x\n" }),
        )
        .await;
    assert_eq!(outcome.summary, "1 line, 2 bytes");
    assert_eq!(
        place.paths(),
        ["src", "src/new", "src/new/a.rs"].map(Path::new)
    );
}

#[tokio::test]
async fn permissions_are_kept_and_new_files_have_the_usual() {
    let place = place();
    place.write("script.sh", "old");
    let script = place.workspace.join("script.sh");
    for bits in [0o755, 0o600, 0o664] {
        fs::set_permissions(&script, Permissions::from_mode(bits)).unwrap();
        place
            .ok("write", json!({ "path": "script.sh", "content": "new" }))
            .await;
        assert_eq!(mode(&script), bits);
    }
    // Whoever may change the text may not thereby run it as somebody else.
    fs::set_permissions(&script, Permissions::from_mode(0o4755)).unwrap();
    place
        .ok(
            "edit",
            json!({ "path": "script.sh", "old": "new", "new": "x" }),
        )
        .await;
    assert_eq!(mode(&script), 0o755);
    place
        .ok("write", json!({ "path": "ours", "content": "" }))
        .await;
    place.write("theirs", "");
    assert_eq!(
        mode(&place.workspace.join("ours")),
        mode(&place.workspace.join("theirs"))
    );
}

#[tokio::test]
async fn links_are_followed_and_stay() {
    let place = place();
    place.write("real.txt", "old");
    symlink("real.txt", place.workspace.join("link")).unwrap();
    symlink("sub/later.txt", place.workspace.join("dangling")).unwrap();
    fs::hard_link(
        place.workspace.join("real.txt"),
        place.workspace.join("other-name"),
    )
    .unwrap();
    let outcome = place
        .ok("write", json!({ "path": "link", "content": "new" }))
        .await;
    assert_eq!(outcome.content, "replaced real.txt: 1 line, 3 bytes\n");
    assert_eq!(place.read("real.txt"), b"new");
    assert_eq!(place.read("other-name"), b"old");
    let outcome = place
        .ok("write", json!({ "path": "dangling", "content": "new" }))
        .await;
    assert_eq!(outcome.content, "created sub/later.txt: 1 line, 3 bytes\n");
    for link in ["link", "dangling"] {
        assert!(place.workspace.join(link).is_symlink());
        assert_eq!(place.read(link), b"new");
    }
}

#[tokio::test]
async fn hidden_paths_cannot_be_written_however_they_are_reached() {
    let place = place();
    let auth = place.hidden.join("auth.json");
    symlink(&auth, place.workspace.join("link")).unwrap();
    symlink(&place.hidden, place.workspace.join("dir")).unwrap();
    symlink(place.hidden.join("none"), place.workspace.join("dangling")).unwrap();
    symlink("/proc/self/root", place.workspace.join("root")).unwrap();
    fs::hard_link(&auth, place.workspace.join("hard")).unwrap();
    let through_root = format!("root{}", auth.display());
    for path in [
        auth.to_str().unwrap(),
        "link",
        "dir/auth.json",
        "dir/new/deep.json",
        "dir",
        "dangling",
        "missing/../../home/new.json",
        "hard",
        &through_root,
        "/proc/self/comm",
        "/dev/null",
        "/sys/new",
    ] {
        for (tool, input) in [
            ("write", json!({ "path": path, "content": "mine" })),
            (
                "edit",
                json!({ "path": path, "old": "secret", "new": "mine" }),
            ),
        ] {
            let outcome = place.err(tool, input).await;
            assert_eq!(outcome.summary, "path refused", "{path}");
            assert!(!outcome.content.contains("secret"));
        }
    }
    assert_eq!(fs::read(&auth).unwrap(), b"top secret\n");
    assert_eq!(fs::read_dir(&place.hidden).unwrap().count(), 1);
}

#[tokio::test]
async fn what_a_hidden_link_names_is_hidden_before_it_exists() {
    let place = place();
    let real = place.outside.join("auth.json");
    symlink(&real, place.outside.join("alias")).unwrap();
    let tools = ToolSet::registered(Context::new(
        place.workspace.clone(),
        vec![place.outside.join("alias")],
    ))
    .unwrap();
    let input = json!({ "path": real, "content": "mine" });
    let outcome = tools.run("write", &input, CancellationToken::new()).await;
    assert_eq!(outcome.summary, "path refused");
    assert!(!real.exists());
}

#[tokio::test]
async fn only_regular_files_are_replaced() {
    let place = place();
    place.write("directory/file", "");
    mkfifo(&place.workspace.join("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(place.workspace.join("socket")).unwrap();
    symlink("round", place.workspace.join("round")).unwrap();
    let before = place.paths();
    for (path, words) in [
        ("fifo", "refused: fifo is a FIFO, not a regular file"),
        ("socket", "refused: socket is a socket, not a regular file"),
        ("directory", "directory is a directory"),
        (".", ". is a directory"),
        ("/", "path names a directory"),
        ("new/", "path names a directory"),
        ("directory/file/x", "is not a directory"),
        ("round", "cannot read round"),
    ] {
        let outcome = place
            .err("write", json!({ "path": path, "content": "x" }))
            .await;
        assert!(
            outcome.content.contains(words),
            "{path}: {}",
            outcome.content
        );
    }
    assert_eq!(place.paths(), before);
}

#[tokio::test]
async fn content_and_names_are_bounded() {
    let place = place();
    let most = "é".repeat(4 * 1024 * 1024);
    let outcome = place
        .ok("write", json!({ "path": "most", "content": most }))
        .await;
    assert_eq!(outcome.summary, "1 line, 8388608 bytes");
    assert_eq!(place.read("most"), most.as_bytes());
    let more = format!("{most}x");
    let outcome = place
        .err("write", json!({ "path": "more/file", "content": more }))
        .await;
    assert_eq!(outcome.summary, "too long");
    let outcome = place
        .err("write", json!({ "path": "n".repeat(300), "content": "" }))
        .await;
    assert!(
        outcome.content.starts_with("cannot "),
        "{}",
        outcome.content
    );
    assert_eq!(place.paths(), ["most"].map(Path::new));
}

#[tokio::test]
async fn names_that_are_not_utf8_are_no_hindrance() {
    let place = place();
    let strange = place.workspace.join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&strange).unwrap();
    symlink(&strange, place.workspace.join("link")).unwrap();
    let outcome = place
        .ok("write", json!({ "path": "link/a", "content": "one" }))
        .await;
    assert_eq!(outcome.summary, "1 line, 3 bytes");
    place
        .ok(
            "edit",
            json!({ "path": "link/a", "old": "one", "new": "two" }),
        )
        .await;
    assert_eq!(fs::read(strange.join("a")).unwrap(), b"two");
    // A workspace may have such a name as well.
    let tools = ToolSet::registered(Context::new(strange.clone(), Vec::new())).unwrap();
    let input = json!({ "path": "b", "content": "x" });
    let outcome = tools.run("write", &input, CancellationToken::new()).await;
    assert_eq!(outcome.summary, "1 line, 1 byte");
    assert_eq!(fs::read(strange.join("b")).unwrap(), b"x");
}

#[tokio::test]
async fn of_many_writers_one_wins_whole() {
    let place = place();
    let texts: Vec<String> = (0..16).map(|n| format!("{n:02}").repeat(50_000)).collect();
    let tools = place.tools();
    let mut calls = tokio::task::JoinSet::new();
    for text in &texts {
        let tools = tools.clone();
        let input = json!({ "path": "sub/file", "content": text });
        calls.spawn(async move { tools.run("write", &input, CancellationToken::new()).await });
    }
    while let Some(outcome) = calls.join_next().await {
        let outcome = outcome.unwrap();
        assert!(!outcome.is_error, "{}", outcome.content);
    }
    let found = String::from_utf8(place.read("sub/file")).unwrap();
    assert!(texts.contains(&found));
    assert_eq!(place.paths(), ["sub", "sub/file"].map(Path::new));
}

#[test]
fn a_cancelled_write_leaves_the_old_file_or_the_new_one() {
    let place = place();
    let tools = place.tools();
    let (old, new) = ("old ".repeat(1_000_000), "new ".repeat(1_000_000));
    let input = json!({ "path": "file", "content": new });
    for delay in 0..12_u32 {
        place.write("file", &old);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let cancel = CancellationToken::new();
        let outcome = runtime.block_on(async {
            let canceller = async {
                tokio::time::sleep(std::time::Duration::from_millis(delay.into())).await;
                cancel.cancel();
            };
            tokio::join!(tools.run("write", &input, cancel.clone()), canceller).0
        });
        // Waits for the worker, should it have been left behind.
        drop(runtime);
        let found = place.read("file");
        assert!(found == old.as_bytes() || found == new.as_bytes());
        if !outcome.is_error {
            assert_eq!(found, new.as_bytes());
        }
        assert_eq!(place.paths(), ["file"].map(Path::new));
    }
}

/// A model sees neither, so neither may get lost.
#[tokio::test]
async fn a_replaced_file_keeps_its_mark_and_its_line_ends() {
    let place = place();
    for (before, content, after, notes) in [
        (
            "\u{feff}a\r\nb\r\n",
            "x\ny",
            "\u{feff}x\r\ny",
            "[the file still begins with its byte order mark]\n[its lines still end with CRLF]\n",
        ),
        ("a\r\n", "x\n", "x\r\n", "[its lines still end with CRLF]\n"),
        // Both kinds, or none, tell nothing.
        ("a\r\nb\n", "x\n", "x\n", ""),
        ("a", "x\n", "x\n", ""),
        // What the input says itself is meant so.
        ("a\r\n", "x\r\ny\n", "x\r\ny\n", ""),
        ("\u{feff}a", "\u{feff}x", "\u{feff}x", ""),
        (
            "\u{feff}a",
            "",
            "\u{feff}",
            "[the file still begins with its byte order mark]\n",
        ),
    ] {
        place.write("file", before);
        let input = json!({ "path": "file", "content": content });
        let outcome = place.ok("write", input).await;
        assert_eq!(String::from_utf8(place.read("file")).unwrap(), after);
        let (first, rest) = outcome.content.split_once('\n').unwrap();
        assert!(
            first.ends_with(&format!("{} bytes", after.len())) || after.len() == 1,
            "{first}"
        );
        assert_eq!(rest, notes, "{before:?}");
    }
    place.write("file", b"\xff\xfea\0");
    let input = json!({ "path": "file", "content": "x" });
    let outcome = place.ok("write", input).await;
    assert!(
        outcome
            .content
            .ends_with("[the file was UTF-16; it is UTF-8 now]\n"),
        "{}",
        outcome.content
    );
}

/// Nothing has a name in the workspace before it is whole; where a file is replaced, the moment in between passes
/// in a directory of our own.
#[tokio::test]
async fn a_file_waits_for_its_place_elsewhere() {
    let place = place();
    let staging = place.hidden.join("staging");
    fs::create_dir(&staging).unwrap();
    let left = format!(".magi-code-{}.tmp", "0".repeat(32));
    for name in [left.as_str(), "other"] {
        fs::write(staging.join(name), "left by one that was killed").unwrap();
    }
    let tools = ToolSet::registered(place.context().with_staging(Some(staging.clone()))).unwrap();
    for content in ["one", "two"] {
        let input = json!({ "path": "a", "content": content });
        let outcome = tools.run("write", &input, CancellationToken::new()).await;
        assert!(!outcome.is_error, "{outcome:?}");
        assert_eq!(place.read("a"), content.as_bytes());
        assert_eq!(place.paths().len(), 1);
    }
    assert!(!staging.join(left).exists() && staging.join("other").exists());
}
