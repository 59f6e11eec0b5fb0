//! Opening a path that holds no symbolic link: never waits for a pipe, never follows a link that took a place.
//! What may be opened is the caller's matter.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};

/// For opening what stands at a name, whatever it is: never waits, never follows a link.
pub const CAREFULLY: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK);

/// Opens one name in an open directory, as [`CAREFULLY`] says.
///
/// # Errors
///
/// Those of the system; a link is `ELOOP`.
pub fn open_at(directory: impl AsFd, name: &OsStr, extra: OFlags) -> io::Result<OwnedFd> {
    Ok(openat(directory, name, CAREFULLY | extra, Mode::empty())?)
}

/// Opens an absolute path that holds no symbolic link, without blocking and without following one, wherever
/// in the path it stands.
///
/// # Errors
///
/// Those of the system; a link anywhere is `ELOOP` or `ENOTDIR`.
pub fn open_resolved(resolved: &Path, extra: OFlags) -> io::Result<OwnedFd> {
    let flags = CAREFULLY | extra;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, ResolveFlags, openat2};
        use rustix::io::Errno;
        // Refuses links in the middle of the path, too. Old kernels and some sandboxes lack it.
        let resolve = ResolveFlags::NO_SYMLINKS;
        match openat2(CWD, resolved, flags, Mode::empty(), resolve) {
            Err(Errno::NOSYS | Errno::PERM) => {}
            result => return Ok(result?),
        }
    }
    step_by_step(resolved, flags)
}

/// The same where the kernel has no call for it: one directory after the other.
fn step_by_step(resolved: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    const PASS: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const PASS: OFlags = OFlags::RDONLY;
    let pass = PASS | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let (Some(parent), Some(name)) = (resolved.parent(), resolved.file_name()) else {
        return Ok(rustix::fs::open(resolved, flags, Mode::empty())?);
    };
    let mut at = rustix::fs::open("/", pass, Mode::empty())?;
    for component in parent.components() {
        if let Component::Normal(name) = component {
            at = openat(&at, name, pass, Mode::empty())?;
        }
    }
    Ok(openat(&at, name, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn opening_follows_no_link_anywhere() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("a/file", root.join("last")).unwrap();
        for (path, opens) in [
            ("a/file", true),
            ("link/file", false),
            ("last", false),
            ("none", false),
        ] {
            let path = root.join(path);
            assert_eq!(step_by_step(&path, CAREFULLY).is_ok(), opens);
            assert_eq!(open_resolved(&path, OFlags::empty()).is_ok(), opens);
        }
        assert!(step_by_step(Path::new("/"), CAREFULLY).is_ok());
    }
}
