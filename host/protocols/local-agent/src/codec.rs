//! The envelope of local-agent, both ways (spec: local-agent, "Frames, correlation and compatibility").
//! No method is named here.

use host::dialect::{Decoded, Identity, Refusal, Unencodable, push_nullable};
use host::negotiate::is_name;
use host::scan::{Scan, decode_string, scan};
use host::{Codec, Dialect, Fault, Reply, Rules};
use serde::Serialize;

use crate::rules::{NAME, PROTOCOL, RULES, VERSION, Word};
use crate::words::NAME_BYTES;

/// The codec of one child.
pub struct LocalAgent {
    instance_id: String,
    seq: u64,
}

impl LocalAgent {
    #[must_use]
    pub fn new() -> Self {
        Self {
            instance_id: uuid::Uuid::new_v4().to_string(),
            seq: 0,
        }
    }

    fn begin(&mut self, kind: &str, body_bytes: usize) -> Vec<u8> {
        self.seq += 1;
        let mut out = Vec::with_capacity(body_bytes + 224);
        out.extend_from_slice(br#"{"protocol":"magi-code.local-agent","version":1,"type":""#);
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(br#"","instance_id":""#);
        out.extend_from_slice(self.instance_id.as_bytes());
        out.extend_from_slice(br#"","seq":"#);
        out.extend_from_slice(self.seq.to_string().as_bytes());
        out
    }

    fn end(&mut self, mut out: Vec<u8>) -> Result<Vec<u8>, Unencodable> {
        out.extend_from_slice(b"}\n");
        if out.len() > RULES.output.frame_bytes {
            // The frame is not sent, so its number is free again.
            self.seq -= 1;
            return Err(Unencodable);
        }
        Ok(out)
    }
}

impl Default for LocalAgent {
    fn default() -> Self {
        Self::new()
    }
}

/// A refusal that belongs to the frame rather than to a request: its identity is null.
fn frame_fault(word: Word) -> Refusal {
    Refusal {
        identity: Identity::default(),
        code: word.code(),
        closes: false,
    }
}

/// The id, when it is given exactly once and fits the grammar.
fn recover_id(found: &Scan<'_>) -> Option<std::sync::Arc<str>> {
    let id = decode_string(found.unique("id")?.value)?;
    is_name(&id, NAME_BYTES).then(|| id.as_ref().into())
}

/// Whether a frame names another protocol or version, whatever else it holds: its fields are that
/// protocol's matter, and its sender must learn why it is not understood.
fn is_of_another_protocol(found: &Scan<'_>) -> bool {
    let protocol = found
        .unique("protocol")
        .and_then(|m| decode_string(m.value));
    let version = found
        .unique("version")
        .and_then(|m| m.value.parse::<i128>().ok());
    protocol.is_some_and(|protocol| protocol != PROTOCOL)
        || version.is_some_and(|version| version != i128::from(VERSION))
}

/// A frame whose structure is right.
struct Envelope<'f> {
    id: Option<std::sync::Arc<str>>,
    method: String,
    params: &'f str,
}

/// The exact field set with the right types; `None` otherwise.
fn envelope<'f>(found: &Scan<'f>) -> Option<Envelope<'f>> {
    const FIELDS: [&str; 5] = ["protocol", "version", "id", "method", "params"];
    if found.duplicate_top || found.members.len() != FIELDS.len() {
        return None;
    }
    let [protocol, version, id, method, params] =
        FIELDS.map(|name| found.unique(name).map(|m| m.value));
    // What they say was looked at before.
    decode_string(protocol?)?;
    version?.parse::<i128>().ok()?;
    // An id of another type than string is a wrong structure; its grammar is checked later.
    decode_string(id?)?;
    Some(Envelope {
        id: recover_id(found),
        method: decode_string(method?)?.into_owned(),
        params: params?,
    })
}

impl Dialect for LocalAgent {
    const NAME: &'static str = NAME;
    const RULES: &'static Rules = &RULES;
    const SESSIONS: bool = false;
    type Word = Word;
    type Reply<T: Serialize> = Reply<T>;
}

impl Codec for LocalAgent {
    fn decode<'f>(&mut self, frame: &'f [u8]) -> Decoded<'f> {
        if frame.is_empty() {
            return Decoded::Refused(frame_fault(Word::InvalidFrame));
        }
        let Ok(text) = std::str::from_utf8(frame) else {
            return Decoded::Refused(frame_fault(Word::InvalidRequest));
        };
        let found = match scan(text, &RULES.scan) {
            Ok(found) if found.too_deep => {
                return Decoded::Refused(frame_fault(Word::InvalidFrame));
            }
            Err(fault) if fault.too_deep => {
                return Decoded::Refused(frame_fault(Word::InvalidFrame));
            }
            Ok(found) if found.is_object => found,
            _ => return Decoded::Refused(frame_fault(Word::InvalidRequest)),
        };
        let refused = |word: Word, closes| {
            let identity = Identity {
                id: recover_id(&found),
                ..Identity::default()
            };
            Decoded::Refused(Refusal {
                identity,
                code: word.code(),
                closes,
            })
        };
        if is_of_another_protocol(&found) {
            return refused(Word::ProtocolMismatch, true);
        }
        let Some(envelope) = envelope(&found) else {
            return refused(Word::InvalidRequest, false);
        };
        if envelope.id.is_none() || !is_name(&envelope.method, NAME_BYTES) {
            return refused(Word::InvalidRequest, false);
        }
        let bad_params = !envelope.params.starts_with('{') || found.duplicate_nested;
        Decoded::Request {
            identity: Identity {
                id: envelope.id,
                session_id: None,
                method: Some(envelope.method),
            },
            params: envelope.params,
            fault: bad_params.then_some(Word::InvalidParams.code()),
        }
    }

    fn oversize(&self) -> Refusal {
        Refusal {
            closes: true,
            ..frame_fault(Word::FrameTooLarge)
        }
    }

    fn incomplete(&self) -> Refusal {
        frame_fault(Word::IncompleteFrame)
    }

    fn answer(
        &mut self,
        identity: &Identity,
        result: Result<&str, &Fault>,
    ) -> Result<Vec<u8>, Unencodable> {
        let body = match result {
            Ok(text) => text,
            Err(fault) => fault.code,
        };
        let mut out = self.begin("response", body.len());
        out.extend_from_slice(br#","id":"#);
        push_nullable(&mut out, identity.id.as_deref());
        if result.is_ok() {
            out.extend_from_slice(br#","result":"#);
            out.extend_from_slice(body.as_bytes());
        } else {
            out.extend_from_slice(br#","error":{"code":""#);
            out.extend_from_slice(body.as_bytes());
            out.extend_from_slice(br#""}"#);
        }
        self.end(out)
    }

    fn event(
        &mut self,
        _origin: &Identity,
        name: &str,
        data: &str,
    ) -> Result<Vec<u8>, Unencodable> {
        let mut out = self.begin("event", name.len() + data.len());
        out.extend_from_slice(br#","event":""#);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(br#"","data":"#);
        out.extend_from_slice(data.as_bytes());
        self.end(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn code(frame: &str) -> (&'static str, Option<String>, bool) {
        match LocalAgent::new().decode(frame.as_bytes()) {
            Decoded::Refused(r) => (r.code, r.identity.id.map(|s| s.to_string()), r.closes),
            Decoded::Request {
                identity, fault, ..
            } => (
                fault.unwrap_or("ok"),
                identity.id.map(|s| s.to_string()),
                false,
            ),
        }
    }

    fn request(fields: &str) -> String {
        format!(r#"{{"protocol":"magi-code.local-agent","version":1,{fields}}}"#)
    }

    #[test]
    fn structure_comes_before_protocol_before_grammar() {
        let ok = |s: &str| Some(s.to_owned());
        assert_eq!(
            code(&request(r#""id":"r1","method":"m","params":{}"#)),
            ("ok", ok("r1"), false)
        );
        assert_eq!(
            code(&request(r#""id":"r1","method":"m","params":{},"x":1"#)),
            ("invalid_request", ok("r1"), false)
        );
        assert_eq!(
            code(&request(
                r#""id":"r1","\u0069d":"r2","method":"m","params":{}"#
            ))
            .1,
            None
        );
        assert_eq!(
            code(&request(r#""id":"r 1","method":"m","params":{}"#)),
            ("invalid_request", None, false)
        );
        assert_eq!(
            code(&request(r#""id":7,"method":"m","params":{}"#)),
            ("invalid_request", None, false)
        );
        assert_eq!(
            code(&request(r#""id":"r1","method":"a b","params":{}"#)),
            ("invalid_request", ok("r1"), false)
        );
        assert_eq!(
            code(&request(r#""id":"r1","method":"m","params":[]"#)),
            ("invalid_params", ok("r1"), false)
        );
        assert_eq!(
            code(&request(r#""id":"r1","method":"m","params":{"a":1,"a":2}"#)),
            ("invalid_params", ok("r1"), false)
        );
        let other = r#"{"protocol":"magi-code.local-agent","version":2,"id":"r1","method":"m","params":{}}"#;
        assert_eq!(code(other), ("protocol_mismatch", ok("r1"), true));
        assert_eq!(
            code(&other.replace('2', "1.0")),
            ("invalid_request", ok("r1"), false)
        );
        assert_eq!(
            code(&other.replace('2', "\"1\"")),
            ("invalid_request", ok("r1"), false)
        );
        assert_eq!(
            code(
                &other
                    .replace("\"version\":2", "\"version\":1")
                    .replace("local", "l")
            )
            .0,
            "protocol_mismatch"
        );
    }

    #[test]
    fn frame_faults_have_no_identity() {
        assert_eq!(code(""), ("invalid_frame", None, false));
        assert_eq!(code("[]"), ("invalid_request", None, false));
        assert_eq!(code("{} {}"), ("invalid_request", None, false));
        let nest = |n: usize| {
            request(&format!(
                r#""id":"r","method":"m","params":{{"a":{}{}}}"#,
                "[".repeat(n),
                "]".repeat(n)
            ))
        };
        assert_eq!(code(&nest(30)).0, "ok");
        assert_eq!(code(&nest(31)), ("invalid_frame", None, false));
    }

    #[test]
    fn an_oversize_frame_does_not_use_up_a_number() {
        let mut codec = LocalAgent::new();
        let identity = Identity::default();
        assert!(
            codec
                .answer(&identity, Ok(&format!("\"{}\"", "x".repeat(65_536))))
                .is_err()
        );
        let text = String::from_utf8(codec.answer(&identity, Ok("{}")).unwrap()).unwrap();
        assert!(text.contains(r#""seq":1,"id":null,"result":{}}"#));
    }

    proptest! {
        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = LocalAgent::new().decode(&bytes);
        }
    }
}
