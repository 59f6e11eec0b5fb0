//! Places that are known to hold credentials: which a path belongs to.
//! The list is the store's data; whether such a place may be read is decided where calls are looked at.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use store::credential_places;

use crate::workspace::spellings;

/// Most files of one place whose further names are known.
const MAX_FILES: usize = 4096;

/// What the list says, for one home.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    /// The person's own places and the system's, as they are written.
    places: Vec<PathBuf>,
}

impl Credentials {
    pub(crate) fn of(home: Option<&Path>) -> Self {
        Self {
            places: credential_places().of(home),
        }
    }

    /// The places as they are now, links resolved.
    pub(crate) fn resolved(&self, workspace: &Path) -> Vec<PathBuf> {
        let mut places: Vec<_> = self
            .places
            .iter()
            .flat_map(|place| spellings(workspace, place))
            .collect();
        places.sort();
        places.dedup();
        // One that the workspace itself lies in says nothing about it.
        places.retain(|place| !workspace.starts_with(place));
        places
    }
}

/// The places of one call, resolved when they are first asked for.
#[derive(Debug)]
pub(crate) struct Resolved<'a> {
    pub(crate) credentials: &'a Credentials,
    pub(crate) workspace: &'a Path,
    pub(crate) places: &'a OnceLock<Vec<PathBuf>>,
    pub(crate) files: &'a OnceLock<HashSet<(u64, u64)>>,
}

impl Resolved<'_> {
    /// Whether a resolved path is, or lies in, a place that is known to hold credentials. What lies in the
    /// workspace is the workspace's, unless it is the person's home.
    pub(crate) fn hold(&self, path: &Path) -> bool {
        self.places().iter().any(|place| path.starts_with(place))
            || (!path.starts_with(self.workspace) && credential_places().are_named_by(path))
    }

    /// Whether a file is another name of one that stands directly in such a place.
    pub(crate) fn are(&self, metadata: &fs::Metadata) -> bool {
        metadata.nlink() > 1 && self.files().contains(&(metadata.dev(), metadata.ino()))
    }

    pub(crate) fn places(&self) -> &[PathBuf] {
        self.places
            .get_or_init(|| self.credentials.resolved(self.workspace))
    }

    fn files(&self) -> &HashSet<(u64, u64)> {
        self.files.get_or_init(|| {
            let mut found = HashSet::new();
            for place in self.places() {
                let inside = fs::read_dir(place).into_iter().flatten().flatten();
                let names = inside
                    .take(MAX_FILES)
                    .map(|entry| entry.path())
                    .chain([place.clone()]);
                let files = names
                    .filter_map(|name| fs::symlink_metadata(name).ok())
                    .filter(fs::Metadata::is_file);
                found.extend(files.map(|metadata| (metadata.dev(), metadata.ino())));
            }
            found
        })
    }
}

#[cfg(test)]
mod tests {
    use globset::Glob;
    use store::CREDENTIAL_PLACES as LIST;

    use super::*;

    fn hold(workspace: &str, path: &str) -> bool {
        let credentials = Credentials::of(Some(Path::new("/home/me")));
        let resolved = Resolved {
            credentials: &credentials,
            workspace: Path::new(workspace),
            places: &OnceLock::new(),
            files: &OnceLock::new(),
        };
        resolved.hold(Path::new(path))
    }

    #[test]
    fn every_line_of_the_list_says_something() {
        for line in LIST.lines() {
            let known = match line.split_once(' ') {
                Some(("home", path)) => !path.starts_with(['/', '~']),
                Some(("root" | "not", path)) => path.starts_with('/'),
                Some(("name", name)) => Glob::new(name).is_ok(),
                _ => line.starts_with('#'),
            };
            assert!(known, "{line}");
        }
    }

    #[test]
    fn places_are_known_wherever_homes_are() {
        for path in [
            "/home/me/.ssh",
            "/home/me/.ssh/id_rsa",
            "/home/me/.ssh/config",
            "/home/other/.ssh/known_hosts",
            "/root/.aws/credentials",
            "/home/me/.config/gcloud/x/y",
            "/home/me/.kube/config",
            "/home/me/.netrc",
            "/home/me/.git-credentials",
            "/home/me/.npmrc",
            "/home/me/.pypirc",
            "/home/me/.docker/config.json",
            "/home/me/.gnupg/x",
            "/home/me/.config/gh/hosts.yml",
            "/home/me/.cargo/credentials.toml",
            "/home/me/.codex/auth.json",
            "/home/me/.claude/.credentials.json",
            "/home/me/.gemini/oauth_creds.json",
            "/home/me/.mozilla/firefox/x/logins.json",
            "/etc/shadow",
            "/srv/backup/server.pem",
            "/srv/backup/id_ed25519",
            "/srv/app/.env",
            "/srv/app/.env.production",
        ] {
            assert!(hold("/work", path), "{path}");
        }
    }

    #[test]
    fn what_is_like_one_is_none() {
        for path in [
            "/home/me/.sshd",
            "/home/me/ssh/id",
            "/home/me/notes.txt",
            "/home/me/.config/git/ignore",
            "/home/me/.cargo/registry/src/x.rs",
            "/home/me/.cargo/config.toml",
            "/home/me/.bashrc",
            "/etc/passwd",
            "/etc/hosts",
            "/etc/ssl/certs/ca.pem",
            "/usr/lib/x/test.key",
            "/srv/id_rsa.pub",
            "/work/server.pem",
            "/work/.env",
            "/work/.ssh/config",
        ] {
            assert!(!hold("/work", path), "{path}");
        }
    }

    #[test]
    fn a_home_that_is_the_workspace_keeps_its_places() {
        assert!(hold("/home/me", "/home/me/.ssh/id_rsa"));
        assert!(hold("/", "/etc/shadow"));
        assert!(!hold("/home/me", "/home/me/project/.env"));
        // A workspace within one is a workspace.
        assert!(!hold(
            "/home/me/.claude/work",
            "/home/me/.claude/work/a.txt"
        ));
        assert!(hold("/home/me/.aws/work", "/home/me/.ssh/config"));
    }
}
