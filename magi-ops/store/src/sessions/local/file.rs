//! A session's files: opened only where nobody else can reach them, and told apart by a look at them.
//! No content.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::SessionError;
use crate::file::{self, Links};

/// A file touched this recently may change again without a visible change of its times: clocks
/// of file systems tick in steps.
const CLOCK_STEP: Duration = Duration::from_millis(100);

/// Opens a session file, or a lock beside one, that is read only. Never follows a link.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// Opens a session file for appending, which needs reading too.
pub(super) fn open_to_write(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true).write(true), path)
}

/// Opens a lock file, which is made where it is missing.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    open(options.mode(0o600), path)
}

/// Makes a session file, whose name must be free.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    open(options.mode(0o600), path)
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options
        .custom_flags(file::flags(Links::Refuse))
        .open(path)?;
    require_own(&file.metadata()?)?;
    Ok(file)
}

/// Whether a file is this process's alone to write: regular, under one name, its owner ours, and not open to
/// everybody. Behind a second name may stand something that is no session, and whoever else can write
/// the file can put words into the conversation. A group may write it: that is what a umask of 002 makes of every
/// file, in a group of one.
pub(super) fn require_own(meta: &Metadata) -> io::Result<()> {
    let why = if !meta.is_file() {
        "not a regular file"
    } else if meta.nlink() > 1 {
        "the file has another name"
    } else if meta.uid() != rustix::process::geteuid().as_raw() {
        "the file belongs to another user"
    } else if meta.mode() & 0o002 != 0 {
        "everybody can write the file"
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

/// Why a session file could not be used.
pub(super) fn refusal(error: io::Error) -> SessionError {
    match error.kind() {
        ErrorKind::NotFound => SessionError::Missing,
        // A link, a directory, a file we may not read: all "unsafe or unreadable".
        _ => SessionError::invalid(error),
    }
}

/// Whether `path` still names the open `file`.
pub(super) fn is_current(file: &File, path: &Path) -> bool {
    let (Ok(here), Ok(there)) = (file.metadata(), std::fs::symlink_metadata(path)) else {
        return false;
    };
    Stamp::from(&here).is_same_file(&Stamp::from(&there))
}

/// Size, identity and times of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) len: u64,
    dev: u64,
    ino: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|meta| Self::from(&meta))
    }

    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }

    /// Whether the file was touched so recently that equal times prove nothing.
    pub(super) fn is_fresh(&self) -> bool {
        let age = |(seconds, nanos): (i64, i64)| {
            let at = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
            SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH + at)
                .ok()
        };
        // A time in the future proves nothing either.
        age(self.changed).is_none_or(|age| age < CLOCK_STEP)
    }

    /// Gives a file that was just written a time of our own, so that a look at it tells later whether somebody else
    /// wrote there: writes take their time from a clock that moves in steps, so two within a step can't be told
    /// apart, but a time that was set to the nanosecond is no step's. `None` where the file system does not keep it.
    pub(super) fn mark(file: &File) -> Option<Self> {
        let mark = SystemTime::now();
        file.set_modified(mark).ok()?;
        let stamp = Self::of(file).ok()?;
        let mark = mark.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let kept = (mark.as_secs() as i64, i64::from(mark.subsec_nanos())) == stamp.modified;
        kept.then_some(stamp)
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        Self {
            len: meta.len(),
            dev: meta.dev(),
            ino: meta.ino(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}
