//! Applies a unified diff to a text: exactly, or not at all. Knows nothing of Mighty.
//!
//! Hunks must fit at the lines they name; nothing is searched for and nothing is guessed. Diffs are LF only
//! (toolchain digest, section 5), so lines of a CRLF file are compared without their `\r`, and lines that
//! come in get it where the lines around them have it.

/// Why a diff was not applied. The text is never half changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// It is no unified diff; `line` counts in the diff, from 1.
    #[error("not a unified diff: line {line}")]
    Malformed { line: usize },
    /// An old line of the diff is not what the text holds there; `line` counts in the text, from 1.
    #[error("the diff no longer applies: line {line} differs")]
    Mismatch { line: usize },
}

/// The text after a diff of one file.
///
/// # Errors
/// [`ApplyError`]; an empty diff is malformed, so success means that something was asked for.
pub fn apply(diff: &str, text: &str) -> Result<String, ApplyError> {
    let edits = Patch::parse(diff)?.edits(text)?;
    Ok(LineEdit::perform(&edits, text))
}

/// A parsed diff of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    /// Index of the first old line, or of the line that insertions precede.
    start: usize,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    tag: Tag,
    text: String,
    /// The last line of a file that does not end with a line feed.
    unterminated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Context,
    Old,
    New,
}

/// Lines of a text that give way to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEdit {
    /// Index of the first line that goes, or before which lines come in.
    pub start: usize,
    /// How many lines go.
    pub removed: usize,
    /// What comes, line ends included.
    pub inserted: Vec<String>,
}

impl Patch {
    /// Reads a unified diff of one file.
    ///
    /// # Errors
    /// [`ApplyError::Malformed`]
    pub fn parse(diff: &str) -> Result<Self, ApplyError> {
        let mut lines = diff.split('\n').enumerate().peekable();
        let mut hunks: Vec<Hunk> = Vec::new();
        let malformed = |at: usize| ApplyError::Malformed { line: at + 1 };
        // File headers and anything a tool wrote before them.
        while lines.next_if(|(_, l)| !l.starts_with("@@ ")).is_some() {}
        while let Some((at, header)) = lines.next() {
            if header.is_empty() && lines.peek().is_none() {
                break;
            }
            let (start, mut old, mut new) = hunk_header(header).ok_or(malformed(at))?;
            // A hunk without old lines names the line before it.
            let start = if old == 0 {
                start
            } else {
                start.checked_sub(1).ok_or(malformed(at))?
            };
            let mut hunk = Hunk {
                start,
                lines: Vec::new(),
            };
            while old > 0 || new > 0 {
                let (at, line) = lines.next().ok_or(malformed(at))?;
                let (tag, text) = match line.as_bytes().first() {
                    Some(b'-') => (Tag::Old, &line[1..]),
                    Some(b'+') => (Tag::New, &line[1..]),
                    Some(b' ') => (Tag::Context, &line[1..]),
                    // Blanks at line ends get lost in transport.
                    None if lines.peek().is_some() => (Tag::Context, line),
                    _ => return Err(malformed(at)),
                };
                let less = |n: usize, counts: bool| n.checked_sub(usize::from(counts));
                old = less(old, tag != Tag::New).ok_or(malformed(at))?;
                new = less(new, tag != Tag::Old).ok_or(malformed(at))?;
                let unterminated = lines.next_if(|(_, l)| l.starts_with('\\')).is_some();
                hunk.lines.push(Line {
                    tag,
                    text: text.to_owned(),
                    unterminated,
                });
            }
            if hunks.last().is_some_and(|h| h.end() > hunk.start) {
                return Err(malformed(at));
            }
            hunks.push(hunk);
        }
        if hunks.is_empty() {
            return Err(ApplyError::Malformed { line: 1 });
        }
        Ok(Self { hunks })
    }

    /// What the diff changes in `text`, in ascending order.
    ///
    /// # Errors
    /// [`ApplyError::Mismatch`] if an old line, context included, differs from the text.
    pub fn edits(&self, text: &str) -> Result<Vec<LineEdit>, ApplyError> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut edits: Vec<LineEdit> = Vec::new();
        for hunk in &self.hunks {
            hunk.edits(&lines, &mut edits)?;
        }
        Ok(edits)
    }
}

impl Hunk {
    fn end(&self) -> usize {
        self.start + self.lines.iter().filter(|l| l.tag != Tag::New).count()
    }

    fn edits(&self, lines: &[&str], edits: &mut Vec<LineEdit>) -> Result<(), ApplyError> {
        if self.start > lines.len() {
            return Err(ApplyError::Mismatch { line: self.start });
        }
        let crlf = lines
            .get(self.start)
            .or_else(|| lines.last())
            .is_some_and(|l| l.ends_with("\r\n"));
        let mut at = self.start;
        let mut open: Option<LineEdit> = None;
        for line in &self.lines {
            if line.tag == Tag::New {
                let end = match (line.unterminated, crlf) {
                    (true, _) => "",
                    (false, true) => "\r\n",
                    (false, false) => "\n",
                };
                let edit = open.get_or_insert_with(|| LineEdit::at(at));
                edit.inserted.push(format!("{}{end}", line.text));
                continue;
            }
            let found = lines.get(at).filter(|found| line.is(found));
            found.ok_or(ApplyError::Mismatch { line: at + 1 })?;
            if line.tag == Tag::Old {
                open.get_or_insert_with(|| LineEdit::at(at)).removed += 1;
            } else {
                edits.extend(open.take());
            }
            at += 1;
        }
        edits.extend(open);
        Ok(())
    }
}

impl Line {
    /// Whether the line of a text, its line end included, is this old line.
    fn is(&self, found: &str) -> bool {
        let (body, terminated) = match found.strip_suffix('\n') {
            Some(body) => (body.strip_suffix('\r').unwrap_or(body), true),
            None => (found, false),
        };
        terminated != self.unterminated && body == self.text
    }
}

impl LineEdit {
    fn at(start: usize) -> Self {
        Self {
            start,
            removed: 0,
            inserted: Vec::new(),
        }
    }

    /// Whether both change the same lines, or put lines in at the same place.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let end = |e: &Self| e.start + e.removed;
        if self.removed == 0 && other.removed == 0 {
            return self.start == other.start && self.inserted == other.inserted;
        }
        self.start < end(other) && other.start < end(self)
    }

    /// The text after edits that do not overlap.
    #[must_use]
    pub fn perform(edits: &[Self], text: &str) -> String {
        let mut sorted: Vec<&Self> = edits.iter().collect();
        // Lines that come in before a line come before what replaces that line.
        sorted.sort_by_key(|e| (e.start, e.removed > 0));
        let mut out = String::with_capacity(text.len() + 256);
        let mut lines = text.split_inclusive('\n').enumerate().peekable();
        for edit in sorted {
            while let Some((_, line)) = lines.next_if(|(i, _)| *i < edit.start) {
                out.push_str(line);
            }
            for line in &edit.inserted {
                // A former last line without a line feed is followed by more now.
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push('\n');
                }
                out.push_str(line);
            }
            let end = edit.start + edit.removed;
            while lines.next_if(|(i, _)| *i < end).is_some() {}
        }
        for (_, line) in lines {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(line);
        }
        out
    }
}

/// Start line, old and new count of `@@ -L,N +L,M @@`; a count of one may be left out.
fn hunk_header(line: &str) -> Option<(usize, usize, usize)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, len)) => Some((start.parse().ok()?, len.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let (start, n) = range(old)?;
    let (_, m) = range(new)?;
    // No text has so many lines; a larger number would only overflow later sums.
    (start < 1 << 32 && n < 1 << 32 && m < 1 << 32).then_some((start, n, m))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::fix::diff;
    use crate::fix::draft::Edit;
    use proptest::prelude::*;
    use syntax::TextRange;

    const TEXT: &str = "a\nb\nc\nd\ne\n";

    #[test]
    fn applies_at_its_own_lines_only() {
        let diff = "--- a/x\n+++ b/x\n@@ -2,1 +2,2 @@\n-b\n+B\n+B2\n@@ -5,1 +6,0 @@\n-e\n";
        assert_eq!(apply(diff, TEXT).unwrap(), "a\nB\nB2\nc\nd\n");
        assert_eq!(
            apply(diff, "x\na\nb\nc\nd\ne\n"),
            Err(ApplyError::Mismatch { line: 2 })
        );
        assert_eq!(
            apply(diff, "a\nb\nc\nd\n"),
            Err(ApplyError::Mismatch { line: 5 })
        );
        // Context counts as old lines.
        let diff = "@@ -1,2 +1,3 @@\n a\n+n\n b\n";
        assert_eq!(apply(diff, TEXT).unwrap(), "a\nn\nb\nc\nd\ne\n");
        assert_eq!(apply(diff, "a\nz\n"), Err(ApplyError::Mismatch { line: 2 }));
    }

    #[test]
    fn final_lines_without_a_line_feed() {
        let diff = "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n";
        assert_eq!(apply(diff, "a").unwrap(), "b\n");
        assert_eq!(apply(diff, "a\n"), Err(ApplyError::Mismatch { line: 1 }));
        let diff = "@@ -1,1 +1,1 @@\n-a\n+b\n\\ No newline at end of file\n";
        assert_eq!(apply(diff, "a\n").unwrap(), "b");
        let into_empty = "@@ -0,0 +1,1 @@\n+x\n";
        assert_eq!(apply(into_empty, "").unwrap(), "x\n");
    }

    #[test]
    fn crlf_lines_keep_their_ends() {
        let diff = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
        assert_eq!(apply(diff, "a\r\nb\r\nc\r\n").unwrap(), "a\r\nB\r\nc\r\n");
    }

    #[test]
    fn a_lone_carriage_return_ends_no_line() {
        let (old, new) = ("a\rb\nc\r", "a\rB\nc\r\rd");
        let diff = diff::unified_diff("x", old, new).unwrap();
        assert_eq!(
            diff,
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\rb\n-c\r\n\\ No newline at end of file\n\
             +a\rB\n+c\r\rd\n\\ No newline at end of file\n"
        );
        assert_eq!(apply(&diff, old).unwrap(), new);
    }

    #[test]
    fn malformed_diffs_are_told_apart() {
        for diff in [
            "",
            "x",
            "--- a/x\n+++ b/x\n",
            "@@ -1 @@\n",
            "@@ -1,2 +1,1 @@\n-a\n",
            "@@ -1,1 +1,1 @@\n*a\n",
            "@@ -1,1 +1,1 @@\n-a\n+b\njunk\n",
            "@@ -0,1 +1,1 @@\n-a\n+b\n",
            "@@ -99999999999999999999,1 +1,1 @@\n-a\n+b\n",
            "@@ -3,1 +3,1 @@\n-c\n+C\n@@ -1,1 +1,1 @@\n-a\n+A\n",
        ] {
            assert!(
                matches!(apply(diff, TEXT), Err(ApplyError::Malformed { .. })),
                "{diff:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_was_diffed_applies(
            lines in proptest::collection::vec("[a-cé]{0,3}", 0..12),
            ends in any::<bool>(),
            crlf in any::<bool>(),
            spots in proptest::collection::vec((0usize..60, 0usize..6, "[x\n]{0,3}"), 1..4),
        ) {
            let mut text = lines.join("\n");
            if ends {
                text.push('\n');
            }
            let mut edits: Vec<Edit> = Vec::new();
            for (at, len, new) in spots {
                let (start, end) = (at.min(text.len()), (at + len).min(text.len()));
                let taken = edits.iter().any(|e| {
                    start <= e.range.end as usize && end >= e.range.start as usize
                });
                if text.is_char_boundary(start) && text.is_char_boundary(end) && !taken {
                    edits.push(Edit::replace(TextRange::new(start as u32, end as u32), new));
                }
            }
            let Some(wanted) = diff::edited(&text, &edits) else { return Ok(()) };
            match diff::unified("p", &text, &edits) {
                None => prop_assert_eq!(&wanted, &text),
                Some(diff) => {
                    prop_assert_eq!(&apply(&diff, &text).unwrap(), &wanted);
                    if crlf && ends && wanted.ends_with('\n') {
                        let out = apply(&diff, &text.replace('\n', "\r\n")).unwrap();
                        prop_assert_eq!(out, wanted.replace('\n', "\r\n"));
                    }
                }
            }
        }

        #[test]
        fn no_diff_panics(diff in "(@@ -[0-9]{1,3},[0-9] \\+[0-9],[0-9] @@\n|[-+ \\\\@][ab]?\n){0,8}", text in "[ab\r\n]{0,20}") {
            let _ = apply(&diff, &text);
        }
    }
}
