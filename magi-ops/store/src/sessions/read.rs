//! Reading a session file: bounded, strict, tolerant only of the line that a crash cut off.
//! No repair here: the next append truncates under the lease.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
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
    file::require_regular(&file).map_err(refusal)?;
    Ok(file)
}

/// Opens a session file that is read only.
pub(super) fn open_to_read(path: &Path) -> Result<File, SessionError> {
    file::open_regular(path, Links::Refuse).map_err(refusal)
}

/// Why a session file could not be opened.
fn refusal(error: std::io::Error) -> SessionError {
    match error.kind() {
        ErrorKind::NotFound => SessionError::Missing,
        // A link, a directory, a file we may not read: all "unsafe or unreadable".
        _ => SessionError::Invalid,
    }
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
        // What follows the last LF was never acknowledged: a write and its LF are one.
        let Some(text) = line.strip_suffix(b"\n") else {
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
