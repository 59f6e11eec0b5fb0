//! The sessions of a directory for a person's commands: one scan with the end of each file, whole reads through all parts,
//! and removal under the lease.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use redact::Redactor;
use serde::Deserialize;

use super::lease::Lease;
use super::{
    Body, ListError, LocalSessions, Record, SessionError, SessionId, file, parts, read, tasks,
};
use crate::sessions::archive::{About, Kept, KeptSession, MAX_ARCHIVE_ENTRIES, SessionArchive};

/// How much of a file is read in search of what it is about.
const HEAD_BYTES: u64 = 64 * 1024;
/// How much of a file's end is read first in search of its last record; then eight times as much, and so on.
const TAIL_BYTES: u64 = 4 * 1024;

impl SessionArchive for LocalSessions {
    fn all(&self) -> Result<Kept, ListError> {
        let mut found: BTreeMap<SessionId, u32> = BTreeMap::new();
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            // Nobody has made a session yet.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Kept::default()),
            Err(error) => return Err(ListError::Io(error)),
        };
        let mut kept = Kept::default();
        for (scanned, entry) in entries.enumerate() {
            if scanned == MAX_ARCHIVE_ENTRIES {
                return Err(ListError::ScanLimit);
            }
            let name = entry.map_err(ListError::Io)?.file_name();
            match SessionId::of_part_name(&name.to_string_lossy()) {
                Some(Ok((id, part))) => {
                    let last = found.entry(id).or_default();
                    *last = part.max(*last);
                }
                Some(Err(_)) => kept.unusable += 1,
                None => {}
            }
        }
        for (id, part) in found {
            match self.outside(&id, part) {
                Ok(session) => kept.sessions.push(session),
                // Removed since the scan.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::debug!(session = %id, error = &error as &dyn std::error::Error, "a session is not listed");
                    kept.unusable += 1;
                }
            }
        }
        // Stable: what ended in one moment stays in the order of ids.
        kept.sessions
            .sort_by_key(|session| std::cmp::Reverse(session.last_at));
        Ok(kept)
    }

    fn about(&self, id: &SessionId, redactor: &Redactor) -> Result<About, SessionError> {
        let file = file::open_to_read(&self.dir.join(id.file_name())).map_err(file::refusal)?;
        let (head, _) = crate::file::prefix(file, HEAD_BYTES).map_err(SessionError::Io)?;
        let mut about = About::default();
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', &head) {
            match Record::parse(&head[from..end], id) {
                Some(record) if about.take(&record, redactor).is_break() => break,
                None if from == 0 => {
                    return Err(SessionError::invalid(super::Defect::Record { line: 1 }));
                }
                _ => {}
            }
            from = end + 1;
        }
        Ok(about)
    }

    fn read(
        &self,
        id: &SessionId,
        take: &mut dyn FnMut(Record) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let last = parts::last(&self.dir, id)?;
        let mut through = Through::new(last > 1, take);
        for part in 1..=last {
            let file =
                file::open_to_read(&parts::path(&self.dir, id, part)).map_err(file::refusal)?;
            through.begin(part);
            read::read(&file, id, part, &mut |record| through.take(record))?;
            if through.ended {
                break;
            }
        }
        Ok(())
    }

    fn read_task(
        &self,
        id: &SessionId,
        task: &SessionId,
        take: &mut dyn FnMut(Record) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let path = self.dir.join(id.tasks_name()).join(task.file_name());
        let file = file::open_to_read(&path).map_err(file::refusal)?;
        read::read(&file, task, 1, take).map(drop)
    }

    fn remove(&self, id: &SessionId) -> Result<(), SessionError> {
        let path = self.dir.join(id.file_name());
        // A lookup first: a session that does not exist must not leave a lock file behind.
        file::open_to_write(&path).map_err(file::refusal)?;
        let lease = Lease::acquire(&self.dir, id, &self.looks)?;
        let content = file::open_to_write(&path).map_err(file::refusal)?;
        lease.lock_to_remove(&content)?;
        // The last one first: whatever remains of it after a crash is a session.
        for part in (1..=super::MAX_PARTS).rev() {
            match fs::remove_file(parts::path(&self.dir, id, part)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(SessionError::Io(error));
                }
                _ => {}
            }
        }
        tasks::remove(&self.dir.join(id.tasks_name()));
        let synced = File::open(&self.dir).and_then(|dir| dir.sync_all());
        synced.map_err(SessionError::Io)?;
        tracing::debug!(session = %id, "a session is removed");
        Ok(())
    }
}

impl LocalSessions {
    fn outside(&self, id: &SessionId, last: u32) -> io::Result<KeptSession> {
        let mut bytes = 0;
        for part in 1..last {
            bytes += file::open_to_read(&parts::path(&self.dir, id, part))?
                .metadata()?
                .len();
        }
        let file = file::open_to_read(&parts::path(&self.dir, id, last))?;
        let about = file.metadata()?;
        let changed = || {
            let since = about.modified().map(since_1970).unwrap_or_default();
            u64::try_from(since).unwrap_or(u64::MAX)
        };
        Ok(KeptSession {
            id: id.clone(),
            last_at: last_record_at(&file, about.len())?.unwrap_or_else(changed),
            bytes: bytes + about.len(),
        })
    }
}

fn since_1970(at: SystemTime) -> u128 {
    at.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis()
}

/// When the last whole record of a file was made; `None` without one that says so.
fn last_record_at(file: &File, len: u64) -> io::Result<Option<u64>> {
    #[derive(Deserialize)]
    struct Made {
        at: u64,
    }
    let mut tail = Vec::new();
    let mut size = TAIL_BYTES;
    loop {
        let from = len.saturating_sub(size);
        tail.resize((len - from) as usize, 0);
        match file.read_exact_at(&mut tail, from) {
            // It was made shorter meanwhile.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let end = memchr::memrchr(b'\n', &tail);
        let begin = end.and_then(|end| memchr::memrchr(b'\n', &tail[..end]));
        match (begin, end, from) {
            (Some(begin), Some(end), _) => return Ok(made(&tail[begin + 1..end])),
            (None, Some(end), 0) => return Ok(made(&tail[..end])),
            (_, _, 0) => return Ok(None),
            _ => size *= 8,
        }
    }

    fn made(line: &[u8]) -> Option<u64> {
        let made: Made = serde_json::from_slice(line).ok()?;
        Some(made.at)
    }
}

/// Gives the records of all parts as if they were one: without what the head of a part repeats, and without the copies of
/// records that were kept of the part before.
struct Through<'t> {
    take: &'t mut dyn FnMut(Record) -> ControlFlow<()>,
    next: u64,
    part: u32,
    /// Of the part that is read and of the one before; empty where there is one part only.
    seen: HashSet<u64>,
    before: HashSet<u64>,
    remembers: bool,
    place: Place,
    ended: bool,
}

/// Where in a part something stands.
#[derive(PartialEq)]
enum Place {
    Head,
    Copies,
    Rest,
}

impl<'t> Through<'t> {
    fn new(remembers: bool, take: &'t mut dyn FnMut(Record) -> ControlFlow<()>) -> Self {
        Self {
            take,
            next: 1,
            part: 1,
            seen: HashSet::new(),
            before: HashSet::new(),
            remembers,
            place: Place::Rest,
            ended: false,
        }
    }

    fn begin(&mut self, part: u32) {
        self.part = part;
        self.before = std::mem::take(&mut self.seen);
        self.place = match part {
            1 => Place::Rest,
            _ => Place::Head,
        };
    }

    fn take(&mut self, mut record: Record) -> ControlFlow<()> {
        let mark = self.remembers.then(|| mark(&record));
        self.seen.extend(mark);
        match self.place {
            Place::Head => {
                if !matches!(record.body, Body::Checkpoint { .. }) {
                    return ControlFlow::Continue(());
                }
                self.place = Place::Copies;
            }
            Place::Copies if mark.is_some_and(|mark| self.before.contains(&mark)) => {
                return ControlFlow::Continue(());
            }
            _ => self.place = Place::Rest,
        }
        record.n = self.next;
        self.next += 1;
        let flow = (self.take)(record);
        self.ended |= flow.is_break();
        flow
    }
}

/// What a record says, without its number.
fn mark(record: &Record) -> u64 {
    let mut hasher = DefaultHasher::new();
    (record.at, &record.turn).hash(&mut hasher);
    if let Ok(body) = serde_json::to_vec(&record.body) {
        body.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::super::tests::{Place, append, line};
    use super::*;
    use crate::sessions::{Body, Flush, SessionStore as _};

    fn at(session: &str, n: u64, at: u64) -> String {
        line(session, n, "hello\nworld").replace("\"at\":7", &format!("\"at\":{at}"))
    }

    fn ids(kept: &Kept) -> Vec<(&str, u64)> {
        kept.sessions
            .iter()
            .map(|session| (session.id.as_str(), session.last_at))
            .collect()
    }

    #[test]
    fn sessions_are_ordered_by_their_last_record_whatever_their_files_say() {
        let place = Place::new();
        place.put("old", at("old", 1, 500) + &at("old", 2, 1000));
        place.put("new", at("new", 1, 3000));
        // Its last line was never acknowledged.
        place.put("torn", at("torn", 1, 2000) + "{\"v\":1,\"n\":2,\"at\":9000");
        let long = line("long", 1, &"x".repeat(100_000)).replace("\"at\":7", "\"at\":2500");
        place.put("long", at("long", 1, 1) + &long);
        place.put("part", at("part", 1, 1));
        fs::write(place.path("part.2.jsonl"), at("part", 1, 2700)).unwrap();
        for name in ["not an id.jsonl", "link.jsonl", "x.lock", "y.json"] {
            fs::write(place.path(name), "").unwrap();
        }
        fs::remove_file(place.path("link.jsonl")).unwrap();
        symlink(place.path("old.jsonl"), place.path("link.jsonl")).unwrap();
        let file = File::options()
            .write(true)
            .open(place.path("old.jsonl"))
            .unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(9999))
            .unwrap();
        let kept = place.sessions.all().unwrap();
        let expected = [
            ("new", 3000),
            ("part", 2700),
            ("long", 2500),
            ("torn", 2000),
            ("old", 1000),
        ];
        assert_eq!(ids(&kept), expected);
        assert_eq!(kept.unusable, 2);
        let bytes = |name: &str| fs::metadata(place.path(name)).unwrap().len();
        assert_eq!(
            kept.sessions[1].bytes,
            bytes("part.jsonl") + bytes("part.2.jsonl")
        );
        fs::remove_dir_all(&place.sessions.dir).unwrap();
        assert_eq!(place.sessions.all().unwrap(), Kept::default());
    }

    #[test]
    fn a_session_says_what_it_is_about() {
        let place = Place::new();
        let mut writer = place.sessions.create().unwrap();
        let id = writer.lease().id().clone();
        let begun = Body::Session {
            created_at: 1,
            cwd: "/w".into(),
            provider: None,
            model: None,
        };
        writer.append(None, vec![begun], Flush::Written).unwrap();
        append(
            &mut *writer,
            "ghp_aB3dE6gH9jK2mN5pQ8sTaB3dE6gH9jK2mN5pQ8sT\nmore",
        )
        .unwrap();
        let about = place.sessions.about(&id, &Redactor::default()).unwrap();
        assert_eq!(about.cwd.as_deref(), Some(std::path::Path::new("/w")));
        assert!(!about.title.unwrap().as_str().contains("ghp_"));
        let bad = place.put("bad", "nonsense\n");
        let refused = place.sessions.about(&bad, &Redactor::default());
        assert!(matches!(refused, Err(SessionError::Invalid(_))));
    }

    fn read(place: &Place, id: &SessionId) -> Vec<(u64, String)> {
        let mut all = Vec::new();
        let take = &mut |record: Record| {
            let text = match record.body {
                Body::UserInput { text, .. } => text,
                Body::Checkpoint { summary, .. } => summary,
                other => format!("{other:?}"),
            };
            all.push((record.n, text));
            ControlFlow::Continue(())
        };
        place.sessions.read(id, take).unwrap();
        all
    }

    #[test]
    fn a_session_of_parts_is_read_through_and_each_record_once() {
        let place = Place::new();
        let mut writer = place.sessions.create().unwrap();
        let id = writer.lease().id().clone();
        let head = |summary: &str| {
            vec![Body::Checkpoint {
                activity_id: "a".into(),
                cutoff: 0,
                input: None,
                inputs: 1,
                responses: 0,
                summary: summary.into(),
                tokens_before: 1,
                tokens_after: 1,
            }]
        };
        for text in ["one", "two", "two"] {
            append(&mut *writer, text).unwrap();
        }
        // What is being written by somebody is read all the same.
        let keeps = |record: &Record| record.n > 1;
        writer
            .begin_part(None, head("first"), &keeps, &|| false)
            .unwrap();
        append(&mut *writer, "three").unwrap();
        writer
            .begin_part(None, head("second"), &keeps, &|| false)
            .unwrap();
        std::thread::sleep(Duration::from_millis(2));
        append(&mut *writer, "three").unwrap();
        let texts = ["one", "two", "two", "first", "three", "second", "three"];
        let expected: Vec<_> = (1..).zip(texts.map(str::to_owned)).collect();
        assert_eq!(read(&place, &id), expected);
        let mut count = 0;
        let take = &mut |_: Record| {
            count += 1;
            ControlFlow::Break(())
        };
        place.sessions.read(&id, take).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn what_is_removed_is_gone_with_everything_of_it_and_nobody_loses_what_he_works_on() {
        let place = Place::new();
        let mut writer = place.sessions.create().unwrap();
        let id = writer.lease().id().clone();
        append(&mut *writer, "one").unwrap();
        let mut task = writer.lease().task().unwrap();
        append(&mut *task, "prompt").unwrap();
        let task_id = task.lease().id().clone();
        let mut texts = 0;
        let take = &mut |_: Record| {
            texts += 1;
            ControlFlow::Continue(())
        };
        place.sessions.read_task(&id, &task_id, take).unwrap();
        assert_eq!(texts, 1);
        let keeps = |_: &Record| false;
        let head = vec![Body::Checkpoint {
            activity_id: "a".into(),
            cutoff: 0,
            input: None,
            inputs: 1,
            responses: 0,
            summary: "s".into(),
            tokens_before: 1,
            tokens_after: 1,
        }];
        writer.begin_part(None, head, &keeps, &|| false).unwrap();
        place.put("other", line("other", 1, "x"));
        assert!(matches!(
            place.sessions.remove(&id),
            Err(SessionError::Busy)
        ));
        drop((writer, task));
        place.sessions.remove(&id).unwrap();
        assert_eq!(place.names(), ["other.jsonl"]);
        assert!(matches!(
            place.sessions.remove(&id),
            Err(SessionError::Missing)
        ));
        assert_eq!(place.names(), ["other.jsonl"], "and no lock");
        // Damage is no reason to keep it, somebody else's file is.
        let bad = place.put("bad", "nonsense");
        place.sessions.remove(&bad).unwrap();
        symlink(place.path("other.jsonl"), place.path("link.jsonl")).unwrap();
        let link = "link".parse().unwrap();
        assert!(matches!(
            place.sessions.remove(&link),
            Err(SessionError::Invalid(_))
        ));
        assert_eq!(place.names(), ["link.jsonl", "other.jsonl"]);
    }
}
