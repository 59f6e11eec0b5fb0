//! The operations and events that are linked into this process, collected once and sorted.
//! What is here is what is advertised, negotiated and dispatched; there is no other list.

use crate::context::Engines;
use crate::dialect::Rules;
use crate::event::EventKind;
use crate::operation::Operation;

/// Two registrations claim one name; the process must not start.
#[derive(Debug, thiserror::Error)]
#[error("{dialect} {kind} `{name}` is registered twice")]
pub struct DuplicateRegistration {
    pub dialect: &'static str,
    pub kind: &'static str,
    pub name: &'static str,
}

/// A linked operation works with an engine that the composition root did not supply; the process must not start.
#[derive(Debug, thiserror::Error)]
#[error("{dialect} `{method}` needs an engine that this server has not: {engine}")]
pub struct MissingEngine {
    pub dialect: &'static str,
    pub method: &'static str,
    pub engine: &'static str,
}

/// What is linked.
pub struct Registry {
    /// Sorted by dialect, then name: link order is unspecified.
    operations: Vec<&'static Operation>,
    events: Vec<&'static EventKind>,
}

impl Registry {
    /// Collects every registration of the process.
    ///
    /// # Errors
    /// When two of them claim one name.
    pub fn collect() -> Result<Self, DuplicateRegistration> {
        let mut operations: Vec<_> = inventory::iter::<Operation>().collect();
        operations.sort_unstable_by_key(|op| (op.dialect, op.method));
        let mut events: Vec<_> = inventory::iter::<EventKind>().collect();
        events.sort_unstable_by_key(|event| (event.dialect, event.name));
        if let Some(pair) = operations
            .windows(2)
            .find(|p| (p[0].dialect, p[0].method) == (p[1].dialect, p[1].method))
        {
            return Err(DuplicateRegistration {
                dialect: pair[0].dialect,
                kind: "operation",
                name: pair[0].method,
            });
        }
        if let Some(pair) = events
            .windows(2)
            .find(|p| (p[0].dialect, p[0].name) == (p[1].dialect, p[1].name))
        {
            return Err(DuplicateRegistration {
                dialect: pair[0].dialect,
                kind: "event",
                name: pair[0].name,
            });
        }
        Ok(Self { operations, events })
    }

    #[must_use]
    pub fn find(&self, dialect: &str, method: &str) -> Option<&'static Operation> {
        self.operations
            .binary_search_by_key(&(dialect, method), |op| (op.dialect, op.method))
            .ok()
            .map(|i| self.operations[i])
    }

    /// The rules of every dialect that an operation of this process belongs to, by name.
    #[must_use]
    pub fn dialects(&self) -> Vec<&'static Rules> {
        let mut dialects: Vec<_> = self.operations.iter().map(|op| op.rules).collect();
        dialects.dedup_by_key(|rules| rules.name);
        dialects
    }

    /// Whether every operation of a dialect finds its engine.
    ///
    /// # Errors
    /// The first that does not, in the order of names.
    pub fn has_engines(&self, dialect: &str, engines: &Engines) -> Result<(), MissingEngine> {
        let of_dialect = |op: &&&Operation| op.dialect == dialect;
        for op in self.operations.iter().filter(of_dialect) {
            let engine = (op.engine)();
            if !engines.has(engine.id) {
                return Err(MissingEngine {
                    dialect: op.dialect,
                    method: op.method,
                    engine: engine.name,
                });
            }
        }
        Ok(())
    }

    /// A dialect's operations in advertised order: the one that opens a connection, then by position, then name.
    #[must_use]
    pub fn operations(&self, dialect: &str) -> Vec<&'static Operation> {
        let mut list: Vec<_> = self
            .operations
            .iter()
            .copied()
            .filter(|op| op.dialect == dialect)
            .collect();
        list.sort_by_key(|op| (op.rules.opening != Some(op.method), op.position));
        list
    }

    #[must_use]
    pub fn methods(&self, dialect: &str) -> Vec<&'static str> {
        self.operations(dialect)
            .iter()
            .map(|op| op.method)
            .collect()
    }

    /// A dialect's events in advertised order.
    #[must_use]
    pub fn events(&self, dialect: &str) -> Vec<&'static EventKind> {
        let mut list: Vec<_> = self
            .events
            .iter()
            .copied()
            .filter(|event| event.dialect == dialect)
            .collect();
        list.sort_by_key(|event| event.position);
        list
    }

    #[must_use]
    pub fn event_names(&self, dialect: &str) -> Vec<&'static str> {
        self.events(dialect)
            .iter()
            .map(|event| event.name)
            .collect()
    }
}
