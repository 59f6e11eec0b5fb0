//! The only place where concurrent dialects write protocol bytes: an ordered, bounded queue with an absolute deadline a frame.
//! It never drops a frame; what it cannot take or deliver is an error that ends the connection.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::transport::Output;

/// Frames handed to one system call.
const BATCH: usize = 64;

/// The queue is full: one more frame would have to be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the output queue is full")]
pub struct Overflow;

struct Pending {
    bytes: Vec<u8>,
    enqueued: Instant,
    /// What ends once this frame is written.
    releases: Vec<Release>,
}

/// A request that is over once its last frame is written.
struct Release {
    /// Its identity, free again from then on.
    id: Option<Arc<str>>,
    /// Whatever it kept reserved until then.
    _held: Option<Box<dyn Send>>,
}

/// The output queue of one connection.
pub struct Outbox {
    queue: VecDeque<Pending>,
    /// Bytes of the first frame that are written already.
    written: usize,
    limit: usize,
    deadline: Option<Duration>,
    /// When a byte was last written.
    progressed: Option<Instant>,
}

impl Outbox {
    #[must_use]
    pub fn new(limit: usize, deadline: Option<Duration>) -> Self {
        Self {
            queue: VecDeque::new(),
            written: 0,
            limit,
            deadline,
            progressed: None,
        }
    }

    /// Appends a frame, its LF included.
    pub fn push(&mut self, bytes: Vec<u8>, release: Option<Arc<str>>) -> Result<(), Overflow> {
        if self.queue.len() >= self.limit {
            return Err(Overflow);
        }
        self.queue.push_back(Pending {
            bytes,
            enqueued: Instant::now(),
            releases: release
                .map(|id| Release {
                    id: Some(id),
                    _held: None,
                })
                .into_iter()
                .collect(),
        });
        Ok(())
    }

    /// Lets `id` and `held` go when everything queued so far is written; if that is already so, drops
    /// `held` and gives `id` back.
    pub fn release_after(
        &mut self,
        id: Option<Arc<str>>,
        held: Option<Box<dyn Send>>,
    ) -> Option<Arc<str>> {
        match self.queue.back_mut() {
            Some(last) => {
                last.releases.push(Release { id, _held: held });
                None
            }
            None => id,
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// When the oldest frame must be written. It does not move with partial progress.
    #[must_use]
    pub fn expires(&self) -> Option<Instant> {
        Some(self.queue.front()?.enqueued + self.deadline?)
    }

    /// Since when nothing of what is pending was written, counted from `start` at the earliest; `None` while
    /// nothing is pending.
    #[must_use]
    pub fn stalled_since(&self, start: Instant) -> Option<Instant> {
        (!self.is_empty()).then(|| self.progressed.map_or(start, |at| at.max(start)))
    }

    /// Writes what the output takes now. `released` gets the identities that became free.
    pub fn flush(&mut self, output: &Output, released: &mut Vec<Arc<str>>) -> io::Result<()> {
        while !self.queue.is_empty() {
            let mut slices = [IoSlice::new(&[]); BATCH];
            let mut count = 0;
            for (slot, pending) in slices.iter_mut().zip(&self.queue) {
                let skip = if count == 0 { self.written } else { 0 };
                *slot = IoSlice::new(pending.bytes.get(skip..).unwrap_or_default());
                count += 1;
            }
            match output.try_write(&slices[..count]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    self.progressed = Some(Instant::now());
                    self.advance(n, released);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut n: usize, released: &mut Vec<Arc<str>>) {
        while let Some(front) = self.queue.front() {
            let left = front.bytes.len() - self.written;
            if n < left {
                self.written += n;
                return;
            }
            n -= left;
            self.written = 0;
            if let Some(done) = self.queue.pop_front() {
                released.extend(done.releases.into_iter().filter_map(|done| done.id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_kept_ends_with_its_last_byte() {
        let mut outbox = Outbox::new(4, None);
        let (held, id): (Arc<()>, Arc<str>) = (Arc::default(), "q".into());
        assert_eq!(outbox.push(vec![0; 3], None), Ok(()));
        assert_eq!(outbox.push(vec![0; 3], None), Ok(()));
        let kept = outbox.release_after(Some(Arc::clone(&id)), Some(Box::new(Arc::clone(&held))));
        assert_eq!(kept, None);
        assert_eq!(outbox.push(vec![0; 3], None), Ok(()));

        let mut released = Vec::new();
        outbox.advance(5, &mut released);
        assert_eq!((released.len(), Arc::strong_count(&held)), (0, 2));
        outbox.advance(1, &mut released);
        assert_eq!((&*released, Arc::strong_count(&held)), (&[id][..], 1));
    }

    #[test]
    fn with_nothing_to_write_everything_ends_at_once() {
        let (held, id): (Arc<()>, Arc<str>) = (Arc::default(), "q".into());
        let freed = Outbox::new(4, None)
            .release_after(Some(Arc::clone(&id)), Some(Box::new(Arc::clone(&held))));
        assert_eq!((freed, Arc::strong_count(&held)), (Some(id), 1));
    }
}
