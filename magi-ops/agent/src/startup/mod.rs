//! Startup: what a process admits once, as one snapshot: storage roots, settings, provider, context,
//! guidance. Blocking; runs on one worker. Nothing here is read again for a running process.

mod admitted;
mod environment;
mod guidance;
mod select;
mod storage;

pub(crate) use admitted::{Admitted, admit};
pub use environment::Environment;
pub(crate) use select::{Choice, Selected, provider_ready};
pub(crate) use storage::Storage;

/// Why initialization failed (spec: local-agent, "Startup errors").
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartupError {
    #[error("the settings are not valid")]
    ConfigurationInvalid,
    /// An agent profile that is enabled cannot be used.
    #[error("an agent profile is not valid")]
    ProfileInvalid,
    #[error("the selected provider is not available")]
    ProviderUnavailable,
    #[error("startup was cancelled")]
    Cancelled,
    #[error("startup failed")]
    Failed,
}

/// Why a request to initialize gave no readiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InitializeError {
    #[error("initialization was admitted before")]
    AlreadyInitialized,
    #[error(transparent)]
    Startup(#[from] StartupError),
}

/// What startup may tell of itself, as far as it got: selection and context.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reached {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) context_id: Option<String>,
}

#[cfg(test)]
mod tests;
