//! Bytes in and bytes out: what the loops read from and write to. Protocol knowledge stops at this door.

#[cfg(feature = "http")]
pub mod http;
pub mod stdio;
#[cfg(feature = "unix")]
pub mod unix;

pub use stdio::{Endpoint, Input, Output, Stdio};
