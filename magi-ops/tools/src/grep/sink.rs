//! The matching lines of one file, and a reader that ends when the call has to.
//! Which of them are shown is decided above.

use std::io::{self, Read};

use grep_searcher::{Searcher, Sink, SinkMatch};

use super::Matches;
use crate::bounds::{GREP_MATCHES, MATCH_CHARS, ShownLine, Watch};

/// A reader that fails once the watch says so: a search looks at nothing else between matches.
pub(super) struct Watched<'a, R> {
    pub(super) inner: R,
    pub(super) watch: &'a Watch,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        stopped(self.watch)?;
        self.inner.read(buffer)
    }
}

fn stopped(watch: &Watch) -> io::Result<()> {
    watch
        .check_now()
        .map_err(|stop| io::Error::other(format!("{stop:?}")))
}

/// Takes the matching lines of one file, at most one more than are shown of all.
pub(super) struct Sorted<'a> {
    pub(super) matches: Matches,
    pub(super) watch: &'a Watch,
}

impl Sink for Sorted<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        stopped(self.watch)?;
        let bytes = found.bytes();
        let ends = bytes
            .iter()
            .rev()
            .take_while(|b| matches!(b, b'\r' | b'\n'));
        let line = ShownLine::new(&bytes[..bytes.len() - ends.count()], false, MATCH_CHARS);
        self.matches
            .lines
            .push((found.line_number().unwrap_or(0), line));
        Ok(self.matches.lines.len() <= GREP_MATCHES)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.matches.cut_short = true;
        Ok(true)
    }
}
