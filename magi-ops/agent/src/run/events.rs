//! Events of a run on their way to the caller: what must arrive, what may be late, and never the one for the other.
//! One bounded queue keeps their order; a share of it is closed to deltas.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::Redacted;
use store::sessions::Outcome;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::backend::Backend;

use super::RunErrorCode;

/// Events between worker and caller (spec: local-agent, "Bounds and failure policy").
const QUEUE: usize = 32;
/// The share of deltas in it.
const DELTA_QUEUE: usize = 24;
/// How long an event that must arrive waits for room.
pub(super) const CRITICAL_WAIT: Duration = Duration::from_millis(2000);
/// How long a delta that can't be kept back any more waits. Longer than a caller that lives
/// needs, short enough that one that doesn't costs a run nothing.
const DELTA_WAIT: Duration = Duration::from_millis(100);
/// Longest text of one event, in UTF-8 bytes.
pub(super) const MAX_TEXT_BYTES: usize = 4000;

/// What happens in a run, in order. [`RunEvent::Finished`] is the last one, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// The input is on the disk. Precedes every provider activity.
    InputPersisted {
        message_id: String,
        revision: String,
    },
    /// More of a message, to be shown until its reconciliation. Parts count from 0 for each
    /// message; a missing number is text that was dropped.
    Delta {
        message_id: Arc<str>,
        part: u64,
        /// At most 4,000 bytes.
        text: Redacted,
    },
    /// A part of the authoritative text of a message, which replaces its deltas.
    Reconcile {
        message_id: Arc<str>,
        /// From 0, without gaps.
        part: u32,
        /// At most 4,000 bytes.
        text: Redacted,
        last_part: bool,
        /// The provider did not finish the message.
        partial: bool,
    },
    /// A tool call began or ended.
    Activity {
        activity_id: String,
        state: ActivityState,
        /// At most 64 bytes.
        name: Redacted,
        /// At most 1,024 bytes.
        summary: Redacted,
    },
    /// A tool call waits for an answer.
    ApprovalRequested {
        approval_id: String,
        /// At most 1,024 bytes.
        summary: Redacted,
        expires_in_ms: u64,
    },
    /// Something a person should know.
    Diagnostic {
        code: RunErrorCode,
        /// At most 1,024 bytes.
        summary: Redacted,
    },
    /// The run is over and cleaned up.
    Finished {
        outcome: Outcome,
        persistence: Persistence,
        /// Names the history after the run; `None` if the session must be opened again for it.
        revision: Option<String>,
        error_code: Option<RunErrorCode>,
    },
}

/// How far a tool call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityState {
    Started,
    Completed,
    Failed,
}

/// What of a run is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// All of it, flushed.
    Durable,
    /// The input; of the rest, at least something is missing.
    Degraded,
    /// Nothing.
    NotStarted,
}

/// An event, and the delta's place in the queue that it holds until it is taken.
#[derive(Debug)]
struct Queued {
    event: RunEvent,
    _place: Option<OwnedSemaphorePermit>,
}

/// The caller does not take events any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost;

/// The worker's end.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    queue: mpsc::Sender<Queued>,
    deltas: Arc<Semaphore>,
    lost: Arc<AtomicBool>,
}

/// A place in the queue that nothing else can take.
pub(super) struct Reserved<'a>(mpsc::Permit<'a, Queued>);

impl Reserved<'_> {
    pub(super) fn send(self, event: RunEvent) {
        self.0.send(Queued {
            event,
            _place: None,
        });
    }
}

impl Sink {
    /// Reserves room for an event that must arrive. After one failure there is no more waiting:
    /// events would arrive with one missing between.
    pub(super) async fn reserve(&self) -> Result<Reserved<'_>, Lost> {
        if self.is_lost() {
            return Err(Lost);
        }
        match timeout(CRITICAL_WAIT, self.queue.reserve()).await {
            Ok(Ok(permit)) => Ok(Reserved(permit)),
            _ => {
                self.lost.store(true, Ordering::Relaxed);
                Err(Lost)
            }
        }
    }

    /// Room for the terminal event, also after a loss, if there is any at once.
    pub(super) async fn reserve_terminal(&self) -> Result<Reserved<'_>, Lost> {
        if self.is_lost() {
            return self.queue.try_reserve().map(Reserved).map_err(|_| Lost);
        }
        self.reserve().await
    }

    pub(super) async fn critical(&self, event: RunEvent) -> Result<(), Lost> {
        self.reserve().await?.send(event);
        Ok(())
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether a delta has room now; if so, `event` is sent.
    fn try_delta(&self, event: impl FnOnce() -> RunEvent) -> bool {
        let Ok(place) = Arc::clone(&self.deltas).try_acquire_owned() else {
            return false;
        };
        let Ok(permit) = self.queue.try_reserve() else {
            return false;
        };
        permit.send(Queued {
            event: event(),
            _place: Some(place),
        });
        true
    }

    /// Waits until a delta may have room.
    async fn delta_room(&self) -> bool {
        timeout(DELTA_WAIT, self.deltas.acquire())
            .await
            .is_ok_and(|place| place.is_ok())
            && self.queue.capacity() > 0
    }
}

/// The deltas of one message. A caller that keeps up gets each; for one that lags they grow
/// together, and for one that stands still they are dropped with a visible gap.
#[derive(Debug)]
pub(super) struct Deltas {
    message_id: Arc<str>,
    part: u64,
    held: Redacted,
    /// Text after the held one was dropped.
    gap: bool,
    /// Waiting was in vain; not tried again before something gets through.
    stalled: bool,
}

impl Deltas {
    pub(super) fn new(message_id: Arc<str>) -> Self {
        Self {
            message_id,
            part: 0,
            held: Redacted::default(),
            gap: false,
            stalled: false,
        }
    }

    pub(super) async fn push(&mut self, sink: &Sink, text: &Redacted) {
        let mut start = 0;
        while start < text.len() {
            let end = text.as_str().floor_char_boundary(start + MAX_TEXT_BYTES);
            self.push_piece(sink, &text.part(start..end)).await;
            start = end;
        }
    }

    async fn push_piece(&mut self, sink: &Sink, piece: &Redacted) {
        if self.gap || self.held.len() + piece.len() > MAX_TEXT_BYTES {
            if !self.flush(sink) && !self.stalled {
                tokio::task::yield_now().await;
                if !self.flush(sink) {
                    self.stalled = !sink.delta_room().await;
                    self.flush(sink);
                }
            }
            if !self.held.is_empty() {
                self.gap = true;
                return;
            }
        }
        self.held.push(piece);
        if !self.flush(sink) {
            // On a runtime with one thread the caller can't have run since the last event.
            tokio::task::yield_now().await;
            self.flush(sink);
        }
    }

    /// Sends what is held, if there is room.
    pub(super) fn flush(&mut self, sink: &Sink) -> bool {
        if self.held.is_empty() {
            return true;
        }
        let sent = sink.try_delta(|| RunEvent::Delta {
            message_id: Arc::clone(&self.message_id),
            part: self.part,
            text: std::mem::take(&mut self.held),
        });
        if sent {
            self.part += 1 + u64::from(self.gap);
            self.gap = false;
            self.stalled = false;
        }
        sent
    }
}

/// The caller's end of a run. Dropping it before the end cancels the run: nobody would learn
/// what it does.
#[derive(Debug)]
pub struct RunEvents {
    queue: mpsc::Receiver<Queued>,
    lost: Arc<AtomicBool>,
    backend: Arc<Backend>,
    run_id: String,
    finished: bool,
}

impl RunEvents {
    /// The next event; `None` after [`RunEvent::Finished`], or when an event that must arrive did not.
    /// Cancel safe.
    ///
    /// Once it was taken, the backend admits other work.
    pub async fn recv(&mut self) -> Option<RunEvent> {
        if self.finished {
            return None;
        }
        let queued = self.queue.recv().await.map(|queued| queued.event);
        // A worker that vanished without a word told nobody what is stored.
        let event = queued.or_else(|| {
            let told = self.lost.load(Ordering::Relaxed);
            (!told).then_some(RunEvent::Finished {
                outcome: Outcome::Failed,
                persistence: Persistence::Degraded,
                revision: None,
                error_code: Some(RunErrorCode::ExecutionFailed),
            })
        });
        if matches!(event, None | Some(RunEvent::Finished { .. })) {
            self.finished = true;
            self.backend.events_drained(&self.run_id, false);
        }
        event
    }
}

impl Drop for RunEvents {
    fn drop(&mut self) {
        if !self.finished {
            self.queue.close();
            self.backend.events_drained(&self.run_id, true);
        }
    }
}

/// Both ends of a new run's events.
pub(super) fn channel(backend: &Arc<Backend>, run_id: &str) -> (Sink, RunEvents) {
    let (sender, queue) = mpsc::channel(QUEUE);
    let sink = Sink {
        queue: sender,
        deltas: Arc::new(Semaphore::new(DELTA_QUEUE)),
        lost: Arc::default(),
    };
    let events = RunEvents {
        queue,
        lost: Arc::clone(&sink.lost),
        backend: Arc::clone(backend),
        run_id: run_id.to_owned(),
        finished: false,
    };
    (sink, events)
}

#[cfg(test)]
mod tests;
