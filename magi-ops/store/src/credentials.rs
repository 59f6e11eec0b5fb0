//! Places that are known to hold credentials: the list, and whether a path or a file belongs to one.
//! What startup and tools do about it is decided there.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use globset::{Glob, GlobSet, GlobSetBuilder};

/// The list: its own first lines say what a line means.
const LIST: &str = include_str!("credentials.txt");

/// Most files of one place whose further names are known.
const MAX_FILES: usize = 4096;

/// What the lines of one kind say.
fn lines(kind: &str) -> impl Iterator<Item = &'static str> {
    LIST.lines()
        .filter_map(move |line| line.strip_prefix(kind)?.strip_prefix(' '))
}

/// Whether a resolved path is one by its words alone, wherever homes are.
fn is_named(path: &Path) -> bool {
    /// Parts of paths that say it below any directory.
    static PARTS: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
        lines("home")
            .map(|path| path.split('/').collect())
            .collect()
    });
    /// Made when a path is asked about: patterns cost more than the rest of a start.
    static NAMES: LazyLock<GlobSet> = LazyLock::new(|| {
        // A test reads every line; what is no pattern names nothing.
        let globs = lines("name").filter_map(|name| Glob::new(name).ok());
        let mut set = GlobSetBuilder::new();
        globs.for_each(|glob| _ = set.add(glob));
        set.build().unwrap_or_default()
    });
    let words: Vec<_> = path.iter().map(|word| word.to_string_lossy()).collect();
    let stands_in = |parts: &Vec<&str>| {
        words
            .windows(parts.len())
            .any(|at| at.iter().zip(parts).all(|(word, part)| word == part))
    };
    let is_exempt = || lines("not").any(|exempt| path.starts_with(exempt));
    let name = path.file_name();
    PARTS.iter().any(stands_in)
        || (name.is_some_and(|name| NAMES.is_match(Path::new(name))) && !is_exempt())
}

/// The places for one home and one workspace, each looked up when it is first asked for.
#[derive(Debug)]
pub struct Credentials {
    user_home: Option<PathBuf>,
    workspace: PathBuf,
    places: OnceLock<Vec<PathBuf>>,
    /// Device and inode of the files that stand directly in one.
    files: OnceLock<HashSet<(u64, u64)>>,
}

impl Credentials {
    /// `workspace` is canonical: what lies in it is its own.
    #[must_use]
    pub fn of(user_home: Option<&Path>, workspace: &Path) -> Self {
        Self {
            user_home: user_home.map(Path::to_owned),
            workspace: workspace.to_owned(),
            places: OnceLock::new(),
            files: OnceLock::new(),
        }
    }

    /// The person's own places and the system's, as they are written and with links resolved; none that the
    /// workspace itself lies in, which says nothing about it.
    pub fn places(&self) -> &[PathBuf] {
        self.places.get_or_init(|| {
            let home = self.user_home.as_deref();
            let real_home = home.and_then(|home| home.canonicalize().ok());
            let real_home = real_home.as_deref().filter(|real| Some(*real) != home);
            let mut places: Vec<_> = lines("root").map(PathBuf::from).collect();
            // One call of the system says of most that they are not there, and following them takes one a directory.
            let real_name = |place: &PathBuf| {
                place.symlink_metadata().ok()?;
                place.canonicalize().ok()
            };
            let mut real: Vec<_> = places.iter().filter_map(real_name).collect();
            for home in home.into_iter().chain(real_home) {
                let present = names_in(home);
                for path in lines("home") {
                    let place = home.join(path);
                    let first = Path::new(path).iter().next().unwrap_or_default();
                    if present
                        .as_ref()
                        .is_none_or(|names| names.contains(&first.to_ascii_lowercase()))
                    {
                        real.extend(real_name(&place));
                    }
                    places.push(place);
                }
            }
            places.extend(real);
            places.sort();
            places.dedup();
            places.retain(|place| !self.workspace.starts_with(place));
            places
        })
    }

    /// Whether a resolved path is, or lies in, such a place. What lies in the workspace is the workspace's, unless
    /// it is the person's home.
    pub fn hold(&self, path: &Path) -> bool {
        self.places().iter().any(|place| path.starts_with(place))
            || (!path.starts_with(&self.workspace) && is_named(path))
    }

    /// Whether a file is another name of one that stands directly in such a place.
    pub fn are(&self, metadata: &Metadata) -> bool {
        let files = || files_directly_in(self.places(), MAX_FILES);
        metadata.is_file()
            && metadata.nlink() > 1
            && self
                .files
                .get_or_init(files)
                .contains(&(metadata.dev(), metadata.ino()))
    }
}

/// What stands in a home, in lower case, since some file systems take both for one; `None` where that can't be told.
/// Most places are not there, and each call of a tool asks for them: this one look spares hundreds.
fn names_in(home: &Path) -> Option<HashSet<OsString>> {
    let mut names = HashSet::new();
    for entry in fs::read_dir(home).ok()? {
        names.insert(entry.ok()?.file_name().to_ascii_lowercase());
        if names.len() > MAX_FILES {
            return None;
        }
    }
    Some(names)
}

/// Device and inode of each of `places` that is a file, and of at most `most` that stand directly in each: no path
/// tells that a hard link is another name of one.
pub fn files_directly_in<'a>(
    places: impl IntoIterator<Item = &'a PathBuf>,
    most: usize,
) -> HashSet<(u64, u64)> {
    let mut found = HashSet::new();
    for place in places {
        let inside = fs::read_dir(place).into_iter().flatten().flatten();
        let names = inside.take(most).map(|entry| entry.path());
        let files = names
            .chain([place.clone()])
            .filter_map(|name| fs::symlink_metadata(name).ok());
        found.extend(
            files
                .filter(Metadata::is_file)
                .map(|metadata| (metadata.dev(), metadata.ino())),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn hold(workspace: &str, path: &str) -> bool {
        Credentials::of(Some(Path::new("/home/me")), Path::new(workspace)).hold(Path::new(path))
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

    #[test]
    fn a_place_that_is_a_link_is_known_by_both_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, keys) = (root.join("home"), root.join("keys"));
        fs::create_dir_all(home.join(".config/gcloud")).unwrap();
        fs::create_dir(&keys).unwrap();
        std::os::unix::fs::symlink(&keys, home.join(".ssh")).unwrap();
        std::os::unix::fs::symlink(&home, root.join("link")).unwrap();
        for named in [home.clone(), root.join("link")] {
            let credentials = Credentials::of(Some(&named), Path::new("/work"));
            for place in [
                keys.clone(),
                named.join(".ssh"),
                named.join(".aws"),
                home.join(".config/gcloud"),
            ] {
                assert!(credentials.places().contains(&place), "{place:?}");
            }
        }
        // More than is looked through.
        for at in 0..=MAX_FILES {
            fs::write(home.join(at.to_string()), "").unwrap();
        }
        let credentials = Credentials::of(Some(&home), Path::new("/work"));
        assert!(credentials.places().contains(&keys));
    }
}
