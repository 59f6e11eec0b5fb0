//! The local-agent protocol, version 1, for whoever speaks it: the server's families, the strict client, tests.
//! No method is served here.

mod codec;
mod guide;
mod limits;
pub mod messages;
mod rules;
pub mod words;

pub use codec::LocalAgent;
pub use limits::Limits;
pub use rules::{NAME, PROTOCOL, REQUIRED_CAPABILITIES, RULES, VERSION, Word};
pub use words::NAME_BYTES;
