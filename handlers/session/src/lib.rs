//! The session methods of both magi dialects, one file or folder per dialect.
//! Translates only; sessions live in the engine.

#[cfg(feature = "application-service")]
mod application_service;
#[cfg(feature = "local-agent")]
mod local_agent;
