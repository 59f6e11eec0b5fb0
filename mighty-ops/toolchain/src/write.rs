//! Replacing a file's text so that nobody ever sees half of it: a file without a name, which then takes its place.
//! Must not decide what is written.

use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::path::Path;

/// Replaces the text of an existing file. A link is followed to its file; permissions stay. After an error the
/// file is as it was.
///
/// # Errors
/// Any failure on the way; nothing is left of the new file then.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let target = path.canonicalize()?;
    let (Some(dir), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let about = std::fs::metadata(&target)?;
    // A rename would get around a file that is not to be written.
    if about.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let dir = std::fs::File::open(dir)?;
    let fresh = files::NewFile::create(dir.as_fd(), 0o600)?;
    fresh.file().write_all(text.as_bytes())?;
    fresh.file().set_permissions(about.permissions())?;
    fresh.file().sync_all()?;
    fresh.replace(name, None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn permissions_and_links_stay() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.mty");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let link = dir.path().join("link.mty");
        symlink("a.mty", &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_path_may_be_as_long_as_any() {
        // The name of the directory leaves no room for one beside the file.
        let dir = tempfile::tempdir().unwrap();
        let mut deep = dir.path().to_path_buf();
        while deep.as_os_str().len() < 4080 {
            let room = 4085 - deep.as_os_str().len();
            deep.push("d".repeat(room.saturating_sub(1).clamp(1, 200)));
        }
        fs::create_dir_all(&deep).unwrap();
        let file = deep.join("a.mty");
        fs::write(&file, "old").unwrap();
        replace(&file, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(&deep).unwrap().count(), 1);
    }

    #[test]
    fn a_read_only_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.mty");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        assert!(replace(&file, "new").is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert!(replace(&dir.path().join("none"), "new").is_err());
    }
}
