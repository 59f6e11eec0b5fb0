//! `grep`: lines that match a regular expression, in one file or under a directory.
//! The searching itself is ripgrep's library; here are its bounds and its output.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{
    GREP_FILE_BYTES, GREP_FILES, GREP_MATCHES, MATCH_CHARS, OUTPUT_BYTES, Smallest, Stop, Watch,
    clip_bytes, clip_chars, counted,
};
use crate::error::ToolError;
use crate::read::SNIFF_BYTES;
use crate::tool::{Call, Running, Success, Tool, ToolSpec};
use crate::walk::{self, Gaps, PathGlob};
use crate::workspace::Scope;
use crate::{Access, Context, input};

const NAME: &str = "grep";
const DESCRIPTION: &str = "Searches text files for a regular expression (Rust syntax; (?i) ignores case) and returns \
        path:line: text for each matching line, in the order of paths. Searches one file or everything under \
        a directory, optionally only files that a glob matches. Leaves out .git, what .gitignore excludes, \
        binary files and files above 16 MiB, and does not follow symbolic links. Shows up to 500 matches.";

crate::register! {
    name: NAME,
    position: 60,
    make: |_| Some(Arc::new(GrepTool)),
}

struct GrepTool;

impl Tool for GrepTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            advice: "Find text with `grep` and files with `glob` instead of guessing where they are.",
            ..ToolSpec::reading(NAME, DESCRIPTION, input::schema::<Input>())
        }
    }

    fn access(&self, input: &Value, cx: &Context) -> Access {
        Access::reading(NAME, input, &["pattern", "glob"], cx)
    }

    fn subject(&self, input: &Value, cx: &Context) -> String {
        input::path_subject(NAME, input, cx)
    }

    fn run(&self, call: Call, cx: Arc<Context>) -> Running {
        call.blocking(cx, run)
    }
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

fn run(input: &Value, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    let input: Input = input::decode(input)?;
    input::check_pattern("pattern", &input.pattern)?;
    let matcher = RegexMatcherBuilder::new()
        // The searcher looks at many lines at once: `^` and `$` must mean each line's.
        .multi_line(true)
        // `$` also stands before the carriage return of a CRLF line.
        .crlf(true)
        .size_limit(REGEX_BYTES)
        .dfa_size_limit(AUTOMATON_BYTES)
        .build(&input.pattern)
        .map_err(|error| ToolError::Pattern(clip_bytes(&error.to_string(), 400).to_owned()))?;
    let only = match &input.glob {
        Some(glob) => Some(PathGlob::new("glob", glob)?),
        None => None,
    };
    let root = scope.resolve(input.path.as_deref().unwrap_or("."))?;
    let mut search = Search::new(matcher, scope, watch);
    if root.is_dir() {
        let mut files: Smallest<PathBuf> = Smallest::new(GREP_FILES);
        search.gaps = walk::files(&root, scope, watch, |path| {
            if only.as_ref().is_none_or(|only| only.matches(&root, &path)) {
                files.push(path);
            }
        })?;
        search.files_left_out = files.seen().saturating_sub(GREP_FILES as u64);
        for path in files.into_sorted() {
            if search.full || search.gaps.timed_out {
                break;
            }
            search.walked(path)?;
        }
    } else {
        // The file was named: what keeps it from being searched is the answer.
        let (file, length) = scope.open_file(&root)?;
        if only.is_none_or(|only| only.matches(&root, &root))
            && search.file(&root, file, length)? == Looked::Binary
        {
            return Err(ToolError::Binary {
                path: scope.shown(&root),
                bytes: length,
            });
        }
    }
    Ok(search.done())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Looked {
    Binary,
    Otherwise,
}

struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    scope: &'a Scope,
    watch: &'a Watch,
    out: String,
    matches: u64,
    matching_files: u64,
    /// A limit of the output is reached.
    full: bool,
    too_long: u64,
    unreadable: u64,
    /// Files with a NUL after what looked like text; searched up to there.
    cut_short: u64,
    /// A line that is shown is not valid UTF-8.
    lossy: bool,
    files_left_out: u64,
    gaps: Gaps,
}

impl<'a> Search<'a> {
    fn new(matcher: RegexMatcher, scope: &'a Scope, watch: &'a Watch) -> Self {
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Self {
            matcher,
            searcher,
            scope,
            watch,
            out: String::new(),
            matches: 0,
            matching_files: 0,
            full: false,
            too_long: 0,
            unreadable: 0,
            cut_short: 0,
            lossy: false,
            files_left_out: 0,
            gaps: Gaps::default(),
        }
    }

    /// A file that the walk found. Links are passed over: what they point at is either found
    /// itself or lies outside.
    fn walked(&mut self, path: PathBuf) -> Result<(), ToolError> {
        match self.scope.open_file(&path) {
            Ok((file, length)) => self.file(&path, file, length).map(drop),
            Err(ToolError::Special { .. } | ToolError::Missing(_)) => Ok(()),
            Err(_) => {
                self.unreadable += 1;
                Ok(())
            }
        }
    }

    fn file(&mut self, path: &Path, mut file: File, length: u64) -> Result<Looked, ToolError> {
        if length > GREP_FILE_BYTES {
            self.too_long += 1;
            return Ok(Looked::Otherwise);
        }
        match is_binary(&mut file) {
            Ok(false) => {}
            Ok(true) => return Ok(Looked::Binary),
            Err(_) => {
                self.unreadable += 1;
                return Ok(Looked::Otherwise);
            }
        }
        let name = self.scope.shown(path);
        let before = self.matches;
        let mut sink = Lines {
            name: &name,
            out: &mut self.out,
            matches: &mut self.matches,
            full: &mut self.full,
            cut_short: &mut self.cut_short,
            lossy: &mut self.lossy,
            watch: self.watch,
        };
        let reader = Watched {
            // The file may have grown since its length was read.
            inner: file.take(GREP_FILE_BYTES),
            watch: self.watch,
        };
        let result = self
            .searcher
            .search_reader(&self.matcher, reader, &mut sink);
        if self.matches > before {
            self.matching_files += 1;
        }
        if result.is_err() {
            match self.watch.check() {
                Err(Stop::Cancelled) => return Err(ToolError::Cancelled),
                Err(Stop::Deadline) => self.gaps.timed_out = true,
                Ok(()) => self.unreadable += 1,
            }
        }
        Ok(Looked::Otherwise)
    }

    fn done(self) -> Success {
        let mut out = self.out;
        if self.matches == 0 {
            out += "[no line matches]\n";
        }
        if self.full {
            out += &format!(
                "[truncated: the first {} matches; narrow the pattern, the path or the glob]\n",
                self.matches
            );
        }
        if self.lossy {
            out += "[not valid UTF-8: wrong bytes are shown as U+FFFD]\n";
        }
        if self.cut_short > 0 {
            out += &format!(
                "[{} searched only up to a NUL byte]\n",
                counted(self.cut_short, "file was", "files were")
            );
        }
        if self.too_long > 0 {
            out += &format!("[{} files above 16 MiB were skipped]\n", self.too_long);
        }
        if self.unreadable > 0 {
            out += &format!("[{} files could not be read]\n", self.unreadable);
        }
        if self.files_left_out > 0 {
            out += &format!(
                "[incomplete: {} files were left out; name a narrower path]\n",
                self.files_left_out
            );
        }
        let mut out = out.trim_end().to_owned();
        out += &self.gaps.notes();
        out.push('\n');
        Success {
            content: out,
            summary: format!(
                "({} in {})",
                counted(self.matches, "match", "matches"),
                counted(self.matching_files, "file", "files")
            ),
        }
    }
}

/// Whether the file's beginning holds a NUL; leaves the file at its beginning.
fn is_binary(file: &mut File) -> io::Result<bool> {
    let mut start = Vec::with_capacity(SNIFF_BYTES);
    file.take(SNIFF_BYTES as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(memchr::memchr(0, &start).is_some())
}

/// A reader that fails once the watch says so: a search looks at nothing else between matches.
struct Watched<'a, R> {
    inner: R,
    watch: &'a Watch,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        stopped(self.watch)?;
        self.inner.read(buffer)
    }
}

fn stopped(watch: &Watch) -> io::Result<()> {
    watch.check().map_err(|_| io::Error::other("stopped"))
}

/// Writes the matching lines of one file.
struct Lines<'a> {
    name: &'a str,
    out: &'a mut String,
    matches: &'a mut u64,
    full: &'a mut bool,
    cut_short: &'a mut u64,
    lossy: &'a mut bool,
    watch: &'a Watch,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        stopped(self.watch)?;
        // Only known to be too many with one match more than are shown.
        if *self.matches == GREP_MATCHES as u64 {
            *self.full = true;
            return Ok(false);
        }
        let bytes = found.bytes();
        let kept = &bytes[..bytes.len().min(MATCH_CHARS * 4 + 4)];
        // Our own cut may go through a character; that is not the file's fault.
        let wrong = std::str::from_utf8(kept)
            .is_err_and(|error| error.error_len().is_some() || kept.len() == bytes.len());
        let kept = String::from_utf8_lossy(kept);
        let kept = kept.trim_end_matches(['\r', '\n']);
        let text = clip_chars(kept, MATCH_CHARS);
        let cut = if text.len() < kept.len() { "…" } else { "" };
        let number = found.line_number().unwrap_or(0);
        let line = format!("{}:{number}: {text}{cut}\n", self.name);
        if self.out.len() + line.len() > OUTPUT_BYTES {
            *self.full = true;
            return Ok(false);
        }
        self.out.push_str(&line);
        *self.matches += 1;
        *self.lossy |= wrong;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        *self.cut_short += 1;
        Ok(true)
    }
}
