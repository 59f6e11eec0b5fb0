//! The matching lines of one file, and a reader that ends when the call has to.
//! Which of them are shown is decided above.

use std::io::{self, Read};

use grep_searcher::{Searcher, Sink, SinkMatch};

use super::{Line, Matches};
use crate::bounds::{GREP_MATCHES, MATCH_CHARS, Watch, clip_chars};

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
        let kept = &bytes[..bytes.len().min(MATCH_CHARS * 4 + 4)];
        // Our own cut may go through a character; that is not the file's fault.
        let lossy = std::str::from_utf8(kept)
            .is_err_and(|error| error.error_len().is_some() || kept.len() == bytes.len());
        let kept = String::from_utf8_lossy(kept);
        let kept = kept.trim_end_matches(['\r', '\n']);
        let text = clip_chars(kept, MATCH_CHARS);
        let cut = if text.len() < kept.len() { "…" } else { "" };
        self.matches.lines.push(Line {
            number: found.line_number().unwrap_or(0),
            text: format!("{text}{cut}"),
            lossy,
        });
        Ok(self.matches.lines.len() <= GREP_MATCHES)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.matches.cut_short = true;
        Ok(true)
    }
}
