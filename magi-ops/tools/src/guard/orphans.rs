//! What the host does for a guard that was killed or does not answer: it ends the command's tree itself.
//! Blocks; the guard's own process is the caller's to end. How a tree is killed is in `members`.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::members::Members;

/// How long the host goes on. What lives then can't be killed by it.
const LIMIT: Duration = Duration::from_secs(1);
/// First and longest pause between two looks.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// Looks in a row that must find nothing: a process whose parent ends during one may be missed by it.
const EMPTY_LOOKS: usize = 2;

/// A command whose guard can't be relied on. The guard must not have been waited for: its number is that of
/// the session which the command began in.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))] // a group is all that can be found elsewhere
pub(crate) struct Orphans {
    pub(crate) guard: Pid,
    /// The command's group, while the command is not known to have ended.
    pub(crate) command: Option<Pid>,
    /// The value of [`MARK`](super::MARK) in the command's environment.
    pub(crate) mark: String,
}

impl Orphans {
    /// Kills what lives of the tree. Whether nothing is left; given up after a second.
    pub(crate) fn end(&self) -> bool {
        let give_up = Instant::now() + LIMIT;
        let (mut pause, longest) = PAUSE;
        Members::group(self.command).kill(|| self.look(give_up).0);
        let mut empty = 0;
        while empty < EMPTY_LOOKS {
            let (found, lives) = self.look(give_up);
            // A look may have been cut short by it.
            if Instant::now() >= give_up {
                return false;
            }
            empty = if lives { 0 } else { empty + 1 };
            if lives {
                found.kill(|| self.look(give_up).0);
                thread::sleep(pause);
                pause = longest.min(pause * 2);
            }
        }
        true
    }

    /// Who belongs to the tree, and whether any of them lives: what ended is only collected once the guard
    /// goes on.
    #[cfg(target_os = "linux")]
    fn look(&self, until: Instant) -> (Members, bool) {
        let found = super::descendants::descendants(self.guard, Some(&self.mark), until);
        let lives = found.iter().any(|found| found.lives);
        (found.into_iter().collect(), lives)
    }

    #[cfg(not(target_os = "linux"))]
    fn look(&self, _: Instant) -> (Members, bool) {
        let lives = self
            .command
            .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok());
        (Members::group(self.command.filter(|_| lives)), lives)
    }
}
