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
use work::{Deadline, Expired};

use super::body::Body;
use super::http::Endpoint;
use super::quirks::{Learned, Quirks, Sent};
use super::retry;
use super::wire::{Parameters, Progress, Wire};
use crate::config::{ModelLimits, Patience};
use crate::credential::{Credential, CredentialSource};
use crate::error::{ErrorKind, ProviderError};
use crate::recorder::{Recorder, Recording};
use crate::request::Request;
use crate::response::{Chunk, Response, Retry};

/// How long after its last event a body may end for its connection to be kept.
const LEAVE: Duration = Duration::from_secs(1);

/// What all exchanges with one server share. Not `Debug`: an address may hold a key.
pub(super) struct Link {
    /// Id of the provider.
    pub(super) provider: String,
    pub(super) limits: ModelLimits,
    pub(super) wire: &'static dyn Wire,
    pub(super) endpoint: Endpoint,
    pub(super) credentials: Arc<dyn CredentialSource>,
    pub(super) recorder: Option<Arc<Recorder>>,
    pub(super) patience: Patience,
    pub(super) learned: Learned,
}

impl Link {
    fn parameters(&self, request: &Request, quirks: &Quirks) -> Parameters<'_> {
        Parameters::new(
            self.wire,
            &self.provider,
            &self.limits,
            request,
            quirks.clone(),
        )
    }

    /// The request's body by what is known of the server, and what that is.
    fn body(&self, request: &Request) -> (Bytes, Quirks) {
        let quirks = self.learned.of(&request.model);
        let parameters = self.parameters(request, &quirks);
        (self.wire.body(request, &parameters).into(), quirks)
    }
}

/// Starts a response. Nothing is sent before the first pull.
pub(super) fn start(link: Arc<Link>, request: Request, cancel: CancellationToken) -> Response {
    let span = tracing::info_span!("response", provider = link.provider, model = request.model);
    let (body, quirks) = link.body(&request);
    let exchange = Exchange {
        body,
        quirks,
        request,
        deadline: Deadline::from(cancel).within(link.patience.whole),
        link,
        attempts: 0,
        waits: 0,
        refreshed: false,
        credential: None,
        recording: None,
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

fn stalled(late: Expired) -> ProviderError {
    ProviderError::new(ErrorKind::Stalled).with_source(late)
}

struct Exchange {
    link: Arc<Link>,
    request: Request,
    /// The request's body, the same for every attempt until more is known of the server.
    body: Bytes,
    /// By what it was made.
    quirks: Quirks,
    /// Of all attempts.
    deadline: Deadline,
    /// Attempts begun.
    attempts: u32,
    /// Those of them that a wait followed.
    waits: u32,
    /// The credential was refused once and replaced.
    refreshed: bool,
    /// What the last attempt carried.
    credential: Option<Credential>,
    /// The attempt under way, where exchanges are kept.
    recording: Option<Recording>,
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
    Refresh(ProviderError),
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
            let is_over = matches!(outcome, Err(_) | Ok(State::Ended));
            if let Some(recording) = self.recording.take_if(|_| is_over) {
                recording.end(outcome.as_ref().err()).await;
            }
            self.state = match outcome {
                Ok(state) => state,
                Err(error) => self.after(error),
            };
        }
    }

    /// Does what `state` stands for; dropping the future drops the connection with it.
    async fn step(&mut self, state: State) -> Result<State, ProviderError> {
        match state {
            State::Send => self.send().await,
            State::Read(reading) => self.read(reading).await,
            State::Wait(time) => {
                sleep(time).await;
                Ok(State::Send)
            }
            State::Refresh(refusal) => match self.refresh().await {
                true => Ok(State::Send),
                false => Err(refusal),
            },
            State::Failed(_) | State::Ended => Ok(state),
        }
    }

    /// Until when the first event must arrive that is waited for from now on.
    fn first(&self) -> Deadline {
        let first = self.link.patience.first;
        let first = first.unwrap_or_else(|| self.link.wire.first_event());
        self.deadline.clone().within(first)
    }

    async fn send(&mut self) -> Result<State, ProviderError> {
        self.attempts += 1;
        let first = self.first();
        let link = &self.link;
        let asked = first.bound(link.credentials.get()).await;
        self.credential = asked
            .map_err(stalled)?
            .map_err(|error| ProviderError::new(ErrorKind::NoCredential).with_source(error))?;
        let trouble = link.credentials.trouble();
        let trouble =
            trouble.map(|error| ProviderError::new(ErrorKind::NotStored).with_source(error));
        self.ready.extend(trouble.map(Chunk::Notice));
        let target = link.wire.target(&self.request);
        let credential = self.credential.as_ref();
        let body = self.body.clone();
        self.recording = link.recorder.as_ref().and_then(|recorder| {
            let model = &self.request.model;
            recorder.begin(&link.provider, model, self.attempts, body.clone())
        });
        let recording = self.recording.as_mut();
        let sending = link.endpoint.send(body, credential, &target, recording);
        let answer = first.bound(sending).await.map_err(stalled)??;
        let parameters = link.parameters(&self.request, &self.quirks);
        let body = Body::new(link.wire.reader(&self.request, &parameters));
        Ok(State::Read(Box::new(Reading {
            answer,
            body,
            first,
            leave: None,
        })))
    }

    async fn read(&mut self, mut reading: Box<Reading>) -> Result<State, ProviderError> {
        let patience = &self.link.patience;
        let until = match (&reading.leave, reading.body.has_begun()) {
            (Some(leave), _) => leave.clone(),
            (None, true) => self.deadline.clone().within(patience.stall),
            (None, false) => reading.first.clone(),
        };
        let arrived = until.bound(reading.answer.chunk()).await.map_err(stalled);
        let arrived = arrived.and_then(|read| {
            read.map_err(|error| {
                ProviderError::new(ErrorKind::Interrupted).with_source(error.without_url())
            })
        });
        let bytes = match arrived {
            Ok(bytes) => bytes,
            Err(failure) => {
                reading.body.break_off(failure)?;
                self.ready.append(reading.body.pieces());
                return Ok(State::Ended);
            }
        };
        if let (Some(recording), Some(bytes)) = (&mut self.recording, &bytes) {
            recording.arrived(bytes);
        }
        let progress = reading.body.read(bytes.as_deref());
        let pieces = reading.body.pieces();
        // Counts are replaced by later ones, and raw thinking is neither shown nor kept.
        let is_silent = |chunk: &Chunk| match chunk {
            Chunk::Reasoning {
                provider_summary, ..
            } => !provider_summary,
            chunk => matches!(chunk, Chunk::Usage(_)),
        };
        self.spoken |= !pieces.iter().all(is_silent);
        self.ready.append(pieces);
        let progress = progress.map_err(|error| match reading.answer.status().as_u16() {
            200 => error,
            status => error.with_status(status),
        });
        match progress? {
            Progress::More => {}
            Progress::Finishing => {
                let leave = || {
                    self.deadline
                        .clone()
                        .within(patience.leave.min(patience.stall))
                };
                reading.leave.get_or_insert_with(leave);
            }
            Progress::Done => {
                reading.leave().await;
                return Ok(State::Ended);
            }
        }
        Ok(State::Read(reading))
    }

    /// Whether the credential that was refused has been replaced.
    async fn refresh(&mut self) -> bool {
        let Some(credential) = &self.credential else {
            return false;
        };
        let replacing = self.link.credentials.rejected(&credential.secret);
        let why = match self.first().bound(replacing).await {
            Ok(Ok(replaced)) => return replaced,
            Ok(Err(error)) => error.to_string(),
            Err(late) => late.to_string(),
        };
        tracing::info!(why, "a refused credential could not be replaced");
        false
    }

    /// What follows a failed attempt.
    fn after(&mut self, mut error: ProviderError) -> State {
        let link = &self.link;
        if error == ErrorKind::Unauthorized
            && let Some(origin) = link.credentials.origin()
        {
            error = error.with_about(&origin);
        }
        tracing::debug!(
            kind = %error.kind(),
            status = error.status(),
            cause = error.cause(),
            attempt = self.attempts,
            "an attempt failed"
        );
        if self.spoken {
            return State::Failed(error);
        }
        let parameters = link.parameters(&self.request, &self.quirks);
        let sent = Sent {
            body: &self.body,
            quirks: &self.quirks,
            optional: link.wire.optional(),
            messages: &self.request.messages,
            images: parameters.taken_images(),
        };
        if link.learned.learn(&self.request.model, &error, &sent) {
            (self.body, self.quirks) = link.body(&self.request);
            return State::Send;
        }
        // 403 is about the account, the region, the model: another token changes nothing of that.
        let is_refused = error == ErrorKind::Unauthorized && error.status() == Some(401);
        if is_refused && !std::mem::replace(&mut self.refreshed, true) {
            return State::Refresh(error);
        }
        self.waits += 1;
        match retry::wait(&error, self.waits, &link.patience) {
            None => State::Failed(error),
            Some(wait) => {
                self.ready.clear();
                self.ready.push_back(Chunk::Retry(Retry {
                    attempt: self.attempts,
                    wait,
                    why: error,
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
