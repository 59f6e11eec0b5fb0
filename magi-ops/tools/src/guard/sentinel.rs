//! The sentinel: a process of this program that outlives the host by a moment and ends the calls of guards that
//! can't. Its life as a process, and the host's hold on it; how a tree is killed is in `orphans`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
#[cfg(target_os = "linux")]
use std::thread;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use super::SUBCOMMAND;
use super::orphans::Orphans;

/// The second argument that makes a guard's program a sentinel.
pub(super) const ROLE: &str = "sentinel";

/// How long a guard that works may take for its call once the host is gone; the tree has had its own 300 ms
/// then, and what follows stays within the second that a host's death may take.
#[cfg(target_os = "linux")]
const GUARD_LIMIT: Duration = Duration::from_millis(450);
/// How long it may take to end when nothing of its call lives.
#[cfg(target_os = "linux")]
const EXIT_LIMIT: Duration = Duration::from_millis(200);
/// How often it is looked at.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_millis(10);

/// What the host tells, one JSON text a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Notice {
    /// A call begins: the number of its guard, and its mark.
    Begin(i32, String),
    /// Nothing of the call of this guard lives.
    End(i32),
}

/// The host's hold on its sentinel, which is started with the first call.
#[derive(Debug)]
pub(crate) struct SentinelHandle {
    program: PathBuf,
    /// What it must know, also one that takes another's place.
    calls: BTreeMap<i32, String>,
    sentinel: Option<Sentinel>,
}

#[derive(Debug)]
struct Sentinel {
    process: Child,
    control: StdStream,
}

impl SentinelHandle {
    pub(super) fn new(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            calls: BTreeMap::new(),
            sentinel: None,
        }
    }

    /// To be called before the command of this guard can run: the sentinel knows of it from now on.
    pub(crate) fn begin(&mut self, guard: Pid, mark: &str) {
        let guard = guard.as_raw_nonzero().get();
        self.calls.insert(guard, mark.to_owned());
        self.keep();
        self.tell(&Notice::Begin(guard, mark.to_owned()));
    }

    /// Nothing of the command lives.
    pub(crate) fn end(&mut self, guard: Pid) {
        let guard = guard.as_raw_nonzero().get();
        if self.calls.remove(&guard).is_some() {
            self.tell(&Notice::End(guard));
        }
    }

    /// Replaces a sentinel that was killed and wakes one that was stopped, while calls run.
    pub(crate) fn keep(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        if let Some(sentinel) = &mut self.sentinel {
            if matches!(sentinel.process.try_wait(), Ok(None)) {
                // It has not been waited for, so that the number is its own.
                let _ = kill_process(Pid::from_child(&sentinel.process), Signal::CONT);
                return;
            }
            tracing::warn!("the sentinel was killed; another one is started");
        }
        self.sentinel = match Sentinel::start(&self.program) {
            Ok(sentinel) => Some(sentinel),
            // The guards still work, and so does the host while it lives.
            Err(error) => {
                tracing::warn!(%error, "the sentinel can't be started");
                None
            }
        };
        for (guard, mark) in self.calls.clone() {
            self.tell(&Notice::Begin(guard, mark));
        }
    }

    /// One that is gone, or has not read for thousands of calls, is replaced by [`Self::keep`].
    fn tell(&mut self, notice: &Notice) {
        let Some(sentinel) = &mut self.sentinel else {
            return;
        };
        let told = serde_json::to_vec(notice)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                sentinel.control.write_all(&line)
            });
        if let Err(error) = told {
            tracing::warn!(%error, "the sentinel can't be told");
            let _ = sentinel.process.kill();
        }
    }
}

impl Sentinel {
    /// It gets nothing of this process but the conversation: no output that somebody waits for the end of,
    /// no directory, no variable.
    fn start(program: &Path) -> io::Result<Self> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let process = Command::new(program)
            .args([OsString::from(SUBCOMMAND), ROLE.into()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            process,
            control: ours,
        })
    }
}

/// The sentinel's life: listens until the host is gone, then ends what the guards don't. Whether nothing of a
/// call lives.
pub(super) async fn watch(control: OwnedFd) -> io::Result<bool> {
    let control = StdStream::from(control);
    control.set_nonblocking(true)?;
    let mut lines = BufReader::new(UnixStream::from_std(control)?).lines();
    let mut calls = BTreeMap::new();
    // A torn line is the last one of a host that died over it: nothing of that call has run.
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(Notice::Begin(guard, mark)) => drop(calls.insert(guard, mark)),
            Ok(Notice::End(guard)) => drop(calls.remove(&guard)),
            Err(_) => {}
        }
    }
    let mut ending = JoinSet::new();
    for (guard, mark) in calls {
        if let Some(guard) = Pid::from_raw(guard).filter(|_| guard > 0) {
            ending.spawn_blocking(move || end(guard, mark));
        }
    }
    Ok(ending.join_all().await.into_iter().all(|gone| gone))
}

/// Waits for a guard that works, and ends what it has left and itself.
#[cfg(target_os = "linux")]
fn end(guard: Pid, mark: String) -> bool {
    use super::descendants::{State, state};

    let wait = |limit| {
        let limit = Instant::now() + limit;
        while state(guard, &mark) == State::Works && Instant::now() < limit {
            thread::sleep(LOOK);
        }
    };
    wait(GUARD_LIMIT);
    let orphans = Orphans {
        guard,
        command: None,
        mark: mark.clone(),
    };
    let gone = orphans.end();
    // One that was stopped collects what was killed and ends; nobody is left to stop it again.
    if state(guard, &mark) != State::Gone {
        let _ = kill_process(guard, Signal::CONT);
        wait(EXIT_LIMIT);
    }
    if state(guard, &mark) != State::Gone {
        let _ = kill_process(guard, Signal::KILL);
    }
    gone
}

/// Of a command whose guard is gone nothing can be found here.
#[cfg(not(target_os = "linux"))]
fn end(_: Pid, _: String) -> bool {
    true
}
