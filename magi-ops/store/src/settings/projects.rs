//! The directories that `projects` names: which entry is about a directory, however its path is spelled.
//! What an entry says counts elsewhere.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::layer::{Permissions, ProjectLayer};

/// Which directories are trusted, by their canonical paths where they exist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Projects(BTreeMap<PathBuf, bool>);

impl Projects {
    /// Of entries for one directory the stricter counts.
    pub(super) fn of(projects: &BTreeMap<String, ProjectLayer>) -> Self {
        let mut all = BTreeMap::new();
        for (name, project) in projects {
            let Some(path) = directory(name) else {
                continue;
            };
            let trusted = project.trusted.unwrap_or_default();
            all.entry(path)
                .and_modify(|all| *all &= trusted)
                .or_insert(trusted);
        }
        Self(all)
    }

    /// Whether the files of a project in `directory`, which is canonical, are trusted: the entry for it, or for the
    /// nearest directory above it, says so.
    #[must_use]
    pub fn trust(&self, directory: &Path) -> bool {
        let mut above = directory.ancestors();
        above
            .find_map(|directory| self.0.get(directory))
            .copied()
            .unwrap_or_default()
    }
}

/// The directory that a key of `projects` names: the canonical one where it exists, otherwise the path without
/// further slashes and `.`. A path that is not absolute names none.
pub(super) fn directory(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    path.is_absolute().then(|| {
        path.canonicalize().unwrap_or_else(|_| {
            path.components()
                .filter(|part| *part != Component::CurDir)
                .collect()
        })
    })
}

/// The permissions of every entry for `cwd`, or for the nearest directory above it.
pub(super) fn nearest(projects: BTreeMap<String, ProjectLayer>, cwd: &Path) -> Vec<Permissions> {
    let mut found = Vec::new();
    let mut depth = 0;
    for (name, project) in projects {
        let Some(path) = directory(&name).filter(|path| cwd.starts_with(path)) else {
            continue;
        };
        let own = path.components().count();
        if own > depth {
            found.clear();
            depth = own;
        }
        if own == depth {
            found.push(project.permissions);
        }
    }
    found
}
