//! Black-box tests of `magi-code --app service` (dialect application-service v1), one module per area.
//! Everything goes through the built binary's pipes; no type of the implementation is used here.
#![cfg(all(feature = "application-service", feature = "lifecycle", unix))]
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

#[cfg(all(feature = "session", feature = "turn"))]
#[path = "application_service/activity.rs"]
mod activity;
#[cfg(all(feature = "session", feature = "turn"))]
#[path = "application_service/attachments.rs"]
mod attachments;
#[cfg(feature = "auth")]
#[path = "application_service/auth.rs"]
mod auth;
#[cfg(all(
    feature = "catalog",
    feature = "session",
    feature = "turn",
    feature = "providers"
))]
#[path = "application_service/catalogs.rs"]
mod catalogs;
#[path = "application_service/client.rs"]
mod client;
#[cfg(all(feature = "session", feature = "turn"))]
#[path = "application_service/compaction.rs"]
mod compaction;
#[cfg(all(feature = "config", feature = "session", feature = "turn"))]
#[path = "application_service/config.rs"]
mod config;
#[cfg(all(
    feature = "auth",
    feature = "catalog",
    feature = "config",
    feature = "session",
    feature = "turn",
    feature = "providers"
))]
#[path = "application_service/disk.rs"]
mod disk;
#[path = "application_service/envelope.rs"]
mod envelope;
#[path = "application_service/framing.rs"]
mod framing;
#[path = "application_service/initialize.rs"]
mod initialize;
#[cfg(feature = "auth")]
#[path = "support/issuer.rs"]
mod issuer;
#[path = "application_service/launch.rs"]
mod launch;
#[path = "application_service/limits.rs"]
mod limits;
#[cfg(feature = "auth")]
#[path = "application_service/login.rs"]
mod login;
#[cfg(all(feature = "session", feature = "turn", feature = "providers"))]
#[path = "application_service/models.rs"]
mod models;
#[path = "application_service/operations.rs"]
mod operations;
#[cfg(all(feature = "session", feature = "turn"))]
#[path = "application_service/pressure.rs"]
mod pressure;
#[cfg(all(feature = "session", feature = "turn"))]
#[path = "application_service/replay.rs"]
mod replay;
#[cfg(all(feature = "session", feature = "turn", feature = "providers"))]
#[path = "providers/server.rs"]
#[allow(dead_code)] // the tests of whole requests use the rest
mod server;
#[cfg(feature = "session")]
#[path = "application_service/sessions.rs"]
mod sessions;
#[path = "application_service/streams.rs"]
mod streams;
#[cfg(all(feature = "session", feature = "turn"))]
#[path = "application_service/subagents.rs"]
mod subagents;
#[cfg(feature = "turn")]
#[path = "application_service/turn.rs"]
mod turn;
#[cfg(all(feature = "session", feature = "turn"))]
#[path = "application_service/turns.rs"]
mod turns;
