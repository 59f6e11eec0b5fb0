//! Places that are known to hold credentials, as data: the list, and whether a file of a project leads to one.
//! What tools may read of them is decided where calls are looked at.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::{Glob, GlobSet, GlobSetBuilder};

/// The list: its own first lines say what a line means.
pub const CREDENTIAL_PLACES: &str = include_str!("credentials.txt");

/// Most files of one place whose further names are known.
const MAX_FILES: usize = 4096;

/// What the list says, read once a process and only when somebody asks.
pub struct CredentialPlaces {
    homes: Vec<&'static str>,
    roots: Vec<&'static Path>,
    /// Parts of paths that say it below any directory.
    parts: Vec<Vec<&'static str>>,
    /// Made when a path is asked about: patterns cost more than the rest of a start.
    names: LazyLock<GlobSet, Box<dyn FnOnce() -> GlobSet + Send>>,
    exempt: Vec<&'static Path>,
}

/// The list of this program.
pub fn credential_places() -> &'static CredentialPlaces {
    static PLACES: LazyLock<CredentialPlaces> = LazyLock::new(CredentialPlaces::read);
    &PLACES
}

impl CredentialPlaces {
    fn read() -> Self {
        let (mut homes, mut roots, mut parts, mut exempt) =
            <(Vec<_>, Vec<_>, Vec<_>, Vec<_>)>::default();
        let mut names = Vec::new();
        for line in CREDENTIAL_PLACES.lines() {
            match line.split_once(' ') {
                Some(("home", path)) => {
                    homes.push(path);
                    parts.push(path.split('/').collect());
                }
                Some(("root", path)) => roots.push(Path::new(path)),
                Some(("not", path)) => exempt.push(Path::new(path)),
                Some(("name", name)) => names.push(name),
                _ => {}
            }
        }
        Self {
            homes,
            roots,
            parts,
            names: LazyLock::new(Box::new(move || {
                // A test reads every line; what is no pattern names nothing.
                let globs = names.iter().filter_map(|name| Glob::new(name).ok());
                let mut set = GlobSetBuilder::new();
                globs.for_each(|glob| _ = set.add(glob));
                set.build().unwrap_or_default()
            })),
            exempt,
        }
    }

    /// The person's own places and the system's, as they are written.
    #[must_use]
    pub fn of(&self, user_home: Option<&Path>) -> Vec<PathBuf> {
        let own = |home: &Path| self.homes.iter().map(|path| home.join(path)).collect();
        let mut places: Vec<PathBuf> = user_home.map(own).unwrap_or_default();
        places.extend(self.roots.iter().map(PathBuf::from));
        places
    }

    /// Whether a resolved path is one by its words alone, wherever homes are.
    #[must_use]
    pub fn are_named_by(&self, path: &Path) -> bool {
        let words: Vec<_> = path.iter().map(|word| word.to_string_lossy()).collect();
        let stands_in = |parts: &Vec<&str>| {
            words
                .windows(parts.len())
                .any(|at| at.iter().zip(parts).all(|(word, part)| word == part))
        };
        let is_exempt = || self.exempt.iter().any(|exempt| path.starts_with(exempt));
        let name = path.file_name();
        self.parts.iter().any(stands_in)
            || (name.is_some_and(|name| self.names.is_match(Path::new(name))) && !is_exempt())
    }
}

/// The places for one home and one workspace.
pub(crate) struct Credentials<'a> {
    workspace: &'a Path,
    /// Links resolved; none that the workspace itself lies in.
    places: Vec<PathBuf>,
}

impl<'a> Credentials<'a> {
    /// `workspace` is canonical: what lies in it is its own.
    pub(crate) fn of(user_home: Option<&Path>, workspace: &'a Path) -> Self {
        let mut places = credential_places().of(user_home);
        let real: Vec<_> = places
            .iter()
            .flat_map(|place| place.canonicalize())
            .collect();
        places.extend(real);
        places.retain(|place| !workspace.starts_with(place));
        Self { workspace, places }
    }

    /// Whether a resolved path is, or lies in, such a place.
    pub(crate) fn hold(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
            || (!path.starts_with(self.workspace) && credential_places().are_named_by(path))
    }

    /// Whether a file is another name of one that stands directly in such a place.
    pub(crate) fn are(&self, metadata: &Metadata) -> bool {
        let is_same = |path: PathBuf| {
            fs::symlink_metadata(path)
                .is_ok_and(|other| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()))
        };
        metadata.nlink() > 1
            && self.places.iter().any(|place| {
                let inside = fs::read_dir(place).into_iter().flatten().flatten();
                let mut names = inside.take(MAX_FILES).map(|entry| entry.path());
                is_same(place.clone()) || names.any(is_same)
            })
    }
}
