//! The host's hold on a guard's process: it keeps the guard awake, and ends what that leaves undone.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::process::Child;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::reports::Reports;
use crate::guard::{Guard, Orphans};

/// Longest wait for a guard's process when nothing of its command lives.
const EXIT_LIMIT: Duration = Duration::from_millis(200);
/// How often a call's guard is woken. Who stops it again and again has its call ended.
const MAX_WAKES: u32 = 5;

/// The host's hold on a guard's process.
pub(super) struct GuardHandle {
    child: Child,
    /// What its command has in the environment.
    mark: String,
    guard: Guard,
    /// The sentinel was told of its end, or must go on knowing of it.
    dismissed: bool,
}

impl GuardHandle {
    /// Of a guard that was started just now, of which the sentinel is told.
    pub(super) fn new(child: Child, mark: String, guard: &Guard) -> Self {
        let handle = Self {
            child,
            mark,
            guard: guard.clone(),
            dismissed: false,
        };
        if let Some(pid) = handle.pid() {
            tracing::Span::current().record("guard", pid.as_raw_nonzero().get());
            guard.sentinel().begin(pid, &handle.mark);
        }
        handle
    }

    /// `None` once it was collected.
    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }

    /// Lets a guard go on that the command has stopped.
    pub(super) fn wake(&self) {
        if let Some(guard) = self.pid() {
            let _ = kill_process(guard, Signal::CONT);
        }
    }

    /// Wakes a guard that the command stops, as long as that helps; the call is to be ended when this returns. Looks
    /// `often`.
    pub(super) async fn keep_awake(&self, often: Duration) {
        let mut wakes = 0;
        while wakes < MAX_WAKES {
            sleep(often).await;
            self.guard.sentinel().keep();
            if self.is_stopped() {
                tracing::debug!("a command stopped its guard");
                self.wake();
                wakes += 1;
            }
        }
        tracing::warn!("a command stopped its guard again and again and is ended");
    }

    /// Whether the guard was stopped since this was asked last.
    fn is_stopped(&self) -> bool {
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        self.pid()
            .is_some_and(|guard| matches!(waitid(WaitId::Pid(guard), stopped), Ok(Some(_))))
    }

    /// Ends the guard's process, and before it what it has left undone.
    pub(super) async fn dismiss(&mut self, reports: &Reports) {
        let mut gone = reports.gone;
        let guard = self.pid();
        if let Some(guard) = guard.filter(|_| !gone) {
            let orphans = Orphans {
                guard,
                command: reports.group.filter(|_| !reports.has_ended()),
                mark: self.mark.clone(),
            };
            gone = spawn_blocking(move || orphans.end())
                .await
                .is_ok_and(|gone| gone);
            // Nobody is left to stop it. Now it collects what was killed.
            self.wake();
        }
        let ended = timeout(EXIT_LIMIT, self.child.wait()).await;
        // One whose command could not be ended goes on with that; the runtime collects it when it ends.
        if ended.is_err() && gone && self.child.start_kill().is_ok() {
            let _ = timeout(EXIT_LIMIT, self.child.wait()).await;
        }
        self.dismissed = true;
        // Of one that goes on, the sentinel has to know.
        if let Some(guard) = guard.filter(|_| gone) {
            self.guard.sentinel().end(guard);
        }
    }
}

impl Drop for GuardHandle {
    /// The guard sees that the conversation is over; it must not be stopped then.
    fn drop(&mut self) {
        self.wake();
        if let Some(guard) = self.pid().filter(|_| !self.dismissed) {
            self.guard.sentinel().end(guard);
        }
    }
}
