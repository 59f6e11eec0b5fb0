//! A request of the concurrent loop from its admission to the end of what it started, and its events.
//! When anything is read or written is the parent's.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::task::JoinError;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::{Duplex, Finished, Followed, Stop, unencodable};
use crate::context::RawCx;
use crate::correlate::NotAdmitted;
use crate::dialect::{Codec, Identity, Refusal};
use crate::event::Emitted;
use crate::operation::{Class, HandlerFuture, Needs, Operation, Refused, SessionField};
use crate::reply::{After, Outcome};

impl<D: Codec> Duplex<D> {
    pub(super) async fn request(
        &mut self,
        identity: Identity,
        params: &str,
        fault: Option<&'static str>,
    ) -> Result<(), Stop> {
        let standard = &self.rules.standard;
        match self
            .correlation
            .admit(identity.id.as_deref().unwrap_or_default())
        {
            Ok(()) => {}
            Err(NotAdmitted::Duplicate) => return self.fail(&identity, standard.duplicate, None),
            Err(NotAdmitted::Exhausted) => {
                let code = standard.exhausted;
                return self.refuse(&Refusal {
                    identity,
                    code,
                    closes: true,
                });
            }
        }
        let (operation, mut work, span) = match self.start(&identity, params, fault) {
            Ok(started) => started,
            Err(code) => return self.fail(&identity, code, identity.id.clone()),
        };
        let class = operation.class;
        // Most handlers answer without waiting; those need no task.
        let first = std::future::poll_fn(|cx| Poll::Ready(work.poll_unpin(cx))).await;
        match first {
            Poll::Ready(outcome) => self.finish(Finished {
                identity,
                class: None,
                outcome,
                span,
            }),
            Poll::Pending => {
                self.exclusive_busy |= class == Class::Exclusive;
                self.background += usize::from(class == Class::Background);
                self.running.spawn(async move {
                    Finished {
                        identity,
                        class: Some(class),
                        outcome: work.await,
                        span,
                    }
                });
                Ok(())
            }
        }
    }

    /// Finds and starts the operation, or gives the word that refuses it. `fault` is what the dialect
    /// found wrong with the request.
    fn start(
        &self,
        identity: &Identity,
        params: &str,
        fault: Option<&'static str>,
    ) -> Result<(&'static Operation, HandlerFuture, Span), &'static str> {
        let standard = &self.rules.standard;
        let method = identity.method.as_deref().unwrap_or_default();
        let Some(operation) = self.connection.registry.find(self.rules.name, method) else {
            return Err(fault.unwrap_or(standard.unsupported));
        };
        let cx = RawCx {
            connection: Arc::clone(&self.connection.shared),
            events: self.events.clone(),
            request_id: identity.id.clone(),
            session_id: identity.session_id.clone(),
            cancel: self.connection.cancel.child_token(),
            slot: None,
        };
        if let Some(code) = fault {
            // Only params that are wrong yield to what refuses the request whatever they are.
            let before = operation.before.filter(|_| code == standard.invalid_params);
            let refused = before.and_then(|before| before(cx).err());
            return Err(refused.map_or(code, |fault| fault.code));
        }
        let session_fits = match operation.session {
            SessionField::Omitted => identity.session_id.is_none(),
            SessionField::Required => identity.session_id.is_some(),
            SessionField::Optional => true,
        };
        if !session_fits {
            return Err(standard.invalid_session);
        }
        let work = operation
            .start(cx, params)
            .map_err(|refused| match refused {
                Refused::Params(_) => standard.invalid_params,
                Refused::Invalid(fault) => fault.code,
                Refused::NoEngine => standard.internal,
            })?;
        if operation.needs == Needs::Initialization
            && let Some(word) = self.connection.gate.word()
        {
            return Err(word);
        }
        if operation.class == Class::Exclusive && self.exclusive_busy {
            return Err(standard.busy);
        }
        let internal = self.rules.fault(standard.internal);
        let id = identity.id.as_deref();
        let span = tracing::debug_span!("request", method = operation.method, id);
        span.in_scope(|| tracing::debug!("a request is served"));
        let work = AssertUnwindSafe(work.instrument(span.clone()));
        let guarded = work.catch_unwind().map(|outcome| {
            outcome.unwrap_or_else(|payload| {
                crate::panics::caught("a handler", &*payload);
                Outcome::failed(internal)
            })
        });
        Ok((operation, Box::pin(guarded), span))
    }

    pub(super) fn finish(&mut self, finished: Finished) -> Result<(), Stop> {
        let Finished {
            identity,
            class,
            outcome,
            span,
        } = finished;
        match class {
            Some(Class::Exclusive) => self.exclusive_busy = false,
            Some(Class::Background) => {
                self.background -= 1;
                // The answer is only to be delivered yet.
                if self.closing.is_some() && !self.rules.background.is_zero() {
                    self.closing = Some(Instant::now() + self.rules.closing);
                }
            }
            Some(Class::Inline) | None => {}
        }
        let encoded = match &outcome.result {
            Ok(body) => self.dialect.answer(&identity, Ok(body)),
            Err(fault) => self.dialect.answer(&identity, Err(fault)),
        };
        let bytes = match encoded {
            Ok(bytes) => bytes,
            Err(error) if self.rules.output.strict => return Err(unencodable(&error)),
            Err(_) => {
                let code = self.rules.standard.oversize;
                return self.fail(&identity, code, identity.id.clone());
            }
        };
        let release = identity.id.clone().filter(|_| outcome.then.is_none());
        self.outbox.push(bytes, release)?;
        if let Some(work) = outcome.then {
            let id = identity.id;
            // A panicking follow-up must not leave its identity reserved for ever.
            let guarded = AssertUnwindSafe(work.instrument(span)).catch_unwind();
            self.follow_ups.spawn(guarded.map(|held| {
                let held = held.inspect_err(|payload| {
                    crate::panics::caught("the work after an answer", &**payload);
                });
                (id, held.ok())
            }));
        }
        if outcome.after == After::Close {
            self.close();
        }
        Ok(())
    }

    /// Releases what a request kept, behind all that it sent.
    pub(super) fn followed_up(
        &mut self,
        done: Result<Followed, JoinError>,
        events: &mut mpsc::Receiver<Emitted>,
    ) -> Result<(), Stop> {
        while let Ok(event) = events.try_recv() {
            self.event(event)?;
        }
        if let Ok((id, held)) = done
            && let Some(free) = self.outbox.release_after(id, held)
        {
            self.correlation.release(&free);
        }
        Ok(())
    }

    pub(super) fn event(&mut self, event: Emitted) -> Result<(), Stop> {
        let origin = Identity {
            id: event.request_id,
            session_id: event.session_id,
            method: None,
        };
        let bytes = self
            .dialect
            .event(&origin, event.name, &event.data)
            .map_err(|error| unencodable(&error))?;
        Ok(self.outbox.push(bytes, None)?)
    }
}
