//! Paths: from what a model wrote to a resolved path, what is closed to tools, and safe opening.
//! The only place of this crate that opens a file or a directory.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};

use crate::bounds::{PATH_BYTES, clip_bytes, printable};
use crate::error::ToolError;

/// Trees of the kernel: their "files" hold this process's environment and descriptors, may
/// block, and may act when they are read.
const KERNEL_TREES: &[&str] = &["/proc", "/sys", "/dev"];

/// What the tools of one call may see. Resolved anew for every call.
pub(crate) struct Scope {
    workspace: PathBuf,
    hidden: Vec<PathBuf>,
    /// Device and inode of what is hidden, once a file with several names asks for it.
    hidden_files: OnceLock<HashSet<(u64, u64)>>,
}

impl Scope {
    pub(crate) fn new(workspace: &Path, hidden: &[PathBuf]) -> Result<Self, ToolError> {
        let workspace =
            fs::canonicalize(workspace).map_err(|error| ToolError::io(&error, "the workspace"))?;
        let mut all: Vec<PathBuf> = KERNEL_TREES.iter().map(PathBuf::from).collect();
        for path in hidden {
            // Both spellings: the written one covers a path that does not exist yet.
            all.push(lexical(&workspace.join(path)));
            all.push(resolve_existing(&workspace.join(path)));
        }
        all.sort();
        all.dedup();
        Ok(Self {
            workspace,
            hidden: all,
            hidden_files: OnceLock::new(),
        })
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Resolves a path of an input: relative to the workspace, every symbolic link and `..`
    /// followed, and refused when it ends up at or under a hidden path.
    pub(crate) fn resolve(&self, given: &str) -> Result<PathBuf, ToolError> {
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
        let shown = || clip_bytes(&printable(given), 512).to_owned();
        let written = self.workspace.join(given);
        // Before anything is looked up, so that an answer does not even tell whether a name
        // exists under a hidden path.
        if self.is_hidden(&lexical(&written)) {
            return Err(ToolError::Hidden(shown()));
        }
        let resolved = fs::canonicalize(&written).map_err(|error| {
            if self.is_hidden(&resolve_existing(&written)) {
                ToolError::Hidden(shown())
            } else {
                ToolError::io(&error, &shown())
            }
        })?;
        if self.is_hidden(&resolved) {
            return Err(ToolError::Hidden(shown()));
        }
        Ok(resolved)
    }

    pub(crate) fn is_hidden(&self, resolved: &Path) -> bool {
        self.hidden
            .iter()
            .any(|hidden| resolved.starts_with(hidden))
    }

    /// The path as models see it: relative inside the workspace, absolute elsewhere.
    pub(crate) fn shown(&self, resolved: &Path) -> String {
        let path = match resolved.strip_prefix(&self.workspace) {
            Ok(inside) if inside.as_os_str().is_empty() => Path::new("."),
            Ok(inside) => inside,
            Err(_) => resolved,
        };
        printable(&path.to_string_lossy())
    }

    /// The path as a summary may name it: elsewhere only its last part.
    pub(crate) fn named(&self, resolved: &Path) -> String {
        if resolved.starts_with(&self.workspace) {
            return self.shown(resolved);
        }
        let name = resolved.file_name().unwrap_or(resolved.as_os_str());
        printable(&name.to_string_lossy())
    }

    /// Opens a resolved path for reading if it is a regular file. Never blocks on a FIFO or a
    /// device, and never follows a link that took a directory's place after resolving.
    pub(crate) fn open_file(&self, resolved: &Path) -> Result<(File, u64), ToolError> {
        let file = open(resolved, OFlags::empty())
            .map(File::from)
            .map_err(|error| self.open_error(&error, resolved))?;
        let metadata = file
            .metadata()
            .map_err(|error| ToolError::io(&error, &self.shown(resolved)))?;
        if metadata.is_dir() {
            return Err(ToolError::Directory(self.shown(resolved)));
        }
        if !metadata.is_file() {
            return Err(self.special(resolved));
        }
        // A hard link is another name of the same file, and no path tells.
        if metadata.nlink() > 1
            && self
                .hidden_files()
                .contains(&(metadata.dev(), metadata.ino()))
        {
            return Err(ToolError::Hidden(self.shown(resolved)));
        }
        Ok((file, metadata.len()))
    }

    /// The hidden files themselves, and those that stand directly in a hidden directory.
    fn hidden_files(&self) -> &HashSet<(u64, u64)> {
        self.hidden_files.get_or_init(|| {
            let own = |path: &PathBuf| !KERNEL_TREES.iter().any(|tree| path.starts_with(tree));
            let mut found = HashSet::new();
            for path in self.hidden.iter().filter(|path| own(path)) {
                let inside = fs::read_dir(path).into_iter().flatten().flatten();
                let names = inside.map(|entry| entry.path()).chain([path.clone()]);
                found.extend(
                    names
                        .filter_map(|name| fs::symlink_metadata(name).ok())
                        .map(|metadata| (metadata.dev(), metadata.ino())),
                );
            }
            found
        })
    }

    /// Opens a resolved directory.
    pub(crate) fn open_directory(&self, resolved: &Path) -> Result<OwnedFd, ToolError> {
        open(resolved, OFlags::DIRECTORY).map_err(|error| self.open_error(&error, resolved))
    }

    fn open_error(&self, error: &io::Error, resolved: &Path) -> ToolError {
        // A socket cannot be opened at all (ENXIO); say what it is rather than that.
        match fs::symlink_metadata(resolved) {
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => self.special(resolved),
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

/// Opens a path that holds no symbolic link, without blocking and without following one.
fn open(resolved: &Path, extra: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY
        | OFlags::CLOEXEC
        | OFlags::NOCTTY
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | extra;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, ResolveFlags, openat2};
        use rustix::io::Errno;
        // Also refuses links in the middle of the path. Old kernels and some sandboxes lack it.
        match openat2(
            CWD,
            resolved,
            flags,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        ) {
            Err(Errno::NOSYS | Errno::PERM) => {}
            result => return Ok(result?),
        }
    }
    Ok(rustix::fs::open(resolved, flags, Mode::empty())?)
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

/// Resolves as much of the path as exists and keeps the rest as written.
fn resolve_existing(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut at = path;
    loop {
        if let Ok(mut resolved) = fs::canonicalize(at) {
            resolved.extend(rest.iter().rev());
            return lexical(&resolved);
        }
        let (Some(parent), Some(name)) = (at.parent(), at.components().next_back()) else {
            return lexical(path);
        };
        rest.push(name);
        at = parent;
    }
}
