//! The home directory of magi-code on this machine: where it is, that it exists, and the names of what lies in it.
//! What stands in the files is no matter of this one, and the names are for this crate alone.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use files::Staging;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::reason::Reason;

const DEFAULT_NAME: &str = ".magi-code";

/// Trees of the kernel, closed to models like credentials: their "files" hold this process's environment and
/// descriptors, may block, and may act when they are read.
pub const KERNEL_TREES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Why the home can't be used. Carries paths: never for the wire.
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
#[derive(Debug)]
pub struct LocalHome {
    root: PathBuf,
    sessions: PathBuf,
    staging: Staging,
}

impl LocalHome {
    /// Where the home directory is, without touching it: `mc_home` (relative to `cwd`), else
    /// `.magi-code` under `user_home`. An empty `mc_home` counts as absent, as is usual for
    /// environment variables.
    ///
    /// # Errors
    /// [`HomeError::Unknown`] without either.
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

    /// The home as it is, whether there or not: nothing is created. For looking at settings and accounts.
    #[must_use]
    pub fn at(location: &Path) -> Self {
        // What can't be resolved can't be read either, and then the reading says why.
        let root = fs::canonicalize(location).unwrap_or_else(|_| location.to_owned());
        Self {
            sessions: root.join(SESSIONS),
            staging: Staging::new(root.join(STAGING)),
            root,
        }
    }

    /// See [`Self::prepare`].
    pub(crate) fn create(location: &Path) -> Result<Self, HomeError> {
        let root = create(location)?;
        let sessions = create(&root.join(SESSIONS))?;
        let staging = Staging::new(root.join(STAGING));
        Ok(Self {
            root,
            sessions,
            staging,
        })
    }

    /// The canonical home directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The canonical directory of session files.
    pub(crate) fn sessions_dir(&self) -> &Path {
        &self.sessions
    }

    /// The credentials file; it may be missing.
    pub(crate) fn accounts_file(&self) -> PathBuf {
        self.root.join("auth.json")
    }

    /// The directory of catalogs; it may be missing.
    pub(crate) fn catalogs_dir(&self) -> PathBuf {
        self.root.join("catalog")
    }

    /// Where a file stands for the moment between its naming and its taking another one's place.
    pub(crate) fn staging_dir(&self) -> PathBuf {
        self.root.join(STAGING)
    }

    /// For files that are put in place here.
    pub(crate) fn staging(&self) -> &Staging {
        &self.staging
    }

    /// Why its directories take no new file, as far as the system tells without one: by their permissions, or because
    /// all of the file system is for reading only.
    pub(crate) fn unwritable_dirs(&self) -> Vec<Reason> {
        let dirs = [
            (&self.root, "no setting and no login can be stored"),
            (
                &self.sessions,
                "no session can be begun, opened or gone on with",
            ),
        ];
        let refused = dirs.into_iter().filter_map(|(dir, so)| {
            let access = Access::WRITE_OK | Access::EXEC_OK;
            let error = accessat(CWD, dir, access, AtFlags::EACCESS).err()?;
            let error = io::Error::from(error);
            // Where it is missing, something else is wrong that others tell.
            (error.kind() != io::ErrorKind::NotFound).then(|| {
                Reason::of_file(
                    dir,
                    format!("this directory cannot be written, so {so}: {error}"),
                )
                .help("make it writable, or set MC_HOME to another one")
            })
        });
        refused.collect()
    }

    /// What no tool may read: credentials, the unredacted records of every session, and what was typed in other projects.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        let typed = self.root.join("chat-history");
        vec![self.accounts_file(), self.sessions.clone(), typed]
    }
}

const SESSIONS: &str = "sessions";
const STAGING: &str = "staging";

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

    use super::*;

    #[test]
    fn mc_home_beats_the_default_and_empty_counts_as_absent() {
        let at = |mc: Option<&str>, user: Option<&str>| {
            LocalHome::locate(mc.map(Path::new), user.map(Path::new), Path::new("/w"))
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
    #[cfg(target_os = "linux")]
    fn a_directory_that_takes_no_file_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        assert_eq!(LocalHome::create(&home).unwrap().unwritable_dirs(), []);
        fs::remove_dir(home.join(SESSIONS)).unwrap();
        // Not even root creates files there.
        std::os::unix::fs::symlink("/proc/sys", home.join(SESSIONS)).unwrap();
        let told = LocalHome::at(&home).unwritable_dirs();
        assert_eq!(told.len(), 1);
        assert!(told[0].reason.contains("no session"), "{}", told[0]);
        // A home that is not there yet is no news.
        let none = LocalHome::at(&dir.path().join("none"));
        assert_eq!(none.unwritable_dirs(), []);
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("home"), "").unwrap();
        assert!(matches!(
            LocalHome::create(&dir.path().join("home")),
            Err(HomeError::Io { .. })
        ));
    }
}
