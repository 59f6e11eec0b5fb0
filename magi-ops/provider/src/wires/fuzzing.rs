//! The wires without a connection: packets to pieces, and what is sent back, for `crate::fuzzing`.
//! Calls what a real exchange calls; decides nothing.

use std::collections::VecDeque;

use super::body::Body;
use super::quirks::Quirks;
use super::wire::{Progress, Wire};
use super::{anthropic, openai_chat, sse};
use crate::config::{Api, ModelLimits, ProviderConfig};
use crate::error::ProviderError;
use crate::request::Request;
use crate::response::Chunk;

/// Longest line and longest data of one event, in bytes.
pub const MAX_EVENT_BYTES: usize = sse::MAX_EVENT_BYTES;

/// Id of the provider that all of this is read from.
pub const PROVIDER: &str = "fuzzed";

/// Which wire a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    Anthropic,
    OpenaiChat,
}

impl Spoken {
    fn wire(self) -> Box<dyn Wire> {
        let config = ProviderConfig {
            id: PROVIDER.to_owned(),
            api: match self {
                Self::Anthropic => Api::Anthropic,
                Self::OpenaiChat => Api::OpenaiChat,
            },
            base_url: None,
            script: None,
            models: ModelLimits::default(),
        };
        match self {
            Self::Anthropic => Box::new(anthropic::Anthropic::new(&config)),
            Self::OpenaiChat => Box::new(openai_chat::OpenaiChat::new(&config)),
        }
    }
}

/// The data of the events in `packets`, and the fault that ended them.
pub fn events<'a>(
    packets: impl IntoIterator<Item = &'a [u8]>,
) -> (VecDeque<String>, Option<ProviderError>) {
    let mut decoder = sse::Decoder::default();
    let mut events = VecDeque::new();
    let mut fault = None;
    for packet in packets {
        if let Err(error) = decoder.push(packet, &mut events) {
            fault = Some(error);
            break;
        }
    }
    let events = events.into_iter().filter(|event| !event.stray);
    let texts = events.map(|event| String::from_utf8_lossy(&event.data).into_owned());
    (texts.collect(), fault)
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
            Ok(Progress::More | Progress::Finishing) => {}
            Ok(Progress::Done) => break,
            Err(error) => return (out, Err(error)),
        }
    }
    (out, Ok(()))
}

/// What is sent for `request`, JSON.
pub fn request_body(spoken: Spoken, request: &Request) -> Vec<u8> {
    spoken.wire().body(request, &Quirks::default())
}
