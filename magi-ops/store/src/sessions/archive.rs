//! What a person does with the sessions that are kept: look them over, read one whole, remove one. Values and the trait;
//! what records mean is decided above.

use std::ops::ControlFlow;
use std::path::PathBuf;

use redact::{Redacted, Redactor};

use super::list::first_line;
use super::{ListError, Record, SessionError, SessionId};

/// Most directory entries that [`SessionArchive::all`] looks at.
pub const MAX_ARCHIVE_ENTRIES: usize = 1_000_000;

/// The sessions of a store, for a person's commands. Every call blocks. Nothing here takes part in a conversation.
pub trait SessionArchive: std::fmt::Debug + Send + Sync {
    /// Every session, the one with the newest last record first.
    ///
    /// # Errors
    /// [`ListError`].
    fn all(&self) -> Result<Kept, ListError>;

    /// What a session is about. Reads its beginning only.
    ///
    /// # Errors
    /// `Missing`; `Invalid` when it is unsafe or its beginning is no record; `Io`.
    fn about(&self, id: &SessionId, redactor: &Redactor) -> Result<About, SessionError>;

    /// Gives every record of a session to `take`, oldest first and each once, until that breaks off. They are numbered
    /// through, whatever part they are in. Takes no lease: a session that is being written ends where it was.
    ///
    /// # Errors
    /// `Missing`; `Invalid` and `HistoryLimit` where a record can't be read; what was given before it counts.
    fn read(
        &self,
        id: &SessionId,
        take: &mut dyn FnMut(Record) -> ControlFlow<()>,
    ) -> Result<(), SessionError>;

    /// The same of the conversation `task` of a subagent, which belongs to the session.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    fn read_task(
        &self,
        id: &SessionId,
        task: &SessionId,
        take: &mut dyn FnMut(Record) -> ControlFlow<()>,
    ) -> Result<(), SessionError>;

    /// Removes a session with all of its parts and tasks, under its lease.
    ///
    /// # Errors
    /// `Missing`; `Busy` when somebody is attached to it; `Invalid` when it is unsafe to touch; `Io`.
    fn remove(&self, id: &SessionId) -> Result<(), SessionError>;
}

/// What [`SessionArchive::all`] finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    pub sessions: Vec<KeptSession>,
    /// Names like a session's that none could be read behind.
    pub unusable: usize,
}

/// A session by its outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSession {
    pub id: SessionId,
    /// When its last record was made, in milliseconds since 1970; when its file last changed if there is none.
    pub last_at: u64,
    /// Of all of its parts.
    pub bytes: u64,
}

/// What a session is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// Of the first input: one line, at most 120 bytes. `None` of a session without one near its beginning.
    pub title: Option<Redacted>,
    /// Where it works; `None` if that is not recorded.
    pub cwd: Option<PathBuf>,
    /// When it began, in milliseconds since 1970.
    pub began_at: Option<u64>,
}

impl About {
    /// Takes a record of the session's beginning; whether all is known by now.
    pub(super) fn take(&mut self, record: &Record, redactor: &Redactor) -> ControlFlow<()> {
        self.began_at.get_or_insert(record.at);
        match &record.body {
            super::Body::Session { cwd, .. } if !cwd.is_empty() => {
                self.cwd = super::cwd::read_back(cwd);
            }
            super::Body::UserInput { text, .. } => {
                self.title = first_line(text, redactor);
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
