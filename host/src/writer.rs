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
    /// Request identities that are free again once this frame is written.
    releases: Vec<Arc<str>>,
}

/// The output queue of one connection.
pub struct Outbox {
    queue: VecDeque<Pending>,
    /// Bytes of the first frame that are written already.
    written: usize,
    limit: usize,
    deadline: Option<Duration>,
}

impl Outbox {
    #[must_use]
    pub fn new(limit: usize, deadline: Option<Duration>) -> Self {
        Self {
            queue: VecDeque::new(),
            written: 0,
            limit,
            deadline,
        }
    }

    /// Appends a frame, its LF included.
    pub fn push(&mut self, bytes: Vec<u8>, releases: Option<Arc<str>>) -> Result<(), Overflow> {
        if self.queue.len() >= self.limit {
            return Err(Overflow);
        }
        self.queue.push_back(Pending {
            bytes,
            enqueued: Instant::now(),
            releases: releases.into_iter().collect(),
        });
        Ok(())
    }

    /// Lets `id` go when everything queued so far is written; gives it back when that is already so.
    pub fn release_after(&mut self, id: Arc<str>) -> Option<Arc<str>> {
        match self.queue.back_mut() {
            Some(last) => {
                last.releases.push(id);
                None
            }
            None => Some(id),
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
                Ok(n) => self.advance(n, released),
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
                released.extend(done.releases);
            }
        }
    }
}
