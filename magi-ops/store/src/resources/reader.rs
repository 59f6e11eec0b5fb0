//! Reading resource files: bounded, cancellable, and never what is closed to models.
//! Knows no format and no place.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::ResourceError;
use crate::file::{self, Links};
use crate::{Home, KERNEL_TREES};

/// Most entries of one directory that are looked at.
const MAX_ENTRIES: usize = 4096;

pub(super) struct Reader<'a> {
    hidden: Vec<PathBuf>,
    cancelled: &'a dyn Fn() -> bool,
}

/// The beginning of a file.
pub(super) struct Prefix {
    pub(super) bytes: Vec<u8>,
    pub(super) more: bool,
    /// Where the bytes came from, links followed.
    pub(super) path: PathBuf,
}

/// Names of a directory.
#[derive(Default)]
pub(super) struct Listing {
    /// Sorted.
    pub(super) names: Vec<OsString>,
    /// Whether there are more than were looked at.
    pub(super) more: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(home: &Home, cancelled: &'a dyn Fn() -> bool) -> Self {
        let mut hidden = home.hidden();
        // A linked credentials file is hidden under its real name too.
        let real: Vec<_> = hidden.iter().flat_map(|path| path.canonicalize()).collect();
        hidden.extend(real);
        hidden.extend(KERNEL_TREES.map(PathBuf::from));
        Self { hidden, cancelled }
    }

    pub(super) fn go_on(&self) -> Result<(), ResourceError> {
        if (self.cancelled)() {
            return Err(ResourceError::Cancelled);
        }
        Ok(())
    }

    /// The first `limit` bytes of a regular file, `None` when there is none. Links are followed,
    /// since people keep these files elsewhere and link them in; but a repository's link must
    /// not put credentials into a prompt.
    pub(super) fn prefix(&self, path: &Path, limit: usize) -> io::Result<Option<Prefix>> {
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if self.hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let read = file::read_prefix(&path, limit as u64, Links::Refuse)?;
        Ok(read.map(|(bytes, more)| Prefix { bytes, more, path }))
    }

    /// A whole file of at most `limit` bytes as text without a byte order mark; otherwise what
    /// is wrong with it.
    pub(super) fn text(
        &self,
        path: &Path,
        limit: usize,
    ) -> Result<Result<String, &'static str>, ResourceError> {
        self.go_on()?;
        Ok(match self.prefix(path, limit) {
            Err(_) => Err("cannot be read"),
            Ok(None) => Err("is missing"),
            Ok(Some(prefix)) if prefix.more => Err("is too long"),
            Ok(Some(prefix)) => String::from_utf8(prefix.bytes)
                .map(|text| match text.strip_prefix('\u{feff}') {
                    Some(rest) => rest.to_owned(),
                    None => text,
                })
                .map_err(|_| "is not UTF-8"),
        })
    }

    /// The names in a directory, none when it is missing. `Ok(None)` when it cannot be read.
    pub(super) fn names(&self, directory: &Path) -> Result<Option<Listing>, ResourceError> {
        self.go_on()?;
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(Listing::default()));
            }
            Err(_) => return Ok(None),
        };
        let mut listing = Listing::default();
        for entry in entries {
            self.go_on()?;
            let Ok(entry) = entry else { return Ok(None) };
            if listing.names.len() == MAX_ENTRIES {
                listing.more = true;
                break;
            }
            listing.names.push(entry.file_name());
        }
        listing.names.sort();
        Ok(Some(listing))
    }
}
