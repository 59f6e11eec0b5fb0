//! One response over HTTP: attempts, waits, bounds of time and size, cancellation.
//! What the bytes mean is the wire's; which failure is tried again is decided in `retry`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use work::Deadline;

use super::body::Body;
use super::http::Endpoint;
use super::quirks::Learned;
use super::retry::Failure;
use super::wire::{Progress, Wire};
use crate::config::Patience;
use crate::credential::{CredentialSource, Secret};
use crate::error::{ErrorKind, ProviderError};
use crate::request::Request;
use crate::response::{Chunk, Response, Retry};

/// How long after its last event a body may end for its connection to be kept.
const LEAVE: Duration = Duration::from_secs(1);

/// What all exchanges with one server share. Not `Debug`: an address may hold a key.
pub(super) struct Link {
    /// Id of the provider.
    pub(super) provider: String,
    pub(super) wire: Arc<dyn Wire>,
    pub(super) endpoint: Endpoint,
    pub(super) credentials: Arc<dyn CredentialSource>,
    pub(super) patience: Patience,
    pub(super) learned: Learned,
}

/// Starts a response. Nothing is sent before the first pull.
pub(super) fn start(link: Arc<Link>, request: Request, cancel: CancellationToken) -> Response {
    let span = tracing::info_span!("response", provider = link.provider, model = request.model);
    let exchange = Exchange {
        body: body(&link, &request),
        request,
        deadline: Deadline::from(cancel).within(link.patience.whole),
        link,
        attempts: 0,
        refreshed: false,
        secret: None,
        state: State::Send,
        ready: VecDeque::new(),
        spoken: false,
    };
    let state = (exchange, span);
    Response::from_stream(futures_util::stream::unfold(
        state,
        |(mut exchange, span)| async move {
            let item = exchange.next().instrument(span.clone()).await?;
            Some((item, (exchange, span)))
        },
    ))
}

fn body(link: &Link, request: &Request) -> Bytes {
    let quirks = link.learned.of(&request.model);
    link.wire.body(request, &quirks).into()
}

struct Exchange {
    link: Arc<Link>,
    request: Request,
    /// The request's body, the same for every attempt.
    body: Bytes,
    /// Of all attempts.
    deadline: Deadline,
    /// Attempts begun.
    attempts: u32,
    /// The credential was refused once and replaced.
    refreshed: bool,
    /// What the last attempt carried.
    secret: Option<Secret>,
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
    /// The credential was refused.
    Refresh(Failure),
    Failed(ProviderError),
    Ended,
}

/// A response whose head has arrived.
struct Reading {
    answer: reqwest::Response,
    body: Body,
    /// Until when the first event must arrive.
    first: Deadline,
    /// Until when more is waited for, once the reason to finish is known.
    leave: Option<Deadline>,
}

impl Exchange {
    async fn next(&mut self) -> Option<Result<Chunk, ProviderError>> {
        // Many pieces of one packet are ready at once; the budget lets others have their turn.
        tokio::task::coop::consume_budget().await;
        let cancel = self.deadline.cancellation().clone();
        loop {
            if cancel.is_cancelled() {
                self.state = State::Ended;
                return Some(Err(ErrorKind::Cancelled.into()));
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
                () = cancel.cancelled() => return Some(Err(ErrorKind::Cancelled.into())),
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
        let patience = &self.link.patience;
        let stalled =
            |error| Failure::new(ProviderError::new(ErrorKind::Stalled).with_source(error));
        match state {
            State::Wait(time) => {
                sleep(time).await;
                Ok(State::Send)
            }
            State::Refresh(failure) => {
                let credentials = &self.link.credentials;
                let replaced = match &self.secret {
                    Some(secret) => credentials.rejected(secret).await.unwrap_or_else(|error| {
                        tracing::info!(%error, "a refused credential could not be replaced");
                        false
                    }),
                    None => false,
                };
                if replaced {
                    Ok(State::Send)
                } else {
                    Err(failure)
                }
            }
            State::Send => {
                self.attempts += 1;
                let first = patience.first.unwrap_or(patience.stall);
                let first = self.deadline.clone().within(first);
                let asked = first.bound(self.link.credentials.get()).await;
                self.secret = asked.map_err(stalled)?.map_err(|error| {
                    let missing = ProviderError::new(ErrorKind::NoCredential);
                    Failure::new(missing.with_source(error))
                })?;
                let sending = self
                    .link
                    .endpoint
                    .send(self.body.clone(), self.secret.as_ref());
                let answer = first.bound(sending).await.map_err(stalled)??;
                Ok(State::Read(Box::new(Reading {
                    body: Body::new(self.link.wire.reader(&self.request)),
                    answer,
                    first,
                    leave: None,
                })))
            }
            State::Read(mut reading) => {
                let until = match (&reading.leave, reading.body.has_begun()) {
                    (Some(leave), _) => leave.clone(),
                    (None, true) => self.deadline.clone().within(patience.stall),
                    (None, false) => reading.first.clone(),
                };
                let arrived = until
                    .bound(reading.answer.chunk())
                    .await
                    .map_err(stalled)
                    .and_then(|read| {
                        read.map_err(|error| {
                            let lost = ProviderError::new(ErrorKind::Interrupted);
                            Failure::new(lost.with_source(error.without_url()))
                        })
                    });
                let begun = self.ready.len();
                let bytes = match arrived {
                    Ok(bytes) => bytes,
                    Err(failure) => {
                        if let Some(told) = reading.body.last_failure() {
                            return Err(Failure::new(told));
                        }
                        // A response that is whole but for its end marker is whole.
                        let ended = reading.body.end(&mut self.ready);
                        return ended.map(|()| State::Ended).map_err(|lacks| {
                            tracing::debug!(error = %lacks, "what arrived is not whole");
                            failure
                        });
                    }
                };
                let progress = reading.body.read(bytes.as_deref(), &mut self.ready);
                self.spoken |= self.ready.range(begun..).any(|chunk| {
                    // Counts are replaced by later ones.
                    !matches!(chunk, Chunk::Usage(_))
                });
                let status = reading.answer.status().as_u16();
                let with_status = |error: ProviderError| match status {
                    200 => Failure::new(error),
                    _ => Failure::new(error.with_status(status)),
                };
                match progress.map_err(with_status)? {
                    Progress::More => Ok(State::Read(reading)),
                    Progress::Finishing => {
                        reading.leave.get_or_insert_with(|| {
                            self.deadline
                                .clone()
                                .within(patience.leave.min(patience.stall))
                        });
                        Ok(State::Read(reading))
                    }
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
        let link = &self.link;
        let error = &failure.error;
        tracing::debug!(
            kind = %error.kind(),
            status = error.status(),
            cause = error.cause(),
            attempt = self.attempts,
            "an attempt failed"
        );
        if self.spoken {
            return State::Failed(failure.error);
        }
        let (model, optional) = (&self.request.model, link.wire.optional());
        if link.learned.learn(model, error, &self.body, optional) {
            self.body = body(link, &self.request);
            return State::Send;
        }
        if *error == ErrorKind::Unauthorized && !std::mem::replace(&mut self.refreshed, true) {
            return State::Refresh(failure);
        }
        match failure.wait(self.attempts, &link.patience) {
            None => State::Failed(failure.error),
            Some(wait) => {
                self.ready.clear();
                self.ready.push_back(Chunk::Retry(Retry {
                    attempt: self.attempts,
                    wait,
                    why: failure.error,
                }));
                State::Wait(wait)
            }
        }
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
