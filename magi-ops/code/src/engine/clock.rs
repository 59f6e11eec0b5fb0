//! A snippet's own time: what passes while the engine works, and not while the snippet waits for tools.
//! What happens at its end is decided elsewhere.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Runs from the start on.
pub(crate) struct Clock {
    limit: Duration,
    spent: Cell<Duration>,
    /// Since when it runs, if it does.
    since: Cell<Option<Instant>>,
    /// Once over, it stays so.
    over: Cell<bool>,
}

impl Clock {
    pub(crate) fn started(limit: Duration) -> Self {
        Self {
            limit,
            spent: Cell::default(),
            since: Cell::new(Some(Instant::now())),
            over: Cell::new(false),
        }
    }

    pub(crate) fn pause(&self) {
        if let Some(since) = self.since.take() {
            self.spent.set(self.spent.get() + since.elapsed());
        }
    }

    pub(crate) fn go_on(&self) {
        self.since.set(Some(Instant::now()));
    }

    pub(crate) fn is_over(&self) -> bool {
        let running = self
            .since
            .get()
            .map_or(Duration::ZERO, |since| since.elapsed());
        self.over
            .set(self.over.get() || self.spent.get() + running > self.limit);
        self.over.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_does_not_count_and_an_end_stays() {
        let clock = Clock::started(Duration::from_millis(40));
        clock.pause();
        std::thread::sleep(Duration::from_millis(60));
        assert!(!clock.is_over());
        clock.go_on();
        std::thread::sleep(Duration::from_millis(60));
        assert!(clock.is_over());
        clock.pause();
        assert!(clock.is_over());
    }
}
