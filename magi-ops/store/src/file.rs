//! Opening and reading files that others may have put there: bounded, never through a device or a pipe.
//! No format and no policy.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// What a bounded read came to.
pub(crate) enum Bounded {
    Missing,
    /// There is more than the bound.
    TooLong,
    Bytes(Vec<u8>),
}

/// Whether a symbolic link may stand in for the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// Settings are often links into a person's own collection.
    Follow,
    /// Session files are ours alone.
    Refuse,
}

/// Open flags for a file that must be regular. Non-blocking, so that a pipe under that name
/// can't hold the process; it changes nothing for regular files.
pub(crate) fn flags(links: Links) -> i32 {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == Links::Refuse {
        flags |= OFlags::NOFOLLOW;
    }
    // The flags are a C int on every platform; the bits are the same.
    flags.bits() as i32
}

/// Opens a regular file for reading; anything else is `InvalidInput`.
pub(crate) fn open_regular(path: &Path, links: Links) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags(links))
        .open(path)?;
    require_regular(&file)?;
    Ok(file)
}

pub(crate) fn require_regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ))
    }
}

/// Reads at most `limit` bytes.
pub(crate) fn read_bounded(path: &Path, limit: u64, links: Links) -> io::Result<Bounded> {
    Ok(match read_prefix(path, limit, links)? {
        None => Bounded::Missing,
        Some((_, true)) => Bounded::TooLong,
        Some((bytes, false)) => Bounded::Bytes(bytes),
    })
}

/// The first `limit` bytes and whether there are more; `None` when there is no such file.
pub(crate) fn read_prefix(
    path: &Path,
    limit: u64,
    links: Links,
) -> io::Result<Option<(Vec<u8>, bool)>> {
    let file = match open_regular(path, links) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    // One byte more than the bound tells "exactly full" from "more"; the size that `stat`
    // names is no bound, since the file may grow while it is read.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    let more = bytes.len() as u64 > limit;
    if more {
        bytes.pop();
    }
    Ok(Some((bytes, more)))
}
