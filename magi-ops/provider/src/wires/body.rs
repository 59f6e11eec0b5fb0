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

const NO_EVENT: &str = "a line is no part of an event stream";

/// A body as far as it has been read.
pub(crate) struct Body {
    shape: Shape,
    reader: Box<dyn Reader>,
    /// Of a body of values; of one of events the JSON that stands among them without being one.
    values: Values,
    /// Bytes read so far.
    bytes: usize,
    begun: bool,
    finishing: bool,
}

enum Shape {
    /// Nothing but white space, or a part of a byte order mark, so far.
    Unknown(Vec<u8>),
    Events(sse::Decoder),
    Values,
}

impl Body {
    pub(super) fn new(reader: Box<dyn Reader>) -> Self {
        Self {
            shape: Shape::Unknown(Vec::new()),
            reader,
            values: Values::default(),
            bytes: 0,
            begun: false,
            finishing: false,
        }
    }

    /// Whether an event has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// What has been read, for the caller to take.
    pub(super) fn pieces(&mut self) -> &mut VecDeque<Chunk> {
        self.reader.pieces()
    }

    /// Reads a packet, or with `None` the body's end. After [`Progress::Done`] or an error nothing more
    /// is to be read; what was whole before an error is among the pieces.
    ///
    /// # Errors
    /// For what can't be read, for what says that the server failed, and for a body that ends before
    /// its response is whole.
    pub(crate) fn read(&mut self, bytes: Option<&[u8]>) -> Result<Progress, ProviderError> {
        let Some(bytes) = bytes else {
            return self.read_end();
        };
        self.bytes += bytes.len();
        if self.bytes > MAX_RESPONSE_BYTES {
            return Err(ProviderError::malformed(
                "the response is longer than 64 MiB",
            ));
        }
        let mut events = VecDeque::new();
        let pushed = self.decode(bytes, &mut events);
        for event in events {
            if self.event(&event)? == Progress::Done {
                return Ok(Progress::Done);
            }
        }
        pushed.map(|()| match self.finishing {
            true => Progress::Finishing,
            false => Progress::More,
        })
    }

    fn decode(&mut self, bytes: &[u8], events: &mut VecDeque<Event>) -> Result<(), ProviderError> {
        let head = match &mut self.shape {
            Shape::Events(decoder) => return decoder.push(bytes, events),
            Shape::Values => return self.values.push(bytes, events),
            Shape::Unknown(head) => head,
        };
        head.extend_from_slice(bytes);
        let mark = b"\xef\xbb\xbf";
        let text = head.strip_prefix(mark).unwrap_or(head);
        let shape = match text.trim_ascii_start().first() {
            None => {
                // Blank lines with which servers keep a connection alive.
                head.clear();
                return Ok(());
            }
            _ if mark.starts_with(head) => return Ok(()),
            Some(b'<') => return Err(ProviderError::malformed("it sent a web page")),
            Some(b'{' | b'[') => Shape::Values,
            _ => Shape::Events(sse::Decoder::default()),
        };
        let head = std::mem::take(head);
        self.shape = shape;
        self.decode(&head, events)
    }

    fn event(&mut self, event: &Event) -> Result<Progress, ProviderError> {
        self.begun = true;
        let data = match event {
            Event::Data(data) | Event::Named(_, data) => data,
            Event::Stray(line) => return self.stray(&String::from_utf8_lossy(line)),
            Event::Failure(data) => {
                let text = String::from_utf8_lossy(data);
                let value = serde_json::from_str::<Value>(&text).ok();
                let told = value.as_ref().and_then(failure_in);
                let words = || failure_of(&value.unwrap_or_else(|| text.as_ref().into()));
                return Err(told.unwrap_or_else(words));
            }
        };
        let (items, lone) = items(data)?;
        for item in items {
            match item {
                Item::Value(value) => {
                    if let Some(failure) = failure_in(&value) {
                        return Err(failure);
                    }
                    let values = match value {
                        Value::Array(values) => values,
                        value => vec![value],
                    };
                    for mut value in values {
                        if let (Event::Named(name, _), Value::Object(members)) = (event, &mut value)
                        {
                            members
                                .entry("type")
                                .or_insert_with(|| name.as_str().into());
                        }
                        match self.reader.event(value, lone)? {
                            Progress::More => {}
                            Progress::Finishing => self.finishing = true,
                            Progress::Done => return self.end(),
                        }
                    }
                }
                Item::Marker => return self.marker(),
                Item::Words(words) if names_failure(&words) => {
                    return Err(failure_of(&words.into()));
                }
                Item::Words(_) => tracing::debug!("an event is no JSON and is skipped"),
            }
        }
        Ok(Progress::More)
    }

    fn marker(&mut self) -> Result<Progress, ProviderError> {
        self.reader.marker();
        self.end().map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error.with_note("its end marker came before its end"),
            _ => error,
        })
    }

    fn end(&mut self) -> Result<Progress, ProviderError> {
        self.reader.end().map(|()| Progress::Done)
    }

    /// A line that is no field of an event. Unless it is what a server's event says or an end marker, the
    /// stream is not what it should be, and nothing of the response counts.
    fn stray(&mut self, line: &str) -> Result<Progress, ProviderError> {
        let text = line.trim();
        if text.eq_ignore_ascii_case("[done]") {
            return self.marker();
        }
        let is_json = self.values.is_open() || text.starts_with(['{', '[']);
        if !is_json || matches!(self.shape, Shape::Values) {
            return Err(stray_failure(text));
        }
        let mut values = VecDeque::new();
        self.values.push(line.as_bytes(), &mut values)?;
        self.values.push(b"\n", &mut values)?;
        for value in values {
            match &value {
                Event::Stray(text) => return Err(stray_failure(&String::from_utf8_lossy(text))),
                Event::Data(data) | Event::Named(_, data) | Event::Failure(data) => {
                    check_event(data)?;
                }
            }
            if self.event(&value)? == Progress::Done {
                return Ok(Progress::Done);
            }
        }
        Ok(Progress::More)
    }

    /// The body broke off with `failure`, or nothing more is waited for. A response that is whole but for its
    /// end marker is whole.
    ///
    /// # Errors
    /// What the body's last line tells of, else `failure`, if what arrived is not whole.
    pub(super) fn break_off(&mut self, failure: ProviderError) -> Result<(), ProviderError> {
        let last = match &mut self.shape {
            Shape::Events(decoder) => decoder.finish().unwrap_or_default(),
            _ => VecDeque::new(),
        };
        for event in last {
            if let Event::Data(data) | Event::Named(_, data) = &event {
                // It may lack its end: only what it tells of a failure counts.
                let value = json::value(&String::from_utf8_lossy(data));
                value.as_ref().and_then(failure_in).map_or(Ok(()), Err)?;
            } else if self.event(&event)? == Progress::Done {
                return Ok(());
            }
        }
        if let Some(told) = self.values.open_failure() {
            return Err(told);
        }
        self.reader.end().map_err(|lacks| {
            tracing::debug!(error = %lacks, "what arrived is not whole");
            failure
        })
    }

    fn read_end(&mut self) -> Result<Progress, ProviderError> {
        let mut last = VecDeque::new();
        match &mut self.shape {
            Shape::Unknown(_) => return Err(ProviderError::malformed("the answer has no body")),
            Shape::Events(decoder) => last = decoder.finish()?,
            Shape::Values if self.values.is_open() => {}
            Shape::Values => self.values.end_line(&mut last),
        }
        for last in last {
            match self.event(&last) {
                Ok(Progress::Done) => return Ok(Progress::Done),
                // Half an event is none.
                Err(error) if error == ErrorKind::Malformed && !matches!(last, Event::Stray(_)) => {
                }
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
        if self.values.is_open() {
            let failure = self.values.open_failure();
            return Err(failure.unwrap_or_else(|| ErrorKind::Interrupted.into()));
        }
        let whole = matches!(self.shape, Shape::Values);
        match self.end() {
            Err(error) if whole && self.begun && error == ErrorKind::Interrupted => {
                Err(ProviderError::malformed("it sent JSON that is no answer"))
            }
            ended => ended,
        }
    }
}

/// The failure that a line among the events stands for.
fn stray_failure(text: &str) -> ProviderError {
    if is_page(text) {
        return ProviderError::malformed("it sent a web page");
    }
    let value = text
        .split_once(':')
        .and_then(|(_, value)| json::value(value));
    match value.filter(|value| value.is_object() || value.is_array()) {
        Some(value) => failure_in(&value).unwrap_or_else(|| failure_of(&value)),
        None if names_failure(text) => failure_of(&text.into()),
        None => ProviderError::malformed(NO_EVENT).with_message(text),
    }
}

/// Whether JSON among the events tells of a failure or is an event of some wire.
fn check_event(data: &[u8]) -> Result<(), ProviderError> {
    let Some(value) = json::value(&String::from_utf8_lossy(data)) else {
        return Ok(());
    };
    let like = ["choices", "type", "usage", "object"]
        .iter()
        .any(|name| value.get(*name).is_some());
    if like || failure_in(&value).is_some() {
        return Ok(());
    }
    Err(ProviderError::malformed(NO_EVENT))
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

    /// The failure in JSON that has begun and not ended.
    fn open_failure(&self) -> Option<ProviderError> {
        failure_in_prefix(&String::from_utf8_lossy(&self.value))
    }

    /// What stood on a line behind or without a value; what only separates values is nothing.
    fn end_line(&mut self, events: &mut VecDeque<Event>) {
        let between = std::mem::take(&mut self.between);
        let text = String::from_utf8_lossy(&between);
        let text = text
            .trim_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']' | '\u{feff}'));
        if sse::is_stray(text.as_bytes()) {
            events.push_back(Event::Stray(text.into()));
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
                return Err(ProviderError::malformed("a value is longer than 16 MiB"));
            }
            self.value.push(byte);
            if !self.is_open() {
                let lead = std::mem::take(&mut self.between);
                let data = std::mem::take(&mut self.value);
                events.push_back(match names_failure(&String::from_utf8_lossy(&lead)) {
                    true => Event::Failure(data),
                    false => Event::Data(data),
                });
            }
        }
        Ok(())
    }
}
