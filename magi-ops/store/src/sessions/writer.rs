//! Appending to a session: whole lines, flushed when asked, never over what someone else wrote.
//! Also knows whether the file is still the one it left.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::lease::Lease;
use super::read::Content;
use super::record::{Body, Record, SCHEMA_VERSION, now_ms};
use super::{MAX_READ_BYTES, MAX_READ_LINES, SessionId, read};
use crate::file::{self, Links};

/// A file touched this recently may change again without a visible change of its times: clocks
/// of file systems tick in steps.
const CLOCK_STEP: Duration = Duration::from_millis(100);

/// Whether an append must survive a crash of the machine before it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// Written to the file: survives the death of this process.
    Written,
    /// `fdatasync` of the file, and `fsync` of the directory for a new file.
    Durable,
}

/// Why an append failed. Nothing of it counts as stored.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The file is not the one that this writer left: edited, truncated, replaced or removed.
    #[error("the session file was changed by someone else")]
    Changed,
    /// The file would be beyond what can be read again.
    #[error("the session is at its bounds")]
    Full,
    /// An earlier failure left the file in an unknown state.
    #[error("an earlier append failed")]
    Failed,
    #[error("a record can't be written as JSON")]
    Encode,
    #[error("cannot write the session file: {0}")]
    Io(#[from] io::Error),
    /// After this the system no longer says what is on the disk and what is not.
    #[error("cannot flush the session file: {0}")]
    Flush(#[source] io::Error),
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

    fn is_same_file(&self, other: &Self) -> bool {
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
}

impl From<&std::fs::Metadata> for Stamp {
    fn from(meta: &std::fs::Metadata) -> Self {
        Self {
            len: meta.len(),
            dev: meta.dev(),
            ino: meta.ino(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// The one writer of a session.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    id: SessionId,
    lease: Arc<Lease>,
    /// `None` before the first append of a new session.
    open: Option<Open>,
    next: u64,
    failed: bool,
}

/// A session file and where this writer left it.
#[derive(Debug)]
struct Open {
    file: File,
    end: u64,
    /// Digest of everything before `end`.
    hash: Sha256,
    /// The file as this writer last saw it; `None` when it can't be told.
    stamp: Option<Stamp>,
    /// An equal stamp means an equal file: its time is a mark of ours, or the clock had moved on from it when it was
    /// taken.
    settled: bool,
}

impl Writer {
    pub(super) fn lazy(dir: PathBuf, id: SessionId, lease: Arc<Lease>) -> Self {
        Self {
            dir,
            id,
            lease,
            open: None,
            next: 1,
            failed: false,
        }
    }

    /// Goes on where `content` ends.
    pub(super) fn resume(dir: PathBuf, id: SessionId, lease: Arc<Lease>, content: Content) -> Self {
        Self {
            dir,
            id,
            lease,
            next: content.next,
            open: Some(Open {
                file: content.file,
                end: content.end,
                hash: content.hash,
                settled: !content.stamp.is_fresh(),
                stamp: Some(content.stamp),
            }),
            failed: false,
        }
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Whether the session has a file.
    pub fn is_durable(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the file holds no record yet, so that [`Body::Session`] belongs first.
    pub fn is_empty(&self) -> bool {
        self.next == 1
    }

    pub(super) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    fn path(&self) -> PathBuf {
        self.dir.join(self.id.file_name())
    }

    /// Appends `bodies` as one record each, all in one write.
    ///
    /// On an error the file is put back to where it was, as far as that is possible; if it is
    /// not, every later append fails too.
    pub fn append(
        &mut self,
        turn: Option<&str>,
        bodies: Vec<Body>,
        flush: Flush,
    ) -> Result<(), AppendError> {
        if self.failed {
            return Err(AppendError::Failed);
        }
        let mut lines = Vec::new();
        let count = bodies.len() as u64;
        for (n, body) in (self.next..).zip(bodies) {
            let record = Record {
                v: SCHEMA_VERSION,
                n,
                session: self.id.as_str().to_owned(),
                at: now_ms(),
                turn: turn.map(str::to_owned),
                body,
            };
            serde_json::to_writer(&mut lines, &record).map_err(|_| AppendError::Encode)?;
            lines.push(b'\n');
        }
        let end = self.open.as_ref().map_or(0, |open| open.end);
        let lines_after = self.next - 1 + count;
        if end + lines.len() as u64 > MAX_READ_BYTES || lines_after > MAX_READ_LINES as u64 {
            return Err(AppendError::Full);
        }
        let path = self.path();
        // Readers see all of this append, put back or flushed, or nothing of it.
        let _lock = self.lease.appending();
        let result = match &mut self.open {
            Some(open) => open.append(&path, &lines, flush).inspect_err(|error| {
                // A file that others changed is theirs to answer for; what we left half
                // written is not to be built upon.
                self.failed = match error {
                    AppendError::Changed => false,
                    AppendError::Flush(_) => {
                        open.put_back();
                        true
                    }
                    _ => !open.put_back(),
                };
            }),
            None => match Open::create(&self.dir, &path, &lines, flush) {
                Ok(open) => {
                    // The file is new: nobody else can have it.
                    let _ = self.lease.retain(&open.file);
                    self.open = Some(open);
                    Ok(())
                }
                Err(error) => Err(error.into()),
            },
        };
        if result.is_ok() {
            self.next += count;
        }
        result
    }

    /// Whether the file still holds what this writer left, byte for byte. A session without a
    /// file is unchanged as long as none appears.
    ///
    /// Compares size and times first; the content only if these differ or prove nothing.
    pub fn is_unchanged(&mut self) -> bool {
        let path = self.path();
        match &mut self.open {
            Some(open) => open.is_unchanged(&path),
            None => matches!(
                std::fs::symlink_metadata(&path),
                Err(error) if error.kind() == io::ErrorKind::NotFound
            ),
        }
    }
}

impl Open {
    fn create(dir: &Path, path: &Path, lines: &[u8], flush: Flush) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(file::flags(Links::Refuse))
            .open(path)?;
        let written = file.write_all_at(lines, 0).and_then(|()| match flush {
            Flush::Written => Ok(()),
            // The name of a new file is the directory's data.
            Flush::Durable => file.sync_data().and_then(|()| File::open(dir)?.sync_all()),
        });
        if let Err(error) = written {
            // No placeholder: a session without its first record does not exist.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        let mut open = Self {
            file,
            end: 0,
            hash: Sha256::new(),
            stamp: None,
            settled: false,
        };
        open.written(lines);
        Ok(open)
    }

    fn append(&mut self, path: &Path, lines: &[u8], flush: Flush) -> Result<(), AppendError> {
        let now = Stamp::of(&self.file)?;
        // The file under this name, not one that was moved or removed: writing there would
        // look like success and be lost.
        let named = std::fs::symlink_metadata(path).map(|meta| Stamp::from(&meta));
        if !named.is_ok_and(|named| named.is_same_file(&now)) || now.len < self.end {
            return Err(AppendError::Changed);
        }
        // A second name that came since is somebody's hand on the file.
        if read::require_own(&self.file.metadata()?).is_err() {
            return Err(AppendError::Changed);
        }
        if now.len > self.end {
            if !self.is_torn(now.len)? {
                return Err(AppendError::Changed);
            }
            self.file.set_len(self.end)?;
        }
        self.file.write_all_at(lines, self.end)?;
        if flush == Flush::Durable {
            self.file.sync_data().map_err(AppendError::Flush)?;
        }
        self.written(lines);
        Ok(())
    }

    /// Notes what was just written, and marks the file so that a look at it tells later whether somebody else wrote
    /// there: writes take their time from a clock that moves in steps, so two within a step can't be told apart,
    /// but a time that was set to the nanosecond is no step's. Where the file system does not keep it, content is compared.
    fn written(&mut self, lines: &[u8]) {
        self.end += lines.len() as u64;
        self.hash.update(lines);
        let mark = SystemTime::now();
        let marked = self.file.set_modified(mark);
        self.stamp = Stamp::of(&self.file).ok();
        self.settled = marked.is_ok()
            && self.stamp.is_some_and(|stamp| {
                let mark = mark.duration_since(SystemTime::UNIX_EPOCH);
                let (seconds, nanos) = stamp.modified;
                mark.is_ok_and(|mark| {
                    (mark.as_secs() as i64, i64::from(mark.subsec_nanos())) == (seconds, nanos)
                })
            });
    }

    /// Whether what stands beyond our end, in a file of `len` bytes, is what a crash cut off: behind a record, and
    /// without an LF. Anything else was written by someone else.
    fn is_torn(&self, len: u64) -> io::Result<bool> {
        if self.end == 0 && len > 0 {
            return Ok(false);
        }
        let mut at = self.end;
        let mut buffer = [0; 64 * 1024];
        while at < len {
            let most = buffer
                .len()
                .min(usize::try_from(len - at).unwrap_or(usize::MAX));
            let read = self.file.read_at(&mut buffer[..most], at)?;
            if read == 0 {
                break;
            }
            if buffer[..read].contains(&b'\n') {
                return Ok(false);
            }
            at += read as u64;
        }
        Ok(true)
    }

    /// Cuts off what a failed append may have left.
    fn put_back(&mut self) -> bool {
        self.stamp = None;
        self.file.set_len(self.end).is_ok()
    }

    fn is_unchanged(&mut self, path: &Path) -> bool {
        let Ok(named) = std::fs::symlink_metadata(path).map(|meta| Stamp::from(&meta)) else {
            return false;
        };
        if self.settled && self.stamp == Some(named) {
            return true;
        }
        let Ok(now) = Stamp::of(&self.file) else {
            return false;
        };
        if !named.is_same_file(&now) || now.len < self.end || now.len > MAX_READ_BYTES {
            return false;
        }
        if !self
            .file
            .metadata()
            .is_ok_and(|meta| read::require_own(&meta).is_ok())
        {
            return false;
        }
        let same = self
            .digest()
            .is_ok_and(|hash| hash == self.hash.clone().finalize().to_vec())
            && self.is_torn(now.len).unwrap_or(false);
        if same {
            self.stamp = Some(now);
            self.settled = !now.is_fresh();
        }
        same
    }

    fn digest(&self) -> io::Result<Vec<u8>> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        let mut hash = Sha256::new();
        let mut left = self.end;
        let mut buffer = vec![0; 64 * 1024];
        while left > 0 {
            let most = buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = file.read(&mut buffer[..most])?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            hash.update(&buffer[..read]);
            left -= read as u64;
        }
        Ok(hash.finalize().to_vec())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::tests::{Place, append};
    use super::*;

    #[test]
    fn nothing_is_appended_that_could_not_be_read_again() {
        let place = Place::new();
        let mut writer = place.sessions.create().unwrap();
        let id = writer.id().clone();
        let most = "x".repeat(MAX_READ_BYTES as usize / 2);
        append(&mut writer, &most).unwrap();
        assert!(matches!(append(&mut writer, &most), Err(AppendError::Full)));
        // Not a failure of the file: what fits is still taken.
        append(&mut writer, "end").unwrap();
        drop(writer);
        assert_eq!(place.sessions.open(&id).unwrap().records.len(), 2);

        let mut writer = place.sessions.create().unwrap();
        let id = writer.id().clone();
        let body = || Body::Diagnostic {
            code: "c".into(),
            summary: String::new(),
        };
        let many = |count: usize| (0..count).map(|_| body()).collect();
        writer
            .append(None, many(MAX_READ_LINES), Flush::Written)
            .unwrap();
        let beyond = writer.append(None, many(1), Flush::Written);
        assert!(matches!(beyond, Err(AppendError::Full)));
        drop(writer);
        assert_eq!(
            place.sessions.open(&id).unwrap().records.len(),
            MAX_READ_LINES
        );
    }
}
