//! The loop of a dialect with concurrent requests: local-agent and application-service.
//! Every admitted frame gets exactly one answer, or the process ends with a failure status.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{Instrument, Span};

use crate::connection::Connection;
use crate::correlate::Correlation;
use crate::dialect::{Admission, Codec, Decoded, Identity, Refusal, Rules, Unencodable};
use crate::event::Emitted;
use crate::frame::{FrameBuffer, Framed};
use crate::operation::Class;
use crate::reply::Outcome;
use crate::transport::{Input, Output};
use crate::writer::{Outbox, Overflow};

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything was delivered.
    Drained,
    /// The output failed, stalled or overflowed, or draining took too long.
    Failed,
    /// A message of our own passed a protocol bound; nothing replaced it.
    Unencodable,
}

mod requests;

impl Ended {
    /// As the log has it.
    fn word(self) -> &'static str {
        match self {
            Self::Drained => "drained",
            Self::Failed => "failed",
            Self::Unencodable => "unencodable",
        }
    }
}

/// Serves one connection to its end. `cleanup` tears the engines down; it is bounded by the dialect.
pub async fn serve<D: Codec>(
    dialect: D,
    connection: Arc<Connection>,
    mut input: Input,
    output: Output,
    cleanup: impl Future<Output = ()>,
) -> std::io::Result<Ended> {
    let rules = D::RULES;
    let mut frames = FrameBuffer::new(rules.frame);
    let (sender, mut events) = mpsc::channel(1);
    let mut state = Duplex::new(dialect, connection, sender);
    let terminated = crate::signals::terminated()?;
    let span = tracing::debug_span!("connection", dialect = D::NAME);
    let ended = state
        .run(&mut input, &output, &mut frames, &mut events, terminated)
        .instrument(span.clone())
        .await;
    span.in_scope(|| {
        let ended = ended.as_ref().map_or("failed", |ended| ended.word());
        tracing::debug!(ended, "the connection ended");
    });
    state.connection.cancel.cancel();
    // Whoever still waits to send an event learns now that nobody listens; teardown must not wait for it.
    drop((state, events));
    let _ = timeout(rules.cleanup, cleanup).await;
    Ok(ended.unwrap_or_else(|failure| failure))
}

/// Ends the loop early.
struct Stop(Ended);

impl From<Overflow> for Stop {
    fn from(overflow: Overflow) -> Self {
        tracing::warn!(%overflow, "the output failed");
        Self(Ended::Failed)
    }
}

/// A request whose handler has finished.
struct Finished {
    identity: Identity,
    /// `None` of one that answered at once: nobody waited for it.
    class: Option<Class>,
    outcome: Outcome,
    span: Span,
}

/// A request whose work after the answer has ended: its identity, and what the work left.
type Followed = (Option<Arc<str>>, Option<Box<dyn Send>>);

struct Duplex<D> {
    dialect: D,
    rules: &'static Rules,
    connection: Arc<Connection>,
    correlation: Correlation,
    outbox: Outbox,
    running: JoinSet<Finished>,
    /// Work after an answer; yields what stays reserved until its last event is written.
    follow_ups: JoinSet<Followed>,
    events: mpsc::Sender<Emitted>,
    exclusive_busy: bool,
    /// Requests of [`Class::Background`] among those that run.
    background: usize,
    /// Since when no input is admitted any more, plus the bound on draining.
    closing: Option<Instant>,
    /// Since when a signal waits for what holds input back, plus how long it does at most.
    signalled: Option<Instant>,
    /// Since when nobody writes requests any more, although some are still to be read.
    hung_up: Option<Instant>,
    /// When a paced frame may be admitted although output is behind.
    next_admission: Option<Instant>,
    released: Vec<Arc<str>>,
}

impl<D: Codec> Duplex<D> {
    fn new(dialect: D, connection: Arc<Connection>, events: mpsc::Sender<Emitted>) -> Self {
        let rules = D::RULES;
        Self {
            dialect,
            rules,
            connection,
            correlation: Correlation::new(rules.identities),
            outbox: Outbox::new(rules.output.queue_frames, rules.output.deadline),
            running: JoinSet::new(),
            follow_ups: JoinSet::new(),
            events,
            exclusive_busy: false,
            background: 0,
            closing: None,
            signalled: None,
            hung_up: None,
            next_admission: None,
            released: Vec::new(),
        }
    }

    async fn run(
        &mut self,
        input: &mut Input,
        output: &Output,
        frames: &mut FrameBuffer,
        events: &mut mpsc::Receiver<Emitted>,
        terminated: impl Future<Output = ()>,
    ) -> Result<Ended, Ended> {
        let mut terminated = std::pin::pin!(terminated);
        // What `frames` yielded but the admission rule does not let in yet.
        let mut waiting: Option<Framed> = None;
        loop {
            if self.signalled.is_some() && !self.held_back() {
                self.close();
            }
            while self.closing.is_none() {
                // Whoever was told of an end must find what it ended released.
                while let Some(done) = self.follow_ups.try_join_next() {
                    self.followed_up(done, events).map_err(|stop| stop.0)?;
                }
                if waiting.is_none() {
                    waiting = frames.next_frame();
                }
                if waiting.is_none() || !self.may_admit() {
                    break;
                }
                if let Some(framed) = waiting.take() {
                    self.frame(frames, framed).await.map_err(|stop| stop.0)?;
                }
                if matches!(self.rules.admission, Admission::AfterFlush) {
                    self.flush(output)?;
                }
            }
            self.flush(output)?;
            if self.closing.is_none()
                && waiting.is_some()
                && self.outbox.len() < self.free_admissions()
                && !self.held_back()
            {
                // The flush made room; nothing below would wake us for it.
                continue;
            }
            if self.closing.is_some() && self.is_drained() && events.is_empty() {
                return Ok(Ended::Drained);
            }
            let reading = self.closing.is_none() && waiting.is_none() && !self.held_back();
            let watching = !reading && self.closing.is_none() && self.hung_up.is_none();
            let abandoned_at = self.abandoned_at();
            let closes_at = self.closes_at();
            let pacing = (self.closing.is_none() && waiting.is_some())
                .then_some(self.next_admission)
                .flatten();
            tokio::select! {
                // Lazily: taking space moves what waits, and must not happen unless this branch is on.
                heard = listen(input, frames, reading), if reading || watching => match heard {
                    Heard::Bytes(n) => frames.filled(n),
                    Heard::End => self.end_of_input(frames).await.map_err(|stop| stop.0)?,
                    Heard::HangUp => self.hung_up = Some(Instant::now()),
                },
                Some(finished) = self.running.join_next(), if !self.running.is_empty() => {
                    // A handler's panic is caught inside its task; a join error means it was aborted.
                    if let Ok(finished) = finished {
                        self.finish(finished).map_err(|stop| stop.0)?;
                    }
                }
                Some(event) = events.recv(), if self.outbox.len() < self.event_room() => {
                    self.event(event).map_err(|stop| stop.0)?;
                }
                Some(done) = self.follow_ups.join_next(), if !self.follow_ups.is_empty() => {
                    self.followed_up(done, events).map_err(|stop| stop.0)?;
                }
                ready = output.writable(), if !self.outbox.is_empty() => {
                    ready.map_err(|error| failed(&error))?;
                }
                () = output.closed() => return Err(Ended::Failed),
                () = until(self.outbox.expires()) => return Err(Ended::Failed),
                () = until(closes_at) => return Err(Ended::Failed),
                () = until(pacing) => {}
                // Nobody writes and nobody reads: there is nobody to go on for, or to drain to.
                () = until(abandoned_at), if self.closing.is_none() => return Err(Ended::Failed),
                () = &mut terminated, if self.signalled.is_none() => {
                    self.signalled = Some(Instant::now() + self.rules.closing);
                }
                () = until(self.signalled), if self.closing.is_none() => self.close(),
            }
        }
    }

    /// When a client that has left its requests behind is taken not to read their answers either.
    fn abandoned_at(&self) -> Option<Instant> {
        Some(self.outbox.stalled_since(self.hung_up?)? + self.rules.closing)
    }

    /// When draining has taken too long.
    fn closes_at(&self) -> Option<Instant> {
        let at = self.closing?;
        Some(match self.background {
            0 => at,
            _ => at + self.rules.background,
        })
    }

    fn is_drained(&self) -> bool {
        self.outbox.is_empty() && self.running.is_empty() && self.follow_ups.is_empty()
    }

    /// Pending frames below which input is admitted without waiting.
    fn free_admissions(&self) -> usize {
        match self.rules.admission {
            Admission::AfterFlush => 1,
            Admission::Paced { room, .. } => room,
        }
    }

    /// Where each answer precedes the next request, an operation that takes its time holds back
    /// whatever comes after it, the end of input included, and for a while a signal; events go on meanwhile.
    fn held_back(&self) -> bool {
        self.exclusive_busy && matches!(self.rules.admission, Admission::AfterFlush)
    }

    /// Events leave room for the answers to what is read meanwhile.
    fn event_room(&self) -> usize {
        self.rules.output.queue_frames / 2
    }

    fn flush(&mut self, output: &Output) -> Result<(), Ended> {
        let mut released = std::mem::take(&mut self.released);
        let written = self.outbox.flush(output, &mut released);
        for id in released.drain(..) {
            self.correlation.release(&id);
        }
        self.released = released;
        written.map_err(|error| failed(&error))
    }

    fn may_admit(&mut self) -> bool {
        match self.rules.admission {
            Admission::AfterFlush => self.outbox.is_empty() && !self.held_back(),
            Admission::Paced { room, pause } => {
                if self.outbox.len() < room {
                    self.next_admission = None;
                    return true;
                }
                let now = Instant::now();
                let due = self.next_admission.is_some_and(|at| at <= now);
                if due || self.next_admission.is_none() {
                    self.next_admission = Some(now + pause);
                }
                due
            }
        }
    }

    /// Admits no more input, cancels what is pending; output drains under the dialect's bound.
    fn close(&mut self) {
        if self.closing.is_none() {
            self.closing = Some(Instant::now() + self.rules.closing);
            self.connection.cancel.cancel();
        }
    }

    async fn end_of_input(&mut self, frames: &mut FrameBuffer) -> Result<(), Stop> {
        if let Some(framed) = frames.finish() {
            self.frame(frames, framed).await?;
        }
        self.close();
        Ok(())
    }

    async fn frame(&mut self, frames: &FrameBuffer, framed: Framed) -> Result<(), Stop> {
        let range = match framed {
            Framed::Frame(range) => range,
            Framed::Oversize => return self.refuse(&self.dialect.oversize()),
            Framed::Incomplete => return self.refuse(&self.dialect.incomplete()),
        };
        match self.dialect.decode(frames.bytes(range)) {
            Decoded::Refused(refusal) => self.refuse(&refusal),
            Decoded::Request {
                identity,
                params,
                fault,
            } => self.request(identity, params, fault).await,
        }
    }

    fn refuse(&mut self, refusal: &Refusal) -> Result<(), Stop> {
        self.fail(&refusal.identity, refusal.code, None)?;
        if refusal.closes {
            self.close();
        }
        Ok(())
    }

    fn fail(
        &mut self,
        identity: &Identity,
        code: &'static str,
        release: Option<Arc<str>>,
    ) -> Result<(), Stop> {
        let fault = self.rules.fault(code);
        let bytes = self
            .dialect
            .answer(identity, Err(&fault))
            .map_err(|error| unencodable(&error))?;
        Ok(self.outbox.push(bytes, release)?)
    }
}

/// What the input had to say.
enum Heard {
    Bytes(usize),
    /// The end of input, or a failure to read it.
    End,
    /// Nobody writes any more; nothing was read.
    HangUp,
}

/// Reads, or where nothing may be read yet waits for the writer to leave.
async fn listen(input: &mut Input, frames: &mut FrameBuffer, reading: bool) -> Heard {
    if !reading {
        input.hung_up().await;
        return Heard::HangUp;
    }
    match input.read(frames.space()).await {
        Ok(0) => Heard::End,
        Ok(n) => Heard::Bytes(n),
        Err(error) => {
            tracing::warn!(%error, "the input failed");
            Heard::End
        }
    }
}

fn failed(error: &std::io::Error) -> Ended {
    tracing::warn!(%error, "the output failed");
    Ended::Failed
}

fn unencodable(error: &Unencodable) -> Stop {
    tracing::error!(%error, "a message of our own cannot be sent");
    Stop(Ended::Unencodable)
}

/// Sleeps until then; for ever without a time.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
