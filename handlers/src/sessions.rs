//! What the commands for people ask about stored sessions: which there are, what was said in one, their end.
//! No output: how that is shown is the command's matter, and how a session is written `export`'s.

pub use agent::{Archive, Listed, Listing, Pruned, Reason};
pub use export::{ExportError, Form, age, size, stamp, write};

/// The sessions of this process's home, which need not be there.
///
/// # Errors
/// When there can't be a home, or the current directory is gone.
pub fn archive() -> Result<Archive, Vec<Reason>> {
    Archive::open(&crate::configuration::here()?)
}
