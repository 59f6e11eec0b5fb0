//! The lines of mty-agent, both ways: request decoding and response lines (spec: mty-agent, "Wire format";
//! toolchain digest, section 3). No op is named here.

use std::borrow::Cow;

use host::dialect::push_string;
use host::scan::{ScanLimits, SyntaxFault, decode_string, scan_prefix};
use host::serve::sequential::{Request, trimmed};

use crate::rules::{JSON_DEPTH, MESSAGE_CHARS, RULES};

/// Decodes the first JSON value of `text` as a request. Errs with the message of an `error` line, also
/// where the bytes behind the value are not UTF-8.
pub fn decode(text: &[u8]) -> Result<Request<'_>, String> {
    match std::str::from_utf8(text) {
        Ok(valid) => decode_valid(valid, text),
        Err(error) => Err(invalid_utf8(error.valid_up_to())),
    }
}

/// Like [`decode`], for bytes that may hold anything behind the request.
pub fn decode_first(text: &[u8]) -> Result<Request<'_>, String> {
    let Err(error) = std::str::from_utf8(text) else {
        return decode(text);
    };
    let valid = text.get(..error.valid_up_to()).unwrap_or_default();
    let valid = std::str::from_utf8(valid).unwrap_or_default();
    match scan_prefix(valid, &RULES.scan) {
        Ok(_) => decode_valid(valid, text),
        Err(_) => Err(invalid_utf8(error.valid_up_to())),
    }
}

fn invalid_utf8(offset: usize) -> String {
    format!("malformed JSON: invalid UTF-8 at byte {}", offset + 1)
}

/// `text` begins with `valid`.
fn decode_valid<'f>(valid: &'f str, text: &'f [u8]) -> Result<Request<'f>, String> {
    let start = valid.len() - valid.trim_start_matches([' ', '\t', '\r', '\n']).len();
    let (found, end) = scan_prefix(valid, &RULES.scan).map_err(|fault| malformed(valid, fault))?;
    if found.too_deep {
        return Err(format!("malformed JSON: nested deeper than {JSON_DEPTH}"));
    }
    if !found.is_object {
        return Err("malformed request: expected a JSON object".to_owned());
    }
    if let Some(key) = &found.duplicate_key {
        return Err(format!(
            "malformed request: the key `{}` is given twice",
            shorten(key)
        ));
    }
    let op = found
        .unique("op")
        .ok_or("malformed request: missing key `op`")?;
    let op = decode_string(op.value).ok_or("malformed request: `op` must be a string")?;
    Ok(Request {
        method: op.into_owned(),
        params: &valid[start..end],
        rest: text.get(end..).unwrap_or_default(),
    })
}

/// What the decoder of a request's keys complains of, in the words of JSON instead of our types.
#[must_use]
pub fn in_json_words(message: &str) -> Cow<'_, str> {
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("missing key {key}").into();
    }
    // "`key`: invalid type: string \"5\", expected usize"; the text may itself hold any of these words,
    // but not behind the last ones or before the first.
    let parts = message
        .rsplit_once(", expected ")
        .and_then(|(head, expected)| {
            let (at, key) = [": invalid type: ", ": invalid value: "]
                .iter()
                .filter_map(|words| head.find(words).map(|at| (at, words.len())))
                .min()?;
            Some((head.get(..at)?, head.get(at + key..)?, expected))
        });
    let Some((key, given, expected)) = parts else {
        return message.into();
    };
    let expected = match expected {
        "usize" | "u64" | "u32" | "u16" | "u8" => "a non-negative integer",
        "isize" | "i64" | "i32" | "i16" | "i8" => "an integer",
        "f64" | "f32" => "a number",
        "a sequence" => "an array",
        "a map" => "an object",
        other => other,
    };
    let given = match given.split([' ', ',']).next().unwrap_or_default() {
        "string" => "a string",
        "map" => "an object",
        "sequence" => "an array",
        // These show the value itself.
        _ => given.split('`').nth(1).unwrap_or(given),
    };
    format!("{key}: expected {expected}, got {given}").into()
}

/// Where the JSON went wrong; the column counts characters from 1 in its line.
fn malformed(text: &str, fault: SyntaxFault) -> String {
    let before = text.get(..fault.offset).unwrap_or(text);
    let last = before.rsplit('\n').next().unwrap_or_default();
    let column = last.chars().count() + 1;
    let line = match before.matches('\n').count() {
        0 => String::new(),
        ends => format!("line {} ", ends + 1),
    };
    let expected = fault.expected;
    format!("malformed JSON: expected {expected} at {line}column {column}")
}

/// At most [`MESSAGE_CHARS`] characters of a message.
#[must_use]
pub fn clip(message: &str) -> Cow<'_, str> {
    if message.chars().nth(MESSAGE_CHARS).is_none() {
        return Cow::Borrowed(message);
    }
    let head = message.chars().take(MESSAGE_CHARS - 1);
    Cow::Owned(head.chain(['…']).collect())
}

/// A name or path for a message that says more than that: what is too long loses its middle, for the end
/// tells most.
#[must_use]
pub fn shorten(text: &str) -> Cow<'_, str> {
    const HEAD: usize = 32;
    const TAIL: usize = 67;
    let length = text.chars().count();
    if length <= HEAD + 1 + TAIL {
        return Cow::Borrowed(text);
    }
    let head = text.chars().take(HEAD);
    let tail = text.chars().skip(length - TAIL);
    Cow::Owned(head.chain(['…']).chain(tail).collect())
}

/// An `error` line. What a terminal would act on is replaced: a message may name what a request said.
pub fn push_error(out: &mut Vec<u8>, message: &str) {
    out.extend_from_slice(br#"{"kind":"error","message":"#);
    let message = message.replace(acts_on_a_terminal, "\u{fffd}");
    push_string(out, &clip(&message));
    out.extend_from_slice(b"}\n");
}

/// Controls, line ends among them, and marks of a text's direction.
fn acts_on_a_terminal(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A `result` line: `op`, `ok`, then the members of `body`, a JSON object.
pub fn push_result(out: &mut Vec<u8>, op: &str, ok: bool, body: &str) {
    out.extend_from_slice(br#"{"kind":"result","op":"#);
    push_string(out, op);
    out.extend_from_slice(if ok {
        br#","ok":true"#
    } else {
        br#","ok":false"#
    });
    push_members(out, body);
}

/// A line of another kind with the members of `data`, a JSON object.
pub fn push_line(out: &mut Vec<u8>, kind: &str, data: &str) {
    out.extend_from_slice(br#"{"kind":"#);
    push_string(out, kind);
    push_members(out, data);
}

fn push_members(out: &mut Vec<u8>, object: &str) {
    let members = object
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap_or_default();
    if !members.is_empty() {
        out.push(b',');
        out.extend_from_slice(members.as_bytes());
    }
    out.extend_from_slice(b"}\n");
}

/// The `done` line, always a request's last.
pub fn push_done(out: &mut Vec<u8>, exit_code: i32) {
    out.extend_from_slice(br#"{"kind":"done","exit_code":"#);
    out.extend_from_slice(exit_code.to_string().as_bytes());
    out.extend_from_slice(b"}\n");
}

/// Why a line with more than one object is refused, if it has more; none of it runs. `text` is what
/// `request` was decoded from.
pub(crate) fn second_object(text: &[u8], request: &Request<'_>) -> Option<String> {
    let spare = trimmed(request.rest);
    let before = text
        .get(..text.len().checked_sub(spare.len())?)
        .unwrap_or_default();
    let column = String::from_utf8_lossy(before).chars().count() + 1;
    (!spare.is_empty()).then(|| format!("malformed JSON: expected end of line at column {column}"))
}

/// Objects after the first are reported, one line each, and never run.
pub(crate) fn report_rest(mut rest: &str, out: &mut Vec<u8>) {
    // More than this many ignored objects are summed up by the last line.
    const REPORTED: usize = 64;
    for reported in 0.. {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            return;
        }
        if reported == REPORTED {
            return push_error(out, "further objects ignored: one request is served");
        }
        match scan_prefix(rest, &ScanLimits::UNBOUNDED) {
            Ok((_, end)) => {
                push_error(out, "extra object ignored: one request is served");
                rest = rest.get(end..).unwrap_or_default();
            }
            Err(_) => {
                return push_error(out, "extra input ignored: malformed JSON after the request");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_are_objects_with_an_op() {
        let request = decode(b" {\"op\":\"find\",\"x\":1} tail").unwrap();
        assert_eq!(
            (request.method.as_str(), request.params, request.rest),
            ("find", "{\"op\":\"find\",\"x\":1}", &b" tail"[..])
        );
        assert_eq!(
            decode(br#"{"op" "check"}"#).unwrap_err(),
            "malformed JSON: expected `:` at column 7"
        );
        assert_eq!(
            decode(b"{\n\"op\" 1}").unwrap_err(),
            "malformed JSON: expected `:` at line 2 column 6"
        );
        assert_eq!(
            decode(b"[]").unwrap_err(),
            "malformed request: expected a JSON object"
        );
        assert_eq!(
            decode(b"{}").unwrap_err(),
            "malformed request: missing key `op`"
        );
        assert_eq!(
            decode(br#"{"op":5}"#).unwrap_err(),
            "malformed request: `op` must be a string"
        );
    }

    #[test]
    fn lines_keep_their_key_order() {
        let mut out = Vec::new();
        push_result(&mut out, "halt", true, "{}");
        push_result(&mut out, "find", true, r#"{"hits":[]}"#);
        push_error(&mut out, &"é".repeat(300));
        push_done(&mut out, 2);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], r#"{"kind":"result","op":"halt","ok":true}"#);
        assert_eq!(
            lines[1],
            r#"{"kind":"result","op":"find","ok":true,"hits":[]}"#
        );
        assert_eq!(
            lines[2].chars().filter(|c| *c == 'é').count(),
            MESSAGE_CHARS - 1
        );
        assert_eq!(lines[3], r#"{"kind":"done","exit_code":2}"#);
    }

    #[test]
    fn a_key_given_twice_is_named() {
        for (request, key) in [
            (r#"{"op":"a","op":"b"}"#.to_owned(), "op".to_owned()),
            (
                r#"{"op":"a","v":[{"x":1,"\u0078":2}]}"#.to_owned(),
                "x".to_owned(),
            ),
            (
                format!(r#"{{"op":"a","{0}":1,"{0}":2}}"#, "é".repeat(500)),
                format!("{}…{}", "é".repeat(32), "é".repeat(67)),
            ),
        ] {
            assert_eq!(
                decode(request.as_bytes()).unwrap_err(),
                format!("malformed request: the key `{key}` is given twice")
            );
        }
    }

    #[test]
    fn bytes_behind_the_first_request_do_not_spoil_it() {
        let text = b"{\"op\":\"a\"} {\"op\":\"\xff\"}";
        let request = decode_first(text).unwrap();
        assert_eq!((request.method.as_str(), request.rest), ("a", &text[10..]));
        assert_eq!(
            decode(text).unwrap_err(),
            "malformed JSON: invalid UTF-8 at byte 19"
        );
        assert_eq!(
            decode_first(b"{\"op\":\"\xff\"}").unwrap_err(),
            "malformed JSON: invalid UTF-8 at byte 8"
        );
    }

    #[test]
    fn complaints_about_keys_speak_of_json() {
        for (message, said) in [
            (
                r#"`top`: invalid type: string "5", expected usize"#,
                "`top`: expected a non-negative integer, got a string",
            ),
            (
                "`top`: invalid value: integer `-1`, expected usize",
                "`top`: expected a non-negative integer, got -1",
            ),
            (
                "`top`: invalid type: floating point `1.5`, expected u64",
                "`top`: expected a non-negative integer, got 1.5",
            ),
            (
                "`code`: invalid type: null, expected a string",
                "`code`: expected a string, got null",
            ),
            (
                "`code`: invalid type: map, expected a string",
                "`code`: expected a string, got an object",
            ),
            (
                r#"`top`: invalid type: string ": invalid value: x, expected y", expected usize"#,
                "`top`: expected a non-negative integer, got a string",
            ),
            ("missing field `query`", "missing key `query`"),
            ("`top`: number out of range", "`top`: number out of range"),
        ] {
            assert_eq!(in_json_words(message), said);
        }
    }

    proptest! {
        #[test]
        fn shortened_text_keeps_both_ends(text in ".{0,300}") {
            let short = shorten(&text);
            prop_assert!(short.chars().count() <= 100);
            prop_assert!(*short == text || text.chars().count() > 100);
            prop_assert_eq!(short.chars().next(), text.chars().next());
            prop_assert_eq!(short.chars().next_back(), text.chars().next_back());
        }

        #[test]
        fn an_error_is_one_line(text in any::<String>()) {
            let mut out = Vec::new();
            push_error(&mut out, &text);
            let line: serde_json::Value = serde_json::from_slice(&out).unwrap();
            let message = line["message"].as_str().unwrap();
            prop_assert!(!message.contains(acts_on_a_terminal));
        }

        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_first(&bytes);
            if let Err(message) = decode(&bytes) {
                prop_assert!(clip(&message).chars().count() <= MESSAGE_CHARS);
            }
        }
    }
}
