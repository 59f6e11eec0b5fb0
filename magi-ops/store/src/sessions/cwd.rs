//! The working directory of a session: how it is recorded, and whether it is the one at hand.
//! Paths are bytes; a record is text.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::SessionError;
use super::record::{Body, Record};
use crate::context::hex;

/// Before the hex digits of a path that is not UTF-8. Such a text is no absolute path, so the two can't
/// be confused.
const BYTES: &str = "bytes:";

/// A canonical working directory as a session record holds it.
#[must_use]
pub fn recorded_cwd(cwd: &Path) -> String {
    match cwd.to_str() {
        Some(text) => text.to_owned(),
        None => BYTES.to_owned() + &hex(cwd.as_os_str().as_bytes()),
    }
}

/// The directory that [`recorded_cwd`] wrote down; `None` of what it never wrote.
pub(super) fn read_back(recorded: &str) -> Option<PathBuf> {
    let Some(digits) = recorded.strip_prefix(BYTES) else {
        return Some(recorded.into());
    };
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect();
    Some(OsString::from_vec(bytes?).into())
}

/// Whether every recorded working directory is `cwd`, which must be canonical. `Ok(false)` when
/// nothing was recorded: then nothing is verified (spec: local-agent, "Owned sessions and chat
/// history").
///
/// # Errors
/// [`SessionError::CwdMismatch`] for any other directory, one that is not there any more, and what is no absolute path.
pub fn verify_cwd(records: &[Record], cwd: &Path) -> Result<bool, SessionError> {
    let mut verified = false;
    for record in records {
        let Body::Session { cwd: recorded, .. } = &record.body else {
            continue;
        };
        if recorded.is_empty() {
            continue;
        }
        let recorded = read_back(recorded).ok_or(SessionError::CwdMismatch)?;
        let found = fs::canonicalize(&recorded).ok();
        if !recorded.is_absolute() || found.as_deref() != Some(cwd) {
            return Err(SessionError::CwdMismatch);
        }
        verified = true;
    }
    Ok(verified)
}
