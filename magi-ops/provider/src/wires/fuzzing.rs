//! The wires without a connection: packets to pieces, and what is sent back, for `crate::fuzzing`.
//! Calls what a real exchange calls; decides nothing.

use std::collections::VecDeque;

use super::anthropic::{self, Anthropic};
use super::body::Body;
use super::gemini::{self, Gemini};
use super::listing::{Page, ReadEntry};
use super::openai_chat::{self, OpenaiChat};
use super::openai_responses::OpenaiResponses;
use super::quirks::Quirks;
use super::sse::{self, Event};
use super::wire::{Parameters, Progress, Wire};
use crate::config::ModelLimits;
use crate::discovered::DiscoveredModel;
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
    OpenaiResponses,
    Gemini,
}

impl Spoken {
    /// Calls `with` with the wire and what `request` asks of its model.
    fn with<T>(self, request: &Request, with: impl FnOnce(&dyn Wire, &Parameters<'_>) -> T) -> T {
        let wire: &dyn Wire = match self {
            Self::Anthropic => &Anthropic,
            Self::OpenaiChat => &OpenaiChat,
            Self::OpenaiResponses => &OpenaiResponses,
            Self::Gemini => &Gemini,
        };
        let (limits, quirks) = (ModelLimits::default(), Quirks::default());
        with(
            wire,
            &Parameters::new(wire, PROVIDER, &limits, request, quirks),
        )
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
    let texts = events.into_iter().filter_map(Event::text);
    (texts.collect(), fault)
}

/// The pieces of a whole body that answers `request`, and how it ended.
pub fn pieces<'a>(
    spoken: Spoken,
    request: &Request,
    packets: impl IntoIterator<Item = &'a [u8]>,
) -> (VecDeque<Chunk>, Result<(), ProviderError>) {
    let mut body = Body::new(spoken.with(request, |wire, asked| wire.reader(request, asked)));
    let packets = packets.into_iter().map(Some).chain([None]);
    let ended = packets
        .map(|packet| body.read(packet))
        .find(|read| !matches!(read, Ok(Progress::More | Progress::Finishing)));
    let ended = ended.unwrap_or(Ok(Progress::Done)).map(|_| ());
    (std::mem::take(body.pieces()), ended)
}

/// What is sent for `request`, JSON.
pub fn request_body(spoken: Spoken, request: &Request) -> Vec<u8> {
    spoken.with(request, |wire, asked| wire.body(request, asked))
}

/// The models of one page that a server of that wire answered with, and what asks for the next.
///
/// # Errors
/// For what is no list of models.
pub fn listed(
    spoken: Spoken,
    body: &[u8],
) -> Result<(Vec<DiscoveredModel>, Option<String>), ProviderError> {
    let entry: ReadEntry = match spoken {
        Spoken::Anthropic => anthropic::model_entry,
        Spoken::OpenaiChat | Spoken::OpenaiResponses => openai_chat::model_entry,
        Spoken::Gemini => gemini::model_entry,
    };
    let page = Page::read(body, entry)?;
    let next = page.next();
    Ok((page.models, next))
}
