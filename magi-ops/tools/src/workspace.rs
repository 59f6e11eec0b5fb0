//! Paths: from what a model wrote to a resolved path, what is closed to tools, and safe opening.
//! Every path is opened here, and only for reading; what is written is the matter of `replace`.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use rustix::fs::OFlags;
use store::{Credentials, KERNEL_TREES};

use crate::bounds::{PATH_BYTES, clip_bytes, printable};
use crate::context::Context;
use crate::error::ToolError;

/// What the tools of one call may see. Resolved anew for every call.
pub struct Scope {
    workspace: PathBuf,
    hidden: Vec<PathBuf>,
    /// Device and inode of what is hidden, once a file with several names asks for it.
    hidden_files: OnceLock<HashSet<(u64, u64)>>,
    pub(crate) credentials: Credentials,
    /// What `~` stands for.
    home: Option<PathBuf>,
    /// Where a file waits for its place.
    pub(crate) staging: Option<Arc<files::Staging>>,
    /// The only path that may be written, and the only place with credentials that may be read, where an
    /// admission named one.
    admitted: Option<PathBuf>,
    /// Held over the last look at a file and its replacement: of two calls of one process that
    /// change the same file, none takes the other's change away.
    pub(crate) replacing: Arc<Mutex<()>>,
}

/// What is shown of a path outside of the workspace: without that word it would look like one inside.
fn elsewhere(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    printable(&name.to_string_lossy()) + " outside the workspace"
}

impl Context {
    /// What may be seen, resolved now.
    ///
    /// # Errors
    ///
    /// The workspace is missing or can't be looked at.
    pub fn scope(&self) -> Result<Scope, ToolError> {
        Scope::new(self, None)
    }

    /// The path of an input as a person is shown it, by its words alone: relative inside the workspace, elsewhere its
    /// last part, and that it is elsewhere. No file is looked at.
    pub fn subject(&self, path: &str) -> String {
        let path = match (tilde(path), &self.home) {
            (Some(Some(below)), Some(home)) => home.join(below),
            _ => self.workspace.join(path),
        };
        let path = lexical(&path);
        match path.strip_prefix(&self.workspace) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => printable(&inside.to_string_lossy()),
            Err(_) => elsewhere(&path),
        }
    }
}

impl Scope {
    /// `admitted` binds a call to the one path that was looked at when it was admitted.
    pub(crate) fn new(cx: &Context, admitted: Option<PathBuf>) -> Result<Self, ToolError> {
        let workspace = fs::canonicalize(&cx.workspace)
            .map_err(|error| ToolError::io(&error, "the workspace"))?;
        let mut hidden: Vec<PathBuf> = KERNEL_TREES.iter().map(PathBuf::from).collect();
        for path in &cx.hidden {
            hidden.extend(spellings(&workspace, path));
        }
        hidden.sort();
        hidden.dedup();
        Ok(Self {
            credentials: Credentials::of(cx.home.as_deref(), &workspace),
            workspace,
            hidden,
            hidden_files: OnceLock::new(),
            home: cx.home.clone(),
            staging: cx.staging.clone(),
            admitted,
            replacing: Arc::clone(&cx.replacing),
        })
    }

    /// Whether a resolved path is a place that is known to hold credentials, or another name of a file there.
    pub(crate) fn holds_credentials(&self, resolved: &Path) -> bool {
        self.credentials.hold(resolved)
            || fs::symlink_metadata(resolved).is_ok_and(|metadata| self.credentials.are(&metadata))
    }

    /// Whether credentials at this path may be read: the admission named it or what it lies in, or there was
    /// none.
    fn may_read_credentials(&self, resolved: &Path) -> bool {
        self.admitted.as_ref().is_none_or(|admitted| {
            !admitted.as_os_str().is_empty() && resolved.starts_with(admitted)
        })
    }

    /// Whether a walk from `root` may come upon credentials that nobody was asked for.
    pub(crate) fn may_meet_credentials(&self, root: &Path) -> bool {
        let known = &self.credentials;
        !known.hold(root)
            && (!root.starts_with(&self.workspace)
                || known.places().iter().any(|place| place.starts_with(root)))
    }

    /// The directory that relative paths start from, links resolved.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Resolves a path of an input: relative to the workspace, every symbolic link and `..`
    /// followed, and refused when it ends up at or under a hidden path.
    ///
    /// # Errors
    ///
    /// What a model is told: no such file, closed to tools, changed since the call was looked at.
    pub fn resolve(&self, given: &str) -> Result<PathBuf, ToolError> {
        let written = self.written(given)?;
        let resolved = fs::canonicalize(&written).map_err(|error| {
            if follow(&written).is_ok_and(|path| self.is_hidden(&path)) {
                ToolError::Hidden(shown_input(given))
            } else {
                ToolError::io(&error, &shown_input(given))
            }
        })?;
        if self.is_hidden(&resolved) {
            return Err(ToolError::Hidden(shown_input(given)));
        }
        // Somebody was asked for what stood there before.
        if !self.may_read_credentials(&resolved) && self.holds_credentials(&resolved) {
            return Err(ToolError::Moved(shown_input(given)));
        }
        Ok(resolved)
    }

    /// Resolves a path that is to be written: as [`Self::resolve`], but its last parts need not
    /// exist. A link that leads to nothing counts as what it names.
    pub(crate) fn resolve_for_writing(&self, given: &str) -> Result<PathBuf, ToolError> {
        let written = self.written(given)?;
        if given.ends_with('/') {
            return Err(ToolError::Input(
                "path names a directory; name a file".to_owned(),
            ));
        }
        let resolved =
            follow(&written).map_err(|error| ToolError::io(&error, &shown_input(given)))?;
        if self.is_hidden(&resolved) {
            return Err(ToolError::Hidden(shown_input(given)));
        }
        match &self.admitted {
            Some(admitted) if *admitted != resolved => Err(ToolError::Moved(shown_input(given))),
            _ => Ok(resolved),
        }
    }

    /// The absolute path as written, if it may be looked at. Hidden ones are refused before
    /// anything is looked up, so that an answer does not even tell whether a name exists there.
    fn written(&self, given: &str) -> Result<PathBuf, ToolError> {
        if given.is_empty() {
            return Err(ToolError::Input("path must not be empty".to_owned()));
        }
        if given.len() > PATH_BYTES {
            return Err(ToolError::Input(format!(
                "path is longer than {PATH_BYTES} bytes"
            )));
        }
        if given.contains('\0') {
            return Err(ToolError::Input("path contains a NUL character".to_owned()));
        }
        let written = match tilde(given) {
            None => self.workspace.join(given),
            Some(below) => match (below, &self.home) {
                (Some(below), Some(home)) => home.join(below),
                (None, _) => {
                    return Err(ToolError::Input(format!(
                        "another person's home can't be named; write ./{} for a file of this name",
                        shown_input(given)
                    )));
                }
                (Some(_), None) => {
                    return Err(ToolError::Input(
                        "path begins with ~, and nobody's home directory is known".to_owned(),
                    ));
                }
            },
        };
        if self.is_hidden(&lexical(&written)) {
            return Err(ToolError::Hidden(shown_input(given)));
        }
        Ok(written)
    }

    /// What is hidden: absolute paths, each with everything below it.
    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    pub(crate) fn is_hidden(&self, resolved: &Path) -> bool {
        self.hidden
            .iter()
            .any(|hidden| resolved.starts_with(hidden))
    }

    /// The path as models see it: relative inside the workspace, absolute elsewhere.
    pub fn shown(&self, resolved: &Path) -> String {
        let path = match resolved.strip_prefix(&self.workspace) {
            Ok(inside) if inside.as_os_str().is_empty() => Path::new("."),
            Ok(inside) => inside,
            Err(_) => resolved,
        };
        printable(&path.to_string_lossy())
    }

    /// The path as a summary may name it: elsewhere only its last part, and that it is elsewhere.
    pub fn named(&self, resolved: &Path) -> String {
        if resolved.starts_with(&self.workspace) {
            return self.shown(resolved);
        }
        elsewhere(resolved)
    }

    /// Opens a resolved path for reading if it is a regular file. Never blocks on a FIFO or a
    /// device, and never follows a link that took a directory's place after resolving.
    /// With its length in bytes.
    ///
    /// # Errors
    ///
    /// No regular file, another name of one that is closed, or what the system says.
    pub fn open_file(&self, resolved: &Path) -> Result<(File, u64), ToolError> {
        let file = files::open_resolved(resolved, OFlags::empty())
            .map(File::from)
            .map_err(|error| self.open_error(&error, resolved))?;
        let metadata = file
            .metadata()
            .map_err(|error| ToolError::io(&error, &self.shown(resolved)))?;
        self.check_regular(&metadata, resolved)?;
        Ok((file, metadata.len()))
    }

    /// Refuses what is no regular file, and a further name of a hidden one.
    pub(crate) fn check_regular(
        &self,
        metadata: &fs::Metadata,
        path: &Path,
    ) -> Result<(), ToolError> {
        if metadata.is_dir() {
            return Err(ToolError::Directory(self.shown(path)));
        }
        if !metadata.is_file() {
            return Err(self.special(path));
        }
        // A hard link is another name of the same file, and no path tells.
        if metadata.nlink() > 1
            && self
                .hidden_files()
                .contains(&(metadata.dev(), metadata.ino()))
        {
            return Err(ToolError::Hidden(self.shown(path)));
        }
        if !self.may_read_credentials(path) && self.credentials.are(metadata) {
            return Err(ToolError::Moved(self.shown(path)));
        }
        Ok(())
    }

    /// The hidden files themselves, and those that stand directly in a hidden directory.
    fn hidden_files(&self) -> &HashSet<(u64, u64)> {
        self.hidden_files.get_or_init(|| {
            let own = |path: &&PathBuf| !KERNEL_TREES.iter().any(|tree| path.starts_with(tree));
            store::files_directly_in(self.hidden.iter().filter(own), usize::MAX)
        })
    }

    /// Opens a resolved directory.
    pub(crate) fn open_directory(&self, resolved: &Path) -> Result<OwnedFd, ToolError> {
        files::open_resolved(resolved, OFlags::DIRECTORY)
            .map_err(|error| self.open_error(&error, resolved))
    }

    pub(crate) fn open_error(&self, error: &io::Error, resolved: &Path) -> ToolError {
        // A socket cannot be opened at all (ENXIO); say what it is rather than that.
        match fs::symlink_metadata(resolved) {
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => self.special(resolved),
            // The path held no link when it was resolved.
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                ToolError::Moved(self.shown(resolved))
            }
            _ => ToolError::io(error, &self.shown(resolved)),
        }
    }

    fn special(&self, resolved: &Path) -> ToolError {
        use std::os::unix::fs::FileTypeExt;
        let kind = match fs::symlink_metadata(resolved).map(|metadata| metadata.file_type()) {
            Ok(kind) if kind.is_fifo() => "FIFO",
            Ok(kind) if kind.is_socket() => "socket",
            Ok(kind) if kind.is_symlink() => "symbolic link",
            _ => "device",
        };
        ToolError::Special {
            path: self.shown(resolved),
            kind,
        }
    }
}

/// A path as it stands in an input.
fn shown_input(given: &str) -> String {
    clip_bytes(&printable(given), 512).to_owned()
}

/// The path as written and as resolved: the written one covers what does not exist yet or can't
/// be looked at.
pub(crate) fn spellings(workspace: &Path, path: &Path) -> impl Iterator<Item = PathBuf> {
    let written = workspace.join(path);
    let resolved = follow(&written).ok();
    [lexical(&written)].into_iter().chain(resolved)
}

/// What a path that begins with `~` names below the person's home; `Some(None)` for another person's.
fn tilde(path: &str) -> Option<Option<&str>> {
    let rest = path.strip_prefix('~')?;
    Some(match rest {
        "" => Some(""),
        _ => rest
            .strip_prefix('/')
            .map(|below| below.trim_start_matches('/')),
    })
}

/// The path without `.` and `..`, by its words alone.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Symbolic links in one path, as Linux bounds them.
const MAX_LINKS: u32 = 40;

/// Resolves an absolute path as far as it exists and keeps the rest as written; `..` after a
/// name that does not exist takes that name away. Links that lead to nothing are followed, too.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        path.components()
            .map(|component| component.as_os_str().to_owned())
            .collect()
    };
    let mut pending = VecDeque::from(parts(path));
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = pending.pop_front() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir) => {}
            Some(Component::RootDir | Component::Prefix(_)) => at = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                at.pop();
            }
            Some(Component::Normal(name)) => {
                let next = at.join(name);
                match fs::symlink_metadata(&next) {
                    Ok(metadata) if metadata.is_symlink() => {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(rustix::io::Errno::LOOP.into());
                        }
                        for part in parts(&fs::read_link(&next)?).into_iter().rev() {
                            pending.push_front(part);
                        }
                    }
                    Ok(_) => at = next,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => at = next,
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn following_agrees_with_the_kernel_and_goes_on_where_it_ends() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        symlink("../a", root.join("a/self")).unwrap();
        symlink(root.join("a/b"), root.join("abs")).unwrap();
        symlink("nowhere/x", root.join("dangling")).unwrap();
        symlink("round", root.join("round")).unwrap();
        for path in ["a/b", "a/self/self/b", "abs/../file", "./a/./b/..", "abs"] {
            let path = root.join(path);
            assert_eq!(follow(&path).unwrap(), fs::canonicalize(&path).unwrap());
        }
        for (path, expected) in [
            ("new/deep/file", "new/deep/file"),
            ("new/../a/x", "a/x"),
            ("abs/new", "a/b/new"),
            ("dangling", "nowhere/x"),
            ("dangling/../y", "nowhere/y"),
        ] {
            assert_eq!(follow(&root.join(path)).unwrap(), root.join(expected));
        }
        assert!(follow(&root.join("round/x")).is_err());
        assert_eq!(
            follow(&root.join("a/file/x")).unwrap_err().kind(),
            io::ErrorKind::NotADirectory
        );
        assert_eq!(follow(Path::new("/../..")).unwrap(), Path::new("/"));
    }
}
