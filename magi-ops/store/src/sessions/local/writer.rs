//! Appending to a session file: whole lines, flushed when asked, never over what someone else wrote.
//! Also knows whether the file is still the one it left.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::NewFile;
use sha2::digest::Output;
use sha2::{Digest, Sha256};

use super::file::{self, Stamp, require_own};
use super::lease::Lease;
use super::read::{self, End};
use super::{
    AppendError, Body, Extent, Flush, MAX_PARTS, MAX_READ_BYTES, Moved, Position, Record,
    SCHEMA_VERSION, SessionLease, SessionWriter, now_ms, parts,
};

/// The one writer of a session.
#[derive(Debug)]
pub(super) struct Writer {
    lease: Arc<Lease>,
    /// `None` before the first append of a new session.
    open: Option<Open>,
    failed: bool,
}

/// A session file and where this writer left it.
#[derive(Debug)]
struct Open {
    file: File,
    end: End,
}

impl Writer {
    pub(super) fn lazy(lease: Arc<Lease>) -> Self {
        Self {
            lease,
            open: None,
            failed: false,
        }
    }

    /// Goes on where the file ends.
    pub(super) fn at(lease: Arc<Lease>, file: File, end: End) -> Self {
        Self {
            open: Some(Open { file, end }),
            ..Self::lazy(lease)
        }
    }

    /// The part that is written to.
    fn part(&self) -> u32 {
        self.open.as_ref().map_or(1, |open| open.end.part)
    }

    /// Its file.
    fn path(&self) -> PathBuf {
        parts::path(&self.lease.dir, &self.lease.id, self.part())
    }

    /// Whether the part that is written to is where a later look at the session goes on: no other came behind it, none
    /// before it is missing, and the first one is still the session's and safe. What is written elsewhere would look
    /// stored and never be read.
    ///
    /// `now`: a look of a moment ago won't do.
    fn is_last(&self, now: bool) -> bool {
        let Lease { looks, dir, id, .. } = &*self.lease;
        let part = self.part();
        if part > 1 && !self.lease.retains() {
            return false;
        }
        let last = match now {
            _ if !self.lease.bounds.parts => return true,
            true => parts::last(dir, id),
            false => looks.last(dir, id),
        };
        last.is_ok_and(|last| last == part)
    }

    /// The bodies as records from the number `first` on, as lines.
    fn lines(
        &self,
        first: u64,
        turn: Option<&str>,
        bodies: Vec<Body>,
    ) -> Result<Vec<u8>, AppendError> {
        let mut lines = Vec::new();
        for (n, body) in (first..).zip(bodies) {
            let record = Record {
                v: SCHEMA_VERSION,
                n,
                session: self.lease.id.as_str().to_owned(),
                at: now_ms(),
                turn: turn.map(str::to_owned),
                body,
            };
            add_line(&mut lines, &record)?;
        }
        Ok(lines)
    }

    /// The lines that the next part, `part`, begins with, and the numbers that those have which are kept.
    fn next_part(
        &self,
        open: &Open,
        part: u32,
        turn: Option<&str>,
        mut head: Vec<Body>,
        keeps: &dyn Fn(&Record) -> bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<(Vec<u8>, u64, Moved), AppendError> {
        let bounds = self.lease.bounds;
        head.insert(0, Body::Continuation { part });
        let mut next = head.len() as u64 + 1;
        let mut lines = self.lines(1, turn, head)?;
        let mut moved = Moved::new();
        let mut added = Ok(());
        let mut from_the_start = &open.file;
        from_the_start.seek(SeekFrom::Start(0))?;
        let mut take = |mut record: Record| {
            if stop() {
                added = Err(AppendError::Stopped);
            }
            if added.is_err() {
                return ControlFlow::Break(());
            }
            if !keeps(&record) {
                return ControlFlow::Continue(());
            }
            let fits = lines.len() as u64 <= bounds.bytes && next <= bounds.lines as u64;
            moved.push((record.n, next));
            record.n = next;
            next += 1;
            added = match fits {
                true => add_line(&mut lines, &record),
                false => Err(AppendError::Full),
            };
            ControlFlow::Continue(())
        };
        let end = read::read(&open.file, &self.lease.id, open.end.part, &mut take)
            .map_err(io::Error::other)?;
        added?;
        if end.bytes != open.end.bytes || end.next != open.end.next {
            return Err(AppendError::Changed);
        }
        if lines.len() as u64 > bounds.bytes {
            return Err(AppendError::Full);
        }
        Ok((lines, next - 1, moved))
    }
}

fn add_line(lines: &mut Vec<u8>, record: &Record) -> Result<(), AppendError> {
    serde_json::to_writer(&mut *lines, record).map_err(AppendError::Encode)?;
    lines.push(b'\n');
    Ok(())
}

impl SessionWriter for Writer {
    fn lease(&self) -> Arc<dyn SessionLease> {
        Arc::clone(&self.lease) as Arc<dyn SessionLease>
    }

    fn is_durable(&self) -> bool {
        self.open.is_some()
    }

    fn extent(&self) -> Extent {
        let end = self.open.as_ref().map(|open| &open.end);
        let extent = Extent {
            records: end.map_or(0, |end| end.next - 1),
            bytes: end.map_or(0, |end| end.bytes),
            bounds: self.lease.bounds,
        };
        match self.part() < MAX_PARTS {
            true => extent,
            false => extent.at_the_end(),
        }
    }

    /// All in one write. On an error the file is put back to where it was, as far as that is possible; if it is not,
    /// every later append fails too.
    fn append(
        &mut self,
        turn: Option<&str>,
        bodies: Vec<Body>,
        flush: Flush,
    ) -> Result<(), AppendError> {
        let _span = tracing::trace_span!(
            "append", session = %self.lease.id, records = bodies.len(), flush = flush.word()
        )
        .entered();
        if self.failed {
            return Err(AppendError::Failed);
        }
        let count = bodies.len() as u64;
        let Extent { records, bytes, .. } = self.extent();
        let lines = self.lines(records + 1, turn, bodies)?;
        let bounds = self.lease.bounds;
        if bytes + lines.len() as u64 > bounds.bytes || records + count > bounds.lines as u64 {
            return Err(AppendError::Full);
        }
        let path = self.path();
        // Readers see all of this append, put back or flushed, or nothing of it.
        let _lock = self.lease.appending();
        if !self.is_last(false) {
            return Err(AppendError::Changed);
        }
        match &mut self.open {
            Some(open) => open
                .append(&path, &lines, count, flush)
                .inspect_err(|error| {
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
                })?,
            None => {
                let open = Open::create(&self.lease.dir, &path, &lines, count, flush)?;
                // The file is new: nobody else can have it.
                if let Err(error) = self.lease.retain(&open.file) {
                    tracing::warn!(session = %self.lease.id, error = &error as &dyn std::error::Error, "a new session is not retained");
                }
                self.open = Some(open);
            }
        }
        tracing::trace!(bytes = lines.len(), "appended");
        Ok(())
    }

    fn begin_part(
        &mut self,
        turn: Option<&str>,
        head: Vec<Body>,
        keeps: &dyn Fn(&Record) -> bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Moved, AppendError> {
        let _span = tracing::debug_span!("begin part", session = %self.lease.id).entered();
        let (Some(open), false) = (&self.open, self.failed) else {
            return Err(AppendError::Failed);
        };
        let part = open.end.part + 1;
        if part > MAX_PARTS || !self.lease.bounds.parts {
            return Err(AppendError::Full);
        }
        let (dir, path) = (&self.lease.dir, self.path());
        let _lock = self.lease.appending();
        open.require_ours(&path)?;
        if !self.is_last(true) {
            return Err(AppendError::Changed);
        }
        let (lines, count, moved) = self.next_part(open, part, turn, head, keeps, stop)?;
        // A full part takes a while to be read.
        if !self.is_last(true) {
            return Err(AppendError::Changed);
        }
        let next = parts::path(dir, &self.lease.id, part);
        // Under its name at once and whole, so that a death at any moment leaves one session or the other.
        let directory = File::open(dir)?;
        let mut file = NewFile::create(directory.as_fd(), 0o600)?;
        file.file().write_all_at(&lines, 0)?;
        file.file().sync_data()?;
        file.place(next.file_name().unwrap_or_default())?;
        // From here on it is the session: nothing may be added to the part before.
        let file = file::open_to_write(&next).inspect_err(|_| self.failed = true)?;
        let mut end = End::of_empty(part);
        end.add(&lines, count);
        end.stamp = Stamp::mark(&file);
        self.open = Some(Open { file, end });
        tracing::debug!(part, bytes = lines.len(), "a part begins");
        if let Err(error) = directory.sync_all() {
            // It may be gone after a crash: what is written there is no promise.
            self.failed = true;
            return Err(AppendError::Flush(error));
        }
        Ok(moved)
    }

    fn position(&self) -> Option<Position> {
        let open = self.open.as_ref().filter(|_| !self.failed)?;
        open.end.stamp?;
        Some(Position(Box::new(open.end.clone())))
    }

    /// Compares size and times first; the content only if these differ or prove nothing.
    fn is_unchanged(&mut self) -> bool {
        let path = self.path();
        let is_last = self.is_last(false);
        match &mut self.open {
            Some(open) => is_last && open.is_unchanged(&path),
            None => matches!(
                std::fs::symlink_metadata(&path),
                Err(error) if error.kind() == io::ErrorKind::NotFound
            ),
        }
    }
}

impl Open {
    fn create(dir: &Path, path: &Path, lines: &[u8], count: u64, flush: Flush) -> io::Result<Self> {
        let mut open = Self {
            file: file::create(path)?,
            end: End::of_empty(1),
        };
        let written = open.write(lines, count, true).and_then(|()| match flush {
            Flush::Written => Ok(()),
            // The name of a new file is the directory's data.
            Flush::Durable => {
                open.file.sync_data()?;
                File::open(dir)?.sync_all()
            }
        });
        if let Err(error) = written {
            // No placeholder: a session without its first record does not exist.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(open)
    }

    fn append(
        &mut self,
        path: &Path,
        lines: &[u8],
        count: u64,
        flush: Flush,
    ) -> Result<(), AppendError> {
        let now = self.require_ours(path)?;
        if now.len > self.end.bytes {
            if !self.is_torn(now.len)? {
                return Err(AppendError::Changed);
            }
            self.file.set_len(self.end.bytes)?;
        }
        let before = self.end.clone();
        self.write(lines, count, self.end.stamp == Some(now))?;
        if flush == Flush::Durable
            && let Err(error) = self.file.sync_data()
        {
            self.end = before;
            return Err(AppendError::Flush(error));
        }
        Ok(())
    }

    /// The file as it stands, which must be the one that we left and nobody else's by now.
    fn require_ours(&self, path: &Path) -> Result<Stamp, AppendError> {
        let now = Stamp::of(&self.file)?;
        // The file under this name, not one that was moved or removed: writing there would
        // look like success and be lost.
        let named = std::fs::symlink_metadata(path).map(|meta| Stamp::from(&meta));
        if !named.is_ok_and(|named| named.is_same_file(&now)) || now.len < self.end.bytes {
            return Err(AppendError::Changed);
        }
        // A second name that came since is somebody's hand on the file.
        if require_own(&self.file.metadata()?).is_err() {
            return Err(AppendError::Changed);
        }
        Ok(now)
    }

    /// Writes at the end, and marks the file at once if it was as we left it: a mark over somebody's change would hide
    /// it.
    fn write(&mut self, lines: &[u8], count: u64, untouched: bool) -> io::Result<()> {
        self.end.stamp = None;
        self.file.write_all_at(lines, self.end.bytes)?;
        if untouched {
            self.end.stamp = Stamp::mark(&self.file);
        }
        self.end.add(lines, count);
        Ok(())
    }

    /// Whether what stands beyond our end, in a file of `len` bytes, is what a crash cut off: behind a record, and
    /// without an LF. Anything else was written by someone else.
    fn is_torn(&self, len: u64) -> io::Result<bool> {
        if self.end.bytes == 0 && len > 0 {
            return Ok(false);
        }
        let mut torn = true;
        self.read(self.end.bytes, len, |part| torn &= !part.contains(&b'\n'))?;
        Ok(torn)
    }

    /// Cuts off what a failed append may have left.
    fn put_back(&mut self) -> bool {
        self.end.stamp = None;
        self.file.set_len(self.end.bytes).is_ok()
    }

    fn is_unchanged(&mut self, path: &Path) -> bool {
        let Ok(named) = std::fs::symlink_metadata(path).map(|meta| Stamp::from(&meta)) else {
            return false;
        };
        if self.end.stamp == Some(named) {
            return true;
        }
        let Ok(now) = Stamp::of(&self.file) else {
            return false;
        };
        let own = self.file.metadata().and_then(|meta| require_own(&meta));
        if own.is_err()
            || !named.is_same_file(&now)
            || now.len < self.end.bytes
            || now.len > MAX_READ_BYTES
        {
            return false;
        }
        // Before the content is read: what changes meanwhile changes the time too. A time of long ago needs no mark.
        let proof = if now.is_fresh() {
            Stamp::mark(&self.file)
        } else {
            Some(now)
        };
        let same = self
            .digest()
            .is_ok_and(|hash| hash == self.end.hash.clone().finalize())
            && self.is_torn(now.len).unwrap_or(false);
        self.end.stamp = proof.filter(|_| same);
        same
    }

    fn digest(&self) -> io::Result<Output<Sha256>> {
        let mut hash = Sha256::new();
        if self.read(0, self.end.bytes, |part| hash.update(part))? < self.end.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(hash.finalize())
    }

    /// Gives what stands between two bytes to `take`, piece by piece. How many bytes there were.
    fn read(&self, from: u64, to: u64, mut take: impl FnMut(&[u8])) -> io::Result<u64> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(from))?;
        let mut input = BufReader::with_capacity(64 * 1024, file.take(to.saturating_sub(from)));
        let mut all = 0;
        loop {
            let part = input.fill_buf()?;
            let length = part.len();
            if length == 0 {
                return Ok(all);
            }
            take(part);
            input.consume(length);
            all += length as u64;
        }
    }
}
