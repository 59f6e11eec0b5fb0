//! Opening, reading and replacing files that others may have put there: bounded, never through a device or a pipe.
//! No format, and no policy but what lies inside a directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use files::{NewFile, Staging};
use rustix::fs::OFlags;

use crate::reason::Reason;

/// Whether a symbolic link may stand in for the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// Settings are often links into a person's own collection.
    Follow,
    /// Session files are ours alone.
    Refuse,
}

/// Open flags for a file that must be regular. Non-blocking, so that a pipe under that name
/// can't hold the process; it changes nothing for regular files.
pub(crate) fn flags(links: Links) -> i32 {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == Links::Refuse {
        flags |= OFlags::NOFOLLOW;
    }
    // The flags are a C int on every platform; the bits are the same.
    flags.bits() as i32
}

/// Opens a regular file for reading; anything else is `InvalidInput`.
pub(crate) fn open_regular(path: &Path, links: Links) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags(links))
        .open(path)?;
    require_regular(&file)?;
    Ok(file)
}

pub(crate) fn require_regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ))
    }
}

/// The bytes of a regular file of at most `most` bytes, links followed; `None` where there is no such file. What a link to
/// nothing would have said must not vanish with it: that one is a problem.
pub(crate) fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Box<Reason>> {
    match open_regular(path, Links::Follow) {
        Ok(file) => read_open(file, path, most).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        Err(error) => Err(Box::new(unreadable(path, &error))),
    }
}

/// The bytes of an open file of at most `most` bytes; `path` is what a problem names.
pub(crate) fn read_open(file: File, path: &Path, most: u64) -> Result<Vec<u8>, Box<Reason>> {
    let too_long = || Reason::of_file(path, format!("this is longer than {most} bytes"));
    match prefix(file, most) {
        Ok((bytes, false)) => Ok(bytes),
        Ok((_, true)) => Err(Box::new(too_long().help("shorten it"))),
        Err(error) => Err(Box::new(unreadable(path, &error))),
    }
}

/// The first `limit` bytes of an open file and whether there are more.
pub(crate) fn prefix(file: File, limit: u64) -> io::Result<(Vec<u8>, bool)> {
    // One byte more than the bound tells "exactly full" from "more"; the size that `stat`
    // names is room for most reads to need no second one, and no bound: the file may grow meanwhile.
    let room = file.metadata()?.len().min(limit) + 1;
    let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
    file.take(limit + 1).read_to_end(&mut bytes)?;
    let more = bytes.len() as u64 > limit;
    if more {
        bytes.pop();
    }
    Ok((bytes, more))
}

/// The text without a byte order mark, which some editors put before every file.
pub(crate) fn without_mark(text: String) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// What looking for a file came to.
pub(crate) enum Found<T> {
    Missing,
    /// It is one that does not count, and why, as the beginning of a sentence.
    Ignored(&'static str),
    There(T),
}

/// Opens a regular file that lies in the canonical directory `inside`, links followed, and has one name only:
/// under a second one it may be anybody's. The path is where it really is.
pub(crate) fn open_inside(path: &Path, inside: &Path) -> io::Result<Found<(File, PathBuf)>> {
    if !without_parents(path).starts_with(inside) {
        return Ok(Found::Ignored("this is outside the workspace"));
    }
    let linked = || {
        let parts = path.ancestors().take_while(|part| *part != inside);
        parts.into_iter().any(|part| {
            part.symlink_metadata()
                .is_ok_and(|metadata| metadata.is_symlink())
        })
    };
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(_) if linked() => return Ok(Found::Ignored(DANGLING)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Missing),
        Err(error) => return Err(error),
    };
    if !real.starts_with(inside) {
        return Ok(Found::Ignored("this is a link out of the workspace"));
    }
    let file = open_regular(&real, Links::Refuse)?;
    if file.metadata()?.nlink() > 1 {
        return Ok(Found::Ignored("this file has more than one hard link"));
    }
    Ok(Found::There((file, real)))
}

/// What a link is called that leads nowhere, or round in a circle.
pub(crate) const DANGLING: &str = "this is a link that cannot be followed";
/// What to do about one.
pub(crate) const RELINK: &str = "put back what it leads to, or remove the link";

/// Whether a link stands there that leads nowhere.
pub(crate) fn is_dangling(path: &Path) -> bool {
    path.is_symlink() && path.metadata().is_err()
}

/// The path without `..`, by its words alone: what a link does to it shows when it is followed.
pub(crate) fn without_parents(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
        path
    })
}

/// Why a file that is there cannot be read, and what to do.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Reason {
    let because =
        |help: &str| Reason::of_file(path, format!("this cannot be read: {error}")).help(help);
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => {
            Reason::of_file(path, "this is no regular file").help("put a file in its place")
        }
        _ if is_dangling(path) => Reason::of_file(path, DANGLING).help(RELINK),
        // One of our own, not the system's.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            because("name a file that lies elsewhere")
        }
        io::ErrorKind::PermissionDenied => because("let your user read it, and what it lies in"),
        _ => because("put a file that can be read in its place"),
    }
}

/// Puts a file with that content in the place of `path`: whole, flushed, or not at all.
pub(crate) fn replace(path: &Path, content: &[u8], mode: u32, staging: &Staging) -> io::Result<()> {
    replace_if(path, content, mode, staging, || true).map(drop)
}

/// The same as long as `holds` says so, which is asked when nothing is left to do but the last step. Returns what it said.
pub(crate) fn replace_if(
    path: &Path,
    content: &[u8],
    mode: u32,
    staging: &Staging,
    holds: impl Fn() -> bool,
) -> io::Result<bool> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = OpenOptions::new()
        .read(true)
        .custom_flags(files::DIRECTORY.bits().cast_signed())
        .open(folder)?;
    let mut fresh = NewFile::create(folder.as_fd(), 0o600)?;
    let mut file = fresh.file();
    file.write_all(content)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()?;
    if !holds() {
        return Ok(false);
    }
    match fresh.place(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !holds() {
                return Ok(false);
            }
            fresh.replace(name, Some(staging))?;
        }
        placed => placed?,
    }
    folder.sync_all()?;
    Ok(true)
}
