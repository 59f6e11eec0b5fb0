//! application-service v1: its rules, its envelope both ways, its words (spec: application-service,
//! "Envelope", "Errors and validation", "Advertised limits"). No method is named here.

use std::time::Duration;

use super::{
    Admission, Decoded, Dialect, Identity, Limit, OutputRules, Refusal, Rules, Standard,
    Unencodable, push_nullable, push_string, vocabulary,
};
use crate::correlate::Identities;
use crate::frame::{FrameRules, Oversize, Unterminated};
use crate::negotiate::is_name;
use crate::operation::Fault;
use crate::scan::{Scan, ScanLimits, decode_string, scan};

pub const VERSION: u16 = 1;
/// Request, session, turn and event correlation IDs, in bytes.
pub const ID_BYTES: usize = 128;
/// Methods, capabilities and event names, in bytes.
pub const NAME_BYTES: usize = 64;
/// Protocol-version and requested-capability lists.
pub const NEGOTIATION_ITEMS: usize = 8;
const RECORD_BYTES: usize = 65_536;
const PAYLOAD_BYTES: usize = 32_768;

vocabulary! {
    /// Why a request failed, with its fixed message.
    Word {
        InvalidJson => "invalid_json", "The record is not valid JSON.";
        RecordTooLarge => "record_too_large", "The record exceeds the record limit.";
        InvalidRequest => "invalid_request", "The request envelope is not valid.";
        PayloadTooLarge => "payload_too_large", "The payload exceeds its byte limit.";
        LimitExceeded => "limit_exceeded", "A protocol limit was exceeded.";
        UnsupportedVersion => "unsupported_version", "The protocol version is not supported.";
        UnsupportedCapability => "unsupported_capability", "A requested capability is not supported.";
        UnsupportedOperation => "unsupported_operation", "The method is not implemented.";
        NotInitialized => "not_initialized", "The service is not initialized.";
        InvalidPayload => "invalid_payload", "The payload is not valid for this operation.";
        DuplicateRequestId => "duplicate_request_id", "The request ID is already in flight.";
        TooManyActiveTurns => "too_many_active_turns", "The active turn limit is reached.";
        SessionBusy => "session_busy", "The session is in use.";
        SessionUnavailable => "session_unavailable", "The session is not available.";
        InvalidSessionId => "invalid_session_id", "The session ID is not valid.";
        UnknownTurn => "unknown_turn", "The turn is unknown or has ended.";
        AuthBusy => "auth_busy", "A login is already active.";
        UnknownLogin => "unknown_login", "The login is unknown or has ended.";
        ProviderUnavailable => "provider_unavailable", "The provider does not support this operation.";
        ConfirmationRequired => "confirmation_required", "The operation needs explicit confirmation.";
        ConfigurationUnavailable => "configuration_unavailable", "The settings could not be read.";
        ConfigurationBusy => "configuration_busy", "A catalog or configuration request is running.";
        CatalogRefreshFailed => "catalog_refresh_failed", "The catalog could not be refreshed.";
        SettingsWriteFailed => "settings_write_failed", "The settings could not be saved.";
        InvalidScope => "invalid_scope", "The scope is not valid for this change.";
        InvalidSelection => "invalid_selection", "The selection is not available.";
        UnsupportedReasoning => "unsupported_reasoning", "The reasoning choice is not supported.";
        CatalogUnavailable => "catalog_unavailable", "No usable catalog; refresh first.";
        CatalogStale => "catalog_stale", "The catalog is stale; refresh first.";
        InternalError => "internal_error", "The service could not handle the request.";
    }
}

pub static RULES: Rules = Rules {
    name: super::APPLICATION_SERVICE,
    version: VERSION,
    frame: FrameRules {
        // The record limit counts the newline.
        max_bytes: RECORD_BYTES - 1,
        oversize: Oversize::Discard,
        unterminated: Unterminated::Refuse,
        read_batch: 16 * 1024,
    },
    scan: ScanLimits {
        depth: 32,
        string_bytes: 16_384,
        array_items: 64,
        object_fields: 64,
    },
    limits: &[
        Limit {
            name: "max_record_bytes",
            value: RECORD_BYTES as u64,
        },
        Limit {
            name: "max_payload_bytes",
            value: PAYLOAD_BYTES as u64,
        },
        Limit {
            name: "max_error_message_bytes",
            value: 512,
        },
        Limit {
            name: "max_id_bytes",
            value: ID_BYTES as u64,
        },
        Limit {
            name: "max_name_bytes",
            value: NAME_BYTES as u64,
        },
        Limit {
            name: "max_string_bytes",
            value: 16_384,
        },
        Limit {
            name: "max_json_depth",
            value: 32,
        },
        Limit {
            name: "max_array_items",
            value: 64,
        },
        Limit {
            name: "max_object_fields",
            value: 64,
        },
        Limit {
            name: "max_negotiation_items",
            value: NEGOTIATION_ITEMS as u64,
        },
        Limit {
            name: "max_session_attachments",
            value: 16,
        },
        Limit {
            name: "max_session_page_items",
            value: 32,
        },
        Limit {
            name: "max_session_replay_page_bytes",
            value: 16_384,
        },
        Limit {
            name: "max_session_replay_window_bytes",
            value: 2_097_152,
        },
        Limit {
            name: "max_session_list_scan_entries",
            value: 20_000,
        },
        Limit {
            name: "max_catalog_page_items",
            value: 32,
        },
    ],
    words: Word::ALL,
    identities: Identities::InFlight,
    admission: Admission::AfterFlush,
    requests: 1,
    output: OutputRules {
        queue_frames: 64,
        frame_bytes: RECORD_BYTES,
        deadline: None,
        strict: true,
    },
    // The spec sets no deadline for a drain at EOF; without one, a client that neither reads nor
    // leaves would keep the process for ever.
    closing: Duration::from_secs(10),
    cleanup: Duration::from_millis(2000),
    standard: Standard {
        unsupported: Word::UnsupportedOperation.code(),
        invalid_params: Word::InvalidPayload.code(),
        invalid_session: Word::InvalidRequest.code(),
        not_initialized: Word::NotInitialized.code(),
        duplicate: Word::DuplicateRequestId.code(),
        exhausted: Word::LimitExceeded.code(),
        // Not reached: what is exclusive holds back the next record.
        busy: Word::SessionBusy.code(),
        internal: Word::InternalError.code(),
        oversize: Word::InternalError.code(),
    },
};

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
    let text = std::str::from_utf8(line).map_err(|_| Unencodable)?;
    let found = scan(text, &RULES.scan).map_err(|_| Unencodable)?;
    let payload = found.unique("payload").ok_or(Unencodable)?;
    if found.too_deep || found.too_large || payload.compact_bytes > PAYLOAD_BYTES {
        return Err(Unencodable);
    }
    Ok(())
}

impl Dialect for ApplicationService {
    fn rules(&self) -> &'static Rules {
        &RULES
    }

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
        out.extend_from_slice(br#"{"protocol_version":1,"kind":"event","event_id":"event-"#);
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
