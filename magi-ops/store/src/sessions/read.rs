//! Reading a session file: bounded, strict, tolerant only of the line that a crash cut off.
//! No repair here: the next append truncates under the lease.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::record::Record;
use super::writer::Stamp;
use super::{MAX_READ_BYTES, MAX_READ_LINES, SessionError, SessionId};
use crate::file::{self, Links};

/// A session file as it was read.
pub(super) struct Content {
    pub(super) file: File,
    pub(super) records: Vec<Record>,
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

/// Reads all of an open session file.
pub(super) fn read(file: File, id: &SessionId) -> Result<Content, SessionError> {
    let stamp = Stamp::of(&file).map_err(|_| SessionError::Invalid)?;
    if stamp.len > MAX_READ_BYTES {
        return Err(SessionError::HistoryLimit);
    }
    let mut bytes = Vec::with_capacity(stamp.len as usize);
    (&file)
        .take(MAX_READ_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| SessionError::Invalid)?;
    if bytes.len() as u64 > MAX_READ_BYTES {
        return Err(SessionError::HistoryLimit);
    }
    // What follows the last LF was never acknowledged: a write and its LF are one.
    bytes.truncate(memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1));
    let records = parse(&bytes, id)?;
    let mut hash = Sha256::new();
    hash.update(&bytes);
    Ok(Content {
        file,
        records,
        end: bytes.len() as u64,
        hash,
        stamp,
    })
}

fn parse(bytes: &[u8], id: &SessionId) -> Result<Vec<Record>, SessionError> {
    let lines = memchr::memchr_iter(b'\n', bytes).count();
    if lines > MAX_READ_LINES {
        return Err(SessionError::HistoryLimit);
    }
    let mut records: Vec<Record> = Vec::with_capacity(lines);
    let mut from = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let last = records.last().map_or(0, |record| record.n);
        let record = Record::parse(&bytes[from..end], id)
            .filter(|record| record.n == last + 1)
            .ok_or(SessionError::Invalid)?;
        records.push(record);
        from = end + 1;
    }
    Ok(records)
}
