//! The body of one response: packets in, pieces out, bounded, whatever the packets' borders.
//! No connection and no clock; what an event says is the wire's.

use std::collections::VecDeque;

use super::{Progress, Reader, sse};
use crate::{Chunk, ProviderError};

/// Longest response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// A body as far as it has been read.
pub(crate) struct Body {
    events: sse::Decoder,
    reader: Box<dyn Reader>,
    /// Bytes read so far.
    bytes: usize,
    begun: bool,
}

impl Body {
    pub(super) fn new(reader: Box<dyn Reader>) -> Self {
        Self {
            events: sse::Decoder::default(),
            reader,
            bytes: 0,
            begun: false,
        }
    }

    /// Whether an event has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Reads a packet, or with `None` the body's end. After [`Progress::Done`] or an error nothing more
    /// is to be read.
    pub(crate) fn read(
        &mut self,
        bytes: Option<&[u8]>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<Progress, ProviderError> {
        let Some(bytes) = bytes else {
            self.end(out)?;
            return Ok(Progress::Done);
        };
        self.bytes += bytes.len();
        if self.bytes > MAX_RESPONSE_BYTES {
            return Err(ProviderError::Malformed);
        }
        let mut events = VecDeque::new();
        let pushed = self.events.push(bytes, &mut events);
        for data in events {
            self.begun = true;
            if !data.is_empty() && self.reader.event(&data, out)? == Progress::Done {
                return Ok(Progress::Done);
            }
        }
        // What was whole before the fault has been said.
        pushed.map(|()| Progress::More)
    }

    /// The body has ended, or broke off: whether what arrived is whole without an end marker.
    pub(super) fn end(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), ProviderError> {
        self.reader.end(out)
    }
}
