//! Walking a directory tree: bounded, cancellable, blind to hidden paths, honouring `.gitignore`.
//! Opens nothing but directories and `.gitignore` files; what to do with a file is the visitor's.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::bounds::{GITIGNORE_BYTES, Stop, WALK_PENDING, Watch, clip_bytes, counted};
use crate::error::ToolError;
use crate::input::check_pattern;
use crate::workspace::Scope;

/// What a walk could not do; each is said to the model.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// Directories that could not be read.
    pub(crate) unreadable: u64,
    /// `.gitignore` files that were too long, unreadable or not regular.
    pub(crate) gitignores: u64,
    /// Directories left out because too many were waiting.
    pub(crate) left_out: u64,
    /// Places that are known to hold credentials.
    pub(crate) credentials: u64,
    /// The time limit ended the walk.
    pub(crate) timed_out: bool,
}

impl Gaps {
    /// The notes for the model, one a line.
    pub(crate) fn notes(&self) -> String {
        let mut out = String::new();
        if self.unreadable > 0 {
            out += &format!("\n[{} directories could not be read]", self.unreadable);
        }
        if self.gitignores > 0 {
            out += &format!("\n[{} .gitignore files were not honoured]", self.gitignores);
        }
        if self.left_out > 0 {
            out += &format!(
                "\n[incomplete: {} directories were left out; name a narrower path]",
                self.left_out
            );
        }
        if self.credentials > 0 {
            out += &format!(
                "\n[{} that may hold credentials left out; name it as the path to ask for it]",
                counted(self.credentials, "place", "places")
            );
        }
        if self.timed_out {
            out += "\n[incomplete: stopped at the time limit; name a narrower path]";
        }
        out
    }
}

/// Calls `visit` with every file and symbolic link under the resolved directory `root`, in no
/// particular order. Links are not followed; directories, FIFOs, sockets and devices are not
/// visited; `.git` is not entered.
pub(crate) fn files(
    root: &Path,
    scope: &Scope,
    watch: &Watch,
    mut visit: impl FnMut(PathBuf),
) -> Result<Gaps, ToolError> {
    let mut gaps = Gaps::default();
    let first = scope.open_directory(root)?;
    let rules = Rules::above(root, scope, &mut gaps);
    let mut pending = vec![(root.to_owned(), rules)];
    let mut opened = Some(first);
    while let Some((path, rules)) = pending.pop() {
        let directory = match opened
            .take()
            .map_or_else(|| scope.open_directory(&path), Ok)
        {
            Ok(directory) => directory,
            Err(_) => {
                gaps.unreadable += 1;
                continue;
            }
        };
        let rules = Rules::enter(rules, &path, scope, &mut gaps);
        let ended = entries(&directory, watch, |name, kind| {
            let is_dir = kind == FileType::Directory;
            if is_dir && name == ".git" {
                return;
            }
            let path = path.join(name);
            if scope.is_hidden(&path) || Rules::ignored(&rules, &path, is_dir) {
                return;
            }
            if scope.is_left_out(root, &path) {
                gaps.credentials += 1;
                return;
            }
            match kind {
                FileType::Directory if pending.len() >= WALK_PENDING => gaps.left_out += 1,
                FileType::Directory => pending.push((path, rules.clone())),
                FileType::RegularFile | FileType::Symlink => visit(path),
                _ => {}
            }
        });
        match ended {
            Ok(()) => {}
            Err(EntriesError::Stop(Stop::Deadline)) => {
                gaps.timed_out = true;
                break;
            }
            Err(EntriesError::Stop(Stop::Cancelled)) => return Err(ToolError::Cancelled),
            Err(EntriesError::Io) => gaps.unreadable += 1,
        }
    }
    Ok(gaps)
}

pub(crate) enum EntriesError {
    Stop(Stop),
    Io,
}

/// Calls `visit` with every entry of an open directory, `.` and `..` left out.
pub(crate) fn entries(
    directory: &OwnedFd,
    watch: &Watch,
    mut visit: impl FnMut(&OsStr, FileType),
) -> Result<(), EntriesError> {
    for entry in Dir::read_from(directory).map_err(|_| EntriesError::Io)? {
        watch.check().map_err(EntriesError::Stop)?;
        let entry = entry.map_err(|_| EntriesError::Io)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say; an entry that vanished meanwhile is no entry.
            FileType::Unknown => match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        visit(OsStr::from_bytes(name.to_bytes()), kind);
    }
    Ok(())
}

/// The `.gitignore` rules of one directory, and of those above it within the same repository.
struct Rules {
    matcher: Gitignore,
    above: Chain,
}

type Chain = Option<Arc<Rules>>;

impl Rules {
    /// The rules of the directories above `root`: from the repository that holds it, else from
    /// the workspace. Further up, a `.gitignore` belongs to something else.
    fn above(root: &Path, scope: &Scope, gaps: &mut Gaps) -> Chain {
        let top = root
            .ancestors()
            .find(|above| is_repository(above))
            .or_else(|| {
                root.starts_with(scope.workspace())
                    .then(|| scope.workspace())
            })?;
        let mut between: Vec<&Path> = root
            .ancestors()
            .skip(1)
            .take_while(|above| above.starts_with(top))
            .collect();
        between.reverse();
        let mut chain = None;
        for directory in between {
            chain = Self::enter(chain, directory, scope, gaps);
        }
        chain
    }

    /// The rules inside `directory`.
    fn enter(chain: Chain, directory: &Path, scope: &Scope, gaps: &mut Gaps) -> Chain {
        let above = if is_repository(directory) {
            None
        } else {
            chain
        };
        match Self::load(directory, scope) {
            Ok(None) => above,
            Ok(Some(matcher)) => Some(Arc::new(Self { matcher, above })),
            Err(()) => {
                gaps.gitignores += 1;
                above
            }
        }
    }

    fn load(directory: &Path, scope: &Scope) -> Result<Option<Gitignore>, ()> {
        let path = directory.join(".gitignore");
        // The opening that refuses FIFOs and links: git does not follow a linked one either.
        let (file, length) = match scope.open_file(&path) {
            Ok(opened) => opened,
            Err(ToolError::Missing(_)) => return Ok(None),
            Err(_) => return Err(()),
        };
        if length > GITIGNORE_BYTES {
            return Err(());
        }
        let mut bytes = Vec::new();
        file.take(GITIGNORE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|_| ())?;
        let text = String::from_utf8_lossy(&bytes);
        let mut builder = GitignoreBuilder::new(directory);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // Git, too, passes over a line it cannot make sense of.
            let _ = builder.add_line(None, line);
        }
        builder.build().map(Some).map_err(|_| ())
    }

    /// The nearest rule that speaks of the path decides.
    fn ignored(chain: &Chain, path: &Path, is_dir: bool) -> bool {
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

fn is_repository(directory: &Path) -> bool {
    directory.join(".git").symlink_metadata().is_ok()
}

/// A glob of an input. Without a `/` it speaks of the file's name at any depth, with one of the
/// path from the searched directory.
pub(crate) struct PathGlob {
    matcher: GlobMatcher,
    whole_path: bool,
}

impl PathGlob {
    pub(crate) fn new(member: &str, pattern: &str) -> Result<Self, ToolError> {
        check_pattern(member, pattern)?;
        let relative = pattern.strip_prefix("./").unwrap_or(pattern);
        if relative.starts_with('/') {
            return Err(ToolError::Pattern(format!(
                "{member} is relative to path; put the directory into path"
            )));
        }
        let glob = GlobBuilder::new(relative)
            .literal_separator(true)
            .build()
            .map_err(|error| {
                ToolError::Pattern(clip_bytes(&error.kind().to_string(), 400).to_owned())
            })?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            whole_path: relative.contains('/'),
        })
    }

    pub(crate) fn matches(&self, root: &Path, path: &Path) -> bool {
        let relative = path.strip_prefix(root).unwrap_or(path);
        if self.whole_path {
            self.matcher.is_match(relative)
        } else {
            let name: OsString = relative
                .file_name()
                .or(path.file_name())
                .unwrap_or_default()
                .into();
            self.matcher.is_match(Path::new(&name))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::{Duration, Instant};

    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn a_walk_stops_at_the_entry_after_its_cancellation() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        for directory in 0..20 {
            let directory = root.join(format!("d{directory}"));
            std::fs::create_dir(&directory).unwrap();
            for file in 0..10 {
                std::fs::write(directory.join(format!("f{file}")), "").unwrap();
            }
        }
        let scope = Scope::new(&root, &[]).unwrap();
        let walk = |stop_at: usize| {
            let stop = CancellationToken::new();
            let watch = Watch::new(stop.clone(), Instant::now() + Duration::from_secs(60));
            let mut visited = 0;
            let result = files(&root, &scope, &watch, |_| {
                visited += 1;
                if visited == stop_at {
                    stop.cancel();
                }
            });
            (visited, result)
        };
        assert!(matches!(walk(37), (37, Err(ToolError::Cancelled))));
        let (visited, result) = walk(usize::MAX);
        assert_eq!((visited, result.unwrap()), (200, Gaps::default()));
    }
}
