//! Sessions in memory, by the rules of any store: for tests of what works on sessions, and the proof that nothing
//! there takes them for files.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use store::Redactor;
use store::sessions::{
    AppendError, Body, Extent, Flush, ListError, Moved, Position, Record, SCHEMA_VERSION,
    SessionError, SessionId, SessionLease, SessionList, SessionStore, SessionSummary,
    SessionWriter, Version, Window,
};

/// Two clones are one store.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemorySessions {
    all: Arc<Mutex<BTreeMap<SessionId, Session>>>,
    /// Where each end of a lease is noted, beside what a test notes of other things.
    pub(crate) ends: Arc<Mutex<Vec<&'static str>>>,
    /// How often a session was read whole.
    pub(crate) loads: Arc<AtomicU32>,
    /// Whether each session is in the last part that it may have.
    pub(crate) at_the_end: Arc<AtomicBool>,
}

#[derive(Clone, Debug, Default)]
struct Session {
    /// `None` before the first append.
    records: Option<Vec<Record>>,
    held: bool,
    /// It belongs to another one, and is none itself.
    is_task: bool,
    /// Counts what changed it.
    generation: u64,
}

#[derive(Debug)]
struct Lease {
    sessions: MemorySessions,
    id: SessionId,
}

#[derive(Debug)]
struct Writer {
    lease: Arc<Lease>,
    generation: u64,
}

impl MemorySessions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Session>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_writer(&self, is_task: bool) -> Box<dyn SessionWriter> {
        let id = SessionId::random();
        let session = Session {
            held: true,
            is_task,
            ..Session::default()
        };
        self.lock().insert(id.clone(), session);
        let sessions = self.clone();
        Box::new(Writer {
            lease: Arc::new(Lease { sessions, id }),
            generation: 0,
        })
    }

    fn get(&self, id: &SessionId) -> Option<Session> {
        self.lock().get(id).cloned()
    }

    /// Changes the stored records as another program would.
    pub(crate) fn edit(&self, id: &SessionId, edit: impl FnOnce(&mut Vec<Record>)) {
        if let Some(session) = self.lock().get_mut(id) {
            edit(session.records.get_or_insert_default());
            session.generation += 1;
        }
    }
}

impl SessionStore for MemorySessions {
    fn create(&self) -> Result<Box<dyn SessionWriter>, SessionError> {
        Ok(self.new_writer(false))
    }

    fn attach(&self, id: &SessionId) -> Result<Arc<dyn SessionLease>, SessionError> {
        let mut all = self.lock();
        let session = all.get_mut(id).filter(|session| !session.is_task);
        let session = session.ok_or(SessionError::Missing)?;
        if std::mem::replace(&mut session.held, true) {
            return Err(SessionError::Busy);
        }
        Ok(Arc::new(Lease {
            sessions: self.clone(),
            id: id.clone(),
        }))
    }

    fn list(
        &self,
        after: Option<&SessionId>,
        limit: usize,
        redactor: &Redactor,
    ) -> Result<SessionList, ListError> {
        let all = self.lock();
        let mut found = all
            .iter()
            .filter(|(_, session)| session.records.is_some() && !session.is_task)
            .filter(|(id, _)| after.is_none_or(|it| *id > it));
        let page = found.by_ref().take(limit).map(|(id, session)| {
            let input = session.records.iter().flatten().find_map(|record| {
                let Body::UserInput { text, .. } = &record.body else {
                    return None;
                };
                Some(text.as_str())
            });
            SessionSummary::new(id.clone(), input, SystemTime::now(), redactor)
        });
        let sessions: Vec<_> = page.collect();
        let truncated = found.next().is_some();
        let last = sessions.last().map(|summary| summary.id.clone());
        Ok(SessionList {
            sessions,
            next_after: last.filter(|_| truncated),
            truncated,
            incomplete: false,
        })
    }

    /// All of it: nothing here is longer than a window.
    fn window(
        &self,
        id: &SessionId,
        known: Option<&Version>,
    ) -> Result<Option<Window>, SessionError> {
        let session = self.get(id).ok_or(SessionError::Missing)?;
        let version = Version(Some(session.generation.to_string()));
        if known.is_some_and(|known| known.proves(&version)) {
            return Ok(None);
        }
        Ok(Some(Window {
            records: session.records.ok_or(SessionError::Missing)?,
            part: 1,
            damaged: false,
            cut: false,
            version,
        }))
    }
}

impl SessionLease for Lease {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn head(&self) -> Result<Vec<Record>, SessionError> {
        let session = self.sessions.get(&self.id).unwrap_or_default();
        let records = session.records.ok_or(SessionError::Missing)?;
        Ok(records.into_iter().take(1).collect())
    }

    fn load(
        self: Arc<Self>,
        take: &mut dyn FnMut(Record),
    ) -> Result<Box<dyn SessionWriter>, SessionError> {
        let session = self.sessions.get(&self.id).unwrap_or_default();
        let records = session.records.ok_or(SessionError::Missing)?;
        records.into_iter().for_each(take);
        self.sessions.loads.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Writer {
            generation: session.generation,
            lease: self,
        }))
    }

    fn resume(
        self: Arc<Self>,
        position: &Position,
    ) -> Result<Option<Box<dyn SessionWriter>>, SessionError> {
        let session = self.sessions.get(&self.id).unwrap_or_default();
        let generation = position.0.downcast_ref() == Some(&session.generation);
        Ok(generation.then(|| {
            Box::new(Writer {
                generation: session.generation,
                lease: self,
            }) as Box<dyn SessionWriter>
        }))
    }

    fn task(self: Arc<Self>) -> Result<Box<dyn SessionWriter>, SessionError> {
        Ok(self.sessions.new_writer(true))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let ends = self.sessions.ends.lock();
        ends.unwrap_or_else(PoisonError::into_inner).push("session");
        let mut all = self.sessions.lock();
        if let Some(session) = all.get_mut(&self.id) {
            session.held = false;
        }
        all.retain(|_, session| session.held || session.records.is_some());
    }
}

impl SessionWriter for Writer {
    fn lease(&self) -> Arc<dyn SessionLease> {
        Arc::clone(&self.lease) as Arc<dyn SessionLease>
    }

    fn is_durable(&self) -> bool {
        let session = self.lease.sessions.get(&self.lease.id);
        session.is_some_and(|session| session.records.is_some())
    }

    fn append(
        &mut self,
        turn: Option<&str>,
        bodies: Vec<Body>,
        _: Flush,
    ) -> Result<(), AppendError> {
        let mut all = self.lease.sessions.lock();
        let session = all.entry(self.lease.id.clone()).or_default();
        if session.generation != self.generation {
            return Err(AppendError::Changed);
        }
        let records = session.records.get_or_insert_default();
        for body in bodies {
            records.push(Record {
                v: SCHEMA_VERSION,
                n: records.len() as u64 + 1,
                session: self.lease.id.to_string(),
                at: 0,
                turn: turn.map(str::to_owned),
                body,
            });
        }
        session.generation += 1;
        self.generation += 1;
        Ok(())
    }

    fn extent(&self) -> Extent {
        let session = self.lease.sessions.get(&self.lease.id).unwrap_or_default();
        let records = session.records.unwrap_or_default();
        let extent = Extent::of_session(records.len() as u64, 0);
        match self.lease.sessions.at_the_end.load(Ordering::Relaxed) {
            true => extent.at_the_end(),
            false => extent,
        }
    }

    fn begin_part(
        &mut self,
        turn: Option<&str>,
        head: Vec<Body>,
        keeps: &dyn Fn(&Record) -> bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Moved, AppendError> {
        if stop() {
            return Err(AppendError::Stopped);
        }
        let old = {
            let mut all = self.lease.sessions.lock();
            let session = all.get_mut(&self.lease.id).ok_or(AppendError::Changed)?;
            session.records.replace(Vec::new()).unwrap_or_default()
        };
        let begin = Body::Continuation { part: 2 };
        let head = std::iter::once(begin).chain(head).collect();
        self.append(turn, head, Flush::Durable)?;
        let mut kept = Vec::new();
        let mut all = self.lease.sessions.lock();
        let session = all.get_mut(&self.lease.id).ok_or(AppendError::Changed)?;
        let records = session.records.get_or_insert_default();
        for mut record in old.into_iter().filter(keeps) {
            let n = records.len() as u64 + 1;
            kept.push((record.n, n));
            record.n = n;
            records.push(record);
        }
        Ok(kept)
    }

    fn position(&self) -> Option<Position> {
        Some(Position(Box::new(self.generation)))
    }

    fn is_unchanged(&mut self) -> bool {
        let session = self.lease.sessions.get(&self.lease.id).unwrap_or_default();
        session.generation == self.generation
    }
}
