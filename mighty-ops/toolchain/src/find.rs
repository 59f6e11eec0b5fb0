//! Literal search over a package: `*.mty` anywhere under the root, Markdown under its `docs/`.
//! Reads files and nothing else; ranking, indexes and the wire form of hits do not belong here.

use crate::literal::Literal;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{DirEntry, WalkBuilder};
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Most hits of one search; a larger `top` counts as this. Keeps an answer at a few megabytes.
pub const MAX_HITS: usize = 10_000;
/// Longest `text` of a hit, in Unicode scalars.
pub const MAX_TEXT_CHARS: usize = 400;
/// Scalars shown before the match when the beginning of a long line is cut off.
const LEAD_CHARS: usize = 80;
/// Memory for one line, in bytes. A file is searched up to its first longer line.
const MAX_LINE_BYTES: usize = 4 << 20;
/// A NUL among the first so many bytes makes a file binary, as git judges it.
const SNIFF_BYTES: u64 = 8 << 10;

/// What to search for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindRequest {
    /// Looked for byte for byte, upper and lower case apart. No pattern characters.
    pub query: String,
    /// Most hits wanted, 0 to [`MAX_HITS`].
    pub top: usize,
    /// An existing directory, absolute or relative to the process.
    pub root: PathBuf,
}

/// One line that holds the query.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Hit {
    /// Relative to the root, with `/` between segments; bytes that are no UTF-8 as U+FFFD.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// The line without its terminator (LF or CRLF) and with U+FFFD for bytes that are no UTF-8.
    /// Of a line longer than [`MAX_TEXT_CHARS`], that many scalars, unmarked: from its beginning
    /// if the first match lies within, else from a little before the first match.
    pub text: String,
}

/// Why there is no list of hits. Files and directories below the root that cannot be read are
/// no reason: they are passed over.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("query is empty")]
    EmptyQuery,
    #[error("path not found: {}", .0.display())]
    RootNotFound(PathBuf),
    #[error("not a directory: {}", .0.display())]
    NotADirectory(PathBuf),
    #[error("cannot read {}: {source}", path.display())]
    RootUnreadable { path: PathBuf, source: io::Error },
    #[error("search was cancelled")]
    Cancelled,
}

/// Searches below `request.root` and stops as soon as `request.top` hits are there.
///
/// Files come in the byte order of their relative paths, hits of a file in line order, so a
/// smaller `top` always gives a beginning of what a larger one gives. (A directory that is itself
/// named `*.mty` or `*.md` comes where a file of that name would.) Passed over: what a `.gitignore`
/// at or below the root excludes, and, inside a git repository, one above it; hidden entries;
/// directories named `target`; symbolic links; binary files, that is, with a NUL near the beginning.
/// A later NUL ends the search of its file. An empty query would match every line and is refused; a
/// query with a line feed matches none.
///
/// Blocks on the file system. `cancelled` is looked at before each file and each read.
///
/// # Errors
/// See [`FindError`].
pub fn find(request: &FindRequest, cancelled: &AtomicBool) -> Result<Vec<Hit>, FindError> {
    if request.query.is_empty() {
        return Err(FindError::EmptyQuery);
    }
    let root = readable_dir(&request.root)?;
    let top = request.top.min(MAX_HITS);
    let mut hits = Vec::new();
    let Some(literal) = Literal::new(&request.query) else {
        return Ok(hits);
    };
    if top == 0 {
        return Ok(hits);
    }
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .heap_limit(Some(MAX_LINE_BYTES))
        .binary_detection(BinaryDetection::quit(0))
        .build();
    for entry in walk(&root) {
        if cancelled.load(Relaxed) {
            return Err(FindError::Cancelled);
        }
        let Ok(entry) = entry else { continue };
        let Some(file) = searched_name(&root, &entry) else {
            continue;
        };
        let mut sink = Collect {
            literal: &literal,
            file,
            hits: &mut hits,
            top,
        };
        // A file that cannot be read to its end keeps the hits that came before.
        let _ = search(&mut searcher, entry.path(), &mut sink, cancelled);
        if cancelled.load(Relaxed) {
            return Err(FindError::Cancelled);
        }
        if hits.len() >= top {
            break;
        }
    }
    Ok(hits)
}

/// The root without links in it, so that relative paths and `.gitignore` lines above it come out
/// the same however it was spelled.
fn readable_dir(path: &Path) -> Result<PathBuf, FindError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => FindError::RootNotFound(path.to_owned()),
        io::ErrorKind::NotADirectory => FindError::NotADirectory(path.to_owned()),
        _ => FindError::RootUnreadable {
            path: path.to_owned(),
            source,
        },
    };
    let root = path.canonicalize().map_err(unreadable)?;
    std::fs::read_dir(&root).map_err(unreadable)?;
    Ok(root)
}

fn walk(root: &Path) -> ignore::Walk {
    // Without a repository around it, a package is not bound by what stands above it: a stray
    // ignore file in a home directory would silently hide everything.
    let in_repository = root.ancestors().any(|dir| dir.join(".git").exists());
    WalkBuilder::new(root)
        .standard_filters(false)
        .hidden(true)
        .git_ignore(true)
        .require_git(false)
        .parents(in_repository)
        .follow_links(false)
        .sort_by_file_name(path_order)
        .filter_entry(|entry| {
            let directory = entry.file_type().is_some_and(|t| t.is_dir());
            entry.depth() == 0 || !directory || entry.file_name() != "target"
        })
        .build()
}

/// Orders siblings so that the walk meets files in the byte order of their whole paths, in which
/// `a-b.mty` and `a.mty` precede `a/c.mty`. Only directories and searched files matter for that,
/// and the name tells them apart (but for the directory that `find` documents).
fn path_order(a: &OsStr, b: &OsStr) -> Ordering {
    let key = |name: &OsStr| {
        let slash = (!has_searched_ending(name)).then_some(b'/');
        name.as_encoded_bytes().to_vec().into_iter().chain(slash)
    };
    key(a).cmp(key(b))
}

fn has_searched_ending(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(b".mty") || name.ends_with(b".md")
}

/// The path to show for a file that is to be searched, and `None` for everything else. Pipes and
/// devices are no files here, so that opening one cannot block.
fn searched_name(root: &Path, entry: &DirEntry) -> Option<String> {
    if !entry.file_type().is_some_and(|t| t.is_file()) || !has_searched_ending(entry.file_name()) {
        return None;
    }
    let relative = entry.path().strip_prefix(root).ok()?;
    let source = entry.file_name().as_encoded_bytes().ends_with(b".mty");
    let documentation = entry.depth() > 1 && relative.starts_with("docs");
    if !source && !documentation {
        return None;
    }
    let segments: Vec<_> = relative.iter().map(OsStr::to_string_lossy).collect();
    Some(segments.join("/"))
}

fn search(
    searcher: &mut Searcher,
    path: &Path,
    sink: &mut Collect<'_, '_>,
    cancelled: &AtomicBool,
) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    file.by_ref().take(SNIFF_BYTES).read_to_end(&mut head)?;
    if head.contains(&0) {
        return Ok(());
    }
    let reader = Cancellable {
        inner: head.as_slice().chain(file),
        cancelled,
    };
    searcher.search_reader(sink.literal, reader, sink)
}

/// Ends a read of whatever length once the search is no longer wanted.
struct Cancellable<'c, R> {
    inner: R,
    cancelled: &'c AtomicBool,
}

impl<R: Read> Read for Cancellable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancelled.load(Relaxed) {
            return Err(io::Error::other("cancelled"));
        }
        self.inner.read(buffer)
    }
}

/// Takes the hits of one file until all hits together are `top`.
struct Collect<'a, 'q> {
    literal: &'a Literal<'q>,
    file: String,
    hits: &'a mut Vec<Hit>,
    top: usize,
}

impl Sink for Collect<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = without_terminator(found.bytes());
        // None if the query's own CR matched that of the terminator.
        if let (Some(at), Some(number)) = (self.literal.position(line), found.line_number()) {
            let text = clip(line, at, self.literal.len());
            self.hits.push(Hit {
                file: self.file.clone(),
                line: number,
                text,
            });
        }
        Ok(self.hits.len() < self.top)
    }
}

fn without_terminator(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    }
}

/// The text of a hit. The query is UTF-8, so `at` never splits a character of the line.
fn clip(line: &[u8], at: usize, len: usize) -> String {
    let text = String::from_utf8_lossy(line);
    // Not more scalars than bytes, and mostly that decides it.
    if line.len() <= MAX_TEXT_CHARS || text.chars().count() <= MAX_TEXT_CHARS {
        return text.into_owned();
    }
    let through_match = String::from_utf8_lossy(line.get(..at + len).unwrap_or(line));
    if through_match.chars().count() <= MAX_TEXT_CHARS {
        return text.chars().take(MAX_TEXT_CHARS).collect();
    }
    let (before, after) = line.split_at_checked(at).unwrap_or((line, &[]));
    let before = String::from_utf8_lossy(before);
    let skip = before.chars().count().saturating_sub(LEAD_CHARS);
    let after = String::from_utf8_lossy(after);
    before
        .chars()
        .skip(skip)
        .chain(after.chars())
        .take(MAX_TEXT_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn siblings_sort_like_whole_paths() {
        let mut names = [
            "a", "a.mty", "a-b.mty", "a0.mty", "b", "a.d", "A.mty", "é.mty",
        ];
        names.sort_by(|x, y| path_order(OsStr::new(x), OsStr::new(y)));
        assert_eq!(
            names,
            [
                "A.mty", "a-b.mty", "a.d", "a.mty", "a", "a0.mty", "b", "é.mty"
            ]
        );
    }

    #[test]
    fn terminators_are_lf_and_crlf() {
        let cases: [(&[u8], &[u8]); 6] = [
            (b"a\r\n", b"a"),
            (b"a\n", b"a"),
            (b"a\r", b"a\r"),
            (b"a\r\r\n", b"a\r"),
            (b"\r\n", b""),
            (b"", b""),
        ];
        for (raw, bare) in cases {
            assert_eq!(without_terminator(raw), bare);
        }
    }

    #[test]
    fn a_long_line_is_cut_around_its_first_match() {
        let line = format!("{}needle{}", "é".repeat(350), "x".repeat(1000));
        let text = clip(line.as_bytes(), 700, 6);
        assert_eq!(text, line.chars().take(400).collect::<String>());

        let line = format!("{}needle{}", "é".repeat(5000), "x".repeat(1000));
        let text = clip(line.as_bytes(), 10_000, 6);
        assert_eq!(text, format!("{}needle{}", "é".repeat(80), "x".repeat(314)));

        let line = format!("{}needle", "-".repeat(900));
        assert_eq!(
            clip(line.as_bytes(), 900, 6),
            format!("{}needle", "-".repeat(80))
        );
    }

    #[test]
    fn a_read_after_cancelling_fails() {
        let cancelled = AtomicBool::new(false);
        let mut reader = Cancellable {
            inner: io::repeat(b'x'),
            cancelled: &cancelled,
        };
        let mut buffer = [0; 16];
        assert_eq!(reader.read(&mut buffer).unwrap(), 16);
        cancelled.store(true, Relaxed);
        assert!(reader.read(&mut buffer).is_err());
    }

    proptest! {
        #[test]
        fn clipped_text_is_bounded_and_shows_the_match(
            before in proptest::collection::vec(any::<u8>(), 0..900),
            query in "[a-zé\u{1F980}]{1,12}",
            after in proptest::collection::vec(any::<u8>(), 0..900),
        ) {
            let line = [&before[..], query.as_bytes(), &after[..]].concat();
            let at = memchr::memmem::find(&line, query.as_bytes()).unwrap();
            let text = clip(&line, at, query.len());
            prop_assert!(text.chars().count() <= MAX_TEXT_CHARS);
            prop_assert!(text.contains(&query));
            prop_assert!(String::from_utf8_lossy(&line).contains(&text));
        }
    }
}
