//! The locks of a session, all OS file locks (`flock`), so that a dead process holds none.
//! Lock files hold no data and are never read; what is done under a lock is decided elsewhere.
//!
//! | lock | on | held by a writer | held by others |
//! | --- | --- | --- | --- |
//! | writer lease | `<id>.lock` | exclusively, while attached | never: it excludes other writers only |
//! | retention lease | `<id>.jsonl` | shared, while attached and the file exists | shared by whoever needs the file kept; exclusively by who removes it |
//! | append lock | `<id>.append` | exclusively, during one append | shared, during a read that must not see half an append |
//!
//! A lock file is easily taken for litter. Without `<id>.lock` another process would take a lease of its own, so
//! a new writer also asks for the session file exclusively, for a moment, before it shares it: whoever is
//! attached refuses that. (Whoever else holds the retention lease does too, so hold it briefly, or attach.)
//! Without `<id>.append` a reader may see the torn end of an append, which reading tolerates.
//!
//! Who removes a session takes the writer lease and then the retention lease exclusively, and removes its parts, the last
//! one first. Its folder of tasks goes with it (`tasks`), or after it.
//! Lock files go away with their last use: a directory of sessions that rest holds session files only. What a killed
//! process left of them goes when the next one works with sessions.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::file::{self, Stamp, is_current, refusal};
use super::parts::{self, Looks};
use super::{Bounds, SessionError, SessionId};

/// Attempts to lock a file that others keep removing before it counts as busy.
const ATTEMPTS: usize = 16;
/// How long the two sides of the append lock wait for each other: longer than a flush or the read of a
/// window takes, short enough for a caller that waits.
const APPEND_WAIT: Duration = Duration::from_millis(250);
/// How long a lease that somebody holds is waited for.
const LEASE_WAIT: Duration = Duration::from_millis(10);
/// Between two attempts; `flock` knows no deadline.
const APPEND_POLL: Duration = Duration::from_millis(2);

/// The writer lease and, once there is a file, the retention lease. Held while it lives. Locks
/// belong to an open file, so a second lease of one session fails within the same process too.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) dir: PathBuf,
    pub(super) id: SessionId,
    /// How much may be written under it.
    pub(super) bounds: Bounds,
    pub(super) looks: Arc<Looks>,
    held: Held,
    /// The session file that is retained.
    content: Mutex<Option<File>>,
}

/// What keeps others out.
#[derive(Debug)]
enum Held {
    Locks {
        file: File,
        path: PathBuf,
        append: PathBuf,
    },
    /// The lease of the session that this conversation belongs to.
    Session(Arc<Lease>),
}

/// The append lock, on one side or the other. Held while it lives.
#[derive(Debug)]
pub(super) struct AppendLock {
    _file: Option<File>,
}

impl Lease {
    /// Takes it, or waits for a moment: who only looks whether somebody holds it is gone at once.
    pub(super) fn acquire(
        dir: &Path,
        id: &SessionId,
        looks: &Arc<Looks>,
    ) -> Result<Self, SessionError> {
        Self::acquire_within(dir, id, looks, LEASE_WAIT)
    }

    pub(super) fn acquire_within(
        dir: &Path,
        id: &SessionId,
        looks: &Arc<Looks>,
        wait: Duration,
    ) -> Result<Self, SessionError> {
        let _span = tracing::debug_span!("lease", session = id.as_str()).entered();
        let path = dir.join(id.lock_name());
        let append = dir.join(id.append_name());
        match file::open_to_read(&append) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(refusal(error)),
            _ => {}
        }
        for _ in 0..ATTEMPTS {
            let file =
                file::open_lock(&path).map_err(|error| match Errno::from_io_error(&error) {
                    Some(Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::ACCESS) => {
                        refusal(error)
                    }
                    _ if error.kind() == ErrorKind::InvalidInput => refusal(error),
                    _ => SessionError::Io(error),
                })?;
            let deadline = Instant::now() + wait;
            lock_until(&file, FlockOperation::NonBlockingLockExclusive, deadline)?;
            // Its last holder may have removed the file between our opening and locking it:
            // then the lock is on a file that nobody else can find.
            if is_current(&file, &path) {
                tracing::debug!(session = %id, "lease taken");
                return Ok(Self {
                    dir: dir.to_owned(),
                    id: id.clone(),
                    bounds: Bounds::SESSION,
                    looks: Arc::clone(looks),
                    held: Held::Locks { file, path, append },
                    content: Mutex::new(None),
                });
            }
        }
        Err(SessionError::Busy)
    }

    /// That of a new conversation in `dir` which belongs to `session`, and is nobody else's while that is held.
    pub(super) fn within(session: Arc<Self>, dir: PathBuf, bounds: Bounds) -> Self {
        Self {
            dir,
            id: SessionId::random(),
            bounds,
            looks: Arc::clone(&session.looks),
            held: Held::Session(session),
            content: Mutex::new(None),
        }
    }

    /// The session that this conversation belongs to: itself, if it is one.
    pub(super) fn session(self: &Arc<Self>) -> Arc<Self> {
        match &self.held {
            Held::Locks { .. } => Arc::clone(self),
            Held::Session(session) => Arc::clone(session),
        }
    }

    pub(super) fn session_file(&self) -> PathBuf {
        self.dir.join(self.id.file_name())
    }

    /// Opens a part for going on in it, and retains the session.
    pub(super) fn open_part(&self, part: u32) -> Result<File, SessionError> {
        let first = file::open_to_write(&self.session_file()).map_err(refusal)?;
        self.retain(&first)?;
        match part {
            1 => Ok(first),
            _ => file::open_to_write(&parts::path(&self.dir, &self.id, part)).map_err(refusal),
        }
    }

    /// Whether the session file is the one that is retained, and still this user's alone.
    pub(super) fn retains(&self) -> bool {
        let held = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().is_some_and(|held| {
            let own = held.metadata().and_then(|meta| file::require_own(&meta));
            own.is_ok() && is_current(held, &self.session_file())
        })
    }

    /// Takes the retention lease of the open session file, which is the first part's. `Busy` when another writer is
    /// attached to it after all.
    pub(super) fn retain(&self, content: &File) -> Result<(), SessionError> {
        if let Held::Session(_) = self.held {
            return Ok(());
        }
        let stamp = |file: &File| Stamp::of(file).map_err(SessionError::Io);
        let mut held = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = &*held
            && stamp(held)?.is_same_file(&stamp(content)?)
        {
            return Ok(());
        }
        let content = content.try_clone().map_err(SessionError::Io)?;
        // First alone, then shared: see the head of this file.
        for operation in [
            FlockOperation::NonBlockingLockExclusive,
            FlockOperation::NonBlockingLockShared,
        ] {
            lock_until(&content, operation, Instant::now())?;
        }
        *held = Some(content);
        Ok(())
    }

    /// Takes the retention lease of the open session file alone, for who removes it. `Busy` when somebody is attached.
    pub(super) fn lock_to_remove(&self, content: &File) -> Result<(), SessionError> {
        let deadline = Instant::now() + LEASE_WAIT;
        lock_until(content, FlockOperation::NonBlockingLockExclusive, deadline)
    }

    /// Takes the append lock for one append. A reader that is stopped within its read must not
    /// cost the person's words, so after the wait the append goes on without.
    pub(super) fn appending(&self) -> AppendLock {
        let Held::Locks { append, .. } = &self.held else {
            return AppendLock { _file: None };
        };
        let deadline = Instant::now() + APPEND_WAIT;
        let locked = file::open_lock(append)
            .map_err(SessionError::Io)
            .and_then(|file| {
                lock_until(&file, FlockOperation::NonBlockingLockExclusive, deadline)?;
                Ok(file)
            })
            .inspect_err(|error| {
                tracing::warn!(session = %self.id, error = error as &dyn std::error::Error, "append without its lock");
            });
        AppendLock { _file: locked.ok() }
    }
}

impl AppendLock {
    /// Keeps appends away while a session is read. Needs no lease, creates nothing. `Busy` if an
    /// append goes on for longer than the wait.
    pub(super) fn reading(dir: &Path, id: &SessionId) -> Result<Self, SessionError> {
        let path = dir.join(id.append_name());
        let deadline = Instant::now() + APPEND_WAIT;
        for _ in 0..ATTEMPTS {
            let file = match file::open_to_read(&path) {
                Ok(file) => file,
                // Nobody appends.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Ok(Self { _file: None });
                }
                Err(error) => return Err(refusal(error)),
            };
            lock_until(&file, FlockOperation::NonBlockingLockShared, deadline)?;
            if is_current(&file, &path) {
                return Ok(Self { _file: Some(file) });
            }
        }
        Err(SessionError::Busy)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let content = self.content.get_mut();
        *content.unwrap_or_else(PoisonError::into_inner) = None;
        let Held::Locks { file, path, append } = &self.held else {
            return;
        };
        // Under the append lock: a reader may hold it, and a later writer must find the same
        // file then.
        if let Ok(open) = file::open_to_read(append)
            && flock(&open, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_current(&open, append)
        {
            let _ = fs::remove_file(append);
        }
        tracing::debug!(session = %self.id, "lease given back");
        // While the lock still holds and only if the name is still ours: see `acquire` for the
        // other side.
        if is_current(file, path) {
            let _ = fs::remove_file(path);
        }
    }
}

fn lock_until(file: &File, lock: FlockOperation, deadline: Instant) -> Result<(), SessionError> {
    loop {
        match flock(file, lock) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                thread::sleep(APPEND_POLL);
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(SessionError::Busy),
            Err(error) => return Err(SessionError::Io(error.into())),
        }
    }
}
