//! Startup: what a process admits once, as one snapshot: storage roots, settings, provider, context,
//! guidance. Blocking; runs on one worker. Nothing here is read again for a running process.

#[cfg(feature = "providers")]
mod accounts;
mod cache;
mod catalogs;
#[cfg_attr(
    not(feature = "providers"),
    allow(dead_code, unreachable_pub, reason = "only accounts tell of all of it")
)]
mod credential;
mod described;
mod discovery;
mod environment;
mod equipment;
mod error;
mod examine;
mod guidance;
mod join;
mod kept;
mod person;
mod select;
mod servers;
mod services;
mod trust;
mod wish;
mod workspace;

#[cfg(feature = "providers")]
pub use accounts::{AccountStatus, Accounts, AccountsError, LoginEvent, LoginStarted, Readiness};
pub(crate) use catalogs::Catalogs;
#[cfg(feature = "providers")]
pub use credential::{AuthMethod, AuthSource};
#[cfg(test)]
pub(crate) use described::source;
pub(crate) use discovery::Question;
pub use environment::Environment;
pub(crate) use equipment::Equipment;
pub(crate) use error::redacted;
pub use error::{StartupError, StartupErrorKind};
pub use examine::{Examination, examine};
pub(crate) use guidance::Guidance;
pub(crate) use kept::{kept, retention_days};
pub use person::{Approval, approve, launch_line, servers};
#[cfg(feature = "mcp")]
pub use person::{Offered, failing_servers, log_in, try_server};
#[cfg(feature = "providers")]
pub use person::{account_statuses, log_in_to, log_out, store_key};
pub(crate) use select::{Choice, Selected, provider_ready};
pub(crate) use services::Services;
pub use trust::{Trusted, trust};
pub use wish::{Chosen, choose, latest_session, remember};
pub use workspace::Workspace;
pub(crate) use workspace::named_keys;

/// What startup may tell of itself, as far as it got: selection, context, and what it ignored.
#[derive(Clone, Debug, Default)]
pub struct StartupStatus {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub context_id: Option<String>,
    /// Redacted.
    pub notices: Vec<store::Reason>,
}

#[cfg(test)]
mod tests;
