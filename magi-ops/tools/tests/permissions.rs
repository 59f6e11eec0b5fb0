//! Writing where the file system does not let us. The privileges that would let a superuser
//! write anyway are given up by the test's own thread, and the workers it starts have none.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use serde_json::json;
use support::place;

mod support;

/// Runs a test on workers that are held to the permissions.
fn unprivileged(test: impl Future<Output = ()>) {
    let mut sets = capabilities(None).unwrap();
    sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    set_capabilities(None, sets).unwrap();
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(test);
}

#[test]
fn a_closed_directory_or_file_stays_as_it_is() {
    unprivileged(async {
        let place = place();
        place.write("closed/file", "old");
        place.write("open/closed", "old");
        let set = |path: &str, mode| {
            fs::set_permissions(place.workspace.join(path), Permissions::from_mode(mode)).unwrap();
        };
        set("closed", 0o555);
        set("open/closed", 0o444);
        let before = place.paths();
        for path in [
            "closed/file",
            "closed/new",
            "closed/new/deep",
            "open/closed",
        ] {
            let outcome = place
                .err("write", json!({ "path": path, "content": "new" }))
                .await;
            assert_eq!(outcome.summary, "permission denied", "{path}");
        }
        for path in ["closed/file", "open/closed"] {
            let outcome = place
                .err("edit", json!({ "path": path, "old": "old", "new": "new" }))
                .await;
            assert_eq!(outcome.summary, "permission denied", "{path}");
            assert_eq!(place.read(path), b"old");
        }
        assert_eq!(place.paths(), before);
        set("closed", 0o755);
    });
}

#[test]
fn an_unreadable_directory_is_told_of() {
    unprivileged(async {
        let place = place();
        place.write("closed/a.txt", "word\n");
        place.write("b.txt", "word\n");
        let closed = place.workspace.join("closed");
        fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
        let grep = place.ok("grep", json!({ "pattern": "word" })).await;
        assert_eq!(
            grep.content,
            "b.txt:1: word\n[1 directory could not be read]\n"
        );
        for (tool, path) in [("list", "closed"), ("read", "closed/a.txt")] {
            let outcome = place.err(tool, json!({ "path": path })).await;
            assert_eq!(outcome.summary, "permission denied");
        }
        fs::set_permissions(&closed, Permissions::from_mode(0o755)).unwrap();
    });
}

#[tokio::test]
async fn the_owner_stays_where_it_may_be_kept() {
    let place = place();
    place.write("theirs", "old");
    let theirs = place.workspace.join("theirs");
    let owner = |path: &Path| {
        let metadata = fs::metadata(path).unwrap();
        (metadata.uid(), metadata.gid())
    };
    // Only a superuser can make a file somebody else's; for anyone else it is their own.
    let _ = std::os::unix::fs::chown(&theirs, Some(12_345), Some(12_346));
    let before = owner(&theirs);
    place
        .ok("write", json!({ "path": "theirs", "content": "new" }))
        .await;
    assert_eq!(owner(&theirs), before);
    assert_eq!(place.read("theirs"), b"new");
}
