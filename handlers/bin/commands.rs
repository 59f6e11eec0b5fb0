//! The commands of `magi-code`, one file each. A new one is its module and its line in the table.
//! Nothing here serves or shows anything itself.

#[cfg(any(feature = "auth", feature = "mcp"))]
mod browser;
#[cfg(feature = "chat")]
mod chat;
#[cfg(feature = "config")]
mod config;
#[cfg(feature = "doctor")]
mod doctor;
#[cfg(feature = "exec")]
mod exec;
#[cfg(feature = "auth")]
mod hidden;
#[cfg(feature = "auth")]
mod login;
#[cfg(feature = "auth")]
mod logout;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "catalog")]
mod models;
pub(crate) mod next;
mod schema;
pub(crate) mod serve;
#[cfg(feature = "sessions")]
mod sessions;
#[cfg(feature = "auth")]
mod status;
#[cfg(feature = "trust")]
mod trust;
#[cfg(feature = "try")]
mod try_turn;

use crate::program::{Completions, Entry, Man, Version, entry};

/// In the order in which help names them.
pub(crate) const TABLE: &[Entry] = &[
    #[cfg(feature = "chat")]
    entry::<chat::Chat>(),
    #[cfg(feature = "exec")]
    entry::<exec::Exec>(),
    #[cfg(feature = "try")]
    entry::<try_turn::Try>(),
    #[cfg(feature = "auth")]
    entry::<login::Login>(),
    #[cfg(feature = "auth")]
    entry::<logout::Logout>(),
    #[cfg(feature = "auth")]
    entry::<status::Status>(),
    #[cfg(feature = "sessions")]
    entry::<sessions::Sessions>(),
    #[cfg(feature = "doctor")]
    entry::<doctor::Doctor>(),
    #[cfg(feature = "catalog")]
    entry::<models::Models>(),
    #[cfg(feature = "config")]
    entry::<config::Config>(),
    #[cfg(feature = "trust")]
    entry::<trust::Trust>(),
    #[cfg(feature = "trust")]
    entry::<trust::Untrust>(),
    #[cfg(feature = "mcp")]
    entry::<mcp::Mcp>(),
    #[cfg(feature = "local-agent")]
    entry::<serve::Serve>(),
    entry::<schema::Schema>(),
    entry::<Completions>(),
    entry::<Man>(),
    entry::<Version>(),
];
