//! Which files a search looks into: ignored, hidden, built, linked, unreadable ones.
//! What it finds in them is the parent's.

use super::*;

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
