//! An empty folder that one program is started in, gone with it.
//! Who starts where is decided in `server`.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use uuid::Uuid;

/// One that is younger may be about to be locked.
const SETTLED: Duration = Duration::from_secs(60);
/// Most that one start takes away of what others left.
const MOST_SWEPT: usize = 16;

/// A folder of this process for one program. Held by a lock on it, so that what a killed process leaves is known by
/// having none.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// A new one in `below`, which is made where it is missing; both for their owner alone. Takes away what was left
    /// there. Blocks.
    pub(crate) fn make(below: &Path) -> io::Result<Self> {
        let mut private = DirBuilder::new();
        private.mode(0o700);
        match private.create(below) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let path = below.join(Uuid::new_v4().to_string());
        private.create(&path)?;
        let lock = File::open(&path)?;
        lock.lock()?;
        sweep(below);
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    /// What a program left in it goes with a later start: it may be any amount.
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.path) {
            tracing::debug!(%error, "the folder of a server stays for now");
        }
    }
}

/// Takes folders away whose process is gone.
fn sweep(below: &Path) {
    let is_left = |path: &PathBuf| {
        let age = fs::symlink_metadata(path)
            .and_then(|about| about.modified())
            .map(|made| SystemTime::now().duration_since(made).unwrap_or_default());
        age.is_ok_and(|age| age > SETTLED)
            && File::open(path).is_ok_and(|folder| folder.try_lock().is_ok())
    };
    let entries = fs::read_dir(below).into_iter().flatten().flatten();
    let left: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(is_left)
        .take(MOST_SWEPT)
        .collect();
    if left.is_empty() {
        return;
    }
    // Nobody waits for it: it ends with the process.
    let swept = std::thread::Builder::new()
        .name("sweep".into())
        .spawn(move || {
            for path in left {
                if let Err(error) = fs::remove_dir_all(&path) {
                    tracing::debug!(%error, "the folder of a server that is gone stays");
                }
            }
        });
    if let Err(error) = swept {
        tracing::debug!(%error, "the folders of servers that are gone stay");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn one_is_private_empty_and_gone_with_its_program() {
        let home = tempfile::tempdir().unwrap();
        let below = home.path().join("servers");
        let folder = Folder::make(&below).unwrap();
        for path in [&below, folder.path()] {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn what_was_left_is_taken_away_and_what_is_held_is_not() {
        let home = tempfile::tempdir().unwrap();
        let below = home.path().join("servers");
        let old = |path: &Path| {
            let hour = SystemTime::now() - Duration::from_secs(3600);
            File::open(path).unwrap().set_modified(hour).unwrap();
        };
        let held = Folder::make(&below).unwrap();
        let left = below.join("left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("file"), "x").unwrap();
        old(&left);
        old(held.path());
        let young = below.join("young");
        fs::create_dir(&young).unwrap();
        drop(Folder::make(&below).unwrap());
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while left.exists() && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!left.exists() && held.path().exists() && young.exists());
    }
}
