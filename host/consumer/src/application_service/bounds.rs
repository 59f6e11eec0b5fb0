//! What several messages are held to: identities within the bound in force, and equal to those that were asked for.
//! No message and no order.

use crate::Violation;

/// Identities within the bound in force.
pub(super) fn ids(max: usize, ids: &[(&'static str, &str)]) -> Result<(), Violation> {
    match ids.iter().find(|(_, id)| id.len() > max) {
        None => Ok(()),
        Some((name, _)) => Err(Violation::OutOfBounds(name)),
    }
}

pub(super) fn same(name: &'static str, asked: &str, got: &str) -> Result<(), Violation> {
    if asked == got {
        Ok(())
    } else {
        Err(Violation::IdentityMismatch(name))
    }
}
