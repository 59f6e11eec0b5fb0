//! local-agent: every frame gives one request or one refusal with a word of the specification, the same
//! one that a slow reading of its rules gives, and an answer that is itself a frame and echoes nothing.

use host::Codec;
use host::dialect::{Decoded, Identity};
use local_agent::{LocalAgent, NAME_BYTES, PROTOCOL, RULES};
use serde_json::Value;

use crate::framing::{self, Piece};
use crate::input::expand;
use crate::naive::{self, Found};
use crate::scanning;

/// What a frame must turn out to be.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    request: bool,
    id: Option<String>,
    method: Option<String>,
    word: Option<&'static str>,
    closes: bool,
}

/// Checks a whole input. Gives a word for each piece of it; `None` is an accepted request.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<Option<&'static str>> {
    let mut codec = LocalAgent::new();
    let mut words = Vec::new();
    for (seq, piece) in (1..).zip(framing::check(RULES.frame, &expand(data))) {
        let (identity, word, closes) = match &piece {
            Piece::Frame(frame) => decode(&mut codec, frame),
            Piece::Oversize => {
                let refusal = codec.oversize();
                assert_eq!((refusal.code, refusal.closes), ("frame_too_large", true));
                (refusal.identity, Some(refusal.code), true)
            }
            Piece::Incomplete => {
                let refusal = codec.incomplete();
                assert_eq!(refusal.code, "incomplete_frame");
                (refusal.identity, Some(refusal.code), false)
            }
        };
        answer(&mut codec, &identity, word, seq);
        words.push(word);
        if closes {
            break;
        }
    }
    words
}

fn decode(codec: &mut LocalAgent, frame: &[u8]) -> (Identity, Option<&'static str>, bool) {
    let decoded = codec.decode(frame);
    assert_eq!(
        codec.decode(frame),
        decoded,
        "the same frame, the same verdict"
    );
    let (identity, word, closes) = match decoded {
        Decoded::Request {
            identity,
            params,
            fault,
        } => {
            assert!(identity.id.is_some() && identity.method.is_some(), "bound");
            if fault.is_none() {
                let value: Result<Value, _> = serde_json::from_str(params);
                let reserved = naive::measure(params).reserved_key;
                let far = naive::measure(params).extreme_number;
                assert!(
                    reserved || far || value.is_ok_and(|v| v.is_object()),
                    "params"
                );
            }
            (identity, fault, false)
        }
        Decoded::Refused(refusal) => (refusal.identity, Some(refusal.code), refusal.closes),
    };
    let got = Expected {
        request: codec.decode(frame).is_request() || (word.is_some() && identity.method.is_some()),
        id: identity.id.as_deref().map(str::to_owned),
        method: identity.method.clone(),
        word,
        closes,
    };
    assert_eq!(got, expected(frame), "{:?}", String::from_utf8_lossy(frame));
    assert_eq!(identity.session_id, None);
    (identity, word, closes)
}

/// The rules of "Frames, correlation and compatibility", read slowly and in their order.
fn expected(frame: &[u8]) -> Expected {
    let refuse = |word, id: Option<String>, closes| Expected {
        request: false,
        id,
        method: None,
        word: Some(word),
        closes,
    };
    if frame.is_empty() {
        return refuse("invalid_frame", None, false);
    }
    let Ok(text) = std::str::from_utf8(frame) else {
        return refuse("invalid_request", None, false);
    };
    let found = naive::measure(text);
    scanning::check(text, &found, &RULES.scan);
    if found.depth > 32 {
        return refuse("invalid_frame", None, false);
    }
    if !found.ok() || !found.is_object {
        return refuse("invalid_request", None, false);
    }
    let id = text_of(text, &found, "id").filter(|id| is_name(id));
    let protocol = text_of(text, &found, "protocol");
    let method = text_of(text, &found, "method");
    let version = found
        .unique("version")
        .and_then(|member| text[member.value.clone()].parse::<i128>().ok());
    let names: Vec<&str> = found.members.iter().map(|m| m.key.as_str()).collect();
    let exact = names.len() == 5
        && ["protocol", "version", "id", "method", "params"]
            .iter()
            .all(|name| names.contains(name));
    let (true, true, Some(protocol), Some(version), Some(method)) = (
        exact,
        text_of(text, &found, "id").is_some(),
        protocol,
        version,
        method,
    ) else {
        return refuse("invalid_request", id, false);
    };
    if protocol != PROTOCOL || version != 1 {
        return refuse("protocol_mismatch", id, true);
    }
    if id.is_none() || !is_name(&method) {
        return refuse("invalid_request", id, false);
    }
    let params = found
        .unique("params")
        .map(|member| &text[member.value.clone()]);
    let object = params.is_some_and(|params| params.starts_with('{'));
    Expected {
        request: true,
        id,
        method: Some(method),
        word: (!object || found.duplicate_nested).then_some("invalid_params"),
        closes: false,
    }
}

/// The decoded text of a member that is there once and is a string.
pub fn text_of(text: &str, found: &Found, name: &str) -> Option<String> {
    serde_json::from_str(&text[found.unique(name)?.value.clone()]).ok()
}

/// 1 to 64 ASCII bytes from `[A-Za-z0-9._-]`.
pub fn is_name(name: &str) -> bool {
    let allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    !name.is_empty() && name.len() <= NAME_BYTES && name.chars().all(|c| allowed.contains(c))
}

fn answer(codec: &mut LocalAgent, identity: &Identity, word: Option<&'static str>, seq: u64) {
    let fault = word.map(|word| {
        assert!(
            RULES.words.iter().any(|(known, _)| *known == word),
            "{word}"
        );
        RULES.fault(word)
    });
    let result = fault.as_ref().map_or(Ok("{}"), Err);
    let line = codec.answer(identity, result).expect("an answer fits");
    assert!(line.len() <= 512, "an answer holds an id and a word");
    assert_eq!(
        line.iter().position(|byte| *byte == b'\n'),
        Some(line.len() - 1)
    );
    let Ok(Value::Object(fields)) = serde_json::from_slice(&line) else {
        panic!("an answer is an object");
    };
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let outcome = if word.is_some() { "error" } else { "result" };
    let mut expected = [
        "protocol",
        "version",
        "type",
        "instance_id",
        "seq",
        "id",
        outcome,
    ];
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(fields["seq"], seq);
    assert_eq!(fields["id"].as_str(), identity.id.as_deref());
    if let Some(word) = word {
        assert_eq!(fields["error"], serde_json::json!({ "code": word }));
    }
}
