//! What a handler is given: its engine, its cancellation, its event sink and what the process advertises.
//! Engines are looked up by type, so the wire names none of them.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::dialect::Rules;
use crate::event::{Emitted, EventSink};
use crate::work::{Interrupted, Slot, Workers};

/// The engines that handlers may ask for, by type. `()` is always there.
#[derive(Clone, Default)]
pub struct Engines(Vec<(TypeId, Arc<dyn Any + Send + Sync>)>);

impl Engines {
    #[must_use]
    pub fn with<E: Send + Sync + 'static>(mut self, engine: Arc<E>) -> Self {
        self.0.push((TypeId::of::<E>(), engine));
        self
    }

    /// Whether handlers of this engine type can be served.
    #[must_use]
    pub fn has(&self, engine: TypeId) -> bool {
        engine == TypeId::of::<()>() || self.0.iter().any(|(id, _)| *id == engine)
    }

    fn get<E: Send + Sync + 'static>(&self) -> Option<Arc<E>> {
        if TypeId::of::<E>() == TypeId::of::<()>() {
            return (Arc::new(()) as Arc<dyn Any + Send + Sync>).downcast().ok();
        }
        let (_, engine) = self.0.iter().find(|(id, _)| *id == TypeId::of::<E>())?;
        Arc::clone(engine).downcast().ok()
    }
}

/// Whether operations that need initialization may run on this connection, and the word that says why not.
#[derive(Debug)]
pub struct Gate(Mutex<Option<&'static str>>);

impl Gate {
    pub(crate) fn closed(word: &'static str) -> Self {
        Self(Mutex::new(Some(word)))
    }

    pub fn open(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// From now on refused with `word`, a word of the dialect.
    pub fn close(&self, word: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(word);
    }

    /// The word to refuse with, or `None` when open.
    #[must_use]
    pub fn word(&self) -> Option<&'static str> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server's own name and version, and the transports that the composition root offers.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    pub name: &'static str,
    pub version: &'static str,
    pub transports: &'static [&'static str],
}

/// What a dialect serves in this process, in advertised order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    pub operations: Vec<&'static str>,
    pub events: Vec<&'static str>,
}

/// What all requests of one client's connection share.
pub struct Shared {
    pub advertised: Advertised,
    pub server: Server,
    pub rules: &'static Rules,
    pub engines: Engines,
    pub workers: Workers,
    pub gate: Gate,
    pub cancel: CancellationToken,
}

/// A request's context before its engine's type is known.
#[derive(Clone)]
pub struct RawCx {
    pub(crate) connection: Arc<Shared>,
    pub(crate) events: mpsc::Sender<Emitted>,
    pub(crate) request_id: Option<Arc<str>>,
    pub(crate) session_id: Option<Arc<str>>,
    pub(crate) cancel: CancellationToken,
    /// What bounds the requests served at once, in loops that bound them.
    pub(crate) slot: Option<Slot>,
}

impl RawCx {
    /// The context for a handler that works with engine `B`; `None` when the root supplied no such engine.
    #[must_use]
    pub fn typed<B: Send + Sync + 'static>(self) -> Option<Cx<B>> {
        Some(Cx {
            engine: self.connection.engines.get::<B>()?,
            raw: self,
        })
    }
}

/// A request's context.
pub struct Cx<B> {
    engine: Arc<B>,
    raw: RawCx,
}

impl<B> Cx<B> {
    #[must_use]
    pub fn engine(&self) -> &Arc<B> {
        &self.engine
    }

    /// Runs work that blocks on a thread of its own. The process has a bounded number of those; the work gets
    /// a token that is cancelled when the connection closes or this future is dropped, and should end then.
    /// Until it has ended it counts as a request that is served.
    ///
    /// # Errors
    /// When it was cancelled before it began, no thread could be started, or it panicked.
    pub async fn blocking<R: Send + 'static>(
        &self,
        work: impl FnOnce(&CancellationToken) -> R + Send + 'static,
    ) -> Result<R, Interrupted> {
        let (slot, cancel) = (self.raw.slot.clone(), self.raw.cancel.child_token());
        self.raw
            .connection
            .workers
            .blocking(slot, cancel, work)
            .await
    }

    /// Cancelled when the connection closes. Long work must end promptly then.
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        self.raw.cancel.clone()
    }

    /// Where follow-up work sends events that belong to this request.
    #[must_use]
    pub fn events(&self) -> EventSink {
        EventSink {
            queue: self.raw.events.clone(),
            request_id: self.raw.request_id.clone(),
            session_id: self.raw.session_id.clone(),
        }
    }

    /// The envelope's session identity, in dialects that have one.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.raw.session_id.as_deref()
    }

    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.raw.connection.gate
    }

    #[must_use]
    pub fn server(&self) -> Server {
        self.raw.connection.server
    }

    #[must_use]
    pub fn rules(&self) -> &'static Rules {
        self.raw.connection.rules
    }

    /// Every operation that this dialect serves in this process, in advertised order.
    #[must_use]
    pub fn operations(&self) -> &[&'static str] {
        &self.raw.connection.advertised.operations
    }

    /// Every event that this dialect may send in this process, in advertised order.
    #[must_use]
    pub fn event_names(&self) -> &[&'static str] {
        &self.raw.connection.advertised.events
    }
}
