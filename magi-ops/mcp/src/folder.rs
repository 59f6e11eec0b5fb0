//! An empty folder that one program is started in, gone with it.
//! Who starts where is decided in `server`.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

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
        // Held by whoever makes one until that is locked, and by whoever looks for those that are not.
        let all = File::open(below)?;
        all.lock()?;
        let path = below.join(Uuid::new_v4().to_string());
        private.create(&path)?;
        let lock = File::open(&path)?;
        lock.lock()?;
        sweep(below);
        Ok(Self { path, _lock: lock })
    }

    /// Takes away what was left in `below`, if that is there and nobody else does. Blocks for a moment.
    pub(crate) fn clear(below: &Path) {
        if let Ok(all) = File::open(below)
            && all.try_lock().is_ok()
        {
            sweep(below);
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    /// What a program left in it goes with the next start of any: it may be any amount.
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.path) {
            tracing::debug!(%error, "the folder of a server stays for now");
        }
    }
}

/// Takes folders away whose process is gone. Whoever calls it holds `below`.
fn sweep(below: &Path) {
    let is_left = |path: &PathBuf| File::open(path).is_ok_and(|folder| folder.try_lock().is_ok());
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
    use std::time::{Duration, Instant};

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
        let gone = |path: &Path| {
            let until = Instant::now() + Duration::from_secs(10);
            while path.exists() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            !path.exists()
        };
        Folder::clear(&below);
        assert!(!below.exists(), "nothing is made only to be cleared");
        let held = Folder::make(&below).unwrap();
        for clear in [
            (|below| drop(Folder::make(below).unwrap())) as fn(&Path),
            Folder::clear,
        ] {
            let left = below.join("left");
            fs::create_dir(&left).unwrap();
            fs::write(left.join("file"), "x").unwrap();
            clear(&below);
            assert!(gone(&left) && held.path().exists());
        }
    }

    #[test]
    fn many_that_are_made_and_cleared_at_once_keep_theirs() {
        let home = tempfile::tempdir().unwrap();
        let below = home.path().join("servers");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let folder = Folder::make(&below).unwrap();
                        Folder::clear(&below);
                        assert!(folder.path().exists());
                    }
                });
            }
        });
    }
}
