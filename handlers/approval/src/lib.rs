//! The approval methods
