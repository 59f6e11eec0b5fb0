//! The body of one response: packets in, pieces out, bounded, whatever the packets' borders. What a body
//! is shows by its first byte, not by what its header says. No connection and no clock.

use std::collections::VecDeque;

use serde_json::Value;

use super::failure_kind::names_failure;
use super::json::{self, Item, Nesting, items};
use super::refusal::{failure_in, failure_in_prefix, failure_of, is_page};
use super::sse::{self, Event};
use super::wire::{Progress, Reader};
use crate::error::{ErrorKind, ProviderError};
use crate::response::Chunk;

/// Longest response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;
/// Longest JSON value of a body that is no event stream, in bytes.
const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;
/// Most bytes of what stands between two such values that are kept.
const MAX_BETWEEN_BYTES: usize = 4096;

/// A body as far as it has been read.
pub(crate) struct Body {
    shape: Shape,
    reader: Box<dyn Reader>,
    /// JSON that stands among the events without being one.
    stray: Values,
    /// Bytes read so far.
    bytes: usize,
    begun: bool,
    finishing: bool,
}

enum Shape {
    /// Nothing but white space, or a part of a byte order mark, so far.
    Unknown(Vec<u8>),
    Events(sse::Decoder),
    Values(Values),
}

impl Body {
    pub(super) fn new(reader: Box<dyn Reader>) -> Self {
        Self {
            shape: Shape::Unknown(Vec::new()),
            reader,
            stray: Values::default(),
            bytes: 0,
            begun: false,
            finishing: false,
        }
    }

    /// Whether an event has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Reads a packet, or with `None` the body's end. After [`Progress::Done`] or an error nothing more
    /// is to be read.
    ///
    /// # Errors
    /// For what can't be read, for what says that the server failed, and for a body that ends before
    /// its response is whole.
    pub(crate) fn read(
        &mut self,
        bytes: Option<&[u8]>,
        out: &mut VecDeque<Chunk>,
    ) -> Result<Progress, ProviderError> {
        let Some(bytes) = bytes else {
            return self.read_end(out);
        };
        self.bytes += bytes.len();
        if self.bytes > MAX_RESPONSE_BYTES {
            let error = ProviderError::new(ErrorKind::Malformed);
            return Err(error.with_note("the response is longer than 64 MiB"));
        }
        let mut events = VecDeque::new();
        let pushed = self.decode(bytes, &mut events);
        for event in events {
            if self.event(&event, out)? == Progress::Done {
                return Ok(Progress::Done);
            }
        }
        // What was whole before the fault has been said.
        pushed.map(|()| match self.finishing {
            true => Progress::Finishing,
            false => Progress::More,
        })
    }

    fn decode(&mut self, bytes: &[u8], events: &mut VecDeque<Event>) -> Result<(), ProviderError> {
        if let Shape::Unknown(head) = &mut self.shape {
            head.extend_from_slice(bytes);
            let mark = b"\xef\xbb\xbf";
            let text = head.strip_prefix(mark).unwrap_or(head);
            let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
            if first.is_none() {
                // Blank lines with which servers keep a connection alive.
                head.clear();
                return Ok(());
            }
            if mark.starts_with(head) && head.len() < mark.len() {
                return Ok(());
            }
            let head = std::mem::take(head);
            match first_byte(&head) {
                Some(b'<') => {
                    let error = ProviderError::new(ErrorKind::Malformed);
                    return Err(error.with_note("it sent a web page"));
                }
                Some(b'{' | b'[') => self.shape = Shape::Values(Values::default()),
                _ => self.shape = Shape::Events(sse::Decoder::default()),
            }
            return self.decode_more(&head, events);
        }
        self.decode_more(bytes, events)
    }

    fn decode_more(
        &mut self,
        bytes: &[u8],
        events: &mut VecDeque<Event>,
    ) -> Result<(), ProviderError> {
        match &mut self.shape {
            Shape::Unknown(_) => Ok(()),
            Shape::Events(decoder) => decoder.push(bytes, events),
            Shape::Values(values) => values.push(bytes, events),
        }
    }

    fn event(
        &mut self,
        event: &Event,
        out: &mut VecDeque<Chunk>,
    ) -> Result<Progress, ProviderError> {
        self.begun = true;
        if event.stray {
            return self.stray(&String::from_utf8_lossy(&event.data), out);
        }
        if event.error {
            let text = String::from_utf8_lossy(&event.data);
            let value = serde_json::from_str::<Value>(&text).ok();
            let told = value.as_ref().and_then(failure_in);
            let words = || failure_of(&value.unwrap_or_else(|| text.as_ref().into()));
            return Err(told.unwrap_or_else(words));
        }
        for item in items(&event.data)? {
            match item {
                Item::Value { value, lone } => {
                    if let Some(failure) = failure_in(&value) {
                        return Err(failure);
                    }
                    let values = match value {
                        Value::Array(values) => values,
                        value => vec![value],
                    };
                    for value in values {
                        match self.reader.event(value, lone, out)? {
                            Progress::More => {}
                            Progress::Finishing => self.finishing = true,
                            Progress::Done => return self.reader.end(out).map(|()| Progress::Done),
                        }
                    }
                }
                Item::Marker => {
                    self.reader.marker();
                    return self.reader.end(out).map(|()| Progress::Done);
                }
                Item::Words(words) if names_failure(&words) => {
                    return Err(failure_of(&words.into()));
                }
                Item::Words(_) => tracing::debug!("an event is no JSON and is skipped"),
            }
        }
        Ok(Progress::More)
    }

    /// A line that is no field of an event. Unless it is what a server's event says or an end marker, the
    /// stream is not what it should be, and nothing of the response counts.
    fn stray(&mut self, line: &str, out: &mut VecDeque<Chunk>) -> Result<Progress, ProviderError> {
        let text = line.trim();
        let marker = text.eq_ignore_ascii_case("[done]");
        if !marker && (self.stray.is_open() || text.starts_with(['{', '['])) {
            let mut values = VecDeque::new();
            self.stray.push(line.as_bytes(), &mut values)?;
            self.stray.push(b"\n", &mut values)?;
            for value in values {
                let text = String::from_utf8_lossy(&value.data);
                if value.stray {
                    return Err(stray_failure(&text));
                }
                if let Some(failure) = unlike_an_event(&text) {
                    return Err(failure);
                }
                if self.event(&value, out)? == Progress::Done {
                    return Ok(Progress::Done);
                }
            }
            return Ok(Progress::More);
        }
        if !marker {
            return Err(stray_failure(text));
        }
        self.reader.marker();
        self.reader.end(out).map(|()| Progress::Done)
    }

    /// The failure that the last line of a body tells of which broke off.
    pub(super) fn last_failure(&mut self) -> Option<ProviderError> {
        let last = match &mut self.shape {
            Shape::Events(decoder) => decoder.finish().ok()?,
            _ => VecDeque::new(),
        };
        let mut nothing = VecDeque::new();
        let told = last.into_iter().find_map(|event| match event {
            Event {
                stray: false,
                error: false,
                data,
            } => failure_in(&json::value(&String::from_utf8_lossy(&data))?),
            event => self.event(&event, &mut nothing).err(),
        });
        told.or_else(|| self.open_failure())
    }

    /// The failure in JSON that has begun and not ended.
    fn open_failure(&self) -> Option<ProviderError> {
        let values = match &self.shape {
            Shape::Values(values) => values,
            _ => &self.stray,
        };
        failure_in_prefix(&String::from_utf8_lossy(&values.value))
    }

    fn read_end(&mut self, out: &mut VecDeque<Chunk>) -> Result<Progress, ProviderError> {
        let last = match &mut self.shape {
            Shape::Unknown(_) => {
                let error = ProviderError::new(ErrorKind::Malformed);
                return Err(error.with_note("the answer has no body"));
            }
            Shape::Events(decoder) => decoder.finish()?,
            Shape::Values(values) if values.is_open() => {
                let failure = self.open_failure();
                return Err(failure.unwrap_or_else(|| ErrorKind::Interrupted.into()));
            }
            Shape::Values(values) => {
                let mut last = VecDeque::new();
                values.end_line(&mut last);
                last
            }
        };
        for last in last {
            match self.event(&last, out) {
                Ok(Progress::Done) => return Ok(Progress::Done),
                // Half an event is none.
                Err(error) if error == ErrorKind::Malformed && !last.stray => {}
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
        if self.stray.is_open() {
            let failure = self.open_failure();
            return Err(failure.unwrap_or_else(|| ErrorKind::Interrupted.into()));
        }
        let whole = matches!(self.shape, Shape::Values(_));
        match self.reader.end(out) {
            Err(error) if whole && self.begun && error == ErrorKind::Interrupted => {
                let error = ProviderError::new(ErrorKind::Malformed);
                Err(error.with_note("it sent JSON that is no answer"))
            }
            ended => ended.map(|()| Progress::Done),
        }
    }

    /// The body broke off, or nothing more is waited for: whether what arrived is whole.
    ///
    /// # Errors
    /// If it is not.
    pub(super) fn end(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), ProviderError> {
        self.reader.end(out)
    }
}

/// The failure that a line among the events stands for.
fn stray_failure(text: &str) -> ProviderError {
    let malformed = || ProviderError::new(ErrorKind::Malformed);
    if is_page(text) {
        return malformed().with_note("it sent a web page");
    }
    let value = text
        .split_once(':')
        .and_then(|(_, value)| json::value(value));
    match value.filter(|value| value.is_object() || value.is_array()) {
        Some(value) => failure_in(&value).unwrap_or_else(|| failure_of(&value)),
        None if names_failure(text) => failure_of(&text.into()),
        None => malformed()
            .with_note("a line is no part of an event stream")
            .with_message(text),
    }
}

/// The failure of JSON among the events that tells of none and is no event of any wire.
fn unlike_an_event(data: &str) -> Option<ProviderError> {
    let value = json::value(data)?;
    let like = |value: &Value| {
        ["choices", "type", "usage", "object"]
            .iter()
            .any(|name| value.get(*name).is_some())
    };
    let told = failure_in(&value).is_some();
    (!told && !like(&value)).then(|| {
        ProviderError::new(ErrorKind::Malformed).with_note("a line is no part of an event stream")
    })
}

fn first_byte(head: &[u8]) -> Option<u8> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    head.iter()
        .copied()
        .find(|byte| !byte.is_ascii_whitespace())
}

/// The values of a body that is JSON: one, or several behind each other.
#[derive(Default)]
struct Values {
    /// The value that has begun.
    value: Vec<u8>,
    nesting: Nesting,
    /// What stands between two values on one line, as far as [`MAX_BETWEEN_BYTES`].
    between: Vec<u8>,
}

impl Values {
    fn is_open(&self) -> bool {
        self.nesting.depth > 0
    }

    /// What stood on a line behind or without a value; what only separates values is nothing.
    fn end_line(&mut self, events: &mut VecDeque<Event>) {
        let between = std::mem::take(&mut self.between);
        let text = String::from_utf8_lossy(&between);
        let text = text
            .trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']' | '\u{feff}'));
        if sse::is_stray(text.as_bytes()) {
            events.push_back(Event {
                error: false,
                stray: true,
                data: text.into(),
            });
        }
    }

    fn push(&mut self, bytes: &[u8], events: &mut VecDeque<Event>) -> Result<(), ProviderError> {
        for &byte in bytes {
            let was_open = self.is_open();
            self.nesting.read(byte);
            if !was_open && !self.is_open() {
                match byte {
                    b'\n' | b'\r' => self.end_line(events),
                    // What separates values.
                    _ if self.between.len() < MAX_BETWEEN_BYTES => self.between.push(byte),
                    _ => {}
                }
                continue;
            }
            if self.value.len() == MAX_VALUE_BYTES {
                let error = ProviderError::new(ErrorKind::Malformed);
                return Err(error.with_note("a value is longer than 16 MiB"));
            }
            self.value.push(byte);
            if !self.is_open() {
                let between = std::mem::take(&mut self.between);
                let lead = String::from_utf8_lossy(&between);
                events.push_back(Event {
                    error: names_failure(&lead),
                    stray: false,
                    data: std::mem::take(&mut self.value),
                });
            }
        }
        Ok(())
    }
}
