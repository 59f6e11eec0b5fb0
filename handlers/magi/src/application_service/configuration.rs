//! The one worker for catalogs and configuration of a service (spec: application-service, "Catalogs and configuration").
//! What it works on is each operation's matter.

use std::sync::Arc;

use ::application_service::Word;
use agent::EngineError;
use tokio::sync::Semaphore;
use tracing::Instrument;

use super::word;

/// Works for one request of the five at a time.
#[derive(Debug)]
pub struct ConfigurationWorker(Arc<Semaphore>);

impl Default for ConfigurationWorker {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl ConfigurationWorker {
    /// Does one request's work, to its end also when nobody waits for it any more. The worker is free again before this
    /// returns, so whoever has read an answer finds it free.
    ///
    /// # Errors
    /// [`Word::ConfigurationBusy`] while another request is worked for, or the service ends; else the word for what the work
    /// failed with, whose reason goes to the log.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, Word> {
        let Ok(place) = Arc::clone(&self.0).try_acquire_owned() else {
            return Err(Word::ConfigurationBusy);
        };
        let working = async move {
            let _place = place;
            work.await
        };
        match tokio::spawn(working.in_current_span()).await {
            Ok(done) => done.map_err(word),
            Err(error) => Err(word(error.into())),
        }
    }

    /// Takes no more work, and returns once the last has ended.
    pub async fn close(&self) {
        // It fails only for whoever comes behind another one that closed.
        let _last = self.0.acquire().await;
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicBool, Ordering};

    use agent::ErrorKind;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn one_at_a_time_and_free_with_the_answer() {
        let worker = ConfigurationWorker::default();
        let (end, ends) = oneshot::channel::<()>();
        let first = worker.run(async {
            ends.await.unwrap();
            Ok(1)
        });
        let meanwhile = async {
            assert_eq!(
                worker.run(async { Ok(2) }).await,
                Err(Word::ConfigurationBusy)
            );
            end.send(()).unwrap();
        };
        let (first, ()) = tokio::join!(first, meanwhile);
        assert_eq!(first, Ok(1));
        assert_eq!(worker.run(async { Ok(3) }).await, Ok(3));
        let failed = worker.run::<()>(async { Err(ErrorKind::Internal.into()) });
        assert_eq!(failed.await, Err(Word::InternalError));
        let panicked = worker.run::<()>(async { panic!("on purpose") }).await;
        assert_eq!(panicked, Err(Word::InternalError));
        assert_eq!(worker.run(async { Ok(4) }).await, Ok(4));
    }

    #[tokio::test]
    async fn the_end_waits_for_what_nobody_waits_for() {
        let worker = ConfigurationWorker::default();
        let (end, ends) = oneshot::channel::<()>();
        let done = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&done);
        let mut asked = Box::pin(worker.run(async move {
            ends.await.unwrap();
            tells.store(true, Ordering::SeqCst);
            Ok(())
        }));
        let asking = futures_util::poll!(&mut asked);
        assert!(asking.is_pending());
        drop(asked);
        let mut closing = Box::pin(worker.close());
        assert!(futures_util::poll!(&mut closing).is_pending());
        assert!(!done.load(Ordering::SeqCst));
        end.send(()).unwrap();
        closing.await;
        assert!(done.load(Ordering::SeqCst));
        // Nothing begins behind the end, and it can be waited for again.
        assert_eq!(
            worker.run(async { Ok(()) }).await,
            Err(Word::ConfigurationBusy)
        );
        worker.close().await;
    }
}
