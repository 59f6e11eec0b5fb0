//! Reading a session file: bounded, strict, tolerant only of the line that a crash cut off.
//! No repair here: the next append truncates under the lease.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::file::{self, Stamp, refusal};
use super::{Body, Defect, MAX_READ_BYTES, MAX_READ_LINES, Record, SessionError, SessionId};

/// How much is read at a time: a session can be far longer than what is kept of it.
const BUFFER_BYTES: usize = 256 * 1024;

/// Where a session file ends, for whoever goes on there.
#[derive(Debug, Clone)]
pub(super) struct End {
    /// The part that the file is.
    pub(super) part: u32,
    /// The number that the next record gets.
    pub(super) next: u64,
    /// Bytes up to the last LF: the records that were acknowledged.
    pub(super) bytes: u64,
    /// Digest of those bytes.
    pub(super) hash: Sha256,
    /// A stamp that means an equal file where it is found again: its time is a mark of ours, or the clock had moved on
    /// from it when it was taken. `None` when there is no such stamp.
    pub(super) stamp: Option<Stamp>,
}

impl End {
    /// Of a file without a record.
    pub(super) fn of_empty(part: u32) -> Self {
        Self {
            part,
            next: 1,
            bytes: 0,
            hash: Sha256::new(),
            stamp: None,
        }
    }

    /// Behind so many more records.
    pub(super) fn add(&mut self, lines: &[u8], count: u64) {
        self.next += count;
        self.bytes += lines.len() as u64;
        self.hash.update(lines);
    }
}

/// The first record of a session file; `None` of an empty one.
pub(super) fn first(path: &Path, id: &SessionId) -> Result<Option<Record>, SessionError> {
    let file = file::open_to_read(path).map_err(refusal)?;
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
    record
        .map(Some)
        .ok_or_else(|| SessionError::invalid(Defect::Record { line: 1 }))
}

/// Whether what is read of a part says which it is and has its head, as every part but the first, and nothing says that
/// elsewhere; `cut`: its beginning is not among what was read.
pub(super) fn says(part: u32, cut: bool, records: &[Record]) -> bool {
    let mut records = records.iter();
    if !cut && part > 1 {
        if records.next().and_then(continued) != Some(part) {
            return false;
        }
        let mut behind = records.clone().skip_while(|record| is_of_head(record));
        if !behind.next().is_some_and(ends_head) {
            return false;
        }
    }
    records.all(|record| continued(record).is_none())
}

/// Whether a record may stand between a part's first one and its checkpoint.
fn is_of_head(record: &Record) -> bool {
    matches!(record.body, Body::Session { .. } | Body::Selection { .. })
}

fn ends_head(record: &Record) -> bool {
    matches!(record.body, Body::Checkpoint { .. })
}

/// What a part but the first begins with, up to its checkpoint.
pub(super) fn head(path: &Path, id: &SessionId, part: u32) -> Result<Vec<Record>, SessionError> {
    let file = file::open_to_read(path).map_err(refusal)?;
    let mut head = Vec::new();
    read(&file, id, part, &mut |record| {
        let ends = ends_head(&record);
        head.push(record);
        match ends {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    Ok(head)
}

/// The part that a record begins.
fn continued(record: &Record) -> Option<u32> {
    match record.body {
        Body::Continuation { part } => Some(part),
        _ => None,
    }
}

/// Reads all of an open file, which is the session's part of this number, and gives each record to `take`, oldest first, until that
/// breaks off. What was given counts for nothing if an error follows.
pub(super) fn read(
    file: &File,
    id: &SessionId,
    part: u32,
    take: &mut dyn FnMut(Record) -> ControlFlow<()>,
) -> Result<End, SessionError> {
    let stamp = Stamp::of(file).map_err(SessionError::Io)?;
    if stamp.len > MAX_READ_BYTES {
        return Err(SessionError::HistoryLimit);
    }
    // The file may grow while it is read.
    let mut input = BufReader::with_capacity(BUFFER_BYTES, file.take(MAX_READ_BYTES + 1));
    let mut end = End::of_empty(part);
    // It appeared with its head, without which what stood before is lost.
    let mut in_head = part > 1;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input
            .read_until(b'\n', &mut line)
            .map_err(SessionError::Io)?;
        if end.bytes + read as u64 > MAX_READ_BYTES {
            return Err(SessionError::HistoryLimit);
        }
        // What follows the last LF was never acknowledged: a write and its LF are one. Behind no record at all
        // nothing says that it was to become one.
        let Some(text) = line.strip_suffix(b"\n") else {
            if end.bytes == 0 && !line.is_empty() {
                return Err(SessionError::invalid(Defect::Torn));
            }
            break;
        };
        if end.next > MAX_READ_LINES as u64 {
            return Err(SessionError::HistoryLimit);
        }
        let record = Record::parse(text, id)
            .ok_or_else(|| SessionError::invalid(Defect::Record { line: end.next }))?;
        // A part says which it is, so that none can stand for another.
        let expected = (part > 1 && end.next == 1).then_some(part);
        if record.n != end.next || continued(&record) != expected {
            return Err(SessionError::invalid(Defect::Order { line: end.next }));
        }
        in_head &= !ends_head(&record);
        if in_head && expected.is_none() && !is_of_head(&record) {
            return Err(SessionError::invalid(Defect::Order { line: end.next }));
        }
        end.add(&line, 1);
        if take(record).is_break() {
            return Ok(end);
        }
    }
    if in_head {
        return Err(SessionError::invalid(Defect::Torn));
    }
    end.stamp = (!stamp.is_fresh()).then_some(stamp);
    Ok(end)
}
