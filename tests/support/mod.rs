//! The harness of the black-box tests: a child on real pipes, its home, its workspace, its lines.
//! Nothing here knows a dialect; envelopes and methods belong to the test crates that use it.
#![allow(dead_code)] // every test crate includes this file and uses its own share of it

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use serde_json::Value;

mod pipes;
mod place;
#[allow(unused_imports)] // every test crate uses its own share of them
pub(crate) use pipes::{read_some, set_capacity, try_read};
pub(crate) use place::Place;

/// How long a test waits for anything before it fails. Generous: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Stderr that is kept, in bytes; the rest is read and dropped so that the child never blocks.
const STDERR_KEPT: usize = 1 << 20;

/// Who reads the child's stdout.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A thread reads all the time and hands over lines.
    Live,
    /// Nobody, until [`Server::start_reading`] or [`Server::take_stdout`].
    Stalled,
}

/// How to start a child. `Launch::new` gives the usual one; set what differs.
pub(crate) struct Launch {
    /// The binary, as `env!("CARGO_BIN_EXE_…")` gives it to a test crate.
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    /// Added to a clean environment of `PATH`, `HOME` and `MC_HOME`.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Working directory; the place's workspace when unset.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) place: Arc<Place>,
    pub(crate) reader: Reader,
    /// Capacity of the stdout pipe in bytes (Linux), the system's default when unset.
    pub(crate) stdout_capacity: Option<usize>,
    /// Capacity of the stdin pipe in bytes (Linux), the system's default when unset.
    pub(crate) stdin_capacity: Option<usize>,
}

impl Launch {
    pub(crate) fn new(program: &str, args: &[&str]) -> Self {
        Self {
            program: program.into(),
            args: args.iter().map(Into::into).collect(),
            env: Vec::new(),
            cwd: None,
            place: Place::new(),
            reader: Reader::Live,
            stdout_capacity: None,
            stdin_capacity: None,
        }
    }

    pub(crate) fn place(mut self, place: &Arc<Place>) -> Self {
        self.place = Arc::clone(place);
        self
    }

    pub(crate) fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub(crate) fn stalled(mut self) -> Self {
        self.reader = Reader::Stalled;
        self
    }

    pub(crate) fn stdout_capacity(mut self, bytes: usize) -> Self {
        self.stdout_capacity = Some(bytes);
        self
    }

    pub(crate) fn stdin_capacity(mut self, bytes: usize) -> Self {
        self.stdin_capacity = Some(bytes);
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir(self.cwd.clone().unwrap_or_else(|| self.place.work()))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.place.home())
            .env("MC_HOME", self.place.mc_home())
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// One line of the child's stdout.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Without the LF.
    pub(crate) bytes: Vec<u8>,
    /// False for what stood behind the last LF when the pipe ended.
    pub(crate) terminated: bool,
    /// When its last byte was read.
    pub(crate) at: Instant,
}

impl Line {
    /// The line as JSON; anything else fails the test.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| {
            panic!(
                "not JSON ({error}): {}",
                String::from_utf8_lossy(&self.bytes)
            )
        })
    }
}

/// How a child ended.
#[derive(Debug)]
pub(crate) struct Exit {
    /// The exit code, or `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
    /// When the exit was seen.
    pub(crate) at: Instant,
}

type Write1 = (Vec<u8>, SyncSender<io::Result<()>>);

/// A running child. Dropping it kills that child, and only that.
pub(crate) struct Server {
    child: Child,
    pub(crate) place: Arc<Place>,
    stdin: Option<Sender<Write1>>,
    stdout: Option<PipeReader>,
    lines: Option<Receiver<Line>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    exited: Receiver<Instant>,
    exit_seen: Option<Instant>,
}

impl Server {
    /// Starts the child on three fresh pipes.
    pub(crate) fn spawn(launch: Launch) -> Self {
        let (child_in, to_child) = io::pipe().expect("a stdin pipe");
        let (from_child, child_out) = io::pipe().expect("a stdout pipe");
        if let Some(bytes) = launch.stdout_capacity {
            set_capacity(&child_out, bytes);
        }
        if let Some(bytes) = launch.stdin_capacity {
            set_capacity(&child_in, bytes);
        }
        let mut server = Self::spawn_on(&launch, child_in.into(), child_out.into());
        server.stdin = Some(writer_thread(to_child));
        server.stdout = Some(from_child);
        if launch.reader == Reader::Live {
            server.start_reading();
        }
        server
    }

    /// Starts the child on endpoints that the caller made; stderr is collected as always.
    pub(crate) fn spawn_on(launch: &Launch, stdin: Stdio, stdout: Stdio) -> Self {
        let (errors, child_err) = io::pipe().expect("a stderr pipe");
        Self::spawn_with(launch, stdin, stdout, child_err.into(), errors)
    }

    /// Like [`Self::spawn_on`] with the caller's stderr; `errors` is what [`Exit::stderr`] reads.
    pub(crate) fn spawn_with(
        launch: &Launch,
        stdin: Stdio,
        stdout: Stdio,
        stderr: Stdio,
        mut errors: PipeReader,
    ) -> Self {
        let mut command = launch.command();
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {:?}: {error}", launch.program));
        drop(command); // closes this process's copies of the child's pipe ends
        let stderr = std::thread::spawn(move || {
            let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
            while let Ok(n @ 1..) = errors.read(&mut chunk) {
                let room = STDERR_KEPT.saturating_sub(kept.len());
                kept.extend_from_slice(&chunk[..n.min(room)]);
            }
            kept
        });
        Self {
            exited: exit_thread(&child),
            child,
            place: Arc::clone(&launch.place),
            stdin: None,
            stdout: None,
            lines: None,
            stderr: Some(stderr),
            exit_seen: None,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes raw bytes and waits until the pipe has taken them all.
    pub(crate) fn try_send(&self, bytes: impl Into<Vec<u8>>) -> io::Result<()> {
        let stdin = self.stdin.as_ref().expect("stdin is open");
        let (done, written) = mpsc::sync_channel(1);
        stdin
            .send((bytes.into(), done))
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        written
            .recv_timeout(PATIENCE)
            .expect("the child stopped reading its stdin")
    }

    /// Like [`Self::try_send`], for a child that must take the bytes.
    pub(crate) fn send(&self, bytes: impl Into<Vec<u8>>) {
        self.try_send(bytes).expect("the child closed its stdin");
    }

    /// Writes one value as one LF-terminated line.
    pub(crate) fn send_json(&self, value: &Value) {
        let mut line = serde_json::to_vec(value).expect("JSON");
        line.push(b'\n');
        self.send(line);
    }

    /// Ends the child's stdin: it reads EOF.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Starts the thread that reads stdout into lines. Needed after [`Reader::Stalled`] only.
    pub(crate) fn start_reading(&mut self) {
        let stdout = self.take_stdout();
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || read_lines(stdout, &sender));
        self.lines = Some(lines);
    }

    /// The unread end of the stdout pipe; dropping it closes the pipe.
    pub(crate) fn take_stdout(&mut self) -> PipeReader {
        self.stdout.take().expect("stdout has a reader already")
    }

    /// Bytes that wait unread in the stdout pipe (stalled reader only).
    pub(crate) fn unread(&self) -> u64 {
        let stdout = self.stdout.as_ref().expect("stdout has a reader already");
        rustix::io::ioctl_fionread(stdout).expect("FIONREAD")
    }

    /// The next line, or `None` at the end of stdout.
    pub(crate) fn recv_line(&mut self) -> Option<Line> {
        let lines = self.lines.as_ref().expect("stdout has no reader");
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line on stdout within {PATIENCE:?}"),
        }
    }

    /// A line that has already arrived, if there is one.
    pub(crate) fn ready_line(&mut self) -> Option<Line> {
        self.lines
            .as_ref()
            .expect("stdout has no reader")
            .try_recv()
            .ok()
    }

    /// The next line as JSON; the end of stdout fails the test.
    pub(crate) fn recv(&mut self) -> Value {
        match self.recv_line() {
            Some(line) => {
                assert!(line.terminated, "stdout ended inside a line: {line:?}");
                line.json()
            }
            None => {
                let exit = self.wait_exit();
                panic!("stdout ended, {:?}, stderr: {}", exit.status, exit.stderr);
            }
        }
    }

    /// Every line up to and including the first that `wanted` accepts.
    pub(crate) fn recv_until(&mut self, mut wanted: impl FnMut(&Value) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let value = self.recv();
            let found = wanted(&value);
            seen.push(value);
            if found {
                return seen;
            }
        }
    }

    /// All lines that are left, up to the end of stdout.
    pub(crate) fn rest(&mut self) -> Vec<Line> {
        std::iter::from_fn(|| self.recv_line()).collect()
    }

    /// True while the child has not exited.
    pub(crate) fn is_running(&mut self) -> bool {
        self.exit_seen = self.exit_seen.or_else(|| self.exited.try_recv().ok());
        self.exit_seen.is_none()
    }

    /// Waits for the exit. Call [`Self::close_stdin`] first if EOF is what ends the child.
    pub(crate) fn wait_exit(&mut self) -> Exit {
        self.wait_exit_while(|_| ())
    }

    /// Waits for the exit and calls `watch` about every 5 ms until then.
    pub(crate) fn wait_exit_while(&mut self, mut watch: impl FnMut(&Self)) -> Exit {
        let deadline = Instant::now() + PATIENCE;
        let at = loop {
            if let Some(at) = self.exit_seen {
                break at;
            }
            match self.exited.recv_timeout(Duration::from_millis(5)) {
                Ok(at) => self.exit_seen = Some(at),
                Err(RecvTimeoutError::Timeout) => {
                    assert!(
                        Instant::now() < deadline,
                        "the child did not exit within {PATIENCE:?}"
                    );
                    watch(self);
                }
                Err(RecvTimeoutError::Disconnected) => panic!("the exit was not observed"),
            }
        };
        let status = self.child.wait().expect("the child's status");
        let stderr = self
            .stderr
            .take()
            .map(|thread| thread.join().expect("the stderr thread"));
        let stderr = String::from_utf8_lossy(&stderr.unwrap_or_default()).into_owned();
        Exit {
            code: status.code(),
            status,
            stderr,
            at,
        }
    }

    /// Sends a signal to the child.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        rustix::process::kill_process(pid, signal).expect("the signal is sent");
    }

    /// Resident memory now, in KiB (`VmRSS`); `None` once the child is gone or without `/proc`.
    pub(crate) fn rss_kib(&self) -> Option<u64> {
        self.proc_status("VmRSS:")
    }

    /// Peak resident memory, in KiB (`VmHWM`).
    pub(crate) fn peak_rss_kib(&self) -> Option<u64> {
        self.proc_status("VmHWM:")
    }

    fn proc_status(&self, key: &str) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // `wait` has not run while `exit_seen` is empty, so the pid is still this child's.
        if self.exit_seen.is_none() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Where `tests/real/install-NAME` put the servers of others. `None`, with a word, where it has not been run; under
/// `CI=true` that is a failure.
#[allow(clippy::print_stderr)]
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("target/real").join(name);
    if folder.join("installed").exists() {
        return Some(folder);
    }
    let missing = format!("skipped: tests/real/install-{name} has not been run");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    eprintln!("{missing}");
    None
}

/// Whether a process runs (Linux). One that only waits to be collected does not.
pub(crate) fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

/// Waits until `condition` holds, looking every few milliseconds; fails the test after [`PATIENCE`].
pub(crate) fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn writer_thread(mut pipe: PipeWriter) -> Sender<Write1> {
    let (sender, jobs) = mpsc::channel::<Write1>();
    std::thread::spawn(move || {
        for (bytes, done) in jobs {
            let _ = done.send(pipe.write_all(&bytes));
        }
    });
    sender
}

fn exit_thread(child: &Child) -> Receiver<Instant> {
    let (sender, exited) = mpsc::channel();
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    std::thread::spawn(move || {
        // NOWAIT leaves the zombie, so that the pid can't be reused before `Child::wait`.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options)
        {
        }
        let _ = sender.send(Instant::now());
    });
    exited
}

fn read_lines(mut stdout: PipeReader, lines: &Sender<Line>) {
    let (mut line, mut chunk) = (Vec::new(), vec![0; 65_536]);
    while let Ok(n @ 1..) = stdout.read(&mut chunk) {
        let at = Instant::now();
        for piece in chunk[..n].split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if line.last() == Some(&b'\n') {
                line.pop();
                let bytes = std::mem::take(&mut line);
                if lines
                    .send(Line {
                        bytes,
                        terminated: true,
                        at,
                    })
                    .is_err()
                {
                    return;
                }
            }
        }
    }
    if !line.is_empty() {
        let _ = lines.send(Line {
            bytes: line,
            terminated: false,
            at: Instant::now(),
        });
    }
}
