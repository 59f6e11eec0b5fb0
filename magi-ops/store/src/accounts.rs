//! Accounts: the credentials that a login stores. So far only whether they can be read: no login of this build writes
//! any. Their content never leaves this crate.

use std::fmt::Debug;
use std::path::Path;

use crate::file;
use crate::local::LocalHome;
use crate::reason::{Reason, SourceText, offset_of};

/// Most bytes of the file that are read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Why the credentials can't be read. Names the file and a place in it, never what stands there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct AccountError(Box<Reason>);

impl AccountError {
    /// The same for people.
    #[must_use]
    pub fn into_reason(self) -> Reason {
        *self.0
    }
}

/// Where credentials are kept.
pub trait AccountStore: Debug + Send + Sync {
    /// Whether the credentials can be read; none at all are fine. Blocks.
    ///
    /// # Errors
    /// For what cannot be read, or is not in the form that a login writes.
    fn check(&self) -> Result<(), AccountError>;
}

impl AccountStore for LocalHome {
    fn check(&self) -> Result<(), AccountError> {
        check(&self.accounts_file())
    }
}

fn check(path: &Path) -> Result<(), AccountError> {
    let because = |reason: Reason| {
        // Whoever links the file keeps it elsewhere, and a new login must not be written over that.
        let help = match path.is_symlink() {
            true => {
                "put right what the link leads to, or remove the link; then log in again where you need to"
            }
            false => "put it right or remove it; then log in again where you need to",
        };
        AccountError(Box::new(reason.help(help)))
    };
    let found = file::read(path, MAX_BYTES).map_err(|reason| because(*reason))?;
    let Some(bytes) = found else { return Ok(()) };
    let read = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes);
    let Err(error) = read else { return Ok(()) };
    let text = SourceText::new(path, String::from_utf8_lossy(&bytes).into_owned());
    // In fixed words: the file's own would be part of what is secret.
    let why = match error.classify() {
        serde_json::error::Category::Data => "this is no JSON object",
        _ => "this is no JSON",
    };
    let offset = offset_of(&error, &text.text);
    Err(because(text.reason(offset, why)))
}
