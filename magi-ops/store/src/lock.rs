//! Locks between processes that last as long as a descriptor, on files that hold nothing: of a change that is soon over.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::file::{self, Links};

/// Between two looks at a lock that somebody else has.
const POLL: Duration = Duration::from_millis(5);

/// Opens the file of a lock, which is made if it is missing.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(file::flags(Links::Refuse))
        .open(path)
}

/// Somebody else had it all the time: no matter of what one may do.
pub(crate) fn held() -> io::Error {
    let why = "another process of this home holds its lock; try it again once that one has done";
    io::Error::new(io::ErrorKind::WouldBlock, why)
}

/// Takes the lock, which is given back with the descriptor; `false` if somebody else has it all the time.
pub(crate) fn within(lock: &File, wait: Duration) -> io::Result<bool> {
    let begun = Instant::now();
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if begun.elapsed() < wait => std::thread::sleep(POLL),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
