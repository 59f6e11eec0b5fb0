//! The envelope of application-service's output: one record in, one checked envelope out.
//! Unknown members of a recognised envelope are bounded and ignored; nothing else unknown is.

use serde_json::{Map, Value};

use super::VERSION;
use super::words::ErrorCode;
use crate::Violation;
use crate::decode::{Bounds, compact_len, object};
use crate::violation::ensure;
use host::vocabulary::Word;

use crate::fields::Fields;

/// The bounds one output record is held to: the client's own first, the server's once accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputBounds {
    pub json: Bounds,
    /// Compact UTF-8 JSON bytes of one payload.
    pub payload_bytes: usize,
    /// UTF-8 bytes of one error message.
    pub message_bytes: usize,
    pub id_bytes: usize,
    pub name_bytes: usize,
}

impl OutputBounds {
    /// Before anything is negotiated.
    pub const LOCAL: Self = Self {
        json: super::limits::LOCAL,
        payload_bytes: super::limits::LOCAL.record_bytes,
        message_bytes: super::limits::LOCAL.string_bytes,
        id_bytes: 1024,
        name_bytes: 1024,
    };

    /// After `limits` were accepted.
    #[must_use]
    pub fn accepted(limits: &super::Limits) -> Self {
        Self {
            json: limits.bounds(),
            payload_bytes: limits.max_payload_bytes,
            message_bytes: limits.max_error_message_bytes,
            id_bytes: limits.max_id_bytes,
            name_bytes: limits.max_name_bytes,
        }
    }
}

/// An unsuccessful response. A code this client does not know is kept as `None`: a failure, not to be
/// retried, and nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceError {
    pub code: Option<ErrorCode>,
    /// The server's fixed text. Untrusted: make it `display::plain` before a terminal sees it.
    pub message: String,
}

impl ServiceError {
    /// The code's word, or a word for an unknown one.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.code.map_or("unrecognised_error", ErrorCode::word)
    }
}

/// One output record.
#[derive(Clone, Debug, PartialEq)]
pub enum Envelope {
    Response {
        request_id: Option<String>,
        session_id: Option<String>,
        method: Option<String>,
        outcome: Result<Map<String, Value>, ServiceError>,
    },
    Event {
        event_id: String,
        request_id: String,
        session_id: Option<String>,
        event: String,
        payload: Map<String, Value>,
    },
}

impl Envelope {
    /// Decodes one record without its LF. A CR before it is JSON whitespace.
    ///
    /// # Errors
    /// The first rule it breaks; the whole record is then refused, whichever field broke it.
    pub fn decode(record: &[u8], bounds: &OutputBounds) -> Result<Self, Violation> {
        let map = object(record, &bounds.json)?;
        let fields = Fields::new(&map);
        ensure(
            fields.count("protocol_version")? == VERSION,
            Violation::UnknownProtocol,
        )?;
        let id =
            |f: &Fields<'_>, name| f.matching(name, |id| (1..=bounds.id_bytes).contains(&id.len()));
        let word = |f: &Fields<'_>, name| {
            f.matching(name, |word| (1..=bounds.name_bytes).contains(&word.len()))
        };
        match fields.text("kind")? {
            "response" => Ok(Self::Response {
                request_id: fields.nullable("request_id", id)?,
                session_id: fields.nullable("session_id", id)?,
                method: fields.nullable("method", word)?,
                outcome: outcome(fields, bounds)?,
            }),
            "event" => Ok(Self::Event {
                event_id: id(&fields, "event_id")?,
                request_id: id(&fields, "request_id")?,
                session_id: fields.nullable("session_id", id)?,
                event: word(&fields, "event")?,
                payload: payload(fields.object("payload")?, bounds)?,
            }),
            _ => Err(Violation::UnknownFrameType),
        }
    }
}

fn payload(fields: Fields<'_>, bounds: &OutputBounds) -> Result<Map<String, Value>, Violation> {
    ensure(
        compact_len(fields.map()) <= bounds.payload_bytes,
        Violation::PayloadTooLarge,
    )?;
    Ok(fields.map().clone())
}

fn outcome(
    fields: Fields<'_>,
    bounds: &OutputBounds,
) -> Result<Result<Map<String, Value>, ServiceError>, Violation> {
    let result = fields.nullable("payload", |f, name| f.object(name))?;
    let error = fields.nullable("error", |f, name| f.object(name))?;
    match (result, error) {
        (Some(result), None) => Ok(Ok(payload(result, bounds)?)),
        (None, Some(error)) => {
            let code =
                error.matching("code", |code| (1..=bounds.name_bytes).contains(&code.len()))?;
            let message = error.bounded("message", bounds.message_bytes)?;
            Ok(Err(ServiceError {
                code: ErrorCode::from_word(&code),
                message,
            }))
        }
        _ => Err(Violation::NotOneOutcome),
    }
}
