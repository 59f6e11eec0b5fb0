//! `fmt`: the canonical text of files, written in place or only compared. Layout itself is `syntax`'s.
//! A file with syntax errors stays as it is, byte for byte; so does every file that is no `*.mty`.

use std::io;
use std::path::Path;

use syntax::format::{Refused, format};

use crate::session::Session;
use crate::source::{SourceError, is_source, read_source};
use crate::tree::Tree;

/// Files of one directory that are formatted at most.
const MAX_FILES: usize = 100_000;

/// Why a file was not formatted. It is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FmtError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("cannot write: {0}")]
    Unwritable(io::Error),
}

impl FmtError {
    /// The error in one line, about `path` as its reader spelled it.
    #[must_use]
    pub fn about(&self, path: &str) -> String {
        match self {
            Self::Source(error) => error.about(path),
            Self::Unwritable(why) => format!("cannot write {path}: {why}"),
        }
    }
}

/// A syntax error that kept a file from being formatted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// From 1.
    pub line: usize,
    /// From 1, in Unicode scalars.
    pub col: usize,
    /// `MTnnnn`
    pub code: String,
    pub title: String,
}

/// What formatting a text comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Formatted {
    /// It is in canonical form.
    Same,
    /// This is its canonical form.
    Changed(String),
    /// It has syntax errors, the first of which these are, and is to stay as it is.
    Refused(Vec<Obstacle>),
}

/// Obstacles that are told at most.
const MAX_OBSTACLES: usize = 20;

/// Formats a text. The canonical form has LF line ends.
#[must_use]
pub fn format_text(text: &str) -> Formatted {
    let parse = syntax::parse(text);
    match format(&parse) {
        Ok(new) if new == text => Formatted::Same,
        Ok(new) => Formatted::Changed(new),
        // A fault of the formatter itself: nothing to be told about the file, which stays as it is.
        Err(Refused::Unfaithful) => Formatted::Same,
        Err(Refused::SyntaxErrors) => {
            let text = parse.tree.text();
            let place = |at: usize| {
                let before = &text[..at];
                let start = before.rfind('\n').map_or(0, |i| i + 1);
                (
                    before.matches('\n').count() + 1,
                    before[start..].chars().count() + 1,
                )
            };
            let errors = parse.errors.iter().filter(|e| e.is_hard());
            let found = errors.take(MAX_OBSTACLES).map(|e| {
                let (line, col) = place(e.range.start as usize);
                Obstacle {
                    line,
                    col,
                    code: e.code.to_owned(),
                    title: e.title.clone(),
                }
            });
            Formatted::Refused(found.collect())
        }
    }
}

impl Session {
    /// Formats a file in place and atomically, or only says what that would come to.
    ///
    /// # Errors
    /// See [`FmtError`].
    pub fn fmt(&self, path: &str, check: bool) -> Result<Formatted, FmtError> {
        let write = |path: &Path, new: &str| self.write(path, new);
        format_with(&self.resolve(path), (!check).then_some(&write))
    }
}

/// Formats a file; with `write`, in place and atomically.
///
/// # Errors
/// See [`FmtError`].
pub fn format_file(path: &Path, write: bool) -> Result<Formatted, FmtError> {
    format_with(path, write.then_some(&crate::write::replace))
}

type Write<'w> = &'w dyn Fn(&Path, &str) -> io::Result<()>;

fn format_with(path: &Path, write: Option<Write<'_>>) -> Result<Formatted, FmtError> {
    let text = read_source(path)?;
    // After reading: that there is no such file is the better word. A link stands for its file.
    let target = path.canonicalize().map_err(SourceError::from)?;
    if !is_source(path) || !is_source(&target) {
        return Err(SourceError::NotMighty.into());
    }
    let formatted = format_text(&text);
    if let (Some(write), Formatted::Changed(new)) = (write, &formatted) {
        write(path, new).map_err(FmtError::Unwritable)?;
    }
    Ok(formatted)
}

/// The `*.mty` files below a directory, in the order of their paths; links are not followed.
#[must_use]
pub fn files_below(dir: &Path) -> Tree {
    let mut tree = crate::tree::sources_below(dir, MAX_FILES);
    tree.files.retain(|file| !file.is_symlink());
    tree
}
