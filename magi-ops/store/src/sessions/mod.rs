//! Sessions on disk: one append-only JSONL file each, written under a lease that dies with the process.
//! Records and their order live here; what they mean to a reader or a model is decided above.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Home;

mod cwd;
mod id;
mod lease;
mod list;
mod read;
mod record;
mod window;
mod writer;

pub use cwd::{recorded_cwd, verify_cwd};
pub use id::{InvalidSessionId, SessionId};
use lease::Lease;
pub use list::{ListError, MAX_LIST_ITEMS, MAX_SCAN_ENTRIES, SessionList, SessionSummary};
pub use record::{Body, Outcome, Record, SCHEMA_VERSION, now_ms};
pub use window::{MAX_WINDOW_BYTES, Version, Window};
pub use writer::{AppendError, Flush, Writer};

/// Most bytes of a session file that are read (spec: local-agent, "Bounds and failure policy").
pub const MAX_READ_BYTES: u64 = 64 * 1024 * 1024;
/// Most lines of a session file that are read.
pub const MAX_READ_LINES: usize = 100_000;

/// Why a session can't be used. Carries no path and no content.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("no such session")]
    Missing,
    #[error("another writer holds the session")]
    Busy,
    #[error("the session is unsafe, unreadable or malformed")]
    Invalid,
    #[error("the session belongs to another directory")]
    CwdMismatch,
    #[error("the session is beyond the read bounds")]
    HistoryLimit,
    /// The storage itself failed.
    #[error("the session storage failed: {0}")]
    Io(io::ErrorKind),
}

/// The directory of all sessions.
#[derive(Debug, Clone)]
pub struct Sessions {
    dir: PathBuf,
}

/// A session that was opened: the writer and what it found.
#[derive(Debug)]
pub struct Opened {
    pub writer: Writer,
    /// Every record, oldest first.
    pub records: Vec<Record>,
}

/// An existing session under this process's lease, its history not read. The lease is held while
/// this lives, and while a writer lives that came of it.
#[derive(Debug)]
pub struct Held {
    sessions: Sessions,
    id: SessionId,
    lease: Arc<Lease>,
}

impl Held {
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The first record, of which none but an empty session has none. Reads nothing else.
    pub fn first(&self) -> Result<Option<Record>, SessionError> {
        read::first(&self.sessions.dir.join(self.id.file_name()), &self.id)
    }

    /// Reads the session under the lease. Use one of the writers that come of this at a time:
    /// each notices what another appended as a change by someone else.
    pub fn load(&self) -> Result<Opened, SessionError> {
        let mut records = Vec::new();
        let writer = self.load_with(&mut |record| records.push(record))?;
        Ok(Opened { writer, records })
    }

    /// The same, with each record given to `take` as it is read, oldest first, and kept nowhere: a
    /// session can be far longer than what somebody wants of it. After an error, what was given
    /// counts for nothing.
    pub fn load_with(&self, take: &mut dyn FnMut(Record)) -> Result<Writer, SessionError> {
        self.sessions.read(&self.id, Arc::clone(&self.lease), take)
    }
}

impl Sessions {
    pub fn new(home: &Home) -> Self {
        Self {
            dir: home.sessions().to_owned(),
        }
    }

    /// Takes the lease of a session with a new id. No session file exists before the first
    /// append (spec: local-agent, `session.create`: no placeholder history).
    pub fn create(&self) -> Result<Writer, SessionError> {
        let id = SessionId::random();
        let lease = Lease::acquire(&self.dir, &id)?;
        Ok(Writer::lazy(self.dir.clone(), id, Arc::new(lease)))
    }

    /// Takes the lease of an existing session and reads all of it.
    pub fn open(&self, id: &SessionId) -> Result<Opened, SessionError> {
        self.attach(id)?.load()
    }

    /// Takes the lease of an existing session and reads nothing of it.
    pub fn attach(&self, id: &SessionId) -> Result<Held, SessionError> {
        // A lookup first: a session that does not exist must not leave a lock file behind.
        self.require_file(id)?;
        let lease = Lease::acquire(&self.dir, id)?;
        lease.retain(&read::open(&self.dir.join(id.file_name()))?)?;
        Ok(Held {
            sessions: self.clone(),
            id: id.clone(),
            lease: Arc::new(lease),
        })
    }

    /// Reads the session of `writer` again under the lease it holds, which both then share. A
    /// failure leaves `writer` as it is.
    pub fn reopen(&self, writer: &Writer) -> Result<Opened, SessionError> {
        let mut records = Vec::new();
        let writer = self.reopen_with(writer, &mut |record| records.push(record))?;
        Ok(Opened { writer, records })
    }

    /// The same, with each record given to `take`; see [`Held::load_with`].
    pub fn reopen_with(
        &self,
        writer: &Writer,
        take: &mut dyn FnMut(Record),
    ) -> Result<Writer, SessionError> {
        self.require_file(writer.id())?;
        self.read(writer.id(), Arc::clone(writer.lease()), take)
    }

    fn read(
        &self,
        id: &SessionId,
        lease: Arc<Lease>,
        take: &mut dyn FnMut(Record),
    ) -> Result<Writer, SessionError> {
        let file = read::open(&self.dir.join(id.file_name()))?;
        lease.retain(&file)?;
        let content = read::read(file, id, take)?;
        Ok(Writer::resume(self.dir.clone(), id.clone(), lease, content))
    }

    fn require_file(&self, id: &SessionId) -> Result<(), SessionError> {
        match fs::symlink_metadata(self.dir.join(id.file_name())) {
            Ok(meta) => read::require_own(&meta).map_err(read::refusal),
            Err(error) => Err(read::refusal(error)),
        }
    }
}

#[cfg(test)]
mod tests;
