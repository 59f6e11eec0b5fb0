//! Bytes in and bytes out: what the loops read from and write to. Protocol knowledge stops at this door.

#[cfg(any(feature = "http", feature = "unix"))]
mod accept;
mod began;
#[cfg(feature = "http")]
pub mod http;
pub mod stdio;
#[cfg(feature = "unix")]
pub mod unix;

pub use began::{without_stdin, without_stdout};
pub use stdio::{Endpoint, Input, Output, Stdio};

/// Makes the context of a new connection, with a session of its own.
#[cfg(any(feature = "http", feature = "unix"))]
pub type Factory = dyn Fn() -> std::sync::Arc<crate::context::Connection> + Send + Sync;

pub use crate::serve::terminated;
