//! Commands that turn against their guard: killed or stopped, their processes end all the same.
//! What a guard does that is left alone is tested in `processes.rs`.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::path::Path;
use std::time::Duration;

use commands::{DETACHED, PATIENCE, STUBBORN, guard, lives, wait_for_pids, wait_until_dead};
use rustix::process::Pid;
use tokio_util::sync::CancellationToken;
use tools::process::{Command, Finished, ProcessError, Status};

mod commands;

/// Lets the test look after the guard as well.
const TELL_GUARD: &str = "echo $PPID >> pids;";
/// Stops the guard as often as it goes on.
const KEEP_STOPPED: &str =
    "sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do kill -STOP $0; done' $PPID &";

fn shell(line: &str, workspace: &Path) -> Command {
    Command::shell(line, workspace.to_owned())
}

async fn run(command: Command) -> Result<Finished, ProcessError> {
    let (guard, cancel) = (guard(), CancellationToken::new());
    let run = command.run(&guard, &cancel);
    let ended = tokio::time::timeout(PATIENCE, run).await;
    ended.expect("the command hangs")
}

/// What must be dead when the call returns, not some time later.
fn assert_dead(pids: &[Pid]) {
    let alive: Vec<_> = pids.iter().filter(|pid| lives(**pid)).collect();
    assert!(alive.is_empty(), "{alive:?}");
}

#[tokio::test]
async fn a_killed_guard_takes_its_tree_with_it() {
    let place = tempfile::tempdir().unwrap();
    // One in a session of its own, one there with a closed output, one that only SIGKILL ends, one without
    // the environment by which the others are known.
    let line = format!(
        "{DETACHED}; {STUBBORN} (setsid sh -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 &)
        env -i sh -c 'echo $$ >> pids; sleep 1000; :' & echo $$ >> pids
        until [ $(wc -l < pids) = 5 ]; do sleep 0.01; done
        kill -KILL $PPID; sleep 1000"
    );
    let lost = run(shell(&line, place.path())).await;
    assert!(matches!(lost, Err(ProcessError::Lost)), "{lost:?}");
    assert_dead(&wait_for_pids(place.path(), 5).await);
}

#[tokio::test]
async fn a_guard_that_is_killed_after_the_command_takes_the_rest_with_it() {
    let place = tempfile::tempdir().unwrap();
    let line = format!(
        "(setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while kill -0 $1; do :; done 2>&-
        kill -KILL $0; sleep 1000' $PPID $$ &)
        until [ -s pids ]; do sleep 0.01; done; {DETACHED}
        until [ $(wc -l < pids) = 2 ]; do sleep 0.01; done; exit 3"
    );
    let lost = run(shell(&line, place.path())).await;
    assert!(matches!(lost, Err(ProcessError::Lost)), "{lost:?}");
    assert_dead(&wait_for_pids(place.path(), 2).await);
}

#[tokio::test]
async fn a_cancelled_call_of_a_stopped_guard_leaves_nothing() {
    // Stopped once, it is woken; stopped all the time, it is replaced.
    for (line, count) in [("kill -STOP $PPID;", 4), (KEEP_STOPPED, 5)] {
        let place = tempfile::tempdir().unwrap();
        let line =
            format!("{TELL_GUARD} {DETACHED}; {STUBBORN} {line} echo $$ >> pids; sleep 1000");
        let cancel = CancellationToken::new();
        let guard = guard();
        let command = shell(&line, place.path()).run(&guard, &cancel);
        let canceller = async {
            let pids = wait_for_pids(place.path(), count).await;
            cancel.cancel();
            pids
        };
        let both = async { tokio::join!(command, canceller) };
        let (finished, pids) = tokio::time::timeout(2 * PATIENCE, both).await.unwrap();
        match finished {
            Ok(finished) => assert!(finished.cancelled && finished.status.is_none()),
            // Ended for what it did to its guard before the cancellation came.
            Err(error) => assert!(
                matches!(error, ProcessError::Stopped) && count == 5,
                "{error}"
            ),
        }
        // The guard too.
        assert_dead(&pids);
    }
}

#[tokio::test]
async fn what_stops_the_guard_after_the_command_is_ended() {
    let place = tempfile::tempdir().unwrap();
    // The guard tells of the end before it is stopped, or else is woken by nobody until the time is over.
    let line = format!(
        "{TELL_GUARD} (setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while kill -0 $1; do :; done 2>&-
        sleep 0.1; while :; do kill -STOP $0; done' $PPID $$ &)
        until [ $(wc -l < pids) = 2 ]; do sleep 0.01; done; exit 3"
    );
    let finished = run(Command {
        time_limit: Duration::from_secs(10),
        ..shell(&line, place.path())
    })
    .await;
    // Whichever comes first: the guard tells of the end, or it is stopped too often.
    match finished {
        Ok(finished) => assert!(finished.status == Some(Status::Exited(3)) || finished.timed_out),
        Err(error) => assert!(matches!(error, ProcessError::Stopped), "{error}"),
    }
    assert_dead(&wait_for_pids(place.path(), 2).await);
}

#[tokio::test]
async fn dropping_a_call_wakes_its_guard() {
    let place = tempfile::tempdir().unwrap();
    let line = format!("{TELL_GUARD} {STUBBORN} kill -STOP $PPID; echo $$ >> pids; wait");
    let (guard, cancel) = (guard(), CancellationToken::new());
    let pids = tokio::select! {
        ended = shell(&line, place.path()).run(&guard, &cancel) => panic!("{ended:?}"),
        pids = wait_for_pids(place.path(), 3) => pids,
    };
    wait_until_dead(&pids).await;
}

#[tokio::test]
async fn another_call_is_left_alone() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let line = "echo $$ >> pids; while ! [ -e go ]; do sleep 0.01; done; echo done";
    let spared = run(shell(line, other.path()));
    let lost = async {
        wait_for_pids(other.path(), 1).await;
        let lost = run(shell("kill -KILL $PPID; sleep 1000", place.path())).await;
        std::fs::write(other.path().join("go"), "").unwrap();
        lost
    };
    let (spared, lost) = tokio::join!(spared, lost);
    assert!(matches!(lost, Err(ProcessError::Lost)), "{lost:?}");
    assert_eq!(spared.unwrap().stdout.text(), "done\n");
}

#[tokio::test]
async fn a_stopped_guard_is_woken() {
    let place = tempfile::tempdir().unwrap();
    // By its number and by its group's; far below the time limit.
    for line in [
        "kill -STOP $PPID; echo done",
        "kill -STOP -- -$PPID; echo done",
        "for i in 1 2 3; do kill -STOP $PPID; sleep 0.15; done; echo done",
    ] {
        let finished = run(Command {
            time_limit: Duration::from_secs(300),
            ..shell(line, place.path())
        })
        .await
        .unwrap();
        assert_eq!(finished.status, Some(Status::Exited(0)), "{line}");
        assert_eq!(finished.stdout.text(), "done\n");
    }
}

#[tokio::test]
async fn a_command_that_keeps_its_guard_stopped_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let line = format!("{TELL_GUARD} {DETACHED}; {KEEP_STOPPED} sleep 1000");
    let stopped = run(Command {
        time_limit: Duration::from_secs(300),
        ..shell(&line, place.path())
    })
    .await;
    assert!(matches!(stopped, Err(ProcessError::Stopped)), "{stopped:?}");
    assert_dead(&wait_for_pids(place.path(), 3).await);
}

#[tokio::test]
async fn withheld_variables_are_not_found() {
    let place = tempfile::tempdir().unwrap();
    let guard = guard();
    let told = |name: &str| format!("echo ${{{name}-unset}}");
    let environment = [("SOME_KEY".to_owned(), "canary".to_owned())];
    let command = |line: &str| Command {
        env: environment.to_vec(),
        ..shell(line, place.path())
    };
    let cancel = CancellationToken::new();
    // What the caller sets is the caller's.
    let shown = command(&told("SOME_KEY"))
        .run(&guard, &cancel)
        .await
        .unwrap();
    assert_eq!(shown.stdout.text(), "canary\n");
    let shown = shell(&told("PATH"), place.path())
        .run(&guard, &cancel)
        .await
        .unwrap();
    assert_ne!(shown.stdout.text(), "unset\n");
    guard.clone().withhold(["PATH"]);
    let line = "tr '\\0' '\\n' < /proc/$PPID/environ | /usr/bin/grep -c ^PATH=";
    let shown = shell(line, place.path())
        .run(&guard, &cancel)
        .await
        .unwrap();
    // Not in its guard's either.
    assert_eq!(shown.stdout.text(), "0\n");
}
