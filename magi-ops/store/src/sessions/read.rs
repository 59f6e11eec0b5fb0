//! Reading a session file: bounded, strict, tolerant only of the line that a crash cut off.
//! No repair here: the next append truncates under the lease.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::record::Record;
use super::writer::Stamp;
use super::{MAX_READ_BYTES, MAX_READ_LINES, SessionError, SessionId};
use crate::file::{self, Links};

/// How much is read at a time: a session can be far longer than what is kept of it.
const BUFFER_BYTES: usize = 256 * 1024;

/// A session file that was read, its records aside.
pub(super) struct Content {
    pub(super) file: File,
    /// The number that the next record gets.
    pub(super) next: u64,
    /// Bytes up to the last LF: the records that were acknowledged.
    pub(super) end: u64,
    /// Digest of those bytes.
    pub(super) hash: Sha256,
    /// The file at the moment before it was read.
    pub(super) stamp: Stamp,
}

/// Opens a session file for appending, which needs reading too. Never follows a link.
pub(super) fn open(path: &Path) -> Result<File, SessionError> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(file::flags(Links::Refuse))
        .open(path)
        .map_err(refusal)?;
    require_own(&file.metadata().map_err(refusal)?).map_err(refusal)?;
    Ok(file)
}

/// Opens a session file, or a lock beside one, that is read only.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    let file = file::open_regular(path, Links::Refuse)?;
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

/// Why a session file could not be opened.
pub(super) fn refusal(error: io::Error) -> SessionError {
    match error.kind() {
        ErrorKind::NotFound => SessionError::Missing,
        // A link, a directory, a file we may not read: all "unsafe or unreadable".
        _ => SessionError::Invalid,
    }
}

/// The first record of a session file; `None` of an empty one.
pub(super) fn first(path: &Path, id: &SessionId) -> Result<Option<Record>, SessionError> {
    let file = open_to_read(path).map_err(refusal)?;
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_READ_BYTES))
        .read_until(b'\n', &mut line)
        .map_err(refusal)?;
    if line.is_empty() {
        return Ok(None);
    }
    let record = line
        .strip_suffix(b"\n")
        .and_then(|text| Record::parse(text, id));
    record.map(Some).ok_or(SessionError::Invalid)
}

/// Reads all of an open session file and gives each record to `take`, oldest first. What was given
/// counts for nothing if an error follows.
pub(super) fn read(
    file: File,
    id: &SessionId,
    take: &mut dyn FnMut(Record),
) -> Result<Content, SessionError> {
    let stamp = Stamp::of(&file).map_err(|_| SessionError::Invalid)?;
    if stamp.len > MAX_READ_BYTES {
        return Err(SessionError::HistoryLimit);
    }
    // The file may grow while it is read.
    let mut input = BufReader::with_capacity(BUFFER_BYTES, (&file).take(MAX_READ_BYTES + 1));
    let mut hash = Sha256::new();
    let (mut end, mut next, mut lines) = (0, 1, 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input
            .read_until(b'\n', &mut line)
            .map_err(|_| SessionError::Invalid)?;
        if end + read as u64 > MAX_READ_BYTES {
            return Err(SessionError::HistoryLimit);
        }
        // What follows the last LF was never acknowledged: a write and its LF are one. Behind no record at all
        // nothing says that it was to become one.
        let Some(text) = line.strip_suffix(b"\n") else {
            if end == 0 && !line.is_empty() {
                return Err(SessionError::Invalid);
            }
            break;
        };
        if lines == MAX_READ_LINES {
            return Err(SessionError::HistoryLimit);
        }
        let record = Record::parse(text, id)
            .filter(|record| record.n == next)
            .ok_or(SessionError::Invalid)?;
        hash.update(&line);
        end += read as u64;
        next += 1;
        lines += 1;
        take(record);
    }
    drop(input);
    Ok(Content {
        file,
        next,
        end,
        hash,
        stamp,
    })
}
