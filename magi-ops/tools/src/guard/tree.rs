//! A command with all that descends from it: reaping it, seeing its end, ending it whole.
//! On Linux nothing can leave the tree; elsewhere it is as much as the command's process group.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, kill_process_group, setpriority_pgrp,
    setpriority_process,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout, timeout_at};

/// How long a tree may take to end itself once it was asked to.
const TERM_GRACE: Duration = Duration::from_millis(300);
/// First and longest pause between two sweeps.
const SWEEP_PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// How long sweeping goes on. What lives then can't be killed by us: it waits in the kernel and ends when
/// it wakes up, or it belongs to another user.
const SWEEP_LIMIT: Duration = Duration::from_secs(30);
/// Times that one sweep looks for processes that it has not stopped yet.
const STOP_ROUNDS: usize = 16;
/// The priority that leaves the processor to everybody else.
const LOWEST_PRIORITY: i32 = 19;
/// How often the end of a tree is looked for where no signal tells of it.
const LOOK: Duration = Duration::from_millis(10);

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Exited(i32),
    Signalled(i32),
}

pub(super) struct Tree {
    /// The command's process, and the number of its group.
    command: Option<Pid>,
    ended: Option<Ended>,
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
    pub(super) async fn ended(&mut self) -> Ended {
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

    /// Kills everything there is. Stops it all first: killing one after the other gives a tree that forks
    /// as fast the room to grow again. What is stopped and not collected also keeps its number, so that the
    /// kill can't meet another process.
    fn sweep(&self, until: Instant) {
        let mut stopped = Members::default();
        // The command's own group, which holds nearly everything, before anything is looked up: a tree
        // that takes all of the processor would make looking slow.
        let mut fresh = Members::group(self.command);
        for _ in 0..STOP_ROUNDS {
            fresh.send(Signal::STOP);
            // And leaves the processor to this process if one was missed.
            fresh.give_way();
            stopped.add(fresh);
            fresh = self.members(until).without(&stopped);
            if fresh.is_empty() {
                break;
            }
        }
        stopped.send(Signal::KILL);
    }

    /// Collects what ended. Whether nothing is left: with no child there is no descendant either, since
    /// each would have become a child.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.command => {
                    self.ended = status
                        .exit_status()
                        .map(Ended::Exited)
                        .or(status.terminating_signal().map(Ended::Signalled));
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
        let _ = until;
        let mut members = Members::default();
        #[cfg(target_os = "linux")]
        for found in super::descendants::descendants(until) {
            // Whatever the command did, a group below lies in this process's session or in one that was
            // begun below, and so do all its members. Only this process's own group must not be hit.
            if found.group == rustix::process::getpid() {
                members.single.insert(found.pid);
            } else {
                members.groups.insert(found.group);
            }
        }
        if members.is_empty() {
            members.groups.extend(self.command);
        }
        members
    }

    fn group_is_empty(&self) -> bool {
        self.command
            .is_none_or(|group| rustix::process::test_kill_process_group(group).is_err())
    }
}

/// Processes that are signalled together: by their groups, since the kernel reaches a whole group at
/// once, with what is just being forked; one by one they could run away from us.
#[derive(Default)]
struct Members {
    groups: HashSet<Pid>,
    /// Processes in a group that must not be hit as a whole.
    single: HashSet<Pid>,
}

impl Members {
    fn group(group: Option<Pid>) -> Self {
        Self {
            groups: group.into_iter().collect(),
            single: HashSet::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.single.is_empty()
    }

    fn without(mut self, others: &Self) -> Self {
        self.groups.retain(|group| !others.groups.contains(group));
        self.single.retain(|pid| !others.single.contains(pid));
        self
    }

    fn add(&mut self, others: Self) {
        self.groups.extend(others.groups);
        self.single.extend(others.single);
    }

    /// What ended meanwhile is no failure.
    fn send(&self, signal: Signal) {
        for group in &self.groups {
            let _ = kill_process_group(*group, signal);
        }
        for pid in &self.single {
            let _ = kill_process(*pid, signal);
        }
    }

    fn terminate(&self) {
        self.send(Signal::TERM);
        // One that is stopped sees the signal only when it goes on.
        self.send(Signal::CONT);
    }

    /// Takes the lowest priority; children inherit it.
    fn give_way(&self) {
        for group in &self.groups {
            let _ = setpriority_pgrp(Some(*group), LOWEST_PRIORITY);
        }
        for pid in &self.single {
            let _ = setpriority_process(Some(*pid), LOWEST_PRIORITY);
        }
    }
}
