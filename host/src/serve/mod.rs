//! The loops: read, decode, admit, dispatch, drain, close. One for dialects with concurrent requests, one for
//! those that serve strictly one request after another.

pub mod duplex;
pub mod sequential;
