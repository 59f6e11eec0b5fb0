//! Where everything of a person is kept, as traits: settings, accounts, sessions, and what instructs a model. Nothing
//! above this crate knows files of it; the home of this machine stands beside. A new kind of storage is an `impl` here.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::accounts::AccountStore;
use crate::catalogs::CatalogStore;
use crate::context::context_id;
use crate::local::{HomeError, LocalHome};
use crate::reason::{Reason, Reasons};
use crate::resources::{ResourceError, Resources, Wanted};
use crate::sessions::{LocalSessions, SessionArchive, SessionStore};
use crate::settings::{self, SettingsStore};

/// What one person's work is kept in. Every call blocks.
pub trait Home: Debug + Send + Sync {
    fn settings(&self) -> &dyn SettingsStore;

    fn accounts(&self) -> &dyn AccountStore;

    fn catalogs(&self) -> &dyn CatalogStore;

    fn sessions(&self) -> Arc<dyn SessionStore>;

    /// The same sessions for a person's commands.
    fn archive(&self) -> Arc<dyn SessionArchive>;

    /// Reads instructions, skills and profiles for the canonical directory `cwd` once. `cancelled` is asked before each
    /// file and directory entry. What is left out is told in `notices`, also when reading fails.
    ///
    /// # Errors
    /// When an instruction file that is wanted or there can't be read, when an enabled profile is not right, or
    /// when it is cancelled.
    fn resources(
        &self,
        cwd: &Path,
        wanted: Wanted<'_>,
        cancelled: &dyn Fn() -> bool,
        notices: &mut Reasons,
    ) -> Result<Resources, ResourceError>;

    /// 64 lower-case hex digits that are equal exactly for one storage and one canonical directory `cwd` (spec:
    /// local-agent, "Frames, correlation and compatibility").
    fn context_id(&self, cwd: &Path) -> String;

    /// Why nothing new can be kept in it, if that is so; changes nothing.
    fn unwritable(&self) -> Vec<Reason>;

    /// What of it the tools of this machine could come upon.
    fn places(&self) -> LocalPlaces;
}

/// What of a home lies on this machine, for whoever opens files on a model's word. All empty where nothing does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalPlaces {
    /// What no tool may read: credentials, and the unredacted records of every session.
    pub hidden: Vec<PathBuf>,
    /// What a tool changes only when the person was asked.
    pub protected: Vec<PathBuf>,
    /// A directory for files that are about to take another one's place.
    pub staging: Option<PathBuf>,
    /// Below it programs of servers start that may not start where they are asked to work. Made on demand.
    pub servers: Option<PathBuf>,
}

impl LocalHome {
    /// Creates what is missing (mode 0700) and takes the real names of the storage roots, so
    /// that a link that changes later can't move a running process to another place.
    ///
    /// Also writes `settings.schema.json` beside the settings, for editors; a home that can be
    /// read only is no reason to fail, so that part is best effort.
    ///
    /// # Errors
    /// [`HomeError::Io`] when a directory can't be made or used.
    pub fn prepare(location: &Path) -> Result<Self, HomeError> {
        let home = Self::create(location)?;
        if let Err(error) = settings::write_schema(&home) {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "the schema of the settings is not written"
            );
        }
        Ok(home)
    }
}

impl Home for LocalHome {
    fn settings(&self) -> &dyn SettingsStore {
        self
    }

    fn accounts(&self) -> &dyn AccountStore {
        self
    }

    fn catalogs(&self) -> &dyn CatalogStore {
        self
    }

    fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(LocalSessions::new(self))
    }

    fn archive(&self) -> Arc<dyn SessionArchive> {
        Arc::new(LocalSessions::new(self))
    }

    fn resources(
        &self,
        cwd: &Path,
        wanted: Wanted<'_>,
        cancelled: &dyn Fn() -> bool,
        notices: &mut Reasons,
    ) -> Result<Resources, ResourceError> {
        Resources::load(self, cwd, wanted, cancelled, notices)
    }

    fn context_id(&self, cwd: &Path) -> String {
        context_id(cwd, &[self.root(), self.sessions_dir()])
    }

    fn unwritable(&self) -> Vec<Reason> {
        self.unwritable_dirs()
    }

    fn places(&self) -> LocalPlaces {
        LocalPlaces {
            hidden: self.hidden(),
            protected: vec![self.root().to_owned()],
            staging: Some(self.staging_dir()),
            servers: Some(self.root().join("servers")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn prepares_private_directories_and_the_schema() {
        let dir = tempfile::tempdir().unwrap();
        let home = LocalHome::prepare(&dir.path().join("a/b")).unwrap();
        for path in [home.root(), home.sessions_dir()] {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        let schema = home.root().join("settings.schema.json");
        assert_eq!(fs::read_to_string(&schema).unwrap(), settings::SCHEMA);
        fs::write(&schema, "stale").unwrap();
        LocalHome::prepare(home.root()).unwrap();
        assert_eq!(fs::read_to_string(&schema).unwrap(), settings::SCHEMA);
        let names = fs::read_dir(home.root()).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        // Where the stale one was taken the place of.
        assert_eq!(names, ["sessions", "settings.schema.json", "staging"]);
    }

    #[test]
    fn aliases_of_one_home_have_one_context_and_other_homes_another() {
        let dir = tempfile::tempdir().unwrap();
        let real = LocalHome::prepare(&dir.path().join("real")).unwrap();
        std::os::unix::fs::symlink(real.root(), dir.path().join("alias")).unwrap();
        let alias = LocalHome::prepare(&dir.path().join("alias")).unwrap();
        let other = LocalHome::prepare(&dir.path().join("other")).unwrap();
        let id = |home: &LocalHome| home.context_id(dir.path());
        assert_eq!(id(&real), id(&alias));
        assert_ne!(id(&real), id(&other));

        // Sessions that really live elsewhere are other storage, whatever the home is called.
        let moved = dir.path().join("moved");
        fs::create_dir(&moved).unwrap();
        fs::remove_dir(other.sessions_dir()).unwrap();
        std::os::unix::fs::symlink(&moved, other.root().join("sessions")).unwrap();
        let relinked = LocalHome::prepare(other.root()).unwrap();
        assert_ne!(id(&other), id(&relinked));
    }
}
