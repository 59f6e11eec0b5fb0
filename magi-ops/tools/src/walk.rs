//! Walks of a workspace: blind to hidden paths, with globs, and with words for what could not be done.
//! The walking itself is `base/files`; what to do with a file is the visitor's.

use std::ops::ControlFlow;
use std::path::Path;

use files::{Entry, Visitor};
use globset::{GlobBuilder, GlobMatcher};
use work::Expired;

use crate::bounds::{Watch, clip_bytes, counted};
use crate::error::ToolError;
use crate::input::check_pattern;
use crate::workspace::Scope;

/// Threads of one walk at most: a process serves several conversations.
const THREADS: usize = 8;

/// What a walk could not do; each is said to the model.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gaps {
    walked: files::Gaps,
    /// Places that are known to hold credentials.
    credentials: u64,
    /// The time limit ended the walk.
    timed_out: bool,
}

impl Gaps {
    /// The notes for the model, one a line.
    pub(crate) fn notes(&self) -> String {
        let files::Gaps {
            unreadable,
            gitignores,
            left_out,
        } = self.walked;
        let mut out = String::new();
        if unreadable > 0 {
            let directories = counted(unreadable, "directory", "directories");
            out += &format!("\n[{directories} could not be read]");
        }
        if gitignores > 0 {
            let gitignores = counted(gitignores, ".gitignore file was", ".gitignore files were");
            out += &format!("\n[{gitignores} not honoured]");
        }
        if left_out > 0 {
            let directories = counted(left_out, "directory was", "directories were");
            out += &format!("\n[incomplete: {directories} left out; name a narrower path]");
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

/// What one thread of a walk does with the files that are found.
pub(crate) trait FileVisitor: Send {
    /// Whether to look into a directory.
    fn enters(&mut self, _directory: &Path) -> bool {
        true
    }

    /// Takes a file. What it fails with ends the walk.
    fn visit(&mut self, entry: &Entry<'_>) -> Result<(), Expired>;
}

/// Shows every file under the resolved directory `root` to one visitor a thread, until the watch says to end. Symbolic
/// links are not followed, and visited only where `links` says so; directories, FIFOs, sockets and devices are not
/// visited, nor is anything in `.git`.
pub(crate) fn files<V: FileVisitor>(
    root: &Path,
    scope: &Scope,
    links: bool,
    watch: &Watch,
    make: impl Fn() -> V + Sync,
) -> Result<(Vec<V>, Gaps), ToolError> {
    let open = scope.open_directory(root)?;
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(THREADS));
    let options = files::Options {
        root,
        excluded: scope.hidden(),
        dotted: true,
        links,
        top: Some(scope.workspace()),
        threads,
    };
    let checks = scope.may_meet_credentials(root);
    let make = || Guarded {
        inner: make(),
        watch: watch.another(),
        stopped: None,
        scope: checks.then_some(scope),
        left_out: 0,
    };
    let (guarded, walked) = files::walk(options, open, make);
    let mut gaps = Gaps {
        walked,
        ..Gaps::default()
    };
    let mut visitors = Vec::with_capacity(guarded.len());
    for guarded in guarded {
        gaps.credentials += guarded.left_out;
        match guarded.stopped {
            Some(Expired::Cancelled) => return Err(ToolError::Cancelled),
            Some(Expired::Late) => gaps.timed_out = true,
            None => {}
        }
        visitors.push(guarded.inner);
    }
    Ok((visitors, gaps))
}

/// A visitor that the watch ends, and that is not shown places with credentials that nobody was asked for.
struct Guarded<'a, V> {
    inner: V,
    watch: Watch,
    stopped: Option<Expired>,
    /// None where the walk can't meet any.
    scope: Option<&'a Scope>,
    left_out: u64,
}

impl<V> Guarded<'_, V> {
    fn leaves_out(&mut self, path: &Path) -> bool {
        let leaves = self.scope.is_some_and(|scope| scope.credentials.hold(path));
        self.left_out += u64::from(leaves);
        leaves
    }
}

impl<V: FileVisitor> Visitor for Guarded<'_, V> {
    fn goes_on(&mut self) -> bool {
        if self.stopped.is_none() {
            self.stopped = self.watch.check().err();
        }
        self.stopped.is_none()
    }

    fn enters(&mut self, directory: &Path) -> bool {
        !self.leaves_out(directory) && self.inner.enters(directory)
    }

    fn visit(&mut self, entry: &Entry<'_>) -> ControlFlow<()> {
        if self.scope.is_some() && self.leaves_out(&entry.path()) {
            return ControlFlow::Continue(());
        }
        self.stopped = self.inner.visit(entry).err();
        match self.stopped {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
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

    /// Whether it speaks of a file that a walk from `root` found.
    pub(crate) fn takes(&self, root: &Path, entry: &Entry<'_>) -> bool {
        if self.whole_path {
            self.matches(root, &entry.path())
        } else {
            self.matcher.is_match(Path::new(entry.name))
        }
    }

    pub(crate) fn matches(&self, root: &Path, path: &Path) -> bool {
        let relative = path.strip_prefix(root).unwrap_or(path);
        if self.whole_path {
            self.matcher.is_match(relative)
        } else {
            let name = relative.file_name().or(path.file_name());
            self.matcher.is_match(name.unwrap_or_default())
        }
    }
}
