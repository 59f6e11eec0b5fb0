//! Events of a run on their way to the caller: what must arrive, what may drop, and never the one for the other.
//! One bounded queue keeps their order; what the events say is no matter of this file.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::Redacted;
use store::sessions::Outcome;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use work::Deadline;

use super::event::{Activity, Category, MayDrop, MustArrive, Persistence, RunEvent};
use super::{ActiveRun, DeliveryPolicy, Owner, RunErrorCode, Stop};

/// How long a delta that can't be kept back any more waits. Longer than a caller that lives
/// needs, short enough that one that doesn't costs a run nothing.
const DELTA_WAIT: Duration = Duration::from_millis(100);

/// An event, and the delta's place in the queue that it holds until it is taken.
#[derive(Debug)]
struct Queued {
    event: RunEvent,
    _place: Option<OwnedSemaphorePermit>,
}

/// The caller does not take events any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost;

impl From<Lost> for Stop {
    fn from(_: Lost) -> Self {
        Self::OutputLost
    }
}

/// The worker's end.
#[derive(Clone, Debug)]
pub(super) struct Sink {
    queue: mpsc::Sender<Queued>,
    deltas: Arc<Semaphore>,
    lost: Arc<AtomicBool>,
    policy: DeliveryPolicy,
    /// Longest text of one event, in bytes.
    max_text: usize,
    cancelled: Deadline,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sequence: u64,
    dropped: u64,
}

impl Counts {
    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

/// A place in the queue that was waited for, so that nothing is left out for want of it.
pub(super) struct Reserved<'a>(mpsc::Permit<'a, Queued>);

impl Reserved<'_> {
    fn send(self, event: MustArrive) {
        self.0.send(Queued {
            event: RunEvent::MustArrive(event),
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
        if let Ok(permit) = self.queue.try_reserve() {
            return Ok(Reserved(permit));
        }
        let room = match self.policy.wait {
            Some(wait) => Deadline::after(wait).bound(self.queue.reserve()).await.ok(),
            None => Some(self.queue.reserve().await),
        };
        match room {
            Some(Ok(permit)) => Ok(Reserved(permit)),
            _ => {
                self.lose();
                Err(Lost)
            }
        }
    }

    /// Room for the terminal event, also after a loss, if there is any at once.
    pub(super) async fn reserve_terminal(&self) -> Result<Reserved<'_>, Lost> {
        if self.is_lost() {
            return self.queue.try_reserve().ok().map(Reserved).ok_or(Lost);
        }
        self.reserve().await
    }

    /// Sends the terminal event that `event` makes of its sequence number and the number of
    /// activities that found no room.
    pub(super) fn finish(&self, room: Reserved<'_>, event: impl FnOnce(u64, u64) -> MustArrive) {
        let mut counts = self.counts();
        let sequence = counts.next();
        room.send(event(sequence, counts.dropped));
    }

    pub(super) async fn send(&self, event: MustArrive) -> Result<(), Lost> {
        self.reserve().await?.send(event);
        Ok(())
    }

    /// Sends an activity, or counts it as dropped if it may be.
    pub(super) async fn activity(&self, activity: Activity) -> Result<(), Lost> {
        if !self.policy.activities_may_drop {
            let room = self.reserve().await?;
            self.fill(room, MayDrop::Activity(activity));
        } else if self.is_lost() {
            return Err(Lost);
        } else if !self.try_send(None, || MayDrop::Activity(activity)) {
            let mut counts = self.counts();
            counts.next();
            counts.dropped += 1;
        }
        Ok(())
    }

    /// Tells that something without details begins. Returns its id.
    pub(super) async fn begin(&self, what: Category) -> Result<String, Lost> {
        let id = crate::new_id();
        let began = Activity::Began {
            id: id.clone(),
            parent: None,
            what,
            waits: false,
        };
        self.activity(began).await.map(|()| id)
    }

    /// The only way into the queue on which something may be left out: `event` is made if it has room at once.
    /// Whether it had.
    fn try_send(
        &self,
        place: Option<OwnedSemaphorePermit>,
        event: impl FnOnce() -> MayDrop,
    ) -> bool {
        let room = self.queue.try_reserve().ok();
        room.map(|room| self.number(room, event(), place)).is_some()
    }

    /// Sends what may drop where it does not, since it waited for its room.
    fn fill(&self, room: Reserved<'_>, event: MayDrop) {
        self.number(room.0, event, None);
    }

    fn number(
        &self,
        room: mpsc::Permit<'_, Queued>,
        event: MayDrop,
        place: Option<OwnedSemaphorePermit>,
    ) {
        // Under the lock: numbers are in the order of the queue.
        let mut counts = self.counts();
        let sequence = counts.next();
        room.send(Queued {
            event: RunEvent::MayDrop { sequence, event },
            _place: place,
        });
    }

    /// Whether a delta can go on now or within `time`: it may drop, there is room, or the run is cancelled.
    pub(super) async fn has_room_within(&self, time: Duration) -> bool {
        if self.policy.deltas_may_drop || self.queue.capacity() > 0 {
            return true;
        }
        let deadline = self.cancelled.clone().within(time);
        let room = deadline.bound(self.queue.reserve()).await;
        room.is_ok_and(|room| room.is_ok()) || self.cancelled.is_cancelled()
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The caller is gone.
    fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits until a delta may have room.
    async fn delta_room(&self) -> bool {
        let deadline = Deadline::after(DELTA_WAIT);
        let place = deadline.bound(self.deltas.acquire()).await;
        place.is_ok_and(|place| place.is_ok()) && self.queue.capacity() > 0
    }
}

/// The deltas of one message. A caller that keeps up gets each; for one that lags they grow
/// together, and for one that stands still they are dropped with a visible gap.
#[derive(Debug, Default)]
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
            ..Self::default()
        }
    }

    pub(super) async fn push(&mut self, sink: &Sink, text: &Redacted) {
        if !sink.policy.deltas_may_drop {
            self.held.push(text);
            while !self.held.is_empty() {
                // Not for longer than the run is wanted: its provider need not wait as well. What is left comes
                // with the end of the message, when nothing else waits for it.
                match sink.cancelled.bound(sink.queue.reserve()).await {
                    Ok(Ok(room)) => self.send_held(sink, Reserved(room)),
                    Ok(Err(_closed)) => return sink.lose(),
                    Err(_cancelled) => return,
                }
            }
            return;
        }
        let mut start = 0;
        while start < text.len() {
            let end = text.as_str().floor_char_boundary(start + sink.max_text);
            self.push_piece(sink, &text.part(start..end)).await;
            start = end;
        }
    }

    /// The end of the message: sends what is held. A caller whose deltas must not drop gets all of it.
    pub(super) async fn finish(&mut self, sink: &Sink) {
        if sink.policy.deltas_may_drop {
            self.flush(sink);
            return;
        }
        while !self.held.is_empty() && !sink.is_lost() {
            match sink.reserve().await {
                Ok(room) => self.send_held(sink, room),
                Err(Lost) => return,
            }
        }
    }

    /// Sends as much of what is held as one event takes.
    fn send_held(&mut self, sink: &Sink, room: Reserved<'_>) {
        let end = self.held.as_str().floor_char_boundary(sink.max_text);
        let rest = self.held.part(end..self.held.len());
        let text = std::mem::replace(&mut self.held, rest).part(0..end);
        sink.fill(room, self.delta(text));
        self.part += 1;
    }

    fn delta(&self, text: Redacted) -> MayDrop {
        MayDrop::Delta {
            message_id: Arc::clone(&self.message_id),
            part: self.part,
            text,
        }
    }

    async fn push_piece(&mut self, sink: &Sink, piece: &Redacted) {
        if self.gap || self.held.len() + piece.len() > sink.max_text {
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
        let Ok(place) = Arc::clone(&sink.deltas).try_acquire_owned() else {
            return false;
        };
        let sent = sink.try_send(Some(place), || {
            let text = std::mem::take(&mut self.held);
            self.delta(text)
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
    owner: Arc<dyn Owner>,
    active: Arc<ActiveRun>,
    /// The last number seen.
    sequence: u64,
    finished: bool,
    /// The owner knows that the caller takes no more.
    settled: bool,
}

impl RunEvents {
    /// The next event; `None` after [`MustArrive::Finished`], or when an event that must arrive did not.
    /// Cancel safe.
    ///
    /// The owner admits other work once the caller asks for more behind the last event, or lets go
    /// of the rest: until then it may still be telling somebody of the end.
    pub async fn recv(&mut self) -> Option<RunEvent> {
        if self.finished {
            self.settle();
            return None;
        }
        let queued = self.queue.recv().await.map(|queued| queued.event);
        // A worker that vanished without a word told nobody what is stored.
        let event = queued.or_else(|| {
            let is_known = self.lost.load(Ordering::Relaxed);
            (!is_known).then_some(RunEvent::MustArrive(MustArrive::Finished {
                sequence: self.sequence + 1,
                outcome: Outcome::Failed,
                persistence: Persistence::Degraded,
                revision: None,
                error_code: Some(RunErrorCode::ExecutionFailed),
                text: Redacted::default(),
                activity_dropped: 0,
            }))
        });
        match &event {
            Some(RunEvent::MayDrop { sequence, .. }) => self.sequence = *sequence,
            Some(RunEvent::MustArrive(MustArrive::Finished { .. })) => self.finished = true,
            Some(RunEvent::MustArrive(_)) => {}
            None => {
                self.finished = true;
                self.settle();
            }
        }
        event
    }

    fn settle(&mut self) {
        if !self.settled {
            self.settled = true;
            self.owner.events_drained(&self.active, !self.finished);
        }
    }
}

impl Drop for RunEvents {
    fn drop(&mut self) {
        if !self.finished {
            self.queue.close();
        }
        self.settle();
    }
}

/// Both ends of a new run's events.
pub(super) fn channel(owner: Arc<dyn Owner>, active: Arc<ActiveRun>) -> (Sink, RunEvents) {
    let policy = &active.spec.policy;
    let (sender, queue) = mpsc::channel(policy.delivery.queue);
    let sink = Sink {
        queue: sender,
        deltas: Arc::new(Semaphore::new(policy.delivery.queued_deltas)),
        lost: Arc::default(),
        policy: policy.delivery,
        max_text: policy.text.max_event_bytes,
        cancelled: active.cancel.clone().into(),
        counts: Arc::default(),
    };
    let events = RunEvents {
        queue,
        lost: Arc::clone(&sink.lost),
        owner,
        active,
        sequence: 0,
        finished: false,
        settled: false,
    };
    (sink, events)
}

#[cfg(test)]
mod tests;
