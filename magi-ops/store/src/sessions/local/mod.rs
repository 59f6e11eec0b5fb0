//! Sessions on this machine: append-only JSONL files in one directory, one a part, written under locks that die with the
//! process. Nothing outside knows that they are files.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Once};

use redact::Redactor;

use super::{
    AppendError, Body, Bounds, Defect, Extent, Flush, ListError, MAX_LIST_ITEMS, MAX_PARTS,
    MAX_READ_BYTES, MAX_READ_LINES, MAX_SCAN_ENTRIES, MAX_WINDOW_BYTES, Moved, Position, Record,
    SCHEMA_VERSION, SessionError, SessionId, SessionLease, SessionList, SessionStore,
    SessionSummary, SessionWriter, Version, Window, now_ms,
};
use crate::local::LocalHome;

mod archive;
mod file;
mod lease;
mod list;
mod parts;
mod read;
mod sweep;
mod tasks;
mod window;
mod writer;

use lease::Lease;
use parts::Looks;
use read::End;
use writer::Writer;

/// The sessions of a home directory.
#[derive(Debug, Clone)]
pub struct LocalSessions {
    dir: PathBuf,
    /// What killed processes left there is removed once.
    swept: Arc<Once>,
    looks: Arc<Looks>,
}

impl LocalSessions {
    #[must_use]
    pub fn new(home: &LocalHome) -> Self {
        Self {
            dir: home.sessions_dir().to_owned(),
            swept: Arc::new(Once::new()),
            looks: Arc::default(),
        }
    }
}

impl SessionStore for LocalSessions {
    fn create(&self) -> Result<Box<dyn SessionWriter>, SessionError> {
        self.swept.call_once(|| sweep::sweep(&self.dir));
        let lease = Lease::acquire(&self.dir, &SessionId::random(), &self.looks)?;
        Ok(Box::new(Writer::lazy(Arc::new(lease))))
    }

    fn attach(&self, id: &SessionId) -> Result<Arc<dyn SessionLease>, SessionError> {
        let path = self.dir.join(id.file_name());
        // A lookup first: a session that does not exist must not leave a lock file behind.
        file::open_to_write(&path).map_err(file::refusal)?;
        self.swept.call_once(|| sweep::sweep(&self.dir));
        let lease = Lease::acquire(&self.dir, id, &self.looks)?;
        // What is unsafe about its last part is unsafe about the session.
        lease.open_part(self.looks.last(&self.dir, id)?)?;
        Ok(Arc::new(lease))
    }

    fn list(
        &self,
        after: Option<&SessionId>,
        limit: usize,
        redactor: &Redactor,
    ) -> Result<SessionList, ListError> {
        self.page(after, limit, redactor)
    }

    fn window(
        &self,
        id: &SessionId,
        known: Option<&Version>,
    ) -> Result<Option<Window>, SessionError> {
        window::read(&self.dir, id, &self.looks, known)
    }
}

impl SessionLease for Lease {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn head(&self) -> Result<Vec<Record>, SessionError> {
        match self.looks.last(&self.dir, &self.id)? {
            1 => {
                let first = read::first(&self.session_file(), &self.id)?;
                Ok(first.into_iter().collect())
            }
            part => read::head(&parts::path(&self.dir, &self.id, part), &self.id, part),
        }
    }

    fn load(
        self: Arc<Self>,
        take: &mut dyn FnMut(Record),
    ) -> Result<Box<dyn SessionWriter>, SessionError> {
        let part = parts::last(&self.dir, &self.id)?;
        let file = self.open_part(part)?;
        let mut take = |record| {
            take(record);
            ControlFlow::Continue(())
        };
        let end = read::read(&file, &self.id, part, &mut take)?;
        Ok(Box::new(Writer::at(self, file, end)))
    }

    fn resume(
        self: Arc<Self>,
        position: &Position,
    ) -> Result<Option<Box<dyn SessionWriter>>, SessionError> {
        let Some(end) = position.0.downcast_ref::<End>() else {
            return Ok(None);
        };
        if self.looks.last(&self.dir, &self.id)? != end.part {
            return Ok(None);
        }
        let file = self.open_part(end.part)?;
        if Some(file::Stamp::of(&file).map_err(SessionError::Io)?) != end.stamp {
            return Ok(None);
        }
        Ok(Some(Box::new(Writer::at(self, file, end.clone()))))
    }

    fn task(self: Arc<Self>) -> Result<Box<dyn SessionWriter>, SessionError> {
        Ok(Box::new(Writer::lazy(Arc::new(tasks::lease(&self)?))))
    }
}

#[cfg(test)]
mod tests;
