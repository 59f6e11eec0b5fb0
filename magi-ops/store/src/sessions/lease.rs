//! The writer lease: an OS file lock on `<id>.lock`, so that a session has one writer and a dead one none.
//! The lock file holds no data and is never read.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{SessionError, SessionId};
use crate::file::{self, Links};

/// Attempts to lock a file that others keep removing before it counts as busy.
const ATTEMPTS: usize = 16;

/// Held while it lives. Locks belong to an open file, so a second lease of one session fails
/// within the same process too.
#[derive(Debug)]
pub(super) struct Lease {
    file: File,
    path: PathBuf,
    /// The session file whose existence makes the lock file worth keeping.
    session: PathBuf,
    /// The session file once there is one, locked as well: the lock file is easily taken for litter,
    /// and without it another process would take a lease of its own.
    content: OnceLock<File>,
}

impl Lease {
    pub(super) fn acquire(dir: &Path, id: &SessionId) -> Result<Self, SessionError> {
        let path = dir.join(id.lock_name());
        for _ in 0..ATTEMPTS {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(file::flags(Links::Refuse))
                .open(&path)
                .map_err(|error| match Errno::from_io_error(&error) {
                    Some(Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::ACCESS) => {
                        SessionError::Invalid
                    }
                    _ => SessionError::Io(error.kind()),
                })?;
            file::require_regular(&file).map_err(|_| SessionError::Invalid)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(SessionError::Busy),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(SessionError::Io(error.kind())),
            }
            let lease = Self {
                file,
                session: dir.join(id.file_name()),
                path: path.clone(),
                content: OnceLock::new(),
            };
            // Its last holder may have removed the file between our opening and locking it:
            // then the lock is on a file that nobody else can find.
            if lease.is_current() {
                return Ok(lease);
            }
        }
        Err(SessionError::Busy)
    }

    /// Extends the lease to the open session file. `Busy` when another lease has it.
    pub(super) fn cover(&self, content: &File) -> Result<(), SessionError> {
        if self.content.get().is_some() {
            return Ok(());
        }
        let content = content
            .try_clone()
            .map_err(|error| SessionError::Io(error.kind()))?;
        match flock(&content, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let _ = self.content.set(content);
                Ok(())
            }
            Err(Errno::WOULDBLOCK) => Err(SessionError::Busy),
            Err(error) => Err(SessionError::Io(error.kind())),
        }
    }

    fn is_current(&self) -> bool {
        let (Ok(here), Ok(there)) = (self.file.metadata(), fs::symlink_metadata(&self.path)) else {
            return false;
        };
        (here.dev(), here.ino()) == (there.dev(), there.ino())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A session that never became durable leaves nothing behind. Removed while the lock
        // still holds and only if the name is still ours: see `acquire` for the other side.
        let unused = matches!(
            fs::symlink_metadata(&self.session),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound
        );
        if unused && self.is_current() {
            let _ = fs::remove_file(&self.path);
        }
    }
}
