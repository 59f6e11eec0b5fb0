//! What processes left in a directory of sessions that were killed or removed a session by hand.
//! Looked for once a process, with the first session that it works on.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::lease::Lease;
use super::{MAX_SCAN_ENTRIES, SessionId, tasks};

/// Removes the lock files that killed processes left: whoever gets such a lease gives it back at once. A holder that lives
/// keeps its own, and who comes in that moment waits for a moment. Removes the tasks of sessions that are gone, too, and
/// parts that got no name of theirs.
pub(super) fn sweep(dir: &Path) {
    files::sweep_left(dir);
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    let looks = Arc::default();
    for entry in entries.take(MAX_SCAN_ENTRIES).flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if let Some(id) = SessionId::of_tasks_name(name) {
            let is_gone = |lease: &Lease| {
                fs::symlink_metadata(lease.session_file())
                    .is_err_and(|error| error.kind() == ErrorKind::NotFound)
            };
            // Under the lease: nobody makes a session of this id meanwhile.
            let lease = Lease::acquire_within(dir, &id, &looks, Duration::ZERO);
            if lease.as_ref().is_ok_and(is_gone) {
                tracing::debug!(session = %id, "the tasks of a session that is gone are removed");
                tasks::remove(&entry.path());
            }
        } else if let Some(id) = SessionId::of_lock_name(name)
            && let Ok(lease) = Lease::acquire_within(dir, &id, &looks, Duration::ZERO)
        {
            tracing::debug!(session = %id, "a lock without a holder is removed");
            drop(lease);
        }
    }
}
