//! The canonical text: fixture pairs of every rule, and what must hold for any program.
//! Must not reach inside the crate: everything goes through `parse` and `format`.
#![allow(clippy::unwrap_used)]

mod fixtures;
mod insertions;
mod properties;
mod support;
