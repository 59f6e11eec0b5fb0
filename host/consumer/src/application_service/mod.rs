//! The client side of the application-service protocol, version 1.
//! What a record may say ([`decode`], [`answer`], [`event`]), what a server must be ([`limits`],
//! [`preflight`]), and who may say it now ([`tracker`]). Pure but for [`client`].

pub mod activity;
pub mod answer;
pub mod client;
pub mod decode;
pub mod event;
pub mod limits;
pub mod preflight;
pub mod request;
pub mod tracker;
/// The closed vocabularies, as the protocol's own crate declares them.
pub mod words {
    pub use application_service::Word as ErrorCode;
    pub use application_service::words::*;
}

pub use activity::Activity;
pub use answer::Answer;
pub use application_service::messages;
pub use client::Client;
pub use decode::{Envelope, ServiceError};
pub use event::Event;
pub use limits::Limits;
pub use preflight::{Profile, Requirements};
pub use request::Request;
pub use tracker::{Incoming, Tracker};

/// The only version spoken here.
pub const VERSION: u64 = application_service::VERSION as u64;
