//! Where sessions live: the traits that a store of sessions keeps, and the values that pass through them. The store of
//! this machine is `local`; what records mean to a reader or a model is decided above.

use std::any::Any;
use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use redact::Redactor;

mod archive;
mod cwd;
mod id;
mod list;
mod local;
mod record;
mod window;

pub use archive::{About, Kept, KeptSession, MAX_ARCHIVE_ENTRIES, SessionArchive};
pub use cwd::{recorded_cwd, verify_cwd};
pub use id::{InvalidSessionId, SessionId};
pub use list::{ListError, MAX_LIST_ITEMS, MAX_SCAN_ENTRIES, SessionList, SessionSummary};
pub use local::LocalSessions;
pub use record::{Body, Outcome, Record, SCHEMA_VERSION, now_ms};
pub use window::{MAX_WINDOW_BYTES, Version, Window};

/// Most bytes of the records of a session's part as JSON lines (spec: local-agent, "Bounds and failure policy").
pub const MAX_READ_BYTES: u64 = 64 * 1024 * 1024;
/// Most records of a part.
pub const MAX_READ_LINES: usize = 100_000;
/// Most parts of a session: more than anybody fills, and few enough to look for each of them.
pub const MAX_PARTS: u32 = 100;
/// Most bytes of the records of one task ([`SessionLease::task`]).
pub const MAX_TASK_BYTES: u64 = 16 * 1024 * 1024;
/// Most records of one task.
pub const MAX_TASK_LINES: usize = 20_000;

/// How much a conversation may hold.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    bytes: u64,
    lines: usize,
    /// Whether it may go on in another part.
    parts: bool,
}

impl Bounds {
    const SESSION: Self = Self {
        bytes: MAX_READ_BYTES,
        lines: MAX_READ_LINES,
        parts: true,
    };
    const TASK: Self = Self {
        bytes: MAX_TASK_BYTES,
        lines: MAX_TASK_LINES,
        parts: false,
    };
}

/// A store of sessions: append-only rows of records, each with at most one writer at a time, whichever process it is
/// in. A row that became too long to be read goes on in a new *part*, which is all that is read from then on (docs,
/// decision 11). Every call blocks.
pub trait SessionStore: Debug + Send + Sync {
    /// Takes the lease of a session with a new id. It does not exist before its first append (spec: local-agent,
    /// `session.create`: no placeholder history).
    ///
    /// # Errors
    /// [`SessionError::Io`] when the storage fails.
    fn create(&self) -> Result<Box<dyn SessionWriter>, SessionError>;

    /// Takes the lease of an existing session and reads nothing of it.
    ///
    /// # Errors
    /// `Missing`; `Busy` when another writer is attached; `Invalid` when it is unsafe to write; `Io`.
    fn attach(&self, id: &SessionId) -> Result<Arc<dyn SessionLease>, SessionError>;

    /// The first `limit` sessions (1 to [`MAX_LIST_ITEMS`]; others are taken for the nearest) with ids after `after`.
    /// Takes no lease; sessions come and go while it looks.
    ///
    /// # Errors
    /// [`ListError`].
    fn list(
        &self,
        after: Option<&SessionId>,
        limit: usize,
        redactor: &Redactor,
    ) -> Result<SessionList, ListError>;

    /// The recent window of a session, which another process may hold. `None` if it still is what `known` names.
    ///
    /// # Errors
    /// `Busy` while an append goes on; `Missing`; `Invalid` when it is unsafe or can't be read, but never for what it
    /// holds.
    fn window(
        &self,
        id: &SessionId,
        known: Option<&Version>,
    ) -> Result<Option<Window>, SessionError>;
}

/// The right to write a session. Held while it lives, and dies with the process.
pub trait SessionLease: Debug + Send + Sync {
    fn id(&self) -> &SessionId;

    /// What the session's last part begins with: its first record, or where it goes on from another part all up to its
    /// checkpoint. Empty of an empty session. Reads nothing else.
    ///
    /// # Errors
    /// `Missing`; `Invalid` when there are no such records.
    fn head(&self) -> Result<Vec<Record>, SessionError>;

    /// Reads the session's last part and gives each record to `take`, oldest first; keeps none, since a session can be far longer
    /// than what somebody wants of it. After an error, what was given counts for nothing.
    ///
    /// Use one of the writers that come of a lease at a time: each notices what another appended as a change by
    /// someone else.
    ///
    /// # Errors
    /// `Missing`; `Invalid` for any record that is none of this session, in its order; `HistoryLimit` beyond
    /// [`MAX_READ_BYTES`] or [`MAX_READ_LINES`].
    fn load(
        self: Arc<Self>,
        take: &mut dyn FnMut(Record),
    ) -> Result<Box<dyn SessionWriter>, SessionError>;

    /// The writer that left the session at `position`, under an earlier lease perhaps, without reading anything.
    /// `None` when the session may hold something else by now.
    ///
    /// # Errors
    /// `Missing`; `Busy` when another writer is attached after all; `Invalid`; `Io`.
    fn resume(
        self: Arc<Self>,
        position: &Position,
    ) -> Result<Option<Box<dyn SessionWriter>>, SessionError>;

    /// The writer of a new conversation that belongs to this session: that of a task which one of its runs gives to a
    /// subagent. It is no session, stands in no list and can't be attached; it holds this lease, has bounds of its own
    /// ([`MAX_TASK_BYTES`], [`MAX_TASK_LINES`]), and goes with the session. Its own lease names it; a task of a task
    /// belongs to the same session.
    ///
    /// # Errors
    /// `Io` when there is no place for it.
    fn task(self: Arc<Self>) -> Result<Box<dyn SessionWriter>, SessionError>;
}

/// Where a writer left a session, in the words of its store; see [`SessionLease::resume`].
#[derive(Debug)]
pub struct Position(pub Box<dyn Any + Send + Sync>);

/// The one writer of a session, where it left it.
pub trait SessionWriter: Debug + Send {
    fn lease(&self) -> Arc<dyn SessionLease>;

    /// Whether the session exists.
    fn is_durable(&self) -> bool;

    /// Appends `bodies` as one record each: readers see all of them or none.
    ///
    /// # Errors
    /// [`AppendError`]. Nothing of it counts as stored; what was there before still is.
    fn append(
        &mut self,
        turn: Option<&str>,
        bodies: Vec<Body>,
        flush: Flush,
    ) -> Result<(), AppendError>;

    /// How much the session's last part holds.
    fn extent(&self) -> Extent;

    /// Begins a new part of the session: a [`Body::Continuation`], then `head`, which ends with its one
    /// [`Body::Checkpoint`], then the records of the part so far that `keeps` chooses, as they are. Durable when it
    /// returns. On an error the session is what it was, or has gone on in the new part, and then every later append
    /// of this writer fails.
    /// Returns the numbers that the kept ones had and have. Looks between two records whether it shall `stop`.
    ///
    /// # Errors
    /// [`AppendError`]; `Full` also when what is kept is more than a part may hold, and for a session of too many parts;
    /// `Stopped`.
    fn begin_part(
        &mut self,
        turn: Option<&str>,
        head: Vec<Body>,
        keeps: &dyn Fn(&Record) -> bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Moved, AppendError>;

    /// Where this writer is; `None` where a later look could not prove that nothing changed.
    fn position(&self) -> Option<Position>;

    /// Whether the session still holds what this writer left, byte for byte. One that does not exist is unchanged as
    /// long as none appears.
    fn is_unchanged(&mut self) -> bool;
}

/// The numbers that records had in one part and have in the next, in their order.
pub type Moved = Vec<(u64, u64)>;

/// How much a part holds, of how much it may.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub records: u64,
    pub bytes: u64,
    bounds: Bounds,
}

impl Extent {
    /// Whether no more than a quarter of the bounds is left for what comes, and it may go on in another part.
    #[must_use]
    pub fn is_nearly_full(&self) -> bool {
        let nearly = |used: u64, most: u64| self.bounds.parts && used >= most / 4 * 3;
        nearly(self.records, self.bounds.lines as u64) || nearly(self.bytes, self.bounds.bytes)
    }

    /// Whether it may go on in another part.
    #[must_use]
    pub fn may_go_on(&self) -> bool {
        self.bounds.parts
    }

    /// The same of a part that is the last one that there may be.
    #[must_use]
    pub fn at_the_end(mut self) -> Self {
        self.bounds.parts = false;
        self
    }

    /// Whether so many records, of so many bytes together, have room.
    #[must_use]
    pub fn has_room(&self, records: u64, bytes: u64) -> bool {
        self.records.saturating_add(records) <= self.bounds.lines as u64
            && self.bytes.saturating_add(bytes) <= self.bounds.bytes
    }

    /// Of a session in memory.
    #[must_use]
    pub fn of_session(records: u64, bytes: u64) -> Self {
        Self {
            records,
            bytes,
            bounds: Bounds::SESSION,
        }
    }
}

/// Whether an append must survive a crash of the machine before it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// Survives the death of this process.
    Written,
    /// Survives that of the machine: flushed, and with a new session its name too.
    Durable,
}

impl Flush {
    /// As the log has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Durable => "durable",
        }
    }
}

/// What lies behind an error: an I/O error, a [`Defect`], or whatever another store has.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a session can't be used. Its own words carry no path and no content; its sources are for the log.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("no such session")]
    Missing,
    #[error("another writer holds the session")]
    Busy,
    #[error("the session is unsafe, unreadable or malformed")]
    Invalid(#[source] Cause),
    #[error("the session belongs to another directory")]
    CwdMismatch,
    #[error("the session is beyond the read bounds")]
    HistoryLimit,
    /// The storage itself failed.
    #[error("the session storage failed")]
    Io(#[source] io::Error),
}

impl SessionError {
    /// Of something that is not as it must be.
    pub fn invalid(cause: impl Into<Cause>) -> Self {
        Self::Invalid(cause.into())
    }
}

/// What of a record is wrong. Names places, never content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    #[error("line {line} is no record of the session")]
    Record { line: u64 },
    #[error("line {line} is out of order")]
    Order { line: u64 },
    #[error("not one whole record")]
    Torn,
    #[error("part {missing} is missing")]
    Part { missing: u32 },
}

/// Why an append failed. Nothing of it counts as stored.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The session is not as this writer left it: edited, truncated, replaced, removed, or under another name too.
    #[error("the session was changed by someone else")]
    Changed,
    /// It would be beyond what can be read again.
    #[error("the session is at its bounds")]
    Full,
    /// An earlier failure left it in an unknown state.
    #[error("an earlier append failed")]
    Failed,
    /// Whoever asked for it wants it no more.
    #[error("it was stopped before its end")]
    Stopped,
    #[error("a record can't be written as JSON")]
    Encode(#[source] serde_json::Error),
    #[error("cannot write the session")]
    Io(#[from] io::Error),
    /// After this the system no longer says what is on the disk and what is not.
    #[error("cannot flush the session")]
    Flush(#[source] io::Error),
}
