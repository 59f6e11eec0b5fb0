//! Commands under their guard: what they give, how they are ended, and that nothing of them is left.
//! Only the public API; what a guard does when its host dies is in `guard.rs`.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::path::Path;
use std::time::Duration;

use commands::{
    DETACHED, PATIENCE, STUBBORN, guard, running, wait_for, wait_for_pids, wait_until_dead,
};
use tokio_util::sync::CancellationToken;
use tools::guard::Guard;
use tools::process::{Command, Finished, ProcessError, Status};

mod commands;

fn shell(line: &str, workspace: &Path) -> Command {
    Command::shell(line, workspace.to_owned())
}

async fn run(command: Command) -> Finished {
    let (guard, cancel) = (guard(), CancellationToken::new());
    let run = command.run(&guard, &cancel);
    let finished = tokio::time::timeout(PATIENCE, run).await;
    finished.expect("the command hangs").unwrap()
}

async fn run_line(line: &str) -> Finished {
    let place = tempfile::tempdir().unwrap();
    run(shell(line, place.path())).await
}

#[tokio::test]
async fn outputs_and_status_arrive() {
    let finished = run_line("echo out; echo err >&2; exit 7").await;
    assert_eq!(finished.status, Some(Status::Exited(7)));
    assert_eq!(finished.stdout.text(), "out\n");
    assert_eq!(finished.stderr.text(), "err\n");
    assert!(!finished.timed_out && !finished.cancelled);
    assert_eq!(run_line("true").await.status, Some(Status::Exited(0)));
    let killed = run_line("kill -KILL $$").await;
    assert_eq!(killed.status, Some(Status::Signalled(9)));
}

#[tokio::test]
async fn merged_outputs_keep_their_order() {
    let place = tempfile::tempdir().unwrap();
    let line = "for i in 1 2 3; do echo out$i; echo err$i >&2; done";
    let finished = run(Command {
        merge: true,
        ..shell(line, place.path())
    })
    .await;
    let text = "out1\nerr1\nout2\nerr2\nout3\nerr3\n";
    assert_eq!(finished.stdout.text(), text);
    assert_eq!(finished.stderr.total(), 0);
}

#[tokio::test]
async fn directory_environment_and_input_are_as_told() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let finished = run(Command {
        env: vec![("COLOUR".into(), "grün".into())],
        stdin: b"some\0bytes\xff".to_vec(),
        ..shell("pwd; echo $COLOUR; wc -c; echo ${PATH:+inherited}", &place)
    })
    .await;
    let text = format!("{}\ngrün\n11\ninherited\n", place.display());
    assert_eq!(finished.stdout.text(), text);
    // Without any, a reader meets the end.
    assert_eq!(run_line("cat; echo end").await.stdout.text(), "end\n");
}

#[tokio::test]
async fn long_input_arrives_whole_or_may_be_ignored() {
    let place = tempfile::tempdir().unwrap();
    let stdin = vec![b'x'; 3 * 1024 * 1024];
    for (line, said) in [("wc -c", "3145728\n"), ("exec <&-; echo ok", "ok\n")] {
        let stdin = stdin.clone();
        let command = Command {
            stdin,
            ..shell(line, place.path())
        };
        assert_eq!(run(command).await.stdout.text(), said);
    }
    let command = Command {
        stdin: vec![0; 5 * 1024 * 1024],
        ..shell("true", place.path())
    };
    let refused = command.run(&guard(), &CancellationToken::new()).await;
    assert!(matches!(refused, Err(ProcessError::TooLong)), "{refused:?}");
}

#[tokio::test]
async fn only_the_standard_descriptors_are_inherited() {
    // One more that whoever started this process might have left open.
    let (_reader, left_open) = std::io::pipe().unwrap();
    rustix::io::fcntl_setfd(&left_open, rustix::io::FdFlags::empty()).unwrap();
    let finished = run_line("exec ls /proc/self/fd").await;
    // The last one is the directory that is listed.
    assert_eq!(finished.stdout.text(), "0\n1\n2\n3\n");
    let finished = run_line("readlink /proc/self/fd/0").await;
    assert_eq!(finished.stdout.text(), "/dev/null\n");
}

#[tokio::test]
async fn floods_are_read_to_their_end_and_kept_in_part() {
    let finished = run_line("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last").await;
    assert_eq!(finished.stdout.total(), 100_000_006);
    assert_eq!(finished.stdout.lines(), 2);
    let text = finished.stdout.text();
    assert!(text.len() < 33_000, "{}", text.len());
    assert!(text.starts_with("xxx") && text.ends_with("x\nlast\n"));
    assert!(text.contains("\n[... 99967238 bytes left out ...]\n"));
    assert_eq!(finished.status, Some(Status::Exited(0)));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_shown_in_part() {
    let finished = run_line("printf 'a\\377\\000b\\342\\202'").await;
    assert_eq!(finished.stdout.text(), "a\u{fffd}\0b\u{fffd}");
}

#[tokio::test]
async fn what_is_left_running_ends_with_the_command() {
    let place = tempfile::tempdir().unwrap();
    // They hold the output open, are waited for by nobody, and one does not heed SIGTERM.
    let line = format!(
        "{DETACHED}; {STUBBORN} sleep 1000 & until [ $(wc -l < pids) = 2 ]; do sleep 0.01; done; echo done"
    );
    let finished = run(shell(&line, place.path())).await;
    assert_eq!(finished.status, Some(Status::Exited(0)));
    assert_eq!(finished.stdout.text(), "done\n");
    wait_until_dead(&wait_for_pids(place.path(), 2).await).await;
}

#[tokio::test]
async fn readers_of_the_output_may_finish() {
    let finished = run_line("echo word > >(tr a-z A-Z)").await;
    assert_eq!(finished.stdout.text(), "WORD\n");
}

#[tokio::test]
async fn cancelling_ends_the_whole_tree() {
    let place = tempfile::tempdir().unwrap();
    let line = format!(
        "{DETACHED}; {STUBBORN} {STUBBORN} trap '' TERM; echo $$ >> pids; echo begun; while :; do sleep 1; done"
    );
    let cancel = CancellationToken::new();
    let guard = guard();
    let command = shell(&line, place.path()).run(&guard, &cancel);
    let canceller = async {
        let pids = wait_for_pids(place.path(), 4).await;
        cancel.cancel();
        pids
    };
    let (finished, pids) = tokio::join!(command, canceller);
    let finished = finished.unwrap();
    assert!(finished.cancelled && !finished.timed_out);
    assert_eq!(finished.status, None);
    assert_eq!(finished.stdout.text(), "begun\n");
    wait_until_dead(&pids).await;
}

#[tokio::test]
async fn a_command_that_is_cancelled_already_is_not_run() {
    let place = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let command = shell("touch made; sleep 1000", place.path());
    let finished = command.run(&guard(), &cancel).await.unwrap();
    assert!(finished.cancelled);
    assert!(!place.path().join("made").exists());
}

#[tokio::test]
async fn the_time_limit_ends_the_whole_tree() {
    let place = tempfile::tempdir().unwrap();
    let line = format!("{DETACHED}; until [ -s pids ]; do sleep 0.01; done; echo part; sleep 1000");
    let finished = run(Command {
        time_limit: Duration::from_secs(6),
        ..shell(&line, place.path())
    })
    .await;
    assert!(finished.timed_out && !finished.cancelled);
    assert_eq!(finished.status, None);
    assert_eq!(finished.stdout.text(), "part\n");
    wait_until_dead(&wait_for_pids(place.path(), 1).await).await;
}

#[tokio::test]
async fn dropping_the_call_ends_the_whole_tree() {
    let place = tempfile::tempdir().unwrap();
    let line = format!("{DETACHED}; {STUBBORN} wait");
    let (guard, cancel) = (guard(), CancellationToken::new());
    let pids = tokio::select! {
        ended = shell(&line, place.path()).run(&guard, &cancel) => panic!("{ended:?}"),
        pids = wait_for_pids(place.path(), 2) => pids,
    };
    wait_until_dead(&pids).await;
}

#[tokio::test]
async fn what_is_stopped_is_ended_too() {
    let place = tempfile::tempdir().unwrap();
    let line = "echo $$ >> pids; (kill -STOP $BASHPID; sleep 1000) & kill -STOP $$";
    let cancel = CancellationToken::new();
    let guard = guard();
    let command = shell(line, place.path()).run(&guard, &cancel);
    let canceller = async {
        let pids = wait_for_pids(place.path(), 1).await;
        cancel.cancel();
        pids
    };
    let (finished, pids) = tokio::join!(command, canceller);
    assert!(finished.unwrap().cancelled);
    wait_until_dead(&pids).await;
}

/// Eight lines of processes, each of which starts its next and ends: whoever is looked up is gone before
/// it can be killed. None heeds SIGTERM.
#[tokio::test]
async fn a_tree_that_forks_all_the_time_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let marker = format!("hydra-{}", std::process::id());
    let line = format!(
        ": {marker}; trap '' TERM; head() {{ echo $BASHPID >> pids; (head) & sleep 0.01; }}; \
         for i in 1 2 3 4 5 6 7 8; do (head) & done; while :; do sleep 1; done"
    );
    let cancel = CancellationToken::new();
    let guard = guard();
    let command = shell(&line, place.path()).run(&guard, &cancel);
    let canceller = async {
        wait_for_pids(place.path(), 40).await;
        cancel.cancel();
    };
    let (finished, ()) = tokio::join!(command, canceller);
    assert!(finished.unwrap().cancelled);
    wait_for("the end of the tree", || running(&marker) == 0).await;
}

#[tokio::test]
async fn what_can_not_be_started_says_so() {
    let place = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    let missing = shell("true", &place.path().join("none"));
    let refused = missing.run(&guard(), &cancel).await;
    assert!(
        matches!(refused, Err(ProcessError::Guard(_))),
        "{refused:?}"
    );
    let argv = vec!["no-such-program".to_owned()];
    let program = Command {
        argv,
        ..shell("", place.path())
    };
    let refused = program.run(&guard(), &cancel).await;
    assert!(
        matches!(refused, Err(ProcessError::Command(_))),
        "{refused:?}"
    );
    // A program that is no guard.
    let other = Guard::program("/bin/true");
    let refused = shell("true", place.path()).run(&other, &cancel).await;
    assert!(matches!(refused, Err(ProcessError::Lost)), "{refused:?}");
}
