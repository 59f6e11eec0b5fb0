//! The client side of `magi-code.local-agent`, version 1.
//! What a line may say ([`frames`]), what a run adds up to ([`assemble`]), who may say it now ([`client`]).

pub mod answer;
pub mod assemble;
pub mod child;
pub mod client;
pub mod event;
pub mod frames;
pub mod history;
pub mod request;
/// The closed vocabularies, as the protocol's own crate declares them.
pub mod words {
    pub use local_agent::Word as ErrorCode;
    pub use local_agent::words::*;
}

pub use answer::{Answer, Entry, Initialized, Limits, Page, Status};
pub use assemble::{Segment, Transcript};
pub use child::{Child, Launch, Stderr};
pub use client::{Client, Incoming, REQUIRED_FOR_TURNS};
pub use event::Event;
pub use history::{History, Message};
pub use local_agent::messages::{AnswerParams, CancelParams, OpenParams, PageParams, StartParams};
pub use request::Request;
pub use words::{ActivityKind, ActivityState, EntryKind, ErrorCode, Outcome, Persistence, State};

/// The protocol's name: nothing else is spoken here.
pub const PROTOCOL: &str = local_agent::PROTOCOL;
/// See [`PROTOCOL`].
pub const VERSION: u64 = local_agent::VERSION as u64;
