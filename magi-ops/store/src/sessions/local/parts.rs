//! The parts of a session: its file, and those that go on where the one before had no room left. Which is the last.
//! What stands in them is read and written elsewhere.
//!
//! Part 1 is `<id>.jsonl`, which stays what it is for as long as there is the session; the others are `<id>.<n>.jsonl`. A
//! part appears under its name whole, so the last one that there is is the session as it stands.

use std::fs;
use std::path::{Path, PathBuf};

use super::SessionId;

/// Most parts of a session: far more than anybody fills.
pub(super) const MAX_PARTS: u32 = 4096;

/// The file of a part.
pub(super) fn path(dir: &Path, id: &SessionId, part: u32) -> PathBuf {
    dir.join(id.part_name(part))
}

/// The number of the last part; 1 also of a session that does not exist. What is not a file counts too, and is
/// refused when it is opened.
pub(super) fn last(dir: &Path, id: &SessionId) -> u32 {
    let exists = |part: &u32| fs::symlink_metadata(path(dir, id, *part)).is_ok();
    (2..=MAX_PARTS).take_while(exists).last().unwrap_or(1)
}
