//! One response over HTTP: attempts, waits, bounds of time and size, cancellation.
//! What the bytes mean is the wire's; which failure is tried again is decided in `retry`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::body::Body;
use super::http::Endpoint;
use super::retry::Failure;
use super::{Progress, Wire};
use crate::registry::Patience;
use crate::{Chunk, ProviderError, Request, Response, Retry};

/// How long after its last event a body may end for its connection to be kept.
const LEAVE: Duration = Duration::from_secs(1);

/// Starts a response. Nothing is sent before the first pull.
pub(super) fn start(
    wire: Arc<dyn Wire>,
    endpoint: Arc<Endpoint>,
    patience: Arc<Patience>,
    request: Request,
    cancel: CancellationToken,
) -> Response {
    let exchange = Exchange {
        body: wire.body(&request).into(),
        wire,
        endpoint,
        request,
        cancel,
        deadline: Instant::now() + patience.whole,
        patience,
        attempts: 0,
        state: State::Send,
        ready: VecDeque::new(),
        spoken: false,
    };
    Response::from_stream(futures_util::stream::unfold(
        exchange,
        |mut exchange| async move { exchange.next().await.map(|item| (item, exchange)) },
    ))
}

struct Exchange {
    wire: Arc<dyn Wire>,
    endpoint: Arc<Endpoint>,
    patience: Arc<Patience>,
    request: Request,
    /// The request's body, the same for every attempt.
    body: Bytes,
    cancel: CancellationToken,
    deadline: Instant,
    /// Attempts begun.
    attempts: u32,
    state: State,
    /// Read, but not yet given.
    ready: VecDeque<Chunk>,
    /// Output has arrived: another attempt would say it twice.
    spoken: bool,
}

enum State {
    Send,
    Read(Box<Reading>),
    Wait(Duration),
    Failed(ProviderError),
    Ended,
}

/// A response whose head has arrived.
struct Reading {
    answer: reqwest::Response,
    body: Body,
    /// Until when the first event must arrive.
    first: Instant,
}

impl Exchange {
    async fn next(&mut self) -> Option<Result<Chunk, ProviderError>> {
        // Many pieces of one packet are ready at once; the budget lets others have their turn.
        tokio::task::coop::consume_budget().await;
        let cancel = self.cancel.clone();
        loop {
            if cancel.is_cancelled() {
                self.state = State::Ended;
                return Some(Err(ProviderError::Cancelled));
            }
            if let Some(chunk) = self.ready.pop_front() {
                return Some(Ok(chunk));
            }
            let state = match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return None,
                State::Failed(error) => return Some(Err(error)),
                state => state,
            };
            let outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => return Some(Err(ProviderError::Cancelled)),
                outcome = self.step(state) => outcome,
            };
            self.state = match outcome {
                Ok(state) => state,
                Err(failure) => self.after(failure),
            };
        }
    }

    /// Does what `state` stands for; dropping the future drops the connection with it.
    async fn step(&mut self, state: State) -> Result<State, Failure> {
        let stalled = |_| Failure::new(ProviderError::Stalled);
        match state {
            State::Wait(time) => {
                sleep(time).await;
                Ok(State::Send)
            }
            State::Send => {
                self.attempts += 1;
                let first = Instant::now() + self.patience.first.unwrap_or(self.patience.stall);
                let first = first.min(self.deadline);
                let answer = timeout_at(first, self.endpoint.send(self.body.clone()))
                    .await
                    .map_err(stalled)??;
                Ok(State::Read(Box::new(Reading {
                    answer,
                    body: Body::new(self.wire.reader(&self.request)),
                    first,
                })))
            }
            State::Read(mut reading) => {
                let stall = Instant::now() + self.patience.stall;
                let until = match reading.body.has_begun() {
                    true => stall.min(self.deadline),
                    false => reading.first,
                };
                let arrived = timeout_at(until, reading.answer.chunk())
                    .await
                    .map_err(stalled)
                    .and_then(|read| read.map_err(|_| Failure::new(ProviderError::Network)));
                let begun = self.ready.len();
                let bytes = match arrived {
                    Ok(bytes) => bytes,
                    // A response that is whole but for its end marker is whole.
                    Err(_) if reading.body.end(&mut self.ready).is_ok() => {
                        return Ok(State::Ended);
                    }
                    Err(failure) => return Err(failure),
                };
                let progress = reading.body.read(bytes.as_deref(), &mut self.ready);
                self.spoken |= self.ready.range(begun..).any(|chunk| {
                    // Counts are replaced by later ones.
                    !matches!(chunk, Chunk::Usage(_))
                });
                match progress.map_err(Failure::new)? {
                    Progress::More => Ok(State::Read(reading)),
                    Progress::Done => {
                        reading.leave().await;
                        Ok(State::Ended)
                    }
                }
            }
            State::Failed(_) | State::Ended => Ok(state),
        }
    }

    /// What follows a failed attempt.
    fn after(&mut self, failure: Failure) -> State {
        if !self.spoken
            && let Some(wait) = failure.wait(self.attempts, &self.patience)
        {
            self.ready.clear();
            self.ready.push_back(Chunk::Retry(Retry {
                attempt: self.attempts,
                wait,
                why: failure.error,
            }));
            return State::Wait(wait);
        }
        State::Failed(failure.error)
    }
}

impl Reading {
    /// Reads the body's end, so that the connection can serve the next request. Nobody waits for it:
    /// the response itself has ended.
    async fn leave(mut self: Box<Self>) {
        // The connection's own task gets its turn first.
        tokio::task::yield_now().await;
        if self.answer.chunk().now_or_never().is_none() {
            tokio::spawn(timeout(LEAVE, async move { self.answer.chunk().await }));
        }
    }
}
