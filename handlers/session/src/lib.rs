//! The session methods of both magi dialects, one file per dialect.
//! Translates only; sessions live in the engine.

#[cfg(feature = "local-agent")]
mod local_agent;
