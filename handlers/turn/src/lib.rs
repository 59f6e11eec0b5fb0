//! The turn methods
