//! A substring matcher for the line searcher: the query as it stands, never a pattern.
//! Only the seam between `memchr` and `grep-searcher`; which files are searched is not known here.

use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures, NoError};
use memchr::memmem::Finder;

/// Finds one literal, byte for byte. The literal holds no line feed and is not empty.
pub(crate) struct Literal<'q>(Finder<'q>);

impl<'q> Literal<'q> {
    /// `None` if no single line can hold `query`, or every one would.
    pub(crate) fn new(query: &'q str) -> Option<Self> {
        (!query.is_empty() && !query.contains('\n')).then(|| Literal(Finder::new(query)))
    }

    /// Byte offset of the first occurrence in `line`.
    pub(crate) fn position(&self, line: &[u8]) -> Option<usize> {
        self.0.find(line)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.needle().len()
    }
}

impl Matcher for Literal<'_> {
    type Captures = NoCaptures;
    type Error = NoError;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, NoError> {
        let tail = haystack.get(at..).unwrap_or_default();
        let found = self.position(tail).map(|offset| at + offset);
        Ok(found.map(|start| Match::new(start, start + self.len())))
    }

    fn new_captures(&self) -> Result<NoCaptures, NoError> {
        Ok(NoCaptures::new())
    }

    /// A promise that no match crosses a line, which lets the searcher scan whole buffers.
    fn line_terminator(&self) -> Option<LineTerminator> {
        Some(LineTerminator::byte(b'\n'))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn refuses_what_no_line_can_hold() {
        assert!(Literal::new("").is_none());
        assert!(Literal::new("a\nb").is_none());
        assert!(Literal::new("\r").is_some());
    }

    proptest! {
        /// Agrees with the standard library wherever the search starts.
        #[test]
        fn finds_like_str_find(query in "[ab.*(]{1,3}", text in "[ab.*(\n]{0,40}", at in 0usize..50) {
            let found = Literal::new(&query).unwrap().find_at(text.as_bytes(), at).unwrap();
            let wanted = text.get(at..).and_then(|tail| tail.find(&query)).map(|i| i + at);
            prop_assert_eq!(found.map(|m| (m.start(), m.end())), wanted.map(|s| (s, s + query.len())));
        }
    }
}
