//! The folder of a session's tasks: one file of records for each conversation of a subagent, written under the session's
//! own lease. No session stands here: nothing of it is listed or attached.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use super::lease::Lease;
use super::{Bounds, SessionError};

/// Most conversations that a session keeps; the oldest one makes room.
const MAX_TASKS: usize = 1000;

/// The lease of a new conversation of the session that `of` belongs to. Makes the session's folder where it is missing.
pub(super) fn lease(of: &Arc<Lease>) -> Result<Lease, SessionError> {
    let session = of.session();
    let dir = session.dir.join(session.id.tasks_name());
    prepare(&dir, &session.dir).map_err(SessionError::Io)?;
    make_room(&dir).map_err(SessionError::Io)?;
    Ok(Lease::within(session, dir, Bounds::TASK))
}

fn prepare(dir: &Path, sessions: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        // Its name is the data of the folder that it stands in.
        Ok(()) => return File::open(sessions)?.sync_all(),
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {}
    }
    let meta = fs::symlink_metadata(dir)?;
    let is_own = meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o002 == 0;
    if meta.is_dir() && is_own {
        return Ok(());
    }
    let why = "the folder of tasks is not this user's alone";
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

/// Removes the oldest conversations until one more has its place.
fn make_room(dir: &Path) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.path());
    }
    if names.len() < MAX_TASKS {
        return Ok(());
    }
    let written = |path: &Path| {
        fs::symlink_metadata(path)
            .and_then(|meta| meta.modified())
            .ok()
    };
    names.sort_by_cached_key(|path| written(path));
    for path in &names[..=names.len() - MAX_TASKS] {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Removes the folder of a session that is gone. What can't be removed stays for the next time.
pub(super) fn remove(dir: &Path) {
    let is_folder = fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir());
    if !is_folder {
        return;
    }
    if let Err(error) = fs::remove_dir_all(dir) {
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "the tasks of a session are not removed"
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::tests::{Place, append, texts};
    use super::*;
    use crate::sessions::{
        AppendError, Body, Flush, MAX_TASK_BYTES, MAX_TASK_LINES, SessionId, SessionStore as _,
        SessionWriter,
    };
    use redact::Redactor;

    /// A session with one record, and its writer.
    fn session(place: &Place) -> (SessionId, Box<dyn SessionWriter>) {
        let mut writer = place.sessions.create().unwrap();
        append(&mut *writer, "one").unwrap();
        (writer.lease().id().clone(), writer)
    }

    #[test]
    fn a_task_stands_beside_its_session_and_is_none() {
        let place = Place::new();
        let (id, writer) = session(&place);
        let mut task = writer.lease().task().unwrap();
        let task_id = task.lease().id().clone();
        assert!(!task.is_durable() && task.extent().records == 0);
        append(&mut *task, "prompt").unwrap();
        let mut beneath = task.lease().task().unwrap();
        append(&mut *beneath, "deeper").unwrap();
        let list = place.sessions.list(None, 32, &Redactor::default()).unwrap();
        assert_eq!(list.sessions.len(), 1);
        assert!(!list.incomplete);
        assert!(matches!(
            place.sessions.attach(&task_id),
            Err(SessionError::Missing)
        ));
        let folder = place.path(&format!("{id}.tasks"));
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700
        );
        let mut names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        let ids = [task_id.file_name(), beneath.lease().id().file_name()];
        let mut expected = ids.map(std::ffi::OsString::from);
        expected.sort();
        assert_eq!(names, expected, "and no locks");
        let mut records = Vec::new();
        task.lease()
            .load(&mut |record| records.push(record))
            .unwrap();
        assert_eq!(texts(&records), ["prompt"]);
        assert_eq!(records[0].session, task_id.as_str());
    }

    #[test]
    fn a_task_holds_the_lease_of_its_session() {
        let place = Place::new();
        let (id, writer) = session(&place);
        let task = writer.lease().task().unwrap();
        drop(writer);
        assert!(matches!(
            place.sessions.attach(&id),
            Err(SessionError::Busy)
        ));
        drop(task);
        place.sessions.attach(&id).unwrap();
    }

    #[test]
    fn a_task_has_bounds_of_its_own() {
        let place = Place::new();
        let (_, writer) = session(&place);
        let mut task = writer.lease().task().unwrap();
        let half = "x".repeat(MAX_TASK_BYTES as usize / 2);
        append(&mut *task, &half).unwrap();
        assert!(matches!(append(&mut *task, &half), Err(AppendError::Full)));
        let body = || Body::Diagnostic {
            code: "c".into(),
            summary: String::new(),
        };
        let mut task = writer.lease().task().unwrap();
        let most = (0..MAX_TASK_LINES).map(|_| body()).collect();
        task.append(None, most, Flush::Written).unwrap();
        let beyond = task.append(None, vec![body()], Flush::Written);
        assert!(matches!(beyond, Err(AppendError::Full)));
    }

    #[test]
    fn tasks_go_with_their_session() {
        let place = Place::new();
        let (gone, writer) = session(&place);
        let (kept, other) = session(&place);
        for writer in [&writer, &other] {
            append(&mut *writer.lease().task().unwrap(), "prompt").unwrap();
        }
        let folder = |id: &SessionId| place.path(&format!("{id}.tasks"));
        drop((writer, other));
        fs::remove_file(place.path(&gone.file_name())).unwrap();
        let elsewhere = place.path("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, place.path("link.tasks")).unwrap();
        super::super::sweep::sweep(&place.sessions.dir);
        assert!(!folder(&gone).exists() && folder(&kept).exists());
        assert!(elsewhere.exists(), "nothing behind a link");
    }

    #[test]
    fn the_oldest_makes_room_and_a_folder_of_someone_else_is_none() {
        let place = Place::new();
        let (id, writer) = session(&place);
        drop(writer.lease().task().unwrap());
        let folder = place.path(&format!("{id}.tasks"));
        for n in 0..MAX_TASKS {
            File::create(folder.join(format!("{n}.jsonl"))).unwrap();
        }
        let old = std::time::SystemTime::UNIX_EPOCH;
        File::options()
            .write(true)
            .open(folder.join("7.jsonl"))
            .unwrap()
            .set_modified(old)
            .unwrap();
        append(&mut *writer.lease().task().unwrap(), "prompt").unwrap();
        assert!(!folder.join("7.jsonl").exists());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), MAX_TASKS);

        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(writer.lease().task(), Err(SessionError::Io(_))));
        fs::remove_dir_all(&folder).unwrap();
        symlink(place.path("."), &folder).unwrap();
        assert!(matches!(writer.lease().task(), Err(SessionError::Io(_))));
    }
}
