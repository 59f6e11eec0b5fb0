//! The session methods
