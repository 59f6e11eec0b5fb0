//! The credentials file. So far only whether it can be read: no login of this build writes one.
//! Its content never leaves this crate.

use std::path::Path;

use crate::file::{self, Bounded, Links};
use crate::reason::{Reason, SourceText};

/// Most bytes of the file that are read.
const MAX_BYTES: u64 = 1024 * 1024;

pub(crate) const FILE_NAME: &str = "auth.json";

/// Why the credentials can't be read. Names the file and a place in it, never what stands there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct AuthError(Box<Reason>);

impl AuthError {
    /// The same for people.
    #[must_use]
    pub fn into_reason(self) -> Reason {
        *self.0
    }
}

/// Whether the credentials under a home directory can be read; a missing file holds none and is fine. Blocks.
///
/// # Errors
/// For what is no regular file, is not permitted, is beyond 1 MiB or is no JSON object.
pub fn check(home: &Path) -> Result<(), AuthError> {
    let path = home.join(FILE_NAME);
    let because = |reason: Reason| AuthError(Box::new(reason));
    let bytes = match file::read_bounded(&path, MAX_BYTES, Links::Follow) {
        Ok(Bounded::Missing) => return Ok(()),
        Ok(Bounded::Bytes(bytes)) => bytes,
        Ok(Bounded::TooLong) => {
            let why = format!("this is longer than {MAX_BYTES} bytes");
            return Err(because(Reason::of_file(&path, why)));
        }
        Err(error) => return Err(because(file::unreadable(&path, &error))),
    };
    let read = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes);
    let Err(error) = read else { return Ok(()) };
    let text = SourceText::new(&path, String::from_utf8_lossy(&bytes).into_owned());
    // In fixed words: the file's own would be part of what is secret.
    let why = match error.classify() {
        serde_json::error::Category::Data => "this is no JSON object",
        _ => "this is no JSON",
    };
    let offset = text.offset(error.line(), error.column());
    Err(because(text.reason(offset, why).help("log in again")))
}
