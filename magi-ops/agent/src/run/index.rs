//! The runs of the process by their ids, and the threads that work for those beside the first.
//! What a run does stands beside; who may start one is decided by the engine.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use dashmap::DashMap;
use store::sessions::SessionId;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::active::ActiveRun;
use super::spec::RunSpec;
use crate::error::ErrorKind;

/// Most threads for runs beside the first.
const MAX_THREADS: usize = 4;

/// Every run that was admitted and is not settled.
#[derive(Debug, Default)]
pub(crate) struct Runs(DashMap<String, Arc<ActiveRun>>);

impl Runs {
    /// Makes a run known. It ends when `all` or its parent is cancelled.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownRun`] when its parent is none.
    pub(crate) fn admit(
        &self,
        session: SessionId,
        spec: RunSpec,
        all: &CancellationToken,
    ) -> Result<Arc<ActiveRun>, ErrorKind> {
        let active = match &spec.parent {
            None => ActiveRun::new(session, spec, all.child_token()),
            Some(parent) => {
                let parent = self.get(&parent.run_id).ok_or(ErrorKind::UnknownRun)?;
                ActiveRun::beneath(&parent, session, spec)
            }
        };
        let active = Arc::new(active);
        self.0.insert(active.run_id.clone(), Arc::clone(&active));
        Ok(active)
    }

    pub(crate) fn get(&self, run_id: &str) -> Option<Arc<ActiveRun>> {
        self.0.get(run_id).map(|run| Arc::clone(&run))
    }

    pub(crate) fn of_session(&self, id: &SessionId) -> Option<Arc<ActiveRun>> {
        let run = self.0.iter().find(|run| run.session == *id)?;
        Some(Arc::clone(&run))
    }

    /// How many there are, those aside that work for others.
    pub(crate) fn len(&self) -> usize {
        let own = |run: &Arc<ActiveRun>| run.spec.parent.is_none();
        self.0.iter().filter(|run| own(run)).count()
    }

    /// Whether the worker of a run is not done.
    pub(crate) fn is_working(&self) -> bool {
        self.0.iter().any(|run| !run.has_ended())
    }

    /// Forgets a run that is over on both sides; says whether it is.
    pub(crate) fn settle(&self, active: &ActiveRun) -> bool {
        let over = active.is_over();
        if over {
            self.0.remove(&active.run_id);
        }
        over
    }
}

/// Threads for runs beside the first. None is there before a second run is.
#[derive(Debug, Default)]
pub(crate) struct Workers(OnceLock<Option<Runtime>>);

impl Workers {
    /// Starts `work` on the caller's runtime, or, where it runs beside other runs, on threads for such.
    pub(crate) fn spawn(&self, beside: bool, work: impl Future<Output = ()> + Send + 'static) {
        let threads = beside.then(|| self.0.get_or_init(start).as_ref());
        match threads.flatten() {
            Some(threads) => drop(threads.spawn(work)),
            None => drop(tokio::spawn(work)),
        }
    }
}

fn start() -> Option<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads = Builder::new_multi_thread();
    threads
        .worker_threads(cores.min(MAX_THREADS))
        .thread_name("runs")
        .enable_io()
        .enable_time();
    // A system that gives no more threads makes the builder panic.
    match std::panic::catch_unwind(AssertUnwindSafe(|| threads.build())) {
        Ok(Ok(started)) => Some(started),
        Ok(Err(error)) => {
            tracing::warn!(%error, "no threads for runs: they share one");
            None
        }
        Err(_panicked) => {
            tracing::warn!("the system gives no threads for runs: they share one");
            None
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // Whoever lets go of the engine may be a task, which must not wait for others.
        if let Some(threads) = self.0.take().flatten() {
            threads.shutdown_background();
        }
    }
}
