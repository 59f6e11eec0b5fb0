//! A snippet's own time: what passes while the engine works, and not while the snippet waits for tools.
//! What happens at its end is decided elsewhere.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// When it is over, which each wait moves.
pub(crate) struct Clock(Cell<Instant>);

impl Clock {
    pub(crate) fn started(limit: Duration) -> Self {
        Self(Cell::new(Instant::now() + limit))
    }

    /// What passes while `wait` does does not count.
    pub(crate) fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        let since = Instant::now();
        let done = wait();
        self.0.set(self.0.get() + since.elapsed());
        done
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() > self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn waiting_does_not_count_and_an_end_stays() {
        let clock = Clock::started(Duration::from_secs(1));
        let passed = clock.waiting(|| {
            sleep(Duration::from_millis(1_100));
            7
        });
        assert_eq!(passed, 7);
        assert!(!clock.is_over());
        sleep(Duration::from_millis(1_100));
        assert!(clock.is_over());
        clock.waiting(|| sleep(Duration::from_millis(20)));
        assert!(clock.is_over());
    }
}
