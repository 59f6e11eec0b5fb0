//! The envelope of application-service, both ways (spec: application-service, "Envelope").
//! No method is named here.

use host::dialect::{Decoded, Identity, Refusal, Unencodable, push_nullable, push_string};
use host::negotiate::is_name;
use host::scan::{Scan, decode_string, scan};
use host::{Codec, Dialect, Fault, Reply, Rules};
use serde::Serialize;

use crate::rules::{ID_BYTES, NAME, NAME_BYTES, PAYLOAD_BYTES, RULES, VERSION, Word};

/// The codec of one service process.
#[derive(Default)]
pub struct ApplicationService {
    events: u64,
}

fn uncorrelated(word: Word) -> Refusal {
    Refusal {
        identity: Identity::default(),
        code: word.code(),
        closes: false,
    }
}

/// A correlation value that may be sent back: bounded, without control characters.
fn safe_id(found: &Scan<'_>, key: &str) -> Option<std::sync::Arc<str>> {
    let value = decode_string(found.unique(key)?.value)?;
    let safe = (1..=ID_BYTES).contains(&value.len()) && !value.chars().any(char::is_control);
    safe.then(|| value.as_ref().into())
}

fn safe_method(found: &Scan<'_>) -> Option<String> {
    let value = decode_string(found.unique("method")?.value)?;
    is_name(&value, NAME_BYTES).then(|| value.into_owned())
}

/// The first fault of a parseable record, in the order in which they take precedence.
fn fault_of(found: &Scan<'_>, identity: &Identity) -> Option<Word> {
    const KNOWN: [&str; 6] = [
        "protocol_version",
        "kind",
        "request_id",
        "session_id",
        "method",
        "payload",
    ];
    let version = found
        .unique("protocol_version")
        .and_then(|m| m.value.parse::<u64>().ok());
    // Before the fields, which another version may have others of.
    if version.is_some_and(|version| version != u64::from(VERSION)) {
        return Some(Word::UnsupportedVersion);
    }
    let envelope_is_whole = !found.duplicate_top
        && found
            .members
            .iter()
            .all(|m| KNOWN.contains(&m.key.as_ref()))
        && found
            .unique("kind")
            .and_then(|m| decode_string(m.value))
            .as_deref()
            == Some("request")
        && identity.id.is_some()
        && identity.method.is_some()
        && found
            .unique("session_id")
            .is_none_or(|m| m.value == "null" || identity.session_id.is_some());
    let payload = found.unique("payload");
    let (true, Some(_), Some(payload)) = (envelope_is_whole, version, payload) else {
        return Some(Word::InvalidRequest);
    };
    if found.too_large || found.too_deep {
        return Some(Word::LimitExceeded);
    }
    if payload.compact_bytes > PAYLOAD_BYTES {
        return Some(Word::PayloadTooLarge);
    }
    (!payload.value.starts_with('{') || found.duplicate_nested).then_some(Word::InvalidPayload)
}

/// Everything outbound obeys the bounds that inbound records obey.
fn within_bounds(line: &[u8]) -> Result<(), Unencodable> {
    if line.len() > RULES.output.frame_bytes {
        return Err(Unencodable);
    }
    let text = std::str::from_utf8(line).ok().ok_or(Unencodable)?;
    let found = scan(text, &RULES.scan).ok().ok_or(Unencodable)?;
    let payload = found.unique("payload").ok_or(Unencodable)?;
    if found.too_deep || found.too_large || payload.compact_bytes > PAYLOAD_BYTES {
        return Err(Unencodable);
    }
    Ok(())
}

impl Dialect for ApplicationService {
    const NAME: &'static str = NAME;
    const RULES: &'static Rules = &RULES;
    const SESSIONS: bool = true;
    type Word = Word;
    type Reply<T: Serialize> = Reply<T>;
}

impl Codec for ApplicationService {
    fn decode<'f>(&mut self, frame: &'f [u8]) -> Decoded<'f> {
        let Some(found) = std::str::from_utf8(frame)
            .ok()
            .and_then(|text| scan(text, &RULES.scan).ok())
        else {
            return Decoded::Refused(uncorrelated(Word::InvalidJson));
        };
        if !found.is_object {
            return Decoded::Refused(uncorrelated(Word::InvalidRequest));
        }
        let identity = Identity {
            id: safe_id(&found, "request_id"),
            session_id: safe_id(&found, "session_id"),
            method: safe_method(&found),
        };
        let fault = fault_of(&found, &identity).map(Word::code);
        match fault {
            Some(code) if identity.id.is_none() => Decoded::Refused(Refusal {
                identity,
                code,
                closes: false,
            }),
            _ => Decoded::Request {
                params: found.unique("payload").map_or("", |m| m.value),
                identity,
                fault,
            },
        }
    }

    fn oversize(&self) -> Refusal {
        uncorrelated(Word::RecordTooLarge)
    }

    fn incomplete(&self) -> Refusal {
        uncorrelated(Word::InvalidJson)
    }

    fn answer(
        &mut self,
        identity: &Identity,
        result: Result<&str, &Fault>,
    ) -> Result<Vec<u8>, Unencodable> {
        let mut out = Vec::with_capacity(256 + result.map_or(128, str::len));
        out.extend_from_slice(br#"{"protocol_version":1,"kind":"response","request_id":"#);
        push_nullable(&mut out, identity.id.as_deref());
        out.extend_from_slice(br#","session_id":"#);
        push_nullable(&mut out, identity.session_id.as_deref());
        out.extend_from_slice(br#","method":"#);
        push_nullable(&mut out, identity.method.as_deref());
        out.extend_from_slice(br#","payload":"#);
        match result {
            Ok(payload) => {
                out.extend_from_slice(payload.as_bytes());
                out.extend_from_slice(br#","error":null"#);
            }
            Err(fault) => {
                out.extend_from_slice(br#"null,"error":{"code":"#);
                push_string(&mut out, fault.code);
                out.extend_from_slice(br#","message":"#);
                push_string(&mut out, &fault.message);
                out.push(b'}');
            }
        }
        out.extend_from_slice(b"}\n");
        within_bounds(&out)?;
        Ok(out)
    }

    fn event(&mut self, origin: &Identity, name: &str, data: &str) -> Result<Vec<u8>, Unencodable> {
        self.events += 1;
        let mut out = Vec::with_capacity(256 + data.len());
        out.extend_from_slice(br#"{"protocol_version":1,"kind":"event","event_id":"e"#);
        out.extend_from_slice(self.events.to_string().as_bytes());
        out.extend_from_slice(br#"","request_id":"#);
        push_nullable(&mut out, origin.id.as_deref());
        out.extend_from_slice(br#","session_id":"#);
        push_nullable(&mut out, origin.session_id.as_deref());
        out.extend_from_slice(br#","event":"#);
        push_string(&mut out, name);
        out.extend_from_slice(br#","payload":"#);
        out.extend_from_slice(data.as_bytes());
        out.extend_from_slice(b"}\n");
        within_bounds(&out)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn code(record: &str) -> &'static str {
        match ApplicationService::default().decode(record.as_bytes()) {
            Decoded::Refused(r) => r.code,
            Decoded::Request { fault, .. } => fault.unwrap_or("ok"),
        }
    }

    fn record(fields: &str) -> String {
        format!(r#"{{"kind":"request","request_id":"q","method":"m",{fields}}}"#)
    }

    #[test]
    fn envelopes_are_strict() {
        assert_eq!(code(&record(r#""protocol_version":1,"payload":{}"#)), "ok");
        assert_eq!(
            code(&record(
                r#""protocol_version":1,"payload":{},"session_id":null"#
            )),
            "ok"
        );
        for bad in [
            r#""protocol_version":1,"payload":{},"x":1"#,
            r#""protocol_version":1,"payload":{},"session_id":5"#,
            r#""protocol_version":1,"payload":{},"session_id":"""#,
            r#""protocol_version":"1","payload":{}"#,
            r#""protocol_version":-1,"payload":{}"#,
            r#""protocol_version":1"#,
            r#""payload":{}"#,
        ] {
            assert_eq!(code(&record(bad)), "invalid_request", "{bad}");
        }
        assert_eq!(
            code(&record(r#""protocol_version":2,"payload":{}"#)),
            "unsupported_version"
        );
        assert_eq!(
            code(&record(r#""protocol_version":1,"payload":[]"#)),
            "invalid_payload"
        );
        assert_eq!(
            code(&record(r#""protocol_version":1,"payload":{"a":1,"a":1}"#)),
            "invalid_payload"
        );
        assert_eq!(code(""), "invalid_json");
        assert_eq!(code("[]"), "invalid_request");
    }

    #[test]
    fn sizes_are_exact() {
        let payload =
            |text: &str| record(&format!(r#""protocol_version":1,"payload":{{"a":{text}}}"#));
        let string = |n: usize| payload(&format!("\"{}\"", "x".repeat(n)));
        assert_eq!(code(&string(16_384)), "ok");
        assert_eq!(code(&string(16_385)), "limit_exceeded");
        let array = |n: usize| payload(&format!("[{}]", vec!["1"; n].join(",")));
        assert_eq!(code(&array(64)), "ok");
        assert_eq!(code(&array(65)), "limit_exceeded");
        let deep = |n: usize| payload(&("[".repeat(n) + &"]".repeat(n)));
        assert_eq!(code(&deep(30)), "ok");
        assert_eq!(code(&deep(31)), "limit_exceeded");
        // {"a":["…","…","x…"]} is 16 bytes of frame around its text.
        let compact = |n: usize| {
            let long = "x".repeat(16_000);
            payload(&format!(
                "[ \"{long}\", \"{long}\", \"{}\" ]",
                "x".repeat(n - 32_000 - 16)
            ))
        };
        assert_eq!(code(&compact(32_768)), "ok");
        assert_eq!(code(&compact(32_769)), "payload_too_large");
    }

    #[test]
    fn outbound_messages_obey_the_bounds() {
        let mut codec = ApplicationService::default();
        let identity = Identity::default();
        assert!(codec.answer(&identity, Ok("{}")).is_ok());
        let long = format!(r#"{{"t":"{}"}}"#, "x".repeat(16_385));
        assert_eq!(codec.answer(&identity, Ok(&long)), Err(Unencodable));
        assert_eq!(codec.event(&identity, "e", &long), Err(Unencodable));
    }

    proptest! {
        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ApplicationService::default().decode(&bytes);
        }
    }
}
