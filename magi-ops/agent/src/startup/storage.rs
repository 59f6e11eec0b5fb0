//! What a process can tell of its sessions whatever its settings say: where they are, and how they are shown.
//! Settings only add what the redactor knows.

use std::path::PathBuf;
use std::sync::Arc;

use store::Redactor;
use store::sessions::SessionStore;

use super::admitted::{Admitted, named_keys};
use super::{Environment, StartupError};
use crate::replay::Replays;

/// Sessions without what works on them.
pub struct Storage {
    /// Canonical.
    pub(crate) cwd: PathBuf,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) redactor: Redactor,
    /// Projections of sessions for clients that are not attached to them.
    pub(crate) replays: Replays,
}

impl Storage {
    /// Creates the home's directories; what of them is missing. Blocks.
    pub(crate) fn of(environment: &Environment) -> Result<Self, StartupError> {
        let cwd = environment.canonical_cwd()?;
        let home = environment.home()?;
        let redactor = environment.redactor();
        if let Ok(settings) = environment.settings(&*home, &cwd) {
            redactor.learn(named_keys(&settings, environment));
        }
        Ok(Self::new(cwd, home.sessions(), redactor))
    }

    /// The sessions that `admitted` works on: nothing is read again.
    pub(crate) fn beside(admitted: &Admitted) -> Self {
        Self::new(
            admitted.cwd.clone(),
            Arc::clone(&admitted.sessions),
            admitted.redactor.clone(),
        )
    }

    fn new(cwd: PathBuf, sessions: Arc<dyn SessionStore>, redactor: Redactor) -> Self {
        Self {
            cwd,
            replays: Replays::new(Arc::clone(&sessions), redactor.clone()),
            sessions,
            redactor,
        }
    }
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storage")
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}
