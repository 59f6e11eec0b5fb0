//! The guard alone, spoken to as a host does: the host's death, signals to the guard, missing descriptors.
//! What a command gives through the API is in `processes.rs`.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use commands::{DETACHED, GUARD, PATIENCE, STUBBORN, wait_for_pids, wait_until_dead};
use rustix::process::{Pid, Signal, kill_process};
use tools::guard::SUBCOMMAND;

mod commands;

/// A guard that was told to run `line`; the host's end of the conversation.
fn start(command: &mut Command, line: &str, workspace: &Path) -> (Child, UnixStream) {
    let (mut host, theirs) = UnixStream::pair().unwrap();
    let child = command
        .current_dir(workspace)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Only the child holds the other end now.
    command.stdin(Stdio::null());
    let argv = serde_json::to_vec(&["/bin/bash", "-c", line]).unwrap();
    let length = u32::try_from(argv.len()).unwrap();
    host.write_all(&length.to_be_bytes()).unwrap();
    host.write_all(&[0; 4]).unwrap();
    host.write_all(&argv).unwrap();
    host.set_read_timeout(Some(PATIENCE)).unwrap();
    (child, host)
}

fn guard() -> Command {
    let mut command = Command::new(GUARD);
    command.arg(SUBCOMMAND);
    command
}

#[tokio::test]
async fn when_the_host_is_gone_so_is_the_tree() {
    let place = tempfile::tempdir().unwrap();
    let line = format!("{DETACHED}; {STUBBORN} wait");
    let (mut child, host) = start(&mut guard(), &line, place.path());
    let pids = wait_for_pids(place.path(), 2).await;
    drop(host);
    wait_until_dead(&pids).await;
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[tokio::test]
async fn signals_do_not_end_a_guard() {
    let place = tempfile::tempdir().unwrap();
    let line = "echo $$ >> pids; while ! [ -e go ]; do sleep 0.01; done; exit 5";
    let (mut child, mut host) = start(&mut guard(), line, place.path());
    let pids = wait_for_pids(place.path(), 1).await;
    let pid = Pid::from_child(&child);
    for signal in [
        Signal::TERM,
        Signal::INT,
        Signal::HUP,
        Signal::QUIT,
        Signal::PIPE,
        Signal::USR1,
    ] {
        kill_process(pid, signal).unwrap();
    }
    std::fs::write(place.path().join("go"), "").unwrap();
    let mut told = String::new();
    host.read_to_string(&mut told).unwrap();
    let started = format!("{{\"started\":{}}}", pids[0].as_raw_nonzero());
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines, [&started, "{\"exited\":5}", "\"gone\""]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_guard_without_standard_error_works() {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" \"$1\" 2>&-", GUARD, SUBCOMMAND]);
    let line = "echo lost >&2; echo $$ >> pids; sleep 1000";
    let (mut child, host) = start(&mut command, line, place.path());
    let pids = wait_for_pids(place.path(), 1).await;
    drop(host);
    wait_until_dead(&pids).await;
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_host_that_dies_before_it_asks_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    for bytes in [&b""[..], &[0, 0], &[0, 0, 0, 9, 0, 0, 0, 0, b'[']] {
        let (mut host, theirs) = UnixStream::pair().unwrap();
        let mut child = guard()
            .current_dir(place.path())
            .stdin(OwnedFd::from(theirs))
            .spawn()
            .unwrap();
        host.write_all(bytes).unwrap();
        drop(host);
        assert_eq!(child.wait().unwrap().code(), Some(2));
    }
}

#[test]
fn a_person_who_starts_a_guard_is_told_nothing_and_waits_for_nothing() {
    for stdin in [
        Stdio::null(),
        Stdio::from(std::fs::File::open(GUARD).unwrap()),
    ] {
        let output = guard().stdin(stdin).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty() && output.stderr.is_empty());
    }
}
