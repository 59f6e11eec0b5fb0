//! `grep`: lines that match a regular expression, in one file or under a directory.
//! The searching itself is ripgrep's library; here are its bounds and its output.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use files::{Entry, SmallFiles};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use work::Expired;

use crate::bounds::{
    GREP_FILE_BYTES, GREP_MATCHES, OUTPUT_BYTES, ShownLine, Watch, clip_bytes, counted,
};
use crate::error::ToolError;
use crate::file_tool::{FileTool, Touches};
use crate::input::check_pattern;
use crate::read::SNIFF_BYTES;
use crate::tool::Success;
use crate::walk::{self, FileVisitor, Gaps, PathGlob};
use crate::workspace::Scope;

mod sink;

use sink::{Sorted, Watched};

const TOOL: FileTool<Input> = FileTool {
    name: "grep",
    description: "Searches text files for a regular expression (Rust syntax; (?i) ignores case) and returns \
        path:line: text for each matching line, in the order of paths. Searches one file or everything under \
        a directory, optionally only files that a glob matches. Leaves out .git, what .gitignore excludes, \
        binary files and files above 16 MiB, and does not follow symbolic links. Shows up to 500 matches.",
    advice: "Find text with `grep` and files with `glob` instead of guessing where they are.",
    touches: Touches::Reads(&["pattern", "glob"]),
    run,
};

crate::register! {
    name: TOOL.name,
    position: 60,
    make: |_| Some(Arc::new(TOOL)),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The regular expression; it matches within one line.
    pattern: String,
    /// The file or directory to search, relative to the workspace or absolute. Default: the workspace.
    path: Option<String>,
    /// Only search files that this glob matches, such as *.rs.
    glob: Option<String>,
}

/// Memory of a compiled pattern: enough for any that a person would write, small enough to
/// compile in a few milliseconds.
const REGEX_BYTES: usize = 2 * 1024 * 1024;
/// Memory of a pattern's lazy automaton.
const AUTOMATON_BYTES: usize = 8 * 1024 * 1024;
/// Files of up to this many bytes are read whole before they are searched; between the pieces of a longer one
/// the watch is looked at.
const WHOLE_BYTES: usize = 256 * 1024;

fn run(input: Input, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    check_pattern("pattern", &input.pattern)?;
    let matcher = RegexMatcherBuilder::new()
        // The searcher looks at many lines at once: `^` and `$` must mean each line's.
        .multi_line(true)
        // `$` also stands before the carriage return of a CRLF line.
        .crlf(true)
        .size_limit(REGEX_BYTES)
        .dfa_size_limit(AUTOMATON_BYTES)
        .build(&input.pattern)
        .map_err(|error| ToolError::Pattern(clip_bytes(&error.to_string(), 400).to_owned()))?;
    let only = input.glob.as_deref();
    let only = only.map(|glob| PathGlob::new("glob", glob)).transpose()?;
    let root = scope.resolve(input.path.as_deref().unwrap_or("."))?;
    let search = Search {
        matcher,
        only,
        root: &root,
        scope,
        best: Mutex::default(),
        full: AtomicBool::new(false),
    };
    let (threads, gaps) = if root.is_dir() {
        let make = || Thread::new(&search, watch);
        walk::files(&root, scope, false, watch, make)?
    } else {
        let mut thread = Thread::new(&search, watch);
        // The file was named: what keeps it from being searched is the answer.
        let (file, length) = scope.open_file(&root)?;
        if search
            .only
            .as_ref()
            .is_none_or(|only| only.matches(&root, &root))
        {
            thread.search(&root, file, length)?;
        }
        if thread.skipped.binary > 0 {
            return Err(ToolError::Binary {
                path: scope.shown(&root),
                bytes: length,
            });
        }
        (vec![thread], Gaps::default())
    };
    let skipped = Skipped::of(&threads);
    drop(threads);
    Ok(search.success(&skipped, gaps))
}

/// What all threads of one search share.
struct Search<'a> {
    matcher: RegexMatcher,
    only: Option<PathGlob>,
    root: &'a Path,
    scope: &'a Scope,
    best: Mutex<Best>,
    /// There are more matches than are shown.
    full: AtomicBool,
}

/// The matches of the first files in the order of paths, at least one more than are shown if there are as many:
/// whichever thread finds what first, the answer is the same.
#[derive(Default)]
struct Best {
    files: BTreeMap<PathBuf, Matches>,
    total: usize,
}

/// The first matches of one file.
#[derive(Default)]
struct Matches {
    /// Each with its number.
    lines: Vec<(u64, ShownLine)>,
    /// A NUL stands behind what looked like text; searched up to there.
    cut_short: bool,
}

impl Search<'_> {
    /// Whether nothing at this path, or below it, can be among what is shown.
    fn is_past(&self, path: &Path) -> bool {
        self.full.load(Relaxed)
            && self
                .best()
                .files
                .last_key_value()
                .is_some_and(|(last, _)| path > last)
    }

    fn best(&self) -> MutexGuard<'_, Best> {
        self.best.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, path: PathBuf, matches: Matches) {
        let mut best = self.best();
        best.total += matches.lines.len();
        best.files.insert(path, matches);
        while let Some(last) = best.files.last_entry() {
            let without = last.get().lines.len();
            if best.total - without <= GREP_MATCHES {
                break;
            }
            best.total -= without;
            best.files.pop_last();
        }
        if best.total > GREP_MATCHES {
            self.full.store(true, Relaxed);
        }
    }

    fn success(self, skipped: &Skipped, gaps: Gaps) -> Success {
        let best = self
            .best
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut out = String::new();
        let (mut shown, mut files, mut cut_short) = (0_u64, 0_u64, 0_u64);
        let (mut lossy, mut full) = (false, false);
        'files: for (path, matches) in &best.files {
            let name = self.scope.shown(path);
            for (at, (number, line)) in matches.lines.iter().enumerate() {
                let text = format!("{name}:{number}: {}\n", line.text);
                if shown == GREP_MATCHES as u64 || out.len() + text.len() > OUTPUT_BYTES {
                    full = true;
                    break 'files;
                }
                out += &text;
                shown += 1;
                files += u64::from(at == 0);
                lossy |= line.lossy;
            }
            cut_short += u64::from(matches.cut_short);
        }
        if shown == 0 {
            out += "[no line matches]\n";
        }
        if full {
            out += &format!(
                "[truncated: the first {shown} matches; narrow the pattern, the path or the glob]\n"
            );
        }
        if lossy {
            out += "[not valid UTF-8: wrong bytes are shown as U+FFFD]\n";
        }
        if !full {
            cut_short += skipped.cut_short;
        }
        if cut_short > 0 {
            let files = counted(cut_short, "file was", "files were");
            out += &format!("[{files} searched only up to a NUL byte]\n");
        }
        // Of what lies behind the last match that is shown, not everything was looked at.
        if !full {
            out += &skipped.notes();
        }
        let mut out = out.trim_end().to_owned();
        if !full {
            out += &gaps.notes();
        }
        out.push('\n');
        let summary = format!(
            "{} in {}",
            counted(shown, "match", "matches"),
            counted(files, "file", "files")
        );
        Success::text(out, summary)
    }
}

/// Files that were not searched, by the reason.
#[derive(Default)]
struct Skipped {
    binary: u64,
    /// Without a match up to a NUL.
    cut_short: u64,
    too_long: u64,
    unreadable: u64,
}

impl Skipped {
    fn of(threads: &[Thread<'_>]) -> Self {
        let each = threads.iter().map(|thread| &thread.skipped);
        each.fold(Self::default(), |sum, one| Self {
            binary: sum.binary + one.binary,
            cut_short: sum.cut_short + one.cut_short,
            too_long: sum.too_long + one.too_long,
            unreadable: sum.unreadable + one.unreadable,
        })
    }

    fn notes(&self) -> String {
        let mut out = String::new();
        for (count, one, many) in [
            (
                self.binary,
                "binary file was skipped",
                "binary files were skipped",
            ),
            (
                self.too_long,
                "file above 16 MiB was skipped",
                "files above 16 MiB were skipped",
            ),
            (
                self.unreadable,
                "file could not be read",
                "files could not be read",
            ),
        ] {
            if count > 0 {
                out += &format!("[{}]\n", counted(count, one, many));
            }
        }
        out
    }
}

/// One thread of a search.
struct Thread<'a> {
    search: &'a Search<'a>,
    matcher: RegexMatcher,
    searcher: Searcher,
    small: SmallFiles,
    watch: Watch,
    skipped: Skipped,
}

impl<'a> Thread<'a> {
    fn new(search: &'a Search<'a>, watch: &Watch) -> Self {
        Self {
            search,
            // A copy of its own: threads would wait for each other at the automaton's memory.
            matcher: search.matcher.clone(),
            searcher: SearcherBuilder::new()
                .line_number(true)
                .line_terminator(LineTerminator::crlf())
                .binary_detection(BinaryDetection::quit(0))
                .build(),
            small: SmallFiles::up_to(WHOLE_BYTES),
            watch: watch.another(),
            skipped: Skipped::default(),
        }
    }

    fn search(&mut self, path: &Path, file: File, length: u64) -> Result<(), Expired> {
        if length > GREP_FILE_BYTES {
            self.skipped.too_long += 1;
            return Ok(());
        }
        let mut sink = Sorted {
            matches: Matches::default(),
            watch: &self.watch,
        };
        let searched = match self.small.read(&file, length) {
            Ok(Some(bytes)) => {
                if is_binary(bytes) {
                    self.skipped.binary += 1;
                    return Ok(());
                }
                // The searcher looks for a NUL only so far into a text that it has whole.
                let text = match memchr::memchr(0, bytes) {
                    Some(end) if !is_utf_16(bytes) => {
                        sink.matches.cut_short = true;
                        &bytes[..end]
                    }
                    _ => bytes,
                };
                self.searcher.search_slice(&self.matcher, text, &mut sink)
            }
            Ok(None) => {
                let mut start = [0; SNIFF_BYTES];
                // The file may have grown since its length was read.
                let mut file = file.take(GREP_FILE_BYTES);
                match file.read(&mut start) {
                    Ok(read) if is_binary(&start[..read]) => {
                        self.skipped.binary += 1;
                        return Ok(());
                    }
                    Ok(read) => {
                        let reader = Watched {
                            inner: start[..read].chain(file),
                            watch: &self.watch,
                        };
                        self.searcher
                            .search_reader(&self.matcher, reader, &mut sink)
                    }
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        let matches = sink.matches;
        if !matches.lines.is_empty() {
            self.search.add(path.to_owned(), matches);
        } else if matches.cut_short {
            self.skipped.cut_short += 1;
        }
        if let Err(error) = searched {
            self.watch.check_now()?;
            tracing::debug!(%error, "a file could not be searched");
            self.skipped.unreadable += 1;
        }
        Ok(())
    }
}

impl FileVisitor for Thread<'_> {
    fn enters(&mut self, directory: &Path) -> bool {
        !self.search.is_past(directory)
    }

    fn visit(&mut self, entry: &Entry<'_>) -> Result<(), Expired> {
        let search = self.search;
        if search
            .only
            .as_ref()
            .is_some_and(|only| !only.takes(search.root, entry))
        {
            return Ok(());
        }
        let path = entry.path();
        if search.is_past(&path) {
            return Ok(());
        }
        let opened = entry.open().and_then(|file| Ok((file.metadata()?, file)));
        match opened {
            Ok((metadata, file)) => match search.scope.check_regular(&metadata, &path) {
                Ok(()) => return self.search(&path, file, metadata.len()),
                Err(ToolError::Special { .. } | ToolError::Directory(_)) => {}
                Err(_) => self.skipped.unreadable += 1,
            },
            // Gone, or another thing, meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.skipped.unreadable += 1,
        }
        Ok(())
    }
}

/// Whether a file's beginning holds a NUL; text in UTF-16 says by its mark that it is text.
fn is_binary(start: &[u8]) -> bool {
    let start = &start[..start.len().min(SNIFF_BYTES)];
    !is_utf_16(start) && memchr::memchr(0, start).is_some()
}

fn is_utf_16(start: &[u8]) -> bool {
    start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff")
}
