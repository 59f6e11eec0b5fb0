//! What local-agent's families share: one attached session, one thing at a time (`agent`), and its rules and words.
//! No operation, no wire struct.

mod agent;
mod rules;

pub use agent::{Agent, Phase, Status};
pub use rules::{run, startup_word, word};
