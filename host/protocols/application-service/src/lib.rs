//! The application-service protocol, version 1, for whoever speaks it: the server's families, the strict
//! client, tests. No method is served here.

mod codec;
mod guide;
mod limits;
pub mod messages;
mod rules;
pub mod words;

pub use codec::ApplicationService;
pub use limits::Limits;
pub use rules::{
    ID_BYTES, NAME, NAME_BYTES, NEGOTIATION_ITEMS, PAGE_ITEMS, PAYLOAD_BYTES, RECORD_BYTES, RULES,
    VERSION, Word,
};
