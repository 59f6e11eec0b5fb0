//! Places that are known to hold credentials, as data: the list, and whether a file of a project leads to one.
//! What tools may read of them is decided where calls are looked at.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

/// The list: its own first lines say what a line means.
pub const CREDENTIAL_PLACES: &str = include_str!("credentials.txt");

/// Most files of one place whose further names are known.
const MAX_FILES: usize = 4096;

/// The list for one home and one workspace.
pub(crate) struct Credentials<'a> {
    workspace: &'a Path,
    /// Links resolved; none that the workspace itself lies in.
    places: Vec<PathBuf>,
    parts: Vec<Vec<&'static str>>,
    names: GlobSet,
    exempt: Vec<&'static Path>,
}

impl<'a> Credentials<'a> {
    /// `workspace` is canonical: what lies in it is its own.
    pub(crate) fn of(user_home: Option<&Path>, workspace: &'a Path) -> Self {
        let (mut places, mut parts, mut exempt) = (Vec::new(), Vec::new(), Vec::new());
        let mut names = GlobSetBuilder::new();
        for line in CREDENTIAL_PLACES.lines() {
            match line.split_once(' ') {
                Some(("home", path)) => {
                    places.extend(user_home.map(|home| home.join(path)));
                    parts.push(path.split('/').collect());
                }
                Some(("root", path)) => places.push(PathBuf::from(path)),
                Some(("not", path)) => exempt.push(Path::new(path)),
                // A test reads every line; what is no pattern names nothing.
                Some(("name", name)) => {
                    if let Ok(glob) = Glob::new(name) {
                        names.add(glob);
                    }
                }
                _ => {}
            }
        }
        let real: Vec<_> = places
            .iter()
            .flat_map(|place| place.canonicalize())
            .collect();
        places.extend(real);
        places.retain(|place| !workspace.starts_with(place));
        Self {
            workspace,
            places,
            parts,
            names: names.build().unwrap_or_default(),
            exempt,
        }
    }

    /// Whether a resolved path is, or lies in, such a place.
    pub(crate) fn hold(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
            || (!path.starts_with(self.workspace) && self.is_one_by_words(path))
    }

    fn is_one_by_words(&self, path: &Path) -> bool {
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
