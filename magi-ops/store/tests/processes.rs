//! Sessions across processes: the lease dies with its holder, acknowledged records survive SIGKILL, a full disk is an error.
//! The other process is this test binary again, started with the part it plays in its environment.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, Rlimit, setrlimit};
use store::LocalHome;
use store::sessions::{
    AppendError, Body, Flush, LocalSessions, Record, SessionError, SessionId, SessionStore as _,
    SessionWriter,
};

const ROLE: &str = "STORE_TEST_ROLE";
const HOME: &str = "STORE_TEST_HOME";

fn sessions(home: &Path) -> LocalSessions {
    LocalSessions::new(&LocalHome::prepare(home).unwrap())
}

fn sessions_dir() -> PathBuf {
    Path::new(&std::env::var_os(HOME).unwrap()).join("sessions")
}

fn beside(sessions: &Path, id: &SessionId, extension: &str) -> PathBuf {
    sessions.join(format!("{id}.{extension}"))
}

/// Attaches and reads a session.
fn open(
    sessions: &LocalSessions,
    id: &SessionId,
) -> Result<(Box<dyn SessionWriter>, Vec<Record>), SessionError> {
    let mut records = Vec::new();
    let writer = sessions
        .attach(id)?
        .load(&mut |record| records.push(record))?;
    Ok((writer, records))
}

fn append(writer: &mut dyn SessionWriter, text: &str, flush: Flush) -> Result<(), AppendError> {
    let body = Body::UserInput {
        message_id: "m".into(),
        text: text.into(),
    };
    writer.append(None, vec![body], flush)
}

/// What another part begins with.
fn summary() -> Body {
    Body::Checkpoint {
        activity_id: "c".into(),
        cutoff: 0,
        input: None,
        inputs: 1,
        responses: 0,
        summary: "what was".into(),
        tokens_before: 9,
        tokens_after: 1,
    }
}

fn say(line: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "@{line}").unwrap();
    out.flush().unwrap();
}

/// The other process.
#[test]
#[ignore = "started by the other tests"]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let sessions = sessions(Path::new(&std::env::var_os(HOME).unwrap()));
    let mut writer = sessions.create().unwrap();
    match role.as_str() {
        "holder" => {
            append(&mut *writer, "held", Flush::Durable).unwrap();
            say(writer.lease().id());
            std::io::stdin().lines().next();
        }
        "stream" => {
            append(&mut *writer, "0", Flush::Durable).unwrap();
            say(writer.lease().id());
            for n in 1.. {
                append(&mut *writer, &n.to_string(), Flush::Written).unwrap();
                say(n);
            }
        }
        "parts" => {
            append(&mut *writer, "0", Flush::Durable).unwrap();
            say(writer.lease().id());
            for n in 1.. {
                if n % 2 == 0 {
                    let last = writer.extent().records;
                    writer
                        .begin_part(
                            None,
                            vec![summary()],
                            &|record| record.n + 3 > last,
                            &|| false,
                        )
                        .unwrap();
                }
                append(&mut *writer, &n.to_string(), Flush::Durable).unwrap();
                say(n);
            }
        }
        "appender" => {
            append(&mut *writer, "held", Flush::Durable).unwrap();
            // As if it were within an append.
            let lock = File::open(beside(&sessions_dir(), writer.lease().id(), "append")).unwrap();
            flock(&lock, FlockOperation::LockExclusive).unwrap();
            say(writer.lease().id());
            std::io::stdin().lines().next();
        }
        "without descriptors" => {
            append(&mut *writer, "first", Flush::Durable).unwrap();
            say(writer.lease().id());
            let second = beside(&sessions_dir(), writer.lease().id(), "2.jsonl");
            let limit = Rlimit {
                current: Some(128),
                maximum: Some(128),
            };
            setrlimit(Resource::Nofile, limit).unwrap();
            let mut taken = Vec::new();
            while let Ok(file) = File::open("/dev/null") {
                taken.push(file);
            }
            // One more descriptor each time, until the part got its name and could not be opened.
            while writer
                .begin_part(None, vec![summary()], &|_| true, &|| false)
                .is_err()
            {
                if second.exists() {
                    append(&mut *writer, "lost", Flush::Written).unwrap_err();
                    say("named");
                    return;
                }
                append(&mut *writer, "goes on", Flush::Durable).unwrap();
                taken.pop().unwrap();
            }
        }
        "full" => {
            append(&mut *writer, "fits", Flush::Durable).unwrap();
            let long = "x".repeat(64 * 1024);
            let error = append(&mut *writer, &long, Flush::Durable).unwrap_err();
            assert!(matches!(error, AppendError::Io(_)), "{error}");
            assert!(writer.is_unchanged());
            append(&mut *writer, "fits too", Flush::Durable).unwrap();

            let mut first = sessions.create().unwrap();
            assert!(append(&mut *first, &long, Flush::Durable).is_err());
            assert!(!first.is_durable());
            drop(first);
            say(writer.lease().id());
        }
        other => panic!("{other}"),
    }
}

struct Other {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Other {
    fn start(role: &str, home: &Path, before: &str) -> Self {
        let mut child = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("{before} exec \"$0\" \"$@\""))
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "child", "--nocapture"])
            .env(ROLE, role)
            .env(HOME, home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn said(&mut self) -> Option<String> {
        // The test harness has its own lines, and begins one that ours may continue.
        self.lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once('@').map(|(_, said)| said.to_owned()))
    }

    fn id(&mut self) -> SessionId {
        self.said().unwrap().parse().unwrap()
    }

    /// Kills it some records after its first; says the last one that it acknowledged.
    fn killed_after(&mut self, records: u64) -> u64 {
        let mut acknowledged = 0;
        for _ in 0..=records {
            acknowledged = self.said().unwrap().parse().unwrap();
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        while let Some(line) = self.said() {
            // The last line itself may have been cut by the kill.
            acknowledged = acknowledged.max(line.parse().unwrap_or(0));
        }
        acknowledged
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_second_process_is_refused_until_the_first_dies() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Other::start("holder", dir.path(), "");
    let id = other.id();
    let here = sessions(dir.path());
    assert!(matches!(open(&here, &id), Err(SessionError::Busy)));
    other.child.kill().unwrap();
    other.child.wait().unwrap();
    let opened = open(&here, &id).unwrap();
    assert_eq!(opened.1.len(), 1);
}

#[test]
fn a_session_of_another_process_can_be_read_listed_and_not_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Other::start("holder", dir.path(), "");
    let id = other.id();
    let here = sessions(dir.path());
    assert!(matches!(here.attach(&id), Err(SessionError::Busy)));
    let window = here.window(&id, None).unwrap().unwrap();
    assert_eq!(window.records.len(), 1);
    let list = here.list(None, 1, &store::Redactor::default()).unwrap();
    assert_eq!(list.sessions[0].id, id);
    let file = File::open(beside(&dir.path().join("sessions"), &id, "jsonl")).unwrap();
    assert!(flock(&file, FlockOperation::NonBlockingLockExclusive).is_err());
    other.child.kill().unwrap();
    other.child.wait().unwrap();
    flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
}

#[test]
fn a_read_is_busy_while_another_process_appends_and_free_when_it_dies() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Other::start("appender", dir.path(), "");
    let id = other.id();
    let here = sessions(dir.path());
    assert!(matches!(here.window(&id, None), Err(SessionError::Busy)));
    other.child.kill().unwrap();
    other.child.wait().unwrap();
    let window = here.window(&id, None).unwrap().unwrap();
    assert_eq!(window.records.len(), 1);
    drop(here.attach(&id).unwrap());
    let names = std::fs::read_dir(dir.path().join("sessions")).unwrap();
    assert_eq!(names.count(), 1, "what the dead left is tidied");
}

#[test]
fn reads_beside_a_stream_of_appends_see_whole_records_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Other::start("stream", dir.path(), "");
    let id = other.id();
    let here = sessions(dir.path());
    let mut seen = 0;
    for _ in 0..50 {
        // What was acknowledged before a read is in it.
        let acknowledged: usize = other.said().unwrap().parse().unwrap();
        match here.window(&id, None) {
            Ok(window) => {
                let window = window.unwrap();
                assert!(!window.damaged && !window.cut);
                assert!(window.records.len() > acknowledged);
                seen += 1;
            }
            Err(SessionError::Busy) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(seen > 0);
}

#[test]
fn killed_at_any_moment_everything_acknowledged_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let here = sessions(dir.path());
    for round in 0..20 {
        let mut other = Other::start("stream", dir.path(), "");
        let id = other.id();
        let acknowledged = other.killed_after(round * 7 % 40);
        let mut opened = open(&here, &id).unwrap();
        assert!(opened.1.len() as u64 > acknowledged);
        append(&mut *opened.0, "goes on", Flush::Durable).unwrap();
        assert!(opened.0.is_unchanged());
    }
}

#[test]
fn killed_while_it_begins_parts_a_session_opens_with_what_was_acknowledged_last() {
    let dir = tempfile::tempdir().unwrap();
    let here = sessions(dir.path());
    for round in 0..20 {
        let mut other = Other::start("parts", dir.path(), "");
        let id = other.id();
        let acknowledged = other.killed_after(round * 7 % 40);
        let (mut writer, records) = open(&here, &id).unwrap();
        let inputs = records.iter().filter_map(|record| match &record.body {
            Body::UserInput { text, .. } => Some(text.parse::<u64>().unwrap()),
            _ => None,
        });
        let inputs: Vec<_> = inputs.collect();
        // In order and without a hole up to what was acknowledged, or the one behind it.
        let last = *inputs.last().unwrap();
        assert!((acknowledged..=acknowledged + 1).contains(&last));
        let expected = (0..=last).rev().take(inputs.len()).collect::<Vec<_>>();
        assert!(inputs.iter().rev().eq(&expected), "{inputs:?}");
        assert!(inputs.len() as u64 > last.min(2), "{inputs:?}");
        append(&mut *writer, "goes on", Flush::Durable).unwrap();
        assert!(writer.is_unchanged());
        let list = here.list(None, 32, &store::Redactor::default()).unwrap();
        assert!(!list.incomplete);
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_whole_records() {
    let dir = tempfile::tempdir().unwrap();
    // A file size limit cuts a write short as a full disk does; 8 blocks are 4 or 8 KiB.
    let mut other = Other::start("full", dir.path(), "trap '' XFSZ; ulimit -f 8;");
    let id = other.id();
    other.child.wait().unwrap();
    let here = sessions(dir.path());
    let opened = open(&here, &id).unwrap();
    let texts: Vec<_> = opened
        .1
        .iter()
        .map(|record| match &record.body {
            Body::UserInput { text, .. } => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, ["fits", "fits too"]);
    let files = std::fs::read_dir(dir.path().join("sessions"))
        .unwrap()
        .count();
    assert_eq!(
        files, 2,
        "the session and its lock; nothing of the one that failed"
    );
}

#[test]
fn a_part_that_cannot_be_opened_takes_no_record_into_the_part_before() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Other::start("without descriptors", dir.path(), "");
    let id = other.id();
    assert_eq!(other.said().as_deref(), Some("named"));
    assert!(other.child.wait().unwrap().success());
    let (mut writer, records) = open(&sessions(dir.path()), &id).unwrap();
    // What the part before had is in the new one.
    assert!(records.len() > 2, "{records:?}");
    append(&mut *writer, "goes on", Flush::Durable).unwrap();
    assert!(writer.is_unchanged());
}
