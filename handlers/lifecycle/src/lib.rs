//! The lifecycle of a server in both magi dialects: negotiation, status, shutdown, discovery.
//! One file per dialect; nothing of sessions or turns.

#[cfg(feature = "application-service")]
mod application_service;
#[cfg(feature = "local-agent")]
mod local_agent;
