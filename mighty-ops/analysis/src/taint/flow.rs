//! The state of one body's bindings while it is walked: assignments, branches and loops.
//! Must not know sources and sinks.

use rustc_hash::FxHashSet;

use super::rules::Handle;
use crate::hir::LocalId;

/// What is known of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Value {
    #[default]
    Clean,
    /// A handle that is followed. A response used as a whole is its body, thus tainted.
    Handle(Handle),
    Tainted,
}

impl Value {
    /// Whether using it as a whole is using something untrusted.
    #[must_use]
    pub(super) fn is_tainted(self) -> bool {
        matches!(self, Self::Tainted | Self::Handle(Handle::Response))
    }

    /// What comes of it by an operation.
    #[must_use]
    pub(super) fn flow(self) -> Self {
        Self::tainted_if(self.is_tainted())
    }

    /// Tainted or clean.
    #[must_use]
    pub(super) fn tainted_if(yes: bool) -> Self {
        if yes { Self::Tainted } else { Self::Clean }
    }

    /// Either of two values, or something that holds both. Taint stays.
    #[must_use]
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Tainted, _) | (_, Self::Tainted) => Self::Tainted,
            (Self::Clean, v) | (v, Self::Clean) => v,
            (Self::Handle(a), Self::Handle(b)) if a == b => self,
            (a, b) if a.is_tainted() || b.is_tainted() => Self::Tainted,
            (a, _) => a,
        }
    }
}

/// What a branch did to bindings.
#[derive(Debug, Default)]
pub(super) struct Changes(Vec<(LocalId, Value)>);

/// Values of the bindings at the current place, with a log to go back for other branches.
#[derive(Debug)]
pub(super) struct Bindings {
    now: Vec<Value>,
    log: Vec<(LocalId, Value)>,
}

impl Bindings {
    /// All clean.
    pub(super) fn new(count: usize) -> Self {
        Self {
            now: vec![Value::Clean; count],
            log: Vec::new(),
        }
    }

    pub(super) fn get(&self, local: LocalId) -> Value {
        self.now[local.index()]
    }

    /// A new binding: what its name meant before does not matter.
    pub(super) fn bind(&mut self, local: LocalId, value: Value) {
        let old = std::mem::replace(&mut self.now[local.index()], value);
        if old != value {
            self.log.push((local, old));
        }
    }

    /// An assignment: a tainted binding stays so.
    pub(super) fn assign(&mut self, local: LocalId, value: Value) {
        let value = match (self.get(local), value) {
            (Value::Handle(_), v) if !v.is_tainted() => v,
            (old, v) => old.join(v),
        };
        self.bind(local, value);
    }

    /// The current place, for [`Self::take_back`] and [`Self::changed_since`].
    pub(super) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Undoes what was done since `mark`, as another branch begins there too.
    pub(super) fn take_back(&mut self, mark: usize) -> Changes {
        let mut changes: Vec<(LocalId, Value)> = self.log[mark..]
            .iter()
            .map(|(l, _)| (*l, self.get(*l)))
            .collect();
        while self.log.len() > mark {
            if let Some((local, old)) = self.log.pop() {
                self.now[local.index()] = old;
            }
        }
        changes.sort_unstable_by_key(|(l, _)| *l);
        changes.dedup_by_key(|(l, _)| *l);
        Changes(changes)
    }

    /// Adds what a branch did to what is known.
    pub(super) fn merge(&mut self, changes: Changes) {
        for (local, value) in changes.0 {
            let joined = self.get(local).join(value);
            self.bind(local, joined);
        }
    }

    /// Whether a binding means more than at `mark`.
    pub(super) fn changed_since(&self, mark: usize) -> bool {
        let mut seen = FxHashSet::default();
        self.log[mark..]
            .iter()
            // The first entry of a binding holds its value at the mark.
            .filter(|(l, _)| seen.insert(*l))
            .any(|(l, old)| old.join(self.get(*l)) != *old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: LocalId = LocalId(0);
    const Y: LocalId = LocalId(1);

    #[test]
    fn taint_stays_after_an_assignment_but_not_after_a_new_binding() {
        let mut b = Bindings::new(1);
        b.bind(X, Value::Tainted);
        b.assign(X, Value::Clean);
        assert_eq!(b.get(X), Value::Tainted);
        b.bind(X, Value::Clean);
        assert_eq!(b.get(X), Value::Clean);
    }

    #[test]
    fn branches_do_not_see_each_other_and_meet_at_the_end() {
        let mut b = Bindings::new(2);
        let mark = b.mark();
        b.assign(X, Value::Tainted);
        let first = b.take_back(mark);
        assert_eq!(b.get(X), Value::Clean);
        b.assign(Y, Value::Handle(Handle::Member));
        let second = b.take_back(mark);
        b.merge(first);
        b.merge(second);
        assert_eq!(b.get(X), Value::Tainted);
        assert_eq!(b.get(Y), Value::Handle(Handle::Member));
        // A surrounding branch can still be taken back.
        b.take_back(mark);
        assert_eq!((b.get(X), b.get(Y)), (Value::Clean, Value::Clean));
    }

    #[test]
    fn a_loop_notices_growth_only() {
        let mut b = Bindings::new(1);
        let mark = b.mark();
        assert!(!b.changed_since(mark));
        b.assign(X, Value::Tainted);
        assert!(b.changed_since(mark));
        let again = b.mark();
        b.assign(X, Value::Clean);
        assert!(!b.changed_since(again));
        // Bound and tainted anew in every round: nothing new.
        b.bind(X, Value::Clean);
        b.assign(X, Value::Tainted);
        assert!(!b.changed_since(again));
    }

    #[test]
    fn a_whole_response_is_tainted_and_other_handles_are_not() {
        assert!(Value::Handle(Handle::Response).is_tainted());
        assert_eq!(Value::Handle(Handle::Member).flow(), Value::Clean);
        let both = Value::Handle(Handle::Member).join(Value::Handle(Handle::Response));
        assert_eq!(both, Value::Tainted);
    }
}
