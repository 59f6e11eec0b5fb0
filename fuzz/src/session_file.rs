//! A session file that may hold anything: three readings agree on what it holds, none changes it, and a session
//! that opens goes on where its last whole line ended, and is the same once written anew.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use store::sessions::{
    Body, Flush, LocalSessions, MAX_READ_LINES, Record, SCHEMA_VERSION, SessionError, SessionId,
    SessionLease, SessionStore as _, SessionWriter, verify_cwd,
};
use store::{LocalHome, Redactor};

use crate::input::expand;

/// The id that the records of an input name.
pub const SESSION: &str = "s";
/// How much of a file is read in search of a title.
const HEAD_BYTES: usize = 64 * 1024;

/// Checks an input. Gives the types of its records, or why there are none.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<String> {
    // Two homes a thread: to make one costs more than all the rest.
    thread_local!(static PLACES: [Place; 2] = [Place::new(), Place::new()]);
    PLACES.with(|[place, other]| read(&expand(data), place, other))
}

fn read(bytes: &[u8], place: &Place, other: &Place) -> Vec<String> {
    place.put(bytes);
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();

    let window = place
        .sessions
        .window(&place.id, None)
        .expect("a window of any content")
        .expect("nothing was known");
    let again = place.sessions.window(&place.id, None).expect("a window");
    assert_eq!(again.expect("a window").records, window.records);
    assert!(window.records.len() <= lines.min(MAX_READ_LINES));
    for record in &window.records {
        assert_eq!((record.v, &*record.session), (SCHEMA_VERSION, SESSION));
    }
    let titled = place.list();
    assert_eq!(place.bytes(), bytes, "a reading changes nothing");

    let (mut writer, mut records) = match place.open() {
        Ok(opened) => opened,
        Err(error) => {
            assert!(matches!(
                error,
                SessionError::Invalid(_) | SessionError::HistoryLimit
            ));
            assert!(window.damaged || window.cut, "what does not open has a gap");
            assert_eq!(place.bytes(), bytes, "a refused file is kept");
            assert_eq!(place.files(), 1, "no lock is left");
            return vec![kind(&error)];
        }
    };
    assert!(!window.damaged && !window.cut, "what opens has no gap");
    assert_eq!(records, window.records);
    assert_eq!(records.len(), lines);
    assert!((1..).zip(&records).all(|(n, record)| record.n == n));
    let first_line = bytes.iter().position(|byte| *byte == b'\n');
    if first_line.unwrap_or(bytes.len()) < HEAD_BYTES {
        assert!(titled, "what opens is listed");
    }
    let _ = verify_cwd(&records, &place.root);
    rewritten(&records, other);

    assert!(writer.is_unchanged() && writer.extent().records == records.len() as u64);
    let said = Body::Diagnostic {
        code: "code".to_owned(),
        summary: "more".to_owned(),
    };
    writer
        .append(Some("t"), vec![said.clone()], Flush::Written)
        .expect("an append");
    assert!(writer.is_unchanged());
    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
    let whole = &bytes[..whole.map_or(0, |at| at + 1)];
    assert!(place.bytes().starts_with(whole), "no record is lost");
    let (_, read) = load(writer.lease()).expect("what was appended");
    let last = read.last().expect("a record");
    assert_eq!((&last.body, last.n), (&said, lines as u64 + 1));
    records.push(last.clone());
    assert_eq!(read, records);
    records.pop();
    records.iter().map(|record| kind(&record.body)).collect()
}

/// The same records, written as they are written, in another home.
fn rewritten(records: &[Record], place: &Place) {
    let lines: String = records
        .iter()
        .map(|record| serde_json::to_string(record).expect("JSON") + "\n")
        .collect();
    place.put(lines.as_bytes());
    let (_, read) = place.open().expect("what was written");
    assert_eq!(read, records);
}

/// The name of a variant.
fn kind(value: &impl std::fmt::Debug) -> String {
    let name = format!("{value:?}");
    name.split([' ', '{', '('])
        .next()
        .unwrap_or_default()
        .to_owned()
}

type Opened = (Box<dyn SessionWriter>, Vec<Record>);

fn load(lease: Arc<dyn SessionLease>) -> Result<Opened, SessionError> {
    let mut records = Vec::new();
    let writer = lease.load(&mut |record| records.push(record))?;
    Ok((writer, records))
}

/// A home of its own, with one session.
struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    file: PathBuf,
    sessions: LocalSessions,
    id: SessionId,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().to_owned();
        let home = LocalHome::prepare(&root.join("home")).expect("a home");
        let id: SessionId = SESSION.parse().expect("an id");
        Self {
            file: root.join(format!("home/sessions/{id}.jsonl")),
            sessions: LocalSessions::new(&home),
            _dir: dir,
            root,
            id,
        }
    }

    fn open(&self) -> Result<Opened, SessionError> {
        load(self.sessions.attach(&self.id)?)
    }

    fn put(&self, bytes: &[u8]) {
        fs::write(&self.file, bytes).expect("a file");
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.file).expect("a file")
    }

    fn files(&self) -> usize {
        let folder = self.file.parent().expect("a folder");
        fs::read_dir(folder).expect("a folder").count()
    }

    /// Whether the list has the session.
    fn list(&self) -> bool {
        let list = self
            .sessions
            .list(None, 1, &Redactor::default())
            .expect("a list");
        assert!(!list.truncated && list.next_after.is_none());
        for summary in &list.sessions {
            assert_eq!(summary.id, self.id);
            if let Some(title) = &summary.title {
                let title = title.as_str();
                assert!(!title.is_empty() && title.len() <= 120);
                assert!(!title.chars().any(char::is_control), "one line: {title:?}");
            }
        }
        assert!(list.sessions.len() == 1 || list.sessions.is_empty() && list.incomplete);
        !list.sessions.is_empty()
    }
}
