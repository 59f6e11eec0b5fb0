//! Reading source files that somebody named: bounds, encodings, and the words for what is wrong with them.
//! Must not parse what it reads, and must not write.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Files of this size and above are refused, in bytes (64 MiB).
pub const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// Why a source file cannot be worked on. [`SourceError::about`] says it with the path.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("path not found")]
    NotFound,
    #[error("is a directory")]
    Directory,
    /// A pipe, a device, a socket.
    #[error("not a regular file")]
    NotAFile,
    /// Another kind of text: every line of it would be an error.
    #[error("not a Mighty source file, `.mty` expected")]
    NotMighty,
    #[error("file too large, 64 MiB or more")]
    TooLarge,
    #[error("not UTF-8 at byte {0}")]
    NotUtf8(usize),
    #[error("cannot read: {0}")]
    Unreadable(io::Error),
    /// A directory without anything to check.
    #[error("no `.mty` file in this directory")]
    NoSources,
    /// The package's `mighty.toml`, or one of its files, stands in the way.
    #[error("{path}: {why}")]
    Package { path: String, why: String },
    /// The check broke off: nothing is known of the program.
    #[cfg(feature = "check")]
    #[error("the check could not be finished: {0}")]
    Unfinished(#[from] analysis::Unfinished),
}

impl SourceError {
    /// The error in one line, about `path` as its reader spelled it.
    #[must_use]
    pub fn about(&self, path: &str) -> String {
        match self {
            Self::Unreadable(why) => format!("cannot read {path}: {why}"),
            Self::Package { .. } => self.to_string(),
            _ => format!("{self}: {path}"),
        }
    }
}

impl From<io::Error> for SourceError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::IsADirectory => Self::Directory,
            _ => Self::Unreadable(error),
        }
    }
}

/// Whether the name says that a file holds Mighty source.
pub(crate) fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "mty")
}

/// The text of a regular file below [`MAX_SOURCE_BYTES`]. Symbolic links are followed.
///
/// # Errors
/// See [`SourceError`].
pub fn read_source(path: &Path) -> Result<String, SourceError> {
    read_bounded(path, MAX_SOURCE_BYTES)
}

/// [`read_source`] with another bound, in bytes.
pub(crate) fn read_bounded(path: &Path, bound: u64) -> Result<String, SourceError> {
    // Before opening: a pipe would be waited for, and a device may have effects.
    let about = std::fs::metadata(path)?;
    if about.is_dir() {
        return Err(SourceError::Directory);
    }
    if !about.is_file() {
        return Err(SourceError::NotAFile);
    }
    if about.len() >= bound {
        return Err(SourceError::TooLarge);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0) + 1);
    // It may have grown since.
    File::open(path)?.take(bound).read_to_end(&mut bytes)?;
    if bytes.len() as u64 >= bound {
        return Err(SourceError::TooLarge);
    }
    String::from_utf8(bytes).map_err(|e| SourceError::NotUtf8(e.utf8_error().valid_up_to()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_obstacle_has_its_word() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let about = |name: &str| read_source(&path(name)).unwrap_err().about("P");
        assert_eq!(about("none"), "path not found: P");
        std::fs::create_dir(path("d")).unwrap();
        assert_eq!(about("d"), "is a directory: P");
        assert_eq!(about("d/none.mty"), "path not found: P");
        std::fs::write(path("bytes"), b"ab\xffcd").unwrap();
        assert_eq!(about("bytes"), "not UTF-8 at byte 2: P");
        std::os::unix::fs::symlink(path("loop"), path("loop")).unwrap();
        assert!(
            about("loop").starts_with("cannot read P: "),
            "{}",
            about("loop")
        );
        let huge = File::create(path("huge")).unwrap();
        huge.set_len(MAX_SOURCE_BYTES).unwrap();
        assert_eq!(about("huge"), "file too large, 64 MiB or more: P");
        std::fs::write(path("fine"), "é").unwrap();
        std::os::unix::fs::symlink(path("fine"), path("link")).unwrap();
        assert_eq!(read_source(&path("link")).unwrap(), "é");
        let socket = std::os::unix::net::UnixListener::bind(path("s")).unwrap();
        assert_eq!(about("s"), "not a regular file: P");
        drop(socket);
    }
}
