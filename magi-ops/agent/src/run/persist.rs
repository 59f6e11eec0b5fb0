//! What a run stores, in order and without holding the run up: partial text soon, ends flushed.
//! After one failed append nothing more of the run is stored: a history with a hole would lie.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use store::sessions::{AppendError, Body, Extent, Flush, SessionWriter};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use work::{Interrupted, Pool};

use crate::writer::SharedWriter;

/// Text that waits for the disk at most, before it is written.
const PENDING_BYTES: usize = 4096;
/// Pieces of a run that are written as they come, so that a process that is killed leaves what it showed.
/// Models say a word at a time: a record for each would soon be more lines than a session may have, and more
/// than a replay shows.
const PROMPT_PIECES: u32 = 400;
/// The least time between two pieces after those.
const PENDING_TIME: Duration = Duration::from_millis(250);

pub(super) struct Persist {
    blocking: Pool,
    writer: SharedWriter,
    run_id: Arc<str>,
    queue: Vec<Body>,
    /// Bytes of text in the queue.
    pending: usize,
    /// When text was written last.
    text_written: Option<Instant>,
    /// Writes of text so far.
    pieces: u32,
    in_flight: Option<JoinHandle<Result<Result<Extent, AppendError>, Interrupted>>>,
    /// The session's last part when it was written last.
    extent: Extent,
    /// Number of the last record that was handed over to be written.
    last: u64,
    /// The message whose first pieces are on their way to the disk or there.
    begun: Option<Arc<str>>,
    failed: bool,
}

impl Persist {
    pub(super) fn new(blocking: Pool, writer: SharedWriter, run_id: &str) -> Self {
        Self {
            blocking,
            writer,
            run_id: run_id.into(),
            queue: Vec::new(),
            pending: 0,
            text_written: None,
            pieces: 0,
            in_flight: None,
            extent: Extent::of_session(0, 0),
            last: 0,
            begun: None,
            failed: false,
        }
    }

    /// Where the session stands when nothing is being written.
    pub(super) fn begin(&mut self, extent: Extent) {
        self.last = extent.records;
        self.extent = extent;
    }

    /// How full the session is, without what is being written.
    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    /// The number of the record that is pushed next. Records of a message that has begun are numbered from it on.
    pub(super) fn next_number(&self) -> u64 {
        self.last + self.queue.len() as u64 + 1
    }

    /// Whether something could not be stored.
    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    pub(super) fn push(&mut self, body: Body) {
        if !self.failed {
            self.queue.push(body);
        }
    }

    /// More of a message.
    pub(super) fn text(&mut self, id: &Arc<str>, response: u32, more: &str) {
        if self.failed {
            return;
        }
        self.pending += more.len();
        if let Some(Body::AssistantText {
            message_id, text, ..
        }) = self.queue.last_mut()
            && **id == **message_id
        {
            text.push_str(more);
            return;
        }
        self.queue.push(Body::AssistantText {
            message_id: id.to_string(),
            response,
            text: more.to_owned(),
        });
    }

    /// The end of a message. If none of its text has left the queue, one record holds all.
    pub(super) fn message(&mut self, id: &Arc<str>, response: u32, whole: &str, partial: bool) {
        let text = if self.begun.as_ref() == Some(id) {
            None
        } else {
            let piece = |body: &Body| matches!(body, Body::AssistantText { message_id, .. } if **message_id == **id);
            self.queue.retain(|body| !piece(body));
            Some(whole.to_owned())
        };
        self.push(Body::AssistantMessage {
            message_id: id.to_string(),
            response,
            text,
            partial,
        });
    }

    /// When what is queued is to be written: a time that may have passed; `None` with nothing to write,
    /// or while something is being written.
    fn due(&self) -> Option<Instant> {
        if self.in_flight.is_some() || self.queue.is_empty() || self.failed {
            return None;
        }
        let now = Instant::now();
        let waits = self.pieces >= PROMPT_PIECES && (1..PENDING_BYTES).contains(&self.pending);
        let last = self.text_written.filter(|_| waits);
        Some(last.map_or(now, |at| at + PENDING_TIME))
    }

    /// Writes what becomes due for as long as it is polled. Cancel safe.
    pub(super) async fn write_when_due(&mut self) -> Infallible {
        loop {
            self.written().await;
            let Some(due) = self.due() else {
                return pending().await;
            };
            // At once where it may: a timer takes its time even then.
            if due > Instant::now() {
                sleep_until(due).await;
            }
            self.spawn(Flush::Written);
        }
    }

    /// Begins to write what is queued, unless something is being written.
    pub(super) fn start(&mut self) {
        if self.due().is_some() {
            self.spawn(Flush::Written);
        }
    }

    fn spawn(&mut self, flush: Flush) {
        let bodies = std::mem::take(&mut self.queue);
        self.last += bodies.len() as u64;
        let last = bodies.iter().rev().find_map(|body| match body {
            Body::AssistantText { message_id, .. } => Some(message_id.as_str().into()),
            _ => None,
        });
        self.begun = last.or(self.begun.take());
        if std::mem::take(&mut self.pending) > 0 {
            self.text_written = Some(Instant::now());
            self.pieces += 1;
        }
        let writer = self.writer.clone();
        let run_id = Arc::clone(&self.run_id);
        let append = move |writer: &mut dyn SessionWriter| {
            writer.append(Some(&run_id), bodies, flush)?;
            Ok(writer.extent())
        };
        self.in_flight = Some(self.blocking.spawn(move || writer.with(append)));
    }

    /// Waits for what is being written. Cancel safe.
    async fn written(&mut self) {
        if let Some(append) = &mut self.in_flight {
            let done = append.await;
            self.in_flight = None;
            let done = done.map_err(Interrupted::from).flatten();
            let done = done.map_err(io::Error::other).map_err(AppendError::Io);
            match done.flatten() {
                Ok(extent) => self.begin(extent),
                Err(error) => {
                    let cause = &error as &dyn std::error::Error;
                    tracing::error!(
                        run = &*self.run_id,
                        error = cause,
                        "the run is not stored any more"
                    );
                    self.failed = true;
                    self.queue.clear();
                    self.pending = 0;
                }
            }
        }
    }

    /// Writes everything. Whether all of the run so far is stored, and with
    /// [`Flush::Durable`] on the disk.
    pub(super) async fn settle(&mut self, flush: Flush) -> bool {
        self.written().await;
        if !self.failed && (!self.queue.is_empty() || flush == Flush::Durable) {
            self.spawn(flush);
            self.written().await;
        }
        !self.failed
    }
}
