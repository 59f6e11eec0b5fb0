//! A walk of a directory tree on several threads: bounded, cancellable, honouring `.gitignore`, following no link.
//! Opens nothing but directories and `.gitignore` files; what to do with a file is the visitor's.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, OFlags, statat};

use crate::gitignore::{Chain, Rules};
use crate::open::{open_at, open_resolved};

/// Directories that wait at one time; more are left out, and counted.
const PENDING_DIRECTORIES: usize = 100_000;
/// Lists of files that wait at one time; more are visited by whoever found them.
const PENDING_LISTS: usize = 1_024;
/// Files of one list.
const LIST: usize = 64;
/// Entries of a directory that are sorted together. A larger directory comes in several pieces.
const SORTED: usize = 8_192;

/// What is walked, and how.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Absolute and without links.
    pub root: &'a Path,
    /// Absolute paths that are not visited, with everything below them.
    pub excluded: &'a [PathBuf],
    /// Whether entries whose names begin with a dot are visited; `.git` never is.
    pub dotted: bool,
    /// Whether symbolic links are visited; they are never followed.
    pub links: bool,
    /// Where the root lies in no repository: the outermost directory above it whose `.gitignore` holds.
    pub top: Option<&'a Path>,
    /// Threads at most, at least one; the caller's is the first.
    pub threads: usize,
}

/// What a walk could not do.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Gaps {
    /// Directories that could not be read.
    pub unreadable: u64,
    /// `.gitignore` files that were too long, unreadable or not regular.
    pub gitignores: u64,
    /// Directories left out because too many were waiting.
    pub left_out: u64,
}

/// What one thread does with what is found.
pub trait Visitor: Send {
    /// Whether to go on: asked before each entry. `false` ends the whole walk.
    fn goes_on(&mut self) -> bool;

    /// Whether to look into a directory.
    fn enters(&mut self, _directory: &Path) -> bool {
        true
    }

    /// Takes a regular file, or a link where they are visited. `Break` ends the whole walk.
    fn visit(&mut self, entry: &Entry<'_>) -> ControlFlow<()>;
}

/// A file that was found.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub directory: &'a Path,
    pub name: &'a OsStr,
    open: BorrowedFd<'a>,
}

impl Entry<'_> {
    pub fn path(&self) -> PathBuf {
        self.directory.join(self.name)
    }

    /// Opens it for reading, in the very directory that it was found in; follows no link and waits for nothing.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn open(&self) -> io::Result<File> {
        open_at(self.open, self.name, OFlags::empty()).map(File::from)
    }
}

enum Job {
    Directory(PathBuf, Chain),
    /// Files of one directory.
    Files(Arc<Path>, Vec<OsString>),
}

#[derive(Default)]
struct Queue {
    /// The next one last.
    jobs: Vec<Job>,
    directories: usize,
    /// Jobs that are worked on: each may bring more.
    working: usize,
}

struct Walk<'a> {
    options: Options<'a>,
    queue: Mutex<Queue>,
    changed: Condvar,
    ended: AtomicBool,
    unreadable: AtomicU64,
    gitignores: AtomicU64,
    left_out: AtomicU64,
}

/// Shows every file below the root to a visitor, roughly in the order of names; each thread makes its own.
/// `open` is the root, opened by the caller. Returns the visitors.
///
/// A panic of a visitor goes on in the caller.
pub fn walk<V: Visitor>(
    options: Options<'_>,
    open: OwnedFd,
    make: impl Fn() -> V + Sync,
) -> (Vec<V>, Gaps) {
    let (rules, lost) = Rules::above(options.root, options.top);
    let walk = Walk {
        options,
        queue: Mutex::default(),
        changed: Condvar::new(),
        ended: AtomicBool::new(false),
        unreadable: AtomicU64::new(0),
        gitignores: AtomicU64::new(lost),
        left_out: AtomicU64::new(0),
    };
    let mut first = make();
    walk.directory(&mut first, options.root, &open, rules);
    drop(open);
    let waiting = walk.lock().jobs.len();
    let mut visitors = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..options.threads.min(waiting))
            .map(|_| {
                scope.spawn(|| {
                    let mut visitor = make();
                    walk.work(&mut visitor);
                    visitor
                })
            })
            .collect();
        walk.work(&mut first);
        helpers
            .into_iter()
            .map(|helper| {
                helper
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect::<Vec<_>>()
    });
    visitors.push(first);
    let gaps = Gaps {
        unreadable: walk.unreadable.into_inner(),
        gitignores: walk.gitignores.into_inner(),
        left_out: walk.left_out.into_inner(),
    };
    (visitors, gaps)
}

/// Gives a job back, also when a visitor panics: the others must not wait for it.
struct Working<'w, 'a>(&'w Walk<'a>);

impl Drop for Working<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.ended.store(true, Relaxed);
        }
        self.0.lock().working -= 1;
        self.0.changed.notify_all();
    }
}

impl Walk<'_> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, visitor: &mut impl Visitor) {
        while let Some(job) = self.next() {
            let _working = Working(self);
            match job {
                Job::Directory(path, rules) => {
                    if !visitor.enters(&path) {
                        continue;
                    }
                    match open_resolved(&path, OFlags::DIRECTORY) {
                        Ok(open) => self.directory(visitor, &path, &open, rules),
                        Err(_) => self.missed(&self.unreadable),
                    }
                }
                Job::Files(path, names) => match open_resolved(&path, OFlags::DIRECTORY) {
                    Ok(open) => self.files(visitor, &path, open.as_fd(), &names),
                    Err(_) => self.missed(&self.unreadable),
                },
            }
        }
    }

    fn missed(&self, counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }

    /// Takes a job; waits while others may still bring some. `None` at the end.
    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if self.ended.load(Relaxed) {
                return None;
            }
            if let Some(job) = queue.jobs.pop() {
                queue.working += 1;
                if let Job::Directory(..) = job {
                    queue.directories -= 1;
                }
                return Some(job);
            }
            if queue.working == 0 {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn goes_on(&self, visitor: &mut impl Visitor) -> bool {
        if self.ended.load(Relaxed) {
            return false;
        }
        let on = visitor.goes_on();
        if !on {
            self.ended.store(true, Relaxed);
        }
        on
    }

    fn directory(&self, visitor: &mut impl Visitor, path: &Path, open: &OwnedFd, rules: Chain) {
        let (rules, lost) = Rules::enter(rules, open, path);
        if lost.is_some() {
            self.missed(&self.gitignores);
        }
        let excluded: Vec<&OsStr> = self
            .options
            .excluded
            .iter()
            .filter_map(|excluded| (excluded.parent()? == path).then(|| excluded.file_name())?)
            .collect();
        let Ok(entries) = Dir::read_from(open) else {
            return self.missed(&self.unreadable);
        };
        let mut found: Vec<(OsString, bool)> = Vec::new();
        for entry in entries {
            if !self.goes_on(visitor) {
                return;
            }
            let Ok(entry) = entry else {
                self.missed(&self.unreadable);
                break;
            };
            let raw = entry.file_name();
            let name = OsStr::from_bytes(raw.to_bytes());
            if name == "." || name == ".." || (!self.options.dotted && raw.to_bytes()[0] == b'.') {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say; an entry that vanished meanwhile is no entry.
                FileType::Unknown => match statat(open, raw, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                },
                kind => kind,
            };
            let is_dir = kind == FileType::Directory;
            let counts = match kind {
                FileType::Directory => name != ".git",
                FileType::RegularFile => true,
                FileType::Symlink => self.options.links,
                _ => false,
            };
            if !counts
                || excluded.contains(&name)
                || (rules.is_some() && Rules::ignored(&rules, &path.join(name), is_dir))
            {
                continue;
            }
            found.push((name.to_owned(), is_dir));
            if found.len() == SORTED {
                self.found(visitor, path, open.as_fd(), &rules, &mut found);
            }
        }
        self.found(visitor, path, open.as_fd(), &rules, &mut found);
    }

    /// Lets the others have what was found, but for the first files.
    fn found(
        &self,
        visitor: &mut impl Visitor,
        path: &Path,
        open: BorrowedFd<'_>,
        rules: &Chain,
        found: &mut Vec<(OsString, bool)>,
    ) {
        found.sort_unstable();
        let mut own = Vec::new();
        let mut jobs = Vec::new();
        let mut list = Vec::new();
        let mut shared: Option<Arc<Path>> = None;
        let mut close = |list: &mut Vec<OsString>, jobs: &mut Vec<Job>| {
            if !list.is_empty() {
                let path = shared.get_or_insert_with(|| path.into());
                jobs.push(Job::Files(Arc::clone(path), std::mem::take(list)));
            }
        };
        for (name, is_dir) in found.drain(..) {
            if is_dir {
                close(&mut list, &mut jobs);
                jobs.push(Job::Directory(path.join(name), rules.clone()));
            } else if own.len() < LIST {
                own.push(name);
            } else {
                list.push(name);
                if list.len() == LIST {
                    close(&mut list, &mut jobs);
                }
            }
        }
        close(&mut list, &mut jobs);
        let mut over = Vec::new();
        if !jobs.is_empty() {
            let mut queue = self.lock();
            for job in jobs.into_iter().rev() {
                match job {
                    Job::Directory(..) if queue.directories >= PENDING_DIRECTORIES => {
                        self.missed(&self.left_out);
                    }
                    Job::Directory(..) => {
                        queue.directories += 1;
                        queue.jobs.push(job);
                    }
                    Job::Files(_, names)
                        if queue.jobs.len() - queue.directories >= PENDING_LISTS =>
                    {
                        over.push(names);
                    }
                    Job::Files(..) => queue.jobs.push(job),
                }
            }
            drop(queue);
            self.changed.notify_all();
        }
        self.files(visitor, path, open, &own);
        for names in over.iter().rev() {
            self.files(visitor, path, open, names);
        }
    }

    fn files(
        &self,
        visitor: &mut impl Visitor,
        directory: &Path,
        open: BorrowedFd<'_>,
        names: &[OsString],
    ) {
        for name in names {
            if !self.goes_on(visitor) {
                return;
            }
            let entry = Entry {
                directory,
                name,
                open,
            };
            if visitor.visit(&entry).is_break() {
                self.ended.store(true, Relaxed);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
