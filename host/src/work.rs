//! How much a process does at once: slots for requests, and threads for what blocks. Both are held until
//! the work has really ended, whoever stopped waiting for it. Knows no dialect and no engine.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use crate::dialect::Rules;
use crate::panics;

/// Threads that blocking work may occupy at once, however many processors there are.
const THREADS: usize = 16;
const FEWEST_THREADS: usize = 4;

/// The bounds that all connections of a process share.
#[derive(Clone, Debug)]
pub struct Workers {
    slots: Arc<Semaphore>,
    threads: Arc<Semaphore>,
}

/// The right to serve one request. Clones share it: it is free again when the last one is dropped.
#[derive(Clone, Debug)]
pub struct Slot(#[expect(dead_code, reason = "held, never read")] Arc<OwnedSemaphorePermit>);

/// Why blocking work gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum Interrupted {
    /// Nobody waits for it any more.
    #[error("the work was cancelled")]
    Cancelled,
    /// The system gave no thread for it.
    #[error("no thread could be started: {0}")]
    NoThread(#[source] io::Error),
    /// It panicked; the payload is in the log.
    #[error("the work failed unexpectedly")]
    Panicked,
}

impl Workers {
    /// The bounds of a process that serves the dialect of these rules.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        let processors = thread::available_parallelism().map_or(FEWEST_THREADS, usize::from);
        Self {
            slots: Arc::new(Semaphore::new(rules.requests)),
            threads: Arc::new(Semaphore::new(processors.clamp(FEWEST_THREADS, THREADS))),
        }
    }

    /// Waits for a free slot.
    ///
    /// # Errors
    /// Never while the process serves: nobody closes the bound.
    pub async fn slot(&self) -> io::Result<Slot> {
        let permit = Arc::clone(&self.slots).acquire_owned().await;
        Ok(Slot(Arc::new(permit.map_err(io::Error::other)?)))
    }

    /// Runs `work` on a thread of its own, as soon as fewer than the bound run. Dropping the future cancels
    /// the token that the work was given; thread and `slot` stay taken until the work has returned.
    pub(crate) async fn blocking<R: Send + 'static>(
        &self,
        slot: Option<Slot>,
        cancel: CancellationToken,
        work: impl FnOnce(&CancellationToken) -> R + Send + 'static,
    ) -> Result<R, Interrupted> {
        let _on_drop = cancel.clone().drop_guard();
        let thread = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Interrupted::Cancelled),
            permit = Arc::clone(&self.threads).acquire_owned() => permit,
        };
        let (sender, result) = oneshot::channel();
        let token = cancel.clone();
        let spawned = thread::Builder::new().name("work".into()).spawn(move || {
            let held = (thread, slot);
            let done = catch_unwind(AssertUnwindSafe(|| work(&token)));
            let done = done.map_err(|payload| panics::caught("blocking work", &*payload));
            // Whoever gets the result may rely on the thread being free again.
            drop(held);
            // Nobody may wait any more; then the result is for nobody.
            drop(sender.send(done));
        });
        spawned.map_err(Interrupted::NoThread)?;
        match result.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(())) | Err(_) => Err(Interrupted::Panicked),
        }
    }
}
