//! The home directory of magi-code: where it is, that it exists, and the roots admitted for one process.
//! What stands in the files is no matter of this one.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::file::{self, Bounded, Links};
use crate::reason::Reason;
use crate::settings;

const DEFAULT_NAME: &str = ".magi-code";

/// Trees of the kernel, closed to models like what [`Home::hidden`] names: their "files" hold this process's
/// environment and descriptors, may block, and may act when they are read.
pub const KERNEL_TREES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Why the home directory can't be used. Carries paths: never for the wire.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("neither MC_HOME nor a home directory is known")]
    Unknown,
    #[error("cannot prepare {path}: {source}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl HomeError {
    /// The same for people.
    #[must_use]
    pub fn into_reason(self) -> Reason {
        match self {
            Self::Unknown => Reason::of_variable("MC_HOME", self.to_string())
                .help("set MC_HOME to a directory that can be written"),
            Self::Io { path, source } => Reason::of_file(
                &path,
                format!("this directory cannot be prepared: {source}"),
            )
            .help("make it writable, or set MC_HOME to another one"),
        }
    }
}

/// The admitted storage of one process: directories that exist, under their real names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    sessions: PathBuf,
}

impl Home {
    /// Where the home directory is, without touching it: `mc_home` (relative to `cwd`), else
    /// `.magi-code` under `user_home`. An empty `mc_home` counts as absent, as is usual for
    /// environment variables.
    pub fn locate(
        mc_home: Option<&Path>,
        user_home: Option<&Path>,
        cwd: &Path,
    ) -> Result<PathBuf, HomeError> {
        let given = |path: Option<&Path>| {
            path.filter(|path| !path.as_os_str().is_empty())
                .map(|path| cwd.join(path))
        };
        given(mc_home)
            .or_else(|| given(user_home).map(|home| home.join(DEFAULT_NAME)))
            .ok_or(HomeError::Unknown)
    }

    /// Creates what is missing (mode 0700) and takes the real names of the storage roots, so
    /// that a link that changes later can't move a running process to another place.
    ///
    /// Also writes `settings.schema.json` beside the settings, for editors; a home that can be
    /// read only is no reason to fail, so that part is best effort.
    pub fn prepare(location: &Path) -> Result<Self, HomeError> {
        let root = create(location)?;
        let sessions = create(&root.join("sessions"))?;
        let home = Self { root, sessions };
        let _ = home.write_schema();
        Ok(home)
    }

    /// The canonical home directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The canonical directory of session files.
    pub fn sessions(&self) -> &Path {
        &self.sessions
    }

    /// The global settings file; it may be missing.
    pub fn settings(&self) -> PathBuf {
        self.root.join(settings::FILE_NAME)
    }

    /// Every canonical storage root, in the order of their roles, for [`crate::context_id`].
    pub fn roots(&self) -> [PathBuf; 2] {
        [self.root.clone(), self.sessions.clone()]
    }

    /// What no tool may read: credentials, and the unredacted records of every session.
    pub fn hidden(&self) -> Vec<PathBuf> {
        vec![
            self.root.join(crate::auth::FILE_NAME),
            self.sessions.clone(),
        ]
    }

    fn write_schema(&self) -> io::Result<()> {
        let path = self.root.join(settings::SCHEMA_FILE_NAME);
        let schema = settings::SCHEMA.as_bytes();
        if let Ok(Bounded::Bytes(bytes)) =
            file::read_bounded(&path, schema.len() as u64, Links::Follow)
            && bytes == schema
        {
            return Ok(());
        }
        file::replace(&path, schema, 0o600)
    }
}

/// Creates a directory and what is missing above it. A new name is flushed into its parent: a later claim
/// that a file in here is durable holds only if the way to it is.
fn create(path: &Path) -> Result<PathBuf, HomeError> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .collect();
    let flush = |made: &&Path| {
        let parent = made
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        // A directory may be writable and not readable; then there is no way to flush it.
        fs::File::open(parent.unwrap_or(Path::new("."))).map_or(Ok(()), |parent| parent.sync_all())
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .and_then(|()| missing.iter().try_for_each(flush))
        .and_then(|()| fs::canonicalize(path))
        .map_err(|source| HomeError::Io {
            path: path.to_owned(),
            source,
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::context_id;

    #[test]
    fn mc_home_beats_the_default_and_empty_counts_as_absent() {
        let at = |mc: Option<&str>, user: Option<&str>| {
            Home::locate(mc.map(Path::new), user.map(Path::new), Path::new("/w"))
        };
        assert_eq!(at(Some("/m"), Some("/u")).unwrap(), Path::new("/m"));
        assert_eq!(at(Some("m"), Some("/u")).unwrap(), Path::new("/w/m"));
        assert_eq!(
            at(Some(""), Some("/u")).unwrap(),
            Path::new("/u/.magi-code")
        );
        assert!(matches!(at(None, None), Err(HomeError::Unknown)));
    }

    #[test]
    fn prepares_private_directories_and_the_schema() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::prepare(&dir.path().join("a/b")).unwrap();
        for path in [home.root(), home.sessions()] {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        let schema = home.root().join("settings.schema.json");
        assert_eq!(fs::read_to_string(&schema).unwrap(), settings::SCHEMA);
        fs::write(&schema, "stale").unwrap();
        Home::prepare(home.root()).unwrap();
        assert_eq!(fs::read_to_string(&schema).unwrap(), settings::SCHEMA);
        let names = fs::read_dir(home.root()).unwrap().count();
        assert_eq!(names, 2, "nothing but sessions and the schema");
    }

    #[test]
    fn aliases_of_one_home_have_one_context_and_other_homes_another() {
        let dir = tempfile::tempdir().unwrap();
        let real = Home::prepare(&dir.path().join("real")).unwrap();
        std::os::unix::fs::symlink(real.root(), dir.path().join("alias")).unwrap();
        let alias = Home::prepare(&dir.path().join("alias")).unwrap();
        let other = Home::prepare(&dir.path().join("other")).unwrap();
        let id = |home: &Home| context_id(dir.path(), &home.roots());
        assert_eq!(id(&real), id(&alias));
        assert_ne!(id(&real), id(&other));

        // Sessions that really live elsewhere are other storage, whatever the home is called.
        let moved = dir.path().join("moved");
        fs::create_dir(&moved).unwrap();
        fs::remove_dir(other.sessions()).unwrap();
        std::os::unix::fs::symlink(&moved, other.root().join("sessions")).unwrap();
        let relinked = Home::prepare(other.root()).unwrap();
        assert_ne!(id(&other), id(&relinked));
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("home"), "").unwrap();
        assert!(matches!(
            Home::prepare(&dir.path().join("home")),
            Err(HomeError::Io { .. })
        ));
    }
}
