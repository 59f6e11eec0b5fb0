//! What application-service's families share: its sessions and turns (`service`), and its rules and words.
//! No operation, no wire struct.

mod rules;
mod service;

pub use rules::{TURN, session_id, session_of, turn, word};
pub use service::Service;
