//! Walks of real trees: each file once, what git does not see, gaps, ends.
//! Only what the module gives to visitors.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

#[derive(Default)]
struct Paths {
    found: Vec<PathBuf>,
    stop_at: Option<usize>,
    panics: bool,
}

impl Visitor for Paths {
    fn goes_on(&mut self) -> bool {
        self.stop_at != Some(self.found.len())
    }

    fn enters(&mut self, directory: &Path) -> bool {
        !directory.ends_with("not-entered")
    }

    fn visit(&mut self, entry: &Entry<'_>) -> ControlFlow<()> {
        assert!(!self.panics || self.found.len() < 10, "a visitor panics");
        assert!(entry.open().is_ok() || entry.path().is_symlink());
        self.found.push(entry.path());
        ControlFlow::Continue(())
    }
}

fn tree() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    (home, root)
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn options(root: &Path) -> Options<'_> {
    Options {
        root,
        excluded: &[],
        dotted: true,
        links: false,
        top: None,
        threads: 4,
    }
}

fn found(options: Options<'_>) -> (Vec<String>, Gaps) {
    let open = open_resolved(options.root, OFlags::DIRECTORY).unwrap();
    let (visitors, gaps) = walk(options, open, Paths::default);
    let mut found: Vec<_> = visitors
        .into_iter()
        .flat_map(|visitor| visitor.found)
        .map(|path| {
            let relative = path.strip_prefix(options.root).unwrap();
            relative.to_str().unwrap().to_owned()
        })
        .collect();
    found.sort();
    (found, gaps)
}

#[test]
fn every_file_is_found_once_however_many_threads_look() {
    let (_home, root) = tree();
    let mut expected = Vec::new();
    for directory in 0..30 {
        for file in 0..directory * 10 {
            let path = format!("d{directory}/e/f{file}");
            write(&root, &path, "");
            expected.push(path);
        }
    }
    expected.sort();
    for threads in [1, 2, 8] {
        let options = Options {
            threads,
            ..options(&root)
        };
        assert_eq!(found(options), (expected.clone(), Gaps::default()));
    }
    let stopped = || Paths {
        stop_at: Some(37),
        ..Paths::default()
    };
    let alone = Options {
        threads: 1,
        ..options(&root)
    };
    let open = open_resolved(&root, OFlags::DIRECTORY).unwrap();
    let (visitors, _) = walk(alone, open, stopped);
    assert_eq!(visitors[0].found.len(), 37);
}

#[test]
fn a_panic_ends_all_threads_and_goes_on() {
    let (_home, root) = tree();
    for file in 0..2000 {
        write(&root, &format!("f{file}"), "");
    }
    let open = open_resolved(&root, OFlags::DIRECTORY).unwrap();
    let walked = std::panic::catch_unwind(|| {
        walk(options(&root), open, || Paths {
            panics: true,
            ..Paths::default()
        })
    });
    assert!(walked.is_err());
}

#[test]
fn what_git_does_not_see_is_not_visited() {
    let (_home, root) = tree();
    for (path, content) in [
        (".gitignore", "\u{feff}*.log\n/out\n!keep.log\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("out/x", ""),
        ("sub/out/x", ""),
        ("sub/.gitignore", "!b.log\n"),
        ("sub/b.log", ""),
        (".git/config", ""),
        (".hidden/x", ""),
        ("inner/.git", ""),
        ("inner/c.log", ""),
        ("excluded/x", ""),
        ("excluded-too", ""),
        ("not-entered/x", ""),
    ] {
        write(&root, path, content);
    }
    symlink("keep.log", root.join("link")).unwrap();
    symlink("sub", root.join("linked")).unwrap();
    let excluded = [root.join("excluded"), root.join("excluded-too")];
    let options = Options {
        excluded: &excluded,
        ..options(&root)
    };
    let expected = [
        ".gitignore",
        ".hidden/x",
        "inner/.git",
        "inner/c.log",
        "keep.log",
        "sub/.gitignore",
        "sub/b.log",
        "sub/out/x",
    ];
    assert_eq!(found(options).0, expected);
    let links = Options {
        links: true,
        dotted: false,
        ..options
    };
    assert_eq!(
        found(links).0,
        [
            "inner/c.log",
            "keep.log",
            "link",
            "linked",
            "sub/b.log",
            "sub/out/x"
        ]
    );
    // Above the root, the rules of its repository hold, and else those below `top`.
    let sub = root.join("sub");
    write(&root, "sub/a.log", "");
    let below = |top| {
        found(Options {
            top,
            ..super::tests::options(&sub)
        })
        .0
    };
    assert_eq!(below(None), [".gitignore", "b.log", "out/x"]);
    fs::remove_dir_all(root.join(".git")).unwrap();
    assert_eq!(below(Some(&root)), [".gitignore", "b.log", "out/x"]);
    assert_eq!(below(None), [".gitignore", "a.log", "b.log", "out/x"]);
}

#[test]
fn gaps_are_counted() {
    let (_home, root) = tree();
    for directory in ["a", "b", "c"] {
        write(&root, &format!("{directory}/x.log"), "");
    }
    symlink("elsewhere", root.join("a/.gitignore")).unwrap();
    write(&root, "b/.gitignore", &"#".repeat(300 * 1024));
    let (files, gaps) = found(options(&root));
    assert_eq!(files, ["a/x.log", "b/.gitignore", "b/x.log", "c/x.log"]);
    assert_eq!(gaps.gitignores, 2);
}
