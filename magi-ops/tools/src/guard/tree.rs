//! A command with all that descends from it: reaping it, seeing its end, ending it whole.
//! On Linux nothing can leave the tree; elsewhere it is as much as the command's process group.

use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout, timeout_at};

use super::Status;
use super::members::Members;

/// How long a tree may take to end itself once it was asked to.
const TERM_GRACE: Duration = Duration::from_millis(300);
/// First and longest pause between two sweeps.
const SWEEP_PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// How long sweeping goes on. What lives then can't be killed by us: it waits in the kernel and ends when
/// it wakes up, or it belongs to another user.
const SWEEP_LIMIT: Duration = Duration::from_secs(30);
/// How often the end of a tree is looked for where no signal tells of it.
const LOOK: Duration = Duration::from_millis(10);

pub(super) struct Tree {
    /// The command's process, and the number of its group.
    command: Option<Pid>,
    ended: Option<Status>,
    child: tokio::signal::unix::Signal,
}

impl Tree {
    /// Makes this process the one that every orphan among its descendants becomes a child of, however it
    /// detached: double fork and `setsid` change the parent only after that parent's end.
    pub(super) fn adopt() -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(Self {
            command: None,
            ended: None,
            child: signal(SignalKind::child())?,
        })
    }

    pub(super) fn grow(&mut self, command: Pid) {
        self.command = Some(command);
    }

    /// Waits for the command's end; what it left running may go on.
    pub(super) async fn ended(&mut self) -> Status {
        loop {
            self.reap();
            if let Some(ended) = self.ended {
                return ended;
            }
            self.child.recv().await;
        }
    }

    /// Waits until nothing of the tree lives.
    pub(super) async fn gone(&mut self) {
        while !self.reap() {
            tokio::select! {
                _ = self.child.recv() => {}
                () = sleep(LOOK) => {}
            }
        }
    }

    /// Ends what lives: asks, then kills until nothing is left. Whether that was reached.
    pub(super) async fn end(&mut self) -> bool {
        if self.reap() {
            return true;
        }
        let grace = Instant::now() + TERM_GRACE;
        let asked = Members::group(self.command);
        asked.terminate();
        self.members(grace).without(&asked).terminate();
        if timeout_at(grace.into(), self.gone()).await.is_ok() {
            return true;
        }
        let give_up = Instant::now() + SWEEP_LIMIT;
        let (mut pause, longest) = SWEEP_PAUSE;
        loop {
            self.sweep(give_up);
            if timeout(pause, self.gone()).await.is_ok() {
                return true;
            }
            if Instant::now() >= give_up {
                return false;
            }
            pause = longest.min(pause * 2);
        }
    }

    fn sweep(&self, until: Instant) {
        // The command's own group, which holds nearly everything, before anything is looked up: a tree
        // that takes all of the processor would make looking slow.
        Members::group(self.command).kill(|| self.members(until));
    }

    /// Collects what ended. Whether nothing is left: with no child there is no descendant either, since
    /// each would have become a child.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.command => {
                    self.ended = status
                        .exit_status()
                        .map(Status::Exited)
                        .or(status.terminating_signal().map(Status::Signalled));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return cfg!(target_os = "linux") || self.group_is_empty(),
            }
        }
    }

    /// What can be reached now: below this process on Linux, elsewhere the command's group.
    fn members(&self, until: Instant) -> Members {
        #[cfg(not(target_os = "linux"))]
        let (_, mut members) = (until, Members::default());
        #[cfg(target_os = "linux")]
        let mut members: Members = {
            let guard = rustix::process::getpid();
            super::descendants::descendants(guard, None, until)
                .into_iter()
                .collect()
        };
        if members.is_empty() {
            members = Members::group(self.command);
        }
        members
    }

    fn group_is_empty(&self) -> bool {
        self.command
            .is_none_or(|group| rustix::process::test_kill_process_group(group).is_err())
    }
}
