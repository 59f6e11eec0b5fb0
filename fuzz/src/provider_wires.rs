//! What a model's server may send: any packets of the same bytes give the same events, pieces and end, within
//! the bounds, and what was said can be sent back. Every wire reads every input; no connection is made.

use std::collections::HashSet;
use std::sync::Arc;

use provider::fuzzing::{MAX_EVENT_BYTES, PROVIDER, Spoken, events, pieces, request_body};
use provider::{
    Chunk, ErrorKind, Message, ProviderError, ProviderState, Request, ThinkingLevel, ToolCall,
};
use serde_json::{Value, json};

use crate::input::{Sizes, expand_to};

#[path = "provider_wires/sent_back.rs"]
mod sent_back;
use sent_back::sent_back;

/// The most bytes that an input stands for: an event at its bound, and something more.
const MOST: usize = MAX_EVENT_BYTES + 160 * 1024;
/// A call that the conversation has had before the response.
const KNOWN_CALL: &str = "call_known";

/// Who reads an input: a model whose signed thinking is raw, one that sends summaries, the other wires'.
const READERS: [(Spoken, &str); 5] = [
    (Spoken::Anthropic, "claude-haiku-4-5"),
    (Spoken::Anthropic, "claude-opus-4-7"),
    (Spoken::OpenaiChat, "any"),
    (Spoken::OpenaiResponses, "gpt-5"),
    (Spoken::Gemini, "gemini-2.5-flash"),
];

/// Checks a whole input. Gives what each reader came to: the names of its pieces, and last how it ended.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> [Vec<String>; 5] {
    let input = expand_to(data, MOST);
    decoded(&input);
    READERS.map(|(spoken, model)| response(spoken, model, &input))
}

/// Everything at once, in packets of every size, and byte for byte.
fn packets(input: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut choppings = vec![vec![input]];
    for salt in 1..=2 {
        let mut sizes = Sizes::new(input, salt);
        let mut rest = input;
        let mut chopped = Vec::new();
        while !rest.is_empty() {
            let (packet, after) = rest.split_at(sizes.size(rest.len()));
            chopped.push(packet);
            // A packet without a byte changes nothing.
            if sizes.draw().is_multiple_of(4) {
                chopped.push(&[]);
            }
            rest = after;
        }
        choppings.push(chopped);
    }
    if input.len() <= 4096 {
        choppings.push(input.chunks(1).collect());
    }
    choppings
}

/// The event stream against a slow reading of the whole.
fn decoded(input: &[u8]) {
    let expected = slowly(input);
    for packets in packets(input) {
        let (events, fault) = events(packets);
        let fault = fault.map(|fault| fault.kind());
        let expected_events = expected.0.iter();
        assert!(
            events.iter().eq(expected_events) && fault == expected.1,
            "{} of {} events, {fault:?} for {:?}",
            events.len(),
            expected.0.len(),
            expected.1
        );
    }
    let mut held = 0;
    for event in &expected.0 {
        assert!(event.len() <= 3 * MAX_EVENT_BYTES && !event.contains('\r'));
        held += event.len();
    }
    // U+FFFD for a byte that is no UTF-8.
    assert!(held <= 3 * input.len(), "nothing grows further");
}

/// The events of a stream as WHATWG's HTML says ("Interpreting an event stream"), with this crate's bounds.
fn slowly(input: &[u8]) -> (Vec<String>, Option<ErrorKind>) {
    let mut lines: Vec<&[u8]> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < input.len() {
        if input[at] == b'\n' || input[at] == b'\r' {
            lines.push(&input[start..at]);
            at += usize::from(input[at..].starts_with(b"\r\n"));
            start = at + 1;
        }
        at += 1;
    }
    let mut events = Vec::new();
    let mut data: Vec<Vec<u8>> = Vec::new();
    let mut error = false;
    for (number, line) in lines.into_iter().enumerate() {
        if line.len() > MAX_EVENT_BYTES {
            return (events, Some(ErrorKind::Malformed));
        }
        let line = match line.strip_prefix("\u{feff}".as_bytes()) {
            Some(rest) if number == 0 => rest,
            _ => line,
        };
        if line.is_empty() {
            // An event that says error needs no data.
            if !data.is_empty() || std::mem::take(&mut error) {
                let event = std::mem::take(&mut data).join(&b'\n');
                events.push(String::from_utf8_lossy(&event).into_owned());
                error = false;
            }
            continue;
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts.next();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value).to_vec();
        if name == Some(b"event") {
            let name = String::from_utf8_lossy(&value).to_ascii_lowercase();
            error = ["error", "exception", "fail", "fatal"]
                .iter()
                .any(|part| name.contains(part))
                || error;
        }
        let value = match name {
            Some(b"data") => value,
            // A value that is printed over several lines behind one field.
            _ if goes_on(line) && is_open(&data.join(&b'\n')) => line.to_vec(),
            _ => continue,
        };
        data.push(value);
        if data.iter().map(|line| line.len() + 1).sum::<usize>() - 1 > MAX_EVENT_BYTES {
            return (events, Some(ErrorKind::Malformed));
        }
    }
    let cut_off = &input[start.min(input.len())..];
    let fault = (cut_off.len() > MAX_EVENT_BYTES).then_some(ErrorKind::Malformed);
    (events, fault)
}

/// Whether JSON has begun and not ended, and no string of it is open.
fn is_open(data: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in data {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' if depth > 0 => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let begins = matches!(data.trim_ascii_start(), [b'{' | b'[', ..]);
    begins && depth > 0 && !in_string
}

/// Whether a line begins as a part of printed JSON does.
fn goes_on(line: &[u8]) -> bool {
    let first = line.first();
    first.is_some_and(|first| b" \t\"{}[],-0123456789".contains(first))
}

fn request(model: &str, messages: Vec<Message>) -> Request {
    Request {
        session: "s".to_owned(),
        model: model.to_owned(),
        system: "".into(),
        thinking: ThinkingLevel::High,
        fast: false,
        written: Default::default(),
        messages: Arc::new(messages),
        tools: Vec::new(),
        workspace: "/".into(),
        ..Request::default()
    }
}

fn user(text: &str) -> Message {
    Message::User {
        text: text.to_owned(),
    }
}

fn result(call: &ToolCall) -> Message {
    Message::ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: "done".to_owned(),
        images: Vec::new(),
        is_error: false,
    }
}

fn response(spoken: Spoken, model: &str, input: &[u8]) -> Vec<String> {
    let known = ToolCall {
        id: KNOWN_CALL.to_owned(),
        name: "read".to_owned(),
        input: json!({}),
    };
    let before = vec![
        user("hi"),
        Message::Assistant {
            state: ProviderState::default(),
            text: String::new(),
            tool_calls: vec![known.clone()],
        },
        result(&known),
    ];
    let request = request(model, before);
    let mut first: Option<(Vec<Chunk>, Result<(), ProviderError>)> = None;
    for packets in packets(input) {
        let (said, end) = pieces(spoken, &request, packets);
        let said = Vec::from(said);
        let Some((whole, whole_end)) = &first else {
            first = Some((said, end));
            continue;
        };
        assert_eq!(end, *whole_end, "the packets decide nothing");
        let mut pairs = said.iter().zip(whole);
        assert!(said.len() == whole.len() && pairs.all(|(one, other)| alike(one, other)));
    }
    let (said, end) = first.unwrap_or((Vec::new(), Ok(())));
    bounded(spoken, model, &said, input.len());
    sent_back(model, &said);
    let mut names: Vec<_> = said.iter().map(|chunk| name(chunk).to_owned()).collect();
    names.push(end.map_or_else(
        |error| format!("{:?}", error.kind()),
        |()| "Whole".to_owned(),
    ));
    names
}

fn name(chunk: &Chunk) -> &'static str {
    match chunk {
        Chunk::Text(_) => "Text",
        Chunk::Reasoning {
            provider_summary: true,
            ..
        } => "Summary",
        Chunk::Reasoning { .. } => "Reasoning",
        Chunk::State(_) => "State",
        Chunk::ToolCall(_) => "ToolCall",
        Chunk::Cut => "Cut",
        Chunk::Retry(_) => "Retry",
        Chunk::Notice(_) => "Notice",
        Chunk::Usage(_) => "Usage",
    }
}

/// The same but for an id that was made up.
fn alike(one: &Chunk, other: &Chunk) -> bool {
    match (one, other) {
        (Chunk::ToolCall(one), Chunk::ToolCall(other)) => {
            let made = |id: &str| id.len() == 37 && id.starts_with("call_");
            (one.id == other.id || made(&one.id) && made(&other.id))
                && (&one.name, &one.input) == (&other.name, &other.input)
        }
        _ => one == other,
    }
}

fn bounded(spoken: Spoken, model: &str, said: &[Chunk], input: usize) {
    let mut ids = HashSet::from([KNOWN_CALL]);
    let (mut shown, mut cuts) = (0, 0);
    for chunk in said {
        match chunk {
            Chunk::Text(text) => {
                assert!(!text.is_empty());
                shown += text.len();
            }
            Chunk::Reasoning {
                text,
                provider_summary,
            } => {
                assert!(!text.is_empty());
                let may_not = spoken == Spoken::OpenaiChat || model == READERS[0].1;
                assert!(
                    !(may_not && *provider_summary),
                    "only what the provider made for display is shown"
                );
                shown += if *provider_summary { 0 } else { text.len() };
            }
            Chunk::State(state) => {
                assert!(state.is_object());
                let signed = state["signature"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty());
                assert_eq!(signed, spoken == Spoken::Anthropic);
            }
            Chunk::ToolCall(call) => {
                assert!((1..=512).contains(&call.id.len()));
                assert!(ids.insert(&call.id), "one id twice");
                shown += call.name.len();
            }
            Chunk::Cut => cuts += 1,
            Chunk::Retry(_) | Chunk::Notice(_) => panic!("a body is read once"),
            Chunk::Usage(usage) => {
                let cached = usage.cache_read.unwrap_or(0);
                assert!(spoken != Spoken::Anthropic || cached <= usage.input);
            }
        }
    }
    assert!(shown <= 3 * input, "nothing grows further");
    assert!(cuts <= 1, "one end is told once");
    let is_last = matches!(said.last(), Some(Chunk::Cut));
    assert!(spoken == Spoken::OpenaiChat || is_last == (cuts == 1));
}
