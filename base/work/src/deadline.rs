//! Until when something may go on: until a token fires or a moment is reached, whichever comes first.
//! What becomes of work that is over its deadline is its owner's matter.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Until when something may go on.
#[derive(Clone, Debug, Default)]
pub struct Deadline {
    cancel: CancellationToken,
    at: Option<Instant>,
}

/// Why something must not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Expired {
    #[error("it was cancelled")]
    Cancelled,
    #[error("its time is over")]
    Late,
}

impl From<CancellationToken> for Deadline {
    fn from(cancel: CancellationToken) -> Self {
        Self { cancel, at: None }
    }
}

impl Deadline {
    /// Nothing but the time ends it.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self::default().within(time)
    }

    /// The same, and at most `time` from now. A time beyond what the clock can count never comes.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        let at = Instant::now().checked_add(time);
        self.at = [self.at, at].into_iter().flatten().min();
        self
    }

    /// Whether it may go on.
    ///
    /// # Errors
    /// Why not. A cancellation outweighs the time.
    pub fn check(&self) -> Result<(), Expired> {
        if self.is_cancelled() {
            Err(Expired::Cancelled)
        } else if self.at.is_some_and(|at| Instant::now() >= at) {
            Err(Expired::Late)
        } else {
            Ok(())
        }
    }

    /// Whether the token fired; the clock is not asked.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// The token, for what has a clock of its own.
    #[must_use]
    pub const fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Waits until it is over.
    pub async fn over(&self) -> Expired {
        let late = async {
            match self.at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Expired::Cancelled,
            () = late => Expired::Late,
        }
    }

    /// Waits for `work`, which is dropped when the deadline comes first. Work that is done at that very
    /// moment counts.
    ///
    /// # Errors
    /// Why it was not waited for any longer.
    pub async fn bound<T>(&self, work: impl Future<Output = T>) -> Result<T, Expired> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            ended = self.over() => Err(ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_both_ends_it() {
        let cancel = CancellationToken::new();
        let second = Duration::from_secs(1);
        let deadline = Deadline::from(cancel.clone())
            .within(second)
            .within(second * 9);
        assert_eq!(deadline.check(), Ok(()));
        let begun = Instant::now();
        assert_eq!(deadline.bound(pending::<()>()).await, Err(Expired::Late));
        assert_eq!(begun.elapsed(), second);
        assert_eq!(deadline.check(), Err(Expired::Late));
        cancel.cancel();
        assert_eq!(deadline.check(), Err(Expired::Cancelled));
        assert_eq!(deadline.over().await, Expired::Cancelled);
        assert_eq!(deadline.bound(ready(7)).await, Ok(7), "done counts");
    }

    #[tokio::test(start_paused = true)]
    async fn without_either_it_never_ends() {
        let never = Deadline::default().within(Duration::MAX);
        let year = Deadline::after(Duration::from_secs(365 * 24 * 3600));
        assert_eq!(year.bound(never.over()).await, Err(Expired::Late));
    }
}
