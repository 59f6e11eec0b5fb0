//! Literal search over a package: `*.mty` anywhere under the root, Markdown under its `docs/`.
//! Reads files and nothing else; ranking, indexes and the wire form of hits do not belong here.

mod search;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use search::{Search, Thread};
use tokio_util::sync::CancellationToken;

use crate::literal::Literal;

/// Longest `text` of a hit, in bytes, the marks of a cut left out.
pub const MAX_TEXT_BYTES: usize = 4 << 10;
/// Text shown before the match when the beginning of a long line is cut off, in bytes.
const LEAD_BYTES: usize = 512;

/// Threads of one search at most.
const THREADS: usize = 8;

/// What to search for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindRequest {
    /// Looked for byte for byte, upper and lower case apart. No pattern characters.
    pub query: String,
    /// Most hits wanted.
    pub top: usize,
    /// Most bytes of all hits together, files and texts written as JSON strings.
    pub max_bytes: usize,
    /// An existing directory, absolute or relative to the process.
    pub root: PathBuf,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// In the byte order of their files' paths, those of a file in line order.
    pub hits: Vec<Hit>,
    /// Hits that were asked for may be missing: [`FindRequest::max_bytes`] was reached, or a file could
    /// not be searched to its end, because of a line of over 4 MiB or an error of the system.
    pub truncated: bool,
}

/// One line that holds the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Relative to the root, with `/` between segments; bytes that are no UTF-8 as U+FFFD.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// The line without its terminator (LF or CRLF) and with U+FFFD for bytes that are no UTF-8. Of a line
    /// longer than [`MAX_TEXT_BYTES`] a stretch around the first match, with `…` where it was cut.
    pub text: String,
}

/// Why there is no list of hits; the caller knows the root's name. Files and directories below the root
/// that cannot be opened are no reason: they are passed over.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("query is empty")]
    EmptyQuery,
    #[error("path not found")]
    RootNotFound,
    #[error("not a directory")]
    NotADirectory,
    #[error("cannot be read: {0}")]
    RootUnreadable(io::Error),
    #[error("search was cancelled")]
    Cancelled,
}

/// Searches below `request.root` and stops as soon as `request.top` hits are there.
///
/// Files come in the byte order of their relative paths, hits of a file in line order, so a smaller `top`
/// always gives a beginning of what a larger one gives. Passed over: what a `.gitignore` at or below the
/// root excludes, and, inside a git repository, one above it (one that is a link, no regular file, or over
/// 256 KiB is not honoured); hidden entries; a package's build directory `target`; symbolic links. Bytes
/// are searched as they are, NUL included; a file that begins with the mark of UTF-16 is decoded first.
/// Markdown counts in the root's `docs/`, and everywhere where the root itself is the package's `docs/` or
/// lies within. An empty query would match every line and is refused; a query with a line feed matches none.
///
/// Blocks on the file system. `cancelled` is looked at before each directory entry and each read.
///
/// # Errors
/// See [`FindError`].
pub fn find(request: &FindRequest, cancelled: &CancellationToken) -> Result<Found, FindError> {
    if request.query.is_empty() {
        return Err(FindError::EmptyQuery);
    }
    let root = readable_dir(&request.root)?;
    let mut found = Found::default();
    let Some(literal) = Literal::new(&request.query) else {
        return Ok(found);
    };
    if request.top == 0 {
        return Ok(found);
    }
    let package = Package::around(&root);
    let search = Search::new(request, &literal, &package, cancelled);
    let options = files::Options {
        root: &root,
        excluded: &[],
        dotted: false,
        links: false,
        top: None,
        threads: std::thread::available_parallelism().map_or(1, |cores| cores.get().min(THREADS)),
    };
    let open = files::open_resolved(&root, files::DIRECTORY).map_err(FindError::RootUnreadable)?;
    files::walk(options, open, || Thread::new(&search));
    // Also when the last read was the one that saw it.
    if cancelled.is_cancelled() {
        return Err(FindError::Cancelled);
    }
    search.finish(&mut found);
    Ok(found)
}

/// The root without links in it, so that relative paths and `.gitignore` lines above it come out
/// the same however it was spelled.
fn readable_dir(path: &Path) -> Result<PathBuf, FindError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => FindError::RootNotFound,
        io::ErrorKind::NotADirectory => FindError::NotADirectory,
        _ => FindError::RootUnreadable(source),
    };
    let root = path.canonicalize().map_err(unreadable)?;
    std::fs::read_dir(&root).map_err(unreadable)?;
    Ok(root)
}

/// What the root is to the package that it belongs to.
struct Package<'r> {
    root: &'r Path,
    /// The root is the package's `docs/` or lies within.
    in_docs: bool,
    /// No manifest says where the package begins: it is taken to begin at the root.
    assumed: bool,
}

impl<'r> Package<'r> {
    const MANIFEST: &'static str = "mighty.toml";

    fn around(root: &'r Path) -> Self {
        // A package or a repository is not documentation because somebody keeps it under `docs/`.
        let begin = root
            .ancestors()
            .find(|above| holds(above, Self::MANIFEST) || holds(above, ".git"));
        let within = begin.and_then(|begin| root.strip_prefix(begin).ok());
        Self {
            root,
            in_docs: within.unwrap_or(root).iter().any(|name| name == "docs"),
            assumed: !root.ancestors().any(|above| holds(above, Self::MANIFEST)),
        }
    }

    /// Whether a directory holds what a build made: one named `target` at the top of a package, or one
    /// that says so by the cache directory tag. Another `target` is a module like any other.
    fn is_build(&self, path: &Path) -> bool {
        path.file_name() == Some(OsStr::new("target"))
            && (holds(path, "CACHEDIR.TAG")
                || path.parent().is_some_and(|parent| {
                    holds(parent, Self::MANIFEST) || (self.assumed && parent == self.root)
                }))
    }

    /// Whether a file of this name is searched anywhere: most are told by it alone.
    fn may_search(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        name.ends_with(b".mty") || is_markdown(name)
    }

    /// The path to show for a file that is to be searched, and `None` for every other.
    fn searched_name(&self, path: &Path) -> Option<String> {
        let name = path.file_name()?.as_encoded_bytes();
        let relative = path.strip_prefix(self.root).ok()?;
        let documents = || {
            // A file that is itself named `docs` has no ending.
            (self.in_docs || relative.starts_with("docs")) && is_markdown(name)
        };
        if !name.ends_with(b".mty") && !documents() {
            return None;
        }
        let segments: Vec<_> = relative.iter().map(OsStr::to_string_lossy).collect();
        Some(segments.join("/"))
    }
}

fn is_markdown(name: &[u8]) -> bool {
    [&b".md"[..], b".markdown"].iter().any(|ending| {
        let tail = name.len().checked_sub(ending.len());
        tail.is_some_and(|tail| name[tail..].eq_ignore_ascii_case(ending))
    })
}

/// Bytes of a JSON string, and of what stands around it in a hit.
fn weight(text: &str) -> usize {
    const AROUND: usize = 24;
    let bytes = text.bytes().map(|byte| match byte {
        0..0x20 => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    });
    AROUND + bytes.sum::<usize>()
}

/// Whether a directory holds an entry of that name, whatever it is.
fn holds(directory: &Path, name: impl AsRef<OsStr>) -> bool {
    directory.join(name.as_ref()).symlink_metadata().is_ok()
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
    if text.len() <= MAX_TEXT_BYTES {
        return text.into_owned();
    }
    // Replacing may have made the text longer than the line.
    let before = String::from_utf8_lossy(line.get(..at).unwrap_or(line)).len();
    let start = if before + len <= MAX_TEXT_BYTES {
        0
    } else {
        text.ceil_char_boundary(before.saturating_sub(LEAD_BYTES))
    };
    let end = text.floor_char_boundary(start + MAX_TEXT_BYTES);
    let mark = |cut: bool| if cut { "…" } else { "" };
    let stretch = text.get(start..end).unwrap_or_default();
    format!("{}{stretch}{}", mark(start > 0), mark(end < text.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

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
    fn markdown_is_known_by_its_ending() {
        for name in ["a.md", "A.MD", "b.markdown", "c.MarkDown", ".md"] {
            assert!(is_markdown(name.as_bytes()), "{name}");
        }
        for name in ["md", "a.mdx", "a.md.bak", "markdown", "", "é"] {
            assert!(!is_markdown(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_long_line_is_cut_around_its_first_match_and_says_so() {
        let whole = format!("{}needle{}", "é".repeat(1500), "x".repeat(1090));
        assert_eq!(whole.len(), MAX_TEXT_BYTES);
        assert_eq!(clip(whole.as_bytes(), 3000, 6), whole);

        let line = format!("{whole}y");
        assert_eq!(clip(line.as_bytes(), 3000, 6), format!("{whole}…"));

        let line = format!("{}needle{}", "é".repeat(5000), "x".repeat(9000));
        assert_eq!(
            clip(line.as_bytes(), 10_000, 6),
            format!("…{}needle{}…", "é".repeat(256), "x".repeat(3578))
        );

        let line = format!("{}needle", "-".repeat(9000));
        assert_eq!(
            clip(line.as_bytes(), 9000, 6),
            format!("…{}needle", "-".repeat(512))
        );
    }

    proptest! {
        #[test]
        fn clipped_text_is_bounded_and_shows_the_match(
            before in proptest::collection::vec(any::<u8>(), 0..6000),
            query in "[a-zé\u{1F980}]{1,12}",
            after in proptest::collection::vec(any::<u8>(), 0..6000),
        ) {
            let line = [&before[..], query.as_bytes(), &after[..]].concat();
            let at = memchr::memmem::find(&line, query.as_bytes()).unwrap();
            let text = clip(&line, at, query.len());
            prop_assert!(text.len() <= MAX_TEXT_BYTES + 2 * '…'.len_utf8());
            prop_assert!(text.contains(&query));
            let whole = String::from_utf8_lossy(&line);
            let unmarked = text.strip_prefix('…');
            prop_assert!(unmarked.is_some() || whole.starts_with(text.trim_end_matches('…')));
            let stretch = unmarked.unwrap_or(&text);
            let unmarked = stretch.strip_suffix('…');
            prop_assert!(unmarked.is_some() || whole.ends_with(stretch));
            prop_assert!(whole.contains(unmarked.unwrap_or(stretch)));
        }

        #[test]
        fn weight_is_what_json_takes(text in any::<String>()) {
            let json = text.chars().map(|c| match c {
                '"' | '\\' => 2,
                c if u32::from(c) < 0x20 => 6,
                c => c.len_utf8(),
            });
            prop_assert_eq!(weight(&text), 24 + json.sum::<usize>());
        }
    }
}
