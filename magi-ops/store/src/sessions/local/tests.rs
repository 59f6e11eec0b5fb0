//! Tests of session files within one process: creation, records, torn tails, refusals, leases, outside edits.
//! Two processes and full disks are tested in `tests/processes.rs`.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;
use rustix::fs::{FlockOperation, flock};

use std::fs;

use super::*;
use crate::sessions::verify_cwd;

pub(super) struct Place {
    dir: tempfile::TempDir,
    pub(super) sessions: LocalSessions,
}

impl Place {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::prepare(&dir.path().join("home")).unwrap();
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
fn the_lease_excludes_within_one_process_and_survives_a_reopen() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    assert!(matches!(open(&place, &id), Err(SessionError::Missing)));
    append(&mut *writer, "x").unwrap();
    assert!(matches!(open(&place, &id), Err(SessionError::Busy)));
    let again = load(writer.lease()).unwrap();
    drop(writer);
    assert!(matches!(open(&place, &id), Err(SessionError::Busy)));
    drop(again);
    assert!(open(&place, &id).is_ok());
}

#[test]
fn an_attached_session_is_held_before_it_is_read() {
    let place = Place::new();
    let missing = "missing".parse().unwrap();
    assert!(matches!(
        place.sessions.attach(&missing),
        Err(SessionError::Missing)
    ));
    fs::create_dir(place.path("d.jsonl")).unwrap();
    let directory = "d".parse().unwrap();
    assert!(matches!(
        place.sessions.attach(&directory),
        Err(SessionError::Invalid(_))
    ));
    fs::remove_dir(place.path("d.jsonl")).unwrap();

    // Not even whether it could be read is asked.
    let id = place.put("s", "nonsense\n");
    let held = place.sessions.attach(&id).unwrap();
    assert!(matches!(open(&place, &id), Err(SessionError::Busy)));
    assert!(matches!(
        load(Arc::clone(&held)),
        Err(SessionError::Invalid(_))
    ));
    place.put("s", line("s", 1, "one"));
    let mut opened = load(Arc::clone(&held)).unwrap();
    assert_eq!(texts(&opened.1), ["one"]);
    append(&mut *opened.0, "two").unwrap();
    drop(held);
    assert!(matches!(
        place.sessions.attach(&id),
        Err(SessionError::Busy)
    ));
    drop(opened);
    assert_eq!(place.names(), ["s.jsonl"], "locks go with their last use");
    assert_eq!(open(&place, &id).unwrap().1.len(), 2);
}

#[test]
fn who_is_attached_retains_the_file_and_refuses_others_without_its_lock_file_too() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    append(&mut *writer, "one").unwrap();
    let lock = |operation| {
        let file = fs::File::open(place.path(&id.file_name())).unwrap();
        flock(&file, operation).map(|()| file)
    };
    assert!(lock(FlockOperation::NonBlockingLockExclusive).is_err());
    assert!(lock(FlockOperation::NonBlockingLockShared).is_ok());
    fs::remove_file(place.path(&id.lock_name())).unwrap();
    for _ in 0..2 {
        assert!(matches!(
            place.sessions.attach(&id),
            Err(SessionError::Busy)
        ));
    }
    drop(writer);
    let pruner = lock(FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(matches!(
        place.sessions.attach(&id),
        Err(SessionError::Busy)
    ));
    drop(pruner);

    // A file that took the place of the retained one is retained when it is read.
    let held = place.sessions.attach(&id).unwrap();
    let copy = place.path("copy");
    fs::copy(place.path(&id.file_name()), &copy).unwrap();
    fs::rename(&copy, place.path(&id.file_name())).unwrap();
    assert!(lock(FlockOperation::NonBlockingLockExclusive).is_ok());
    load(Arc::clone(&held)).unwrap();
    assert!(lock(FlockOperation::NonBlockingLockExclusive).is_err());
}

#[test]
fn a_read_waits_for_an_append_but_an_append_for_a_read_not_for_ever() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    append(&mut *writer, "one").unwrap();
    let lock = || fs::File::open(place.path(&id.append_name())).unwrap();
    let appending = lock();
    flock(&appending, FlockOperation::LockExclusive).unwrap();
    assert!(matches!(
        place.sessions.window(&id, None),
        Err(SessionError::Busy)
    ));
    drop(appending);
    assert!(place.sessions.window(&id, None).is_ok());

    let reading = lock();
    flock(&reading, FlockOperation::LockShared).unwrap();
    assert!(place.sessions.window(&id, None).is_ok(), "two may read");
    append(&mut *writer, "two").unwrap();
    assert!(writer.is_unchanged());
    drop(writer);
    let kept = [id.append_name(), id.file_name()];
    assert_eq!(place.names(), kept, "what a reader holds stays its lock");
    drop(reading);
    drop(place.sessions.attach(&id).unwrap());
    assert_eq!(place.names(), [id.file_name()]);
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
    assert!(opened.1.is_empty() && opened.0.is_durable() && opened.0.is_empty());
    append(&mut *opened.0, "first").unwrap();
    assert!(!opened.0.is_empty());
}

#[test]
fn links_directories_pipes_and_unreadable_files_are_invalid() {
    let place = Place::new();
    let target = place.dir.path().join("elsewhere.jsonl");
    fs::write(&target, line("s", 1, "x")).unwrap();
    symlink(&target, place.path("s.jsonl")).unwrap();
    fs::create_dir(place.path("d.jsonl")).unwrap();
    let pipe = place.path("p.jsonl");
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for name in ["s", "d", "p"] {
        let id = name.parse().unwrap();
        assert!(
            matches!(open(&place, &id), Err(SessionError::Invalid(_))),
            "{name}"
        );
    }
    let id = place.put("l", line("l", 1, "x"));
    symlink(&target, place.path("l.lock")).unwrap();
    assert!(matches!(open(&place, &id), Err(SessionError::Invalid(_))));
}

/// Everybody who comes for a session whose file, or whose lock, others can reach is refused, and nothing is written.
#[test]
fn a_file_that_others_can_reach_is_refused_and_kept() {
    type Unsafe = fn(&Path);
    let ways: [(&str, Unsafe); 3] = [
        ("linked", |path| {
            fs::hard_link(path, path.with_extension("link")).unwrap();
        }),
        ("everybody's", |path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o602)).unwrap();
        }),
        ("a link", |path| {
            let real = path.with_extension("real");
            fs::rename(path, &real).unwrap();
            symlink(real, path).unwrap();
        }),
    ];
    for (what, make) in ways {
        for name in ["s.jsonl", "s.lock", "s.append"] {
            let place = Place::new();
            let id = place.put("s", line("s", 1, "x"));
            let path = place.path(name);
            if name != "s.jsonl" {
                fs::write(&path, "theirs").unwrap();
            }
            let before = fs::read(&path).unwrap();
            make(&path);
            let opened = open(&place, &id);
            assert!(
                matches!(opened, Err(SessionError::Invalid(_))),
                "{what} {name}"
            );
            // A reading takes no lease.
            let seen = place.sessions.window(&id, None);
            assert_eq!(seen.is_err(), name != "s.lock", "{what} {name}");
            assert_eq!(fs::read(&path).unwrap(), before, "{what} {name}");
        }
    }
}

#[test]
fn a_name_that_comes_while_attached_stops_the_writer() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    append(&mut *writer, "one").unwrap();
    let path = place.path(&writer.lease().id().file_name());
    fs::hard_link(&path, place.path("other name")).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(!writer.is_unchanged());
    let refused = append(&mut *writer, "two");
    assert!(matches!(refused, Err(AppendError::Changed)));
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::remove_file(place.path("other name")).unwrap();
    append(&mut *writer, "two").unwrap();
    assert!(writer.is_unchanged());
}

#[test]
fn what_no_crash_leaves_is_neither_read_nor_cut() {
    let first = line("s", 1, "one");
    for junk in [
        b"\x7fELF\x02\x01\x01".as_slice(),
        b"\0\0\0\0",
        b"{",
        &first.as_bytes()[..first.len() / 2],
        first.trim_end().as_bytes(),
        b"junk\n",
        b"\n",
    ] {
        let place = Place::new();
        let id = place.put("s", junk);
        let opened = open(&place, &id);
        assert!(matches!(opened, Err(SessionError::Invalid(_))), "{junk:?}");
        assert_eq!(fs::read(place.path("s.jsonl")).unwrap(), junk);
        // Also where it came after the empty file was opened.
        let id = place.put("e", "");
        let mut opened = open(&place, &id).unwrap();
        fs::write(place.path("e.jsonl"), junk).unwrap();
        assert!(!opened.0.is_unchanged());
        let refused = append(&mut *opened.0, "mine");
        assert!(matches!(refused, Err(AppendError::Changed)), "{junk:?}");
        assert_eq!(fs::read(place.path("e.jsonl")).unwrap(), junk);
    }
}

#[test]
fn a_change_within_the_same_moment_is_noticed() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let path = place.path(&writer.lease().id().file_name());
    for round in 0..50 {
        append(&mut *writer, "one").unwrap();
        assert!(writer.is_unchanged());
        // The same length at once after the append, its time put back.
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        let changed = text.replace("one", "two");
        std::os::unix::fs::FileExt::write_all_at(&file, changed.as_bytes(), 0).unwrap();
        assert!(!writer.is_unchanged(), "round {round}");
        std::os::unix::fs::FileExt::write_all_at(&file, text.as_bytes(), 0).unwrap();
        assert!(writer.is_unchanged(), "round {round}: the same bytes");
        file.set_modified(time).unwrap();
        assert!(writer.is_unchanged(), "round {round}: the same time");
    }
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
fn edits_by_others_are_noticed_and_never_written_over() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit, bool); 5] = [
        (
            "appended",
            |path| {
                let mut text = fs::read_to_string(path).unwrap();
                text.push_str("{\"theirs\":1}\n");
                fs::write(path, text).unwrap();
            },
            true,
        ),
        ("truncated", |path| fs::write(path, "").unwrap(), true),
        ("removed", |path| fs::remove_file(path).unwrap(), true),
        (
            "replaced",
            |path| {
                let copy = path.with_extension("copy");
                fs::copy(path, &copy).unwrap();
                fs::rename(copy, path).unwrap();
            },
            true,
        ),
        // Same length: known by the digest when somebody looks.
        (
            "changed in place",
            |path| {
                let text = fs::read_to_string(path).unwrap().replace("one", "two");
                fs::write(path, text).unwrap();
            },
            false,
        ),
    ];
    for (what, edit, refused) in edits {
        let place = Place::new();
        let mut writer = place.sessions.create().unwrap();
        append(&mut *writer, "one").unwrap();
        assert!(writer.is_unchanged());
        let path = place.path(&writer.lease().id().file_name());
        edit(&path);
        let before = fs::read(&path).ok();
        assert!(!writer.is_unchanged(), "{what}");
        if refused {
            let error = append(&mut *writer, "mine").unwrap_err();
            assert!(matches!(error, AppendError::Changed), "{what}: {error}");
            assert_eq!(fs::read(&path).ok(), before, "{what}");
        }
        assert!(!writer.is_unchanged(), "{what}");
    }
}

#[test]
fn a_file_in_the_way_of_a_new_session_is_not_touched() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let path = place.path(&writer.lease().id().file_name());
    fs::write(&path, "theirs").unwrap();
    assert!(!writer.is_unchanged());
    assert!(append(&mut *writer, "mine").is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
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
