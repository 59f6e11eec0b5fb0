//! The history methods
