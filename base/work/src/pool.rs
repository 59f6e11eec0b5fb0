//! Threads for what blocks, as many as the pool has slots. A slot is held until its work has really ended, whoever
//! waits for it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};

/// So much blocking work at once; what is beyond it waits. Clones share the slots.
#[derive(Clone, Debug)]
pub struct Pool {
    slots: Arc<Semaphore>,
    count: u32,
}

/// Why work gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum Interrupted {
    #[error("the work panicked or its runtime ended")]
    Broken(#[from] tokio::task::JoinError),
    /// Never while somebody holds the pool.
    #[error("the pool is closed")]
    Closed(#[from] tokio::sync::AcquireError),
}

impl Pool {
    #[must_use]
    pub fn new(count: u32) -> Self {
        let slots = Arc::new(Semaphore::new(count as usize));
        Self { slots, count }
    }

    /// Does `work` on a thread that may block, once a slot is free. Dropping the future before that is the end of it;
    /// afterwards the work goes on for nobody and keeps its slot.
    ///
    /// # Errors
    /// When the work panicked, or its runtime ends.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Interrupted> {
        let slot = Arc::clone(&self.slots).acquire_owned().await?;
        on_thread(slot, work).await?
    }

    /// The same without waiting for its end, also not for that of others. Must be called within a runtime.
    ///
    /// # Errors
    /// The handle gives those of [`Self::run`].
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<Result<T, Interrupted>> {
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            return on_thread(slot, work);
        }
        let pool = self.clone();
        tokio::spawn(async move { pool.run(work).await })
    }

    /// Waits until none of its work goes on.
    pub async fn idle(&self) {
        // Fails for a closed pool only, where nothing goes on.
        drop(self.slots.acquire_many(self.count).await);
    }
}

fn on_thread<T: Send + 'static>(
    slot: OwnedSemaphorePermit,
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<Result<T, Interrupted>> {
    spawn_blocking(move || {
        let done = work();
        // Whoever gets the result may rely on the slot being free again.
        drop(slot);
        Ok(done)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_slot_is_held_until_the_work_has_ended_whoever_waits() {
        let pool = Pool::new(1);
        let (end, ends) = mpsc::channel::<()>();
        let (began, begins) = tokio::sync::oneshot::channel();
        let forgotten = pool.spawn(move || {
            began.send(()).unwrap();
            ends.recv()
        });
        begins.await.unwrap();
        forgotten.abort();
        let next = pool.spawn(|| 2);
        tokio::task::yield_now().await;
        assert!(!next.is_finished());
        end.send(()).unwrap();
        assert_eq!(next.await.unwrap().unwrap(), 2);
        pool.idle().await;
    }

    #[tokio::test]
    async fn work_that_panics_gives_its_slot_back() {
        let pool = Pool::new(1);
        let panicked = pool.run(|| panic!("a fault")).await;
        assert!(matches!(panicked, Err(Interrupted::Broken(_))));
        assert_eq!(pool.run(|| 1).await.unwrap(), 1);
    }
}
