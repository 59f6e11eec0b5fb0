//! The facade that callers hold: admission and status of one process.
//! State is behind one lock, which is never held across a wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::startup::{self, Environment, InitializeError, Reached, StartupError};

/// How far the process has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Uninitialized,
    Starting,
    Ready,
    Failed(StartupError),
}

/// What the process says of itself; names are safe to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub phase: Phase,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub context_id: Option<String>,
    pub session_id: Option<String>,
    pub run_id: Option<String>,
}

/// The engine of one process.
pub struct Backend {
    environment: Environment,
    status: Mutex<Status>,
    cancel: CancellationToken,
}

impl Backend {
    /// Touches nothing.
    #[must_use]
    pub fn new(environment: Environment) -> Arc<Self> {
        Arc::new(Self {
            environment,
            status: Mutex::default(),
            cancel: CancellationToken::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits one startup for the life of the process; returns after readiness or failure.
    pub async fn initialize(
        self: &Arc<Self>,
        cancel: CancellationToken,
    ) -> Result<Status, InitializeError> {
        {
            let mut status = self.lock();
            if status.phase != Phase::Uninitialized {
                return Err(InitializeError::AlreadyInitialized);
            }
            status.phase = Phase::Starting;
        }
        let environment = self.environment.clone();
        let worker = tokio::task::spawn_blocking(move || {
            let mut reached = Reached::default();
            let admitted = startup::admit(&environment, &mut reached);
            (admitted, reached)
        });
        let (admitted, reached) = tokio::select! {
            done = worker => done.unwrap_or_else(|_| (Err(StartupError::Failed), Reached::default())),
            () = cancel.cancelled() => (Err(StartupError::Cancelled), Reached::default()),
            () = self.cancel.cancelled() => (Err(StartupError::Cancelled), Reached::default()),
        };
        let mut status = self.lock();
        status.provider = reached.provider;
        status.model = reached.model;
        status.context_id = reached.context_id;
        match admitted {
            Ok(()) => {
                status.phase = Phase::Ready;
                Ok(status.clone())
            }
            Err(error) => {
                status.phase = Phase::Failed(error);
                Err(error.into())
            }
        }
    }

    #[must_use]
    pub fn status(&self) -> Status {
        self.lock().clone()
    }

    /// Creates the runtime directories and the settings schema, for a dialect whose launch may do so
    /// before any request.
    pub fn prepare(&self) -> Result<(), StartupError> {
        startup::prepare(&self.environment)
    }

    /// Whether the provider that is selected now could authenticate, from settings and environment as
    /// they stand. Errs when they cannot be read.
    pub fn provider_ready(&self) -> Result<bool, StartupError> {
        startup::provider_ready(&self.environment)
    }

    /// Cancels what runs; callers bound the wait for its teardown.
    pub async fn close(&self) {
        self.cancel.cancel();
    }
}
