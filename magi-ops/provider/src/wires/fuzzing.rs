//! The wires without a connection: packets to pieces, and what is sent back, for `crate::fuzzing`.
//! Calls what a real exchange calls; decides nothing.

use std::collections::VecDeque;

use super::body::Body;
use super::{Progress, Wire, anthropic, openai_chat, sse};
use crate::{Chunk, ProviderError, Request};

/// Longest line and longest data of one event, in bytes.
pub const MAX_EVENT_BYTES: usize = sse::MAX_EVENT_BYTES;

/// Which wire a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    Anthropic,
    OpenaiChat,
}

impl Spoken {
    fn wire(self) -> &'static dyn Wire {
        match self {
            Self::Anthropic => &anthropic::Anthropic,
            Self::OpenaiChat => &openai_chat::OpenaiChat,
        }
    }
}

/// The data of the events in `packets`, and the fault that ended them.
pub fn events<'a>(
    packets: impl IntoIterator<Item = &'a [u8]>,
) -> (VecDeque<String>, Option<ProviderError>) {
    let mut decoder = sse::Decoder::default();
    let mut events = VecDeque::new();
    for packet in packets {
        if let Err(error) = decoder.push(packet, &mut events) {
            return (events, Some(error));
        }
    }
    (events, None)
}

/// The pieces of a whole body that answers `request`, and how it ended.
pub fn pieces<'a>(
    spoken: Spoken,
    request: &Request,
    packets: impl IntoIterator<Item = &'a [u8]>,
) -> (VecDeque<Chunk>, Result<(), ProviderError>) {
    let mut body = Body::new(spoken.wire().reader(request));
    let mut out = VecDeque::new();
    for packet in packets.into_iter().map(Some).chain([None]) {
        match body.read(packet, &mut out) {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => break,
            Err(error) => return (out, Err(error)),
        }
    }
    (out, Ok(()))
}

/// What is sent for `request`, JSON.
pub fn request_body(spoken: Spoken, request: &Request) -> Vec<u8> {
    spoken.wire().body(request)
}
