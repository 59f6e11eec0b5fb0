//! Tests of session files within one process: creation, records, torn tails, refusals, leases, outside edits.
//! Two processes and full disks are tested in `tests/processes.rs`.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::sessions::verify_cwd;
use rustix::fs::{FlockOperation, flock};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

mod full;
mod locks;
mod others;
mod parts;
mod wrong_parts;

use proptest::prelude::*;

pub(super) struct Place {
    dir: tempfile::TempDir,
    pub(super) sessions: LocalSessions,
}

impl Place {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = LocalHome::prepare(&dir.path().join("home")).unwrap();
        let sessions = LocalSessions::new(&home);
        Self { dir, sessions }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.sessions.dir.join(name)
    }

    pub(super) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> SessionId {
        fs::write(self.path(&format!("{name}.jsonl")), bytes).unwrap();
        name.parse().unwrap()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.sessions.dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn input(text: &str) -> Body {
    Body::UserInput {
        message_id: "m".into(),
        text: text.into(),
    }
}

pub(super) fn line(session: &str, n: u64, text: &str) -> String {
    let record = Record {
        v: 1,
        n,
        session: session.into(),
        at: 7,
        turn: Some("t".into()),
        body: input(text),
    };
    serde_json::to_string(&record).unwrap() + "\n"
}

pub(super) fn texts(records: &[Record]) -> Vec<&str> {
    records
        .iter()
        .map(|record| match &record.body {
            Body::UserInput { text, .. } => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Attaches and reads a session.
pub(super) fn open(place: &Place, id: &SessionId) -> Result<Opened, SessionError> {
    load(place.sessions.attach(id)?)
}

pub(super) fn load(lease: Arc<dyn SessionLease>) -> Result<Opened, SessionError> {
    let mut records = Vec::new();
    let writer = lease.load(&mut |record| records.push(record))?;
    Ok((writer, records))
}

pub(super) type Opened = (Box<dyn SessionWriter>, Vec<Record>);

pub(super) fn append(writer: &mut dyn SessionWriter, text: &str) -> Result<(), AppendError> {
    writer.append(Some("t"), vec![input(text)], Flush::Durable)
}

#[test]
fn a_new_session_has_no_file_before_its_first_record_and_leaves_none_behind() {
    let place = Place::new();
    let writer = place.sessions.create().unwrap();
    assert!(!writer.is_durable());
    assert_eq!(place.names(), [format!("{}.lock", writer.lease().id())]);
    drop(writer);
    assert!(place.names().is_empty());
}

#[test]
fn what_was_appended_is_read_back_and_continued() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    writer
        .append(
            Some("t"),
            vec![input("one"), input("two\n\u{2028}\"")],
            Flush::Durable,
        )
        .unwrap();
    assert!(writer.is_durable() && writer.is_unchanged());
    let mode = fs::metadata(place.path(&id.file_name()))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    drop(writer);

    let mut opened = open(&place, &id).unwrap();
    assert_eq!(texts(&opened.1), ["one", "two\n\u{2028}\""]);
    append(&mut *opened.0, "three").unwrap();
    let again = load(opened.0.lease()).unwrap();
    let numbers: Vec<_> = again.1.iter().map(|record| record.n).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(again.1[0].session, id.as_str());
    assert_eq!(again.1[0].turn.as_deref(), Some("t"));
}

#[test]
fn a_torn_last_line_is_tolerated_and_cut_by_the_next_append() {
    let whole = line("s", 1, "one") + &line("s", 2, "two");
    for torn in [
        "{",
        "{\"v\":1}",
        "\0\0\0",
        "\u{fffd}",
        line("s", 3, "x").trim_end(),
    ] {
        let place = Place::new();
        let id = place.put("s", format!("{whole}{torn}"));
        let mut opened = open(&place, &id).unwrap();
        assert_eq!(texts(&opened.1), ["one", "two"]);
        assert!(opened.0.is_unchanged());
        append(&mut *opened.0, "three").unwrap();
        assert!(opened.0.is_unchanged());
        drop(opened);
        let text = fs::read_to_string(place.path("s.jsonl")).unwrap();
        assert!(text.starts_with(&whole) && text.ends_with("}\n"));
        let opened = open(&place, &id).unwrap();
        assert_eq!(texts(&opened.1), ["one", "two", "three"]);
        assert_eq!(opened.1[2].n, 3);
    }
}

#[test]
fn any_other_wrong_line_makes_the_session_invalid() {
    let good = line("s", 1, "one");
    let newer = line("s", 2, "x").replace("\"v\":1", "\"v\":2");
    let unknown = line("s", 2, "x").replace("user_input", "user_output");
    for bad in [
        "\n",
        "{}\n",
        "nonsense\n",
        &line("other", 2, "x"),
        &good,
        &newer,
        &unknown,
        "\u{feff}{}\n",
    ] {
        for text in [
            format!("{good}{bad}"),
            format!("{good}{bad}{}", line("s", 9, "y")),
        ] {
            let place = Place::new();
            let id = place.put("s", &text);
            assert!(
                matches!(open(&place, &id), Err(SessionError::Invalid(_))),
                "{text}"
            );
            assert_eq!(fs::read_to_string(place.path("s.jsonl")).unwrap(), text);
        }
    }
    let place = Place::new();
    let id = place.put("s", b"{\"v\":1,\"n\":1,\"session\":\"s\xff\"}\n");
    assert!(matches!(open(&place, &id), Err(SessionError::Invalid(_))));
}

#[test]
fn an_empty_file_is_durable() {
    let place = Place::new();
    let id = place.put("s", "");
    let mut opened = open(&place, &id).unwrap();
    assert!(opened.1.is_empty() && opened.0.is_durable());
    assert_eq!(opened.0.extent().records, 0);
    append(&mut *opened.0, "first").unwrap();
    assert_eq!(opened.0.extent().records, 1);
}

#[test]
fn reads_are_bounded_in_bytes_and_lines() {
    let place = Place::new();
    let id = place.put("s", "");
    let file = fs::OpenOptions::new()
        .write(true)
        .open(place.path("s.jsonl"))
        .unwrap();
    file.set_len(MAX_READ_BYTES + 1).unwrap();
    assert!(matches!(open(&place, &id), Err(SessionError::HistoryLimit)));

    let lines = |count: u64| (1..=count).map(|n| line("n", n, "")).collect::<String>();
    let id = place.put("n", lines(MAX_READ_LINES as u64));
    assert_eq!(open(&place, &id).unwrap().1.len(), MAX_READ_LINES);
    let id = place.put("n", lines(MAX_READ_LINES as u64 + 1));
    assert!(matches!(open(&place, &id), Err(SessionError::HistoryLimit)));
}

#[test]
fn recorded_directories_must_be_this_one() {
    let dir = tempfile::tempdir().unwrap();
    let cwd = fs::canonicalize(dir.path()).unwrap();
    symlink(&cwd, cwd.join("alias")).unwrap();
    let check = |cwds: &[&str]| {
        let records: Vec<_> = cwds
            .iter()
            .map(|recorded| Record {
                v: 1,
                n: 1,
                session: "s".into(),
                at: 0,
                turn: None,
                body: Body::Session {
                    created_at: 0,
                    cwd: (*recorded).into(),
                    provider: None,
                    model: None,
                },
            })
            .collect();
        verify_cwd(&records, &cwd)
    };
    let here = cwd.to_str().unwrap();
    let alias = format!("{here}/alias");
    assert!(check(&[here, &alias, ""]).unwrap());
    assert!(!check(&[]).unwrap());
    assert!(!check(&[""]).unwrap());
    for wrong in ["relative", ".", "/", "/does/not/exist"] {
        let result = check(&[here, wrong]);
        assert!(matches!(result, Err(SessionError::CwdMismatch)), "{wrong}");
    }
}

#[test]
fn ids_are_safe_file_names() {
    for good in ["a", "A-z_9", &"x".repeat(64), SessionId::random().as_str()] {
        assert_eq!(good.parse::<SessionId>().unwrap().as_str(), good);
    }
    for bad in [
        "",
        ".",
        "..",
        "a.b",
        "a/b",
        "a b",
        "ä",
        "a\0",
        &"x".repeat(65),
        "a\n",
    ] {
        assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However a file is cut short, every line before the cut is read and the rest is ignored.
    #[test]
    fn any_prefix_of_a_session_opens(words in prop::collection::vec("(?s).{0,40}", 1..8), cut in any::<prop::sample::Index>()) {
        let place = Place::new();
        let whole: String = (1..).zip(&words).map(|(n, word)| line("s", n, word)).collect();
        let cut = cut.index(whole.len() + 1);
        let id = place.put("s", &whole.as_bytes()[..cut]);
        let lines = whole.as_bytes()[..cut].iter().filter(|&&b| b == b'\n').count();
        if lines == 0 && cut > 0 {
            prop_assert!(matches!(open(&place, &id), Err(SessionError::Invalid(_))));
            return Ok(());
        }
        let opened = open(&place, &id).unwrap();
        prop_assert_eq!(texts(&opened.1), &words[..lines]);
    }

    #[test]
    fn any_bytes_open_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let place = Place::new();
        let id = place.put("s", &bytes);
        match open(&place, &id) {
            Ok(_) => prop_assert!(bytes.is_empty()),
            Err(error) => prop_assert!(matches!(error, SessionError::Invalid(_))),
        }
    }
}
