//! Writing files: a complete new file without a name, which then takes one in one step. Directories on the way.
//! The only place of this crate that changes a file system; what to write is decided elsewhere.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use files::NewFile;
use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, mkdirat};
use rustix::io::Errno;

use crate::bounds::Watch;
use crate::error::ToolError;
use crate::workspace::Scope;

/// Bytes between two looks at the watch while a file is written.
const CHUNK: usize = 64 * 1024;

/// A place for one file: an open directory and a name in it. Nothing that happens to the path
/// afterwards, a link put into it least of all, leads anywhere else.
pub(crate) struct Slot<'a> {
    scope: &'a Scope,
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

/// What a file was when it was looked at. Any change by somebody else changes it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    mode: u32,
    owner: (u32, u32),
}

impl<'a> Slot<'a> {
    /// The place of a resolved path in a directory that exists.
    pub(crate) fn existing(scope: &'a Scope, path: PathBuf) -> Result<Self, ToolError> {
        Self::with(scope, path, |parent| scope.open_directory(parent))
    }

    /// The place of a resolved path; creates the directories that are missing above it.
    pub(crate) fn create(scope: &'a Scope, path: PathBuf) -> Result<Self, ToolError> {
        Self::with(scope, path, |parent| create_directories(scope, parent))
    }

    fn with(
        scope: &'a Scope,
        path: PathBuf,
        open: impl FnOnce(&Path) -> Result<OwnedFd, ToolError>,
    ) -> Result<Self, ToolError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ToolError::Directory(scope.shown(&path)));
        };
        Ok(Self {
            scope,
            directory: open(parent)?,
            name: name.to_owned(),
            path,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file that stands here, open for reading; refused if it is no regular one, or a
    /// hidden one under another name.
    pub(crate) fn open(&self) -> Result<Option<(File, Stamp)>, ToolError> {
        let file = match files::open_at(&self.directory, &self.name, OFlags::empty()) {
            Ok(file) => File::from(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.scope.open_error(&error, &self.path)),
        };
        let metadata = file.metadata().map_err(|error| self.unwritten(&error))?;
        self.scope.check_regular(&metadata, &self.path)?;
        let stamp = Stamp {
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
        };
        Ok(Some((file, stamp)))
    }

    /// Puts a file with these parts here, whole or not at all. What stood here keeps its
    /// permissions and, where we may, its owner; other names of it (hard links) keep the old
    /// content, and so does a reader that has it open. Access lists and extended attributes go.
    ///
    /// With `expected`, the file must still be the one that was opened. Says whether there was
    /// a file.
    pub(crate) fn replace(
        &self,
        parts: &[&[u8]],
        expected: Option<Stamp>,
        watch: &Watch,
    ) -> Result<bool, ToolError> {
        let old = self.open()?.map(|(_, stamp)| stamp);
        self.expect(expected, old)?;
        // A rename asks the directory's permission only; a file that is closed to us stays so.
        if old.is_some() {
            accessat(
                &self.directory,
                &self.name,
                Access::WRITE_OK,
                AtFlags::EACCESS,
            )
            .map_err(|error| self.unwritten(&error.into()))?;
        }
        // Closed to others until it is known what the file's should be.
        let mode = if old.is_none() { 0o666 } else { 0o600 };
        let mut fresh = NewFile::create(self.directory.as_fd(), mode)
            .map_err(|error| self.unwritten(&error))?;
        for part in parts.iter().flat_map(|part| part.chunks(CHUNK)) {
            watch.check_now()?;
            fresh
                .file()
                .write_all(part)
                .map_err(|error| self.unwritten(&error))?;
        }
        if let Some(old) = old {
            take_after(fresh.file(), &old).map_err(|error| self.unwritten(&error))?;
        }
        fresh
            .file()
            .sync_all()
            .map_err(|error| self.unwritten(&error))?;
        let _turn = self
            .scope
            .replacing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let now = self.open()?.map(|(_, stamp)| stamp);
        self.expect(expected, now)?;
        // The last look: after a cancellation was answered, nothing may change any more.
        watch.check_now()?;
        if now.is_none() {
            match fresh.place(&self.name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                placed => {
                    placed.map_err(|error| self.unwritten(&error))?;
                    return Ok(old.is_some());
                }
            }
        }
        fresh
            .replace(&self.name, self.scope.staging.as_deref())
            .map_err(|error| self.unwritten(&error))?;
        Ok(old.is_some())
    }

    fn expect(&self, expected: Option<Stamp>, found: Option<Stamp>) -> Result<(), ToolError> {
        match expected {
            Some(_) if expected != found => Err(ToolError::Changed(self.scope.shown(&self.path))),
            _ => Ok(()),
        }
    }

    fn unwritten(&self, error: &io::Error) -> ToolError {
        ToolError::unwritten(error, &self.scope.shown(&self.path))
    }
}

/// Opens a directory after creating it and what is missing above it, one step at a time, so that
/// no link is followed on the way.
fn create_directories(scope: &Scope, path: &Path) -> Result<OwnedFd, ToolError> {
    let failed = |error: io::Error| ToolError::unwritten(&error, &scope.shown(path));
    let mut missing = Vec::new();
    let mut at = path;
    let mut directory = loop {
        match (scope.open_directory(at), at.parent(), at.file_name()) {
            (Err(ToolError::Missing(_)), Some(parent), Some(name)) => {
                missing.push(name);
                at = parent;
            }
            (result, ..) => break result?,
        }
    };
    for name in missing.into_iter().rev() {
        match mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error.into())),
        }
        directory = files::open_at(&directory, name, OFlags::DIRECTORY).map_err(failed)?;
    }
    Ok(directory)
}

/// Takes over the permissions and the owner. Never a set-id bit: the kernel, too, drops
/// those when somebody writes.
fn take_after(file: &File, old: &Stamp) -> io::Result<()> {
    let (owner, group) = old.owner;
    let mut mode = old.mode & 0o777;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != old.owner && fchown(file, Some(owner), Some(group)).is_err() {
        // What the old group might do is not meant for ours.
        mode &= !0o070;
    }
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::Context;

    fn watch() -> Watch {
        Watch::new(work::Deadline::after(Duration::from_secs(60)))
    }

    #[test]
    fn a_file_that_became_another_meanwhile_is_left_alone() {
        type Change = fn(&Path);
        let changes: &[(Change, &str)] = &[
            (
                |file| fs::write(file, "longer than before").unwrap(),
                "file changed",
            ),
            // As long as before, and then under the old time.
            (
                |file| {
                    let before = file.metadata().unwrap();
                    let changed = |m: &fs::Metadata| (m.ctime(), m.ctime_nsec());
                    // The clock of a file system may stand still for some milliseconds.
                    while changed(&file.metadata().unwrap()) == changed(&before) {
                        fs::write(file, "BEFORE").unwrap();
                        let open = fs::OpenOptions::new().write(true).open(file).unwrap();
                        open.set_modified(before.modified().unwrap()).unwrap();
                    }
                },
                "file changed",
            ),
            (|file| fs::remove_file(file).unwrap(), "file changed"),
            (
                |file| {
                    fs::write(file.with_extension("new"), "before").unwrap();
                    fs::rename(file.with_extension("new"), file).unwrap();
                },
                "file changed",
            ),
            (
                |file| fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap(),
                "file changed",
            ),
            (
                |file| {
                    fs::rename(file, file.with_extension("old")).unwrap();
                    symlink(file.with_extension("old"), file).unwrap();
                },
                "not a regular file",
            ),
            (
                |file| {
                    fs::remove_file(file).unwrap();
                    fs::create_dir(file).unwrap();
                },
                "is a directory",
            ),
        ];
        for (change, label) in changes {
            let home = tempfile::tempdir().unwrap();
            let root = home.path().canonicalize().unwrap();
            let file = root.join("file.txt");
            fs::write(&file, "before").unwrap();
            let scope = Context::new(root.clone(), Vec::new()).scope().unwrap();
            let slot = Slot::existing(&scope, file.clone()).unwrap();
            let (_open, stamp) = slot.open().unwrap().unwrap();
            change(&file);
            let listing = || {
                let mut names: Vec<_> = fs::read_dir(&root)
                    .unwrap()
                    .map(|entry| entry.unwrap().path())
                    .map(|path| (fs::read(&path).unwrap_or_default(), path))
                    .collect();
                names.sort();
                names
            };
            let before = listing();
            let error = slot
                .replace(&[b"after"], Some(stamp), &watch())
                .unwrap_err();
            assert_eq!(error.label(), *label);
            assert_eq!(listing(), before);
        }
    }

    #[test]
    fn a_link_put_into_the_way_after_opening_leads_nowhere() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        for directory in ["work", "other"] {
            fs::create_dir(root.join(directory)).unwrap();
        }
        let scope = Context::new(root.clone(), Vec::new()).scope().unwrap();
        let slot = Slot::create(&scope, root.join("work/file")).unwrap();
        fs::rename(root.join("work"), root.join("moved")).unwrap();
        symlink("other", root.join("work")).unwrap();
        slot.replace(&[b"text"], None, &watch()).unwrap();
        assert_eq!(fs::read(root.join("moved/file")).unwrap(), b"text");
        assert_eq!(fs::read_dir(root.join("other")).unwrap().count(), 0);
        // And a new look refuses the link instead of following it.
        let error = Slot::create(&scope, root.join("work/sub/file"))
            .err()
            .unwrap();
        assert_eq!(error.label(), "path changed");
        assert_eq!(fs::read_dir(root.join("other")).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_renamed_after_a_cancellation() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let scope = Context::new(root.clone(), Vec::new()).scope().unwrap();
        let stop = CancellationToken::new();
        let watch = Watch::new(work::Deadline::from(stop.clone()).within(Duration::from_secs(60)));
        let slot = Slot::create(&scope, root.join("file")).unwrap();
        stop.cancel();
        let error = slot.replace(&[], None, &watch).unwrap_err();
        assert_eq!(error.label(), "cancelled");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    }
}
