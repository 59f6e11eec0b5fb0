//! Events: their registration, with what their consumers must expect of their delivery, and the way out.
//! Nothing is dropped here; what may drop is dropped by the engine, which alone can count and mark it.

use serde::Serialize;
use tokio::sync::mpsc;

use crate::operation::SchemaFn;

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

/// The data of one kind of event.
pub trait WireEvent: Serialize + Send {
    const NAME: &'static str;
}

/// An event on its way to the loop, encoded but not yet in an envelope.
#[derive(Debug)]
// A dialect without correlated events does not read the identities.
#[cfg_attr(
    not(any(feature = "local-agent", feature = "application-service")),
    expect(dead_code)
)]
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

    /// Queues an event, waiting for room. Errs when the connection is gone.
    pub async fn send<E: WireEvent>(&self, event: &E) -> Result<(), Undelivered> {
        let emitted = self.encode(event)?;
        self.queue.send(emitted).await.map_err(|_| Undelivered)
    }

    fn encode<E: WireEvent>(&self, event: &E) -> Result<Emitted, Undelivered> {
        Ok(Emitted {
            name: E::NAME,
            data: serde_json::to_string(event).map_err(|_| Undelivered)?,
            request_id: self.request_id.clone(),
            session_id: self.session_id.clone(),
        })
    }
}
