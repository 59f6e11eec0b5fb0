//! The diagnostic envelope (toolchain digest, section 5) as plain values: what the checker found, made ready to
//! be told. Knows no wire and no terminal; those who print it say in which words and order.

use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Level};
use crate::fix::{Fix, Fixer};
use crate::package::{Package, SourceFile};
use crate::see_also;

/// The version of the envelope's shape.
pub const SCHEMA_VERSION: &str = "1.0";
/// Characters of a source line that a snippet shows; the rest of a longer one is left out.
pub const MAX_SNIPPET_CHARS: usize = 1000;

/// One diagnostic, complete in itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The catalogue number.
    pub code: Code,
    /// Error or warning.
    pub severity: Level,
    /// Where.
    pub span: Span,
    /// One line: what was found and what was expected.
    pub title: String,
    /// What is particular to this site, one sentence each; part of [`Self::prose`] too.
    pub notes: Vec<String>,
    /// What can be done about it.
    pub fix: Option<Fix>,
    /// Codes, then paths of pages below the root of this project.
    pub see_also: Vec<String>,
}

impl Envelope {
    /// The explain text of the code, then what is particular to this site.
    #[must_use]
    pub fn prose(&self) -> String {
        let text = crate::explain(&self.code.to_string()).map_or("", |found| found.text);
        merged(text, &self.notes)
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The path as it was given.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in Unicode scalars.
    pub col: usize,
    /// Of the end, one past the last character; from 1.
    pub end_line: usize,
    /// Of the end; from 1, in Unicode scalars.
    pub end_col: usize,
    /// First byte in the file as it is on disk, CRLF included.
    pub byte_start: usize,
    /// One past the last byte, likewise.
    pub byte_end: usize,
}

impl Span {
    /// Bytes covered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.byte_end - self.byte_start
    }

    /// Whether it covers no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.byte_end == self.byte_start
    }
}

/// Source lines around a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// Number of the first line, from 1.
    pub start_line: usize,
    /// The line of the place and one on either side, where the file has them; without line ends.
    pub lines: Vec<String>,
}

impl Snippet {
    /// The lines around a place of a file, whose text is given as it is on disk.
    #[must_use]
    pub fn around(text: &str, span: &Span) -> Self {
        let at = text.floor_char_boundary(span.byte_start);
        let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
        let before = start.checked_sub(1).map(|end| {
            let start = text[..end].rfind('\n').map_or(0, |i| i + 1);
            &text[start..end]
        });
        let (line, rest) = text[start..]
            .split_once('\n')
            .map_or((&text[start..], None), |(line, rest)| (line, Some(rest)));
        // The text after the last line feed is a line only if there is some.
        let line = (!line.is_empty() || rest.is_some() || start == 0).then_some(line);
        let after = rest
            .filter(|rest| !rest.is_empty())
            .and_then(|rest| rest.split('\n').next());
        let shown = |line: &str| {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let end = line
                .char_indices()
                .nth(MAX_SNIPPET_CHARS)
                .map_or(line.len(), |(cut, _)| cut);
            line[..end].to_owned()
        };
        Self {
            start_line: span.line - usize::from(before.is_some()),
            lines: [before, line, after]
                .into_iter()
                .flatten()
                .map(shown)
                .collect(),
        }
    }
}

/// The envelopes of a check's diagnostics, in their order.
#[must_use]
pub fn envelopes(package: &Package, diagnostics: &[Diagnostic]) -> Vec<Envelope> {
    let fixer = Fixer::new(package);
    let mut lines: FxHashMap<usize, Lines<'_>> = FxHashMap::default();
    let mut found = Vec::with_capacity(diagnostics.len());
    for diagnostic in diagnostics {
        let index = diagnostic.file.index();
        let Some(file) = package.files.get(index) else {
            continue;
        };
        let lines = lines
            .entry(index)
            .or_insert_with(|| Lines::new(file.parse.tree.text()));
        found.push(Envelope {
            code: diagnostic.code,
            severity: diagnostic.level,
            span: span(file, diagnostic, lines),
            title: diagnostic.title.clone(),
            notes: diagnostic.notes.clone(),
            fix: fixer.fix(diagnostic),
            see_also: see_also::of(diagnostic.code),
        });
    }
    found
}

fn span(file: &SourceFile, diagnostic: &Diagnostic, lines: &mut Lines<'_>) -> Span {
    let text_len = file.parse.tree.text().len() as u32;
    let start = diagnostic.range.start.min(text_len);
    let end = diagnostic.range.end.clamp(start, text_len);
    let (line, col) = lines.position(start as usize);
    let (end_line, end_col) = lines.position(end as usize);
    Span {
        file: file.path.clone(),
        line,
        col,
        end_line,
        end_col,
        byte_start: file.parse.file_offset(start) as usize,
        byte_end: file.parse.file_offset(end) as usize,
    }
}

/// The explain text with the site's facts as one more labelled part.
fn merged(text: &str, notes: &[String]) -> String {
    let mut out = text.to_owned();
    for (i, note) in notes.iter().enumerate() {
        out.push_str(if out.is_empty() { "" } else { "\n" });
        out.push_str(if i == 0 { "Here:  " } else { "       " });
        out.push_str(note.trim_end());
    }
    out
}

/// Lines of a text, with a memory of the last place asked for: reports come in order, and counting the
/// characters of a long line anew for each of them would be quadratic.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    /// Offset on a line and the characters before it there.
    last: (usize, usize),
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let feeds = memchr::memchr_iter(b'\n', text.as_bytes()).map(|i| i + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(feeds).collect(),
            last: (0, 0),
        }
    }

    /// Line and column of an offset, both from 1.
    fn position(&mut self, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|s| *s <= at);
        let start = self.starts[line - 1];
        let (known, chars) = if (start..=at).contains(&self.last.0) {
            self.last
        } else {
            (start, 0)
        };
        let more = self.text.get(known..at).map_or(0, |t| t.chars().count());
        self.last = (at, chars + more);
        (line, chars + more + 1)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Options, check};

    fn of(text: &str) -> Vec<Envelope> {
        let package = Package::single("a.mty", text);
        let analysis = check(&package, &Options::default()).unwrap();
        envelopes(&package, &analysis.diagnostics)
    }

    #[test]
    fn columns_count_scalars_and_offsets_count_bytes() {
        let found = of("// é\nfn f() { let é = \"é\\q\" }\n");
        let [one] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(one.code.to_string(), "MT0003");
        let span = &one.span;
        assert_eq!((span.line, span.col), (2, 20));
        assert_eq!((span.end_line, span.end_col), (2, 22));
        assert_eq!((span.byte_start, span.byte_end, span.len()), (27, 29, 2));
        let source = Snippet::around("// é\nfn f() { let é = \"é\\q\" }\n", span);
        assert_eq!(source.start_line, 1);
        assert_eq!(source.lines, ["// é", "fn f() { let é = \"é\\q\" }"]);
    }

    #[test]
    fn crlf_files_keep_their_offsets() {
        let lf = of("fn a() { }\n\nfn f() { let n = = 4 }\n");
        let crlf = of("fn a() { }\r\n\r\nfn f() { let n = = 4 }\r\n");
        let (lf, crlf) = (&lf[0].span, &crlf[0].span);
        assert_eq!((lf.line, lf.col), (crlf.line, crlf.col));
        assert_eq!(crlf.byte_start, lf.byte_start + 2);
        assert_eq!(crlf.len(), 1);
    }

    #[test]
    fn places_at_the_end_of_the_file() {
        let found = of("fn f() -> I32 { 6 *");
        assert!(!found.is_empty());
        for envelope in &found {
            assert!(envelope.span.byte_end <= 19);
            let source = Snippet::around("fn f() -> I32 { 6 *", &envelope.span);
            assert_eq!(source.lines, ["fn f() -> I32 { 6 *"]);
        }
        let found = of("}");
        let source = Snippet::around("}", &found[0].span);
        assert_eq!((source.start_line, source.lines.len()), (1, 1));
    }

    #[test]
    fn a_snippet_is_the_line_and_its_neighbours() {
        let text = "one\r\ntwo\r\n\r\nfour\r\n";
        let around = |byte_start: usize| {
            let line = text[..byte_start].matches('\n').count() + 1;
            let snippet = Snippet::around(
                text,
                &Span {
                    file: String::new(),
                    line,
                    col: 1,
                    end_line: line,
                    end_col: 1,
                    byte_start,
                    byte_end: byte_start,
                },
            );
            (snippet.start_line, snippet.lines.join("|"))
        };
        assert_eq!(around(0), (1, "one|two".into()));
        assert_eq!(around(6), (1, "one|two|".into()));
        assert_eq!(around(10), (2, "two||four".into()));
        assert_eq!(around(12), (3, "|four".into()));
        // Behind the last line feed there is no line.
        assert_eq!(around(text.len()), (4, "four".into()));
    }

    #[test]
    fn prose_is_the_explain_text_and_the_notes() {
        let found = of("fn f() { log((\"x\") }\n");
        let one = &found[0];
        let prose = one.prose();
        assert!(prose.starts_with(crate::explain("MT0012").unwrap().text));
        assert!(one.notes.iter().all(|n| prose.contains(n.as_str())));
        assert!(one.see_also.contains(&"MT0001".to_owned()));
    }
}
