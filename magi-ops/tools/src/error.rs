//! Why a call fails: words for the model, and a fixed label for the person's summary.
//! Labels never carry a path, a pattern or file content.

use std::io;

use work::Expired;

use crate::bounds::clip_bytes;

/// Why a call fails. Its display is for the model.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("invalid input: {0}")]
    Input(String),
    #[error("invalid pattern: {0}")]
    Pattern(String),
    #[error("no such file or directory: {0}")]
    Missing(String),
    #[error("permission denied: {0}")]
    Denied(String),
    #[error("refused: {0} is closed to tools")]
    Hidden(String),
    #[error("refused: {path} is a {kind}, not a regular file")]
    Special { path: String, kind: &'static str },
    #[error("{0} is a directory; use list to see what is in it")]
    Directory(String),
    #[error("{0} is not a directory; use read for a file")]
    NotDirectory(String),
    #[error("{path} is a binary file of {bytes} bytes; it is not shown")]
    Binary { path: String, bytes: u64 },
    #[error("offset {offset} is past the end: the file has {lines} lines")]
    PastEnd { offset: u64, lines: u64 },
    #[error(
        "{0} leads to another place than it did when it was looked at; nothing was done, call again"
    )]
    Moved(String),
    #[error("{0} was changed by something else meanwhile; nothing was done, read it again")]
    Changed(String),
    #[error("{0}")]
    NoMatch(String),
    #[error("{0}")]
    SeveralMatches(String),
    #[error("{what} would be or is longer than {limit} bytes")]
    TooLong { what: String, limit: usize },
    #[error("{0}")]
    UnknownSkill(String),
    #[error("cannot write {0}")]
    Unwritten(String),
    #[error("{0}")]
    Failed(String),
    /// A command that was not started or lost.
    #[error("{0}")]
    Command(String),
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the call took too long and was stopped; ask for less at a time")]
    TimedOut,
}

impl ToolError {
    /// An I/O failure on a path that is fit for display.
    pub fn io(error: &io::Error, path: &str) -> Self {
        let path = clip_bytes(path, 512).to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing(path),
            io::ErrorKind::PermissionDenied => Self::Denied(path),
            io::ErrorKind::NotADirectory => Self::NotDirectory(path),
            _ => Self::Failed(format!("cannot read {path}: {error}")),
        }
    }

    /// A failure to write a path that is fit for display.
    pub(crate) fn unwritten(error: &io::Error, path: &str) -> Self {
        match Self::io(error, path) {
            Self::Failed(_) => Self::Unwritten(format!("{}: {error}", clip_bytes(path, 512))),
            other => other,
        }
    }

    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Input(_) => "invalid input",
            Self::Pattern(_) => "invalid pattern",
            Self::Missing(_) => "not found",
            Self::Denied(_) => "permission denied",
            Self::Hidden(_) => "path refused",
            Self::Special { .. } => "not a regular file",
            Self::Directory(_) => "is a directory",
            Self::NotDirectory(_) => "not a directory",
            Self::Binary { .. } => "binary file",
            Self::PastEnd { .. } => "past the end",
            Self::Moved(_) => "path changed",
            Self::Changed(_) => "file changed",
            Self::NoMatch(_) => "no match",
            Self::SeveralMatches(_) => "several matches",
            Self::TooLong { .. } => "too long",
            Self::UnknownSkill(_) => "unknown skill",
            Self::Unwritten(_) => "cannot be written",
            Self::Failed(_) => "cannot be read",
            Self::Command(_) => "could not run",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed out",
        }
    }
}

impl From<Expired> for ToolError {
    fn from(stop: Expired) -> Self {
        match stop {
            Expired::Cancelled => Self::Cancelled,
            Expired::Late => Self::TimedOut,
        }
    }
}
