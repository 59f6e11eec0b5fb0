//! Code Mode: a JavaScript snippet in an engine of its own process, whose only effects are calls of permitted tools.
//! Whether a call may be made, and how it is shown, is decided by the run that it is made for.

#[cfg(feature = "engine")]
mod declare;
#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "engine")]
mod entry;
#[cfg(feature = "engine")]
mod message;
#[cfg(feature = "engine")]
mod process;
mod tool;

#[cfg(feature = "engine")]
pub use entry::run;

/// The first argument that makes a program call [`run`] instead of what it does otherwise.
#[cfg(feature = "engine")]
pub const SUBCOMMAND: &str = "__snippet";

/// What one snippet may use.
#[cfg(feature = "engine")]
mod bounds {
    use std::time::Duration;

    /// What its realm may allocate, in bytes.
    pub(crate) const MEMORY: usize = 64 * 1024 * 1024;
    /// Its own time: what passes while it waits for a tool does not count.
    pub(crate) const OWN_TIME: Duration = Duration::from_secs(30);
    /// What its calls may nest, in bytes of the stack.
    pub(crate) const STACK: usize = 1024 * 1024;
    /// Longest source, in bytes.
    pub(crate) const SOURCE: usize = 256 * 1024;
    /// Longest output, in bytes: what is printed, and the value or the error.
    pub(crate) const OUTPUT: usize = 256 * 1024;
    /// Calls of one snippet: one that tries again and again comes to its end.
    pub(crate) const CALLS: u32 = 10_000;
    /// Calls that run at once.
    pub(crate) const AT_ONCE: usize = 64;
    /// Calls that wait for one of those, and bytes of their inputs.
    pub(crate) const WAITING: usize = 1024;
    pub(crate) const WAITING_BYTES: usize = 4 * 1024 * 1024;
    /// Longest input of one call, in bytes of JSON.
    pub(crate) const INPUT: usize = 1024 * 1024;
    /// How deep it nests at most: as deep as that of a model's own call, so that whatever is put around it on its way
    /// (an envelope, a record, a server's request) can be read, which 127 levels can.
    pub(crate) const DEPTH: usize = 100;
}
