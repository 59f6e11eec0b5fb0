//! The `.gitignore` rules that hold in one directory, read through its open descriptor, and those above it.
//! Nothing is walked here.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, OFlags, statat};

use crate::open::{open_at, open_resolved};

/// Longest `.gitignore` that is honoured, in bytes.
const GITIGNORE_BYTES: u64 = 256 * 1024;

/// The rules of one directory, and of those above it within the same repository.
pub(crate) struct Rules {
    matcher: Gitignore,
    above: Chain,
}

pub(crate) type Chain = Option<Arc<Rules>>;

/// A `.gitignore` that is not honoured: too long, unreadable or not regular.
pub(crate) struct NotHonoured;

impl Rules {
    /// The rules of the directories above `root`: from the repository that holds it, else from `top` if it
    /// lies below that. Further up, a `.gitignore` belongs to something else. Counts those not honoured.
    pub(crate) fn above(root: &Path, top: Option<&Path>) -> (Chain, u64) {
        let top = root
            .ancestors()
            .find(|above| above.join(".git").symlink_metadata().is_ok())
            .or(top.filter(|top| root.starts_with(top)));
        let Some(top) = top else {
            return (None, 0);
        };
        let mut between: Vec<&Path> = root
            .ancestors()
            .skip(1)
            .take_while(|above| above.starts_with(top))
            .collect();
        between.reverse();
        let (mut chain, mut lost) = (None, 0);
        for path in between {
            let Ok(directory) = open_resolved(path, OFlags::DIRECTORY) else {
                continue;
            };
            let (inner, missed) = Self::enter(chain, &directory, path);
            chain = inner;
            lost += u64::from(missed.is_some());
        }
        (chain, lost)
    }

    /// The rules inside an open directory. A repository within another one has only its own.
    pub(crate) fn enter(
        chain: Chain,
        directory: impl AsFd,
        path: &Path,
    ) -> (Chain, Option<NotHonoured>) {
        let repository = statat(&directory, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let above = chain.filter(|_| !repository);
        match Self::load(directory, path) {
            Ok(None) => (above, None),
            Ok(Some(matcher)) => (Some(Arc::new(Self { matcher, above })), None),
            Err(NotHonoured) => (above, Some(NotHonoured)),
        }
    }

    fn load(directory: impl AsFd, path: &Path) -> Result<Option<Gitignore>, NotHonoured> {
        // Neither a link nor a FIFO: git does not follow a linked one either.
        let file = match open_at(directory, OsStr::new(".gitignore"), OFlags::empty()) {
            Ok(file) => File::from(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) => return Err(NotHonoured),
        };
        let fits = file
            .metadata()
            .is_ok_and(|about| about.is_file() && about.len() <= GITIGNORE_BYTES);
        let mut bytes = Vec::new();
        if !fits || file.take(GITIGNORE_BYTES).read_to_end(&mut bytes).is_err() {
            return Err(NotHonoured);
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut builder = GitignoreBuilder::new(path);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // Git, too, passes over a line it cannot make sense of.
            let _ = builder.add_line(None, line);
        }
        builder.build().map(Some).or(Err(NotHonoured))
    }

    /// The nearest rule that speaks of the path decides.
    pub(crate) fn ignored(chain: &Chain, path: &Path, is_dir: bool) -> bool {
        let mut at = chain.as_deref();
        while let Some(rules) = at {
            let matched = rules.matcher.matched(path, is_dir);
            if !matched.is_none() {
                return matched.is_ignore();
            }
            at = rules.above.as_deref();
        }
        false
    }
}
