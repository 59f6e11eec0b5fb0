//! local-agent v1: its rules, its envelope both ways, its words (spec: local-agent, "Frames, correlation
//! and compatibility", "Bounds and failure policy"). No method is named here.

use std::time::Duration;

use super::{
    Admission, Decoded, Dialect, Identity, Limit, OutputRules, Refusal, Rules, Standard,
    Unencodable, push_nullable, vocabulary,
};
use crate::correlate::Identities;
use crate::frame::{FrameRules, Oversize, Unterminated};
use crate::negotiate::is_name;
use crate::operation::Fault;
use crate::scan::{Scan, ScanLimits, decode_string, scan};

pub const PROTOCOL: &str = "magi-code.local-agent";
pub const VERSION: u16 = 1;
/// IDs, methods and capability names, in ASCII bytes.
pub const NAME_BYTES: usize = 64;
/// Names in a required-capability list.
pub const REQUIRED_CAPABILITIES: usize = 16;

vocabulary! {
    /// Why a request or a run failed.
    Word {
        InvalidFrame => "invalid_frame", "The frame is empty or nested too deeply.";
        InvalidRequest => "invalid_request", "The frame is not one well-formed request object.";
        InvalidParams => "invalid_params", "The params are not those of the method.";
        ProtocolMismatch => "protocol_mismatch", "The protocol or its version is not served; the connection closes.";
        UnsupportedMethod => "unsupported_method", "The method is not linked into this server.";
        UnsupportedCapability => "unsupported_capability", "A required capability is not advertised.";
        NotInitialized => "not_initialized", "Initialization has not succeeded yet.";
        AlreadyInitialized => "already_initialized", "Initialization was admitted before; restart the child to retry.";
        DuplicateId => "duplicate_id", "The request id was used before in this child.";
        RequestLimit => "request_limit", "The child's request ids are used up; the connection closes.";
        FrameTooLarge => "frame_too_large", "The frame passed its byte limit; the connection closes.";
        IncompleteFrame => "incomplete_frame", "The input ended inside a frame.";
        ConfigurationInvalid => "configuration_invalid", "The settings could not be read or are not valid.";
        ProviderUnavailable => "provider_unavailable", "The selected provider is not available or has no usable credential.";
        ProfileInvalid => "profile_invalid", "The primary-agent profile is not valid.";
        McpUnavailable => "mcp_unavailable", "An enabled MCP server could not be started.";
        StartupCancelled => "startup_cancelled", "Initialization was cancelled.";
        StartupFailed => "startup_failed", "Initialization failed.";
        Busy => "busy", "Another operation or a run is in progress.";
        StaleSession => "stale_session", "Another session is attached.";
        SessionMissing => "session_missing", "No such session, or none is attached.";
        SessionBusy => "session_busy", "Another process or attachment owns the session.";
        SessionInvalid => "session_invalid", "The session is unsafe, unreadable or malformed.";
        CwdMismatch => "cwd_mismatch", "The session belongs to another working directory.";
        HistoryLimit => "history_limit", "The session is larger than what can be projected.";
        StaleRevision => "stale_revision", "The revision or the cursor is no longer valid.";
        ContentLimit => "content_limit", "Content passed a limit.";
        OperationCancelled => "operation_cancelled", "The operation was cancelled.";
        StaleRun => "stale_run", "No such run is active.";
        StaleApproval => "stale_approval", "The approval is unknown, answered or expired.";
        ExecutionFailed => "execution_failed", "The run failed.";
        PersistenceFailed => "persistence_failed", "The input could not be made durable.";
        OutputUnavailable => "output_unavailable", "Events could not be delivered in time.";
    }
}

pub static RULES: Rules = Rules {
    name: super::LOCAL_AGENT,
    version: VERSION,
    frame: FrameRules {
        max_bytes: 65_536,
        oversize: Oversize::Close,
        unterminated: Unterminated::Refuse,
        read_batch: 4096,
    },
    scan: ScanLimits {
        depth: 32,
        ..ScanLimits::UNBOUNDED
    },
    limits: &[
        Limit {
            name: "frame_bytes",
            value: 65_536,
        },
        Limit {
            name: "json_depth",
            value: 32,
        },
        Limit {
            name: "id_bytes",
            value: NAME_BYTES as u64,
        },
        Limit {
            name: "prompt_bytes",
            value: 16_384,
        },
        Limit {
            name: "history_page_bytes",
            value: 32_768,
        },
        Limit {
            name: "history_page_entries",
            value: 100,
        },
        Limit {
            name: "content_chunk_bytes",
            value: 16_384,
        },
        Limit {
            name: "pending_responses",
            value: 32,
        },
        Limit {
            name: "requests_per_child",
            value: 4096,
        },
        Limit {
            name: "output_deadline_ms",
            value: 2000,
        },
    ],
    words: Word::ALL,
    identities: Identities::Lifetime { max: 4096 },
    admission: Admission::Paced {
        // The queue of 32 is full no sooner than the deadline of the first frame in it: 16 + 2000 / 130.
        room: 16,
        pause: Duration::from_millis(130),
    },
    requests: 1,
    output: OutputRules {
        queue_frames: 32,
        frame_bytes: 65_536,
        deadline: Some(Duration::from_millis(2000)),
        strict: false,
    },
    closing: Duration::from_millis(2000),
    cleanup: Duration::from_millis(2000),
    standard: Standard {
        unsupported: Word::UnsupportedMethod.code(),
        invalid_params: Word::InvalidParams.code(),
        invalid_session: Word::InvalidRequest.code(),
        not_initialized: Word::NotInitialized.code(),
        duplicate: Word::DuplicateId.code(),
        exhausted: Word::RequestLimit.code(),
        busy: Word::Busy.code(),
        internal: Word::ExecutionFailed.code(),
        oversize: Word::ContentLimit.code(),
    },
};

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
    fn rules(&self) -> &'static Rules {
        &RULES
    }

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
