//! The strict client of the two magi dialects: bounded decoding, correlation, reconciliation.
//! No server code, no engine, no terminal: it sees bytes and gives back checked values or a `Violation`.
//!
//! A line is checked as bytes before any value is built ([`decode`]), then read field by field
//! ([`fields`]), then held against what this client asked for and has seen so far. The first broken
//! rule ends the connection: a client that guesses is a client that can be made to lie to its user.
//!
//! ```no_run
//! use consumer::local_agent::{Child, Launch, Request, REQUIRED_FOR_TURNS};
//! # async fn f() -> Result<(), consumer::Error> {
//! let mut child = Child::spawn(Launch::new("magi-code"))?;
//! let status = child.client.negotiate(REQUIRED_FOR_TURNS).await?.status;
//! let session = child.client.call(Request::SessionCreate).await?;
//! # let _ = (status, session); Ok(()) }
//! ```

pub mod application_service;
pub mod decode;
pub mod display;
pub mod fields;
pub mod local_agent;
mod reader;
pub mod stream;
pub mod violation;

pub use violation::{Error, NotSent, Violation};
