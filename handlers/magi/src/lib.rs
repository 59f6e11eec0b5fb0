//! What the families of one magi dialect share: the engine's errors in its words, and the rules of its runs.
//! No operation, no wire struct.

#[cfg(feature = "application-service")]
pub mod application_service;
#[cfg(any(feature = "local-agent", feature = "application-service"))]
mod common;
#[cfg(feature = "local-agent")]
pub mod local_agent;
