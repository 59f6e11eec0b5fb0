//! mty-agent: every line gives one request with an `op` string, or one message that becomes an `error`
//! line; a body's requests end, and what is left of it only shrinks.

use host::serve::sequential::Request;
use mty_agent::wire::{clip, decode, push_done, push_error};
use mty_agent::{MESSAGE_CHARS, RULES};
use serde_json::Value;

use crate::framing::{self, Piece};
use crate::input::expand;
use crate::local_agent::text_of;
use crate::naive;
use crate::scanning;

/// Requests of one body that are looked at.
const BODY: usize = 8;

/// Checks a whole input, as lines and as one body. Gives a word for each line: the beginning of its
/// message; `None` is a decoded request.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<Option<&'static str>> {
    let input = expand(data);
    let mut words = Vec::new();
    for piece in framing::check(RULES.frame, &input) {
        words.push(match &piece {
            Piece::Frame(line) => line_verdict(line).map(|_| ()).err(),
            Piece::Oversize => Some("request too large"),
            Piece::Incomplete => panic!("the last line needs no LF"),
        });
    }
    let mut body = &input[..];
    for _ in 0..BODY {
        let Ok(rest) = line_verdict(body) else { break };
        assert!(rest < body.len(), "a request takes bytes");
        body = &body[body.len() - rest..];
    }
    words
}

/// How many bytes follow the request in `line`, or the beginning of the message that refuses it.
fn line_verdict(line: &[u8]) -> Result<usize, &'static str> {
    let decoded = decode(line);
    assert_eq!(decode(line), decoded, "the same line, the same verdict");
    let expected = expected(line);
    match decoded {
        Ok(request) => {
            assert_eq!(expected, Ok(request.method.clone()), "{line:?}");
            accepted(line, &request);
            Ok(request.rest.len())
        }
        Err(message) => {
            let word = expected.expect_err("a request is not refused");
            assert!(message.starts_with(word), "{message:?} is no {word:?}");
            refused(&message);
            Err(word)
        }
    }
}

/// The rules of "Wire format" and of the product's limits, read slowly and in their order.
fn expected(line: &[u8]) -> Result<String, &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "malformed JSON: invalid UTF-8 at byte ")?;
    let found = naive::measure(text);
    scanning::check(text, &found, &RULES.scan);
    if !found.whole {
        return Err("malformed JSON: expected ");
    }
    if found.depth > 128 {
        return Err("malformed JSON: nested deeper than 128");
    }
    if !found.is_object {
        return Err("malformed request: expected a JSON object");
    }
    if found.duplicate_top || found.duplicate_nested {
        return Err("malformed request: the key `");
    }
    if found.unique("op").is_none() {
        return Err("malformed request: missing key `op`");
    }
    text_of(text, &found, "op").ok_or("malformed request: `op` must be a string")
}

fn accepted(line: &[u8], request: &Request<'_>) {
    let before = line.len() - request.rest.len() - request.params.len();
    assert!(
        line[..before].iter().all(|b| b" \t\r\n".contains(b)),
        "only space is skipped"
    );
    assert_eq!(
        &line[before..][..request.params.len()],
        request.params.as_bytes()
    );
    let found = naive::measure(request.params);
    assert!(found.ok() && found.is_object && found.value == (0..request.params.len()));
    if !found.extreme_number && found.depth < 128 && !found.reserved_key {
        let value: Value = serde_json::from_str(request.params).expect("serde_json takes it");
        assert_eq!(value["op"].as_str(), Some(request.method.as_str()));
    }
}

fn refused(message: &str) {
    let clipped = clip(message);
    assert!(clipped.chars().count() <= MESSAGE_CHARS);
    let mut out = Vec::new();
    push_error(&mut out, message);
    push_done(&mut out, 2);
    let text = String::from_utf8(out).expect("answers are UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    let error: Value = serde_json::from_str(lines[0]).expect("an error line is JSON");
    assert_eq!(error["kind"], "error");
    assert_eq!(error["message"].as_str(), Some(clipped.as_ref()));
    assert_eq!(lines[1..], [r#"{"kind":"done","exit_code":2}"#]);
}
