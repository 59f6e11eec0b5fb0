//! Events: their registration, with what their consumers must expect of their delivery, and the way out.
//! Nothing is dropped here; what may drop is dropped by the engine, which alone can count and mark it.

use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use tokio::sync::mpsc::{self, error::TrySendError};

/// Makes a type's schema.
pub type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// Whether an event may be missing because the output was behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    MustArrive,
    MayDrop,
}

/// A registered event of a dialect; made by [`crate::event!`] only.
pub struct EventKind {
    pub dialect: &'static str,
    pub name: &'static str,
    pub position: u16,
    pub delivery: Delivery,
    pub doc: &'static [&'static str],
    pub data: SchemaFn,
}

inventory::collect!(EventKind);

/// The data of one kind of event; made by [`crate::wire_event!`], or by [`crate::event!`] where it registers the event too.
pub trait WireEvent: Serialize + Send {
    const NAME: &'static str;
    const DELIVERY: Delivery;
}

/// An event whose kind is registered as `MayDrop`: only such a one can be given to what may leave it out.
pub trait MayDrop: WireEvent {}

/// An event on its way to the loop, encoded but not yet in an envelope.
#[derive(Debug)]
pub(crate) struct Emitted {
    pub(crate) name: &'static str,
    pub(crate) data: String,
    pub(crate) request_id: Option<std::sync::Arc<str>>,
    pub(crate) session_id: Option<std::sync::Arc<str>>,
}

/// The connection is gone, or the event could not be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event could not be delivered")]
pub struct Undelivered;

/// Where a handler's follow-up work sends its events. The queue behind it is bounded and in order.
#[derive(Clone)]
pub struct EventSink {
    pub(crate) queue: mpsc::Sender<Emitted>,
    pub(crate) request_id: Option<std::sync::Arc<str>>,
    pub(crate) session_id: Option<std::sync::Arc<str>>,
}

impl EventSink {
    /// The same sink with the session identity that later events carry in their envelope.
    #[must_use]
    pub fn for_session(mut self, session_id: &str) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// Queues an event, waiting for room.
    ///
    /// # Errors
    /// When the connection is gone, or the event is no JSON.
    pub async fn send<E: WireEvent>(&self, event: &E) -> Result<(), Undelivered> {
        let emitted = self.encode(event)?;
        let sent = self.queue.send(emitted).await;
        sent.map_err(|gone| undelivered(E::NAME, &gone))
    }

    /// Queues an event that may be left out, if there is room. Says whether it was queued: who leaves one out
    /// counts or marks it.
    ///
    /// # Errors
    /// When the connection is gone, or the event is no JSON.
    pub fn try_send<E: MayDrop>(&self, event: &E) -> Result<bool, Undelivered> {
        match self.queue.try_send(self.encode(event)?) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(_)) => Ok(false),
            Err(gone) => Err(undelivered(E::NAME, &gone)),
        }
    }

    fn encode<E: WireEvent>(&self, event: &E) -> Result<Emitted, Undelivered> {
        let data = serde_json::to_string(event);
        Ok(Emitted {
            name: E::NAME,
            data: data.map_err(|cause| undelivered(E::NAME, &cause))?,
            request_id: self.request_id.clone(),
            session_id: self.session_id.clone(),
        })
    }
}

fn undelivered(event: &'static str, cause: &dyn std::error::Error) -> Undelivered {
    tracing::debug!(event, %cause, "an event could not be delivered");
    Undelivered
}
