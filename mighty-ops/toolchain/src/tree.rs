//! The `*.mty` files below a directory, whatever loops and oddities it holds. What is in them is not looked at.

use std::io;
use std::path::{Path, PathBuf};

/// Directories are entered this deep.
const MAX_DEPTH: usize = 64;

/// What a walk came upon.
#[derive(Debug, Default)]
pub struct Tree {
    /// In the order of their paths.
    pub files: Vec<PathBuf>,
    /// Directories that could not be read, and why: what is in them is unknown.
    pub unread: Vec<(PathBuf, io::Error)>,
}

/// Regular `*.mty` files below a directory; hidden entries and links to directories are passed over, so that no
/// loop is entered, and what is gone meanwhile. At most `limit` and one.
pub(crate) fn sources_below(dir: &Path, limit: usize) -> Tree {
    let mut tree = Tree::default();
    // Innermost last; entries in falling order, to be popped.
    let mut levels = vec![entries(dir, &mut tree)];
    while let Some(level) = levels.last_mut() {
        let Some(path) = level.pop() else {
            levels.pop();
            continue;
        };
        let Ok(about) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        if about.is_dir() {
            if levels.len() < MAX_DEPTH {
                levels.push(entries(&path, &mut tree));
            } else {
                let why = format!("more than {MAX_DEPTH} directories deep");
                tree.unread.push((path, io::Error::other(why)));
            }
        } else if path.extension().is_some_and(|e| e == "mty") && path.is_file() {
            tree.files.push(path);
            if tree.files.len() > limit {
                break;
            }
        }
    }
    tree
}

fn entries(dir: &Path, tree: &mut Tree) -> Vec<PathBuf> {
    let hidden = |p: &Path| {
        p.file_name()
            .is_some_and(|n| n.as_encoded_bytes().starts_with(b"."))
    };
    let listed = std::fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let listed = match listed {
        Ok(listed) => listed,
        Err(why) => {
            if why.kind() != io::ErrorKind::NotFound {
                tree.unread.push((dir.to_path_buf(), why));
            }
            return Vec::new();
        }
    };
    let paths = listed.into_iter().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = paths.filter(|p| !hidden(p)).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}
