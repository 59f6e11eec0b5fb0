//! application-service: every record gives one request or one refusal with a word of the specification,
//! the same one that a slow reading of its rules gives, and an answer within the bounds it publishes.

use application_service::{ApplicationService, RULES};
use host::Codec;
use host::dialect::{Decoded, Identity};
use serde_json::Value;

use crate::framing::{self, Piece};
use crate::input::expand;
use crate::local_agent::{is_name, text_of};
use crate::naive::{self, Found};
use crate::scanning;

#[derive(Debug, Default, PartialEq, Eq)]
struct Expected {
    request: bool,
    id: Option<String>,
    session_id: Option<String>,
    method: Option<String>,
    word: Option<&'static str>,
}

/// Checks a whole input. Gives a word for each piece of it; `None` is an accepted request.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<Option<&'static str>> {
    let mut codec = ApplicationService::default();
    let mut words = Vec::new();
    for piece in framing::check(RULES.frame, &expand(data)) {
        let (identity, word) = match &piece {
            Piece::Frame(record) => decode(&mut codec, record),
            Piece::Oversize => {
                let refusal = codec.oversize();
                assert_eq!((refusal.code, refusal.closes), ("record_too_large", false));
                (refusal.identity, Some(refusal.code))
            }
            Piece::Incomplete => {
                let refusal = codec.incomplete();
                assert_eq!((refusal.code, refusal.closes), ("invalid_json", false));
                (refusal.identity, Some(refusal.code))
            }
        };
        answer(&mut codec, &identity, word);
        words.push(word);
    }
    words
}

fn decode(codec: &mut ApplicationService, record: &[u8]) -> (Identity, Option<&'static str>) {
    let decoded = codec.decode(record);
    assert_eq!(
        codec.decode(record),
        decoded,
        "the same record, the same verdict"
    );
    let accepted = decoded.is_request();
    let (request, identity, word) = match decoded {
        Decoded::Request {
            identity,
            params,
            fault,
        } => {
            assert!(identity.id.is_some(), "bound");
            assert_eq!(accepted, fault.is_none());
            if accepted {
                assert!(params.starts_with('{') && params.ends_with('}'), "payload");
                assert!(naive::measure(params).compact <= 32_768, "payload");
            }
            (true, identity, fault)
        }
        Decoded::Refused(refusal) => {
            assert!(!refusal.closes, "the loop goes on");
            (false, refusal.identity, Some(refusal.code))
        }
    };
    let got = Expected {
        request,
        id: identity.id.as_deref().map(str::to_owned),
        session_id: identity.session_id.as_deref().map(str::to_owned),
        method: identity.method.clone(),
        word,
    };
    assert_eq!(
        got,
        expected(record),
        "{:?}",
        String::from_utf8_lossy(record)
    );
    (identity, word)
}

/// The rules of "Envelope" and "Errors and validation", read slowly and in their order.
fn expected(record: &[u8]) -> Expected {
    let refuse = |word| Expected {
        word: Some(word),
        ..Expected::default()
    };
    let Ok(text) = std::str::from_utf8(record) else {
        return refuse("invalid_json");
    };
    let found = naive::measure(text);
    scanning::check(text, &found, &RULES.scan);
    if !found.ok() {
        return refuse("invalid_json");
    }
    if !found.is_object {
        return refuse("invalid_request");
    }
    let safe = |name| {
        text_of(text, &found, name).filter(|id| {
            !id.is_empty()
                && id.len() <= 128
                && !id
                    .chars()
                    .any(|c| c < ' ' || ('\x7f'..='\u{9f}').contains(&c))
        })
    };
    let mut expected = Expected {
        request: true,
        id: safe("request_id"),
        session_id: safe("session_id"),
        method: text_of(text, &found, "method").filter(|method| is_name(method)),
        word: None,
    };
    expected.word = fault(text, &found, &expected);
    expected.request = expected.word.is_none() || expected.id.is_some();
    expected
}

fn fault(text: &str, found: &Found, identity: &Expected) -> Option<&'static str> {
    let known = [
        "protocol_version",
        "kind",
        "request_id",
        "session_id",
        "method",
        "payload",
    ];
    let raw = |name| found.unique(name).map(|member| &text[member.value.clone()]);
    if found.duplicate_top
        || found
            .members
            .iter()
            .any(|member| !known.contains(&member.key.as_str()))
        || text_of(text, found, "kind").as_deref() != Some("request")
        || identity.id.is_none()
        || identity.method.is_none()
        || raw("session_id").is_some_and(|raw| raw != "null" && identity.session_id.is_none())
        || raw("payload").is_none()
    {
        return Some("invalid_request");
    }
    match raw("protocol_version").and_then(|raw| raw.parse::<u64>().ok()) {
        None => return Some("invalid_request"),
        Some(1) => {}
        Some(_) => return Some("unsupported_version"),
    }
    if found.depth > 32 || found.string > 16_384 || found.items > 64 || found.fields > 64 {
        return Some("limit_exceeded");
    }
    let payload = found.unique("payload")?;
    if payload.compact > 32_768 {
        return Some("payload_too_large");
    }
    let object = text[payload.value.clone()].starts_with('{');
    (!object || found.duplicate_nested).then_some("invalid_payload")
}

fn answer(codec: &mut ApplicationService, identity: &Identity, word: Option<&'static str>) {
    let fault = word.map(|word| {
        assert!(
            RULES.words.iter().any(|(known, _)| *known == word),
            "{word}"
        );
        RULES.fault(word)
    });
    let result = fault.as_ref().map_or(Ok("{}"), Err);
    let line = codec.answer(identity, result).expect("an answer fits");
    // Two ids of 128 bytes, each byte written in at most six, and a name, a word and a message.
    assert!(line.len() <= 2048, "an answer holds identities and a word");
    assert_eq!(
        line.iter().position(|byte| *byte == b'\n'),
        Some(line.len() - 1)
    );
    let Ok(Value::Object(fields)) = serde_json::from_slice(&line) else {
        panic!("an answer is an object");
    };
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let mut expected = [
        "protocol_version",
        "kind",
        "request_id",
        "session_id",
        "method",
        "payload",
        "error",
    ];
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(fields["request_id"].as_str(), identity.id.as_deref());
    assert_eq!(
        fields["session_id"].as_str(),
        identity.session_id.as_deref()
    );
    assert_eq!(fields["method"].as_str(), identity.method.as_deref());
    assert_eq!(fields["error"].is_null(), word.is_none());
    assert_eq!(fields["payload"].is_null(), word.is_some());
    assert_eq!(fields["error"]["code"].as_str(), word);
}
