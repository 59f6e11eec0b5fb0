//! A local-agent child process on real pipes: spawned, captured, waited for, and never left behind.
//! What is said over the pipes is `client`'s.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{self, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Client;
use crate::Error;

/// Bytes kept of a captured stderr: its newest.
const STDERR_BYTES: usize = 16 * 1024;

/// How long the last words on stderr are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Where the child's stderr goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stderr {
    /// Read all the time, so that the child never waits on it; the newest 16 KiB are kept.
    Capture,
    /// To this process's own stderr.
    Pass,
    Discard,
}

/// How to start a child.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub cwd: Option<PathBuf>,
    /// Variables to set beside the inherited ones.
    pub env: Vec<(OsString, OsString)>,
    pub stderr: Stderr,
}

impl Launch {
    /// `program serve --stdio`, in this process's directory and environment, stderr captured.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: vec!["serve".into(), "--stdio".into()],
            cwd: None,
            env: Vec::new(),
            stderr: Stderr::Capture,
        }
    }
}

/// A running child and the client that talks to it. Dropping it kills the process.
pub struct Child {
    /// The connection.
    pub client: Client<ChildStdout, ChildStdin>,
    process: process::Child,
    stderr: Arc<Mutex<Vec<u8>>>,
    keeper: Option<JoinHandle<()>>,
}

impl Child {
    /// Starts the child. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The operating system's, such as a missing program or directory.
    pub fn spawn(launch: Launch) -> Result<Self, Error> {
        let mut command = process::Command::new(&launch.program);
        command
            .args(&launch.args)
            .envs(launch.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(match launch.stderr {
                Stderr::Capture => Stdio::piped(),
                Stderr::Pass => Stdio::inherit(),
                Stderr::Discard => Stdio::null(),
            })
            .kill_on_drop(true);
        if let Some(cwd) = &launch.cwd {
            command.current_dir(cwd);
        }
        // A Ctrl-C at the terminal is for the client to translate (`turn.cancel`), not for the child to die of.
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command.spawn()?;
        let (Some(output), Some(input)) = (process.stdout.take(), process.stdin.take()) else {
            return Err(Error::Closed);
        };
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let keep = |pipe| tokio::spawn(keep_newest(pipe, Arc::clone(&stderr)));
        let keeper = process.stderr.take().map(keep);
        Ok(Self {
            client: Client::new(output, input),
            process,
            stderr,
            keeper,
        })
    }

    /// The process's id, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// What was captured of its stderr, made valid UTF-8. Not safe for a terminal as it is.
    #[must_use]
    pub fn stderr(&self) -> String {
        let bytes = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Closes the child's input, reads its output to the end and waits for it; kills it when it has
    /// not ended `within` that time. Returns its status, or `None` if it had to be killed.
    ///
    /// # Errors
    /// The first violation in what it still said, or the operating system's error.
    pub async fn finish(&mut self, within: Duration) -> Result<Option<ExitStatus>, Error> {
        self.client.close_input();
        let Self {
            client, process, ..
        } = self;
        let ended = timeout(within, async {
            let drained = loop {
                match client.next().await {
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            let status = process.wait().await;
            drained.and(status.map_err(Error::from))
        })
        .await;
        match ended {
            Ok(status) => {
                self.collect().await;
                status.map(Some)
            }
            Err(_) => {
                self.kill().await?;
                Ok(None)
            }
        }
    }

    /// Kills the process and waits for it.
    ///
    /// # Errors
    /// The operating system's.
    pub async fn kill(&mut self) -> Result<(), Error> {
        self.process.kill().await?;
        self.collect().await;
        Ok(())
    }

    /// Lets the last words on stderr arrive; not for long, since a grandchild may hold the pipe open.
    async fn collect(&mut self) {
        if let Some(mut keeper) = self.keeper.take()
            && timeout(LAST_WORDS, &mut keeper).await.is_err()
        {
            keeper.abort();
        }
    }
}

async fn keep_newest(mut pipe: ChildStderr, newest: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.extend_from_slice(&chunk[..count]);
        let surplus = newest.len().saturating_sub(STDERR_BYTES);
        newest.drain(..surplus);
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Violation;

    fn shell(script: &str) -> Launch {
        Launch {
            args: vec!["-c".into(), script.into()],
            ..Launch::new("/bin/sh")
        }
    }

    #[tokio::test]
    async fn a_child_is_waited_for_and_its_stderr_kept_to_a_bound() {
        let mut child = Child::spawn(shell(
            "i=0; while [ $i -lt 1000 ]; do echo 'a line of some forty bytes, give or take' >&2; i=$((i+1)); done; \
             echo last >&2; cat >/dev/null; exit 3",
        ))
        .unwrap();
        let status = child
            .finish(Duration::from_secs(20))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(child.stderr().ends_with("last\n"));
        assert_eq!(child.stderr().len(), STDERR_BYTES);
    }

    #[tokio::test]
    async fn a_child_that_will_not_end_is_killed() {
        let mut child =
            Child::spawn(shell("trap '' TERM; exec 0<&-; while :; do sleep 1; done")).unwrap();
        assert!(child.pid().is_some());
        assert!(
            child
                .finish(Duration::from_millis(200))
                .await
                .unwrap()
                .is_none()
        );
        assert!(child.pid().is_none());
    }

    #[tokio::test]
    async fn a_child_that_does_not_speak_the_protocol_is_found_out() {
        let mut child = Child::spawn(shell("echo Welcome; cat >/dev/null")).unwrap();
        let error = child.client.negotiate(&[]).await.unwrap_err();
        assert!(matches!(error, Error::Violation(Violation::NotJsonObject)));
        assert!(child.finish(Duration::from_secs(20)).await.is_err());
    }

    #[tokio::test]
    async fn a_missing_program_is_an_error_not_a_hang() {
        assert!(matches!(
            Child::spawn(Launch::new("/nonexistent/magi-code")),
            Err(Error::Io(_))
        ));
    }
}
