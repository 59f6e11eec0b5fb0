//! How many activities a run may still have. Those of runs that work for it count for it too.
//! What an activity is, and what becomes of a run that has too many, is decided elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The activities of a run: its own bound, within that of the run that it works for.
#[derive(Debug)]
pub(super) struct Allowance {
    used: AtomicUsize,
    max: usize,
    within: Option<Arc<Self>>,
}

impl Allowance {
    pub(super) fn new(max: usize, within: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            max,
            within,
        })
    }

    /// Whether so many more are allowed now. Another run may take them first.
    pub(super) fn has_room_for(&self, more: usize) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        let fits = used.saturating_add(more) <= self.max;
        fits && self
            .within
            .as_ref()
            .is_none_or(|within| within.has_room_for(more))
    }

    /// Takes one, if there is one.
    pub(super) fn take(&self) -> bool {
        let one_more = |used| (used < self.max).then_some(used + 1);
        let order = Ordering::Relaxed;
        if self.used.fetch_update(order, order, one_more).is_err() {
            return false;
        }
        let taken = self.within.as_ref().is_none_or(|within| within.take());
        if !taken {
            self.used.fetch_sub(1, order);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_works_for_a_run_counts_for_it() {
        let all = Allowance::new(5, None);
        let one = Allowance::new(3, Some(Arc::clone(&all)));
        let other = Allowance::new(9, Some(Arc::clone(&all)));
        assert!(one.has_room_for(3) && !one.has_room_for(4));
        assert!((0..3).all(|_| one.take()) && !one.take());
        assert!(all.has_room_for(2) && !all.has_room_for(3));
        assert!(other.take() && other.take() && !other.take());
        // What it did not get is not counted.
        assert_eq!(other.used.load(Ordering::Relaxed), 2);
        assert!(!all.take());
    }
}
