//! What the tests of commands share: the guard's program, and looking at processes from outside.
//! No test lives here; not every test file uses all of it.
#![allow(dead_code, unreachable_pub)]

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tools::guard::Guard;

/// How long a test waits for anything before it fails. Generous: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A command that detaches as far as it can: a process in a session of its own whose parent is gone. It
/// tells its number in `pids`.
pub const DETACHED: &str = "(setsid sh -c 'echo $$ >> pids; exec sleep 1000' &)";
/// One that only SIGKILL ends.
pub const STUBBORN: &str =
    "sh -c 'trap \"\" TERM INT HUP; echo $$ >> pids; while :; do sleep 1000; done' &";

pub const GUARD: &str = env!("CARGO_BIN_EXE_tools-test-guard");

pub fn guard() -> Guard {
    Guard::program(GUARD)
}

/// The processes that told their numbers in `pids`.
pub fn pids(workspace: &Path) -> Vec<Pid> {
    let text = std::fs::read_to_string(workspace.join("pids")).unwrap_or_default();
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole
        .map(|line| Pid::from_raw(line.trim().parse().unwrap()).unwrap())
        .collect()
}

/// Whether the process runs. One that only waits to be collected does not.
pub fn lives(pid: Pid) -> bool {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    match std::fs::read_to_string(path) {
        Ok(stat) => !stat.rsplit(')').next().unwrap().starts_with(" Z"),
        Err(_) if cfg!(target_os = "linux") => false,
        Err(_) => rustix::process::test_kill_process(pid).is_ok(),
    }
}

/// How many processes have this text in their command line (Linux).
pub fn running(marker: &str) -> usize {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(marker))
        .count()
}

/// Waits until `condition` holds, looking every few milliseconds.
pub async fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub async fn wait_for_pids(workspace: &Path, count: usize) -> Vec<Pid> {
    wait_for("processes", || pids(workspace).len() >= count).await;
    pids(workspace)
}

pub async fn wait_until_dead(pids: &[Pid]) {
    wait_for("the end of all processes", || {
        !pids.iter().any(|pid| lives(*pid))
    })
    .await;
}
