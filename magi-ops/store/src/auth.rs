//! The credentials file. So far only whether it can be read: no login of this build writes one.
//! Its content never leaves this crate.

use std::io;
use std::path::Path;

use crate::file::{self, Bounded, Links};

/// Most bytes of the file that are read.
const MAX_BYTES: u64 = 1024 * 1024;

pub(crate) const FILE_NAME: &str = "auth.json";

/// Whether the credentials under a home directory can be read; a missing file holds none and is fine.
/// Errs for what is no regular file, is not permitted, is beyond 1 MiB or is no JSON object. Blocks.
pub fn check(home: &Path) -> io::Result<()> {
    match file::read_bounded(&home.join(FILE_NAME), MAX_BYTES, Links::Follow)? {
        Bounded::Missing => Ok(()),
        Bounded::TooLong => Err(io::ErrorKind::FileTooLarge.into()),
        Bounded::Bytes(bytes) => {
            serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes)
                .map(drop)
                .map_err(|_| io::ErrorKind::InvalidData.into())
        }
    }
}
