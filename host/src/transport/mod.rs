//! Bytes in and bytes out: what the loops read from and write to. Protocol knowledge stops at this door.

pub mod accept;
mod began;
pub mod stdio;
pub mod unix;

pub use began::{without_stdin, without_stdout};
pub use stdio::{Endpoint, Input, Output, Stdio};
