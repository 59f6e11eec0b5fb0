//! The magi engine's refusals in each dialect's words, shared by the families that call it.
//! Translation only: no operation, no engine call.

#[cfg(feature = "application-service")]
mod application_service;
#[cfg(feature = "local-agent")]
mod local_agent;

#[cfg(feature = "application-service")]
pub use application_service::{desk_word, session_id, session_of};
#[cfg(feature = "local-agent")]
pub use local_agent::{session_word, startup_word, turn_word};
