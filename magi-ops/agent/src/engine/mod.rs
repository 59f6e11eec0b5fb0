//! The engine of one process: what it is made of, what startup admits into it, and how it ends.
//! Sessions stand in `sessions`, runs in `runs`; who may do what when is for the families to say.

mod catalogs;
mod configuration;
mod recent;
mod runs;
mod sessions;
mod setting;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use store::sessions::SessionId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use work::Pool;

use crate::attach::{Attachment, Conversation, Lifetime};
use crate::error::{EngineError, ErrorKind};
use crate::run::{Runs, Workers};
use crate::startup::{
    self, Environment, Services, StartupError, StartupErrorKind, StartupStatus, Workspace,
};

pub use catalogs::Refreshed;
pub use configuration::{Configuration, configuration, configure};
use recent::Recent;
pub use sessions::Detached;
pub use setting::{Setting, effective, set};

/// The sessions that a process holds.
type SessionTable = HashMap<SessionId, Attachment>;

/// Threads that work for the engine where they may block; more wait for one of them.
const BLOCKING: u32 = 16;

/// How much one process holds at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Attached sessions.
    pub sessions: usize,
    /// Active runs.
    pub runs: usize,
}

/// The engine of one process.
#[derive(Debug)]
pub struct Engine {
    environment: Environment,
    /// Started with the first workspace, if not before.
    services: OnceLock<Arc<Services>>,
    capacity: Capacity,
    /// Never locked across a wait. Runs are admitted and settled under it.
    table: Mutex<SessionTable>,
    recent: Mutex<Recent>,
    runs: Runs,
    workers: Workers,
    /// Sessions that had a run in this process.
    started: Mutex<HashSet<String>>,
    blocking: Pool,
    /// Cancels everything; fires once, at the end.
    cancel: CancellationToken,
    /// Told whenever a run ends.
    idle: Notify,
    /// Held while the end is under way, so that everyone who asks for it waits for it.
    closing: tokio::sync::Mutex<()>,
    /// Held while a session is attached by its lease, let go, or read for a run.
    admission: tokio::sync::Mutex<()>,
}

impl Engine {
    /// Touches nothing.
    #[must_use]
    pub fn new(environment: Environment, capacity: Capacity) -> Arc<Self> {
        Arc::new(Self {
            environment,
            services: OnceLock::new(),
            capacity,
            table: Mutex::default(),
            recent: Mutex::default(),
            runs: Runs::default(),
            workers: Workers::default(),
            started: Mutex::default(),
            blocking: Pool::new(BLOCKING),
            cancel: CancellationToken::new(),
            idle: Notify::new(),
            closing: tokio::sync::Mutex::default(),
            admission: tokio::sync::Mutex::default(),
        })
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn table(&self) -> MutexGuard<'_, SessionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more session may be attached, once `instead_of` is not any more.
    fn has_place(
        &self,
        table: &SessionTable,
        instead_of: Option<&SessionId>,
    ) -> Result<(), ErrorKind> {
        let freed = instead_of.is_some_and(|id| table.contains_key(id));
        if table.len() < self.capacity.sessions + usize::from(freed) {
            Ok(())
        } else {
            Err(ErrorKind::TooManySessions)
        }
    }

    /// Fires when the engine is about to end: nothing is admitted any more.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// The directory that the process runs in, as it was given.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.environment.cwd
    }

    /// The same under its real name. Blocks.
    ///
    /// # Errors
    /// When there is no such directory.
    pub fn canonical_directory(&self) -> Result<PathBuf, EngineError> {
        Ok(self.environment.canonical_cwd()?)
    }

    /// Starts what all workspaces share, unless it is started. Creates what is missing of the home. Blocks.
    ///
    /// # Errors
    /// When there is no home, or the engine ends.
    pub fn start_services(&self) -> Result<(), EngineError> {
        self.services_until(&self.cancel)?;
        Ok(())
    }

    fn services_until(&self, stop: &CancellationToken) -> Result<&Arc<Services>, StartupError> {
        if let Some(services) = self.services.get() {
            return Ok(services);
        }
        let started = Services::start(&self.environment, stop)?;
        Ok(self.services.get_or_init(|| Arc::new(started)))
    }

    fn services(&self) -> Result<&Arc<Services>, ErrorKind> {
        self.services.get().ok_or(ErrorKind::NotInitialized)
    }

    /// Keeps sessions in another store than the home's.
    #[cfg(test)]
    pub(crate) fn with_sessions(
        self: Arc<Self>,
        sessions: Arc<dyn store::sessions::SessionStore>,
    ) -> Arc<Self> {
        let services = Services::start(&self.environment, &self.cancel);
        let services = services.map(|services| services.with_sessions(sessions));
        assert!(services.is_ok_and(|services| self.services.set(Arc::new(services)).is_ok()));
        self
    }

    /// Admits a workspace, with the model that its settings select. Says how far it came, also when it failed.
    ///
    /// # Errors
    /// In the second part: why it can't be worked in.
    pub async fn admit(
        self: &Arc<Self>,
        directory: &Path,
        cancel: CancellationToken,
    ) -> (StartupStatus, Result<Arc<Workspace>, EngineError>) {
        // However this ends, the worker does not read on for nobody.
        let stop = CancellationToken::new();
        let _stops = stop.clone().drop_guard();
        let (this, directory) = (Arc::clone(self), directory.to_owned());
        let reading = self.run_blocking(move || {
            let mut status = StartupStatus::default();
            let admitted = this.workspace(&directory, &mut status, &stop);
            let selected = admitted.and_then(Workspace::selecting);
            (status, selected.map(Arc::new))
        });
        let admitting = async {
            let (mut status, admitted) = reading.await?;
            let admitted = match admitted {
                Ok(workspace) => match workspace.connect().await {
                    Ok(left_out) => {
                        status.notices.extend(left_out);
                        Ok(workspace)
                    }
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            Ok::<_, EngineError>((status, admitted))
        };
        let cancelled = || Err(ErrorKind::from(StartupErrorKind::Cancelled).into());
        tokio::select! {
            // A worker that was quicker admits nothing into an engine that ended.
            biased;
            () = cancel.cancelled() => (StartupStatus::default(), cancelled()),
            () = self.cancel.cancelled() => (StartupStatus::default(), cancelled()),
            done = admitting => match done {
                Ok((status, admitted)) => (status, admitted.map_err(EngineError::from)),
                Err(error) => {
                    let failed = EngineError::caused(ErrorKind::Startup(StartupErrorKind::Failed), error);
                    (StartupStatus::default(), Err(failed))
                }
            },
        }
    }

    /// Admits a workspace whose model each run asks the settings for. Blocks.
    ///
    /// # Errors
    /// Why it can't be worked in.
    pub fn admit_unselected(&self, directory: &Path) -> Result<Arc<Workspace>, EngineError> {
        let status = &mut StartupStatus::default();
        Ok(Arc::new(self.workspace(directory, status, &self.cancel)?))
    }

    fn workspace(
        &self,
        directory: &Path,
        status: &mut StartupStatus,
        stop: &CancellationToken,
    ) -> Result<Workspace, StartupError> {
        Workspace::admit(self.services_until(stop)?, directory, status, stop)
    }

    /// Whether the provider that is selected now could authenticate, from settings and environment as
    /// they stand. Blocks on small reads.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn provider_ready(&self) -> Result<bool, EngineError> {
        Ok(startup::provider_ready(&self.environment)?)
    }

    /// Works on a thread that may block. Its slot is held until the work has really ended, also when nobody
    /// waits for it any more.
    ///
    /// # Errors
    /// When the work panicked, or the process ends.
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        Ok(self.blocking.run(work).await?)
    }

    /// Ends everything in one order: nothing is admitted any more; runs are cancelled and waited for, beside them the
    /// servers whose tools they call, and logins that are refreshed; what blocks for them ends; sessions are let go of; services stop. Callers bound the wait.
    pub async fn close(&self) {
        self.cancel.cancel();
        let _closing = self.closing.lock().await;
        let runs = async {
            loop {
                // Registered before the look, so that no end falls between the two.
                let idle = self.idle.notified();
                tokio::pin!(idle);
                idle.as_mut().enable();
                if !self.runs.is_working() {
                    break;
                }
                idle.await;
            }
        };
        // No call of a server is waited for by what ends it.
        let servers = async {
            if let Some(services) = self.services.get() {
                services.close().await;
            }
        };
        tokio::join!(runs, servers);
        // What still works for the engine may hold a lease.
        self.blocking.idle().await;
        let sessions = std::mem::take(&mut *self.table());
        if let Err(error) = self.blocking.run(move || drop(sessions)).await {
            let cause = &error as &dyn std::error::Error;
            tracing::error!(error = cause, "the sessions were not let go of");
        }
        if let Some(services) = self.services.get() {
            services.stop().await;
        }
    }

    /// Frees an attachment: the lease here and now, since whoever learns of the end may want the session at
    /// once; the conversation, which may be long, behind that. One that was attached for its run alone is
    /// kept for the next run.
    fn free(&self, attachment: Option<Attachment>) {
        let Some(mut attachment) = attachment else {
            return;
        };
        let id = attachment.lease.id().clone();
        let keeps = attachment.lifetime == Lifetime::WithItsRun && !self.cancel.is_cancelled();
        let mut conversation = attachment.conversation.take();
        let known = conversation
            .as_mut()
            .filter(|_| keeps)
            .and_then(Conversation::known);
        let rest = conversation.map(|mut of| std::mem::take(&mut of.transcript));
        drop(attachment);
        let out = known.map(|known| self.recent().keep(id, known));
        self.blocking.spawn(move || drop((out, rest)));
    }
}

/// The content of an attached session.
///
/// # Errors
/// [`ErrorKind::SessionMissing`] when it is not attached, or was not read yet.
fn conversation<'t>(
    table: &'t mut SessionTable,
    id: &SessionId,
) -> Result<&'t mut Conversation, ErrorKind> {
    let attachment = table.get_mut(id);
    let conversation = attachment.and_then(|attachment| attachment.conversation.as_mut());
    conversation.ok_or(ErrorKind::SessionMissing)
}
