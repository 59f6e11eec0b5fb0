//! The turn methods of both magi dialects and their events, one folder per dialect.
//! Translates only; runs live in the engine.

#[cfg(feature = "application-service")]
mod application_service;
#[cfg(feature = "local-agent")]
mod local_agent;
