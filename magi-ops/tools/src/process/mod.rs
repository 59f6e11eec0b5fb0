//! One command, run to its end under a guard: bounded in time and output, cancelled whole.
//! What is run and what its result means is the caller's matter; killing is the guard's.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use uuid::Uuid;

use crate::guard::{Guard, Input, MARK, Request, SUBCOMMAND};

mod capture;
mod handle;
mod reports;

pub use crate::guard::Status;
pub use capture::Captured;
use handle::GuardHandle;
use reports::{Listener, Reports};

/// Longest wait for a guard that was asked for an end. It needs far less unless it is kept from working or
/// a process can't be killed; then the host does it, so that all is over within the 2000 ms of a teardown.
const ANSWER_LIMIT: Duration = Duration::from_millis(700);
/// The same for a guard whose command ended by itself, and which gives the rest some time.
const SETTLE_LIMIT: Duration = Duration::from_secs(1);
/// How often a guard is looked at that may be stopped.
const AWAKE: Duration = Duration::from_millis(100);
/// The same for a command that runs for as long as the host.
const SELDOM: Duration = Duration::from_secs(1);
/// How long output is still read when nothing of the command lives. Only a pipe that was handed to a
/// process outside of the tree stays open so long.
const DRAIN_LIMIT: Duration = Duration::from_millis(250);

/// A command before it runs.
///
/// It gets this process's environment, without what [`Guard::withhold`] names. `MAGI_CODE_CALL` is added, a
/// random value by which its processes are found. It inherits no descriptor of this process, has no terminal, and its
/// standard input holds `stdin` and ends.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program, looked up in `PATH`, and its arguments; at most 1 MiB.
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// Variables beside or instead of those of this process.
    pub env: Vec<(String, String)>,
    /// At most 4 MiB.
    pub stdin: Vec<u8>,
    /// Wall time after which the command is killed.
    pub time_limit: Duration,
    /// Bytes kept of the beginning of an output, and as many of its end.
    pub keep: usize,
    /// Both outputs in one, in the order in which they were written.
    pub merge: bool,
}

/// What a command came to. Nothing of it lives any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// `None` when it was killed at the time limit or when it was cancelled.
    pub status: Option<Status>,
    /// Standard output; both outputs of a merged command.
    pub stdout: Captured,
    pub stderr: Captured,
    pub timed_out: bool,
    pub cancelled: bool,
}

/// Why a command has no result.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("the command or its input is too long")]
    TooLong,
    /// The working directory is missing, or the system is out of processes or descriptors.
    #[error("the command can't be started: {0}")]
    Guard(#[source] io::Error),
    /// The program can't be executed.
    #[error("the command can't be started: {0}")]
    Command(String),
    /// Somebody killed the guard. What could be found of its command was killed then.
    #[error("the command was lost: its guard ended unexpectedly")]
    Lost,
    /// The command kept its guard from working, and was killed.
    #[error("the command was ended: it stopped its guard again and again")]
    Stopped,
}

impl ProcessError {
    /// The kind as a closed word, for a log: a message may name a program.
    fn kind(&self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Guard(_) => "guard",
            Self::Command(_) => "not_started",
            Self::Lost => "lost",
            Self::Stopped => "stopped",
        }
    }
}

/// Why a command is ended before it ends itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndReason {
    Cancelled,
    TimedOut,
    /// The guard can't work.
    Stopped,
}

impl Command {
    /// A line for the shell: `/bin/bash` where there is one, else `/bin/sh`.
    #[must_use]
    pub fn shell(line: &str, cwd: PathBuf) -> Self {
        const BASH: &str = "/bin/bash";
        let shell = match std::path::Path::new(BASH).exists() {
            true => BASH,
            false => "/bin/sh",
        };
        Self {
            argv: vec![shell.to_owned(), "-c".to_owned(), line.to_owned()],
            cwd,
            env: Vec::new(),
            stdin: Vec::new(),
            time_limit: Duration::from_secs(120),
            keep: 16 * 1024,
            merge: false,
        }
    }

    /// Runs it. Asks the guard for an end as soon as `cancel` says so or the time is over, and returns
    /// when nothing of the command lives: within a second if the command let its guard work, at most two
    /// if it did not. Dropping the future ends the command as well, by the guard alone.
    ///
    /// # Errors
    ///
    /// [`ProcessError`] when there is no result: it could not be started, or was ended for what it did to its
    /// guard.
    pub async fn run(
        self,
        guard: &Guard,
        cancel: &CancellationToken,
    ) -> Result<Finished, ProcessError> {
        let span = tracing::debug_span!("command", guard = tracing::field::Empty);
        let result = self.run_guarded(guard, cancel).instrument(span.clone());
        let result = result.await;
        let _entered = span.enter();
        match &result {
            Ok(finished) => tracing::debug!(
                exit_code = finished.status.and_then(Status::exit_code),
                signal = finished.status.and_then(Status::signal),
                timed_out = finished.timed_out,
                cancelled = finished.cancelled,
                bytes = finished.stdout.total(),
                "a command ended"
            ),
            Err(error) => tracing::warn!(error = error.kind(), "a command has no result"),
        }
        result
    }

    async fn run_guarded(
        self,
        guard: &Guard,
        cancel: &CancellationToken,
    ) -> Result<Finished, ProcessError> {
        let (output, out) = io::pipe().map_err(ProcessError::Guard)?;
        let output = pipe::Receiver::from_owned_fd(output.into()).map_err(ProcessError::Guard)?;
        let mut stdout = Captured::keeping(self.keep);
        let started = self.begin(guard, out.into(), Input::Bytes)?;
        let mut finished = started.finish(stdout.fill(output), AWAKE, cancel).await?;
        finished.stdout = stdout;
        Ok(finished)
    }

    /// Starts it to be talked to: what is written to the socket it reads on its standard input, and what it
    /// writes to its standard output is read there, without blocking. [`Self::stdin`], [`Self::merge`] and the time limit don't
    /// count, and the output of what it finishes with is empty.
    ///
    /// The command lives as long as the future, which has to be polled: as [`Self::run`], it asks for an end when
    /// `cancel` says so, and returns when nothing of the command lives.
    ///
    /// # Errors
    ///
    /// [`ProcessError`] when there is no guard; the future's, when there is no result.
    pub fn start(
        mut self,
        guard: &Guard,
        cancel: CancellationToken,
    ) -> Result<
        (
            StdStream,
            impl Future<Output = Result<Finished, ProcessError>> + Send + use<>,
        ),
        ProcessError,
    > {
        self.merge = false;
        self.time_limit = Duration::MAX;
        let pair = || -> io::Result<_> {
            let (ours, theirs) = StdStream::pair()?;
            ours.set_nonblocking(true)?;
            Ok((ours, theirs))
        };
        let (ours, theirs) = pair().map_err(ProcessError::Guard)?;
        let started = self.begin(guard, theirs.into(), |_| Input::Output)?;
        let life = async move { started.finish(async {}, SELDOM, &cancel).await };
        Ok((ours, life))
    }

    /// Starts the guard; the command does not run before it gets its request.
    fn begin(
        self,
        guard: &Guard,
        out: OwnedFd,
        input: impl FnOnce(Vec<u8>) -> Input,
    ) -> Result<StartedGuard, ProcessError> {
        let request = Request {
            argv: self.argv,
            input: input(self.stdin),
        };
        let request = request.encode().ok_or(ProcessError::TooLong)?;
        let start = || -> io::Result<StartedGuard> {
            let (ours, theirs) = StdStream::pair()?;
            ours.set_nonblocking(true)?;
            let (errors, err) = match self.merge {
                true => (None, out.try_clone()?),
                false => {
                    let (errors, err) = io::pipe()?;
                    let errors = pipe::Receiver::from_owned_fd(errors.into())?;
                    (Some(errors), err.into())
                }
            };
            let mark = Uuid::new_v4().to_string();
            let withheld = guard.withheld();
            let mut command = tokio::process::Command::new(&guard.program);
            command.arg(SUBCOMMAND).current_dir(&self.cwd);
            for variable in &withheld {
                command.env_remove(variable);
            }
            command
                .envs(self.env.iter().map(|(name, value)| (name, value)))
                .env(MARK, &mark)
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(out)
                .stderr(err);
            // The guard's ends of all pipes are closed here when `command` goes out of scope.
            let handle = GuardHandle::new(command.spawn()?, mark, guard);
            Ok(StartedGuard {
                request,
                handle,
                control: UnixStream::from_std(ours)?,
                errors,
                keep: self.keep,
                time_limit: self.time_limit,
            })
        };
        start().map_err(ProcessError::Guard)
    }
}

/// A guard that waits for its request.
struct StartedGuard {
    request: Vec<u8>,
    handle: GuardHandle,
    control: UnixStream,
    errors: Option<pipe::Receiver>,
    keep: usize,
    time_limit: Duration,
}

impl StartedGuard {
    /// The command's life. `output` reads its standard output to the end; `awake` is how often the guard is looked at.
    async fn finish(
        self,
        output: impl Future<Output = ()>,
        awake: Duration,
        cancel: &CancellationToken,
    ) -> Result<Finished, ProcessError> {
        let Self {
            request,
            mut handle,
            control,
            errors,
            keep,
            time_limit,
        } = self;
        let mut stderr = Captured::keeping(keep);
        let (reports, reason) = {
            let reading = async {
                tokio::join!(output, async {
                    if let Some(errors) = errors {
                        stderr.fill(errors).await;
                    }
                })
            };
            tokio::pin!(reading);
            let talking = async {
                let awake = handle.keep_awake(awake);
                let (reports, reason) =
                    talk(control, &request, &handle, time_limit, awake, cancel).await;
                handle.dismiss(&reports).await;
                (reports, reason)
            };
            tokio::pin!(talking);
            tokio::select! {
                ended = &mut talking => {
                    let _ = timeout(DRAIN_LIMIT, &mut reading).await;
                    ended
                }
                _ = &mut reading => talking.await,
            }
        };
        match (reason, reports.failure) {
            (Some(EndReason::Stopped), _) => return Err(ProcessError::Stopped),
            // The guard ended before it had done its work.
            (None, _) if reports.complete && !reports.gone => return Err(ProcessError::Lost),
            (None, Some(why)) => return Err(ProcessError::Command(why)),
            (None, None) if reports.status.is_none() => return Err(ProcessError::Lost),
            _ => {}
        }
        Ok(Finished {
            status: reports.status.filter(|_| reason.is_none()),
            stdout: Captured::keeping(0),
            stderr,
            timed_out: reason == Some(EndReason::TimedOut),
            cancelled: reason == Some(EndReason::Cancelled),
        })
    }
}

/// The conversation with a guard, to its end.
async fn talk(
    mut control: UnixStream,
    request: &[u8],
    handle: &GuardHandle,
    time_limit: Duration,
    awake: impl Future<Output = ()>,
    cancel: &CancellationToken,
) -> (Reports, Option<EndReason>) {
    let (from, mut to) = control.split();
    let mut listener = Listener::new(from);
    let mut reason = None;
    let sending = async {
        // A guard that ended early is noticed by the listener.
        let _ = to.write_all(request).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => reason = Some(EndReason::Cancelled),
        () = listener.command_end() => {}
        () = sleep(time_limit) => reason = Some(EndReason::TimedOut),
        () = awake => reason = Some(EndReason::Stopped),
        () = sending => {}
    }
    // Ended by itself: the guard ends what was left running, without being asked.
    if reason.is_none() && !listener.reports.complete {
        tokio::select! {
            biased;
            () = cancel.cancelled() => reason = Some(EndReason::Cancelled),
            _ = timeout(SETTLE_LIMIT, listener.guard_end()) => {}
        }
    }
    if reason.is_some() {
        let _ = to.shutdown().await;
        handle.wake();
        if reason != Some(EndReason::Stopped) {
            let _ = timeout(ANSWER_LIMIT, listener.guard_end()).await;
        }
    }
    (listener.reports, reason)
}
