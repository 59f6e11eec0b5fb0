//! Reading resource files: bounded, cancellable, never what is closed to models, and of a project that is not
//! trusted only what lies in it. Knows no format and no place.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::ResourceError;
use super::front_matter::Fault;
use crate::credentials::Credentials;
use crate::file::{self, Found, Links};
use crate::local::{KERNEL_TREES, LocalHome};

/// Most entries of one directory that are looked at.
const MAX_ENTRIES: usize = 4096;

/// Why a file is left out that leads to what is closed to models.
const CLOSED: &str = "this leads to credentials, stored sessions or a tree of the kernel";

/// Whose a file is, which says what may stand in its place.
#[derive(Clone, Copy)]
pub(super) enum Owner<'a> {
    /// The person's own: links are followed, since people keep these files elsewhere and link them in.
    Person,
    /// A trusted project's: likewise.
    Project,
    /// A project's that is not trusted: it lies in that canonical directory, links followed, under one name.
    Stranger(&'a Path),
}

pub(super) struct Reader<'a> {
    hidden: Vec<PathBuf>,
    sessions: PathBuf,
    credentials: Credentials,
    cancelled: &'a dyn Fn() -> bool,
}

/// Why a whole file is left out.
pub(super) enum Left {
    /// A project's that doesn't count, and why.
    Ignored(&'static str),
    Faulty(Fault),
    /// Reading everything ends.
    Stopped(ResourceError),
}

impl From<Fault> for Left {
    fn from(fault: Fault) -> Self {
        Self::Faulty(fault)
    }
}

impl From<ResourceError> for Left {
    fn from(error: ResourceError) -> Self {
        Self::Stopped(error)
    }
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
    pub(super) fn new(
        home: &LocalHome,
        credentials: Credentials,
        cancelled: &'a dyn Fn() -> bool,
    ) -> Self {
        let mut hidden = home.hidden();
        // A linked credentials file is hidden under its real name too.
        let real: Vec<_> = hidden.iter().flat_map(|path| path.canonicalize()).collect();
        hidden.extend(real);
        hidden.extend(KERNEL_TREES.map(PathBuf::from));
        Self {
            hidden,
            sessions: home.sessions_dir().to_owned(),
            credentials,
            cancelled,
        }
    }

    pub(super) fn go_on(&self) -> Result<(), ResourceError> {
        if (self.cancelled)() {
            return Err(ResourceError::Cancelled);
        }
        Ok(())
    }

    /// The first `limit` bytes of a regular file. Nobody's may put credentials into a prompt.
    pub(super) fn prefix(
        &self,
        path: &Path,
        limit: usize,
        owner: Owner<'_>,
    ) -> io::Result<Found<Prefix>> {
        let (file, path) = match owner {
            Owner::Stranger(inside) => match file::open_inside(path, inside)? {
                Found::Missing => return Ok(Found::Missing),
                Found::Ignored(why) => return Ok(Found::Ignored(why)),
                Found::There(opened) => opened,
            },
            Owner::Person | Owner::Project => {
                let path = match path.canonicalize() {
                    Ok(path) => path,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        return Ok(Found::Missing);
                    }
                    Err(error) => return Err(error),
                };
                // Asked before it is opened, and again of what was opened.
                if self.is_closed(&path, owner) {
                    return Self::closed(owner);
                }
                (file::open_regular(&path, Links::Refuse)?, path)
            }
        };
        if self.is_closed(&path, owner) || self.is_closed_by_another_name(&file, owner)? {
            return Self::closed(owner);
        }
        let (bytes, more) = file::prefix(file, limit as u64)?;
        Ok(Found::There(Prefix { bytes, more, path }))
    }

    fn closed(owner: Owner<'_>) -> io::Result<Found<Prefix>> {
        match owner {
            Owner::Person => Err(io::Error::new(io::ErrorKind::PermissionDenied, CLOSED)),
            Owner::Project | Owner::Stranger(_) => Ok(Found::Ignored(CLOSED)),
        }
    }

    /// The person may keep instructions where credentials of other programs lie; no project may lead there.
    fn is_closed(&self, path: &Path, owner: Owner<'_>) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
            || (!matches!(owner, Owner::Person) && self.credentials.hold(path))
    }

    /// Whether a file with several names has one among the credentials or stored sessions.
    fn is_closed_by_another_name(&self, file: &File, owner: Owner<'_>) -> io::Result<bool> {
        let metadata = file.metadata()?;
        if metadata.nlink() < 2 {
            return Ok(false);
        }
        if !matches!(owner, Owner::Person) && self.credentials.are(&metadata) {
            return Ok(true);
        }
        let is_same = |other: io::Result<Metadata>| {
            other.is_ok_and(|other| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()))
        };
        let named = self.hidden.iter().any(|path| is_same(path.metadata()));
        let mut sessions = std::fs::read_dir(&self.sessions)?.flatten();
        Ok(named || sessions.any(|entry| is_same(entry.metadata())))
    }

    /// A whole file of at most `limit` bytes as text without a byte order mark; `missing` says what is wrong where there
    /// is none.
    pub(super) fn text(
        &self,
        path: &Path,
        limit: usize,
        owner: Owner<'_>,
        missing: impl FnOnce() -> Fault,
    ) -> Result<String, Left> {
        self.go_on()?;
        let fault = match self.prefix(path, limit, owner) {
            Ok(Found::There(prefix)) if !prefix.more => match String::from_utf8(prefix.bytes) {
                Ok(text) => return Ok(file::without_mark(text)),
                Err(_) => Fault::new("is not UTF-8").help("save it as UTF-8"),
            },
            Ok(Found::There(_)) => {
                Fault::new("is too long").help(format!("shorten it to {limit} bytes"))
            }
            Ok(Found::Missing) => missing(),
            Ok(Found::Ignored(why)) => return Err(Left::Ignored(why)),
            Err(error) => Fault::new(format!("cannot be read: {error}"))
                .help("put a file that your user can read in its place"),
        };
        Err(fault.into())
    }

    /// The names in a directory, none when it is missing.
    pub(super) fn names(&self, directory: &Path) -> Result<io::Result<Listing>, ResourceError> {
        self.go_on()?;
        let mut listing = Listing::default();
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ok(listing)),
            Err(error) => return Ok(Err(error)),
        };
        for entry in entries {
            self.go_on()?;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Ok(Err(error)),
            };
            if listing.names.len() == MAX_ENTRIES {
                listing.more = true;
                break;
            }
            listing.names.push(entry.file_name());
        }
        listing.names.sort();
        Ok(Ok(listing))
    }
}
