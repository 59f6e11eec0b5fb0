//! The parts of a session: its file, and those that go on where the one before had no room left. Which is the last.
//! What stands in them is read and written elsewhere.
//!
//! Part 1 is `<id>.jsonl`, which stays what it is for as long as there is the session; the others are `<id>.<n>.jsonl`. A
//! part appears under its name whole, so the last one that there is is the session as it stands.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Defect, SessionError, SessionId};

/// Most parts of a session: more than anybody fills, and few enough to look for each of them.
pub(super) const MAX_PARTS: u32 = 100;

/// The file of a part.
pub(super) fn path(dir: &Path, id: &SessionId, part: u32) -> PathBuf {
    dir.join(id.part_name(part))
}

/// The number of the last part; 1 also of a session that does not exist. What is not a file counts too, and is
/// refused when it is opened.
///
/// # Errors
/// `Invalid` where a part is missing before the last one: what goes on before it would be hidden by those behind.
pub(super) fn last(dir: &Path, id: &SessionId) -> Result<u32, SessionError> {
    let exists = |part: &u32| fs::symlink_metadata(path(dir, id, *part)).is_ok();
    let last = (2..=MAX_PARTS).take_while(exists).last().unwrap_or(1);
    match (last + 2..=MAX_PARTS).any(|part| exists(&part)) {
        true => Err(SessionError::invalid(Defect::Part { missing: last + 1 })),
        false => Ok(last),
    }
}
