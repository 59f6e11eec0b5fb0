//! One client's connection: what its requests share, and the registry that its loop dispatches by.
//! Knows no frame and no loop.

use std::ops::Deref;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::context::{Advertised, Engines, Gate, Server, Shared};
use crate::dialect::Dialect;
use crate::registry::{MissingEngine, Registry};
use crate::work::Workers;

/// One client's connection, shared by all its requests.
pub struct Connection {
    pub registry: Arc<Registry>,
    pub(crate) shared: Arc<Shared>,
}

impl Connection {
    /// A connection of dialect `D` with the engines that its handlers may ask for.
    ///
    /// # Errors
    /// When a linked operation of the dialect works with an engine that is not among them: such a binary is
    /// wrongly composed and must not start.
    pub fn new<D: Dialect>(
        registry: Arc<Registry>,
        server: Server,
        engines: Engines,
        workers: Workers,
    ) -> Result<Arc<Self>, MissingEngine> {
        registry.has_engines(D::NAME, &engines)?;
        let shared = Arc::new(Shared {
            advertised: Advertised {
                operations: registry.methods(D::NAME),
                events: registry.event_names(D::NAME),
            },
            server,
            rules: D::RULES,
            engines,
            workers,
            gate: Gate::closed(D::RULES.standard.not_initialized),
            cancel: CancellationToken::new(),
        });
        Ok(Arc::new(Self { registry, shared }))
    }
}

impl Deref for Connection {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}
