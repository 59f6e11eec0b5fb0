//! A new file that takes its name only when it is whole, and goes away with the process until then.
//! What is written, and whether it may be, is the caller's matter.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, Dir, FlockOperation, Mode, OFlags, RenameFlags, flock, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::open::{CAREFULLY, open_at};

/// What a temporary name begins and ends with; 32 hex digits stand between.
const PREFIX: &str = ".magi-code-";
const SUFFIX: &str = ".tmp";
/// Entries of a directory that are looked at for what a killed process left there.
const SWEPT_ENTRIES: usize = 4096;
/// How old a left file must be where it has a name before it is locked.
const SWEPT_AGE: Duration = Duration::from_secs(10);

/// A file without a name, or with a temporary one where the file system can't do without. Unless it is put
/// somewhere, nothing of it stays: the kernel frees what has no name when the process dies.
#[derive(Debug)]
pub struct NewFile<'d> {
    directory: BorrowedFd<'d>,
    file: File,
    /// Its temporary name in the directory.
    name: Option<String>,
}

/// A directory of our own where a file has a name for the moment between its naming and its taking another
/// file's place. What is found there belongs to nobody, and is removed when a process first uses it.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
    opened: OnceLock<Option<OwnedFd>>,
}

impl Staging {
    /// The directory is made when it is needed, for its owner alone.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            opened: OnceLock::new(),
        }
    }

    fn open(&self) -> Option<&OwnedFd> {
        let open = || {
            match fs::DirBuilder::new().mode(0o700).create(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
                _ => {}
            }
            let flags = CAREFULLY | OFlags::DIRECTORY;
            let directory = rustix::fs::open(&self.path, flags, Mode::empty()).ok()?;
            sweep(directory.as_fd(), Duration::ZERO);
            Some(directory)
        };
        self.opened.get_or_init(open).as_ref()
    }
}

impl<'d> NewFile<'d> {
    /// An empty file of an open directory's file system, with these permissions less the process's mask.
    ///
    /// # Errors
    ///
    /// Those of the system: no permission, no room.
    pub fn create(directory: BorrowedFd<'d>, mode: u32) -> io::Result<Self> {
        let mode = Mode::from_raw_mode(mode);
        #[cfg(target_os = "linux")]
        if can_link_by_descriptor() {
            let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
            match openat(directory, ".", flags, mode) {
                Ok(file) => {
                    return Ok(Self {
                        directory,
                        file: File::from(file),
                        name: None,
                    });
                }
                // The file system, or the kernel, can't.
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
        sweep(directory, SWEPT_AGE);
        let name = temporary_name();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = File::from(openat(directory, &name, flags, mode)?);
        lock(&file);
        Ok(Self {
            directory,
            file,
            name: Some(name),
        })
    }

    /// For writing to it and for its permissions.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file a name that is free, in one step: a process that dies has left it there or nothing.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` when something stands there; the file can then still [`Self::replace`] it.
    pub fn place(&mut self, name: &OsStr) -> io::Result<()> {
        match &self.name {
            None => Ok(link(&self.file, self.directory, name)?),
            Some(own) => {
                let alone = RenameFlags::NOREPLACE;
                match renameat_with(self.directory, own, self.directory, name, alone) {
                    Ok(()) => self.name = None,
                    // The file system, or the kernel, can't: then the file has both names for a moment.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                        let flags = AtFlags::empty();
                        rustix::fs::linkat(self.directory, own, self.directory, name, flags)?;
                        self.forget();
                    }
                    Err(error) => return Err(error.into()),
                }
                Ok(())
            }
        }
    }

    /// Puts the file in the place of what stands under the name, in one step.
    ///
    /// # Errors
    ///
    /// Those of the system; what stood there stands there still, and nothing is left of the file.
    pub fn replace(mut self, name: &OsStr, staging: Option<&Staging>) -> io::Result<()> {
        if let Some(own) = &self.name {
            renameat(self.directory, own, self.directory, name)?;
            self.name = None;
            return Ok(());
        }
        // Nobody may sweep it away in between.
        lock(&self.file);
        let staged = staging.and_then(Staging::open);
        if let Some(directory) = staged {
            match self.replace_through(directory.as_fd(), name) {
                // Another file system, or one that allows us less than the file's own directory.
                Err(Errno::XDEV | Errno::ACCESS | Errno::PERM | Errno::NOENT) => {}
                result => return Ok(result?),
            }
        }
        Ok(self.replace_through(self.directory, name)?)
    }

    /// Names the file in `through`, and renames it from there: a link can't take a taken name.
    fn replace_through(&self, through: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let own = temporary_name();
        link(&self.file, through, OsStr::new(&own))?;
        renameat(through, &own, self.directory, name).inspect_err(|_| {
            let _ = unlinkat(through, &own, AtFlags::empty());
        })
    }

    fn forget(&mut self) {
        if let Some(name) = self.name.take() {
            let _ = unlinkat(self.directory, &name, AtFlags::empty());
        }
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        self.forget();
    }
}

fn temporary_name() -> String {
    format!("{PREFIX}{:032x}{SUFFIX}", fastrand::u128(..))
}

/// Without a lock, as on some network mounts, the file merely is not told from one that was left.
fn lock(file: &File) {
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

/// Names an open file without a name.
fn link(file: &File, directory: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    // `AT_EMPTY_PATH` would need a privilege.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(
        rustix::fs::CWD,
        path,
        directory,
        name,
        AtFlags::SYMLINK_FOLLOW,
    )
}

/// A file without a name is named through `/proc`, which some containers lack.
#[cfg(target_os = "linux")]
fn can_link_by_descriptor() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| fs::symlink_metadata("/proc/self/fd/0").is_ok())
}

/// Removes what killed processes left in a directory of a file that was to get a name there. What can't be removed stays.
pub fn sweep_left(directory: &Path) {
    let flags = CAREFULLY | OFlags::DIRECTORY;
    if let Ok(directory) = rustix::fs::open(directory, flags, Mode::empty()) {
        sweep(directory.as_fd(), SWEPT_AGE);
    }
}

/// Removes temporary files that a killed process left: ours by their names, old enough, and locked by nobody.
fn sweep(directory: BorrowedFd<'_>, age: Duration) {
    let Ok(entries) = Dir::read_from(directory) else {
        return;
    };
    for entry in entries.take(SWEPT_ENTRIES).flatten() {
        let name = entry.file_name();
        let ours = name
            .to_str()
            .ok()
            .and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX))
            .is_some_and(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()));
        if !ours {
            continue;
        }
        use std::os::unix::ffi::OsStrExt;
        let Ok(file) = open_at(
            directory,
            OsStr::from_bytes(name.to_bytes()),
            OFlags::empty(),
        ) else {
            continue;
        };
        let file = File::from(file);
        let left = file.metadata().is_ok_and(|about| {
            let old = about
                .modified()
                .ok()
                .and_then(|then| SystemTime::now().duration_since(then).ok())
                .is_some_and(|since| since >= age);
            about.is_file() && (old || age.is_zero()) && same(directory, name, &about)
        });
        if left && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = unlinkat(directory, name, AtFlags::empty());
        }
    }
}

fn same(directory: BorrowedFd<'_>, name: &std::ffi::CStr, about: &fs::Metadata) -> bool {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;

    use super::*;

    fn open(path: &std::path::Path) -> OwnedFd {
        rustix::fs::open(path, CAREFULLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    fn names(path: &std::path::Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A file with a temporary name, as where the file system can't do without.
    fn named(directory: BorrowedFd<'_>) -> NewFile<'_> {
        let name = temporary_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mode = Mode::from_raw_mode(0o600);
        let file = File::from(openat(directory, &name, flags, mode).unwrap());
        lock(&file);
        NewFile {
            directory,
            file,
            name: Some(name),
        }
    }

    #[test]
    fn a_file_stands_there_whole_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let (work, stage) = (home.path().join("work"), home.path().join("stage"));
        fs::create_dir(&work).unwrap();
        let directory = open(&work);
        let staging = Staging::new(stage.clone());
        for make in [
            (|directory| NewFile::create(directory, 0o600).unwrap())
                as fn(BorrowedFd<'_>) -> NewFile<'_>,
            named,
        ] {
            let mut file = make(directory.as_fd());
            file.file().write_all(b"one").unwrap();
            file.place("a".as_ref()).unwrap();
            drop(file);
            assert_eq!(fs::read(work.join("a")).unwrap(), b"one");
            let mut file = make(directory.as_fd());
            file.file().write_all(b"two").unwrap();
            let error = file.place("a".as_ref()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(work.join("a")).unwrap(), b"one");
            file.replace("a".as_ref(), Some(&staging)).unwrap();
            assert_eq!(fs::read(work.join("a")).unwrap(), b"two");
            drop(make(directory.as_fd()));
            assert_eq!(names(&work), ["a"]);
            fs::remove_file(work.join("a")).unwrap();
        }
        assert!(names(&stage).is_empty());
    }

    #[test]
    fn what_cannot_be_replaced_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("d")).unwrap();
        let directory = open(home.path());
        let file = NewFile::create(directory.as_fd(), 0o600).unwrap();
        assert!(file.replace("d".as_ref(), None).is_err());
        assert_eq!(names(home.path()), ["d"]);
    }

    #[test]
    fn only_what_nobody_holds_is_swept() {
        let home = tempfile::tempdir().unwrap();
        let left = temporary_name();
        for name in [left.as_str(), ".magi-code-x.tmp", "a.tmp"] {
            fs::write(home.path().join(name), "").unwrap();
        }
        let directory = open(home.path());
        let held = named(directory.as_fd());
        sweep(directory.as_fd(), SWEPT_AGE);
        assert_eq!(names(home.path()).len(), 4);
        sweep(directory.as_fd(), Duration::ZERO);
        let mut expected = vec![
            held.name.clone().unwrap(),
            ".magi-code-x.tmp".into(),
            "a.tmp".into(),
        ];
        expected.sort();
        assert_eq!(names(home.path()), expected);
    }
}
