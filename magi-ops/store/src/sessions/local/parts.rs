//! The parts of a session: its file, and those that go on where the one before had no room left. Which is the last.
//! What stands in them is read and written elsewhere.
//!
//! Part 1 is `<id>.jsonl`, which stays what it is for as long as there is the session; the others are `<id>.<n>.jsonl`. A
//! part appears under its name whole, so the last one that there is is the session as it stands.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Defect, MAX_PARTS, SessionError, SessionId};

/// The file of a part.
pub(super) fn path(dir: &Path, id: &SessionId, part: u32) -> PathBuf {
    dir.join(id.part_name(part))
}

/// The number of the last part; 1 also of a session that does not exist. What is not a file counts too, and is
/// refused when it is opened. Looks for all parts that there may be.
///
/// # Errors
/// `Invalid` where a part is missing before the last one: what goes on before it would be hidden by those behind.
pub(super) fn last(dir: &Path, id: &SessionId) -> Result<u32, SessionError> {
    let last = first_run(dir, id);
    match (last + 2..=MAX_PARTS).any(|part| exists(dir, id, part)) {
        true => Err(SessionError::invalid(Defect::Part { missing: last + 1 })),
        false => Ok(last),
    }
}

/// The number of the last part before which none is missing.
fn first_run(dir: &Path, id: &SessionId) -> u32 {
    let parts = (2..=MAX_PARTS).take_while(|part| exists(dir, id, *part));
    parts.last().unwrap_or(1)
}

fn exists(dir: &Path, id: &SessionId, part: u32) -> bool {
    fs::symlink_metadata(path(dir, id, part)).is_ok()
}

/// How long a look at all parts holds, as long as those that there were are all that follow each other.
const HOLDS: Duration = Duration::from_secs(1);
/// Most sessions whose looks are kept; the oldest one makes room.
pub(super) const MAX_LOOKS: usize = 64;

/// The looks at sessions of a moment ago: one that is used again and again is looked at whole once in a while.
///
/// A hundred calls of the system for each turn, each page and each attachment would be most of what these cost. Reading
/// a session whole and beginning a part look themselves.
#[derive(Debug, Default)]
pub(super) struct Looks(Mutex<Vec<Look>>);

#[derive(Debug)]
struct Look {
    id: SessionId,
    last: u32,
    at: Instant,
}

impl Looks {
    /// What [`last`] says, by a look of at most [`HOLDS`] ago.
    ///
    /// # Errors
    /// Those of [`last`].
    pub(super) fn last(&self, dir: &Path, id: &SessionId) -> Result<u32, SessionError> {
        let now = first_run(dir, id);
        let holds = |look: &Look| look.last == now && look.id == *id && look.at.elapsed() < HOLDS;
        if self.lock().iter().any(holds) {
            return Ok(now);
        }
        let at = Instant::now();
        let last = last(dir, id)?;
        let mut looks = self.lock();
        looks.retain(|look| look.id != *id);
        if looks.len() == MAX_LOOKS {
            looks.remove(0);
        }
        let id = id.clone();
        looks.push(Look { id, last, at });
        Ok(last)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Look>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.lock().len()
    }

    /// As if the looks were older than they hold.
    #[cfg(test)]
    pub(super) fn forget(&self) {
        self.lock().clear();
    }
}
