//! Request identities: the lifetime ledger and the in-flight table.
//! Knows identities as strings only; which rule holds is the dialect's.

use std::collections::HashSet;

/// A dialect's rule for request identities.
#[derive(Clone, Copy, Debug)]
pub enum Identities {
    /// An identity is never reused on a connection, and at most `max` are retained.
    Lifetime { max: usize },
    /// An identity is unique among the requests in flight.
    InFlight,
}

/// Why an identity was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAdmitted {
    Duplicate,
    /// The ledger is full; a new identity closes the connection.
    Exhausted,
}

/// The identities of one connection.
#[derive(Debug)]
pub struct Correlation {
    rule: Identities,
    held: HashSet<Box<str>>,
}

impl Correlation {
    #[must_use]
    pub fn new(rule: Identities) -> Self {
        Self {
            rule,
            held: HashSet::new(),
        }
    }

    pub fn admit(&mut self, id: &str) -> Result<(), NotAdmitted> {
        if self.held.contains(id) {
            return Err(NotAdmitted::Duplicate);
        }
        if let Identities::Lifetime { max } = self.rule
            && self.held.len() >= max
        {
            return Err(NotAdmitted::Exhausted);
        }
        self.held.insert(id.into());
        Ok(())
    }

    /// The request's last message is written. Lifetime identities stay.
    pub fn release(&mut self, id: &str) {
        if matches!(self.rule, Identities::InFlight) {
            self.held.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_identity_is_never_admitted_again() {
        let mut ledger = Correlation::new(Identities::Lifetime { max: 2 });
        assert_eq!(ledger.admit("a"), Ok(()));
        ledger.release("a");
        assert_eq!(ledger.admit("a"), Err(NotAdmitted::Duplicate));
        assert_eq!(ledger.admit("b"), Ok(()));
        assert_eq!(ledger.admit("c"), Err(NotAdmitted::Exhausted));
        assert_eq!(ledger.admit("b"), Err(NotAdmitted::Duplicate));
    }

    #[test]
    fn an_identity_in_flight_is_free_after_its_answer() {
        let mut table = Correlation::new(Identities::InFlight);
        assert_eq!(table.admit("a"), Ok(()));
        assert_eq!(table.admit("a"), Err(NotAdmitted::Duplicate));
        table.release("a");
        assert_eq!(table.admit("a"), Ok(()));
    }
}
