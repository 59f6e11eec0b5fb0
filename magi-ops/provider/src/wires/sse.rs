//! Server-sent events: bytes in any packets to whole events, within bounds.
//! Knows no wire; of a name only whether it says error, and ids and retry times are not needed by any.

use std::collections::VecDeque;

use memchr::{memchr2, memmem};

use super::failure_kind::names_failure;
use super::json::Nesting;
use crate::error::ProviderError;

/// Longest line and longest data of one event, in bytes.
pub(crate) const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// Longest name of an event that is kept, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// The name of events that have none.
const USUAL_NAME: &[u8] = b"message";

/// One event. Its data are not always UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Data(Vec<u8>),
    /// The same with a name, which may say what the data leave out.
    Named(String, Vec<u8>),
    /// Its name says that it tells of a failure.
    Failure(Vec<u8>),
    /// A line that is no field of an event, or a field that tells of a failure.
    Stray(Vec<u8>),
}

#[cfg(any(test, feature = "fuzzing"))]
impl Event {
    /// The data as text; of a stray line nothing.
    pub(crate) fn text(self) -> Option<String> {
        match self {
            Self::Data(data) | Self::Named(_, data) | Self::Failure(data) => {
                Some(String::from_utf8_lossy(&data).into_owned())
            }
            Self::Stray(_) => None,
        }
    }
}

/// The state between two packets.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The line that has begun.
    line: Vec<u8>,
    /// The data of the event that has begun; `None` before its first `data` field.
    data: Option<Vec<u8>>,
    /// Of that data, as far as it was looked at, and how far that was.
    nesting: (Nesting, usize),
    /// The name of the event that has begun says error.
    error: bool,
    /// That name, if it tells anything.
    name: String,
    /// The last byte was a CR: an LF right after it belongs to the same line end.
    after_cr: bool,
    /// A whole line has been read.
    begun: bool,
}

impl Decoder {
    /// Reads a packet and appends every event that it completes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Malformed`] beyond the bounds; nothing can be read after that.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        events: &mut VecDeque<Event>,
    ) -> Result<(), ProviderError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.after_cr)
            && let Some(rest) = bytes.strip_prefix(b"\n")
        {
            bytes = rest;
        }
        while let Some(end) = memchr2(b'\r', b'\n', bytes) {
            if self.line.is_empty() {
                self.end_line(&bytes[..end], events)?;
            } else {
                self.keep(&bytes[..end])?;
                let line = std::mem::take(&mut self.line);
                self.end_line(&line, events)?;
                // Its room is used again.
                self.line = line;
                self.line.clear();
            }
            let cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if cr {
                match bytes.strip_prefix(b"\n") {
                    Some(rest) => bytes = rest,
                    None => self.after_cr = bytes.is_empty(),
                }
            }
        }
        self.keep(bytes)
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), ProviderError> {
        if self.line.len() + part.len() > MAX_EVENT_BYTES {
            return Err(beyond_bounds());
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(
        &mut self,
        mut line: &[u8],
        events: &mut VecDeque<Event>,
    ) -> Result<(), ProviderError> {
        // A line that came in one packet was never kept.
        if line.len() > MAX_EVENT_BYTES {
            return Err(beyond_bounds());
        }
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event(events);
            return Ok(());
        }
        if let Some(name) = field(line, b"event") {
            let says = |word: &[u8]| memmem::find(&name.to_ascii_lowercase(), word).is_some();
            // Another event may begin without a blank line before it.
            self.error |= [&b"error"[..], b"exception", b"fail", b"fatal"]
                .into_iter()
                .any(says);
            self.name = match name.len() <= MAX_NAME_BYTES && name != USUAL_NAME {
                true => String::from_utf8_lossy(name).trim().to_owned(),
                false => String::new(),
            };
        }
        let value = match field(line, b"data") {
            Some(value) => value,
            // A value that is printed over several lines behind one field.
            None if goes_on(line) && self.is_open() => line,
            None if !is_stray(line) => return Ok(()),
            None => {
                events.push_back(Event::Stray(line.to_vec()));
                return Ok(());
            }
        };
        let held = self.data.as_ref().map_or(0, |data| data.len() + 1);
        if held + value.len() > MAX_EVENT_BYTES {
            return Err(beyond_bounds());
        }
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        Ok(())
    }

    /// Whether the data so far is a JSON value without its end.
    fn is_open(&mut self) -> bool {
        let Some(data) = &self.data else {
            return false;
        };
        let (nesting, looked) = &mut self.nesting;
        for byte in &data[*looked..] {
            nesting.read(*byte);
        }
        *looked = data.len();
        let begins = data.trim_ascii_start();
        let is_json = begins.starts_with(b"{") || begins.starts_with(b"[");
        is_json && nesting.depth > 0 && !nesting.in_string
    }

    fn end_event(&mut self, events: &mut VecDeque<Event>) {
        self.nesting = Default::default();
        let (data, error) = (self.data.take(), std::mem::take(&mut self.error));
        let name = std::mem::take(&mut self.name);
        // A failure needs no words.
        events.extend(match (data, error) {
            (data, true) => Some(Event::Failure(data.unwrap_or_default())),
            (data, false) => data.map(|data| match name.is_empty() {
                true => Event::Data(data),
                false => Event::Named(name, data),
            }),
        });
    }

    /// The body has ended: what a last line or event has without its end.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(crate) fn finish(&mut self) -> Result<VecDeque<Event>, ProviderError> {
        let mut events = VecDeque::new();
        let line = std::mem::take(&mut self.line);
        // The beginning of a field is none yet.
        let cut = FIELDS.iter().any(|name| name.starts_with(&line));
        if !line.is_empty() && !cut {
            self.end_line(&line, &mut events)?;
        }
        self.end_event(&mut events);
        Ok(events)
    }
}

/// The names of an event's fields.
const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

/// Whether `line` is no comment and no field, or a field whose name or value says that something failed.
pub(crate) fn is_stray(line: &[u8]) -> bool {
    if line.starts_with(b":") || FIELDS.iter().any(|name| field(line, name).is_some()) {
        return false;
    }
    let colon = line.iter().position(|byte| *byte == b':');
    let Some((name, value)) = colon.map(|at| line.split_at(at)) else {
        return !line.trim_ascii().is_empty();
    };
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let value = value[1..].trim_ascii();
    !name.iter().all(inner)
        || value.starts_with(b"{")
        || names_failure(&String::from_utf8_lossy(name))
        || names_failure(&String::from_utf8_lossy(value))
}

/// Whether `line` may be a part of printed JSON.
fn goes_on(line: &[u8]) -> bool {
    line.first()
        .is_some_and(|first| b" \t\"{}[],-0123456789".contains(first))
}

/// The value of `line` if it is a field of this name.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        // Another field whose name begins alike.
        _ => None,
    }
}

fn beyond_bounds() -> ProviderError {
    ProviderError::malformed("an event is longer than 1 MiB")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;

    fn read(packets: &[&[u8]]) -> Result<Vec<String>, ProviderError> {
        let mut decoder = Decoder::default();
        let mut events = VecDeque::new();
        for packet in packets {
            decoder.push(packet, &mut events)?;
        }
        Ok(events.into_iter().filter_map(Event::text).collect())
    }

    /// All events of a whole body.
    fn read_whole(body: &str) -> VecDeque<Event> {
        let mut decoder = Decoder::default();
        let mut events = VecDeque::new();
        decoder.push(body.as_bytes(), &mut events).unwrap();
        events.extend(decoder.finish().unwrap());
        events
    }

    #[test]
    fn fields_comments_and_line_ends() {
        let stream = "\u{feff}: hello\r\nevent: x\r\ndata: one\r\ndata:two\r\n\r\nid: 7\n\ndata\n\n\
                      database: no\n\ndata:  kept\r\rdata: cut off\n";
        assert_eq!(
            read(&[stream.as_bytes()]).unwrap(),
            ["one\ntwo", "", " kept"]
        );
    }

    #[test]
    fn a_line_that_is_no_field_is_stray() {
        for (line, stray) in [
            ("id: error", false),
            ("retry: 10", false),
            ("event: ping", false),
            ("id", false),
            (": error", false),
            ("x-trace: 7", false),
            ("  ", false),
            ("error: boom", true),
            ("x: it failed", true),
            ("note: {\"a\":1}", true),
            ("Internal Server Error", true),
            ("upstream gone", true),
            ("[DONE]", true),
            ("{\"detail\":\"x\"}", true),
            ("<html>", true),
        ] {
            assert_eq!(is_stray(line.as_bytes()), stray, "{line}");
        }
    }

    #[test]
    fn a_line_end_split_over_packets_is_one() {
        let packets: [&[u8]; 4] = [b"data: a\r", b"\ndata: b\r", b"", b"\n\r\n"];
        assert_eq!(read(&packets).unwrap(), ["a\nb"]);
        // A CR alone ends a line as well: two of them end the event.
        let packets: [&[u8]; 3] = [b"data: a\r", b"\r", b"data: b\n\n"];
        assert_eq!(read(&packets).unwrap(), ["a", "b"]);
    }

    #[test]
    fn bounds_hold_for_lines_and_for_events() {
        let exact = format!("data: {}\n\n", "x".repeat(MAX_EVENT_BYTES - 6));
        assert_eq!(read(&[exact.as_bytes()]).unwrap().len(), 1);
        let endless = vec![b'x'; MAX_EVENT_BYTES + 1];
        assert_eq!(read(&[&endless]).unwrap_err(), ErrorKind::Malformed);
        let line = format!("data: {}\n", "x".repeat(MAX_EVENT_BYTES / 2));
        let lines = line.repeat(2);
        assert_eq!(read(&[lines.as_bytes()]).unwrap_err(), ErrorKind::Malformed);
        // Empty data fields cost their line ends.
        let empty = "data:\n".repeat(MAX_EVENT_BYTES + 2);
        assert_eq!(read(&[empty.as_bytes()]).unwrap_err(), ErrorKind::Malformed);
    }

    #[test]
    fn a_line_beyond_the_bound_is_refused_wherever_packets_are_cut() {
        for (length, fits) in [(MAX_EVENT_BYTES, true), (MAX_EVENT_BYTES + 1, false)] {
            for start in [":", "data:"] {
                let rest = "x".repeat(length - start.len());
                let line = format!("{start}{rest}\n\n");
                let (head, tail) = line.as_bytes().split_at(length / 2);
                assert_eq!(read(&[line.as_bytes()]).is_ok(), fits, "{start} {length}");
                assert_eq!(read(&[head, tail]).is_ok(), fits, "{start} {length}");
            }
        }
    }

    #[test]
    fn what_is_no_utf_8_costs_its_own_place_only() {
        let text = "data: größer 😀\n\n".as_bytes();
        for at in 0..text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(read(&[head, tail]).unwrap(), ["größer 😀"]);
        }
        assert_eq!(read(&[b"data: a\xffb\n\n"]).unwrap(), ["a\u{fffd}b"]);
    }

    #[test]
    fn a_name_may_say_error_and_an_end_may_be_missing() {
        let mut decoder = Decoder::default();
        let mut events = VecDeque::new();
        let stream = b"event: error\n\nevent: ModelException\ndata: x\n\nevent: ping\n\ndata: last";
        decoder.push(stream, &mut events).unwrap();
        let failure = |data: &str| Event::Failure(data.into());
        assert_eq!(events, [failure(""), failure("x")]);
        let stream =
            "event: response.done\nid: 1\ndata: x\n\nevent: message\ndata: y\n\ndata: z\n\n";
        let named = Event::Named("response.done".into(), "x".into());
        let [y, z] = ["y", "z"].map(|data| Event::Data(data.into()));
        assert_eq!(read_whole(stream), [named, y, z]);
        assert_eq!(decoder.finish().unwrap(), [Event::Data("last".into())]);
        assert!(decoder.finish().unwrap().is_empty());
    }

    #[test]
    fn a_name_that_says_error_counts_without_its_blank_line() {
        for stream in [
            "event: error\nevent: ping\ndata: x\n\n",
            "event: ping\nevent: error\ndata: x",
            "event: error\ndata: x\nevent: ping\ndata: y\n\n",
            "event: error\n",
            "event: error",
        ] {
            let events = read_whole(stream);
            assert!(
                events.len() == 1 && matches!(events[0], Event::Failure(_)),
                "{stream}"
            );
        }
    }

    #[test]
    fn json_may_be_printed_over_several_lines_behind_one_field() {
        let stream = "data: {\n  \"a\": [\n    1,\n  true],\n\"b\": \"}\"\n}\n\ndata: {\"c\":[\ndata: 2\n]}\n\n";
        assert_eq!(
            read(&[stream.as_bytes()]).unwrap(),
            [
                "{\n  \"a\": [\n    1,\n  true],\n\"b\": \"}\"\n}",
                "{\"c\":[\n2\n]}"
            ]
        );
        for other in [
            "data: {}\n}\n\n",
            "data: {\nupstream gone\n\n",
            "data: x\n \"a\"\n\n",
        ] {
            assert!(matches!(read_whole(other)[0], Event::Stray(_)), "{other}");
        }
    }

    proptest! {
        /// What was written is read, whatever the line ends and wherever the packets are cut.
        #[test]
        fn any_packets_give_the_same_events(
            events in prop::collection::vec(prop::collection::vec("[^\r\n]{0,12}", 1..4), 0..6),
            ends in prop::collection::vec(0..3_usize, 32),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut ends = ends.into_iter().cycle().map(|end| ["\n", "\r\n", "\r"][end]);
            let mut stream = String::new();
            for event in &events {
                for line in event {
                    stream.push_str("data: ");
                    stream.push_str(line);
                    stream.push_str(ends.next().unwrap());
                }
                // A CR before the blank line's LF would be one line end with it.
                stream.push_str(if stream.ends_with('\r') { "\r" } else { ends.next().unwrap() });
            }
            let stream = stream.as_bytes();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.push(0);
            cuts.push(stream.len());
            cuts.sort_unstable();
            let packets: Vec<_> = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]).collect();
            let expected: Vec<_> = events.iter().map(|lines| lines.join("\n")).collect();
            prop_assert_eq!(read(&packets).unwrap(), expected);
        }

        #[test]
        fn no_bytes_make_it_panic(packets in prop::collection::vec(any::<Vec<u8>>(), 0..8)) {
            let packets: Vec<_> = packets.iter().map(Vec::as_slice).collect();
            let _ = read(&packets);
        }
    }
}
