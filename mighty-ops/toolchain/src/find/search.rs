//! The search itself, on several threads: which hits are the first, whoever finds what first.
//! Which files count, and what a hit shows, stand above.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use files::{Entry, SmallFiles, Visitor};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use tokio_util::sync::CancellationToken;

use super::{FindRequest, Found, Hit, Package, clip, weight, without_terminator};
use crate::literal::Literal;

/// Memory for one line, in bytes. A file is searched up to its first longer line.
const MAX_LINE_BYTES: usize = 4 << 20;
/// Files of up to this many bytes are read whole before they are searched.
const WHOLE_BYTES: usize = 256 << 10;

/// What all threads of one search share.
pub(super) struct Search<'a, 'q> {
    literal: &'a Literal<'q>,
    package: &'a Package<'a>,
    cancelled: &'a CancellationToken,
    top: usize,
    /// Bytes that all hits may take.
    room: usize,
    best: Mutex<Best>,
    /// No file behind those that are kept can add anything.
    full: AtomicBool,
}

/// The hits of the first files by the bytes of their paths: whichever thread finds what first, the answer is the same.
#[derive(Default)]
struct Best {
    /// By the relative path, as it stands on the disk.
    files: BTreeMap<Vec<u8>, FileHits>,
    count: usize,
    weight: usize,
}

#[derive(Default)]
struct FileHits {
    hits: Vec<Hit>,
    weight: usize,
    /// The file could not be searched to its end.
    broken: bool,
}

impl<'a, 'q> Search<'a, 'q> {
    pub(super) fn new(
        request: &FindRequest,
        literal: &'a Literal<'q>,
        package: &'a Package<'a>,
        cancelled: &'a CancellationToken,
    ) -> Self {
        Self {
            literal,
            package,
            cancelled,
            top: request.top,
            room: request.max_bytes,
            best: Mutex::default(),
            full: AtomicBool::new(false),
        }
    }

    fn best(&self) -> MutexGuard<'_, Best> {
        self.best.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_enough(&self, count: usize, weight: usize) -> bool {
        count >= self.top || weight > self.room
    }

    /// Whether nothing at this relative path, or below it, can be among the hits. `path` ends with a slash
    /// where it is a directory's.
    fn is_past(&self, path: &[u8]) -> bool {
        self.full.load(Relaxed)
            && self
                .best()
                .files
                .last_key_value()
                .is_some_and(|(last, _)| path > last.as_slice())
    }

    fn add(&self, path: Vec<u8>, found: FileHits) {
        let mut best = self.best();
        best.count += found.hits.len();
        best.weight += found.weight;
        best.files.insert(path, found);
        while let Some(last) = best.files.last_entry() {
            let (count, weight) = (last.get().hits.len(), last.get().weight);
            if !self.is_enough(best.count - count, best.weight - weight) {
                break;
            }
            best.files.pop_last();
            best.count -= count;
            best.weight -= weight;
        }
        if self.is_enough(best.count, best.weight) {
            self.full.store(true, Relaxed);
        }
    }

    pub(super) fn finish(self, found: &mut Found) {
        let best = self
            .best
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut room = self.room;
        for file in best.files.into_values() {
            for hit in file.hits {
                if found.hits.len() == self.top {
                    return;
                }
                let Some(left) = room.checked_sub(weight(&hit.file) + weight(&hit.text)) else {
                    found.truncated = true;
                    return;
                };
                room = left;
                found.hits.push(hit);
            }
            // A file that cannot be read to its end keeps the hits that came before.
            found.truncated |= file.broken;
            if found.hits.len() == self.top {
                return;
            }
        }
    }
}

/// One thread of a search.
pub(super) struct Thread<'a, 'q> {
    search: &'a Search<'a, 'q>,
    searcher: Searcher,
    small: SmallFiles,
    /// How often the walk asked whether to go on.
    asked: u32,
}

impl<'a, 'q> Thread<'a, 'q> {
    pub(super) fn new(search: &'a Search<'a, 'q>) -> Self {
        Self {
            search,
            searcher: SearcherBuilder::new()
                .line_number(true)
                .heap_limit(Some(MAX_LINE_BYTES))
                .binary_detection(BinaryDetection::none())
                .build(),
            small: SmallFiles::up_to(WHOLE_BYTES),
            asked: 0,
        }
    }

    fn relative(&self, path: &Path) -> Vec<u8> {
        let relative = path.strip_prefix(self.search.package.root);
        relative
            .unwrap_or(path)
            .as_os_str()
            .as_encoded_bytes()
            .to_vec()
    }
}

impl Visitor for Thread<'_, '_> {
    fn goes_on(&mut self) -> bool {
        // A look at the token takes a lock that all threads share.
        self.asked = self.asked.wrapping_add(1);
        !self.asked.is_multiple_of(16) || !self.search.cancelled.is_cancelled()
    }

    fn enters(&mut self, directory: &Path) -> bool {
        if self.search.package.is_build(directory) {
            return false;
        }
        let mut path = self.relative(directory);
        path.push(b'/');
        !self.search.is_past(&path)
    }

    fn visit(&mut self, entry: &Entry<'_>) -> ControlFlow<()> {
        let search = self.search;
        let go_on = ControlFlow::Continue(());
        if !search.package.may_search(entry.name) {
            return go_on;
        }
        let path = entry.path();
        let Some(file) = search.package.searched_name(&path) else {
            return go_on;
        };
        let relative = self.relative(&path);
        if search.is_past(&relative) {
            return go_on;
        }
        let Ok(opened) = entry.open() else {
            return go_on;
        };
        let Ok(about) = opened.metadata() else {
            return go_on;
        };
        if !about.is_file() {
            return go_on;
        }
        let mut sink = Collect {
            search,
            file,
            found: FileHits::default(),
        };
        let searched = match self.small.read(&opened, about.len()) {
            Ok(Some(bytes)) => self.searcher.search_slice(search.literal, bytes, &mut sink),
            Ok(None) => {
                let reader = Cancellable {
                    inner: opened,
                    cancelled: search.cancelled,
                };
                self.searcher
                    .search_reader(search.literal, reader, &mut sink)
            }
            Err(error) => Err(error),
        };
        let mut found = sink.found;
        found.broken = searched.is_err();
        if found.broken || !found.hits.is_empty() {
            search.add(relative, found);
        }
        go_on
    }
}

/// Ends a read of whatever length once the search is no longer wanted.
struct Cancellable<'c> {
    inner: File,
    cancelled: &'c CancellationToken,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancelled.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.inner.read(buffer)
    }
}

/// Takes the hits of one file until they alone are enough.
struct Collect<'a, 'q> {
    search: &'a Search<'a, 'q>,
    file: String,
    found: FileHits,
}

impl Sink for Collect<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = without_terminator(found.bytes());
        let literal = self.search.literal;
        // None if the query's own CR matched that of the terminator.
        if let (Some(at), Some(number)) = (literal.position(line), found.line_number()) {
            let text = clip(line, at, literal.len());
            self.found.weight += weight(&self.file) + weight(&text);
            self.found.hits.push(Hit {
                file: self.file.clone(),
                line: number,
                text,
            });
        }
        Ok(!self
            .search
            .is_enough(self.found.hits.len(), self.found.weight))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_read_after_cancelling_fails() {
        let cancelled = CancellationToken::new();
        let mut reader = Cancellable {
            inner: File::open("/dev/zero").unwrap(),
            cancelled: &cancelled,
        };
        let mut buffer = [0; 16];
        assert_eq!(reader.read(&mut buffer).unwrap(), 16);
        cancelled.cancel();
        assert!(reader.read(&mut buffer).is_err());
    }
}
