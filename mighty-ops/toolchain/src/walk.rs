//! Walking a package's tree in path order, honouring `.gitignore`, with bounds on what a hostile checkout
//! can make us read. Opens directories and `.gitignore` files only; which files count is the caller's.

use std::ffi::OsStr;
use std::fs::{DirEntry, File, OpenOptions, ReadDir};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::OFlags;

/// Longest `.gitignore` that is honoured, in bytes.
const GITIGNORE_BYTES: u64 = 256 << 10;

/// The walk ended because nobody wants it any more.
pub(crate) struct Cancelled;

/// Calls `visit` with the path of every regular file below the directory `root`, in the byte order of
/// their paths, until it breaks. Not visited: hidden entries, what a `.gitignore` excludes, symbolic
/// links and what lies behind them, other things that are no files, and the directories that
/// `is_passed_over` names. What cannot be read is passed over.
///
/// `root` is absolute and without links. `cancelled` is looked at before each entry.
pub(crate) fn files(
    root: &Path,
    cancelled: &CancellationToken,
    is_passed_over: impl Fn(&Path) -> bool,
    mut visit: impl FnMut(&Path) -> ControlFlow<()>,
) -> Result<(), Cancelled> {
    let rules = Rules::enter(Rules::above(root), root);
    // One level of the tree each, innermost last; siblings in falling order, to be popped.
    let mut levels = vec![(sorted(root, &rules, cancelled)?, rules)];
    while let Some((level, rules)) = levels.last_mut() {
        if cancelled.is_cancelled() {
            return Err(Cancelled);
        }
        let Some(entry) = level.pop() else {
            levels.pop();
            continue;
        };
        if !entry.is_dir {
            if visit(&entry.path).is_break() {
                return Ok(());
            }
        } else if !is_passed_over(&entry.path) {
            let rules = Rules::enter(rules.clone(), &entry.path);
            levels.push((sorted(&entry.path, &rules, cancelled)?, rules));
        }
    }
    Ok(())
}

struct Entry {
    path: PathBuf,
    is_dir: bool,
}

impl Entry {
    /// The path whose order is that of everything at or below the entry: `a-b` and `a.mty` precede `a/c`.
    fn key(&self) -> impl Iterator<Item = &u8> {
        let slash = self.is_dir.then_some(&b'/');
        let path = self.path.as_os_str().as_encoded_bytes();
        path.iter().chain(slash)
    }
}

/// The entries of a directory that count, in falling order.
fn sorted(
    directory: &Path,
    rules: &Chain,
    cancelled: &CancellationToken,
) -> Result<Vec<Entry>, Cancelled> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory)
        .into_iter()
        .flat_map(ReadDir::into_iter)
    {
        if cancelled.is_cancelled() {
            return Err(Cancelled);
        }
        entries.extend(entry.ok().and_then(|entry| counted(&entry, rules)));
    }
    entries.sort_unstable_by(|a, b| b.key().cmp(a.key()));
    Ok(entries)
}

fn counted(entry: &DirEntry, rules: &Chain) -> Option<Entry> {
    let kind = entry.file_type().ok()?;
    let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
    if is_hidden || !(kind.is_dir() || kind.is_file()) {
        return None;
    }
    let path = entry.path();
    let is_dir = kind.is_dir();
    (!Rules::ignore(rules, &path, is_dir)).then_some(Entry { path, is_dir })
}

/// Opens a file that is one: a link is refused, a pipe is not waited for, a device is never read.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// Whether a directory holds an entry of that name, whatever it is.
pub(crate) fn holds(directory: &Path, name: impl AsRef<OsStr>) -> bool {
    directory.join(name.as_ref()).symlink_metadata().is_ok()
}

/// The `.gitignore` of one directory, and of those above it in the same repository.
struct Rules {
    matcher: Gitignore,
    above: Chain,
}

type Chain = Option<Arc<Rules>>;

impl Rules {
    /// The rules of the directories above `root`, as far as the repository goes. Without one, a package
    /// is not bound by what stands above it: a stray file in a home directory would silently hide all.
    fn above(root: &Path) -> Chain {
        let depth = root.ancestors().position(|above| holds(above, ".git"))?;
        let between: Vec<_> = root.ancestors().skip(1).take(depth).collect();
        between.into_iter().rev().fold(None, Self::enter)
    }

    /// The rules inside `directory`. A repository within another one has only its own.
    fn enter(chain: Chain, directory: &Path) -> Chain {
        let above = chain.filter(|_| !holds(directory, ".git"));
        match Self::load(directory) {
            Some(matcher) => Some(Arc::new(Self { matcher, above })),
            None => above,
        }
    }

    fn load(directory: &Path) -> Option<Gitignore> {
        // Git does not follow a linked one either.
        let file = open_regular(&directory.join(".gitignore")).ok()?;
        if file.metadata().ok()?.len() > GITIGNORE_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(GITIGNORE_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut builder = GitignoreBuilder::new(directory);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // Git, too, passes over a line that it cannot make sense of.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok()
    }

    /// The nearest rule that speaks of the path decides.
    fn ignore(chain: &Chain, path: &Path, is_dir: bool) -> bool {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn entries_sort_like_whole_paths() {
        let entry = |name: &str| Entry {
            path: name.trim_end_matches('/').into(),
            is_dir: name.ends_with('/'),
        };
        let mut entries = [
            "a/", "a.mty", "a-b.mty", "a0.mty", "b/", "a.mty.d/", "A.mty", "é.mty",
        ]
        .map(entry);
        entries.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        let names = entries.map(|entry| entry.path.to_str().unwrap().to_owned());
        assert_eq!(
            names,
            [
                "A.mty", "a-b.mty", "a.mty", "a.mty.d", "a", "a0.mty", "b", "é.mty"
            ]
        );
    }

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .unwrap();
        assert!(open_regular(&at("file")).is_ok());
        for name in ["link", "zero", "pipe", ".", "nothing"] {
            assert!(open_regular(&at(name)).is_err(), "{name}");
        }
        assert!(open_regular(Path::new("/dev/zero")).is_err());
    }

    #[test]
    fn a_cancelled_walk_visits_nothing_more() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..20 {
            std::fs::write(dir.path().join(format!("f{n}")), "").unwrap();
        }
        let root = dir.path().canonicalize().unwrap();
        let cancelled = CancellationToken::new();
        let mut visited = 0;
        let walked = files(
            &root,
            &cancelled,
            |_| false,
            |_| {
                visited += 1;
                if visited == 7 {
                    cancelled.cancel()
                };
                ControlFlow::Continue(())
            },
        );
        assert!(walked.is_err());
        assert_eq!(visited, 7);
    }
}
