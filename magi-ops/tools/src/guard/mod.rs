//! The guard of a command: which program it is, and the words that host and guard exchange.
//! What the guard does as a process is in `entry` and `tree`, what the host does without it in `orphans`, who
//! acts without either in `sentinel`; no tool lives here.
//!
//! A process that dies by SIGKILL runs no handler, so the host can't promise to end what it started. Each
//! command therefore has a guard between itself and the host: this very program, started once more with
//! [`SUBCOMMAND`]. Its standard input is a socket to the host. The host asks for an end by closing its
//! sending half, and dying in any way closes it too, so the guard knows one signal only. A guard that the
//! command killed or stopped is no use; while the host lives, it then does the guard's work. When the command
//! kills the host as well, the sentinel does it: a second process of this program, which is not among the
//! command's ancestors and knows every call by its guard's number and its mark.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

#[cfg(target_os = "linux")]
mod descendants;
mod entry;
mod members;
mod orphans;
mod sentinel;
mod tree;

pub use entry::run;
pub(crate) use orphans::Orphans;

/// The first argument that makes a program call [`run`] instead of what it does otherwise. It is
/// nobody's command: the guard speaks on its standard input with the process that started it.
pub const SUBCOMMAND: &str = "__guard";

/// The variable in a command's environment that tells whose it is, by a random value: the command's processes
/// are found by it when the guard that they were below was killed.
pub(crate) const MARK: &str = "MAGI_CODE_CALL";

/// Longest argument list of a command, in bytes of JSON.
pub(crate) const MAX_ARGV_BYTES: usize = 1024 * 1024;
/// Longest input of a command, in bytes.
pub(crate) const MAX_STDIN_BYTES: usize = 4 * 1024 * 1024;

/// What commands run under: how a guard is started, what it keeps from them, and who watches over the guards.
/// Clones share the latter two.
#[derive(Clone, Debug)]
pub struct Guard {
    pub(crate) program: PathBuf,
    withheld: Arc<Mutex<BTreeSet<String>>>,
    sentinel: Arc<Mutex<sentinel::SentinelHandle>>,
}

impl Guard {
    /// A guard that is this very program. Its `main` must call [`run`] when the first argument is
    /// [`SUBCOMMAND`]; in a program that does not, every command fails to start.
    #[must_use]
    pub fn this_program() -> Self {
        // On Linux not by its path: the file may have been replaced by an update meanwhile.
        if cfg!(target_os = "linux") {
            return Self::program("/proc/self/exe");
        }
        Self::program(std::env::current_exe().unwrap_or_default())
    }

    /// A guard that is the program at `path`.
    #[must_use]
    pub fn program(path: impl Into<PathBuf>) -> Self {
        let program = path.into();
        Self {
            sentinel: Arc::new(Mutex::new(sentinel::SentinelHandle::new(&program))),
            program,
            withheld: Arc::default(),
        }
    }

    /// The program that guards are processes of.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// From now on commands don't find these variables in their environment: they hold keys of models.
    pub fn withhold<T: Into<String>>(&self, variables: impl IntoIterator<Item = T>) {
        let mut withheld = self.withheld.lock().unwrap_or_else(PoisonError::into_inner);
        withheld.extend(variables.into_iter().map(Into::into));
    }

    /// Keeps this process's own environment and memory from other processes of the same person, commands among
    /// them: on Linux `/proc/<pid>/environ` and the like then belong to root alone. Best effort.
    pub fn close_this_process() {
        #[cfg(target_os = "linux")]
        if let Err(error) =
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        {
            tracing::warn!(%error, "other processes may read this one's environment");
        }
    }

    /// The variables that a command must not find.
    pub(crate) fn withheld(&self) -> Vec<String> {
        let withheld = self.withheld.lock().unwrap_or_else(PoisonError::into_inner);
        withheld.iter().cloned().collect()
    }

    /// The host's hold on the sentinel.
    pub(crate) fn sentinel(&self) -> MutexGuard<'_, sentinel::SentinelHandle> {
        self.sentinel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a guard has to run: the only thing that it is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// What the command reads on its standard input.
    pub(crate) input: Input,
}

/// The standard input of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// These bytes, and then the end.
    Bytes(Vec<u8>),
    /// Whatever comes through the socket that its output goes into.
    Output,
}

/// The length of an [`Input::Output`], which no bytes have.
const FROM_OUTPUT: u32 = u32::MAX;

impl Request {
    /// Two lengths, then the arguments as JSON, then the input. `None` beyond the bounds.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let argv = serde_json::to_vec(&self.argv).ok()?;
        let (length, stdin) = match &self.input {
            Input::Bytes(bytes) => (u32::try_from(bytes.len()).ok()?, bytes.as_slice()),
            Input::Output => (FROM_OUTPUT, &[][..]),
        };
        if argv.len() > MAX_ARGV_BYTES || stdin.len() > MAX_STDIN_BYTES {
            return None;
        }
        let mut bytes = Vec::with_capacity(8 + argv.len() + stdin.len());
        bytes.extend(u32::try_from(argv.len()).ok()?.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend(argv);
        bytes.extend(stdin);
        Some(bytes)
    }

    /// Reads one. `None` when the other side went away first or does not keep the bounds.
    pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> Option<Self> {
        let argv = from.read_u32().await.ok()? as usize;
        let length = from.read_u32().await.ok()?;
        let stdin = match length {
            FROM_OUTPUT => 0,
            bytes => bytes as usize,
        };
        if argv > MAX_ARGV_BYTES || stdin > MAX_STDIN_BYTES {
            return None;
        }
        let (mut argv, mut stdin) = (vec![0; argv], vec![0; stdin]);
        from.read_exact(&mut argv).await.ok()?;
        from.read_exact(&mut stdin).await.ok()?;
        let argv = serde_json::from_slice(&argv).ok()?;
        let input = match length {
            FROM_OUTPUT => Input::Output,
            _ => Input::Bytes(stdin),
        };
        Some(Self { argv, input })
    }
}

/// What a guard tells, one JSON text a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The command runs, as this process, in a group of that number.
    Started(i32),
    /// It could not be started.
    Failed(String),
    /// Nothing of it lives any more: the last report, without which a guard that ended was lost.
    Gone,
    #[serde(untagged)]
    Ended(Status),
}

/// How a command ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its exit code, 0 to 255.
    Exited(i32),
    /// The number of the signal that ended it.
    Signalled(i32),
}

impl Status {
    pub(crate) fn exit_code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Signalled(_) => None,
        }
    }

    pub(crate) fn signal(self) -> Option<i32> {
        match self {
            Self::Exited(_) => None,
            Self::Signalled(signal) => Some(signal),
        }
    }
}

/// Most bytes of all reports of one guard.
pub(crate) const MAX_REPORT_BYTES: u64 = 4096;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Option<Request> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(Request::read(&mut &bytes[..]))
    }

    proptest! {
        #[test]
        fn requests_arrive_as_they_were(
            argv in proptest::collection::vec(any::<String>(), 0..4),
            stdin in proptest::collection::vec(any::<u8>(), 0..40),
            cut in 0.0..1.0,
        ) {
            for input in [Input::Bytes(stdin), Input::Output] {
            let request = Request { argv: argv.clone(), input };
            let bytes = request.encode().unwrap();
            prop_assert_eq!(read(&bytes), Some(request));
            let cut = (bytes.len() as f64 * cut) as usize;
            prop_assert_eq!(read(&bytes[..cut]), None);
            }
        }

        #[test]
        fn no_bytes_are_more_than_a_refused_request(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }

    #[test]
    fn bounds_hold_on_both_sides() {
        let stdin = vec![0; MAX_STDIN_BYTES + 1];
        let argv = vec!["x".to_owned()];
        let input = Input::Bytes(stdin);
        assert_eq!(Request { argv, input }.encode(), None);
        let argv = vec!["x".repeat(MAX_ARGV_BYTES)];
        let input = Input::Output;
        assert_eq!(Request { argv, input }.encode(), None);
        // Lengths from outside are checked before anything of that size is reserved.
        assert_eq!(read(&[0xff; 64]), None);
        assert_eq!(read(&[[0; 4], [0xfe; 4]].concat()), None);
    }
}
