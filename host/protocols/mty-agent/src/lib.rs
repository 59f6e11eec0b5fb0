//! The mty-agent protocol, version 1.0, for whoever speaks it: the server's families, recordings, and the ways
//! in beside the standard streams. No op is served here.

mod codec;
mod guide;
#[cfg(feature = "http")]
pub mod http;
pub mod messages;
pub mod record;
pub mod replay;
mod reply;
mod rules;
#[cfg(feature = "unix")]
pub mod unix;
pub mod wire;

pub use codec::MtyAgent;
pub use reply::{OpFailure, Reply};
pub use rules::{
    ANSWER_BYTES, EXIT_FAILURE, EXIT_PROTOCOL, HEADER_READ_TIMEOUT, JSON_DEPTH, MESSAGE_CHARS,
    NAME, PROTOCOL_VERSION, REQUEST_BYTES, REQUESTS, RULES, SURROUNDING_BYTES, Word,
};
pub use wire::{push_error, shorten};

/// Makes a new connection, with a session of its own.
pub type Factory = dyn Fn() -> std::sync::Arc<host::Connection> + Send + Sync;
