//! Startup: what a process admits once, as one snapshot: storage roots, settings, provider, context,
//! guidance. Blocking; runs on one worker. Nothing here is read again for a running process.

mod admitted;
mod environment;
mod error;
mod examine;
mod guidance;
mod select;
mod storage;
mod trust;

pub(crate) use admitted::{Admitted, admit};
pub use environment::Environment;
pub use error::{StartupError, StartupErrorKind};
pub use examine::{Examination, examine};
pub(crate) use select::{Choice, Selected, provider_ready};
pub(crate) use storage::Storage;
pub use trust::{Trusted, trust};

/// Why a request to initialize gave no readiness.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InitializeError {
    #[error("initialization was admitted before")]
    AlreadyInitialized,
    #[error(transparent)]
    Startup(#[from] StartupError),
}

/// What startup may tell of itself, as far as it got: selection, context, and what it ignored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reached {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) context_id: Option<String>,
    /// Redacted.
    pub(crate) notices: Vec<store::Reason>,
}

#[cfg(test)]
mod tests;
