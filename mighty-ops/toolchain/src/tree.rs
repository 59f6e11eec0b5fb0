//! The `*.mty` files below a directory, whatever loops and oddities it holds. What is in them is not looked at.

use std::path::{Path, PathBuf};

/// Directories are entered this deep.
const MAX_DEPTH: usize = 64;

/// Regular `*.mty` files below a directory in the order of their paths; hidden entries and links to directories
/// are passed over, so that no loop is entered. At most `limit` and one.
pub(crate) fn sources_below(dir: &Path, limit: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // Innermost last; entries in falling order, to be popped.
    let mut levels = vec![entries(dir)];
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
                levels.push(entries(&path));
            }
        } else if path.extension().is_some_and(|e| e == "mty") && path.is_file() {
            found.push(path);
            if found.len() > limit {
                break;
            }
        }
    }
    found
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let hidden = |p: &Path| {
        p.file_name()
            .is_some_and(|n| n.as_encoded_bytes().starts_with(b"."))
    };
    let mut all: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| !hidden(p))
        .collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}
