//! Processes that are signalled together, and how all of them are killed without one running away.
//! Who belongs to a tree is not known here: `tree` and `orphans` look that up.

use std::collections::HashSet;

use rustix::process::{
    Pid, Signal, kill_process, kill_process_group, setpriority_pgrp, setpriority_process,
};

/// Times that one killing looks for processes that it has not stopped yet.
const STOP_ROUNDS: usize = 16;
/// The priority that leaves the processor to everybody else.
const LOWEST_PRIORITY: i32 = 19;

/// By their groups, since the kernel reaches a whole group at once, with what is just being forked; one by
/// one they could run away from us.
#[derive(Default)]
pub(super) struct Members {
    groups: HashSet<Pid>,
    /// Processes in a group that must not be hit as a whole.
    single: HashSet<Pid>,
}

impl Members {
    pub(super) fn group(group: Option<Pid>) -> Self {
        Self {
            groups: group.into_iter().collect(),
            single: HashSet::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.single.is_empty()
    }

    pub(super) fn without(mut self, others: &Self) -> Self {
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

    pub(super) fn terminate(&self) {
        self.send(Signal::TERM);
        // One that is stopped sees the signal only when it goes on.
        self.send(Signal::CONT);
    }

    /// Kills these and all that `look` finds. Stops it all first: killing one after the other gives a tree
    /// that forks as fast the room to grow again. What is stopped and not collected also keeps its number,
    /// so that the kill can't meet another process.
    pub(super) fn kill(self, mut look: impl FnMut() -> Self) {
        let mut stopped = Self::default();
        let mut fresh = self;
        for _ in 0..STOP_ROUNDS {
            fresh.send(Signal::STOP);
            // And leaves the processor to this process if one was missed.
            fresh.give_way();
            stopped.add(fresh);
            fresh = look().without(&stopped);
            if fresh.is_empty() {
                break;
            }
        }
        stopped.send(Signal::KILL);
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

#[cfg(target_os = "linux")]
impl FromIterator<super::descendants::Descendant> for Members {
    fn from_iter<I: IntoIterator<Item = super::descendants::Descendant>>(found: I) -> Self {
        let mut members = Self::default();
        for found in found {
            match found.group {
                Some(group) => members.groups.insert(group),
                None => members.single.insert(found.pid),
            };
        }
        members
    }
}
