//! Where a project's own settings, skills and profiles lie, and when nothing there counts.
//! Reads none of them.

use std::path::{Path, PathBuf};

use super::PROJECT_FOLDER;
use crate::file;
use crate::reason::Reason;

/// A project's folder.
pub(crate) enum Folder {
    /// There is none, or that one is the person's own home.
    None,
    /// Nothing in it counts, as the reason says.
    Ignored(Reason),
    At(PathBuf),
}

impl Folder {
    /// Whether a project's folder is the person's own home.
    pub(super) fn is_home(folder: &Path, home: &Path) -> bool {
        let real = folder.canonicalize();
        real.is_ok_and(|real| home.canonicalize().is_ok_and(|home| real == home))
    }

    /// Of the working directory `cwd`, which is canonical.
    pub(crate) fn of(home: &Path, cwd: &Path, trusted: bool) -> Self {
        let folder = cwd.join(PROJECT_FOLDER);
        let ignored =
            |why: &str, help: &str| Self::Ignored(Reason::of_file(&folder, why).help(help));
        // Most projects have none, and settings are read at each `status`: nothing below it is looked for then.
        let found = folder.symlink_metadata();
        let is_missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        if found.as_ref().is_err_and(is_missing) {
            return Self::None;
        }
        let is_link = found.is_ok_and(|found| found.is_symlink());
        match (Self::is_home(&folder, home), is_link) {
            (true, false) => Self::None,
            (true, true) => ignored(
                "this is a link to your own home of magi-code, so the project says nothing",
                "remove the link; what stands there counts in every project anyway",
            ),
            (false, true) if file::is_dangling(&folder) => ignored(file::DANGLING, file::RELINK),
            (false, true) if !trusted => ignored(
                "this is a link, so nothing below it counts",
                super::project::TRUST,
            ),
            (false, _) => Self::At(folder),
        }
    }
}
