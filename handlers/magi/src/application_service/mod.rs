//! What application-service's families share: its sessions and turns (`service`), its one worker for catalogs and
//! configuration, and its rules and words.
//! No operation, no wire struct.

mod configuration;
mod rules;
mod service;

pub use configuration::ConfigurationWorker;
pub use rules::{TURN, session_id, session_of, thinking, thinking_level, turn, word};
pub use service::Service;
